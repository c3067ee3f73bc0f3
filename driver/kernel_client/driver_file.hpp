// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The kernel module as seen through its device file: opening, versions, questions.
#pragma once

#include "driver/base/fd.hpp"
#include "driver/device.hpp"

#include <emx/dev.h>

#include <optional>
#include <string>
#include <vector>

extern "C" {
#include "driver/core/fw.h"
}

namespace emx {

/// One open /dev/ethermx. Calls may come from several threads.
class DriverFile {
public:
    /// Opens the device. Empty with error.code 0 when the module is not loaded; with an error when it
    /// is and cannot be used.
    static std::optional<DriverFile> open(DeviceError &error);

    /// True if library and module understand each other; else a sentence that names the remedy.
    bool fits(DeviceError &error) const;
    /// True if the module has a feature of emx_dev_version.
    bool has(uint32_t feature) const;
    /// Any ioctl; false with errno.
    bool ask(unsigned long request, void *argument) const;
    /// One that tells a number; -1 with errno, also when a signal ends it.
    int ask_number(unsigned long request, const void *argument) const;
    /// The boards of the caller's network namespace, by number. Works across versions.
    std::vector<emx_dev_board> boards() const;
    /// An entry of a board's peer table; its board, `by` and what that names are to be filled in.
    std::optional<emx_dev_peer> peer(emx_dev_peer request) const;
    /// All entries of a board's peer table.
    std::vector<emx_dev_peer> peers(uint32_t board) const;

    int fd() const { return fd_.get(); }

private:
    explicit DriverFile(Fd fd) : fd_(std::move(fd)) {}
    std::vector<emx_dev_peer> peers_singly(uint32_t board) const;
    Fd fd_;
};

/// The text of a fixed-size field.
std::string driver_text(const char *chars, std::size_t size);

/// Sizes of a board's dialect.
fw_sizes sizes_of(const emx_dev_board &board);

/// True if the kernel module has this interface of the caller's network namespace; then the engine must
/// leave it alone, as `text` explains.
bool module_has(const std::string &interface, std::string &text);

} // namespace emx
