// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The agreement on the EtherMX extension (docs/protocol.md) between simulated programs: who has one with
// whom, through loss, restarts, other versions and strangers. model_sim has strangers that send our own
// frames back.
#include "bench.hpp"

#include <libmx/reliab/sequence.hpp>

namespace emx::sim {
namespace {

/// A host that says what a test wants: endpoint 7 of a board of its own.
class Foreign final : public Station {
public:
    Foreign(Bench &bench, uint32_t number) : bench_(bench), number_(number) { bench.network.attach(*this); }
    uint64_t station_mac() const override { return foreign_mac; }
    uint32_t host_number() const override { return 2; }
    const std::string &name() const override { return name_; }
    void arrive(Frame frame) override
    {
        fw_pkt p;
        if (fw_check(&sizes(), foreign_mac, frame.data(), static_cast<uint32_t>(frame.size()), &p) ||
            p.msg.type != EMX_CONNECT)
            return;
        (p.msg.u.connect.is_reply ? reply : request) = p;
        request_bytes = p.msg.u.connect.is_reply ? request_bytes : frame;
    }

    void ask(uint32_t session, uint64_t offer)
    {
        fw_pkt p = packet(offer);
        p.msg.u.connect.session = session;
        p.msg.u.connect.key = key;
        send(p, {});
    }
    /// Answers the newest request. `stale`: instead of an offer, bytes of a frame behind the reply.
    void answer(uint32_t session, uint64_t offer, const Frame &stale = {})
    {
        fw_pkt p = packet(offer);
        p.msg.session = request.msg.u.connect.session;
        p.msg.u.connect.session = session;
        p.msg.u.connect.is_reply = 1;
        p.msg.u.connect.number = request.msg.u.connect.number;
        send(p, stale);
    }

    fw_pkt request{}, reply{}; ///< newest that came
    uint16_t start = 1; ///< number of a message that it takes next
    Frame request_bytes;

private:
    const fw_sizes &sizes() const { return bench_.hosts[0]->boards[0]->fw().sizes; }
    fw_pkt packet(uint64_t offer) const
    {
        fw_pkt p{};
        p.msg.type = EMX_CONNECT;
        p.src_mac = foreign_mac;
        p.dst_mac = bench_.mac(0);
        p.msg.local_ep = static_cast<uint8_t>(number_);
        p.msg.remote_ep = 7;
        p.msg.match = offer;
        p.msg.u.connect.start = start;
        return p;
    }
    void send(const fw_pkt &p, const Frame &stale)
    {
        Frame frame(EMX_HEADER_MAX);
        frame.resize(std::max<uint32_t>(EMX_FRAME_MIN, fw_encode(&sizes(), &p, frame.data())));
        if (!stale.empty()) {
            frame.resize(stale.size());
            std::copy(stale.begin() + 48, stale.end(), frame.begin() + 48);
        }
        bench_.network.watcher.distrust(); // it does not see what we tell
        bench_.network.send_foreign(*this, frame);
        bench_.pass(ms);
    }

