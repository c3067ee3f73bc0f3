// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Puller and replier of large messages (driver/core/fw_pull.c, fw_window.c) against each other.
#include "core_pull_pair.hpp"

#include <optional>

using namespace emx::test;

namespace {

/// The n-th reply that a slot expects next, n < FW_PLACES_MAX; empty when fewer are under way.
std::optional<fw_place> expected(const PullPair &pair, int slot, uint32_t n = 0)
{
    fw_place places[FW_PLACES_MAX];
    if (fw_expect(pair.puller.fw.get(), slot, FW_PLACES_MAX, places) <= n)
        return std::nullopt;
    return places[n];
}

struct Dialect {
    const char *name;
    fw_sizes sizes;
};

std::vector<Dialect> all_sizes()
{
    return {{"W", sizes_w()}, {"N/9000", sizes_n(9000)}, {"N/1500", sizes_n(1500)}, {"N/256", sizes_n(256)}};
}

void require_all_pulled(PullPair &pair)
{
    pair.run();
    for (auto &[cookie, job] : pair.jobs) {
        REQUIRE(int(job.status) == EMX_PULL_OK);
        REQUIRE(job.length == job.destination.size());
    }
    REQUIRE(pair.puller.fw->outstanding == 0);
    REQUIRE(pair.puller.fw->pulls_active == 0);
    REQUIRE(fw_deadline(pair.puller.fw.get()) == ~0ull);
}

std::vector<uint32_t> boundary_lengths(const fw_sizes &s)
{
    std::vector<uint32_t> out{1, 2, 3};
    for (uint32_t base : {s.reply, 2 * s.reply, s.reply * s.block, 4 * s.reply * s.block, 32769u, 32768u})
        for (int d : {-1, 0, 1})
            out.push_back(base + static_cast<uint32_t>(d));
    return out;
}

} // namespace

TEST_CASE("fw_pull__every_boundary_length_arrives")
{
    for (auto &c : all_sizes())
        for (uint32_t length : boundary_lengths(c.sizes)) {
            CAPTURE(c.name, length);
            PullPair pair(c.sizes);
            pair.start(length);
            require_all_pulled(pair);
            REQUIRE(pair.drops.empty());
            REQUIRE(pair.puller.counters.v[EMX_CNT_RESEND_PULL] == 0);
        }
}

TEST_CASE("fw_pull__every_window_offset_arrives")
{
    for (auto &c : all_sizes())
        for (uint32_t offset = 0; offset < 4096; offset += offset < 8 || offset > 4088 ? 1
                                                           : whole_sweeps              ? 127
                                                                                       : 509)
            for (uint32_t length : {1u, c.sizes.reply - 1, c.sizes.reply + 1, 3 * c.sizes.reply, 100000u}) {
                CAPTURE(c.name, length, offset);
                PullPair pair(c.sizes);
                pair.start(length, offset);
                require_all_pulled(pair);
            }
}

TEST_CASE("fw_pull__megabytes_arrive")
{
    for (auto &c : all_sizes()) {
        PullPair pair(c.sizes);
        pair.start(3 * 1024 * 1024 + 77, 5);
        require_all_pulled(pair);
        REQUIRE(pair.copies == (3u * 1024 * 1024 + 77 + 5 + c.sizes.reply - 1) / c.sizes.reply);
    }
}

TEST_CASE("fw_pull__arithmetic_of_section_15_18")
{
    PullPair w(sizes_w());
    w.start(100000, 3840);
    REQUIRE(w.requests.size() == 4);
    const uint32_t want[4][3] = {{0, 3840, 28928}, {8, 0, 32768}, {16, 0, 32768}, {24, 0, 5536}};
    for (int i = 0; i < 4; i++) {
        REQUIRE(w.requests[i].frame == want[i][0]);
        REQUIRE(w.requests[i].skip == want[i][1]);
        REQUIRE(w.requests[i].length == want[i][2]);
        REQUIRE(w.requests[i].total == 100000);
        REQUIRE(w.requests[i].msg.u.window.offset == 3840);
    }
    REQUIRE(expected(w, 0, 9).value().position == 33024);
    require_all_pulled(w);
    REQUIRE(w.requests.size() == 4);

    PullPair n(sizes_n(9000));
    n.start(1000000);
    require_all_pulled(n);
    REQUIRE(n.requests.size() == 4);
    const uint32_t blocks[4] = {286976, 286976, 286976, 139072};
    for (uint32_t i = 0; i < 4; i++) {
        REQUIRE(n.requests[i].frame == 32 * i);
        REQUIRE(n.requests[i].length == blocks[i]);
    }
}

