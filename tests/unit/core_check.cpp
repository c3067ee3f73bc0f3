// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Frames that fw_check drops: rules 1 to 6 and the malformed cases of the wire specification, section 13.
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
    for (const char *name : {"beacon",        "host_query",
                             "host_reply",    "connect_request",
                             "connect_reply", "tiny",
                             "small",         "medium_w",
                             "rndv",          "pull_w",
                             "pull_reply_w",  "notify",
                             "truc",          "nack_lib",
                             "nack_mcp",      "x_medium",
                             "x_report",      "x_pull",
                             "x_data",        "x_address",
                             "x_pack",        "connect_request_offer"})
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
                       {"of dialect N: to be refused", "pull_n9000", {}, ok},
                       {"of dialect N, bytes behind its tag", "pull_n9000", {{35, {1}}}, bad},
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
                           {"of dialect W: to be refused", "pull_w", {}, ok},
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

TEST_CASE("fw_check__extension_rows")
{
    int bad = EMX_CNT_DROP_FRAGMENT;
    run(sizes_n(1500),
        {
            {"as it is", "x_medium", {}, ok},
            {"beyond the frame", "x_medium", {}, EMX_CNT_DROP_LENGTH, 97},
            {"beyond the message", "x_medium", {{22, {0x23, 0x27}}}, bad},
            {"before its end, not full", "x_medium", {{22, {0x23, 0x29}}}, bad},
            {"empty", "x_medium", {{44, {0, 0}}}, bad},
            {"empty message", "x_medium", {{20, {0, 0, 0, 0}}, {40, {0, 0, 0, 0}}, {44, {0, 0, 0}}}, ok},
            {"empty message, fragment 1",
             "x_medium",
             {{20, {0, 0, 0, 0}}, {40, {0, 0, 0, 0}}, {44, {0, 0}}},
             bad},
            {"position 0 of fragment 1", "x_medium", {{40, {0, 0, 0, 0}}}, bad},
            {"position of fragment 0", "x_medium", {{46, {0}}}, bad},
            {"uneven", "x_medium", {{46, {4}}}, bad},
            {"number 32", "x_medium", {{46, {32}}}, bad},
            {"too many fragments", "x_medium", {{40, {0, 0, 0, 42}}}, bad},
            {"longest fragment",
             "x_medium",
             {{20, {0, 1, 0, 0}}, {40, {0, 0, 0x80, 0}}, {44, {0x80, 0}}},
             ok,
             56 + 32768},
            {"longer than any fragment",
             "x_medium",
             {{20, {0, 1, 0, 2}}, {40, {0, 0, 0x80, 1}}, {44, {0x80, 1}}},
             bad,
             56 + 32769},
            {"longest", "x_medium", {{20, {0, 4, 0, 0}}, {40, {0, 3, 0xff, 0xd6}}, {46, {31}}}, bad},
            {"one byte longer", "x_medium", {{20, {0, 4, 0, 1}}, {40, {0, 3, 0xff, 0xd7}}}, bad},
            {"garbage in reserved bytes", "x_medium", {{19, {9}}, {47, {9}}, {52, {9, 9, 9, 9}}}, ok},
            {"report as it is", "x_report", {}, ok},
            {"report beyond the frame", "x_report", {}, EMX_CNT_DROP_LENGTH, 67},
            {"report without state", "x_report", {{38, {0, 0}}}, ok, 60},
            {"report of a newer version", "x_report", {{38, {0, 60}}}, ok, 100},
            {"report with unknown flags", "x_report", {{19, {0xfe}}}, ok},
        });
    bad = EMX_CNT_DROP_PULL_SHAPE;
    run(sizes_w(), {
                       {"as it is", "x_pull", {}, ok},
                       {"total 0", "x_pull", {{24, {0, 0, 0, 0}}}, bad},
                       {"just so long", "x_pull", {{24, {0, 1, 0x81, 0x9b}}}, ok},
                       {"last frame behind the end", "x_pull", {{24, {0, 1, 0x81, 0x9a}}}, bad},
                       {"first frame not wanted", "x_pull", {{48, {0x80}}}, bad},
                       {"nothing wanted", "x_pull", {{48, {0, 0}}}, bad},
                       {"frame 2^32 - 1", "x_pull", {{44, {255, 255, 255, 255}}}, bad},
                       {"unit 63", "x_pull", {{40, {0, 63}}}, bad},
                       {"unit 64", "x_pull", {{40, {0, 64}}}, ok},
                       {"unit 65496", "x_pull", {{40, {255, 0xd8}}, {24, {255}}}, bad},
                       {"unit 65495", "x_pull", {{40, {255, 0xd7}}, {24, {255}}}, ok},
                       {"data as it is", "x_data", {}, ok},
                       {"data beyond the frame", "x_data", {}, EMX_CNT_DROP_LENGTH, 103},
                       {"no data", "x_data", {{34, {0, 0}}}, EMX_CNT_DROP_REPLY_SHAPE},
                       {"data with garbage in its reserved byte", "x_data", {{19, {9}}}, ok},
                   });
}

