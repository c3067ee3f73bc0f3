// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Large messages of an endpoint by TCP (docs/protocol.md, TCP): between the connections and the core, for
// both ports of the engine. What a packet or a request is to the rest of the port, the derived port says: a
// call for 32 KiB.
#pragma once

#include "driver/engine/core_port.hpp"
#include "driver/engine/engine.hpp"
#include "driver/engine/reply_queue.hpp"
#include "driver/engine/tcp_ways.hpp"

#include <atomic>
#include <memory>

namespace emx {

class TcpPort : public CorePort {
public:
    bool has_tcp() const final { return tcp_.wanted(); }

protected:
    TcpPort(PortParts &parts, BulkWay bulk_way, std::unique_ptr<TcpNetwork> network)
        : CorePort(parts), bulk_way_(bulk_way), tcp_(std::move(network), counters_)
    {
    }

    /// Bytes of a packet by TCP, header included: long enough that its header and its judgement cost nothing
    /// beside the copy, short enough that a message of 64 KiB has two of them under way.
    static constexpr uint16_t tcp_packet = FW_X_DATA_HEADER + 32768;
    /// True if frames are the quickest for a message of so many bytes, and nothing else was asked for.
    bool prefers_frames(uint32_t total) const { return bulk_way_ == BulkWay::best && total < frames_below; }

    /// When the endpoint is set up.
    void allow_tcp();
    /// True if a message that is pulled now comes by TCP. May tell the other end where to connect.
    bool comes_by_tcp(const emx_msg &rndv);
    /// Effects of the core: an address of TCP was told, and a pull by TCP is left.
    void hear_connection(const fw_address &address);
    void fall_back_from_tcp(const fw_address &address);
    static bool is_by_tcp(const fw_replies &run)
    {
        return run.reply.msg.type == EMX_X_DATA && run.reply.x.carrier == FW_BY_TCP;
    }
    /// Queues the answer to a request by TCP; false when it cannot leave.
    bool add_to_connection(const fw_replies &run) { return tcp_.add(windows(), run); }
    /// Before the memory of a window is given back.
    void close_in_connections(uint16_t slot) { tcp_.close_window(windows(), slot); }
    /// While tcp_active_: takes and sends packets.
    [[gnu::noinline]] void poll_tcp();
    /// Now and then: goes on with connections that are being made. Nothing else waits for them, and the other
    /// end may never answer.
    void poll_connects()
    {
        if (tcp_.connecting() && !tcp_active_) [[unlikely]]
            poll_tcp();
    }
    /// Part of publish().
    void publish_tcp();

    const BulkWay bulk_way_;
    std::atomic<int> poll_tcp_{-1}; ///< descriptor for wait(), which runs without the lock; -1: none

private:
    /// Bytes of the shortest message for which a connection is quicker than frames.
    static constexpr uint32_t frames_below = 8192;

    /// Executes an effect of a packet. payload: its data, null when that is in place.
    virtual void take_effect(const fw_fx &fx, const std::byte *payload) = 0;
    /// Sends a packet of the core.
    virtual void transmit_effect(const fw_fx &fx) = 0;
    /// Tells wait() what is of interest.
    virtual void publish() = 0;
    virtual const ReplyQueue &windows() const = 0;

    bool leave_lost_ways();
    void take_effects(const std::byte *payload);
    const PieceList *place_of(TcpReceiver &packets);
    const PieceList *running_memory(int slot, uint32_t handle) const;
    void take_packets(TcpInward &way);
    [[gnu::cold]] void end_way(TcpInward &way, bool unwritable);
    bool check_packet(TcpInward &way);
    bool is_pull_from(int slot, const TcpInward &way) const;
    void place_packet(TcpInward &way);
    void take_packet(TcpInward &way);

    TcpWays tcp_;
};

} // namespace emx
