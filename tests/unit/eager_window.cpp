// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Estimates of the way to a partner: its round trip, and how many frames it may hold.
#include "libmx/reliab/flight.hpp"
#include "libmx/reliab/round_trip.hpp"

#include <catch2/catch.hpp>

using emx::Flight;
using emx::RoundTrip;

TEST_CASE("round trip: the first sample counts, later ones by an eighth, none as more than a millisecond")
{
    RoundTrip trip;
    CHECK(trip.ns() == 100000);
    trip.take(8000);
    CHECK(trip.ns() == 8000);
    trip.take(16000);
    CHECK(trip.ns() == 9000);
    for (int i = 0; i < 100; i++)
        trip.take(5000000000);
    CHECK(trip.ns() > 990000);
    CHECK(trip.ns() <= 1000000);
    for (int i = 0; i < 100; i++)
        trip.take(0);
    CHECK(trip.ns() > 0);
    CHECK(trip.ns() < 100);
}

TEST_CASE("lateness: a round trip and a quarter, at least 0.1 ms")
{
    RoundTrip trip;
    trip.take(800000);
    CHECK(trip.lateness_ns() == 1000000);
    CHECK(trip.disorder_ns() == 400000);
    for (int i = 0; i < 100; i++)
        trip.take(10000);
    CHECK(trip.lateness_ns() == 100000);
}

TEST_CASE("patience: twice the round trip, at least 0.3 ms, doubled by questions in vain up to 50 ms")
{
    RoundTrip trip;
    trip.take(10000);
    CHECK(trip.patience_ns() == 300000);
    trip.take(1000000);
    CHECK(trip.patience_ns() == 300000);
    for (int i = 0; i < 100; i++)
        trip.take(400000);
    CHECK(trip.patience_ns() == 2 * trip.ns());
    CHECK(trip.patience_ns(0) == trip.patience_ns());
    CHECK(trip.patience_ns(3) == 8 * trip.patience_ns());
    CHECK(trip.patience_ns(7) == 50000000);
    CHECK(trip.patience_ns(100000) == 50000000);
}

TEST_CASE("frames under way: a message leaves at once while they are few")
{
    Flight flight;
    flight.open(32);
    CHECK(flight.at_once == 32);
    flight.hold_beyond(4);
    CHECK(flight.at_once == 4);
    flight.bound(3); // the receiver holds no more
    CHECK(flight.at_once == 3);
    flight.open(16);
    CHECK(flight.at_once == 4);
    CHECK(flight.limit == 16);
    flight.hold_beyond(10);
    flight.halve(1, 5);
    CHECK(flight.at_once == 8);
    flight.widen(5, 20);
    CHECK(flight.at_once == 9);
}

TEST_CASE("frames under way: halved once for a window with losses, not below 4")
{
    Flight flight;
    flight.open(32);
    CHECK(!flight.narrowed());
    flight.halve(100, 110);
    CHECK(flight.limit == 16);
    flight.halve(105, 112); // of the same window
    CHECK(flight.limit == 16);
    flight.halve(110, 120); // the first of the next
    CHECK(flight.limit == 8);
    flight.halve(120, 130);
    flight.halve(130, 140);
    CHECK(flight.limit == 4);
    flight.open(2);
    flight.halve(1, 3);
    CHECK(flight.limit == 2);
}

TEST_CASE("frames under way: one more for each window without loss, up to what the receiver holds")
{
    Flight flight;
    flight.open(32);
    flight.bound(10);
    CHECK(flight.limit == 10);
    flight.bound(64);
    CHECK(flight.limit == 10);
    flight.halve(0x3ffe, 2); // numbers begin again after 0x3fff
    CHECK(flight.limit == 5);
    flight.widen(0x3fff, 3);
    flight.widen(1, 4);
    CHECK(flight.limit == 5);
    flight.widen(2, 7);
    CHECK(flight.limit == 6);
    flight.widen(6, 8);
    CHECK(flight.limit == 6);
    for (uint16_t n = 7; n < 100; n++)
        flight.widen(n, n);
    CHECK(flight.limit == 10);
    CHECK(!flight.narrowed());
}
