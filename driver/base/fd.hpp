// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Ownership of one file descriptor.
#pragma once

#include "driver/base/system_calls.hpp"

#include <unistd.h>

#include <cstdint>
#include <utility>

namespace emx {

/// A descriptor of the same file above 2, made of `fd`, which is given up: where a program runs without its
/// standard streams, what it prints would reach a file of ours. -1 stays -1; where none can be had, -1 with
/// errno set.
int above_standard_streams(int fd);

/// Makes a file so long; `allocate`: with memory or disk space for all of it. False with errno set. What
/// RLIMIT_FSIZE forbids is EFBIG, and not a signal as of the system calls.
bool set_file_size(int fd, uint64_t bytes, bool allocate);

/// Closes its descriptor when it dies; movable, not copyable. -1 means empty. The descriptor that it holds
/// may have another number than the one it was made of: see above_standard_streams().
class Fd {
public:
    Fd() = default;
    explicit Fd(int fd) : fd_(above_standard_streams(fd)) {}
    Fd(Fd &&other) noexcept : fd_(other.release()) {}
    Fd &operator=(Fd &&other) noexcept
    {
        if (this != &other)
            reset(other.release());
        return *this;
    }
    ~Fd() { reset(); }

    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    int release() { return std::exchange(fd_, -1); }
    void reset(int fd = -1)
    {
        if (fd_ >= 0)
            sys::close(fd_);
        fd_ = above_standard_streams(fd);
    }

private:
    int fd_ = -1;
};

} // namespace emx
