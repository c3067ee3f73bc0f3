// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The windows of announced messages: see windows.hpp.
#include "libmx/proto/windows.hpp"

#include "libmx/reliab/tx_message.hpp"

namespace emx {

void WindowTable::take(TxMessage *tx)
{
    const unsigned room = used_ < alone_max ? 1 : FW_WINDOWS_PER_ID;
    while (open_[next_ & 0xff] >= room)
        ++next_;
    const auto id = static_cast<uint8_t>(next_++ & 0xff);
    uint8_t tag = ++tag_[id];
    while (window_[fw_window_slot(id, tag)])
        tag = ++tag_[id];
    window_[fw_window_slot(id, tag)] = tx;
    ++open_[id];
    ++used_;
    tx->has_window = true;
    tx->header.u.window.id = id;
    tx->header.u.window.tag = tag;
    tx->header.u.window.offset = 0;
}

void WindowTable::release(TxMessage *tx)
{
    const uint8_t id = tx->header.u.window.id, tag = tx->header.u.window.tag;
    window_[fw_window_slot(id, tag)] = nullptr;
    --open_[id];
    --used_;
    tx->has_window = false;
}

TxMessage *WindowTable::find(uint8_t id, uint8_t tag) const
{
    TxMessage *tx = window_[fw_window_slot(id, tag)];
    return tx && tx->header.u.window.tag == tag ? tx : nullptr;
}

} // namespace emx
