// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A port that records what passes through it, around the port of a traced endpoint. Who is not traced has
// no such port, and pays nothing.
//
// What the library did with a packet is read off afterwards: from counters that rose, and from the queues of
// the endpoint.
#pragma once

#include "driver/forwarding_port.hpp"
#include "libmx/trace/recorder.hpp"

#include <array>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

namespace emx {
class Endpoint;
}

namespace emx::trace {

class TracePort final : public ForwardingPort {
public:
    TracePort(std::unique_ptr<Port> inner, Endpoint &endpoint, std::unique_ptr<Recorder> recorder);
    ~TracePort() override;

    const emx_msg *peek() override;
    void consume() override;
    bool send(const emx_msg &msg, std::byte *payload) override;
    bool send_sure(const emx_msg &msg, std::span<const Segment> data) override;
    void refuse_sure() override;
    bool start_pull(const emx_msg &rndv, uint32_t total, std::span<const Segment> memory,
                    uint64_t cookie) override;
    void cancel_pull(uint64_t cookie) override;

private:
    Entry describe(Kind kind, const emx_msg &msg) const;
    void put(Entry entry);
    void note_counted();
    bool note_drop(const emx_msg &msg);
    void open_pack(const emx_msg &pack);
    void put_pack(const emx_msg &msg, const std::byte *payload, const Entry &sent);
    bool rose(unsigned counter);
    void take(const emx_msg &msg);
    void settle();
    void match(const emx_msg &msg);
    bool matched_before(const emx_msg &msg) const;

    Endpoint &endpoint_;
    std::unique_ptr<Recorder> recorder_;
    emx_counters seen_{}; ///< counters as they were looked at last
    emx_msg current_{}; ///< handed out and not consumed yet
    bool has_current_ = false;
    std::vector<emx_msg> packed_; ///< messages of an X PACK, handed out and not consumed yet
    emx_msg resent_{}; ///< the last message that was repeated
    std::deque<emx_msg> unmatched_; ///< taken, and no receive yet
    uint64_t finished_seen_ = 0; ///< finished requests of the endpoint when settle() looked
    std::array<emx_msg, 64> recent_{}; ///< matched last
    std::size_t next_recent_ = 0;
    std::unordered_map<uint64_t, emx_msg> pulls_; ///< announcements, by cookie
};

} // namespace emx::trace
