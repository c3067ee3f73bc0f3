// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The engine's sender and receiver of packets in a connection (driver/engine/tcp_sender.cpp,
// tcp_receiver.cpp) with the core at both ends and streams of bytes between them, which are cut anywhere:
// from and into memory in pieces, with packets that are altered, and with pulls and windows that end in the
// middle of one.
#include "core_board.hpp"

#include <driver/engine/tcp_receiver.hpp>
#include <driver/engine/tcp_sender.hpp>

#include <catch2/catch.hpp>

#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <map>
#include <random>

using namespace emx;
using namespace emx::test;

namespace {

using State = TcpReceiver::State;
using Outcome = TcpSender::Outcome;

/// Memory in pieces, which lie in another order than in the message.
struct Pieces {
    Pieces(uint32_t bytes, unsigned pieces) : bytes_(bytes), storage(bytes + pieces)
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

struct Message {
    Pieces source, target;
    int slot = -1;
    bool done = false;
    bool cancelled = false;
    uint8_t window = 0;
};

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

class Bench {
public:
    explicit Bench(uint16_t packet, unsigned pieces_more = 0)
        : sizes(sizes_w()), a(mac_a, sizes), b(mac_b, sizes), sender(a, 2, 0x11223344),
          puller(b, 5, 0xa1b2c3d4), windows(sizes, sender.counters), packet_(packet),
          pieces_more_(pieces_more)
    {
        peer_of_a = b.add_peer(mac_a);
        peer_of_b = a.add_peer(mac_b);
        for (TestEndpoint *ep : {&sender, &puller}) {
            ep->fw->x_frame = 1514;
            ep->fw->x_window = 64;
            ep->fw->x_frag = 1400;
            ep->fw->x_tcp = 32;
        }
    }

    Message &start(uint32_t bytes, unsigned pieces, bool summed = false)
    {
        const uint64_t cookie = messages.size() + 1;
        Message &message =
            messages.emplace(cookie, Message{{bytes, pieces}, {bytes, pieces + 1 + pieces_more_}})
                .first->second;
        for (std::byte &byte : message.source.storage)
            byte = static_cast<std::byte>(random_());
        message.window = static_cast<uint8_t>(cookie);
        windows.open_window(fw_window_slot(message.window, 42), message.source.segments);
        fw_window_open(sender.fw.get(), message.window, 42, peer_of_b, 5, bytes);
        emx_msg rndv{};
        rndv.peer = peer_of_a;
        rndv.remote_ep = 2;
        rndv.session = 0x11223344;
        rndv.u.window.id = message.window;
        rndv.u.window.tag = 42;
        rndv.data = emx_offer(1, 1, EMX_X_PULLS | EMX_X_TCP | (summed ? EMX_X_SUMS : 0), 1514, 32);
        message.slot = fw_pull_start_by(puller.fw.get(), &rndv, bytes, cookie, FW_BY_TCP, packet_, now);
        REQUIRE(message.slot >= 0);
        drain(nullptr);
        return message;
    }

    void run()
    {
        for (unsigned idle = 0; puller.fw->pulls_active;) {
            REQUIRE(idle < 1000);
            idle = step() ? 0 : idle + 1;
            if (idle < 3) // a part of a packet counts as nothing
                continue;
            now = std::max<uint64_t>(now, fw_deadline(puller.fw.get()));
            fw_tick(puller.fw.get(), now);
            drain(nullptr);
        }
        for (auto &[cookie, message] : messages) {
            CHECK(message.done == !message.cancelled);
            if (message.done)
                CHECK(message.source.content() == message.target.content());
        }
    }

    /// Something moves: out of the sender, through the middle, into the receiver. False: nothing does.
    bool step()
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

    fw_sizes sizes;
    TestBoard a, b;
    TestEndpoint sender, puller;
    uint32_t peer_of_a, peer_of_b;
    ReplyQueue windows;
    TcpSender out;
    TcpReceiver in;
    Stream first, second;
    std::map<uint64_t, Message> messages;
    uint64_t now = 1000000, placed = 0, moved = 0, came = 0, late = 0;
    uint32_t spoil = 0; ///< of 1000 packets: that many have a byte altered
    uint64_t spoiled = 0, refused = 0;

private:
    /// Some bytes from one stream to the other.
    bool relay()
    {
        std::byte bytes[5000];
        if (left_.empty()) {
            const ssize_t got = ::recv(first.out.get(), bytes, 1 + random_() % sizeof(bytes), 0);
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

    /// The pull that the payload on its way belongs to, if it still runs.
    Message *message_of()
    {
        const fw_pull *pull = in.slot() < 0 ? nullptr : &puller.fw->pull[in.slot()];
        if (pull && pull->state == FW_PULL_RUNNING && pull->handle == in.handle())
            return &messages.at(pull->cookie);
        in.lose_place();
        return nullptr;
    }
    const PieceList *target()
    {
        Message *message = message_of();
        return message ? &message->target.list : nullptr;
    }

    bool receive()
    {
        now += 1000;
        switch (in.receive(second.out.get(), target())) {
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
        in.expect_payload(slot, pkt.handle, at.position,
                          slot < 0 ? nullptr : &messages.at(puller.fw->pull[slot].cookie).target.list);
    }

    /// Alters a byte of the payload, where it lies now.
    void alter(const fw_pkt &pkt)
    {
        const auto at = static_cast<uint32_t>(random_() % pkt.msg.data_len);
        spoiled++;
        if (in.payload()) {
            const_cast<std::byte *>(in.payload())[at] ^= std::byte{1};
            return;
        }
        std::byte byte;
        const uint64_t position = uint64_t{pkt.frame} * (packet_ - FW_X_DATA_HEADER) + at;
        target()->copy_out(position, &byte, 1);
        byte ^= std::byte{1};
        target()->copy_in(position, &byte, 1);
    }

    void take()
    {
        fw_pkt pkt;
        came++;
        const PieceList *memory = target();
        check(pkt);
        if (random_() % 1000 < spoil)
            alter(pkt);
        if (pkt.x.checksum != 0 &&
            !fw_checksum_fits(&pkt, reinterpret_cast<const uint8_t *>(in.header()), in.payload_sum(memory))) {
            refused++;
            return;
        }
        fw_fx fx{};
        fw_endpoint *ep = fw_demux(&b.fw, &pkt, &fx);
        REQUIRE(ep);
        const int more = fw_rx(ep, &pkt, now, &fx);
        execute(fx, in.payload());
        if (more)
            drain(in.payload());
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
            messages.at(fx.u.msg.u.pull.cookie).done = true;
        }
        if (fx.kind != FW_FX_COPY)
            return;
        (payload ? moved : placed)++;
        if (payload)
            messages.at(fx.u.copy.cookie).target.list.copy_in(fx.u.copy.position, payload, fx.u.copy.length);
    }

    void serve(const Frame &frame)
    {
        fw_pkt pkt;
        REQUIRE(fw_check(&sizes, mac_a, frame.data(), static_cast<uint32_t>(frame.size()), &pkt) == 0);
        fw_fx fx{};
        fw_endpoint *ep = fw_demux(&a.fw, &pkt, &fx);
        REQUIRE(ep);
        fw_rx(ep, &pkt, now, &fx);
        if (fx.kind != FW_FX_REPLIES)
            return; // its window is closed
        REQUIRE(int(fx.u.replies.reply.x.carrier) == FW_BY_TCP);
        REQUIRE(out.add(windows, fx.u.replies));
    }

    const uint16_t packet_;
    const unsigned pieces_more_;
    std::vector<std::byte> left_; ///< of the middle
    std::mt19937_64 random_{7};
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
