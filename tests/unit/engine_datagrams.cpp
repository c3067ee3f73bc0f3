// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The engine's sender and receiver of datagrams (driver/engine/reply_datagrams.cpp, datagram_receiver.cpp)
// with the core at both ends and UDP over the loopback interface between them: from and into memory in
// pieces, with losses, and with datagrams of others among them.
#include "emulator.hpp"
#include "pull_bench.hpp"

#include <driver/base/udp_socket.hpp>
#include <driver/engine/datagram_receiver.hpp>
#include <driver/engine/reply_sender.hpp>

#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <cerrno>

using namespace emx;
using namespace emx::test;

namespace {

constexpr uint32_t loopback = 0x7f000001;
constexpr uint64_t secret = 0x1122334455667788;

/// A UDP socket of the loopback interface.
class Udp {
public:
    Udp() : fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))
    {
        sockaddr_in own = {};
        own.sin_family = AF_INET;
        own.sin_addr.s_addr = htonl(loopback);
        socklen_t size = sizeof(own);
        REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr *>(&own), size) == 0);
        REQUIRE(::getsockname(fd.get(), reinterpret_cast<sockaddr *>(&own), &size) == 0);
        port = ntohs(own.sin_port);
        const int on = 1;
        REQUIRE(::setsockopt(fd.get(), IPPROTO_UDP, UDP_GRO, &on, sizeof(on)) == 0);
        REQUIRE(refuse_empty_datagrams(fd.get()));
    }
    void send(uint16_t to_port, const std::vector<std::byte> &bytes) const
    {
        sockaddr_in to = {};
        to.sin_family = AF_INET;
        to.sin_addr.s_addr = htonl(loopback);
        to.sin_port = htons(to_port);
        REQUIRE(::sendto(fd.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr *>(&to),
                         sizeof(to)) >= 0);
    }
    Fd fd;
    uint16_t port = 0;
};

class Bench : public PullBench {
public:
    explicit Bench(uint16_t datagram, uint32_t loss = 0)
        : PullBench(sizes_w()), replies(sizes, sender.counters), datagram_(datagram), loss_(loss)
    {
        for (TestEndpoint *ep : {&sender, &puller}) {
            ep->fw->x_frame = 9014;
            ep->fw->x_window = 64;
            ep->fw->x_frag = 4096;
            ep->fw->x_datagram = datagram;
            ep->fw->x_datagrams = 50;
        }
        int ends[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends) == 0);
        frames_out = Fd(ends[0]);
        frames_in = Fd(ends[1]);
    }

    Message &start(uint32_t bytes, unsigned pieces, bool summed = false)
    {
        return PullBench::start(bytes, pieces, pieces + 1,
                                emx_offer(1, 1, EMX_X_PULLS | (summed ? EMX_X_SUMS : 0), 9014, 32),
                                FW_BY_DATAGRAMS, datagram_);
    }

    bool step() override
    {
        if (replies.pending())
            replies.send_batch(out.fd.get());
        if (forged && random() % 3 == 0)
            stranger.send(in.port, std::vector<std::byte>(random() % 3000, std::byte{0xee}));
        return receive() || replies.pending();
    }

    ReplySender replies;
    DatagramReceiver receiver;
    Udp out, in, stranger;
    Fd frames_out, frames_in;
    uint64_t strange = 0, calls = 0, came = 0;
    bool forged = false;

private:
    bool receive()
    {
        const Message *alone = only();
        const PieceList *target = alone ? &alone->target.list : nullptr;
        const int count = receiver.receive(in.fd.get(), *puller.fw, alone ? alone->slot : -1, target);
        REQUIRE((count >= 0 || errno == EAGAIN));
        now += 1000;
        for (int i = 0; i < count; i++)
            take(static_cast<uint32_t>(i), target);
        calls += count > 0;
        return count >= 0;
    }

    void take(uint32_t i, const PieceList *target)
    {
        const DatagramReceiver::Datagram &datagram = receiver.datagram(i);
        const bool ours = datagram.bytes > EMX_OUTER_LEN && fw_datagram_secret(datagram.header) == secret;
        REQUIRE(ours == (receiver.source() == DatagramSource{loopback, out.port}));
        if (!ours) {
            strange++;
            return;
        }
        came++;
        if (random() % 1000 < loss_)
            return;
        fw_datagram_unseal(datagram.header, mac_a, mac_b, 0);
        fw_pkt pkt;
        REQUIRE(fw_check(&sizes, mac_b, datagram.header, datagram.bytes, &pkt) == 0);
        REQUIRE(fw_checksum_fits(&pkt, datagram.header, receiver.payload_sum(i, pkt.msg.data_len, target)));
        PullBench::take(pkt, datagram.payload);
    }

    void open_window(uint16_t slot, const std::vector<Segment> &memory) override
    {
        replies.open_window(slot, memory);
    }
    void answer(const fw_replies &run) override
    {
        REQUIRE(run.reply.x.carrier == FW_BY_DATAGRAMS);
        replies.add(run, frames_out.get(), {secret, loopback, in.port, datagram_});
    }

    const uint16_t datagram_;
    const uint32_t loss_;
};

} // namespace

