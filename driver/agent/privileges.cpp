// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Users, capabilities and the filter of system calls of the agent.
#include "driver/agent/privileges.hpp"

#include "driver/base/text_file.hpp"

#include <emx/dev.h>

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/sockios.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef EMX_HAVE_SECCOMP
#include <seccomp.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>

namespace emx {
namespace {

using Capabilities = uint64_t;

constexpr Capabilities one(unsigned capability) { return Capabilities{1} << capability; }

constexpr Capabilities needed_to_change =
    one(CAP_SETUID) | one(CAP_SETGID) | one(CAP_CHOWN); // the last for the board file

struct CapabilityRequest {
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
};

Capabilities effective()
{
    CapabilityRequest request;
    if (::syscall(SYS_capget, &request.header, request.data) != 0)
        return 0;
    return Capabilities{request.data[1].effective} << 32 | request.data[0].effective;
}

bool keep(Capabilities kept)
{
    CapabilityRequest request;
    for (unsigned word = 0; word < _LINUX_CAPABILITY_U32S_3; word++)
        request.data[word].effective = request.data[word].permitted =
            static_cast<uint32_t>(kept >> (32 * word));
    return ::syscall(SYS_capset, &request.header, request.data) == 0;
}

/// True if a map of this user namespace, of users or of groups, has that number.
bool maps(const char *file, uint64_t id)
{
    std::istringstream map = read_text_file(file);
    for (uint64_t inside = 0, outside = 0, count = 0; map >> inside >> outside >> count;)
        if (id >= inside && id - inside < count)
            return true;
    return false;
}

/// No descendant regains them; where CAP_SETPCAP is missing, no_new_privs alone says so.
void empty_bounding_set(Capabilities kept)
{
    for (unsigned capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        if (!(kept & one(capability)) && ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0)
            return;
}

} // namespace

std::optional<ServiceUser> find_service_user(const std::string &name)
{
    const passwd *found = ::getpwnam(name.c_str());
    if (!found)
        return std::nullopt;
    return ServiceUser{name, found->pw_uid, found->pw_gid};
}

std::string obstacle_to(const ServiceUser &user)
{
    if (::geteuid() != 0)
        return "only root can become another user";
    if (!maps("/proc/self/uid_map", user.uid) || !maps("/proc/self/gid_map", user.gid))
        return "this user namespace does not have that user";
    if ((effective() & needed_to_change) != needed_to_change)
        return "that takes CAP_SETUID, CAP_SETGID and CAP_CHOWN";
    return {};
}

bool become(const ServiceUser &user, bool administers)
{
    const Capabilities wanted = one(CAP_NET_RAW) | (administers ? one(CAP_NET_ADMIN) : 0);
    const Capabilities kept = effective() & wanted;
    empty_bounding_set(kept);
    return ::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0 && ::setgroups(0, nullptr) == 0 &&
           ::setresgid(user.gid, user.gid, user.gid) == 0 && ::setresuid(user.uid, user.uid, user.uid) == 0 &&
           keep(kept) && ::prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

std::string network_capabilities()
{
    const Capabilities now = effective();
    const bool raw = now & one(CAP_NET_RAW), administers = now & one(CAP_NET_ADMIN);
    return raw && administers ? "CAP_NET_RAW and CAP_NET_ADMIN" : raw ? "CAP_NET_RAW" : "no capability";
}

#ifdef EMX_HAVE_SECCOMP
namespace {

constexpr int calls_of_service[] = {
    // Frames, clients, signals and interfaces.
    SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(recvmsg), SCMP_SYS(recvfrom), SCMP_SYS(sendmsg),
    SCMP_SYS(sendto), SCMP_SYS(accept4), SCMP_SYS(bind), SCMP_SYS(connect), SCMP_SYS(getsockopt),
    SCMP_SYS(setsockopt), SCMP_SYS(getsockname), SCMP_SYS(pidfd_open), SCMP_SYS(getrandom),
    // Files: /proc, /sys, lists of groups, the log, the board file of the agent before.
    SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(close), SCMP_SYS(lseek),
    SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(statx), SCMP_SYS(fstatfs), SCMP_SYS(fcntl),
    // Memory, time, and the end.
    SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(brk), SCMP_SYS(madvise), SCMP_SYS(futex),
    SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(restart_syscall),
    SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday), SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getuid),
    SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid), SCMP_SYS(exit), SCMP_SYS(exit_group)};

constexpr int calls_for_path[] = {SCMP_SYS(mkdir),    SCMP_SYS(mkdirat),  SCMP_SYS(flock), SCMP_SYS(fchmod),
                                  SCMP_SYS(unlink),   SCMP_SYS(unlinkat), SCMP_SYS(chmod), SCMP_SYS(chown),
                                  SCMP_SYS(fchmodat), SCMP_SYS(fchownat), SCMP_SYS(openat)};

constexpr unsigned long ioctls[] = {SIOCGIFINDEX, SIOCGIFHWADDR, SIOCGIFMTU,      SIOCGIFFLAGS,
                                    SIOCGIFNAME,  SIOCETHTOOL,   EMX_IOC_VERSION, EMX_IOC_BOARD};

class Filter {
public:
    Filter() : context_(::seccomp_init(SCMP_ACT_ERRNO(EPERM)), ::seccomp_release) {}

