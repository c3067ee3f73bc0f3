// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Reading of the peers file.
#include "driver/config/peers_file.hpp"

#include "driver/base/text_file.hpp"
#include "driver/base/udp_address.hpp"
#include "driver/config/board_spec.hpp"

#include <emx/wire.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <unordered_map>

namespace emx {
namespace {

/// The same for a line of a UDP board's list.
std::string take_host(const std::string &line, std::vector<NamedPeer> &peers, int number)
{
    std::istringstream words(line.substr(0, line.find('#')));
    std::string host, rest;
    NamedPeer peer;
    uint32_t port = 0;
    if (!(words >> peer.host))
        return {};
    if (!(words >> peer.name) || !is_board_name(peer.name) || (words >> rest) ||
        !split_host(peer.host, host, port))
        return peers_host_form;
    peer.line = number;
    peers.push_back(std::move(peer));
    return {};
}

/// Empty, or what is wrong with a line.
std::string take(const std::string &line, std::vector<NamedPeer> &peers,
                 std::unordered_map<uint64_t, NamedPeer> &pinned, int number)
{
    std::istringstream words(line.substr(0, line.find('#')));
    std::string address;
    NamedPeer peer;
    if (!(words >> address))
        return {};
    if (!parse_mac(address, peer.mac))
        return peers_line_form;
    if (!parse_peer(words, peer))
        return peer.name.empty() || is_board_name(peer.name)
                   ? peers_line_form
                   : "a board name has 1 to 79 printable characters without blanks";
    peer.line = number;
    if (peer.speaks != FW_SPEAKS_BOARD) {
        const auto [before, fresh] = pinned.emplace(peer.mac, peer);
        if (!fresh && before->second.speaks != peer.speaks)
            return address + " speaks " + describe_spoken(peer.speaks) + " here and " +
                   describe_spoken(before->second.speaks) + " in line " +
                   std::to_string(before->second.line) +
                   ": a board speaks one dialect; remove one of the lines";
    }
    peers.push_back(std::move(peer));
    return {};
}

} // namespace

bool parse_mac(const std::string &text, uint64_t &mac)
{
    unsigned b[6];
    int used = 0;
    if (std::sscanf(text.c_str(), "%2x:%2x:%2x:%2x:%2x:%2x%n", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5],
                    &used) != 6 ||
        static_cast<std::size_t>(used) != text.size())
        return false;
    mac = 0;
    for (unsigned byte : b)
        mac = mac << 8 | byte;
    return mac != 0 && (b[0] & 1) == 0;
}

bool is_board_name(const std::string &name)
{
    return !name.empty() && name.size() < EMX_NAME_MAX &&
           std::all_of(name.begin(), name.end(), in_board_name);
}

bool parse_peer(std::istream &words, NamedPeer &peer)
{
    std::string dialect, rest;
    if (!(words >> peer.name) || !is_board_name(peer.name))
        return false;
    peer.speaks = FW_SPEAKS_BOARD;
    return !(words >> dialect) || (parse_spoken(dialect, peer.speaks) && !(words >> rest));
}

bool read_peers_file(const std::string &path, std::vector<NamedPeer> &peers, std::string &error,
                     PeerPlaces places)
{
    errno = 0;
    std::istringstream file = read_text_file(path);
    if (!file) {
        error = "peers file " + path + ": " + std::strerror(errno ? errno : EIO);
        return false;
    }
    std::unordered_map<uint64_t, NamedPeer> pinned;
    int number = 0;
    for (std::string line; std::getline(file, line);) {
        number++;
        const std::string why =
            places == PeerPlaces::hosts ? take_host(line, peers, number) : take(line, peers, pinned, number);
        if (why.empty())
            continue;
        error = "peers file " + path + ", line " + std::to_string(number) + ": " + why;
        return false;
    }
    return true;
}

} // namespace emx
