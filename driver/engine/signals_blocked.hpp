// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Threads of the library leave the program's signals to the program's own threads.
#pragma once

#include <signal.h>

namespace emx {

/// No signal of the program is handled on the thread that is started meanwhile.
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

} // namespace emx
