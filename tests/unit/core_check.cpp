// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// What fw_check drops: rules 1 to 6 and the malformed cases of the wire specification, section 13.
#include "core_board.hpp"

#include <tests/support/golden.hpp>

#include <catch2/catch.hpp>

#include <string>

using namespace emx::test;

namespace {

struct Patch {
    std::size_t at;
    std::vector<uint8_t> bytes;
};

/// The golden frame `name`, long enough for its payload, with patches; `length` bytes when not 0.
Bytes patched(const std::string &name, const std::vector<Patch> &patches, std::size_t length = 0)
{
    Bytes frame = golden(EMX_WIRE_FOLDER, name);
    if (name.rfind("medium", 0) == 0)
        frame.resize(48 + (name == "medium_w" ? 904 : 5000));
    if (name == "pull_reply_w")
        frame.resize(32 + 4096);
    for (auto &p : patches)
        std::copy(p.bytes.begin(), p.bytes.end(), frame.begin() + static_cast<std::ptrdiff_t>(p.at));
    if (length)
        frame.resize(length);
    return frame;
}

struct Case {
    const char *what;
    const char *name;
    std::vector<Patch> patches;
    int want;
    std::size_t length = 0;
};

int check(const fw_sizes &s, const Bytes &frame, uint64_t self = 0)
{
    // An exact allocation: a sanitizer sees any byte read beyond the frame.
    std::unique_ptr<uint8_t[]> exact(new uint8_t[frame.size()]);
    std::copy(frame.begin(), frame.end(), exact.get());
    fw_pkt pkt;
    return fw_check(&s, self, exact.get(), static_cast<uint32_t>(frame.size()), &pkt);
}

void run(const fw_sizes &s, const std::vector<Case> &cases)
{
    for (auto &c : cases) {
        CAPTURE(c.what);
        int why = check(s, patched(c.name, c.patches, c.length));
        REQUIRE(std::string(why ? fw_counter_label(static_cast<unsigned>(why)) : "ok") ==
                (c.want ? fw_counter_label(static_cast<unsigned>(c.want)) : "ok"));
    }
}

constexpr int ok = 0;

} // namespace

TEST_CASE("fw_check__outer_header")
{
    fw_sizes w = sizes_w();
    auto tiny = [](const std::vector<Patch> &p) { return patched("tiny", p); };
    REQUIRE(check(w, tiny({}), mac_b) == ok);
    REQUIRE(check(w, tiny({}), mac_a) == EMX_CNT_DROP_NOT_OURS);
    REQUIRE(check(w, tiny({{0, {255, 255, 255, 255, 255, 255}}}), mac_b) == EMX_CNT_DROP_NOT_OURS);
    REQUIRE(check(w, tiny({{6, {2, 0, 0, 0, 0, 0xb}}}), mac_b) == EMX_CNT_DROP_BAD_SOURCE);
    REQUIRE(check(w, tiny({{6, {2, 0, 0, 0, 0, 0xb}}})) == ok); // loopback
    REQUIRE(check(w, tiny({{6, {3}}}), mac_b) == EMX_CNT_DROP_BAD_SOURCE);
    REQUIRE(check(w, tiny({{6, {0, 0, 0, 0, 0, 0}}}), mac_b) == EMX_CNT_DROP_BAD_SOURCE);
    REQUIRE(check(w, tiny({{12, {8, 0}}}), mac_b) == EMX_CNT_DROP_ETHERTYPE);
    REQUIRE(check(w, patched("beacon", {}), mac_b) == ok);
    REQUIRE(check(w, patched("beacon", {{0, {2, 0, 0, 0, 0, 0xb}}}), mac_b) == ok);
    REQUIRE(check(w, patched("host_query", {{0, {255, 255, 255, 255, 255, 255}}}), mac_b) ==
            EMX_CNT_DROP_NOT_OURS);
    Bytes connect = patched("connect_request", {{6, {2, 0, 0, 0, 0, 0xb}}}); // from our own MAC
    REQUIRE(check(w, connect, mac_b) == EMX_CNT_DROP_BAD_SOURCE);
}

