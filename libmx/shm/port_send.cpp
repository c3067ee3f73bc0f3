// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Packets and windows out, and the channels they go by.
#include "libmx/shm/port.hpp"

#include "driver/base/probe.hpp"

#include <cerrno>

namespace emx::shm {
namespace {

/// True for types that carry the session of the endpoint they go to. CONNECT finds that out, by frames.
bool carried(uint8_t type)
{
    return type == EMX_TINY || type == EMX_SMALL || type == EMX_MEDIUM || type == EMX_RNDV ||
           type == EMX_NOTIFY || type == EMX_TRUC || type == EMX_X_REPORT;
}

constexpr std::size_t wide_channels = 16; // the memory of more adds up

bool begins_message(const emx_msg &msg)
{
    return msg.type == EMX_TINY || msg.type == EMX_SMALL || msg.type == EMX_RNDV ||
           (msg.type == EMX_MEDIUM && msg.u.medium.frag == 0);
}

} // namespace

bool ShmPort::send(const emx_msg &msg, std::byte *payload)
{
    return is_local(msg.peer) ? send_local(msg, payload) : inner_->send(msg, payload);
}

bool ShmPort::send_local(const emx_msg &msg, std::byte *payload)
{
    if (!carried(msg.type))
        return inner_->send(msg, payload);
    Outgoing *to = channel_to(msg.peer, msg.remote_ep, msg.session);
    if (!to || !to->writer.write(msg, payload)) [[unlikely]] {
        EMX_PROBE(5, ring_left, msg.type, msg.msg_len, msg.peer, msg.remote_ep, to);
        return inner_->send(msg, payload);
    }
    if (begins_message(msg))
        emx_count(counters_, EMX_CNT_SHM_MESSAGE, 1);
    if (to->writer.must_wake())
        to->link.wake();
    return true;
}

void ShmPort::find_channel(uint64_t key)
{
    const auto found = out_.find(key);
    last_out_ = found == out_.end() ? nullptr : found->second.get();
    last_key_ = key;
}

Outgoing *ShmPort::channel_to(uint32_t peer, uint8_t endpoint, uint32_t session)
{
    const uint64_t key = key_of(peer, endpoint);
    Outgoing *to = look_up(key);
    if (to && to->session != session) {
        drop(key);
        to = nullptr;
    }
    if (!to)
        return connect(peer, endpoint, session);
    if (to->closed()) {
        refuse(key);
        return nullptr;
    }
    return to->attached() ? to : nullptr;
}

/// Makes a channel, which serves once the receiver has taken it; nullptr.
Outgoing *ShmPort::connect(uint32_t peer, uint8_t endpoint, uint32_t session)
{
    const uint64_t key = key_of(peer, endpoint);
    const auto refused = refused_.find(key);
    if (refused != refused_.end() && refused->second == session)
        return nullptr;
    const bool few = out_.size() < wide_channels;
    auto channel = Outgoing::connect(self_, {inner_->peer_nic_id(peer), session, endpoint}, few);
    if (!channel) {
        if (errno != EAGAIN)
            refused_[key] = session;
        return nullptr;
    }
    channel->id = next_id_++;
    if (!add_link(channel->link, channel->id)) {
        remove_link(channel->link); // half of it may be there
        refused_[key] = session;
        return nullptr;
    }
    last_out_ = channel.get();
    last_key_ = key;
    for (unsigned slot = 0; slot < windows_.size(); ++slot)
        if (windows_[slot].used && windows_[slot].key == key)
            publish(*channel, static_cast<uint16_t>(slot));
    out_[key] = std::move(channel);
    return nullptr;
}

std::unique_ptr<Outgoing> ShmPort::drop(uint64_t key)
{
    const auto found = out_.find(key);
    if (found == out_.end())
        return nullptr;
    std::unique_ptr<Outgoing> channel = std::move(found->second);
    remove_link(channel->link);
    out_.erase(found);
    starved_ -= channel->starved;
    last_key_ = ~uint64_t{0};
    last_out_ = nullptr;
    return channel;
}

/// The receiver is gone, or takes nothing any more.
void ShmPort::refuse(uint64_t key)
{
    std::unique_ptr<Outgoing> channel = drop(key);
    if (!channel)
        return;
    refused_[key] = channel->session;
    if (!channel->sure)
        return;
    ended_[key] = std::move(channel);
    tell(EMX_EV_SURE_END, key);
}

void ShmPort::publish(Outgoing &to, uint16_t slot)
{
    const Window &window = windows_[slot];
    SharedWindow &shared = to.memory().window[slot];
    const bool single = window.pieces.size() == 1;
    const void *address = single ? static_cast<const void *>(window.pieces[0].data) : window.pieces.data();
    shared.stamp.store(0, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    shared.length.store(window.length, std::memory_order_relaxed);
    shared.address.store(reinterpret_cast<uint64_t>(address), std::memory_order_relaxed);
    shared.pieces.store(window.pieces.size(), std::memory_order_relaxed);
    shared.stamp.store(++stamps_ << 8 | window.tag, std::memory_order_release);
}

void ShmPort::open_window(uint8_t id, uint8_t tag, uint32_t peer, uint8_t remote_ep,
                          std::span<const Segment> memory, uint64_t length)
{
    inner_->open_window(id, tag, peer, remote_ep, memory, length);
    if (!inner_->peer_is_local(peer))
        return;
    const uint16_t slot = fw_window_slot(id, tag);
    Window &window = windows_[slot];
    window.key = key_of(peer, remote_ep);
    window.length = length;
    window.tag = tag;
    window.used = true;
    window.pieces.assign(memory.begin(), memory.end());
    const auto found = out_.find(window.key);
    if (found != out_.end())
        publish(*found->second, slot);
}

void ShmPort::close_window(uint8_t id, uint8_t tag)
{
    const uint16_t slot = fw_window_slot(id, tag);
    Window &window = windows_[slot];
    if (window.used) {
        const auto found = out_.find(window.key);
        if (found != out_.end())
            found->second->memory().window[slot].stamp.store(0, std::memory_order_seq_cst);
        window.used = false;
    }
    inner_->close_window(id, tag);
}

} // namespace emx::shm
