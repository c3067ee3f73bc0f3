// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Frames for a closed endpoint, and their refusals.
#include "tools/omx_check/prober.hpp"

#include "driver/base/clock.hpp"
#include "tools/cli.hpp"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace emx::check {

namespace {

constexpr uint8_t nobody = EMX_ENDPOINTS_MAX - 1;
constexpr unsigned tries = 4;
// Long enough for an agent on a busy machine: a late answer is no lost one. Each try waits twice as long.
constexpr uint64_t answer_ns = 40'000'000;
constexpr uint64_t lost_ns = 1'000'000'000;
constexpr std::size_t in_flight = 16;
constexpr int never_sent = -1;
constexpr int receive_buffer = 1 << 20;
constexpr uint32_t query_magic = 0x656d7863;
// Where dialect N has the window's tag, and zeros, dialect W has the handle, which a refusal repeats.
constexpr uint8_t window_tag = 'W';
constexpr uint32_t handle_in_w = uint32_t{window_tag} << 24;
constexpr uint32_t block_w = 32768; // bytes that one request of dialect W asks for, at most
constexpr uint32_t any_size = 9000; // the header of a request is the same for all sizes of dialect N

fw_sizes sizes_n()
{
    fw_sizes sizes;
    fw_sizes_n(&sizes, any_size);
    return sizes;
}

} // namespace

struct Prober::Flight {
    struct Frame {
        uint16_t number;
        uint64_t lost_at;
    };
    std::vector<Frame> frames; ///< in the order sent
    std::vector<uint16_t> answered;
};

std::unique_ptr<Prober> Prober::open(const BoardFacts &board, uint64_t peer, uint8_t from)
{
    Fd socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket && (errno == EPERM || errno == EACCES))
        return nullptr;
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(EMX_ETHERTYPE);
    address.sll_ifindex = static_cast<int>(::if_nametoindex(board.device.c_str()));
    if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)) != 0)
        throw cli::Failure("cannot open a raw socket on " + board.interface + ": " + std::strerror(errno));
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    return std::unique_ptr<Prober>(new Prober(board, peer, from, std::move(socket)));
}

Prober::Prober(const BoardFacts &board, uint64_t peer, uint8_t from, Fd socket)
    : board_(board), peer_(peer), from_(from), socket_(std::move(socket)),
      owed_(std::size_t{UINT16_MAX} + 1, never_sent)
{
}

fw_pkt Prober::packet(uint8_t type)
{
    fw_pkt pkt;
    std::memset(&pkt, 0, sizeof(pkt));
    pkt.msg.type = type;
    pkt.msg.local_ep = nobody;
    pkt.msg.remote_ep = from_;
    pkt.msg.seq = ++number_;
    owed_[number_] = never_sent;
    pkt.src_mac = board_.mac;
    pkt.dst_mac = peer_;
    pkt.tag = tag_;
    return pkt;
}

bool Prober::send(const fw_sizes &sizes, const fw_pkt &pkt, uint32_t bytes)
{
    std::vector<uint8_t> frame(std::max<std::size_t>(bytes, EMX_HEADER_MAX));
    fw_encode(&sizes, &pkt, frame.data());
    if (::send(socket_.get(), frame.data(), std::max<uint32_t>(bytes, EMX_FRAME_MIN), 0) >= 0) {
        int &owed = owed_[pkt.msg.seq];
        owed = std::max(owed, 0) + 1;
        sent_++;
        return true;
    }
    too_long_here_ = too_long_here_ || errno == EMSGSIZE;
    return false;
}

std::optional<uint16_t> Prober::next_refusal(uint64_t deadline)
{
    for (;;) {
        uint8_t frame[FW_CHECK_BYTES];
        const ssize_t got = ::recv(socket_.get(), frame, sizeof(frame), MSG_TRUNC);
        fw_pkt pkt;
        if (got < 0) {
            const uint64_t now = monotonic_ns();
            if (now >= deadline)
                return {};
            pollfd poll{socket_.get(), POLLIN, 0};
            ::poll(&poll, 1, static_cast<int>((deadline - now) / 1'000'000 + 1));
            continue;
        }
        if (fw_check(&board_.sizes, board_.mac, frame, static_cast<uint32_t>(got), &pkt) != 0 ||
            pkt.src_mac != peer_)
            continue;
        if (pkt.msg.type == EMX_HOST_REPLY && pkt.magic == query_magic) {
            tag_ = pkt.advert;
            return {};
        }
        if (pkt.msg.local_ep != from_ || (pkt.msg.type != EMX_NACK_LIB && pkt.msg.type != EMX_NACK_MCP))
            continue;
        const uint16_t number = number_of(pkt);
        count_answer(number);
        return number;
    }
}