TEST_CASE("fw_pull__a_new_block_when_the_oldest_is_complete")
{
    PullPair pair(sizes_w());
    pair.start(100 * 4096);
    REQUIRE(pair.requests.size() == 4);
    for (int i = 0; i < 4; i++)
        pair.deliver_next(); // the PULLs: 32 replies are under way
    REQUIRE(pair.on_wire() == 32);
    for (int i = 0; i < 7; i++)
        pair.deliver_next();
    REQUIRE(pair.requests.size() == 4);
    pair.deliver_next();
    REQUIRE(pair.requests.size() == 5);
    REQUIRE(pair.requests[4].frame == 32);
    require_all_pulled(pair);
    REQUIRE(pair.requests.size() == 13);
}

TEST_CASE("fw_pull__loss_repeats_and_reorder_are_overcome")
{
    uint64_t seed = 1;
    for (auto &c : all_sizes())
        for (double loss : {0.01, 0.1, 0.4})
            for (uint32_t length : {1u, 100000u, 700001u}) {
                CAPTURE(c.name, loss, length);
                PullPair pair(c.sizes, {loss, 0.05, 0.2, 8}, seed++);
                pair.puller.fw->pull_repeat_ms = 5;
                pair.start(length, 13);
                pair.start(length / 2 + 1, 4095);
                pair.start(4097);
                require_all_pulled(pair);
            }
}

TEST_CASE("fw_pull__every_block_and_window_setting_overcomes_loss")
{
    uint64_t seed = 100;
    for (uint16_t block : {1, 3, 8, 32})
        for (uint16_t window : {1, 8, 31, 64, 400}) {
            CAPTURE(block, window);
            PullPair pair(sizes_n(1500), {0.1, 0.1, 0.3, 40}, seed++);
            pair.puller.fw->pull_block = block;
            pair.puller.fw->pull_window = window;
            pair.puller.fw->pull_repeat_ms = 5;
            pair.start(500000, 1);
            pair.start(400000);
            require_all_pulled(pair);
        }
}

TEST_CASE("fw_pull__small_reordering_causes_no_repeat")
{
    PullPair pair(sizes_w());
    pair.shuffle(pair.start(2000000));
    require_all_pulled(pair);
    REQUIRE(pair.puller.counters.v[EMX_CNT_RESEND_PULL] == 0);
}

TEST_CASE("fw_pull__one_lost_reply_is_asked_for_alone_and_without_the_timer")
{
    PullPair pair(sizes_w());
    pair.start(64 * 4096);
    for (int i = 0; i < 4; i++)
        pair.deliver_next();
    pair.lose(3);
    uint64_t begin = pair.now;
    require_all_pulled(pair);
    REQUIRE(pair.puller.counters.v[EMX_CNT_RESEND_PULL] == 1);
    REQUIRE(pair.now - begin < 1000000); // 1 us a frame: no timer of 1000 ms in it
    auto again =
        std::find_if(pair.requests.begin(), pair.requests.end(), [](auto &r) { return r.frame == 3; });
    REQUIRE(again != pair.requests.end());
    REQUIRE(again->length == 4096);
    REQUIRE(pair.drops.empty());
}

TEST_CASE("fw_pull__a_lost_request_is_repeated_whole_once")
{
    PullPair pair(sizes_w());
    pair.start(64 * 4096);
    pair.lose(1); // the PULL of frames 8 to 15
    uint64_t begin = pair.now;
    require_all_pulled(pair);
    REQUIRE(pair.puller.counters.v[EMX_CNT_RESEND_PULL] == 1);
    REQUIRE(pair.now - begin < 1000000);
    REQUIRE(std::count_if(pair.requests.begin(), pair.requests.end(),
                          [](auto &r) { return r.frame == 8 && r.length == 8 * 4096; }) == 2);
}

