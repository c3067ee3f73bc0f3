// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Boards of the engine: a connection to the board agent, and the board file.
#include "board_view.hpp"
#include "cli.hpp"

#include "driver/base/environment.hpp"
#include "driver/base/printable.hpp"
#include "driver/base/udp_address.hpp"
#include "driver/board/agent_choice.hpp"
#include "driver/board/agent_client.hpp"
#include "driver/board/board_file.hpp"
#include "driver/config/peers_file.hpp"
#include "driver/engine/agent_start.hpp"
#include "libmx/conf/conf.hpp"

#include <cstring>

namespace emx {

namespace {

/// As mx_init would start it.
AgentStart agent_start()
{
    Conf conf;
    std::string error;
    if (!load_conf(conf, environment_variable, error))
        throw cli::Failure(error);
    AgentStart start;
    start.program = conf.agent;
    start.boards = conf.boards;
    start.peers = conf.peers_file;
    start.group = conf.group;
    start.endpoint_max = static_cast<uint32_t>(conf.endpoints_max);
    return start;
}

std::unique_ptr<AgentConnection> try_connect(const std::string &name)
{
    DeviceError error;
    auto connection = AgentConnection::connect(error, name);
    if (error.code != 0)
        throw cli::Failure(error.text);
    return connection ? std::make_unique<AgentConnection>(std::move(*connection)) : nullptr;
}

std::string shown(const char *text, std::size_t size) { return printable({text, ::strnlen(text, size)}); }

class AgentView final : public BoardView {
public:
    explicit AgentView(std::unique_ptr<AgentConnection> running);

    const char *device() const override { return "engine"; }
    std::string firmware() override
    {
        return "board agent: process " + std::to_string(file_->header().agent_pid);
    }
    bool started_agent() const override { return started_; }
    int agent_socket() const override { return connection_->fd(); }
    std::vector<BoardFacts> boards() override;
    std::vector<PeerView> peers(uint32_t board) override;
    std::vector<HolderView> holders(uint32_t board) override;
    emx_counters counters(uint32_t board) override
    {
        tell(AgentOp::sum_counters, board);
        return file_->told_counters(board);
    }
    void clear_counters(uint32_t board) override { tell(AgentOp::clear_counters, board); }
    void set_name(uint32_t board, const std::string &name) override
    {
        tell(AgentOp::set_name, board, 0, name);
    }
    void forget_names() override { tell(AgentOp::forget_names); }
    void clear_peers() override { tell(AgentOp::peers_clear); }
    void append_peer(uint64_t mac, const std::string &name) override
    {
        tell(AgentOp::peers_append, 0, mac, name);
    }
    bool has_hosts() const override { return file_->board(0).udp_port != 0; }
    void append_host(const std::string &host, const std::string &name) override;
    void pin_peer(uint64_t mac, uint16_t speaks) override { tell(AgentOp::pin_peer, 0, mac, {}, speaks); }
    void complete_peers() override { tell(AgentOp::peers_complete); }

private:
    void hello();
    void ask(const AgentRequest &request);
    void tell(AgentOp op, uint32_t board = 0, uint64_t mac = 0, const std::string &text = {},
              uint32_t group = 0);
    BoardFacts facts(uint32_t board);

