// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#pragma once

#include "gamma.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace emx_gamma {

/// Counting semaphores with errors. The caller has the node's lock.
class Semaphores {
public:
    struct One {
        uint64_t count = 0;
        uint32_t waiting = 0; ///< threads
        uint32_t alarms = 0; ///< errors that ended their waiting so far
        int alarm = 0; ///< the last of those
        std::vector<int> pending; ///< errors that nobody has got yet, each once

        bool take(uint64_t n)
        {
            if (count < n)
                return false;
            count -= n;
            return true;
        }
        /// An error that nobody has got, or 0.
        int take_pending()
        {
            if (pending.empty())
                return 0;
            const int code = pending.front();
            pending.erase(pending.begin());
            return code;
        }
    };

    One &operator[](uint32_t semaphore) { return all_[semaphore]; }

    void raise(uint32_t semaphore, int code)
    {
        if (semaphore == GAMMA_NO_SEMAPHORE)
            return;
        One &one = all_[semaphore];
        if (one.waiting) {
            ++one.alarms;
            one.alarm = code;
        } else if (std::find(one.pending.begin(), one.pending.end(), code) == one.pending.end() &&
                   one.pending.size() < pending_most) {
            one.pending.push_back(code);
        }
    }

private:
    static constexpr std::size_t pending_most = 64;
    std::map<uint32_t, One> all_; // of stable addresses
};

} // namespace emx_gamma
