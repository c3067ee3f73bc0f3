// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Match: the second stage of receiving. Gives messages to posted receives, asks the unexpected handler,
// keeps the rest (API specification, 3.4, 3.10 and 5). Runs only inside a call of the application.
#include "libmx/endpoint.hpp"

#include <cstring>

namespace emx {

Request *Endpoint::post_receive(const Segment *segments, uint32_t count, uint64_t room, uint64_t match,
                                uint64_t mask, void *context)
{
    Request *recv = requests_.allocate(RequestKind::receive);
    if (!recv)
        return nullptr;
    recv->match = match;
    recv->mask = mask;
    recv->context = context;
    recv->room = room;
    recv->budget_ns = default_budget_ns_;
    recv->segments.assign(segments, count);
    if (Incoming *in = unexpected_.find(match, mask)) [[unlikely]] {
        unexpected_.remove(in);
        bind(in, recv);
    } else {
        posted_.push_back(recv);
    }
    return recv;
}

void Endpoint::stage(Incoming *in)
{
    if (!staging_ && !accepted_ && !gated())
        return match(in);
    own_data(in);
    in->next = nullptr;
    (accepted_tail_ ? accepted_tail_->next : accepted_) = in;
    accepted_tail_ = in;
}

void Endpoint::match_accepted()
{
    while (accepted_ && !gated()) {
        Incoming *in = accepted_;
        accepted_ = in->next;
        if (!accepted_)
            accepted_tail_ = nullptr;
        in->next = nullptr;
        match(in);
    }
}

void Endpoint::match(Incoming *in)
{
    Request *recv = posted_.find(in->match);
    if (!recv && unexp_handler_) {
        if (!ask_handler(in))
            return;
        recv = posted_.find(in->match); // the handler may have posted it
    }
    if (recv) {
        posted_.remove(recv);
        return bind(in, recv);
    }
    own_data(in);
    ++arrivals_;
    unexpected_.push_back(in);
}

/// The data that the handler may see: an eager message that came in one packet of the dialect, else nothing.
/// Its way here and the time of the look make no difference.
const std::byte *Endpoint::shown(const Incoming *in)
{
    static const std::byte nothing{}; // an empty one has a place, too
    const emx_msg &msg = in->msg;
    if (!in->complete || msg.data_len != msg.msg_len || msg.msg_len > in->partner->frag)
        return nullptr;
    const std::byte *whole = in->storage ? in->storage.get() : in->view;
    return whole ? whole : &nothing;
}

/// Calls the handler with the lock released and progression held. False: the message is dealt with.
bool Endpoint::ask_handler(Incoming *in)
{
    auto *data = const_cast<void *>(static_cast<const void *>(shown(in)));
    mx_endpoint_addr_t source = address_of(in->partner);
    const UnexpHandler handler = unexp_handler_; // may be replaced while it runs
    in->busy = true;
    in_handler_ = true;
    handler_thread_ = std::this_thread::get_id();
    ++slot_.users;
    slot_.mutex.unlock();
    const int action = handler(source, in->match, in->msg.msg_len, data);
    slot_.mutex.lock();
    --slot_.users;
    in_handler_ = false;
    in->busy = false;
    slot_.changed.notify_all();
    if (in->orphan || (in->partner->state == PartnerState::dead && !in->partner->self)) {
        free_incoming(in);
        return false;
    }
    if (action == MX_RECV_FINISHED) {
        discard(in);
        return false;
    }
    return true;
}

/// The handler took the message: nothing is to be received, senders that wait are told.
void Endpoint::discard(Incoming *in)
{
    if (in->self_send) {
        finish_self(in);
        return free_incoming(in);
    }
    if (in->rendezvous) {
        send_notify(in->partner, in->msg, 0);
        return free_incoming(in);
    }
    if (in->complete)
        return free_incoming(in);
    in->discard = true; // the other fragments still have to be taken, for the ack
    in->storage.reset();
}

void Endpoint::bind(Incoming *in, Request *recv)
{
    in->recv = recv;
    recv->incoming = in;
    recv->matched = true;
    recv->partner = in->partner;
    if (in->held) [[unlikely]]
        no_longer_held(in);
    if (in->self_send) [[unlikely]] {
        finish_self(in);
        return finish_receive(in, MX_STATUS_SUCCESS);
    }
    if (!in->rendezvous) {
        if (in->complete)
            consume(in);
        return;
    }
    if (in->msg.msg_len == 0 || recv->room == 0) {
        send_notify(in->partner, in->msg, 0);
        return finish_receive(in, MX_STATUS_SUCCESS);
    }
    start_pull(in);
}

/// A complete eager message and its receive: the copy, when the bytes are not in place yet.
void Endpoint::consume(Incoming *in)
{
    uint64_t length = std::min<uint64_t>(in->msg.msg_len, in->recv->room);
    if (const std::byte *data = in->storage ? in->storage.get() : in->view)
        scatter(in->recv->segments.view(), 0, data, length);
    finish_receive(in, MX_STATUS_SUCCESS);
}

/// Copies a message that still lies in its frame: the frame goes back to the device.
void Endpoint::own_data(Incoming *in)
{
    if (!in->view)
        return;
    if (in->msg.msg_len) {
        in->storage = std::make_unique<std::byte[]>(in->msg.msg_len);
        std::memcpy(in->storage.get(), in->view, in->msg.msg_len);
    }
    in->view = nullptr;
}

void Endpoint::finish_receive(Incoming *in, int code)
{
    Request *recv = in->recv;
    uint64_t room = recv->room;
    bool good = code == MX_STATUS_SUCCESS;
    uint32_t length = good ? static_cast<uint32_t>(std::min<uint64_t>(in->msg.msg_len, room)) : 0;
    if (good && room < in->msg.msg_len)
        code = MX_STATUS_TRUNCATED;
    Partner *partner = in->partner;
    emx_msg msg = in->msg;
    recv->incoming = nullptr;
    free_incoming(in);
    complete_receive(recv, msg, partner, length, code);
}

void Endpoint::complete_receive(Request *recv, const emx_msg &msg, Partner *partner, uint32_t xfer_length,
                                int code)
{
    recv->matched = true;
    recv->partner = partner;
    recv->match = msg.match;
    recv->msg_length = msg.msg_len;
    recv->xfer_length = xfer_length;
    complete(recv, code);
}

} // namespace emx
