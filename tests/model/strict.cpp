// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The strict reader of frames: what a careful sender never sends is refused. See frame.hpp.
#include "frame.hpp"

#include <algorithm>
#include <cstdio>

namespace emx::model {

namespace {

class Reader {
public:
    Reader(const Dialect &dialect, const Bytes &frame, size_t kept, bool judges = true)
        : d_(dialect), f_(frame), kept_(kept), judges_(judges)
    {
    }
    Packet read();

private:
    uint64_t get(size_t at, unsigned size) const
    {
        uint64_t value = 0;
        for (unsigned i = 0; i < size; i++)
            value = value << 8 | f_[16 + at + i];
        return value;
    }
    uint8_t u8(size_t at) const { return static_cast<uint8_t>(get(at, 1)); }
    uint16_t u16(size_t at) const { return static_cast<uint16_t>(get(at, 2)); }
    uint32_t u32(size_t at) const { return static_cast<uint32_t>(get(at, 4)); }
    void must(bool good, const char *rule) const
    {
        if (!good && judges_)
            violate(rule, f_);
    }
    /// Reserved bytes [from, to) of the body.
    void reserved(size_t from, size_t to) const
    {
        for (size_t i = from; i < to; i++)
            must(f_[16 + i] == 0, "2.4: a reserved byte is not zero");
    }
    /// The fixed part of the body and n more bytes are there, and nothing but zeros behind them.
    void ends(size_t fixed, size_t n) const
    {
        must(f_.size() >= 16 + fixed + n, "13: shorter than its stated length");
        must(f_.size() == std::max<size_t>(60, 16 + fixed + n), "2.3: bytes behind frame and padding");
        reserved(fixed + n, f_.size() - 16);
    }
    void take_data(size_t at, size_t n)
    {
        p_.data.assign(f_.begin() + static_cast<long>(16 + at), f_.begin() + static_cast<long>(16 + at + n));
    }

    void outer();
    void ends_of();
    void session_at(size_t at);
    void eager();
    void read_medium();
    void read_rndv();
    void read_pull();
    void judge_pull() const;
    void read_pull_reply();
    void read_connect();
    void read_notify();
    void read_truc();
    void read_nack_lib();
    void read_nack_mcp();
    void read_host();
    void read_raw() const;
    void read_offer();
    void read_x_medium();
    void read_x_report();
    void read_x_pull();
    void read_x_data();
    void read_x_address();
    void read_x_group();
    void read_x_pack();
    void read_checksum(size_t at, size_t header, size_t data);
    bool bit(size_t at, unsigned number) const { return u8(at + number / 8) >> number % 8 & 1; }

