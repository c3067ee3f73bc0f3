// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Fragments of the EtherMX extension (X MEDIUM) and its checksums (docs/protocol.md) between simulated
// programs: who sends them to whom, how long they are, and that messages arrive whole through loss and
// through altered bytes.
#include "talk.hpp"

#include <algorithm>
#include <array>

namespace emx::sim {
namespace {

HostOptions frames_of(uint16_t x_frame, bool polled = false, char dialect = 'W')
{
    HostOptions o = Bench::options(dialect, dialect == 'N' ? 9000 : 0);
    o.x_frame = x_frame;
    o.polled = polled;
    return o;
}

const std::vector<uint32_t> all_lengths = {0,    1,    32,    33,    128,   129,   4072,  4073,  4096,  4097,
                                           8942, 8943, 12288, 17884, 17885, 32767, 32768, 32769, 200000};

} // namespace

TEST_CASE("fragments are as long as both links allow, where that makes fewer of them")
{
    const struct {
        char dialect;
        uint16_t ours, theirs; ///< longest frames
        uint32_t frames, x_frames; ///< of a message of 32768 bytes
    } rows[] = {
        {'W', 9014, 9014, 0, 4},   {'W', 9014, 6000, 0, 6},  {'W', 6000, 9014, 0, 6},
        {'W', 65535, 65535, 0, 1}, {'W', 65535, 9014, 0, 4}, {'W', 32840, 32840, 0, 1}, // to the byte
        {'W', 32839, 32839, 0, 2}, {'W', 1, 9014, 8, 0},     {'W', 9014, 1, 8, 0},
        {'W', 9014, 0, 8, 0},      {'W', 9014, 256, 8, 0},   {'N', 9014, 9014, 4, 0},
        {'N', 65535, 65535, 0, 1},
    };
    for (auto &row : rows) {
        CAPTURE(row.dialect, row.ours, row.theirs);
        Talk t(1, frames_of(row.ours, false, row.dialect), frames_of(row.theirs, false, row.dialect));
        t.connect();
        CHECK(t.exchange(t.one, t.to_two, t.two, {32768}) == 0);
        CHECK(t.count(t.one, EMX_CNT_TX_MEDIUM) == row.frames);
        CHECK(t.count(t.one, EMX_CNT_TX_X_MEDIUM) == row.x_frames);
        CHECK(t.count(t.two, EMX_CNT_RX_X_MEDIUM) == row.x_frames);
        CHECK(t.exchange(t.one, t.to_two, t.two, all_lengths) == 0);
        CHECK(t.exchange(t.two, t.to_one, t.one, all_lengths) == 0);
        CHECK(t.bench.network.violation() == "");
    }
}

TEST_CASE("fragments of the extension are compared with those of the peer's own dialect")
{
    // W makes 8 frames of 32768 bytes, N=9000 makes 4, as many as the extension.
    for (const bool polled : {false, true}) {
        const HostOptions n = frames_of(9014, polled, 'N'), w = frames_of(9014, polled, 'W');
        Bench b(1, {n, n, w});
        b.hosts[0]->boards[0]->pin(b.mac(2), 'W', 0);
        std::vector<Player *> players;
        for (uint32_t i = 0; i < 3; i++)
            players.push_back(&b.start(i, 1 + i, "1"));
        b.pass(ms);
        for (uint32_t i : {1, 2}) {
            CAPTURE(polled, i);
            const auto there = b.connect(*players[0], b.mac(i), 1 + i);
            const auto back = b.connect(*players[i], b.mac(0), 1);
            b.pass(ms);
            b.exchange(*players[0], there, *players[i], {3000, 5000, 20000, 32768});
            b.exchange(*players[i], back, *players[0], {3000, 5000, 20000, 32768});
            const uint64_t fragments = i == 1 ? 1 + 1 + 3 + 4 : 1, x_fragments = i == 1 ? 0 : 1 + 3 + 4;
            for (auto [counter, wanted] :
                 {std::pair{EMX_CNT_RX_MEDIUM, fragments}, std::pair{EMX_CNT_TX_MEDIUM, fragments},
                  std::pair{EMX_CNT_RX_X_MEDIUM, x_fragments}, std::pair{EMX_CNT_TX_X_MEDIUM, x_fragments}}) {
                CAPTURE(counter);
                CHECK(Talk::count(*players[i], counter) == wanted);
            }
        }
        CHECK(b.network.violation() == "");
    }
}

TEST_CASE("a peer without X MEDIUM, or without agreement, is sent fragments of the dialect")
{
    HostOptions without = frames_of(9014);
    without.x_fragments = false;
    for (const bool extension : {true, false}) {
        CAPTURE(extension);
        Talk t(1, frames_of(9014), extension ? without : frames_of(9014), {{"EMX_CHECKSUM", "1"}},
               {{"EMX_EXTENSION", extension ? "1" : "0"}});
        t.connect();
        for (auto [from, to, at] :
             {std::tuple{&t.one, t.to_two, &t.two}, std::tuple{&t.two, t.to_one, &t.one}}) {
            CHECK(t.exchange(*from, to, *at, all_lengths) == 0);
            CHECK(t.count(*from, EMX_CNT_TX_MEDIUM) > 0);
            CHECK(t.count(*from, EMX_CNT_TX_TINY) > 0);
            CHECK(t.count(*from, EMX_CNT_TX_X_MEDIUM) == 0);
        }
    }
}

TEST_CASE("lost, repeated and overtaking fragments become whole messages, once and in order")
{
    for (const char *checksum : {"0", "1"})
        for (const bool polled : {false, true})
            for (uint64_t seed = 1; seed <= 10; seed++) {
                CAPTURE(checksum, polled, seed);
                Talk t(seed, frames_of(9014, polled), frames_of(9014, polled), {{"EMX_CHECKSUM", checksum}});
                t.connect();
                t.bench.network.faults.loss = 100;
                t.bench.network.faults.duplicate = 50;
                t.bench.network.faults.reorder = 100;
                CHECK(t.exchange(t.one, t.to_two, t.two, all_lengths) == 0);
                CHECK(t.exchange(t.two, t.to_one, t.one, all_lengths) == 0);
                CHECK(t.count(t.one, EMX_CNT_TX_X_MEDIUM) > 0);
                CHECK(t.bench.network.violation() == "");
            }
}

TEST_CASE("a lost message of long fragments is repeated without those that are there")
{
    uint64_t sent = 0, lost = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        Talk t(seed, frames_of(6000), frames_of(6000));
        t.connect();
        t.bench.network.faults.loss = 200;
        std::vector<char> out(32768, 'x'), in(32768);
        t.bench.tell(t.two, [&] {
            mx_request_t request{};
            mx_segment_t segment{in.data(), 32768};
            mx_irecv(t.two.ep, &segment, 1, 7, ~0ull, nullptr, &request);
            mx_forget(t.two.ep, &request);
        });
        t.bench.tell(t.one, [&] {
            mx_request_t request{};
            mx_segment_t segment{out.data(), 32768};
            mx_isend(t.one.ep, &segment, 1, t.to_two, 7, nullptr, &request);
            mx_forget(t.one.ep, &request);
            t.bench.network.faults.loss = 0;
        });
        t.bench.pass(5 * ms);
        REQUIRE((in == out));
        const uint64_t repeats = t.count(t.one, EMX_CNT_TX_X_MEDIUM) - 6;
        sent += repeats;
        lost += repeats > 0;
    }
    CAPTURE(sent, lost);
    CHECK(lost > 120); // 1 - 0.8^6 of them
    CHECK(sent < 200 * 6 * 30 / 100); // a fifth of the fragments, and few more
}

