// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Peers of the other dialect: connects and short messages are the same in both, longer ones are dropped
// without a word (wire specification, section 1). So a peer is asked which one it speaks, once something is
// under way that depends on it. What both speak then is the extension; a stranger has none, and is left with
// short messages.
#include "libmx/endpoint.hpp"
#include "libmx/proto/frames.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace emx {

char Endpoint::dialect_to(const Partner *partner) const
{
    const uint16_t speaks = port_->peer_speaks(partner->peer);
    if (speaks == FW_SPEAKS_BOARD)
        return identity_.board.dialect;
    return speaks == FW_SPEAKS_W ? 'W' : 'N';
}

/// For a packet of that type, and now and then again. No answer means nothing, since frames get lost: all
/// goes on as if the dialects were the same.
void Endpoint::ask_dialect(Partner *partner, uint8_t for_type)
{
    const bool depends = for_type == EMX_MEDIUM || (for_type == EMX_RNDV && !partner->way.offer);
    if (!depends || !partner->life.is_connected() || port_->peer_is_local(partner->peer))
        return;
    constexpr uint64_t again_ns = 100000000;
    if (partner->way.question != 0 && now() - partner->way.asked_ns < again_ns)
        return;
    partner->way.asked_ns = now();
    if (partner->way.question == 0) {
        // Told apart from others', and not known to whoever does not hear us.
        const uint64_t random = (uint64_t{identity_.session} << 32 | partner->session) * 0x9e3779b97f4a7c15 ^
                                now() * 0xbf58476d1ce4e5b9;
        partner->way.question =
            emx_question(static_cast<uint16_t>(random >> 48 | 1), static_cast<uint8_t>(random >> 32 | 1),
                         static_cast<uint16_t>(random));
    }
    emx_msg msg{};
    msg.type = EMX_PULL;
    msg.remote_ep = EMX_QUESTION_ENDPOINT;
    msg.peer = partner->peer;
    msg.session = partner->session;
    msg.match = partner->way.question;
    port_->send(msg, nullptr);
}

void Endpoint::on_answer(const emx_msg &msg)
{
    for (unsigned number = 0; number < EMX_ENDPOINTS_MAX; ++number) {
        Partner *partner = partners_.latest(msg.peer, static_cast<uint8_t>(number));
        if (!partner || partner->way.question == 0 || partner->life.is_dead())
            continue;
        const bool is_n = msg.match == emx_answer_n(partner->way.question);
        if (!is_n && msg.match != emx_answer_w(partner->way.question))
            continue;
        const bool was_other = partner->way.is_of_other_dialect();
        partner->way.learn_dialect(is_n ? 'N' : 'W', dialect_to(partner));
        return partner->way.is_of_other_dialect() ? take_other_dialect(partner, !was_other) : void();
    }
    count(EMX_CNT_DROP_NACK);
}

void Endpoint::take_other_dialect(Partner *partner, bool is_news)
{
    if (partner->way.offer)
        return send_by_extension(partner);
    partner->way.detour = true; // where longer messages fail
    if (is_news)
        warn_of_dialect(partner);
    refuse_pulls(partner);
    for (TxMessage *tx = partner->sender.rndv, *next; tx; tx = next) {
        next = tx->rndv_next;
        end_rendezvous(tx, MX_STATUS_ENDPOINT_UNREACHABLE, 0);
    }
    bool is_held_up = false; // by a message that is never taken
    for (const TxQueue *queue : {&partner->sender.unacked, &partner->sender.waiting})
        queue->each([&](const TxMessage *tx) { is_held_up |= tx->header.type == EMX_MEDIUM; });
    if (is_held_up)
        fail_partner(partner, MX_STATUS_ENDPOINT_UNREACHABLE, false);
}

void Endpoint::warn_of_dialect(const Partner *partner) const
{
    char text[384];
    const char *const remedy = partner->way.dialect == Way::Dialect::other_w ? "W" : "N=SIZE";
    std::snprintf(
        text, sizeof(text),
        "host %012llx speaks dialect %c, and this one speaks %c to it: messages longer than %u bytes "
        "fail. Give both the same dialect (boards = in /etc/ethermx/ethermx.conf, or EMX_BOARDS), or "
        "have this host speak %s to that one alone: omx_init_peers %012llx NAME %s",
        static_cast<unsigned long long>(partner->nic_id), partner->way.their_dialect(), dialect_to(partner),
        unsigned{EMX_SMALL_MAX}, remedy, static_cast<unsigned long long>(partner->nic_id), remedy);
    context_.warn(text, &identity_.board, number());
}

/// Messages to one of ours go as X MEDIUM from now on; those that it has dropped, too.
void Endpoint::send_by_extension(Partner *partner)
{
    choose_fragments(partner);
    if (!partner->way.x_medium_bytes)
        return;
    for (TxMessage *tx = partner->sender.unacked.head; tx; tx = tx->next) {
        if (tx->header.type != EMX_MEDIUM)
            continue;
        const uint32_t before = tx->frames;
        convert_to_extension(tx_pool_, tx, partner->way);
        partner->sender.frames_out += tx->frames - before;
        transmit_fragments(tx);
    }
}

/// It drops our pull requests, and would be asked for minutes.
void Endpoint::refuse_pulls(const Partner *partner)
{
    const std::vector<Incoming *> vain = pulls_.of(partner);
    for (Incoming *in : vain) {
        cancel_pull(in);
        send_notify(in->partner, in->msg, 0);
        finish_receive(in, MX_STATUS_BAD_RDMAWIN);
    }
    if (!vain.empty())
        retry_pulls();
}

} // namespace emx