TEST_CASE("fw_check__short_frames_of_every_type")
{
    for (const char *name :
         {"beacon", "host_query", "host_reply", "connect_request", "connect_reply", "tiny", "small",
          "medium_w", "rndv", "pull_w", "pull_reply_w", "notify", "truc", "nack_lib", "nack_mcp"})
        for (std::size_t length = 0; length < 60; length++) {
            Bytes frame = golden(EMX_WIRE_FOLDER, name);
            frame.resize(length);
            REQUIRE(check(sizes_w(), frame) == EMX_CNT_DROP_SHORT);
        }
}

TEST_CASE("fw_check__unassigned_and_reserved_types")
{
    for (unsigned type = 0; type < 256; type++)
        if (!fw_type_name(type))
            REQUIRE(check(sizes_w(), patched("tiny", {{16, {static_cast<uint8_t>(type)}}})) ==
                    EMX_CNT_DROP_TYPE);
}

TEST_CASE("fw_check__eager_rows")
{
    run(sizes_w(),
        {
            {"tiny of 0", "tiny", {{20, {0, 0}}}, ok},
            {"tiny of 32", "tiny", {{20, {0, 32}}}, ok, 72},
            {"tiny of 33", "tiny", {{20, {0, 33}}}, EMX_CNT_DROP_LENGTH, 100},
            {"tiny beyond the frame", "tiny", {{20, {0, 21}}}, EMX_CNT_DROP_LENGTH, 60},
            {"small of 128", "small", {{20, {0, 128}}}, ok, 168},
            {"small of 129", "small", {{20, {0, 129}}}, EMX_CNT_DROP_LENGTH, 200},
            {"small beyond the frame", "small", {{20, {0, 128}}}, EMX_CNT_DROP_LENGTH, 167},
            {"small of 65535", "small", {{20, {255, 255}}}, EMX_CNT_DROP_LENGTH},
            {"garbage in generation, checksum, padding", "tiny", {{19, {9}}, {22, {9, 9}}, {50, {9}}}, ok},
            {"rndv data part of 7", "rndv", {{20, {0, 7}}}, EMX_CNT_DROP_DATA_PART},
            {"rndv data part of 9", "rndv", {{20, {0, 9}}}, ok},
            {"rndv of 4 GiB - 1", "rndv", {{40, {255, 255, 255, 255}}}, ok},
        });
}

TEST_CASE("fw_check__medium_rows_w")
{
    int bad = EMX_CNT_DROP_FRAGMENT;
    run(sizes_w(),
        {
            {"as it is", "medium_w", {}, ok},
            {"size 0 of a longer message", "medium_w", {{40, {0, 0}}}, bad},
            {"empty message", "medium_w", {{20, {0, 0}}, {40, {0, 0}}, {42, {0}}}, ok},
            {"size 4097", "medium_w", {{20, {0x20, 0}}, {40, {0x10, 1}}}, bad, 5000},
            {"number 8", "medium_w", {{42, {8, 9}}, {20, {0x80, 0}}}, bad},
            {"number 255", "medium_w", {{42, {255}}}, bad},
            {"beyond the message", "medium_w", {{20, {0x13, 0x87}}}, bad},
            {"inner fragment not full", "medium_w", {{20, {0x13, 0x89}}}, bad},
            {"message of 32769", "medium_w", {{20, {0x80, 0x01}}}, bad},
            {"exponent 16", "medium_w", {{42, {0, 16}}, {20, {3, 0x88}}}, bad},
            {"exponent 40", "medium_w", {{42, {1, 40}}}, bad},
            {"exponent 255", "medium_w", {{42, {1, 255}}}, bad},
            {"beyond the frame", "medium_w", {}, EMX_CNT_DROP_LENGTH, 951},
            {"exponent 10, full", "medium_w", {{40, {4, 0}}, {42, {1, 10}}, {20, {8, 1}}}, ok, 48 + 1024},
            {"exponent 10, size of 12", "medium_w", {{42, {1, 9}}, {20, {5, 0x88}}}, bad},
            {"of dialect N", "medium_n9000", {}, EMX_CNT_DROP_DIALECT_MEDIUM},
            {"of dialect N, beyond its message", "medium_n9000", {{20, {0, 0, 0, 1}}}, bad},
            {"single fragment, exponent 0", "medium_w", {{42, {0, 0}}, {20, {3, 0x88}}}, ok},
        });
}

