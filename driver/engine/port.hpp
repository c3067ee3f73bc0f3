// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// An endpoint opened through the engine: the firmware core between two raw sockets and the library.
//
// Small frames are read from mapped rings by looking at a word of memory; pull replies come through
// a plain socket that is polled only while pulls are outstanding; frames between boards of this
// host travel over the loopback interface.
#pragma once

#include "driver/base/steady_queue.hpp"
#include "driver/base/wake.hpp"
#include "driver/board/board_file.hpp"
#include "driver/board/frame_sizes.hpp"
#include "driver/device.hpp"
#include "driver/engine/bulk_receiver.hpp"
#include "driver/engine/claim_keeper.hpp"
#include "driver/engine/datagram_receiver.hpp"
#include "driver/engine/datagrams.hpp"
#include "driver/engine/engine.hpp"
#include "driver/engine/fragment_sender.hpp"
#include "driver/engine/learned_tags.hpp"
#include "driver/engine/reply_sender.hpp"
#include "driver/engine/steering.hpp"

extern "C" {
#include "driver/core/fw_group.h"
}

#include <array>
#include <atomic>
#include <memory>

namespace emx {

/// The parts that a claim on the agent brings; consumed by the port.
struct PortParts {
    std::shared_ptr<BoardFile> file;
    std::unique_ptr<Claim> claim;
    uint32_t board = 0;
    uint8_t endpoint = 0;
    uint32_t session = 0;
    uint32_t secret = 0; ///< upper bits of the pull magic
    Fd ring, bulk, lo;
    RingShape ring_shape, lo_shape;
    uint32_t bulk_bytes = 0;
    uint32_t life = 0; ///< of the interface
    std::shared_ptr<EndpointPage> page;
    BulkWay bulk_way = BulkWay::frames;
};

class EnginePort final : public Port {
public:
    /// Null with error filled when memory or wake descriptors cannot be had.
    static std::unique_ptr<EnginePort> make(PortParts parts, DeviceError &error);
    ~EnginePort() override;
    EnginePort(const EnginePort &) = delete;
    EnginePort &operator=(const EnginePort &) = delete;

    uint32_t number() const override { return endpoint_.number; }
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
    uint64_t peer_nic_id(uint32_t peer) const override;
    bool keep_peer(uint32_t peer, uint64_t nic_id) override;
    void release_peer(uint32_t peer) override { page_->release(peer); }
    bool peer_is_local(uint32_t peer) const override { return peer < local_peers_; }
    uint16_t peer_speaks(uint32_t peer) const override;
    emx_counters &counters() override { return counters_; }
    uint32_t x_fragment() const override { return endpoint_.x_frag; }
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
    bool join_group(uint32_t key, DeviceError &error) override;
    void leave_group(uint32_t key) override;
    bool send_group(uint32_t key, uint32_t number, std::byte *payload, uint32_t length) override;
    uint64_t deadline_ns() const override;
    bool wait(uint64_t deadline_ns) override;
    bool interrupted() override { return interrupted_.exchange(false, std::memory_order_relaxed); }
    bool watch(int fd) override
    {
        watched_.store(fd, std::memory_order_relaxed);
        return true;
    }
    void wake() override { wake_.wake(); }

private:
    explicit EnginePort(PortParts &parts);
    bool attach(PortParts &parts, DeviceError &error);
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
    bool give(fw_pkt &pkt, fw_fx &fx, int &more);
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
    const emx_msg *next_queued();

    // Datagrams (port_datagrams.cpp)
    uint16_t choose_datagrams(const emx_msg &rndv, uint32_t total);
    void take_probes();
    [[gnu::noinline]] bool poll_datagrams(int slot, const PieceList *target);
    void take_datagrams(uint32_t count, const PieceList *target);
    [[gnu::noinline]] void take_datagram(uint32_t i, const PieceList *target);
    bool is_from_way(DatagramWay &way, const DatagramReceiver::Datagram &datagram);
    [[gnu::noinline]] void hear_address(const fw_address &address);
    [[gnu::noinline]] void fall_back(const fw_address &address);
    [[gnu::noinline]] bool add_replies(const fw_replies &run);
    void tell_address(const fw_address &own, bool probe);
    bool prefers_frames() const;
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
    void transmit_effect(const fw_fx &fx);
    [[gnu::noinline]] void send_replies();
    void refuse_replies();
    void send_failed(int why);

