// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// See station.hpp.
#include "station.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace emx::model {

namespace {

constexpr uint16_t ethertype = 0x86df;
constexpr size_t longest_frame = 65536;
constexpr int receive_buffer = 16 << 20; ///< for the bursts that the protocol allows, of several peers
constexpr int longest_rest_ms = 10;
constexpr uint64_t broadcast = 0xffffffffffff;
constexpr unsigned endpoints_max = 32;

[[noreturn]] void end_with(const Violation &v)
{
    std::fprintf(stderr, "model peer: %s\n", v.what());
    std::_Exit(Station::violation_status);
}

uint64_t mac_at(const uint8_t *bytes)
{
    uint64_t mac = 0;
    for (int i = 0; i < 6; i++)
        mac = mac << 8 | bytes[i];
    return mac;
}

uint32_t number(const std::string &text, uint32_t most)
{
    char *end = nullptr;
    errno = 0;
    unsigned long value = std::strtoul(text.c_str(), &end, 0);
    if (text.empty() || *end || errno || value > most)
        throw std::runtime_error("\"" + text + "\" is no number up to " + std::to_string(most));
    return static_cast<uint32_t>(value);
}

[[noreturn]] void fail(const std::string &what)
{
    throw std::runtime_error(what + ": " + std::strerror(errno) +
                             "; the model peer needs root, or a network namespace of its own user");
}

} // namespace

Manner read_manner(const std::string &words)
{
    Manner m;
    std::istringstream all(words);
    for (std::string word; std::getline(all, word, ',');) {
        size_t sign = word.find('=');
        std::string value = sign == std::string::npos ? "" : word.substr(sign + 1);
        word.resize(std::min(sign, word.size()));
        Quirks &q = m.quirks;
        if (word == "garbage")
            q.garbage = true;
        else if (word == "unpadded")
            q.unpadded = 100;
        else if (word == "trailing")
            q.trailing = 200;
        else if (word == "windows")
            q.windows_unchecked = true;
        else if (word == "offsets")
            q.window_offsets = true;
        else if (word == "odd")
            q.odd_classes = true;
        else if (word == "failing")
            q.failing_pulls = 200;
        else if (word == "refusals")
            m.may_be_refused = true;
        else if (word == "helper")
            m.helper = true;
        else if (word == "index")
            m.index = static_cast<uint16_t>(number(value, 0xffff));
        else if (word == "offset")
            q.window_offset = number(value, 4095);
        else if (word == "queue")
            q.queue = number(value, 1 << 20);
        else if (word == "spare")
            q.spare = static_cast<uint8_t>(number(value, 0xff));
        else if (word == "threshold")
            q.threshold = number(value, 32768);
        else if (!word.empty())
            throw std::runtime_error("\"" + word + "\" is nothing that the model peer knows");
    }
    return m;
}

Place read_place(const std::string &board)
{
    size_t colon = board.find(':');
    std::string dialect = colon == std::string::npos ? "" : board.substr(colon + 1);
    if (dialect == "W")
        return {board.substr(0, colon), dialect_w()};
    if (dialect.rfind("N=", 0) != 0)
        throw std::runtime_error("a board of the model peer is INTERFACE:W or INTERFACE:N=SIZE, not \"" +
                                 board + "\"");
    uint32_t size = number(dialect.substr(2), longest_frame);
    if (size < 128)
        throw std::runtime_error("a size of dialect N is 128 at least, not " + std::to_string(size));
    return {board.substr(0, colon), dialect_n(size)};
}

Station::Station(const Place &place, const Manner &manner) : manner_(manner), next_index_(manner.index)
{
    socket_ = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (socket_ < 0)
        fail("raw socket");
    ifreq name{};
    place.interface.copy(name.ifr_name, sizeof name.ifr_name - 1);
    if (::ioctl(socket_, SIOCGIFHWADDR, &name))
        fail(place.interface);
    mac_ = mac_at(reinterpret_cast<const uint8_t *>(name.ifr_hwaddr.sa_data));
    int size = receive_buffer;
    if (::setsockopt(socket_, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size))
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &size, sizeof size); // what is lost comes again
    sockaddr_ll at{};
    at.sll_family = AF_PACKET;
    at.sll_protocol = htons(ethertype);
    at.sll_ifindex = static_cast<int>(::if_nametoindex(name.ifr_name));
    if (::bind(socket_, reinterpret_cast<const sockaddr *>(&at), sizeof at))
        fail(place.interface);
    Ground ground{now, [this](const Bytes &f) { send(f); }, [this] { stirred_.notify_all(); }};
    host_ = std::make_unique<Host>(place.dialect, mac_, "model:0", manner.quirks, test::Rng(now() ^ mac_),
                                   std::move(ground));
    host_->may_be_refused = manner.may_be_refused;
    driver_ = std::thread([this] { run(); });
}

Station::~Station()
{
    over_ = true;
    driver_.join();
    ::close(socket_);
}

uint64_t Station::now()
{
    using namespace std::chrono;
    return static_cast<uint64_t>(duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

/// A frame that the interface does not take is lost, as on any wire.
void Station::send(const Bytes &frame) const { (void)!::send(socket_, frame.data(), frame.size(), 0); }

void Station::meet(uint64_t mac)
{
    if (!host_->has_peer(mac))
        host_->add_peer(mac, next_index_++, "");
}

void Station::take(const Bytes &frame)
{
    if (frame.size() < 16)
        return;
    uint64_t to = mac_at(frame.data()), from = mac_at(frame.data() + 6);
    if ((to != mac_ && to != broadcast) || from == mac_)
        return; // a bridge may flood
    meet(from); // as a daemon that hears beacons would
    host_->arrive(frame);
}

void Station::pump()
{
    try {
        for (;;) {
            frame_.resize(longest_frame);
            ssize_t got = ::recv(socket_, frame_.data(), frame_.size(), MSG_DONTWAIT);
            if (got < 0)
                break;
            frame_.resize(static_cast<size_t>(got));
            take(frame_);
        }
        host_->tick();
    } catch (const Violation &v) {
        end_with(v);
    }
}

void Station::progress(Endpoint &endpoint)
{
    pump();
    try {
        endpoint.progress();
    } catch (const Violation &v) {
        end_with(v);
    }
}

void Station::rest(Lock &lock, uint64_t until)
{
    using namespace std::chrono;
    uint64_t most = now() + longest_rest_ms * ms;
    stirred_.wait_until(lock,
                        steady_clock::time_point(nanoseconds(static_cast<int64_t>(std::min(until, most)))));
}

void Station::help()
{
    for (unsigned n = 0; n < endpoints_max; n++)
        if (Endpoint *e = host_->endpoint(static_cast<uint8_t>(n)))
            progress(*e);
}

void Station::run()
{
    while (!over_) {
        pollfd p{socket_, POLLIN, 0};
        ::poll(&p, 1, longest_rest_ms / 2);
        Lock l = lock();
        pump();
        if (manner_.helper)
            help();
        stirred_.notify_all();
    }
}

} // namespace emx::model