TEST_CASE("fw_pull__the_timer_repeats_missing_frames_and_doubles")
{
    PullPair pair(sizes_w());
    pair.puller.fw->pull_repeat_ms = 300;
    pair.start(10 * 4096);
    uint64_t last = pair.now;
    for (uint64_t want : {300, 600, 1000, 1000}) {
        pair.lose_wire();
        std::size_t before = pair.requests.size();
        pair.pass_time();
        REQUIRE(pair.now - last == want * 1000000);
        REQUIRE(pair.requests.size() == before + 2); // 8 frames and 2
        last = pair.now;
    }
    require_all_pulled(pair);
}

TEST_CASE("fw_pull__without_progress_it_fails")
{
    PullPair pair(sizes_w(), {1.0, 0, 0, 0});
    pair.puller.fw->pull_limit_ms = 5000;
    uint64_t begin = pair.now;
    pair.start(100000);
    pair.run();
    REQUIRE(int(pair.jobs[1].status) == EMX_PULL_TIMEOUT);
    REQUIRE(pair.now - begin == 5000 * 1000000ull);
    REQUIRE(pair.puller.counters.v[EMX_CNT_PULL_TIMEOUT] == 1);
    REQUIRE(pair.puller.fw->outstanding == 0);
}

namespace {

/// The sender's answer to a request for the first byte of that pull. It is given here, not by the pair, for a
/// look at the effect.
fw_fx answer_to_request(PullPair &pair, const PullJob &job)
{
    pair.requests.clear();
    fw_pkt pull = zeroed<fw_pkt>();
    pull.msg.type = EMX_PULL;
    pull.msg.local_ep = 2;
    pull.msg.remote_ep = 5;
    pull.msg.session = 0x11223344;
    pull.msg.peer = pair.peer_of_b;
    pull.window = 1;
    pull.msg.u.window.tag = 42;
    pull.length = 1;
    pull.handle = pair.puller.fw->pull[job.slot].handle;
    pull.magic = pair.puller.fw->magic;
    pull.src_mac = mac_b;
    fw_fx fx{};
    fw_rx(pair.sender.fw.get(), &pull, 0, &fx);
    return fx;
}

void require_refusal(PullPair &pair, const PullJob &job, const fw_fx &fx)
{
    REQUIRE(int(fx.kind) == FW_FX_ANSWER);
    REQUIRE(fx.counter == EMX_CNT_TX_NACK_MCP);
    pair.give(pair.b, tx_frame(fx));
    REQUIRE(job.done);
    REQUIRE(int(job.status) == EMX_PULL_BAD_WINDOW);
    pair.give(pair.b, tx_frame(fx)); // a second one refuses nothing
    REQUIRE(pair.drops[EMX_CNT_DROP_NACK] == 1);
}

} // namespace

TEST_CASE("fw_pull__a_closed_window_refuses")
{
    PullPair pair(sizes_w());
    PullJob &job = pair.start(100000);
    fw_window_close(pair.sender.fw.get(), 1, 42);
    require_refusal(pair, job, answer_to_request(pair, job));
}

TEST_CASE("fw_replies_refuse__memory_that_cannot_be_read_refuses")
{
    PullPair pair(sizes_w());
    PullJob &job = pair.start(100000);
    fw_fx replies = answer_to_request(pair, job);
    REQUIRE(int(replies.kind) == FW_FX_REPLIES);
    fw_fx fx{};
    fw_replies_refuse(pair.sender.fw.get(), &replies.u.replies, &fx);
    require_refusal(pair, job, fx);
}

TEST_CASE("fw_pull__cancel_and_fail")
{
    PullPair pair(sizes_w());
    PullJob &one = pair.start(100000);
    PullJob &two = pair.start(100000);
    fw_pull_cancel(pair.puller.fw.get(), one.cookie);
    one.done = true; // no event comes
    fw_pull_fail(pair.puller.fw.get(), two.slot, EMX_PULL_ABORTED);
    pair.drain();
    REQUIRE(two.done);
    REQUIRE(int(two.status) == EMX_PULL_ABORTED);
    REQUIRE(pair.puller.fw->outstanding == 0);
    while (pair.on_wire())
        pair.deliver_next();
    REQUIRE(pair.copies == 0);
    REQUIRE(pair.drops[EMX_CNT_DROP_REPLY_UNKNOWN] > 0);
    REQUIRE(pair.drops.size() == 1);
}

