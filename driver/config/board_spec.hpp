// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Lists of boards as users write them: "eth1:W,eth2:N=1500", "udp:eth1", from EMX_BOARDS, --boards or
// ethermx.conf.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

extern "C" {
#include "driver/core/fw.h"
}

namespace emx {

/// One board as configured, before the interface is looked at.
struct BoardSpec {
    std::string interface; ///< empty: that which has the address
    char dialect = 0; ///< 'W', 'N', or 0: W, when the interface carries its frames
    uint32_t mtu = 0; ///< N: configured frame size; 0: that of the interface
    uint32_t udp_port = 0; ///< of a UDP board (docs/protocol.md, UDP boards); 0: a board of raw frames
    std::string address; ///< UDP board: the one IP address that it has; empty: all of the host

    bool is_udp() const { return udp_port != 0; }
};

/// "eth1", or of a UDP board "udp:eth1:34783", "udp:[fd00::2]:34783".
std::string describe_place(const BoardSpec &spec);

/// True if there are boards, and all are UDP boards, which need no rights.
bool are_udp(const std::vector<BoardSpec> &boards);

/// The text without blanks and line ends around it.
std::string trim(const std::string &text);

/// Parses `iface[:W|:N[=MTU]][,iface2...]` and `udp:iface-or-address[:port][:N=MTU]`; all are UDP or none is.
/// False with a sentence in error when it is nonsense; blanks around the parts are allowed, an empty text
/// gives no boards.
bool parse_board_spec(const std::string &text, std::vector<BoardSpec> &boards, std::string &error);

/// Sizes of the dialect of a board on an interface of that MTU (bytes of payload). False with a
/// sentence that names the remedy when the interface cannot carry its frames (wire specification, 5.2).
bool choose_sizes(const BoardSpec &spec, uint32_t interface_mtu, fw_sizes &sizes, std::string &error);

/// True if two boards speak alike: all sizes follow from the dialect and its configured size.
inline bool same_sizes(const fw_sizes &a, const fw_sizes &b)
{
    return a.dialect == b.dialect && a.mtu == b.mtu;
}

/// True if a running board serves what spec asks for. place: as describe_place has it.
bool spec_matches(const BoardSpec &spec, const std::string &place, const fw_sizes &sizes);

/// "eth1:N=1500", the inverse of parse_board_spec for a running board.
std::string describe_board(const std::string &place, const fw_sizes &sizes);

/// "W" or "N=1500".
std::string describe_dialect(const fw_sizes &sizes);
/// The dialect of a peer of its own, as in struct fw_peer: "W", "N=SIZE"; empty for none.
std::string describe_spoken(uint16_t speaks);
/// The inverse; false when it is neither "W" nor "N=SIZE" with a size that exists.
bool parse_spoken(const std::string &text, uint16_t &speaks);

} // namespace emx
