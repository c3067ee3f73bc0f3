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
    std::string host; ///< of UDP boards: HOST, HOST:PORT or [ADDRESS]:PORT instead of the MAC
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

/// The same for UDP boards.
inline constexpr const char *peers_host_form =
    "write a line as HOST NAME or HOST:PORT NAME, for example 10.0.0.7 node7 or [fd00::7]:34783 node7";

/// The first word of each line: a MAC address, or for UDP boards a host.
enum class PeerPlaces { boards, hosts };

/// Name and, if there is one, dialect behind the address of a line; false when they are none.
bool parse_peer(std::istream &words, NamedPeer &peer);

/// False with a sentence naming file and line when it cannot be read, a line is not understood, or two
/// contradict each other.
bool read_peers_file(const std::string &path, std::vector<NamedPeer> &peers, std::string &error,
                     PeerPlaces places = PeerPlaces::boards);

} // namespace emx
