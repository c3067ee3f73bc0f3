// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Descriptors beyond the standard streams. See fd.hpp.
#include "driver/base/fd.hpp"

#include "driver/base/system_calls.hpp"
#include "driver/base/thread.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/resource.h>

namespace emx {

int above_standard_streams(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO) [[likely]]
        return fd;
    const int above = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int why = errno;
    sys::close(fd);
    errno = why;
    return above;
}

bool set_file_size(int fd, uint64_t bytes, bool allocate)
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur) {
        errno = EFBIG;
        return false;
    }
    if (!allocate)
        // tidy-allow(file-size): after the look at the limit
        return ::ftruncate(fd, static_cast<off_t>(bytes)) == 0;
    const sys::Uncancelled here;
    const SignalsBlocked blocked; // each signal would have it begin anew
    // tidy-allow(file-size): after the look at the limit
    const int failed = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes));
    if (failed)
        errno = failed;
    return !failed;
}

} // namespace emx
