// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// X DATA into one connection (docs/protocol.md, TCP), straight from the windows' memory.
#pragma once

#include "driver/engine/reply_queue.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace emx {

/// One of a connection; called under the port's lock.
class TcpSender {
public:
    /// Queues an answer; false when too many wait.
    bool add(const ReplyQueue &windows, const fw_replies &run);
    bool pending() const { return count_ != 0 || !rest_.empty(); }
    /// Packets sent as a whole.
    uint64_t sent() const { return sent_; }

    enum class Outcome : uint8_t {
        sent, ///< as much as one call takes; more may wait
        full, ///< the socket takes no more now
        unreadable, ///< the memory of the answer that give_up() takes cannot be read
        ended, ///< the connection cannot go on
    };
    /// Sends by one call.
    Outcome send(int socket, const ReplyQueue &windows, emx_counters &counters);
    /// Takes the answer that is next. The connection has to end if partly_sent().
    fw_replies give_up();
    /// Forgets everything: the connection has ended.
    void drop_all();
    /// A packet of which the other end has a part was to be continued.
    bool partly_sent() const { return offset_ != 0 || !rest_.empty(); }

    /// Before that window's memory is given back: forgets what is still to be sent from it, and keeps what a
    /// packet already begun needs of it. False: that cannot be read, and the connection has to end.
    bool close_window(const ReplyQueue &windows, uint16_t slot);

private:
    static constexpr uint32_t runs_max = 64; ///< power of two
    static constexpr uint32_t packets_max = 32; ///< of one call
    static constexpr uint32_t iovecs_max = 512; ///< one packet has a header and MX_MAX_SEGMENTS at most

    ReplyRun &at(uint32_t i) { return runs_[(first_ + i) % runs_max]; }
    uint32_t describe(const ReplyQueue &windows, const ReplyRun &run, fw_replies &left, uint32_t packet,
                      uint32_t used);
    uint32_t build(const ReplyQueue &windows, uint32_t most, uint32_t &packets);
    Outcome send_some(int socket, const ReplyQueue &windows, uint32_t most, emx_counters &counters);
    void skip(uint32_t &first, uint32_t bytes);
    void advance(uint32_t bytes, uint32_t packets, emx_counters &counters);
    void take_packet(emx_counters &counters);
    bool keep_rest(const ReplyQueue &windows);

    std::array<ReplyRun, runs_max> runs_;
    uint32_t first_ = 0;
    uint32_t count_ = 0;
    uint64_t sent_ = 0; ///< packets
    uint32_t offset_ = 0; ///< bytes of the next packet that have left
    std::vector<std::byte> rest_; ///< of a packet that was begun, of a window since closed
    std::array<std::array<uint8_t, EMX_HEADER_MAX>, packets_max> headers_;
    std::array<uint32_t, packets_max> bytes_; ///< of each packet
    std::array<iovec, iovecs_max> iovecs_;
};

} // namespace emx
