// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The shared-memory ring: two threads, and contents that no honest sender writes.
#include "libmx/shm/arrival.hpp"
#include "libmx/shm/ring.hpp"

#include <emx/wire.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

using namespace emx;
using namespace emx::shm;

namespace {

emx_msg packet(uint32_t number, uint32_t bytes)
{
    emx_msg msg{};
    msg.type = EMX_MEDIUM;
    msg.match = number;
    msg.data_len = msg.msg_len = bytes;
    return msg;
}

uint32_t length_of(uint32_t number) { return number * 37 % 8193; }

/// Writes an eager message that needs no ack; false: no room.
bool write_eager(RingWriter &writer, uint32_t number, uint32_t bytes)
{
    const auto whole = static_cast<uint32_t>(sizeof(EagerRecord)) + bytes;
    std::byte *place = writer.begin(whole);
    if (!place)
        return false;
    const EagerRecord head{{}, number, bytes, static_cast<uint16_t>(number + 1), 0};
    std::memcpy(place + sizeof(RecordWord), reinterpret_cast<const std::byte *>(&head) + sizeof(RecordWord),
                sizeof(head) - sizeof(RecordWord));
    std::memset(static_cast<void *>(place + sizeof(head)), static_cast<int>(number & 0xff), bytes);
    writer.publish(place, {whole, sure_eager, EMX_MEDIUM, static_cast<uint16_t>(number)});
    return true;
}

/// A piece of a message whose byte i is i / 7; false: no room.
bool write_piece(RingWriter &writer, uint32_t position, uint32_t bytes)
{
    std::byte *place = writer.begin(piece_head + bytes);
    if (!place)
        return false;
    const PieceRecord head{{}, position, bytes};
    std::memcpy(place + sizeof(RecordWord), reinterpret_cast<const std::byte *>(&head) + sizeof(RecordWord),
                sizeof(head) - sizeof(RecordWord));
    for (uint32_t i = 0; i < bytes; i++)
        place[piece_head + i] = static_cast<std::byte>((position + i) / 7);
    writer.publish(place, {piece_head + bytes, data_piece, 0, 0});
    return true;
}

emx_msg announcement(uint16_t seq, uint32_t bytes)
{
    emx_msg msg{};
    msg.type = EMX_RNDV;
    msg.seq = seq;
    msg.msg_len = bytes;
    msg.u.window.id = static_cast<uint8_t>(seq);
    return msg;
}

emx_msg piece(uint32_t position, std::byte *data, uint32_t bytes)
{
    emx_msg msg{};
    msg.u.medium.position = position;
    msg.data = reinterpret_cast<uint64_t>(data);
    msg.data_len = bytes;
    return msg;
}

/// Memory of a receive, in two pieces, and data for it.
struct Scattered {
    Scattered()
    {
        data.fill(std::byte{7});
        into.fill(std::byte{1});
    }
    auto taken() const { return std::count(into.begin(), into.end(), std::byte{7}); }

    std::array<std::byte, 100> data, into;
    const std::array<Segment, 2> memory{{{into.data() + 50, 30}, {into.data(), 40}}};
};

/// The packet at the front, `by` the short way for eager messages if they are such.
const emx_msg *front_of(RingReader &reader, bool by)
{
    const emx_msg *msg = by ? reader.front_eager() : nullptr;
    return msg ? msg : reader.front();
}

/// Reads so many records as they come; returns how many faults they have: in number, length and data, and
/// those that `more` finds in message i.
template <class More>
uint32_t read_all(RingReader &reader, uint32_t count, More more)
{
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < count;) {
        const emx_msg *msg = front_of(reader, i % 3 != 0);
        if (!msg) {
            std::this_thread::yield();
            continue;
        }
        const auto *data = reinterpret_cast<const std::byte *>(msg->data);
        wrong += msg->match != i || msg->data_len != length_of(i);
        wrong += static_cast<uint32_t>(more(*msg, i));
        for (uint32_t b = 0; b < msg->data_len; b += 61)
            wrong += data[b] != static_cast<std::byte>(i);
        reader.release();
        ++i;
    }
    return wrong;
}

} // namespace

