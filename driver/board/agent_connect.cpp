// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Connecting to the board agent, and to nobody who poses as it.
#include "driver/base/control_socket.hpp"
#include "driver/base/system_calls.hpp"
#include "driver/board/agent_client.hpp"
#include "driver/config/believed_agent.hpp"
#include "driver/mx_codes.hpp"
#include "driver/system_error.hpp"

#include <sys/time.h>

#include <cerrno>
#include <cstring>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

namespace emx {
namespace {

constexpr time_t patience_s = 5;

constexpr char busy_text[] =
    "omxd, the board agent, does not take connections: try again; if this happens again, stop the process "
    "that has its name (ss -xlp shows it)";

/// A socket with which neither connecting nor sending waits for ever, whoever is at the other end.
Fd make_socket()
{
    Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const timeval limit{patience_s, 0};
    if (fd && ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) != 0)
        fd.reset();
    return fd;
}

bool connects(const Fd &fd, const sockaddr_un &address, socklen_t length)
{
    return fd && sys::connect(fd.get(), reinterpret_cast<const sockaddr *>(&address), length) == 0;
}

std::string stranger_text(const PeerUser &user)
{
    return describe(user) +
           " answers in the name of omxd, the board agent, and is neither root nor the user of this program: "
           "end that process, or have root start omxd (sudo omxd), which programs find first; if it is the "
           "agent that you want, name its user in /etc/ethermx/ethermx.conf (user = NUMBER)";
}

} // namespace

std::string agent_path()
{
    const Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    uint64_t cookie = 0;
    socklen_t size = sizeof(cookie);
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) != 0)
        return {};
    return std::string(agent_folder) + "/" + std::to_string(cookie);
}

std::optional<AgentConnection> AgentConnection::connect(DeviceError &error, const std::string &own)
{
    const std::string name = own.empty() ? agent_socket_name : own;
    for (const bool by_path : {true, false}) {
        const std::string path = by_path && own.empty() ? agent_path() : std::string{};
        if (by_path && path.empty())
            continue;
        sockaddr_un address;
        const socklen_t length =
            by_path ? path_address(path, address) : abstract_address(name.c_str(), address);
        Fd fd = make_socket();
        if (!connects(fd, address, length)) {
            // A folder that cannot be looked into holds nobody's agent.
            if (errno == EAGAIN)
                error = {mx_no_driver, busy_text};
            else if (!by_path && errno != ECONNREFUSED && errno != ENOENT)
                error = system_error("connecting to omxd, the board agent", mx_no_driver);
            continue;
        }
        const auto user = peer_of(fd.get());
        if (user && may_be_agent(*user)) {
            error = {};
            return AgentConnection(std::move(fd));
        }
        error = {mx_no_driver, stranger_text(user.value_or(PeerUser{}))};
    }
    return std::nullopt;
}

} // namespace emx
