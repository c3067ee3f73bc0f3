// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The writer of a trace file.
#pragma once

#include "driver/device.hpp"
#include "libmx/trace/format.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace emx::trace {

class Recorder {
public:
    /// Makes PREFIX.HOST.PID.BOARD.ENDPOINT, or that with .2, .3 and so on for later endpoints of that
    /// number, with room for so many entries, rounded up to a power of two. Null with error filled when it
    /// cannot.
    static std::unique_ptr<Recorder> make(const std::string &prefix, uint32_t entries, const BoardInfo &board,
                                          uint32_t endpoint, uint32_t session, Device &device,
                                          DeviceError &error);
    ~Recorder();
    Recorder(const Recorder &) = delete;
    Recorder &operator=(const Recorder &) = delete;

    /// Appends; serial is filled in. One writer.
    void put(const Entry &entry);
    void close(uint64_t now);

private:
    Recorder(std::byte *base, std::size_t bytes) : base_(base), bytes_(bytes) {}
    Header &header() { return *reinterpret_cast<Header *>(base_); }

    std::byte *base_;
    std::size_t bytes_;
    uint64_t head_ = 0;
    uint64_t mask_ = 0;
};

} // namespace emx::trace