TEST_CASE("shm__eager_records_cross_between_threads_in_order", "[shm]")
{
    constexpr uint32_t count = 60000;
    const auto memory = std::make_unique<RingMemory>();
    std::thread sender([&] {
        RingWriter writer(*memory);
        for (uint32_t i = 0; i < count; ++i)
            while (!write_eager(writer, i, length_of(i)))
                std::this_thread::yield();
    });
    RingReader reader(*memory);
    reader.identify(5, 6, 7, 8);
    const uint32_t wrong = read_all(reader, count, [&](const emx_msg &msg, uint32_t i) {
        return (reader.kind() != sure_eager || msg.type != EMX_MEDIUM) + (msg.msg_len != length_of(i)) +
               (msg.seq != static_cast<uint16_t>(i) || msg.ack != static_cast<uint16_t>(i + 1)) +
               (msg.peer != 5 || msg.remote_ep != 6 || msg.local_ep != 7 || msg.session != 8);
    });
    sender.join();
    CHECK(wrong == 0);
    CHECK_FALSE(reader.front());
    CHECK_FALSE(reader.broken());
}

TEST_CASE("shm__what_was_not_taken_can_be_read_again", "[shm]")
{
    const auto memory = std::make_unique<RingMemory>();
    RingWriter writer(*memory);
    RingReader receiver(*memory);
    uint32_t written = 0, taken = 0;
    const auto take = [&] {
        REQUIRE(receiver.front());
        receiver.release();
        ++taken;
    };
    for (int round = 0; round < 40; ++round) { // several times round the ring
        while (written - taken < 60 && write_eager(writer, written, length_of(written)))
            ++written;
        while (taken + 20 < written)
            take();
        receiver.tell();
        RingReader again(*memory, memory->tail.load());
        uint32_t number = taken;
        while (const emx_msg *msg = again.front()) {
            REQUIRE(msg->match == number++);
            again.release();
        }
        CHECK(number == written);
        CHECK(again.tail() == writer.head());
        memory->tail.store(receiver.tail()); // which `again` has told
    }
    CHECK_FALSE(writer.is_empty());
    while (taken < written)
        take();
    CHECK_FALSE(receiver.front());
    CHECK(writer.is_empty()); // told although less than a part of the ring was taken
}

TEST_CASE("shm__a_sender_without_room_is_woken_once_there_is_some", "[shm]")
{
    const auto memory = std::make_unique<RingMemory>();
    RingWriter writer(*memory, false);
    RingReader reader(*memory);
    uint32_t written = 0;
    while (write_eager(writer, written, 1000))
        ++written;
    CHECK(writer.head() <= narrow_bytes);
    CHECK_FALSE(writer.starve());
    uint32_t woken = 0;
    bool room = false;
    for (uint32_t i = 0; i < written; ++i) {
        REQUIRE(reader.front());
        if (!reader.release() || !reader.must_feed())
            continue;
        ++woken;
        room = writer.starve();
        if (room)
            break;
        CHECK_FALSE(write_eager(writer, written, narrow_bytes / 2)); // half is not free yet
    }
    CHECK(room);
    CHECK(woken > 0);
    CHECK(write_eager(writer, written, 1000));
}

TEST_CASE("shm__packets_cross_between_threads_in_order", "[shm]")
{
    constexpr uint32_t count = 30000;
    const auto memory = std::make_unique<RingMemory>();
    std::thread sender([&] {
        RingWriter writer(*memory);
        std::array<std::byte, 8193> payload;
        for (uint32_t i = 0; i < count; ++i) {
            payload.fill(static_cast<std::byte>(i));
            while (!writer.write(packet(i, length_of(i)), payload.data()))
                std::this_thread::yield();
        }
    });
    RingReader reader(*memory);
    const uint32_t wrong = read_all(reader, count, [](const emx_msg &, uint32_t) { return 0; });
    sender.join();
    CHECK(wrong == 0);
    CHECK_FALSE(reader.front());
    CHECK_FALSE(reader.broken());
}