    const Dialect &d_;
    const Bytes &f_;
    const size_t kept_;
    const bool judges_;
    Packet p_;
};

void Reader::outer()
{
    must(f_.size() >= 60, "2.3: a frame below 60 bytes may crash the peer's kernel");
    // The receiver of extension frames says how long they may be: see Checker.
    must(f_.size() <= d_.frame_max || (f_.size() > 16 && (f_[16] == x_data || f_[16] == x_medium ||
                                                          f_[16] == x_group || f_[16] == x_pack)),
         "2.3: longer than any frame of the dialect");
    must(f_[12] == 0x86 && f_[13] == 0xdf, "2.1: EtherType");
    for (unsigned i = 0; i < 6; i++) {
        p_.dst = p_.dst << 8 | f_[i];
        p_.src = p_.src << 8 | f_[6 + i];
    }
    p_.tag = static_cast<uint16_t>(f_[14] << 8 | f_[15]);
    p_.type = f_[16];
    must(!(f_[6] & 1), "13: multicast source");
    if (p_.type == raw)
        must(p_.dst == 0xffffffffffff, "2.1: a beacon is broadcast");
    else if (p_.type == x_group)
        must(p_.dst >> 32 == 0x0345, "extension, X GROUP: another address than a group's");
    else
        must(!(f_[0] & 1), "2.1: unicast, but for the beacon");
}

/// Endpoints and generation byte where most packets have them.
void Reader::ends_of()
{
    p_.to = u8(1);
    p_.from = u8(2);
    reserved(3, 4);
}

void Reader::session_at(size_t at)
{
    p_.session = u32(at);
    must(p_.session != no_session, "7.1: a session that nobody may draw");
}

void Reader::eager()
{
    ends_of();
    session_at(20);
    p_.seq = u16(8);
    p_.ack = u16(10);
    p_.match = get(12, 8);
    if (p_.type == medium)
        return read_medium();
    reserved(6, 8); // the checksum: 0 unless asked for
    if (p_.type == rndv)
        return read_rndv();
    p_.length = u16(4);
    if (p_.type == tiny)
        must(p_.length <= 32, "5.1: a TINY of more than 32 bytes");
    else
        must(p_.length > 32 && p_.length <= 128, "5.1: a SMALL that is not of 33 to 128 bytes");
    ends(24, p_.length);
    take_data(24, p_.length);
}

void Reader::read_medium()
{
    p_.length = d_.native ? u32(4) : u16(4);
    if (!d_.native)
        reserved(6, 8);
    uint32_t n = u16(24);
    p_.fragment = u8(26);
    p_.exponent = d_.native ? 12 : u8(27);
    if (d_.native)
        reserved(27, 28);
    reserved(28, 32);
    must(p_.exponent == 12, "16: some releases take 4096-byte fragments for granted");
    must(p_.fragment < d_.fragments, "9: fragment number above the maximum");
    must(p_.length > 128 && p_.length <= d_.medium_max(), "5.1: length of a MEDIUM message");
    p_.position = p_.fragment * d_.fragment;
    must(p_.position < p_.length && n == std::min(d_.fragment, p_.length - p_.position),
         "9: every fragment but the last has the full size");
    ends(32, n);
    take_data(32, n);
}

void Reader::read_rndv()
{
    must(u16(4) == 8, "4.6: the length field of RNDV is 8");
    p_.length = u32(24);
    p_.window = u8(28);
    p_.window_tag = u8(29);
    p_.window_offset = u16(30);
    ends(32, 0);
}

constexpr uint8_t nobody = 255;

void Reader::read_pull()
{
    ends_of();
    session_at(4);
    p_.length = u32(8);
    if (d_.native) {
        p_.window = u32(12);
        p_.window_tag = u8(16);
        reserved(17, 20);
        p_.window_offset = u32(20);
        p_.handle = u32(24);
        p_.magic = u32(28);
        p_.skip = u32(32);
        p_.block_length = u32(36);
        p_.frame_index = u32(40);
        ends(44, 0);
    } else {
        p_.window = u8(12);
        p_.window_tag = u8(13);
        p_.window_offset = u16(14);
        p_.handle = u32(16);
        p_.magic = u32(20);
        p_.skip = u16(24);
        p_.block_length = u16(26);
        p_.frame_index = u32(28);
        // A question of ours which dialect a host speaks bears a request of either, for nobody's endpoint.
        ends(p_.to == nobody ? 44 : 32, 0);
    }
    judge_pull();
}

/// Section 10.2, from the other end: requests that a replier without memory serves rightly. They are runs of
/// whole frames: a first request is a block, a repeat may be a part of one (docs/decisions/0002).
void Reader::judge_pull() const
{
    must(p_.window <= 255, "5.3: window ids are 0 to 255");
    must(p_.length > 0 && p_.block_length > 0, "10.1: a PULL for nothing");
    must(p_.skip < d_.reply, "13: a skip of a frame or more makes the replier send a huge one");
    uint64_t L = d_.reply, o = p_.window_offset % L, total = p_.length, f = p_.frame_index;
    must(f < (o + total + L - 1) / L, "10.2: a PULL behind the end");
    must(p_.skip == (f ? 0 : o), "10.2: skip is the window offset's rest in frame 0, else 0");
    must((p_.skip + p_.block_length + L - 1) / L <= d_.block,
         "10.2: more frames than a block has are dropped");
    uint64_t end = (f ? f * L - o : 0) + p_.block_length;
    must(end <= total, "10.1: native MX dislikes a PULL beyond the end");
    must(end == total || (end + o) % L == 0, "10.2: a request ends where a frame ends");
}

void Reader::read_pull_reply()
{
    p_.frame_number = u8(1);
    uint32_t n = u16(2);
    p_.position = u32(4);
    p_.handle = u32(8);
    p_.magic = u32(12);
    must(n > 0 && n <= d_.reply, "10.2: size of a reply");
    must(uint64_t{p_.position} + n <= 0x100000000, "10.2: a position beyond 32 bits");
    ends(16, n);
    take_data(16, n);
}

void Reader::read_connect()
{
    ends_of();
    must(u8(4) == 16, "4.3: the length of CONNECT's data is 16");
    reserved(5, 8);
    p_.seq = u16(8); // an inquiry has one (docs/protocol.md, Trust)
    p_.index = u16(10);
    reserved(12, 16);
    must(u8(26) <= 1, "4.3: request or reply");
    p_.is_reply = u8(26);
    p_.start = u16(24);
    p_.connect_number = u8(27);
    p_.status = u8(28);
    reserved(29, 32);
    if (p_.is_reply) {
        must(p_.seq == 0, "4.3: the reply to a CONNECT has number 0");
        session_at(16);
        p_.own_session = u32(20);
        must(p_.status == 0 || p_.status == 11, "4.3: status of a connect");
    } else {
        p_.own_session = u32(16);
        p_.key = u32(20);
        reserved(28, 29);
    }
    must(p_.own_session != no_session, "7.1: a session that nobody may draw");
    p_.offers = f_.size() > 60;
    if (p_.offers)
        return read_offer();
    ends(32, 0);
}

void Reader::read_offer()
{
    ends(32, 16);
    must(u8(32) == 1 && u8(33) == 1, "extension, offer: version");
    p_.features = u16(34);
    must(p_.features <= 255, "extension, offer: features that nobody knows");
    must(u16(36) >= 256 && u16(38) >= 1, "extension, offer: sizes");
    p_.frame_max = u16(36);
    uint64_t sum = 0xcbf29ce484222325;
    auto add = [&](size_t from, size_t to) {
        for (size_t i = from; i < to; i++) {
            sum ^= f_[i];
            sum *= 0x100000001b3;
        }
    };
    add(0, 12);
    add(16, 19);
    add(32, 44);
    add(48, 56);
    must(get(40, 8) == sum, "extension, offer: check value");
}

/// CRC-32C, bit by bit.
uint32_t crc32c(uint32_t sum, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sum ^= bytes[i];
        for (unsigned bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? 0x82f63b78 : 0);
    }
    return sum;
}

/// Reads the checksum at `at` of `data` bytes behind a body of `header`.
void Reader::read_checksum(size_t at, size_t header, size_t data)
{
    p_.checksum = u32(at);
    if (p_.checksum == 0 || 16 + header + data > kept_)
        return;
    Bytes body(f_.begin() + 16, f_.begin() + 16 + static_cast<std::ptrdiff_t>(header));
    std::fill_n(body.begin() + static_cast<std::ptrdiff_t>(at), 4, uint8_t{0});
    const uint32_t sum = ~crc32c(crc32c(~0u, f_.data() + 16 + header, data), body.data(), header);
    must(p_.checksum == (sum ? sum : ~0u), "extension: a wrong checksum");
}

void Reader::read_x_medium()
{
    ends_of();
    session_at(20);
    p_.length = u32(4);
    p_.seq = u16(8);
    p_.ack = u16(10);
    p_.match = get(12, 8);
    p_.position = u32(24);
    const uint32_t n = u16(28);
    p_.fragment = u8(30);
    reserved(31, 32);
    reserved(36, 40);
    must(n <= 32768, "extension, X MEDIUM: a fragment of more than 32768 bytes");
    must(p_.length <= 262144 && p_.fragment <= 31, "extension, X MEDIUM: length or fragment number");
    must(n > 0 || p_.length == 0, "extension, X MEDIUM: empty fragment");
    must(uint64_t{p_.position} + n <= p_.length, "extension, X MEDIUM: beyond its message");
    const bool last = p_.position + n == p_.length;
    if (p_.fragment == 0)
        must(p_.position == 0 && (last || n * uint64_t{32} >= p_.length),
             "extension, X MEDIUM: first fragment");
    else
        must(p_.position % p_.fragment == 0 && n <= p_.position / p_.fragment &&
                 (last || n == p_.position / p_.fragment) &&
                 p_.position / p_.fragment * uint64_t{32} >= p_.length,
             "extension, X MEDIUM: fragments are even");
    ends(40, n);
    take_data(40, n);
    read_checksum(32, 40, n);
}

void Reader::read_x_report()
{
    p_.to = u8(1);
    p_.from = u8(2);
    must(u8(3) <= 1, "extension, X REPORT: flags that nobody knows");
    session_at(4);
    p_.ack = u16(8);
    p_.counter = u32(12);
    must(u16(22) <= 28, "extension, X REPORT: more state than is laid down");
    ends(24, u16(22));
}

void Reader::read_x_pull()
{
    p_.to = u8(1);
    p_.from = u8(2);
    p_.flags = u8(3);
    must(p_.flags <= 7, "extension, X PULL: flags that nobody knows");
    must((p_.flags & 6) != 6, "extension, X PULL: by datagrams and by TCP");
    session_at(4);
    p_.length = u32(8);
    p_.window = u8(12);
    p_.window_tag = u8(13);
    p_.window_offset = u16(14);
    p_.handle = u32(16);
    p_.magic = u32(20);
    p_.frame_index = u32(28);
    p_.unit = u16(24);
    const uint64_t unit = p_.unit;
    must(p_.length > 0 && unit >= 64 && unit <= 65495, "extension, X PULL: sizes");
    must(bit(32, 0), "extension, X PULL: the first frame is wanted");
    for (unsigned i = 0; i < 128; i++)
        must(!bit(32, i) || (uint64_t{p_.frame_index} + i) * unit < p_.length,
             "extension, X PULL: a frame behind the end");
    ends(48, 0);
}

void Reader::read_x_data()
{
    ends_of();
    p_.handle = u32(4);
    p_.magic = u32(8);
    p_.frame_index = u32(12);
    const uint32_t n = u16(18);
    must(n > 0, "extension, X DATA: no data");
    ends(24, n);
    take_data(24, n);
    read_checksum(20, 24, n);
}

void Reader::read_x_address()
{
    p_.to = u8(1);
    p_.from = u8(2);
    session_at(4);
    p_.flags = u8(3);
    must(p_.flags <= 2 || p_.flags == 4, "extension, X ADDRESS: flags");
    const bool where_datagrams_go = p_.flags == 4 && u32(12) == 0 && u16(24) == 0;
    const unsigned first = where_datagrams_go ? 1 : u8(12);
    must(first > 0 && first != 127 && first < 224, "extension, X ADDRESS: no address of a host");
    must(u32(16) != 0 || u32(20) != 0, "extension, X ADDRESS: no secret");
    must(where_datagrams_go || u16(24) == 34527 + u8(2), "extension, X ADDRESS: port of another endpoint");
    must(u16(26) >= 104 && u16(26) <= 65507, "extension, X ADDRESS: sizes");
    ends(28, 0);
}

void Reader::read_x_group()
{
    reserved(1, 2);
    p_.from = u8(2);
    reserved(3, 4);
    p_.own_session = u32(4);
    p_.key = u32(8);
    const uint32_t n = u16(16);
    reserved(18, 20);
    must(p_.tag == no_index, "extension, X GROUP: a tag");
    must(p_.own_session != no_session, "extension, X GROUP: a session that nobody may draw");
    must(p_.key != 0 && p_.key == (p_.dst & 0xffffffff), "extension, X GROUP: another group's key");
    ends(24, n);
    take_data(24, n);
    read_checksum(20, 24, n);
}

void Reader::read_x_pack()
{
    ends_of();
    const size_t n = u16(4);
    const unsigned count = u16(6);
    p_.seq = u16(8);
    p_.ack = u16(10);
    session_at(12);
    reserved(20, 24);
    must(count >= 2 && count <= 255, "extension, X PACK: several messages, 255 at most");
    must(f_.size() >= 40 + n, "13: shorter than its stated length");
    const bool is_whole = 40 + n <= kept_;
    size_t at = 24;
    for (unsigned i = 0; i < count && (is_whole || 16 + at + 10 <= kept_); i++) {
        must(at + 10 <= 24 + n && at + 10 + u16(at + 8) <= 24 + n, "extension, X PACK: its messages fill it");
        p_.is_long = p_.is_long || u16(at + 8) > 128;
        at += 10 + u16(at + 8);
    }
    must(!is_whole || at == 24 + n, "extension, X PACK: its messages fill it");
    ends(24, n);
    read_checksum(16, 24, n);
}

void Reader::read_notify()
{
    ends_of();
    session_at(4);
    p_.length = u32(8);
    p_.window = u8(12);
    p_.window_tag = u8(13);
    reserved(14, 18);
    p_.seq = u16(18);
    p_.ack = u16(20);
    ends(22, 0);
}

void Reader::read_truc()
{
    ends_of();
    must(u8(4) == 16, "4.10: the length of TRUC's data is 16");
    reserved(5, 8);
    session_at(8);
    must(u8(12) == 0x55, "4.10: no other kind than the ack is defined");
    reserved(13, 14);
    p_.ack = u16(14);
    must(u32(16) == p_.session, "4.10: two sessions in an ack");
    p_.counter = u32(20);
    must(u16(24) == p_.ack, "17, row 4: the ack number comes twice");
    ends(26, 0);
}

void Reader::read_nack_lib()
{
    p_.from = u8(1);
    reserved(2, 3);
    p_.reason = u8(3);
    must(p_.reason >= 1 && p_.reason <= 3, "4.13: other reasons than 1, 2, 3 abort the peer's process");
    reserved(4, 9);
    p_.to = u8(9);
    must(u16(10) == p_.tag, "4.11: copy of the tag");
    p_.seq = u16(12);
    ends(14, 0);
}

void Reader::read_nack_mcp()
{
    p_.to = u8(1);
    reserved(2, 3);
    p_.reason = u8(3);
    must(p_.reason >= 1 && p_.reason <= 4, "4.13: 0 is taken for success, 5 and up abort");
    reserved(4, 8);
    p_.handle = u32(8);
    p_.magic = u32(12);
    ends(16, 0);
}

void Reader::read_host()
{
    uint32_t n = u8(1);
    p_.index = u16(2);
    reserved(4, 8);
    p_.magic = u32(8);
    reserved(12, 16);
    if (p_.type == host_query) {
        must(n == 0, "2.4: a reserved byte is not zero");
        ends(16, 0);
        return;
    }
    must(n >= 1 && n <= 80, "6.3: a name length of 0 or above 80 overwrites the peer's memory");
    ends(16, n);
    auto name = f_.begin() + 32;
    must(name[n - 1] == 0, "4.2: a name ends with NUL");
    must(std::all_of(name, name + (n - 1), [](uint8_t c) { return c >= 32 && c != 127; }),
         "13: characters of a name");
    p_.name.assign(name, name + (n - 1));
}

void Reader::read_raw() const
{
    must(f_.size() == 64, "6.4: a longer RAW frame overflows the peer's daemon");
    reserved(1, 18);
    must(std::equal(f_.begin() + 34, f_.begin() + 40, f_.begin() + 6), "6.4: a beacon names its sender");
    reserved(28, 48);
}

Packet Reader::read()
{
    outer();
    switch (p_.type) {
    case raw: read_raw(); break;
    case host_query:
    case host_reply: read_host(); break;
    case truc: read_truc(); break;
    case connect: read_connect(); break;
    case tiny:
    case small:
    case medium:
    case rndv: eager(); break;
    case pull: read_pull(); break;
    case pull_reply: read_pull_reply(); break;
    case notify: read_notify(); break;
    case nack_lib: read_nack_lib(); break;
    case nack_mcp: read_nack_mcp(); break;
    case x_medium: read_x_medium(); break;
    case x_report: read_x_report(); break;
    case x_pull: read_x_pull(); break;
    case x_data: read_x_data(); break;
    case x_address: read_x_address(); break;
    case x_group: read_x_group(); break;
    case x_pack: read_x_pack(); break;
    default: must(false, "3: a type that nobody sends");
    }
    return p_;
}

} // namespace

void violate(const std::string &rule, const Bytes &frame)
{
    std::string text = "wire.md " + rule + "; " + (frame.size() > 16 ? type_name(frame[16]) : "frame") +
                       " of " + std::to_string(frame.size()) + " bytes:\n";
    for (size_t i = 0; i < std::min<size_t>(frame.size(), 80); i++) {
        char b[4];
        std::snprintf(b, sizeof b, "%02x%c", frame[i], i % 16 == 15 ? '\n' : ' ');
        text += b;
    }
    throw Violation(text);
}

Packet read_strictly(const Dialect &dialect, const Bytes &frame, size_t kept)
{
    return Reader(dialect, frame, kept).read();
}

std::optional<Packet> read_leniently(const Dialect &dialect, const Bytes &frame)
{
    constexpr size_t least = 60;
    constexpr uint8_t room = 20; // of such a frame, for data
    const bool fits = frame.size() >= least &&
                      (frame[16] == pull || (frame[16] == tiny && frame[20] == 0 && frame[21] <= room));
    if (!fits)
        return {};
    return Reader(dialect, frame, SIZE_MAX, false).read();
}

} // namespace emx::model
