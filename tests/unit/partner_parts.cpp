// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The parts of a partner and of reliability, each built alone and held to its duty.
#include "libmx/partner/ack_lists.hpp"
#include "libmx/partner/table.hpp"
#include "libmx/proto/frames.hpp"
#include "libmx/reliab/early.hpp"
#include "libmx/reliab/tx_pool.hpp"
#include "libmx/request.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

using namespace emx;

namespace {

TxMessage *numbered(TxPool &pool, uint8_t type)
{
    TxMessage *tx = pool.allocate(0);
    tx->header.type = type;
    return tx;
}

} // namespace

// ---- reliability

TEST_CASE("transmit pool: memory comes back, and zombies are counted until they are buried")
{
    TxPool pool;
    TxMessage *tx = pool.allocate(100);
    std::byte *buffer = tx->buffer;
    REQUIRE(buffer);
    CHECK(pool.make_zombie(tx, 1));
    TxMessage *other = pool.allocate(100);
    CHECK_FALSE(pool.make_zombie(other, 1));
    CHECK_FALSE(other->zombie);
    pool.bury(other);
    pool.bury(tx);
    CHECK(pool.live() == 0);
    TxMessage *again = pool.allocate(200);
    CHECK(again->buffer == buffer);
    CHECK_FALSE(again->zombie);
    CHECK(pool.make_zombie(again, 1));
    pool.bury(again);
    TxMessage *large = pool.allocate(1 << 20);
    CHECK(large->capacity == 1 << 20);
    pool.release(large);
}

TEST_CASE("transmit queue: NOTIFY stands before all else, in its own order")
{
    TxPool pool;
    TxQueue queue;
    std::array<TxMessage *, 4> all = {numbered(pool, EMX_TINY), numbered(pool, EMX_NOTIFY),
                                      numbered(pool, EMX_NOTIFY), numbered(pool, EMX_TINY)};
    queue.push_behind_own_type(all[1]);
    queue.push_back(all[0]);
    queue.push_behind_own_type(all[2]);
    queue.push_back(all[3]);
    CHECK(queue.pop_front() == all[1]);
    CHECK(queue.pop_front() == all[2]);
    CHECK(queue.pop_front() == all[0]);
    CHECK(queue.pop_front() == all[3]);
    CHECK(queue.empty());
    CHECK(queue.tail == nullptr);
    for (TxMessage *tx : all)
        pool.release(tx);
}

TEST_CASE("frames: a message lies in fragments of the way's size, and moves to the extension's")
{
    TxPool pool;
    Way way;
    way.medium_bytes = 100;
    way.eager_max = 32768;
    std::array<std::byte, 250> data{};
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = static_cast<std::byte>(i);
    const Segment whole{data.data(), data.size()};
    TxMessage *tx = make_medium(pool, {&whole, 1}, 250, way);
    CHECK(tx->header.type == EMX_MEDIUM);
    CHECK(tx->frames == 3);
    CHECK(std::equal(data.begin() + 200, data.end(), frame_at(tx, 2)));
    convert_to_extension(pool, tx, way);
    CHECK(tx->header.type == EMX_MEDIUM); // the peer takes none
    way.x_medium_bytes = 150;
    convert_to_extension(pool, tx, way);
    CHECK(tx->header.type == EMX_X_MEDIUM);
    CHECK(tx->frames == 2);
    CHECK(tx->frame_data == 150);
    CHECK(std::equal(data.begin(), data.begin() + 150, frame_at(tx, 0)));
    CHECK(std::equal(data.begin() + 150, data.end(), frame_at(tx, 1)));
    CHECK(pool.live() == 1);
    pool.release(tx);
}

TEST_CASE("resends: the interval doubles up to half a second")
{
    TxMessage tx;
    tx.sent_ns = 1000;
    CHECK(tx.resend_due(50) == 1000 + 50000000);
    tx.resends = 2;
    CHECK(tx.resend_due(50) == 1000 + 200000000);
    tx.resends = 60000;
    CHECK(tx.resend_due(50) == 1000 + 500000000);
}

