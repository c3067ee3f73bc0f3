// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Questions of the EtherMX extension: nothing follows the last message that could show its loss, so who
// hears nothing after it asks what is there. The answer measures the round trip (docs/protocol.md).
#include "libmx/endpoint/endpoint.hpp"

namespace emx {

/// Runs with the timers of a partner that has not acknowledged everything.
void Endpoint::ask_when_silent(Partner *partner, uint64_t time)
{
    if (!partner->way.takes_reports() || partner->sender.unacked.empty())
        return;
    if (time >= partner->sender.question_due())
        ask(partner, time);
    clock_.arm(partner->sender.question_due());
}

/// Messages wait for acks. After a loss fewer are under way than a receiver takes before it acknowledges.
void Endpoint::ask_for_room(Partner *partner)
{
    if (partner->way.takes_reports() && !partner->sender.unacked.empty() &&
        !partner->sender.asked_for(partner->sender.unacked.tail))
        ask(partner, now());
}

void Endpoint::ask(Partner *partner, uint64_t time)
{
    partner->sender.ask(time);
    send_report(partner, true);
    partner->sender.question.counter = partner->counters.report_tx;
    ++questions_;
}

/// A peer that asks has its answer at the end of the pass, one for all it asked until then.
void Endpoint::owe_answer(Partner *partner)
{
    partner->receiver.owes_report = true;
    acks_.send_soon(partner);
}

} // namespace emx
