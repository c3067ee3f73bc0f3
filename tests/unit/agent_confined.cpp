// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The filter of system calls of the board agent: what it needs works, what else there is fails with EPERM.
#include "driver/agent/privileges.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

using emx::Confinement;

namespace {

struct Call {
    const char *name;
    long (*make)(); ///< as the wrapper of a system call: -1 with errno set
};

constexpr const char *file = "/tmp/ethermx-confined";

long raw(long number, long a = 0, long b = 0, long c = 0) { return ::syscall(number, a, b, c); }
long address(const void *at) { return reinterpret_cast<long>(at); }
long mapped(int protection)
{
    return address(::mmap(nullptr, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

/// None of them fails with EPERM by itself, for root or anybody.
const Call barred[] = {
    {"execve", [] { return raw(SYS_execve, address("/none")); }},
    {"execveat", [] { return raw(SYS_execveat, -1, address("none")); }},
    {"clone", [] { return raw(SYS_clone, CLONE_SIGHAND); }}, // without CLONE_VM: invalid
    {"socket of AF_INET", [] { return raw(SYS_socket, AF_INET, SOCK_DGRAM); }},
    {"socket of AF_INET6", [] { return raw(SYS_socket, AF_INET6, SOCK_STREAM); }},
    {"socket of AF_NETLINK", [] { return raw(SYS_socket, AF_NETLINK, SOCK_RAW); }},
    {"listen", [] { return raw(SYS_listen, -1); }},
    {"open for writing", [] { return raw(SYS_openat, AT_FDCWD, address("/dev/null"), O_WRONLY); }},
    {"open with O_CREAT", [] { return raw(SYS_openat, AT_FDCWD, address(file), O_RDWR | O_CREAT); }},
    {"open with O_TRUNC", [] { return raw(SYS_openat, AT_FDCWD, address("/dev/null"), O_RDWR | O_TRUNC); }},
    {"open with O_TMPFILE", [] { return raw(SYS_openat, AT_FDCWD, address("/none"), O_RDWR | O_TMPFILE); }},
    {"openat2", [] { return raw(SYS_openat2, AT_FDCWD, address("/dev/null")); }},
    {"memory for code", [] { return mapped(PROT_READ | PROT_EXEC); }},
    {"memory made code", [] { return raw(SYS_mprotect, 0, 4096, PROT_READ | PROT_EXEC); }},
    {"memfd_create", [] { return raw(SYS_memfd_create, address("x")); }},
    {"unlinkat", [] { return raw(SYS_unlinkat, AT_FDCWD, address("/none")); }},
    {"fchmodat", [] { return raw(SYS_fchmodat, AT_FDCWD, address("/none"), 0600); }},
    {"fchownat", [] { return raw(SYS_fchownat, AT_FDCWD, address("/none")); }},
    {"mount", [] { return raw(SYS_mount, 0, 0, 0); }},
    {"kill", [] { return raw(SYS_kill, ::getpid()); }},
    {"tgkill of another", [] { return raw(SYS_tgkill, ::getppid(), ::getppid()); }},
    {"ptrace", [] { return raw(SYS_ptrace, -1); }},
    {"process_vm_readv", [] { return raw(SYS_process_vm_readv, ::getpid()); }},
    {"pidfd_getfd", [] { return raw(SYS_pidfd_getfd, -1); }},
    {"setuid", [] { return raw(SYS_setuid, ::getuid()); }},
    {"setresgid", [] { return raw(SYS_setresgid, -1, -1, -1); }},
    {"capset", [] { return raw(SYS_capset); }},
    {"prctl", [] { return raw(SYS_prctl, -1); }},
    {"unshare", [] { return raw(SYS_unshare, 0); }},
    {"bpf", [] { return raw(SYS_bpf, -1); }},
    {"perf_event_open", [] { return raw(SYS_perf_event_open, 0); }},
    {"keyctl", [] { return raw(SYS_keyctl, -1); }},
    {"io_uring_setup", [] { return raw(SYS_io_uring_setup, 0); }},
    {"ioctl of a terminal", [] { return raw(SYS_ioctl, -1, TIOCSTI); }},
};

const Call needed[] = {
    {"socket of AF_UNIX", [] { return raw(SYS_socket, AF_UNIX, SOCK_SEQPACKET); }},
    {"open for reading", [] { return raw(SYS_openat, AT_FDCWD, address("/proc/self/comm"), O_RDONLY); }},
    {"open for both", [] { return raw(SYS_openat, AT_FDCWD, address("/dev/null"), O_RDWR); }},
    {"memory", [] { return mapped(PROT_READ | PROT_WRITE); }},
};

/// Counts those of these calls that EPERM bars, or does not, in a confined process; each is named.
template <std::size_t N>
int count(const Call (&calls)[N], bool with_eperm, Confinement confinement)
{
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        if (!emx::confine(confinement, false))
            ::_exit(255);
        int number = 0;
        for (const Call &call : calls) {
            errno = 0;
            if ((call.make() == -1 && errno == EPERM) != with_eperm)
                continue;
            number++;
            std::fprintf(stderr, "%s: %s\n", call.name, std::strerror(errno));
        }
        ::_exit(number);
    }
    int status = 0;
    REQUIRE(child > 0);
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
}

} // namespace

TEST_CASE("agent: confined, it makes only the system calls of serving")
{
    CHECK(count(barred, false, Confinement::service) == 0);
    CHECK(count(needed, true, Confinement::service) == 0);
}

TEST_CASE("agent: root's, with a path, changes names of files as well, and executes nothing either")
{
    // These calls take its path away: open in three ways, unlinkat, fchmodat, fchownat.
    CHECK(count(barred, false, Confinement::path) == 7);
    ::unlink(file);
}
