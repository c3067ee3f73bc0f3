// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The counters of one endpoint, and the peers that it keeps: memory that its process writes and the board
// agent reads.
#pragma once

#include "driver/base/fd.hpp"

#include <emx/abi.h>

#include <cstddef>
#include <memory>

namespace emx {

/// A small file in memory. Its process makes it and gives it to the agent with the claim; nobody else has it,
/// so that no user writes another's counters, nor any but its own into the agent's memory.
class EndpointPage {
public:
    /// Process: zeroed counters, no peer kept. Null with errno set.
    static std::unique_ptr<EndpointPage> make();
    /// Agent: to read, and never to trust. Null unless the file is one in memory that cannot become shorter
    /// than what is read of it.
    static std::unique_ptr<EndpointPage> map(const Fd &file);

    ~EndpointPage();
    EndpointPage(const EndpointPage &) = delete;
    EndpointPage &operator=(const EndpointPage &) = delete;

    /// The file, as long as the page lives; -1 at the agent, which keeps none.
    int fd() const { return fd_.get(); }
    /// Counters of the process that made the page, which alone writes them.
    emx_counters &counters() { return *static_cast<emx_counters *>(base_); }
    /// One of them, from any process.
    uint64_t read(std::size_t counter) const;

    /// The endpoint keeps the index of that peer, or no longer. Of the process that made it. What it reads of
    /// the peer from now on was written after the agent could know.
    void keep(uint32_t peer);
    void release(uint32_t peer);
    /// True if it does, from any process.
    bool keeps(uint32_t peer) const;

private:
    EndpointPage(Fd fd, void *base) : fd_(std::move(fd)), base_(base) {}

    uint32_t &word_of(uint32_t peer) const;

    Fd fd_;
    void *base_;
};

} // namespace emx
