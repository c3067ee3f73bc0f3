// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The engine's sender and receiver of pull replies (driver/engine/reply_sender.cpp, bulk_receiver.cpp) with
// the core at both ends and a pair of datagram sockets between them: both kinds of pulls, from and into
// memory in pieces, with losses.
#include "pull_bench.hpp"

#include <driver/engine/bulk_receiver.hpp>
#include <driver/engine/reply_sender.hpp>

#include <catch2/catch.hpp>

#include <sys/socket.h>

#include <cerrno>

using namespace emx;
using namespace emx::test;

namespace {

constexpr uint16_t x_frame = 9014;

class Bulk : public PullBench {
public:
    explicit Bulk(const fw_sizes &s, uint32_t loss) : PullBench(s), replies(s, sender.counters), loss_(loss)
    {
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

    Message &start(uint32_t bytes, unsigned pieces, bool by_x)
    {
        return PullBench::start(
            bytes, pieces, pieces + 1,
            by_x ? emx_offer(1, 1, EMX_X_PULLS | (spoil != 0 ? EMX_X_SUMS : 0), x_frame, 32) : 0,
            FW_BY_FRAMES, 0);
    }

    bool step() override
    {
        if (replies.pending())
            replies.send_batch(-1);
        return receive() || replies.pending();
    }

    ReplySender replies;
    std::unique_ptr<BulkReceiver> bulk;
    Fd out;

private:
    bool receive()
    {
        const Message *alone = only();
        const PieceList *target = alone ? &alone->target.list : nullptr;
        const int count = bulk->receive(*puller.fw, alone ? alone->slot : -1, target);
        REQUIRE((count > 0 || errno == EAGAIN));
        now += 1000;
        for (int i = 0; i < count; i++)
            if (random() % 1000 >= loss_)
                take(static_cast<uint32_t>(i), target);
        return count > 0;
    }

    void take(uint32_t i, const PieceList *target)
    {
        const BulkReceiver::Frame &frame = bulk->frame(i);
        fw_pkt pkt;
        REQUIRE(fw_check(&sizes, mac_b, frame.header, frame.bytes, &pkt) == 0);
        if (pkt.msg.type == EMX_X_DATA) {
            REQUIRE((pkt.x.checksum != 0) == (spoil != 0));
            if (random() % 1000 < spoil)
                alter(pkt, frame.payload, target, x_frame - FW_X_DATA_HEADER);
            if (!fw_checksum_fits(&pkt, frame.header, bulk->payload_sum(i, pkt.msg.data_len, target))) {
                refused++;
                return;
            }
        }
        PullBench::take(pkt, frame.payload);
    }

    void open_window(uint16_t slot, const std::vector<Segment> &memory) override
    {
        replies.open_window(slot, memory);
    }
    void answer(const fw_replies &run) override { replies.add(run, out.get()); }
    void accepted(const fw_fx &fx) override
    {
        bulk->accepted(fx.u.copy.pull, fx.u.copy.position, fx.u.copy.length);
    }

    const uint32_t loss_;
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