    std::unique_ptr<AgentConnection> connection_;
    std::unique_ptr<BoardFile> file_;
    bool started_ = false;
};

AgentView::AgentView(std::unique_ptr<AgentConnection> running) : connection_(std::move(running))
{
    const AgentStart start = agent_start();
    const std::string name = choose_agent(start.boards, start.config);
    if (!connection_)
        connection_ = try_connect(name);
    if (!connection_) {
        DeviceError error;
        if (start_agent(start, error) != AgentStarted::serves)
            throw cli::Failure(error.text);
        started_ = true;
        connection_ = try_connect(name);
        if (!connection_)
            throw cli::Failure(
                "omxd, the board agent, ended as soon as it had started; see its log (omxd --log)");
    }
    hello();
}

void AgentView::hello()
{
    AgentReply reply;
    std::vector<Fd> fds;
    DeviceError error;
    if (!connection_->request(AgentRequest{}, reply, fds, error))
        throw cli::Failure(error.text);
    if (fds.size() != 1)
        throw cli::Failure("omxd gave no board file: it is of another build of EtherMX; stop it");
    file_ = BoardFile::map(std::move(fds.front()), error);
    if (!file_)
        throw cli::Failure(error.text);
}

void AgentView::tell(AgentOp op, uint32_t board, uint64_t mac, const std::string &text, uint32_t group)
{
    AgentRequest request;
    request.op = op;
    request.group = group;
    request.board = board;
    request.mac = mac;
    text.copy(request.text, sizeof(request.text) - 1);
    ask(request);
}

void AgentView::ask(const AgentRequest &request)
{
    AgentReply reply;
    std::vector<Fd> fds;
    DeviceError error;
    if (!connection_->request(request, reply, fds, error))
        throw cli::Failure(error.text);
}

/// The agent asks no name service once it serves: it gets addresses.
void AgentView::append_host(const std::string &host, const std::string &name)
{
    const BoardRecord &record = file_->board(0);
    std::string place, why;
    uint32_t port = 0;
    if (!split_host(host, place, port))
        throw cli::Failure(peers_host_form);
    const auto address = resolve_host(place, port ? port : record.udp_port, record.udp_v4 != 0, why);
    if (!address)
        throw cli::Failure(why + ": correct it, or /etc/hosts");
    AgentRequest request;
    request.op = AgentOp::list_host;
    name.copy(request.text, sizeof(request.text) - 1);
    describe(*address).copy(request.where, sizeof(request.where) - 1);
    ask(request);
}

BoardFacts AgentView::facts(uint32_t board)
{
    BoardRecord &record = file_->board(board);
    const LinkState link = read_link(record);
    BoardFacts facts{};
    facts.number = board;
    facts.device.assign(record.interface, ::strnlen(record.interface, sizeof(record.interface)));
    facts.interface = printable(facts.device);
    facts.driver = shown(record.driver, sizeof(record.driver));
    facts.name.assign(1, '?');
    for (const PeerView &peer : peers(board)) {
        if (peer.mac == record.mac && !peer.name.empty()) {
            facts.name = peer.name;
            break;
        }
    }
    facts.mac = record.mac;
    facts.mtu = record.mtu;
    facts.numa_node = record.numa_node;
    facts.link = link.state;
    facts.link_changes = link.serial;
    facts.endpoint_max = file_->header().endpoint_max;
    facts.peers_max = file_->header().peers_capacity;
    facts.peers_open = file_->peers(board)->open != 0;
    facts.sizes = record.sizes;
    return facts;
}

std::vector<BoardFacts> AgentView::boards()
{
    std::vector<BoardFacts> all;
    for (uint32_t i = 0; i < file_->board_count(); i++)
        all.push_back(facts(i));
    return all;
}

std::vector<PeerView> AgentView::peers(uint32_t board)
{
    std::vector<PeerView> out;
    fw_peers *table = file_->peers(board);
    for (uint32_t i = 0;; i++) {
        const struct fw_peer *peer = fw_peer(table, i);
        if (!peer)
            return out;
        char name[EMX_NAME_MAX] = {};
        fw_peer_name_get(table, i, name);
        out.push_back({i, peer->mac, printable(name), peer->speaks});
    }
}

std::vector<HolderView> AgentView::holders(uint32_t board)
{
    std::vector<HolderView> all;
    for (uint32_t i = 0; i < file_->header().endpoint_max; i++) {
        const ClaimRecord &claim = file_->claim(board, i);
        if (claim.held)
            all.push_back(
                {i, claim.pid, claim.uid, claim.session, shown(claim.command, sizeof(claim.command))});
    }
    return all;
}

} // namespace

std::unique_ptr<BoardView> open_agent_view() { return std::make_unique<AgentView>(nullptr); }

std::unique_ptr<BoardView> open_running_agent_view()
{
    const AgentStart start = agent_start();
    if (auto running = try_connect(choose_agent(start.boards, start.config)))
        return std::make_unique<AgentView>(std::move(running));
    return nullptr;
}

} // namespace emx
