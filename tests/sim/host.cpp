// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A simulated host: carries out what the firmware core asks for. See host.hpp.
#include "host.hpp"

#include "driver/board/packet_ways.hpp"
#include "port.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace emx::sim {

Host::Host(World &world, Network &network, uint32_t number, const HostOptions &options)
    : world_(world), network_(network), number_(number), options_(options)
{
    for (uint32_t b = 0; b < options.boards; b++)
        boards.push_back(std::make_unique<Board>(*this, b, 0x020000000000ull | (number + 1) << 8 | (b + 1)));
}

void introduce(std::vector<std::unique_ptr<Host>> &hosts, test::Rng &rng)
{
    std::vector<Board *> all;
    for (auto &h : hosts)
        for (auto &b : h->boards)
            all.push_back(b.get());
    for (Board *b : all) {
        std::vector<Board *> order = all;
        for (size_t i = order.size(); i > 1; i--)
            std::swap(order[i - 1], order[rng.below(i)]);
        for (Board *peer : order)
            b->add_peer(peer->fw().mac, peer->name());
    }
}

Board::Board(Host &host, uint32_t number, uint64_t mac)
    : host_(host), number_(number), name_("h" + std::to_string(host.number()) + ":" + std::to_string(number))
{
    const HostOptions &o = host.options();
    peer_memory_.resize(fw_peers_bytes(o.peers_max) / 8 + 1);
    fw_.peers = reinterpret_cast<fw_peers *>(peer_memory_.data());
    fw_peers_init(fw_.peers, o.peers_max, 1, 2);
    fw_.tags = fw_peers_tags(fw_.peers);
    fw_.mac = mac;
    if (o.dialect == 'W')
        fw_sizes_w(&fw_.sizes);
    else if (fw_sizes_n(&fw_.sizes, o.dialect_mtu))
        abort();
    fw_.counters = &counters;
    fw_.endpoint_max = o.endpoint_max;
    fw_.query_magic = 0x13052008;
    fw_.answers_hosts = 1;
    rename(name_);
    host.network().attach(*this);
}

Board::~Board() = default;

uint32_t Board::host_number() const { return host_.number(); }

/// 10.0.host.board, each from 1 on.
uint32_t Board::ip_address() const { return 10u << 24 | (host_.number() + 1) << 8 | (number_ + 1); }

SimPort *Board::listener(uint32_t address, uint16_t port) const
{
    const bool ours = host_.alive() && address == ip_address() && port >= EMX_X_PORT;
    SimPort *found = ours && port < EMX_X_PORT + EMX_ENDPOINTS_MAX ? ports_[port - EMX_X_PORT] : nullptr;
    return found && found->has_tcp() ? found : nullptr;
}

uint16_t Board::x_frame() const
{
    const uint16_t wanted = host_.options().x_frame;
    return wanted == 1 ? static_cast<uint16_t>(fw_.sizes.payload_min + 14) : wanted;
}

uint16_t Board::x_fragment() const
{
    return host_.options().x_fragments ? static_cast<uint16_t>(fw_x_frag_max(x_frame())) : uint16_t{0};
}

void Board::rename(const std::string &name)
{
    name_ = name.substr(0, EMX_NAME_MAX - 1);
    std::memset(fw_.name, 0, sizeof fw_.name);
    std::memcpy(fw_.name, name_.data(), name_.size());
}

uint32_t Board::add_peer(uint64_t mac, const std::string &name)
{
    int i = fw_peer_add(fw_.peers, mac);
    if (i < 0)
        abort();
    if (!name.empty())
        fw_peer_name(fw_.peers, static_cast<uint32_t>(i), name.c_str());
    return static_cast<uint32_t>(i);
}

