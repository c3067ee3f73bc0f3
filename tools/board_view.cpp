// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Connection of the administration tools to the board agent.
#include "board_view.hpp"

#include "cli.hpp"

#include "libmx/conf/conf.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace emx {

namespace {

/// As mx_init would start it.
AgentStart agent_start()
{
    Conf conf;
    std::string error;
    if (!load_conf(
            conf, [](const char *name) { return std::getenv(name); }, error))
        throw cli::Failure(error);
    AgentStart start;
    start.program = conf.agent;
    start.boards = conf.boards;
    start.peers = conf.peers_file;
    start.group = conf.group;
    start.endpoint_max = static_cast<uint32_t>(conf.endpoints_max);
    return start;
}

std::unique_ptr<AgentConnection> try_connect()
{
    DeviceError error;
    auto connection = AgentConnection::connect(error);
    if (error.code != 0)
        throw cli::Failure(error.text);
    return connection ? std::make_unique<AgentConnection>(std::move(*connection)) : nullptr;
}

} // namespace

BoardView::BoardView()
{
    const AgentStart start = agent_start();
    connection_ = try_connect();
    if (!connection_) {
        DeviceError error;
        if (!start_agent(start, error))
            throw cli::Failure(error.text);
        started_ = true;
        connection_ = try_connect();
        if (!connection_)
            throw cli::Failure(
                "omxd, the board agent, ended as soon as it had started; see its log (omxd --log)");
    }
    hello();
}

void BoardView::hello()
{
    AgentReply reply;
    std::vector<Fd> fds;
    DeviceError error;
    if (!connection_->request(AgentRequest{}, reply, fds, error))
        throw cli::Failure(error.text);
    if (fds.size() != 1)
        throw cli::Failure("omxd gave no board file: it is of another build of EtherMX; stop it");
    std::string text;
    file_ = BoardFile::map(std::move(fds.front()), text);
    if (!file_)
        throw cli::Failure(text);
}

void BoardView::check_board(uint32_t board)
{
    const uint32_t count = file_->board_count();
    if (board >= count)
        throw cli::Failure("no board #" + std::to_string(board) + ": this host has " + std::to_string(count) +
                           (count == 1 ? " board, #0" : " boards, from #0"));
}

void BoardView::tell(const AgentRequest &request)
{
    AgentReply reply;
    std::vector<Fd> fds;
    DeviceError error;
    if (!connection_->request(request, reply, fds, error))
        throw cli::Failure(error.text);
}

std::vector<PeerView> BoardView::peers(uint32_t board)
{
    std::vector<PeerView> out;
    fw_peers *table = file_->peers(board);
    for (uint32_t i = 0;; i++) {
        const struct fw_peer *peer = fw_peer(table, i);
        if (!peer)
            return out;
        char name[EMX_NAME_MAX] = {};
        fw_peer_name_get(table, i, name);
        out.push_back({i, peer->mac, name});
    }
}

std::string BoardView::board_name(uint32_t board)
{
    const uint64_t mac = file_->board(board).mac;
    for (const PeerView &peer : peers(board)) {
        if (peer.mac == mac && !peer.name.empty())
            return peer.name;
    }
    return "?";
}

std::string BoardView::dialect(uint32_t board)
{
    const fw_sizes &sizes = file_->board(board).sizes;
    return sizes.dialect == FW_DIALECT_W ? "W" : "N=" + std::to_string(sizes.mtu);
}

void set_text(AgentRequest &request, const std::string &text)
{
    if (text.empty() || text.size() >= sizeof request.text)
        throw cli::Failure("\"" + text + "\": a board's name has 1 to " +
                           std::to_string(sizeof request.text - 1) + " characters");
    std::memcpy(request.text, text.c_str(), text.size() + 1);
}

void warn_if_short_lived(const BoardView &view)
{
    if (view.started_agent())
        std::fprintf(stderr,
                     "note: the board agent was not running; it was started for this, and forgets it a few "
                     "seconds after its last user. Start omxd first to keep it.\n");
}

} // namespace emx
