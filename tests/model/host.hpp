// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The model peer: a host that behaves as the wire specification says an Open-MX host does. This is the
// part below the library, which works at any time: peer table, refusals, serving and making of pulls.
#pragma once

#include "frame.hpp"

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

namespace emx::model {

class Endpoint;

inline constexpr uint64_t us = 1000, ms = 1000 * us, sec = 1000 * ms; ///< nanoseconds
inline constexpr uint64_t never = ~0ull;

/// Peculiarities of Open-MX (and native MX) that this host shows.
struct Quirks {
    bool garbage = false; ///< in reserved bytes, unset fields and padding (2.4)
    uint32_t unpadded = 0; ///< per mille of the frames below 60 bytes leave as they are
    uint32_t trailing = 0; ///< per mille of the frames have bytes behind them
    bool windows_unchecked = false; ///< serves a PULL whatever its window tag says (13)
    uint32_t failing_pulls = 0; ///< per mille of the pulls fail, with a NOTIFY of length 0 (10.1)
    bool window_offsets = false; ///< a message need not begin where its window does (4.6)
    uint32_t window_offset = 0; ///< of the first; each further one is one byte more
    bool odd_classes = false; ///< SMALL and MEDIUM below their usual lengths, other exponents (5.1)
    bool notify_acks = true; ///< dialect W: NOTIFY is acknowledged at once (8.2)
    uint32_t threshold = 32768; ///< above it messages are large
    uint32_t queue = 1024; ///< frames that wait for the library
    uint32_t transmissions = 1001; ///< of a message or connect, before its peer is given up (8.4)
    std::optional<uint8_t> spare; ///< endpoint that nobody has: frames to it are refused, not judged
};

/// Where a host stands.
struct Ground {
    std::function<uint64_t()> now; ///< nanoseconds
    std::function<void(Bytes)> send;
    std::function<void()> stirred; ///< something waits for the library
};

/// Memory of a large message that the other side may read.
struct Window {
    bool used = false;
    uint8_t tag = 0;
    uint32_t offset = 0; ///< of the message's first byte
    std::shared_ptr<const Bytes> message;
};

/// A large message on its way in.
struct Pull {
    Endpoint *owner = nullptr;
    Packet request; ///< as it stands in every PULL of this message, but for the block
    Bytes data;
    std::vector<bool> got;
    uint32_t base = 0; ///< the oldest incomplete block
    uint32_t asked = 0; ///< blocks below this one were requested
    std::set<uint32_t> again; ///< requested a second time since the timer fired
    uint64_t started = 0, last = 0;
    bool fails = false; ///< after the next frame
};

class Host {
public:
    Host(const Dialect &dialect, uint64_t mac, std::string name, const Quirks &quirks, test::Rng rng,
         Ground ground);
    ~Host();

    /// Another board, in a slot of the peer table; without a name it is asked for it.
    void add_peer(uint64_t mac, uint16_t index, const std::string &name);
    /// The peer table is made anew: other index, no name, and what the peer had told is forgotten.
    void reload_peer(uint64_t mac, uint16_t index);
    bool has_peer(uint64_t mac) const;
    Endpoint &open(uint8_t number, uint32_t key);
    void close(uint8_t number);
    Endpoint *endpoint(uint8_t number);

    void arrive(const Bytes &frame);
    void tick();
    uint64_t deadline() const;

    /// Refusals are to be expected: something restarts in this run.
    bool may_be_refused = false;
    /// Padded and strict, or as the quirks say.
    void transmit(Packet packet);

    // For the library.
    uint64_t now() const { return ground_.now(); }
    const Dialect &dialect() const { return dialect_; }
    const Quirks &quirks() const { return quirks_; }
    test::Rng &rng() { return rng_; }
    uint64_t mac() const { return mac_; }
    void stir() { ground_.stirred(); }
    uint16_t index_of(uint64_t mac) const;
    /// Starts fetching a large message; the endpoint hears of the end by pull_ended(handle).
    uint32_t start_pull(Endpoint &owner, const Packet &rndv, uint32_t session, uint32_t total);
    uint64_t frames_dropped = 0; ///< in silence, for any reason

private:
    struct Peer {
        uint64_t mac = 0;
        uint16_t index = 0;
        std::set<uint16_t> once; ///< indexes that it had before
        uint16_t tag = no_index;
        std::string name;
    };
    Peer *by_mac(uint64_t mac);
    bool tag_is_good(const Packet &packet, const Bytes &frame);
    void on_host(const Packet &packet);
    void on_message(const Packet &packet);
    void on_connect(const Packet &packet);
    void on_pull(const Packet &packet, const Bytes &frame);
    void on_pull_reply(const Packet &packet, const Bytes &frame);
    void on_nack_mcp(const Packet &packet, const Bytes &frame);
    void refuse(const Packet &packet, uint8_t reason);
    void queue(Endpoint &endpoint, const Packet &packet);
    void request_block(const Pull &pull, uint32_t block);
    bool block_complete(const Pull &pull, uint32_t block) const;
    void advance(uint32_t handle, Pull &pull);
    void end_pull(uint32_t handle, bool good);
    void tick_pulls();
    void query(Peer &peer);
    void remember(const Bytes &frame);
    void recycle(const Packet &packet, Writing &how);

    Dialect dialect_;
    uint64_t mac_;
    std::string name_;
    Quirks quirks_;
    test::Rng rng_;
    Ground ground_;
    std::vector<Peer> peers_;
    std::map<uint8_t, std::unique_ptr<Endpoint>> endpoints_;
    std::map<uint32_t, Pull> pulls_; ///< by handle
    uint32_t handles_ = 0x23;
    std::deque<Bytes> heard_; ///< frames that lie in recycled memory; connects stay longer
    uint64_t next_query_ = never;
};

} // namespace emx::model