TEST_CASE("fw_pull__256_pulls_share_the_window")
{
    PullPair pair(sizes_w());
    for (int i = 0; i < FW_PULLS - 1; i++)
        pair.start(20 * 4096);
    REQUIRE(pair.puller.fw->outstanding <= pair.puller.fw->pull_window + 8u * FW_PULLS);
    require_all_pulled(pair);
    PullPair full(sizes_w());
    emx_msg rndv{};
    rndv.peer = full.peer_of_a;
    for (uint64_t i = 0; i < FW_PULLS; i++)
        REQUIRE(fw_pull_start(full.puller.fw.get(), &rndv, 1, i, 0) >= 0);
    REQUIRE(fw_pull_start(full.puller.fw.get(), &rndv, 1, 999, 0) == -1);
    REQUIRE(fw_pull_start(full.puller.fw.get(), &rndv, 0, 999, 0) == -1);
}

TEST_CASE("fw_pull__handles_of_a_slot_differ_at_each_use")
{
    PullPair pair(sizes_w());
    std::vector<uint32_t> handles;
    for (int i = 0; i < 3 * FW_PULLS; i++) {
        emx_msg rndv{};
        rndv.peer = pair.peer_of_a;
        int slot = fw_pull_start(pair.puller.fw.get(), &rndv, 1, 77, 0);
        REQUIRE(slot >= 0);
        handles.push_back(pair.puller.fw->pull[slot].handle);
        REQUIRE((handles.back() & 0xff) == static_cast<uint32_t>(slot));
        fw_pull_cancel(pair.puller.fw.get(), 77);
        fw_fx fx{};
        REQUIRE(fw_next(pair.puller.fw.get(), 0, &fx) == 0);
    }
    std::sort(handles.begin(), handles.end());
    REQUIRE(std::adjacent_find(handles.begin(), handles.end()) == handles.end());
}

TEST_CASE("fw_effects_max__is_reached_and_not_passed")
{
    PullPair pair(sizes_n(1500), {1.0, 0, 0, 0});
    fw_endpoint *ep = pair.puller.fw.get();
    ep->pull_block = 1;
    ep->pull_window = 65535;
    for (uint64_t i = 0; i < FW_PULLS; i++) {
        emx_msg rndv{};
        rndv.peer = pair.peer_of_a;
        REQUIRE(fw_pull_start(ep, &rndv, 1000000, i, 0) >= 0);
    }
    fw_fx fx{};
    while (fw_next(ep, 0, &fx)) {
    }
    // Some pulls got more of the window than others: let all reach their limit.
    for (auto &p : ep->pull)
        REQUIRE(p.missing == FW_PULL_FRAMES);
    fw_tick(ep, fw_deadline(ep));
    uint32_t n = 0;
    while (fw_next(ep, fw_deadline(ep) - 1, &fx))
        n++;
    REQUIRE(n == FW_PULLS * FW_PULL_FRAMES);
    REQUIRE(n < FW_EFFECTS_MAX);
}

TEST_CASE("fw_expect__names_every_reply_in_order")
{
    PullPair pair(sizes_n(1500));
    PullJob &job = pair.start(300000, 100);
    uint32_t end = 0, n = 0;
    for (; auto place = expected(pair, job.slot, n); n++) {
        REQUIRE(place->position == end);
        end = place->position + place->length;
    }
    REQUIRE(n == FW_PLACES_MAX);
    REQUIRE(n < pair.puller.fw->outstanding);
    while (!job.done) {
        const auto want = expected(pair, job.slot);
        const uint64_t copies = pair.copies;
        const uint32_t received = pair.puller.fw->pull[job.slot].received;
        pair.deliver_next();
        if (pair.copies == copies)
            continue;
        REQUIRE(want.has_value());
        REQUIRE(std::equal(job.destination.begin() + want->position,
                           job.destination.begin() + want->position + want->length,
                           job.source.begin() + job.offset + want->position));
        REQUIRE((job.done || pair.puller.fw->pull[job.slot].received == received + want->length));
    }
    REQUIRE(!expected(pair, job.slot));
    REQUIRE(!expected(pair, -1));
    REQUIRE(!expected(pair, FW_PULLS));
}

