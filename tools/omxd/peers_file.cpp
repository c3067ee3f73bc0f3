// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Reading of the peers file.
#include "tools/omxd/peers_file.hpp"

#include <emx/wire.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

namespace emx {

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

bool read_peers_file(const std::string &path, std::vector<NamedPeer> &peers, std::string &error)
{
    errno = 0;
    std::ifstream file(path);
    if (!file) {
        error = "peers file " + path + ": " + std::strerror(errno ? errno : EIO);
        return false;
    }
    int number = 0;
    for (std::string line; std::getline(file, line);) {
        number++;
        std::istringstream words(line.substr(0, line.find('#')));
        std::string address, rest;
        NamedPeer peer;
        if (!(words >> address))
            continue;
        if (!(words >> peer.name) || (words >> rest) || !parse_mac(address, peer.mac) ||
            peer.name.size() >= EMX_NAME_MAX) {
            error = "peers file " + path + ", line " + std::to_string(number) +
                    ": write a line as MAC NAME, for example 02:00:00:00:00:0a node1:0";
            return false;
        }
        peer.line = number;
        peers.push_back(std::move(peer));
    }
    return true;
}

} // namespace emx