TEST_CASE("engine_datagrams__one_pull_lands_in_its_final_place_by_few_calls")
{
    if (emulator_spoils_runs())
        return;
    for (const uint16_t datagram : {104, 1472, 8972})
        for (const unsigned pieces : {1u, 7u}) {
            CAPTURE(datagram, pieces);
            auto bench = std::make_unique<Bench>(datagram);
            for (const uint32_t bytes : {1u, 20u, 4104u, 100000u, 300000u}) {
                bench->start(bytes, bytes < 10000 ? 1 : pieces);
                bench->run();
            }
            CHECK(bench->placed > 40);
            CHECK(bench->moved == 0);
            const emx_counters &sent = bench->sender.counters;
            CHECK(sent.v[EMX_CNT_TX_DATAGRAM] == bench->came);
            CHECK(sent.v[EMX_CNT_TX_X_DATA] == bench->came);
            if (datagram < 8972)
                CHECK(bench->calls < bench->came / 4);
        }
}

TEST_CASE("engine_datagrams__losses_spoil_nothing")
{
    if (emulator_spoils_runs())
        return;
    for (const uint32_t loss : {10u, 200u}) {
        CAPTURE(loss);
        auto bench = std::make_unique<Bench>(1472, loss);
        bench->start(1000000, 3);
        bench->run();
        CHECK(bench->placed > 0);
    }
}

TEST_CASE("engine_datagrams__several_pulls_share_a_socket")
{
    auto bench = std::make_unique<Bench>(1472, 5);
    for (const uint32_t bytes : {300000u, 5u, 123457u})
        bench->start(bytes, 2);
    bench->run();
    CHECK(bench->moved > 0);
}

TEST_CASE("engine_datagrams__checksums_cover_data_in_place_as_well")
{
    for (const uint32_t loss : {0u, 50u}) {
        auto bench = std::make_unique<Bench>(1472, loss);
        bench->start(500000, 5, true);
        bench->run();
        CHECK(bench->placed > 0);
    }
}

TEST_CASE("engine_datagrams__those_of_others_spoil_nothing")
{
    for (const uint32_t loss : {0u, 20u}) {
        auto bench = std::make_unique<Bench>(1472, loss);
        bench->forged = true;
        bench->start(1000000, 3);
        bench->run();
        CHECK(bench->strange > 10);
    }
}

TEST_CASE("engine_datagrams__replies_that_cannot_go_so_leave_as_frames")
{
    for (const bool without : {false, true}) { // the system refuses the target; there is no socket
        auto bench = std::make_unique<Bench>(1472);
        bench->start(5000, 1);
        bench->replies.close_window(fw_window_slot(1, 42));
        bench->start(5000, 1);
        const int socket = without ? -1 : bench->frames_out.get(); // which knows no such address
        for (int i = 0; i < 10 && bench->replies.pending(); i++)
            bench->replies.send_batch(socket);
        CHECK(!bench->replies.pending());
        CHECK(bench->sender.counters.v[EMX_CNT_TX_DATAGRAM] == 0);
        CHECK(bench->sender.counters.v[EMX_CNT_TX_X_DATA] == 4);
        const auto lost = bench->replies.take_lost();
        CHECK(lost.has_value() == !without);
        CHECK(!bench->replies.take_lost());
        std::byte frame[2000];
        fw_pkt pkt;
        for (int n = 0; n < 4; n++) {
            const auto bytes = ::recv(bench->frames_in.get(), frame, sizeof(frame), 0);
            REQUIRE(bytes >= EMX_FRAME_MIN);
            REQUIRE(fw_check(&bench->sizes, mac_b, frame, static_cast<uint32_t>(bytes), &pkt) == 0);
            CHECK(int(pkt.msg.type) == EMX_X_DATA);
            CHECK(pkt.frame == static_cast<uint32_t>(n));
        }
    }
}

TEST_CASE("engine_datagrams__an_empty_one_hides_none_behind_it")
{
    auto bench = std::make_unique<Bench>(1472);
    const auto receive = [&] {
        return bench->receiver.receive(bench->in.fd.get(), *bench->puller.fw, -1, nullptr);
    };
    CHECK(receive() == -1); // it is ready for the next one
    for (int n = 0; n < 3; n++)
        bench->stranger.send(bench->in.port, {});
    CHECK(receive() == -1);
    bench->stranger.send(bench->in.port, std::vector<std::byte>(100));
    REQUIRE(receive() == 1);
    CHECK(bench->receiver.datagram(0).bytes == 100);
}
