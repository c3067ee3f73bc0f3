// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The agent's side of a board: host queries, refusals, peers, and the sockets of endpoints.
#include "driver/agent/board.hpp"

#include "driver/base/clock.hpp"

#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

namespace emx {
namespace {

constexpr uint32_t ring_slots = 512;
constexpr uint32_t group_slots = 512; // more than one sender has under way (compat/cast)
constexpr uint32_t group_ring_bytes = 1u << 22;
constexpr uint32_t ring_bytes = 1u << 23; // fewer slots where frames are longer than 16 KiB
constexpr uint32_t lo_slots = 128; // half of them for pull replies, see EnginePort::pull_window
constexpr uint32_t lo_ring_bytes = 1u << 21;
constexpr uint32_t bulk_buffer = 1u << 22;
constexpr uint32_t own_buffer = 1u << 20;
constexpr int frames_per_call = 64;

uint32_t random_word()
{
    uint32_t word = 0;
    while (::getrandom(&word, sizeof(word), 0) != static_cast<ssize_t>(sizeof(word))) {
    }
    return word;
}

void copy_text(char *target, std::size_t size, const std::string &text)
{
    std::memset(target, 0, size);
    text.copy(target, size - 1);
}

} // namespace

AgentBoard::AgentBoard(BoardFile &file, uint32_t number, const BoardPlan &plan, std::string name)
    : file_(file), number_(number), plan_(plan), configured_name_(plan.spec.interface),
      name_(std::move(name)), counters_(file.counters(number).past), peers_(file.peers(number))
{
    // In the file of an agent before, with an interface that vanished and came back since.
    if (record().ifindex != 0 && record().ifindex != static_cast<uint32_t>(plan.facts.index))
        record().lives++;
    fill_record();
    write_link(record(), plan.facts.up ? EMX_LINK_UP : EMX_LINK_DOWN);
    board_.peers = peers_;
    board_.tags = fw_peers_tags(peers_);
    board_.counters = &counters_;
    board_.endpoint_max = file.header().endpoint_max;
    board_.query_magic = random_word();
    board_.answers_hosts = 1;
    copy_text(board_.name, sizeof(board_.name), name_);
    announce();
}

void AgentBoard::announce() { fw_beacons_start(&beacons_, random_word(), monotonic_ns()); }

void AgentBoard::fill_record()
{
    BoardRecord &r = record();
    r.mac = plan_.facts.mac;
    r.ifindex = static_cast<uint32_t>(plan_.facts.index);
    r.mtu = plan_.facts.mtu;
    r.numa_node = plan_.facts.numa_node;
    r.sizes = plan_.sizes;
    r.x_frame = plan_.x_frame;
    r.udp_port = plan_.spec.udp_port;
    r.udp_v4 = plan_.own.is_v4();
    copy_text(r.place, sizeof(r.place), describe_place(plan_.spec));
    copy_text(r.interface, sizeof(r.interface), plan_.spec.interface);
    copy_text(r.driver, sizeof(r.driver), plan_.facts.driver);
    board_.mac = r.mac;
    board_.sizes = r.sizes;
    room_ = r.sizes;
    fw_peers_widen(peers_, &room_);
}

bool AgentBoard::buffers_need_force()
{
    const Fd probe(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    return !probe || !buffers_grow_freely(probe.get(), bulk_buffer);
}

bool AgentBoard::open_sockets()
{
    InterfaceFacts lo;
    if (!query_interface("lo", lo))
        return false;
    lo_index_ = lo.index;
    lo_ = make_packet_socket(own_filter(true), nullptr);
    interface_ = open_interface();
    if (!interface_ || !lo_)
        return false;
    grow_buffers(lo_.get(), own_buffer);
    return bind_packet_socket(lo_.get(), lo_index_, EMX_ETHERTYPE);
}

FilterProgram AgentBoard::own_filter(bool loopback) const
{
    return agent_filter(board_.mac, claimed_, full_frames(room_, plan_.facts.mtu), loopback);
}

Fd AgentBoard::open_interface() const
{
    Fd socket = make_packet_socket(own_filter(false), nullptr);
    if (!socket)
        return {};
    grow_buffers(socket.get(), own_buffer);
    return bind_packet_socket(socket.get(), plan_.facts.index, EMX_ETHERTYPE) ? std::move(socket) : Fd();
}

bool AgentBoard::steer_replies(uint16_t group)
{
    // The endpoint's own sockets have locked filters, which bars their group's program as well.
    const Fd guest = make_packet_socket(closed_filter(), nullptr);
    if (!guest || !bind_packet_socket(guest.get(), plan_.facts.index, EMX_ETHERTYPE) ||
        !join_group(guest.get(), group) ||
        !steer_group(guest.get(), reply_chooser(full_frames(room_, plan_.facts.mtu))))
        return false;
    // Two sockets, for a moment, miss nothing.
    Fd socket = open_interface();
    if (!socket)
        return false;
    receive(interface_.get());
    interface_ = std::move(socket);
    return true;
}

void AgentBoard::update_filters()
{
    // Without memory for the new filters the state kept beside them is right: the core drops by ep_state.
    attach_filter(interface_.get(), own_filter(false));
    attach_filter(lo_.get(), own_filter(true));
}

void AgentBoard::claim(uint32_t endpoint, const ClaimRecord &owner, std::unique_ptr<EndpointPage> counters)
{
    assert(!claimed_[endpoint]);
    claimed_.set(endpoint);
    board_.ep_state[endpoint] = FW_EP_FOREIGN;
    update_filters();
    file_.claim(number_, endpoint) = owner;
    pages_[endpoint] = std::move(counters);
    count_claims();
}

void AgentBoard::release(uint32_t endpoint)
{
    assert(claimed_[endpoint]);
    file_.claim(number_, endpoint) = {};
    for (std::size_t c = 0; c < EMX_CNT_COUNT; c++)
        counters_.v[c] += pages_[endpoint]->read(c);
    pages_[endpoint].reset();
    claimed_.reset(endpoint);
    board_.ep_state[endpoint] = FW_EP_CLOSED;
    update_filters();
    take_back(endpoint);
    count_claims();
}

void AgentBoard::count_claims()
{
    const auto count = static_cast<uint32_t>(claimed_.count());
    std::atomic_ref(file_.board(number_).claims).store(count, std::memory_order_relaxed);
}

uint64_t AgentBoard::live(std::size_t counter) const
{
    uint64_t sum = 0;
    for (const auto &page : pages_)
        sum += page ? page->read(counter) : 0;
    return sum;
}

void AgentBoard::tell_counters()
{
    emx_counters &told = file_.counters(number_).told;
    for (std::size_t c = 0; c < EMX_CNT_COUNT; c++)
        std::atomic_ref(told.v[c]).store(counters_.v[c] + live(c), std::memory_order_relaxed);
}

/// Pages are their owners': what they have counted up to now is taken off the sum.
void AgentBoard::clear_counters()
{
    for (std::size_t c = 0; c < EMX_CNT_COUNT; c++)
        counters_.v[c] = -live(c);
}

void AgentBoard::refuse_nobody()
{
    recovering_ = true;
    std::memset(board_.ep_state, FW_EP_FOREIGN, sizeof(board_.ep_state));
}

void AgentBoard::refuse_unclaimed()
{
    recovering_ = false;
    for (uint32_t endpoint = 0; endpoint < EMX_ENDPOINTS_MAX; endpoint++)
        if (!claimed_[endpoint])
            board_.ep_state[endpoint] = FW_EP_CLOSED;
}

bool AgentBoard::make_sockets(uint32_t endpoint, bool trusted, EndpointSockets &sockets)
{
    const auto number = static_cast<uint8_t>(endpoint);
    const uint32_t lo_frame = lo_frame_max(room_, plan_.facts.mtu);
    const uint32_t frame = ring_frame_max(room_, plan_.facts.mtu);
    const RingShape ring = shape_ring(frame, std::min(ring_bytes / frame, ring_slots));
    const RingShape lo = shape_ring(lo_frame, std::clamp(lo_ring_bytes / lo_frame, 16u, lo_slots));
    sockets.ring = make_packet_socket(endpoint_filter(board_.mac, number, false), &ring);
    if (!sockets.ring || !bind_packet_socket(sockets.ring.get(), plan_.facts.index, EMX_ETHERTYPE))
        return false;
    // Every bound socket costs each frame of the board some 60 ns: the process binds this one when it first
    // pulls.
    sockets.bulk = make_packet_socket(reply_filter(board_.mac, number), nullptr);
    if (!sockets.bulk)
        return false;
    sockets.lo = make_packet_socket(endpoint_filter(board_.mac, number, true), &lo);
    if (!sockets.lo || !bind_packet_socket(sockets.lo.get(), lo_index_, EMX_ETHERTYPE))
        return false;
    grow_buffers(sockets.ring.get(), bulk_buffer);
    grow_buffers(sockets.lo.get(), bulk_buffer);
    sockets.shape.bulk_bytes = grow_buffers(sockets.bulk.get(), bulk_buffer);
    sockets.shape.life = file_.board(number_).lives;
    sockets.shape.ring_slot = ring.slot;
    sockets.shape.ring_block = ring.block;
    sockets.shape.ring_blocks = ring.blocks;
    sockets.shape.lo_slot = lo.slot;
    sockets.shape.lo_block = lo.block;
    sockets.shape.lo_blocks = lo.blocks;
    return (trusted || (lock_filter(sockets.ring.get()) && lock_filter(sockets.bulk.get()))) &&
           lock_filter(sockets.lo.get());
}

Fd AgentBoard::make_group_socket(RingShape &shape) const
{
    const uint32_t frame = fw_x_frame_max(&board_.sizes, plan_.facts.mtu);
    shape = shape_ring(frame, std::min(group_ring_bytes / frame, group_slots));
    Fd socket = make_packet_socket(group_filter(), &shape);
    if (!socket || !lock_filter(socket.get()) ||
        !bind_packet_socket(socket.get(), plan_.facts.index, EMX_ETHERTYPE))
        return {};
    return socket;
}

void AgentBoard::receive(int socket)
{
    // Headers and names lie in the first bytes; of longer frames only the length counts.
    alignas(8) uint8_t frame[512];
    for (int n = 0; n < frames_per_call; n++) {
        sockaddr_ll source{};
        socklen_t length = sizeof(source);
        const ssize_t got = ::recvfrom(socket, frame, sizeof(frame), MSG_DONTWAIT | MSG_TRUNC,
                                       reinterpret_cast<sockaddr *>(&source), &length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return;
        if (socket == interface_.get() && source.sll_pkttype == PACKET_OTHERHOST) {
            emx_count(&counters_, EMX_CNT_DROP_OTHER_HOST, 1);
            continue;
        }
        handle(socket, frame, static_cast<uint32_t>(got));
    }
}

void AgentBoard::handle(int socket, const uint8_t *frame, uint32_t bytes)
{
    fw_pkt pkt{};
    fw_fx fx{};
    const int reason = fw_check_for(&board_, socket == lo_.get() ? 0 : board_.mac, frame, bytes, &pkt);
    if (reason != 0) {
        emx_count(&counters_, reason, 1);
        return;
    }
    fw_demux(&board_, &pkt, &fx);
    if (fx.kind == FW_FX_PEER) {
        if (add_peer(fx.u.host.mac ? fx.u.host.mac : pkt.src_mac) < 0) {
            emx_count(&counters_, EMX_CNT_DROP_TABLE_FULL, 1);
            return;
        }
        fw_demux(&board_, &pkt, &fx);
    }
    execute(socket, fx);
}

void AgentBoard::execute(int socket, const fw_fx &fx)
{
    switch (fx.kind) {
    case FW_FX_DROP: emx_count(&counters_, fx.counter, 1); break;
    case FW_FX_ANSWER:
        if (fw_may_answer(&board_.answers, monotonic_ns()))
            transmit(socket, fx.u.tx.header, fx.u.tx.length, fx.counter);
        else
            emx_count(&counters_, EMX_CNT_DROP_ANSWER, 1);
        break;
    case FW_FX_NAME:
        questions_.answered++;
        fw_peer_learn(peers_, fx.u.host.peer, fx.u.host.name);
        break;
    case FW_FX_BEACON: hear(fx); break;
    default: break;
    }
}

void AgentBoard::hear(const fw_fx &fx)
{
    if (fx.u.host.peer >= file_.board_count()) // else another board of this host
        fw_beacons_heard(&beacons_, peers_, fx.u.host.peer, fx.u.host.serial, monotonic_ns());
}

bool AgentBoard::link_up() { return read_link(record()).state == EMX_LINK_UP; }

uint64_t AgentBoard::beacon_due() { return link_up() ? beacons_.due : ~uint64_t{0}; }

void AgentBoard::beacon(uint64_t now)
{
    uint8_t frame[EMX_HEADER_MAX];
    if (!link_up())
        return;
    if (const uint32_t bytes = fw_beacons_next(&beacons_, &board_, now, frame))
        transmit(interface_.get(), frame, bytes, EMX_CNT_TX_RAW);
}

void AgentBoard::transmit(int socket, const void *frame, uint32_t bytes, int counter)
{
    uint8_t padded[std::max<std::size_t>(EMX_HEADER_MAX + EMX_NAME_MAX, EMX_FRAME_MIN)] = {};
    assert(bytes <= sizeof(padded));
    std::memcpy(padded, frame, bytes);
    const ssize_t sent = ::send(socket, padded, std::max<uint32_t>(bytes, EMX_FRAME_MIN), MSG_DONTWAIT);
    emx_count(&counters_, sent < 0 ? EMX_CNT_TX_FAILED : counter, 1);
}

void AgentBoard::query(uint32_t peer)
{
    const struct fw_peer *entry = fw_peer(peers_, peer);
    if (!entry)
        return;
    fw_pkt pkt{};
    pkt.msg.type = EMX_HOST_QUERY;
    pkt.src_mac = board_.mac;
    pkt.dst_mac = entry->mac;
    pkt.tag = board_.tags->tag[peer];
    pkt.advert = static_cast<uint16_t>(peer);
    pkt.magic = board_.query_magic;
    uint8_t header[EMX_HEADER_MAX];
    const uint32_t bytes = fw_encode(&board_.sizes, &pkt, header);
    transmit(interface_.get(), header, bytes, EMX_CNT_TX_HOST_QUERY);
}

uint64_t AgentBoard::questions_due() { return link_up() ? questions_.due : ~uint64_t{0}; }

void AgentBoard::ask_names(uint64_t now)
{
    if (!link_up())
        return;
    for (int peer; (peer = fw_questions_next(&questions_, peers_, file_.board_count(), now)) >= 0;)
        query(static_cast<uint32_t>(peer));
}

int AgentBoard::add_peer(uint64_t mac)
{
    const int known = fw_peer_find(peers_, mac, 0);
    if (known >= 0)
        return known;
    if (!peers_->open)
        return -1;
    const int index = place(mac);
    if (index >= 0 && fw_questions_newcomer(&questions_, monotonic_ns()))
        query(static_cast<uint32_t>(index));
    return index;
}

bool AgentBoard::is_kept(uint32_t peer) const
{
    return std::any_of(pages_.begin(), pages_.end(),
                       [peer](const auto &page) { return page && page->keeps(peer); });
}

/// A free place, or that of a stranger, of whom no endpoint keeps anything; -1: there is none.
int AgentBoard::place(uint64_t mac)
{
    if (const int index = fw_peer_add(peers_, mac); index >= 0)
        return index;
    fw_spares spares;
    fw_spares_begin(&spares, peers_);
    while (!recovering_) {
        const int index = fw_spares_next(&spares, peers_, file_.board_count());
        if (index < 0)
            break;
        const auto spare = static_cast<uint32_t>(index);
        if (is_kept(spare))
            continue;
        const uint64_t old = fw_peer_vacate(peers_, spare);
        if (!is_kept(spare))
            return fw_peer_replace(peers_, spare, old, mac) == 0 ? index : -1;
        fw_peer_restore(peers_, spare, old);
    }
    return -1;
}

int AgentBoard::list_peer(uint64_t mac)
{
    const int index = place(mac);
    if (index >= 0)
        fw_peer_list(peers_, static_cast<uint32_t>(index));
    return index;
}

int AgentBoard::add_heard_for_user(uint64_t mac)
{
    if (const int known = fw_peer_find(peers_, mac, 0); known >= 0)
        return known;
    const int index = add_peer(mac);
    if (index >= 0)
        fw_peer_ask_for(peers_, static_cast<uint32_t>(index));
    return index;
}

int AgentBoard::add_peer_for(uint32_t uid, uint64_t mac)
{
    constexpr uint32_t part = 8, least = 16;
    if (const int known = fw_peer_find(peers_, mac, 0); known >= 0)
        return known;
    std::erase_if(asked_by_, [this](const auto &asked) {
        const struct fw_peer *peer = fw_peer(peers_, asked.first);
        return !peer || peer->life != asked.second.life || !(peer->flags & FW_PEER_ASKED);
    });
    const auto count = std::count_if(asked_by_.begin(), asked_by_.end(),
                                     [uid](const auto &asked) { return asked.second.uid == uid; });
    if (count >= std::max(least, peers_->capacity / part))
        return -1;
    const int index = add_heard_for_user(mac);
    if (index >= 0)
        asked_by_[static_cast<uint32_t>(index)] = {uid, fw_peer(peers_, static_cast<uint32_t>(index))->life};
    return index;
}

void AgentBoard::set_name(const std::string &name)
{
    if (name == name_)
        return;
    name_ = name;
    copy_text(board_.name, sizeof(board_.name), name);
    announce();
}

void AgentBoard::forget_names()
{
    for (uint32_t i = file_.board_count(); fw_peer(peers_, i); i++)
        fw_peer_name(peers_, i, nullptr);
    board_.query_magic++; // late replies to older queries do not count
    fw_questions_soon(&questions_, monotonic_ns());
}

void AgentBoard::pin(uint32_t peer, uint16_t speaks, const fw_sizes &sizes)
{
    fw_peer_pin(peers_, peer, speaks);
    if (fw_sizes_widen(&room_, &sizes))
        update_filters();
}

void AgentBoard::unpin()
{
    if (!peers_->pinned)
        return;
    fw_peers_unpin(peers_);
    room_ = plan_.sizes;
    update_filters();
}

void AgentBoard::rename(const std::string &interface)
{
    plan_.spec.interface = interface;
    copy_text(record().interface, sizeof(record().interface), interface);
}

void AgentBoard::set_link(uint32_t state)
{
    const uint32_t now = read_link(record()).state;
    if (now == state || now == EMX_LINK_GONE) // a vanished interface comes back by revive()
        return;
    write_link(record(), state);
    if (state == EMX_LINK_UP) // perhaps to another network
        fw_beacons_start(&beacons_, beacons_.serial, monotonic_ns());
}

bool AgentBoard::revive(const BoardPlan &plan)
{
    plan_ = plan;
    record().lives++; // before the link changes: ports compare
    fill_record();
    announce();
    if (!open_sockets())
        return false;
    write_link(record(), plan.facts.up ? EMX_LINK_UP : EMX_LINK_DOWN);
    return true;
}

} // namespace emx
