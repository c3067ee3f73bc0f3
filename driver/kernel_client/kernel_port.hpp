// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// An endpoint opened through the kernel module: events come by a mapped ring, commands go by a CommandPath,
// and the module does the rest by itself.
#pragma once

#include "driver/base/steady_queue.hpp"
#include "driver/base/wake.hpp"
#include "driver/device.hpp"
#include "driver/kernel_client/command_path.hpp"
#include "driver/kernel_client/driver_file.hpp"

extern "C" {
#include "driver/core/fw.h"
#include "driver/core/fw_group.h"
}

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

namespace emx {

/// A mapped part of the device; unmapped when it dies.
class DriverMemory {
public:
    DriverMemory() = default;
    ~DriverMemory();
    DriverMemory(const DriverMemory &) = delete;
    DriverMemory &operator=(const DriverMemory &) = delete;
    /// False with errno.
    bool map(int fd, uint64_t offset, uint64_t bytes);
    std::byte *data() const { return data_; }

private:
    std::byte *data_ = nullptr;
    std::size_t bytes_ = 0;
};

class KernelPort final : public Port {
public:
    /// Takes over a file on which EMX_IOC_CLAIM filled `claim`. Null with error filled.
    static std::unique_ptr<KernelPort> make(DriverFile file, const emx_dev_claim &claim, CommandWay way,
                                            DeviceError &error);

    uint32_t number() const override { return number_; }
    const char *why_no_groups() const override
    {
        return "the kernel module is older and has no groups, or frames of this board are too short: load "
               "the module of this version, or raise the MTU of the interface";
    }
    uint32_t group_bytes() const override;
    bool join_group(uint32_t key, DeviceError &error) override;
    void leave_group(uint32_t key) override;
    bool send_group(uint32_t key, uint32_t number, std::byte *payload, uint32_t length, bool summed) override;
    const emx_msg *peek() override;
    void consume() override;
    bool spin(unsigned looks) override;
    BusyPoll busy_poll(unsigned us) override;
    bool send(const emx_msg &msg, std::byte *payload) override { return commands_.send(msg, payload); }
    void flush() override { commands_.flush(); }
    void open_window(uint8_t id, uint8_t tag, uint32_t peer, uint8_t remote_ep,
                     std::span<const Segment> memory, uint64_t length) override;
    void close_window(uint8_t id, uint8_t tag) override;
    bool start_pull(const emx_msg &rndv, uint32_t total, std::span<const Segment> memory,
                    uint64_t cookie) override;
    void cancel_pull(uint64_t cookie) override;
    std::optional<uint32_t> find_peer(uint64_t nic_id, int patience_ms, DeviceError &error) override;
    uint64_t peer_nic_id(uint32_t peer) const override;
    bool keep_peer(uint32_t peer, uint64_t nic_id) override;
    void release_peer(uint32_t peer) override;
    bool peer_is_local(uint32_t peer) const override;
    uint16_t peer_speaks(uint32_t peer) const override;
    uint32_t x_fragment() const override { return x_fragment_; }
    uint32_t pack_bytes() const override { return packs_ ? x_fragment_ : 0; }
    emx_counters &counters() override { return *reinterpret_cast<emx_counters *>(counters_.data()); }
    uint64_t deadline_ns() const override { return ready() ? 0 : ~uint64_t{0}; }
    bool wait(uint64_t deadline_ns) override;
    bool interrupted() override { return interrupted_.exchange(false, std::memory_order_relaxed); }
    bool watch(int fd) override
    {
        watched_.store(fd, std::memory_order_relaxed);
        return true;
    }
    void wake() override;

private:
    KernelPort(DriverFile file, CommandWay way, const emx_dev_claim &claim)
        : file_(std::move(file)), commands_(file_, way), board_(claim.board), number_(claim.number),
          x_fragment_(claim.x_fragment), slot_bytes_(claim.slot_bytes), packs_(file_.has(EMX_DEV_PACKS))
    {
    }
    bool map(const emx_dev_claim &claim, DeviceError &error);
    fw_ring *ring() const { return reinterpret_cast<fw_ring *>(ring_.data()); }
    bool ready() const;
    bool give(emx_dev_op op, uint64_t cookie) const;
    bool knows_groups() const;
    uint32_t ask_group_bytes() const;
    bool in_ring() const { return fw_ring_peek(ring(), tail_) != nullptr; }
    bool sleep_in_driver(unsigned seat, uint64_t deadline_ns);
    bool sleep_on_descriptors(const Wake::Seat &seat, uint64_t deadline_ns);
    const std::vector<emx_dev_segment> &describe(std::span<const Segment> memory);

    emx_msg event_{}; ///< copy of the ring's entry, with the payload's address
    const emx_msg *current_ = nullptr; ///< handed out, not consumed
    uint32_t tail_ = 0;
    DriverMemory ring_, slots_, counters_;
    DriverFile file_;
    CommandPath commands_;
    const uint32_t board_;
    const uint32_t number_;
    const uint32_t x_fragment_;
    const uint32_t slot_bytes_;
    const bool packs_; ///< the module knows them
    mutable std::optional<uint32_t> group_bytes_; ///< none: not asked yet
    SteadyQueue<emx_msg> queue_; ///< ends of pulls that could not begin
    std::vector<emx_dev_segment> segments_; ///< of the command in the making
    mutable std::vector<uint8_t> local_; ///< by peer: 0 not asked yet, 1 elsewhere, 2 on this host
    int poll_worth_ = 0; ///< falls with each event that came although a busy poll found nothing
    unsigned poll_skip_ = 0; ///< busy polls to leave out
    bool driver_sleeps_ = false; ///< it knows EMX_IOC_WAIT
    std::array<std::atomic<uint32_t>, 2> wakes_{}; ///< by seat: how many it has seen
    Wake wake_; ///< seats; its descriptors only where the driver does not sleep
    std::atomic<bool> interrupted_{false}; ///< a signal ended a wait()
    std::atomic<int> watched_{-1}; ///< the library's, in wait()
};

} // namespace emx
