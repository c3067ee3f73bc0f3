// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Rendezvous: large and synchronous messages. The sender announces (RNDV) and exposes a window, the
// receiver pulls, and its NOTIFY ends it (wire specification, section 10).
#include "driver/base/probe.hpp"
#include "driver/base/system_calls.hpp"
#include "libmx/endpoint/endpoint.hpp"

#include <algorithm>

namespace emx {

namespace {

/// True if the memory of a message is there still. Asked when a receiver has got nothing of it.
bool is_readable(std::span<const Segment> memory)
{
    return std::all_of(memory.begin(), memory.end(),
                       [](const Segment &one) { return sys::can_read(one.data, one.length); });
}

} // namespace

void Endpoint::send_rendezvous(Request *request, Partner *to)
{
    TxMessage *tx = tx_pool_.allocate(0);
    tx->partner = to;
    tx->request = request;
    request->tx = tx;
    emx_msg &msg = tx->header;
    msg = emx_msg{};
    msg.type = EMX_RNDV;
    msg.remote_ep = to->remote_ep;
    msg.peer = to->peer;
    msg.match = request->match;
    msg.msg_len = request->msg_length;
    if (to->way.sure)
        enqueue_sure(tx);
    else
        enqueue(tx);
}

void Endpoint::free_window(TxMessage *tx)
{
    if (!tx->has_window)
        return;
    port_->close_window(tx->header.u.window.id, tx->header.u.window.tag);
    const bool was_full = windows_.is_full();
    windows_.release(tx);
    if (!was_full)
        return;
    partners_.each_active([&](Partner *partner) {
        if (!partner->sender.waiting.empty() && partner != tx->partner)
            pump(partner);
    });
}

void Endpoint::end_rendezvous(TxMessage *tx, int code, uint32_t xfer_length)
{
    if (tx->has_window)
        EMX_PROBE(3, rendezvous_ended, tx->request, code, xfer_length);
    tx->partner->sender.unannounce(tx);
    tx->notified = true;
    free_window(tx); // before the request, whose segments the window reads
    complete_send(tx, code, xfer_length);
    if (tx->acked)
        tx_pool_.bury(tx); // else it goes when its ack comes, or the queue it stands in is dropped
}

void Endpoint::on_notify(Partner *partner, const emx_msg &msg)
{
    TxMessage *tx = windows_.find(msg.u.window.id, msg.u.window.tag);
    if (!tx || tx->partner != partner || msg.msg_len > tx->header.msg_len)
        return; // a leftover: acknowledged, no effect (10.1)
    bool whole = msg.msg_len == tx->header.msg_len;
    int code = whole ? MX_STATUS_SUCCESS : MX_STATUS_TRUNCATED;
    if (!whole && msg.msg_len == 0 && partner->way.is_of_other_dialect())
        code = MX_STATUS_ENDPOINT_UNREACHABLE; // to its pulls, as to our longer messages
    else if (!whole && msg.msg_len == 0 && !is_readable(tx->request->segments.view()))
        code = MX_STATUS_ABORTED;
    end_rendezvous(tx, code, msg.msg_len);
    if (!partner->sender.waiting.empty())
        pump(partner);
}

void Endpoint::send_notify(Partner *to, const emx_msg &rndv, uint32_t length)
{
    if (to->life.is_dead())
        return;
    TxMessage *tx = tx_pool_.allocate(0);
    tx->partner = to;
    emx_msg &msg = tx->header;
    msg = emx_msg{};
    msg.type = EMX_NOTIFY;
    msg.remote_ep = to->remote_ep;
    msg.peer = to->peer;
    msg.msg_len = length;
    msg.u.window = rndv.u.window;
    if (to->way.sure)
        return notify_sure(tx);
    if (to->sender.is_open())
        return number_and_send(tx); // overtakes messages that wait for the window: it is what frees things
    // A peer that has our numbers before our connect counts from 1 again when that comes (7.5).
    to->sender.waiting.push_behind_own_type(tx);
    partners_.activate(to);
}

void Endpoint::start_pull(Incoming *in)
{
    Request *recv = in->recv;
    uint32_t total = static_cast<uint32_t>(std::min<uint64_t>(in->msg.msg_len, recv->room));
    in->msg.session = in->partner->session;
    in->msg.data = in->partner->way.offer;
    const Way::Dialect dialect = in->partner->way.dialect;
    if (dialect != Way::Dialect::shared) [[unlikely]]
        ask_dialect(in->partner, EMX_RNDV);
    const bool turn = pulls_.has_turn(in->partner);
    if (!turn || !port_->start_pull(in->msg, total, recv->segments.view(), pulls_.next_cookie()))
        return pulls_.wait(in);
    pulls_.begin(in);
    EMX_PROBE(3, pull_started, recv, total, in->partner->address.stuff[0]);
    if (recv->budget_ns)
        set_timeout(recv, static_cast<uint32_t>(recv->budget_ns / 1000000));
}

void Endpoint::cancel_pull(Incoming *in)
{
    port_->cancel_pull(in->pull);
    EMX_PROBE(3, pull_ended, in->recv, static_cast<int>(EMX_PULL_ABORTED), 0);
    pulls_.end(in);
}

void Endpoint::retry_pulls()
{
    if (!pulls_.any_waits())
        return;
    IncomingList waiting = pulls_.take_waiting();
    while (!waiting.empty())
        start_pull(waiting.pop_front());
}

void Endpoint::on_pull_done(const emx_msg &msg)
{
    static constexpr int codes[] = {MX_STATUS_SUCCESS,         MX_STATUS_BAD_ENDPOINT,
                                    MX_STATUS_ENDPOINT_CLOSED, MX_STATUS_BAD_SESSION,
                                    MX_STATUS_BAD_RDMAWIN,     MX_STATUS_ENDPOINT_UNREACHABLE,
                                    MX_STATUS_ABORTED};
    Incoming *in = pulls_.find(msg.u.pull.cookie);
    if (!in)
        return; // cancelled when its end was in the event queue already
    pulls_.end(in);
    EMX_PROBE(3, pull_ended, in->recv, static_cast<int>(msg.u.pull.status), msg.u.pull.length);
    bool good = msg.u.pull.status == EMX_PULL_OK;
    in->partner->receiver.heard_a_frame();
    send_notify(in->partner, in->msg, good ? msg.u.pull.length : 0);
    finish_receive(in, msg.u.pull.status < std::size(codes) ? codes[msg.u.pull.status] : MX_STATUS_ABORTED);
    retry_pulls();
}

} // namespace emx
