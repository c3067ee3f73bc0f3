// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// See checker.hpp.
#include "checker.hpp"

namespace emx::model {

void Checker::sent(const Dialect &dialect, const Bytes &frame)
{
    Packet p = read_strictly(dialect, frame);
    if (p.type == connect && p.index == no_index)
        violate("2.2: 0xFFFF is no index to advertise", frame);
    if (trusting_) {
        judge_tag(p, frame);
        judge_session(p, frame);
    }
    told(p);
}

void Checker::told(const Packet &p)
{
    if (p.type == connect || p.type == host_query || p.type == host_reply)
        adverts_[{p.src, p.dst}].insert(p.index);
    if (p.type == connect)
        sessions_[{p.src, p.from}].insert(p.own_session);
}

/// A receiver drops what bears a tag that it never told, in silence; a release build may take the sender
/// for another board and send its refusals there.
void Checker::judge_tag(const Packet &p, const Bytes &frame)
{
    if (p.type == raw)
        return;
    auto told = adverts_.find({p.dst, p.src});
    bool known = told != adverts_.end() && told->second.count(p.tag);
    bool silent = is_sequenced(p.type) || p.type == pull || p.type == truc;
    if (p.tag == no_index ? silent && !known : told != adverts_.end() && !known)
        violate("2.2: a tag that the receiver never told", frame);
}

void Checker::judge_session(const Packet &p, const Bytes &frame)
{
    if (!is_sequenced(p.type) && p.type != pull && p.type != truc && !(p.type == connect && p.is_reply))
        return;
    auto told = sessions_.find({p.dst, p.to});
    if (told != sessions_.end() && !told->second.count(p.session))
        violate("3: a session that the destination never had", frame);
}

} // namespace emx::model
