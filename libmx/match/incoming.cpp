// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The data of a message that has not found its place yet: see incoming.hpp.
#include "libmx/match/incoming.hpp"

#include "libmx/request.hpp"

#include <algorithm>

namespace emx {

void Incoming::own_data()
{
    if (!view)
        return;
    if (msg.msg_len) {
        storage = std::make_unique<std::byte[]>(msg.msg_len);
        copy_bytes(storage.get(), view, msg.msg_len);
    }
    view = nullptr;
}

const std::byte *Incoming::shown(uint32_t fragment) const
{
    static const std::byte nothing{}; // an empty one has a place, too
    if (!complete || msg.data_len != msg.msg_len || msg.msg_len > fragment)
        return nullptr;
    const std::byte *whole = storage ? storage.get() : view;
    return whole ? whole : &nothing;
}

void Incoming::store(const emx_msg &fragment)
{
    const auto *data = reinterpret_cast<const std::byte *>(fragment.data);
    const uint64_t position = fragment.u.medium.position;
    if (recv && !storage) {
        if (position < recv->room)
            scatter(recv->segments.view(), position, data,
                    std::min<uint64_t>(fragment.data_len, recv->room - position));
    } else if (!discard) {
        if (!storage)
            storage = std::make_unique<std::byte[]>(fragment.msg_len);
        copy_bytes(storage.get() + position, data, fragment.data_len);
    }
}

} // namespace emx
