// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Encoding and decoding (fw_encode, fw_check): golden frames, random packets, sizes.
#include "core_board.hpp"

#include <tests/support/golden.hpp>
#include <tests/support/mutate.h>

#include <catch2/catch.hpp>

#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <tuple>

using namespace emx::test;

namespace {

constexpr uint64_t match = 0xbabe0000c0ffee01;
constexpr uint32_t session_a = 0x11223344, session_b = 0xa1b2c3d4;
constexpr uint32_t handle = 0x00400023, magic = 0x21071985;

fw_pkt packet(uint8_t type, bool to_b, uint16_t tag)
{
    fw_pkt p = zeroed<fw_pkt>();
    p.msg.type = type;
    p.dst_mac = to_b ? mac_b : mac_a;
    p.src_mac = to_b ? mac_a : mac_b;
    p.tag = tag;
    p.msg.local_ep = to_b ? 5 : 2;
    p.msg.remote_ep = to_b ? 2 : 5;
    p.msg.session = to_b ? session_b : session_a;
    return p;
}

fw_pkt host(uint8_t type, bool to_b, uint16_t tag, uint16_t advert)
{
    fw_pkt p = packet(type, to_b, tag);
    p.msg.local_ep = p.msg.remote_ep = 0;
    p.msg.session = 0;
    p.advert = advert;
    p.magic = 0x13052008;
    return p;
}

fw_pkt sequenced(uint8_t type, uint16_t seq, uint32_t msg_len, uint32_t data_len)
{
    fw_pkt p = packet(type, true, 3);
    p.msg.seq = seq;
    p.msg.ack = 1;
    p.msg.match = match;
    p.msg.msg_len = msg_len;
    p.msg.data_len = data_len;
    return p;
}

fw_pkt connect(bool reply)
{
    fw_pkt p = packet(EMX_CONNECT, !reply, reply ? 1 : 0xffff);
    p.advert = reply ? 3 : 1;
    p.msg.session = reply ? session_a : 0;
    p.msg.u.connect.session = reply ? session_b : session_a;
    p.msg.u.connect.key = reply ? 0 : 0x12345678;
    p.msg.u.connect.start = 1;
    p.msg.u.connect.is_reply = reply;
    return p;
}

fw_pkt pull(uint32_t length, uint32_t frame)
{
    fw_pkt p = packet(EMX_PULL, false, 1);
    p.total = 100000;
    p.window = 7;
    p.msg.u.window.id = 7;
    p.msg.u.window.tag = 0x2a;
    p.handle = handle;
    p.magic = magic;
    p.length = length;
    p.frame = frame;
    return p;
}

fw_pkt pull_reply()
{
    fw_pkt p = packet(EMX_PULL_REPLY, true, 3);
    p.msg.local_ep = 0x85;
    p.msg.remote_ep = 0;
    p.msg.session = 0;
    p.msg.data_len = p.length = 4096;
    p.frame = 9;
    p.position = 36864;
    p.handle = handle;
    p.magic = magic;
    return p;
}

fw_pkt window_packet(fw_pkt p)
{
    p.msg.u.window.id = 7;
    p.msg.u.window.tag = 0x2a;
    return p;
}

std::vector<fw_pkt> extension_packets()
{
    fw_pkt m = sequenced(EMX_X_MEDIUM, 3, 9000, 42);
    m.msg.u.medium.frag = 1;
    m.msg.u.medium.position = 8958;
    m.x.checksum = 0xed30ebe9;
    fw_pkt r = packet(EMX_X_REPORT, false, 1);
    r.msg.ack = 3;
    r.msg.seq = 1;
    r.msg.data_len = EMX_X_STATE_LEN;
    r.msg.u.report.counter = 7;
    r.msg.u.report.echo = 2;
    r.msg.u.report.room = 30;
    r.msg.u.report.ask = 1;
    fw_pkt p = pull(0, 3);
    p.msg.type = EMX_X_PULL;
    p.x.unit = 8974;
    p.x.request = 2;
    p.x.want[0] = 0x81; // frames 3 and 10
    p.x.want[1] = 1; // and 11
    fw_pkt d = packet(EMX_X_DATA, true, 3);
    d.msg.session = 0;
    d.msg.data_len = d.length = 64;
    d.handle = handle;
    d.magic = magic;
    d.frame = 1;
    d.x.request = 5;
    d.x.checksum = 0x33ced38a;
    fw_pkt a = packet(EMX_X_ADDRESS, true, 3);
    a.x.is_answer = 1;
    a.x.session = 0x11223344;
    a.x.address = 0x0a00000a;
    a.x.secret = 0x5ec7e70001020304;
    a.x.port = EMX_X_PORT + 2;
    a.x.bytes = 1472;
    fw_pkt k = packet(EMX_X_PACK, true, 3);
    k.msg.seq = 9;
    k.msg.ack = 1;
    k.msg.data_len = 3 * 10 + 5 + 33;
    k.msg.u.pack.count = 3;
    k.x.checksum = 0x1c13132c;
    return {m, r, p, d, a, k};
}

struct Golden {
    const char *name;
    fw_sizes sizes;
    fw_pkt pkt;
    uint32_t payload; ///< bytes behind the header
};

void add_extension(std::vector<Golden> &all)
{
    const fw_sizes w = sizes_w();
    fw_pkt c = connect(false);
    c.msg.match = emx_offer(1, 1, EMX_X_REPORTS | EMX_X_FRAGMENTS | EMX_X_PULLS, 9014, 32);
    all.push_back({"connect_request_offer", w, c, 0});
    c = connect(true);
    c.msg.match = emx_offer(1, 1, EMX_X_SUMS | EMX_X_FRAGMENTS, 4144, 16);
    all.push_back({"connect_reply_offer", w, c, 0});
    const char *names[] = {"x_medium", "x_report", "x_pull", "x_data", "", "x_address", "", "x_pack"};
    for (const fw_pkt &p : extension_packets())
        all.push_back({names[p.msg.type - EMX_X_MEDIUM], w, p, p.msg.data_len});
    fw_pkt m = sequenced(EMX_X_MEDIUM, 4, 2, 2);
    m.x.checksum = 0x90f04f76;
    all.push_back({"x_medium_short", w, m, 2});
}

std::vector<Golden> goldens()
{
    fw_sizes w = sizes_w(), n = sizes_n(9000);
    std::vector<Golden> all;
    auto add = [&](const char *name, const fw_sizes &s, fw_pkt p) {
        all.push_back({name, s, p, p.msg.data_len});
    };
    fw_pkt p = host(EMX_RAW, true, 0, 0);
    p.dst_mac = 0xffffffffffff;
    p.magic = 0;
    p.board = mac_a;
    p.serial = 0x5eed0001;
    add("beacon", w, p);
    add("host_query", w, host(EMX_HOST_QUERY, true, 0xffff, 1));
    p = host(EMX_HOST_REPLY, false, 1, 3);
    std::memcpy(p.name, "nodeb:0", 8);
    add("host_reply", w, p);
    add("connect_request", w, connect(false));
    add("connect_reply", w, connect(true));
    add("tiny", w, sequenced(EMX_TINY, 1, 5, 5));
    add("small", w, sequenced(EMX_SMALL, 2, 33, 33));
    p = sequenced(EMX_MEDIUM, 3, 5000, 904);
    p.exponent = 12;
    p.msg.u.medium.frag = 1;
    p.msg.u.medium.position = 4096;
    add("medium_w", w, p);
    add("medium_n9000", n, sequenced(EMX_MEDIUM, 3, 5000, 5000));
    add("rndv", w, window_packet(sequenced(EMX_RNDV, 4, 100000, 0)));
    add("pull_w", w, pull(0x8000, 8));
    add("pull_n9000", n, pull(100000, 0));
    add("pull_reply_w", w, pull_reply());
    p = window_packet(packet(EMX_NOTIFY, false, 1));
    p.msg.msg_len = 100000;
    p.msg.seq = 1;
    p.msg.ack = 5;
    add("notify", w, p);
    p = packet(EMX_TRUC, true, 3);
    p.msg.ack = 2;
    p.msg.u.truc.counter = 1;
    add("truc", w, p);
    p = packet(EMX_NACK_LIB, false, 1);
    p.msg.session = 0;
    p.msg.seq = 5;
    p.msg.u.nack.reason = EMX_NACK_CLOSED;
    add("nack_lib", w, p);
    p = packet(EMX_NACK_MCP, true, 3);
    p.msg.session = 0;
    p.msg.remote_ep = 0;
    p.msg.u.nack.reason = EMX_NACK_BAD_WINDOW;
    p.handle = handle;
    p.magic = magic;
    add("nack_mcp", w, p);
    add_extension(all);
    return all;
}

/// Bytes before the payload.
std::size_t header_of(const Golden &g)
{
    const uint8_t type = g.pkt.msg.type;
    return EMX_OUTER_LEN + (type == EMX_MEDIUM       ? sizeof(emx_w_medium)
                            : type == EMX_X_MEDIUM   ? sizeof(emx_w_x_medium)
                            : type == EMX_PULL_REPLY ? sizeof(emx_w_pull_reply)
                                                     : sizeof(emx_w_eager));
}

/// The golden frame with the payload that its file leaves out.
Bytes whole(const Golden &g)
{
    Bytes frame = golden(EMX_WIRE_FOLDER, g.name);
    frame.resize(std::max(frame.size(), g.payload ? header_of(g) + g.payload : EMX_FRAME_MIN));
    return frame;
}

/// Compares every byte of two packets but the payload's address and what is behind the name's end.
bool same(fw_pkt x, fw_pkt y)
{
    x.msg.data = y.msg.data = 0;
    auto extension = [](const fw_pkt &p) {
        return std::tie(p.x.checksum, p.x.request, p.x.unit, p.x.sum, p.x.carrier, p.x.tcp, p.x.is_answer,
                        p.x.secret, p.x.address, p.x.port, p.x.bytes, p.x.session);
    };
    if (x.msg.type >= EMX_X_MEDIUM &&
        (extension(x) != extension(y) || !std::equal(x.x.want, std::end(x.x.want), y.x.want)))
        return false;
    auto bytes = [](const fw_pkt &p) { return reinterpret_cast<const uint8_t *>(&p); };
    return std::equal(bytes(x), bytes(x) + offsetof(fw_pkt, name), bytes(y)) &&
           std::string(x.name) == std::string(y.name);
}

} // namespace

