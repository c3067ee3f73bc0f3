// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Sentences for system calls that fail. See reason.hpp.
#include "driver/base/reason.hpp"

#include <cerrno>
#include <cstring>

namespace emx {
namespace {

const char *remedy(int error)
{
    switch (error) {
    case EMFILE: return "raise the limit of descriptors of the process (ulimit -n)";
    case ENFILE: return "raise the limit of descriptors of the system (sysctl fs.file-max)";
    case ENOMEM: return "raise the limit of memory (ulimit -v, memory.max of the cgroup)";
    case EAGAIN: return "raise the limits of processes and of locked memory (ulimit -u, ulimit -l)";
    case EFBIG: return "raise the limit of file sizes (ulimit -f)";
    case EPERM:
    case ENOSYS: return "does a filter of system calls (seccomp) refuse it?";
    default: return nullptr;
    }
}

} // namespace

std::string system_reason(int error)
{
    const char *const more = remedy(error);
    return std::string(std::strerror(error)) + (more ? std::string(": ") + more : std::string{});
}

bool is_own_shortage(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == EPERM || error == ENOSYS;
}

} // namespace emx
