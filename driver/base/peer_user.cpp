// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Credentials of the other end of a Unix socket, and what they are good for.
#include "driver/base/peer_user.hpp"

#include "driver/base/text_file.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace emx {
namespace {

/// The user that stands for all whom a user namespace does not have.
uid_t overflow_user()
{
    static const uid_t overflow = [] {
        constexpr uid_t usual = 65534;
        uid_t uid = usual;
        std::istringstream file = read_text_file("/proc/sys/kernel/overflowuid");
        return file >> uid ? uid : usual;
    }();
    return overflow;
}

/// True if the user namespace has all users: then a number is one user's. Where /proc does not tell, it has
/// not.
bool has_all_users()
{
    std::istringstream file = read_text_file("/proc/self/uid_map");
    uint64_t inside = 1, outside = 1, count = 0;
    return file >> inside >> outside >> count && inside == 0 && count == UINT32_MAX;
}

bool is_one_user(uid_t uid) { return uid != overflow_user() || has_all_users(); }

} // namespace

std::optional<PeerUser> peer_of(int socket)
{
    ucred other{};
    socklen_t size = sizeof(other);
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &size) != 0)
        return std::nullopt;
    return PeerUser{other.uid, other.pid};
}

bool is_user(const PeerUser &user, uid_t uid) { return user.uid == uid && is_one_user(uid); }

bool is_own_user(const PeerUser &user) { return is_user(user, ::geteuid()); }

bool is_at_work(const PeerUser &user)
{
    std::istringstream file = read_text_file("/proc/" + std::to_string(user.pid) + "/stat");
    const std::string stat = file.str(); // a command in brackets has blanks and brackets of its own
    const std::size_t state = stat.rfind(") ");
    return state != std::string::npos && state + 2 < stat.size() && std::strchr("RD", stat[state + 2]);
}

std::string describe(const PeerUser &user)
{
    std::string text = is_one_user(user.uid) ? "user " + std::to_string(user.uid)
                                             : "a user whom this user namespace does not have";
    if (user.pid > 0)
        text += " (process " + std::to_string(user.pid) + ")";
    return text;
}

} // namespace emx
