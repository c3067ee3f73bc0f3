// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The simulated switch: carries frames between boards, and loses, repeats, delays, reorders and
// (hostile mode) alters them.
#pragma once

#include "world.hpp"

#include <driver/core/fw.h>
#include <tests/model/checker.hpp>
#include <tests/watch/wirecheck.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace emx::sim {

using Frame = std::vector<uint8_t>;

/// Faults that may befall a frame. Rates are per mille; all zero is a perfect network.
struct Faults {
    uint32_t loss = 0;
    uint32_t duplicate = 0;
    uint32_t reorder = 0; ///< frames held back for up to reorder_delay
    uint32_t alter = 0; ///< hostile: bytes are changed, and the frame is delivered
    /// A bit of the payload is another and, where there may be a checksum, of the header behind the
    /// endpoints.
    uint32_t flip = 0;
    bool flip_headers = true; ///< that, too
    uint8_t flip_only = 0; ///< of packets of that type; 0: of all
    uint32_t refuse = 0; ///< the interface does not take the frame
    bool no_datagrams = false; ///< a firewall drops them all
    bool no_tcp = false; ///< a firewall drops all of it, and forgets what goes through it meanwhile
    uint32_t tcp_end = 0; ///< a connection ends instead of carrying a packet
    uint64_t latency = 5 * us;
    uint64_t jitter = 0;
    uint64_t reorder_delay = 200 * us;
    bool in_order = false; ///< a short frame does not overtake a long one, as on one cable
};

/// Speed and room: what a perfect network lacks, too. Without it a frame never waits for another.
struct Links {
    uint32_t queue = 0; ///< frames that the switch holds for each station; more are lost; 0: endless speed
    uint64_t ps_per_byte = 800; ///< 10 Gbit/s
};

class Board;
class SimPort;
struct Connection;

/// Whatever has a cable to the switch.
class Station {
public:
    virtual ~Station() = default;
    virtual uint64_t station_mac() const = 0;
    virtual uint32_t host_number() const = 0;
    virtual const std::string &name() const = 0;
    /// A frame from the switch.
    virtual void arrive(Frame frame) = 0;
    /// The endpoint that takes connections at that IPv4 address and port, null for none.
    virtual SimPort *listener(uint32_t /*address*/, uint16_t /*port*/) const { return nullptr; }
};

class Network {
public:
    explicit Network(World &world) : world_(world), rng_(world.rng.fork()) {}

    void attach(Station &station) { stations_.push_back(&station); }
    /// Takes a complete frame from a board. False: the interface refused it.
    bool send(Board &from, const Frame &frame);
    /// Takes a frame that is not judged: of a foreign host.
    void send_foreign(Station &from, const Frame &frame);
    /// Takes an X DATA that travels in a datagram: as its frame, which no board's rules of frames judge.
    void send_datagram(Station &from, const Frame &frame);
    /// Connects to that address, and says the secret there; connections.cpp.
    void connect(const std::shared_ptr<Connection> &connection, const fw_address &to);
    /// Takes an X DATA, as its frame, for the other end of a connection.
    void write(Board &from, const std::shared_ptr<Connection> &connection, Frame packet);
    /// Lets both ends of a connection hear that it has ended.
    void give_up(const std::shared_ptr<Connection> &connection);
    /// A frame of ours that the wire specification forbids, or nothing.
    const std::string &violation() const;
    /// Cuts hosts a and b (numbers) off from each other until that time.
    void cut(uint32_t a, uint32_t b, uint64_t until);

    Faults faults;
    Links links;
    uint64_t overflows = 0; ///< frames that found a full queue
    uint64_t unqueued = 0; ///< frames that found a full socket, of which their receiver hears nothing
    watch::WireChecker checker; ///< by the core's own declarations
    model::Checker watcher; ///< by the wire specification alone
    bool trace = false; ///< prints every frame and its fate
    std::function<void(const Frame &)> tap; ///< sees every frame that a board sends
    uint64_t frames = 0;
    uint64_t datagrams = 0; ///< that passed the firewall
    uint64_t tcp_packets = 0; ///< that passed the firewall
    uint64_t altered = 0;
    uint64_t flipped = 0;

private:
    void switch_frame(Station &from, const Frame &frame);
    void carry(Station &from, Station &to, const Frame &frame);
    void queue_up(Station &to, Frame frame, uint64_t delay);
    uint64_t leave(Station &from, const Frame &frame);
    uint64_t time_on_link(const Frame &frame) const;
    uint64_t repeats();
    void deliver(Station &to, Frame frame, uint64_t delay);
    void alter(Frame &frame);
    void flip(Frame &frame);
    void print(const Station &from, const Station &to, const Frame &frame, const char *fate);
    bool is_cut(uint32_t a, uint32_t b);

    World &world_;
    test::Rng rng_;
    std::vector<Station *> stations_;
    std::string forbidden_;
    std::map<const Station *, uint64_t> sending_; ///< until when a station's own link is busy
    std::map<const Station *, std::deque<uint64_t>> queues_; ///< when what waits for it will be through
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> cuts_;
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> latest_; ///< arrival, by station and station
};

} // namespace emx::sim
