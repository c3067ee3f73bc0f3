// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Fetching a large message from another process of the host by process_vm_readv, piece by piece.
#pragma once

#include "driver/segments.hpp"
#include "libmx/shm/channel.hpp"

#include <memory>
#include <span>
#include <vector>

namespace emx::shm {

class Pull {
public:
    enum class State { running, done, failed, aborted };

    /// Finds the window that `rndv` names among those its sender publishes; false when it is not there or
    /// too short. `rndv` and `total` as in Port::start_pull.
    /// `done` bytes are there already.
    bool begin(std::shared_ptr<Incoming> from, const emx_msg &rndv, uint32_t total,
               std::span<const Segment> memory, uint64_t cookie, uint32_t done = 0);
    /// Copies some more. done: all is here, and the window was open until then. failed: fetch all of it in
    /// another way.
    State step();

    const emx_msg &rndv() const { return rndv_; }
    uint32_t total() const { return total_; }
    uint64_t cookie() const { return cookie_; }
    std::span<const Segment> memory() const { return memory_; }
    const Incoming *from() const { return from_.get(); }
    bool by_frames = false; ///< failed, and waits for the device to take it

private:
    bool read_window(SharedWindow &window, uint64_t stamp);
    bool still_open() const;
    bool is_writable() const;

    std::shared_ptr<Incoming> from_;
    emx_msg rndv_{};
    uint64_t stamp_ = 0;
    uint64_t cookie_ = 0;
    uint32_t total_ = 0;
    uint32_t done_ = 0;
    std::vector<Segment> memory_;
    PieceList source_; ///< addresses in the other process
    PieceList target_;
};

} // namespace emx::shm