TEST_CASE("fw_check__packs")
{
    const int bad = EMX_CNT_DROP_LENGTH;
    run(sizes_w(), {
                       {"pack as it is", "x_pack", {}, ok},
                       {"garbage in its reserved bytes", "x_pack", {{19, {9}}, {36, {1, 2, 3, 4}}}, ok},
                       {"no message", "x_pack", {{22, {0, 0}}}, bad},
                       {"more messages than bytes for them", "x_pack", {{22, {0, 7}}}, bad},
                       {"more than 255 messages", "x_pack", {{22, {1, 0}}, {20, {10, 0}}}, bad, 2700},
                       {"255 messages", "x_pack", {{22, {0, 255}}, {20, {9, 246}}}, ok, 2700},
                       {"long messages", "x_pack", {{20, {2, 0}}}, ok, 600},
                       {"beyond the frame", "x_pack", {}, bad, 107},
                   });
}

TEST_CASE("fw_check__addresses_for_datagrams")
{
    const int bad = EMX_CNT_DROP_ADDRESS;
    run(sizes_w(), {
                       {"address as it is", "x_address", {}, ok},
                       {"address with unknown flags", "x_address", {{19, {0xfe}}}, ok},
                       {"of network 0", "x_address", {{28, {0}}}, bad},
                       {"of this host", "x_address", {{28, {127}}}, bad},
                       {"of a group", "x_address", {{28, {224}}}, bad},
                       {"of the last network", "x_address", {{28, {223}}}, ok},
                       {"no secret", "x_address", {{32, {0, 0, 0, 0, 0, 0, 0, 0}}}, bad},
                       {"another endpoint's port", "x_address", {{41, {0xe0}}}, bad},
                       {"another endpoint", "x_address", {{18, {1}}}, bad},
                       {"datagrams of 103 bytes", "x_address", {{42, {0, 103}}}, bad},
                       {"datagrams of 104 bytes", "x_address", {{42, {0, 104}}}, ok},
                       {"datagrams of 65507 bytes", "x_address", {{42, {0xff, 0xe3}}}, ok},
                       {"datagrams of 65508 bytes", "x_address", {{42, {0xff, 0xe4}}}, bad},
                   });
}

TEST_CASE("fw_check__addresses_for_connections")
{
    const int bad = EMX_CNT_DROP_ADDRESS;
    const Patch nowhere{28, {0, 0, 0, 0}}, no_port{40, {0, 0}};
    run(sizes_w(),
        {
            {"address as it is", "x_address_tcp", {}, ok},
            {"of network 0", "x_address_tcp", {{28, {0}}}, bad},
            {"where datagrams go", "x_address_tcp", {nowhere, no_port}, ok},
            {"of no host at a port", "x_address_tcp", {nowhere}, bad},
            {"of a host at no port", "x_address_tcp", {no_port}, bad},
            {"where datagrams go, of datagrams", "x_address", {nowhere, no_port}, bad},
            {"where datagrams go, without a secret",
             "x_address_tcp",
             {nowhere, no_port, {32, {0, 0, 0, 0, 0, 0, 0, 0}}},
             bad},
            {"where datagrams go, short ones", "x_address_tcp", {nowhere, no_port, {42, {0, 103}}}, bad},
        });
}

namespace {

/// The offer that fw_check sees in a frame, which must be a sound CONNECT.
uint64_t offer_of(const Bytes &frame)
{
    std::unique_ptr<uint8_t[]> exact(new uint8_t[frame.size()]);
    std::copy(frame.begin(), frame.end(), exact.get());
    const fw_sizes w = sizes_w();
    fw_pkt pkt;
    REQUIRE(fw_check(&w, 0, exact.get(), static_cast<uint32_t>(frame.size()), &pkt) == 0);
    return pkt.msg.match;
}

/// Gives a CONNECT that offer and the check value that belongs to it.
void put_offer(Bytes &frame, uint64_t offer)
{
    const emx_be64 fields = emx_put64(offer);
    std::memcpy(&frame[48], &fields, sizeof fields);
    const emx_be64 right = emx_put64(fw_offer_check(frame.data()));
    std::memcpy(&frame[56], &right, sizeof right);
}

} // namespace

