// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The checker itself: it takes what the model writes in each type and dialect, and refuses every change
// that the wire specification forbids.
#include "checker.hpp"

#include <tests/support/golden.hpp>

#include <catch2/catch.hpp>

#include <functional>

using namespace emx::model;

namespace {

constexpr uint64_t us_mac = 0x02000000000a, peer_mac = 0x02000000000b;

/// A right packet of that type.
Packet sample(uint8_t type)
{
    Packet p;
    p.type = type;
    p.dst = peer_mac;
    p.src = us_mac;
    p.tag = 3;
    p.to = 5;
    p.from = 2;
    p.session = p.own_session = 0xa1b2c3d4;
    p.match = 0xbabe0000c0ffee01;
    p.seq = 4;
    p.ack = 1;
    p.index = 1;
    p.reason = 2;
    p.name = "nodeb:0";
    p.handle = 0x400023;
    p.counter = 1;
    p.window = 7;
    p.length = type == rndv || type == pull || type == notify ? 100000 : 0;
    p.block_length = 32768;
    p.frame_index = 8;
    if (type == tiny || type == small || type == medium) {
        p.length = type == tiny ? 5 : type == small ? 33 : 1000;
        p.data.resize(p.length, 0x77);
    }
    if (type == pull_reply) {
        p.frame_number = 9;
        p.position = 9 * 4096;
        p.data.resize(4096, 0x77);
    }
    return p;
}

Bytes frame_of(uint8_t type, const std::function<void(Packet &)> &change = {})
{
    Packet p = sample(type);
    if (change)
        change(p);
    Bytes f = write(dialect_w(), p, {});
    if (type == truc) { // the model leaves what is uncertain; we send the ack again
        f[40] = f[30];
        f[41] = f[31];
    }
    return f;
}

void refused(const Bytes &frame, const char *rule)
{
    INFO(rule);
    CHECK_THROWS_AS(read_strictly(dialect_w(), frame), Violation);
}

const uint8_t types[] = {host_query, host_reply, truc,       connect, tiny,     small,   medium,
                         rndv,       pull,       pull_reply, notify,  nack_lib, nack_mcp};

} // namespace

TEST_CASE("a right frame of each type is taken, and read as it was written")
{
    for (uint8_t type : types) {
        INFO(type_name(type));
        Packet p = read_strictly(dialect_w(), frame_of(type));
        Packet s = sample(type);
        CHECK(p.type == type);
        CHECK(p.src == s.src);
        CHECK(p.data == s.data);
        if (is_sequenced(type)) {
            CHECK(p.seq == s.seq);
            CHECK(p.session == s.session);
            CHECK(p.length == s.length);
        }
    }
}

TEST_CASE("no type may be short, cut, long, or have something in padding and reserved bytes")
{
    for (uint8_t type : types) {
        INFO(type_name(type));
        Bytes f = frame_of(type);
        Bytes cut(f.begin(), f.begin() + 59);
        refused(cut, "short");
        Bytes lengthened = f;
        lengthened.push_back(0);
        refused(lengthened, "trailing byte");
        if (f.size() == 60) {
            Bytes padded = f;
            padded[59] = 1;
            if (type != connect && type != rndv && type != pull)
                refused(padded, "padding");
        }
        Bytes foreign = f;
        foreign[12] = 8;
        refused(foreign, "EtherType");
        Bytes wide = f;
        wide[0] |= 1;
        refused(wide, "multicast");
    }
}

TEST_CASE("frames that abort or crash an Open-MX host are refused")
{
    for (unsigned reason : {0u, 4u, 5u, 255u})
        refused(frame_of(nack_lib, [&](Packet &p) { p.reason = static_cast<uint8_t>(reason); }), "NACK LIB");
    for (unsigned reason : {0u, 5u, 6u, 255u})
        refused(frame_of(nack_mcp, [&](Packet &p) { p.reason = static_cast<uint8_t>(reason); }), "NACK MCP");
    for (unsigned reason = 1; reason <= 3; reason++)
        CHECK_NOTHROW(read_strictly(
            dialect_w(), frame_of(nack_lib, [&](Packet &p) { p.reason = static_cast<uint8_t>(reason); })));
    Bytes name = frame_of(host_reply);
    for (unsigned n : {0u, 7u, 9u, 81u, 255u}) {
        name[17] = static_cast<uint8_t>(n);
        refused(name, "name length");
    }
    refused(frame_of(host_reply, [](Packet &p) { p.name = "a\nb"; }), "control character");
    Bytes beacon(64);
    std::fill(beacon.begin(), beacon.begin() + 6, uint8_t{0xff});
    beacon[6] = beacon[34] = 2;
    beacon[12] = 0x86;
    beacon[13] = 0xdf;
    beacon[16] = raw;
    CHECK_NOTHROW(read_strictly(dialect_w(), beacon));
    beacon.resize(65);
    refused(beacon, "RAW of 65 bytes");
}

