// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Posted receives, searched by the match bits of an arriving message: the first in posting order
// whose (bits & mask) == info takes it (API specification, section 5).
//
// A short queue is walked. A long one is grouped by mask, each group hashed by info: one look-up per
// distinct mask (programs use a handful) and the earliest posting wins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace emx {

struct Request;

/// Not thread-safe; owns nothing.
class PostedQueue {
public:
    std::size_t size() const { return size_; }
    Request *front() const { return head_; }
    void push_back(Request *recv);
    void remove(Request *recv);
    /// The receive that a message with these bits goes to, or nullptr. It stays in the queue.
    Request *find(uint64_t bits) const;

private:
    static constexpr std::size_t walk_max = 16;
    struct Chain {
        Request *head = nullptr;
        Request *tail = nullptr;
    };
    struct Group {
        uint64_t mask;
        std::unordered_map<uint64_t, Chain> chains;
    };

    std::vector<Group>::iterator group_of(uint64_t mask);
    void group_all();
    void group_add(Request *recv);
    void group_remove(Request *recv);
    Request *find_grouped(uint64_t bits) const;

    Request *head_ = nullptr;
    Request *tail_ = nullptr;
    std::size_t size_ = 0;
    uint64_t serial_ = 0;
    bool grouped_ = false;
    std::vector<Group> groups_;
};

} // namespace emx
