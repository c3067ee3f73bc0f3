// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// System calls as the library makes them, on the threads of programs that it does not know: a signal of the
// program ends none of them early, and none is a cancellation point, at which pthread_cancel() would end a
// thread in the midst of our work. Only the sleep of a blocking call is one (Port::wait()).
//
// Each is the system call of its name: the same arguments, -1 with errno set. Any thread.
#pragma once

#include "driver/base/clock.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace emx::sys {

template <class... Arguments>
long again(long number, Arguments... arguments)
{
    long result;
    do
        result = ::syscall(number, arguments...);
    while (result < 0 && errno == EINTR);
    return result;
}

inline int open(const char *path, int flags, mode_t mode = 0)
{
    return static_cast<int>(again(SYS_openat, AT_FDCWD, path, flags, mode));
}

/// Not tried again: the descriptor is closed whatever it says.
inline void close(int fd)
{
#ifdef __SANITIZE_THREAD__
    // Else its number, used again, looks like one descriptor of several threads.
    ::close(fd); // tidy-allow(system-call): no program is made so but tests
#else
    ::syscall(SYS_close, fd);
#endif
}

inline ssize_t read(int fd, void *data, std::size_t bytes) { return again(SYS_read, fd, data, bytes); }

inline ssize_t write(int fd, const void *data, std::size_t bytes)
{
    return again(SYS_write, fd, data, bytes);
}

inline ssize_t send(int socket, const void *data, std::size_t bytes, int flags)
{
    return again(SYS_sendto, socket, data, bytes, flags, nullptr, 0);
}

inline ssize_t recv(int socket, void *data, std::size_t bytes, int flags)
{
    return again(SYS_recvfrom, socket, data, bytes, flags, nullptr, nullptr);
}

inline ssize_t sendmsg(int socket, const msghdr *message, int flags)
{
    return again(SYS_sendmsg, socket, message, flags);
}

inline ssize_t recvmsg(int socket, msghdr *message, int flags)
{
    return again(SYS_recvmsg, socket, message, flags);
}

inline int sendmmsg(int socket, mmsghdr *messages, unsigned count, int flags)
{
    return static_cast<int>(again(SYS_sendmmsg, socket, messages, count, flags));
}

inline int recvmmsg(int socket, mmsghdr *messages, unsigned count, int flags)
{
    return static_cast<int>(again(SYS_recvmmsg, socket, messages, count, flags, nullptr));
}

inline int connect(int socket, const sockaddr *address, socklen_t length)
{
    return static_cast<int>(again(SYS_connect, socket, address, length));
}

/// The other end's address is not asked for.
inline int accept4(int socket, int flags)
{
    return static_cast<int>(again(SYS_accept4, socket, nullptr, nullptr, flags));
}

/// Returns the events that are there now, without waiting.
inline int epoll_now(int epoll, epoll_event *events, int count)
{
    return static_cast<int>(again(SYS_epoll_pwait, epoll, events, count, 0, nullptr, 0));
}

inline pid_t waitpid(pid_t child, int *status, int flags)
{
    return static_cast<pid_t>(again(SYS_wait4, child, status, flags, nullptr));
}

/// Signals do not lengthen it; a negative timeout is for ever.
inline int poll(pollfd *fds, nfds_t count, int timeout_ms)
{
    constexpr uint64_t ns_of_ms = 1000000, ns_of_s = 1000000000;
    const uint64_t until = monotonic_ns() + static_cast<uint64_t>(timeout_ms) * ns_of_ms;
    for (;;) {
        const uint64_t now = monotonic_ns(), ns = until > now ? until - now : 0;
        timespec left{static_cast<time_t>(ns / ns_of_s), static_cast<long>(ns % ns_of_s)};
        const long ready = ::syscall(SYS_ppoll, fds, count, timeout_ms < 0 ? nullptr : &left, nullptr, 0);
        if (ready >= 0 || errno != EINTR)
            return static_cast<int>(ready);
    }
}

/// Sleeps so long, whatever comes.
inline void sleep_ms(int ms)
{
    const uint64_t until = monotonic_ns() + static_cast<uint64_t>(ms) * 1000000;
    while (poll(nullptr, 0, ms) < 0 && monotonic_ns() < until) { // a filter of system calls refuses it
        const timespec moment{0, 1000000};
        ::syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &moment, nullptr);
    }
}

/// Sleeps until a descriptor is ready or `deadline_ns` of monotonic_ns() has come, but half a second at most:
/// so a wake-up that a filter of system calls loses ends no program's progress. What ppoll(2) returns; a
/// signal ends it. A cancellation point.
int sleep_on(pollfd *fds, nfds_t count, uint64_t deadline_ns);

/// True if this process can read its memory there, or read and write it: a byte of each page is tried. True
/// where the system does not tell.
bool can_read(const void *data, std::size_t bytes);
bool can_write(void *data, std::size_t bytes);
/// A quick look at much memory: true if all its pages are in memory, and its first and last byte can be read
/// or, with `write`, written.
bool is_resident(void *data, std::size_t bytes, bool write);

/// Bits that another process does not guess; where the system gives none, bits that none has had before.
uint64_t random_bits();

/// Keeps a thread from being cancelled in functions of other libraries, meanwhile.
class Uncancelled {
public:
    Uncancelled() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    ~Uncancelled() { ::pthread_setcancelstate(before_, nullptr); }
    Uncancelled(const Uncancelled &) = delete;
    Uncancelled &operator=(const Uncancelled &) = delete;

private:
    int before_ = PTHREAD_CANCEL_ENABLE;
};

} // namespace emx::sys