bool Board::replace_spare(uint64_t mac)
{
    fw_spares spares;
    fw_spares_begin(&spares, fw_.peers);
    for (int i; (i = fw_spares_next(&spares, fw_.peers, 0)) >= 0;) {
        const auto place = static_cast<uint32_t>(i);
        if (std::none_of(kept_.begin(), kept_.end(), [place](const auto &k) { return k.second == place; }))
            return fw_peer_replace(fw_.peers, place, fw_peer_vacate(fw_.peers, place), mac) == 0;
    }
    return false;
}

void Board::pin(uint64_t mac, char dialect, uint32_t size)
{
    const int i = fw_peer_find(fw_.peers, mac, ~0u);
    const auto speaks = static_cast<uint16_t>(dialect == 'W' ? FW_SPEAKS_W : size);
    if (i < 0 || fw_peer_pin(fw_.peers, static_cast<uint32_t>(i), speaks) != 0)
        abort();
    pinned_[mac] = {dialect, size};
}

std::pair<char, uint32_t> Board::dialect_to(uint64_t mac) const
{
    const auto found = pinned_.find(mac);
    const HostOptions &o = host_.options();
    return found == pinned_.end() ? std::pair(o.dialect, o.dialect_mtu) : found->second;
}

bool Board::host_transmit(Frame frame)
{
    if (!host_.alive())
        return true; // nobody is there to notice
    if (frame.size() < EMX_FRAME_MIN)
        frame.resize(EMX_FRAME_MIN);
    return host_.network().send(*this, frame);
}

/// The endpoint whose process runs the firmware for this frame; none: the host does.
SimPort *Board::steer(const Frame &frame)
{
    if (!host_.options().polled || frame.size() < EMX_FRAME_MIN)
        return nullptr;
    const PacketWay &way = packet_ways[frame[packet_type_at]];
    const bool to_process = way.role == SocketRole::ring || way.role == SocketRole::bulk;
    return to_process ? ports_[frame[way.endpoint_at]] : nullptr;
}

void Board::arrive(Frame frame)
{
    if (!host_.alive())
        return;
    if (frame.size() >= 12 && fw_is_group_mac(board_mac(frame.data())))
        return serve_group(frame);
    if (SimPort *port = steer(frame))
        port->queue_frame(std::move(frame));
    else
        serve(frame);
}

namespace {

/// True for an X DATA that was altered.
bool is_altered(const fw_pkt &pkt, const Frame &frame)
{
    return !fw_checksum_fits(&pkt, frame.data(),
                             fw_crc32c(0, frame.data() + FW_X_DATA_HEADER, pkt.msg.data_len));
}

} // namespace

void Board::serve(const Frame &frame)
{
    fw_pkt pkt;
    // A looped frame comes from our own address, which the check would refuse.
    bool looped = frame.size() >= 12 && board_mac(frame.data() + 6) == fw_.mac;
    int why =
        fw_check_for(&fw_, looped ? 0 : fw_.mac, frame.data(), static_cast<uint32_t>(frame.size()), &pkt);
    if (why) {
        counters.v[why]++;
        return;
    }
    if (pkt.msg.type == EMX_X_DATA && x_fragment() != 0 && pkt.x.checksum != 0 && is_altered(pkt, frame)) {
        counters.v[EMX_CNT_DROP_CHECKSUM]++;
        return;
    }
    fw_fx fx{};
    fw_endpoint *ep = fw_demux(&fw_, &pkt, &fx);
    if (!ep && fx.kind == FW_FX_PEER) {
        if (fw_peer_add(fw_.peers, fx.u.host.mac) < 0 && !replace_spare(fx.u.host.mac)) {
            counters.v[EMX_CNT_DROP_TABLE_FULL]++;
            return;
        }
        fx = fw_fx{};
        ep = fw_demux(&fw_, &pkt, &fx);
    }
    if (!ep) {
        execute(fx, counters, fw_.answers);
        return;
    }
    SimPort &port = *ports_[ep->number];
    int more = fw_rx(ep, &pkt, host_.world().now(), &fx);
    execute(port, &frame, fx);
    for (uint32_t n = 0; more; n++) {
        if (n > FW_EFFECTS_MAX)
            abort();
        fx = fw_fx{};
        more = fw_next(ep, host_.world().now(), &fx);
        execute(port, &frame, fx);
    }
    port.leave_lost_ways();
    port.arm();
}

