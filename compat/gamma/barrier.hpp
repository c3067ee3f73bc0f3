// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The barrier of all nodes: node 0 counts arrivals, and releases all by a broadcast.
#pragma once

#include <cstdint>
#include <vector>

namespace emx_gamma {

class Node;

class Barrier {
public:
    explicit Barrier(Node &node) : node_(node) {}

    void join(uint32_t nodes) { arrivals_.resize(nodes); }
    /// This node comes to the next barrier, with a sum of its calls. Returns the barrier's number.
    uint32_t arrive(uint32_t sum, bool one_thread);
    /// Another node has come to it.
    void take_arrival(uint32_t node, uint32_t sum, bool one_thread);
    void take_release();
    bool released(uint32_t number) const { return static_cast<int32_t>(released_ - number) >= 0; }
    /// Node 0 looks for awaited nodes that will never come.
    void look_for_missing();

private:
    struct Arrivals {
        uint32_t count = 0;
        uint32_t sum = 0; ///< at the last one
        bool one_thread = false;
    };
    void advance();
    bool has_come(uint32_t node) const { return static_cast<int32_t>(arrivals_[node].count - released_) > 0; }

    Node &node_;
    uint32_t called_ = 0, released_ = 0;
    std::vector<Arrivals> arrivals_; ///< at node 0, by node
};

} // namespace emx_gamma
