// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The platform of the core in user space: raw sockets in the process that opens an endpoint, beside the board
// agent (omxd), which it starts when none runs.
#pragma once

#include "driver/device.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace emx {

/// By what large messages travel between hosts that agree to the extension.
enum class BulkWay : uint8_t {
    frames, ///< raw frames
    datagrams, ///< UDP where it serves, raw frames else
    tcp, ///< TCP where it serves, raw frames else
    best, ///< TCP where it serves, else UDP where that serves and is faster
};

inline bool takes_tcp(BulkWay way) { return way == BulkWay::tcp || way == BulkWay::best; }

/// The way that EMX_BULK names: raw, udp, tcp, else the best.
BulkWay bulk_way(const std::string &name);

struct EngineConfig {
    /// `iface[:W|:N[=MTU]][,iface2...]`, normally the value of EMX_BOARDS; empty: what the running agent
    /// serves, or what its configuration file names.
    std::string boards;
    /// Path of omxd, normally the value of EMX_OMXD; empty: find_agent_program() looks for it.
    std::string agent_program;
    std::string config; ///< configuration file for an agent that has to be started; empty: the default
    std::string peers; ///< peers file for an agent that has to be started; empty: the defaults
    std::string group; ///< whose members an agent that has to be started serves; empty: the default
    uint32_t endpoint_max = 32; ///< endpoint numbers per board, for an agent that has to be started
    BulkWay bulk_way = BulkWay::frames;
};

/// Connects to the board agent of this network namespace, or starts it. Null with error filled:
/// MX_NO_DEV (no board configured, unknown interface, MTU too small), MX_NO_PERM (no CAP_NET_RAW, not a
/// member of the group), MX_NO_DRIVER (the agent cannot be started, or is of another build).
/// The device may be used by several threads; it must outlive no port: a port stays usable without it.
std::unique_ptr<Device> make_engine(const EngineConfig &config, DeviceError &error);

} // namespace emx
