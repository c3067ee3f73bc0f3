// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// An MX endpoint of its own for the groups of a process: their frames, and their messages.
#pragma once

#include "group.hpp"
#include "link.hpp"
#include "patience.hpp"

#include <mx_extensions.h>
#include <myriexpress.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

namespace emx::cast {

/// Where a member's endpoint is, as it tells the others.
struct Place {
    uint64_t nic_id = 0;
    uint32_t endpoint = 0;
    uint32_t session = 0;
    uint32_t frame = 0; ///< bytes of a packet to a group, at most; 0: it is in no group
    uint32_t reserved = 0;
};

/// Endpoint and groups of one process. Not thread-safe, but for different threads one after the other.
/// Nothing blocks but open and connect. Errors of MX go to its error handler, which must return.
class Endpoint final : public Link {
public:
    /// Opens an endpoint on that board (MX_ANY_NIC: any) and joins the key of the job. Null: MX has none.
    /// A device without groups, or one that refuses, gives a place with frame 0.
    static std::unique_ptr<Endpoint> open(uint32_t board, uint32_t key);
    ~Endpoint() override;
    Endpoint(const Endpoint &) = delete;
    Endpoint &operator=(const Endpoint &) = delete;

    const Place &place() const { return place_; }
    /// Connects to that member, once for all groups; MX waits for its answer, timeout_ms at most.
    bool connect(const Place &member, uint32_t timeout_ms);

    /// A group of members that are connected all. Frames are as long as the shortest frame of those that are
    /// in the group of the key. The endpoint keeps it until close(). nullptr: the id is taken.
    Group *make(uint32_t id, uint32_t self, const std::vector<Place> &members);
    /// After Group::begin_close was done.
    void close(Group *group);
    /// Takes what came, for all groups. False: nothing.
    bool poll();
    /// After a poll in vain: sleeps for a millisecond, or until something comes, where others want the
    /// processor. False: it did not. True with .found: something came.
    bool rest(bool &found);
    /// The library that has the endpoint is no more, as in a simulated process that was killed.
    void abandon() { endpoint_ = nullptr; }

    uint64_t now_ns() override;
    void to_group(std::span<const std::byte> bytes) override;
    void to_member(Group &group, uint32_t member, std::span<const std::byte> bytes) override;
    /// Time for the simulator, whose is virtual; nullptr: that of the system.
    uint64_t (*clock)(void *context) = nullptr;
    void *clock_context = nullptr;

private:
    Endpoint() = default;
    struct Buffer {
        std::vector<std::byte> bytes;
        uint64_t to = 0; ///< sends: key of the partner
        bool receives = false;
    };
    struct Partner {
        Place place;
        mx_endpoint_addr_t address{};
        bool dead = false;
    };
    struct Entry {
        std::unique_ptr<Group> group;
        std::vector<uint64_t> partners; ///< keys of its members
    };
    static uint64_t key_of(uint64_t nic_id, uint32_t endpoint) { return nic_id << 16 | endpoint; }
    void post(Buffer *buffer);
    bool take_message();
    void take(const mx_status_t &status);
    bool take_frame();
    void dispatch(uint64_t from, std::span<const std::byte> bytes);
    void bury(uint64_t partner);
    Buffer *send_buffer();

    mx_endpoint_t endpoint_ = nullptr;
    uint32_t key_ = 0; ///< 0: in no group
    Place place_;
    std::map<uint64_t, Partner> partners_;
    std::map<uint32_t, Entry> groups_;
    std::deque<Buffer> buffers_;
    std::vector<Buffer *> spare_;
    std::vector<std::byte> frame_; ///< the one that came last
    Patience patience_;
};

} // namespace emx::cast
