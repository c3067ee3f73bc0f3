// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Replays a captured exchange of two MXoE hosts: a host with our stack (see link.hpp) takes the place
// of one of them, the frames of the other are played to it, and each frame that it sends is compared
// with the one that the real host sent at that point.
#pragma once

#include "link.hpp"

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
    inquiry,
    beacons,
    strangers,
    offer,
    question,
};
/// The row of the table, for messages.
std::string design_text(Design d);

/// The side whose place we take.
enum class Role { receiver, sender };

/// A message of the captured exchange.
struct CapturedMessage {
    uint64_t time; ///< nanoseconds after the first frame, as captured
    uint32_t length;
    uint64_t match;
};

class Replay {
public:
    /// Loads the capture. Of beacons and our own queries only what a board agent sends is compared,
    /// if our host has got one.
    Replay(const std::string &path, Role role);
    ~Replay();

    /// Plays the exchange with `application` as our program, for at most a minute.
    void run(const std::function<void(Replay &)> &application);

    /// Messages that the capture's sender sent, in order.
    const std::vector<CapturedMessage> &messages() const { return messages_; }
    /// Key of the first connect request, and the endpoint it is for.
    uint32_t key() const { return key_; }
    uint32_t target() const { return target_; }
    uint64_t other_mac() const;

    /// For the application, once it is ready for the first frame: the exchange begins.
    void begin();
    /// For the application: its end, what went wrong in its eyes; time that passes meanwhile.
    bool finished();
    void complain(const std::string &what);
    void pass_until(uint64_t captured_time);
    void pass_time(uint64_t ns) { link_->pass_time(ns); }
    /// Time in which a frame would come that nobody expects.
    void linger() { link_->pass_time(link_->linger()); }
    bool has_agent() const { return link_->has_agent(); }
    std::string other_name() const;

    /// Empty, or each field of each frame that differs and should not, a line each.
    const std::vector<std::string> &differences() const { return differences_; }
    const std::set<Design> &designs() const { return designs_; }
    /// Frames of ours that were compared with captured ones.
    unsigned compared() const { return compared_; }

private:
    struct Entry {
        Frame frame;
        uint64_t time; ///< nanoseconds after the first, with pauses cut short
        bool ours;
        bool done; ///< injected or matched
    };
    void load(const std::string &path);
    bool skips(const Frame &frame, bool ours);
    void note_message(const Entry &entry, uint64_t captured_time);
    void advance();
    void inject(size_t i);
    bool may_inject(size_t i) const;
    bool all_satisfied() const;
    bool satisfied(const Entry &entry) const;
    void on_sent(const Frame &frame);
    void compare_beacon(Frame live);
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
    std::unique_ptr<Link> link_;
    std::vector<Entry> entries_;
    std::map<uint64_t, uint64_t> times_; ///< captured time -> time of the replay, where pauses end
    std::vector<CapturedMessage> messages_;
    Translation translation_;
    Frame beacon_; ///< a captured one of ours; empty: there is none
    std::vector<std::string> differences_;
    std::set<Design> designs_;
    std::map<std::string, Frame> sent_; ///< our first frame of each identity
    std::set<uint64_t> their_numbers_; ///< sequence numbers that the peer has used so far
    uint64_t start_ = 0;
    uint64_t counter_ = 0; ///< of our last explicit ack
    uint64_t last_ack_ = 0; ///< highest ack that we sent in any frame
    uint32_t key_ = 0, target_ = 0, peer_session_ = 0;
    unsigned compared_ = 0;
    bool introduced_ = true; ///< the capture begins when the hosts know each other
    bool advancing_ = false;
    Frame refusal_; ///< by which the peer refused a message of ours
};

} // namespace emx::interop
