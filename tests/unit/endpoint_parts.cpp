// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The parts of an endpoint, each built alone and held to its duty; those of partners: partner_parts.cpp.
#include "libmx/match/completions.hpp"
#include "libmx/match/matcher.hpp"
#include "libmx/partner/partner.hpp"
#include "libmx/progress/gate.hpp"
#include "libmx/progress/pass_clock.hpp"
#include "libmx/progress/patience.hpp"
#include "libmx/progress/waiter.hpp"
#include "libmx/proto/pulls.hpp"
#include "libmx/proto/windows.hpp"
#include "libmx/reliab/tx_pool.hpp"

#include "libmx/endpoint/endpoint.hpp" // a slot destroys its endpoint

#include "tests/support/rng.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <thread>
#include <vector>

using namespace emx;

namespace {

emx_msg message(uint64_t match, uint32_t length = 0)
{
    emx_msg msg{};
    msg.type = EMX_SMALL;
    msg.match = match;
    msg.msg_len = msg.data_len = length;
    return msg;
}

} // namespace

// ---- matching

TEST_CASE("matcher: a message finds the oldest receive that fits, a receive the oldest message")
{
    RequestPool pool(0);
    IncomingPool incoming;
    Matcher matcher;
    Request *any = pool.allocate(RequestKind::receive), *one = pool.allocate(RequestKind::receive);
    any->match = any->mask = 0;
    one->match = 1;
    one->mask = ~uint64_t{0};
    CHECK(matcher.post(any) == nullptr);
    CHECK(matcher.post(one) == nullptr);
    CHECK(matcher.is_awaited(1));
    CHECK(matcher.take(1) == any);
    CHECK_FALSE(matcher.is_awaited(2));
    CHECK(matcher.take(2) == nullptr);
    CHECK(matcher.take(1) == one);
    CHECK(matcher.arrivals() == 0);

    Incoming *first = incoming.make(nullptr, message(7)), *second = incoming.make(nullptr, message(7));
    matcher.keep(first);
    matcher.keep(second);
    CHECK(matcher.arrivals() == 2);
    CHECK(matcher.probe(7, ~uint64_t{0}) == first);
    CHECK(matcher.probe(8, ~uint64_t{0}) == nullptr);
    CHECK(matcher.post(any) == first);
    CHECK(matcher.first_unexpected() == second);
    matcher.remove(second);
    CHECK(matcher.first_unexpected() == nullptr);
    CHECK(matcher.post(any) == nullptr);
    matcher.withdraw(any);
    CHECK_FALSE(matcher.is_awaited(7));
    incoming.release(first);
    incoming.release(second);
    CHECK(incoming.alive() == 0);
}

TEST_CASE("posted queue: walked or looked up, the oldest that fits is found, with whatever others wait")
{
    constexpr uint64_t masks[] = {~uint64_t{0}, ~uint64_t{0xff}, 0xf0, 0};
    constexpr uint64_t values = 1 << 14; // 64 of the second mask: most are behind a long walk
    test::Rng rng(31);
    PostedQueue queue;
    std::vector<std::unique_ptr<Request>> posted; // in their order
    std::size_t longest = 0;
    for (unsigned round = 0; round < 40; ++round) {
        const std::size_t wanted = rng.below(round % 2 ? 100 : 20); // beyond every limit, and back
        while (posted.size() != wanted) {
            if (posted.size() < wanted) {
                posted.push_back(std::make_unique<Request>());
                Request &recv = *posted.back();
                recv.mask = masks[rng.below(round % 4 < 2 ? 2 : 4)]; // the open ones are soon found
                recv.match = rng.below(values) & recv.mask;
                queue.push_back(&recv);
            } else {
                const auto gone = posted.begin() + static_cast<std::ptrdiff_t>(rng.below(posted.size()));
                queue.remove(gone->get());
                posted.erase(gone);
            }
            longest = std::max(longest, posted.size());
            const bool known = rng.coin() && !posted.empty(); // then others may fit as well
            const uint64_t bits = known ? posted[rng.below(posted.size())]->match : rng.below(values);
            const auto oldest = std::find_if(posted.begin(), posted.end(), [bits](const auto &recv) {
                return (bits & recv->mask) == recv->match;
            });
            REQUIRE(queue.find(bits) == (oldest == posted.end() ? nullptr : oldest->get()));
            REQUIRE(queue.size() == posted.size());
        }
    }
    REQUIRE(longest > 64);
}

