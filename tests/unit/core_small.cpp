// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The small parts of the core: peer table, reassembly bookkeeping, event ring.
#include "core_board.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <thread>

using namespace emx::test;

TEST_CASE("fw_peer__ten_thousand_peers")
{
    PeerTable table(10000);
    fw_peers *t = table.get();
    std::vector<uint64_t> macs;
    std::mt19937_64 random(4);
    for (uint64_t i = 0; i < 10000; i++)
        macs.push_back(i < 5000 ? 0x020000000000 + i : (random() & 0xfcffffffffff) | 0x020000010000);
    std::sort(macs.begin(), macs.end());
    REQUIRE(std::adjacent_find(macs.begin(), macs.end()) == macs.end());
    for (std::size_t i = 0; i < macs.size(); i++) {
        REQUIRE(fw_peer_add(t, macs[i]) == static_cast<int>(i));
        REQUIRE(fw_peer_add(t, macs[i]) == static_cast<int>(i));
    }
    REQUIRE(fw_peer_add(t, 0x0200dead0001) == -1);
    for (std::size_t i = 0; i < macs.size(); i++) {
        REQUIRE(fw_peer_find(t, macs[i], static_cast<uint32_t>(random() % 20000)) == static_cast<int>(i));
        REQUIRE(fw_peer(t, static_cast<uint32_t>(i))->mac == macs[i]);
        REQUIRE(fw_peers_tags(t)->tag[i] == EMX_TAG_NONE);
    }
    REQUIRE(fw_peer_find(t, 0x0200dead0001, 0) == -1);
    REQUIRE(fw_peer(t, 10000) == nullptr);
}

