// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Match: the second stage of receiving. Gives messages to posted receives, asks the unexpected handler,
// keeps the rest (API specification, 3.4, 3.10 and 5). Runs only inside a call of the application.
#include "driver/base/probe.hpp"
#include "libmx/endpoint/endpoint.hpp"

#include <cstring>

namespace emx {

void Endpoint::stage(Incoming *in)
{
    if (!gate_.is_staging() && accepted_.empty() && !gate_.is_closed())
        return match(in);
    in->own_data();
    accepted_.push_back(in);
}

void Endpoint::match_accepted()
{
    while (!accepted_.empty() && !gate_.is_closed())
        match(accepted_.pop_front());
}

void Endpoint::match(Incoming *in)
{
    Request *recv = matcher_.take(in->match);
    if (!recv && matcher_.handler()) {
        if (!ask_handler(in))
            return;
        recv = matcher_.take(in->match); // the handler may have posted it
    }
    if (recv)
        return bind(in, recv);
    EMX_PROBE(3, unexpected, in->match, in->msg.msg_len, in->partner->address.stuff[0]);
    in->own_data();
    matcher_.keep(in);
}

/// Calls the handler with the lock released and progression held. False: the message is dealt with.
bool Endpoint::ask_handler(Incoming *in)
{
    auto *data = const_cast<void *>(static_cast<const void *>(in->shown(in->partner->way.medium_bytes)));
    mx_endpoint_addr_t source = in->partner->address;
    const UnexpHandler handler = matcher_.handler(); // may be replaced while it runs
    in->busy = true;
    const int action = gate_.run_handler([&] { return handler(source, in->match, in->msg.msg_len, data); });
    in->busy = false;
    slot_.changed.notify_all();
    if (in->orphan || (in->partner->life.is_dead() && !in->partner->self)) {
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
    EMX_PROBE(4, matched, recv, in->match, in->msg.msg_len, in->partner->address.stuff[0]);
    if (in->held) [[unlikely]]
        matcher_.discharge(in);
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

} // namespace emx
