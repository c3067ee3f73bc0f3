// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Records the events of a traced endpoint's port. See port.hpp.
#include "libmx/trace/port.hpp"

#include "driver/core/fw_pack.h"
#include "libmx/endpoint/endpoint.hpp"

#include <algorithm>

namespace emx::trace {
namespace {

// Beyond that only the first are followed: each look at the endpoint's queues costs as much.
constexpr std::size_t followed_max = 4096;

constexpr bool is_drop(unsigned counter)
{
    return (counter >= EMX_CNT_DROP_SHORT && counter <= EMX_CNT_DROP_CONTENT) ||
           (counter >= EMX_CNT_DROP_DIALECT_MEDIUM && counter <= EMX_CNT_DROP_OVERSIZE) ||
           counter == EMX_CNT_DROP_EXTENSION || counter == EMX_CNT_DROP_CHECKSUM ||
           counter == EMX_CNT_DROP_CONNECT_ROOM || counter == EMX_CNT_DROP_ANSWER;
}

/// Counters of what passes inside the firmware, and reaches the library as its outcome alone.
constexpr unsigned inside[] = {EMX_CNT_RX_PULL,     EMX_CNT_RX_PULL_REPLY, EMX_CNT_RX_NACK_MCP,
                               EMX_CNT_TX_PULL,     EMX_CNT_TX_PULL_REPLY, EMX_CNT_TX_NACK_MCP,
                               EMX_CNT_RESEND_PULL, EMX_CNT_PULL_TIMEOUT,  EMX_CNT_RX_X_PULL,
                               EMX_CNT_RX_X_DATA,   EMX_CNT_TX_X_PULL,     EMX_CNT_TX_X_DATA};

constexpr bool is_message(uint8_t type)
{
    return (type >= EMX_TINY && type <= EMX_RNDV) || type == EMX_X_MEDIUM;
}

bool same_message(const emx_msg &a, const emx_msg &b)
{
    return a.peer == b.peer && a.remote_ep == b.remote_ep && a.seq == b.seq;
}

uint32_t tell_apart(const emx_msg &msg)
{
    switch (msg.type) {
    case EMX_MEDIUM:
    case EMX_X_MEDIUM: return msg.u.medium.frag;
    case EMX_CONNECT: return msg.u.connect.number | uint32_t{msg.u.connect.is_reply} << 8;
    case EMX_TRUC: return msg.u.truc.counter;
    case EMX_X_REPORT: return msg.u.report.counter;
    case EMX_NACK_LIB: return msg.u.nack.reason;
    case EMX_EV_PULL_DONE: return msg.u.pull.status;
    case EMX_EV_LINK: return msg.u.link.state;
    default: return 0;
    }
}

} // namespace

TracePort::TracePort(std::unique_ptr<Port> inner, Endpoint &endpoint, std::unique_ptr<Recorder> recorder)
    : ForwardingPort(std::move(inner)), endpoint_(endpoint), recorder_(std::move(recorder)),
      seen_(inner_->counters())
{
}

TracePort::~TracePort()
{
    settle();
    recorder_->close(endpoint_.instance().device().now_ns());
}

Entry TracePort::describe(Kind kind, const emx_msg &msg) const
{
    Entry e{};
    e.kind = static_cast<uint8_t>(kind);
    e.type = msg.type;
    e.value = tell_apart(msg);
    if (msg.type == EMX_EV_LINK)
        return e;
    e.peer = inner_->peer_nic_id(msg.peer);
    e.remote_ep = msg.remote_ep;
    e.match = msg.type == EMX_CONNECT ? 0 : msg.match;
    e.msg_len = msg.msg_len;
    e.data_len = msg.data_len;
    e.seq = msg.seq;
    e.ack = msg.ack;
    return e;
}

void TracePort::put(Entry entry)
{
    entry.time_ns = endpoint_.instance().device().now_ns();
    recorder_->put(entry);
}

/// True if a counter rose since it was asked about last.
bool TracePort::rose(unsigned counter)
{
    const uint64_t now = inner_->counters().v[counter];
    return std::exchange(seen_.v[counter], now) != now;
}

/// Frames that never came to the library.
void TracePort::note_counted()
{
    const emx_counters &now = inner_->counters();
    const auto note = [&](unsigned counter) {
        const uint64_t more = now.v[counter] - std::exchange(seen_.v[counter], now.v[counter]);
        if (more == 0 || more > UINT32_MAX) // they were cleared
            return;
        Entry e{};
        e.kind = static_cast<uint8_t>(Kind::counted);
        e.counter = static_cast<uint16_t>(counter);
        e.value = static_cast<uint32_t>(more);
        put(e);
    };
    for (unsigned counter = EMX_CNT_DROP_SHORT; counter < EMX_CNT_COUNT; counter++)
        if (is_drop(counter))
            note(counter);
    for (const unsigned counter : inside)
        note(counter);
}

/// The library counted a packet that it was given as of no use.
bool TracePort::note_drop(const emx_msg &msg)
{
    for (unsigned counter = EMX_CNT_DROP_SHORT; counter < EMX_CNT_COUNT; counter++) {
        if (!is_drop(counter) || !rose(counter))
            continue;
        Entry e = describe(Kind::dropped, msg);
        e.counter = static_cast<uint16_t>(counter);
        put(e);
        return true;
    }
    return false;
}

const emx_msg *TracePort::peek()
{
    settle();
    const emx_msg *msg = inner_->peek();
    note_counted();
    if (!msg || has_current_)
        return msg;
    has_current_ = true;
    current_ = *msg;
    if (msg->type == EMX_EV_SURE_END || msg->type == EMX_EV_SURE_ROOM)
        return msg;
    if (msg->type > EMX_EV_SURE_ROOM)
        current_.type = static_cast<uint8_t>(msg->type & ~EMX_EV_SURE);
    if (msg->type == EMX_EV_LINK) {
        put(describe(Kind::link, *msg));
    } else if (msg->type == EMX_EV_PULL_DONE) {
        if (const auto rndv = pulls_.find(msg->u.pull.cookie); rndv != pulls_.end()) {
            Entry e = describe(Kind::pulled, rndv->second);
            e.value = msg->u.pull.status;
            e.msg_len = msg->u.pull.length;
            put(e);
            pulls_.erase(rndv);
        }
    } else if (msg->type == EMX_X_PACK) {
        open_pack(*msg);
    } else {
        put(describe(Kind::received, current_));
    }
    return msg;
}

/// Each message of an X PACK counts as if it had come alone.
void TracePort::open_pack(const emx_msg &pack)
{
    fw_unpack one;
    fw_unpack_begin(&one, &pack);
    while (fw_unpack_next(&one)) {
        put(describe(Kind::received, one.msg));
        // The library drops those that it had before.
        if (endpoint_.stage_of(pack.peer, pack.remote_ep, one.msg.seq, {}) == Endpoint::Stage::early)
            packed_.push_back(one.msg);
    }
}

void TracePort::consume()
{
    if (std::exchange(has_current_, false) && is_message(current_.type) && !note_drop(current_))
        take(current_);
    for (const emx_msg &msg : std::exchange(packed_, {}))
        take(msg);
    inner_->consume();
}

/// A message, or a fragment of one, that the library has taken.
void TracePort::take(const emx_msg &msg)
{
    if (matched_before(msg)) // a pull began meanwhile, or a repeat came
        return;
    const bool known = std::any_of(unmatched_.begin(), unmatched_.end(),
                                   [&](const emx_msg &m) { return same_message(m, msg); });
    const Endpoint::Stage stage =
        endpoint_.stage_of(msg.peer, msg.remote_ep, msg.seq, endpoint_.waiting_messages());
    if (stage == Endpoint::Stage::early && !known)
        put(describe(Kind::early, msg));
    if (stage == Endpoint::Stage::unexpected)
        put(describe(Kind::queued, msg));
    if (!known && stage != Endpoint::Stage::matched && unmatched_.size() < followed_max)
        unmatched_.push_back(msg);
    if (stage == Endpoint::Stage::matched)
        match(msg);
    settle(); // what was early
}

void TracePort::match(const emx_msg &msg)
{
    put(describe(Kind::matched, msg));
    recent_[next_recent_++ % recent_.size()] = msg;
    std::erase_if(unmatched_, [&](const emx_msg &m) { return same_message(m, msg); });
}

bool TracePort::matched_before(const emx_msg &msg) const
{
    return std::any_of(recent_.begin(), recent_.end(),
                       [&](const emx_msg &m) { return m.type && same_message(m, msg); });
}

/// Messages that found their receives since the last look.
void TracePort::settle()
{
    const uint64_t finished = endpoint_.completions().count();
    if (unmatched_.empty() || std::exchange(finished_seen_, finished) == finished)
        return;
    const std::vector<uint64_t> waiting = endpoint_.waiting_messages();
    std::vector<emx_msg> matched;
    std::erase_if(unmatched_, [&](const emx_msg &msg) {
        const Endpoint::Stage stage = endpoint_.stage_of(msg.peer, msg.remote_ep, msg.seq, waiting);
        if (stage == Endpoint::Stage::matched)
            matched.push_back(msg);
        else if (stage == Endpoint::Stage::none)
            put(describe(Kind::abandoned, msg));
        return stage == Endpoint::Stage::matched || stage == Endpoint::Stage::none;
    });
    for (const emx_msg &msg : matched)
        match(msg);
}

bool TracePort::send(const emx_msg &msg, std::byte *payload)
{
    settle();
    Entry e = describe(Kind::sent, msg);
    const bool repeated = rose(EMX_CNT_RESEND_MESSAGE) || rose(EMX_CNT_RESEND_CONNECT);
    if (repeated)
        resent_ = msg;
    if (repeated || (is_medium(msg.type) && same_message(msg, resent_))) // its other fragments
        e.flags |= flag_resent;
    seen_.v[EMX_CNT_SHM_MESSAGE] = inner_->counters().v[EMX_CNT_SHM_MESSAGE];
    // Before it leaves: the answer may come before the call is back.
    e.time_ns = endpoint_.instance().device().now_ns();
    const bool sent = inner_->send(msg, payload);
    if (rose(EMX_CNT_SHM_MESSAGE))
        e.flags |= flag_memory;
    if (!sent)
        e.flags |= flag_refused;
    if (msg.type == EMX_X_PACK)
        put_pack(msg, payload, e);
    else
        recorder_->put(e);
    return sent;
}

bool TracePort::send_sure(const emx_msg &msg, std::span<const Segment> data)
{
    settle();
    emx_msg whole = msg;
    whole.data_len = msg.type == EMX_RNDV || msg.type == EMX_NOTIFY ? 0 : msg.msg_len;
    Entry e = describe(Kind::sent, whole);
    e.flags |= flag_memory;
    e.time_ns = endpoint_.instance().device().now_ns();
    if (!inner_->send_sure(msg, data))
        return false; // it waits
    seen_.v[EMX_CNT_SHM_MESSAGE] = inner_->counters().v[EMX_CNT_SHM_MESSAGE];
    recorder_->put(e);
    return true;
}

void TracePort::refuse_sure()
{
    has_current_ = false;
    inner_->refuse_sure();
}

/// The messages of an X PACK that left, as `sent` says of the frame.
void TracePort::put_pack(const emx_msg &msg, const std::byte *payload, const Entry &sent)
{
    emx_msg pack = msg;
    pack.data = reinterpret_cast<uint64_t>(payload);
    fw_unpack one;
    fw_unpack_begin(&one, &pack);
    while (fw_unpack_next(&one)) {
        Entry e = describe(Kind::sent, one.msg);
        e.time_ns = sent.time_ns;
        e.flags = sent.flags;
        recorder_->put(e);
    }
}

bool TracePort::start_pull(const emx_msg &rndv, uint32_t total, std::span<const Segment> memory,
                           uint64_t cookie)
{
    if (!inner_->start_pull(rndv, total, memory, cookie))
        return false;
    if (!matched_before(rndv)) // as when a matched probe took it
        match(rndv);
    put(describe(Kind::pulling, rndv));
    pulls_.emplace(cookie, rndv);
    return true;
}

void TracePort::cancel_pull(uint64_t cookie)
{
    pulls_.erase(cookie);
    inner_->cancel_pull(cookie);
}

} // namespace emx::trace
