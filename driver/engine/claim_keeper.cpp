// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The thread that takes claims from a board agent that ended to the next one.
#include "driver/engine/claim_keeper.hpp"

#include "driver/base/control_socket.hpp"
#include "driver/base/system_calls.hpp"
#include "driver/base/thread.hpp"
#include "driver/mx_codes.hpp"
#include "driver/system_error.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <new>

namespace emx {
namespace {

// Below the time that a new agent waits for the claims of its predecessor (driver/agent/recovery.cpp).
constexpr int retry_first_ms = 20, retry_last_ms = 500;

} // namespace

Claim::Claim(AgentConnection agent, std::shared_ptr<BoardFile> file, const ClaimOf &what)
    : agent_(std::move(agent)), file_(std::move(file)), page_(what.page)
{
    again_.op = AgentOp::reclaim;
    again_.board = what.board;
    again_.endpoint = what.endpoint;
    again_.session = what.session;
    again_.life = what.life;
}

Claim::~Claim()
{
    if (keeper_)
        keeper_->drop(*this);
}

bool Claim::request(const AgentRequest &request, AgentReply &reply, DeviceError &error, int patience_ms)
{
    std::vector<Fd> none;
    return agent_.request(request, reply, none, error, {}, patience_ms);
}

bool Claim::request(const AgentRequest &request, AgentReply &reply, std::vector<Fd> &fds, DeviceError &error,
                    int patience_ms, const std::vector<int> &sent)
{
    return agent_.request(request, reply, fds, error, sent, patience_ms);
}

ClaimKeeper::ClaimKeeper(std::string agent)
    : agent_(std::move(agent)), owner_(::getpid()), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))
{
}

ClaimKeeper::~ClaimKeeper()
{
    if (!thread_)
        return;
    if (owner_ != ::getpid()) {
        [[maybe_unused]] std::thread *const parents = thread_.release();
        return;
    }
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    nudge();
    join_thread(*thread_);
}

std::unique_ptr<Claim> ClaimKeeper::hold(AgentConnection agent, std::shared_ptr<BoardFile> file,
                                         const ClaimOf &what, DeviceError &error)
{
    std::unique_ptr<Claim> claim(new Claim(std::move(agent), std::move(file), what));
    if (owner_ != ::getpid())
        return claim; // a child without exec: it holds the number, as long as this agent lives
    const std::lock_guard lock(mutex_);
    if (!start(error))
        return nullptr;
    claim->id_ = next_id_++;
    claim->keeper_ = shared_from_this();
    claims_[claim->id_] = claim.get();
    nudge();
    return claim;
}

bool ClaimKeeper::start(DeviceError &error)
{
    if (thread_)
        return true;
    if (!wake_) // made when descriptors were at their limit
        wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake_) {
        error = system_error("the keeper of the endpoint's claim");
        return false;
    }
    auto thread = std::make_unique<std::thread>();
    *thread = start_thread([this] { run(); });
    if (thread->joinable())
        thread_ = std::move(thread);
    else
        error = {mx_no_resources, std::string("the keeper of the endpoint's claim: ") + no_thread};
    return thread_ != nullptr;
}

void ClaimKeeper::drop(Claim &claim)
{
    const std::lock_guard lock(mutex_);
    claims_.erase(claim.id_);
    // The thread may sleep on these descriptors, which keeps them from being closed until it wakes up.
    if (owner_ == ::getpid())
        for (const int fd : {claim.agent_.fd(), claim.asked_ ? claim.asked_->fd() : -1})
            ::shutdown(fd, SHUT_RDWR);
}

void ClaimKeeper::nudge() const
{
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = sys::write(wake_.get(), &one, sizeof(one));
}

void ClaimKeeper::run()
{
    std::vector<pollfd> fds;
    std::vector<Watched> watched;
    while (!is_stopped()) { // asked apart from what may find no memory: the end must not wait for that
        try {
            const int timeout = collect(fds, watched);
            if (sys::poll(fds.data(), fds.size(), timeout) >= 0) {
                serve(fds, watched);
                continue;
            }
        } catch (const std::bad_alloc &) { // claims stay as they are, until there is memory again
        }
        sys::sleep_ms(
            retry_last_ms); // also where a filter of system calls has come since, which refuses poll
    }
}

bool ClaimKeeper::is_stopped()
{
    const std::lock_guard lock(mutex_);
    return stop_;
}

/// Lists what to wait for; returns for how long in ms.
int ClaimKeeper::collect(std::vector<pollfd> &fds, std::vector<Watched> &watched)
{
    const std::lock_guard lock(mutex_);
    fds = {{wake_.get(), POLLIN, 0}};
    watched = {{}};
    bool looking = false;
    for (auto &[id, claim] : claims_) {
        if (claim->refused())
            continue;
        looking = looking || (claim->lost_ && !claim->asked_);
        if (claim->asked_)
            fds.push_back({claim->asked_->fd(), POLLIN, 0});
        else if (!claim->lost_)
            fds.push_back({claim->agent_.fd(), 0, 0}); // only its end
        else
            continue;
        watched.push_back({id, claim->asked_.has_value()});
    }
    retry_ms_ = looking ? std::clamp(retry_ms_ * 2, retry_first_ms, retry_last_ms) : 0;
    return looking ? retry_ms_ : retry_last_ms; // also where a filter of system calls loses a nudge
}

void ClaimKeeper::serve(const std::vector<pollfd> &fds, const std::vector<Watched> &watched)
{
    const std::lock_guard lock(mutex_);
    uint64_t count;
    [[maybe_unused]] const ssize_t n = sys::read(wake_.get(), &count, sizeof(count));
    for (std::size_t i = 1; i < fds.size(); i++) {
        const auto found = claims_.find(watched[i].id);
        if (!fds[i].revents || found == claims_.end())
            continue;
        if (watched[i].answer)
            take_answer(*found->second);
        else
            found->second->lost_ = true;
    }
    for (auto &[id, claim] : claims_)
        if (claim->lost_ && !claim->asked_ && !claim->refused())
            ask_again(*claim);
}

void ClaimKeeper::ask_again(Claim &claim)
{
    DeviceError error;
    auto agent = AgentConnection::connect(error, agent_);
    if (agent && send_datagram(agent->fd(), &claim.again_, sizeof(claim.again_),
                               {claim.file_->fd(), claim.page_->fd()}))
        claim.asked_.emplace(std::move(*agent));
}

void ClaimKeeper::take_answer(Claim &claim)
{
    AgentReply reply;
    std::vector<Fd> none;
    ssize_t got = receive_datagram(claim.asked_->fd(), &reply, sizeof(reply), none, MSG_DONTWAIT);
    if (got < 0 && errno == ECONNRESET) // our request was left unread: the reply comes next
        got = receive_datagram(claim.asked_->fd(), &reply, sizeof(reply), none, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return;
    DeviceError error;
    if (got == static_cast<ssize_t>(sizeof(reply))) {
        if (judge_reply(reply, error))
            claim.agent_.replace(claim.asked_->release());
        else
            claim.refused_.store(true, std::memory_order_relaxed);
        claim.lost_ = false;
    }
    claim.asked_.reset(); // without an answer: that agent ended, too
}

} // namespace emx