    Bench &bench_;
    uint32_t number_;
    std::string name_ = "foreign";
};

} // namespace

TEST_CASE("two programs agree, each on the other's offer")
{
    for (char dialect : {'W', 'N'}) {
        CAPTURE(dialect);
        Bench b(1, dialect);
        Player &one = b.start(0, 1, "1"), &two = b.start(1, 2, "1");
        b.pass(ms);
        const auto to_two = b.connect(one, b.mac(1), 2), to_one = b.connect(two, b.mac(0), 1);
        const uint16_t frame = dialect == 'W' ? 4144 : 9000;
        CHECK(one.partner(to_two)->way.offer ==
              emx_offer(1, 1, EMX_X_REPORTS | EMX_X_PULLS | EMX_X_FRAGMENTS | EMX_X_PACKS | EMX_X_LONG_PACKS,
                        frame, 32));
        CHECK(two.partner(to_one)->way.offer ==
              emx_offer(1, 1, EMX_X_REPORTS | EMX_X_PULLS | EMX_X_FRAGMENTS | EMX_X_PACKS | EMX_X_LONG_PACKS,
                        frame, 32));
    }
}

TEST_CASE("a program that turned it off agrees with nobody, and every message arrives")
{
    for (const char *setting : {"11", "10", "01", "00"}) {
        CAPTURE(setting);
        Bench b;
        Player &one = b.start(0, 1, setting[0] == '1' ? "1" : "0"),
               &two = b.start(1, 2, setting[1] == '1' ? "1" : "0");
        b.pass(ms);
        const auto to_two = b.connect(one, b.mac(1), 2), to_one = b.connect(two, b.mac(0), 1);
        const bool both = std::string(setting) == "11";
        CHECK((one.partner(to_two)->way.offer != 0) == both);
        CHECK((two.partner(to_one)->way.offer != 0) == both);
        CHECK(b.agreed(one) == (both ? 1 : 0));
        b.exchange(one, to_two, two);
        CHECK(one.frames_served() > 0);
        CHECK(two.frames_served() > 0);
        b.exchange(two, to_one, one);
    }
}

TEST_CASE("a peer that asked us is asked until it answers, though the program has stopped waiting for it")
{
    for (bool own_limit : {false, true}) {
        CAPTURE(own_limit);
        Bench b;
        Player &one = b.start(0, 1, "1");
        b.pass(ms);
        Foreign foreign(b, 1);
        mx_return_t code = MX_SUCCESS;
        mx_status_t status{};
        one.task = [&] {
            mx_endpoint_addr_t address{};
            mx_request_t request{};
            uint32_t done = 0;
            if (!own_limit) {
                code = mx_connect(one.ep, foreign_mac, 7, key, 30, &address);
            } else if (mx_iconnect(one.ep, foreign_mac, 7, key, 0, nullptr, &request) == MX_SUCCESS) {
                mx_set_request_timeout(one.ep, request, 30);
                mx_wait(one.ep, &request, MX_INFINITE, &status, &done);
                code = done && status.code == MX_STATUS_TIMEOUT ? MX_TIMEOUT : MX_FAILURE;
            }
        };
        b.pass(ms);
        foreign.ask(100, 0);
        b.until([&] { return code != MX_SUCCESS; });
        CHECK(code == MX_TIMEOUT);
        foreign.request = {};
        b.until([&] { return foreign.request.msg.type == EMX_CONNECT; });
        foreign.answer(100, 0);
        foreign.request = {};
        b.pass(2 * sec);
        CHECK(foreign.request.msg.type != EMX_CONNECT);
        one.leave = true;
        b.pass(ms);
    }
}

TEST_CASE("lost, repeated and overtaking connects leave nobody behind")
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        CAPTURE(seed);
        Bench b(seed);
        b.network.faults.loss = 300;
        b.network.faults.duplicate = 200;
        b.network.faults.reorder = 300;
        b.network.faults.reorder_delay = 300 * ms;
        Player &one = b.start(0, 1, "1"), &two = b.start(1, 2, "1");
        b.pass(ms);
        const auto to_two = b.connect(one, b.mac(1), 2), to_one = b.connect(two, b.mac(0), 1);
        b.pass(2 * sec);
        CHECK(one.partner(to_two)->way.offer != 0);
        CHECK(two.partner(to_one)->way.offer != 0);
        CHECK(b.agreed(one) == 1);
        CHECK(b.agreed(two) == 1);
    }
}

TEST_CASE("the next owner of an endpoint is asked anew")
{
    for (const bool it_connects : {true, false}) {
        CAPTURE(it_connects);
        Bench b;
        Player &one = b.start(0, 1, "1");
        b.pass(ms);
        uint64_t agreements = 0;
        for (const char *extension : {"1", "0", "1", "1", "0", "0"}) {
            CAPTURE(extension);
            Player &other = b.start(1, 2, extension);
            b.pass(ms);
            if (it_connects)
                b.connect(other, b.mac(0), 1);
            const auto address = b.connect(one, b.mac(1), 2);
            agreements += *extension == '1';
            CHECK((one.partner(address)->way.offer != 0) == (*extension == '1'));
            CHECK(b.agreed(one) == agreements);
            b.exchange(one, address, other);
            other.leave = true;
            b.until([&] { return other.process->done(); });
        }
    }
}

