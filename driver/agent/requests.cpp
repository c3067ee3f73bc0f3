// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Requests of clients to the board agent. They are hostile: every number and text is checked.
#include "driver/agent/agent.hpp"

#include "driver/base/control_socket.hpp"
#include "driver/base/packet_socket.hpp"
#include "driver/base/printable.hpp"
#include "driver/base/text_file.hpp"
#include "driver/base/udp_socket.hpp"
#include "driver/mx_codes.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace emx {
namespace {

std::string text_of(const AgentRequest &request)
{
    return std::string(request.text, ::strnlen(request.text, sizeof(request.text)));
}

void command_of(uint32_t pid, ClaimRecord &owner)
{
    std::istringstream file = read_text_file("/proc/" + std::to_string(pid) + "/comm");
    std::string name;
    std::getline(file, name, '\0'); // a name can have newlines of its own
    if (name.ends_with('\n'))
        name.pop_back();
    std::memcpy(owner.command, name.data(), std::min(name.size(), sizeof(owner.command) - 1));
}

/// Requests that change what all programs see.
bool is_administration(AgentOp op)
{
    switch (op) {
    case AgentOp::set_name:
    case AgentOp::peers_clear:
    case AgentOp::peers_append:
    case AgentOp::peers_complete:
    case AgentOp::clear_counters:
    case AgentOp::forget_names:
    case AgentOp::list_host:
    case AgentOp::pin_peer: return true;
    default: return false;
    }
}

} // namespace

void Agent::refuse(AgentReply &reply, int code, const std::string &text) const
{
    reply.code = code;
    std::memset(reply.text, 0, sizeof(reply.text));
    printable(text).copy(reply.text, sizeof(reply.text) - 1);
}

/// False: the client is to be dropped.
bool Agent::answer(Client &client, const AgentRequest &request, const std::vector<Fd> &received)
{
    AgentReply reply;
    EndpointSockets sockets;
    std::vector<int> fds;
    if (request.magic != agent_protocol_magic || request.version != agent_protocol_version) {
        refuse(reply, mx_no_driver,
               "omxd is of another build of EtherMX: stop it, so that the next open starts the right one");
    } else if (request.op == AgentOp::hello) {
        fds = {file_->fd()};
    } else if (request.op == AgentOp::claim) {
        claim(client, request, received.at(0), reply, sockets);
        if (reply.code == 0)
            fds = sockets.lo ? std::vector{sockets.ring.get(), sockets.bulk.get(), sockets.lo.get()}
                             : std::vector{sockets.ring.get()};
    } else if (request.op == AgentOp::reclaim) {
        reclaim(client, request, received.at(0), received.at(1), reply);
    } else if (request.op == AgentOp::group_socket) {
        give_group_socket(client, request, reply, sockets);
        if (reply.code == 0)
            fds = {sockets.ring.get()};
    } else if (request.op == AgentOp::grow_socket) {
        grow_socket(client, request, received.at(0), reply);
    } else {
        perform(client, request, reply);
    }
    return send_datagram(client.connection.get(), &reply, sizeof(reply), fds, MSG_DONTWAIT);
}

void Agent::turn_away(const Client &client, int code, const std::string &text) const
{
    AgentReply reply;
    refuse(reply, code, text);
    send_datagram(client.connection.get(), &reply, sizeof(reply), {}, MSG_DONTWAIT);
}

std::string Agent::stranger_text() const
{
    const std::string &group = options_.group;
    return "omxd serves root and members of the group " + group + ": " +
           (group_ ? "join it" : "make it (groupadd --system " + group + "), join it") + " (usermod -aG " +
           group + " USER) and log in again; or run as root";
}

std::string Agent::out_of_descriptors() const
{
    return "omxd has no descriptors left (its limit is " + std::to_string(descriptors_) +
           "): end programs, or start it with a higher limit (LimitNOFILE= in its unit, or ulimit -Hn)";
}

bool Agent::check_board(const AgentRequest &request, AgentReply &reply)
{
    if (request.board < boards_.size())
        return true;
    refuse(reply, mx_board_unknown, "no board " + std::to_string(request.board));
    return false;
}