TEST_CASE("fw_check__medium_rows_n")
{
    int bad = EMX_CNT_DROP_FRAGMENT;
    run(sizes_n(9000),
        {
            {"as it is", "medium_n9000", {}, ok},
            {"message of 4 GiB", "medium_n9000", {{20, {255, 255, 255, 255}}}, bad},
            {"longest", "medium_n9000", {{20, {0, 4, 0, 0}}, {40, {0x20, 0}}, {42, {31}}}, ok, 8240},
            {"one byte longer", "medium_n9000", {{20, {0, 4, 0, 1}}, {40, {0x20, 0}}, {42, {31}}}, bad, 8240},
            {"number 32", "medium_n9000", {{42, {32}}}, bad},
            {"inner fragment not full", "medium_n9000", {{20, {0, 0, 0x13, 0x89}}}, bad},
            {"of dialect W", "medium_w", {}, EMX_CNT_DROP_DIALECT_MEDIUM},
            {"of dialect W, inner fragment not full", "medium_w", {{20, {0x13, 0x89}}}, bad},
            {"an exponent is ignored", "medium_n9000", {{43, {12}}}, ok},
        });
    fw_sizes n = sizes_n(1500);
    run(n, {
               {"whole message of 2048", "medium_n9000", {{20, {0, 0, 8, 0}}, {40, {8, 0}}}, ok},
               {"whole message of 2049", "medium_n9000", {{20, {0, 0, 8, 1}}, {40, {8, 1}}}, bad},
               {"second fragment of 1453",
                "medium_n9000",
                {{20, {0, 0, 0x0b, 0x59}}, {40, {5, 0xad}}, {42, {1}}},
                bad},
               {"second fragment of 1452",
                "medium_n9000",
                {{20, {0, 0, 0x0b, 0x58}}, {40, {5, 0xac}}, {42, {1}}},
                ok},
           });
}

TEST_CASE("fw_check__pull_rows")
{
    int bad = EMX_CNT_DROP_PULL_SHAPE;
    run(sizes_w(), {
                       {"as it is", "pull_w", {}, ok},
                       {"length 0", "pull_w", {{42, {0, 0}}}, bad},
                       {"skip L", "pull_w", {{40, {0x10, 0}}, {42, {0, 1}}}, bad},
                       {"skip L - 1", "pull_w", {{40, {0x0f, 0xff}}, {42, {0x70, 1}}}, ok},
                       {"9 frames by skip", "pull_w", {{40, {0, 1}}}, bad},
                       {"9 frames by length", "pull_w", {{42, {0x80, 1}}}, bad},
                       {"frame * L overflows", "pull_w", {{44, {0, 0x10, 0, 0}}}, bad},
                       {"last frame", "pull_w", {{44, {0, 0x0f, 255, 255}}}, ok},
                       {"frame 2^32 - 1", "pull_w", {{44, {255, 255, 255, 255}}}, bad},
                       {"of dialect N", "pull_n9000", {}, EMX_CNT_DROP_DIALECT_PULL},
                       {"of dialect N, beyond its message", "pull_n9000", {{24, {0, 0, 0, 0}}}, bad},
                   });
    run(sizes_n(9000), {
                           {"as it is", "pull_n9000", {}, ok},
                           {"length 0", "pull_n9000", {{52, {0, 0, 0, 0}}}, bad},
                           {"length 4 GiB - 1", "pull_n9000", {{52, {255, 255, 255, 255}}}, bad},
                           {"32 full frames", "pull_n9000", {{52, {0, 4, 0x61, 0}}}, ok},
                           {"one byte more", "pull_n9000", {{52, {0, 4, 0x61, 1}}}, bad},
                           {"skip L", "pull_n9000", {{48, {0, 0, 0x23, 0x08}}, {52, {0, 0, 0, 1}}}, bad},
                           {"skip 4 GiB - 1", "pull_n9000", {{48, {255, 255, 255, 255}}}, bad},
                           {"frame * L overflows", "pull_n9000", {{56, {0, 7, 0x4e, 0xca}}}, bad},
                           {"last frame", "pull_n9000", {{56, {0, 7, 0x4e, 0xc9}}}, ok},
                           {"of dialect W", "pull_w", {}, EMX_CNT_DROP_DIALECT_PULL},
                           {"of dialect W, beyond its message", "pull_w", {{24, {0, 0, 0, 0}}}, bad},
                       });
}

