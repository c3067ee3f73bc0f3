// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Message buffers, and contents that can be checked after the journey.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>

namespace emx::perf {

/// Bytes for `count` messages, aligned to pages or, as a program's buffers usually are, not.
class Buffer {
public:
    Buffer(uint32_t length, uint32_t count, bool aligned);
    std::byte *at(uint32_t index) { return start_ + std::size_t{index % count_} * stride_; }
    uint32_t length() const { return length_; }

private:
    struct Free {
        void operator()(std::byte *p) const { std::free(p); }
    };
    std::unique_ptr<std::byte, Free> memory_;
    std::byte *start_;
    std::size_t stride_;
    uint32_t length_;
    uint32_t count_;
};

/// Fills with a pattern that differs in every message (seed) and at every place.
void fill(std::byte *data, uint32_t length, uint64_t seed);
/// Place of the first byte that differs from fill()'s, nothing when all are right.
std::optional<uint32_t> find_damage(const std::byte *data, uint32_t length, uint64_t seed);

} // namespace emx::perf
