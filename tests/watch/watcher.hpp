// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// wirewatch beside a test that makes its hosts by itself.
#pragma once

#include "driver/base/fd.hpp"

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace emx::watch {

/// Judges what the hosts of a test send, if EMX_WATCH names the program; else does nothing.
class Watcher {
public:
    /// `namespaces` are paths. Each of `dialects` is W or N=SIZE; none: W, N=1500, N=9000. Returns when it
    /// watches; throws std::runtime_error when it cannot.
    explicit Watcher(const std::vector<std::string> &namespaces,
                     const std::vector<std::string> &dialects = {});
    /// Ends it without asking for its verdict.
    ~Watcher();
    Watcher(const Watcher &) = delete;
    Watcher &operator=(const Watcher &) = delete;

    /// Frames with that source are from now on not judged.
    void stranger(uint64_t mac) const;
    /// Nor what that namespace sends, by its place in the list.
    void foreign(unsigned place) const;
    /// Nor, from now on, tags and sessions.
    void distrust() const;
    /// Ends it once it has judged all that was sent; what it said if that was bad, else nothing.
    std::string finish();

private:
    void command(const std::string &line) const;
    std::string read_all();

    pid_t process_ = 0; ///< 0: there is none
    Fd commands_, output_;
};

/// Makes this process fail when it ends, and says why at once. For places that cannot fail a test themselves.
void fail_in_the_end(const std::string &why);

} // namespace emx::watch
