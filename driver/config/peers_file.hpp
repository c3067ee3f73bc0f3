// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The peers file: a closed list of boards, one per line, "MAC NAME" (wire specification, 6.2), and behind it,
// for one that speaks another dialect than this host's boards, "W" or "N=SIZE".
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace emx {

struct NamedPeer {
    uint64_t mac = 0;
    std::string name;
    int line = 0; ///< of the file
    uint16_t speaks = 0; ///< its dialect, as in struct fw_peer; 0: the board's
};

/// Six hexadecimal bytes with colons to a unicast address; false when it is none.
bool parse_mac(const std::string &text, uint64_t &mac);

/// Characters of the names of boards that this host tells: printable ASCII without blanks.
constexpr bool in_board_name(char c) { return c > ' ' && c < 127; }
/// 1 to 79 such characters.
bool is_board_name(const std::string &name);

/// The form of a line of the file, with an example.
inline constexpr const char *peers_line_form = "write a line as MAC NAME, for example 02:00:00:00:00:0a "
                                               "node1:0, and if that board speaks another dialect "
                                               "than this host, W or N=SIZE behind it";

/// Name and, if there is one, dialect behind the address of a line; false when they are none.
bool parse_peer(std::istream &words, NamedPeer &peer);

/// False with a sentence naming file and line when it cannot be read, a line is not understood, or two
/// contradict each other.
bool read_peers_file(const std::string &path, std::vector<NamedPeer> &peers, std::string &error);

} // namespace emx