TEST_CASE("only an answer that offers makes an agreement, and only for its session")
{
    const uint64_t offer = emx_offer(
        1, 1, EMX_X_REPORTS | EMX_X_PULLS | EMX_X_FRAGMENTS | EMX_X_PACKS | EMX_X_LONG_PACKS, 4144, 32);
    Bench b;
    Player &one = b.start(0, 1, "1");
    Foreign foreign(b, 1);
    b.pass(ms);
    foreign.ask(100, offer);
    CHECK(foreign.reply.msg.match == offer);
    CHECK(foreign.request.msg.match == offer);
    CHECK(b.agreed(one) == 0); // it asked, and has not answered
    foreign.answer(100, 0);
    CHECK(b.agreed(one) == 0);
    foreign.ask(101, 0); // a stranger in its place, asked before it is answered
    foreign.answer(101, 0, foreign.request_bytes); // with our own offer behind its reply
    CHECK(foreign.reply.msg.match == 0);
    CHECK(b.agreed(one) == 0);
    foreign.ask(102, offer);
    foreign.answer(102, offer);
    CHECK(b.agreed(one) == 1);
    const auto address = b.connect_answered(one, foreign, 102, 0);
    CHECK(one.partner(address)->way.offer == offer); // for as long as the session
    foreign.ask(103, 0);
    foreign.answer(103, 0);
    const auto next = b.connect_answered(one, foreign, 103, 0);
    CHECK(one.partner(next)->way.offer == 0);
    CHECK(b.agreed(one) == 1);
}

TEST_CASE("a stranger that may hold messages of the old life is told to count anew, and no other")
{
    for (const bool took_all : {false, true}) {
        for (const bool gave_up : {false, true}) { // once more, since
            CAPTURE(took_all, gave_up);
            Bench b;
            Player &one = b.start(0, 1, "1");
            one.process->environment.emplace("OMX_RESENDS_MAX", "2"); // a second
            Foreign foreign(b, 1);
            b.pass(ms);
            auto address = b.connect_answered(one, foreign, 100, 0);
            const uint16_t before = foreign.request.msg.u.connect.start;
            b.tell(one, [&] {
                mx_segment_t nothing{};
                mx_request_t request{};
                for (int i = 0; i < 2; i++)
                    mx_isend(one.ep, &nothing, 1, address, 1, nullptr, &request);
                mx_disconnect(one.ep, address);
            });
            mx_request_t request{};
            const auto connect = [&] { mx_iconnect(one.ep, foreign_mac, 7, key, 0, nullptr, &request); };
            b.tell(one, connect);
            if (gave_up) {
                b.pass(2 * sec);
                b.tell(one, connect);
            }
            b.pass(ms);
            foreign.start = took_all ? 3 : 2;
            foreign.answer(100, 0);
            const uint16_t now = foreign.request.msg.u.connect.start;
            CHECK(seq::same_session(before, now) == took_all);
            if (!took_all)
                foreign.answer(100, 0);
            mx_status_t status{};
            uint32_t done = 0;
            b.tell(one, [&] { mx_test(one.ep, &request, &status, &done); });
            REQUIRE(done);
            CHECK(status.code == MX_STATUS_SUCCESS);
            CHECK(one.partner(status.source)->sender.next == foreign.start);
        }
    }
}

TEST_CASE("versions: the newest that both speak, or none")
{
    const struct {
        uint8_t newest, oldest;
        bool agreed;
    } rows[] = {{1, 1, true}, {2, 1, true}, {255, 1, true}, {2, 2, false}, {255, 200, false}};
    uint32_t session = 100;
    for (auto &row : rows) {
        CAPTURE(int(row.newest), int(row.oldest));
        Bench b;
        Player &one = b.start(0, 1, "1");
        Foreign foreign(b, 1);
        b.pass(ms);
        const uint64_t offer = emx_offer(row.newest, row.oldest, 7, 65535, 250);
        foreign.ask(++session, offer);
        CHECK((foreign.reply.msg.match != 0) == row.agreed);
        foreign.answer(session, offer);
        CHECK(b.agreed(one) == row.agreed);
    }
}

TEST_CASE("frames lost in a stream are repeated in round trips")
{
    uint64_t took[2] = {};
    for (const bool extension : {false, true})
        for (uint64_t seed = 1; seed <= 5; seed++) {
            Bench b(seed);
            const char *setting = extension ? "1" : "0";
            Player &one = b.start(0, 1, setting), &two = b.start(1, 2, setting);
            b.pass(ms);
            const auto to_two = b.connect(one, b.mac(1), 2);
            b.connect(two, b.mac(0), 1);
            b.network.faults.loss = 20;
            took[extension] += b.stream(one, to_two, two, 300, 6000);
        }
    CAPTURE(took[0] / us, took[1] / us);
    CHECK(took[1] * 3 < took[0]);
}

} // namespace emx::sim
