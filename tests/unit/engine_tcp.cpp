// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The engine's sender and receiver of packets in a connection (driver/engine/tcp_sender.cpp,
// tcp_receiver.cpp) with the core at both ends and streams of bytes between them, which are cut anywhere:
// from and into memory in pieces, with packets that are altered, and with pulls and windows that end in the
// middle of one.
#include "pull_bench.hpp"

#include <driver/engine/tcp_receiver.hpp>
#include <driver/engine/tcp_sender.hpp>

#include <catch2/catch.hpp>

#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>

using namespace emx;
using namespace emx::test;

namespace {

using State = TcpReceiver::State;
using Outcome = TcpSender::Outcome;

/// Two connected sockets; what is written fills the buffer soon.
struct Stream {
    Stream()
    {
        int ends[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
        in = Fd(ends[0]);
        out = Fd(ends[1]);
        const int small = 1; // becomes the least there is
        REQUIRE(::setsockopt(in.get(), SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)) == 0);
    }
    Fd in, out;
};

class Bench : public PullBench {
public:
    explicit Bench(uint16_t packet, unsigned pieces_more = 0)
        : PullBench(sizes_w()), windows(sizes, sender.counters), packet_(packet), pieces_more_(pieces_more)
    {
        for (TestEndpoint *ep : {&sender, &puller}) {
            ep->fw->x_frame = 1514;
            ep->fw->x_window = 64;
            ep->fw->x_frag = 1400;
            ep->fw->x_tcp = 32;
        }
        patience = 2; // a part of a packet counts as nothing
    }

    Message &start(uint32_t bytes, unsigned pieces, bool summed = false)
    {
        return PullBench::start(
            bytes, pieces, pieces + 1 + pieces_more_,
            emx_offer(1, 1, EMX_X_PULLS | EMX_X_TCP | (summed ? EMX_X_SUMS : 0), 1514, 32), FW_BY_TCP,
            packet_);
    }

    bool step() override
    {
        bool moved_on = false;
        if (out.pending()) {
            const Outcome outcome = out.send(first.in.get(), windows, sender.counters);
            REQUIRE((outcome == Outcome::sent || outcome == Outcome::full));
            moved_on = outcome == Outcome::sent;
        }
        return relay() || receive() || moved_on;
    }

    void cancel(Message &message)
    {
        message.cancelled = true;
        for (auto &[cookie, each] : messages)
            if (&each == &message)
                fw_pull_cancel(puller.fw.get(), cookie);
    }

    ReplyQueue windows;
    TcpSender out;
    TcpReceiver in;
    Stream first, second;
    uint64_t came = 0, late = 0;

private:
    /// Some bytes from one stream to the other.
    bool relay()
    {
        std::byte bytes[5000];
        if (left_.empty()) {
            const ssize_t got = ::recv(first.out.get(), bytes, 1 + random() % sizeof(bytes), 0);
            REQUIRE((got > 0 || errno == EAGAIN));
            if (got > 0)
                left_.assign(bytes, bytes + got);
        }
        const ssize_t sent = left_.empty() ? 0 : ::send(second.in.get(), left_.data(), left_.size(), 0);
        if (sent <= 0)
            return false;
        left_.erase(left_.begin(), left_.begin() + sent);
        return true;
    }

    /// Memory of a pull, if it still runs.
    const PieceList *running_memory(int slot, uint32_t handle)
    {
        const fw_pull *pull = slot < 0 ? nullptr : &puller.fw->pull[slot];
        const bool runs = pull && pull->state == FW_PULL_RUNNING && pull->handle == handle;
        return runs ? &messages.at(pull->cookie).target.list : nullptr;
    }
    const PieceList *target()
    {
        const PieceList *memory = running_memory(in.slot(), in.handle());
        if (!memory)
            in.lose_place();
        return memory;
    }

    bool receive()
    {
        bool moved_on = receive_one();
        while (in.has_more())
            moved_on |= receive_one();
        return moved_on;
    }

    bool receive_one()
    {
        now += 1000;
        std::array<fw_place, TcpReceiver::ahead_max + 1> places;
        const PieceList *memory = target();
        const uint32_t known =
            in.looks_ahead() ? fw_expect(puller.fw.get(), in.slot(), places.size(), places.data()) : 0;
        switch (in.receive(second.out.get(), memory, {places.data(), known})) {
        case State::nothing: return false;
        case State::ended: FAIL("the connection has ended"); return false;
        case State::header: place(); break;
        case State::packet:
            take();
            in.next_packet();
            if (in.has_header())
                place();
            break;
        }
        return true;
    }

