// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The rules of the wire checker, by section of the wire specification. See wirecheck.hpp.
#include "wirecheck.hpp"
#include "judge.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>

namespace emx::watch {
namespace {

using Bytes = std::vector<uint8_t>;

template <typename T>
const T &body(const Bytes &f)
{
    return *reinterpret_cast<const T *>(f.data() + EMX_OUTER_LEN);
}

bool zero(const Bytes &f, size_t from, size_t to)
{
    return std::all_of(f.begin() + static_cast<std::ptrdiff_t>(std::min(from, f.size())),
                       f.begin() + static_cast<std::ptrdiff_t>(std::min(to, f.size())),
                       [](uint8_t b) { return !b; });
}

/// The frame holds the header and len bytes, and nothing but zeros behind.
std::string ends(const Bytes &f, size_t header, size_t len)
{
    if (f.size() < EMX_OUTER_LEN + header + len)
        return "shorter than its stated length";
    if (f.size() > std::max<size_t>(EMX_FRAME_MIN, EMX_OUTER_LEN + header + len))
        return "trailing bytes";
    return zero(f, EMX_OUTER_LEN + header + len, f.size()) ? "" : "padding is not zero";
}

std::string judge_medium(const fw_sizes &s, const Bytes &f)
{
    auto &m = body<emx_w_medium>(f);
    bool w = s.dialect == FW_DIALECT_W;
    uint32_t length = w ? emx_get16(m.eager.length) : emx_get32(m.eager.length32);
    uint32_t frag_len = emx_get16(m.frag_len);
    uint64_t position = static_cast<uint64_t>(m.frag) * s.frag;
    if (w && (m.exponent != EMX_MEDIUM_EXPONENT_W || emx_get16(m.eager.checksum)))
        return "medium exponent or reserved field";
    if (!w && m.exponent)
        return "reserved byte 27 of a medium";
    if (emx_get16(m.checksum) || m.reserved30[0] || m.reserved30[1])
        return "medium reserved bytes";
    if (m.frag >= s.frags_max || length > s.medium_max || !frag_len || frag_len > s.frag)
        return "medium sizes";
    if (position + frag_len > length || (position + frag_len < length && frag_len != s.frag))
        return "medium fragment of the wrong size";
    return ends(f, sizeof m, frag_len);
}

std::string judge_pull(const fw_sizes &s, uint64_t total, uint64_t offset, uint64_t skip, uint64_t length,
                       uint64_t frame)
{
    uint64_t o = offset % s.reply;
    if (!length || skip >= s.reply || (skip + length + s.reply - 1) / s.reply > s.block)
        return "pull block shape";
    if (frame * s.reply + skip < o || frame * s.reply - o + skip + length > total)
        return "pull beyond the end";
    return "";
}

std::string judge_pull_w(const fw_sizes &s, const Bytes &f)
{
    auto &p = body<emx_w_pull_w>(f);
    std::string why = judge_pull(s, emx_get32(p.total), emx_get16(p.window_offset), emx_get16(p.skip),
                                 emx_get16(p.length), emx_get32(p.frame));
    return why.empty() ? ends(f, sizeof p, 0) : why;
}

std::string judge_pull_n(const fw_sizes &s, const Bytes &f)
{
    auto &p = body<emx_w_pull_n>(f);
    if (p.reserved17[0] || p.reserved17[1] || p.reserved17[2] || emx_get32(p.window) > 255)
        return "pull reserved bytes";
    std::string why = judge_pull(s, emx_get32(p.total), emx_get32(p.window_offset), emx_get32(p.skip),
                                 emx_get32(p.length), emx_get32(p.frame));
    return why.empty() ? ends(f, sizeof p, 0) : why;
}

/// A request that makes sense in both dialects, of all that its message has.
std::string judge_question(const Bytes &f)
{
    fw_sizes w, n;
    fw_sizes_w(&w);
    fw_sizes_n(&n, 9000);
    auto &p = body<emx_w_pull_w>(f);
    const std::string why = judge_pull(w, emx_get32(p.total), emx_get16(p.window_offset), emx_get16(p.skip),
                                       emx_get16(p.length), emx_get32(p.frame));
    return why.empty() ? judge_pull_n(n, f) : why;
}

std::string judge_connect(const Bytes &f)
{
    auto &c = body<emx_w_connect>(f);
    if (c.gen || !zero(f, 16 + 5, 16 + 8) || !zero(f, 16 + 12, 16 + 16) || !zero(f, 16 + 29, 16 + 32))
        return "connect reserved bytes";
    if (c.data_len != EMX_CONNECT_DATA_LEN || (c.is_reply && emx_get16(c.seq)) || c.is_reply > 1)
        return "connect constants";
    if (emx_get32(c.requester_session) == EMX_SESSION_NONE ||
        (c.is_reply && emx_get32(c.key_or_session) == EMX_SESSION_NONE))
        return "connect session";
    if (c.status && (!c.is_reply || c.status != EMX_CONNECT_BAD_KEY))
        return "connect status";
    return ends(f, sizeof c, f.size() > EMX_FRAME_MIN ? sizeof(emx_w_offer) : 0);
}

/// The extension's packets are judged by tests/model; here, that they end where they say.
std::string judge_extension(const Bytes &f)
{
    switch (f[16]) {
    case EMX_X_MEDIUM: return ends(f, sizeof(emx_w_x_medium), emx_get16(body<emx_w_x_medium>(f).frag_len));
    case EMX_X_REPORT: return ends(f, sizeof(emx_w_x_report), emx_get16(body<emx_w_x_report>(f).state_len));
    case EMX_X_PULL: return ends(f, sizeof(emx_w_x_pull), 0);
    case EMX_X_ADDRESS: return ends(f, sizeof(emx_w_x_address), 0);
    case EMX_X_PACK: return ends(f, sizeof(emx_w_x_pack), emx_get16(body<emx_w_x_pack>(f).length));
    default: return ends(f, sizeof(emx_w_x_data), emx_get16(body<emx_w_x_data>(f).length));
    }
}

/// A board address and an endpoint in one number.
uint64_t place(const Bytes &f, size_t mac_at, uint64_t ep)
{
    uint64_t m = ep;
    for (size_t i = 0; i < 6; i++)
        m = m << 8 | f[mac_at + i];
    return m;
}

} // namespace

void WireChecker::check(const fw_sizes &sizes, const Bytes &frame)
{
    if (!violation_.empty())
        return;
    std::string why = judge(sizes, frame);
    if (!why.empty())
        violation_ = why + ", frame of " + std::to_string(frame.size()) + " bytes:\n" + hex(frame);
}

std::string WireChecker::judge(const fw_sizes &s, const Bytes &f)
{
    if (f.size() < EMX_FRAME_MIN)
        return "frame below 60 bytes"; // section 2.3: crashes others
    if (f.size() > s.payload_min + 14u && f[16] != EMX_X_DATA && f[16] != EMX_X_MEDIUM && f[16] != EMX_X_PACK)
        return "frame above the dialect's size";
    if (f[12] != 0x86 || f[13] != 0xdf)
        return "EtherType";
    if ((f[0] & 1) && f[16] != EMX_RAW)
        return "multicast destination";
    switch (f[16]) {
    case EMX_TINY:
    case EMX_SMALL:
    case EMX_MEDIUM:
    case EMX_RNDV: return judge_eager(s, f);
    case EMX_PULL:
        if (f[16 + 1] == EMX_QUESTION_ENDPOINT)
            return judge_question(f);
        if (f[16 + 3] || emx_get32(body<emx_w_pull_w>(f).session) == EMX_SESSION_NONE)
            return "pull generation or session";
        return s.dialect == FW_DIALECT_W ? judge_pull_w(s, f) : judge_pull_n(s, f);
    case EMX_PULL_REPLY: {
        auto &r = body<emx_w_pull_reply>(f);
        uint32_t n = emx_get16(r.length);
        return !n || n > s.reply ? "pull reply size" : ends(f, sizeof r, n);
    }
    case EMX_TRUC: return judge_truc(f);
    case EMX_CONNECT: note_session(f); return judge_connect(f);
    case EMX_HOST_QUERY:
    case EMX_HOST_REPLY:
    case EMX_RAW: return judge_host(f);
    case EMX_X_MEDIUM:
    case EMX_X_REPORT:
    case EMX_X_PULL:
    case EMX_X_ADDRESS:
    case EMX_X_PACK:
    case EMX_X_DATA: return judge_extension(f);
    default: return judge_control(f);
    }
}

/// A partner that hears of a new session forgets the old one's ack counter (section 7.6).
void WireChecker::note_session(const Bytes &f)
{
    auto &c = body<emx_w_connect>(f);
    uint64_t from = place(f, 6, c.src_ep), to = place(f, 0, c.dst_ep);
    uint32_t session = emx_get32(c.is_reply ? c.key_or_session : c.requester_session);
    uint32_t &told = told_[{from, to}];
    if (told != session)
        std::erase_if(ack_counters_,
                      [&](auto &e) { return std::get<0>(e.first) == from && std::get<1>(e.first) == to; });
    told = session;
}

std::string WireChecker::judge_eager(const fw_sizes &s, const Bytes &f)
{
    auto &e = body<emx_w_eager>(f);
    if (e.gen || emx_get32(e.session) == EMX_SESSION_NONE)
        return "eager generation or session";
    if (e.type == EMX_MEDIUM)
        return judge_medium(s, f);
    if (emx_get16(e.checksum))
        return "eager checksum field";
    uint32_t n = emx_get16(e.length);
    if (e.type == EMX_RNDV)
        return n != EMX_RNDV_DATA_LEN ? "rendezvous data length" : ends(f, sizeof(emx_w_rndv), 0);
    if (n > (e.type == EMX_TINY ? EMX_TINY_MAX : EMX_SMALL_MAX))
        return "tiny or small too long";
    return ends(f, sizeof e, n);
}

std::string WireChecker::judge_control(const Bytes &f)
{
    if (f[16] == EMX_NOTIFY) {
        auto &n = body<emx_w_notify>(f);
        if (n.gen || !zero(f, 16 + 14, 16 + 18) || !zero(f, 16 + 22, 16 + 24))
            return "notify reserved bytes";
        return emx_get32(n.session) == EMX_SESSION_NONE ? "notify session" : ends(f, sizeof n, 0);
    }
    if (f[16] == EMX_NACK_LIB) {
        auto &n = body<emx_w_nack_lib>(f);
        if (n.reason < 1 || n.reason > 3)
            return "NACK LIB reason"; // section 4.13: aborts the peer's process
        if (n.gen || !zero(f, 16 + 4, 16 + 9) || !zero(f, 16 + 14, 16 + 16))
            return "NACK LIB reserved bytes";
        if (n.tag_copy.b[0] != f[14] || n.tag_copy.b[1] != f[15])
            return "NACK LIB tag copy";
        return ends(f, sizeof n, 0);
    }
    if (f[16] == EMX_NACK_MCP) {
        auto &n = body<emx_w_nack_mcp>(f);
        if (n.reason < 1 || n.reason > 4)
            return "NACK MCP reason"; // section 4.13: 0 is taken for success
        return n.gen || !zero(f, 16 + 4, 16 + 8) ? "NACK MCP reserved bytes" : ends(f, sizeof n, 0);
    }
    return "unknown packet type";
}

std::string WireChecker::judge_host(const Bytes &f)
{
    if (f[16] == EMX_RAW) // section 6.4: longer ones overflow the peer's daemon
        return f.size() == EMX_BEACON_LEN && zero(f, 17, 32) && zero(f, 44, 64) ? "" : "beacon";
    auto &h = body<emx_w_host>(f);
    if (!zero(f, 16 + 4, 16 + 8) || !zero(f, 16 + 12, 16 + 16))
        return "host packet reserved bytes";
    if (h.type == EMX_HOST_QUERY)
        return h.name_len ? "host query reserved byte" : ends(f, sizeof h, 0);
    if (!h.name_len || h.name_len > EMX_NAME_MAX || f.size() < 32u + h.name_len || f[31 + h.name_len])
        return "host reply name"; // section 6.3: overflows the peer's kernel
    if (!std::all_of(f.begin() + 32, f.begin() + 31 + h.name_len, [](uint8_t c) { return c > 31; }))
        return "host reply name characters";
    return ends(f, sizeof h, h.name_len);
}

std::string WireChecker::judge_truc(const Bytes &f)
{
    auto &t = body<emx_w_truc>(f);
    uint32_t session = emx_get32(t.session);
    if (t.gen || !zero(f, 16 + 5, 16 + 8) || t.reserved13 || t.resends || t.reserved27)
        return "ack packet reserved bytes";
    if (t.data_len != EMX_TRUC_DATA_LEN || t.kind != EMX_TRUC_ACK || session != emx_get32(t.session_copy))
        return "ack packet constants";
    uint32_t counter = emx_get32(t.counter);
    auto [last, fresh] =
        ack_counters_.try_emplace({place(f, 6, t.src_ep), place(f, 0, t.dst_ep), session}, counter);
    if (in_order_ && !fresh && counter <= last->second)
        return "explicit ack counter does not rise"; // rule 7 of section 1.1
    last->second = counter;
    return ends(f, sizeof t, 0);
}

} // namespace emx::watch
