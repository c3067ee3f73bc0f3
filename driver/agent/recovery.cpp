// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The first moments of an agent that follows one which ended with endpoints open.
//
// The kernel lists the sockets of such endpoints. As long as some are unaccounted for, a short while at
// most, the agent refuses no packet and answers nobody but processes that bring their claims. The
// first of them brings the board file of before, with which the agent goes on.
#include "driver/agent/agent.hpp"

#include "driver/base/clock.hpp"
#include "driver/base/text_file.hpp"
#include "driver/mx_codes.hpp"

#include <emx/wire.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <sstream>

namespace emx {
namespace {

// Programs look for an agent every 0.5 s, and wait longer for its answers.
constexpr uint64_t patience_ns = 3000000000;

/// Sockets of this network namespace that take MXoE frames of an interface.
unsigned packet_sockets(int interface)
{
    std::istringstream list = read_text_file("/proc/thread-self/net/packet");
    std::string line;
    std::getline(list, line); // titles
    unsigned count = 0;
    while (std::getline(list, line)) {
        std::istringstream words(line);
        std::string address, references, type, protocol;
        int index = 0;
        if (words >> address >> references >> type >> protocol >> index && index == interface &&
            std::stoul(protocol, nullptr, 16) == EMX_ETHERTYPE)
            count++;
    }
    return count;
}

bool same_board(const BoardRecord &record, const BoardPlan &plan)
{
    return record.mac == plan.facts.mac && plan.spec.interface == record.interface &&
           same_sizes(record.sizes, plan.sizes);
}

} // namespace

/// Before this agent has sockets of its own: each open endpoint has one socket on the loopback interface.
void Agent::look_for_orphans()
{
    InterfaceFacts lo;
    if (are_udp(specs_) || !query_interface("lo", lo) || packet_sockets(lo.index) == 0)
        return;
    recovery_until_ = monotonic_ns() + patience_ns;
}

/// The same for UDP boards, whose ports other processes have when ours are open.
void Agent::look_for_udp_orphans()
{
    if (std::all_of(boards_.begin(), boards_.end(), [](const auto &board) { return board->orphans() == 0; }))
        return;
    recovery_until_ = monotonic_ns() + patience_ns;
    for (const auto &board : boards_)
        board->refuse_nobody();
}

/// Endpoints whose processes have not come yet.
unsigned Agent::orphans() const
{
    InterfaceFacts lo;
    unsigned udp = 0;
    for (const auto &board : boards_)
        udp += board->orphans();
    if (are_udp(specs_))
        return udp > turned_down_ ? udp - turned_down_ : 0;
    if (!query_interface("lo", lo))
        return 0;
    unsigned ours = static_cast<unsigned>(boards_.size()) + turned_down_;
    for (const Client &client : clients_)
        ours += client.board >= 0;
    const unsigned all = packet_sockets(lo.index);
    return all > ours ? all - ours : 0;
}

void Agent::check_recovery(uint64_t now)
{
    if (!recovering())
        return;
    const unsigned left = orphans();
    if (left > 0 && now < recovery_until_)
        return;
    recovery_until_ = 0;
    log_.line("took over the open endpoints of the agent before" +
              (left ? ", all but " + std::to_string(left) + " that did not ask for it" : std::string{}));
    for (const auto &board : boards_)
        board->refuse_unclaimed();
    forget_holders();
    for (Client &client : clients_) {
        if (!client.deferred)
            continue;
        const AgentRequest request = *client.deferred;
        const std::vector<Fd> fds = std::move(client.deferred_fds);
        client.deferred.reset();
        if (!answer(client, request, fds))
            drop(client);
    }
    std::erase_if(clients_, [](const Client &client) { return !client.connection; });
}

/// Goes on with the board file of the agent before. Nobody has seen our own yet.
bool Agent::adopt(Fd fd, std::string &why)
{
    const std::string other = "omxd was restarted with other boards: close the endpoint and open it again";
    std::unique_ptr<BoardFile> file = BoardFile::adopt(std::move(fd), why);
    if (!file)
        return false;
    if (file->board_count() != plans_.size() || file->header().endpoint_max != options_.endpoint_max) {
        why = other;
        return false;
    }
    for (uint32_t i = 0; i < plans_.size(); i++) {
        if (!same_board(file->board(i), plans_[i])) {
            why = other;
            return false;
        }
    }
    StartError error;
    std::vector<std::unique_ptr<AgentBoard>> boards;
    if (!open_boards(*file, boards, error)) {
        why = error.text;
        return false;
    }
    boards_ = std::move(boards);
    file_ = std::move(file);
    file_->header().agent_pid = static_cast<uint32_t>(::getpid());
    adopted_ = true;
    if (!load_peers(error))
        log_.line(error.text);
    return true;
}

/// The agent before has written so; nobody takes the endpoint of another user.
bool Agent::was_holder(const Client &client, const AgentRequest &request) const
{
    if (request.endpoint >= EMX_ENDPOINTS_MAX)
        return false;
    const ClaimRecord &holder = file_->claim(request.board, request.endpoint);
    return holder.held && holder.uid == client.uid && holder.session == request.session;
}

void Agent::forget_holders()
{
    for (const auto &board : boards_)
        for (uint32_t endpoint = 0; endpoint < EMX_ENDPOINTS_MAX; endpoint++)
            if (!board->claimed(endpoint))
                file_->claim(board->number(), endpoint) = {};
}

void Agent::reclaim(Client &client, const AgentRequest &request, const Fd &file, const Fd &counters,
                    AgentReply &reply)
{
    std::string why;
    bool known = BoardFile::is_own(file.get()); // a claim of the agent before, as far as one can tell
    if (!check_board(request, reply))
        return;
    if (recovering() && !adopted_ && !file_->same(file.get()) &&
        !adopt(Fd(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0)), why))
        refuse(reply, mx_no_driver, why);
    else if (!file_->same(file.get()))
        refuse(reply, mx_no_driver,
               "omxd was restarted and goes on without this endpoint: close it and open it again");
    else if (request.life != boards_[request.board]->record().lives)
        refuse(reply, mx_no_dev, "the interface of this endpoint vanished: close it and open it again");
    else if (known = !recovering() || was_holder(client, request); !known)
        refuse(reply, mx_no_driver, "the omxd before did not know this endpoint: close it and open it again");
    else
        take_number(client, request, counters, reply);
    if (recovering() && known && reply.code != 0)
        turned_down_++;
}

} // namespace emx