    void check(fw_pkt &pkt)
    {
        fw_datagram_unseal(in.header(), mac_a, mac_b, 0);
        const uint32_t bytes = std::max<uint32_t>(FW_X_DATA_HEADER + in.stated(), EMX_FRAME_MIN);
        REQUIRE(fw_check(&sizes, mac_b, in.header(), bytes, &pkt) == 0);
        REQUIRE(int(pkt.msg.type) == EMX_X_DATA);
    }

    void place()
    {
        fw_pkt pkt;
        check(pkt);
        fw_place at{};
        const int slot = fw_pull_place(puller.fw.get(), &pkt, &at);
        late += slot < 0;
        REQUIRE(in.expect_payload(slot, pkt.handle, at.position, running_memory(slot, pkt.handle),
                                  running_memory(in.foreseen_slot(), in.foreseen_handle())));
    }

    void take()
    {
        fw_pkt pkt;
        came++;
        const PieceList *memory = target();
        check(pkt);
        if (random() % 1000 < spoil)
            alter(pkt, in.payload(), memory, packet_ - FW_X_DATA_HEADER);
        if (pkt.x.checksum != 0 &&
            !fw_checksum_fits(&pkt, reinterpret_cast<const uint8_t *>(in.header()), in.payload_sum(memory))) {
            refused++;
            return;
        }
        PullBench::take(pkt, in.payload());
    }

    void open_window(uint16_t slot, const std::vector<Segment> &memory) override
    {
        windows.open_window(slot, memory);
    }
    void answer(const fw_replies &run) override
    {
        REQUIRE(int(run.reply.x.carrier) == FW_BY_TCP);
        REQUIRE(out.add(windows, run));
    }

    const uint16_t packet_;
    const unsigned pieces_more_;
    std::vector<std::byte> left_; ///< of the middle
};

/// Steps until a packet has begun to come, and is not there yet.
void run_into_a_packet(Bench &bench, const Message &message)
{
    for (unsigned steps = 0; bench.in.slot() != message.slot; steps++) {
        REQUIRE(steps < 100000);
        bench.step();
    }
}

} // namespace

TEST_CASE("engine_tcp__pulls_land_in_their_final_place")
{
    for (const uint16_t packet : {uint16_t{104}, uint16_t{1514}, uint16_t{32808}, uint16_t{65535}})
        for (const unsigned pieces : {1u, 7u}) {
            CAPTURE(packet, pieces);
            auto bench = std::make_unique<Bench>(packet);
            for (const uint32_t bytes : {1u, 20u, 4104u, 65495u, 65496u, 300001u}) {
                bench->start(bytes, bytes < 10000 ? 1 : pieces);
                bench->run();
            }
            CHECK(bench->placed > 5);
            CHECK(bench->moved == 0);
            CHECK(bench->late == 0);
            CHECK(bench->sender.counters.v[EMX_CNT_TX_TCP] == bench->came);
            CHECK(bench->sender.counters.v[EMX_CNT_TX_X_DATA] == bench->came);
            CHECK(bench->puller.counters.v[EMX_CNT_RESEND_PULL] == 0);
            CHECK(!bench->out.pending());
        }
}

TEST_CASE("engine_tcp__memory_of_many_pieces_is_copied_into")
{
    auto bench = std::make_unique<Bench>(uint16_t{65535}, 40u);
    bench->start(65000, 1);
    bench->run();
    CHECK(bench->moved == 1);
    bench->start(300000, 3);
    bench->run();
    CHECK(bench->placed > 0);
    bench->start(60000, 256); // as many as a message may have, in one packet
    bench->run();
}

TEST_CASE("engine_tcp__several_pulls_share_a_connection")
{
    auto bench = std::make_unique<Bench>(uint16_t{8192});
    for (const uint32_t bytes : {300000u, 5u, 123457u, 65495u})
        bench->start(bytes, 2);
    bench->run();
    CHECK(bench->placed > 50);
}

TEST_CASE("engine_tcp__altered_packets_are_asked_for_again")
{
    for (const unsigned pieces_more : {0u, 40u}) { // in place, and in memory of the receiver
        auto bench = std::make_unique<Bench>(uint16_t{32808}, pieces_more);
        bench->spoil = 100;
        for (const uint32_t bytes : {1000000u, 40000u, 700001u}) {
            bench->start(bytes, 3, true);
            bench->run();
        }
        CHECK(bench->spoiled > 0);
        CHECK(bench->refused == bench->spoiled);
    }
}