TEST_CASE("shm__messages_cross_with_their_data_behind_them", "[shm]")
{
    constexpr uint32_t count = 400;
    const auto length = [](uint32_t i) { return 1 + i * 7919 % 200000; };
    const auto memory = std::make_unique<RingMemory>();
    std::thread sender([&] {
        RingWriter writer(*memory);
        for (uint32_t i = 0; i < count; i++) {
            while (!writer.write(announcement(static_cast<uint16_t>(i), length(i)), nullptr, sure_packet, 1))
                std::this_thread::yield();
            for (uint32_t at = 0; at < length(i); at += piece_most)
                while (!write_piece(writer, at, std::min(piece_most, length(i) - at)))
                    std::this_thread::yield();
        }
    });
    RingReader reader(*memory);
    Arrival arrival;
    std::vector<std::byte> into(200000);
    uint32_t announced = 0, complete = 0, wrong = 0;
    while (complete < count) {
        const emx_msg *msg = reader.front();
        if (!msg) {
            std::this_thread::yield();
            continue;
        }
        if (reader.kind() == sure_packet) {
            wrong += !reader.data_follow() || arrival.is_wanted() || msg->msg_len != length(announced);
            arrival.expect(*msg);
            const Segment memory_of{into.data(), msg->msg_len};
            wrong += !arrival.begin(*msg, msg->msg_len, {&memory_of, 1}, announced++);
        } else if (arrival.take(*msg) == Arrival::Result::done) {
            wrong += arrival.cookie() != complete || arrival.done() != length(complete);
            for (uint32_t i = 0; i < length(complete); i++)
                wrong += into[i] != static_cast<std::byte>(i / 7);
            complete++;
        }
        reader.release();
    }
    sender.join();
    CHECK(wrong == 0);
    CHECK(announced == count);
    CHECK_FALSE(reader.front());
    CHECK_FALSE(reader.broken());
}

TEST_CASE("shm__pieces_of_a_message_fit_in_the_room_that_is_reckoned", "[shm]")
{
    const auto memory = std::make_unique<RingMemory>();
    const bool wide = GENERATE(false, true);
    RingWriter writer(*memory, wide);
    RingReader reader(*memory);
    for (uint32_t round = 0; round < 3000; round++) {
        const uint32_t length = 1 + round * 104729 % (128 * 1024);
        REQUIRE(writer.held() == 0);
        for (uint32_t at = 0; at < length; at += piece_most)
            REQUIRE(write_piece(writer, at, std::min(piece_most, length - at)));
        REQUIRE(writer.held() <= bytes_in_pieces(length));
        while (reader.front())
            reader.release();
    }
    CHECK(writer.half() == (wide ? ring_bytes : narrow_bytes) / 2);
}

TEST_CASE("shm__a_narrow_ring_touches_a_part_of_its_memory", "[shm]")
{
    const auto memory = std::make_unique<RingMemory>();
    const bool wide = GENERATE(false, true);
    RingWriter writer(*memory, wide);
    RingReader reader(*memory);
    const auto last_touched = [&] {
        const std::byte *end = memory->data + ring_bytes;
        while (end > memory->data && end[-1] == std::byte{0})
            --end;
        return static_cast<uint32_t>(end - memory->data);
    };
    const auto send = [&](uint32_t bytes, uint32_t total) {
        for (uint32_t number = 0; number * bytes < total; number++) {
            while (!write_eager(writer, number | 1, bytes))
                reader.tell();
            while (const emx_msg *msg = reader.front()) {
                REQUIRE(msg->data_len == bytes);
                reader.release();
            }
        }
    };
    send(1000, 4 * ring_bytes);
    send(30000, 4 * ring_bytes);
    if (wide)
        CHECK(last_touched() > ring_bytes - 2000);
    else
        CHECK(last_touched() <= narrow_bytes + record_align);
}

TEST_CASE("shm__data_are_taken_only_by_the_receive_of_their_message", "[shm]")
{
    Scattered to;
    Arrival arrival;
    using enum Arrival::Result;
    SECTION("there is none")
    {
        CHECK_FALSE(arrival.begin(announcement(1, 100), 70, to.memory, 5));
        CHECK(arrival.take(piece(0, to.data.data(), 100)) == more);
    }
    SECTION("it comes behind the first piece")
    {
        arrival.expect(announcement(1, 100));
        CHECK(arrival.take(piece(0, to.data.data(), 60)) == unused);
        CHECK_FALSE(arrival.begin(announcement(1, 100), 70, to.memory, 5));
        CHECK(arrival.take(piece(60, to.data.data(), 40)) == more); // told once
    }
    SECTION("it is of another message")
    {
        arrival.expect(announcement(1, 100));
        CHECK_FALSE(arrival.begin(announcement(2, 100), 70, to.memory, 5));
    }
    SECTION("it has no room at all")
    {
        arrival.expect(announcement(1, 100));
        CHECK_FALSE(arrival.begin(announcement(1, 100), 0, to.memory, 5));
        CHECK(arrival.take(piece(0, to.data.data(), 60)) == more);
    }
    SECTION("it is cancelled")
    {
        arrival.expect(announcement(1, 100));
        REQUIRE(arrival.begin(announcement(1, 100), 70, to.memory, 5));
        arrival.cancel();
        CHECK(arrival.take(piece(0, to.data.data(), 60)) == more);
    }
    SECTION("the sender goes on elsewhere")
    {
        arrival.expect(announcement(1, 100));
        REQUIRE(arrival.begin(announcement(1, 100), 70, to.memory, 5));
        CHECK(arrival.take(piece(1, to.data.data(), 60)) == broken);
    }
    CHECK_FALSE(arrival.is_wanted());
    CHECK(to.taken() == 0);
}