TEST_CASE("early store: a number keeps its fragments once each, others a single packet; both bounds hold")
{
    EarlyStore store;
    std::unique_ptr<EarlyPackets> packets;
    std::array<std::byte, 4> data{std::byte{9}};
    emx_msg msg{};
    msg.type = EMX_SMALL;
    msg.msg_len = msg.data_len = 4;
    msg.seq = 300;
    msg.data = reinterpret_cast<uint64_t>(data.data());
    CHECK(store.store(packets, msg) == EarlyStore::Stored::kept);
    CHECK(store.store(packets, msg) == EarlyStore::Stored::known);
    data[0] = std::byte{0}; // it was copied
    msg.type = EMX_MEDIUM;
    msg.seq = 301;
    for (uint8_t frag = 0; frag < 3; ++frag) {
        msg.u.medium.frag = frag;
        CHECK(store.store(packets, msg) == EarlyStore::Stored::kept);
    }
    CHECK(store.store(packets, msg) == EarlyStore::Stored::known);
    CHECK(packets->count == 4);

    EarlyPacket *list = EarlyStore::take(*packets, 300);
    CHECK(EarlyStore::take(*packets, 300) == nullptr);
    const auto packet = store.pop(list, packets.get());
    CHECK(list == nullptr);
    CHECK(*reinterpret_cast<const std::byte *>(packet->msg.data) == std::byte{9});
    CHECK(packets->count == 3);
    store.drop(packets);
    CHECK_FALSE(packets);
    CHECK(store.bytes() == 0);

    msg.type = EMX_MEDIUM;
    for (unsigned i = 0; i < EarlyStore::packets_max; ++i) {
        msg.seq = static_cast<uint16_t>(i);
        msg.u.medium.frag = static_cast<uint8_t>(i / 256);
        REQUIRE(store.store(packets, msg) == EarlyStore::Stored::kept);
    }
    msg.u.medium.frag = 9;
    CHECK(store.store(packets, msg) == EarlyStore::Stored::no_room);
    store.drop(packets);
}

TEST_CASE("ack lists: an ack is noted once a partner, and taken with the newest number")
{
    Partner partner, other;
    AckLists acks;
    partner.sender.next = 10;
    acks.note(&partner, 1); // tells nothing
    acks.note(&partner, 12); // beyond what was sent
    CHECK_FALSE(acks.any_noted());
    acks.note(&partner, 4);
    acks.note(&partner, 8);
    acks.note(&partner, 5); // late
    other.sender.next = 3;
    acks.note(&other, 2);
    std::vector<std::pair<Partner *, uint16_t>> taken;
    acks.take([&](Partner *p) { taken.emplace_back(p, p->sender.ack_seen); });
    CHECK(taken ==
          std::vector<std::pair<Partner *, uint16_t>>{{&other, uint16_t{2}}, {&partner, uint16_t{8}}});
    CHECK_FALSE(acks.any_noted());
    acks.note(&partner, 9);
    CHECK(acks.any_noted());
}

TEST_CASE("ack lists: the next look at the clock dates owed acks, once")
{
    Partner partner, paid;
    AckLists acks;
    partner.receiver.owe();
    paid.receiver.owe();
    acks.stamp_later(&partner);
    acks.stamp_later(&partner);
    acks.stamp_later(&paid);
    paid.receiver.acknowledged(); // by a message
    CHECK(acks.any_unstamped());
    CHECK(acks.stamp(77));
    CHECK(partner.receiver.ack_since_ns == 77);
    CHECK(paid.receiver.ack_since_ns == 0);
    CHECK_FALSE(acks.any_unstamped());
    acks.stamp_later(&partner); // has its date
    CHECK_FALSE(acks.any_unstamped());
    CHECK_FALSE(acks.stamp(99));
}

