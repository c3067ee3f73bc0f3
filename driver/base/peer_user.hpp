// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The user whose process is at the other end of a Unix socket.
//
// Any user can take a name that nobody holds, abstract names above all. The kernel tells who listened: hence
// everyone who connects asks.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace emx {

/// Credentials as this process's user namespace has them.
struct PeerUser {
    uid_t uid = 0;
    pid_t pid = 0; ///< 0: of another pid namespace
};

/// The process at the other end of a connected Unix socket: the one that connected, or that listened last.
/// Nothing with errno set when the kernel does not tell.
std::optional<PeerUser> peer_of(int socket);

/// True if that is the user of this number. No in a user namespace that knows the other only as the overflow
/// user, which stands for all whom the namespace does not have.
bool is_user(const PeerUser &user, uid_t uid);

/// True if that is this process's own user, in the sense of is_user().
bool is_own_user(const PeerUser &user);

/// True if the system shows its process as one that runs, waits for a processor, or is held up by the kernel;
/// not one that sleeps, is stopped, or has ended. No where /proc does not tell.
bool is_at_work(const PeerUser &user);

/// "user 1000 (process 4711)", or what can be said of the overflow user.
std::string describe(const PeerUser &user);

} // namespace emx
