// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The peers file: a closed list of boards, one per line, "MAC NAME" (wire specification, 6.2).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace emx {

struct NamedPeer {
    uint64_t mac = 0;
    std::string name;
    int line = 0; ///< of the file
};

/// Six hexadecimal bytes with colons to a unicast address; false when it is none.
bool parse_mac(const std::string &text, uint64_t &mac);

/// False with a sentence naming file and line when it cannot be read or a line is not understood.
bool read_peers_file(const std::string &path, std::vector<NamedPeer> &peers, std::string &error);

} // namespace emx