TEST_CASE("fw_siphash__the_published_vector")
{
    const __u64 key_bytes[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
    CHECK(fw_siphash(key_bytes, 0x0706050403020100) == 0x93f5f5799a932462);
}

TEST_CASE("fw_peer__nobody_chooses_addresses_that_make_searches_long")
{
    // They share their place in a table whose hash has no key: a product, as it was, or their low bits.
    const std::function<uint32_t(uint64_t)> guesses[] = {
        [](uint64_t mac) { return static_cast<uint32_t>(mac * 0x9e3779b97f4a7c15 >> 32); },
        [](uint64_t mac) { return static_cast<uint32_t>(mac); }};
    for (const auto &guess : guesses) {
        PeerTable table(1024);
        fw_peers *t = table.get();
        for (uint64_t mac = 0x020000000000; t->count < t->capacity; mac++)
            if ((guess(mac) & t->hash_mask) == 0)
                REQUIRE(fw_peer_add(t, mac) >= 0);
        const auto *hash =
            reinterpret_cast<const uint32_t *>(reinterpret_cast<const struct fw_peer *>(t + 1) + t->capacity);
        uint32_t run = 0, longest = 0;
        for (uint32_t i = 0; i <= t->hash_mask; i++)
            longest = std::max(longest, run = hash[i] ? run + 1 : 0);
        CHECK(longest < 100);
    }
}

TEST_CASE("fw_peer__impossible_addresses")
{
    PeerTable table(4);
    REQUIRE(fw_peer_add(table.get(), 0) == -1);
    REQUIRE(fw_peer_add(table.get(), 0x010000000001) == -1);
    REQUIRE(fw_peer_add(table.get(), 0xffffffffffff) == -1);
    REQUIRE(fw_peer_add(table.get(), 0x1020000000001) == -1);
    REQUIRE(fw_peer_find(table.get(), 0, 0) == -1);
    REQUIRE(table.get()->count == 0);
    REQUIRE(fw_peers_bytes(1u << 31) == fw_peers_bytes(FW_PEERS_MAX));
    PeerTable one(1);
    REQUIRE(fw_peer_add(one.get(), mac_a) == 0);
    REQUIRE(fw_peer_add(one.get(), mac_b) == -1);
    REQUIRE(fw_peer_find(one.get(), mac_b, 0) == -1);
}

TEST_CASE("fw_peer__a_board_gets_another_address")
{
    PeerTable table(4);
    fw_peers *t = table.get();
    REQUIRE(fw_peer_add(t, mac_a) == 0);
    REQUIRE(fw_peer_add(t, mac_b) == 1);
    fw_peer_name(t, 0, "own:0");
    CHECK(fw_peer_readdress(t, 0, 0x020000000077) == 0);
    CHECK(fw_peer_find(t, 0x020000000077, ~0u) == 0);
    CHECK(fw_peer_find(t, mac_a, ~0u) == -1);
    CHECK(fw_peer_find(t, mac_b, ~0u) == 1);
    char name[EMX_NAME_MAX];
    CHECK(fw_peer_name_get(t, 0, name) == 0);
    CHECK(fw_peer_readdress(t, 0, mac_b) == -1);
    CHECK(fw_peer_readdress(t, 0, 0) == -1);
    CHECK(fw_peer_readdress(t, 0, 0xffffffffffff) == -1);
    CHECK(fw_peer_readdress(t, 2, 0x020000000078) == -1);
    // There and back, without end: a former address costs nothing.
    for (int i = 0; i < 100; i++)
        REQUIRE(fw_peer_readdress(t, 0, i % 2 ? 0x020000000077 : mac_a) == 0);
    CHECK(fw_peer_find(t, 0x020000000077, ~0u) == 0);
    uint64_t last = 0;
    for (uint64_t next = 0x020000001000; next < 0x020000001400; next++)
        REQUIRE(fw_peer_readdress(t, 0, last = next) == 0);
    CHECK(fw_peer_find(t, last, ~0u) == 0);
    CHECK(fw_peer_find(t, last - 1, ~0u) == -1);
    CHECK(fw_peer_add(t, 0x020000000078) == 2);
    CHECK(fw_peer_add(t, 0x020000000079) == 3);
    CHECK(fw_peer_find(t, 0x02000000ffff, ~0u) == -1);
}

TEST_CASE("fw_peer__places_of_strangers_are_taken_again")
{
    constexpr uint32_t capacity = 64, own = 2, kept = 7;
    constexpr uint64_t first = 0x020000010000;
    PeerTable table(capacity);
    fw_peers *t = table.get();
    const auto newcomer = [&](uint64_t mac) {
        fw_spares spares;
        fw_spares_begin(&spares, t);
        for (int i; (i = fw_spares_next(&spares, t, own)) >= 0;) {
            const auto place = static_cast<uint32_t>(i);
            const uint64_t old = fw_peer_vacate(t, place);
            if (place != kept)
                return fw_peer_replace(t, place, old, mac) == 0 ? i : -1;
            fw_peer_restore(t, place, old);
        }
        return -1;
    };
    for (uint32_t i = 0; i < capacity; i++)
        REQUIRE(fw_peer_add(t, first + i) == static_cast<int>(i));
    fw_peer_learn(t, 3, "named:0");
    fw_peer_list(t, 4);
    REQUIRE(fw_peer_pin(t, 5, FW_SPEAKS_W) == 0);
    fw_peer_ask_for(t, 20);
    fw_peer_ask_for(t, 30);
    fw_peer_learn(t, 30, "asked:0");
    fw_peers_tags(t)->tag[20] = 9;
    const auto stays = [](uint32_t i) {
        return i < own || i == 3 || i == 4 || i == 5 || i == kept || i == 30;
    };
    // A peer that a user asked for goes first, then the oldest.
    CHECK(newcomer(first + 1000) == 20);
    CHECK(fw_peer(t, 20)->life == 1);
    CHECK(fw_peers_tags(t)->tag[20] == EMX_TAG_NONE);
    CHECK(fw_peer_find(t, first + 20, ~0u) == -1);
    CHECK(newcomer(first + 1001) == 2);
    CHECK(newcomer(first + 1002) == 6);
    CHECK(newcomer(first + 1002) == -1); // it is there
    CHECK(newcomer(0xffffffffffff) == -1);
    for (uint64_t mac = first + 2000; mac < first + 12000; mac++) {
        const int at = newcomer(mac);
        REQUIRE(at >= 0);
        REQUIRE(fw_peer_find(t, mac, ~0u) == at);
        REQUIRE(fw_peers_fit(t, capacity));
    }
    uint32_t searched = 0;
    for (uint32_t i = 0; i < capacity; i++) {
        CHECK((fw_peer(t, i)->mac == first + i) == stays(i));
        searched += fw_peer_find(t, fw_peer(t, i)->mac, ~0u) == static_cast<int>(i);
    }
    CHECK(searched == capacity);
    // A writer dies on the way: the next one mends what it left.
    fw_peer_vacate(t, 10);
    t->hash_seq |= 1;
    fw_peers_mend(t);
    CHECK(fw_peer_find(t, 0, ~0u) == -1);
    for (uint32_t i = 0; i < capacity; i++)
        CHECK(fw_peer_find(t, fw_peer(t, i)->mac, ~0u) == (i == 10 ? -1 : static_cast<int>(i)));
}

TEST_CASE("fw_peer__readers_find_a_peer_while_others_come_and_go")
{
    constexpr uint32_t capacity = 32, rounds = 1000;
    PeerTable table(capacity);
    fw_peers *t = table.get();
    // All share one place of the hash: each that goes moves all behind it.
    uint64_t last = 0x020000010000;
    const auto another = [&] {
        while (fw_siphash(t->key, ++last) & t->hash_mask)
            ;
        return last;
    };
    for (uint32_t i = 0; i < capacity; i++)
        fw_peer_add(t, another());
    std::atomic<uint64_t> wanted{fw_peer(t, 0)->mac};
    std::atomic<bool> done{false};
    std::atomic<uint32_t> wrong{0};
    std::thread reader([&] {
        while (!done) {
            const uint64_t mac = wanted;
            if (mac != 0 && fw_peer_find(t, mac, ~0u) != 0 && mac == wanted)
                ++wrong;
        }
    });
    for (uint32_t round = 0; round < rounds; round++) {
        const uint64_t next = another();
        wanted = 0;
        fw_peer_readdress(t, 0, next); // behind all others
        wanted = next;
        for (uint32_t i = 1; i < capacity; i++)
            fw_peer_replace(t, i, fw_peer_vacate(t, i), another());
        wanted = 0;
    }
    done = true;
    reader.join();
    CHECK(wrong == 0);
}

TEST_CASE("fw_peer_name__set_get_clear")
{
    PeerTable table(4);
    fw_peer_add(table.get(), mac_a);
    char name[EMX_NAME_MAX];
    REQUIRE(fw_peer_name_get(table.get(), 0, name) == -1);
    fw_peer_name(table.get(), 0, "host:0");
    REQUIRE(fw_peer_name_get(table.get(), 0, name) == 0);
    REQUIRE(std::string(name) == "host:0");
    fw_peer_name(table.get(), 0, std::string(200, 'x').c_str());
    REQUIRE(fw_peer_name_get(table.get(), 0, name) == 0);
    REQUIRE(std::string(name) == std::string(79, 'x'));
    fw_peer_name(table.get(), 0, nullptr);
    REQUIRE(fw_peer_name_get(table.get(), 0, name) == -1);
    REQUIRE(name[0] == 0);
    fw_peer_name(table.get(), 3, "nobody");
    REQUIRE(fw_peer_name_get(table.get(), 3, name) == -1);
}

TEST_CASE("fw_peer__a_writer_that_died_does_not_hang_readers")
{
    PeerTable table(4);
    fw_peer_add(table.get(), mac_a);
    fw_peer_name(table.get(), 0, "old");
    fw_peer(table.get(), 0)->name_seq++;
    char name[EMX_NAME_MAX];
    REQUIRE(fw_peer_name_get(table.get(), 0, name) == -1);
    fw_peer_name(table.get(), 0, "new");
    REQUIRE(fw_peer_name_get(table.get(), 0, name) == 0);
    REQUIRE(std::string(name) == "new");
}

TEST_CASE("fw_peer__readers_beside_the_writer")
{
    PeerTable table(2000);
    fw_peers *t = table.get();
    fw_peer_add(t, 0x020000000000);
    fw_peer_name(t, 0, std::string(70, 'a').c_str());
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0}, reads{0};
    std::thread reader([&] {
        char name[EMX_NAME_MAX];
        for (uint64_t i = 0; !stop || reads == 0; i++, reads++) {
            int at = fw_peer_find(t, 0x020000000000 + i % 2000, 0xffff);
            wrong += at >= 0 && !fw_peer(t, static_cast<uint32_t>(at));
            if (fw_peer_name_get(t, 0, name) == 0)
                wrong += std::string(name) != std::string(70, name[0]);
        }
    });
    for (uint64_t i = 1; i < 2000; i++) {
        fw_peer_add(t, 0x020000000000 + i);
        fw_peer_name(t, 0, std::string(70, static_cast<char>('a' + i % 26)).c_str());
    }
    stop = true;
    reader.join();
    REQUIRE(wrong == 0);
}

