// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Becoming a daemon whose starter learns the outcome.
#pragma once

#include "driver/base/fd.hpp"

#include <string>

namespace emx {

/// Goes on in a child without terminal, folder and standard streams of the caller; call it with one thread.
/// Returns in the child alone, the end of a pipe for tell_outcome(). The parent waits for that and exits:
/// with 0 once the child serves, else with 1 and the reason on standard error. Empty with errno set where no
/// child can be made.
Fd become_daemon();

/// Tells a starter, through a pipe, that this process serves (no reason), or an mx_return_t and the reason
/// why it does not. `outcome` is closed.
void tell_outcome(Fd outcome, int code = 0, const std::string &reason = {});

/// Tells a manager of services, as sd_notify(3) does, that this process serves; nothing without
/// NOTIFY_SOCKET.
void tell_manager();

} // namespace emx
