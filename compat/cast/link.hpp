// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Ways of a member's packets to the others, as a group sees them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace emx::cast {

class Group;

class Link {
public:
    virtual ~Link() = default;
    virtual uint64_t now_ns(); ///< monotonic; the system's clock, unless a link has another
    /// One frame for all members on other hosts that joined; it may be lost. Copies the bytes.
    virtual void to_group(std::span<const std::byte> bytes) = 0;
    /// To one member, in order and reliably; its death is told by Group::lose. Copies the bytes.
    virtual void to_member(Group &group, uint32_t member, std::span<const std::byte> bytes) = 0;
};

} // namespace emx::cast