/// A refused pull request bears the number where dialect N has the handle; read as dialect W, it is the
/// latest.
uint16_t Prober::number_of(const fw_pkt &refusal)
{
    if (refusal.msg.type == EMX_NACK_LIB)
        return refusal.msg.seq;
    spoken_ = refusal.handle == handle_in_w ? 'W' : 'N';
    return spoken_ == 'W' ? number_ : static_cast<uint16_t>(refusal.handle);
}

bool Prober::learn_tag(uint32_t index)
{
    for (unsigned i = 0; i < tries && tag_ == EMX_TAG_NONE; i++) {
        fw_pkt pkt = packet(EMX_HOST_QUERY);
        pkt.advert = static_cast<uint16_t>(index);
        pkt.magic = query_magic;
        const uint64_t until = monotonic_ns() + (answer_ns << i);
        if (!send(board_.sizes, pkt, EMX_FRAME_MIN))
            break;
        while (tag_ == EMX_TAG_NONE && next_refusal(until))
            continue;
    }
    return tag_ != EMX_TAG_NONE;
}

void Prober::count_answer(uint16_t number)
{
    int &owed = owed_[number];
    if (owed > 0)
        owed--;
    else if (owed != never_sent)
        surplus_++;
}

uint32_t Prober::surplus()
{
    const uint64_t until = monotonic_ns() + answer_ns;
    while (next_refusal(until))
        continue;
    return surplus_;
}

std::optional<uint64_t> Prober::ask(const fw_sizes &sizes, const fw_pkt &pkt, uint32_t bytes)
{
    for (unsigned i = 0; i < tries; i++) {
        const uint64_t began = monotonic_ns();
        if (!send(sizes, pkt, bytes))
            return {};
        while (const auto answer = next_refusal(began + (answer_ns << i)))
            if (*answer == number_)
                return monotonic_ns() - began;
    }
    return {};
}

std::optional<uint64_t> Prober::round_trip(uint32_t bytes)
{
    return ask(board_.sizes, packet(EMX_TINY), bytes);
}

/// A request of dialect N for a message of that many bytes, all of it; but for `skip` dialect W reads one of
/// as many bytes, too, whose handle is window_tag and zeros.
std::optional<uint64_t> Prober::ask_pull(uint32_t skip, uint32_t bytes)
{
    fw_pkt pkt = packet(EMX_PULL);
    pkt.msg.u.window.tag = window_tag;
    pkt.msg.u.window.offset = static_cast<uint16_t>(skip); // begins where its window does
    pkt.handle = number_;
    pkt.skip = skip;
    pkt.total = pkt.length = bytes;
    return ask(sizes_n(), pkt, EMX_FRAME_MIN);
}

char Prober::dialect()
{
    if (number_ >= block_w)
        number_ = 0; // as dialect W reads it, the next number is a count of bytes
    spoken_ = 0;
    ask_pull(0, number_ + 1u);
    return spoken_;
}

bool Prober::takes_pull(uint32_t skip) { return ask_pull(skip, 1).has_value(); }

void Prober::take_refusals(Flight &flight, uint64_t deadline, Burst &burst)
{
    const auto answer = next_refusal(deadline);
    auto &frames = flight.frames;
    if (answer) {
        const auto frame =
            std::find_if(frames.begin(), frames.end(), [&](const auto &f) { return f.number == *answer; });
        if (frame == frames.end())
            return;
        // A frame that was sent before has been answered by now, or its answer comes too late.
        burst.late += std::any_of(flight.answered.begin(), flight.answered.end(), [&](uint16_t number) {
            return static_cast<int16_t>(number - *answer) > 0;
        });
        flight.answered.push_back(*answer);
        if (flight.answered.size() > 4 * in_flight)
            flight.answered.erase(flight.answered.begin());
        frames.erase(frame);
        return; // others may wait in the socket: a program that was away for a while has lost nothing yet
    }
    const uint64_t now = monotonic_ns();
    burst.lost +=
        static_cast<uint32_t>(std::erase_if(frames, [&](const auto &f) { return f.lost_at <= now; }));
}

Burst Prober::burst(uint32_t frames, const std::vector<uint32_t> &lengths)
{
    Burst burst;
    Flight flight;
    while (burst.sent < frames || !flight.frames.empty()) {
        while (burst.sent < frames && flight.frames.size() < in_flight) {
            const fw_pkt pkt = packet(EMX_TINY);
            const uint32_t bytes = lengths[burst.sent++ % lengths.size()];
            if (send(board_.sizes, pkt, bytes))
                flight.frames.push_back({number_, monotonic_ns() + lost_ns});
            else
                burst.lost++;
        }
        if (!flight.frames.empty())
            take_refusals(flight, flight.frames.front().lost_at, burst);
    }
    return burst;
}

} // namespace emx::check
