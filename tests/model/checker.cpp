// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// See checker.hpp.
#include "checker.hpp"

#include <algorithm>

namespace emx::model {

void Checker::sent(const Dialect &dialect, const Bytes &frame, size_t kept)
{
    Packet p = read_strictly(dialect, frame, kept);
    if (p.type == connect && p.index == no_index)
        violate("2.2: 0xFFFF is no index to advertise", frame);
    if (trusting_) {
        judge_tag(p, frame);
        judge_session(p, frame);
        judge_offer(p, frame);
        judge_agreement(p, frame);
        judge_length(p, frame);
    }
    told(p);
}

void Checker::told(const Packet &p)
{
    if (p.type == connect || p.type == host_query || p.type == host_reply)
        adverts_[{p.src, p.dst}].insert(p.index);
    if (p.type == connect)
        sessions_[{p.src, p.from}].insert(p.own_session);
    if (p.type == connect && p.offers) {
        uint16_t &longest = longest_[{p.src, p.dst}];
        longest = std::max(longest, p.frame_max);
    }
    if (p.type == connect && p.offers && !p.is_reply)
        offers_[{p.src, p.from, p.dst, p.to}].insert(p.own_session);
    if (p.type == connect && p.offers && p.is_reply)
        agreements_[{p.dst, p.to, p.src, p.from}][p.own_session] = p.features;
}

/// A receiver drops what bears a tag that it never told, in silence; a release build may take the sender
/// for another board and send its refusals there.
void Checker::judge_tag(const Packet &p, const Bytes &frame)
{
    if (p.type == raw || p.type == x_group)
        return;
    auto told = adverts_.find({p.dst, p.src});
    bool known = told != adverts_.end() && told->second.count(p.tag);
    bool silent = is_sequenced(p.type) || p.type == pull || p.type == truc || p.type >= x_medium;
    if (p.tag == no_index ? silent && !known : told != adverts_.end() && !known)
        violate("2.2: a tag that the receiver never told", frame);
}

void Checker::judge_session(const Packet &p, const Bytes &frame)
{
    if (!is_sequenced(p.type) && p.type != pull && p.type != truc && !(p.type == connect && p.is_reply) &&
        (p.type < x_medium || p.type == x_data || p.type == x_group))
        return;
    auto told = sessions_.find({p.dst, p.to});
    if (told != sessions_.end() && !told->second.count(p.session))
        violate("3: a session that the destination never had", frame);
}

/// An answer offers only what the request did, so that who made none is not answered with bytes unknown to
/// it.
void Checker::judge_offer(const Packet &p, const Bytes &frame) const
{
    if (p.type != connect || !p.is_reply || !p.offers)
        return;
    auto asked = offers_.find({p.dst, p.to, p.src, p.from});
    if (asked == offers_.end() || !asked->second.count(p.session))
        violate("extension: a reply with an offer to a request without", frame);
}

namespace {

constexpr uint8_t pull_by_datagrams = 2, by_tcp = 4; ///< flags; the second one also of an X ADDRESS

/// Bits of the offer by which a receiver says that it takes that packet.
unsigned features_of(const Packet &p)
{
    switch (p.type) {
    case x_medium: return 4;
    case x_pull: return 8 | (p.flags & pull_by_datagrams ? 16 : 0) | (p.flags & by_tcp ? 64 : 0);
    case x_address: return p.flags & by_tcp ? 64 : 16;
    case x_pack: return p.is_long ? 32 | 128 : 32;
    default: return 2;
    }
}

} // namespace

/// Packets of the extension go to sessions that agreed to it only; data and addresses to whoever asked for
/// them by one. Frames to groups belong to no agreement.
void Checker::judge_agreement(const Packet &p, const Bytes &frame) const
{
    if (p.type < x_medium || p.type == x_data || p.type == x_group || (p.type == x_address && p.flags & 1))
        return;
    auto agreed = agreements_.find({p.src, p.from, p.dst, p.to});
    if (agreed == agreements_.end() || !agreed->second.count(p.session))
        violate("extension: a packet of it without an agreement", frame);
    if (const unsigned wanted = features_of(p); (agreed->second.at(p.session) & wanted) != wanted)
        violate("extension: a packet that the receiver does not take", frame);
    if ((p.type == x_medium || p.type == x_pack) && agreed->second.at(p.session) & 1 && p.checksum == 0)
        violate("extension: no checksum, though the receiver wishes it", frame);
}

uint16_t Checker::longest(uint64_t receiver, uint64_t sender) const
{
    auto told = longest_.find({receiver, sender});
    return told == longest_.end() ? 0 : told->second;
}

/// Frames of a pull by the extension are no longer than the receiver's offers say, nor than the sender's. By
/// TCP it has none.
void Checker::judge_length(const Packet &p, const Bytes &frame) const
{
    if (p.type == x_data && frame.size() > std::max<std::size_t>(60, longest(p.dst, p.src)))
        violate("extension: a frame longer than its receiver takes", frame);
    if ((p.type == x_medium || p.type == x_pack) && frame.size() > 60 &&
        frame.size() + 16 > std::min(longest(p.dst, p.src), longest(p.src, p.dst)))
        violate("extension: a fragment longer than both offers allow", frame);
    if (p.type == x_pull && !(p.flags & by_tcp) &&
        p.unit + 40u > std::min(longest(p.dst, p.src), longest(p.src, p.dst)))
        violate("extension: frames longer than both offers allow", frame);
}

} // namespace emx::model