TEST_CASE("fw_reasm__any_order_and_repeats")
{
    std::mt19937 random(5);
    for (uint32_t unit : {1024u, 1452u, 4096u, 8192u})
        for (uint32_t length : {0u, 1u, unit - 1, unit, unit + 1, 3 * unit, 7 * unit + 5, 8 * unit}) {
            std::vector<uint32_t> order(std::max(1u, (length + unit - 1) / unit));
            std::iota(order.begin(), order.end(), 0);
            std::shuffle(order.begin(), order.end(), random);
            fw_reasm r{};
            for (uint32_t f : order) {
                REQUIRE((length == 0 || r.received < length));
                uint32_t n = std::min(unit, length - f * unit);
                REQUIRE(fw_reasm_add(&r, length, f, f * unit, n) == 1);
                REQUIRE(fw_reasm_add(&r, length, f, f * unit, n) == 0);
            }
            REQUIRE(r.received == length);
        }
}

TEST_CASE("fw_reasm__contradictions")
{
    fw_reasm r{};
    REQUIRE(fw_reasm_add(&r, 10000, 1, 4096, 4096) == 1);
    REQUIRE(fw_reasm_add(&r, 10001, 0, 0, 4096) == -1); // another message length
    REQUIRE(fw_reasm_add(&r, 10000, 0, 0, 2048) == -1); // another unit
    REQUIRE(fw_reasm_add(&r, 10000, 2, 4096, 2048) == -1); // the same, at a possible place
    REQUIRE(fw_reasm_add(&r, 10000, 2, 8192, 1809) == -1); // beyond the end
    REQUIRE(fw_reasm_add(&r, 10000, 2, 8192, 1807) == -1); // short of it
    REQUIRE(fw_reasm_add(&r, 10000, 2, 8192, 0) == -1);
    REQUIRE(fw_reasm_add(&r, 10000, 0, 0, 10000) == -1); // all in one
    REQUIRE(fw_reasm_add(&r, 10000, 32, 0, 4096) == -1);
    REQUIRE(fw_reasm_add(&r, 10000, 3, 0xfffff000, 0x1000) == -1);
    REQUIRE(fw_reasm_add(&r, 10000, 0, 0, 4096) == 1);
    REQUIRE(fw_reasm_add(&r, 10000, 2, 8192, 1808) == 1);
    REQUIRE(r.received == 10000);
    fw_reasm whole{};
    REQUIRE(fw_reasm_add(&whole, 100, 1, 0, 100) == -1);
    REQUIRE(fw_reasm_add(&whole, 100, 0, 0, 100) == 1);
    REQUIRE(whole.received == 100);
}