    void allow(int call) { note(::seccomp_rule_add(context_.get(), SCMP_ACT_ALLOW, call, 0)); }
    void allow(int call, scmp_arg_cmp condition)
    {
        note(::seccomp_rule_add_array(context_.get(), SCMP_ACT_ALLOW, call, 1, &condition));
    }
    bool load()
    {
        if (context_ && failure_ == 0)
            note(::seccomp_load(context_.get()));
        errno = context_ ? -failure_ : ENOMEM;
        return context_ && failure_ == 0;
    }

private:
    void note(int result)
    {
        if (result != 0 && failure_ == 0)
            failure_ = result;
    }

    std::unique_ptr<void, void (*)(scmp_filter_ctx)> context_;
    int failure_ = 0;
};

constexpr scmp_arg_cmp equals(unsigned argument, uint64_t value) { return {argument, SCMP_CMP_EQ, value, 0}; }

constexpr scmp_arg_cmp of_bits(unsigned argument, uint64_t bits, uint64_t value)
{
    return {argument, SCMP_CMP_MASKED_EQ, bits, value};
}

} // namespace

bool confine(Confinement confinement, bool udp)
{
    Filter filter;
    for (const int call : calls_of_service)
        filter.allow(call);
    for (const uint64_t family : {AF_UNIX, AF_PACKET}) // AF_UNIX for interfaces, and for who looks groups up
        filter.allow(SCMP_SYS(socket), equals(0, family));
    if (udp) {
        for (const uint64_t family : {AF_INET, AF_INET6})
            filter.allow(SCMP_SYS(socket), equals(0, family));
        for (const int call :
             {SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_create1)})
            filter.allow(call);
        for (const unsigned long request : {SIOCGIFADDR, SIOCGIFNETMASK, SIOCGIFCONF})
            filter.allow(SCMP_SYS(ioctl), equals(1, request));
    }
    for (const unsigned long request : ioctls)
        filter.allow(SCMP_SYS(ioctl), equals(1, request));
    for (const int call : {SCMP_SYS(mmap), SCMP_SYS(mprotect)})
        filter.allow(call, of_bits(2, PROT_EXEC, 0));
    filter.allow(SCMP_SYS(tgkill), equals(0, static_cast<uint64_t>(::getpid()))); // of abort()
    constexpr uint64_t flags = O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY);
    if (confinement == Confinement::path)
        for (const int call : calls_for_path)
            filter.allow(call);
    else
        for (const uint64_t mode :
             {O_RDONLY, O_RDWR}) // the latter for the board file and the kernel module's
            filter.allow(SCMP_SYS(openat), of_bits(2, flags, mode));
    return filter.load();
}
#else
bool confine(Confinement /*confinement*/, bool /*udp*/)
{
    errno = ENOSYS;
    return false;
}
#endif

} // namespace emx
