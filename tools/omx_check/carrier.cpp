// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// From counters to the carrier of large messages.
#include "tools/omx_check/carrier.hpp"

#include "driver/base/environment.hpp"
#include "driver/base/fd.hpp"
#include "driver/base/interface.hpp"
#include "driver/base/packet_socket.hpp"

#include <emx/wire.h>

#include <sys/socket.h>

namespace emx::check {

namespace {

/// Counters of the board around some large messages that came to it.
struct Came {
    const emx_counters &before;
    const emx_counters &after;

    uint64_t operator[](int counter) const { return after.v[counter] - before.v[counter]; }
};

std::string wish()
{
    const char *bulk = environment_variable("EMX_BULK");
    return bulk ? bulk : "";
}

/// Settings and addresses of this host that keep all messages in frames; empty: none does.
std::string obstacle_here(const BoardFacts &board, const BoardView &view)
{
    if (std::string(view.device()) == "kernel")
        return "the kernel module sends and takes frames alone";
    if (wish() == "raw")
        return "EMX_BULK=raw, here";
    const Fd any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    return ip_network(any.get(), board.device) ? "" : board.interface + " has no IPv4 address here";
}

std::string why_not_tcp(const Came &came, bool udp_board)
{
    const std::string ports =
        udp_board ? "the TCP ports of the board's UDP numbers" : "TCP ports 34527 and up";
    const std::string no_network = udp_board ? "" : "no IPv4 address on this network, ";
    if (came[EMX_CNT_TCP_PORT] != 0)
        return "another program here has the TCP port of the endpoint: ss -ltnp shows it";
    if (came[EMX_CNT_TCP_ROUTE] != 0 || came[EMX_CNT_TCP_FALLBACK] != 0)
        return "a connection came, and ended: does a firewall reset " + ports + ", here or there?";
    return "no connection came: does a firewall drop " + ports + ", here or there, or has that host " +
           no_network + "EMX_BULK=udp or EMX_BULK=raw?";
}

std::string why_no_datagrams(const BoardFacts &board, const Came &came)
{
    constexpr uint32_t best_below = 4096; // as in driver/engine/port_datagrams.cpp
    const uint32_t frame = fw_x_frame_max(&board.sizes, board.mtu);
    if (wish() != "udp" && frame >= best_below + ethernet_header + EMX_IP_UDP_LEN)
        return "frames of " + std::to_string(frame) +
               " bytes are faster than datagrams (EMX_BULK=udp has those all the same)";
    if (came[EMX_CNT_DATAGRAM_PORT] != 0)
        return "another program here has the UDP port of the endpoint: ss -lunp shows it";
    if (came[EMX_CNT_RX_DATAGRAM] != 0 || came[EMX_CNT_DATAGRAM_FALLBACK] != 0 ||
        came[EMX_CNT_RX_X_ADDRESS] != 0)
        return "datagrams do not arrive, or no longer: does a firewall drop UDP ports 34527 and up, here or "
               "there?";
    if (came[EMX_CNT_TX_X_ADDRESS] != 0)
        return "that host has no IPv4 address on this network, or its UDP port is another program's "
               "(omx_counters there: datagram ports taken)";
    return "that host offers no datagrams: EMX_BULK=raw or the kernel module, there";
}

} // namespace

Carrier carrier_of(const BoardFacts &board, const BoardView &view, const emx_counters &before,
                   const emx_counters &after)
{
    const Came came{before, after};
    const bool udp_board = view.has_hosts();
    constexpr uint64_t tcp_packet = 32768; // bytes, as in driver/engine/tcp_port.hpp
    const uint64_t data = came[EMX_CNT_RX_X_DATA], tcp = came[EMX_CNT_RX_TCP];
    const uint64_t others = data > tcp ? data - tcp : 0;
    if (tcp * tcp_packet > others * board.mtu)
        return {"tcp", {}};
    if (udp_board && (wish() == "udp" || wish() == "raw"))
        return {"datagrams", "EMX_BULK=" + wish() + ", here"};
    const std::string no_tcp = wish() == "udp" ? "" : why_not_tcp(came, udp_board);
    if (udp_board)
        return {"datagrams", no_tcp};
    if (2 * came[EMX_CNT_RX_DATAGRAM] > others)
        return {"datagrams", no_tcp};
    if (const std::string why = obstacle_here(board, view); !why.empty())
        return {"frames", why};
    if (data == 0)
        return {"frames",
                "that host does not speak the extension, or not for large messages (EMX_EXTENSION)"};
    const std::string no_datagrams = wish() == "tcp" ? "" : why_no_datagrams(board, came);
    return {"frames", no_tcp + (no_tcp.empty() || no_datagrams.empty() ? "" : "; ") + no_datagrams};
}

} // namespace emx::check
