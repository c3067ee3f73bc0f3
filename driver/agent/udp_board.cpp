// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The agent's sockets of a UDP board, and frames to numbers that nobody has claimed.
#include "driver/agent/udp_board.hpp"

#include "driver/base/clock.hpp"
#include "driver/base/ip_interface.hpp"
#include "driver/base/packet_socket.hpp"
#include "driver/base/system_calls.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

namespace emx {
namespace {

constexpr uint32_t endpoint_buffer = 1u << 22;
constexpr int events_per_call = 64;
constexpr int frames_per_socket = 16;
constexpr uint64_t again_ns = 10000000;
// A process that was killed closes its sockets one after the other.
constexpr int closing_ms = 100;

uint32_t random_token() { return static_cast<uint32_t>(sys::random_bits()); }

} // namespace

UdpAgentBoard::UdpAgentBoard(BoardFile &file, uint32_t number, const BoardPlan &plan, std::string name,
                             Log &log)
    : AgentBoard(file, number, plan, std::move(name)), log_(log),
      search_([this](const UdpAddress &to, uint64_t mac, uint32_t token) { ask(to, mac, token); },
              random_token)
{
    address_ = first_address(plan.spec.interface).value_or(UdpAddress{});
    if (!plan.note.empty())
        log_.line(plan.note);
}

bool UdpAgentBoard::watch(int socket)
{
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = socket;
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket, &event) == 0;
}

/// False with errno set; EADDRINUSE: the port is another process's, perhaps an endpoint's that is to be
/// claimed again.
bool UdpAgentBoard::open_endpoint(uint32_t endpoint)
{
    Fd socket = make_udp_socket(plan_.own.with_port(udp_port_of(plan_.own.port, endpoint)));
    if (!socket || !watch(socket.get()))
        return false;
    taken_.reset(endpoint);
    endpoints_[endpoint] = std::move(socket);
    return true;
}

bool UdpAgentBoard::open_sockets()
{
    if (!epoll_)
        epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
    interface_ = Fd(::fcntl(epoll_.get(), F_DUPFD_CLOEXEC, 0)); // what the agent's loop waits for
    if (!agent_) {
        agent_ = make_udp_socket(plan_.own);
        if (!agent_) {
            if (errno == EADDRINUSE)
                trouble_ = "UDP port " + std::to_string(plan_.own.port) + " of board " +
                           describe_place(plan_.spec) +
                           " is taken, perhaps by the board of another user: end that program, or give this "
                           "board another port (udp:PLACE:PORT)";
            else
                trouble_ = "opening UDP port " + std::to_string(plan_.own.port) + " of board " +
                           describe_place(plan_.spec) + ": " + std::strerror(errno);
            return false;
        }
        const int yes = 1;
        ::setsockopt(agent_.get(), SOL_SOCKET, SO_BROADCAST, &yes, sizeof(yes));
        if (!watch(agent_.get()))
            return false;
    }
    // Also of numbers that no endpoint can have: who sends there is refused, and nobody else takes the port.
    for (uint32_t endpoint = 0; endpoint < EMX_ENDPOINTS_MAX; endpoint++) {
        if (endpoints_[endpoint] || claimed_[endpoint] || open_endpoint(endpoint))
            continue;
        if (errno != EADDRINUSE)
            return false;
        taken_.set(endpoint);
    }
    return true;
}

void UdpAgentBoard::inherit(AgentBoard &before)
{
    auto &old = dynamic_cast<UdpAgentBoard &>(before);
    epoll_ = std::move(old.epoll_);
    agent_ = std::move(old.agent_);
    endpoints_ = std::move(old.endpoints_);
    taken_ = old.taken_;
}

uint32_t UdpAgentBoard::orphans() const { return static_cast<uint32_t>((taken_ & ~claimed_).count()); }