TEST_CASE("fw_encode__golden_frames")
{
    for (auto &g : goldens()) {
        CAPTURE(g.name);
        Bytes want = golden(EMX_WIRE_FOLDER, g.name);
        Bytes got(EMX_HEADER_MAX + EMX_NAME_MAX, 0xee);
        got.resize(fw_encode(&g.sizes, &g.pkt, got.data()));
        bool whole = want.size() >= EMX_FRAME_MIN; // otherwise the file holds the header only
        REQUIRE(got.size() <= want.size());
        if (!whole || g.payload == 0)
            got.resize(want.size()); // padding
        REQUIRE(got == Bytes(want.begin(), want.begin() + static_cast<std::ptrdiff_t>(got.size())));
    }
}

TEST_CASE("fw_check__golden_frames")
{
    for (auto &g : goldens()) {
        CAPTURE(g.name);
        const Bytes frame = whole(g);
        fw_pkt pkt;
        REQUIRE(fw_check(&g.sizes, g.pkt.dst_mac == 0xffffffffffff ? mac_b : g.pkt.dst_mac, frame.data(),
                         static_cast<uint32_t>(frame.size()), &pkt) == 0);
        REQUIRE(pkt.msg.data == (g.payload ? reinterpret_cast<uintptr_t>(frame.data()) + header_of(g) : 0));
        REQUIRE(same(pkt, g.pkt));
    }
}

