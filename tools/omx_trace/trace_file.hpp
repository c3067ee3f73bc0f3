// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Reading of trace files, also while their endpoints write them. What stands in one is not trusted.
#pragma once

#include "libmx/trace/format.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace emx::trace {

class TraceFile {
public:
    /// Failure (tools/cli.hpp) when it is no trace file.
    explicit TraceFile(const std::string &path);
    ~TraceFile();
    TraceFile(TraceFile &&other) noexcept;
    TraceFile(const TraceFile &) = delete;
    TraceFile &operator=(const TraceFile &) = delete;

    const std::string &path() const { return path_; }
    /// As it was when the file was opened; heads move on.
    const Header &header() const { return header_; }
    /// Entries that came since the last call, oldest first. Those that were overwritten before are counted.
    void read(std::vector<Entry> &entries);
    uint64_t lost() const { return lost_; }
    /// Time of the end of the endpoint; 0 while it is open, or when its process died.
    uint64_t closed_ns() const;

private:
    std::string path_;
    std::byte *base_ = nullptr;
    std::size_t bytes_ = 0;
    Header header_{};
    uint64_t next_ = 0;
    uint64_t lost_ = 0;
};

} // namespace emx::trace
