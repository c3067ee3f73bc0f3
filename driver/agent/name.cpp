// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The names under which programs find the board agent: the abstract one of the network namespace, which any
// user can take, and root's path, which none can (docs/decisions/0012).
#include "driver/agent/agent.hpp"

#include "driver/base/control_socket.hpp"
#include "driver/board/agent_choice.hpp"
#include "driver/board/agent_client.hpp"
#include "driver/config/believed_agent.hpp"
#include "driver/mx_codes.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace emx {
namespace {

constexpr int backlog = 256;
constexpr useconds_t look_us = 10000;
constexpr int looks = 100; // at a name whose holder does not listen yet

Fd make_socket() { return Fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

bool name_it(const Fd &socket, const sockaddr_un &address, socklen_t length)
{
    return socket && ::bind(socket.get(), reinterpret_cast<const sockaddr *>(&address), length) == 0;
}

/// False with errno set: ECONNREFUSED when nobody listens, EAGAIN when more wait than the listener takes.
bool connects(const Fd &socket, const sockaddr_un &address, socklen_t length)
{
    return socket && ::connect(socket.get(), reinterpret_cast<const sockaddr *>(&address), length) == 0;
}

/// Root's folder, made now if need be; empty with errno set when it cannot be ours alone.
Fd open_folder()
{
    ::mkdir(agent_folder, 0755); // a umask can only take more
    Fd folder(::open(agent_folder, O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    struct stat facts {};
    if (!folder || ::fstat(folder.get(), &facts) != 0)
        return {};
    if (facts.st_uid != 0 || (facts.st_mode & (S_IWGRP | S_IWOTH))) {
        errno = EPERM;
        return {};
    }
    if (::fchmod(folder.get(), 0755) != 0)
        return {};
    return folder;
}

/// Agents take and leave their paths in turn. The lock is no one's but root's to open.
Fd lock_folder(const Fd &folder)
{
    Fd lock(::openat(folder.get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    while (lock && ::flock(lock.get(), LOCK_EX) != 0)
        if (errno != EINTR)
            return {};
    return lock;
}

/// Agents that were killed leave their sockets, also those of network namespaces that are gone.
void sweep(const Fd &lock)
{
    std::error_code ignored;
    for (const auto &entry : std::filesystem::directory_iterator(lock ? agent_folder : "", ignored)) {
        sockaddr_un address;
        if (!entry.is_socket(ignored) || entry.path().string().size() >= sizeof(address.sun_path))
            continue;
        const socklen_t length = path_address(entry.path(), address);
        if (const Fd socket = make_socket(); !connects(socket, address, length) && errno == ECONNREFUSED)
            ::unlink(entry.path().c_str());
    }
}

} // namespace

/// False when another agent serves by the path. Where there can be no path, there is none.
bool Agent::take_path()
{
    path_ = ::geteuid() == 0 && own_name_.empty() ? agent_path() : std::string{};
    if (path_.empty())
        return true;
    const Fd folder = open_folder();
    const Fd lock = folder ? lock_folder(folder) : Fd{};
    if (!lock) {
        log_.line(std::string("without a path in ") + agent_folder + ": " + std::strerror(errno));
        path_.clear();
        return true;
    }
    sweep(lock);
    sockaddr_un address;
    const socklen_t length = path_address(path_, address);
    by_path_ = make_socket();
    // Listening ends the race: who sweeps sees a socket that nobody listens to as one that was left.
    if (name_it(by_path_, address, length) && ::chmod(path_.c_str(), 0600) == 0 &&
        ::listen(by_path_.get(), backlog) == 0)
        return true;
    const bool taken = errno == EADDRINUSE;
    if (!taken)
        log_.line("without the path " + path_ + ": " + std::strerror(errno));
    by_path_.reset();
    path_.clear();
    return !taken;
}

/// Nobody else can fill the queue of that socket. Others come by the abstract name, and are told that they
/// have to be of the group.
void Agent::open_path_to_group() const
{
    if (!by_path_)
        return;
    if (::geteuid() != starter_)
        return log_.line("members of the group " + options_.group + " come by the abstract name, and by " +
                         path_ + " once omxd is restarted");
    if (::chown(path_.c_str(), 0, *group_) != 0 || ::chmod(path_.c_str(), 0660) != 0)
        log_.line("opening " + path_ + " to the group " + options_.group + ": " + std::strerror(errno));
}

/// An agent that is not root any more leaves it to the next one, which sweeps the folder.
void Agent::leave_path()
{
    if (!by_path_ || ::geteuid() != starter_)
        return;
    const Fd folder = open_folder();
    const Fd lock = folder ? lock_folder(folder) : Fd{};
    if (lock)
        ::unlink(path_.c_str());
}

namespace {

/// The agent, or stranger, that holds the abstract name; nothing when its holder takes no connection.
std::optional<PeerUser> holder_of(const sockaddr_un &address, socklen_t length)
{
    for (int i = 0; i < looks; i++) {
        const Fd socket = make_socket();
        if (connects(socket, address, length))
            return peer_of(socket.get());
        if (errno == EAGAIN)
            break;
        ::usleep(look_us);
    }
    return std::nullopt;
}

} // namespace

/// A stranger may hold the abstract name: who has a path goes on without it.
bool Agent::take_abstract_name(StartError &error)
{
    sockaddr_un address;
    const socklen_t length = abstract_address(own_name_.empty() ? agent_socket_name : own_name_, address);
    listener_ = make_socket();
    if (name_it(listener_, address, length)) {
        // A client that connects before the boards are ready waits in the queue.
        if (::listen(listener_.get(), backlog) == 0)
            return true;
        error = {mx_no_resources, std::string("listening on the control socket: ") + std::strerror(errno)};
        return false;
    }
    if (errno != EADDRINUSE) {
        error = {mx_no_resources, std::string("opening the control socket: ") + std::strerror(errno)};
        return false;
    }
    listener_.reset();
    const auto holder = holder_of(address, length);
    error.running = holder && may_be_agent(*holder);
    if (error.running)
        return false;
    const std::string who = holder ? describe(*holder) : "a process that answers nothing";
    const std::string text = who + " holds the name of omxd in this network namespace";
    if (by_path_) {
        log_.line(text + ": programs come by " + path_);
        return true;
    }
    error = {mx_no_driver, text + ": end that process, or have root start omxd (sudo omxd)"};
    return false;
}

bool Agent::take_name(StartError &error)
{
    own_name_ = own_agent_name(wanted_boards(options_.boards, options_.config), starter_);
    if (!take_path()) {
        error.running = true;
        return false;
    }
    return take_abstract_name(error);
}

/// The kernel names to clients the process that listened last: not the one that forked us.
void Agent::listen_again()
{
    for (const Fd *socket : {&by_path_, &listener_})
        if (*socket)
            ::listen(socket->get(), backlog);
}

} // namespace emx
