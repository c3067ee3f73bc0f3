// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A replay against the engine and its board agent in a network namespace, or, with EMX_DEVICE=kernel, against
// the kernel module's board there; the peer's frames come from a raw socket in another one.
#include "link.hpp"

#include <emx/wire.h>
#include <tests/conform/module.hpp>
#include <tests/netns/two_hosts.hpp>
#include <tests/watch/wirecheck.hpp>

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <thread>

namespace emx::interop {
namespace {

constexpr unsigned mtu = 9000;
constexpr int our_host = 0, peer_host = 1;

std::string mac_text(uint64_t mac)
{
    char text[18];
    std::snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", int(mac >> 40 & 255),
                  int(mac >> 32 & 255), int(mac >> 24 & 255), int(mac >> 16 & 255), int(mac >> 8 & 255),
                  int(mac & 255));
    return text;
}

/// A packet socket of host `peer_host` that sees MXoE frames only.
Fd open_wire()
{
    Fd fd(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(EMX_ETHERTYPE)));
    sockaddr_ll at{};
    at.sll_family = AF_PACKET;
    at.sll_protocol = htons(EMX_ETHERTYPE);
    at.sll_ifindex = static_cast<int>(::if_nametoindex("eth0"));
    const int bytes = 4 << 20;
    if (!fd || ::bind(fd.get(), reinterpret_cast<sockaddr *>(&at), sizeof at) != 0 ||
        ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
        throw std::runtime_error(std::string("cannot open a packet socket: ") + std::strerror(errno));
    return fd;
}

class EngineLink final : public Link {
public:
    explicit EngineLink(const Names &names) : names_(names)
    {
        hosts_.run(our_host, "ip link set eth0 address " + mac_text(names.mac));
        hosts_.run(peer_host, "ip link set eth0 address " + mac_text(names.peer_mac));
        hosts_.foreign(peer_host);
        hosts_.enter(peer_host);
        wire_ = open_wire();
        wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        fw_sizes_w(&sizes_);
        ::setenv("EMX_BOARDS", "eth0:W", 1);
        const char *device = std::getenv("EMX_DEVICE");
        if (device && std::string(device) == "kernel")
            attach();
    }

    uint64_t now() const override
    {
        timespec t;
        ::clock_gettime(CLOCK_MONOTONIC, &t); // tidy-allow(time): paces the captured frames
        return static_cast<uint64_t>(t.tv_sec) * sec + static_cast<uint64_t>(t.tv_nsec);
    }
    void at(uint64_t when, std::function<void()> fn) override
    {
        due_.emplace(when, std::move(fn));
        wake();
    }
    void inject(const Frame &frame) override
    {
        if (::send(wire_.get(), frame.data(), frame.size(), 0) != static_cast<ssize_t>(frame.size()))
            throw std::runtime_error(std::string("cannot play a frame: ") + std::strerror(errno));
    }
    bool run(const std::function<void()> &application, uint64_t limit) override;
    void pass_time(uint64_t ns) override
    {
        // tidy-allow(sleep): the application of the captured exchange lets this time pass
        std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
    }
    void introduce() override;
    bool has_agent() const override { return true; }
    uint64_t longest_pause() const override { return 300 * ms; }
    uint64_t linger() const override { return 150 * ms; } // our first repeats come after 50 ms
    std::string violation() const override { return checker_.violation(); }

private:
    void attach() const;
    std::string host_name() const { return names_.name.substr(0, names_.name.find(':')); }
    void become_host();
    void wake() { (void)::eventfd_write(wake_.get(), 1); }
    void serve_due();
    void wait();
    void receive();
    void greet(const Frame &frame);
    Frame host_packet(uint8_t type) const;