TEST_CASE("fw_encode__every_type_has_a_golden_frame")
{
    auto all = goldens();
    for (unsigned type = 0; type < 256; type++) {
        bool golden_exists =
            std::any_of(all.begin(), all.end(), [&](auto &g) { return g.pkt.msg.type == type; });
        CAPTURE(type);
        REQUIRE(golden_exists == (fw_type_name(type) != nullptr));
        fw_pkt p = zeroed<fw_pkt>();
        p.msg.type = static_cast<uint8_t>(type);
        Bytes out(EMX_HEADER_MAX + EMX_NAME_MAX);
        fw_sizes w = sizes_w();
        REQUIRE((fw_encode(&w, &p, out.data()) != 0) == golden_exists);
    }
}

namespace {

/// Fields that the encoder writes in its own way: other values mean the same, or come from elsewhere.
bool is_said_otherwise(const fw_pkt &p, std::size_t at)
{
    const std::string names[] = {"data_part",    "is_reply",     "tag_copy",       "x_report_flags",
                                 "x_pull_flags", "x_state_size", "x_address_flags"};
    return std::any_of(std::begin(wire_fields), std::end(wire_fields), [&](const wire_field &x) {
        return x.type == p.msg.type && at >= x.at && at < std::size_t{x.at} + x.size &&
               std::find(std::begin(names), std::end(names), x.name) != std::end(names);
    });
}

/// Encodes what was read from the frame, which comes to the same frame and to the same packet.
void encode_again(const fw_sizes &s, const Bytes &frame, const fw_pkt &pkt)
{
    const char dialect = s.dialect == FW_DIALECT_W ? 'W' : 'N';
    Bytes again(EMX_HEADER_MAX + EMX_NAME_MAX);
    again.resize(fw_encode(&s, &pkt, again.data()));
    // A beacon may be cut short, and is encoded whole.
    for (std::size_t at = 0; at < std::min(again.size(), frame.size()); at++) {
        if (again[at] == frame[at] || is_said_otherwise(pkt, at) ||
            !wire_matters(at, frame.data(), frame.size(), dialect))
            continue;
        CAPTURE(fw_type_name(pkt.msg.type), at, int(again[at]), int(frame[at]));
        FAIL("encoded otherwise");
    }
    again.resize(std::max<std::size_t>(again.size() + pkt.msg.data_len, EMX_FRAME_MIN));
    fw_pkt back;
    const int why = fw_check(&s, 0, again.data(), static_cast<uint32_t>(again.size()), &back);
    if (why || !same(pkt, back))
        FAIL(fw_type_name(pkt.msg.type) << " is read back otherwise: " << why);
}

/// Any value in any field of that frame: what is accepted survives. Returns how many were.
unsigned alter_and_encode(const fw_sizes &s, const Golden &g, const Bytes &good, dice &chance)
{
    unsigned accepted = 0;
    for (int i = 0; i < 2000; i++) {
        Bytes frame = good;
        std::size_t length = good.size();
        frame.resize(length + 64);
        mutate(frame.data(), &length, frame.size(), s.dialect == FW_DIALECT_W ? 'W' : 'N', &chance);
        frame.resize(length);
        fw_pkt pkt;
        if (fw_check(&s, 0, frame.data(), static_cast<uint32_t>(length), &pkt) || pkt.foreign)
            continue;
        accepted += pkt.msg.type == g.pkt.msg.type;
        encode_again(s, frame, pkt);
    }
    return accepted;
}

} // namespace