TEST_CASE("ack lists: due acks leave at the end of the pass, unless a message carried them before")
{
    Partner late, quick, asks, away;
    AckLists acks;
    for (Partner *partner : {&late, &quick}) {
        partner->receiver.owe();
        partner->receiver.owe_now();
        acks.send_soon(partner);
    }
    quick.receiver.acknowledged();
    asks.receiver.owes_report = true;
    acks.send_soon(&asks);
    away.receiver.owe();
    acks.stamp_later(&away);
    acks.hurry();
    CHECK(acks.any_due());
    std::vector<Partner *> sent;
    acks.send_due([&](Partner *partner) { sent.push_back(partner); });
    CHECK(sent == std::vector<Partner *>{&late, &asks, &away});
    CHECK_FALSE(acks.any_due());
}

// ---- partners

TEST_CASE("partner table: finds the latest session of an address, and forgets partners that nothing needs")
{
    PartnerTable table;
    const auto live = [&](uint32_t peer) {
        Partner *partner = table.add(std::make_unique<Partner>());
        partner->peer = peer;
        table.set_latest(partner);
        return partner;
    };
    Partner *first = live(1), *second = live(2);
    CHECK(first->first_life);
    CHECK(table.find(1, 0) == first);
    CHECK(table.find(2, 0) == second);
    CHECK(table.find(1, 1) == nullptr);
    CHECK(table.find(3, 0) == nullptr);
    first->life.die(MX_STATUS_BAD_SESSION);
    Partner *renewed = live(1);
    CHECK_FALSE(renewed->first_life);
    CHECK(table.find(1, 0) == renewed);
    CHECK(table.size() == 2);

    table.activate(first);
    table.begin_sweep();
    CHECK_FALSE(first->lists.active);
    first->life.need();
    table.sweep();
    CHECK(table.at(0) == first);
    table.begin_sweep();
    table.sweep();
    CHECK(table.at(0) == nullptr);
    CHECK(table.find(1, 0) == renewed);
}

TEST_CASE("partner table: active partners are served, each may leave while it is")
{
    PartnerTable table;
    std::array<Partner, 3> all;
    for (Partner &partner : all) {
        table.activate(&partner);
        table.activate(&partner);
    }
    std::vector<const Partner *> seen;
    table.each_active([&](Partner *partner) {
        seen.push_back(partner);
        if (partner == &all[1])
            table.deactivate(partner);
    });
    CHECK(seen == std::vector<const Partner *>{&all[2], &all[1], &all[0]});
    seen.clear();
    table.each_active([&](Partner *partner) {
        seen.push_back(partner);
        table.deactivate(partner);
    });
    CHECK(seen == std::vector<const Partner *>{&all[2], &all[0]});
    CHECK(table.first_active() == nullptr);
}

TEST_CASE("partner table: the oldest that still is half open goes first")
{
    PartnerTable table;
    std::vector<Partner *> all;
    for (uint32_t peer = 0; peer < 3; ++peer) {
        all.push_back(table.add(std::make_unique<Partner>()));
        all.back()->life.open();
        table.note_half_open(all.back());
    }
    all[0]->life.keep();
    CHECK(table.take_half_open() == all[1]);
    CHECK(table.take_half_open() == all[2]);
    CHECK(table.take_half_open() == nullptr);
}

TEST_CASE("kept peers: an index is let go with its last partner")
{
    KeptPeers kept;
    CHECK_FALSE(kept.has(4));
    kept.add(4);
    kept.add(4);
    CHECK_FALSE(kept.remove(4));
    CHECK(kept.has(4));
    CHECK(kept.remove(4));
    CHECK_FALSE(kept.has(4));
}

TEST_CASE("life: connecting, half open, connected, dead, and retired once")
{
    Life life;
    CHECK(life.is_connecting());
    life.open();
    CHECK(life.is_half_open());
    life.keep();
    CHECK(life.is_connected());
    life.open();
    CHECK(life.is_connected()); // its index is kept
    CHECK(life.release());
    CHECK_FALSE(life.release());
    life.die(MX_STATUS_TIMEOUT);
    CHECK(life.is_dead());
    CHECK(life.dead_code() == MX_STATUS_TIMEOUT);
    life.need();
    CHECK_FALSE(life.is_needed()); // in use
    CHECK(life.retire());
    CHECK_FALSE(life.retire());
    life.need();
    CHECK(life.is_needed());
    life.begin_sweep();
    CHECK_FALSE(life.is_needed());

    Life asked;
    asked.keep();
    CHECK(asked.is_connecting()); // the peer has not said anything
    asked.open();
    CHECK(asked.is_connected());
}

