// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// One progress pass: match what the helper accepted, take what the device has, acknowledge, serve timers.
#include "libmx/endpoint.hpp"

#include <algorithm>
#include <utility>

namespace emx {

namespace {

constexpr unsigned events_per_pass = 16;
constexpr unsigned passes_without_clock = 16;
constexpr unsigned empty_passes_per_clock = 4;
constexpr unsigned passes_per_clock = empty_passes_per_clock * passes_without_clock;
// Passes that find something for which timers wait, at most: more events than a ring holds.
constexpr unsigned passes_behind_max = 512;
// Before a pass counts as empty it looks again, which is cheaper than to leave and come back, and the shorter
// the loop the sooner a frame is seen.
constexpr unsigned spins_per_pass = 8;
// Few for a program that asks now and then, many for one that does nothing but ask.
constexpr unsigned looks_when_asked = 2;
constexpr unsigned looks_when_waiting = 8;
// So many empty calls take about as long as a busy poll of a microsecond.
constexpr unsigned calls_per_us = 4;
// Timers of thousands of partners shall not take all time.
constexpr unsigned rest_per_partner_ns = 500;

} // namespace

bool Endpoint::progress(Driver driver)
{
    if (gated())
        return false;
    staging_ = driver == Driver::helper;
    if (!staging_ && accepted_)
        match_accepted();
    // A caller that was given something may ask for more before acting upon it: that is to be quick.
    const bool more = driver <= Driver::sleeper && std::exchange(just_found_, false);
    bool found = poll_device(driver == Driver::application && !more ? spins_per_pass : 0);
    staging_ = false;
    if (more && !found && due_acks_.empty())
        return false;
    if (driver == Driver::helper)
        hurry_acks();
    if (!due_acks_.empty())
        send_due_acks();
    // The clock is read when nothing came, or now and then in a stream that never pauses.
    // Not each time: programs poll far more often than timers need. The helper does not.
    passes_ += driver == Driver::helper ? passes_per_clock
               : found                  ? empty_passes_per_clock
                                        : passes_without_clock;
    if (acked_ && (!found || passes_ >= passes_per_clock))
        take_acks();
    if (passes_ >= passes_per_clock && driver != Driver::posting) {
        passes_ = 0;
        uint64_t time = now();
        if (unstamped_)
            stamp_acks(time);
        if (time >= timer_ns_ && !is_behind(found))
            serve_timers(time);
    }
    return found;
}

/// Frames come before timers: after a pause the answers are usually queued already. A flood stops no timer
/// for good.
bool Endpoint::is_behind(bool found)
{
    if (!found || passes_behind_ == passes_behind_max) {
        passes_behind_ = 0;
        return false;
    }
    passes_behind_++;
    passes_ = passes_per_clock; // again after the next pass
    return true;
}

bool Endpoint::poll_device(unsigned spins)
{
    // A finished request ends the pass: its owner waits, and another empty poll would cost it time.
    uint64_t before = completions_;
    const bool waiting = empty_calls_ >= waiting_calls;
    const unsigned looks = waiting ? looks_when_waiting : looks_when_asked;
    unsigned events = 0;
    while (events < events_per_pass && before == completions_ && !gated()) {
        const emx_msg *msg = port_->peek();
        if (!msg) {
            if (events || spins-- == 0 || !(port_->spin(looks) || (waiting && busy_poll())))
                break;
            continue;
        }
        ++events;
        accept(*msg);
        port_->consume();
    }
    return events > 0;
}

/// True when the next peek() may find something.
bool Endpoint::busy_poll()
{
    const auto us = static_cast<unsigned>(context_.conf().busy_poll_us);
    const BusyPoll result = us > 0 ? port_->busy_poll(us) : BusyPoll::none;
    // It was time in which others could have had the core.
    const auto patience = static_cast<uint32_t>(context_.conf().yield_after);
    if (result == BusyPoll::nothing && empty_calls_ < patience)
        empty_calls_ = std::min(empty_calls_ + us * calls_per_us, patience);
    return result == BusyPoll::found;
}

void Endpoint::posted(unsigned weight)
{
    posts_ += weight;
    if (posts_ < weight_per_pass || inside_handler())
        return;
    posts_ = 0;
    progress(Driver::posting);
}

uint64_t Endpoint::frames_served() const
{
    const emx_counters &counters = port_->counters();
    return counters.v[EMX_CNT_RX_PULL] + counters.v[EMX_CNT_RX_PULL_REPLY] +
           counters.v[EMX_CNT_TX_PULL_REPLY] + counters.v[EMX_CNT_RX_X_PULL] + counters.v[EMX_CNT_RX_X_DATA] +
           counters.v[EMX_CNT_TX_X_DATA];
}

void Endpoint::link_active(Partner *partner)
{
    partner->active = true;
    partner->active_prev = nullptr;
    partner->active_next = active_;
    if (active_)
        active_->active_prev = partner;
    active_ = partner;
}

void Endpoint::unlink_active(Partner *partner)
{
    (partner->active_prev ? partner->active_prev->active_next : active_) = partner->active_next;
    if (partner->active_next)
        partner->active_next->active_prev = partner->active_prev;
    partner->active_prev = partner->active_next = nullptr;
    partner->active = false;
}

void Endpoint::serve_timers(uint64_t time)
{
    take_acks();
    timer_ns_ = ~uint64_t{0};
    uint64_t ack_delay = uint64_t(context_.conf().ack_delay_ms) * 1000000;
    uint64_t rest_ns = 0;
    for (Partner *partner = active_, *next; partner; partner = next) {
        next = partner->active_next;
        rest_ns += rest_per_partner_ns;
        if (partner->connects)
            serve_connects(partner, time);
        if (partner->unacked)
            serve_resends(partner, time);
        ask_when_silent(partner, time);
        serve_probe(partner, time);
        if (partner->ack_owed && partner->ack_since_ns) {
            if (time >= partner->ack_since_ns + ack_delay)
                send_ack(partner);
            else
                timer_ns_ = std::min(timer_ns_, partner->ack_since_ns + ack_delay);
        }
        if (!partner->busy())
            unlink_active(partner);
    }
    check_budgets(time);
    timer_ns_ = std::max(timer_ns_, time + rest_ns);
}

uint64_t Endpoint::next_deadline(uint64_t time)
{
    if (unstamped_)
        stamp_acks(time);
    if (timer_ns_ <= time)
        passes_ = passes_per_clock; // the next pass serves it
    return std::min(timer_ns_, port_->deadline_ns());
}

void Endpoint::complete(Request *request, int code)
{
    request->complete = true;
    request->code = code;
    ++completions_;
    if (request->expires_ns) [[unlikely]] {
        request->expires_ns = 0;
        --timed_requests_;
    }
    if (request->forgotten) [[unlikely]]
        return complete_forgotten(request, code);
    if (!request->hidden) [[likely]]
        done_.push_back(request);
}

void Endpoint::complete_forgotten(Request *request, int code)
{
    if (code != MX_STATUS_SUCCESS)
        lost(code);
    requests_.release(request);
}

void Endpoint::lost(int code) { lost_.push_back(code); }

} // namespace emx
