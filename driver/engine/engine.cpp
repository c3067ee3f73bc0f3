// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The engine as a Device: boards, names, counters, and opening of endpoints through the agent.
#include "driver/engine/engine.hpp"

#include "driver/base/clock.hpp"
#include "driver/base/system_calls.hpp"
#include "driver/board/agent_choice.hpp"
#include "driver/config/board_spec.hpp"
#include "driver/engine/agent_start.hpp"
#include "driver/engine/port.hpp"
#include "driver/engine/udp_port.hpp"
#include "driver/mx_codes.hpp"
#include "driver/system_error.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>

namespace emx {
namespace {

// Others answer the first beacon of an agent within some milliseconds.
constexpr uint64_t names_wait_ns = 500000000;
constexpr int names_look_ms = 2;

std::string text_of(const char *chars, std::size_t size)
{
    return std::string(chars, ::strnlen(chars, size));
}

std::string name_in(fw_peers *table, uint32_t peer)
{
    char name[EMX_NAME_MAX];
    return fw_peer_name_get(table, peer, name) == 0 ? std::string(name) : std::string{};
}

/// A connection, and the board file that its agent handed out.
struct Contact {
    AgentConnection agent;
    std::shared_ptr<BoardFile> file;
    bool started = false; ///< by this process, just now
};

std::optional<Contact> greet(AgentConnection agent, DeviceError &error)
{
    AgentRequest hello;
    AgentReply reply;
    std::vector<Fd> fds;
    if (!agent.request(hello, reply, fds, error))
        return std::nullopt;
    if (fds.size() != 1) {
        error = {mx_no_driver,
                 "omxd, the board agent, sent no board file: stop it, so that the next open starts it anew"};
        return std::nullopt;
    }
    std::shared_ptr<BoardFile> file = BoardFile::map(std::move(fds[0]), error);
    if (!file)
        return std::nullopt;
    return Contact{std::move(agent), std::move(file)};
}

/// Reaches the agent, starting it when there is none. Another process may start it at the same time:
/// then one of them takes the name, and the other's starter finds it at the next attempt. It may also
/// end just now, because nobody was left, or be killed. name: of this user's own agent, or empty.
std::optional<Contact> reach_agent(const AgentStart &start, const std::string &name, DeviceError &error)
{
    constexpr int attempts = 5;
    bool started = false;
    for (int attempt = 0; attempt < attempts; attempt++) {
        error = {};
        if (auto connection = AgentConnection::connect(error, name)) {
            auto contact = greet(std::move(*connection), error);
            if (contact)
                contact->started = started;
            if (contact || !AgentConnection::was_lost(error))
                return contact;
            continue;
        }
        if (error.code != 0)
            return std::nullopt;
        switch (start_agent(start, error)) {
        case AgentStarted::serves: started = true; break;
        case AgentStarted::failed: return std::nullopt;
        case AgentStarted::ended: break;
        }
    }
    if (error.code == 0)
        error = {mx_no_driver,
                 "omxd, the board agent, ends as soon as it is started: run it with --foreground to see why"};
    return std::nullopt;
}

class Engine final : public Device {
public:
    Engine(AgentStart start, std::string agent, Contact contact, BulkWay bulk_way)
        : bulk_way_(bulk_way), start_(std::move(start)), agent_name_(std::move(agent)),
          names_by_(contact.started ? monotonic_ns() + names_wait_ns : 0), agent_(std::move(contact.agent)),
          file_(std::move(contact.file)), keeper_(std::make_shared<ClaimKeeper>(agent_name_))
    {
    }

