// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// One progress pass: match what the helper accepted, take what the device has, acknowledge, serve timers.
#include "libmx/endpoint/endpoint.hpp"

namespace emx {

namespace {

constexpr unsigned events_per_pass = 16;
// Before a pass counts as empty it looks again, which is cheaper than to leave and come back, and the shorter
// the loop the sooner a frame is seen.
constexpr unsigned spins_per_pass = 8;
// Few for a program that asks now and then, many for one that does nothing but ask.
constexpr unsigned looks_when_asked = 2;
constexpr unsigned looks_when_waiting = 8;

} // namespace

bool Endpoint::progress(Driver driver)
{
    if (gate_.is_closed())
        return false;
    gate_.set_staging(driver == Driver::helper);
    if (!gate_.is_staging() && !accepted_.empty())
        match_accepted();
    // A caller that was given something may ask for more before acting upon it: that is to be quick.
    const bool more = driver <= Driver::sleeper && patience_.take_just_found();
    bool found = poll_device(driver == Driver::application && !more ? spins_per_pass : 0);
    gate_.set_staging(false);
    if (more && !found && !is_anything_due())
        return false;
    if (driver == Driver::helper)
        acks_.hurry(); // no message will come soon to carry acks, and senders wait 50 ms at most
    if (is_anything_due())
        end_pass(driver);
    clock_.count(driver, found);
    if (acks_.any_noted() && (!found || clock_.is_due()))
        take_acks();
    if (clock_.is_due() && driver != Driver::posting) {
        clock_.restart();
        uint64_t time = now();
        if (acks_.any_unstamped())
            stamp_acks(time);
        if (time >= clock_.timer_ns() && !clock_.is_behind(found))
            serve_timers(time);
    }
    return found;
}

/// Sends what was held back until a pass, and the acks that no message carries.
void Endpoint::end_pass(Driver driver)
{
    if (holds_ && driver != Driver::posting)
        flush_held();
    if (acks_.any_due())
        send_due_acks();
}

bool Endpoint::poll_device(unsigned spins)
{
    // A finished request ends the pass: its owner waits, and another empty poll would cost it time.
    uint64_t before = completions_.count();
    const bool waiting = patience_.is_waiting();
    const unsigned looks = waiting ? looks_when_waiting : looks_when_asked;
    unsigned events = 0;
    while (events < events_per_pass && before == completions_.count() && !gate_.is_closed()) {
        const emx_msg *msg = port_->peek();
        if (!msg) {
            if (events || spins-- == 0 || !(port_->spin(looks) || (waiting && busy_poll())))
                break;
            continue;
        }
        ++events;
        if (msg->type > (EMX_EV_SURE | EMX_CONNECT)) { // no other event has such a type
            take_sure(msg);
            continue;
        }
        accept(*msg);
        port_->consume();
    }
    return events > 0;
}

/// True when the next peek() may find something.
bool Endpoint::busy_poll()
{
    const auto us = static_cast<unsigned>(instance_.conf().busy_poll_us);
    const BusyPoll result = us > 0 ? port_->busy_poll(us) : BusyPoll::none;
    if (result == BusyPoll::nothing)
        patience_.polled(us, yield_after());
    return result == BusyPoll::found;
}

void Endpoint::posted(unsigned weight)
{
    if (!clock_.post(weight) || gate_.inside_handler())
        return;
    clock_.restart_posts();
    progress(Driver::posting);
}

uint64_t Endpoint::frames_served() const
{
    const emx_counters &counters = port_->counters();
    return counters.v[EMX_CNT_RX_PULL] + counters.v[EMX_CNT_RX_PULL_REPLY] +
           counters.v[EMX_CNT_TX_PULL_REPLY] + counters.v[EMX_CNT_RX_X_PULL] + counters.v[EMX_CNT_RX_X_DATA] +
           counters.v[EMX_CNT_TX_X_DATA];
}

} // namespace emx