TEST_CASE("way: X MEDIUM where it saves frames, has sums, or crosses dialects")
{
    Way way;
    way.medium_bytes = 4096;
    way.eager_max = 32768;
    CHECK_FALSE(way.goes_by_extension(8192));
    CHECK(way.frame_bytes(8192) == 4096);
    CHECK_FALSE(way.take_x_medium(0, true));
    CHECK_FALSE(way.take_x_medium(4096, false)); // no fewer frames
    CHECK(way.x_medium_bytes == 0);
    CHECK(way.take_x_medium(8192, false));
    CHECK_FALSE(way.detour);
    CHECK_FALSE(way.goes_by_extension(4096));
    CHECK(way.goes_by_extension(4097));
    CHECK(way.frame_bytes(4097) == 8192);

    Way summed;
    summed.medium_bytes = 4096;
    summed.eager_max = 32768;
    CHECK(summed.take_x_medium(512, true));
    CHECK(summed.eager_max == 512 * EMX_FRAGS_MAX);
    CHECK(summed.detour);
    CHECK(summed.goes_by_extension(1));
}

TEST_CASE("way: a peer's answer shows a wrong dialect")
{
    Way way;
    way.question = 5;
    CHECK(way.dialect == Way::Dialect::unknown);
    CHECK_FALSE(way.is_of_other_dialect());
    way.learn_dialect('W', 'W');
    CHECK(way.dialect == Way::Dialect::shared);
    CHECK(way.question == 0);
    way.learn_dialect('N', 'W');
    CHECK(way.is_of_other_dialect());
    CHECK(way.their_dialect() == 'N');
    way.learn_dialect('W', 'N');
    CHECK(way.their_dialect() == 'W');
}

TEST_CASE("sender: the messages of one frame take the room of one, until the last is acknowledged")
{
    TxPool pool;
    Sender sender;
    sender.flight.open(2);
    sender.open();
    std::array<TxMessage *, 3> all = {numbered(pool, EMX_TINY), numbered(pool, EMX_SMALL),
                                      numbered(pool, EMX_TINY)};
    all[0]->shares_frame = all[1]->shares_frame = true;
    for (TxMessage *tx : all)
        sender.number(tx);
    CHECK(sender.frames_out == 1);
    const auto end = [&](TxMessage *tx) { pool.release(tx); };
    CHECK(sender.acknowledge(3, end));
    CHECK(sender.frames_out == 1);
    CHECK(sender.acknowledge(4, end));
    CHECK(sender.frames_out == 0);
    TxMessage *again = pool.allocate(8);
    CHECK_FALSE(again->shares_frame);
    pool.release(again);
}

TEST_CASE("sender: closed until answered; numbers, window and acks agree")
{
    TxPool pool;
    Sender sender;
    sender.flight.open(2);
    CHECK_FALSE(sender.has_room(1));
    sender.open();
    CHECK(sender.has_room(5)); // alone, a message may be longer than the window
    sender.count_from(20);
    std::array<TxMessage *, 3> all = {numbered(pool, EMX_TINY), numbered(pool, EMX_NOTIFY),
                                      numbered(pool, EMX_TINY)};
    CHECK_FALSE(sender.is_used());
    for (TxMessage *tx : all)
        sender.number(tx);
    CHECK(sender.is_used());
    CHECK(all[2]->header.seq == 22);
    CHECK(sender.frames_out == 2); // NOTIFY takes no room
    CHECK_FALSE(sender.has_room(1));
    std::vector<TxMessage *> ended;
    const auto end = [&](TxMessage *tx) { ended.push_back(tx); };
    CHECK_FALSE(sender.acknowledge(20, end));
    CHECK_FALSE(sender.acknowledge(24, end));
    CHECK(sender.acknowledge(22, end));
    CHECK(ended == std::vector{all[0], all[1]});
    CHECK(sender.has_room(1));
    CHECK(sender.acknowledge(23, end));
    CHECK(sender.unacked.empty());
    CHECK(sender.frames_out == 0);
    sender.count_from(1);
    CHECK_FALSE(sender.is_used());
    CHECK(sender.is_open());
    for (TxMessage *tx : all)
        pool.release(tx);
}

