// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Questions of the EtherMX extension: nothing follows the last message that could show its loss, so who
// hears nothing after it asks what is there. The answer measures the round trip (docs/protocol.md).
#include "libmx/endpoint.hpp"

namespace emx {

namespace {

/// The newest question came behind that message.
bool asked_for(const TxMessage *tx) { return tx->first_ns < tx->partner->question.sent_ns; }

/// Questions that brought nothing.
unsigned in_vain(const Partner *partner)
{
    const Question &question = partner->question;
    return asked_for(partner->unacked_tail) && question.oldest == partner->tx_oldest ? question.in_vain : 0;
}

} // namespace

uint64_t Endpoint::question_due(const Partner *partner) const
{
    const uint64_t since = std::max(partner->unacked_tail->sent_ns, partner->question.since_ns);
    return since + partner->round_trip.patience_ns(in_vain(partner));
}

/// Runs with the timers of a partner that has not acknowledged everything.
void Endpoint::ask_when_silent(Partner *partner, uint64_t time)
{
    if (!partner->takes_reports() || !partner->unacked)
        return;
    if (time >= question_due(partner))
        ask(partner, time);
    timer_ns_ = std::min(timer_ns_, question_due(partner));
}

/// Messages wait for acks. After a loss fewer are under way than a receiver takes before it acknowledges.
void Endpoint::ask_for_room(Partner *partner)
{
    if (partner->takes_reports() && partner->unacked && !asked_for(partner->unacked_tail))
        ask(partner, now());
}

void Endpoint::ask(Partner *partner, uint64_t time)
{
    Question &question = partner->question;
    question.in_vain = in_vain(partner) + 1;
    question.oldest = partner->tx_oldest;
    question.sent_ns = question.since_ns = time;
    send_report(partner, true);
    question.counter = partner->report_tx;
    ++questions_;
}

/// A peer that asks has its answer at the end of the pass, one for all it asked until then.
void Endpoint::owe_answer(Partner *partner)
{
    partner->answer_owed = true;
    ack_soon(partner);
}

/// When what a report answers was asked; 0: it answers nothing.
uint64_t Endpoint::answered_question(Partner *partner, const emx_msg &report)
{
    Question &question = partner->question;
    if (question.counter == 0 || report.u.report.echo < question.counter)
        return 0;
    if (report.u.report.echo == question.counter) { // a later one of ours may have waited for its echo
        partner->round_trip.take(now() - question.sent_ns);
        partner->patience_ns = partner->round_trip.patience_ns();
    }
    question.counter = 0;
    return question.sent_ns;
}

} // namespace emx
