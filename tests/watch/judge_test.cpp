// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The judge of real frames: it takes the golden ones, and finds every danger that the wire specification
// names, whatever dialects are allowed.
#include "judge.hpp"
#include "order.hpp"

#include <tests/support/golden.hpp>

#include <catch2/catch.hpp>

using namespace emx::watch;
using namespace emx;

namespace {

std::vector<Dialect> dialects(std::initializer_list<const char *> names)
{
    std::vector<Dialect> list;
    for (const char *name : names)
        list.push_back(dialect_of(name).value());
    return list;
}

std::vector<Dialect> all() { return dialects({"W", "N=1500", "N=9000"}); }

/// The file has only the header of frames with much data.
Bytes golden(const char *name)
{
    Bytes frame = test::golden(EMX_WIRE_FOLDER, name);
    const auto stated = [&](size_t at) { return size_t{frame[at]} << 8 | frame[at + 1]; };
    if (frame[16] == EMX_MEDIUM)
        frame.resize(48 + stated(40));
    if (frame[16] == EMX_PULL_REPLY)
        frame.resize(32 + stated(18));
    return frame;
}

Bytes changed(const char *name, size_t at, uint8_t value)
{
    Bytes frame = golden(name);
    frame.at(at) = value;
    return frame;
}

/// Addresses of the golden frames' sender.
constexpr uint64_t host_a = 0x02000000000a, host_b = 0x02000000000b;

struct Danger {
    const char *what;
    Bytes frame;
};

std::vector<Danger> dangers()
{
    Bytes short_frame = golden("truc"), long_raw = golden("beacon"), name = golden("host_reply");
    short_frame.resize(59);
    long_raw.resize(65);
    name[17] = 60; // more than is there
    Bytes far = golden("pull_w"), far_n = golden("pull_n9000");
    far[40] = 0x10; // a skip of 4096
    far_n[50] = 0x23; // of 8968
    far_n[51] = 0x08;
    return {{"short", short_frame},
            {"long RAW", long_raw},
            {"no name", changed("host_reply", 17, 0)},
            {"long name", changed("host_reply", 17, 81)},
            {"name beyond the frame", name},
            {"NACK LIB 0", changed("nack_lib", 19, 0)},
            {"NACK LIB 4", changed("nack_lib", 19, 4)},
            {"NACK LIB 255", changed("nack_lib", 19, 255)},
            {"NACK MCP 0", changed("nack_mcp", 19, 0)},
            {"NACK MCP 5", changed("nack_mcp", 19, 5)},
            {"fragment 32", changed("medium_n9000", 42, 32)},
            {"skip, W", far},
            {"skip, N", far_n}};
}

} // namespace

TEST_CASE("watch__dialects_and_addresses_are_read")
{
    CHECK(dialect_of("W")->sizes.reply == 4096);
    CHECK(dialect_of("N=9000")->sizes.reply == 8968);
    CHECK(dialect_of("N=9000")->model.reply == 8968);
    for (const char *wrong : {"", "N", "N=", "N=12", "N=65536", "N=1500x", "W=1", "w"})
        CHECK_FALSE(dialect_of(wrong));
    CHECK(mac_of("02:45:4d:58:00:01") == 0x02454d580001);
    for (const char *wrong :
         {"", "02:45:4d:58:00", "02:45:4d:58:00:0g", "02-45-4d-58-00-01", "02:45:4d:58:00:011"})
        CHECK_FALSE(mac_of(wrong));
}

TEST_CASE("watch__golden_frames_are_right")
{
    for (const char *name : {"beacon", "host_query", "host_reply", "connect_request", "connect_reply", "tiny",
                             "small", "rndv", "notify", "truc", "nack_lib", "nack_mcp"}) {
        Judge judge(all());
        INFO(name);
        judge.distrust(); // the examples stand alone
        CHECK(judge.judge(golden(name)).empty());
    }
    for (const char *name : {"medium_w", "pull_w", "pull_reply_w"}) {
        INFO(name);
        Judge w(dialects({"W"})), any(all()), n(dialects({"N=1500"}));
        for (Judge *judge : {&w, &any, &n})
            judge->distrust();
        CHECK(w.judge(golden(name)).empty());
        CHECK(any.judge(golden(name)).empty());
        CHECK_FALSE(n.judge(golden(name)).empty());
    }
}

TEST_CASE("watch__every_danger_is_found")
{
    for (const Danger &d : dangers()) {
        INFO(d.what);
        CHECK_FALSE(danger(all(), d.frame).empty());
        Judge judge(all()), only(all());
        judge.distrust();
        only.only_dangers();
        CHECK_FALSE(judge.judge(d.frame).empty());
        CHECK_FALSE(only.judge(d.frame).empty());
    }
    CHECK(Judge(all())
              .judge(changed("nack_lib", 19, 4))
              .starts_with("wire.md 4.13")); // once, not for each dialect
    for (const char *name :
         {"tiny", "nack_lib", "nack_mcp", "host_reply", "beacon", "medium_w", "pull_w", "pull_n9000"}) {
        INFO(name);
        CHECK(danger(all(), golden(name)).empty());
    }
}

TEST_CASE("watch__a_wrong_frame_is_wrong_again")
{
    Judge judge(all());
    judge.distrust();
    const Bytes truc = golden("truc");
    CHECK(judge.judge(truc).empty());
    CHECK_FALSE(judge.judge(truc).empty()); // its counter does not rise
    CHECK_FALSE(judge.judge(truc).empty());
}