/// Gives a number to a client; false with the reply filled when that cannot be.
bool Agent::take_number(Client &client, const AgentRequest &request, const Fd &counters, AgentReply &reply)
{
    AgentBoard &board = *boards_[request.board];
    const std::string what =
        "endpoint " + std::to_string(request.endpoint) + " of board " + std::to_string(request.board);
    if (request.endpoint >= options_.endpoint_max)
        return refuse(reply, mx_bad_endpoint, what + " is out of range (omxd --endpoints raises it)"), false;
    if (client.board >= 0)
        return refuse(reply, mx_no_resources, "a connection holds one endpoint only"), false;
    if (board.claimed(request.endpoint)) {
        const ClaimRecord &owner = file_->claim(request.board, request.endpoint);
        const std::string command(owner.command, ::strnlen(owner.command, sizeof(owner.command)));
        return refuse(reply, mx_busy,
                      what + " is open in process " + std::to_string(owner.pid) + " (" + command + ")"),
               false;
    }
    auto page = EndpointPage::map(counters);
    if (!page)
        return refuse(reply, mx_no_driver,
                      "a claim comes with the page of the endpoint, sealed against becoming shorter"),
               false;
    ClaimRecord owner{client.pid, client.uid, request.session, 1, {}};
    command_of(client.pid, owner);
    board.claim(request.endpoint, owner, std::move(page));
    client.board = static_cast<int>(request.board);
    client.endpoint = request.endpoint;
    log_.line(what + ": process " + std::to_string(client.pid) + " (" + owner.command + ")");
    return true;
}

void Agent::claim(Client &client, const AgentRequest &request, const Fd &counters, AgentReply &reply,
                  EndpointSockets &sockets)
{
    if (!check_board(request, reply))
        return;
    AgentBoard &board = *boards_[request.board];
    if (read_link(board.record()).state == EMX_LINK_GONE)
        return refuse(reply, mx_no_dev,
                      !board.trouble().empty()
                          ? board.trouble()
                          : "interface " + board.interface() +
                                " vanished: make it again, and its board can be opened again");
    InterfaceFacts lo;
    if (board.is_udp() ? query_interface(links_.fd(), "lo", lo) && !lo.up
                       : bound_interface(board.lo_socket()) != BoundInterface::up)
        return refuse(reply, mx_no_dev,
                      "interface lo is down, which endpoints of one host need: ip link set lo up");
    if (!take_number(client, request, counters, reply))
        return;
    if (!board.make_sockets(request.endpoint, client.trusted, sockets)) {
        const int why = errno;
        board.release(request.endpoint);
        client.board = -1;
        return refuse(reply, mx_no_resources,
                      why == EMFILE || why == ENFILE ? out_of_descriptors()
                      : why == EADDRINUSE
                          ? "UDP port " +
                                std::to_string(udp_port_of(board.record().udp_port, request.endpoint)) +
                                " of endpoint " + std::to_string(request.endpoint) +
                                " is another program's: end that (ss -lunp shows it), open another endpoint, "
                                "or give the board other ports"
                          : "opening the sockets of endpoint " + std::to_string(request.endpoint) + ": " +
                                std::strerror(why));
    }
    reply = sockets.shape;
}

// Only for its own board: another's filters are no business of the client.
void Agent::steer(const Client &client, const AgentRequest &request, AgentReply &reply)
{
    if (client.board < 0 || static_cast<uint32_t>(client.board) != request.board)
        return refuse(reply, mx_no_perm, "replies are steered for the holder of an endpoint of the board");
    if (!boards_[request.board]->steer_replies(static_cast<uint16_t>(request.group)))
        refuse(reply, mx_no_resources, std::string("steering replies: ") + std::strerror(errno));
}

void Agent::give_group_socket(Client &client, const AgentRequest &request, AgentReply &reply,
                              EndpointSockets &sockets)
{
    constexpr unsigned most = 4; // a port asks for one; a ring is memory that nobody can swap
    if (!check_board(request, reply))
        return;
    if (client.board < 0 || static_cast<uint32_t>(client.board) != request.board ||
        client.group_sockets >= most)
        return refuse(reply, mx_no_perm, "groups are for the holder of an endpoint of the board");
    RingShape shape;
    sockets.ring = boards_[request.board]->make_group_socket(shape);
    if (!sockets.ring) {
        const int why = errno;
        return refuse(reply, mx_no_resources,
                      why == EMFILE || why == ENFILE
                          ? out_of_descriptors()
                          : std::string("opening the socket of groups: ") + std::strerror(why));
    }
    ++client.group_sockets;
    reply.ring_slot = shape.slot;
    reply.ring_block = shape.block;
    reply.ring_blocks = shape.blocks;
}

