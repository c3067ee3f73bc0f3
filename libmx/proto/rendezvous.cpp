// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Rendezvous: large and synchronous messages. The sender announces (RNDV) and exposes a window, the
// receiver pulls, and its NOTIFY ends it (wire specification, section 10).
#include "driver/base/system_calls.hpp"
#include "libmx/endpoint.hpp"

#include <algorithm>

namespace emx {

namespace {

// Up to here, where Open-MX stops, every window has an id of its own, and ids are not reused at once. Beyond
// it windows share ids: a message that waits for one holds up all behind it, and the one that the receiver
// needs before it takes the others may be among them.
constexpr uint32_t windows_alone = 128;
constexpr uint32_t windows_max = FW_WINDOWS - 256; // so that there always is an id with a free slot
// More at once would only share the frames that the receive queue can hold, and overflow it: a few keep the
// link busy between one message and the next. Every partner may have one, so that a dead one holds up nobody.
constexpr std::size_t pulls_max = 4;

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
    enqueue(tx);
}

bool Endpoint::take_window(TxMessage *tx)
{
    if (tx->has_window)
        return true;
    if (windows_used_ >= windows_max)
        return false;
    const unsigned room = windows_used_ < windows_alone ? 1 : FW_WINDOWS_PER_ID;
    while (windows_of_[next_window_ & 0xff] >= room)
        ++next_window_;
    auto id = static_cast<uint8_t>(next_window_++ & 0xff);
    uint8_t tag = ++window_tag_[id];
    while (window_[fw_window_slot(id, tag)])
        tag = ++window_tag_[id];
    window_[fw_window_slot(id, tag)] = tx;
    ++windows_of_[id];
    ++windows_used_;
    tx->has_window = true;
    tx->header.u.window.id = id;
    tx->header.u.window.tag = tag;
    tx->header.u.window.offset = 0;
    const Request *request = tx->request;
    port_->open_window(id, tag, tx->partner->peer, tx->partner->remote_ep, request->segments.view(),
                       request->msg_length);
    return true;
}

void Endpoint::free_window(TxMessage *tx)
{
    if (!tx->has_window)
        return;
    const uint8_t id = tx->header.u.window.id, tag = tx->header.u.window.tag;
    port_->close_window(id, tag);
    window_[fw_window_slot(id, tag)] = nullptr;
    --windows_of_[id];
    tx->has_window = false;
    bool was_full = windows_used_-- == windows_max;
    if (!was_full)
        return;
    for (Partner *partner = active_; partner; partner = partner->active_next)
        if (partner->waiting && partner != tx->partner)
            pump(partner);
}

void Endpoint::unlink_rendezvous(TxMessage *tx)
{
    Partner *partner = tx->partner;
    if (partner->rndv == tx)
        partner->rndv = tx->rndv_next;
    else if (tx->rndv_prev)
        tx->rndv_prev->rndv_next = tx->rndv_next;
    if (tx->rndv_next)
        tx->rndv_next->rndv_prev = tx->rndv_prev;
    tx->rndv_prev = tx->rndv_next = nullptr;
}

void Endpoint::end_rendezvous(TxMessage *tx, int code, uint32_t xfer_length)
{
    unlink_rendezvous(tx);
    tx->notified = true;
    free_window(tx); // before the request, whose segments the window reads
    complete_send(tx, code, xfer_length);
    if (tx->acked)
        drop_tx(tx); // else it goes when its ack comes, or the queue it stands in is dropped
}

void Endpoint::on_notify(Partner *partner, const emx_msg &msg)
{
    TxMessage *tx = window_[fw_window_slot(msg.u.window.id, msg.u.window.tag)];
    if (!tx || tx->partner != partner || tx->header.u.window.tag != msg.u.window.tag ||
        msg.msg_len > tx->header.msg_len)
        return; // a leftover: acknowledged, no effect (10.1)
    bool whole = msg.msg_len == tx->header.msg_len;
    int code = whole ? MX_STATUS_SUCCESS : MX_STATUS_TRUNCATED;
    if (!whole && msg.msg_len == 0 && partner->other_dialect)
        code = MX_STATUS_ENDPOINT_UNREACHABLE; // to its pulls, as to our longer messages
    else if (!whole && msg.msg_len == 0 && !is_readable(tx->request->segments.view()))
        code = MX_STATUS_ABORTED;
    end_rendezvous(tx, code, msg.msg_len);
    if (partner->waiting)
        pump(partner);
}

void Endpoint::send_notify(Partner *to, const emx_msg &rndv, uint32_t length)
{
    if (to->state == PartnerState::dead)
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
    if (to->answered)
        return number_and_send(tx); // overtakes messages that wait for the window: it is what frees things
    // A peer that has our numbers before our connect counts from 1 again when that comes (7.5).
    TxMessage **at = &to->waiting;
    while (*at && (*at)->header.type == EMX_NOTIFY)
        at = &(*at)->next;
    tx->next = *at;
    *at = tx;
    if (!tx->next)
        to->waiting_tail = tx;
    activate(to);
}

void Endpoint::start_pull(Incoming *in)
{
    Request *recv = in->recv;
    uint32_t total = static_cast<uint32_t>(std::min<uint64_t>(in->msg.msg_len, recv->room));
    in->msg.session = in->partner->session;
    in->msg.data = in->partner->offer;
    if (!in->partner->dialect_known || in->partner->other_dialect) [[unlikely]]
        ask_dialect(in->partner, EMX_RNDV);
    bool turn = pulls_.size() < pulls_max || in->partner->pulls == 0;
    if (turn && port_->start_pull(in->msg, total, recv->segments.view(), next_pull_)) {
        ++in->partner->pulls;
        in->pull = next_pull_;
        pulls_[next_pull_++] = in;
        in->pulling = true;
        in->pull_waits = false;
        if (recv->budget_ns)
            set_timeout(recv, static_cast<uint32_t>(recv->budget_ns / 1000000));
        return;
    }
    in->pull_waits = true;
    in->next = nullptr;
    (pulls_waiting_tail_ ? pulls_waiting_tail_->next : pulls_waiting_) = in;
    pulls_waiting_tail_ = in;
}

void Endpoint::cancel_pull(Incoming *in)
{
    port_->cancel_pull(in->pull);
    pulls_.erase(in->pull);
    --in->partner->pulls;
    in->pulling = false;
}

void Endpoint::retry_pulls()
{
    Incoming *list = pulls_waiting_;
    pulls_waiting_ = pulls_waiting_tail_ = nullptr;
    while (list) {
        Incoming *in = list;
        list = in->next;
        start_pull(in);
    }
}

void Endpoint::on_pull_done(const emx_msg &msg)
{
    static constexpr int codes[] = {MX_STATUS_SUCCESS,         MX_STATUS_BAD_ENDPOINT,
                                    MX_STATUS_ENDPOINT_CLOSED, MX_STATUS_BAD_SESSION,
                                    MX_STATUS_BAD_RDMAWIN,     MX_STATUS_ENDPOINT_UNREACHABLE,
                                    MX_STATUS_ABORTED};
    auto found = pulls_.find(msg.u.pull.cookie);
    if (found == pulls_.end())
        return; // cancelled when its end was in the event queue already
    Incoming *in = found->second;
    pulls_.erase(found);
    --in->partner->pulls;
    in->pulling = false;
    bool good = msg.u.pull.status == EMX_PULL_OK;
    in->partner->heard |= Partner::heard_frame;
    send_notify(in->partner, in->msg, good ? msg.u.pull.length : 0);
    finish_receive(in, msg.u.pull.status < std::size(codes) ? codes[msg.u.pull.status] : MX_STATUS_ABORTED);
    if (pulls_waiting_)
        retry_pulls();
}

} // namespace emx
