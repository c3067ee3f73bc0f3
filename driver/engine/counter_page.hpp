// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The counters of one endpoint: a page of memory that its process writes and the board agent reads.
#pragma once

#include "driver/engine/fd.hpp"

#include <emx/abi.h>

#include <cstddef>
#include <memory>

namespace emx {

/// A file of one page in memory. Its process makes it and gives it to the agent with the claim; nobody else
/// has it, so that no user writes another's counters, nor any but its own into the agent's memory.
class CounterPage {
public:
    /// Process: zeroed counters. Null with errno set.
    static std::unique_ptr<CounterPage> make();
    /// Agent: counters to read, and never to trust. Null unless the file is one in memory that cannot become
    /// shorter than its counters.
    static std::unique_ptr<CounterPage> map(const Fd &file);

    ~CounterPage();
    CounterPage(const CounterPage &) = delete;
    CounterPage &operator=(const CounterPage &) = delete;

    /// The file, as long as the page lives; -1 at the agent, which keeps none.
    int fd() const { return fd_.get(); }
    /// Of the process that made it, which alone writes them.
    emx_counters &counters() { return *static_cast<emx_counters *>(base_); }
    /// One of them, from any process.
    uint64_t read(std::size_t counter) const;

private:
    CounterPage(Fd fd, void *base) : fd_(std::move(fd)), base_(base) {}

    Fd fd_;
    void *base_;
};

} // namespace emx
