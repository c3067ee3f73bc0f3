// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The board agent's event loop and the life of its clients.
#include "driver/agent/agent.hpp"

#include "driver/base/clock.hpp"
#include "driver/base/control_socket.hpp"
#include "driver/base/peer_user.hpp"
#include "driver/mx_codes.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

namespace emx {
namespace {

constexpr uint64_t second = 1000000000;
constexpr uint64_t recovery_look = second / 50;
constexpr std::size_t fixed_fds = 4; // links, signals, two listeners
constexpr int accepts_per_turn = 16; // by each listener; others wait in its queue, and clients do not
constexpr uint64_t accept_pause = second / 10; // when the kernel gives no connection

/// Descriptor that becomes readable when the process at the other end dies; empty when it cannot be had.
Fd process_of(int connection, pid_t pid)
{
    int fd = -1;
    socklen_t size = sizeof(fd);
    if (::getsockopt(connection, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) == 0)
        return Fd(fd);
    if (pid > 0)
        return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    errno = ESRCH; // of a namespace that ours does not see
    return {};
}

bool in_group(int connection, gid_t primary, gid_t wanted)
{
    if (primary == wanted)
        return true;
    std::vector<gid_t> groups(64); // more than most have
    auto size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
    int got = ::getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size);
    if (got != 0 && errno == ERANGE) { // the kernel tells how many
        groups.resize(size / sizeof(gid_t));
        got = ::getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size);
    }
    groups.resize(got == 0 ? size / sizeof(gid_t) : 0);
    return std::find(groups.begin(), groups.end(), wanted) != groups.end();
}

bool no_descriptors() { return errno == EMFILE || errno == ENFILE; }

std::size_t fds_with(AgentOp op)
{
    switch (op) {
    case AgentOp::reclaim: return 2;
    case AgentOp::claim:
    case AgentOp::grow_socket: return 1;
    default: return 0;
    }
}

} // namespace

int Agent::run()
{
    std::vector<pollfd> fds;
    for (;;) {
        collect(fds);
        const int ready = ::poll(fds.data(), fds.size(), timeout_ms(monotonic_ns()));
        if (ready < 0 && errno != EINTR)
            return 1;
        if (ready > 0 && !serve(fds)) {
            log_.line("stopped by a signal");
            return 0;
        }
        const uint64_t now = monotonic_ns();
        if (now >= accept_after_)
            accept_after_ = 0;
        check_recovery(now);
        for (const auto &board : boards_) {
            board->ask_names(now);
            board->beacon(now);
            board->tick(now);
            if (const std::string name = board->take_own_name(); !name.empty())
                rename(board->number(), name);
        }
        if (std::any_of(clients_.begin(), clients_.end(), [](const Client &client) { return client.asked; }))
            alone_since_ = now;
        else if (clients_.empty() && options_.linger_s >= 0 &&
                 now - alone_since_ >= static_cast<uint64_t>(options_.linger_s) * second) {
            log_.line("no clients left");
            return 0;
        }
    }
}

void Agent::collect(std::vector<pollfd> &fds) const
{
    fds.clear();
    for (int fd : {links_.fd(), signals_.get(), by_path_.get(), listener_.get()}) // poll passes over -1
        fds.push_back({fd, POLLIN, 0});
    if (accept_after_ != 0)
        fds[2].fd = fds[3].fd = -1;
    for (const auto &board : boards_)
        for (int fd : {board->interface_socket(), board->lo_socket()})
            fds.push_back({fd, POLLIN, 0});
    for (const Client &client : clients_) {
        const short events = client.deferred ? 0 : POLLIN;
        fds.push_back({client.connection.get(), events, 0});
        fds.push_back({client.process.get(), POLLIN, 0}); // poll passes over -1
    }
}

int Agent::timeout_ms(uint64_t now) const
{
    uint64_t next = ~uint64_t{0};
    for (const auto &board : boards_)
        next = std::min({next, board->beacon_due(), board->questions_due(), board->due()});
    if (clients_.empty() && options_.linger_s >= 0)
        next = std::min(next, alone_since_ + static_cast<uint64_t>(options_.linger_s) * second);
    if (recovering())
        next = std::min(next, now + recovery_look);
    if (accept_after_ != 0)
        next = std::min(next, accept_after_);
    if (next == ~uint64_t{0})
        return -1;
    return next <= now ? 0 : static_cast<int>((next - now) / 1000000 + 1);
}

/// False when a signal asks to stop.
bool Agent::serve(const std::vector<pollfd> &fds)
{
    // Clients come first: a claim precedes the frames that it will bring.
    const std::size_t first_client = fixed_fds + 2 * boards_.size();
    serve_clients(fds, first_client, clients_.size());
    for (const std::size_t i : {2, 3}) // the path first: no stranger fills its queue
        if (fds[i].revents)
            accept_clients(fds[i].fd);
    if (fds[0].revents)
        links_.read(
            [this](int index, const std::string &name, uint32_t state) { link_changed(index, name, state); });
    for (std::size_t i = 0; i < boards_.size(); i++) {
        for (std::size_t side = 0; side < 2; side++) {
            const pollfd &entry = fds[fixed_fds + 2 * i + side];
            if (entry.fd != (side == 0 ? boards_[i]->interface_socket() : boards_[i]->lo_socket()))
                continue; // replaced since the poll
            if (entry.revents & (POLLERR | POLLHUP)) {
                int why = 0; // a downed interface: the links tell the rest
                socklen_t size = sizeof(why);
                ::getsockopt(entry.fd, SOL_SOCKET, SO_ERROR, &why, &size);
            }
            if (entry.revents)
                boards_[i]->receive(entry.fd);
        }
    }
    return !fds[1].revents;
}

