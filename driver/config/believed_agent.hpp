// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The users whose board agent a process believes (docs/decisions/0012).
#pragma once

#include "driver/base/peer_user.hpp"

namespace emx {

/// True if a board agent of that user is to be believed: root's, our own user's, or that of the user that is
/// named in the configuration file. The overflow user of a user namespace only if it is named. Reads files;
/// not for the paths of messages.
bool may_be_agent(const PeerUser &user);

} // namespace emx
