// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Prints what fw_check makes of each frame of a capture, under the names of the Wireshark dissector's fields:
//
//   codec_fields W|SIZE FILE       one line per frame: the counter of the reason to drop it, or "ok
//   NAME=VALUE..."
#include <driver/core/fw_group.h>
#include <driver/core/fw_pack.h>
#include <tests/support/pcap.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

namespace {

/// One line in the making.
class Line {
public:
    Line &number(const char *name, uint64_t value)
    {
        text_ += std::string(" mxoe.") + name + "=" + std::to_string(value);
        return *this;
    }
    Line &bytes(const char *name, const uint8_t *data, std::size_t length)
    {
        text_ += std::string(" mxoe.") + name + "=";
        for (std::size_t i = 0; i < length; i++) {
            char hex[3];
            std::snprintf(hex, sizeof hex, "%02x", data[i]);
            text_ += hex;
        }
        return *this;
    }
    void print() const { std::printf("ok%s\n", text_.c_str()); }

private:
    std::string text_;
};

void endpoints(Line &line, const fw_pkt &p)
{
    line.number("dst_ep", p.msg.local_ep).number("src_ep", p.msg.remote_ep);
}

void numbers(Line &line, const fw_pkt &p)
{
    endpoints(line, p);
    line.number("seq", p.msg.seq).number("ack", p.msg.ack).number("session", p.msg.session);
}

void window(Line &line, const fw_pkt &p)
{
    line.number("window.tag", p.msg.u.window.tag);
    if (p.msg.type != EMX_NOTIFY)
        line.number("window.offset", p.msg.u.window.offset);
    line.number("window", p.msg.type == EMX_PULL ? p.window : p.msg.u.window.id);
}

void pull_names(Line &line, const fw_pkt &p)
{
    line.number("pull.handle", p.handle).number("pull.magic", p.magic);
}

void payload(Line &line, const fw_pkt &p, const std::vector<uint8_t> &frame)
{
    const auto at = static_cast<std::size_t>(p.msg.data - reinterpret_cast<uintptr_t>(frame.data()));
    if (p.msg.data_len)
        line.bytes("data", &frame[at], p.msg.data_len);
}

void eager(Line &line, const fw_pkt &p)
{
    numbers(line, p);
    line.number("match", p.msg.match).number("length", p.msg.msg_len);
    if (p.msg.type == EMX_RNDV)
        window(line, p);
    if (p.msg.type == EMX_MEDIUM)
        line.number("frag.size", p.msg.data_len)
            .number("frag", p.msg.u.medium.frag)
            .number("position", p.msg.u.medium.position);
}

void connect(Line &line, const fw_pkt &p)
{
    const auto &c = p.msg.u.connect;
    endpoints(line, p);
    line.number("advert", p.advert).number("seq", p.msg.seq).number("connect.start", c.start);
    line.number("connect.number", c.number).number("connect.is_reply", c.is_reply);
    if (c.is_reply)
        line.number("connect.requester", p.msg.session)
            .number("connect.replier", c.session)
            .number("connect.status", c.status);
    else
        line.number("connect.requester", c.session).number("connect.key", c.key);
    if (const uint64_t offer = p.msg.match)
        line.number("offer.newest", emx_offer_newest(offer))
            .number("offer.oldest", emx_offer_oldest(offer))
            .number("offer.features", emx_offer_features(offer))
            .number("offer.frame", emx_offer_frame(offer))
            .number("offer.frames", emx_offer_frames(offer));
}

void pull(Line &line, const fw_pkt &p)
{
    endpoints(line, p);
    window(line, p);
    pull_names(line, p);
    line.number("session", p.msg.session).number("pull.total", p.total).number("pull.skip", p.skip);
    line.number("pull.block", p.length).number("pull.frame", p.frame);
}

void nack(Line &line, const fw_pkt &p)
{
    line.number("dst_ep", p.msg.local_ep).number("nack.reason", p.msg.u.nack.reason);
    if (p.msg.type == EMX_NACK_LIB)
        line.number("src_ep", p.msg.remote_ep).number("seq", p.msg.seq);
    else
        pull_names(line, p);
}

void host(Line &line, const fw_pkt &p)
{
    line.number("advert", p.advert).number("host.magic", p.magic);
    if (p.msg.type == EMX_HOST_REPLY)
        line.bytes("host.name", reinterpret_cast<const uint8_t *>(p.name), std::string(p.name).size());
}

void library_packet(Line &line, const fw_pkt &p)
{
    switch (p.msg.type) {
    case EMX_TRUC:
        endpoints(line, p);
        line.number("ack", p.msg.ack).number("session", p.msg.session);
        line.number("truc.counter", p.msg.u.truc.counter);
        break;
    case EMX_CONNECT: return connect(line, p);
    case EMX_NOTIFY:
        numbers(line, p);
        window(line, p);
        line.number("length", p.msg.msg_len);
        break;
    case EMX_NACK_LIB:
    case EMX_NACK_MCP: return nack(line, p);
    default: eager(line, p);
    }
}

void describe(Line &line, const fw_pkt &p)
{
    switch (p.msg.type) {
    case EMX_RAW: line.number("beacon.board", p.board).number("beacon.serial", p.serial); break;
    case EMX_HOST_QUERY:
    case EMX_HOST_REPLY: return host(line, p);
    case EMX_PULL: return pull(line, p);
    case EMX_PULL_REPLY:
        pull_names(line, p);
        line.number("reply.frame", p.frame).number("reply.size", p.length).number("position", p.position);
        break;
    default: library_packet(line, p);
    }
}

/// Packets of the EtherMX extension. Payload of X REPORT is its state, of which nothing is printed.
void describe_extension(Line &line, const fw_pkt &p)
{
    const emx_msg &m = p.msg;
    endpoints(line, p);
    if (m.type != EMX_X_DATA)
        line.number("session", m.session);
    switch (m.type) {
    case EMX_X_MEDIUM:
        line.number("seq", m.seq).number("ack", m.ack).number("match", m.match).number("length", m.msg_len);
        line.number("frag.size", m.data_len).number("frag", m.u.medium.frag);
        line.number("position", m.u.medium.position).number("x.checksum", p.x.checksum);
        break;
    case EMX_X_REPORT:
        line.number("ack", m.ack).number("x.next", m.seq).number("x.counter", m.u.report.counter);
        line.number("x.echo", m.u.report.echo).number("x.room", m.u.report.room);
        break;
    case EMX_X_PULL:
        window(line, p);
        pull_names(line, p);
        line.number("pull.total", p.total).number("x.unit", p.x.unit);
        line.number("x.request", p.x.request).number("x.frame", p.frame);
        break;
    case EMX_X_ADDRESS:
        line.number("x.session", p.x.session).number("x.address", p.x.address).number("x.secret", p.x.secret);
        line.number("x.port", p.x.port).number("x.longest", p.x.bytes);
        break;
    case EMX_X_PACK:
        line.number("seq", m.seq).number("ack", m.ack).number("x.checksum", p.x.checksum);
        line.number("x.pack.size", m.data_len).number("x.pack.count", m.u.pack.count);
        break;
    default:
        pull_names(line, p);
        line.number("x.frame", p.frame).number("x.request", p.x.request).number("x.size", p.length);
        line.number("x.checksum", p.x.checksum);
    }
}

/// The verdict on a frame to a group, of whatever sender; its checksum is the dissector's to judge.
int check_group(const std::vector<uint8_t> &frame, fw_pkt &p)
{
    std::vector<uint64_t> table(fw_peers_bytes(1) / sizeof(uint64_t) + 1);
    fw_board board{};
    board.peers = reinterpret_cast<fw_peers *>(table.data());
    fw_peers_init(board.peers, 1, 1, 2);
    p = {};
    const int why = fw_group_check(&board, frame.data(), static_cast<uint32_t>(frame.size()), &p.msg);
    p.tag = EMX_TAG_NONE;
    return why == EMX_CNT_DROP_UNKNOWN_PEER || why == EMX_CNT_DROP_CHECKSUM ? 0 : why;
}

void describe_group(Line &line, const fw_pkt &p)
{
    line.number("src_ep", p.msg.remote_ep).number("x.session", p.msg.session);
    line.number("x.group.key", fw_group_key(&p.msg))
        .number("x.group.number", static_cast<uint32_t>(p.msg.match));
    line.number("x.group.size", p.msg.data_len);
}

void print_all(const fw_sizes &sizes, const char *path)
{
    for (const auto &f : emx::test::read_pcap(path)) {
        fw_pkt p;
        const bool to_group = f.bytes.size() > EMX_OUTER_LEN &&
                              fw_is_group_mac(emx_get_mac(f.bytes.data())) &&
                              f.bytes[EMX_OUTER_LEN] == EMX_X_GROUP;
        int why = to_group ? check_group(f.bytes, p)
                           : fw_check(&sizes, 0, f.bytes.data(), static_cast<uint32_t>(f.bytes.size()), &p);
        const emx_msg &m = p.msg; // fw_rx looks into packs, where the frame is in one piece
        if (!why && m.type == EMX_X_PACK &&
            fw_pack_count(reinterpret_cast<const void *>(m.data), m.data_len) != m.u.pack.count)
            why = EMX_CNT_DROP_LENGTH;
        if (why) {
            std::puts(fw_counter_label(static_cast<unsigned>(why)));
            continue;
        }
        Line line;
        line.number("type", p.msg.type).number("tag", p.tag);
        if (to_group)
            describe_group(line, p);
        else if (p.msg.type >= EMX_X_MEDIUM)
            describe_extension(line, p);
        else
            describe(line, p);
        if (p.msg.type != EMX_X_REPORT)
            payload(line, p, f.bytes);
        line.print();
    }
}

} // namespace

int main(int argc, char **argv)
{
    fw_sizes sizes;
    fw_sizes_w(&sizes);
    if (argc != 3 || (argv[1][0] != 'W' && fw_sizes_n(&sizes, static_cast<uint32_t>(std::atoi(argv[1]))))) {
        std::fputs("usage: codec_fields W|SIZE FILE\n", stderr);
        return 2;
    }
    try {
        print_all(sizes, argv[2]);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "codec_fields: %s\n", e.what());
        return 1;
    }
    return 0;
}