/// The buffers are kernel memory that a user's own limit does not give: for few sockets of each endpoint.
void Agent::grow_socket(Client &client, const AgentRequest &request, const Fd &socket, AgentReply &reply)
{
    constexpr unsigned most = 16; // a port has one at a time, and another after its board's address changed
    constexpr uint32_t bytes = 1u << 20; // more than is ever under way
    if (client.board < 0 || static_cast<uint32_t>(client.board) != request.board ||
        client.grown_sockets >= most || !is_udp_socket(socket.get()))
        return refuse(reply, mx_no_perm,
                      "buffers grow of UDP sockets of the holder of an endpoint of the board");
    ++client.grown_sockets;
    reply.bulk_bytes = grow_buffers(socket.get(), bytes);
}

void Agent::perform(const Client &client, const AgentRequest &request, AgentReply &reply)
{
    if (is_administration(request.op) && !client.trusted)
        return refuse(reply, mx_no_perm,
                      "names, peers and counters of the boards are changed by root and by the user that "
                      "started omxd: run the command as that user (sudo)");
    switch (request.op) {
    case AgentOp::add_peer:
    case AgentOp::add_heard:
        if (check_board(request, reply))
            add_peer(client, request, reply);
        break;
    case AgentOp::set_name:
        if (!check_board(request, reply))
            break;
        if (!is_board_name(text_of(request)))
            return refuse(reply, mx_no_resources,
                          "a board name has 1 to 79 printable characters without blanks");
        rename(request.board, text_of(request));
        break;
    case AgentOp::clear_counters:
        if (check_board(request, reply))
            boards_[request.board]->clear_counters();
        break;
    case AgentOp::sum_counters:
        if (check_board(request, reply))
            boards_[request.board]->tell_counters();
        break;
    case AgentOp::steer:
        if (check_board(request, reply))
            steer(client, request, reply);
        break;
    case AgentOp::peers_clear:
    case AgentOp::peers_append:
    case AgentOp::peers_complete:
    case AgentOp::forget_names: change_peers(request, reply); break;
    case AgentOp::list_host:
        list_host(std::string(request.where, ::strnlen(request.where, sizeof(request.where))),
                  text_of(request), reply);
        break;
    case AgentOp::pin_peer: pin_peer(request.mac, static_cast<uint16_t>(request.group), reply); break;
    default: refuse(reply, mx_no_driver, "omxd does not know this request");
    }
}

void Agent::add_peer(const Client &client, const AgentRequest &request, AgentReply &reply)
{
    AgentBoard &board = *boards_[request.board];
    if (board.is_udp()) {
        const std::string where(request.where, ::strnlen(request.where, sizeof(request.where)));
        if (const auto from = parse_udp_address(where))
            board.heard_at(request.mac, *from);
        else if (const uint32_t ms = board.look_for_more(); ms != 0)
            reply.value = ms;
        else
            refuse(
                reply, mx_nic_not_found,
                "no host of the peers file has that board: name its host there (omx_init_peers, EMX_PEERS)");
        return;
    }
    const int index = client.trusted                    ? board.add_peer(request.mac)
                      : request.op == AgentOp::add_peer ? board.add_peer_for(client.uid, request.mac)
                                                        : board.add_heard_for_user(request.mac);
    if (index < 0)
        return refuse(reply, mx_nic_not_found,
                      "this board is not in the peers file, or the peer table is full, or this user has "
                      "asked for as many as one user may");
    reply.value = static_cast<uint32_t>(index);
}

/// By its name or address, with the first port of its board if that is another than ours.
void Agent::list_host(const std::string &where, const std::string &name, AgentReply &reply)
{
    std::string host, why;
    uint32_t port = 0;
    if (!are_udp(specs_))
        return refuse(reply, mx_no_dev,
                      "hosts are named for UDP boards alone; " + std::string(peers_line_form));
    if (!is_board_name(name) || !split_host(where, host, port))
        return refuse(reply, mx_no_resources, std::string(peers_host_form));
    for (const auto &board : boards_) {
        const UdpAddress &own = board->plan().own;
        const auto address = resolve_host(host, port ? port : own.port, own.is_v4(), why);
        if (!address)
            return refuse(reply, mx_no_dev, why + ": correct it, or /etc/hosts");
        if (!address->is_host())
            return refuse(reply, mx_no_dev, host + " is the address of no single host: correct it");
        board->list_host(*address, name);
    }
}

