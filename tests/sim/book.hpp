// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The ledger of a simulated run: every message that was sent and what became of it. Judges that
// each arrives once, in order and unaltered, or is reported failed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace emx::sim {

struct Message {
    uint32_t length = 0;
    uint8_t group = 0; ///< a part of the match bits to select by
    bool ended = false; ///< the sender knows how it went
    bool failed = false; ///< ... and it went wrong
    uint32_t delivered = 0;
};

/// Messages of a pair of processes, one way.
struct Flow {
    std::vector<Message> messages;
    /// Deliveries need not be complete: one side died or disconnected.
    bool broken = false;
    int64_t last_handled = -1; ///< by the unexpected handler
};

/// Match bits: source, destination, group, number.
struct Name {
    uint32_t from = 0, to = 0, group = 0, number = 0;
    uint64_t bits() const
    {
        return static_cast<uint64_t>(from) << 56 | static_cast<uint64_t>(to) << 48 |
               static_cast<uint64_t>(group) << 40 | number;
    }
    static Name of(uint64_t bits)
    {
        return {static_cast<uint32_t>(bits >> 56), static_cast<uint32_t>(bits >> 48 & 0xff),
                static_cast<uint32_t>(bits >> 40 & 0xff), static_cast<uint32_t>(bits)};
    }
};

class Book {
public:
    /// Contents may be wrong: only what must hold for altered frames is judged.
    bool hostile = false;

    Flow &flow(uint32_t from, uint32_t to) { return flows_[{from, to}]; }
    /// A new message; its number is its place in the flow.
    Name post(uint32_t from, uint32_t to, uint8_t group, uint32_t length);
    void send_ended(const Name &name, bool failed);
    /// A receiver got it: first `got` bytes at data (nullptr: not looked at), told length told.
    void arrived(uint32_t at, uint64_t bits, const std::byte *data, uint32_t got, uint32_t told);
    /// A receive or handler call of process `at` took this message; rank orders them by posting.
    void took(uint32_t at, uint64_t bits, uint64_t post_order, uint64_t info, uint64_t mask);
    void break_flows(uint32_t actor);
    void break_flows(uint32_t a, uint32_t b);
    /// True when nothing sent to `to` is missing, of flows that are whole.
    bool all_arrived(uint32_t to) const;
    /// After the end: every message of whole flows delivered once.
    void judge_end();
    std::string missing() const;

    void complain(const std::string &what);
    const std::string &complaint() const { return complaint_; }

private:
    struct Taken {
        uint64_t bits, post_order, info, mask;
    };
    std::map<std::pair<uint32_t, uint32_t>, Flow> flows_;
    std::map<uint32_t, std::vector<Taken>> taken_;
    std::string complaint_;
};

/// The content of a message: 8-byte words that depend on its name and their position.
void fill(std::byte *data, uint64_t bits, uint32_t length);
/// Position of the first wrong byte, or length.
uint32_t compare(const std::byte *data, uint64_t bits, uint32_t length);

} // namespace emx::sim