TEST_CASE("fw_check__other_rows")
{
    run(sizes_w(),
        {
            {"reply beyond the frame", "pull_reply_w", {}, EMX_CNT_DROP_LENGTH, 4127},
            {"reply of 65535", "pull_reply_w", {{18, {255, 255}}}, EMX_CNT_DROP_LENGTH},
            {"truc data part of 15", "truc", {{20, {15}}}, EMX_CNT_DROP_DATA_PART},
            {"truc kind 0x54", "truc", {{28, {0x54}}}, EMX_CNT_DROP_TRUC},
            {"truc copies differ", "truc", {{32, {0}}}, EMX_CNT_DROP_TRUC},
            {"connect data part of 15", "connect_request", {{20, {15}}}, EMX_CNT_DROP_DATA_PART},
            {"connect data part of 17", "connect_request", {{20, {17}}}, ok},
            {"connect session none", "connect_request", {{32, {255, 255, 255, 255}}}, EMX_CNT_DROP_CONNECT},
            {"connect key of ones", "connect_request", {{36, {255, 255, 255, 255}}}, ok},
            {"reply session none", "connect_reply", {{36, {255, 255, 255, 255}}}, EMX_CNT_DROP_CONNECT},
            {"reply echo none", "connect_reply", {{32, {255, 255, 255, 255}}}, EMX_CNT_DROP_CONNECT},
            {"reply status 11", "connect_reply", {{44, {11}}}, ok},
            {"reply status 1", "connect_reply", {{44, {1}}}, EMX_CNT_DROP_CONNECT},
            {"request with garbage status", "connect_request", {{44, {1}}}, ok},
            {"nack lib reason 0", "nack_lib", {{19, {0}}}, EMX_CNT_DROP_NACK},
            {"nack lib reason 3", "nack_lib", {{19, {3}}}, ok},
            {"nack lib reason 4", "nack_lib", {{19, {4}}}, EMX_CNT_DROP_NACK},
            {"nack mcp reason 0", "nack_mcp", {{19, {0}}}, EMX_CNT_DROP_NACK},
            {"nack mcp reason 4", "nack_mcp", {{19, {4}}}, ok},
            {"nack mcp reason 5", "nack_mcp", {{19, {5}}}, EMX_CNT_DROP_NACK},
        });
}

TEST_CASE("fw_check__host_rows")
{
    int bad = EMX_CNT_DROP_HOST;
    run(sizes_w(), {
                       {"name length 0", "host_reply", {{17, {0}}}, bad},
                       {"name length 81", "host_reply", {{17, {81}}}, bad, 200},
                       {"name length 1", "host_reply", {{17, {1}}, {32, {0}}}, ok},
                       {"name beyond the frame", "host_reply", {{17, {29}}}, bad, 60},
                       {"name not terminated", "host_reply", {{17, {7}}}, bad},
                       {"escape in the name", "host_reply", {{33, {0x1b}}}, bad},
                       {"delete in the name", "host_reply", {{33, {0x7f}}}, bad},
                       {"NUL within the name", "host_reply", {{17, {9}}}, bad},
                       {"beacon of 60 bytes", "beacon", {}, ok, 60},
                       {"upper 16 bits of the address", "beacon", {{33, {1}}}, EMX_CNT_DROP_RAW},
                       {"address 0", "beacon", {{34, {0, 0, 0, 0, 0, 0}}}, EMX_CNT_DROP_RAW},
                       {"multicast address", "beacon", {{34, {3}}}, EMX_CNT_DROP_RAW},
                   });
    Bytes ours = patched("beacon", {{34, {2, 0, 0, 0, 0, 0xb}}});
    REQUIRE(check(sizes_w(), ours, mac_b) == EMX_CNT_DROP_RAW);
    Bytes longest = patched("host_reply", {{17, {80}}}, 112);
    std::fill(longest.begin() + 32, longest.begin() + 111, 'x');
    longest[111] = 0;
    REQUIRE(check(sizes_w(), longest) == ok);
    longest.resize(111);
    REQUIRE(check(sizes_w(), longest) == bad);
}