void Agent::serve_clients(const std::vector<pollfd> &fds, std::size_t first, std::size_t known)
{
    for (std::size_t i = 0; i < known; i++) {
        Client &client = clients_[i];
        const bool died = fds[first + 2 * i + 1].revents;
        const bool spoke = fds[first + 2 * i].revents;
        if (died || (spoke && !serve_client(client)))
            drop(client);
    }
    std::erase_if(clients_, [](const Client &client) { return !client.connection; });
}

bool Agent::serve_client(Client &client)
{
    AgentRequest request;
    std::vector<Fd> fds;
    const ssize_t got =
        receive_datagram(client.connection.get(), &request, sizeof(request), fds, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return true;
    if (got < 0 && errno == EMSGSIZE) { // its descriptors did not fit into our table, or it sent too many
        turn_away(client, mx_no_resources, out_of_descriptors());
        return false;
    }
    if (got != static_cast<ssize_t>(sizeof(request)) || client.deferred || fds.size() != fds_with(request.op))
        return false;
    client.asked = true;
    if (recovering() && request.op != AgentOp::reclaim) {
        client.deferred = request;
        client.deferred_fds = std::move(fds);
        return true;
    }
    return answer(client, request, fds);
}

void Agent::drop(Client &client)
{
    if (client.board >= 0) {
        log_.line("endpoint " + std::to_string(client.endpoint) + " of board " +
                  std::to_string(client.board) + ": released by process " + std::to_string(client.pid));
        boards_[static_cast<std::size_t>(client.board)]->release(client.endpoint);
    }
    client.board = -1;
    client.connection.reset();
    client.process.reset();
    if (client.asked)
        alone_since_ = monotonic_ns(); // if it was the last
}

/// With no descriptor left a connection is taken all the same, and told so: else it would wait in the queue,
/// which would never let us sleep. False with errno set when there is none.
bool Agent::shed(int listener)
{
    spare_.reset();
    Client client;
    client.connection.reset(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    const int why = errno;
    const bool taken = static_cast<bool>(client.connection);
    if (taken)
        turn_away(client, mx_no_resources, out_of_descriptors());
    client.connection.reset();
    spare_ = Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    errno = why;
    return taken;
}

void Agent::accept_clients(int listener)
{
    for (int n = 0; n < accepts_per_turn; n++) {
        Client client;
        client.connection.reset(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!client.connection && no_descriptors() && shed(listener))
            continue;
        if (!client.connection) {
            if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
                accept_after_ = monotonic_ns() + accept_pause;
            return;
        }
        if (admit(client))
            clients_.push_back(std::move(client));
    }
}

/// Strangers get their answer unasked, and hold no descriptor here.
bool Agent::admit(Client &client)
{
    ucred who{};
    socklen_t size = sizeof(who);
    if (::getsockopt(client.connection.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0)
        return false;
    client.pid = static_cast<uint32_t>(who.pid);
    client.uid = who.uid;
    client.trusted = who.uid == 0 || is_user({who.uid, who.pid}, starter_);
    const bool served = client.trusted || (look_up_group(monotonic_ns()) &&
                                           in_group(client.connection.get(), who.gid, *group_));
    if (!served) {
        turn_away(client, mx_no_perm, stranger_text());
        return false;
    }
    if (!may_have_more(client)) {
        turn_away(client, mx_no_resources,
                  "user " + std::to_string(client.uid) +
                      " has as many connections to omxd as one user may: "
                      "end some of its programs (omx_endpoint_info shows them)");
        return false;
    }
    client.process = process_of(client.connection.get(), who.pid);
    if (!client.process && no_descriptors()) {
        turn_away(client, mx_no_resources, out_of_descriptors());
        return false;
    }
    return true;
}

/// One user of the group leaves descriptors to the others; each connection costs two.
bool Agent::may_have_more(const Client &client) const
{
    constexpr uint64_t users = 4, least = 8;
    const auto count = std::count_if(clients_.begin(), clients_.end(),
                                     [&](const Client &other) { return other.uid == client.uid; });
    return client.trusted || static_cast<uint64_t>(count) < std::max(least, descriptors_ / 2 / users);
}

void Agent::link_changed(int index, const std::string &name, uint32_t state)
{
    for (const auto &board : boards_) {
        const uint32_t before = read_link(board->record()).state;
        const std::string called = board->interface();
        if (index < 0)
            look_at(*board);
        else if (index == board->interface_index() && state == EMX_LINK_GONE && !board->is_udp())
            board->set_link(state), follow_name(*board);
        else if (index == board->interface_index() || name == board->interface())
            look_at(*board);
        const uint32_t after = read_link(board->record()).state;
        if (before != after)
            log_.line("interface " + called + " is " +
                      (after == EMX_LINK_UP     ? "up"
                       : after == EMX_LINK_DOWN ? "down"
                                                : "gone"));
    }
}

} // namespace emx