/// The socket is the process's alone from now on.
bool UdpAgentBoard::make_sockets(uint32_t endpoint, bool /*trusted*/, EndpointSockets &sockets)
{
    const uint64_t until = monotonic_ns() + uint64_t{closing_ms} * 1000000;
    while (!endpoints_[endpoint] && !open_endpoint(endpoint)) {
        if (errno != EADDRINUSE || monotonic_ns() >= until)
            return false;
        sys::poll(nullptr, 0, 1);
    }
    sockets.ring = std::move(endpoints_[endpoint]);
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, sockets.ring.get(), nullptr);
    taken_.set(endpoint);
    sockets.shape.bulk_bytes = grow_buffers(sockets.ring.get(), endpoint_buffer);
    sockets.shape.life = record().lives;
    return true;
}

void UdpAgentBoard::take_back(uint32_t endpoint)
{
    if (endpoints_[endpoint] || open_endpoint(endpoint))
        return;
    taken_.set(endpoint);
    again_ = std::min(again_, monotonic_ns() + again_ns);
}

/// Ports whose processes were about to end.
void UdpAgentBoard::try_again(uint64_t now)
{
    if (now < again_)
        return;
    again_ = ~uint64_t{0};
    for (uint32_t endpoint = 0; endpoint < EMX_ENDPOINTS_MAX; endpoint++)
        if (taken_[endpoint] && !claimed_[endpoint] && !open_endpoint(endpoint))
            again_ = now + again_ns;
}

void UdpAgentBoard::tick(uint64_t now)
{
    if (!recovering_)
        try_again(now);
    for (Finding finding = search_.tick(now); finding.kind != Finding::Kind::nothing;
         finding = search_.tick(now))
        take(finding);
}

uint64_t UdpAgentBoard::due() const { return std::min(again_, search_.due()); }

void UdpAgentBoard::receive(int /*socket*/)
{
    std::array<epoll_event, events_per_call> events;
    const int ready = sys::epoll_now(epoll_.get(), events.data(), events_per_call);
    for (int i = 0; i < ready; i++)
        for (int n = 0; n < frames_per_socket && receive_one(events[static_cast<std::size_t>(i)].data.fd);
             n++) {
        }
}

