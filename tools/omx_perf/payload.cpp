// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Buffers and patterns.
#include "payload.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace emx::perf {

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t usual = 16; // what malloc gives
constexpr uint32_t word = sizeof(uint64_t);

/// The finaliser of splitmix64: every bit of the result depends on every bit of the argument.
uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

std::size_t rounded(std::size_t size, std::size_t unit) { return (size + unit - 1) / unit * unit; }

} // namespace

Buffer::Buffer(uint32_t length, uint32_t count, bool aligned)
    : stride_(rounded(std::max<std::size_t>(length, 1), aligned ? page : usual)), length_(length),
      count_(count)
{
    const std::size_t size = rounded(stride_ * count + page, page);
    memory_.reset(static_cast<std::byte *>(std::aligned_alloc(page, size)));
    if (!memory_)
        throw std::bad_alloc();
    std::memset(memory_.get(), 0x5a, size); // pages exist before the first measurement
    start_ = memory_.get() + (aligned ? 0 : usual);
}

void fill(std::byte *data, uint32_t length, uint64_t seed)
{
    for (uint32_t i = 0; i < length; i += word) {
        const uint64_t value = mix(seed << 32 ^ i);
        std::memcpy(data + i, &value, std::min(word, length - i));
    }
}

std::optional<uint32_t> find_damage(const std::byte *data, uint32_t length, uint64_t seed)
{
    for (uint32_t i = 0; i < length; i += word) {
        const uint64_t value = mix(seed << 32 ^ i);
        const uint32_t n = std::min(word, length - i);
        if (std::memcmp(data + i, &value, n) == 0)
            continue;
        std::byte right[word];
        std::memcpy(right, &value, word);
        for (uint32_t k = 0; k < n; k++) {
            if (data[i + k] != right[k])
                return i + k;
        }
    }
    return {};
}

} // namespace emx::perf