void Agent::change_peers(const AgentRequest &request, AgentReply &reply)
{
    if (request.op == AgentOp::peers_append) {
        const std::string name = text_of(request);
        if (!name.empty() && !is_board_name(name))
            return refuse(reply, mx_no_resources,
                          "a board name has 1 to 79 printable characters without blanks");
        return append_peer(request.mac, name, reply);
    }
    if (request.op == AgentOp::peers_clear)
        for (const auto &board : boards_)
            if (file_->peers(board->number())->pinned && !dialects_may_change(*board, reply))
                return;
    for (const auto &board : boards_) {
        fw_peers *table = file_->peers(board->number());
        if (request.op == AgentOp::peers_clear)
            board->unpin();
        if (request.op != AgentOp::peers_complete)
            board->forget_names();
        if (request.op != AgentOp::forget_names)
            table->open = request.op == AgentOp::peers_clear;
        if (request.op == AgentOp::peers_clear) {
            board->forget_hosts();
            board->announce();
        }
    }
}

// Into every board's table, also a closed one: this is the administrator's own list.
void Agent::append_peer(uint64_t mac, const std::string &name, AgentReply &reply)
{
    for (const auto &board : boards_) {
        fw_peers *table = file_->peers(board->number());
        const int index = board->list_peer(mac);
        if (index < 0)
            return refuse(reply, mx_no_resources, "not a unicast address, or the peer table is full");
        const auto peer = static_cast<uint32_t>(index);
        if (peer >= boards_.size() && !name.empty())
            fw_peer_name(table, peer, name.c_str());
        reply.value = peer;
    }
    const int own = file_->board_of(mac);
    if (own >= 0 && !name.empty())
        rename(static_cast<uint32_t>(own), name);
}

/// Programs cut messages, and their rings hold frames, by the dialects of the time when they opened.
bool Agent::dialects_may_change(const AgentBoard &board, AgentReply &reply) const
{
    if (!board.in_use() && !(recovering() && adopted_))
        return true;
    refuse(reply, mx_busy,
           "endpoints are open on " + board.interface() +
               ", and dialects of peers change only while none is: end their programs first "
               "(omx_endpoint_info shows them)");
    return false;
}

/// A list for many hosts names this one, too: with what it speaks.
bool Agent::is_own_dialect(uint32_t number, const fw_sizes &sizes, AgentReply &reply)
{
    const BoardRecord &record = file_->board(number);
    if (same_sizes(record.sizes, sizes))
        return true;
    const std::string interface = boards_[number]->interface();
    refuse(reply, mx_no_dev,
           "this is " + interface + " of this host, which speaks " + describe_dialect(record.sizes) +
               ": configure it as " + describe_board(interface, sizes) + ", or take the dialect off");
    return false;
}

// On every board whose interface carries that dialect: the peer is in the network of one of them.
void Agent::pin_peer(uint64_t mac, uint16_t speaks, AgentReply &reply)
{
    fw_sizes sizes{};
    if (fw_sizes_spoken(&sizes, speaks) != 0)
        return refuse(reply, mx_no_resources, "a dialect is W or N=SIZE with a frame size of 256 to 65535");
    if (const int own = file_->board_of(mac); own >= 0) {
        is_own_dialect(static_cast<uint32_t>(own), sizes, reply);
        return;
    }
    bool carried = false;
    for (const auto &board : boards_) {
        fw_peers *table = file_->peers(board->number());
        const int index = fw_peer_find(table, mac, 0);
        if (index < 0)
            return refuse(reply, mx_nic_not_found, "this board is not in the peer table: add it first");
        const auto peer = static_cast<uint32_t>(index);
        if (sizes.payload_min > board->record().mtu)
            continue;
        carried = true;
        if (fw_peer(table, peer)->speaks == speaks)
            continue;
        if (!dialects_may_change(*board, reply))
            return;
        board->pin(peer, speaks, sizes);
    }
    if (!carried)
        refuse(reply, mx_no_dev,
               "dialect " + describe_spoken(speaks) + " needs an MTU of " +
                   std::to_string(sizes.payload_min) + ", which no board here has: raise it (ip link set " +
                   boards_.front()->interface() + " mtu " + std::to_string(sizes.payload_min) +
                   "), or take the dialect off");
}

void Agent::rename(uint32_t number, const std::string &name)
{
    boards_[number]->set_name(name);
    for (const auto &board : boards_)
        fw_peer_name(file_->peers(board->number()), number, name.c_str());
    log_.line("board " + std::to_string(number) + " is now " + name);
}

} // namespace emx