TEST_CASE("fw_check__offer_is_taken_only_from_the_frame_it_was_made_for")
{
    for (const char *name : {"connect_request_offer", "connect_reply_offer"}) {
        CAPTURE(name);
        const Bytes frame = golden(EMX_WIRE_FOLDER, name);
        const uint64_t offer = offer_of(frame);
        REQUIRE(offer != 0);
        Bytes longer = frame;
        longer.resize(200, 0x5a);
        REQUIRE(offer_of(longer) == offer);
        Bytes shorter = frame;
        shorter.resize(63);
        REQUIRE(offer_of(shorter) == 0);
        for (std::size_t i = 0; i < frame.size(); i++) {
            // No offer depends on these: EtherType, tag, data length, number, advert, status, reserved bytes.
            const bool covered = i < 12 || (i >= 17 && i < 19) || (i >= 32 && i < 44) || i >= 48;
            Bytes other = frame;
            other[i] ^= i == 42 ? 2 : 0x40; // a kind of 2 instead of 0 or 3 instead of 1 stays a kind
            CAPTURE(i);
            if (covered && i != 0 && i != 6 && !(i == 42 && frame[42] == 0))
                REQUIRE(offer_of(other) == 0);
            else if (i > 18 && i < 48 && i != 20 && i != 42 && i != 44)
                REQUIRE(offer_of(other) == offer);
        }
    }
}

TEST_CASE("fw_check__offer_with_impossible_fields_is_none")
{
    Bytes frame = golden(EMX_WIRE_FOLDER, "connect_request_offer");
    auto with = [&](uint64_t offer) {
        put_offer(frame, offer);
        return offer_of(frame) == offer;
    };
    REQUIRE(with(emx_offer(1, 1, 0, 256, 1)));
    REQUIRE(with(emx_offer(255, 255, 0xffff, 65535, 65535)));
    REQUIRE(with(emx_offer(7, 3, 0, 9014, 32)));
    REQUIRE_FALSE(with(emx_offer(1, 0, 0, 9014, 32)));
    REQUIRE_FALSE(with(emx_offer(1, 2, 0, 9014, 32)));
    REQUIRE_FALSE(with(emx_offer(1, 1, 0, 255, 32)));
    REQUIRE_FALSE(with(emx_offer(1, 1, 0, 9014, 0)));
}

// A stranger's CONNECT, as Open-MX makes it: its own fields, and in all other bytes whatever lay there, which
// is a frame of ours at any distance. Such a frame may hold the very offer that we made to it, or it to us.
TEST_CASE("fw_check__stale_copies_of_our_frames_offer_nothing")
{
    std::vector<Bytes> ours;
    for (const char *name :
         {"connect_request_offer", "connect_reply_offer", "tiny", "x_medium", "x_report", "x_pull", "x_data"})
        ours.push_back(golden(EMX_WIRE_FOLDER, name));
    const std::pair<std::size_t, std::size_t> kept[] = {{0, 14}, {16, 19}, {20, 21}, {24, 28}, {32, 44}};
    std::size_t tried = 0;
    for (const char *name : {"connect_request", "connect_reply"})
        for (const bool turned : {false, true}) {
            Bytes stranger = golden(EMX_WIRE_FOLDER, name);
            if (turned) { // from whom our offer went to
                std::swap_ranges(stranger.begin(), stranger.begin() + 6, stranger.begin() + 6);
                std::swap(stranger[17], stranger[18]);
            }
            // Another session than the one that offered: the same would be the same host.
            stranger[std::string(name) == "connect_reply" ? 39 : 35] ^= 1;
            for (const Bytes &stale : ours)
                for (int shift = -63; shift < 64; shift++)
                    for (std::size_t size : {60u, 64u, 80u, 200u}) {
                        Bytes frame(size);
                        for (std::size_t i = 0; i < size; i++) {
                            const auto from = static_cast<std::ptrdiff_t>(i) + shift;
                            frame[i] = stale[static_cast<std::size_t>(from + std::ptrdiff_t{64} * 256) %
                                             stale.size()];
                        }
                        for (auto [from, to] : kept)
                            std::copy(stranger.begin() + static_cast<std::ptrdiff_t>(from),
                                      stranger.begin() + static_cast<std::ptrdiff_t>(to),
                                      frame.begin() + static_cast<std::ptrdiff_t>(from));
                        if (stranger[42])
                            frame[44] = 0; // status
                        if (offer_of(frame) != 0) {
                            CAPTURE(name, turned, shift, size);
                            REQUIRE(offer_of(frame) == 0);
                        }
                        tried++;
                    }
        }
    REQUIRE(tried == ours.size() * 2 * 2 * 127 * 4);
}
