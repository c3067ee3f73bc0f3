// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Parsing of UDP boards, and their sizes.
#include "driver/config/udp_spec.hpp"

#include "driver/base/udp_address.hpp"

#include <emx/wire.h>

#include <net/if.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

namespace emx {
namespace {

constexpr uint32_t port_last = 65535 - EMX_ENDPOINTS_MAX;

bool parse_number(const std::string &text, uint32_t least, uint32_t most, uint32_t &number)
{
    const char *const end = text.data() + text.size();
    const auto [rest, failed] = std::from_chars(text.data(), end, number);
    return failed == std::errc{} && rest == end && number >= least && number <= most;
}

bool is_number(const std::string &text)
{
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

bool parse_place(const std::string &place, bool bracketed, BoardSpec &spec)
{
    if (const auto address = parse_ip(place, 1)) {
        spec.address = place;
        return address->is_host() && address->is_v4() != bracketed;
    }
    spec.interface = place;
    return !bracketed && !place.empty() && place.size() < IFNAMSIZ &&
           place.find_first_of(" \t/") == std::string::npos;
}

/// Empty, or what is wrong with a part behind the place; spec: as the parts before have it.
std::string parse_more(const std::string &text, BoardSpec &spec)
{
    constexpr uint32_t least = 512, most = 65507;
    if (is_number(text)) {
        if (spec.udp_port != 0)
            return "give its port once";
        if (parse_number(text, 1, port_last, spec.udp_port))
            return {};
        return "a UDP board has " + std::to_string(EMX_ENDPOINTS_MAX + 1) +
               " ports from the one that is given: 1 to " + std::to_string(port_last);
    }
    if (text != "N" && (text.rfind("N=", 0) != 0 || !parse_number(text.substr(2), least, most, spec.mtu)))
        return "the dialect of a UDP board is N, or N=SIZE with a frame size of 512 to 65507";
    return std::exchange(spec.dialect, 'N') == 0 ? std::string{} : "give its dialect once";
}

std::string join(const std::string &host, uint32_t port)
{
    const bool colons = host.find(':') != std::string::npos;
    return udp_prefix + (colons ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

} // namespace

std::string describe_place(const BoardSpec &spec)
{
    if (!spec.is_udp())
        return spec.interface;
    return join(spec.address.empty() ? spec.interface : spec.address, spec.udp_port);
}

bool are_udp(const std::vector<BoardSpec> &boards)
{
    return !boards.empty() &&
           std::all_of(boards.begin(), boards.end(), [](const BoardSpec &spec) { return spec.is_udp(); });
}

bool parse_udp_board(const std::string &part, BoardSpec &spec, std::string &error)
{
    std::string rest = part.substr(std::strlen(udp_prefix));
    const bool bracketed = !rest.empty() && rest[0] == '[';
    const auto end = bracketed ? rest.find(']') : rest.find(':');
    const bool closed = !bracketed || end != std::string::npos;
    const bool bare = !bracketed && end != std::string::npos && // an IPv6 address
                      (parse_ip(rest, 1) || rest.find("::") != std::string::npos);
    const std::string place = trim(rest.substr(bracketed ? 1 : 0, bracketed ? end - 1 : end));
    rest = end == std::string::npos ? std::string{} : rest.substr(bracketed ? end + 1 : end);
    if (!closed || bare || !parse_place(place, bracketed, spec) || (!rest.empty() && rest[0] != ':')) {
        error = "board \"" + part +
                "\": write udp:INTERFACE, udp:ADDRESS or udp:[IPv6 ADDRESS], and perhaps :PORT and :N=SIZE "
                "behind it";
        return false;
    }
    while (!rest.empty()) {
        const auto next = rest.find(':', 1);
        if (const std::string why = parse_more(trim(rest.substr(1, next - 1)), spec); !why.empty()) {
            error = "board \"" + part + "\": " + why;
            return false;
        }
        rest = next == std::string::npos ? std::string{} : rest.substr(next);
    }
    spec.dialect = 'N';
    if (spec.udp_port == 0)
        spec.udp_port = udp_port_default;
    return true;
}

std::string obstacle_between(const BoardSpec &a, const BoardSpec &b)
{
    if (a.is_udp() != b.is_udp())
        return "boards " + describe_place(a) + " and " + describe_place(b) +
               ": the boards of a host are UDP boards, or all have raw frames";
    if (!a.is_udp())
        return a.interface == b.interface ? "board " + a.interface + " is named twice" : std::string{};
    const bool apart = !a.address.empty() && !b.address.empty() && a.address != b.address;
    const uint32_t low = std::min(a.udp_port, b.udp_port), high = std::max(a.udp_port, b.udp_port);
    if (apart || high - low > EMX_ENDPOINTS_MAX)
        return {};
    BoardSpec remedy = b;
    remedy.udp_port = low + EMX_ENDPOINTS_MAX + 1;
    return "boards " + describe_place(a) + " and " + describe_place(b) +
           " have UDP ports in common: give one of them others (" + describe_place(remedy) + ")";
}

bool choose_udp_sizes(const BoardSpec &spec, uint32_t interface_mtu, bool v4, fw_sizes &sizes,
                      uint32_t &x_frame, std::string &error)
{
    constexpr uint32_t longest = 65507;
    const uint32_t frame = spec.mtu ? spec.mtu : udp_frame_default;
    const uint32_t less = udp_overhead(v4);
    const uint32_t room = interface_mtu > less ? std::min(interface_mtu - less, longest) : 0;
    std::memset(&sizes, 0, sizeof(sizes));
    if (frame > room || fw_sizes_n(&sizes, frame) != 0) {
        error = "board " + describe_place(spec) + ": an MTU of " + std::to_string(interface_mtu) +
                " has no room for frames of " + std::to_string(frame) + " bytes in UDP: raise the MTU to " +
                std::to_string(frame + less) + " or more, or configure " + describe_place(spec) +
                ":N=SIZE with a size of at most " + std::to_string(room) + " on every host";
        return false;
    }
    x_frame = spec.mtu ? spec.mtu : room;
    return true;
}

} // namespace emx