    // Link state
    void set_link(uint32_t state);
    void check_link();
    void choose_steering();
    void ask_link();

    void post(const emx_msg &event) { queue_.push_back(event); }
    void publish();

    struct Pull {
        uint64_t cookie = 0;
        PieceList memory;
    };

    // The members that a poll touches when it finds nothing come first.
    const emx_msg *current_ = nullptr; ///< handed out, not consumed
    PacketRing *held_ = nullptr; ///< ring whose front slot `current_` points into
    int more_ = 0; ///< effects of that frame still wait in the core
    uint32_t empty_polls_ = 0;
    uint32_t busy_polls_ = 0; ///< frames taken since the last round of the other duties
    uint32_t partials_ = 0; ///< messages whose fragments are looked for among datagrams
    uint32_t rounds_behind_ = 0; ///< for which a timer that ran out has waited
    PacketRing ring_;
    PacketRing lo_;
    uint64_t now_ = 0; ///< last reading of the clock

    std::shared_ptr<BoardFile> file_;
    const std::shared_ptr<EndpointPage> page_;
    BoardRecord &record_;
    emx_counters &counters_;
    fw_peers *peers_;
    LearnedTags tags_;
    uint32_t local_peers_; ///< peers below it are this host's boards
    fw_board board_{};
    fw_endpoint endpoint_{};
    fw_pkt pkt_{};
    fw_fx fx_{};
    SteadyQueue<emx_msg> queue_; ///< events that belong to no frame in a ring
    bool queued_current_ = false; ///< `current_` is the front of queue_

    std::array<Pull, FW_PULLS> pulls_;
    int last_pull_ = 0;
    BulkReceiver bulk_;
    Steering steering_; ///< of ring and bulk socket
    ReplySender replies_;
    Datagrams datagrams_;
    DatagramReceiver datagram_receiver_;
    uint32_t datagram_polls_ = 0; ///< since frames were looked for
    uint32_t fragments_queued_ = 0; ///< events whose data lies in the receiver's memory
    FragmentSender fragments_;
    const BulkWay bulk_way_;

    uint32_t link_serial_ = 0;
    const uint32_t life_; ///< of the interface; its sockets are dead in the next
    uint32_t link_state_ = EMX_LINK_UP;
    std::atomic<bool> poll_bulk_{false}; ///< for wait(), which runs without the lock
    std::atomic<bool> poll_output_{false}; ///< of frames
    std::atomic<int> poll_datagrams_{-1}; ///< descriptor; -1: none is of interest
    std::atomic<bool> poll_datagram_output_{false};
    std::atomic<bool> socket_error_{false};
    std::atomic<bool> interrupted_{false}; ///< a signal ended a wait()
    std::atomic<int> watched_{-1}; ///< the library's, in wait()
    Wake wake_;
    uint32_t board_number_;
    std::unique_ptr<Claim> claim_;
    bool groups_open_ = false; ///< group_ring_ is mapped
    std::atomic<int> poll_groups_{-1}; ///< descriptor of group_ring_, for wait()
    fw_groups groups_{};
    PacketRing group_ring_; ///< frames to groups
};

/// Gives a checked frame to the core; false when it found no endpoint: see introduce().
inline bool EnginePort::give(fw_pkt &pkt, fw_fx &fx, int &more)
{
    more = 0;
    fw_endpoint *ep = fw_demux(&board_, &pkt, &fx);
    if (!ep) [[unlikely]]
        return false;
    more = fw_rx(ep, &pkt, now_, &fx);
    return true;
}

} // namespace emx
