// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Fuzzes fw_check and fw_encode: one byte chooses the sizes, the rest is a frame. What fw_check
// accepts keeps the promises of the wire specification, section 13, and survives the round trip.
#include "input.hpp"

#include <driver/core/fw_group.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

namespace {

using emx::fuzz::must;

fw_sizes choose_sizes(uint8_t byte)
{
    fw_sizes s;
    const uint32_t mtus[] = {9000, 1500, 256, 65535};
    if (byte % 2 == 0)
        fw_sizes_w(&s);
    else
        fw_sizes_n(&s, mtus[byte / 2 % 4]);
    return s;
}

void judge_medium(const fw_sizes &s, const emx_msg &m)
{
    must(m.msg_len <= s.medium_max && m.data_len <= s.frag_accept && m.u.medium.frag < s.frags_max);
    must(uint64_t{m.u.medium.position} + m.data_len <= m.msg_len);
    must(m.data_len > 0 || m.msg_len == 0);
    fw_reasm r{};
    must(fw_reasm_add(&r, m.msg_len, m.u.medium.frag, m.u.medium.position, m.data_len) == 1);
}

void judge_x_medium(const emx_msg &m)
{
    must(m.data_len <= EMX_X_FRAG_MAX);
    must(m.msg_len <= EMX_X_EAGER_MAX && m.u.medium.frag < EMX_FRAGS_MAX);
    fw_reasm r{};
    must(fw_reasm_add(&r, m.msg_len, m.u.medium.frag, m.u.medium.position, m.data_len) == 1);
    must(uint64_t{r.unit} * EMX_FRAGS_MAX >= m.msg_len);
}

void judge_x_pull(const fw_pkt &p)
{
    must(p.x.unit >= EMX_X_UNIT_MIN && p.x.unit <= EMX_X_UNIT_MAX && (p.x.want[0] & 1));
    for (uint64_t i = 0; i < 8 * EMX_X_WANT_LEN; i++)
        must(!(p.x.want[i / 8] >> i % 8 & 1) || (p.frame + i) * p.x.unit < p.total);
}

void judge_offer(uint64_t offer)
{
    must(!offer || (emx_offer_oldest(offer) >= 1 && emx_offer_newest(offer) >= emx_offer_oldest(offer) &&
                    emx_offer_frame(offer) >= EMX_X_FRAME_MIN && emx_offer_frames(offer) >= 1));
}

void judge(const fw_sizes &s, const fw_pkt &p, uint32_t len)
{
    const emx_msg &m = p.msg;
    must(fw_type_name(m.type) != nullptr && p.src_mac != 0 && (p.src_mac >> 40 & 1) == 0);
    must(m.data_len <= len);
    switch (m.type) {
    case EMX_TINY: return must(m.msg_len <= EMX_TINY_MAX && m.data_len == m.msg_len);
    case EMX_SMALL: return must(m.msg_len <= EMX_SMALL_MAX && m.data_len == m.msg_len);
    case EMX_MEDIUM: return judge_medium(s, m);
    case EMX_PULL:
        return must(p.length > 0 && p.skip < s.reply &&
                    uint64_t{p.skip} + p.length <= uint64_t{s.reply} * s.block &&
                    uint64_t{p.frame} * s.reply + p.skip <= 0xffffffff);
    case EMX_HOST_REPLY: return must(std::memchr(p.name, 0, sizeof p.name) != nullptr);
    case EMX_NACK_LIB: return must(m.u.nack.reason >= 1 && m.u.nack.reason <= 3);
    case EMX_NACK_MCP: return must(m.u.nack.reason >= 1 && m.u.nack.reason <= 4);
    case EMX_CONNECT: judge_offer(m.match); return must(m.u.connect.session != EMX_SESSION_NONE);
    case EMX_X_MEDIUM: return judge_x_medium(m);
    case EMX_X_REPORT: return must(m.data_len <= EMX_X_STATE_LEN);
    case EMX_X_PULL: return judge_x_pull(p);
    case EMX_X_DATA: return must(m.data_len > 0 && m.data_len == p.length);
    case EMX_X_ADDRESS:
        return must(p.x.secret != 0 && p.x.bytes >= EMX_X_DATAGRAM_MIN &&
                    (p.x.port == EMX_X_PORT + m.remote_ep || (p.x.tcp && p.x.port == 0 && p.x.address == 0)));
    case EMX_X_PACK:
        return must(m.u.pack.count >= 1 && m.u.pack.count <= EMX_X_PACK_MAX &&
                    m.data_len >= m.u.pack.count * sizeof(emx_w_x_packed));
    case EMX_RAW: return must(p.board != 0 && p.board >> 40 == (p.board >> 40 & 0xfe));
    }
}

/// A frame to a group: what is taken keeps the promises of docs/protocol.md, and is written again as it was.
void judge_group(const uint8_t *data, uint32_t len)
{
    std::unique_ptr<uint8_t[]> frame(new uint8_t[len]);
    std::copy_n(data, len, frame.get());
    static std::vector<uint64_t> table(fw_peers_bytes(4) / sizeof(uint64_t) + 1);
    std::fill(table.begin(), table.end(), 0);
    fw_board board{};
    board.peers = reinterpret_cast<fw_peers *>(table.data());
    fw_peers_init(board.peers, 4, 1, 2);
    const int sender = fw_peer_add(board.peers, emx_get_mac(data + 6));
    emx_msg m;
    if (fw_group_check(&board, frame.get(), len, &m))
        return;
    must(m.type == EMX_X_GROUP && m.peer == static_cast<uint32_t>(sender) && m.session != EMX_SESSION_NONE);
    must(m.data_len == m.msg_len && FW_X_GROUP_HEADER + m.data_len <= len);
    must(fw_group_key(&m) != 0 && fw_group_mac(fw_group_key(&m)) == emx_get_mac(data));
    auto from = std::make_unique<fw_endpoint>();
    board.mac = emx_get_mac(data + 6);
    fw_endpoint_init(from.get(), &board, m.remote_ep, m.session, 0);
    uint8_t again[EMX_HEADER_MAX] = {};
    must(fw_group_encode(from.get(), fw_group_key(&m), static_cast<uint32_t>(m.match), m.data_len, again) ==
         FW_X_GROUP_HEADER);
    must(std::memcmp(again, data, EMX_OUTER_LEN - 2) == 0 && again[18] == data[18]);
    must(std::memcmp(again + 20, data + 20, 14) == 0); // session to length
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size)
{
    if (size < 1)
        return 0;
    emx::fuzz::count_frame();
    fw_sizes s = choose_sizes(data[0]);
    uint64_t self = data[0] & 0x80 ? 0x02000000000b : 0;
    fw_pkt p, back;
    auto len = static_cast<uint32_t>(size - 1);
    if (len >= EMX_FRAME_MIN && fw_is_group_mac(emx_get_mac(data + 1)))
        judge_group(data + 1, len);
    // Only what fw_check may read: a sanitizer sees more.
    uint32_t linear = std::min<uint32_t>(len, FW_CHECK_BYTES);
    std::unique_ptr<uint8_t[]> frame(new uint8_t[linear]);
    std::memcpy(frame.get(), data + 1, linear);
    if (fw_check(&s, self, frame.get(), len, &p))
        return 0;
    if (p.foreign)
        return 0; // a request of the other dialect, to be refused: not ours to encode
    judge(s, p, len);

    uint8_t again[EMX_HEADER_MAX + EMX_NAME_MAX] = {};
    uint32_t header = fw_encode(&s, &p, again);
    must(header >= EMX_OUTER_LEN && header <= sizeof again);
    must(fw_check(&s, self, again, std::max<uint32_t>(header + p.msg.data_len, EMX_FRAME_MIN), &back) == 0);
    p.msg.data = back.msg.data = 0;
    must(std::memcmp(&p, &back, offsetof(fw_pkt, name)) == 0 && std::strcmp(p.name, back.name) == 0);
    must(p.msg.type < EMX_X_MEDIUM || std::memcmp(&p.x, &back.x, sizeof p.x) == 0);
    return 0;
}
