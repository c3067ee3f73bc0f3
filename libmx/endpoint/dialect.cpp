// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The dialect of a peer: connects and short messages are the same in both, longer ones are dropped
// without a word (wire specification, section 1). So a peer is asked which one it speaks, once something is
// under way that depends on it.
#include "libmx/endpoint/endpoint.hpp"
#include "libmx/proto/frames.hpp"

#include <algorithm>
#include <cstdio>

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
    instance_.warn(text, &identity_.board, number());
}

/// Chooses how eager messages travel to a session that has just agreed; those that wait for that included.
void Endpoint::choose_fragments(Partner *partner)
{
    if (!(emx_offer_features(partner->way.offer) & EMX_X_FRAGMENTS) || port_->peer_is_local(partner->peer))
        return;
    const uint32_t fragment =
        std::min(port_->x_fragment(), fw_x_frag_max(emx_offer_frame(partner->way.offer)));
    const bool summed = emx_offer_features(partner->way.offer) & EMX_X_SUMS;
    const bool taken = partner->way.take_x_medium(fragment, summed);
    if (emx_offer_features(partner->way.offer) & EMX_X_DATAGRAMS)
        partner->way.take_datagrams(port_->datagram_fragment(emx_offer_frame(partner->way.offer)));
    if (!taken && !partner->way.x_datagram_bytes)
        return;
    partner->sender.waiting.each([&](TxMessage *tx) { convert_to_extension(tx_pool_, tx, partner->way); });
}

} // namespace emx