bool UdpAgentBoard::receive_one(int socket)
{
    // Headers and names lie in the first bytes; of longer frames only the length counts.
    alignas(8) std::array<uint8_t, 2048> bytes;
    SocketAddress source{};
    SegmentControl control{};
    iovec io = {bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_name = &source;
    message.msg_namelen = sizeof(source);
    message.msg_iov = &io;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    const ssize_t got = sys::recvmsg(socket, &message, MSG_DONTWAIT | MSG_TRUNC);
    if (got <= 0)
        return got == 0;
    const auto total = static_cast<uint32_t>(got);
    const uint32_t each = length_of_each(message, total);
    for (uint32_t at = 0; at < total && at + FW_CHECK_BYTES < bytes.size(); at += each)
        handle({&bytes[at], std::min(each, total - at), from_socket(source)});
    return true;
}

UdpAddress UdpAgentBoard::address_of(uint32_t peer)
{
    UdpAddress address;
    uint32_t serial = 0;
    read_address(file_.address(number_, peer), serial, address);
    return address;
}

/// True if a frame of a board comes from that board's sockets.
bool UdpAgentBoard::comes_from(const fw_pkt &pkt, const UdpAddress &source)
{
    const int peer = fw_peer_find(peers_, pkt.src_mac, pkt.tag);
    const UdpAddress known = peer < 0 ? UdpAddress{} : address_of(static_cast<uint32_t>(peer));
    return known.port != 0 && known.same_host(source) && source.port >= known.port &&
           source.port <= known.port + EMX_ENDPOINTS_MAX;
}

/// Two boards of one id would take each other's messages.
bool UdpAgentBoard::is_about_ourselves(const Datagram &datagram, const fw_pkt &pkt)
{
    if (pkt.src_mac != board_.mac || pkt.msg.type == EMX_CONNECT)
        return false;
    if (pkt.msg.type == EMX_HOST_QUERY) {
        std::string name;
        if (search_.is_own(pkt.magic, name))
            own_name_ = name;
        else
            answer_question(pkt, datagram.source); // which tells the other that its id is ours
        tell_sought();
        return true;
    }
    if (pkt.msg.type == EMX_RAW)
        return true; // a broadcast comes back
    if (pkt.msg.type != EMX_HOST_REPLY)
        return false;
    const Finding finding = search_.answered(pkt.magic, pkt.src_mac, datagram.source);
    if (finding.kind == Finding::Kind::nothing)
        return true;
    trouble_ = "the board at " + describe(datagram.source) + " has the id of " + describe_place(plan_.spec) +
               ": remove the file " + plan_.id_file + " on one of the two hosts, and start omxd there anew";
    log_.line(trouble_);
    set_link(EMX_LINK_GONE);
    return true;
}

void UdpAgentBoard::handle(const Datagram &datagram)
{
    fw_pkt pkt{};
    fw_fx fx{};
    // A question goes to all boards, where its sender does not know whom it asks.
    if (datagram.bytes > packet_type_at && datagram.frame[packet_type_at] == EMX_HOST_QUERY &&
        emx_get_mac(datagram.frame) == EMX_MAC_BROADCAST)
        for (unsigned i = 0; i < 6; i++)
            datagram.frame[i] = static_cast<uint8_t>(board_.mac >> (40 - 8 * i));
    if (const int reason = fw_check_for(&board_, 0, datagram.frame, datagram.bytes, &pkt); reason != 0)
        return emx_count(&counters_, reason, 1);
    if (pkt.dst_mac != board_.mac && pkt.msg.type != EMX_RAW)
        return emx_count(&counters_, EMX_CNT_DROP_NOT_OURS, 1);
    if (is_about_ourselves(datagram, pkt))
        return;
    if (pkt.msg.type == EMX_HOST_REPLY && pkt.magic != board_.query_magic)
        return take_answer(pkt, datagram.source);
    if (!comes_from(pkt, datagram.source)) {
        if (pkt.msg.type == EMX_HOST_QUERY)
            return take_question(pkt, datagram.source);
        if (pkt.msg.type == EMX_RAW || pkt.msg.type == EMX_CONNECT)
            heard_at(pkt.src_mac,
                     datagram.source.with_port(pkt.msg.type == EMX_RAW
                                                   ? datagram.source.port
                                                   : datagram.source.port - 1u - pkt.msg.remote_ep));
        return emx_count(&counters_, EMX_CNT_DROP_DATAGRAM_SOURCE, 1);
    }
    fw_demux(&board_, &pkt, &fx);
    if (fx.kind != FW_FX_PEER) // it is in the table
        execute(agent_.get(), fx);
}

/// Answers a host that is not known, or not there: it asks because it wants to know us.
void UdpAgentBoard::take_question(const fw_pkt &pkt, const UdpAddress &source)
{
    if (!admits(pkt.src_mac, source) && pkt.src_mac != board_.mac)
        return emx_count(&counters_, EMX_CNT_DROP_UNKNOWN_PEER, 1);
    heard_at(pkt.src_mac, source);
    answer_question(pkt, source);
}

void UdpAgentBoard::answer_question(const fw_pkt &pkt, const UdpAddress &source)
{
    if (!fw_may_answer(&board_.answers, monotonic_ns()))
        return emx_count(&counters_, EMX_CNT_DROP_ANSWER, 1);
    fw_pkt reply{};
    reply.msg.type = EMX_HOST_REPLY;
    reply.src_mac = board_.mac;
    reply.dst_mac = pkt.src_mac;
    reply.tag = pkt.advert;
    reply.advert = EMX_TAG_NONE;
    reply.magic = pkt.magic;
    std::memcpy(reply.name, board_.name, sizeof(reply.name));
    uint8_t frame[EMX_HEADER_MAX + EMX_NAME_MAX];
    send_to(source, frame, fw_encode(&board_.sizes, &reply, frame), EMX_CNT_TX_HOST_REPLY);
}

} // namespace emx
