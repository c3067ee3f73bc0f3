// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Commands to the kernel module by io_uring.
#pragma once

#include <emx/dev.h>

#include <memory>
#include <span>

namespace emx {

/// A submission queue for the commands of one file. Not for several threads at once.
class CommandRing {
public:
    /// Null where io_uring cannot be used: switched off, forbidden, unknown to the module or to this build.
    static std::unique_ptr<CommandRing> open(int fd);
    ~CommandRing();
    CommandRing(const CommandRing &) = delete;
    CommandRing &operator=(const CommandRing &) = delete;

    /// Executes commands and fills in their results. False: not all of them, and the ring is of no more use.
    bool execute(std::span<emx_dev_command> commands);

private:
    struct Queue;
    CommandRing(std::unique_ptr<Queue> queue, int fd);
    bool execute_some(std::span<emx_dev_command> commands);
    bool collect(std::span<emx_dev_command> commands, unsigned expected);

    std::unique_ptr<Queue> queue_;
    const int fd_;
};

} // namespace emx
