// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Threads of the library, which leave the program's signals to the program's own threads.
#pragma once

#include "driver/base/system_calls.hpp"

#include <signal.h>

#include <exception>
#include <thread>
#include <utility>

namespace emx {

/// While it lives, the calling thread, and threads that it starts, handle no signal.
class SignalsBlocked {
public:
    SignalsBlocked()
    {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked &) = delete;
    SignalsBlocked &operator=(const SignalsBlocked &) = delete;

private:
    sigset_t before_;
};

/// Starts a thread on which no signal of the program is handled: the one way to make a thread. Where none can
/// be had (limits, memory), what is returned is not joinable.
template <class Body>
std::thread start_thread(Body &&body)
{
    const SignalsBlocked blocked;
    try {
        return std::thread( // tidy-allow(thread): here
            std::forward<Body>(body));
    } catch (const std::exception &) {
        return {};
    }
}

/// Waits for the end of a thread that start_thread() started, if it did.
inline void join_thread(std::thread &thread)
{
    const sys::Uncancelled here;
    if (thread.joinable())
        thread.join(); // tidy-allow(thread): here
}

/// The text for when start_thread() started none.
inline constexpr const char *no_thread = "no thread can be had: raise the limit of processes (ulimit -u, "
                                         "pids.max of the cgroup) or of memory (ulimit -v)";

} // namespace emx
