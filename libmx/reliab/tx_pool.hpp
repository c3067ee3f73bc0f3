// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Memory of messages under way: recycled, so that a small send allocates nothing.
#pragma once

#include "libmx/reliab/tx_message.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace emx {

/// Not thread-safe (the endpoint's lock).
class TxPool {
public:
    ~TxPool();
    /// A message with room for `bytes` of frames (0: none); never nullptr (throws std::bad_alloc).
    TxMessage *allocate(uint32_t bytes)
    {
        const std::size_t size_class = class_of(bytes);
        if (size_class >= free_.size() || free_[size_class].empty()) [[unlikely]]
            return make(size_class, bytes);
        ++live_;
        TxMessage *tx = free_[size_class].back();
        free_[size_class].pop_back();
        return tx;
    }
    [[gnu::hot]] void release(TxMessage *tx);
    uint32_t live() const { return live_; }

    /// A message is complete for the program and goes on to its ack, if fewer than `most` do that.
    bool make_zombie(TxMessage *tx, uint32_t most)
    {
        tx->zombie = zombies_ < most;
        if (!tx->zombie) [[unlikely]]
            return false;
        ++zombies_;
        return true;
    }
    /// Releases a message, which may be a zombie.
    void bury(TxMessage *tx)
    {
        if (tx->zombie) [[likely]]
            --zombies_;
        release(tx);
    }

private:
    static constexpr std::array<uint32_t, 4> classes = {256, 4608, 17408, 41984};
    static constexpr std::size_t kept_max = 64; ///< free messages kept per class; of the smallest, as many as
    static constexpr std::size_t short_kept_max = 256; ///< are under way to one partner
    static std::size_t class_of(uint32_t bytes)
    {
        if (bytes == 0) [[unlikely]]
            return classes.size();
        for (std::size_t i = 0; i < classes.size(); ++i)
            if (bytes <= classes[i]) [[likely]]
                return i;
        return classes.size() + 1; // larger than any class: not kept
    }
    TxMessage *make(std::size_t size_class, uint32_t bytes);

    uint32_t live_ = 0;
    uint32_t zombies_ = 0;
    std::array<std::vector<TxMessage *>, classes.size() + 1> free_; ///< last: without a buffer
};

} // namespace emx
