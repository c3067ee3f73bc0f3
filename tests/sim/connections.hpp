// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Large messages by TCP in the simulator (docs/protocol.md, TCP): connections between endpoints, and what an
// endpoint keeps of them, as the engine's TcpWays does with sockets.
#pragma once

#include <driver/core/fw.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace emx::sim {

class SimPort;

/// Both ends hold it; the network carries what is written into it, in order, until one of them closes it.
struct Connection {
    SimPort *from = nullptr; ///< writes; null once it has closed
    SimPort *to = nullptr; ///< reads; null before the greeting has come, and once it has closed
    bool open = true;
    bool silent = false; ///< a firewall has forgotten it: nothing passes, and neither end hears so
    uint64_t latest = 0; ///< arrival of the newest packet
};

/// Those of one endpoint.
class Connections {
public:
    explicit Connections(SimPort &port) : port_(port) {}

    /// True if pulls from that endpoint may have their data by TCP. Where it is time to tell our address,
    /// *tell is filled.
    bool pull_from(uint32_t peer, uint8_t remote_ep, uint32_t session, std::optional<fw_address> &tell);
    /// An X ADDRESS of TCP has come: connects.
    void heard(const fw_address &other);
    /// Takes a connection that begins with that secret; false if no way has it.
    bool admit(uint64_t secret, const std::shared_ptr<Connection> &connection);
    /// Writes an X DATA, as its frame; false without a connection to that endpoint.
    bool send(uint32_t peer, uint8_t remote_ep, std::vector<uint8_t> packet);
    /// Nothing comes by the connection from that endpoint.
    void fell_back(uint32_t peer, uint8_t remote_ep);
    /// The other end has closed it, or the network gives it up.
    void ended(const std::shared_ptr<Connection> &connection);
    /// Closes all: the endpoint goes.
    void close();
    /// Endpoints whose connection went, since the last call: pulls by it are to begin anew.
    std::vector<fw_address> take_lost() { return std::exchange(lost_, {}); }

private:
    using Key = std::pair<uint32_t, uint8_t>; ///< peer and endpoint
    struct Inward {
        uint32_t peer = 0;
        uint8_t remote_ep = 0;
        uint32_t session = 0;
        uint64_t secret = 0;
        uint64_t tell_at = 0;
        uint64_t pause = 0; ///< between the last two times that our address was told
        std::shared_ptr<Connection> connection;
    };

    void lose(Inward &way);
    void fall_back(Inward &way);
    void hang_up(std::shared_ptr<Connection> &connection);

    SimPort &port_;
    std::map<Key, Inward> inward_;
    std::map<Key, std::shared_ptr<Connection>> outward_;
    std::vector<fw_address> lost_;
};

} // namespace emx::sim
