// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Two hosts for tests in one process: two network namespaces joined by a veth pair.
//
// Sockets and agents belong to the namespace in which they were made, so one thread can drive the
// endpoints of both hosts. Needs root, or a user namespace of its own.
#pragma once

#include "driver/base/fd.hpp"
#include "tests/watch/watcher.hpp"

#include <signal.h>

#include <cstdint>
#include <memory>
#include <string>

namespace emx::test {

class TwoHosts {
public:
    /// Interface "eth0" on both, up, with that MTU. Throws std::runtime_error when it cannot be made. What
    /// the hosts send is judged from the start, if EMX_WATCH names wirewatch.
    explicit TwoHosts(unsigned mtu = 9000);
    /// Ends the agents of both hosts and goes back to the namespace of before. Where the hosts have sent what
    /// they must not, the program fails in the end.
    ~TwoHosts();
    TwoHosts(const TwoHosts &) = delete;
    TwoHosts &operator=(const TwoHosts &) = delete;

    /// Makes the pair of interfaces, again after one was deleted; MAC addresses are new ones.
    void join() const;
    /// The calling thread is on host 0 or 1 from now on.
    void enter(int host) const;
    /// Runs a shell command on a host; throws when it fails.
    void run(int host, const std::string &command) const;
    /// Stops judging what a host sends: the test sends from there, as others may.
    void foreign(int host) const { watcher_->foreign(static_cast<unsigned>(host)); }
    /// Frames with that source are not judged, wherever they come from.
    void stranger(uint64_t mac) const { watcher_->stranger(mac); }
    /// Tags and sessions are not judged: the test sends without having connected.
    void distrust() const { watcher_->distrust(); }
    /// A path by which other processes find the host's network namespace while this one lives.
    std::string path(int host) const;
    /// Process id of the host's agent, 0 when none runs.
    int agent_pid(int host) const;
    /// Ends the host's agent and waits until it is gone.
    void stop_agent(int host) const { end_agent(host, SIGTERM); }
    /// As a crash would: it leaves nothing behind and says nothing.
    void kill_agent(int host) const { end_agent(host, SIGKILL); }
    /// Starts omxd (EMX_OMXD) with these options as a daemon; returns when it serves. Throws when it does
    /// not.
    void start_agent(int host, const std::string &options) const;

private:
    void end_agent(int host, int signal) const;

    const unsigned mtu_;
    Fd before_;
    Fd hosts_[2];
    std::unique_ptr<watch::Watcher> watcher_;
};

/// Writes an address as it stands in a frame.
inline void put_mac(uint8_t *to, uint64_t mac)
{
    for (int i = 5; i >= 0; i--, mac >>= 8)
        to[i] = static_cast<uint8_t>(mac);
}

} // namespace emx::test
