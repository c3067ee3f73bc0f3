// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Offers of the EtherMX extension: see offer.hpp.
#include "libmx/proto/offer.hpp"

#include "driver/core/fw_pack.h"

#include <algorithm>

namespace emx {

uint64_t make_offer(const Conf &conf, const BoardInfo &board, const Port &port)
{
    if (!conf.extension)
        return 0;
    const uint32_t medium = EMX_OUTER_LEN + sizeof(emx_w_medium) + board.frag;
    const uint32_t reply = EMX_OUTER_LEN + sizeof(emx_w_pull_reply) + board.reply;
    const uint32_t longest = board.x_frame ? board.x_frame : std::max(medium, reply);
    uint16_t features = EMX_X_REPORTS;
    if (board.x_frame) {
        features |= port.has_datagrams() ? EMX_X_PULLS | EMX_X_DATAGRAMS : EMX_X_PULLS;
        if (port.has_tcp())
            features |= EMX_X_TCP;
    }
    // A link that took shorter frames when the port was opened is offered none: partners would send longer
    // ones.
    if (const uint32_t x_fragment = port.x_fragment(); x_fragment && x_fragment >= fw_x_frag_max(longest)) {
        features |= EMX_X_FRAGMENTS;
        if (conf.checksum)
            features |= EMX_X_SUMS;
    }
    if (port.pack_bytes() && port.pack_bytes() >= fw_x_pack_max(longest))
        features |= conf.pack_longest > EMX_SMALL_MAX ? EMX_X_PACKS | EMX_X_LONG_PACKS : EMX_X_PACKS;
    return emx_offer(EMX_X_VERSION, EMX_X_VERSION, features, static_cast<uint16_t>(longest),
                     static_cast<uint16_t>(conf.window_frames));
}

uint8_t agreed_version(uint64_t ours, uint64_t theirs)
{
    const uint8_t version = std::min(emx_offer_newest(ours), emx_offer_newest(theirs));
    return version >= emx_offer_oldest(ours) && version >= emx_offer_oldest(theirs) ? version : 0;
}

} // namespace emx
