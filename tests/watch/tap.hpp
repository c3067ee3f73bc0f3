// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Frames of our EtherType as they leave the interfaces of network namespaces.
#pragma once

#include "judge.hpp"

#include "driver/base/fd.hpp"

#include <cstdint>
#include <memory>
#include <string>

struct tpacket2_hdr;

namespace emx::watch {

/// Frames that a tap takes: those that the namespace's hosts send, or also those that come there from
/// elsewhere.
enum class Ways { sent, both };

/// A mapped ring that the kernel fills. It takes no part in how frames get anywhere: nothing is kept in the
/// kernel, and nobody is woken.
class Tap {
public:
    /// On all interfaces, also future ones, of the network namespace of that path, with so many slots or, if
    /// memory is scarce, fewer. Throws std::runtime_error.
    Tap(const std::string &path, Ways ways, uint32_t slots);
    ~Tap();
    Tap(Tap &&other) noexcept;
    Tap(const Tap &) = delete;

    /// A frame waits. If the kernel is just writing one, and has written a later one already, until that is
    /// done.
    bool ready() const;
    /// When the one that waits was sent.
    uint64_t time_ns() const;
    /// Takes it. Of a long frame only kept_bytes are there; the others are arbitrary.
    void take(Bytes &frame);
    /// Frames so far for which the ring had no room.
    uint64_t missed();

private:
    tpacket2_hdr *slot(uint32_t number) const;
    bool filled(uint32_t number) const;
    bool add_ring(uint32_t slots);

    Fd socket_;
    std::byte *memory_ = nullptr;
    uint32_t slots_ = 0, next_ = 0;
    uint64_t missed_ = 0;
};

} // namespace emx::watch
