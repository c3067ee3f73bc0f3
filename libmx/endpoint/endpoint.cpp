// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Life of an endpoint, its addresses, and what a finished request tells.
#include "libmx/endpoint/endpoint.hpp"

#include <algorithm>

namespace emx {

Endpoint::Endpoint(Instance &instance, EndpointSlot &slot, uint32_t slot_index, const BoardInfo &board,
                   uint32_t key, uint32_t session)
    : instance_(instance), gate_(slot), waiter_(slot), requests_(slot_index),
      completions_(requests_), identity_{board, slot_index, key, session,
                                         std::min(static_cast<uint32_t>(instance.conf().rndv_threshold),
                                                  board.medium_max)},
      slot_(slot),
      // A late NOTIFY for what an older life announced must not fit the first windows of this one (10.1).
      windows_(static_cast<uint8_t>(session))
{
    set_messages_per_ack(instance.conf().notacked_max);
}

void Endpoint::attach(std::unique_ptr<Port> port)
{
    port_ = std::move(port);
    // Partner 0 is ourselves. Its address is that of the endpoint; it is reached without the device unless
    // self communication is disabled, in which case the latest partner of our own number takes its place.
    Partner *own = add_partner(~uint32_t{0}, identity_.board.nic_id, static_cast<uint8_t>(port_->number()));
    set_session(own, identity_.session);
    own->life.open_to_self();
    own->sender.open();
    own->self = own->way.detour = true;
}

Endpoint::~Endpoint()
{
    slot_.held_since_ns.store(0, std::memory_order_relaxed);
    partners_.each([this](Partner *partner) {
        instance_.raise_ack_counter_floor(partner->counters.ack_tx);
        early_.drop(partner->receiver.early);
        for (TxMessage *tx = partner->sender.rndv, *next; tx; tx = next) {
            next = tx->rndv_next;
            if (tx->acked) // the others stand in the queues below, too
                tx_pool_.release(tx);
        }
        for (TxQueue *queue : {&partner->sender.unacked, &partner->sender.waiting})
            while (!queue->empty())
                tx_pool_.release(queue->pop_front());
    });
    port_.reset(); // before the buffers that its windows and pulls refer to
    requests_.each([this](Request *request) {
        if (request->incoming)
            free_incoming(request->incoming);
        request->incoming = nullptr;
    });
    while (!accepted_.empty())
        free_incoming(accepted_.pop_front());
    while (Incoming *in = matcher_.first_unexpected()) {
        matcher_.remove(in);
        free_incoming(in);
    }
    partners_.each([this](Partner *partner) {
        if (partner->receiver.partial)
            free_incoming(partner->receiver.partial);
    });
}

/// Resolves our own address: to ourselves or, when that is disabled, to the partner that the device reaches
/// by it.
Partner *Endpoint::resolve_self(Partner *self)
{
    if (!instance_.conf().disable_self)
        return self;
    Partner *found = self;
    partners_.each([&](Partner *partner) {
        if (!partner->self && partner->session == identity_.session && partner->life.is_connected() &&
            partner->nic_id == identity_.board.nic_id && partner->remote_ep == number())
            found = partner;
    });
    found->named = true;
    return found;
}

bool Endpoint::cancel(Request *request, bool notify)
{
    if (request->complete)
        return false;
    if (request->kind == RequestKind::connect) {
        if (PendingConnect *connect = request->partner->connector.find(request))
            abandon_connect(request->partner, connect);
    } else if (request->kind == RequestKind::receive && !request->matched) {
        matcher_.withdraw(request);
    } else {
        return false;
    }
    if (notify) {
        completions_.complete(request, MX_STATUS_CANCELLED);
        return true;
    }
    completions_.clear_deadline(request);
    requests_.release(request);
    return true;
}

void Endpoint::tell_lost(std::unique_lock<Lock> &lock)
{
    if (gate_.inside_handler())
        return;
    const std::vector<int> codes = completions_.take_lost();
    ErrorHandler handle = handler();
    lock.unlock();
    for (int code : codes) {
        char text[] = "a message reported complete, or a forgotten request, failed";
        handle(text, handler_code(code));
    }
    lock.lock();
}

Census Endpoint::census()
{
    Census census;
    census.endpoints = 1;
    census.requests = requests_.live();
    census.incoming = incoming_.alive();
    census.tx_messages = tx_pool_.live();
    census.windows = windows_.used();
    partners_.each_active([&](const Partner *partner) { census.busy_partners += partner->busy(); });
    return census;
}

mx_return_t handler_code(int status)
{
    switch (status) {
    case MX_STATUS_SUCCESS: return MX_SUCCESS;
    case MX_STATUS_TIMEOUT: return MX_TIMEOUT;
    case MX_STATUS_ENDPOINT_CLOSED: return MX_CONNECTION_FAILED;
    case MX_STATUS_BAD_ENDPOINT: return MX_BAD_ENDPOINT_ID;
    case MX_STATUS_BAD_KEY: return MX_BAD_CONNECTION_KEY;
    case MX_STATUS_NO_RESOURCES: return MX_NO_RESOURCES;
    // Numbers of the Open-MX list where MX has no return code (API specification, 2.1 and 10.2).
    case MX_STATUS_CANCELLED: return static_cast<mx_return_t>(90);
    case MX_STATUS_BAD_RDMAWIN: return static_cast<mx_return_t>(91);
    case MX_STATUS_ENDPOINT_UNREACHABLE: return static_cast<mx_return_t>(92);
    case MX_STATUS_BAD_SESSION: return static_cast<mx_return_t>(93);
    case MX_STATUS_ABORTED: return static_cast<mx_return_t>(94);
    case MX_STATUS_TRUNCATED: return static_cast<mx_return_t>(95);
    default: return MX_BAD_BAD_BAD;
    }
}

} // namespace emx
