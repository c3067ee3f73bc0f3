// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The random MX program. See actor.hpp.
#include "actor.hpp"

#include <algorithm>
#include <cstring>

namespace emx::sim {

namespace {

constexpr uint32_t program_key = 0x5150;
constexpr uint64_t group_mask = 0xffull << 40;
constexpr uint64_t from_mask = 0xffull << 56;

/// The longest wait while faults last and a little longer; beyond it something hangs.
constexpr uint64_t patience = 100 * sec;

bool is_peer_failure(int code)
{
    return code == MX_STATUS_ENDPOINT_CLOSED || code == MX_STATUS_ENDPOINT_UNREACHABLE ||
           code == MX_STATUS_BAD_SESSION || code == MX_STATUS_ABORTED || code == MX_STATUS_TIMEOUT ||
           code == MX_STATUS_BAD_RDMAWIN || code == MX_STATUS_BAD_ENDPOINT || code == MX_STATUS_NO_RESOURCES;
}

} // namespace

Actor::Actor(Troupe &troupe, Process &process, uint32_t id, test::Rng rng)
    : troupe_(troupe), process_(process), id_(id), rng_(rng), peers_(troupe.entries.size())
{
}

void Actor::complain(const std::string &what)
{
    troupe_.book.complain("process " + std::to_string(id_) + ": " + what);
}

void Actor::expect(mx_return_t code, const char *what)
{
    if (code != MX_SUCCESS)
        complain(std::string(what) + " returned " + std::to_string(code) + " (" + mx_strerror(code) + ")");
}

void Actor::run()
{
    mx_set_error_handler(MX_ERRORS_RETURN);
    expect(mx_init(), "mx_init");
    open();
    to_send_ = static_cast<uint32_t>(rng_.range(troupe_.swarm.messages / 2, troupe_.swarm.messages));
    uint64_t end = process_.world().now() + patience;
    while (to_send_ && process_.world().now() < end)
        step();
    troupe_.entries[id_].script_done = true;
    drain();
    settle();
    leave();
}

void Actor::open()
{
    expect(mx_open_endpoint(MX_ANY_NIC, MX_ANY_ENDPOINT, program_key, nullptr, 0, &ep_), "mx_open_endpoint");
    mx_endpoint_addr_t self{};
    expect(mx_get_endpoint_addr(ep_, &self), "mx_get_endpoint_addr");
    Troupe::Entry &e = troupe_.entries[id_];
    expect(mx_decompose_endpoint_addr(self, &e.nic, &e.eid), "mx_decompose_endpoint_addr");
    e.open = true;
    peers_[id_].connected = true;
    peers_[id_].address = self;
    // A rendezvous whose announcement or end was altered cannot be told from one that nobody matched:
    // only the limit that a program sets ends it.
    if (troupe_.book.hostile)
        expect(mx_set_request_timeout(ep_, nullptr, 20000), "mx_set_request_timeout");
    if (troupe_.swarm.handler && rng_.coin())
        expect(mx_register_unexp_handler(ep_, on_unexpected, this), "mx_register_unexp_handler");
}

void Actor::step()
{
    switch (rng_.below(8)) {
    case 0:
    case 1: start_send(); break;
    case 2:
    case 3:
        if (count(Kind::receive) < troupe_.swarm.receives)
            post_receive(rng_.chance(600));
        break;
    case 4:
    case 5: reap_some(); break;
    case 6: look_around(); break;
    default: rest(); break;
    }
}

uint32_t Actor::draw_length()
{
    uint32_t max = troupe_.swarm.length_max;
    uint32_t f = process_.host().boards[0]->fw().sizes.frag;
    uint32_t L = process_.host().boards[0]->fw().sizes.reply;
    const uint32_t edges[] = {0, 1,     31,    32,    33,    127,   128, 129,   f - 1,
                              f, f + 1, 2 * f, 32767, 32768, 32769, L,   2 * L, 9 * L + 1};
    uint32_t length;
    if (rng_.coin())
        length = edges[rng_.below(std::size(edges))];
    else if (rng_.coin())
        length = static_cast<uint32_t>(rng_.below(300));
    else
        length = static_cast<uint32_t>(rng_.below(max + 1));
    return std::min(length, max);
}

/// Cuts the memory of an op into a random segment list.
std::vector<mx_segment_t> Actor::cut(Op &op, bool with_holes)
{
    std::vector<mx_segment_t> segs;
    uint32_t at = 0, left = op.length;
    uint32_t parts = rng_.coin() ? 1 : static_cast<uint32_t>(rng_.range(1, rng_.chance(100) ? 250 : 5));
    while (parts-- > 1 && left) {
        uint32_t n = static_cast<uint32_t>(rng_.below(left / 2 + 2));
        n = std::min(n, left);
        segs.push_back({op.memory.data() + at, n});
        if (with_holes && rng_.chance(200) && parts > 1) {
            segs.push_back({nullptr, 0});
            parts--;
        }
        at += n;
        left -= n;
    }
    if (left || rng_.coin())
        segs.push_back({op.memory.data() + at, left});
    return segs;
}

void Actor::start_send()
{
    auto to = static_cast<uint32_t>(rng_.below(troupe_.entries.size()));
    if (troupe_.entries[to].gone) {
        to_send_--;
        return;
    }
    if (!peers_[to].connected) {
        start_connect(to);
        return;
    }
    auto op = std::make_unique<Op>();
    op->kind = Kind::send;
    op->length = draw_length();
    op->name = troupe_.book.post(id_, to, static_cast<uint8_t>(rng_.below(3)), op->length);
    op->memory.resize(op->length);
    fill(op->memory.data(), op->name.bits(), op->length);
    std::vector<mx_segment_t> segs = cut(*op, true);
    bool sync = rng_.chance(200);
    mx_return_t code =
        (sync ? mx_issend : mx_isend)(ep_, segs.data(), static_cast<uint32_t>(segs.size()),
                                      peers_[to].address, op->name.bits(), op.get(), &op->request);
    expect(code, "mx_isend");
    if (!sync && op->length <= 128) { // the library has its copy now
        uint32_t buffered = 0;
        if (mx_ibuffered(ep_, &op->request, &buffered) == MX_SUCCESS && buffered)
            std::fill(op->memory.begin(), op->memory.end(), std::byte{0xaa});
    }
    ops_.push_back(std::move(op));
    to_send_--;
}

void Actor::start_connect(uint32_t to)
{
    Troupe::Entry &e = troupe_.entries[to];
    if (!e.open || peers_[to].connecting)
        return;
    if (rng_.chance(300)) {
        mx_endpoint_addr_t a{};
        mx_return_t code =
            mx_connect(ep_, e.nic, e.eid, program_key, static_cast<uint32_t>(rng_.range(1, 300)), &a);
        if (code == MX_SUCCESS) {
            peers_[to].connected = true;
            peers_[to].address = a;
        } else if (code != MX_TIMEOUT && !e.gone && !troupe_.book.hostile) {
            expect(code, "mx_connect");
        }
        return;
    }
    auto op = std::make_unique<Op>();
    op->kind = Kind::connect;
    op->to = to;
    expect(mx_iconnect(ep_, e.nic, e.eid, program_key, to, op.get(), &op->request), "mx_iconnect");
    peers_[to].connecting = true;
    ops_.push_back(std::move(op));
}

void Actor::post_receive(bool wild)
{
    auto op = std::make_unique<Op>();
    op->kind = Kind::receive;
    op->length = rng_.chance(850) ? troupe_.swarm.length_max
                                  : static_cast<uint32_t>(rng_.below(troupe_.swarm.length_max + 1));
    op->memory.resize(op->length);
    if (!wild) {
        op->mask = rng_.coin() ? group_mask : from_mask;
        uint64_t bits =
            Name{static_cast<uint32_t>(rng_.below(peers_.size())), 0, static_cast<uint32_t>(rng_.below(3)), 0}
                .bits();
        op->info = bits & op->mask;
    }
    op->order = ++post_order_;
    std::vector<mx_segment_t> segs = cut(*op, true);
    expect(mx_irecv(ep_, segs.data(), static_cast<uint32_t>(segs.size()), op->info, op->mask, op.get(),
                    &op->request),
           "mx_irecv");
    ops_.push_back(std::move(op));
}

Actor::Op *Actor::pick(Kind kind)
{
    size_t n = count(kind);
    if (!n)
        return nullptr;
    size_t at = rng_.below(n);
    for (auto &op : ops_)
        if (op->kind == kind && at-- == 0)
            return op.get();
    return nullptr;
}

size_t Actor::count(Kind kind) const
{
    return static_cast<size_t>(
        std::count_if(ops_.begin(), ops_.end(), [&](auto &op) { return op->kind == kind; }));
}

void Actor::completed(Op *op, const mx_status_t &status)
{
    auto it = std::find_if(ops_.begin(), ops_.end(), [&](auto &o) { return o.get() == op; });
    if (it == ops_.end()) {
        complain("a completion with a context that belongs to no request");
        return;
    }
    if (op->kind == Kind::send)
        send_completed(*op, status);
    else if (op->kind == Kind::receive)
        receive_completed(*op, status);
    else
        connect_completed(*op, status);
    ops_.erase(it);
}

void Actor::send_completed(Op &op, const mx_status_t &s)
{
    if (s.match_info != op.name.bits() || s.msg_length != op.length)
        complain("wrong match bits or length in the status of a send");
    bool truncated = s.code == MX_STATUS_TRUNCATED;
    bool failed = s.code != MX_STATUS_SUCCESS && !truncated;
    if (failed && !is_peer_failure(s.code))
        complain("a send ended with status " + std::to_string(s.code));
    troupe_.book.send_ended(op.name, failed);
    if (failed) // connect again before the next message
        peers_[op.name.to].connected = op.name.to == id_;
}

void Actor::receive_completed(Op &op, const mx_status_t &s)
{
    bool good = s.code == MX_STATUS_SUCCESS || s.code == MX_STATUS_TRUNCATED;
    if (troupe_.book.hostile)
        return;
    if (!good) {
        Name n = Name::of(s.match_info);
        if (!is_peer_failure(s.code) || !troupe_.book.flow(n.from, n.to).broken)
            complain("a receive ended with status " + std::to_string(s.code));
        return;
    }
    if ((s.match_info & op.mask) != op.info)
        complain("a receive got a message that it does not accept");
    if (s.xfer_length != std::min(op.length, s.msg_length) ||
        (s.code == MX_STATUS_TRUNCATED) != (s.msg_length > op.length))
        complain("wrong lengths in the status of a receive");
    troupe_.book.took(id_, s.match_info, op.order, op.info, op.mask);
    troupe_.book.arrived(id_, s.match_info, op.memory.data(), s.xfer_length, s.msg_length);
    uint64_t nic = 0;
    uint32_t eid = 0;
    const Troupe::Entry &from = troupe_.entries[Name::of(s.match_info).from];
    if (mx_decompose_endpoint_addr(s.source, &nic, &eid) != MX_SUCCESS || nic != from.nic || eid != from.eid)
        complain("a receive names the wrong source");
}

void Actor::connect_completed(Op &op, const mx_status_t &s)
{
    peers_[op.to].connecting = false;
    if (s.code == MX_STATUS_SUCCESS) {
        peers_[op.to].connected = true;
        peers_[op.to].address = s.source;
    } else if (!is_peer_failure(s.code) && !troupe_.book.hostile) {
        complain("a connect ended with status " + std::to_string(s.code));
    } else if (!troupe_.book.hostile && !troupe_.entries[op.to].gone &&
               !troupe_.book.flow(id_, op.to).broken) {
        complain("a connect to a living process failed");
    }
}

bool Actor::reap_one(Op &op)
{
    mx_status_t s{};
    uint32_t done = 0;
    mx_request_t request = op.request;
    expect(rng_.chance(800) ? mx_test(ep_, &request, &s, &done) : mx_wait(ep_, &request, 1, &s, &done),
           "mx_test");
    if (done)
        completed(&op, s);
    return done != 0;
}

void Actor::reap_some()
{
    mx_status_t s{};
    uint32_t done = 0;
    switch (rng_.below(4)) {
    case 0:
        if (!ops_.empty()) {
            auto it = ops_.begin();
            std::advance(it, static_cast<long>(rng_.below(ops_.size())));
            reap_one(**it);
        }
        return;
    case 1: {
        uint64_t mask = rng_.coin() ? 0 : group_mask;
        expect(mx_test_any(ep_, Name{0, 0, static_cast<uint32_t>(rng_.below(3)), 0}.bits() & mask, mask, &s,
                           &done),
               "mx_test_any");
        break;
    }
    case 2:
        expect(mx_wait_any(ep_, static_cast<uint32_t>(rng_.range(1, 20)), 0, 0, &s, &done), "mx_wait_any");
        break;
    default: {
        mx_request_t request = nullptr;
        expect(mx_ipeek(ep_, &request, &done), "mx_ipeek");
        if (!done)
            return;
        void *context = nullptr;
        expect(mx_context(&request, &context), "mx_context");
        expect(mx_test(ep_, &request, &s, &done), "mx_test");
        if (!done || s.context != context)
            complain("mx_ipeek named a request that is not complete");
    }
    }
    if (done)
        completed(static_cast<Op *>(s.context), s);
}

void Actor::look_around()
{
    if (rng_.chance(troupe_.swarm.cancel_permille * 4))
        try_cancel();
    if (rng_.chance(troupe_.swarm.forget_permille * 4))
        try_forget();
    if (rng_.chance(troupe_.swarm.disconnect_permille))
        try_disconnect();
    mx_status_t s{};
    uint32_t found = 0;
    expect(mx_iprobe(ep_, 0, 0, &s, &found), "mx_iprobe");
    if (found && !troupe_.book.hostile && (s.xfer_length != s.msg_length || Name::of(s.match_info).to != id_))
        complain("mx_iprobe tells nonsense");
    expect(mx_progress(ep_), "mx_progress");
}

void Actor::try_cancel()
{
    Op *op = pick(Kind::receive);
    if (!op)
        return;
    uint32_t result = 7;
    mx_request_t request = op->request;
    expect(mx_cancel(ep_, &request, &result), "mx_cancel");
    if (result == 1)
        ops_.remove_if([&](auto &o) { return o.get() == op; });
}

void Actor::try_forget()
{
    // Only sends: what a forgotten receive got, nobody can judge.
    Op *op = pick(Kind::send);
    if (!op)
        return;
    expect(mx_forget(ep_, &op->request), "mx_forget");
    op->forgotten = true;
    auto it = std::find_if(ops_.begin(), ops_.end(), [&](auto &o) { return o.get() == op; });
    retired_.push_back(std::move(*it));
    ops_.erase(it);
}

void Actor::try_disconnect()
{
    auto to = static_cast<uint32_t>(rng_.below(peers_.size()));
    if (!peers_[to].connected || to == id_)
        return;
    troupe_.book.break_flows(id_, to);
    expect(mx_disconnect(ep_, peers_[to].address), "mx_disconnect");
    peers_[to].connected = false;
}

void Actor::rest()
{
    if (rng_.chance(troupe_.swarm.away_permille))
        process_.sleep(rng_.range(50, 3000) * ms);
    else
        process_.sleep(rng_.below(200) * us);
}

mx_unexp_handler_action_t Actor::on_unexpected(void *actor, mx_endpoint_addr_t, uint64_t match,
                                               uint32_t length, void *data)
{
    return static_cast<Actor *>(actor)->handle(match, length, data);
}

mx_unexp_handler_action_t Actor::handle(uint64_t match, uint32_t length, void *data)
{
    if (troupe_.book.hostile)
        return rng_.coin() ? MX_RECV_FINISHED : MX_RECV_CONTINUE;
    Name n = Name::of(match);
    Flow &f = troupe_.book.flow(n.from, n.to);
    if (static_cast<int64_t>(n.number) <= f.last_handled)
        complain("the handler saw message " + std::to_string(n.number) + " of " + std::to_string(n.from) +
                 " late");
    f.last_handled = n.number;
    if (rng_.chance(400)) {
        troupe_.book.arrived(id_, match, static_cast<std::byte *>(data), data ? length : 0, length);
        return MX_RECV_FINISHED;
    }
    if (rng_.chance(300))
        post_receive(rng_.coin());
    return MX_RECV_CONTINUE;
}

/// Something of this process must still end: sends and connects, and receives that were matched.
bool Actor::own_work_left() const
{
    for (auto &op : ops_)
        if (op->kind != Kind::receive)
            return true;
    return false;
}

/// Receives until nothing is missing and all others have sent what they will.
void Actor::drain()
{
    uint64_t end = process_.world().now() + patience * (troupe_.book.hostile ? 3 : 1);
    uint32_t idle = 0;
    while (process_.world().now() < end) {
        bool all = troupe_.everyone(&Troupe::Entry::script_done) && troupe_.book.all_arrived(id_) &&
                   !own_work_left();
        if (all && troupe_.faults_over)
            return;
        // Selective receives may wait for ever, and matched ones hang on a dead peer: some that take
        // anything are always there, and another for each message that waited for one.
        const bool hungry = ++idle >= 100;
        if (hungry || std::count_if(ops_.begin(), ops_.end(),
                                    [](auto &op) { return op->kind == Kind::receive && !op->mask; }) < 3)
            post_receive(true);
        mx_status_t s{};
        uint32_t done = 0;
        expect(mx_wait_any(ep_, 20, 0, 0, &s, &done), "mx_wait_any");
        if (done)
            completed(static_cast<Op *>(s.context), s);
        if (hungry != (done != 0))
            idle = 0;
    }
    for (auto &op : ops_)
        if (op->kind != Kind::receive)
            complain(op->kind == Kind::send ? "a send of " + std::to_string(op->length) + " bytes to " +
                                                  std::to_string(op->name.to) + " does not end"
                                            : "a connect does not end");
    complain("does not converge");
}

/// Takes back the receives nobody answered; what was matched must end.
void Actor::settle()
{
    if (troupe_.swarm.handler)
        mx_register_unexp_handler(ep_, nullptr, nullptr);
    // A receive from a host that died ends with its pull: 500 s.
    uint64_t end = process_.world().now() + 7 * patience;
    while (!ops_.empty() && process_.world().now() < end) {
        for (auto it = ops_.begin(); it != ops_.end();) {
            uint32_t result = 0;
            mx_request_t request = (*it)->request;
            if ((*it)->kind != Kind::send)
                expect(mx_cancel(ep_, &request, &result), "mx_cancel");
            it = result == 1 ? ops_.erase(it) : std::next(it);
        }
        mx_status_t s{};
        uint32_t done = 0;
        expect(mx_wait_any(ep_, 20, 0, 0, &s, &done), "mx_wait_any");
        if (done)
            completed(static_cast<Op *>(s.context), s);
    }
    if (!ops_.empty())
        complain("a receive of " + std::to_string(ops_.front()->length) +
                 " bytes was matched and does not end");
    troupe_.entries[id_].settled = true;
}

/// Waits for the others; then nothing may be left in the library.
void Actor::leave()
{
    uint64_t end = process_.world().now() + 8 * patience;
    while (!troupe_.everyone(&Troupe::Entry::settled) && process_.world().now() < end) {
        expect(mx_progress(ep_), "mx_progress");
        process_.sleep(5 * ms);
    }
    Census c{};
    for (end = process_.world().now() + 20 * sec; process_.world().now() < end; process_.sleep(5 * ms)) {
        expect(mx_progress(ep_), "mx_progress");
        c = process_.context()->census();
        if (!c.requests && !c.tx_messages && !c.windows)
            break;
    }
    size_t windows = 0, pulls = 0;
    for (SimPort *p : process_.device()->ports()) {
        windows += p->windows_open();
        pulls += p->pulls_open();
    }
    if (!troupe_.book.hostile && (c.requests || c.tx_messages || c.windows || windows || pulls))
        complain("leaks " + std::to_string(c.requests) + " requests, " + std::to_string(c.tx_messages) +
                 " sends, " + std::to_string(c.windows) + " windows; at the device " +
                 std::to_string(windows) + " windows, " + std::to_string(pulls) + " pulls");
    troupe_.entries[id_].wants_exit = true;
    end = process_.world().now() + 60 * sec;
    while (!troupe_.everyone(&Troupe::Entry::wants_exit) && process_.world().now() < end) {
        expect(mx_progress(ep_), "mx_progress");
        process_.sleep(5 * ms);
    }
    expect(mx_close_endpoint(ep_), "mx_close_endpoint");
    expect(mx_finalize(), "mx_finalize");
}

} // namespace emx::sim
