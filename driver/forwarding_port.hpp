// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A port around a port, for those that change only a part of what it does.
#pragma once

#include "driver/device.hpp"

#include <memory>
#include <utility>

namespace emx {

/// Hands every call of Port to the port inside. A port around a port derives from it and overrides what it
/// changes.
class ForwardingPort : public Port {
public:
    uint32_t number() const override { return inner_->number(); }
    const emx_msg *peek() override { return inner_->peek(); }
    void consume() override { inner_->consume(); }
    bool spin(unsigned looks) override { return inner_->spin(looks); }
    BusyPoll busy_poll(unsigned us) override { return inner_->busy_poll(us); }
    bool send(const emx_msg &msg, std::byte *payload) override { return inner_->send(msg, payload); }
    void flush() override { inner_->flush(); }
    void open_window(uint8_t id, uint8_t tag, uint32_t peer, uint8_t remote_ep,
                     std::span<const Segment> memory, uint64_t length) override
    {
        inner_->open_window(id, tag, peer, remote_ep, memory, length);
    }
    void close_window(uint8_t id, uint8_t tag) override { inner_->close_window(id, tag); }
    bool start_pull(const emx_msg &rndv, uint32_t total, std::span<const Segment> memory,
                    uint64_t cookie) override
    {
        return inner_->start_pull(rndv, total, memory, cookie);
    }
    void cancel_pull(uint64_t cookie) override { inner_->cancel_pull(cookie); }
    std::optional<uint32_t> find_peer(uint64_t nic_id, int patience_ms, DeviceError &error) override
    {
        return inner_->find_peer(nic_id, patience_ms, error);
    }
    uint64_t peer_nic_id(uint32_t peer) const override { return inner_->peer_nic_id(peer); }
    bool keep_peer(uint32_t peer, uint64_t nic_id) override { return inner_->keep_peer(peer, nic_id); }
    void release_peer(uint32_t peer) override { inner_->release_peer(peer); }
    bool peer_is_local(uint32_t peer) const override { return inner_->peer_is_local(peer); }
    uint16_t peer_speaks(uint32_t peer) const override { return inner_->peer_speaks(peer); }
    emx_counters &counters() override { return inner_->counters(); }
    uint32_t x_fragment() const override { return inner_->x_fragment(); }
    uint32_t pack_bytes() const override { return inner_->pack_bytes(); }
    bool has_datagrams() const override { return inner_->has_datagrams(); }
    bool has_tcp() const override { return inner_->has_tcp(); }
    uint32_t datagram_fragment(uint32_t frame) const override { return inner_->datagram_fragment(frame); }
    void begin_fragments(uint32_t peer, uint8_t remote_ep) override
    {
        inner_->begin_fragments(peer, remote_ep);
    }
    void repeat_fragments(uint32_t peer, uint8_t remote_ep) override
    {
        inner_->repeat_fragments(peer, remote_ep);
    }
    bool expect_fragments(uint32_t peer, uint8_t remote_ep, uint32_t session) override
    {
        return inner_->expect_fragments(peer, remote_ep, session);
    }
    void fragments_ended() override { inner_->fragments_ended(); }
    uint32_t group_bytes() const override { return inner_->group_bytes(); }
    bool join_group(uint32_t key, DeviceError &error) override { return inner_->join_group(key, error); }
    const char *why_no_groups() const override { return inner_->why_no_groups(); }
    void leave_group(uint32_t key) override { inner_->leave_group(key); }
    bool send_group(uint32_t key, uint32_t number, std::byte *payload, uint32_t length, bool summed) override
    {
        return inner_->send_group(key, number, payload, length, summed);
    }
    bool begin_sure(uint32_t peer, uint8_t remote_ep, uint32_t session) override
    {
        return inner_->begin_sure(peer, remote_ep, session);
    }
    bool send_sure(const emx_msg &msg, std::span<const Segment> data) override
    {
        return inner_->send_sure(msg, data);
    }
    void take_back(uint32_t peer, uint8_t remote_ep,
                   const std::function<void(const emx_msg &)> &each) override
    {
        inner_->take_back(peer, remote_ep, each);
    }
    bool is_sure_pending() override { return inner_->is_sure_pending(); }
    void refuse_sure() override { inner_->refuse_sure(); }
    uint64_t deadline_ns() const override { return inner_->deadline_ns(); }
    bool wait(uint64_t deadline_ns) override { return inner_->wait(deadline_ns); }
    bool interrupted() override { return inner_->interrupted(); }
    bool watch(int fd) override { return inner_->watch(fd); }
    void wake() override { inner_->wake(); }

protected:
    explicit ForwardingPort(std::unique_ptr<Port> inner) : inner_(std::move(inner)) {}

    std::unique_ptr<Port> inner_;
};

} // namespace emx
