// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Encoding and decoding (fw_encode, fw_check): golden frames, random packets, sizes.
#include "core_board.hpp"

#include <tests/support/golden.hpp>

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
    return {m, r, p, d};
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
    const char *names[] = {"x_medium", "x_report", "x_pull", "x_data"};
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
    p = packet(EMX_PULL_REPLY, true, 3);
    p.msg.local_ep = 0x85;
    p.msg.remote_ep = 0;
    p.msg.session = 0;
    p.msg.data_len = p.length = 4096;
    p.frame = 9;
    p.position = 36864;
    p.handle = handle;
    p.magic = magic;
    add("pull_reply_w", w, p);
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

/// Compares every byte of two packets but the payload's address and what is behind the name's end.
bool same(fw_pkt x, fw_pkt y)
{
    x.msg.data = y.msg.data = 0;
    auto extension = [](const fw_pkt &p) { return std::tie(p.x.checksum, p.x.request, p.x.unit, p.x.sum); };
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
        Bytes frame = golden(EMX_WIRE_FOLDER, g.name);
        std::size_t header = EMX_OUTER_LEN + (g.payload ? (g.pkt.msg.type == EMX_MEDIUM       ? 32
                                                           : g.pkt.msg.type == EMX_X_MEDIUM   ? 40
                                                           : g.pkt.msg.type == EMX_PULL_REPLY ? 16
                                                                                              : 24)
                                                        : 0);
        frame.resize(std::max(frame.size(), header + g.payload));
        fw_pkt pkt;
        REQUIRE(fw_check(&g.sizes, g.pkt.dst_mac == 0xffffffffffff ? mac_b : g.pkt.dst_mac, frame.data(),
                         static_cast<uint32_t>(frame.size()), &pkt) == 0);
        REQUIRE(pkt.msg.data == (g.payload ? reinterpret_cast<uintptr_t>(frame.data()) + header : 0));
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

/// A random packet of some type that fw_check accepts.
struct Maker {
    std::mt19937_64 random;
    const fw_sizes &s;

    uint32_t r(uint64_t limit) { return static_cast<uint32_t>(random() % limit); } ///< below limit

    void medium(fw_pkt &p)
    {
        uint32_t frags = 1 + r(s.frags_max);
        p.msg.msg_len = std::min(s.medium_max, (frags - 1) * s.frag + 1 + r(s.frag));
        p.msg.u.medium.frag = static_cast<uint8_t>(r((p.msg.msg_len + s.frag - 1) / s.frag));
        p.msg.u.medium.position = p.msg.u.medium.frag * s.frag;
        p.msg.data_len = std::min(s.frag, p.msg.msg_len - p.msg.u.medium.position);
        p.exponent = s.dialect == FW_DIALECT_W ? 12 : 0;
    }

    void pull(fw_pkt &p)
    {
        p.total = r(1ull << 32);
        p.window = s.dialect == FW_DIALECT_W ? r(256) : r(1ull << 32);
        p.msg.u.window.id = static_cast<uint8_t>(p.window);
        p.msg.u.window.tag = static_cast<uint8_t>(r(256));
        p.msg.u.window.offset = r(s.dialect == FW_DIALECT_W ? 65536 : 1ull << 32);
        p.handle = r(1ull << 32);
        p.magic = r(1ull << 32);
        p.skip = r(s.reply);
        p.length = 1 + r(s.reply * s.block - p.skip);
        p.frame = r((0xffffffffull - p.skip) / s.reply + 1);
    }

    void eager(fw_pkt &p, uint32_t limit)
    {
        p.msg.match = random();
        p.msg.msg_len = p.msg.data_len = r(limit + 1);
    }

    void window(fw_pkt &p)
    {
        p.msg.msg_len = r(1ull << 32);
        p.msg.u.window.id = static_cast<uint8_t>(r(256));
        p.msg.u.window.tag = static_cast<uint8_t>(r(256));
        if (p.msg.type == EMX_RNDV)
            p.msg.u.window.offset = r(65536);
    }

    void x_medium(fw_pkt &p)
    {
        p.msg.match = random();
        p.msg.msg_len = r(EMX_X_EAGER_MAX + 1);
        const uint32_t least = std::max<uint32_t>(1, (p.msg.msg_len + 31) / 32);
        const uint32_t unit = std::min<uint32_t>(EMX_X_FRAG_MAX, least + r(9000));
        p.msg.u.medium.frag = static_cast<uint8_t>(r((p.msg.msg_len + unit - 1) / unit + !p.msg.msg_len));
        p.msg.u.medium.position = p.msg.u.medium.frag * unit;
        p.msg.data_len = std::min(unit, p.msg.msg_len - p.msg.u.medium.position);
        p.x.checksum = r(1ull << 32);
    }

    void x_pull(fw_pkt &p)
    {
        p.window = r(256);
        p.msg.u.window.offset = r(65536);
        p.msg.u.window.id = static_cast<uint8_t>(p.window);
        p.msg.u.window.tag = static_cast<uint8_t>(r(256));
        p.handle = r(1ull << 32);
        p.magic = r(1ull << 32);
        p.x.unit = static_cast<uint16_t>(EMX_X_UNIT_MIN + r(EMX_X_UNIT_MAX - EMX_X_UNIT_MIN + 1));
        p.x.request = static_cast<uint16_t>(r(65536));
        p.x.sum = static_cast<uint8_t>(r(2));
        p.x.want[0] = 1;
        const uint32_t last = r(uint64_t{8} * EMX_X_WANT_LEN);
        for (uint32_t i = 0; i <= last; i += 1 + r(5))
            p.x.want[i / 8] |= static_cast<uint8_t>(1u << i % 8);
        p.x.want[last / 8] |= static_cast<uint8_t>(1u << last % 8);
        p.frame = r((0xffffffff - 1) / p.x.unit - last);
        p.total = (p.frame + last) * p.x.unit + 1 + r(p.x.unit);
    }

    void x_data(fw_pkt &p)
    {
        p.msg.session = 0;
        p.handle = r(1ull << 32);
        p.magic = r(1ull << 32);
        p.frame = r(1ull << 32);
        p.msg.data_len = p.length = 1 + r(EMX_X_UNIT_MAX);
        p.x.request = static_cast<uint16_t>(r(65536));
        p.x.checksum = r(1ull << 32);
    }

    void x_report(fw_pkt &p)
    {
        p.msg.data_len = r(EMX_X_STATE_LEN + 1);
        // One by one: what lies between them is compared, too.
        p.msg.u.report.counter = r(1ull << 32);
        p.msg.u.report.echo = r(1ull << 32);
        p.msg.u.report.room = static_cast<uint16_t>(r(65536));
        p.msg.u.report.ask = static_cast<uint8_t>(r(2));
    }

    uint64_t offer()
    {
        const auto newest = static_cast<uint8_t>(1 + r(255));
        return emx_offer(newest, static_cast<uint8_t>(1 + r(newest)), static_cast<uint16_t>(r(65536)),
                         static_cast<uint16_t>(EMX_X_FRAME_MIN + r(65536 - EMX_X_FRAME_MIN)),
                         static_cast<uint16_t>(1 + r(65535)));
    }

    fw_pkt make(uint8_t type)
    {
        fw_pkt p = packet(type, true, static_cast<uint16_t>(r(65536)));
        p.src_mac = (random() & 0xfeffffffffff) | 2;
        bool host_packet = type == EMX_RAW || type == EMX_HOST_QUERY || type == EMX_HOST_REPLY;
        p.msg.local_ep = host_packet ? 0 : static_cast<uint8_t>(r(256));
        p.msg.remote_ep =
            host_packet || type == EMX_PULL_REPLY || type == EMX_NACK_MCP ? 0 : static_cast<uint8_t>(r(256));
        bool has_session =
            !host_packet && type != EMX_PULL_REPLY && type != EMX_NACK_MCP && type != EMX_NACK_LIB;
        p.msg.session = has_session ? r(0xffffffff) : 0;
        bool has_seq = type == EMX_TINY || type == EMX_SMALL || type == EMX_MEDIUM || type == EMX_RNDV ||
                       type == EMX_NOTIFY || type == EMX_X_MEDIUM || type == EMX_X_REPORT;
        if (has_seq || type == EMX_CONNECT || type == EMX_NACK_LIB)
            p.msg.seq = static_cast<uint16_t>(r(65536));
        if (has_seq || type == EMX_TRUC)
            p.msg.ack = static_cast<uint16_t>(r(65536));
        fill(p);
        return p;
    }

    void fill(fw_pkt &p)
    {
        switch (p.msg.type) {
        case EMX_RAW:
            p.board = (random() & 0xfeffffffffff) | 2;
            p.serial = r(1ull << 32);
            break;
        case EMX_HOST_REPLY:
            for (uint32_t n = r(80), i = 0; i < n; i++)
                p.name[i] = static_cast<char>(0x20 + r(0x5f));
            [[fallthrough]];
        case EMX_HOST_QUERY:
            p.advert = static_cast<uint16_t>(r(65536));
            p.magic = r(1ull << 32);
            break;
        case EMX_TRUC: p.msg.u.truc.counter = r(1ull << 32); break;
        case EMX_CONNECT:
            p.advert = static_cast<uint16_t>(r(65536));
            p.msg.match = r(2) ? offer() : 0;
            p.msg.u.connect.session = r(0xffffffff);
            p.msg.u.connect.start = static_cast<uint16_t>(r(65536));
            p.msg.u.connect.number = static_cast<uint8_t>(r(256));
            p.msg.u.connect.is_reply = static_cast<uint8_t>(r(2));
            if (p.msg.u.connect.is_reply)
                p.msg.u.connect.status = r(2) ? 11 : 0;
            else
                p.msg.session = 0, p.msg.u.connect.key = r(1ull << 32);
            break;
        case EMX_TINY: return eager(p, 32);
        case EMX_SMALL: return eager(p, 128);
        case EMX_MEDIUM: p.msg.match = random(); return medium(p);
        case EMX_RNDV: p.msg.match = random(); [[fallthrough]];
        case EMX_NOTIFY: return window(p);
        case EMX_PULL: return pull(p);
        case EMX_PULL_REPLY:
            p.frame = r(256);
            p.position = r(1ull << 32);
            p.handle = r(1ull << 32);
            p.magic = r(1ull << 32);
            p.msg.local_ep = static_cast<uint8_t>(p.magic);
            p.msg.data_len = p.length = r(s.reply + 1);
            break;
        case EMX_NACK_MCP:
            p.handle = r(1ull << 32);
            p.magic = r(1ull << 32);
            [[fallthrough]];
        case EMX_NACK_LIB: p.msg.u.nack.reason = static_cast<uint8_t>(1 + r(3)); break;
        case EMX_X_MEDIUM: return x_medium(p);
        case EMX_X_REPORT: return x_report(p);
        case EMX_X_PULL: return x_pull(p);
        case EMX_X_DATA: return x_data(p);
        }
    }
};

} // namespace

