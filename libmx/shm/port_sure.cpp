// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Rings as sure ways: nothing in them is acknowledged, and what the receiver leaves is given back
// (docs/decisions/0031-rings-need-no-acks.md).
#include "libmx/request.hpp"
#include "libmx/shm/port.hpp"

namespace emx::shm {
namespace {

/// True for a record that is a message with a number, and holds all of it.
bool is_numbered(RecordKind kind, const emx_msg &msg)
{
    if (kind == sure_packet)
        return msg.type == EMX_RNDV || msg.type == EMX_NOTIFY;
    return kind == sure_eager && msg.data_len == msg.msg_len &&
           (msg.type == EMX_TINY || msg.type == EMX_SMALL || msg.type == EMX_MEDIUM);
}

} // namespace

bool ShmPort::begin_sure(uint32_t peer, uint8_t remote_ep, uint32_t session)
{
    Outgoing *to = look_up(key_of(peer, remote_ep));
    if (!to || to->session != session || !to->attached() || to->closed())
        return false;
    to->sure = true;
    return true;
}

bool ShmPort::send_sure(const emx_msg &msg, std::span<const Segment> data)
{
    Outgoing *to = look_up(key_of(msg.peer, msg.remote_ep));
    if (!to) [[unlikely]]
        return false;
    if (msg.type == EMX_RNDV || msg.type == EMX_NOTIFY) [[unlikely]]
        return send_sure_packet(*to, msg, data);
    const auto bytes = static_cast<uint32_t>(sizeof(EagerRecord)) + msg.msg_len;
    std::byte *record = to->writer.begin(bytes);
    if (!record) [[unlikely]]
        return starve(*to);
    auto *head = reinterpret_cast<EagerRecord *>(record);
    head->match = msg.match;
    head->length = msg.msg_len;
    head->ack = msg.ack;
    if (data.size() == 1) [[likely]]
        copy_bytes(record + sizeof(EagerRecord), data[0].data, msg.msg_len);
    else
        gather(record + sizeof(EagerRecord), data, 0, msg.msg_len);
    to->writer.publish(record, {bytes, sure_eager, msg.type, msg.seq});
    emx_count(counters_, EMX_CNT_SHM_MESSAGE, 1);
    if (to->writer.must_wake()) [[unlikely]]
        to->link.wake();
    return true;
}

bool ShmPort::send_sure_packet(Outgoing &to, const emx_msg &msg, std::span<const Segment> data)
{
    const bool pushes = !data.empty() && may_push(to, msg.msg_len);
    if (!to.writer.write(msg, nullptr, sure_packet, pushes))
        return starve(to);
    if (msg.type != EMX_NOTIFY)
        emx_count(counters_, EMX_CNT_SHM_MESSAGE, 1);
    if (to.writer.must_wake())
        to.link.wake();
    if (pushes)
        push(to, msg.msg_len, data);
    return true;
}

/// There is no room: news of some comes as an event. False.
bool ShmPort::starve(Outgoing &to)
{
    if (!to.starved) {
        to.starved = true;
        ++starved_;
    }
    return false;
}

/// Tells of channels that have room again.
void ShmPort::feed()
{
    for (const auto &[key, to] : out_) {
        if (!to->starved || !to->writer.starve())
            continue;
        to->starved = false;
        --starved_;
        tell(EMX_EV_SURE_ROOM, key);
    }
}

void ShmPort::tell(emx_event_kind kind, uint64_t key)
{
    emx_msg event{};
    event.type = static_cast<uint8_t>(kind);
    event.local_ep = self_.endpoint;
    event.remote_ep = static_cast<uint8_t>(key);
    event.peer = static_cast<uint32_t>(key >> 8);
    queue_.push_back(event);
}

void ShmPort::take_back(uint32_t peer, uint8_t remote_ep, const std::function<void(const emx_msg &)> &each)
{
    const uint64_t key = key_of(peer, remote_ep);
    std::unique_ptr<Outgoing> channel;
    if (const auto ended = ended_.find(key); ended != ended_.end()) {
        channel = std::move(ended->second);
        ended_.erase(ended);
    } else {
        channel = drop(key);
    }
    if (!channel || !channel->sure)
        return;
    // Nothing is written any more, but by the receiver, perhaps: so it is judged like what comes in.
    RingReader reader(channel->memory(), channel->memory().tail.load(std::memory_order_acquire));
    if (channel->writer.head() - reader.tail() > ring_bytes || reader.tail() % record_align != 0)
        return;
    reader.identify(peer, remote_ep, self_.endpoint, channel->session);
    const uint32_t head = channel->writer.head();
    for (uint32_t left = head - reader.tail(); left != 0 && left <= ring_bytes; left = head - reader.tail()) {
        const emx_msg *msg = reader.front();
        if (!msg)
            return;
        if (is_numbered(reader.kind(), *msg))
            each(*msg);
        reader.release();
    }
}

bool ShmPort::is_sure_pending()
{
    if (!ended_.empty()) // to be taken back
        return true;
    for (const auto &[key, to] : out_)
        if (to->is_owed())
            return true;
    return false;
}

const emx_msg *ShmPort::next_sure()
{
    if (source_ != Source::ring) [[unlikely]] {
        consume();
        return nullptr;
    }
    source_ = Source::none;
    release(*current_);
    if (!current_->reader.waiting()) [[likely]]
        return nullptr;
    if (const emx_msg *msg = take_eager(*current_)) [[likely]]
        return msg;
    const emx_msg *msg = take(*current_);
    if (msg)
        source_ = Source::ring;
    return msg;
}

void ShmPort::refuse_sure()
{
    if (source_ != Source::ring)
        return consume();
    source_ = Source::none;
    end(*current_);
    const std::lock_guard lock(waiting_mutex_);
    current_->refused = true;
}

} // namespace emx::shm