TEST_CASE("fw_reasm__accepted_fragments_never_overlap")
{
    std::mt19937 random(6);
    for (int round = 0; round < 20000; round++) {
        uint32_t length = 1 + random() % 64;
        fw_reasm r{};
        std::vector<int> bytes(length);
        for (int i = 0; i < 30; i++) {
            uint32_t frag = random() % 8, position = random() % 64, n = random() % 20;
            if (fw_reasm_add(&r, length, frag, position, n) != 1)
                continue;
            for (uint32_t k = 0; k < n; k++)
                bytes.at(position + k)++;
        }
        auto [least, most] = std::minmax_element(bytes.begin(), bytes.end());
        REQUIRE(*most <= 1);
        REQUIRE((r.received == length) == (*least == 1));
    }
}

namespace {

struct Ring {
    explicit Ring(uint32_t entries) : memory((sizeof(fw_ring) + entries * sizeof(emx_msg)) / 8 + 1)
    {
        get()->mask = entries - 1;
    }
    fw_ring *get() { return reinterpret_cast<fw_ring *>(memory.data()); }
    std::vector<uint64_t> memory;
};

} // namespace

TEST_CASE("fw_ring__full_empty_and_wrap")
{
    Ring ring(8);
    uint32_t head = 0xfffffffa, tail = head; // the counters wrap around
    ring.get()->head = head;
    ring.get()->tail = tail;
    REQUIRE(fw_ring_peek(ring.get(), tail) == nullptr);
    emx_msg m{};
    for (uint32_t round = 0; round < 5; round++) {
        for (uint32_t i = 0; i < 8; i++) {
            m.match = round * 8 + i;
            REQUIRE(fw_ring_put(ring.get(), 7, &head, &m) == 0);
        }
        REQUIRE(fw_ring_put(ring.get(), 7, &head, &m) == -1);
        for (uint32_t i = 0; i < 8; i++) {
            const emx_msg *got = fw_ring_peek(ring.get(), tail);
            REQUIRE(got);
            REQUIRE(got->match == round * 8 + i);
            fw_ring_take(ring.get(), &tail);
        }
        REQUIRE(fw_ring_peek(ring.get(), tail) == nullptr);
    }
}