TEST_CASE("a PULL asks for a block of the message and nothing else")
{
    auto bad = [](const char *rule, const std::function<void(Packet &)> &change) {
        refused(frame_of(pull, change), rule);
    };
    bad("skip of a frame", [](Packet &p) { p.skip = 4096; });
    bad("skip in a later block", [](Packet &p) { p.skip = 1; });
    bad("no length", [](Packet &p) { p.block_length = 0; });
    bad("not whole frames", [](Packet &p) { p.block_length = 32767; });
    bad("more than a block", [](Packet &p) { p.block_length = 32768 + 4096; });
    bad("behind the end", [](Packet &p) { p.frame_index = 32; });
    bad("last block too long", [](Packet &p) { p.frame_index = 24; });
    bad("offset without skip", [](Packet &p) {
        p.frame_index = 0;
        p.window_offset = 3840;
    });
    // Section 15.18.
    const uint32_t blocks[4][3] = {{0, 3840, 28928}, {8, 0, 32768}, {16, 0, 32768}, {24, 0, 5536}};
    for (auto &b : blocks)
        CHECK_NOTHROW(read_strictly(dialect_w(), frame_of(pull, [&](Packet &p) {
                                        p.window_offset = 3840;
                                        p.frame_index = b[0];
                                        p.skip = b[1];
                                        p.block_length = b[2];
                                    })));
}

TEST_CASE("sizes, numbers and sessions")
{
    refused(frame_of(tiny, [](Packet &p) { p.data.resize(p.length = 33); }), "TINY of 33");
    refused(frame_of(small, [](Packet &p) { p.data.resize(p.length = 129); }), "SMALL of 129");
    refused(frame_of(small, [](Packet &p) { p.data.resize(p.length = 32); }), "SMALL of 32");
    refused(frame_of(medium, [](Packet &p) { p.length = 999; }), "fragment beyond the end");
    refused(frame_of(medium, [](Packet &p) { p.length = 5000; }), "first fragment not full");
    refused(frame_of(medium, [](Packet &p) { p.fragment = 8; }), "fragment number");
    refused(frame_of(medium, [](Packet &p) { p.exponent = 13; }), "exponent");
    refused(frame_of(pull_reply, [](Packet &p) { p.data.clear(); }), "empty reply");
    for (uint8_t type : {tiny, notify, pull, truc})
        refused(frame_of(type, [](Packet &p) { p.session = no_session; }), "session");
    refused(frame_of(connect, [](Packet &p) { p.own_session = no_session; }), "session of a connect");
    Bytes kind = frame_of(truc);
    kind[28] = 0x56;
    refused(kind, "kind of TRUC");
    Bytes copies = frame_of(truc);
    copies[35] ^= 1;
    refused(copies, "session copies");
}

TEST_CASE("tags and sessions are those that the receiver told")
{
    Checker c;
    Packet theirs = sample(connect);
    std::swap(theirs.src, theirs.dst);
    std::swap(theirs.to, theirs.from);
    theirs.index = 3;
    c.told(theirs);
    CHECK_NOTHROW(c.sent(dialect_w(), frame_of(tiny)));
    CHECK_THROWS_AS(c.sent(dialect_w(), frame_of(tiny, [](Packet &p) { p.tag = 4; })), Violation);
    CHECK_THROWS_AS(c.sent(dialect_w(), frame_of(tiny, [](Packet &p) { p.tag = no_index; })), Violation);
    CHECK_THROWS_AS(c.sent(dialect_w(), frame_of(tiny, [](Packet &p) { p.session = 1; })), Violation);
    CHECK_THROWS_AS(c.sent(dialect_w(), frame_of(connect, [](Packet &p) { p.index = no_index; })), Violation);
    c.distrust();
    CHECK_NOTHROW(c.sent(dialect_w(), frame_of(tiny, [](Packet &p) { p.session = 1; })));
}

TEST_CASE("an offer of the extension is whole and right")
{
    for (const char *name : {"connect_request_offer", "connect_reply_offer"}) {
        INFO(name);
        const Bytes f = emx::test::golden(EMX_WIRE_FOLDER, name);
        CHECK(read_strictly(dialect_w(), f).offers);
        for (size_t i = 48; i < f.size(); i++) {
            Bytes other = f;
            other[i] ^= 0x10;
            refused(other, "a byte of the offer");
        }
        Bytes other = f;
        other[39] ^= 1;
        refused(other, "of another session");
        other = f;
        other.pop_back();
        refused(other, "cut");
    }
    CHECK_FALSE(read_strictly(dialect_w(), frame_of(connect)).offers);
}

