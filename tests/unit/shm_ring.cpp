// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The shared-memory ring: two threads, and contents that no honest sender writes.
#include "libmx/shm/ring.hpp"

#include <emx/wire.h>

#include <catch2/catch.hpp>

#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <thread>

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

} // namespace

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
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < count;) {
        const emx_msg *msg = reader.front();
        if (!msg) {
            std::this_thread::yield();
            continue;
        }
        const auto *data = reinterpret_cast<const std::byte *>(msg->data);
        wrong += msg->match != i || msg->data_len != length_of(i);
        for (uint32_t b = 0; b < msg->data_len; b += 61)
            wrong += data[b] != static_cast<std::byte>(i);
        reader.release();
        ++i;
    }
    sender.join();
    CHECK(wrong == 0);
    CHECK_FALSE(reader.front());
    CHECK_FALSE(reader.broken());
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
    REQUIRE(reader.front());
    reader.release();
    REQUIRE(reader.front());
    reader.release();
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
            REQUIRE(writer.write(packet(i, 60 * i), payload.data()));
        // Any byte of the positions, or of the records' heads.
        auto *bytes = reinterpret_cast<unsigned char *>(memory.get());
        const std::size_t data = offsetof(RingMemory, data);
        const std::size_t at = round % 4 == 0 ? random() % 4 : data + random() % 1024;
        bytes[at] ^= static_cast<unsigned char>(1u << random() % 8);
        RingReader reader(*memory);
        uint32_t taken = 0;
        while (const emx_msg *msg = reader.front()) {
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