TEST_CASE("messages that waited for the agreement travel by it")
{
    const struct {
        const char *checksum;
        uint16_t theirs; ///< their longest frame
        uint64_t packed, short_frames, fragments, x_fragments;
    } rows[] = {
        {"0", 9014, 3, 2, 1, 3 + 4}, // a message of one fragment stays what it is
        {"0", 256, 0, 2, 1 + 5 + 8, 0},
        {"1", 9014, 3, 0, 0, 1 + 1 + 1 + 3 + 4},
        {"1", 1500, 2, 0, 0, 1 + 1 + 1 + 15 + 23}, // shorter than the dialect's
    };
    for (auto &row : rows) {
        CAPTURE(row.checksum, row.theirs);
        Talk t(1, frames_of(9014), frames_of(row.theirs),
               {{"EMX_CHECKSUM", row.checksum}, {"EMX_PACK_AFTER", "4"}});
        Network &network = t.bench.network;
        const uint64_t ours = t.bench.mac(0);
        network.tap = [&](const Frame &frame) { // nobody hears what one asks
            const bool request = frame[16] == EMX_CONNECT && frame[42] == 0;
            network.faults.loss = request && board_mac(frame.data() + 6) == ours ? 1000 : 0;
        };
        t.to_one = t.bench.connect(t.two, t.bench.mac(0), 1);
        CHECK(t.exchange(t.two, t.to_one, t.one, {8}) == 0);
        const mx_endpoint_addr_t to_two = t.source;
        REQUIRE(t.one.partner(to_two)->way.offer == 0);
        t.bench.world.after(20 * ms, [&] {
            CHECK(t.count(t.one, EMX_CNT_TX_TINY) + t.count(t.one, EMX_CNT_TX_MEDIUM) == 0);
            network.tap = nullptr;
            network.faults.loss = 0;
        });
        std::array<std::vector<char>, 5> out, in;
        const std::array<uint32_t, 5> lengths = {8, 100, 1000, 20000, 32768};
        t.bench.tell(t.one, [&] {
            for (std::size_t i = 0; i < lengths.size(); i++) {
                for (uint32_t k = 0; k < lengths[i]; k++)
                    out[i].push_back(static_cast<char>(t.rng.next()));
                mx_request_t request{};
                mx_segment_t segment{out[i].data(), lengths[i]};
                mx_isend(t.one.ep, &segment, 1, to_two, i, nullptr, &request);
                mx_forget(t.one.ep, &request);
            }
        });
        t.bench.tell(t.two, [&] {
            for (std::size_t i = 0; i < lengths.size(); i++) {
                in[i].resize(lengths[i]);
                mx_request_t request{};
                mx_status_t status{};
                uint32_t done = 0;
                mx_segment_t segment{in[i].data(), lengths[i]};
                mx_irecv(t.two.ep, &segment, 1, i, ~0ull, nullptr, &request);
                mx_wait(t.two.ep, &request, MX_INFINITE, &status, &done);
            }
        });
        CHECK((in == out)); // not to be printed
        const uint64_t packed = t.count(t.one, EMX_CNT_PACKED), summed = row.checksum[0] == '1';
        const uint64_t packed_medium = packed > 2 && !summed;
        CHECK(packed == row.packed);
        CHECK(t.count(t.one, EMX_CNT_TX_TINY) + t.count(t.one, EMX_CNT_TX_SMALL) +
                  (summed ? 0 : packed - packed_medium) ==
              row.short_frames);
        CHECK(t.count(t.one, EMX_CNT_TX_MEDIUM) + packed_medium == row.fragments);
        CHECK(t.count(t.one, EMX_CNT_TX_X_MEDIUM) + (summed ? packed : 0) == row.x_fragments);
        CHECK(network.violation() == "");
    }
}

