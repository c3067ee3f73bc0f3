// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#pragma once

#include "gamma.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
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

    /// Throws std::bad_alloc.
    One &operator[](uint32_t semaphore)
    {
        std::unique_ptr<Page> &page = pages_[semaphore / page_size];
        if (!page) [[unlikely]]
            page = std::make_unique<Page>();
        return (*page)[semaphore % page_size];
    }

    void raise(uint32_t semaphore, int code)
    {
        if (semaphore == GAMMA_NO_SEMAPHORE)
            return;
        One &one = (*this)[semaphore];
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
    static constexpr uint32_t page_size = 64;
    using Page = std::array<One, page_size>;
    std::array<std::unique_ptr<Page>, 65536 / page_size> pages_;
};

} // namespace emx_gamma
