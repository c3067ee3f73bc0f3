// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// An endpoint opened through the engine: the firmware core between two raw sockets and the library.
//
// Small frames are read from mapped rings by looking at a word of memory; pull replies come through
// a plain socket that is polled only while pulls are outstanding; frames between boards of this
// host travel over the loopback interface.
#pragma once

#include "driver/board/frame_sizes.hpp"
#include "driver/engine/bulk_receiver.hpp"
#include "driver/engine/datagram_receiver.hpp"
#include "driver/engine/datagrams.hpp"
#include "driver/engine/engine.hpp"
#include "driver/engine/fragment_sender.hpp"
#include "driver/engine/reply_sender.hpp"
#include "driver/engine/steering.hpp"
#include "driver/engine/tcp_port.hpp"

extern "C" {
#include "driver/core/fw_group.h"
}

#include <array>
#include <atomic>
#include <memory>

namespace emx {

struct EnginePortParts : PortParts {
    Fd ring, bulk, lo;
    RingShape ring_shape, lo_shape;
    uint32_t bulk_bytes = 0;
    BulkWay bulk_way = BulkWay::frames;
};

class EnginePort final : public TcpPort {
public:
    /// Null with error filled when memory or wake descriptors cannot be had.
    static std::unique_ptr<EnginePort> make(EnginePortParts parts, DeviceError &error);
    ~EnginePort() override;

    [[gnu::hot]] const emx_msg *peek() override;
    [[gnu::hot]] void consume() override;
    [[gnu::hot]] bool spin(unsigned looks) override;
    [[gnu::hot]] bool send(const emx_msg &msg, std::byte *payload) override;
    void open_window(uint8_t id, uint8_t tag, uint32_t peer, uint8_t remote_ep,
                     std::span<const Segment> memory, uint64_t length) override;
    void close_window(uint8_t id, uint8_t tag) override;
    bool start_pull(const emx_msg &rndv, uint32_t total, std::span<const Segment> memory,
                    uint64_t cookie) override;
    void cancel_pull(uint64_t cookie) override;
    std::optional<uint32_t> find_peer(uint64_t nic_id, int patience_ms, DeviceError &error) override;
    bool has_datagrams() const override { return datagrams_.wanted(); }
    uint32_t datagram_fragment(uint32_t frame) const override;
    void begin_fragments(uint32_t peer, uint8_t remote_ep) override;
    void repeat_fragments(uint32_t peer, uint8_t remote_ep) override;
    bool expect_fragments(uint32_t peer, uint8_t remote_ep, uint32_t session) override;
    void fragments_ended() override;
    void flush() override
    {
        if (fragments_.begun())
            send_fragments();
    }
    uint32_t group_bytes() const override;
    const char *why_no_groups() const override
    {
        return "frames of this board are too short for groups: raise the MTU of its interface";
    }
    bool join_group(uint32_t key, DeviceError &error) override;
    void leave_group(uint32_t key) override;
    bool send_group(uint32_t key, uint32_t number, std::byte *payload, uint32_t length, bool summed) override;
    uint64_t deadline_ns() const override;
    bool wait(uint64_t deadline_ns) override;

private:
    explicit EnginePort(EnginePortParts &parts);
    bool attach(EnginePortParts &parts, DeviceError &error);
    uint16_t pull_window(uint32_t bulk_bytes) const;
    void allow_x_pulls(uint32_t bulk_bytes);

    /// The frame at hand: whole (ring), or only its payload, null when that is in place (bulk).
    struct Arrival {
        const std::byte *frame = nullptr;
        const std::byte *payload = nullptr;
    };

    // Frames in (port_receive.cpp)
    const emx_msg *take(PacketRing &ring);
    bool is_stray(const emx_msg &msg) const;
    [[gnu::cold]] bool is_stray(const PacketRing &ring, const std::byte *frame, uint32_t bytes) const;
    [[gnu::noinline]] const emx_msg *serve(PacketRing &ring, const std::byte *frame);
    [[gnu::cold, gnu::noinline]] bool fits_slot(const PacketRing &ring, const std::byte *frame,
                                                uint32_t bytes);
    [[gnu::cold, gnu::noinline]] const emx_msg *drop(PacketRing &ring, int reason);
    [[gnu::cold, gnu::noinline]] bool introduce(fw_pkt &pkt, fw_fx &fx, int &more);
    void execute(const fw_fx &fx, const Arrival &arrival);
    [[gnu::noinline]] void drain(const Arrival &arrival);
    void copy(const fw_fx &fx, const Arrival &arrival);
    /// Frames taken between two rounds of the other duties, when frames never cease.
    static constexpr uint32_t frames_per_round = 32;
    /// For what goes without the agent as well, while a message waits: it may be slow, or stopped.
    static constexpr int hurry_ms = 50;
    void add_peer(AgentOp op, uint64_t mac, int patience_ms, DeviceError &error);
    [[gnu::hot]] [[gnu::noinline]] const emx_msg *idle();
    void bind_bulk();
    [[gnu::noinline]] void poll_bulk();
    void take_bulk(uint32_t i, const PieceList *target);
    int only_pull();
    [[gnu::noinline]] void check_time();
    bool is_behind() const;
    /// Pulls that do not come by TCP alone: bulk socket, or that of datagrams, is to be read.
    bool pulls_by_sockets() const { return endpoint_.pulls_active != endpoint_.pace.by[FW_BY_TCP]; }

