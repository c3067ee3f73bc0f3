// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Writing of frames, and sizes of the dialects. See frame.hpp.
#include "frame.hpp"

#include <algorithm>

namespace emx::model {

namespace {

/// Writes big-endian fields at offsets of the body.
struct Writer {
    Bytes &frame;
    void put(size_t at, unsigned size, uint64_t value) const
    {
        for (unsigned i = 0; i < size; i++)
            frame[16 + at + i] = static_cast<uint8_t>(value >> 8 * (size - 1 - i));
    }
    void text(size_t at, const uint8_t *from, size_t n) const
    {
        std::copy(from, from + n, frame.begin() + static_cast<long>(16 + at));
    }
};

/// Bytes of the body without data or name (section 3).
size_t fixed_part(const Dialect &d, uint8_t type)
{
    switch (type) {
    case raw: return 48;
    case host_query:
    case host_reply:
    case pull_reply:
    case nack_lib:
    case nack_mcp: return 16;
    case truc: return 28;
    case tiny:
    case small:
    case notify: return 24;
    case pull: return d.native ? 44 : 32;
    default: return 32; // connect, medium, rndv
    }
}

void write_eager(const Dialect &d, const Packet &p, const Writer &w)
{
    w.put(1, 1, p.to);
    w.put(2, 1, p.from);
    w.put(8, 2, p.seq);
    w.put(10, 2, p.ack);
    w.put(12, 8, p.match);
    w.put(20, 4, p.session);
    if (p.type == medium) {
        w.put(4, d.native ? 4 : 2, p.length);
        w.put(24, 2, p.data.size());
        w.put(26, 1, p.fragment);
        if (!d.native)
            w.put(27, 1, p.exponent);
        w.text(32, p.data.data(), p.data.size());
    } else if (p.type == rndv) {
        w.put(4, 2, 8);
        w.put(24, 4, p.length);
        w.put(28, 1, p.window);
        w.put(29, 1, p.window_tag);
        w.put(30, 2, p.window_offset);
    } else {
        w.put(4, 2, p.length);
        w.text(24, p.data.data(), p.data.size());
    }
}

void write_pull(const Dialect &d, const Packet &p, const Writer &w)
{
    w.put(1, 1, p.to);
    w.put(2, 1, p.from);
    w.put(4, 4, p.session);
    w.put(8, 4, p.length);
    if (d.native) {
        w.put(12, 4, p.window);
        w.put(16, 1, p.window_tag);
        w.put(20, 4, p.window_offset);
        w.put(24, 4, p.handle);
        w.put(28, 4, p.magic);
        w.put(32, 4, p.skip);
        w.put(36, 4, p.block_length);
        w.put(40, 4, p.frame_index);
    } else {
        w.put(12, 1, p.window);
        w.put(13, 1, p.window_tag);
        w.put(14, 2, p.window_offset);
        w.put(16, 4, p.handle);
        w.put(20, 4, p.magic);
        w.put(24, 2, p.skip);
        w.put(26, 2, p.block_length);
        w.put(28, 4, p.frame_index);
    }
}

void write_connect(const Packet &p, const Writer &w)
{
    w.put(1, 1, p.to);
    w.put(2, 1, p.from);
    w.put(4, 1, 16);
    w.put(8, 2, 0);
    w.put(10, 2, p.index);
    w.put(16, 4, p.is_reply ? p.session : p.own_session);
    w.put(20, 4, p.is_reply ? p.own_session : p.key);
    w.put(24, 2, p.start);
    w.put(26, 1, p.is_reply);
    w.put(27, 1, p.connect_number);
    if (p.is_reply)
        w.put(28, 1, p.status);
}

void write_notify(const Packet &p, const Writer &w)
{
    w.put(1, 1, p.to);
    w.put(2, 1, p.from);
    w.put(4, 4, p.session);
    w.put(8, 4, p.length);
    w.put(12, 1, p.window);
    w.put(13, 1, p.window_tag);
    w.put(18, 2, p.seq);
    w.put(20, 2, p.ack);
}

void write_truc(const Packet &p, const Writer &w)
{
    w.put(1, 1, p.to);
    w.put(2, 1, p.from);
    w.put(4, 1, 16);
    w.put(8, 4, p.session);
    w.put(12, 1, 0x55);
    w.put(14, 2, p.ack);
    w.put(16, 4, p.session);
    w.put(20, 4, p.counter);
    w.put(24, 2, p.ack);
}

void write_small_types(const Packet &p, const Writer &w)
{
    switch (p.type) {
    case host_query:
    case host_reply:
        w.put(2, 2, p.index);
        w.put(8, 4, p.magic);
        if (p.type == host_reply) {
            w.put(1, 1, p.name.size() + 1);
            w.text(16, reinterpret_cast<const uint8_t *>(p.name.c_str()), p.name.size() + 1);
        }
        break;
    case pull_reply:
        w.put(1, 1, p.frame_number);
        w.put(2, 2, p.data.size());
        w.put(4, 4, p.position);
        w.put(8, 4, p.handle);
        w.put(12, 4, p.magic);
        w.text(16, p.data.data(), p.data.size());
        break;
    case nack_lib:
        w.put(1, 1, p.from);
        w.put(3, 1, p.reason);
        w.put(9, 1, p.to);
        w.put(10, 2, p.tag);
        w.put(12, 2, p.seq);
        break;
    case nack_mcp:
        w.put(1, 1, p.to);
        w.put(3, 1, p.reason);
        w.put(8, 4, p.handle);
        w.put(12, 4, p.magic);
        break;
    default: break;
    }
}

} // namespace

Dialect dialect_w() { return {false, 4096, 8, 4096, 8, 4144}; }

Dialect dialect_n(uint32_t size)
{
    uint32_t fragment = size - 48 <= 4096 ? size - 48 : size >= 8240 ? 8192 : 4096;
    return {true, fragment, 32, size - 32, 32, size};
}

std::vector<uint32_t> boundaries(const Dialect &d, uint32_t threshold)
{
    constexpr uint32_t longest = 1u << 24;
    std::vector<uint32_t> at{32, 128, threshold, 32768, 65536, 1u << 20, longest};
    for (uint32_t k : {1u, 2u, 7u, 8u, 31u, 32u})
        at.push_back(k * d.fragment);
    for (uint32_t k : {1u, 2u, d.block, 2 * d.block, 4 * d.block, 5 * d.block})
        at.push_back(k * d.reply);
    std::vector<uint32_t> all{0, 1};
    for (uint32_t a : at)
        for (uint32_t b : {a - 1, a, a + 1})
            if (b <= longest)
                all.push_back(b);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

Bytes write(const Dialect &d, const Packet &p, const Writing &how)
{
    size_t name = p.type == host_reply ? p.name.size() + 1 : 0;
    size_t real = 16 + fixed_part(d, p.type) + p.data.size() + name;
    Bytes f((how.pad ? std::max<size_t>(60, real) : real) + how.trailing);
    if (how.garbage)
        std::generate(f.begin(), f.begin() + static_cast<long>(std::min<size_t>(f.size(), 128)),
                      [&] { return static_cast<uint8_t>(how.garbage->next()); });
    if (how.stale)
        for (size_t i = 0; i < f.size(); i++)
            f[i] = (*how.stale)[(i + how.shift) % how.stale->size()];
    for (unsigned i = 0; i < 6; i++) {
        f[i] = static_cast<uint8_t>(p.dst >> 8 * (5 - i));
        f[6 + i] = static_cast<uint8_t>(p.src >> 8 * (5 - i));
    }
    f[12] = 0x86;
    f[13] = 0xdf;
    // Open-MX leaves these unset (section 2.2).
    if (!how.garbage || (p.type != host_query && p.type != host_reply && p.type != pull_reply)) {
        f[14] = static_cast<uint8_t>(p.tag >> 8);
        f[15] = static_cast<uint8_t>(p.tag);
    }
    f[16] = p.type;
    Writer w{f};
    switch (p.type) {
    case tiny:
    case small:
    case medium:
    case rndv: write_eager(d, p, w); break;
    case pull: write_pull(d, p, w); break;
    case connect: write_connect(p, w); break;
    case notify: write_notify(p, w); break;
    case truc: write_truc(p, w); break;
    default: write_small_types(p, w); break;
    }
    return f;
}

const char *type_name(uint8_t type)
{
    switch (type) {
    case raw: return "RAW";
    case host_query: return "HOST QUERY";
    case host_reply: return "HOST REPLY";
    case truc: return "TRUC";
    case connect: return "CONNECT";
    case tiny: return "TINY";
    case small: return "SMALL";
    case medium: return "MEDIUM";
    case rndv: return "RNDV";
    case pull: return "PULL";
    case pull_reply: return "PULL REPLY";
    case notify: return "NOTIFY";
    case nack_lib: return "NACK LIB";
    case nack_mcp: return "NACK MCP";
    case x_medium: return "X MEDIUM";
    case x_report: return "X REPORT";
    case x_pull: return "X PULL";
    case x_data: return "X DATA";
    case x_address: return "X ADDRESS";
    case x_group: return "X GROUP";
    case x_pack: return "X PACK";
    default: return "unassigned type";
    }
}

} // namespace emx::model