TEST_CASE("watch__sessions_and_tags_are_followed_until_frames_are_missed")
{
    Judge judge(all());
    CHECK(judge.judge(golden("connect_request")).empty());
    CHECK(judge.judge(golden("connect_reply")).empty());
    CHECK(judge.judge(golden("tiny")).empty());
    CHECK_FALSE(judge.judge(changed("tiny", 36, 0x77)).empty()); // of no session
    CHECK_FALSE(judge.judge(changed("tiny", 15, 0x77)).empty()); // a tag that nobody told
    judge.distrust();
    CHECK(judge.judge(changed("tiny", 36, 0x77)).empty());
    CHECK(judge.judge(changed("tiny", 15, 0x77)).empty());
}

TEST_CASE("watch__data_by_tcp_is_asked_of_hosts_that_offer_it_and_of_no_stranger")
{
    const auto met = [](const char *request, const char *reply, uint16_t features) {
        Judge judge(all());
        CHECK(judge.judge(golden(request)).empty());
        Bytes answer = golden(reply);
        if (features) {
            answer[50] = static_cast<uint8_t>(features >> 8);
            answer[51] = static_cast<uint8_t>(features);
            const emx_be64 check = emx_put64(fw_offer_check(answer.data()));
            std::copy(check.b, check.b + sizeof check, answer.begin() + 56);
        }
        CHECK(judge.judge(answer).empty());
        return judge;
    };
    /// To B, which is asked for data by A.
    Bytes pull = golden("x_pull_tcp");
    std::copy_n(golden("tiny").begin(), 19, pull.begin());
    pull[16] = EMX_X_PULL;
    std::copy_n(golden("tiny").begin() + 36, 4, pull.begin() + 20);
    Judge stranger = met("connect_request", "connect_reply", 0);
    for (const Bytes &frame : {golden("x_address_tcp"), pull})
        CHECK(stranger.judge(frame).find("without an agreement") != std::string::npos);
    constexpr uint16_t all_but_tcp = EMX_X_TCP - 1;
    Judge older = met("connect_request_offer", "connect_reply_offer", all_but_tcp);
    for (const Bytes &frame : {golden("x_address_tcp"), pull})
        CHECK(older.judge(frame).find("does not take") != std::string::npos);
    Judge ours = met("connect_request_offer", "connect_reply_offer", all_but_tcp | EMX_X_TCP);
    CHECK(ours.judge(golden("x_address_tcp")).empty());
    CHECK(ours.judge(pull).empty());
}

namespace {

/// A tap that some frames wait in, with times of a clock that nobody else has.
struct FakeTap {
    std::vector<std::pair<uint64_t, Bytes>> frames;
    std::size_t next = 0;

    bool ready() const { return next < frames.size(); }
    uint64_t time_ns() const { return frames[next].first; }
    void take(Bytes &frame) { frame = frames[next++].second; }
};

/// The rules that a judge finds broken in the frames of some taps.
std::vector<std::string> broken(std::vector<FakeTap> taps)
{
    Judge judge(all());
    std::vector<std::string> rules;
    Order<FakeTap>(taps).drain([&](const Bytes &frame, int /*tap*/, bool last) {
        const std::string why = judge.judge(frame);
        if (last)
            rules.push_back(why);
        return why.empty();
    });
    return rules;
}

} // namespace

TEST_CASE("watch__clocks_of_processors_that_differ_break_no_rule")
{
    const FakeTap first{{{7, golden("connect_request")}, {9, golden("tiny")}}};
    const FakeTap early{{{1, golden("connect_reply")}}};
    CHECK(broken({first, early}).empty());
    CHECK(broken({early, first}).empty());
    const FakeTap wrong{{{1, changed("nack_lib", 19, 4)}, {2, golden("connect_reply")}}};
    CHECK(broken({wrong, first}).size() == 1);
    CHECK(broken({first, {{{8, golden("connect_reply")}, {10, changed("tiny", 36, 0x77)}}}}).size() == 1);
}

TEST_CASE("watch__options_choose_the_hosts_to_judge")
{
    const Bytes from_b = changed("nack_lib", 19, 4); // B refuses
    Judge judge(all());
    CHECK(judge.is_judged(from_b));
    judge.stranger(host_b);
    CHECK_FALSE(judge.is_judged(from_b));
    CHECK(judge.is_judged(golden("tiny")));
    Judge some(all());
    some.only(host_a);
    CHECK_FALSE(some.is_judged(from_b));
    CHECK(some.is_judged(golden("tiny")));
    Judge spares(all());
    spares.spare(5);
    CHECK(spares.judge(changed("tiny", 20, 9)).empty());
    CHECK_FALSE(spares.judge(changed("small", 20, 9)).empty());
}

TEST_CASE("watch__strangers_are_believed_until_they_break_rules")
{
    Judge judge(all());
    judge.stranger(host_b);
    CHECK(judge.judge(golden("connect_request")).empty());
    judge.overhear(golden("connect_reply"));
    CHECK(judge.trusts());
    CHECK_FALSE(judge.judge(changed("tiny", 36, 0x77)).empty());
    judge.overhear(changed("nack_lib", 19, 9));
    CHECK_FALSE(judge.trusts());
}

TEST_CASE("watch__frames_are_shown")
{
    CHECK(hex({1, 0xab}) == "01 ab\n");
    CHECK(hex(Bytes(17, 0)).size() == 51);
}