TEST_CASE("of a pack that was not kept whole the messages that were are judged")
{
    Bytes f = emx::test::golden(EMX_WIRE_FOLDER, "x_pack");
    std::fill_n(f.begin() + 32, 4, uint8_t{0}); // no checksum
    f[64] = 0x22; // length of the second message
    refused(f, "its messages");
    CHECK_NOTHROW(read_strictly(dialect_w(), f, 64));
    f[49] = 129; // of the first one
    CHECK_THROWS_AS(read_strictly(dialect_w(), f, 64), Violation);
}

TEST_CASE("a connection goes to an address and a port, or to where datagrams go")
{
    const auto with = [](const char *name, const std::vector<size_t> &zeros) {
        Bytes f = emx::test::golden(EMX_WIRE_FOLDER, name);
        for (const size_t at : zeros)
            f[at] = 0;
        return f;
    };
    const std::vector<size_t> address{28, 29, 30, 31}, port{40, 41}, both{28, 29, 30, 31, 40, 41};
    CHECK_NOTHROW(read_strictly(dialect_w(), with("x_address_tcp", both)));
    CHECK_THROWS_AS(read_strictly(dialect_w(), with("x_address_tcp", address)), Violation);
    CHECK_THROWS_AS(read_strictly(dialect_w(), with("x_address_tcp", port)), Violation);
    CHECK_THROWS_AS(read_strictly(dialect_w(), with("x_address", both)), Violation);
}

TEST_CASE("packets of the extension are taken as laid down, and no other")
{
    const struct {
        const char *name;
        size_t checksum; ///< 0: has none
        std::vector<std::pair<size_t, uint8_t>> wrong; ///< byte and value
    } rows[] = {
        {"x_medium", 48, {{19, 1}, {23, 0x29}, {45, 41}, {46, 32}, {46, 4}, {47, 1}, {52, 1}}},
        {"x_report", 0, {{19, 2}, {39, 29}, {39, 27}}},
        {"x_pull", 0, {{19, 6}, {19, 8}, {47, 4}, {48, 0x80}, {40, 0}, {63, 1}}},
        {"x_pull_tcp", 0, {{19, 6}, {19, 12}, {41, 0xd8}, {47, 16}}},
        {"x_data", 36, {{19, 1}, {35, 0}, {35, 63}, {35, 65}}},
        {"x_pack", 32, {{19, 1}, {20, 1}, {21, 69}, {23, 2}, {23, 4}, {36, 1}, {48, 1}, {49, 6}}},
        {"x_address", 0, {{19, 3}, {19, 5}, {28, 0}, {28, 127}, {28, 224}, {41, 0xe2}, {44, 1}}},
        {"x_address_tcp", 0, {{19, 5}, {19, 6}, {19, 8}, {41, 0xe2}, {43, 0xe4}}},
        {"x_group", 36, {{0, 1}, {5, 2}, {14, 0}, {17, 1}, {19, 1}, {27, 2}, {33, 20}, {33, 22}, {34, 1}}},
    };
    for (auto &row : rows) {
        INFO(row.name);
        Bytes f = emx::test::golden(EMX_WIRE_FOLDER, row.name);
        CHECK_NOTHROW(read_strictly(dialect_w(), f));
        if (row.checksum) {
            Bytes other = f;
            other.back() ^= 1;
            refused(other, "a checksum");
            std::fill_n(f.begin() + static_cast<std::ptrdiff_t>(row.checksum), 4, uint8_t{0}); // none
        }
        CHECK_NOTHROW(read_strictly(dialect_w(), f));
        for (auto [at, value] : row.wrong) {
            INFO(at << " " << int(value));
            Bytes other = f;
            other[at] = value;
            refused(other, row.name);
        }
    }
}

