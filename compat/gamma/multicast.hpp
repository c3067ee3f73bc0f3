// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Broadcasts by frames that reach all other hosts at once (compat/cast): the group of a job, and a stream of
// frames for each root.
#pragma once

#include <compat/cast/group.hpp>

#include <myriexpress.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace emx_gamma {

class Node;
struct Event;
struct Peer;

/// Frames to the group, and packets of the streams that travel as MX messages, on the node's own endpoint.
/// All calls have the node's lock; none blocks but join().
class Multicast final : public emx::cast::Link {
public:
    explicit Multicast(Node &node);
    ~Multicast() override;
    Multicast(const Multicast &) = delete;
    Multicast &operator=(const Multicast &) = delete;

    /// Joins the group at the first broadcast, where one frame can take the place of several messages, and
    /// tells all others. Jobs without broadcasts do not pay for the socket of the group.
    void join();
    /// Another node has joined; its frames have so many bytes, 0: it cannot.
    void take_joined(const Peer &peer, uint32_t bytes);
    /// True if this node may send by frames: all others that live have joined.
    bool is_ready() const;

    /// The stream of a node's broadcasts.
    emx::cast::Group &stream(uint32_t root);
    /// Frames of this node so far.
    uint32_t sent() const;
    /// Takes frames that came. False: none.
    bool poll();
    /// A packet that came as a message.
    void take_message(Event *event, const mx_status_t &status);

    /// A node has died.
    void lose(const Peer &peer);
    /// A node has left after so many frames of its stream.
    void leave(const Peer &peer, uint32_t sent);

private:
    struct Receive;
    struct Other {
        uint32_t bytes = 0; ///< of its frames; 0: it has not joined
        uint32_t sent = 0; ///< of one that left
    };
    bool gains() const;
    uint32_t key_of_job() const;
    void post(Receive *receive);
    void dispatch(uint32_t from, std::span<const std::byte> bytes);
    uint64_t now_ns() override;
    void to_group(std::span<const std::byte> bytes) override;
    void to_member(emx::cast::Group &group, uint32_t member, std::span<const std::byte> bytes) override;

    Node &node_;
    bool asked_ = false; ///< to join
    uint32_t key_ = 0; ///< of the group; 0: not joined
    uint32_t bytes_ = 0; ///< of a frame of ours
    std::vector<Other> others_; ///< by node
    std::vector<std::unique_ptr<emx::cast::Group>> streams_; ///< by root
    std::vector<std::unique_ptr<Receive>> receives_;
    std::vector<std::byte> frame_; ///< the one that came last
};

} // namespace emx_gamma