    uint64_t now_ns() override { return monotonic_ns(); }
    uint64_t random() override { return sys::random_bits(); }
    std::vector<BoardInfo> boards() override;
    std::unique_ptr<Port> open(uint32_t board, uint32_t number, uint32_t session,
                               DeviceError &error) override;
    std::vector<PeerInfo> peers(uint32_t board) override;
    std::optional<uint64_t> nic_id_of(const std::string &host_name) override;
    bool wait_for_names() override;
    std::optional<std::string> name_of(uint64_t nic_id) override;
    bool set_host_name(uint32_t board, const std::string &name, DeviceError &error) override;
    emx_counters counters(uint32_t board) override;
    bool clear_counters(uint32_t board, DeviceError &error) override;
    void yield() override { ::sched_yield(); }

private:
    std::shared_ptr<BoardFile> file() const;
    bool follow(const Contact &contact, DeviceError &error);
    bool known(BoardFile &file, uint32_t board, DeviceError &error) const;
    bool ask(const AgentRequest &request, DeviceError &error);
    struct Granted;
    std::optional<Granted> claim(const AgentRequest &request, const EndpointPage &page, DeviceError &error);
    bool in_range(const AgentRequest &request, DeviceError &error) const;

    const BulkWay bulk_way_;
    const AgentStart start_;
    const std::string agent_name_; ///< of this user's own agent; empty: of the network namespace's
    const uint64_t names_by_; ///< when other hosts have answered our new agent's first beacon
    AgentConnection agent_;
    mutable std::mutex mutex_; ///< of file_
    std::shared_ptr<BoardFile> file_;
    std::shared_ptr<ClaimKeeper> keeper_;
};

std::shared_ptr<BoardFile> Engine::file() const
{
    const std::lock_guard lock(mutex_);
    return file_;
}

bool same_boards(BoardFile &a, BoardFile &b)
{
    bool same = a.board_count() == b.board_count();
    for (uint32_t i = 0; same && i < a.board_count(); i++)
        same = place_of(a.board(i)) == place_of(b.board(i)) && same_sizes(a.board(i).sizes, b.board(i).sizes);
    return same;
}

/// Takes the board file of an agent that has come since. Boards keep their numbers during the life of a
/// process: an agent with other boards is of no use to it.
bool Engine::follow(const Contact &contact, DeviceError &error)
{
    const std::lock_guard lock(mutex_);
    if (contact.file->same(file_->fd()))
        return true;
    if (!same_boards(*contact.file, *file_)) {
        error = {mx_no_driver, "omxd, the board agent, was restarted with other boards since this program "
                               "started: start the program again"};
        return false;
    }
    file_ = contact.file;
    return true;
}

BoardInfo describe(BoardFile &file, uint32_t i)
{
    const BoardRecord &record = file.board(i);
    BoardInfo info;
    info.number = i;
    info.nic_id = record.mac;
    info.interface = text_of(record.interface, sizeof(record.interface));
    info.host_name = name_in(file.peers(i), i);
    info.driver = text_of(record.driver, sizeof(record.driver));
    info.mtu = record.mtu;
    info.numa_node = record.numa_node;
    info.dialect = record.sizes.dialect == FW_DIALECT_W ? 'W' : 'N';
    info.dialect_mtu = record.sizes.mtu;
    info.frag = record.sizes.frag;
    info.medium_max = record.sizes.medium_max;
    info.reply = record.sizes.reply;
    info.x_frame = record.x_frame;
    info.endpoint_max = file.header().endpoint_max;
    info.up = read_link(file.board(i)).state == EMX_LINK_UP;
    return info;
}

std::vector<BoardInfo> Engine::boards()
{
    std::vector<BoardInfo> all;
    const auto file = this->file();
    for (uint32_t i = 0; i < file->board_count(); i++)
        all.push_back(describe(*file, i));
    return all;
}

bool Engine::known(BoardFile &file, uint32_t board, DeviceError &error) const
{
    if (board < file.board_count())
        return true;
    error = {mx_board_unknown, "board " + std::to_string(board) +
                                   " does not exist: omxd serves boards 0 to " +
                                   std::to_string(file.board_count() - 1)};
    return false;
}

bool Engine::in_range(const AgentRequest &request, DeviceError &error) const
{
    const auto file = this->file();
    const uint32_t limit = file->header().endpoint_max;
    if (!known(*file, request.board, error))
        return false;
    if (request.endpoint < limit)
        return true;
    error = {mx_bad_endpoint, "endpoint " + std::to_string(request.endpoint) + " is out of range: 0 to " +
                                  std::to_string(limit - 1) + " (omxd --endpoints raises it)"};
    return false;
}

/// The parts that a claim brings, and the connection that holds it.
struct Engine::Granted {
    AgentConnection agent;
    AgentReply reply;
    std::vector<Fd> fds;
};

namespace {

/// True if these are the sockets of an endpoint, and rings of theirs.
bool usable(const AgentReply &reply, const std::vector<Fd> &fds, bool udp)
{
    if (udp)
        return fds.size() == 1 && is_udp_socket(fds[0].get());
    const RingShape ring{reply.ring_slot, reply.ring_block, reply.ring_blocks},
        lo{reply.lo_slot, reply.lo_block, reply.lo_blocks};
    return fds.size() == agent_fds_max && ring.possible() && lo.possible() &&
           std::all_of(fds.begin(), fds.end(), [](const Fd &fd) { return is_packet_socket(fd.get()); });
}

} // namespace

/// The agent may end between its greeting and its answer: then the next one is asked.
std::optional<Engine::Granted> Engine::claim(const AgentRequest &request, const EndpointPage &page,
                                             DeviceError &error)
{
    constexpr int attempts = 5;
    for (int attempt = 0; attempt < attempts; attempt++) {
        auto contact = reach_agent(start_, agent_name_, error);
        if (!contact || !follow(*contact, error) || !in_range(request, error))
            return std::nullopt;
        AgentReply reply;
        std::vector<Fd> fds;
        if (contact->agent.request(request, reply, fds, error, {page.fd()})) {
            if (usable(reply, fds, this->file()->board(request.board).udp_port != 0))
                return Granted{std::move(contact->agent), reply, std::move(fds)};
            error = {mx_no_driver, "omxd, the board agent, sent no sockets: stop it, so that the next open "
                                   "starts it anew"};
        }
        if (!AgentConnection::was_lost(error))
            break;
    }
    return std::nullopt;
}

std::unique_ptr<Port> Engine::open(uint32_t board, uint32_t number, uint32_t session, DeviceError &error)
{
    AgentRequest request;
    request.op = AgentOp::claim;
    request.board = board;
    request.endpoint = number;
    request.session = session;
    const std::shared_ptr<EndpointPage> page = EndpointPage::make();
    if (!page) {
        error = system_error("making the page of the endpoint");
        return nullptr;
    }
    auto granted = this->claim(request, *page, error);
    if (!granted)
        return nullptr;
    const auto file = this->file();
    const AgentReply &reply = granted->reply;
    std::vector<Fd> &fds = granted->fds;
    auto claim =
        keeper_->hold(std::move(granted->agent), file, {board, number, session, reply.life, page}, error);
    if (!claim)
        return nullptr;
    const auto secret = static_cast<uint32_t>(sys::random_bits());
    PortParts parts{file,    std::move(claim), board,      static_cast<uint8_t>(number),
                    session, secret,           reply.life, page};
    if (file->board(board).udp_port != 0)
        return UdpPort::make({std::move(parts), std::move(fds[0]), reply.bulk_bytes, bulk_way_}, error);
    return EnginePort::make({std::move(parts),
                             std::move(fds[0]),
                             std::move(fds[1]),
                             std::move(fds[2]),
                             {reply.ring_slot, reply.ring_block, reply.ring_blocks},
                             {reply.lo_slot, reply.lo_block, reply.lo_blocks},
                             reply.bulk_bytes,
                             bulk_way_},
                            error);
}

std::vector<PeerInfo> Engine::peers(uint32_t board)
{
    std::vector<PeerInfo> all;
    DeviceError ignored;
    const auto file = this->file();
    if (!known(*file, board, ignored))
        return all;
    fw_peers *table = file->peers(board);
    for (uint32_t i = 0; const struct fw_peer *peer = fw_peer(table, i); i++) {
        PeerInfo info{i, peer->mac, {}, peer->speaks};
        if (info.nic_id == 0)
            continue; // its place is just taken again
        info.name = name_in(table, i);
        all.push_back(std::move(info));
    }
    return all;
}

std::optional<uint64_t> Engine::nic_id_of(const std::string &host_name)
{
    const auto file = this->file();
    if (host_name.empty() || host_name.size() >= EMX_NAME_MAX)
        return std::nullopt;
    for (uint32_t board = 0; board < file->board_count(); board++) {
        const int index = fw_peer_by_name(file->peers(board), host_name.c_str());
        if (index >= 0)
            return fw_peer(file->peers(board), static_cast<uint32_t>(index))->mac;
    }
    return std::nullopt;
}

bool Engine::wait_for_names()
{
    const auto file = this->file();
    if (monotonic_ns() >= names_by_ || file->board_count() == 0 ||
        (!file->peers(0)->open && std::atomic_ref(file->board(0).sought).load() == 0))
        return false;
    sys::sleep_ms(names_look_ms);
    return true;
}

std::optional<std::string> Engine::name_of(uint64_t nic_id)
{
    const auto file = this->file();
    for (uint32_t board = 0; board < file->board_count(); board++) {
        fw_peers *table = file->peers(board);
        const int index = fw_peer_find(table, nic_id, 0);
        const std::string name = index < 0 ? std::string{} : name_in(table, static_cast<uint32_t>(index));
        if (!name.empty())
            return name;
    }
    return std::nullopt;
}

bool Engine::ask(const AgentRequest &request, DeviceError &error)
{
    AgentReply reply;
    std::vector<Fd> fds;
    if (agent_.request(request, reply, fds, error))
        return true;
    if (!AgentConnection::was_lost(error))
        return false;
    auto contact = reach_agent(start_, agent_name_, error);
    if (!contact || !follow(*contact, error))
        return false;
    agent_.replace(contact->agent.release());
    return agent_.request(request, reply, fds, error);
}

bool Engine::set_host_name(uint32_t board, const std::string &name, DeviceError &error)
{
    if (!known(*file(), board, error))
        return false;
    AgentRequest request;
    request.op = AgentOp::set_name;
    request.board = board;
    if (name.empty() || name.size() >= sizeof(request.text)) {
        error = {mx_no_resources, "a board name has 1 to 79 characters"};
        return false;
    }
    std::memcpy(request.text, name.data(), name.size());
    return ask(request, error);
}

emx_counters Engine::counters(uint32_t board)
{
    AgentRequest request;
    request.op = AgentOp::sum_counters;
    request.board = board;
    DeviceError ignored;
    if (!known(*file(), board, ignored))
        return {};
    ask(request, ignored); // without an agent: those of last time
    return file()->told_counters(board);
}

bool Engine::clear_counters(uint32_t board, DeviceError &error)
{
    AgentRequest request;
    request.op = AgentOp::clear_counters;
    request.board = board;
    return known(*file(), board, error) && ask(request, error);
}

} // namespace

BulkWay bulk_way(const std::string &name)
{
    return name == "raw"   ? BulkWay::frames
           : name == "udp" ? BulkWay::datagrams
           : name == "tcp" ? BulkWay::tcp
                           : BulkWay::best;
}

std::unique_ptr<Device> make_engine(const EngineConfig &config, DeviceError &error)
{
    std::vector<BoardSpec> specs;
    std::string text;
    if (!parse_board_spec(config.boards, specs, text)) {
        error = {mx_no_dev, "EMX_BOARDS: " + text};
        return nullptr;
    }
    AgentStart start{config.agent_program, config.boards, config.config,
                     config.peers,         config.group,  config.endpoint_max};
    const std::string agent = choose_agent(config.boards, config.config);
    auto contact = reach_agent(start, agent, error);
    if (!contact || !serves(*contact->file, config.boards, error))
        return nullptr;
    return std::make_unique<Engine>(std::move(start), agent, std::move(*contact), config.bulk_way);
}

} // namespace emx
