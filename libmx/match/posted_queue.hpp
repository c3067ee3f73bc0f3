// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Posted receives, searched by the match bits of an arriving message: the first in posting order
// whose (bits & mask) == info takes it (API specification, section 5).
//
// The queue is walked as long as that ends soon, which it does for messages in the order of their receives.
// After a long walk it is grouped by mask, each group hashed by info: one look-up per distinct mask (programs
// use a handful) and the earliest posting wins.
#pragma once

#include "libmx/request.hpp"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace emx {

/// Not thread-safe; owns nothing.
class PostedQueue {
public:
    std::size_t size() const { return size_; }
    Request *front() const { return head_; }
    void push_back(Request *recv)
    {
        recv->post_prev = tail_;
        recv->post_next = nullptr;
        if (!tail_) [[likely]]
            head_ = recv;
        else
            tail_->post_next = recv;
        tail_ = recv;
        ++size_;
        if (grouped_) [[unlikely]]
            group_add(recv);
    }
    void remove(Request *recv)
    {
        if (grouped_) [[unlikely]]
            group_remove(recv);
        if (!recv->post_prev) [[likely]]
            head_ = recv->post_next;
        else
            recv->post_prev->post_next = recv->post_next;
        if (!recv->post_next) [[likely]]
            tail_ = recv->post_prev;
        else
            recv->post_next->post_prev = recv->post_prev;
        if (--size_ <= walk_again && grouped_) [[unlikely]]
            ungroup();
    }
    /// The receive that a message with these bits goes to, out of the queue; or nullptr. It is the first one
    /// where messages come in the order of their receives.
    Request *take(uint64_t bits)
    {
        Request *recv = head_;
        if (!recv) [[unlikely]]
            return nullptr;
        if (static_cast<int>(grouped_) | static_cast<int>((bits & recv->mask) != recv->match)) [[unlikely]] {
            if ((recv = find(bits)))
                remove(recv);
            return recv;
        }
        head_ = recv->post_next;
        (head_ ? head_->post_prev : tail_) = nullptr;
        --size_;
        return recv;
    }
    /// The same; it stays in the queue.
    Request *find(uint64_t bits)
    {
        if (grouped_) [[unlikely]]
            return find_grouped(bits);
        Request *recv = head_;
        if (recv && (bits & recv->mask) != recv->match) [[unlikely]]
            return walk(bits);
        return recv;
    }

private:
    /// A walk to the last of so many costs no more than a look-up, one to the first a tenth.
    static constexpr std::size_t walk_max = 32;
    static constexpr std::size_t walk_again = walk_max / 2; ///< far enough below for few changes of the way
    struct Chain {
        Request *head = nullptr;
        Request *tail = nullptr;
    };
    struct Group {
        uint64_t mask;
        std::unordered_map<uint64_t, Chain> chains;
    };

    std::vector<Group>::iterator group_of(uint64_t mask);
    [[gnu::cold]] void group_all();
    [[gnu::cold, gnu::noinline]] void ungroup();
    [[gnu::noinline]] void group_add(Request *recv);
    [[gnu::noinline]] void group_remove(Request *recv);
    [[gnu::noinline]] Request *find_grouped(uint64_t bits) const;
    [[gnu::noinline]] Request *walk(uint64_t bits);

    Request *head_ = nullptr;
    Request *tail_ = nullptr;
    std::size_t size_ = 0;
    uint64_t serial_ = 0;
    bool grouped_ = false;
    std::vector<Group> groups_;
};

} // namespace emx
