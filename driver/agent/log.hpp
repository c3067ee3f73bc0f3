// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The agent's log: a line per event in the life of clients and boards, never one per frame, and each a line
// whatever names it has.
#pragma once

#include "driver/base/printable.hpp"

#include <cstdio>
#include <ctime>
#include <string>

namespace emx {

class Log {
public:
    explicit Log(std::FILE *file = nullptr) : file_(file) {}

    void to(std::FILE *file) { file_ = file; }
    void line(const std::string &text)
    {
        if (!file_)
            return;
        const std::time_t now = std::time(nullptr);
        std::tm parts{};
        ::localtime_r(&now, &parts);
        char stamp[32];
        std::strftime(stamp, sizeof(stamp), "%F %T", &parts);
        std::fprintf(file_, "%s omxd: %s\n", stamp, printable(text).c_str());
        std::fflush(file_);
    }

private:
    std::FILE *file_;
};

} // namespace emx
