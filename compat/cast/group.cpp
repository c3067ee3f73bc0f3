// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// One member of a group. See group.hpp.
#include "group.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>

namespace emx::cast {

namespace {

constexpr uint64_t us = 1000, ms = 1000 * us;
constexpr uint64_t tail_ns = 500 * us; ///< without the frame that is waited for, until it is asked for
constexpr uint64_t gap_ns = 100 * us; ///< between two questions because of gaps
constexpr uint64_t poll_ns = 300 * us; ///< of a sender without room
constexpr uint64_t longest_ns = 20 * ms; ///< that any of these grows to
constexpr uint64_t again_ns = 200 * us; ///< between two repeats of a frame to the group
constexpr uint8_t repeats_to_group = 3; ///< of a frame; further ones are messages
constexpr unsigned polls_to_group = 2;
constexpr uint32_t ack_every = window / 4; ///< frames
constexpr uint32_t here_bits = 64; ///< frames that a question tells of; those beyond are for the next one
static_assert(here_bits <= window && (uint64_t{1} << 32) % window == 0);

/// Distance of number from base, which both wrap.
int32_t ahead(uint32_t number, uint32_t base) { return static_cast<int32_t>(number - base); }

template <class T>
std::span<const std::byte> bytes_of(const T &value)
{
    return {reinterpret_cast<const std::byte *>(&value), sizeof value};
}

} // namespace

Group::Group(Link &link, uint32_t id, uint32_t self, std::vector<bool> by_group, uint32_t frame_bytes)
    : link_(link), id_(id), self_(self), frame_bytes_(std::min<uint32_t>(frame_bytes, UINT16_MAX)),
      members_(by_group.size())
{
    for (std::size_t i = 0; i < by_group.size(); i++)
        members_[i].by_group = by_group[i];
}

std::unique_ptr<Group::Frames> Group::new_frames() const
{
    auto frames = std::make_unique<Frames>();
    frames->memory.reset(new std::byte[std::size_t{window} * frame_bytes_]);
    return frames;
}

uint32_t Group::slowest() const
{
    int32_t most = 0;
    for (uint32_t i = 0; i < count(); i++)
        if (i != self_ && !members_[i].dead && !members_[i].left)
            most = std::max(most, ahead(next_, members_[i].taken));
    return next_ - static_cast<uint32_t>(most);
}

Packet Group::packet(Kind kind, uint32_t number) const
{
    Packet head;
    head.group = id_;
    head.member = static_cast<uint16_t>(self_);
    head.kind = kind;
    head.number = number;
    return head;
}

/// Tells a member what we have taken of its stream.
void Group::tell(uint32_t to, Kind kind)
{
    Member &member = members_[to];
    Packet head = packet(kind, member.expected);
    head.here = here(member);
    head.length = next_;
    member.told = member.expected;
    if (!member.dead)
        link_.to_member(*this, to, bytes_of(head));
}

/// Frames that have come and are not taken, of the first here_bits.
uint64_t Group::here(const Member &member) const
{
    uint64_t bits = 0;
    for (uint32_t i = 0; member.frames && i < here_bits; i++)
        if (member.frames->slots[(member.expected + i) % window].full)
            bits |= uint64_t{1} << i;
    return bits;
}

void Group::ask(uint32_t of)
{
    members_[of].asked_ns = link_.now_ns();
    counts_.asked++;
    tell(of, Kind::ask);
}

void Group::restart_timer(uint64_t first_ns)
{
    interval_ns_ = first_ns;
    late_ = false;
    timer_ns_ = link_.now_ns() + first_ns;
}

/// Frames come before timers: who was away for long finds what it waits for by its next look.
bool Group::timer_ran_out()
{
    const uint64_t now = link_.now_ns();
    if (now < timer_ns_)
        return false;
    late_ = !late_;
    if (late_)
        return false;
    interval_ns_ = std::min(2 * interval_ns_, longest_ns);
    timer_ns_ = now + interval_ns_;
    return true;
}

uint64_t Link::now_ns()
{
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

// ---- operations

void Group::begin_send(const void *data, uint32_t length, uint64_t tag)
{
    if (!sent_)
        sent_ = new_frames();
    doing_ = Doing::sending;
    from_ = static_cast<const std::byte *>(data);
    length_ = length;
    tag_ = tag;
    offset_ = 0;
    begun_ = false;
    polls_ = 0;
    restart_timer(poll_ns);
}

void Group::begin_receive(uint32_t root, void *data, uint32_t length)
{
    doing_ = Doing::receiving;
    root_ = root;
    to_ = static_cast<std::byte *>(data);
    length_ = length;
    offset_ = 0;
    begun_ = false;
    restart_timer(tail_ns);
}

void Group::begin_barrier()
{
    barrier_ = true;
    barriers_++;
    if (self_ == 0) {
        doing_ = Doing::gathering;
        return restart_timer(poll_ns);
    }
    Packet head = packet(Kind::arrive, barriers_);
    if (!members_[0].dead)
        link_.to_member(*this, 0, bytes_of(head));
    begin_receive(0, nullptr, 0);
}

void Group::begin_close()
{
    for (uint32_t i = 0; i < count(); i++)
        if (i != self_)
            tell(i, Kind::bye);
    doing_ = Doing::closing;
    polls_ = 0;
    restart_timer(poll_ns);
}

Outcome Group::advance()
{
    Outcome outcome = Outcome::done;
    switch (doing_) {
    case Doing::nothing: return Outcome::done;
    case Doing::sending: outcome = send_on(); break;
    case Doing::receiving: outcome = receive_on(); break;
    case Doing::gathering: outcome = gather_on(); break;
    case Doing::closing: outcome = close_on(); break;
    }
    if (outcome != Outcome::busy) {
        doing_ = Doing::nothing;
        barrier_ = false;
    }
    return outcome;
}

Outcome Group::send_on()
{
    while (!begun_ || offset_ < length_) {
        if (ahead(next_, slowest()) >= static_cast<int32_t>(window)) {
            if (timer_ran_out())
                poll_slow();
            return Outcome::busy;
        }
        make_frame();
        polls_ = 0;
        restart_timer(poll_ns);
    }
    const bool all = std::none_of(members_.begin(), members_.end(),
                                  [](const Member &member) { return member.dead || member.left; });
    return all ? Outcome::done : Outcome::dead;
}

/// The next piece of the message becomes the next frame.
void Group::make_frame()
{
    const uint32_t bytes =
        std::min<uint32_t>(length_ - offset_, frame_bytes_ - static_cast<uint32_t>(sizeof(Packet)));
    Packet head = packet(Kind::data, next_);
    head.length = length_;
    head.offset = offset_;
    head.here = tag_;
    std::byte *at = place(*sent_, next_);
    std::memcpy(at, &head, sizeof head);
    if (bytes > 0)
        std::memcpy(at + sizeof head, from_ + offset_, bytes);
    sent_->slots[next_ % window] = {true, static_cast<uint16_t>(sizeof head + bytes), 0, 0};
    for (Member &member : members_)
        member.messaged.reset(next_ % window);
    begun_ = true;
    offset_ += bytes;
    send_frame(next_++);
}

void Group::send_frame(uint32_t number)
{
    const std::span<const std::byte> bytes{place(*sent_, number), sent_->slots[number % window].bytes};
    bool to_group = false;
    for (uint32_t i = 0; i < count(); i++) {
        const Member &member = members_[i];
        if (i == self_ || member.dead || member.left)
            continue;
        if (member.by_group)
            to_group = true;
        else
            link_.to_member(*this, i, bytes);
    }
    counts_.sent++;
    if (to_group)
        link_.to_group(bytes);
}

/// Asks the members that hold the window up which frames they have: all at once, then each by a message,
/// whose failure also tells of a death.
void Group::poll_slow()
{
    const Packet head = packet(Kind::poll, next_);
    if (polls_++ < polls_to_group)
        return link_.to_group(bytes_of(head));
    const uint32_t least = slowest();
    for (uint32_t i = 0; i < count(); i++)
        if (i != self_ && !members_[i].dead && ahead(members_[i].taken, least) <= 0)
            link_.to_member(*this, i, bytes_of(head));
}

Outcome Group::receive_on()
{
    Member &root = members_[root_];
    while (root.frames && root.frames->slots[root.expected % window].full) {
        Slot &slot = root.frames->slots[root.expected % window];
        const std::byte *at = place(*root.frames, root.expected);
        Packet head;
        std::memcpy(&head, at, sizeof head);
        const uint32_t bytes = slot.bytes - static_cast<uint32_t>(sizeof head);
        slot.full = false;
        root.expected++;
        if (static_cast<uint32_t>(ahead(root.expected, root.told)) >= ack_every)
            tell(root_, Kind::ack);
        if (head.length != length_ || head.offset != offset_ || bytes > length_ - offset_)
            return Outcome::disagreed;
        tag_ = head.here;
        if (bytes > 0)
            std::memcpy(to_ + offset_, at + sizeof head, bytes);
        offset_ += bytes;
        if (offset_ == length_)
            return Outcome::done;
        restart_timer(tail_ns);
    }
    if (root.dead || (root.left && root.expected == root.last))
        return Outcome::dead;
    if (timer_ran_out())
        ask(root_);
    return Outcome::busy;
}

Outcome Group::gather_on()
{
    for (const Member &member : members_) {
        if (&member == &members_[self_] || ahead(member.arrived, barriers_) >= 0)
            continue;
        if (!member.dead && !member.left) {
            if (timer_ran_out()) // a death shows in what is sent
                for (uint32_t i = 0; i < count(); i++)
                    if (i != self_ && ahead(members_[i].arrived, barriers_) < 0)
                        tell(i, Kind::ack);
            return Outcome::busy;
        }
    }
    begin_send(nullptr, 0);
    return send_on();
}

Outcome Group::close_on()
{
    if (slowest() == next_)
        return Outcome::done;
    if (timer_ran_out())
        poll_slow();
    return Outcome::busy;
}

// ---- packets

void Group::take(uint32_t from, std::span<const std::byte> bytes)
{
    Packet head;
    if (from >= count() || from == self_ || bytes.size() < sizeof head)
        return;
    std::memcpy(&head, bytes.data(), sizeof head);
    if (head.group != id_ || head.member != from)
        return;
    Member &member = members_[from];
    switch (head.kind) {
    case Kind::data: return take_data(from, head, bytes);
    case Kind::poll:
        // The sender's number is of frames that it has sent: those that lack were lost.
        if (ahead(head.number, member.end) > 0 && ahead(head.number, member.expected) <= int32_t{window})
            member.end = head.number;
        return tell(from, member.end != member.expected ? Kind::ask : Kind::ack);
    case Kind::ack:
    case Kind::ask:
    case Kind::bye: return answer(from, head);
    case Kind::arrive:
        if (ahead(head.number, member.arrived) > 0)
            member.arrived = head.number;
        return;
    }
}

void Group::take_data(uint32_t from, const Packet &head, std::span<const std::byte> bytes)
{
    Member &member = members_[from];
    const int32_t place_ahead = ahead(head.number, member.expected);
    if (place_ahead < 0 || place_ahead >= static_cast<int32_t>(window) || bytes.size() > frame_bytes_)
        return;
    if (!member.frames)
        member.frames = new_frames();
    Slot &slot = member.frames->slots[head.number % window];
    if (slot.full)
        return;
    slot = {true, static_cast<uint16_t>(bytes.size()), 0, 0};
    std::memcpy(place(*member.frames, head.number), bytes.data(), bytes.size());
    const bool gap = ahead(head.number, member.end) > 0;
    if (ahead(head.number + 1, member.end) > 0)
        member.end = head.number + 1;
    if (gap && (member.asked_ns == 0 || link_.now_ns() - member.asked_ns >= gap_ns))
        ask(from);
}

/// Hears from a member what it has taken of our stream.
void Group::answer(uint32_t to, const Packet &head)
{
    Member &member = members_[to];
    if (ahead(head.number, member.taken) < 0 || ahead(head.number, next_) > 0)
        return;
    if (head.number != member.taken)
        polls_ = 0;
    member.taken = head.number;
    if (head.kind == Kind::bye) {
        member.left = true;
        member.last = head.length;
    }
    if (head.kind != Kind::ask)
        return;
    for (uint32_t i = 0; i < here_bits && head.number + i != next_; i++)
        if (!(head.here >> i & 1))
            repeat(head.number + i, to);
}

/// A frame that this member lacks: to the group, where others may lack it too, and in the end to it alone.
void Group::repeat(uint32_t number, uint32_t to)
{
    Slot &slot = sent_->slots[number % window];
    const std::span<const std::byte> bytes{place(*sent_, number), slot.bytes};
    const uint64_t now = link_.now_ns();
    if (!members_[to].by_group)
        return; // its messages are on their way
    if (slot.repeats >= repeats_to_group) {
        if (members_[to].messaged.test(number % window))
            return; // it will come
        members_[to].messaged.set(number % window);
        counts_.by_message++;
        return link_.to_member(*this, to, bytes);
    }
    if (now - slot.repeated_ns < again_ns)
        return;
    slot.repeated_ns = now;
    slot.repeats++;
    counts_.repeated++;
    link_.to_group(bytes);
}

void Group::lose(uint32_t member)
{
    if (member != self_)
        members_[member].dead = true;
}

void Group::leave(uint32_t member, uint32_t sent)
{
    members_[member].left = true;
    members_[member].last = sent;
}

} // namespace emx::cast