TEST_CASE("checksums are in use both ways when either wishes them")
{
    for (const char *wishes : {"00", "01", "10", "11"})
        for (const uint16_t x_frame : {uint16_t{1}, uint16_t{9014}}) {
            CAPTURE(wishes, x_frame);
            Talk t(1, frames_of(x_frame), frames_of(x_frame), {{"EMX_CHECKSUM", std::string(1, wishes[0])}},
                   {{"EMX_CHECKSUM", std::string(1, wishes[1])}});
            uint64_t with = 0, without = 0;
            t.bench.network.tap = [&](const Frame &f) {
                const std::size_t at = f[16] == EMX_X_MEDIUM ? 48 : 36;
                if (f[16] == EMX_X_MEDIUM || f[16] == EMX_X_DATA)
                    (f[at] | f[at + 1] | f[at + 2] | f[at + 3] ? with : without)++;
            };
            t.connect();
            for (auto [from, to, at] :
                 {std::tuple{&t.one, t.to_two, &t.two}, std::tuple{&t.two, t.to_one, &t.one}}) {
                const bool summed = std::string(wishes) != "00";
                with = without = 0;
                CHECK(from->partner(to)->way.summed == summed);
                CHECK(t.exchange(*from, to, *at, all_lengths) == 0);
                CHECK((t.count(*from, EMX_CNT_TX_TINY) == 0) == summed);
                CHECK((t.count(*from, EMX_CNT_TX_SMALL) == 0) == summed);
                CHECK((with != 0) == summed);
                CHECK((without != 0) == !summed);
                CHECK(t.count(*at, EMX_CNT_DROP_CHECKSUM) == 0);
            }
            CHECK(t.bench.network.violation() == "");
        }
}

TEST_CASE("with checksums no altered bit reaches a program, and every message arrives")
{
    std::vector<uint32_t> lengths;
    for (int i = 0; i < 5; i++)
        lengths.insert(lengths.end(), all_lengths.begin(), all_lengths.end());
    uint32_t wrong[2] = {};
    for (const bool checksum : {false, true})
        for (const char dialect : {'W', 'N'})
            for (const uint16_t x_frame : {uint16_t{1}, uint16_t{9014}})
                for (uint64_t seed = 1; seed <= 4; seed++) {
                    CAPTURE(checksum, dialect, x_frame, seed);
                    const bool polled = seed % 2;
                    Talk t(seed, frames_of(x_frame, polled, dialect), frames_of(x_frame, polled, dialect),
                           {{"EMX_CHECKSUM", checksum ? "1" : "0"}});
                    t.connect();
                    t.bench.network.faults.flip = 50;
                    if (!checksum) { // a flip in the header may be anything: of the payload alone
                        t.bench.network.faults.flip_headers = false;
                        wrong[0] += t.exchange(t.one, t.to_two, t.two, lengths);
                        continue;
                    }
                    wrong[1] += t.exchange(t.one, t.to_two, t.two, lengths);
                    wrong[1] += t.exchange(t.two, t.to_one, t.one, lengths);
                    CHECK(t.bench.network.flipped > 10);
                    CHECK(t.count(t.one, EMX_CNT_DROP_CHECKSUM) > 0);
                    CHECK(t.count(t.two, EMX_CNT_DROP_CHECKSUM) > 0);
                }
    CHECK(wrong[0] > 0);
    CHECK(wrong[1] == 0);
}

} // namespace emx::sim
