// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Shared by the fuzzers: a reader of an input that is a program of steps, promises, and a count of frames.
#pragma once

#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace emx::fuzz {

/// Bytes of the input in order; zeros behind its end.
class Input {
public:
    Input(const uint8_t *data, std::size_t size) : at_(data), end_(data + size) {}
    bool empty() const { return at_ == end_; }
    uint32_t take(int bytes)
    {
        uint32_t v = 0;
        for (; bytes > 0; bytes--)
            v = v << 8 | (empty() ? 0u : *at_++);
        return v;
    }
    uint8_t byte() { return static_cast<uint8_t>(take(1)); }
    /// A number below n.
    uint32_t below(uint32_t n) { return take(n > 256 ? 2 : 1) % n; }

private:
    const uint8_t *at_, *end_;
};

/// Checks a promise that holds whatever the input.
inline void must(bool promise)
{
    if (!promise)
        std::abort();
}

/// One more frame is given to what is fuzzed; their number is said at the end, to tests/fuzz/run.
inline void count_frame()
{
    struct Sum {
        uint64_t frames = 0;
        ~Sum() { std::fprintf(stderr, "frames: %" PRIu64 "\n", frames); }
    };
    static Sum sum;
    sum.frames++;
}

} // namespace emx::fuzz
