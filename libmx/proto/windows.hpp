// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Ids and tags of the windows of announced messages (wire specification, section 10.1).
#pragma once

#include "driver/core/fw.h"

#include <array>
#include <cstdint>

namespace emx {

struct TxMessage;

/// Knows which message has which window; the port opens and closes them. Not thread-safe; owns nothing.
class WindowTable {
public:
    // Up to here, where Open-MX stops, every window has an id of its own, and ids are not reused at once.
    // Beyond it windows share ids: a message that waits for one holds up all behind it, and the one that the
    // receiver needs before it takes the others may be among them.
    static constexpr uint32_t alone_max = 128;
    /// Most at once, so that there always is an id with a free slot.
    static constexpr uint32_t windows_max = FW_WINDOWS - 256;

    /// The first tag of each id is the one behind `last_tag`.
    explicit WindowTable(uint8_t last_tag) { tag_.fill(last_tag); }

    bool is_full() const { return used_ >= windows_max; }
    uint32_t used() const { return used_; }
    /// Gives a message a window, whose id and tag its header gets. The table must not be full.
    void take(TxMessage *tx);
    /// Takes the window back from a message that has one.
    void release(TxMessage *tx);
    /// The message with that window, or nullptr.
    TxMessage *find(uint8_t id, uint8_t tag) const;

private:
    std::array<TxMessage *, FW_WINDOWS> window_{}; ///< by fw_window_slot
    std::array<uint8_t, 256> tag_{}; ///< the last one of an id
    std::array<uint8_t, 256> open_{}; ///< windows of an id
    uint32_t used_ = 0;
    uint32_t next_ = 0;
};

} // namespace emx
