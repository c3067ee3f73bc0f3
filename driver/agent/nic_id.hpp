// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The 48-bit ids of UDP boards, which have no network card to give them one: random, and kept in a file for
// each address and port, so that a board is the same one after a restart.
#pragma once

#include "driver/base/udp_address.hpp"

#include <cstdint>
#include <string>

namespace emx {

/// The file of a board of this user: in ethermx of the user's state folder (XDG_STATE_HOME, or .local/state
/// of the home), of root's in /var/lib/ethermx; empty where there is none.
std::string nic_id_file(const UdpAddress &board);

/// The id that the file has, which is made now if need be: locally administered, never 0. Where it cannot be
/// kept, one for the time being, with the reason in `note`. 0 with a sentence in `why` when the file has
/// none.
uint64_t read_nic_id(const std::string &file, std::string &note, std::string &why);

} // namespace emx