TEST_CASE("matcher: the bytes of unexpected messages are bounded, those of rendezvous but for their headers")
{
    IncomingPool incoming;
    Matcher matcher;
    Incoming *in = incoming.make(nullptr, message(1, 1000)), *rndv = incoming.make(nullptr, message(1, 1000));
    rndv->rendezvous = true;
    matcher.charge(in);
    CHECK(in->held == 0); // no bound, no books
    CHECK_FALSE(matcher.is_bounded());
    matcher.set_bound(sizeof(Incoming) + 1001);
    matcher.charge(in);
    CHECK(in->held == sizeof(Incoming) + 1000);
    CHECK_FALSE(matcher.is_full());
    matcher.charge(rndv);
    CHECK(rndv->held == sizeof(Incoming));
    CHECK(matcher.is_full());
    matcher.discharge(in);
    CHECK(in->held == 0);
    CHECK_FALSE(matcher.is_full());
    incoming.release(in);
    incoming.release(rndv);
}

TEST_CASE("a message that is made again knows nothing of the one before")
{
    IncomingPool pool;
    Incoming *in = pool.make(nullptr, message(7, 1000));
    in->storage = std::make_unique<std::byte[]>(1000);
    in->view = in->storage.get();
    in->rendezvous = in->complete = in->discard = true;
    in->held = 5;
    pool.release(in);
    CHECK(pool.alive() == 0);
    in = pool.make(nullptr, message(8));
    CHECK(in->match == 8);
    CHECK_FALSE(in->storage);
    CHECK(in->view == nullptr);
    CHECK_FALSE((in->rendezvous || in->complete || in->discard));
    CHECK(in->held == 0);
    CHECK(pool.alive() == 1);
    pool.release(in);
}

TEST_CASE("incoming list: first in, first out; doomed messages leave from any place")
{
    IncomingPool pool;
    IncomingList list;
    std::array<Incoming *, 4> all{};
    for (auto &in : all)
        list.push_back(in = pool.make(nullptr, message(0)));
    list.remove(all[3]); // the tail
    list.push_back(all[3]);
    list.remove(all[0]);
    list.remove(all[2]);
    CHECK(list.pop_front() == all[1]);
    CHECK(list.pop_front() == all[3]);
    CHECK(list.empty());
    list.push_back(all[0]);
    IncomingList other = list.take();
    CHECK(list.empty());
    CHECK(other.front() == all[0]);
    std::vector<Incoming *> ended;
    other.remove_if([](Incoming *) { return true; }, [&](Incoming *in) { ended.push_back(in); });
    CHECK(ended == std::vector{all[0]});
    CHECK(other.empty());
    CHECK(pool.alive() == 4);
    for (Incoming *in : all)
        pool.release(in);
    CHECK(pool.alive() == 0);
}

TEST_CASE("incoming: its data outlives the frame, and the handler sees the data of one packet")
{
    IncomingPool pool;
    std::array<std::byte, 8> frame{};
    frame[7] = std::byte{7};
    Incoming *in = pool.make(nullptr, message(0, 8));
    in->view = frame.data();
    CHECK(in->shown(8) == nullptr); // not complete
    in->complete = true;
    CHECK(in->shown(8) == frame.data());
    CHECK(in->shown(7) == nullptr); // would have been two fragments
    in->own_data();
    frame[7] = std::byte{0};
    CHECK(in->view == nullptr);
    CHECK(in->shown(8)[7] == std::byte{7});
    pool.release(in);

    Incoming *empty = pool.make(nullptr, message(0));
    empty->complete = true;
    CHECK(empty->shown(8) != nullptr);
    pool.release(empty);
}

