// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Answers PULL and X PULL requests: runs of pull replies, or X DATA, sent in batches straight from the
// windows' memory; X DATA also in datagrams, up to 64 KiB by one call, which the kernel or the card cuts.
#pragma once

#include "driver/engine/reply_queue.hpp"

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

namespace emx {

/// Called under the port's lock.
class ReplySender {
public:
    ReplySender(const fw_sizes &sizes, emx_counters &counters) : queue_(sizes, counters), counters_(counters)
    {
    }

    /// As of the queue.
    void open_window(uint16_t slot, std::span<const Segment> memory) { queue_.open_window(slot, memory); }
    void close_window(uint16_t slot) { queue_.close_window(slot); }

    /// Queues the answer to one request, for sending on `socket`; false when too many wait.
    bool add(const fw_replies &run, int socket);
    /// The same in datagrams to that target; what cannot be sent so leaves as frames on `socket`.
    bool add(const fw_replies &run, int socket, const DatagramTarget &target);

    bool pending() const { return queue_.size() != 0; }
    /// The queue whose windows other senders read as well.
    const ReplyQueue &windows() const { return queue_; }
    /// True if what is next leaves in datagrams.
    bool next_is_datagrams() { return pending() && queue_.at(0).target.address != 0; }
    /// Sends one batch. Returns 0, or the errno that ended it; a full socket (EAGAIN), a downed interface
    /// (ENETDOWN) and memory that cannot be read (EFAULT) keep the rest, other errors lose a frame, for which
    /// the peer asks again.
    /// datagram_socket: -1 when there is none (any more).
    int send_batch(int datagram_socket);
    /// A target that the system refuses to send to, since the last call.
    std::optional<DatagramTarget> take_lost() { return std::exchange(lost_, std::nullopt); }
    /// Takes the run that is next in the queue, unsent; there must be one.
    fw_replies give_up() { return queue_.give_up(); }
    /// Forgets everything queued; its frames count as failed.
    void drop_all();

private:
    static constexpr uint32_t batch_max = 16;
    static constexpr uint32_t iovecs_max = 1024;

    uint32_t build(int socket);
    bool build_frame(const ReplyRun &run, fw_replies &left, uint32_t slot, uint32_t &iovecs);
    [[gnu::noinline]] int send_datagrams(int socket);
    uint32_t build_datagrams(const ReplyRun &run, uint32_t &iovecs);
    void leave_datagrams();

    ReplyQueue queue_;
    emx_counters &counters_;
    std::array<std::array<uint8_t, EMX_HEADER_MAX>, batch_max> headers_;
    std::array<mmsghdr, batch_max> messages_{};
    std::array<iovec, iovecs_max> iovecs_;
    std::optional<DatagramTarget> lost_;
    std::array<std::array<uint8_t, FW_X_DATA_HEADER>, 64> datagram_headers_; // as many as older kernels cut
};

} // namespace emx