TEST_CASE("fw_encode__gives_back_each_frame_that_fw_check_accepts")
{
    dice chance{dice_seeded, 7};
    for (const Golden &g : goldens())
        for (const fw_sizes &s : {g.sizes, g.sizes.dialect == FW_DIALECT_W ? g.sizes : sizes_n(65535)}) {
            CAPTURE(g.name, s.mtu);
            REQUIRE(alter_and_encode(s, g, whole(g), chance) > 200);
        }
}

TEST_CASE("fw_reply_place__makes_the_header_of_any_frame_of_a_run")
{
    std::mt19937_64 random(8);
    for (fw_sizes s : {sizes_w(), sizes_n(9000)}) {
        fw_pkt first = pull_reply();
        for (int i = 0; i < 1000; i++) {
            fw_pkt other = first;
            other.frame = static_cast<uint32_t>(random() % 256);
            other.position = static_cast<uint32_t>(random());
            other.msg.data_len = other.length = static_cast<uint32_t>(random() % (s.reply + 1));
            std::array<uint8_t, EMX_HEADER_MAX> changed{}, encoded{};
            REQUIRE(fw_encode(&s, &first, changed.data()) == FW_REPLY_HEADER);
            fw_reply_place(changed.data(), other.frame, other.position, other.length);
            REQUIRE(fw_encode(&s, &other, encoded.data()) == FW_REPLY_HEADER);
            REQUIRE(std::equal(changed.begin(), changed.begin() + FW_REPLY_HEADER, encoded.begin()));
            first = other;
        }
    }
}

