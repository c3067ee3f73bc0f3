// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// From one node to all others: reliable, in order of each sender, at the pace of the slowest.
//
// Each receiver gets an MX message of its own, from the sender itself: none waits for another that
// forwards. Frames for all hosts take their place once all nodes are in the group of the job (multicast.hpp).
#pragma once

#include <cstdint>
#include <vector>

namespace emx_gamma {

class Node;
struct Buffer;
struct Port;
struct Send;
enum class Kind : uint32_t;

/// Goes ahead of the data of a broadcast.
struct Header {
    uint64_t length;
    uint32_t sum; ///< of the sender's calls so far
    uint32_t one_thread; ///< made them all

    /// The calls in a word.
    uint64_t tag() const { return uint64_t{one_thread} << 32 | sum; }
};
inline constexpr uint64_t length_goes_on_by_frames = ~uint64_t{0}; ///< of the last message of a channel

class Broadcast {
public:
    explicit Broadcast(Node &node) : node_(node) {}

    /// All nodes are members from here on, each with a channel to all others. Before the first message.
    void join();
    /// The channel of a node's broadcasts.
    Port &channel(uint32_t root) const;

    /// Sends a message for which all targets of its port have room, to those that live. The data of longer
    /// ones than MX copies stays the sender's until send.out is 0.
    void launch(Send &send);
    /// A control message to all others that live.
    void tell(Kind kind, uint32_t a = 0, uint32_t b = 0);

    /// The next message of that channel goes to this buffer. nullptr: no memory.
    Buffer *expect(uint32_t root, void *memory, uint32_t length);
    /// Takes back a buffer that no message met. False: one did, and is under way.
    bool withdraw(Buffer *buffer);
    /// Ends the use of a buffer.
    void release(Buffer *buffer);

    /// Broadcasts of one root by this process: one at a time, in the order of their calls. by_frames: the
    /// root's next ones travel so.
    struct Line {
        uint32_t last = 0, served = 0;
        bool by_frames = false;
    };
    Line &line(uint32_t root) { return lines_[root]; }

private:
    Node &node_;
    std::vector<Line> lines_; ///< by root
};

} // namespace emx_gamma
