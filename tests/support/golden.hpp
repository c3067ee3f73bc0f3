// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Golden frames: compat/wire/NAME.hex, lines "offset  bytes" as in the wire specification.
#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace emx::test {

using Bytes = std::vector<uint8_t>;

/// The bytes of folder/name.hex. Throws when the file is missing or empty.
inline Bytes golden(const std::string &folder, const std::string &name)
{
    std::ifstream in(folder + "/" + name + ".hex");
    Bytes bytes;
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string word;
        if (line.empty() || line[0] == '#' || !(words >> word))
            continue;
        while (words >> word)
            bytes.push_back(static_cast<uint8_t>(std::stoul(word, nullptr, 16)));
    }
    if (bytes.empty())
        throw std::runtime_error("no golden frame " + folder + "/" + name + ".hex");
    return bytes;
}

} // namespace emx::test