void Board::drain(SimPort &port)
{
    fw_fx fx{};
    for (uint32_t n = 0; fw_next(port.endpoint(), host_.world().now(), &fx); n++) {
        if (n > FW_EFFECTS_MAX)
            abort();
        execute(port, nullptr, fx);
        fx = fw_fx{};
    }
    execute(port, nullptr, fx);
    port.leave_lost_ways();
    port.arm();
}

void Board::tick(SimPort &port)
{
    if (host_.world().now() < fw_deadline(port.endpoint()))
        return;
    fw_tick(port.endpoint(), host_.world().now());
    drain(port);
}

void Board::execute(SimPort &port, const Frame *frame, fw_fx &fx)
{
    switch (fx.kind) {
    case FW_FX_EVENT: port.put_event(fx.u.msg, frame); break;
    case FW_FX_REPLIES: replies(port, fx.u.replies); break;
    case FW_FX_FALLBACK: port.fall_back(fx.u.address); break;
    case FW_FX_ADDRESS:
        if (fx.u.address.tcp)
            port.connections().heard(fx.u.address);
        break;
    case FW_FX_COPY:
        if (!frame)
            abort(); // the core copies out of a frame that it was not given
        port.copy_in(fx.u.copy.cookie, fx.u.copy.position, frame->data() + fx.u.copy.source,
                     fx.u.copy.length);
        break;
    default: execute(fx, port.counters(), port.endpoint()->answers); break;
    }
}

void Board::execute(fw_fx &fx, emx_counters &count, fw_bucket &answers)
{
    switch (fx.kind) {
    case FW_FX_DROP: count.v[fx.counter]++; break;
    case FW_FX_ANSWER:
        if (!fw_may_answer(&answers, host_.world().now())) {
            count.v[EMX_CNT_DROP_ANSWER]++;
            break;
        }
        [[fallthrough]];
    case FW_FX_TX:
        count.v[fx.counter]++;
        transmit(Frame(fx.u.tx.header, fx.u.tx.header + fx.u.tx.length));
        break;
    case FW_FX_NAME: fw_peer_name(fw_.peers, fx.u.host.peer, fx.u.host.name); break;
    default: break; // FW_FX_BEACON: every board is introduced at the start
    }
}

void Board::replies(SimPort &port, fw_replies run)
{
    const bool is_x = run.reply.msg.type == EMX_X_DATA;
    const bool by_tcp = is_x && run.reply.x.carrier == FW_BY_TCP;
    while (run.count > 0) {
        Frame frame(EMX_HEADER_MAX);
        const uint32_t header = fw_encode(&fw_.sizes, &run.reply, frame.data());
        uint32_t position = 0;
        const uint32_t length = fw_replies_take(&run, frame.data(), &position);
        frame.resize(header + length);
        if (!port.read_window(run.window, static_cast<uint64_t>(run.window_offset) + position,
                              frame.data() + header, length))
            return;
        if (is_x && run.reply.x.sum && x_fragment() != 0)
            fw_put_checksum(frame.data(), fw_crc32c(0, frame.data() + header, length));
        if (by_tcp && !port.connections().send(run.reply.msg.peer, run.reply.msg.local_ep, frame)) {
            port.counters().v[EMX_CNT_DROP_PULL_BUSY]++;
            return;
        }
        port.counters().v[is_x ? EMX_CNT_TX_X_DATA : EMX_CNT_TX_PULL_REPLY]++;
        if (by_tcp)
            continue;
        if (run.reply.x.carrier == FW_BY_DATAGRAMS && frame.size() <= host_.options().datagram)
            host_.network().send_datagram(*this, frame);
        else
            transmit(std::move(frame));
    }
}

} // namespace emx::sim
