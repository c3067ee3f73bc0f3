// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// When a connection that repeats is left (driver/engine/tcp_repeats.hpp).
#include <driver/engine/tcp_repeats.hpp>

#include <catch2/catch.hpp>

#include <cstdint>

using namespace emx;

namespace {

constexpr uint64_t per_look = TcpRepeats::packets_per_look;

/// Looks that follow each other, of a connection that repeats so many segments more between two of them.
class Looks {
public:
    bool look(uint32_t repeated, uint32_t needless)
    {
        told_.repeated += repeated;
        told_.needless += needless;
        return repeats.look(packets_ += per_look, told_);
    }
    /// So many looks, of which one in `each` is lossy; true as soon as the connection is.
    bool any_of(int looks, int each)
    {
        for (int i = 0; i < looks; i++)
            if (look(i % each == 0 ? 1 : 0, 0))
                return true;
        return false;
    }

    TcpRepeats repeats;

private:
    TcpRepeats::Told told_;
    uint64_t packets_ = 0;
};

} // namespace

TEST_CASE("engine_tcp_repeats__a_look_at_repeats_is_due_after_some_packets")
{
    TcpRepeats repeats;
    CHECK(!repeats.is_due(per_look - 1));
    CHECK(repeats.is_due(per_look));
    repeats.look(per_look, {});
    CHECK(!repeats.is_due(2 * per_look - 1));
    CHECK(repeats.is_due(2 * per_look));
}

TEST_CASE("engine_tcp_repeats__a_connection_is_lossy_when_many_looks_are")
{
    CHECK(Looks().any_of(7, 1));
    CHECK(Looks().any_of(40, 2));
    CHECK(Looks().any_of(100, 3));
    CHECK(!Looks().any_of(100000, 4));
    CHECK(!Looks().any_of(100000, 10));
}

TEST_CASE("engine_tcp_repeats__two_lossy_looks_are_enough_where_repeats_are_late")
{
    for (const int between : {0, 15, 16, 100}) {
        Looks looks;
        looks.repeats.expect_late_repeats();
        CHECK(!looks.look(1, 0));
        for (int i = 0; i < between; i++)
            CHECK(!looks.look(0, 0));
        CHECK(looks.look(1, 0) == (between < 16));
    }
}

TEST_CASE("engine_tcp_repeats__a_loss_of_many_segments_at_once_is_one_loss")
{
    Looks looks;
    for (int i = 0; i < 6; i++)
        CHECK(!looks.look(44, 0));
    CHECK(looks.look(44, 0));
}

TEST_CASE("engine_tcp_repeats__repeats_of_what_was_not_lost_do_not_count")
{
    Looks told_at_once;
    for (int i = 0; i < 1000; i++)
        CHECK(!told_at_once.look(10, 10));
    for (int i = 0; i < 6; i++)
        CHECK(!told_at_once.look(10, 9)); // one was lost
    CHECK(told_at_once.look(10, 9));
}

TEST_CASE("engine_tcp_repeats__a_receiver_may_tell_after_the_look_that_nothing_was_lost")
{
    Looks looks;
    for (int i = 0; i < 6; i++)
        CHECK(!looks.look(5, 0)); // taken for lost
    for (int i = 0; i < 2; i++)
        CHECK(!looks.look(0, 15));
    for (int i = 0; i < 6; i++)
        CHECK(!looks.look(5, 0)); // no more than were taken for lost before
    for (int i = 0; i < 6; i++)
        CHECK(!looks.look(0, 5));
}