TEST_CASE("fw_sizes__of_section_5_2")
{
    fw_sizes w = sizes_w();
    REQUIRE(w.frag == 4096);
    REQUIRE(w.frags_max == 8);
    REQUIRE(w.medium_max == 32768);
    REQUIRE(w.reply == 4096);
    REQUIRE(w.block == 8);
    REQUIRE(w.payload_min == 4130);
    struct {
        uint32_t mtu, frag, accept, reply, payload;
    } rows[] = {{9000, 8192, 8192, 8968, 8986}, {1500, 1452, 2048, 1468, 1486},
                {4144, 4096, 4096, 4112, 4130}, {4145, 4096, 4096, 4113, 4131},
                {8239, 4096, 4096, 8207, 8225}, {8240, 8192, 8192, 8208, 8226},
                {256, 208, 256, 224, 242},      {65535, 8192, 8192, 65503, 65521}};
    for (auto &row : rows) {
        fw_sizes n = sizes_n(row.mtu);
        CAPTURE(row.mtu);
        REQUIRE(n.frag == row.frag);
        REQUIRE(n.frag_accept == row.accept);
        REQUIRE(n.reply == row.reply);
        REQUIRE(n.payload_min == row.payload);
        REQUIRE(n.medium_max == 32 * row.frag);
        REQUIRE(n.block == 32);
    }
    REQUIRE(fw_sizes_n(&w, 255) == -1);
    REQUIRE(fw_sizes_n(&w, 65536) == -1);
}

TEST_CASE("fw_checksum__known_sums_and_any_change_shows")
{
    REQUIRE(fw_crc32c(0, "123456789", 9) == 0xe3069283);
    REQUIRE(fw_crc32c(fw_crc32c(0, "1234", 4), "56789", 5) == 0xe3069283);
    Bytes any(20000);
    for (std::size_t i = 0; i < any.size(); i++)
        any[i] = static_cast<uint8_t>(i * i + i / 7);
    for (std::size_t from = 0; from < 9; from++)
        for (std::size_t bytes : {0,    1,    7,    8,    9,    63,   64,   100,  983,  991,  1439,
                                  1440, 1441, 2881, 4080, 4097, 5521, 8159, 8160, 8192, 8968, 19991})
            REQUIRE(fw_crc32c(77, &any[from], bytes) == fw_crc32c_table(77, &any[from], bytes));
    for (auto [name, at, header, padding] :
         {std::tuple{"x_medium", 48, 56, 0}, std::tuple{"x_medium_short", 48, 56, 2},
          std::tuple{"x_data", 36, 40, 0}}) {
        CAPTURE(name);
        Bytes frame = golden(EMX_WIRE_FOLDER, name);
        frame.resize(frame.size() - static_cast<std::size_t>(padding));
        auto sum = [&, header = header] {
            return fw_checksum(frame.data(), fw_crc32c(0, &frame[static_cast<std::size_t>(header)],
                                                       frame.size() - static_cast<std::size_t>(header)));
        };
        emx_be32 there;
        std::memcpy(&there, &frame[static_cast<std::size_t>(at)], sizeof there);
        const uint32_t right = sum();
        REQUIRE(emx_get32(there) == right);
        Bytes without = frame;
        std::fill_n(&without[static_cast<std::size_t>(at)], 4, uint8_t{9});
        fw_put_checksum(without.data(),
                        fw_crc32c(0, &frame[0] + header, frame.size() - static_cast<std::size_t>(header)));
        REQUIRE(without == frame);
        for (std::size_t i = 16 + 1; i < frame.size(); i++) {
            CAPTURE(i);
            const bool its_own = i >= static_cast<std::size_t>(at) && i < static_cast<std::size_t>(at) + 4;
            frame[i] ^= 0x20;
            REQUIRE((sum() == right) == its_own);
            frame[i] ^= 0x20;
        }
    }
}

TEST_CASE("fw_names__types_and_counters")
{
    REQUIRE(std::string(fw_type_name(EMX_TINY)) == "TINY");
    REQUIRE(fw_type_name(0) == nullptr);
    REQUIRE(fw_type_name(999) == nullptr);
    REQUIRE(std::string(fw_counter_label(EMX_CNT_RX_TINY)) == "tiny messages received");
    REQUIRE(fw_counter_help(EMX_CNT_COUNT - 1) != nullptr);
    REQUIRE(fw_counter_label(EMX_CNT_COUNT) == nullptr);
    REQUIRE(fw_counter_help(EMX_CNT_COUNT) == nullptr);
}
