// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Pulls by the EtherMX extension (driver/core/fw_ask.c, fw_pace.c, fw_window.c): puller and replier against
// each other.
#include "core_pull_pair.hpp"

#include <functional>

using namespace emx::test;

namespace {

constexpr uint16_t window = 64;

/// A pair whose pulls go by X PULL with frames of that many bytes of data.
struct XPair : PullPair {
    explicit XPair(uint32_t unit, Wire wire = {}, uint64_t seed = 1) : PullPair(sizes_w(), wire, seed)
    {
        extend(static_cast<uint16_t>(FW_X_DATA_HEADER + unit), window);
    }
};

void require_all_ok(PullPair &pair)
{
    pair.run();
    for (auto &[cookie, job] : pair.jobs) {
        REQUIRE(int(job.status) == EMX_PULL_OK);
        REQUIRE(job.length == job.destination.size());
    }
    const fw_endpoint &ep = *pair.puller.fw;
    REQUIRE(ep.outstanding == 0);
    REQUIRE(ep.pulls_active == 0);
    REQUIRE(ep.pace.pulls == 0);
    REQUIRE(ep.pace.granted == 0);
    REQUIRE(fw_deadline(&ep) == ~0ull);
}

uint32_t frames_of(const fw_pkt &request)
{
    uint32_t n = 0;
    for (uint8_t byte : request.x.want)
        n += static_cast<uint32_t>(__builtin_popcount(byte));
    return n;
}

bool wants(const fw_pkt &request, uint32_t frame)
{
    const uint32_t bit = frame - request.frame;
    return frame >= request.frame && bit < 128 && request.x.want[bit / 8] >> bit % 8 & 1;
}

/// Until nothing but answers is on the wire.
void deliver_requests(PullPair &pair)
{
    for (std::size_t i = 0; i < pair.on_wire();)
        if (pair.is_reply(i))
            i++;
        else
            pair.deliver(i);
}

/// The request, as the sender's platform would give it, about the window of the first pull.
fw_fx serve(PullPair &pair, const std::function<void(fw_pkt &)> &change)
{
    fw_pkt pull = pair.requests.at(0);
    pull.msg.peer = pair.peer_of_b;
    pull.src_mac = mac_b;
    change(pull);
    fw_fx fx{};
    fw_rx(pair.sender.fw.get(), &pull, 0, &fx);
    return fx;
}

} // namespace

TEST_CASE("fw_xpull__every_length_and_offset_arrives")
{
    for (uint32_t unit : {64u, 1000u, 4104u, 8974u})
        for (uint32_t frames : {0u, 1u, 2u, 16u, 17u, 128u, 129u, 1024u})
            for (int d : {-1, 0, 1})
                for (uint32_t offset : {0u, 1u, 65535u}) {
                    if (frames == 0 && d < 1)
                        continue;
                    // A thousand frames have the edges of small units; longer ones cost megabytes each time.
                    if (!whole_sweeps && frames == 1024 && unit > 64 && (d || offset))
                        continue;
                    const uint32_t length = frames * unit + static_cast<uint32_t>(d);
                    CAPTURE(unit, length, offset);
                    XPair pair(unit);
                    pair.start(length, offset);
                    require_all_ok(pair);
                    REQUIRE(pair.drops.empty());
                    REQUIRE(pair.copies == (length + unit - 1) / unit);
                    REQUIRE(pair.puller.counters.v[EMX_CNT_RESEND_PULL] == 0);
                }
}

TEST_CASE("fw_xpull__frames_are_as_long_as_both_offers_allow")
{
    const struct {
        uint16_t ours, theirs;
        uint32_t unit; ///< 0: a pull of the dialect
    } rows[] = {{9014, 9014, 8974}, {9014, 1514, 1474}, {1514, 9014, 1474}, {256, 256, 216},
                {0, 9014, 0},       {9014, 0, 0},       {103, 9014, 0}};
    for (auto &row : rows) {
        CAPTURE(row.ours, row.theirs);
        PullPair pair(sizes_w());
        pair.extend(9014, window);
        pair.puller.fw->x_frame = row.ours;
        pair.offer = row.theirs ? emx_offer(1, 1, EMX_X_PULLS, row.theirs, 32) : 0;
        if (!row.unit) // the pair looks at what is sent
            pair.offer = 0;
        pair.start(100000);
        REQUIRE(pair.requests[0].msg.type == (row.unit ? EMX_X_PULL : EMX_PULL));
        if (row.unit)
            REQUIRE(pair.requests[0].x.unit == row.unit);
        require_all_ok(pair);
    }
    PullPair pair(sizes_w());
    pair.extend(9014, window);
    pair.offer = 0;
    emx_msg rndv{};
    rndv.peer = pair.peer_of_a;
    for (uint64_t offer :
         {emx_offer(1, 1, 0xffff & ~EMX_X_PULLS, 9014, 32), emx_offer(1, 1, EMX_X_PULLS, 103, 32)}) {
        rndv.data = offer;
        const int slot = fw_pull_start(pair.puller.fw.get(), &rndv, 100000, 1, 0);
        REQUIRE(pair.puller.fw->pull[slot].is_x == 0);
    }
}

