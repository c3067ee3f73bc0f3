// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The plan that a seed draws for a run between our stack and the model peer, and the ledger of the run.
#pragma once

#include "host.hpp"

#include <tests/sim/book.hpp>
#include <tests/sim/host.hpp>

#include <map>
#include <string>
#include <vector>

namespace emx::model {

inline constexpr uint32_t program_key = 0x5150;

/// The side of a pair that connects.
enum class Style { both, ours, theirs };

struct Plan {
    explicit Plan(uint64_t seed);

    uint64_t seed;
    char letter; ///< of the dialect
    uint32_t size; ///< configured, dialect N
    Dialect dialect;
    Quirks quirks;
    sim::HostOptions host; ///< ours
    sim::Faults faults;
    Style style = Style::both;
    uint32_t ours = 1, theirs = 1; ///< endpoints
    uint32_t messages; ///< of each flow
    uint64_t budget; ///< bytes of the whole run
    uint32_t length_max;
    uint32_t outstanding; ///< sends at once, of an endpoint
    uint32_t receives; ///< at once, of an endpoint
    uint32_t cut_permille = 0; ///< receives that are too short
    uint32_t synchronous_permille;
    uint32_t away_permille = 0; ///< of the steps of either side
    uint64_t away_max = 0;
    uint32_t restarts_ours = 0, restarts_theirs = 0;
    uint32_t reloads = 0; ///< of the model's peer table
    uint16_t index; ///< of our board in the model's table
    bool named = true; ///< the model knows our name from the start
    uint32_t partings = 0; ///< one side alone disconnects or gives up, and both go on
    bool pinned = false; ///< our board speaks another dialect than the model, but not to that
    std::map<std::string, std::string> environment;

    bool restarts() const { return restarts_ours + restarts_theirs > 0; }
    std::string describe() const;
    /// The length of the next message; uses up the budget.
    uint32_t draw_length(test::Rng &rng);

private:
    void draw_quirks(test::Rng &rng);
    void draw_faults(test::Rng &rng);
    void draw_failures(test::Rng &rng);
    void draw_pin(test::Rng &rng);
    void draw_partings(test::Rng &rng);
    uint32_t drawn_ = 0;
};

/// Every endpoint that there is or was; a reopened one is another.
struct Cast {
    explicit Cast(uint64_t seed) : plan(seed) {}

    struct Entry {
        bool ours = false;
        uint8_t number = 0;
        bool open = false, gone = false;
        bool sent = false; ///< all that it has to send now, with success
        bool settled = false;
    };
    Plan plan;
    sim::Book book;
    std::vector<Entry> entries;
    uint32_t restarts_left = 0; ///< and partings
    uint32_t disconnects = 0; ///< that our endpoint still has to make
    bool may_part = false; ///< something was cut off, for which either side may give up
    bool quiet = false; ///< ... but for the next parting nothing is: after it no side may
    uint64_t our_mac = 0, their_mac = 0;

    uint32_t enter(bool ours, uint8_t number)
    {
        entries.push_back({ours, number});
        return static_cast<uint32_t>(entries.size() - 1);
    }
    void leave(uint32_t id)
    {
        entries[id].gone = true;
        for (uint32_t other = 0; other < entries.size(); other++)
            book.break_flows(id, other);
    }
    /// One side gave up on the other, or disconnected. What was under way is forgiven, and both begin anew,
    /// under other ids. False: there is no reason for it.
    bool part();
    /// The name of the endpoint when that was sent to it.
    uint32_t addressee(uint32_t id, uint32_t to) const;
    /// The present id of the endpoint that had this one.
    uint32_t present(uint32_t id) const;
    /// Endpoints of the other side that are not gone.
    std::vector<uint32_t> others(bool ours) const;
    /// Nothing is missing anywhere.
    bool calm() const;
    bool over() const { return restarts_left == 0 && calm(); }
    bool all_settled() const;
    uint64_t mac_of(uint32_t id) const { return entries[id].ours ? our_mac : their_mac; }
};

} // namespace emx::model
