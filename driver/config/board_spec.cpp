// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Parsing of board specifications, and the choice of dialect sizes for an interface.
#include "driver/config/board_spec.hpp"

#include "driver/base/packet_socket.hpp"
#include "driver/config/udp_spec.hpp"

#include <net/if.h>

#include <cstdlib>
#include <cstring>
#include <sstream>

namespace emx {

std::string trim(const std::string &text)
{
    const char *blanks = " \t\r\n";
    const auto first = text.find_first_not_of(blanks);
    if (first == std::string::npos)
        return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

namespace {

constexpr uint32_t largest_frame = 65535;

bool parse_mtu(const std::string &text, uint32_t &mtu)
{
    if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos || text.size() > 6)
        return false;
    mtu = static_cast<uint32_t>(std::strtoul(text.c_str(), nullptr, 10));
    fw_sizes sizes{};
    return fw_sizes_n(&sizes, mtu) == 0;
}

bool parse_dialect(const std::string &part, const std::string &text, BoardSpec &spec, std::string &error)
{
    if (text == "W" || text == "N") {
        spec.dialect = text[0];
        return true;
    }
    if (text.rfind("N=", 0) == 0 && parse_mtu(text.substr(2), spec.mtu)) {
        spec.dialect = 'N';
        return true;
    }
    error = "board \"" + part + "\": the dialect is W, N, or N=SIZE with a frame size of 256 to 65535";
    return false;
}

bool parse_one(const std::string &part, BoardSpec &spec, std::string &error)
{
    if (part.rfind(udp_prefix, 0) == 0)
        return parse_udp_board(part, spec, error);
    const auto colon = part.rfind(':');
    spec.interface = trim(part.substr(0, colon));
    if (spec.interface.empty() || spec.interface.size() >= IFNAMSIZ ||
        spec.interface.find_first_of(" \t/") != std::string::npos) {
        error = "board \"" + part + "\": not an interface name; write INTERFACE[:W|:N[=SIZE]][,...]";
        return false;
    }
    return colon == std::string::npos || parse_dialect(part, trim(part.substr(colon + 1)), spec, error);
}

} // namespace

bool parse_board_spec(const std::string &text, std::vector<BoardSpec> &boards, std::string &error)
{
    boards.clear();
    if (trim(text).empty())
        return true;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
        BoardSpec spec;
        if (!parse_one(trim(part), spec, error))
            return false;
        for (const BoardSpec &other : boards)
            if (error = obstacle_between(other, spec); !error.empty())
                return false;
        boards.push_back(spec);
    }
    return true;
}

bool choose_sizes(const BoardSpec &spec, uint32_t interface_mtu, fw_sizes &sizes, std::string &error)
{
    std::memset(&sizes, 0, sizeof(sizes));
    const uint32_t default_mtu =
        interface_mtu + ethernet_header > largest_frame ? largest_frame : interface_mtu;
    if (spec.dialect != 'N')
        fw_sizes_w(&sizes);
    else if (fw_sizes_n(&sizes, spec.mtu ? spec.mtu : default_mtu) != 0)
        sizes.payload_min = UINT32_MAX;
    if (sizes.payload_min <= interface_mtu)
        return true;
    const std::string mtu = std::to_string(interface_mtu);
    if (spec.dialect == 'N')
        error = "interface " + spec.interface + " has MTU " + mtu +
                ", too small for dialect N=" + std::to_string(spec.mtu) + ": configure " + spec.interface +
                ":N=" + mtu + " on every host of this network, or raise the MTU";
    else
        error = "interface " + spec.interface + " has MTU " + mtu + ", but dialect W needs " +
                std::to_string(sizes.payload_min) + ": configure dialect N (EMX_BOARDS=" + spec.interface +
                ":N=" + mtu + ") on every host of this network, or raise the MTU";
    return false;
}

bool spec_matches(const BoardSpec &spec, const std::string &place, const fw_sizes &sizes)
{
    if (describe_place(spec) != place)
        return false;
    if (spec.is_udp() && spec.mtu == 0)
        return sizes.mtu == udp_frame_default;
    if (spec.dialect != 'N')
        return sizes.dialect == FW_DIALECT_W;
    return sizes.dialect == FW_DIALECT_N && (spec.mtu == 0 || spec.mtu == sizes.mtu);
}

std::string describe_board(const std::string &place, const fw_sizes &sizes)
{
    return place + ":" + describe_dialect(sizes);
}

std::string describe_dialect(const fw_sizes &sizes)
{
    return sizes.dialect == FW_DIALECT_W ? "W" : "N=" + std::to_string(sizes.mtu);
}

std::string describe_spoken(uint16_t speaks)
{
    fw_sizes sizes{};
    return fw_sizes_spoken(&sizes, speaks) == 0 ? describe_dialect(sizes) : std::string{};
}

bool parse_spoken(const std::string &text, uint16_t &speaks)
{
    uint32_t mtu = FW_SPEAKS_W;
    if (text != "W" && (text.rfind("N=", 0) != 0 || !parse_mtu(text.substr(2), mtu)))
        return false;
    speaks = static_cast<uint16_t>(mtu);
    return true;
}

} // namespace emx
