// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The engine's sender and receiver of pull replies (driver/engine/reply_sender.cpp, bulk_receiver.cpp) with
// the core at both ends and a pair of datagram sockets between them: both kinds of pulls, from and into
// memory in pieces, with losses.
#include "core_board.hpp"

#include <driver/engine/bulk_receiver.hpp>
#include <driver/engine/reply_sender.hpp>

#include <catch2/catch.hpp>

#include <sys/socket.h>

#include <cerrno>
#include <map>
#include <random>

using namespace emx;
using namespace emx::test;

namespace {

constexpr uint16_t x_frame = 9014;

/// A buffer cut into pieces that lie in memory in another order than in the message.
struct Memory {
    Memory(uint32_t bytes, unsigned pieces) : bytes_(bytes), storage(bytes + pieces)
    {
        uint32_t at = 0;
        for (unsigned i = 0; i < pieces; i++) {
            const uint32_t length = i + 1 == pieces ? bytes - at : bytes / pieces;
            segments.push_back({storage.data() + storage.size() - at - length - i, length});
            at += length;
        }
        list.assign(segments);
    }
    std::vector<std::byte> content() const
    {
        std::vector<std::byte> all(bytes_);
        list.copy_out(0, all.data(), bytes_);
        return all;
    }
    const uint32_t bytes_;
    std::vector<std::byte> storage;
    std::vector<Segment> segments;
    PieceList list;
};

struct Job {
    Memory source, target;
    int slot = -1;
    bool done = false;
};

class Bulk {
public:
    explicit Bulk(const fw_sizes &s, uint32_t loss)
        : sizes(s), a(mac_a, s), b(mac_b, s), sender(a, 2, 0x11223344), puller(b, 5, 0xa1b2c3d4),
          replies(s, sender.counters), loss_(loss)
    {
        peer_of_a = b.add_peer(mac_a);
        peer_of_b = a.add_peer(mac_b);
        for (TestEndpoint *ep : {&sender, &puller}) {
            ep->fw->x_frame = x_frame;
            ep->fw->x_window = 64;
            ep->fw->x_frag = static_cast<uint16_t>(fw_x_frag_max(x_frame));
            ep->fw->pull_repeat_ms = 20;
        }
        int ends[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
        out = Fd(ends[0]);
        bulk = std::make_unique<BulkReceiver>(s, x_frame, Fd(ends[1]));
    }

    Job &start(uint32_t bytes, unsigned pieces, bool by_x)
    {
        const uint64_t cookie = jobs.size() + 1;
        Job &job = jobs.emplace(cookie, Job{{bytes, pieces}, {bytes, pieces + 1}}).first->second;
        for (std::byte &byte : job.source.storage)
            byte = static_cast<std::byte>(random_());
        const auto window = static_cast<uint8_t>(cookie);
        replies.open_window(fw_window_slot(window, 42), job.source.segments);
        fw_window_open(sender.fw.get(), window, 42, peer_of_b, 5, bytes);
        emx_msg rndv{};
        rndv.peer = peer_of_a;
        rndv.remote_ep = 2;
        rndv.session = 0x11223344;
        rndv.u.window.id = window;
        rndv.u.window.tag = 42;
        rndv.data = by_x ? emx_offer(1, 1, EMX_X_PULLS | (spoil != 0 ? EMX_X_SUMS : 0), x_frame, 32) : 0;
        job.slot = fw_pull_start(puller.fw.get(), &rndv, bytes, cookie, now);
        REQUIRE(job.slot >= 0);
        drain(nullptr);
        return job;
    }

    void run()
    {
        for (unsigned idle = 0; puller.fw->pulls_active;) {
            REQUIRE(idle < 1000);
            if (replies.pending())
                replies.send_batch(-1);
            const bool got = receive();
            idle = got ? 0 : idle + 1;
            if (got || replies.pending())
                continue;
            now = std::max<uint64_t>(now, fw_deadline(puller.fw.get()));
            fw_tick(puller.fw.get(), now);
            drain(nullptr);
        }
        for (auto &[cookie, job] : jobs) {
            CHECK(job.done);
            CHECK(job.source.content() == job.target.content());
        }
    }

    fw_sizes sizes;
    TestBoard a, b;
    TestEndpoint sender, puller;
    uint32_t peer_of_a, peer_of_b;
    ReplySender replies;
    std::unique_ptr<BulkReceiver> bulk;
    Fd out;
    std::map<uint64_t, Job> jobs;
    uint64_t now = 1000000, placed = 0, moved = 0;
    uint32_t spoil = 0; ///< of 1000 frames: that many have a byte altered; then with checksums
    uint64_t spoiled = 0, refused = 0;

private:
    bool receive()
    {
        int only = -1, active = 0;
        const PieceList *target = nullptr;
        for (auto &[cookie, job] : jobs)
            if (!job.done) {
                active++;
                only = job.slot;
                target = &job.target.list;
            }
        const bool alone = active == 1;
        const int count = bulk->receive(*puller.fw, alone ? only : -1, alone ? target : nullptr);
        REQUIRE((count > 0 || errno == EAGAIN));
        now += 1000;
        for (int i = 0; i < count; i++)
            if (random_() % 1000 >= loss_)
                take(static_cast<uint32_t>(i), target);
        return count > 0;
    }

    /// Alters a byte of the payload, where it lies now.
    void alter(const BulkReceiver::Frame &frame, const fw_pkt &pkt, const PieceList *target)
    {
        const auto at = static_cast<uint32_t>(random_() % pkt.msg.data_len);
        spoiled++;
        if (frame.payload) {
            const_cast<std::byte *>(frame.payload)[at] ^= std::byte{1};
            return;
        }
        const uint64_t position = uint64_t{pkt.frame} * (x_frame - FW_X_DATA_HEADER) + at;
        std::byte byte;
        target->copy_out(position, &byte, 1);
        byte ^= std::byte{1};
        target->copy_in(position, &byte, 1);
    }

    void take(uint32_t i, const PieceList *target)
    {
        const BulkReceiver::Frame &frame = bulk->frame(i);
        fw_pkt pkt;
        REQUIRE(fw_check(&sizes, mac_b, frame.header, frame.bytes, &pkt) == 0);
        if (pkt.msg.type == EMX_X_DATA) {
            REQUIRE((pkt.x.checksum != 0) == (spoil != 0));
            if (random_() % 1000 < spoil)
                alter(frame, pkt, target);
            if (!fw_checksum_fits(&pkt, frame.header, bulk->payload_sum(i, pkt.msg.data_len, target))) {
                refused++;
                return;
            }
        }
        fw_fx fx{};
        fw_endpoint *ep = fw_demux(&b.fw, &pkt, &fx);
        REQUIRE(ep);
        const int more = fw_rx(ep, &pkt, now, &fx);
        execute(fx, frame.payload);
        if (more)
            drain(frame.payload);
    }

    void drain(const std::byte *payload)
    {
        fw_fx fx{};
        while (fw_next(puller.fw.get(), now, &fx))
            execute(fx, payload);
    }

    void execute(const fw_fx &fx, const std::byte *payload)
    {
        if (fx.kind == FW_FX_TX)
            return serve(tx_frame(fx));
        if (fx.kind == FW_FX_EVENT) {
            CHECK(fx.u.msg.u.pull.status == EMX_PULL_OK);
            jobs.at(fx.u.msg.u.pull.cookie).done = true;
        }
        if (fx.kind != FW_FX_COPY)
            return;
        bulk->accepted(fx.u.copy.pull, fx.u.copy.position, fx.u.copy.length);
        (payload ? moved : placed)++;
        if (payload)
            jobs.at(fx.u.copy.cookie).target.list.copy_in(fx.u.copy.position, payload, fx.u.copy.length);
    }

    void serve(const Frame &frame)
    {
        fw_pkt pkt;
        REQUIRE(fw_check(&sizes, mac_a, frame.data(), static_cast<uint32_t>(frame.size()), &pkt) == 0);
        fw_fx fx{};
        fw_endpoint *ep = fw_demux(&a.fw, &pkt, &fx);
        REQUIRE(ep);
        fw_rx(ep, &pkt, now, &fx);
        REQUIRE(int(fx.kind) == FW_FX_REPLIES);
        replies.add(fx.u.replies, out.get());
    }

    const uint32_t loss_;
    std::mt19937_64 random_{7};
};

} // namespace

TEST_CASE("engine_bulk__one_pull_lands_in_its_final_place")
{
    for (const fw_sizes &sizes : {sizes_w(), sizes_n(9000), sizes_n(1500)})
        for (const bool by_x : {false, true})
            for (const unsigned pieces : {1u, 7u}) {
                CAPTURE(int(sizes.dialect), sizes.mtu, by_x, pieces);
                auto bench = std::make_unique<Bulk>(sizes, 0);
                for (const uint32_t bytes : {1u, 20u, 4104u, 100000u, 3000000u}) {
                    bench->start(bytes, bytes < 10000 ? 1 : pieces, by_x);
                    bench->run();
                }
                CHECK(bench->placed > 300);
                CHECK(bench->moved == 0);
                const emx_counters &sent = bench->sender.counters;
                CHECK((sent.v[EMX_CNT_TX_X_DATA] > 0) == by_x);
                CHECK((sent.v[EMX_CNT_TX_PULL_REPLY] > 0) == !by_x);
                CHECK(sent.v[EMX_CNT_TX_PULL_REPLY] + sent.v[EMX_CNT_TX_X_DATA] == bench->placed);
            }
}

TEST_CASE("engine_bulk__losses_spoil_nothing")
{
    for (const fw_sizes &sizes : {sizes_w(), sizes_n(9000)})
        for (const bool by_x : {false, true})
            for (const uint32_t loss : {10u, 200u}) {
                CAPTURE(int(sizes.dialect), by_x, loss);
                auto bench = std::make_unique<Bulk>(sizes, loss);
                bench->start(3000000, 3, by_x);
                bench->run();
                CHECK(bench->placed > 0);
            }
}

TEST_CASE("engine_bulk__pulls_of_both_kinds_at_once")
{
    for (const fw_sizes &sizes : {sizes_w(), sizes_n(9000)})
        for (const uint32_t loss : {0u, 30u}) {
            CAPTURE(int(sizes.dialect), loss);
            auto bench = std::make_unique<Bulk>(sizes, loss);
            for (uint32_t i = 0; i < 5; i++)
                bench->start(400000 * (i + 1), i + 1, i % 2);
            bench->run();
            CHECK(bench->moved > 0);
        }
}

TEST_CASE("engine_bulk__altered_frames_are_told_by_their_checksums_wherever_they_lie")
{
    for (const unsigned pulls : {1u, 3u})
        for (const uint32_t loss : {0u, 30u}) {
            CAPTURE(pulls, loss);
            auto bench = std::make_unique<Bulk>(sizes_w(), loss);
            bench->spoil = 20;
            for (uint32_t i = 0; i < pulls; i++)
                bench->start(1500000, i + 1, true);
            bench->run();
            CHECK(bench->spoiled > 3);
            CHECK(bench->refused == bench->spoiled);
            CHECK(bench->placed > 0);
            CHECK(bench->moved > 0); // what follows a frame that is not there
        }
}
