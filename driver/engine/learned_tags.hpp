// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Tags by which peers know us, as one endpoint has learned them: from frames to it, and from the agent.
//
// Nobody else's endpoints believe it. The tags of the peer table are the agent's own: those that peers tell
// their host queries and answers with.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

extern "C" {
#include "driver/core/fw.h"
}

namespace emx {

/// Not for several threads at a time.
class LearnedTags {
public:
    explicit LearnedTags(fw_peers *peers)
        : own_(fw_tags_bytes(peers->capacity) / sizeof(uint32_t) + 1), seen_(own_.size()),
          lives_(peers->capacity)
    {
        fw_tags_init(own(), peers->capacity);
        fw_tags_init(tags(seen_), peers->capacity);
        follow(peers);
    }
    /// For the core to use and to change. Stays where it is.
    fw_tags *own() { return tags(own_); }
    /// Takes over what the agent has learned since the last call.
    void follow(fw_peers *peers) { fw_tags_follow(own(), tags(seen_), peers); }
    /// Before the first frame to a peer: what another told that had its index before does not count.
    void renew(fw_peers *peers, uint32_t peer)
    {
        const uint32_t life = std::atomic_ref(fw_peer(peers, peer)->life).load(std::memory_order_relaxed);
        if (std::exchange(lives_[peer], life) != life)
            own()->tag[peer] =
                std::atomic_ref(fw_peers_tags(peers)->tag[peer]).load(std::memory_order_relaxed);
    }

private:
    static fw_tags *tags(std::vector<uint32_t> &memory) { return reinterpret_cast<fw_tags *>(memory.data()); }

    std::vector<uint32_t> own_, seen_;
    std::vector<uint32_t> lives_; ///< of the peers whose tags they are, as far as asked
};

} // namespace emx