TEST_CASE("fw_ring__hostile_consumer")
{
    Ring ring(8);
    uint32_t head = 0;
    emx_msg m{};
    std::mt19937 random(7);
    for (int i = 0; i < 10000; i++) {
        ring.get()->tail = random();
        ring.get()->head = random();
        ring.get()->mask = random();
        fw_ring_put(ring.get(), 7, &head, &m); // a sanitizer sees a write outside
    }
    ring.get()->tail = head + 1; // a consumer that took more than there was
    REQUIRE(fw_ring_put(ring.get(), 7, &head, &m) == -1);
}

TEST_CASE("fw_ring__two_threads")
{
    Ring ring(16);
    const uint64_t count = 20000;
    std::thread producer([&] {
        uint32_t head = 0;
        emx_msg m{};
        for (uint64_t i = 0; i < count;) {
            m.match = i;
            m.seq = static_cast<uint16_t>(i);
            if (fw_ring_put(ring.get(), 15, &head, &m) == 0)
                i++;
            else
                std::this_thread::yield();
        }
    });
    uint32_t tail = 0;
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < count;) {
        const emx_msg *m = fw_ring_peek(ring.get(), tail);
        if (!m) {
            std::this_thread::yield();
            continue;
        }
        wrong += m->match != i || m->seq != static_cast<uint16_t>(i);
        fw_ring_take(ring.get(), &tail);
        i++;
    }
    producer.join();
    REQUIRE(wrong == 0);
}