TEST_CASE("sender: announced messages leave from any place, and messages midway are known")
{
    TxPool pool;
    Sender sender;
    sender.open();
    std::array<TxMessage *, 3> all = {numbered(pool, EMX_RNDV), numbered(pool, EMX_RNDV),
                                      numbered(pool, EMX_RNDV)};
    for (TxMessage *tx : all)
        sender.number(tx);
    CHECK(sender.rndv == all[2]);
    sender.unannounce(all[1]);
    CHECK(sender.rndv->rndv_next == all[0]);
    sender.unannounce(all[2]);
    CHECK(sender.rndv == all[0]);
    sender.unannounce(all[0]);
    CHECK(sender.rndv == nullptr);
    CHECK_FALSE(sender.is_midway());
    all[1]->frames = 2;
    CHECK(sender.is_midway());
    sender.forget_queues();
    CHECK_FALSE(sender.is_midway());
    CHECK(sender.frames_out == 0);
    all[0]->header.type = EMX_NOTIFY;
    sender.waiting.push_back(all[0]);
    CHECK(sender.is_midway());
    for (TxMessage *tx : all)
        pool.release(tx);
}

TEST_CASE("sender: questions in vain wait ever longer, an ack makes the next one prompt")
{
    TxPool pool;
    Sender sender;
    sender.open();
    TxMessage *tx = numbered(pool, EMX_TINY);
    sender.number(tx);
    tx->first_ns = tx->sent_ns = 1000;
    const uint64_t patience = sender.round_trip.patience_ns();
    CHECK(sender.question_due() == 1000 + patience);
    CHECK_FALSE(sender.asked_for(tx));
    sender.ask(2000);
    CHECK(sender.asked_for(tx));
    CHECK(sender.question_due() == 2000 + 2 * patience);
    sender.ask(3000);
    CHECK(sender.question_due() == 3000 + 4 * patience);
    sender.question.counter = 7;
    CHECK(sender.take_answer(6, 4000) == 0);
    CHECK(sender.take_answer(7, 3500) == 3000);
    CHECK(sender.round_trip.ns() == 500);
    CHECK(sender.patience_ns == sender.round_trip.patience_ns());
    CHECK(sender.take_answer(7, 4000) == 0); // once
    sender.oldest = 2; // others were acknowledged meanwhile
    CHECK(sender.question_due() == 3000 + sender.round_trip.patience_ns());
    pool.release(tx);
}

TEST_CASE("receiver: a debt grows from ack to ack at once, and any packet pays it")
{
    Receiver receiver;
    CHECK_FALSE(receiver.owes_ack());
    receiver.owe();
    CHECK(receiver.owes_ack());
    CHECK_FALSE(receiver.is_due());
    receiver.owe_now();
    receiver.owe(); // no less urgent
    CHECK(receiver.is_due());
    receiver.done = 9;
    receiver.frames_in = 3;
    receiver.owes_report = true;
    receiver.acknowledged();
    CHECK(receiver.acked == 9);
    CHECK(receiver.frames_in == 0);
    CHECK_FALSE(receiver.owes_ack());
    CHECK(receiver.is_due()); // a message is no report
    receiver.forget_debt();
    CHECK_FALSE(receiver.is_due());
    receiver.count_from(50);
    CHECK(receiver.next == 50);
    CHECK(receiver.acked == 50);
}

