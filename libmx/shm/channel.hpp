// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A channel: one direction between two endpoints of this host. The sender makes the memory (a sealed
// memfd) and passes it over a Unix socket that the receiver listens on; the socket stays open, carries
// wake-ups, and ends with its process.
#pragma once

#include "driver/base/fd.hpp"
#include "libmx/shm/arrival.hpp"
#include "libmx/shm/ring.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <sys/types.h>
#include <utility>

namespace emx::shm {

/// One life of an endpoint.
struct Identity {
    uint64_t mac = 0;
    uint32_t session = 0;
    uint8_t endpoint = 0;
    friend bool operator==(const Identity &, const Identity &) = default;
};

/// A mapping of RingMemory; unmapped when it dies.
class Mapping {
public:
    Mapping() = default;
    /// Maps the file whole; empty with errno set when it fails or the file is not of this size or could
    /// still shrink.
    static Mapping of(int file);
    Mapping(Mapping &&other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
    Mapping &operator=(Mapping &&other) noexcept
    {
        std::swap(memory_, other.memory_);
        return *this;
    }
    ~Mapping();
    RingMemory *get() const { return memory_; }

private:
    RingMemory *memory_ = nullptr;
};

/// The other end's process: its socket, and a descriptor that tells its death although a child of it may
/// keep the socket.
class Link {
public:
    Link() = default;
    /// Takes a connected socket; empty unless its other end is a process of this user that we can see.
    explicit Link(Fd socket);
    Link(Link &&) = default;
    /// Tells the other end at once, although a forked child may hold a copy of the socket.
    ~Link();
    explicit operator bool() const { return static_cast<bool>(process_); }

    int socket() const { return socket_.get(); }
    int process() const { return process_.get(); }
    pid_t pid() const { return pid_; }
    bool process_ended() const;
    /// Takes wake-ups off the socket; false when the other end closed it or died.
    bool drain();
    void wake() const;

private:
    Fd socket_, process_;
    pid_t pid_ = 0;
};

/// The sending end.
class Outgoing {
public:
    /// Connects to an endpoint. nullptr when it does not listen (errno ECONNREFUSED), is another user's, or
    /// memory lacks.
    /// `wide` as of RingWriter.
    static std::unique_ptr<Outgoing> connect(const Identity &from, const Identity &to, bool wide = true);
    Outgoing(Link link, Mapping mapping, uint32_t session, bool wide)
        : link(std::move(link)), mapping(std::move(mapping)), writer(*this->mapping.get(), wide),
          session(session)
    {
    }
    RingMemory &memory() { return *mapping.get(); }
    bool attached() { return memory().attached.load(std::memory_order_acquire) != 0; }
    bool closed() { return memory().closed.load(std::memory_order_relaxed) != 0; }
    /// Something that nobody keeps a copy of is still in the ring.
    bool is_owed() const { return sure && !writer.is_empty(); }

    Link link;
    Mapping mapping;
    RingWriter writer;
    uint32_t session; ///< of the receiver
    uint32_t id = 0;
    bool sure = false; ///< what is written needs no ack
    bool starved = false; ///< there was no room: its owner waits for some
    bool pushed = false; ///< the newest large message had data, which are not said to be unused
    uint32_t unused = 0; ///< as the memory told last
    uint32_t rests = 0; ///< large messages to come without data
    uint32_t rests_next = 0; ///< half of so many when data are not wanted again
};

/// The receiving end.
class Incoming : public std::enable_shared_from_this<Incoming> {
public:
    Incoming(Link link, Mapping mapping, const Identity &from)
        : link(std::move(link)), mapping(std::move(mapping)), reader(*this->mapping.get()), from(from)
    {
    }
    RingMemory &memory() { return *mapping.get(); }

    Link link;
    Mapping mapping;
    RingReader reader;
    Arrival arrival;
    Identity from;
    uint32_t peer = 0; ///< of from.mac in our board's table
    uint32_t id = 0;
    bool ended = false; ///< nothing more will come than what the ring holds
    bool refused = false; ///< the rest is its sender's again; changed under the waiting mutex, too
    bool readable = true; ///< the process lets us read its memory, as far as we know
};

/// The socket that other endpoints of the host connect to.
class Listener {
public:
    /// Nobody connects from now on, although a forked child may hold a copy of the socket.
    ~Listener();
    /// False when the name cannot be had; then no one will connect.
    bool open(const Identity &self);
    int fd() const { return socket_.get(); }
    /// The next channel that can be taken, or nullptr. Does not wait: who has connected and said nothing yet
    /// is heard in a later call.
    std::shared_ptr<Incoming> accept(const Identity &self);

private:
    void take_connections();

    Fd socket_;
    std::list<Link> silent_; ///< connected, the first datagram still to come; oldest first
};

} // namespace emx::shm
