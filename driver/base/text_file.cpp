// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Small files that are read whole. See text_file.hpp.
#include "driver/base/text_file.hpp"

#include "driver/base/fd.hpp"
#include "driver/base/system_calls.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>

namespace emx {

std::istringstream read_text_file(const std::string &path)
{
    constexpr std::size_t most = 16 << 20;
    const Fd fd(sys::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    std::array<char, 4096> part;
    ssize_t got = fd ? 1 : -1;
    while (got > 0 && text.size() <= most) {
        got = sys::read(fd.get(), part.data(), part.size());
        if (got > 0)
            text.append(part.data(), static_cast<std::size_t>(got));
    }
    const int why = got > 0 ? EFBIG : errno;
    std::istringstream stream(text);
    if (got != 0)
        stream.setstate(std::ios::failbit);
    errno = why;
    return stream;
}

} // namespace emx
