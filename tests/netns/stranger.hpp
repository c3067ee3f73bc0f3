// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// An MX endpoint of the library on one host, and beside it on the other a peer made by hand of single
// frames, which can say anything.
#pragma once

#include "driver/base/fd.hpp"
#include "tests/netns/two_hosts.hpp"
#include "tests/unit/core_board.hpp"

#include <myriexpress.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace emx::test {

/// The library initialised on host 0, with an endpoint. One at a time in a process.
class Victim {
public:
    /// Throws std::runtime_error when the library refuses.
    Victim(const TwoHosts &hosts, const std::string &boards);
    ~Victim();
    Victim(const Victim &) = delete;
    Victim &operator=(const Victim &) = delete;

    mx_endpoint_t endpoint() const { return endpoint_; }
    uint64_t nic_id() const { return nic_id_; }
    uint8_t number() const { return static_cast<uint8_t>(number_); }
    uint32_t session() const { return session_; }
    /// Values of the board's counters, as omx_counters shows them.
    std::vector<uint32_t> counters() const;
    mx_request_t receive(void *data, uint32_t length, uint64_t match) const;
    /// Makes progress until the condition holds; false when it hangs.
    bool progress_until(const std::function<bool()> &done) const;
    /// Makes progress for a while, in which the condition must not hold; true when it does not.
    bool progress_in_vain(const std::function<bool()> &done) const;
    /// True if the request is complete now; status then has its outcome.
    bool complete(mx_request_t &request, mx_status_t &status) const;

private:
    mx_endpoint_t endpoint_ = nullptr;
    uint64_t nic_id_ = 0;
    uint32_t number_ = 0;
    uint32_t session_ = 0;
};

/// Changes bytes of a frame that is otherwise right.
struct Change {
    std::size_t at;
    std::vector<uint8_t> bytes;
};

/// A host of the wire, with an address of its own, driven frame by frame through a raw socket on host 1.
class Stranger {
public:
    static constexpr uint32_t key = 0x12345;
    static constexpr uint8_t number = 9; ///< of its endpoint
    static constexpr uint32_t session = 0x57a4e000;

    Stranger(const TwoHosts &hosts, const fw_sizes &sizes, uint64_t mac, const Victim &victim);

    /// A packet of that type from us to the victim, with the right session, next number and ack.
    fw_pkt packet(uint8_t type) const;
    Frame frame(const fw_pkt &pkt, const std::vector<uint8_t> &payload = {},
                const std::vector<Change> &changes = {}) const;
    void send(const Frame &frame) const;
    void send(const fw_pkt &pkt, const std::vector<uint8_t> &payload = {}) const
    {
        send(frame(pkt, payload));
    }

    /// The next packet of that type to us, while the victim makes progress; others are forgotten. Its
    /// payload follows in `payload`.
    std::optional<fw_pkt> expect(uint8_t type);
    const std::vector<uint8_t> &payload() const { return payload_; }
    void forget_all();

    /// Connects both ways, as section 7 of the wire specification wants it; false when that fails.
    bool connect();
    /// Number for the next sequenced packet.
    uint16_t next() const { return next_; }
    void advance() { next_ = static_cast<uint16_t>((next_ & 0xc000) | ((next_ + 1) & 0x3fff)); }
    /// Acknowledges everything up to that packet's number with our next packet.
    void took(const fw_pkt &pkt)
    {
        ack_ = static_cast<uint16_t>((pkt.msg.seq & 0xc000) | ((pkt.msg.seq + 1) & 0x3fff));
    }
    uint64_t mac() const { return mac_; }

private:
    bool receive(fw_pkt &pkt);

    const fw_sizes sizes_;
    const uint64_t mac_;
    const Victim &victim_;
    Fd socket_;
    uint16_t next_ = 1;
    uint16_t ack_ = 1;
    Frame frame_;
    std::vector<uint8_t> payload_;
};

} // namespace emx::test