    // Carriers of large messages: datagrams (port_datagrams.cpp), and TCP (tcp_port.hpp)
    struct Carrier {
        uint8_t carrier; ///< enum fw_carrier
        uint16_t packet; ///< bytes of the longest
    };
    Carrier choose_carrier(const emx_msg &rndv, uint32_t total);
    void take_effect(const fw_fx &fx, const std::byte *payload) override { execute(fx, {nullptr, payload}); }
    const ReplyQueue &windows() const override { return replies_.windows(); }
    uint16_t choose_datagrams(const emx_msg &rndv, uint32_t total);
    uint32_t grow_socket(int socket);
    void take_probes();
    [[gnu::noinline]] bool poll_datagrams(int slot, const PieceList *target);
    void take_datagrams(uint32_t count, const PieceList *target);
    [[gnu::noinline]] void take_datagram(uint32_t i, const PieceList *target);
    bool is_from_way(DatagramWay &way, const DatagramReceiver::Datagram &datagram);
    [[gnu::noinline]] void hear_address(const fw_address &address);
    [[gnu::noinline]] void fall_back(const fw_address &address);
    [[gnu::noinline]] bool add_replies(const fw_replies &run);
    void tell_address(const fw_address &own, bool probe);
    bool prefers_long_frames() const;
    [[gnu::cold, gnu::noinline]] void poll_fragments();
    [[gnu::noinline]] void send_fragments();

    // Groups (port_groups.cpp)
    bool open_groups(DeviceError &error);
    [[gnu::noinline]] const emx_msg *take_group();
    bool group_waits() const { return groups_open_ && group_ring_.ready(); }

    // Frames out (port_send.cpp)
    int socket_for(uint32_t peer) const
    {
        if (peer_is_local(peer)) [[unlikely]]
            return lo_.fd();
        return ring_.fd();
    }
    bool transmit(int socket, const void *frame, std::size_t bytes, int counter);
    [[gnu::cold, gnu::noinline]] bool transmit_again(int socket, const void *frame, std::size_t bytes);
    [[gnu::cold, gnu::noinline]] void transmit_kept(const void *frame, std::size_t bytes, int counter);
    void transmit_effect(const fw_fx &fx) override;
    [[gnu::noinline]] void send_replies();
    void refuse_replies();
    void send_failed(int why);

    // Link state
    void choose_steering();
    void ask_link();

    void publish() override;

    // The members that a poll touches when it finds nothing come first, from the beginning of a cache line
    // on.
    alignas(cache_line) PacketRing ring_;
    PacketRing *held_ = nullptr; ///< ring whose front slot `current_` points into
    PacketRing lo_;
    uint32_t partials_ = 0; ///< messages whose fragments are looked for among datagrams
    int last_pull_ = 0;
    BulkReceiver bulk_;
    Steering steering_; ///< of ring and bulk socket
    ReplySender replies_;
    Datagrams datagrams_;
    DatagramReceiver datagram_receiver_;
    uint32_t datagram_polls_ = 0; ///< since frames were looked for
    uint32_t lone_pulls_ = 0; ///< begun while there was no other
    uint32_t fragments_queued_ = 0; ///< events whose data lies in the receiver's memory
    FragmentSender fragments_;

    std::atomic<bool> poll_bulk_{false}; ///< for wait(), which runs without the lock
    std::atomic<bool> poll_output_{false}; ///< of frames
    std::atomic<int> poll_datagrams_{-1}; ///< descriptor; -1: none is of interest
    std::atomic<short> datagram_events_{0}; ///< of poll_datagrams_
    std::atomic<bool> socket_error_{false};
    bool groups_open_ = false; ///< group_ring_ is mapped
    std::atomic<int> poll_groups_{-1}; ///< descriptor of group_ring_, for wait()
    fw_groups groups_{};
    PacketRing group_ring_; ///< frames to groups
};

} // namespace emx
