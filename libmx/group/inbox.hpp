// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Frames that came to the groups of an endpoint, until the program takes them, and room for one to send.
#pragma once

#include "driver/device.hpp"

#include <emx/abi.h>

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace emx {

/// All calls need the slot's lock.
class GroupInbox {
public:
    struct Frame {
        uint64_t nic_id = 0; ///< of the sender, with the next two
        uint32_t session = 0;
        uint8_t endpoint = 0;
        uint32_t key = 0;
        uint32_t number = 0;
        std::vector<std::byte> data;
    };

    /// Keeps a copy of a frame from the board with that NIC id. False: there is no room, since the program
    /// does not take its frames.
    bool put(const emx_msg &msg, uint64_t nic_id);
    /// The oldest frame of a group, or nullptr.
    const Frame *first(uint32_t key) const;
    /// Gives the memory of first() back.
    void pop(uint32_t key);
    /// Forgets all frames of a group.
    void drop(uint32_t key);
    /// A copy of data to be sent, with the room in front that the device wants; valid until the next call.
    std::byte *to_send(std::span<const std::byte> data);

private:
    static constexpr std::size_t frames_max = 1024, bytes_max = 8u << 20;
    static constexpr std::size_t spare_max = 64;
    std::size_t find(uint32_t key) const; ///< place of the oldest frame of a group, or their number
    void take_away(std::size_t place);

    std::deque<Frame> frames_;
    std::vector<std::vector<std::byte>> spare_;
    std::size_t bytes_ = 0;
    std::vector<std::byte> out_;
};

} // namespace emx