TEST_CASE("fw_expect__of_none_names_none")
{
    PullPair pair(sizes_n(1500));
    PullJob &job = pair.start(300000, 100);
    REQUIRE(fw_expect(pair.puller.fw.get(), job.slot, 0, nullptr) == 0);
    REQUIRE(expected(pair, job.slot));
}

TEST_CASE("fw_expect__skips_the_hole_until_it_was_asked_for_again")
{
    PullPair pair(sizes_w());
    PullJob &job = pair.start(32 * 4096);
    for (int i = 0; i < 4; i++)
        pair.deliver_next();
    pair.lose(1);
    pair.deliver_next(); // frame 0
    pair.deliver_next(); // frame 2
    REQUIRE(expected(pair, job.slot).value().position == 3 * 4096);
    const uint32_t last = pair.puller.fw->outstanding - 1;
    REQUIRE(expected(pair, job.slot, last).value().position == 4096);
    REQUIRE(!expected(pair, job.slot, last + 1));
    require_all_pulled(pair);
}

TEST_CASE("fw_pull__blocks_that_fill_the_span_stay_whole")
{
    PullPair pair(sizes_n(9000));
    const fw_endpoint &ep = *pair.puller.fw;
    pair.start(20 * 32 * pair.sizes.reply);
    REQUIRE(pair.requests.size() * 32 == FW_PULL_FRAMES); // as many as 8 bits can name
    while (pair.open_jobs()) {
        const std::size_t before = pair.requests.size();
        pair.deliver_next();
        REQUIRE(ep.outstanding <= FW_PULL_FRAMES);
        if (pair.requests.size() > before)
            REQUIRE(pair.requests.back().length == 32 * pair.sizes.reply);
    }
    require_all_pulled(pair);
    REQUIRE(pair.requests.size() == 20);
}

TEST_CASE("fw_pull__four_gigabytes_less_one_without_data")
{
    // Replies are made by hand, with headers only: the arithmetic of 2^32 - 1 bytes.
    for (uint32_t offset : {0u, 3840u, 65535u}) {
        PullPair pair(sizes_w());
        fw_endpoint *ep = pair.puller.fw.get();
        emx_msg rndv{};
        rndv.peer = pair.peer_of_a;
        rndv.u.window.offset = offset;
        int slot = fw_pull_start(ep, &rndv, 0xffffffff, 1, 0);
        REQUIRE(ep->pull[slot].frames == (0xffffffffull + offset % 4096 + 4095) / 4096);
        uint64_t end = 0;
        fw_fx fx{};
        bool done = false;
        while (fw_next(ep, 0, &fx)) {
        }
        for (uint32_t k = 0; !done; k++) {
            fw_pkt reply = zeroed<fw_pkt>();
            reply.msg.type = EMX_PULL_REPLY;
            reply.msg.peer = pair.peer_of_a;
            reply.handle = ep->pull[slot].handle;
            reply.magic = ep->magic;
            reply.frame = k & 0xff;
            fw_place next;
            if (fw_expect(ep, slot, 1, &next) != 1)
                FAIL("nothing expected at frame " << k);
            if (next.position != end)
                FAIL("gap at frame " << k);
            reply.position = next.position;
            reply.msg.data_len = next.length;
            end += reply.msg.data_len;
            int more = fw_rx(ep, &reply, 0, &fx);
            if (fx.kind != FW_FX_COPY)
                FAIL("dropped at frame " << k);
            while (more && fw_next(ep, 0, &fx))
                done = done || fx.kind == FW_FX_EVENT;
        }
        REQUIRE(end == 0xffffffffull);
        REQUIRE(fx.kind == FW_FX_NONE);
    }
}
