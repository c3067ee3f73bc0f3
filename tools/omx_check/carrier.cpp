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

constexpr const char *firewall = "does a firewall drop UDP ports 34527 and up, here or there?";

/// Settings and addresses of this host that keep messages in frames; empty: none does.
std::string obstacle_here(const BoardFacts &board, const BoardView &view)
{
    if (std::string(view.device()) == "kernel")
        return "the kernel module sends and takes frames alone";
    const char *bulk = environment_variable("EMX_BULK");
    const std::string way = bulk ? bulk : "";
    if (way == "raw")
        return "EMX_BULK=raw, here";
    const Fd any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!ip_network(any.get(), board.device))
        return board.interface + " has no IPv4 address here";
    constexpr uint32_t best_below = 4096; // as in driver/engine/port_datagrams.cpp
    const uint32_t frame = fw_x_frame_max(&board.sizes, board.mtu);
    if (way != "udp" && frame >= best_below + ethernet_header + EMX_IP_UDP_LEN)
        return "frames of " + std::to_string(frame) +
               " bytes are faster (EMX_BULK=udp has datagrams all the same)";
    return {};
}

} // namespace

Carrier carrier_of(const BoardFacts &board, const BoardView &view, const emx_counters &before,
                   const emx_counters &after)
{
    const auto more = [&](int counter) { return after.v[counter] - before.v[counter]; };
    if (view.has_hosts())
        return {"datagrams", "as all of a UDP board"};
    const uint64_t data = more(EMX_CNT_RX_X_DATA), datagrams = more(EMX_CNT_RX_DATAGRAM);
    if (data != 0 && 2 * datagrams > data)
        return {"datagrams", {}};
    if (const std::string why = obstacle_here(board, view); !why.empty())
        return {"frames", why};
    if (data == 0)
        return {"frames",
                "that host does not speak the extension, or not for large messages (EMX_EXTENSION)"};
    if (more(EMX_CNT_DATAGRAM_PORT) != 0)
        return {"frames", "another program here has the UDP port of the endpoint: ss -lunp shows it"};
    if (datagrams != 0 || more(EMX_CNT_DATAGRAM_FALLBACK) != 0 || more(EMX_CNT_RX_X_ADDRESS) != 0)
        return {"frames", std::string("datagrams do not arrive, or no longer: ") + firewall};
    if (more(EMX_CNT_TX_X_ADDRESS) != 0)
        return {"frames",
                "that host has no IPv4 address on this network, or its UDP port is another program's "
                "(omx_counters there: datagram ports taken)"};
    return {"frames", "that host offers no datagrams: EMX_BULK=raw or the kernel module, there"};
}

} // namespace emx::check