TEST_CASE("fw_xpull__loss_repeats_and_reorder_are_overcome")
{
    uint64_t seed = 1;
    for (uint32_t unit : {64u, 1474u, 8974u})
        for (double loss : {0.01, 0.1, 0.4})
            for (uint32_t by : {1u, 8u, 200u}) {
                CAPTURE(unit, loss, by);
                XPair pair(unit, {loss, 0.05, 0.2, by}, seed++);
                pair.start((whole_sweeps || unit < 2000 ? 1400 : 300) * unit + 7, 13);
                pair.start(100 * unit, 4095);
                pair.start(1);
                require_all_ok(pair);
            }
}

TEST_CASE("fw_xpull__a_lost_frame_is_asked_for_alone_after_three_more")
{
    XPair pair(1000);
    pair.start(200000);
    deliver_requests(pair);
    REQUIRE(pair.on_wire() == 16);
    pair.lose(3);
    const uint64_t begin = pair.now;
    for (int i = 0; i < 3 + 4; i++)
        pair.deliver(0); // 0 to 2, and 4 to 7, of which 4 was the first behind it
    auto again = [](const fw_pkt &r) { return wants(r, 3); };
    REQUIRE(std::count_if(pair.requests.begin(), pair.requests.end(), again) == 1);
    pair.deliver(0);
    require_all_ok(pair);
    REQUIRE(std::count_if(pair.requests.begin(), pair.requests.end(), again) == 2);
    REQUIRE(pair.puller.counters.v[EMX_CNT_RESEND_PULL] == 1);
    REQUIRE(pair.now - begin < 300000 + 250000); // a microsecond a frame: no timer in it
    REQUIRE(pair.drops.empty());
}

TEST_CASE("fw_xpull__lost_and_new_frames_go_into_one_request")
{
    XPair pair(1000);
    pair.start(400000);
    deliver_requests(pair);
    pair.lose(3);
    while (!std::any_of(pair.requests.begin() + 1, pair.requests.end(), [](auto &r) { return wants(r, 3); }))
        pair.deliver(0);
    REQUIRE(pair.requests.back().frame == 3);
    REQUIRE(frames_of(pair.requests.back()) > 1);
    require_all_ok(pair);
}

TEST_CASE("fw_xpull__small_reordering_causes_no_repeat")
{
    XPair pair(1000);
    pair.shuffle(pair.start(500000));
    require_all_ok(pair);
    REQUIRE(pair.puller.counters.v[EMX_CNT_RESEND_PULL] == 0);
}

TEST_CASE("fw_xpull__a_late_first_answer_is_not_the_repeats")
{
    XPair pair(1000);
    pair.start(400000);
    deliver_requests(pair);
    const Frame late = pair.frame_on_wire(0);
    pair.lose(0);
    while (pair.puller.counters.v[EMX_CNT_RESEND_PULL] == 0)
        pair.deliver(0);
    const std::size_t asked = pair.requests.size();
    pair.give(pair.b, late);
    REQUIRE(pair.drops.empty()); // it was taken
    for (std::size_t i = asked; i < pair.requests.size(); i++)
        REQUIRE(!wants(pair.requests[i], 0));
    require_all_ok(pair);
    REQUIRE(pair.drops[EMX_CNT_DROP_REPLY_DUPLICATE] == 1); // the repeat
    REQUIRE(pair.drops.size() == 1);
    REQUIRE(pair.puller.counters.v[EMX_CNT_RESEND_PULL] == 1); // it showed no other to be lost
}

