// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A port that records what passes through it, around the port of a traced endpoint. Who is not traced has
// no such port, and pays nothing.
//
// What the library did with a packet is read off afterwards: from counters that rose, and from the queues of
// the endpoint.
#pragma once

#include "driver/device.hpp"
#include "libmx/trace/recorder.hpp"

#include <array>
#include <deque>
#include <memory>
#include <unordered_map>

namespace emx {
class Endpoint;
}

namespace emx::trace {

class TracePort final : public Port {
public:
    TracePort(std::unique_ptr<Port> inner, Endpoint &endpoint, std::unique_ptr<Recorder> recorder);
    ~TracePort() override;

    uint32_t number() const override { return inner_->number(); }
    const emx_msg *peek() override;
    void consume() override;
    bool spin(unsigned looks) override { return inner_->spin(looks); }
    BusyPoll busy_poll(unsigned us) override { return inner_->busy_poll(us); }
    bool send(const emx_msg &msg, std::byte *payload) override;
    void flush() override { inner_->flush(); }
    void open_window(uint8_t id, uint8_t tag, uint32_t peer, uint8_t remote_ep,
                     std::span<const Segment> memory, uint64_t length) override
    {
        inner_->open_window(id, tag, peer, remote_ep, memory, length);
    }
    void close_window(uint8_t id, uint8_t tag) override { inner_->close_window(id, tag); }
    bool start_pull(const emx_msg &rndv, uint32_t total, std::span<const Segment> memory,
                    uint64_t cookie) override;
    void cancel_pull(uint64_t cookie) override;
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
    uint64_t deadline_ns() const override { return inner_->deadline_ns(); }
    bool wait(uint64_t deadline_ns) override { return inner_->wait(deadline_ns); }
    bool interrupted() override { return inner_->interrupted(); }
    bool watch(int fd) override { return inner_->watch(fd); }
    void wake() override { inner_->wake(); }

private:
    Entry describe(Kind kind, const emx_msg &msg) const;
    void put(Entry entry);
    void note_counted();
    bool note_drop(const emx_msg &msg);
    bool rose(unsigned counter);
    void take(const emx_msg &msg);
    void settle();
    void match(const emx_msg &msg);
    bool matched_before(const emx_msg &msg) const;

    std::unique_ptr<Port> inner_;
    Endpoint &endpoint_;
    std::unique_ptr<Recorder> recorder_;
    emx_counters seen_{}; ///< counters as they were looked at last
    emx_msg current_{}; ///< handed out and not consumed yet
    bool has_current_ = false;
    emx_msg resent_{}; ///< the last message that was repeated
    std::deque<emx_msg> unmatched_; ///< taken, and no receive yet
    uint64_t finished_seen_ = 0; ///< finished requests of the endpoint when settle() looked
    std::array<emx_msg, 64> recent_{}; ///< matched last
    std::size_t next_recent_ = 0;
    std::unordered_map<uint64_t, emx_msg> pulls_; ///< announcements, by cookie
};

} // namespace emx::trace
