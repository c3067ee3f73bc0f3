// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Reading and checking of what the configuration wants.
#include "tools/setup/plan.hpp"

#include "driver/base/fd.hpp"
#include "driver/base/interface.hpp"
#include "tools/cli.hpp"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

namespace emx {
namespace {

using Clock = std::chrono::steady_clock;

/// Empty, or why the interface cannot be a board now; sizes are those it would have.
std::string trouble_of(const BoardSpec &spec, fw_sizes &sizes)
{
    InterfaceFacts facts;
    if (spec.is_udp())
        return describe_place(spec) +
               ": a UDP board is the engine's, and needs no module: start omxd instead "
               "(systemctl enable --now omxd)";
    if (!query_interface(spec.interface, facts))
        return spec.interface + ": no such interface here (ip link lists them): correct the name";
    if (!facts.ethernet || facts.mac == 0)
        return spec.interface + ": not an Ethernet interface: choose another one";
    std::string error;
    choose_sizes(spec, facts.mtu, sizes, error);
    return error;
}

std::string trouble_of(const Plan &plan, std::vector<std::string> &boards)
{
    boards.clear();
    for (const BoardSpec &spec : plan.config.boards) {
        fw_sizes sizes{};
        if (const std::string text = trouble_of(spec, sizes); !text.empty())
            return plan.boards_place() + ": " + text;
        boards.push_back(describe_board(spec.interface, sizes));
    }
    return {};
}

/// Readable when something has happened to an interface of this network namespace.
Fd watch_interfaces()
{
    Fd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    address.nl_groups = RTMGRP_LINK;
    if (!fd || ::bind(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof(address)) != 0)
        throw cli::Failure(std::string("watching the interfaces: ") + std::strerror(errno));
    return fd;
}

void wait_for_change(const Fd &watch, Clock::time_point until)
{
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd entry{watch.get(), POLLIN, 0};
    ::poll(&entry, 1, left > 0 ? static_cast<int>(left) : 0);
    // Read off what the queue has: the change is looked up, and a queue that overflowed is as good.
    for (char text[8192]; ::recv(watch.get(), text, sizeof(text), 0) > 0;) {
    }
}

} // namespace

std::string Plan::boards_place() const { return path + ", line " + std::to_string(config.boards_line); }

Plan read_plan(const std::string &path)
{
    Plan plan;
    std::string error;
    plan.path = path;
    if (::access(path.c_str(), F_OK) != 0)
        throw cli::Failure(path + ": " + std::strerror(errno) +
                           ": make it from the example ethermx.conf in share/doc/ethermx/examples");
    if (!read_config_file(path, plan.config, error))
        throw cli::Failure(error);
    if (plan.config.boards.empty())
        throw cli::Failure(
            path +
            (plan.config.boards_line ? ", line " + std::to_string(plan.config.boards_line) : std::string()) +
            ": no interface is named; add a line such as boards = eth1:N=1500 (ip link lists "
            "the interfaces)");
    plan.peers_path = choose_peers_path(plan.config.peers);
    if (!plan.peers_path.empty() &&
        !read_peers_file(plan.peers_path, plan.peers, error,
                         are_udp(plan.config.boards) ? PeerPlaces::hosts : PeerPlaces::boards))
        throw cli::Failure(error);
    return plan;
}

std::vector<std::string> check_interfaces(const Plan &plan, uint32_t patience_s)
{
    const auto until = Clock::now() + std::chrono::seconds(patience_s);
    const Fd watch = watch_interfaces();
    std::vector<std::string> boards;
    for (;;) {
        const std::string text = trouble_of(plan, boards);
        if (text.empty())
            return boards;
        if (Clock::now() >= until)
            throw cli::Failure(text);
        wait_for_change(watch, until);
    }
}

} // namespace emx
