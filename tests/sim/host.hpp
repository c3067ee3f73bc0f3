// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A simulated host: boards that run the real firmware core, and the agent's part of the firmware
// (refusals for endpoints that nobody has open, answers to host queries).
#pragma once

#include "network.hpp"

#include <driver/core/fw.h>
#include <driver/core/fw_group.h>
#include <driver/device.hpp>

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace emx::sim {

class SimPort;
class Host;

/// Equipment of a host. Drawn per run, or fixed by a test.
struct HostOptions {
    uint32_t boards = 1;
    char dialect = 'W';
    uint32_t dialect_mtu = 0; ///< N: configured size
    uint32_t endpoint_max = 32;
    uint32_t ring_entries = 256; ///< power of two
    uint32_t rx_slots = 512; ///< frames that wait in front of a polling endpoint
    /// True: the process itself runs the firmware when it polls, as the engine does; false: the
    /// host does at once, as the module does.
    bool polled = false;
    uint32_t peers_max = 64;
    /// Longest frame of X DATA: 0: no X PULL; 1: that of the dialect.
    uint16_t x_frame = 1;
    /// X MEDIUM as long as that allows, and checksums.
    bool x_fragments = true;
    bool x_packs = true; ///< takes and sends X PACK
    uint16_t x_window = 256; ///< such frames under way, at most; less where they wait in front of the process
    /// Longest datagram of X DATA between hosts that both have them, 0: none. The way to each endpoint is up
    /// from the start, and again some time after its datagrams have ceased to come.
    uint16_t datagram = 0;
    uint16_t datagram_window = 124; ///< such datagrams under way, at most
    uint64_t datagram_rest = 10 * ms;
    /// Longest X DATA by TCP between hosts that both have it, with a header as that of a frame; 0: none.
    uint16_t tcp = 0;
    uint16_t tcp_window = 32; ///< such packets under way, at most
};

/// One board and its firmware.
class Board final : public Station {
public:
    Board(Host &host, uint32_t number, uint64_t mac);
    ~Board() override;

    Host &host() const { return host_; }
    uint64_t station_mac() const override { return fw_.mac; }
    uint32_t host_number() const override;
    uint32_t ip_address() const;
    SimPort *listener(uint32_t address, uint16_t port) const override;
    fw_board &fw() { return fw_; }
    uint32_t number() const { return number_; }
    /// Longest frame of X DATA, 0: no X PULL.
    uint16_t x_frame() const;
    /// Bytes of data in an X MEDIUM, 0: there are none.
    uint16_t x_fragment() const;
    const std::string &name() const override { return name_; }
    void rename(const std::string &name);

    void arrive(Frame frame) override;
    /// Runs the firmware on one frame.
    void serve(const Frame &frame);
    /// A frame to a group address, for every endpoint in that group (groups.cpp).
    void serve_group(const Frame &frame);
    /// Runs an endpoint's due timers and carries out what it has to do.
    void tick(SimPort &port);
    /// Carries out the waiting effects of an endpoint.
    void drain(SimPort &port);
    bool transmit(Frame frame) { return host_transmit(std::move(frame)); }

    uint32_t add_peer(uint64_t mac, const std::string &name);
    /// Speaks that dialect to a peer that it has, whatever it speaks to others; no endpoint is open here.
    void pin(uint64_t mac, char dialect, uint32_t size);
    /// The dialect that frames to that board have to be in, by what the test has said; the letter, and the
    /// size of N.
    std::pair<char, uint32_t> dialect_to(uint64_t mac) const;
    emx_counters counters{};

private:
    friend class SimPort;
    bool host_transmit(Frame frame);
    /// Gives the place of a stranger to that board.
    bool replace_spare(uint64_t mac);
    /// Carries out an effect of an endpoint; frame is what it came from, nullptr for none.
    void execute(SimPort &port, const Frame *frame, fw_fx &fx);
    /// Carries out effects that need no endpoint.
    void execute(fw_fx &fx, emx_counters &count, fw_bucket &answers);
    void replies(SimPort &port, fw_replies run);
    SimPort *steer(const Frame &frame);

    Host &host_;
    uint32_t number_;
    std::string name_;
    fw_board fw_{};
    std::vector<uint64_t> peer_memory_;
    std::map<uint64_t, std::pair<char, uint32_t>> pinned_;
    std::array<SimPort *, EMX_ENDPOINTS_MAX> ports_{};
    std::set<std::pair<uint32_t, uint32_t>> kept_; ///< endpoints, and peers that they keep
};

class Host {
public:
    Host(World &world, Network &network, uint32_t number, const HostOptions &options);

    World &world() { return world_; }
    Network &network() { return network_; }
    uint32_t number() const { return number_; }
    const HostOptions &options() const { return options_; }
    bool alive() const { return alive_; }
    /// Power off, or on again with empty memory of nothing but its peers.
    void set_alive(bool alive) { alive_ = alive; }
    std::vector<std::unique_ptr<Board>> boards;

private:
    World &world_;
    Network &network_;
    uint32_t number_;
    HostOptions options_;
    bool alive_ = true;
};

/// Makes every board of every host known to all others, in an order of each board's own.
void introduce(std::vector<std::unique_ptr<Host>> &hosts, test::Rng &rng);

inline uint64_t board_mac(const uint8_t *p)
{
    uint64_t mac = 0;
    for (int i = 0; i < 6; i++)
        mac = mac << 8 | p[i];
    return mac;
}
inline constexpr uint64_t broadcast_mac = 0xffffffffffffull;

} // namespace emx::sim
