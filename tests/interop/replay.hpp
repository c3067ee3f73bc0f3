// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Replays a captured exchange of two MXoE hosts: a simulated host with our firmware and library takes
// the place of one of them, the frames of the other are played to it, and each frame that it sends is
// compared with the one that the real host sent at that point.
#pragma once

#include "fields.hpp"

#include <tests/sim/process.hpp>
#include <tests/support/pcap.hpp>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace emx::interop {

/// Ways in which we differ from the captured peer on purpose. The table with the reasons is in
/// replay.cpp; a test names those that its capture must show.
enum class Design {
    connect_back,
    repeats,
    acks,
    counter_start,
    own_values,
    tag,
    no_renumbering,
    reply_length,
    closed_known,
};
/// The row of the table, for messages.
std::string design_text(Design d);

/// Whose place we take.
enum class Role { receiver, sender };

/// A message of the captured exchange.
struct CapturedMessage {
    uint64_t time; ///< nanoseconds after the first frame
    uint32_t length;
    uint64_t match;
};

class Replay {
public:
    /// Loads the capture; beacons and our own queries are left out: the board agent
    /// sends them, which the simulated host has not got.
    Replay(const std::string &path, Role role);
    ~Replay();

    /// Plays the exchange with `application` as our process, for at most a minute of virtual time.
    void run(const std::function<void(Replay &, sim::Process &)> &application);

    /// Messages that the capture's sender sent, in order.
    const std::vector<CapturedMessage> &messages() const { return messages_; }
    /// Key of the first connect request, and the endpoint it is for.
    uint32_t key() const { return key_; }
    uint32_t target() const { return target_; }
    uint64_t other_mac() const;

    /// For the application: time of the exchange, its end, and what went wrong in its eyes.
    uint64_t elapsed() const;
    void sleep_until(sim::Process &process, uint64_t time) const;
    bool finished() const;
    void complain(const std::string &what) { differences_.push_back("application: " + what); }

    /// Empty, or each field of each frame that differs and should not, a line each.
    const std::vector<std::string> &differences() const { return differences_; }
    const std::set<Design> &designs() const { return designs_; }
    /// Frames of ours that were compared with captured ones.
    unsigned compared() const { return compared_; }

private:
    struct Entry {
        Frame frame;
        uint64_t time; ///< nanoseconds after the first
        bool ours;
        bool done; ///< injected or matched
    };
    void load(const std::string &path);
    void note_message(const Entry &entry);
    void advance();
    void inject(size_t i);
    bool may_inject(size_t i) const;
    bool satisfied(const Entry &entry) const;
    void on_sent(const Frame &frame);
    void on_extra(const Frame &frame);
    void compare_repeat(Frame frame, Frame first);
    void answer_connect(const Frame &request);
    void compare(size_t i, const Frame &live);
    void compare_field(const std::string &where, const Field &field, const Frame &captured,
                       const Frame &live);
    bool designed(const Field &field, const Frame &captured, const Frame &live);
    void compare_rest(const std::string &where, const Frame &captured, const Frame &live);
    void finish();

    Role role_;
    std::vector<Entry> entries_;
    std::vector<CapturedMessage> messages_;
    Translation translation_;
    sim::World world_{1};
    sim::Network network_{world_};
    std::unique_ptr<sim::Host> host_;
    std::unique_ptr<sim::Process> process_;
    std::vector<std::string> differences_;
    std::set<Design> designs_;
    std::map<std::string, Frame> sent_; ///< our first frame of each identity
    std::set<uint64_t> their_numbers_; ///< sequence numbers that the peer has used so far
    uint64_t start_ = 0;
    uint64_t counter_ = 0; ///< of our last explicit ack
    uint64_t last_ack_ = 0; ///< highest ack that we sent in any frame
    uint32_t key_ = 0, target_ = 0, peer_session_ = 0;
    unsigned compared_ = 0;
    bool advancing_ = false;
    bool refused_ = false; ///< the peer refused a message of ours
};

} // namespace emx::interop