TEST_CASE("fw_encode__random_packets_survive_the_round_trip")
{
    std::vector<uint8_t> types;
    for (unsigned type = 0; type < 256; type++)
        if (fw_type_name(type))
            types.push_back(static_cast<uint8_t>(type));
    for (fw_sizes s : {sizes_w(), sizes_n(9000), sizes_n(1500), sizes_n(65535)}) {
        Maker maker{std::mt19937_64(7), s};
        for (int i = 0; i < 10000; i++) {
            const uint8_t type = types[maker.r(types.size())];
            fw_pkt pkt = maker.make(type);
            Frame frame = make_frame(s, pkt, std::vector<uint8_t>(pkt.msg.data_len, 0xa5));
            fw_pkt back;
            int why = fw_check(&s, mac_b, frame.data(), static_cast<uint32_t>(frame.size()), &back);
            if (why || !same(pkt, back)) {
                CAPTURE(fw_type_name(type), s.dialect, s.mtu, i);
                REQUIRE(why == 0);
                REQUIRE(same(pkt, back));
            }
        }
    }
}

TEST_CASE("fw_reply_place__makes_the_header_of_any_frame_of_a_run")
{
    for (fw_sizes s : {sizes_w(), sizes_n(9000)}) {
        Maker maker{std::mt19937_64(8), s};
        for (int i = 0; i < 1000; i++) {
            fw_pkt first = maker.make(EMX_PULL_REPLY);
            fw_pkt other = first;
            const fw_pkt place = maker.make(EMX_PULL_REPLY);
            other.frame = place.frame;
            other.position = place.position;
            other.msg.data_len = other.length = place.length;
            std::array<uint8_t, EMX_HEADER_MAX> changed{}, encoded{};
            REQUIRE(fw_encode(&s, &first, changed.data()) == FW_REPLY_HEADER);
            fw_reply_place(changed.data(), other.frame, other.position, other.length);
            REQUIRE(fw_encode(&s, &other, encoded.data()) == FW_REPLY_HEADER);
            REQUIRE(std::equal(changed.begin(), changed.begin() + FW_REPLY_HEADER, encoded.begin()));
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
    Bytes any(1000);
    for (std::size_t i = 0; i < any.size(); i++)
        any[i] = static_cast<uint8_t>(i * i + i / 7);
    for (std::size_t from = 0; from < 9; from++)
        for (std::size_t bytes : {0, 1, 7, 8, 9, 63, 64, 100, 983, 991})
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