TEST_CASE("fw_xpull__the_tail_is_asked_for_again_after_two_round_trips")
{
    for (uint32_t trip : {20000u, 400000u}) {
        CAPTURE(trip);
        XPair pair(1000);
        pair.start(10000);
        const uint64_t sent = pair.now;
        deliver_requests(pair);
        pair.now = sent + trip - 1000; // a delivery is a microsecond
        for (int i = 0; i < 10; i++)
            pair.deliver(0);
        const auto &known = pair.puller.fw->pace.trip[pair.peer_of_a].ns;
        REQUIRE(known == trip);
        PullJob &job = pair.start(10000);
        deliver_requests(pair);
        while (pair.on_wire() > 2)
            pair.deliver(0);
        pair.lose_wire();
        const uint64_t last = pair.now;
        const std::size_t before = pair.requests.size();
        while (pair.requests.size() == before)
            pair.pass_time();
        REQUIRE(pair.now - last == std::max(3000000u, 2 * known));
        REQUIRE(pair.requests.size() == before + 1);
        REQUIRE(pair.requests.back().frame == 8);
        REQUIRE(frames_of(pair.requests.back()) == 2);
        require_all_ok(pair);
        REQUIRE(job.done);
    }
}

TEST_CASE("fw_xpull__a_sender_that_is_away_is_not_buried_in_repeats")
{
    XPair pair(1000);
    pair.start(1000);
    require_all_ok(pair); // the round trip is known
    pair.start(100000);
    const uint64_t begin = pair.now;
    while (pair.now < begin + 100000000) // its requests wait in its queue
        pair.pass_time();
    uint32_t repeated = 0;
    for (std::size_t i = 2; i < pair.requests.size(); i++)
        repeated += frames_of(pair.requests[i]);
    REQUIRE(pair.requests.size() < 14);
    REQUIRE(repeated < 32);
    require_all_ok(pair);
    REQUIRE(pair.drops[EMX_CNT_DROP_REPLY_DUPLICATE] == repeated);
    REQUIRE(pair.puller.fw->pace.lossy == 0);
}

TEST_CASE("fw_xpull__the_answer_to_the_timers_request_shows_other_losses")
{
    XPair pair(1000);
    pair.start(1000);
    require_all_ok(pair);
    pair.start(100000);
    const uint64_t begin = pair.now;
    pair.lose_wire(); // the only request
    require_all_ok(pair);
    REQUIRE(pair.now - begin < 3000000 + 250000); // one timer, then a microsecond a frame
}

TEST_CASE("fw_xpull__the_budget_grows_to_the_receive_queue_and_loss_takes_an_eighth")
{
    XPair pair(1000);
    const fw_endpoint &ep = *pair.puller.fw;
    pair.start(1000000);
    REQUIRE(ep.outstanding == 16);
    uint32_t most = 0;
    while (ep.pull[0].frame.base < 500) {
        pair.deliver(0);
        most = std::max(most, ep.outstanding);
        REQUIRE(ep.outstanding <= ep.pace.budget);
    }
    REQUIRE(most == window);
    deliver_requests(pair);
    pair.lose(0);
    while (!ep.pace.lossy)
        pair.deliver(0);
    REQUIRE(ep.pace.budget == window - (window + 7) / 8);
    for (uint32_t i = 0; i < window; i++)
        pair.deliver(0);
    REQUIRE(ep.pace.budget < window - (window + 7) / 8 + 3); // by one a round now
    require_all_ok(pair);
}

TEST_CASE("fw_xpull__pulls_share_the_budget_and_take_turns")
{
    XPair pair(1000);
    const fw_endpoint &ep = *pair.puller.fw;
    pair.start(3000000); // comes first and has it all
    while (ep.outstanding < window || !pair.is_reply(0))
        pair.deliver(0);
    for (int i = 0; i < 7; i++)
        pair.start(1000000);
    for (int i = 0; i < 800; i++) {
        REQUIRE(ep.outstanding <= window + 7);
        pair.deliver(0);
    }
    for (int i = 0; i < 8; i++) {
        CAPTURE(i);
        REQUIRE(ep.pull[i].missing >= 4);
        REQUIRE(ep.pull[i].missing <= 12);
    }
    require_all_ok(pair);
}

TEST_CASE("fw_xpull__more_pulls_than_budget_keep_a_frame_each")
{
    PullPair pair(sizes_w(), {0.05, 0, 0, 0});
    pair.extend(1040, 8);
    for (int i = 0; i < 200; i++)
        pair.start(20000);
    REQUIRE(pair.puller.fw->outstanding >= 200);
    REQUIRE(pair.puller.fw->outstanding <= 208); // the first few found some budget left
    require_all_ok(pair);
}

TEST_CASE("fw_xpull__pulls_of_both_kinds_run_beside_each_other")
{
    PullPair pair(sizes_w(), {0.02, 0.02, 0.1, 4});
    pair.puller.fw->pull_repeat_ms = 5;
    pair.extend(9014, window);
    const uint64_t offer = pair.offer;
    std::vector<PullJob *> jobs;
    for (int i = 0; i < 10; i++) {
        pair.mixed = true;
        pair.offer = i % 2 ? offer : 0;
        jobs.push_back(&pair.start(300000 + static_cast<uint32_t>(i)));
    }
    for (std::size_t i = 0; i < jobs.size(); i++)
        REQUIRE(pair.puller.fw->pull[jobs[i]->slot].is_x == i % 2);
    require_all_ok(pair);
}