TEST_CASE("engine_tcp__a_pull_that_ends_in_the_middle_of_a_packet_disturbs_no_other")
{
    auto bench = std::make_unique<Bench>(uint16_t{65535});
    Message &given_up = bench->start(1000000, 1);
    Message &other = bench->start(500000, 2);
    run_into_a_packet(*bench, given_up);
    const std::vector<std::byte> before = given_up.target.content();
    bench->cancel(given_up);
    bench->run();
    CHECK(other.done);
    CHECK(before == given_up.target.content()); // nobody writes there any more
    bench->start(70000, 1); // takes its slot
    bench->run();
}

TEST_CASE("engine_tcp__a_window_that_closes_in_the_middle_of_a_packet_disturbs_no_other")
{
    for (const unsigned pieces : {1u, 7u}) {
        auto bench = std::make_unique<Bench>(uint16_t{65535});
        Message &given_up = bench->start(1000000, pieces);
        Message &other = bench->start(500000, 2);
        while (!bench->out.partly_sent())
            REQUIRE(bench->step());
        const uint16_t slot = fw_window_slot(given_up.window, 42);
        bench->cancel(given_up);
        fw_window_close(bench->sender.fw.get(), given_up.window, 42);
        REQUIRE(bench->out.close_window(bench->windows, slot));
        bench->windows.close_window(slot);
        std::fill(given_up.source.storage.begin(), given_up.source.storage.end(), std::byte{0xee});
        bench->run();
        CHECK(other.done);
        CHECK(bench->came > 8);
        CHECK(!bench->out.partly_sent());
    }
}

