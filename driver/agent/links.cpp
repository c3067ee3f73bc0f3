// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Interface changes by rtnetlink.
#include "driver/agent/links.hpp"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace emx {

namespace {

std::string name_of(const nlmsghdr *m)
{
    const auto *link = static_cast<const ifinfomsg *>(NLMSG_DATA(m));
    auto left = static_cast<unsigned>(IFLA_PAYLOAD(m));
    for (const rtattr *a = IFLA_RTA(link); RTA_OK(a, left); a = RTA_NEXT(a, left))
        if (a->rta_type == IFLA_IFNAME)
            return std::string(static_cast<const char *>(RTA_DATA(a)),
                               ::strnlen(static_cast<const char *>(RTA_DATA(a)), RTA_PAYLOAD(a)));
    return {};
}

} // namespace

bool LinkWatch::open()
{
    socket_.reset(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    address.nl_groups = RTMGRP_LINK;
    return socket_ && ::bind(socket_.get(), reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0;
}

bool LinkWatch::watch_addresses()
{
    for (const int group : {RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR})
        if (::setsockopt(socket_.get(), SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) != 0)
            return false;
    return true;
}

void LinkWatch::read(const Report &report)
{
    alignas(nlmsghdr) char buffer[16384];
    for (;;) {
        const ssize_t got = ::recv(socket_.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            if (errno == ENOBUFS)
                report(-1, {}, EMX_LINK_UP);
            return;
        }
        auto left = static_cast<unsigned>(got);
        for (auto *m = reinterpret_cast<nlmsghdr *>(buffer); NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
            if (m->nlmsg_type == RTM_NEWADDR || m->nlmsg_type == RTM_DELADDR)
                report(static_cast<int>(static_cast<const ifaddrmsg *>(NLMSG_DATA(m))->ifa_index), {},
                       EMX_LINK_UP);
            if (m->nlmsg_type != RTM_NEWLINK && m->nlmsg_type != RTM_DELLINK)
                continue;
            const auto *link = static_cast<const ifinfomsg *>(NLMSG_DATA(m));
            if (link->ifi_family != AF_UNSPEC) // a bridge port, for one, is not the interface
                continue;
            const bool up = (link->ifi_flags & IFF_UP) && (link->ifi_flags & IFF_RUNNING);
            if (m->nlmsg_type == RTM_DELLINK)
                report(link->ifi_index, name_of(m), EMX_LINK_GONE);
            else
                report(link->ifi_index, name_of(m), up ? EMX_LINK_UP : EMX_LINK_DOWN);
        }
    }
}

} // namespace emx
