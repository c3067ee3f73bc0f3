// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Large messages by TCP: the listening socket of an endpoint, and the connections between it and endpoints
// of other hosts (docs/protocol.md, TCP).
//
// A way begins with the first pull from an endpoint that offers TCP: ours tells it, in a raw frame, where it
// listens, and a secret of that way alone. The other end connects and says the secret; its X DATA for us
// comes by that connection from then on. What does not come is asked for again later, ever more seldom.
#pragma once

#include "driver/base/fd.hpp"
#include "driver/engine/tcp_network.hpp"
#include "driver/engine/tcp_receiver.hpp"
#include "driver/engine/tcp_repeats.hpp"
#include "driver/engine/tcp_sender.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

extern "C" {
#include "driver/core/fw.h"
}

namespace emx {

/// Data from another endpoint to ours.
struct TcpInward {
    uint32_t peer = 0;
    uint8_t remote_ep = 0;
    uint32_t session = 0; ///< of the other endpoint; in another life of it, all is different
    uint64_t secret = 0;
    uint64_t tell_ns = 0; ///< our address is told again at that time, if the way is not up
    uint64_t pause_ns = 0; ///< between the last two times; 0: it was not told
    Fd connection; ///< none: the way is not up
    uint64_t up_ns = 0; ///< since then it is
    TcpReceiver packets;
};

/// Data from our endpoint to another.
struct TcpOutward {
    uint32_t peer = 0;
    uint8_t remote_ep = 0;
    uint64_t secret = 0;
    Fd connection;
    uint32_t greeted = 0; ///< bytes of the greeting that have left
    bool busy = false; ///< something is to be sent
    bool waits = false; ///< for the socket to take more
    TcpRepeats repeats;
    TcpSender packets;
};

/// One of an endpoint; called under the port's lock. Nothing here blocks.
class TcpWays {
public:
    TcpWays(std::unique_ptr<TcpNetwork> network, emx_counters &counters);
    ~TcpWays();
    TcpWays(const TcpWays &) = delete;
    TcpWays &operator=(const TcpWays &) = delete;

    bool wanted() const { return network_->wanted(); }
    /// Becomes readable when a connection that pulls wait for, or that more is to be sent by, is ready; -1
    /// while there is none.
    int fd() const { return epoll_.get(); }

    // Data to us

    /// The way by which a pull from that endpoint may have its data, or null. Where it is time to tell our
    /// address, *tell is filled for fw_address_tell. Valid until the next call but of the same function.
    TcpInward *pull_from(uint32_t peer, uint8_t remote_ep, uint32_t session, uint64_t now,
                         std::optional<fw_address> &tell);
    static constexpr std::size_t looks_max = 16;
    /// Looks which connections are ready: returns how many of ways[] may have data.
    std::size_t look(std::array<TcpInward *, looks_max> &ways);
    /// Ways whose connection went, since the last call: pulls by it are to begin anew.
    std::vector<fw_address> take_lost() { return std::exchange(lost_, {}); }
    /// That connection has ended, or nothing comes by it.
    void end(TcpInward &way, uint64_t now);
    /// The same of an endpoint.
    void fell_back(uint32_t peer, uint8_t remote_ep, uint64_t now);

    // Data from us

    /// An X ADDRESS of TCP in a raw frame: connects.
    void heard(const fw_address &other, uint64_t now);
    /// Queues an answer to a request; false when it cannot leave.
    bool add(const ReplyQueue &windows, const fw_replies &run);
    /// Something is to be sent, perhaps once a connection takes more.
    bool sending() const { return busy_.size() != greeting_; }
    /// Connections are being made: send() goes on with those that look() finds ready.
    bool connecting() const { return greeting_ != 0; }
    using Refuse = std::function<void(const fw_replies &)>;
    /// Sends what the connections take. Where memory cannot be read, the answer is handed to refuse.
    void send(const ReplyQueue &windows, const Refuse &refuse);
    /// Before the memory of a window is given back.
    void close_window(const ReplyQueue &windows, uint16_t slot);

private:
    static constexpr std::size_t ways_max = 1024; ///< in each direction
    static constexpr std::size_t strangers_max = 16;

    /// A connection that has not said its secret yet.
    struct Stranger {
        Fd connection;
        std::array<std::byte, sizeof(emx_w_connection)> greeting{};
        uint32_t have = 0;
    };

    /// Makes the listening socket, or makes it anew after the board got another address; false: there is
    /// none.
    bool refresh();
    bool listen_at(const UdpAddress &here);
    void close();
    void end_connection(Fd &connection);
    bool make_room_inward(uint64_t now);
    bool make_room_outward(uint64_t key);
    TcpInward *begin(uint32_t peer, uint8_t remote_ep, uint32_t session, uint64_t now);
    fw_address own_address(const TcpInward &way) const;
    void accept_strangers(uint64_t now);
    void hear_greetings(uint64_t now);
    bool hear_greeting(Stranger &stranger, uint64_t now);
    bool admit(Stranger &stranger, uint64_t now);
    void lose(TcpInward &way);
    bool connect(TcpOutward &way, const UdpAddress &here, const UdpAddress &there);
    void disconnect(TcpOutward &way);
    void watch(TcpOutward &way, bool waits);
    static bool is_lossy(TcpOutward &way);
    bool send_greeting(TcpOutward &way);
    bool send_by(TcpOutward &way, const ReplyQueue &windows, const Refuse &refuse);

    const std::unique_ptr<TcpNetwork> network_;
    emx_counters &counters_;
    const std::size_t connections_max_; ///< in each direction: the program wants descriptors, too
    uint64_t refresh_ns_ = 0; ///< after a listening socket could not be had, not before
    Fd listening_;
    Fd epoll_;
    UdpAddress here_; ///< of the listening socket
    bool taken_ = false; ///< another program's port, as counted
    fw_bucket connects_{};
    std::vector<Stranger> strangers_;
    std::vector<fw_address> lost_;
    std::unordered_map<uint64_t, std::unique_ptr<TcpInward>> inward_; ///< by peer and endpoint
    std::unordered_map<uint64_t, TcpInward *> by_secret_;
    std::unordered_map<uint64_t, std::unique_ptr<TcpOutward>> outward_;
    std::vector<TcpInward *> up_; ///< with a connection
    std::vector<TcpOutward *> busy_; ///< with something to send
    uint32_t waiting_ = 0; ///< of them, those that wait for their socket
    uint32_t greeting_ = 0; ///< of them, those whose greeting has not left
    std::size_t outward_up_ = 0; ///< ways with a connection, perhaps one that is being made
    uint32_t looks_ = 0;
};

} // namespace emx