TEST_CASE("engine_tcp__memory_that_cannot_be_read_is_told_of")
{
    auto bench = std::make_unique<Bench>(uint16_t{4096});
    void *memory = ::mmap(nullptr, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    Message &message = bench->start(5000, 1);
    const std::vector<Segment> nothing{{static_cast<std::byte *>(memory), 5000}};
    bench->windows.open_window(fw_window_slot(message.window, 42), nothing);
    CHECK(bench->out.send(bench->first.in.get(), bench->windows, bench->sender.counters) ==
          Outcome::unreadable);
    CHECK(!bench->out.partly_sent());
    const fw_replies run = bench->out.give_up();
    CHECK(int(run.window) == fw_window_slot(message.window, 42));
    CHECK(!bench->out.pending());
    ::munmap(memory, 65536);
}

TEST_CASE("engine_tcp__memory_of_a_later_answer_that_cannot_be_read_refuses_no_other")
{
    auto bench = std::make_unique<Bench>(uint16_t{65535});
    void *memory = ::mmap(nullptr, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    Message &good = bench->start(500, 1);
    const uint16_t first = fw_window_slot(good.window, 42);
    Message &bad = bench->start(50000, 1);
    const uint16_t second = fw_window_slot(bad.window, 42);
    const std::vector<Segment> nothing{{static_cast<std::byte *>(memory), 50000}};
    bench->windows.open_window(second, nothing);
    Outcome outcome = Outcome::sent;
    while (outcome == Outcome::sent)
        outcome = bench->out.send(bench->first.in.get(), bench->windows, bench->sender.counters);
    CHECK(outcome == Outcome::unreadable);
    CHECK(!bench->out.partly_sent());
    const fw_replies refused = bench->out.give_up();
    CHECK(int(refused.window) == second);
    CHECK(int(refused.window) != first);
    CHECK(!bench->out.pending());
    ::munmap(memory, 65536);
}

TEST_CASE("engine_tcp__a_window_whose_rest_cannot_be_read_ends_the_connection")
{
    auto bench = std::make_unique<Bench>(uint16_t{65535});
    constexpr std::size_t bytes = 1 << 20;
    void *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    Message &message = bench->start(bytes, 1);
    const uint16_t slot = fw_window_slot(message.window, 42);
    const std::vector<Segment> all{{static_cast<std::byte *>(memory), bytes}};
    bench->windows.open_window(slot, all);
    while (!bench->out.partly_sent())
        REQUIRE(bench->step());
    ::munmap(memory, bytes);
    CHECK(!bench->out.close_window(bench->windows, slot));
    bench->out.drop_all();
    CHECK(!bench->out.pending());
}

TEST_CASE("engine_tcp__an_answer_beyond_what_is_queued_is_refused")
{
    auto bench = std::make_unique<Bench>(uint16_t{104});
    bench->start(6400, 1);
    fw_replies run{};
    run.reply.msg.type = EMX_X_DATA;
    run.count = 1;
    int added = 0;
    while (added < 1000 && bench->out.add(bench->windows, run))
        added++;
    CHECK(added > 30);
    CHECK(added < 1000);
    bench->out.drop_all();
    CHECK(!bench->out.pending());
}

TEST_CASE("engine_tcp__what_comes_instead_of_what_is_foreseen_is_laid_out_anew")
{
    constexpr uint32_t bytes = 300, head = FW_X_DATA_HEADER - EMX_OUTER_LEN + EMX_X_TCP_PAD;
    const auto packet = [](std::byte fill) {
        std::vector<std::byte> all(head + bytes, fill);
        emx_w_x_data data{};
        data.length = emx_put16(bytes);
        std::memcpy(all.data() + EMX_X_TCP_PAD, &data, sizeof(data));
        return all;
    };
    Stream stream;
    for (int i = 1; i <= 3; i++) {
        const std::vector<std::byte> one = packet(static_cast<std::byte>(i));
        REQUIRE(::send(stream.in.get(), one.data(), one.size(), 0) == static_cast<ssize_t>(one.size()));
    }
    Pieces first(4 * bytes, 3), second(bytes, 2);
    const PieceList *const list = &first.list;
    const fw_place foreseen[] = {{0, bytes}, {2 * bytes, bytes}, {bytes, bytes}};
    TcpReceiver in;
    const auto holds = [&](const Pieces &memory, uint32_t at, int fill) {
        const std::vector<std::byte> all = memory.content();
        return std::all_of(all.begin() + at, all.begin() + at + bytes,
                           [fill](std::byte b) { return b == static_cast<std::byte>(fill); });
    };
    REQUIRE(in.receive(stream.out.get(), nullptr) == State::header);
    REQUIRE(in.expect_payload(0, 7, 0, list, nullptr));
    REQUIRE(in.looks_ahead());
    REQUIRE(in.receive(stream.out.get(), list, foreseen) == State::packet);
    CHECK(holds(first, 0, 1));
    CHECK(in.has_more());
    in.next_packet();
    REQUIRE(in.has_header());
    CHECK(in.foreseen_slot() == 0);
    CHECK(in.foreseen_handle() == 7);
    SECTION("it is the one")
    {
        REQUIRE(in.expect_payload(0, 7, 2 * bytes, list, list));
        CHECK(in.receive(stream.out.get(), list) == State::packet);
        CHECK(holds(first, 2 * bytes, 2));
    }
    SECTION("it is another of the same pull")
    {
        REQUIRE(in.expect_payload(0, 7, 3 * bytes, list, list));
        CHECK(in.receive(stream.out.get(), list) == State::packet);
        CHECK(holds(first, 3 * bytes, 2));
    }
    SECTION("it is of another pull")
    {
        REQUIRE(in.expect_payload(1, 9, 0, &second.list, list));
        CHECK(in.receive(stream.out.get(), &second.list) == State::packet);
        CHECK(holds(second, 0, 2));
    }
    SECTION("its pull has ended")
    {
        REQUIRE(in.expect_payload(-1, 7, 0, nullptr, nullptr));
        CHECK(in.receive(stream.out.get(), nullptr) == State::packet);
    }
    SECTION("it lies in the memory of a pull that has ended")
    {
        CHECK_FALSE(in.expect_payload(1, 9, 0, &second.list, nullptr));
        return;
    }
    in.next_packet();
    if (!in.has_header())
        REQUIRE(in.receive(stream.out.get(), nullptr) == State::header);
    REQUIRE(in.expect_payload(1, 9, 0, &second.list, list));
    CHECK(in.receive(stream.out.get(), &second.list) == State::packet);
    CHECK(holds(second, 0, 3));
    CHECK_FALSE(in.has_more());
}

TEST_CASE("engine_tcp__a_connection_that_ends_is_told_of")
{
    auto bench = std::make_unique<Bench>(uint16_t{4096});
    CHECK(bench->in.receive(bench->second.out.get(), nullptr) == State::nothing);
    bench->second.in.reset();
    CHECK(bench->in.receive(bench->second.out.get(), nullptr) == State::ended);
    bench->start(50000, 1);
    bench->first.out.reset();
    CHECK(bench->out.send(bench->first.in.get(), bench->windows, bench->sender.counters) == Outcome::ended);
}
