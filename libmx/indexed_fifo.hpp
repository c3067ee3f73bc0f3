// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A FIFO of things with 64 match bits, searched by (info, mask): unexpected messages, and finished
// requests. Oldest first, whatever the mask (API specification, section 5).
//
// Short queues are walked. A long queue gets an index for each of the masks last asked for, so that
// a search costs the same at 10 and at 10,000 entries; the indexes go away when the queue empties,
// so that the usual short queue never pays for them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace emx {

inline constexpr std::size_t fifo_indexes = 4;
inline constexpr std::size_t fifo_walk_max = 16;

/// Links of an element; a member of every type that goes into an IndexedFifo.
template <class T>
struct FifoHook {
    T *prev = nullptr;
    T *next = nullptr;
    std::array<T *, fifo_indexes> index_prev{};
    std::array<T *, fifo_indexes> index_next{};
};

/// Not thread-safe; owns nothing. `bits` is the member with the match bits, constant while linked.
template <class T, FifoHook<T> T::*hook, uint64_t T::*bits>
class IndexedFifo {
public:
    bool empty() const { return head_ == nullptr; }
    std::size_t size() const { return size_; }
    T *front() const { return head_; }
    static T *next(T *item) { return (item->*hook).next; }

    void push_back(T *item)
    {
        FifoHook<T> &h = item->*hook;
        h.prev = tail_;
        h.next = nullptr;
        if (!tail_) [[likely]]
            head_ = item;
        else
            (tail_->*hook).next = item;
        tail_ = item;
        ++size_;
        if (indexes_used_) [[unlikely]]
            index_everywhere(item);
    }

    void remove(T *item)
    {
        FifoHook<T> &h = item->*hook;
        --size_;
        if (indexes_used_) [[unlikely]]
            unindex(item);
        if (!h.prev) [[likely]]
            head_ = h.next;
        else
            (h.prev->*hook).next = h.next;
        if (!h.next) [[likely]]
            tail_ = h.prev;
        else
            (h.next->*hook).prev = h.prev;
    }

    /// Oldest element with (bits & mask) == info, or nullptr.
    T *find(uint64_t info, uint64_t mask)
    {
        if (!head_ || (head_->*bits & mask) == info) [[likely]]
            return head_;
        return find_behind(info, mask);
    }

private:
    struct Chain {
        T *head = nullptr;
        T *tail = nullptr;
    };
    struct Index {
        uint64_t mask = 0;
        uint64_t last_use = 0;
        std::unordered_map<uint64_t, Chain> chains;
    };

    // Apart from find(), which each test of a request inlines.
    [[gnu::noinline]] T *find_behind(uint64_t info, uint64_t mask)
    {
        if (size_ <= fifo_walk_max)
            return walk(info, mask);
        Index &index = index_for(mask);
        auto it = index.chains.find(info);
        return it == index.chains.end() ? nullptr : it->second.head;
    }

    T *walk(uint64_t info, uint64_t mask) const
    {
        for (T *item = head_; item; item = (item->*hook).next)
            if ((item->*bits & mask) == info)
                return item;
        return nullptr;
    }

    Index &index_for(uint64_t mask)
    {
        ++clock_;
        std::size_t oldest = 0;
        for (std::size_t i = 0; i < indexes_used_; ++i) {
            if (index_[i].mask == mask) {
                index_[i].last_use = clock_;
                return index_[i];
            }
            if (index_[i].last_use < index_[oldest].last_use)
                oldest = i;
        }
        std::size_t place = indexes_used_ < fifo_indexes ? indexes_used_++ : oldest;
        Index &index = index_[place];
        index.chains.clear();
        index.mask = mask;
        index.last_use = clock_;
        for (T *item = head_; item; item = (item->*hook).next)
            index_add(place, item);
        return index;
    }

    void index_add(std::size_t i, T *item)
    {
        Chain &chain = index_[i].chains[item->*bits & index_[i].mask];
        FifoHook<T> &h = item->*hook;
        h.index_prev[i] = chain.tail;
        h.index_next[i] = nullptr;
        (chain.tail ? (chain.tail->*hook).index_next[i] : chain.head) = item;
        chain.tail = item;
    }

    void index_remove(std::size_t i, T *item)
    {
        auto it = index_[i].chains.find(item->*bits & index_[i].mask);
        FifoHook<T> &h = item->*hook;
        T *prev = h.index_prev[i], *next = h.index_next[i];
        (prev ? (prev->*hook).index_next[i] : it->second.head) = next;
        (next ? (next->*hook).index_prev[i] : it->second.tail) = prev;
        if (!it->second.head)
            index_[i].chains.erase(it);
    }

    // Apart from their callers, which are short without them.
    [[gnu::cold, gnu::noinline]] void index_everywhere(T *item)
    {
        for (std::size_t i = 0; i < indexes_used_; ++i)
            index_add(i, item);
    }

    /// The indexes go with the last element.
    [[gnu::cold, gnu::noinline]] void unindex(T *item)
    {
        for (std::size_t i = 0; i < indexes_used_; ++i)
            index_remove(i, item);
        if (size_ != 0)
            return;
        for (std::size_t i = 0; i < indexes_used_; ++i)
            index_[i].chains.clear();
        indexes_used_ = 0;
    }

    T *head_ = nullptr;
    T *tail_ = nullptr;
    std::size_t size_ = 0;
    uint64_t clock_ = 0;
    std::size_t indexes_used_ = 0;
    std::array<Index, fifo_indexes> index_;
};

} // namespace emx