TEST_CASE("receiver: a frame is heard once a probe, a message for ever")
{
    Receiver receiver;
    CHECK_FALSE(receiver.take_heard_frame());
    receiver.heard_a_frame();
    CHECK_FALSE(receiver.has_heard_message());
    CHECK(receiver.take_heard_frame());
    CHECK_FALSE(receiver.take_heard_frame());
    receiver.heard = Receiver::heard_frame | Receiver::heard_message;
    CHECK(receiver.take_heard_frame());
    CHECK(receiver.has_heard_message());
}

TEST_CASE("connector: requests in their order, each with a number that its answer names")
{
    Connector connector;
    RequestPool pool(0);
    Request *request = pool.allocate(RequestKind::connect);
    PendingConnect *first = connector.add(1, request, 10), *second = connector.add(2, nullptr, 20);
    CHECK(connector.first() == first);
    CHECK(first->next == second);
    CHECK(connector.find(uint8_t{1}) == second);
    CHECK(connector.find(uint8_t{2}) == nullptr);
    CHECK(connector.find(request) == first);
    CHECK(connector.asked_before(0));
    CHECK_FALSE(connector.asked_before(2));
    connector.renumber_all();
    CHECK(first->number == 2);
    CHECK(connector.find(uint8_t{1}) == nullptr);
    CHECK(connector.inquiry() == nullptr);
    CHECK(connector.code_of_end() == MX_STATUS_ENDPOINT_UNREACHABLE);
    second->inquiry = true;
    second->code = MX_STATUS_BAD_SESSION;
    CHECK(connector.inquiry() == second);
    CHECK(connector.code_of_end() == MX_STATUS_BAD_SESSION);

    Connector next_life;
    next_life.succeed(connector);
    next_life.take_requests(connector);
    CHECK_FALSE(connector.is_asking());
    next_life.drop(first);
    CHECK(next_life.first() == second);
    CHECK(next_life.add(3, nullptr, 30)->number == 4);
}

TEST_CASE("connector: after eight stray refusals none is believed until they cease for a second")
{
    constexpr uint64_t second = 1000000000;
    Connector connector;
    uint64_t now = 100 * second;
    for (int i = 0; i < 8; ++i) {
        CHECK(connector.believes_refusals(now));
        connector.note_stray_refusal(now);
    }
    CHECK_FALSE(connector.believes_refusals(now + second));
    CHECK(connector.believes_refusals(now + second + 1));
    unsigned inquiries = 0;
    while (connector.may_inquire(now) && inquiries < 100000)
        ++inquiries;
    CHECK(inquiries > 0);
    CHECK(inquiries < 100000);
}

TEST_CASE("doubt: a stranger that counts on is doubted until it answers, or deaf once told other bits")
{
    Doubt doubt;
    CHECK_FALSE(doubt.remains(7, 3));
    doubt.begin(7, 3);
    CHECK(doubt.remains(7, 2));
    CHECK_FALSE(doubt.remains(7, 3)); // it has taken all
    CHECK_FALSE(doubt.remains(8, 2)); // another life
    CHECK_FALSE(doubt.remains(7, 0x4002)); // it counts anew
    doubt.end_deafness();
    Doubt next;
    next.inherit(doubt);
    CHECK(next.remains(7, 2));
    next.end_doubt();
    CHECK_FALSE(next.remains(7, 2));

    doubt.tell_other_bits(7);
    CHECK_FALSE(doubt.remains(7, 2));
    CHECK(doubt.is_deaf(7));
    CHECK(doubt.is_deaf(EMX_SESSION_NONE));
    CHECK_FALSE(doubt.is_deaf(8));
    next.inherit(doubt);
    CHECK_FALSE(next.is_deaf(7));
    next.inherit_deafness(doubt);
    CHECK(next.is_deaf(7));
    next.end_doubt();
    CHECK(next.is_deaf(7));
    next.end_deafness();
    CHECK_FALSE(next.is_deaf(7));
    next.tell_other_bits(EMX_SESSION_NONE); // it never took a session
    CHECK_FALSE(next.is_deaf(EMX_SESSION_NONE));
}
