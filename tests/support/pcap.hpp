// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Reader of classic pcap files (little-endian, microseconds, Ethernet), as in tests/interop/pcap.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace emx::test {

struct PcapFrame {
    uint64_t time_us = 0;
    std::vector<uint8_t> bytes;
};

/// True if frames may be there in part; they get their length, and zeros behind what is there.
enum class Cut { refused, allowed };

/// All frames of a file. Throws on a file that is missing, cut, or of another format.
inline std::vector<PcapFrame> read_pcap(const std::string &path, Cut cut = Cut::refused)
{
    std::ifstream in(path, std::ios::binary);
    std::vector<char> all((std::istreambuf_iterator<char>(in)), {});
    auto word = [&](std::size_t at) {
        uint32_t v = 0;
        if (at + 4 > all.size())
            throw std::runtime_error(path + ": cut off");
        std::memcpy(&v, &all[at], 4);
        return v;
    };
    if (word(0) != 0xa1b2c3d4 || word(20) != 1)
        throw std::runtime_error(path + ": not a little-endian Ethernet capture");
    std::vector<PcapFrame> frames;
    for (std::size_t at = 24; at < all.size();) {
        uint32_t kept = word(at + 8);
        if ((kept != word(at + 12) && cut == Cut::refused) || at + 16 + kept > all.size())
            throw std::runtime_error(path + ": a frame is cut off");
        auto begin = all.begin() + static_cast<std::ptrdiff_t>(at + 16);
        frames.push_back({uint64_t{word(at)} * 1000000 + word(at + 4), {begin, begin + kept}});
        frames.back().bytes.resize(word(at + 12));
        at += 16 + kept;
    }
    return frames;
}

} // namespace emx::test
