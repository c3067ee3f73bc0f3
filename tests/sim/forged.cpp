// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Control frames that a stranger sends in the name of a peer (docs/protocol.md, Trust): checked traffic
// passes all the same, and a peer that really went away is noticed at once.
#include "forger.hpp"

namespace emx::sim {
namespace {

constexpr uint64_t few_rounds = 500 * us; // a few round trips between programs that look every 20 us
constexpr uint32_t foreign_session = 0x0f0f0f0f;

/// One frame of an attack, the number `i`, in the name of endpoint `from` of that host.
using Attack = std::function<void(Partners &, uint32_t host, uint8_t from, uint8_t to, uint32_t i)>;

Attack connects(uint32_t with_key, bool known_session)
{
    return [=](Partners &p, uint32_t host, uint8_t from, uint8_t to, uint32_t i) {
        const uint32_t session = known_session ? (host ? p.two : p.one).session() : foreign_session + i;
        p.forger.connect(host, from, to, session, with_key, static_cast<uint16_t>(i << 14 | 1));
    };
}

/// Refusals of all numbers, the last of them again and again, and now and then of a connect.
void refusals(Partners &p, uint32_t host, uint8_t from, uint8_t to, uint32_t i)
{
    const auto reason = static_cast<uint8_t>(EMX_NACK_BAD_ENDPOINT + i % 3);
    const Partner *partner = host ? p.one.partner(p.to_two) : p.two.partner(p.to_one);
    for (const uint32_t number : {i, uint32_t{partner->sender.next} - 1u, 0u})
        p.forger.refuse(host, from, to, reason, static_cast<uint16_t>(number));
}

const struct {
    const char *what;
    uint32_t frames;
    Attack attack;
} attacks[] = {
    {"a wrong key and another session", 1000, connects(key + 1, false)},
    {"the right key and another session", 1000, connects(key, false)},
    {"a wrong key and the session of the peer", 1000, connects(key + 1, true)},
    {"the right key and the session of the peer", 1000, connects(key, true)},
    {"refusals", 1 << 16, refusals},
};

} // namespace

TEST_CASE("forged connects and refusals end nothing")
{
    const char *extension = GENERATE("1", "0");
    for (const auto &a : attacks)
        DYNAMIC_SECTION(a.what << ", extension " << extension)
        {
            Partners p(extension);
            uint32_t i = 0;
            std::function<void()> next = [&] {
                a.attack(p, 0, 1, 2, i);
                a.attack(p, 1, 2, 1, i);
                if (++i < a.frames)
                    p.bench.world.after(3 * us, next);
            };
            next();
            while (i < a.frames) {
                p.bench.exchange(p.one, p.to_two, p.two);
                p.bench.exchange(p.two, p.to_one, p.one);
            }
            CHECK(p.one.partner(p.to_two)->life.is_connected());
            CHECK(p.two.partner(p.to_one)->life.is_connected());
            p.bench.pass(sec);
            p.bench.exchange(p.one, p.to_two, p.two);
        }
}

TEST_CASE("no number of an inquiry is guessed by a flood of refusals")
{
    constexpr uint64_t seeds = 12; // eight guesses at each copy of an inquiry would hit in every third
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        CAPTURE(seed);
        Partners p("0", {}, {}, seed);
        uint32_t i = 0;
        const std::function<void()> next = [&] {
            refusals(p, 0, 1, 2, i);
            refusals(p, 1, 2, 1, i);
            if (++i < 1 << 15)
                p.bench.world.after(3 * us, next);
        };
        next();
        while (i < 1 << 15) {
            p.bench.exchange(p.one, p.to_two, p.two);
            p.bench.exchange(p.two, p.to_one, p.one);
        }
        CHECK(p.one.partner(p.to_two)->life.is_connected());
        CHECK(p.two.partner(p.to_one)->life.is_connected());
    }
}

TEST_CASE("forged refusals end nothing while the partner computes")
{
    for (const auto &a : attacks)
        DYNAMIC_SECTION(a.what)
        {
            Partners p("0");
            p.two.task = [&] { p.two.process->sleep(2 * sec); };
            mx_request_t request{};
            p.post(p.one, p.to_two, request);
            for (uint32_t i = 0; i < a.frames; i++) {
                a.attack(p, 1, 2, 1, i);
                if (i % 64 == 0)
                    p.bench.pass(100 * us);
            }
            CHECK(p.end_of(p.one, request) == MX_STATUS_SUCCESS);
            p.bench.exchange(p.one, p.to_two, p.two);
        }
}

TEST_CASE("a peer that went away is noticed at once: it refuses messages")
{
    for (const bool restarts : {false, true}) {
        CAPTURE(restarts);
        Partners p("1");
        p.close(p.two);
        if (restarts) {
            p.bench.start(1, 2, "1");
            p.bench.pass(ms);
        }
        mx_request_t request{};
        p.post(p.one, p.to_two, request, true);
        const uint64_t start = p.bench.world.now();
        CHECK(p.end_of(p.one, request) == (restarts ? MX_STATUS_BAD_SESSION : MX_STATUS_ENDPOINT_CLOSED));
        CHECK(p.bench.world.now() - start < few_rounds);
        CHECK(p.one.partner(p.to_two)->life.is_dead());
    }
}

TEST_CASE("a peer that went away is noticed when a flood of refusals has ceased")
{
    Partners p("1");
    p.close(p.two);
    mx_request_t request{};
    p.post(p.one, p.to_two, request, true);
    for (uint32_t i = 0; i < 64; i++)
        refusals(p, 1, 2, 1, i);
    const uint64_t start = p.bench.world.now();
    CHECK(p.end_of(p.one, request) == MX_STATUS_ENDPOINT_CLOSED);
    CHECK(p.bench.world.now() - start < 3 * sec);
}

TEST_CASE("a peer that starts again is noticed at once: it connects, with any key")
{
    for (const uint32_t with : {key, key + 1}) {
        CAPTURE(with);
        Partners p("1");
        mx_request_t request{};
        p.post(p.one, p.to_two, request, true);
        p.bench.pass(100 * ms);
        p.close(p.two);
        Player &again = p.bench.start(1, 2, "1");
        p.bench.pass(ms);
        const uint64_t start = p.bench.world.now();
        mx_return_t code = MX_FAILURE;
        p.bench.tell(again, [&] {
            mx_endpoint_addr_t address{};
            code = mx_connect(again.ep, p.bench.mac(0), 1, with, MX_INFINITE, &address);
        });
        CHECK(code == (with == key ? MX_SUCCESS : MX_BAD_CONNECTION_KEY));
        CHECK(p.end_of(p.one, request) == MX_STATUS_BAD_SESSION);
        CHECK(p.bench.world.now() - start < few_rounds);
        if (with == key)
            p.bench.exchange(again, p.bench.connect(again, p.bench.mac(0), 1), p.one);
    }
}

} // namespace emx::sim