TEST_CASE("a peer that did not agree to the extension is not sent it")
{
    const Bytes request = emx::test::golden(EMX_WIRE_FOLDER, "connect_request_offer");
    const Bytes reply = emx::test::golden(EMX_WIRE_FOLDER, "connect_reply_offer");
    const Bytes fragment = emx::test::golden(EMX_WIRE_FOLDER, "x_medium"); // to the replier
    const Bytes data = emx::test::golden(EMX_WIRE_FOLDER, "x_data");
    Packet told; // the index that B gives A, and A's for B
    told.type = host_query;
    auto meet = [&](Checker &c) {
        told.src = us_mac;
        told.dst = peer_mac;
        told.index = 1;
        c.told(told);
        std::swap(told.src, told.dst);
        told.index = 3;
        c.told(told);
    };
    Checker c;
    meet(c);
    CHECK_THROWS_AS(c.sent(dialect_w(), reply), Violation); // to a request without an offer
    CHECK_THROWS_AS(c.sent(dialect_w(), fragment), Violation);
    CHECK_THROWS_AS(c.sent(dialect_w(), data), Violation); // to who never said how long a frame it takes
    CHECK_NOTHROW(c.sent(dialect_w(), request));
    CHECK_THROWS_AS(c.sent(dialect_w(), fragment), Violation); // not answered yet
    CHECK_NOTHROW(c.sent(dialect_w(), reply));
    CHECK_NOTHROW(c.sent(dialect_w(), data));
    CHECK_NOTHROW(c.sent(dialect_w(), fragment));
    Bytes other = fragment;
    other[36] ^= 1; // another session
    for (auto [at, value] : {std::pair{48u, 0xda}, std::pair{49u, 0x73}, std::pair{50u, 0x1c},
                             std::pair{51u, 0x54}}) // and its checksum
        other[at] = static_cast<uint8_t>(value);
    CHECK_THROWS_WITH(c.sent(dialect_w(), other),
                      Catch::Contains("without an agreement") || Catch::Contains("never had"));
    other = fragment;
    std::fill_n(other.begin() + 48, 4, uint8_t{0});
    CHECK_THROWS_WITH(c.sent(dialect_w(), other), Catch::Contains("no checksum"));
    other = fragment;
    other[60] ^= 1;
    CHECK_THROWS_WITH(c.sent(dialect_w(), other), Catch::Contains("wrong checksum"));
    CHECK_THROWS_WITH(c.sent(dialect_w(), other, other.size()), Catch::Contains("wrong checksum"));
    CHECK_NOTHROW(c.sent(dialect_w(), other, other.size() - 1)); // the rest was not kept
}

TEST_CASE("large messages go by datagrams or TCP to those that take them so")
{
    const auto golden = [](const char *name) { return emx::test::golden(EMX_WIRE_FOLDER, name); };
    /// Puller and replier of the golden frames, the latter with these features.
    const auto met = [](Checker &c, uint16_t features) {
        Packet offer;
        offer.type = connect;
        offer.offers = true;
        offer.index = 3;
        offer.frame_max = 9014;
        offer.src = 0x02000000000b;
        offer.dst = 0x02000000000a;
        offer.from = 5;
        offer.to = 2;
        offer.own_session = 0xa1b2c3d4;
        c.told(offer);
        std::swap(offer.src, offer.dst);
        std::swap(offer.from, offer.to);
        offer.is_reply = true;
        offer.index = 1;
        offer.own_session = 0x11223344;
        offer.features = features;
        c.told(offer);
    };
    const auto refused_by = [&](uint16_t features, Bytes frame, uint8_t flags) {
        Checker c;
        met(c, features);
        frame[19] = flags;
        try {
            c.sent(dialect_w(), frame);
        } catch (const Violation &) {
            return true;
        }
        return false;
    };
    const Bytes pull_frame = golden("x_pull"), pull_tcp = golden("x_pull_tcp");
    constexpr uint16_t pulls = 8, datagrams = 16, tcp = 64;
    CHECK_FALSE(refused_by(pulls, pull_frame, 0));
    CHECK(refused_by(datagrams | tcp, pull_frame, 0)); // it serves none
    CHECK(refused_by(pulls | tcp, pull_frame, 2));
    CHECK_FALSE(refused_by(pulls | datagrams, pull_frame, 2));
    CHECK(refused_by(pulls | datagrams, pull_frame, 4));
    CHECK_FALSE(refused_by(pulls | tcp, pull_frame, 4));
    CHECK_FALSE(refused_by(pulls | tcp, pull_tcp, 5));
    CHECK(refused_by(pulls | tcp | datagrams, pull_tcp, 0)); // longer than a frame
    CHECK(refused_by(pulls | tcp | datagrams, pull_tcp, 2));
    Bytes address = golden("x_address_tcp"); // of the puller, to the replier
    std::swap_ranges(address.begin(), address.begin() + 6, address.begin() + 6);
    std::swap(address[17], address[18]);
    address[15] = 1;
    std::swap_ranges(address.begin() + 20, address.begin() + 24, address.begin() + 24);
    address[41] = 0xe4;
    CHECK(refused_by(pulls | datagrams, address, 4));
    CHECK_FALSE(refused_by(pulls | tcp, address, 4));
    CHECK(refused_by(pulls | tcp, address, 0));
    CHECK(refused_by(pulls | tcp, address, 2));
}