TEST_CASE("fw_xpull__cancelled_failed_and_refused_pulls_leave_the_others_their_turn")
{
    XPair pair(1000);
    PullJob &one = pair.start(100000), &two = pair.start(100000), &three = pair.start(100000),
            &four = pair.start(100000);
    fw_pull_cancel(pair.puller.fw.get(), one.cookie);
    one.done = true; // no event comes
    fw_pull_fail(pair.puller.fw.get(), two.slot, EMX_PULL_ABORTED);
    pair.drain();
    REQUIRE(int(two.status) == EMX_PULL_ABORTED);
    fw_window_close(pair.sender.fw.get(), 3, 42);
    pair.run();
    REQUIRE(int(three.status) == EMX_PULL_BAD_WINDOW);
    REQUIRE(int(four.status) == EMX_PULL_OK);
    REQUIRE(pair.drops[EMX_CNT_DROP_REPLY_UNKNOWN] > 0);
    REQUIRE(pair.puller.fw->outstanding == 0);
    REQUIRE(pair.puller.fw->pace.granted == 0);
}

TEST_CASE("fw_xpull__without_progress_it_fails")
{
    XPair pair(1000, {1.0, 0, 0, 0});
    pair.puller.fw->pull_limit_ms = 5000;
    const uint64_t begin = pair.now;
    pair.start(100000);
    pair.run();
    REQUIRE(int(pair.jobs[1].status) == EMX_PULL_TIMEOUT);
    REQUIRE(pair.now - begin == 5000 * 1000000ull);
}

TEST_CASE("fw_xpull_serve__refuses_and_drops_requests_that_it_cannot_serve")
{
    XPair pair(1000);
    pair.start(16000, 5);
    auto drop = [&](const std::function<void(fw_pkt &)> &change) {
        const fw_fx fx = serve(pair, change);
        REQUIRE(int(fx.kind) == FW_FX_DROP);
        return int(fx.counter);
    };
    REQUIRE(int(serve(pair, [](fw_pkt &) {}).kind) == FW_FX_REPLIES);
    REQUIRE(drop([](fw_pkt &p) { p.x.unit++; }) == EMX_CNT_DROP_PULL_SHAPE);
    REQUIRE(drop([](fw_pkt &p) { p.msg.u.window.offset++; }) == EMX_CNT_DROP_PULL_RANGE);
    REQUIRE(drop([](fw_pkt &p) {
                p.total = 17000;
                p.frame = 1;
            }) == EMX_CNT_DROP_PULL_RANGE);
    for (auto change : {+[](fw_pkt &p) { p.window = 2; }, +[](fw_pkt &p) { p.msg.u.window.tag++; },
                        +[](fw_pkt &p) { p.msg.remote_ep++; }, +[](fw_pkt &p) { p.msg.session++; }}) {
        const fw_fx fx = serve(pair, change);
        REQUIRE(int(fx.kind) == FW_FX_ANSWER);
        REQUIRE(fx.counter == EMX_CNT_TX_NACK_MCP);
    }
    pair.sender.fw->x_frame = 0; // a platform without X PULL
    REQUIRE(drop([](fw_pkt &) {}) == EMX_CNT_DROP_EXTENSION);
}

