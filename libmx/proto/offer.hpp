// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Offers of the EtherMX extension in CONNECT (docs/protocol.md, "The EtherMX extension").
#pragma once

#include "driver/device.hpp"
#include "libmx/conf/conf.hpp"

#include <cstdint>

namespace emx {

/// Our offer for a board and an endpoint's port, 0 when the extension is turned off. The sender of fragments
/// chooses those that pay.
uint64_t make_offer(const Conf &conf, const BoardInfo &board, const Port &port);
/// The newest version of the extension that both offers speak; 0: none, as when one is no offer.
uint8_t agreed_version(uint64_t ours, uint64_t theirs);

} // namespace emx
