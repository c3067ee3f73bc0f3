// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Reliable broadcast in order of each sender, over frames to a group that may be lost (docs/decisions/0027).
//
// Each member's broadcasts are a stream of numbered frames. The sender keeps the last `window` of them, and
// waits while the slowest member has not taken the oldest: so a receiver never gets more than it has room
// for. A receiver that sees a gap asks at once, one that waits in vain after a short time; what it lacks
// comes to the group again, and in the end by a message to it alone. Members that frames to the group do not
// reach, such as those of the sender's own host, get the same frames by messages.
#pragma once

#include "link.hpp"
#include "packet.hpp"

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace emx::cast {

enum class Outcome : uint8_t {
    busy,
    done,
    dead, ///< a member that is needed has died
    disagreed, ///< another member has another length or root in mind
};

inline constexpr uint32_t window = 256; ///< frames

/// The members of a group as each of them sees it. Not thread-safe; nothing blocks. Calls are collective, in
/// one order at all members, one at a time: begin, then advance() until it is no longer busy.
class Group {
public:
    /// by_group: for each member, frames to the group reach it from here. frame_bytes: of a packet, for all
    /// members the same.
    Group(Link &link, uint32_t id, uint32_t self, std::vector<bool> by_group, uint32_t frame_bytes);

    /// Sends to all others. The memory stays the caller's until advance() ends; the data has left then, and
    /// others may still ask for it. The tag goes along with the message.
    void begin_send(const void *data, uint32_t length, uint64_t tag = 0);
    /// Takes the next message of that member, which must be so long.
    void begin_receive(uint32_t root, void *data, uint32_t length);
    /// Waits for all members: member 0 lets them go.
    void begin_barrier();
    /// Waits until nobody needs this member any more.
    void begin_close();
    Outcome advance();

    /// A packet of that member, by whichever way. What does not fit is ignored.
    void take(uint32_t member, std::span<const std::byte> bytes);
    /// That member has died.
    void lose(uint32_t member);
    /// That member takes no more, nor sends more than `sent` frames, as it told by other means than ours.
    void leave(uint32_t member, uint32_t sent);

    uint32_t id() const { return id_; }
    uint32_t self() const { return self_; }
    /// Tag of the message that was received last.
    uint64_t tag() const { return tag_; }
    /// Frames of ours so far, modulo 2^32.
    uint32_t sent() const { return next_; }
    uint32_t count() const { return static_cast<uint32_t>(members_.size()); }
    /// True if members may lack frames of ours, so that they are to be heard now and then.
    bool owes() const { return slowest() != next_; }

    /// For tests and statistics.
    struct Counts {
        uint64_t sent = 0, repeated = 0, by_message = 0, asked = 0;
    };
    const Counts &counts() const { return counts_; }

private:
    enum class Doing : uint8_t { nothing, sending, receiving, gathering, closing };
    struct Slot {
        bool full = false;
        uint16_t bytes = 0; ///< packet and data
        uint8_t repeats = 0;
        uint64_t repeated_ns = 0;
    };
    /// A window of frames: what was sent, or what came of one sender and is not taken yet.
    struct Frames {
        std::unique_ptr<std::byte[]> memory; // not touched before it is used
        std::array<Slot, window> slots{};
    };
    struct Member {
        bool by_group = false;
        bool dead = false;
        bool left = false;
        bool asked_before = false;
        uint32_t taken = 0; ///< of our stream, as it told
        uint32_t arrived = 0; ///< barriers
        std::bitset<window> messaged; ///< number % window: our frame that it got, or will get, by a message
        // Its stream.
        uint32_t expected = 0; ///< the next frame to take
        uint32_t told = 0; ///< the last number that we acknowledged
        uint32_t end = 0; ///< behind the last frame that is known of
        uint32_t last = 0; ///< of one that left: the end of its stream
        uint64_t asked_ns = 0;
        std::unique_ptr<Frames> frames;
    };

    std::byte *place(Frames &frames, uint32_t number) const
    {
        return frames.memory.get() + std::size_t{number % window} * frame_bytes_;
    }
    std::unique_ptr<Frames> new_frames() const;
    uint32_t slowest() const;
    Packet packet(Kind kind, uint32_t number) const;
    void tell(uint32_t to, Kind kind);
    void ask(uint32_t of);
    void send_frame(uint32_t number);
    void make_frame();
    Outcome send_on();
    Outcome receive_on();
    Outcome gather_on();
    Outcome close_on();
    void poll_slow();
    void take_data(uint32_t from, const Packet &head, std::span<const std::byte> bytes);
    void answer(uint32_t to, const Packet &head);
    void repeat(uint32_t number, uint32_t to);
    uint64_t here(const Member &member) const;
    void restart_timer(uint64_t first_ns);
    bool timer_ran_out();

    Link &link_;
    const uint32_t id_, self_, frame_bytes_;
    std::vector<Member> members_;
    Doing doing_ = Doing::nothing;
    bool barrier_ = false; ///< what is done now belongs to one
    uint32_t barriers_ = 0;

    // Our stream.
    std::unique_ptr<Frames> sent_;
    uint32_t next_ = 0;
    const std::byte *from_ = nullptr; ///< the message that is being sent
    std::byte *to_ = nullptr; ///< or received
    uint32_t length_ = 0, offset_ = 0;
    uint64_t tag_ = 0;
    bool begun_ = false; ///< its first frame was made, or taken
    uint32_t root_ = 0;
    unsigned polls_ = 0; ///< in a row, in vain
    uint64_t timer_ns_ = 0, interval_ns_ = 0;
    bool late_ = false; ///< the timer ran out, but what has come was not looked at since
    Counts counts_;
};

} // namespace emx::cast
