// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The choice between fragments of the dialect and of the extension: see way.hpp.
#include "libmx/partner/way.hpp"

#include <algorithm>

namespace emx {

/// True if the longest eager message to or from it takes fewer X MEDIUM of that size than fragments of the
/// dialect that it is spoken to in.
bool Way::pays(uint32_t x_bytes) const
{
    const uint32_t longest = std::min(eager_most, medium_bytes * EMX_FRAGS_MAX);
    return uint64_t{x_bytes} * EMX_FRAGS_MAX >= longest &&
           frames_of(longest, x_bytes) < frames_of(longest, medium_bytes);
}

bool Way::take_x_medium(uint32_t bytes, bool sums)
{
    if (bytes == 0 || (!sums && !is_of_other_dialect() && !pays(bytes)))
        return false;
    x_medium_bytes = bytes;
    eager_max = std::min(eager_max, bytes * EMX_FRAGS_MAX);
    summed = sums;
    detour |= sums;
    return true;
}

} // namespace emx
