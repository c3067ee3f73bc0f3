// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Memory of messages under way: see tx_pool.hpp.
#include "libmx/reliab/tx_pool.hpp"

#include <new>

namespace emx {

TxPool::~TxPool()
{
    for (auto &list : free_)
        for (TxMessage *tx : list) {
            ::operator delete(tx->buffer);
            delete tx;
        }
}

TxMessage *TxPool::make(std::size_t size_class, uint32_t bytes)
{
    auto tx = std::make_unique<TxMessage>();
    uint32_t capacity = size_class < classes.size() ? classes[size_class] : bytes;
    if (capacity)
        tx->buffer = static_cast<std::byte *>(::operator new(capacity));
    tx->capacity = capacity;
    tx->size_class = static_cast<uint32_t>(size_class);
    ++live_;
    return tx.release();
}

void TxPool::release(TxMessage *tx)
{
    --live_;
    const std::size_t size_class = tx->size_class;
    if (size_class < free_.size() && free_[size_class].size() < (size_class ? kept_max : short_kept_max))
        [[likely]] {
        std::byte *buffer = tx->buffer;
        uint32_t capacity = tx->capacity;
        *tx = TxMessage{};
        tx->buffer = buffer;
        tx->capacity = capacity;
        tx->size_class = static_cast<uint32_t>(size_class);
        free_[size_class].push_back(tx);
        return;
    }
    ::operator delete(tx->buffer);
    delete tx;
}

} // namespace emx