TEST_CASE("shm__data_come_until_they_are_all_there_or_cease", "[shm]")
{
    Scattered to;
    Arrival arrival;
    using enum Arrival::Result;
    arrival.expect(announcement(1, 100));
    REQUIRE(arrival.begin(announcement(1, 100), 70, to.memory, 5));
    SECTION("the sender comes to a stop")
    {
        CHECK_FALSE(arrival.is_late(1000, 100));
        CHECK_FALSE(arrival.is_late(1100, 100));
        CHECK(arrival.is_late(1101, 100));
        CHECK(arrival.take(piece(0, to.data.data(), 30)) == more);
        CHECK_FALSE(arrival.is_late(5000, 100)); // counts from the first question since
        CHECK_FALSE(arrival.is_late(5100, 100));
        CHECK(arrival.is_late(5101, 100));
    }
    SECTION("the sender ceases")
    {
        CHECK(arrival.take(piece(0, to.data.data(), 30)) == more);
        CHECK(arrival.take(piece(30, to.data.data(), 0)) == rest);
        CHECK(arrival.done() == 30);
        CHECK(to.taken() == 30);
    }
    SECTION("it takes what it has room for")
    {
        CHECK(arrival.take(piece(0, to.data.data(), 60)) == more);
        CHECK(arrival.is_wanted());
        CHECK(arrival.take(piece(60, to.data.data(), 40)) == done);
        CHECK(to.taken() == 70);
        CHECK(std::count(to.into.begin() + 40, to.into.begin() + 50, std::byte{1}) == 10);
    }
}

TEST_CASE("shm__a_full_ring_refuses_and_takes_again", "[shm]")
{
    const auto memory = std::make_unique<RingMemory>();
    RingWriter writer(*memory);
    RingReader reader(*memory);
    const std::array<std::byte, 8192> payload{};
    uint32_t written = 0;
    while (writer.write(packet(written, 8192), payload.data()))
        ++written;
    CHECK(written >= 32);
    bool told = false;
    while (!told) {
        REQUIRE(reader.front());
        told = reader.release();
    }
    CHECK(writer.write(packet(written, 8192), payload.data()));
    CHECK_FALSE(writer.write(packet(0, ring_bytes), payload.data()));
}

TEST_CASE("shm__hostile_contents_never_lead_out_of_the_ring", "[shm]")
{
    std::mt19937 random(7);
    const std::array<std::byte, 300> payload{};
    uint32_t broken = 0;
    const auto memory = std::make_unique<RingMemory>();
    for (int round = 0; round < 3000; ++round) {
        // Nothing is written beyond it.
        std::memset(static_cast<void *>(memory.get()), 0, offsetof(RingMemory, data) + 4096);
        RingWriter writer(*memory);
        for (uint32_t i = 0; i < 5; ++i)
            REQUIRE((i == 4  ? write_piece(writer, 0, 240)
                     : i % 2 ? writer.write(packet(i, 60 * i), payload.data())
                             : write_eager(writer, i, 60 * i)));
        // Any byte of the positions, or of the records' heads.
        auto *bytes = reinterpret_cast<unsigned char *>(memory.get());
        const std::size_t data = offsetof(RingMemory, data);
        const std::size_t at = round % 4 == 0 ? random() % 4 : data + random() % 1024;
        bytes[at] ^= static_cast<unsigned char>(1u << random() % 8);
        RingReader reader(*memory);
        uint32_t taken = 0;
        while (const emx_msg *msg = front_of(reader, round % 2)) {
            const auto *first = reinterpret_cast<const std::byte *>(msg->data);
            const bool inside = first >= memory->data && first + msg->data_len <= memory->data + ring_bytes;
            REQUIRE(inside);
            reader.release();
            REQUIRE(++taken <= ring_bytes / record_align);
        }
        broken += reader.broken();
    }
    CHECK(broken > 0);
}
