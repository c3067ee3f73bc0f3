// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Messages of an endpoint to itself, without the device: small ones are copied at once, long and
// synchronous ones go from buffer to buffer at the match (API specification, 3.3).
#include "libmx/endpoint.hpp"

namespace emx {

/// The partner that a message to ourselves goes by: our own or, where that is disabled, the one that the
/// device reaches by our address. For a program that has not connected to itself we do, and its messages wait
/// for that.
Partner *Endpoint::way_to_self()
{
    if (!context_.conf().disable_self || identity_.gone) [[likely]]
        return self();
    DeviceError error; // the board itself stands in its table
    Partner *mirror = partner_to_ask(identity_.board.nic_id, static_cast<uint8_t>(number()), 0, error);
    if (!mirror)
        return self();
    connect_back(mirror);
    mirror->named = true;
    if (!mirror->user_context) // set by our own address, which stands for the mirror from now on
        mirror->user_context = self()->user_context;
    return mirror;
}

void Endpoint::send_self(Request *request, uint64_t length, bool synchronous)
{
    emx_msg msg{};
    msg.type = EMX_RNDV;
    msg.match = request->match;
    msg.msg_len = static_cast<uint32_t>(length);
    Incoming *in = incoming_.make(self(), msg);
    if (synchronous || length > identity_.eager_max) {
        in->rendezvous = true;
        in->self_send = request;
    } else {
        in->complete = true;
        in->msg.data_len =
            std::min(in->msg.msg_len, self()->way.medium_bytes); // as its first packet would have
        in->storage = std::make_unique<std::byte[]>(length ? length : 1);
        gather(in->storage.get(), request->segments.view(), 0, length);
        request->buffered = true;
        request->xfer_length = request->msg_length;
        completions_.complete(request, MX_STATUS_SUCCESS);
    }
    stage(in);
    // Matching now lets a program that only waits for the receive see it; not from inside the handler.
    if (!gate_.is_closed() && !gate_.is_staging())
        match_accepted();
}

void Endpoint::finish_self(Incoming *in)
{
    Request *send = in->self_send;
    Request *recv = in->recv;
    uint64_t length = recv ? std::min<uint64_t>(in->msg.msg_len, recv->room) : 0;
    uint64_t offset = 0;
    if (recv)
        for (const Segment &from : send->segments.view()) {
            uint64_t piece = std::min<uint64_t>(from.length, length - offset);
            scatter(recv->segments.view(), offset, from.data, piece);
            offset += piece;
        }
    send->xfer_length = static_cast<uint32_t>(length);
    completions_.complete(send, length < in->msg.msg_len ? MX_STATUS_TRUNCATED : MX_STATUS_SUCCESS);
    in->self_send = nullptr;
}

} // namespace emx
