// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// See players.hpp.
#include "players.hpp"

#include <algorithm>

namespace emx::model {

namespace {

constexpr uint64_t patience = 2500 * sec;
constexpr uint64_t from_mask = 0xffull << 56;

} // namespace

Ours::Ours(Cast &cast, sim::Process &process, uint32_t id, test::Rng rng)
    : cast_(cast), process_(process), id_(id), rng_(rng)
{
}

void Ours::complain(const std::string &what)
{
    cast_.book.complain("our endpoint " + std::to_string(id_) + ": " + what);
}

void Ours::expect(mx_return_t code, const char *what)
{
    if (code != MX_SUCCESS)
        complain(std::string(what) + " returned " + mx_strerror(code));
}

void Ours::run()
{
    mx_set_error_handler(MX_ERRORS_RETURN);
    expect(mx_init(), "mx_init");
    expect(mx_open_endpoint(0, cast_.entries[id_].number, program_key, nullptr, 0, &ep_), "mx_open_endpoint");
    cast_.entries[id_].open = true;
    uint64_t end = process_.world().now() + patience;
    while (!cast_.over() && process_.world().now() < end && cast_.book.complaint().empty())
        step();
    settle();
    expect(mx_close_endpoint(ep_), "mx_close_endpoint");
    expect(mx_finalize(), "mx_finalize");
}

void Ours::disconnect()
{
    for (uint32_t to : cast_.others(true)) {
        if (!contacts_[to].connected)
            continue;
        expect(mx_disconnect(ep_, contacts_[to].address), "mx_disconnect");
        cast_.may_part = true;
        cast_.part();
        cast_.disconnects--;
        cast_.restarts_left--;
    }
}

void Ours::step()
{
    id_ = cast_.present(id_);
    if (cast_.disconnects)
        disconnect();
    id_ = cast_.present(id_);
    while (count(Kind::receive) < cast_.plan.receives)
        post_receive();
    start_sends();
    mx_status_t s{};
    uint32_t done = 0;
    expect(mx_wait_any(ep_, 5, 0, 0, &s, &done), "mx_wait_any");
    if (done) {
        auto *op = static_cast<Op *>(s.context);
        completed(*op, s);
        ops_.remove_if([op](Op &o) { return &o == op; });
    }
    if (rng_.chance(cast_.plan.away_permille))
        process_.sleep(rng_.below(cast_.plan.away_max));
}

size_t Ours::count(Kind kind) const
{
    return static_cast<size_t>(
        std::count_if(ops_.begin(), ops_.end(), [&](auto &op) { return op.kind == kind; }));
}

void Ours::start_sends()
{
    bool sent = count(Kind::send) == 0;
    for (uint32_t to : cast_.others(true)) {
        Contact &c = contacts_[to];
        if (!c.connected && !c.connecting && cast_.entries[to].open && cast_.plan.style != Style::theirs)
            start_connect(to, c);
        while (c.connected && c.sent < cast_.plan.messages && count(Kind::send) < cast_.plan.outstanding)
            start_send(to, c);
        sent = sent && c.sent == cast_.plan.messages;
    }
    cast_.entries[id_].sent = sent && count(Kind::send) == 0;
}

void Ours::start_connect(uint32_t to, Contact &contact)
{
    Op &op = ops_.emplace_back();
    op.kind = Kind::connect;
    op.to = to;
    contact.connecting = true;
    expect(mx_iconnect(ep_, cast_.their_mac, cast_.entries[to].number, program_key, to, &op, &op.request),
           "mx_iconnect");
}

void Ours::start_send(uint32_t to, Contact &contact)
{
    Op &op = ops_.emplace_back();
    op.kind = Kind::send;
    op.to = to;
    op.length = cast_.plan.draw_length(rng_);
    op.name = cast_.book.post(id_, to, 0, op.length);
    op.memory = std::make_unique_for_overwrite<std::byte[]>(op.length);
    sim::fill(op.memory.get(), op.name.bits(), op.length);
    mx_segment_t seg{op.memory.get(), op.length};
    expect((rng_.chance(cast_.plan.synchronous_permille) ? mx_issend : mx_isend)(
               ep_, &seg, 1, contact.address, op.name.bits(), &op, &op.request),
           "mx_isend");
    contact.sent++;
}

void Ours::post_receive()
{
    Op &op = ops_.emplace_back();
    op.kind = Kind::receive;
    op.length = rng_.chance(cast_.plan.cut_permille) ? static_cast<uint32_t>(rng_.below(50000))
                                                     : cast_.plan.length_max;
    op.memory = std::make_unique_for_overwrite<std::byte[]>(op.length);
    std::vector<uint32_t> others = cast_.others(true);
    bool wild = std::any_of(ops_.begin(), ops_.end(),
                            [](Op &o) { return o.kind == Kind::receive && o.order && !o.mask; });
    // Some wait for one sender, but never all of them.
    if (!others.empty() && rng_.chance(200) && wild) {
        op.mask = from_mask;
        op.info = uint64_t{others[rng_.below(others.size())]} << 56;
    }
    op.order = ++order_;
    mx_segment_t seg{op.memory.get(), op.length};
    expect(mx_irecv(ep_, &seg, 1, op.info, op.mask, &op, &op.request), "mx_irecv");
}

void Ours::completed(Op &op, const mx_status_t &s)
{
    if (op.kind == Kind::send)
        return send_completed(op, s);
    if (op.kind == Kind::receive)
        return receive_completed(op, s);
    Contact &c = contacts_[op.to];
    c.connecting = false;
    c.connected = s.code == MX_STATUS_SUCCESS;
    c.address = s.source;
    if (!c.connected && !cast_.plan.restarts() && !cast_.entries[op.to].gone && !cast_.part())
        complain("a connect ended with status " + std::to_string(s.code));
}

void Ours::send_completed(const Op &op, const mx_status_t &s)
{
    bool failed = s.code != MX_STATUS_SUCCESS && s.code != MX_STATUS_TRUNCATED;
    if (failed && !cast_.book.flow(op.name.from, op.to).broken && !cast_.part())
        complain("a send of " + std::to_string(op.length) + " bytes ended with status " +
                 std::to_string(s.code));
    cast_.book.send_ended(op.name, failed);
}

void Ours::receive_completed(const Op &op, const mx_status_t &s)
{
    sim::Name n = sim::Name::of(s.match_info);
    if (s.code != MX_STATUS_SUCCESS && s.code != MX_STATUS_TRUNCATED) {
        if (!cast_.book.flow(n.from, n.to).broken && !cast_.part())
            complain("a receive ended with status " + std::to_string(s.code));
        return;
    }
    if (s.xfer_length != std::min(op.length, s.msg_length))
        complain("wrong lengths in the status of a receive");
    const uint32_t at = cast_.addressee(id_, n.to);
    cast_.book.took(at, s.match_info, op.order, op.info, op.mask);
    cast_.book.arrived(at, s.match_info, op.memory.get(), s.xfer_length, s.msg_length);
    if (Contact &c = contacts_[n.from]; cast_.plan.style == Style::theirs && !cast_.entries[n.from].gone) {
        c.connected = true; // the address of whoever wrote is good for an answer
        c.address = s.source;
    }
}

/// Nothing may be left but receives that nobody answered.
void Ours::settle()
{
    uint64_t end = process_.world().now() + 600 * sec;
    while (!ops_.empty() && process_.world().now() < end) {
        for (auto it = ops_.begin(); it != ops_.end();) {
            uint32_t cancelled = 0;
            if (it->kind != Kind::send)
                expect(mx_cancel(ep_, &it->request, &cancelled), "mx_cancel");
            it = cancelled ? ops_.erase(it) : std::next(it);
        }
        if (!ops_.empty()) {
            mx_status_t s{};
            uint32_t done = 0;
            expect(mx_wait_any(ep_, 20, 0, 0, &s, &done), "mx_wait_any");
            if (done) {
                auto *op = static_cast<Op *>(s.context);
                completed(*op, s);
                ops_.remove_if([op](Op &o) { return &o == op; });
            }
        }
    }
    if (!ops_.empty())
        complain("a request does not end");
    cast_.entries[id_].settled = true;
    // The last acks and the ends of what others sent.
    while (!cast_.all_settled() && process_.world().now() < end) {
        expect(mx_progress(ep_), "mx_progress");
        process_.sleep(5 * ms);
    }
    if (!cast_.all_settled())
        complain("something of the model does not end");
}

Theirs::Theirs(Cast &cast, Host &host, uint32_t id, test::Rng rng)
    : cast_(cast), host_(host), id_(id), rng_(rng)
{
    host.open(cast.entries[id].number, program_key);
    cast_.entries[id].open = true;
}

/// Its application hears of it from requests that fail, and of some from none.
void Theirs::notice_parting()
{
    const uint32_t times = host_.endpoint(cast_.entries[id_].number)->times_given_up();
    if (std::exchange(given_up_, times) != times && !cast_.part())
        cast_.book.complain("the model gives up");
    if (const uint32_t id = cast_.present(id_); std::exchange(id_, id) != id)
        sending_ = 0; // it does not wait for the old ones
}

void Theirs::give_up()
{
    const uint32_t whom = cast_.others(false).front();
    host_.endpoint(cast_.entries[id_].number)->give_up({cast_.our_mac, cast_.entries[whom].number});
    notice_parting();
}

void Theirs::step()
{
    notice_parting();
    while (receiving_ < cast_.plan.receives)
        post_receive();
    start_sends();
    Endpoint &e = *host_.endpoint(cast_.entries[id_].number);
    e.progress();
    cast_.entries[id_].settled = cast_.over() && e.idle();
}

void Theirs::start_sends()
{
    Endpoint &e = *host_.endpoint(cast_.entries[id_].number);
    bool sent = true;
    for (uint32_t to : cast_.others(false)) {
        Contact &c = contacts_[to];
        Address a{cast_.our_mac, cast_.entries[to].number};
        if (cast_.plan.style == Style::ours)
            c.connected = e.knows(a);
        else if (!c.connected && !c.connecting && cast_.entries[to].open) {
            c.connecting = true;
            e.connect(a, program_key, [this, alive = std::weak_ptr(alive_), to](End end) {
                if (alive.expired())
                    return;
                contacts_[to].connecting = false;
                contacts_[to].connected = end == End::good;
                notice_parting();
                if (end != End::good && !cast_.plan.restarts() && !cast_.entries[to].gone)
                    cast_.book.complain("a connect of the model fails");
            });
        }
        while (c.connected && e.knows(a) && c.sent < cast_.plan.messages &&
               sending_ < cast_.plan.outstanding) {
            start_send(to);
            c.sent++;
        }
        sent = sent && c.sent == cast_.plan.messages;
    }
    cast_.entries[id_].sent = sent && sending_ == 0;
}

void Theirs::start_send(uint32_t to)
{
    uint32_t length = cast_.plan.draw_length(rng_);
    sim::Name name = cast_.book.post(id_, to, 0, length);
    Bytes data(length);
    sim::fill(reinterpret_cast<std::byte *>(data.data()), name.bits(), length);
    sending_++;
    Endpoint &e = *host_.endpoint(cast_.entries[id_].number);
    e.send({cast_.our_mac, cast_.entries[to].number}, name.bits(), std::move(data),
           rng_.chance(cast_.plan.synchronous_permille),
           [this, alive = std::weak_ptr(alive_), name, length](End end, uint32_t taken) {
               if (alive.expired())
                   return;
               notice_parting();
               sending_ -= name.from == id_;
               cast_.book.send_ended(name, end != End::good);
               if (end == End::good && taken != length && !cast_.plan.cut_permille &&
                   !cast_.book.flow(name.from, name.to).broken)
                   cast_.book.complain("our stack took " + std::to_string(taken) + " of " +
                                       std::to_string(length) + " bytes");
           });
}

void Theirs::post_receive()
{
    uint64_t order = ++order_, info = 0, mask = 0;
    std::vector<uint32_t> others = cast_.others(false);
    if (!others.empty() && rng_.chance(200) && wild_) { // never all of them

        mask = from_mask;
        info = uint64_t{others[rng_.below(others.size())]} << 56;
    }
    wild_ += !mask;
    receiving_++;
    uint32_t length = rng_.chance(cast_.plan.cut_permille) ? static_cast<uint32_t>(rng_.below(50000))
                                                           : cast_.plan.length_max;
    host_.endpoint(cast_.entries[id_].number)
        ->post(
            {info, mask, length, [this, alive = std::weak_ptr(alive_), order, info, mask](const Received &r) {
                 if (!alive.expired())
                     received(r, order, info, mask);
             }});
}

void Theirs::received(const Received &r, uint64_t order, uint64_t info, uint64_t mask)
{
    receiving_--;
    wild_ -= !mask;
    sim::Name n = sim::Name::of(r.match);
    if (!r.good) {
        notice_parting();
        sim::Flow &flow = cast_.book.flow(n.from, n.to);
        if (!flow.broken && !cast_.plan.quirks.failing_pulls)
            cast_.book.complain("a receive of the model fails");
        if (n.number < flow.messages.size())
            flow.messages[n.number].delivered++;
        return;
    }
    const uint32_t at = cast_.addressee(id_, n.to);
    cast_.book.took(at, r.match, order, info, mask);
    cast_.book.arrived(at, r.match, reinterpret_cast<const std::byte *>(r.data.data()),
                       static_cast<uint32_t>(r.data.size()), r.length);
}

} // namespace emx::model
