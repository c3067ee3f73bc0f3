// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Sending: best effort at once, flow controlled when there is room.
#include "api.hpp"

#include <algorithm>

namespace emx_gamma {

namespace {

constexpr uint32_t sends_most = 256; ///< pending, of a port
constexpr uint32_t mark_every = 32; ///< messages of best effort to a node
constexpr uint32_t marks_most = 2; ///< not yet completed: MX has taken more than it can send

} // namespace

/// Hands a message to MX. With a context it is a request, which completes there.
bool Node::transmit(Flow &flow, uint64_t label, const Message &message, Event *context)
{
    mx_request_t request; // found again by its context
    auto *segments = const_cast<mx_segment_t *>(message.segments);
    const mx_return_t code = mx_isend(endpoint_, segments, message.segments[1].segment_length ? 2 : 1,
                                      flow.peer->address, label, context, context ? &request : nullptr);
    if (code == MX_SUCCESS) [[likely]]
        return true;
    bury(*flow.peer, mx_strerror(code));
    return false;
}

/// True if one more message of best effort may be under way. From time to time one is a request, whose
/// completion says so.
bool Node::has_way(Peer &peer)
{
    if (peer.since_mark < mark_every) [[likely]]
        return true;
    while (peer.marks_out >= marks_most)
        if (!pump())
            return false;
    return true;
}

/// A message that MX copies, for which there is room. 0 or an error.
int Node::send_at_once(Port &port, const Message &message, uint32_t units)
{
    int code = GAMMA_E_PEER;
    for (Flow *flow : port.targets) {
        if (!flow->alive()) [[unlikely]]
            continue;
        Peer &peer = *flow->peer;
        Event *context = nullptr;
        if (message.flow) {
            flow->sent = static_cast<uint16_t>(flow->sent + units);
        } else {
            if (!has_way(peer)) [[unlikely]] {
                ++port.lost;
                raise(port, GAMMA_E_LOST);
                code = 0;
                continue;
            }
            if (peer.since_mark++ >= mark_every) [[unlikely]] {
                peer.since_mark = 0;
                ++peer.marks_out;
                context = &peer.mark;
            }
        }
        const uint64_t label = data_label(options_.node, port.dest_port, port.number, units) |
                               freed_label(port.from[peer.node].tell()) | (message.flow ? flow_bit : 0);
        if (transmit(*flow, label, message, context))
            code = 0;
    }
    return port.targets.empty() ? 0 : code;
}

int Node::send(uint32_t number, const Message &message)
{
    Lock lock(turn_);
    int code = 0;
    Port *port = port_of_call(number, false, code);
    if (code) [[unlikely]]
        return fail(code);
    const bool copied = message.length <= copied_most_;
    uint32_t units = !message.flow && copied ? 0 : 1;
    if (message.flow && copied)
        units = std::clamp((message.length + unit_bytes - 1) / unit_bytes, 1U, window_units / 2);
    if (copied) [[likely]] {
        bool now = true;
        if (message.flow) {
            // Nobody overtakes those that wait, of this port or others.
            now = may_go(*port, units);
            for (const Flow *flow : port->targets)
                now &= flow->queues == 0 || !flow->alive();
        }
        if (now) [[likely]] {
            code = send_at_once(*port, message, units);
            return code ? fail(code) : 0;
        }
    }
    code = send_later(lock, *port, message, units);
    return code ? fail(code) : 0;
}

int Node::send_later(Lock &lock, Port &port, const Message &message, uint32_t units)
{
    const bool living =
        std::any_of(port.targets.begin(), port.targets.end(), [](const Flow *f) { return f->alive(); });
    if (!living)
        return port.targets.empty() ? 0 : GAMMA_E_PEER;
    if (!message.blocking) {
        if (port.sends >= sends_most)
            return GAMMA_E_BUSY;
        ++port.sends;
        enqueue(new_send(), port, message, units);
        return 0;
    }
    if (inside())
        return message.length > copied_most_ ? GAMMA_E_IN_HANDLER : GAMMA_E_FULL;
    Send send;
    enqueue(&send, port, message, units);
    wait_until(lock, port.to_all ? nullptr : port.targets[0]->peer, [&] { return send.done; });
    return send.error;
}

Send *Node::new_send()
{
    if (Send *spare = spare_sends_.pop())
        return spare;
    sends_.push_back(std::make_unique<Send>());
    return sends_.back().get();
}

/// Queues a send behind all that wait already; sends with room go at once.
void Node::enqueue(Send *send, Port &port, const Message &message, uint32_t units)
{
    send->port = &port;
    send->message = message;
    send->units = units;
    send->out = 0;
    send->error = 0;
    send->done = false;
    if (!send->message.flow) // nothing to wait for
        return broadcast_.launch(*send);
    if (!port.queue.head) {
        queued_.push_back(&port);
        for (Flow *flow : port.targets)
            ++flow->queues;
    }
    port.queue.push(send);
    serve_queues();
}

void Node::serve_queues()
{
    room_came_ = false;
    ++pass_;
    std::vector<Port *> queued;
    queued.swap(queued_);
    for (Port *port : queued) {
        while (Send *send = port->queue.head) {
            bool go = may_go(*port, send->units);
            for (const Flow *flow : port->targets)
                go &= flow->pass != pass_ || !flow->alive();
            if (!go)
                break;
            port->queue.pop();
            broadcast_.launch(*send);
        }
        if (port->queue.head)
            queued_.push_back(port);
        for (Flow *flow : port->targets) {
            if (port->queue.head)
                flow->pass = pass_;
            else
                --flow->queues;
        }
    }
}

/// The memory of a send is its user's again. The send may be another's after this.
void Node::finish(Send *send)
{
    send->done = true;
    if (send->message.blocking)
        return;
    Port &port = *send->port;
    --port.sends;
    if (send->error && !port.failed)
        port.failed = send->error;
    spare_sends_.push(send);
}

int Node::wait_sends(uint32_t number)
{
    Lock lock(turn_);
    int code = 0;
    Port *port = port_of_call(number, true, code);
    if (code)
        return fail(code);
    wait_until(lock, nullptr, [port] { return port->sends == 0; });
    code = std::exchange(port->failed, 0);
    return code ? fail(code) : 0;
}

int Node::test_sends(uint32_t number)
{
    Lock lock(turn_);
    int code = 0;
    Port *port = port_of_call(number, false, code);
    if (code)
        return fail(code);
    progress(lock, nullptr);
    if (port->sends)
        return 0;
    code = std::exchange(port->failed, 0);
    return code ? fail(code) : 1;
}

} // namespace emx_gamma
