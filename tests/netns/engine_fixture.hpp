// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Two open ports that know each other, for tests of the engine below the library.
#pragma once

#include "driver/device.hpp"
#include "driver/engine/engine.hpp"
#include "tests/netns/two_hosts.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace emx::test {

/// Bytes that tell their position and a seed.
std::vector<std::byte> pattern(uint32_t bytes, uint32_t seed);

/// A payload with the room that Port::send needs in front of it.
class Payload {
public:
    explicit Payload(const std::vector<std::byte> &data) : memory_(send_headroom + data.size())
    {
        std::copy(data.begin(), data.end(), memory_.begin() + send_headroom);
    }
    std::byte *data() { return memory_.data() + send_headroom; }

private:
    std::vector<std::byte> memory_;
};

/// Value of EMX_OMXD; empty: the engine looks for omxd itself.
std::string agent_program();

/// Opens board 0 of a host; fails the test with the error's text otherwise.
std::unique_ptr<Device> open_device(const TwoHosts &hosts, int host, const std::string &spec);

/// Where that board stands in the port's table, with the patience that is usual.
std::optional<uint32_t> peer_of(Port &port, uint64_t nic_id);

class Pair {
public:
    /// Endpoint 3 on one host and endpoint 5 on the other; each looks the other up.
    Pair(const TwoHosts &hosts, const std::string &spec, int first_host = 0, int second_host = 1);

    Device &device(int side) { return *devices_[side]; }
    Port &port(int side) { return *ports_[side]; }
    void close(int side) { ports_[side].reset(); }
    BoardInfo info(int side) { return devices_[side]->boards().at(0); }
    /// Index of the other side in this side's table.
    uint32_t peer(int side) const { return peers_[side]; }

    /// A packet from this side to the other, with numbers of its own.
    emx_msg message(int side, uint8_t type, uint32_t bytes);
    /// Polls both sides until this one has an event, which must be of that type.
    const emx_msg *expect(int side, uint8_t type);
    /// No event comes to this side.
    bool quiet(int side);

    /// Side 1 pulls a message of side 0 into a list of pieces.
    void begin(const std::vector<std::byte> &source, std::vector<std::byte> &target, uint8_t window,
               uint64_t cookie, unsigned pieces);
    void finish();
    std::string describe(int side);
    void transfer(const std::vector<std::byte> &source, std::vector<std::byte> &target, unsigned pieces);

    bool x_pulls = false; ///< side 0 agreed to the extension
    bool x_sums = false; ///< with checksums

private:
    bool poll(int side);

    std::unique_ptr<Device> devices_[2];
    std::unique_ptr<Port> ports_[2];
    uint32_t peers_[2] = {};
    uint32_t sessions_[2] = {0x11223344, 0xa1b2c3d4};
    uint16_t seq_ = 1;
};

} // namespace emx::test