TEST_CASE("fw_xpull_data__data_that_was_not_asked_for_is_dropped")
{
    XPair pair(1000);
    pair.start(100500);
    deliver_requests(pair);
    fw_pkt good;
    const Frame &frame = pair.frame_on_wire(2);
    REQUIRE(fw_check(&pair.sizes, mac_b, frame.data(), static_cast<uint32_t>(frame.size()), &good) == 0);
    good.msg.peer = pair.peer_of_a;
    auto give = [&](const std::function<void(fw_pkt &)> &change) {
        fw_pkt p = good;
        change(p);
        fw_fx fx{};
        fw_rx(pair.puller.fw.get(), &p, pair.now, &fx);
        return fx.kind == FW_FX_DROP ? int(fx.counter) : -1;
    };
    REQUIRE(give([](fw_pkt &p) { p.frame = 16; }) == EMX_CNT_DROP_REPLY_SHAPE);
    REQUIRE(give([](fw_pkt &p) { p.frame = ~0u; }) == EMX_CNT_DROP_REPLY_SHAPE);
    REQUIRE(give([](fw_pkt &p) { p.msg.data_len--; }) == EMX_CNT_DROP_REPLY_SHAPE);
    REQUIRE(give([](fw_pkt &p) { p.x.request++; }) == EMX_CNT_DROP_REPLY_SHAPE);
    REQUIRE(give([](fw_pkt &p) { p.x.request = 0; }) == EMX_CNT_DROP_REPLY_SHAPE);
    REQUIRE(give([](fw_pkt &p) { p.handle += 256; }) == EMX_CNT_DROP_REPLY_UNKNOWN);
    REQUIRE(give([](fw_pkt &p) { p.magic ^= 1u << 31; }) == EMX_CNT_DROP_REPLY_UNKNOWN);
    REQUIRE(give([](fw_pkt &p) { p.msg.peer = 7; }) == EMX_CNT_DROP_REPLY_UNKNOWN);
    REQUIRE(give([](fw_pkt &p) { p.msg.type = EMX_PULL_REPLY; }) == EMX_CNT_DROP_REPLY_UNKNOWN);
    REQUIRE(give([](fw_pkt &) {}) == -1);
    REQUIRE(give([](fw_pkt &) {}) == EMX_CNT_DROP_REPLY_DUPLICATE);
}

TEST_CASE("fw_expect__names_the_frames_in_the_order_in_which_they_come")
{
    for (double loss : {0.0, 0.03}) {
        CAPTURE(loss);
        XPair pair(1000, {loss, 0, 0, 0}, 3);
        PullJob &job = pair.start(400500);
        uint64_t hits = 0;
        while (!job.done) {
            if (!pair.on_wire() || !pair.is_reply(0)) {
                pair.on_wire() ? pair.deliver(0) : pair.pass_time();
                continue;
            }
            fw_place expected[FW_PLACES_MAX];
            const fw_endpoint &ep = *pair.puller.fw;
            const uint32_t n = fw_expect(&ep, job.slot, 16, expected);
            REQUIRE(n == std::min(16u, ep.pull[job.slot].missing));
            for (uint32_t i = 0; i < n; i++) {
                REQUIRE(expected[i].position % 1000 == 0);
                REQUIRE(expected[i].length == std::min(1000u, 400500 - expected[i].position));
            }
            const uint32_t frame = (uint32_t(pair.frame_on_wire(0)[30]) << 8 | pair.frame_on_wire(0)[31]);
            hits += n > 0 && expected[0].position == frame * 1000;
            // The frames on the wire now come in the order expected, but for what was lost.
            uint32_t at = 0;
            for (std::size_t w = 0; w < pair.on_wire() && loss == 0 && at < n; w++)
                if (pair.is_reply(w))
                    REQUIRE(expected[at++].position ==
                            (uint32_t(pair.frame_on_wire(w)[30]) << 8 | pair.frame_on_wire(w)[31]) * 1000);
            pair.deliver(0);
        }
        REQUIRE(hits > 370);
        fw_place none[16];
        REQUIRE(fw_expect(pair.puller.fw.get(), job.slot, 16, none) == 0);
    }
}

TEST_CASE("fw_xpull__four_gigabytes_less_one_without_data")
{
    XPair pair(8974);
    fw_endpoint *ep = pair.puller.fw.get();
    emx_msg rndv{};
    rndv.peer = pair.peer_of_a;
    rndv.data = pair.offer;
    const int slot = fw_pull_start(ep, &rndv, 0xffffffff, 1, 0);
    fw_fx fx{};
    while (fw_next(ep, 0, &fx)) {
    }
    bool done = false;
    uint64_t end = 0;
    for (uint32_t k = 0; !done; k++) {
        fw_place next;
        if (fw_expect(ep, slot, 1, &next) != 1 || next.position != end)
            FAIL("nothing expected at frame " << k);
        fw_pkt data = zeroed<fw_pkt>();
        data.msg.type = EMX_X_DATA;
        data.msg.peer = pair.peer_of_a;
        data.handle = ep->pull[slot].handle;
        data.magic = ep->magic;
        data.frame = k;
        data.msg.data_len = next.length;
        data.x.request = ep->pull[slot].frame.by[k % FW_X_SPAN];
        end += next.length;
        int more = fw_rx(ep, &data, 0, &fx);
        if (fx.kind != FW_FX_COPY)
            FAIL("dropped at frame " << k);
        while (more && fw_next(ep, 0, &fx))
            done = done || fx.kind == FW_FX_EVENT;
    }
    REQUIRE(end == 0xffffffffull);
}
