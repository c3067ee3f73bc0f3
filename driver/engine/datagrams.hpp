// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Large messages in UDP datagrams: the socket of an endpoint, and the ways between it and endpoints of other
// hosts (docs/protocol.md, Datagrams).
//
// A way begins with the first pull from an endpoint that offers datagrams: ours tells it an address and a
// secret of that way alone, in a raw frame; the other end answers likewise, and sends a datagram of full
// size. The way serves once that has come from the very address that the frame told. What does not come is
// asked for again later, ever more seldom. The other end needs no proof: it sends X DATA by datagrams where a
// request allows it, and the puller notices what does not come.
#pragma once

#include "driver/base/fd.hpp"
#include "driver/base/interface.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

extern "C" {
#include "driver/core/fw.h"
}

namespace emx {

/// Where datagrams for an endpoint go, and what they bear; in the byte order of the host.
struct DatagramTarget {
    uint64_t secret = 0;
    uint32_t address = 0; ///< 0: nowhere
    uint16_t port = 0;
    uint16_t bytes = 0; ///< longest, headers of IP and UDP not counted
    bool operator==(const DatagramTarget &) const = default;
};

/// The source of a datagram.
struct DatagramSource {
    uint32_t address = 0;
    uint16_t port = 0;
    bool operator==(const DatagramSource &) const = default;
};

/// The way between our endpoint and another.
struct DatagramWay {
    uint32_t peer = 0;
    uint8_t remote_ep = 0;
    uint32_t session = 0; ///< of the other endpoint; in another life of it, all is different
    uint64_t secret = 0; ///< that its datagrams to us bear
    DatagramTarget target; ///< of ours to it
    bool refused = false; ///< by the system, since the target was told
    bool up = false; ///< a datagram of full size has come from there
    uint64_t up_ns = 0; ///< since then
    DatagramSource probed_by; ///< one came before its sender's address was known
    uint32_t silent = 0; ///< pulls and messages that allowed datagrams since the last one came
    uint64_t tell_ns = 0; ///< our address is told again at that time, if the way is not up
    uint64_t pause_ns = 0; ///< between the last two times; 0: it was not told
    // Fragments of X MEDIUM: to us
    bool asked_fragments = false; ///< the other end was told that it may send them so
    bool had_fragments = false; ///< some have come
    uint64_t ask_ns = 0; ///< it is told again at that time, if none have
    // and from us
    bool takes_fragments = false; ///< the other end has told so
    uint32_t faults = 0; ///< grows with messages that were repeated, falls with those sent
    uint64_t rest_ns = 0; ///< they leave as frames until then
    uint64_t rest_pause_ns = 0; ///< of the last time
};

/// One of an endpoint; called under the port's lock. Nothing here blocks, but for what `grow` does.
class Datagrams {
public:
    /// interface: of the board. frame: the longest that the board sends (fw_x_frame_max); 0: no datagrams
    /// ever, as for a program that wants none. buffer: bytes of receive and send buffer to ask for. grow: has
    /// another process raise those of a socket, to which the system gave less than datagrams need, and
    /// returns the receive buffer, or 0.
    using Grow = std::function<uint32_t(int socket)>;
    Datagrams(std::string interface, uint8_t endpoint, uint32_t frame, uint32_t buffer,
              emx_counters &counters, Grow grow);

    /// True if X ADDRESS is of any use.
    bool wanted() const { return bytes_ != 0; }
    /// -1 while there is none.
    int fd() const { return socket_.get(); }
    /// The longest datagram that we take.
    uint16_t bytes() const { return bytes_; }
    /// Datagrams under way to us, at most; 0 without a socket.
    uint16_t window() const { return window_; }
    /// True while the datagram of a way may come.
    bool expects_probe(uint64_t now) const { return now < listen_ns_ && socket_; }

    /// The longest datagram by which a pull from that endpoint may ask for its data, 0: by frames. Where it
    /// is time to tell our address, *tell is filled for fw_address_tell.
    uint16_t pull_from(uint32_t peer, uint8_t remote_ep, uint32_t session, uint64_t now,
                       std::optional<fw_address> &tell);
    /// An X ADDRESS in a raw frame. What to answer, if anything: by fw_address_tell and then by a datagram
    /// of full size, probe().
    std::optional<fw_address> heard(const fw_address &other, uint64_t now);
    /// A datagram of the way bears an answer: the way is up if it comes from where it should.
    void probed(DatagramWay &way, DatagramSource source, uint32_t bytes, uint64_t now);
    /// Sends a datagram of full size with that X ADDRESS frame, made for the same endpoint.
    void probe(uint32_t peer, uint8_t remote_ep, const void *frame, uint32_t bytes);
    /// True if fragments of X MEDIUM from that endpoint are to be looked for: it was told, now or before,
    /// that they may come. *tell as for pull_from().
    bool fragments_from(uint32_t peer, uint8_t remote_ep, uint32_t session, uint64_t now,
                        std::optional<fw_address> &tell);
    /// Where to send fragments of X MEDIUM, or null.
    const DatagramTarget *fragment_target(uint32_t peer, uint8_t remote_ep);
    /// A message whose fragments went there is repeated.
    void repeated_fragments(uint32_t peer, uint8_t remote_ep, uint64_t now);
    /// Datagrams of that way have ceased to come.
    void fell_back(uint32_t peer, uint8_t remote_ep, uint64_t now);

    /// The way whose datagrams to us bear that secret, or null. Valid until the next call but this.
    DatagramWay *way_of(uint64_t secret);
    /// Where to send, or null.
    const DatagramTarget *target(uint32_t peer, uint8_t remote_ep);
    /// The system refuses to send there: nothing is, before the other end tells its address again.
    void lost_target(const DatagramTarget &target);

private:
    static constexpr std::size_t ways_max = 4096;

    /// Makes the socket, or makes it anew after the board got another address; false: there is none.
    bool refresh();
    bool open(const IpNetwork &network);
    void close();
    DatagramWay *way_to(uint32_t peer, uint8_t remote_ep);
    uint16_t window_for(int socket) const;
    static void lose(DatagramWay &way, uint64_t now);
    DatagramWay *begin(uint32_t peer, uint8_t remote_ep, uint32_t session);
    fw_address own_address(const DatagramWay &way, bool is_answer) const;

    const std::string interface_;
    const uint8_t endpoint_;
    const uint16_t bytes_;
    const uint32_t buffer_;
    emx_counters &counters_;
    const Grow grow_;
    Fd socket_;
    IpNetwork network_; ///< of the socket
    uint16_t window_ = 0;
    uint64_t listen_ns_ = 0; ///< until then
    uint64_t refresh_ns_ = 0; ///< after a socket could not be had, not before
    bool taken_ = false; ///< another program's port, as counted
    fw_bucket probes_{};
    std::unordered_map<uint64_t, DatagramWay> ways_; ///< by peer and endpoint
    std::unordered_map<uint64_t, DatagramWay *> by_secret_;
    DatagramWay *last_ = nullptr; ///< of way_of()
};

} // namespace emx
