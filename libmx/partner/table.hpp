// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The partners of an endpoint: all lives by the index that their addresses bear, and the latest life of
// each remote endpoint.
//
// Peers say when they live anew, so memory must not grow with what they say. A life that another has
// followed is freed once nothing of the endpoint points to it any more. If the program may have its address
// a tombstone stays, which is all that an address of the dead needs. The number of remote endpoints is
// bounded (EMX_PARTNERS), and so are tombstones: beyond tombs_max the oldest of a remote endpoint that has
// more than tombs_each make room. The address of such a one names nobody; its index is used again, for an
// address that differs in the session, or names the same life.
#pragma once

#include "libmx/partner/partner.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

namespace emx {

inline constexpr uint32_t partner_indexes = 0x3fffff; // 22 bits of an address, without 0
inline constexpr std::size_t tombs_max = 65536;
inline constexpr uint32_t tombs_each = 8;

/// Owns partners. Not thread-safe (the endpoint's lock).
class PartnerTable {
public:
    /// The life with that index, at most `partner_indexes` - 1; nullptr: there is none, or a tombstone.
    Partner *at(uint32_t index) const { return index < slots_.size() ? slots_[index].get() : nullptr; }
    /// The latest life of a remote endpoint, or nullptr. Remembers the last one found.
    Partner *find(uint32_t peer, uint8_t remote_ep)
    {
        if (!last_ || last_->peer != peer || last_->remote_ep != remote_ep) [[unlikely]]
            return look_up(peer, remote_ep);
        return last_;
    }
    /// The latest life of a remote endpoint, or nullptr.
    Partner *latest(uint32_t peer, uint8_t remote_ep) const
    {
        auto it = lines_.find(key(peer, remote_ep));
        return it == lines_.end() ? nullptr : it->second.latest;
    }
    /// Remote endpoints that are known.
    std::size_t size() const { return lines_.size(); }
    /// False: every index is taken.
    bool has_index() const { return !free_.empty() || slots_.size() < partner_indexes; }
    /// Puts a life in; the table must have an index for it, which the life gets.
    Partner *add(std::unique_ptr<Partner> partner);
    /// Makes it the latest life of its endpoint. The one before is retired.
    void set_latest(Partner *partner);
    /// Dead and followed by another life, or dead and blank: it goes in one of the next sweeps.
    void retire(Partner *partner);
    /// The life that a tombstone is of, as a partner again, which is retired; nullptr: there is no such.
    Partner *raise(mx_endpoint_addr_t address, uint32_t index);

    bool is_sweep_due() const { return retired_.size() >= sweep_at_; }
    /// Nothing needs the retired ones until Life::need() says so, and none is active.
    void begin_sweep();
    /// Frees the retired ones that nothing needs.
    void sweep();

    /// From now on its timers are served.
    void activate(Partner *partner)
    {
        if (!partner->lists.active) [[unlikely]]
            link_active(partner);
    }
    void deactivate(Partner *partner);
    /// The first of those whose timers are served; the others by PartnerLinks::active_next.
    Partner *first_active() const { return active_; }
    /// Calls f for each of them; f may deactivate it.
    template <class F>
    void each_active(F f)
    {
        for (Partner *partner = active_, *next; partner; partner = next) {
            next = partner->lists.active_next;
            f(partner);
        }
    }

    /// A partner became half open.
    void note_half_open(const Partner *partner);
    /// The one that has been half open for longest, which is to go; nullptr: there is none.
    Partner *take_half_open();

    template <class F>
    void each(F f)
    {
        for (auto &slot : slots_)
            if (slot)
                f(slot.get());
    }

private:
    /// A remote endpoint: its latest life, and the tombstones of those before.
    struct Line {
        Partner *latest = nullptr;
        uint32_t oldest = 0, newest = 0; ///< indexes of tombstones
        uint32_t tombs = 0;
    };
    struct Tombstone {
        mx_endpoint_addr_t address{};
        void *user_context = nullptr;
        uint32_t peer = 0;
        uint32_t newer = 0; ///< index of the next one of the line
        int dead_code = 0;
    };

    static uint64_t key(uint32_t peer, uint8_t remote_ep) { return uint64_t{peer} << 8 | remote_ep; }
    Partner *look_up(uint32_t peer, uint8_t remote_ep);
    [[gnu::noinline]] void link_active(Partner *partner);
    void bury(Partner *partner);
    void forget_oldest(Line &line);
    static constexpr std::size_t sweep_least = 64;

    std::vector<std::unique_ptr<Partner>> slots_;
    Partner *last_ = nullptr;
    Partner *active_ = nullptr;
    std::deque<uint32_t> half_open_; ///< indexes of partners that were, the oldest first
    std::vector<uint32_t> free_; ///< indexes of neither a partner nor a tombstone
    std::unordered_map<uint64_t, Line> lines_;
    std::unordered_map<uint32_t, Tombstone> tombs_; ///< by index
    std::vector<Partner *> retired_;
    std::size_t sweep_at_ = sweep_least;
};

/// Peers whose indices are ours, with how many partners need each.
class KeptPeers {
public:
    bool has(uint32_t peer) const { return partners_.count(peer) != 0; }
    void add(uint32_t peer) { ++partners_[peer]; }
    /// True if that was the last partner of the peer. It must have one.
    bool remove(uint32_t peer)
    {
        const auto place = partners_.find(peer);
        if (--place->second != 0)
            return false;
        partners_.erase(place);
        return true;
    }

private:
    std::unordered_map<uint32_t, uint32_t> partners_;
};

} // namespace emx