    const Names names_;
    test::TwoHosts hosts_{mtu};
    Fd wire_, wake_;
    fw_sizes sizes_{};
    watch::WireChecker checker_;
    std::multimap<uint64_t, std::function<void()>> due_;
    std::condition_variable greeted_;
    bool greeting_ = false, asked_ = false, answered_ = false; ///< introduce()
    std::atomic<bool> ended_{false};
};

/// Our host's interface becomes a board of the module, as an administrator would have it; it ends with the
/// interface.
void EngineLink::attach() const
{
    std::string error;
    if (!conform::attach_boards(hosts_.path(our_host), host_name(), "eth0:W", error))
        throw std::runtime_error(error);
}

/// The application's thread moves to our host, and its agent will be told the host's name.
void EngineLink::become_host()
{
    hosts_.enter(our_host);
    const std::string host = host_name();
    if (::unshare(CLONE_NEWUTS) != 0 || ::sethostname(host.data(), host.size()) != 0)
        throw std::runtime_error(std::string("cannot take a host name: ") + std::strerror(errno));
}

bool EngineLink::run(const std::function<void()> &application, uint64_t limit)
{
    const uint64_t end = now() + limit;
    std::thread program([&] {
        become_host();
        application();
        ended_ = true;
        wake();
    });
    while (!ended_) {
        wait();
        const std::lock_guard lock(mutex);
        receive();
        serve_due();
        if (now() > end) { // a thread cannot be ended from outside
            std::fprintf(stderr, "the application hangs\n");
            std::_Exit(1);
        }
    }
    program.join();
    return true;
}

/// Until a frame arrives, something is due, or another thread has something new.
void EngineLink::wait()
{
    uint64_t when;
    {
        const std::lock_guard lock(mutex);
        when = due_.empty() ? now() + sec : due_.begin()->first;
    }
    const uint64_t time = now(), left = when > time ? when - time : 0;
    const timespec timeout{static_cast<time_t>(left / sec), static_cast<long>(left % sec)};
    pollfd fds[] = {{wire_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    ::ppoll(fds, 2, &timeout, nullptr);
    eventfd_t count;
    (void)::eventfd_read(wake_.get(), &count);
}

void EngineLink::serve_due()
{
    while (!due_.empty() && due_.begin()->first <= now()) {
        const auto fn = std::move(due_.begin()->second);
        due_.erase(due_.begin());
        fn();
    }
}

void EngineLink::receive()
{
    Frame frame(mtu + 14);
    for (;;) {
        sockaddr_ll from{};
        socklen_t size = sizeof from;
        frame.resize(mtu + 14);
        const ssize_t got = ::recvfrom(wire_.get(), frame.data(), frame.size(), 0,
                                       reinterpret_cast<sockaddr *>(&from), &size);
        if (got < 0)
            return;
        if (from.sll_pkttype == PACKET_OUTGOING)
            continue;
        frame.resize(static_cast<size_t>(got));
        checker_.check(sizes_, frame);
        if (greeting_)
            greet(frame);
        else
            on_frame(frame);
    }
}

/// A host query or reply of the peer.
Frame EngineLink::host_packet(uint8_t type) const
{
    Frame frame(EMX_FRAME_MIN);
    const uint8_t name_length = static_cast<uint8_t>(names_.peer_name.size() + 1);
    frame[EMX_OUTER_LEN] = type;
    for (const Field &f : fields_of(frame)) {
        const std::string name = f.name;
        put(frame, f,
            name == "dst"           ? names_.mac
            : name == "src"         ? names_.peer_mac
            : name == "ethertype"   ? EMX_ETHERTYPE
            : name == "tag"         ? EMX_TAG_NONE
            : name == "type"        ? type
            : name == "advert"      ? 1
            : name == "name_length" ? name_length
                                    : 0);
    }
    if (type == EMX_HOST_REPLY)
        std::copy(names_.peer_name.begin(), names_.peer_name.end(),
                  frame.begin() + static_cast<std::ptrdiff_t>(payload_of(frame).first));
    return frame;
}

void EngineLink::introduce()
{
    std::unique_lock lock(mutex);
    greeting_ = true;
    inject(host_packet(EMX_HOST_QUERY));
    greeted_.wait(lock, [this] { return asked_ && answered_; });
    greeting_ = false;
}

/// Our agent asks back for the name of a board that it did not know.
void EngineLink::greet(const Frame &frame)
{
    if (frame[EMX_OUTER_LEN] == EMX_HOST_QUERY) {
        Frame reply = host_packet(EMX_HOST_REPLY);
        for (const Field &f : fields_of(reply))
            if (chosen_as(f) == USE_HOST_MAGIC)
                put(reply, f, get(frame, "host_magic"));
        inject(reply);
        asked_ = true;
    }
    answered_ |= frame[EMX_OUTER_LEN] == EMX_HOST_REPLY;
    greeted_.notify_all();
}

} // namespace

std::unique_ptr<Link> make_link(const Names &names) { return std::make_unique<EngineLink>(names); }

} // namespace emx::interop