TEST_CASE("incoming: fragments go into the bound receive, into storage without one, nowhere when discarded")
{
    IncomingPool pool;
    std::array<std::byte, 4> piece{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
    std::array<std::byte, 6> room{};
    emx_msg fragment = message(0, 8);
    fragment.data_len = 4;
    fragment.u.medium.position = 4;
    fragment.data = reinterpret_cast<uint64_t>(piece.data());
    RequestPool requests(0);
    Request *recv = requests.allocate(RequestKind::receive);
    const Segment segment{room.data(), room.size()};
    recv->segments.assign(&segment, 1);
    recv->room = room.size();

    Incoming *in = pool.make(nullptr, fragment);
    in->recv = recv;
    in->store(fragment);
    CHECK(room == std::array<std::byte, 6>{{{}, {}, {}, {}, std::byte{1}, std::byte{2}}});
    CHECK(in->storage == nullptr);
    in->recv = nullptr;
    in->store(fragment);
    CHECK(std::equal(piece.begin(), piece.end(), in->storage.get() + 4));
    pool.release(in);

    Incoming *unwanted = pool.make(nullptr, fragment);
    unwanted->discard = true;
    unwanted->store(fragment);
    CHECK(unwanted->storage == nullptr);
    pool.release(unwanted);
    requests.release(recv);
}

TEST_CASE("completions: an ended request is found once; a forgotten one frees itself and tells its failure")
{
    RequestPool pool(0);
    Completions completions(pool);
    Request *asked = pool.allocate(RequestKind::send), *hidden = pool.allocate(RequestKind::connect);
    Request *forgotten = pool.allocate(RequestKind::send), *late = pool.allocate(RequestKind::send);
    asked->match = 5;
    hidden->hidden = true;
    completions.complete(hidden, MX_STATUS_SUCCESS);
    CHECK(completions.oldest() == nullptr);
    completions.complete(asked, MX_STATUS_SUCCESS);
    CHECK(completions.oldest() == asked);
    CHECK(completions.find(5, ~uint64_t{0}) == asked);
    CHECK(completions.find(6, ~uint64_t{0}) == nullptr);
    completions.remove(asked);
    completions.remove(hidden);
    CHECK(completions.oldest() == nullptr);

    completions.forget(forgotten);
    CHECK(pool.live() == 4);
    completions.complete(forgotten, MX_STATUS_TIMEOUT);
    CHECK(pool.live() == 3);
    completions.complete(late, MX_STATUS_ENDPOINT_CLOSED);
    completions.forget(late);
    CHECK(pool.live() == 2);
    CHECK(completions.count() == 4);
    CHECK(completions.any_lost());
    CHECK(completions.take_lost() == std::vector<int>{MX_STATUS_TIMEOUT, MX_STATUS_ENDPOINT_CLOSED});
    CHECK_FALSE(completions.any_lost());
}

TEST_CASE("completions: a deadline ends with its request, or is taken back once")
{
    RequestPool pool(0);
    Completions completions(pool);
    Request *request = pool.allocate(RequestKind::send);
    CHECK_FALSE(completions.any_deadline());
    completions.set_deadline(request, 100);
    CHECK(request->expires_ns == 100);
    CHECK(completions.any_deadline());
    completions.clear_deadline(request);
    completions.clear_deadline(request);
    CHECK_FALSE(completions.any_deadline());
    completions.set_deadline(request, 200);
    completions.complete(request, MX_STATUS_SUCCESS);
    CHECK_FALSE(completions.any_deadline());
    completions.set_default_budget(3);
    CHECK(completions.default_budget_ns() == 3);
}

// ---- windows and pulls

TEST_CASE("windows: the first 128 have ids of their own, and all have places of their own")
{
    TxPool pool;
    WindowTable windows(41);
    std::vector<TxMessage *> all;
    std::set<unsigned> ids, places;
    while (!windows.is_full()) {
        TxMessage *tx = pool.allocate(0);
        windows.take(tx);
        REQUIRE(tx->has_window);
        const auto &window = tx->header.u.window;
        REQUIRE(windows.find(window.id, window.tag) == tx);
        if (all.empty())
            CHECK(window.tag == 42);
        ids.insert(window.id);
        places.insert(fw_window_slot(window.id, window.tag));
        all.push_back(tx);
        if (all.size() == WindowTable::alone_max)
            CHECK(ids.size() == all.size());
    }
    CHECK(all.size() == WindowTable::windows_max);
    CHECK(places.size() == all.size());
    CHECK(windows.used() == WindowTable::windows_max);
    const auto before = all[9]->header.u.window;
    windows.release(all[9]);
    CHECK_FALSE(windows.is_full());
    CHECK_FALSE(all[9]->has_window);
    CHECK(windows.find(before.id, before.tag) == nullptr);
    windows.take(all[9]);
    CHECK(windows.is_full());
    const auto &again = all[9]->header.u.window;
    CHECK((again.id != before.id || again.tag != before.tag));
    for (TxMessage *tx : all) {
        windows.release(tx);
        pool.release(tx);
    }
    CHECK(windows.used() == 0);
}

TEST_CASE("windows: an old tag finds nothing in its place")
{
    TxPool pool;
    WindowTable windows(0);
    TxMessage *tx = pool.allocate(0);
    windows.take(tx);
    const auto window = tx->header.u.window;
    CHECK(windows.find(window.id, static_cast<uint8_t>(window.tag + FW_WINDOWS_PER_ID)) == nullptr);
    CHECK(windows.find(window.id, window.tag) == tx);
    windows.release(tx);
    pool.release(tx);
}

TEST_CASE("pulls: a few at once, but one of each partner, and the others in their order")
{
    Partner busy, other;
    IncomingPool pool;
    Pulls pulls;
    std::vector<Incoming *> all;
    for (std::size_t i = 0; i < Pulls::pulls_max; ++i) {
        REQUIRE(pulls.has_turn(&busy));
        all.push_back(pool.make(&busy, message(0)));
        const uint64_t cookie = pulls.next_cookie();
        pulls.begin(all.back());
        CHECK(all.back()->pull == cookie);
        CHECK(pulls.find(cookie) == all.back());
    }
    CHECK_FALSE(pulls.has_turn(&busy));
    CHECK(pulls.has_turn(&other));
    CHECK(pulls.of(&busy).size() == Pulls::pulls_max);
    CHECK(pulls.of(&other).empty());

    Incoming *first = pool.make(&busy, message(0)), *second = pool.make(&busy, message(0));
    pulls.wait(first);
    pulls.wait(second);
    CHECK(first->pull_waits);
    pulls.forget(first);
    pool.release(first);
    IncomingList waiting = pulls.take_waiting();
    CHECK_FALSE(pulls.any_waits());
    CHECK(waiting.pop_front() == second);
    CHECK(waiting.empty());

    pulls.end(all[0]);
    CHECK_FALSE(all[0]->pulling);
    CHECK(pulls.find(all[0]->pull) == nullptr);
    CHECK(pulls.has_turn(&busy));
    pulls.begin(second);
    CHECK_FALSE(second->pull_waits);
    for (std::size_t i = 1; i < all.size(); ++i)
        pulls.end(all[i]);
    pulls.end(second);
    CHECK_FALSE(pulls.any());
    CHECK(busy.pulls == 0);
    for (Incoming *in : all)
        pool.release(in);
    pool.release(second);
}

// ---- the pass

TEST_CASE("pass clock: read after empty passes, seldom in a stream, at once for the helper")
{
    const auto passes = [](Driver driver, bool found) {
        PassClock clock;
        unsigned n = 0;
        for (; !clock.is_due(); ++n)
            clock.count(driver, found);
        return n;
    };
    CHECK(passes(Driver::application, false) == 4);
    CHECK(passes(Driver::application, true) == 16);
    CHECK(passes(Driver::helper, true) == 1);
    PassClock clock;
    clock.hurry();
    CHECK(clock.is_due());
    clock.restart();
    CHECK_FALSE(clock.is_due());
}

TEST_CASE("pass clock: the earliest timer counts, and frames come before it, but not for ever")
{
    PassClock clock;
    CHECK(clock.timer_ns() == PassClock::never);
    clock.arm(50);
    clock.arm(70);
    CHECK(clock.timer_ns() == 50);
    clock.not_before(60);
    CHECK(clock.timer_ns() == 60);
    clock.disarm();
    CHECK(clock.timer_ns() == PassClock::never);
    CHECK_FALSE(clock.is_behind(false));
    unsigned passes = 0;
    while (clock.is_behind(true))
        ++passes;
    CHECK(passes == PassClock::passes_behind_max);
    CHECK(clock.is_due());
}

TEST_CASE("pass clock: much that is posted is worth a pass")
{
    PassClock clock;
    for (unsigned i = 1; i < PassClock::weight_per_pass; ++i)
        CHECK_FALSE(clock.post(1));
    CHECK(clock.post(1));
    clock.restart_posts();
    CHECK_FALSE(clock.post(1));
    CHECK(clock.post(PassClock::weight_per_pass));
}

TEST_CASE("pass clock: sends that wait for others weigh a pass when they leave")
{
    PassClock clock;
    for (unsigned i = 0; i < 1000; ++i) {
        clock.excuse_send();
        CHECK_FALSE(clock.post(PassClock::weight_of_send));
    }
    clock.charge_sends();
    CHECK(clock.post(PassClock::weight_of_send));
}

TEST_CASE("patience: the core is offered after many empty calls, not while a long message moves")
{
    Patience patience;
    uint64_t served = 0;
    const auto found_nothing = [&](uint32_t limit) {
        return patience.asked_in_vain(limit) && patience.yields(limit, [&] { return served; });
    };
    for (int i = 1; i < 20; ++i)
        CHECK_FALSE(found_nothing(20));
    CHECK(patience.is_waiting());
    served = 1;
    CHECK_FALSE(found_nothing(20)); // it moved
    int calls = 1;
    while (!found_nothing(20))
        ++calls;
    CHECK(calls == 17); // from a waiting program on
    CHECK(patience.frames_seen() == 1);
    calls = 1;
    while (!found_nothing(20))
        ++calls;
    CHECK(calls == 8);
    CHECK_FALSE(found_nothing(0)); // never
    CHECK_FALSE(patience.take_just_found());
    patience.found();
    CHECK_FALSE(patience.is_waiting());
    CHECK(patience.take_just_found());
    CHECK_FALSE(patience.take_just_found());
    patience.polled(5, 20); // as long as twenty calls
    CHECK(found_nothing(20));
    patience.begin_wait(false);
    CHECK_FALSE(patience.is_waiting());
    patience.begin_wait(true);
    CHECK(patience.is_waiting());
}

TEST_CASE("gate: closed by the program and while the handler runs; the handler's thread is known")
{
    EndpointSlot slot;
    Gate gate(slot);
    std::unique_lock lock(slot.mutex);
    CHECK_FALSE(gate.is_closed());
    gate.set_staging(true);
    CHECK_FALSE(gate.may_match());
    gate.set_staging(false);
    CHECK(gate.may_match());
    const int action = gate.run_handler([&] {
        CHECK(slot.mutex.try_lock()); // released
        CHECK(gate.is_closed());
        CHECK_FALSE(gate.may_match());
        CHECK(gate.inside_handler());
        CHECK(slot.users == 1);
        bool elsewhere = true;
        std::thread([&] { elsewhere = gate.inside_handler(); }).join();
        CHECK_FALSE(elsewhere);
        gate.disable(lock); // nothing, in the handler
        slot.mutex.unlock();
        return 3;
    });
    CHECK(action == 3);
    CHECK(slot.users == 0);
    CHECK_FALSE(gate.inside_handler());
    CHECK_FALSE(gate.enable());
    gate.disable(lock);
    CHECK(gate.is_closed());
    CHECK(gate.enable());
    CHECK_FALSE(gate.is_closed());
    gate.disable(lock);
    gate.begin_close();
    CHECK(gate.is_ending());
    CHECK_FALSE(gate.is_lingering());
    CHECK(gate.is_closed());
    gate.begin_linger();
    CHECK(gate.is_ending());
    CHECK(gate.is_lingering());
    CHECK_FALSE(gate.is_closed());
}

TEST_CASE("waiter: the device is woken once for a sleeper whose event has come")
{
    EndpointSlot slot;
    Waiter waiter(slot);
    bool done = false;
    const auto is_done = [&] { return done; };
    const Condition condition(is_done);
    CHECK_FALSE(waiter.is_taken());
    {
        const Waiter::Turn turn(waiter, condition);
        CHECK(waiter.is_taken());
        CHECK_FALSE(waiter.must_wake(1));
        done = true;
        CHECK(waiter.must_wake(1));
        CHECK_FALSE(waiter.must_wake(2)); // it is awake already
    }
    CHECK_FALSE(waiter.is_taken());
    const Waiter::Turn again(waiter, condition);
    CHECK(waiter.must_wake(2));
    const uint32_t epoch = waiter.epoch();
    waiter.wakeup();
    CHECK(waiter.epoch() == epoch + 1);
}

TEST_CASE("waiter: threads beside the sleeper wake when something changes")
{
    EndpointSlot slot;
    Waiter waiter(slot);
    bool asleep = false, awake = false;
    const auto never = [] { return false; };
    const Condition condition(never);
    std::unique_lock lock(slot.mutex);
    const Waiter::Turn turn(waiter, condition);
    std::thread other([&] {
        std::unique_lock mine(slot.mutex);
        asleep = true;
        const uint32_t epoch = waiter.epoch();
        while (waiter.epoch() == epoch)
            waiter.sleep_beside(mine, ~uint64_t{0});
        awake = true;
    });
    while (!asleep) {
        lock.unlock();
        std::this_thread::yield();
        lock.lock();
    }
    waiter.wakeup();
    lock.unlock();
    other.join();
    CHECK(awake);
}
