// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Setting channels up: names, credentials, memory.
#include "libmx/shm/channel.hpp"

#include "driver/base/control_socket.hpp"
#include "driver/base/peer_user.hpp"
#include "driver/base/system_calls.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <vector>

namespace emx::shm {
namespace {

constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr uint32_t hello_magic = 0x32784d45; // also tells the layout of RingMemory
constexpr int backlog = 64;
constexpr std::size_t silent_max = 256; // processes of this user only

/// First datagram on a channel's socket; the memory comes with it.
struct Hello {
    uint32_t magic;
    uint32_t bytes; ///< of the memory
    uint64_t from_mac;
    uint32_t from_session;
    uint32_t to_session;
    uint8_t from_endpoint;
    uint8_t zero[7];
};

socklen_t address_of(const Identity &who, sockaddr_un &address)
{
    char name[64];
    std::snprintf(name, sizeof(name), "ethermx-shm-%012llx-%u-%08x", static_cast<unsigned long long>(who.mac),
                  unsigned{who.endpoint}, who.session);
    return abstract_address(name, address);
}

Fd make_memory(bool wide)
{
    constexpr std::size_t narrow = offsetof(RingMemory, data) + narrow_bytes + record_align;
    Fd file(::memfd_create("ethermx-shm", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    // Pages that are written to are allocated now: one that cannot be had later would be a signal.
    if (!file || !set_file_size(file.get(), wide ? sizeof(RingMemory) : narrow, true) ||
        !set_file_size(file.get(), sizeof(RingMemory), false) || ::fcntl(file.get(), F_ADD_SEALS, seals) != 0)
        return Fd{};
    return file;
}

} // namespace

Mapping Mapping::of(int file)
{
    Mapping mapping;
    struct stat facts {};
    if (::fstat(file, &facts) != 0 || facts.st_size != static_cast<off_t>(sizeof(RingMemory)))
        return mapping;
    const int got = ::fcntl(file, F_GET_SEALS);
    if (got < 0 || (got & seals) != seals)
        return mapping;
    void *memory = ::mmap(nullptr, sizeof(RingMemory), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED)
        mapping.memory_ = static_cast<RingMemory *>(memory);
    return mapping;
}

Mapping::~Mapping()
{
    if (memory_)
        ::munmap(memory_, sizeof(RingMemory));
}

Link::Link(Fd socket)
{
    const auto other = peer_of(socket.get());
    if (!other || other->pid <= 0 || !is_own_user(*other))
        return;
    pid_ = other->pid;
    process_.reset(static_cast<int>(::syscall(SYS_pidfd_open, other->pid, 0)));
    socket_ = std::move(socket);
}

Link::~Link()
{
    if (socket_)
        ::shutdown(socket_.get(), SHUT_RDWR);
}

bool Link::process_ended() const
{
    pollfd entry{process_.get(), POLLIN, 0};
    return sys::poll(&entry, 1, 0) > 0;
}

bool Link::drain()
{
    char bytes[64];
    for (;;) {
        const ssize_t got = sys::recv(socket_.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
        if (got > 0)
            continue;
        return got < 0 && errno == EAGAIN && !process_ended();
    }
}

void Link::wake() const
{
    // A full socket has wake-ups enough, a closed one nobody to wake.
    [[maybe_unused]] const ssize_t sent = sys::send(socket_.get(), "w", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

std::unique_ptr<Outgoing> Outgoing::connect(const Identity &from, const Identity &to, bool wide)
{
    const Fd file = make_memory(wide); // before the connection, since the receiver waits for what follows it
    Mapping mapping = file ? Mapping::of(file.get()) : Mapping{};
    Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address;
    const socklen_t length = address_of(to, address);
    if (!mapping.get() || !socket ||
        sys::connect(socket.get(), reinterpret_cast<sockaddr *>(&address), length) != 0)
        return nullptr;
    Link link(std::move(socket));
    Hello hello{hello_magic, sizeof(RingMemory), from.mac, from.session, to.session, from.endpoint, {}};
    if (!link) {
        errno = EPERM; // another user's, or one of processes that we do not see: so it stays
        return nullptr;
    }
    if (!send_datagram(link.socket(), &hello, sizeof(hello), {file.get()}, MSG_DONTWAIT))
        return nullptr;
    return std::make_unique<Outgoing>(std::move(link), std::move(mapping), to.session, wide);
}

Listener::~Listener()
{
    if (socket_)
        ::shutdown(socket_.get(), SHUT_RDWR);
}

bool Listener::open(const Identity &self)
{
    Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address;
    const socklen_t length = address_of(self, address);
    if (!socket || ::bind(socket.get(), reinterpret_cast<sockaddr *>(&address), length) != 0 ||
        ::listen(socket.get(), backlog) != 0)
        return false;
    socket_ = std::move(socket);
    return true;
}

void Listener::take_connections()
{
    for (;;) {
        Fd socket(sys::accept4(socket_.get(), SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket)
            return;
        Link link(std::move(socket));
        if (!link)
            continue;
        if (silent_.size() >= silent_max)
            silent_.pop_front();
        silent_.push_back(std::move(link));
    }
}

// A sender may lose its processor between connecting and its hello, for as long as others use it. Nothing
// needs to tell us of a late hello: until its channel is taken, the sender sends frames, and with each of
// them we look here.
std::shared_ptr<Incoming> Listener::accept(const Identity &self)
{
    take_connections();
    for (auto silent = silent_.begin(); silent != silent_.end();) {
        Hello hello{};
        std::vector<Fd> fds;
        const ssize_t got = receive_datagram(silent->socket(), &hello, sizeof(hello), fds, MSG_DONTWAIT);
        if (got < 0 && errno == EAGAIN) {
            ++silent;
            continue;
        }
        Link link = std::move(*silent);
        silent = silent_.erase(silent);
        if (got != static_cast<ssize_t>(sizeof(hello)) || fds.size() != 1 || hello.magic != hello_magic ||
            hello.bytes != sizeof(RingMemory) || hello.to_session != self.session)
            continue;
        Mapping mapping = Mapping::of(fds[0].get());
        if (!mapping.get())
            continue;
        const Identity from{hello.from_mac, hello.from_session, hello.from_endpoint};
        return std::make_shared<Incoming>(std::move(link), std::move(mapping), from);
    }
    return nullptr;
}

} // namespace emx::shm
