// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Brings commands to the kernel module: one by an ioctl, several by one ioctl for all, or by io_uring.
#pragma once

#include "driver/kernel_client/command_ring.hpp"
#include "driver/kernel_client/driver_file.hpp"

#include <emx/dev.h>

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace emx {

enum class CommandWay {
    automatic, ///< what costs least: docs/decisions/0008-commands-by-ioctl.md
    ioctl, ///< each by an ioctl of its own
    uring, ///< packets by io_uring where it can be used
};

/// The way that EMX_COMMANDS names.
CommandWay command_way(std::string_view name);

/// The commands of one endpoint. Not for several threads at once.
class CommandPath {
public:
    /// The file must live as long.
    CommandPath(const DriverFile &file, CommandWay way);

    /// Executes a command; false with errno.
    bool give(emx_dev_command &command) const { return file_.ask(EMX_IOC_COMMAND, &command); }
    /// Sends a packet; false when that failed. A fragment of a message may be kept until flush(), or until
    /// the next packet that is none.
    bool send(const emx_msg &msg, std::byte *payload);
    /// Sends what was kept.
    void flush();

private:
    void send_all();
    void send_list();

    const DriverFile &file_;
    const bool keeps_; ///< fragments, to send them together
    std::unique_ptr<CommandRing> ring_;
    std::vector<emx_dev_command> kept_;
};

} // namespace emx
