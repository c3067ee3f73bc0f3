// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Ports, their buffers, and arrivals: handlers, semaphores, credits, losses.
#include "api.hpp"

#include <mx_extensions.h>

#include <algorithm>

namespace emx_gamma {

namespace {

constexpr uint32_t posted_most = 1024; ///< buffers of a port
constexpr std::size_t notes_most = 256; ///< beyond, the sender of best effort is told no more

} // namespace

// ---- binding

Port &Node::new_port(uint32_t number)
{
    auto &page = pages_[number >> 8];
    if (!page)
        page = std::make_unique<Page>();
    ports_.push_back(std::make_unique<Port>());
    Port &port = *ports_.back();
    port.number = number;
    port.from.resize(count());
    (*page)[number & 255] = &port;
    return port;
}

/// Sets the destination of a port.
void Node::aim(Port &port, uint32_t dest_node, uint32_t dest_port)
{
    port.dest_port = dest_port;
    port.to_all = dest_node == GAMMA_ALL;
    for (Peer &peer : peers_)
        if (port.to_all ? peer.node != options_.node : peer.node == dest_node) {
            auto &flow = flows_[{peer.node, dest_port}];
            if (!flow)
                flow = std::make_unique<Flow>(peer);
            port.targets.push_back(flow.get());
        }
}

int Node::check_binding(uint32_t port, const Binding &binding) const
{
    if (int code = check(false))
        return code;
    if (find(port))
        return GAMMA_E_BOUND;
    if (binding.dest_node >= count() && binding.dest_node != GAMMA_ALL)
        return GAMMA_E_NODE;
    if (binding.dest_par_pid != options_.par_pid)
        return GAMMA_E_PAR_PID;
    return binding.kind != GO_BACK || (binding.active && !binding.handler) ? GAMMA_E_ARGUMENT : 0;
}

int Node::bind(uint32_t number, const Binding &binding)
{
    const Lock lock(turn_);
    if (int code = check_binding(number, binding))
        return fail(code);
    Port &port = new_port(number);
    aim(port, binding.dest_node, binding.dest_port);
    port.active = binding.active;
    port.handler = binding.handler;
    port.semaphore = binding.semaphore;
    const int code = binding.buffer ? post_user(port, binding.buffer, binding.size) : 0;
    return code ? fail(code) : 0;
}

// ---- buffers

Buffer *Node::new_buffer(Port &port)
{
    Buffer *buffer = spare_buffers_.pop();
    if (!buffer) {
        buffers_.push_back(std::make_unique<Buffer>());
        buffer = buffers_.back().get();
    }
    buffer->port = &port;
    buffer->done = buffer->cut = false;
    return buffer;
}

/// 0 or an error.
int Node::post(Buffer *buffer)
{
    Port &port = *buffer->port;
    const uint64_t label = data_label(0, port.number, 0, 0) & data_mask;
    const bool late = port.waiting != 0; // the call may meet one that waits for the next buffer
    const uint32_t pieces = buffer->segments[1].segment_length ? 2 : 1;
    if (mx_irecv(endpoint_, buffer->segments.data(), pieces, label, data_mask, static_cast<Event *>(buffer),
                 &buffer->request) != MX_SUCCESS)
        return GAMMA_E_MX;
    buffer->late = late;
    port.waiting -= late;
    return 0;
}

int Node::post_user(Port &port, void *memory, unsigned long size)
{
    if (port.posted >= posted_most)
        return GAMMA_E_BUSY;
    Buffer *buffer = new_buffer(port);
    buffer->segments = {{{memory, static_cast<uint32_t>(std::min(size, GAMMA_LENGTH_MAX))}, {nullptr, 0}}};
    if (const int code = post(buffer)) {
        spare_buffers_.push(buffer);
        return code;
    }
    port.buffers.push(buffer);
    ++port.posted;
    return 0;
}

int Node::post_recv(uint32_t number, void *memory, unsigned long size)
{
    const Lock lock(turn_);
    int code = 0;
    Port *port = port_of_call(number, false, code);
    if (!code && size && !memory)
        code = GAMMA_E_ARGUMENT;
    if (!code)
        code = post_user(*port, memory, size);
    return code ? fail(code) : 0;
}

int Node::lost(uint32_t number)
{
    const Lock lock(turn_);
    int code = 0;
    const Port *port = port_of_call(number, false, code);
    return code ? fail(code) : static_cast<int>(port->lost & 0x7fffffff);
}

// ---- arrival

void Node::take_buffer(Buffer *buffer, const mx_status_t &status)
{
    Port &port = *buffer->port;
    buffer->request = nullptr;
    if (status.code != MX_STATUS_SUCCESS && status.code != MX_STATUS_TRUNCATED) [[unlikely]]
        return take_failed(buffer);
    const uint32_t node = node_of(status.match_info);
    if (!buffer->late && take_freed(&port, status.match_info)) [[unlikely]]
        room_came_ = true;
    if (is_flow(status.match_info))
        free_units(port, status.match_info);
    else if (buffer->late && node < count() && port.from[node].kept)
        --port.from[node].kept;
    buffer->length = status.xfer_length;
    buffer->cut = status.msg_length > status.xfer_length;
    buffer->done = true;
    if (port.number < user_ports)
        hand_on(port);
}

/// Its sender died in the midst of it: the buffer is for another message.
void Node::take_failed(Buffer *buffer)
{
    if (buffer->port->number >= user_ports) {
        buffer->length = 0;
        buffer->done = true;
        return;
    }
    put_last(buffer);
    post(buffer);
    hand_on(*buffer->port);
}

/// A buffer goes behind all others of its port.
void Node::put_last(Buffer *buffer)
{
    job::Fifo<Buffer> &buffers = buffer->port->buffers;
    Buffer *others = buffers.head;
    buffers.clear();
    while (Buffer *one = others) {
        others = one->next;
        if (one != buffer)
            buffers.push(one);
    }
    buffers.push(buffer);
}

/// Credits of a message that has met its buffer.
void Node::free_units(Port &port, uint64_t label)
{
    const uint32_t node = node_of(label);
    if (node >= count())
        return;
    Port::From &from = port.from[node];
    from.freed = static_cast<uint16_t>(from.freed + units_of(label));
    if (static_cast<uint16_t>(from.freed - from.told) < window_units / 4)
        return;
    from.told = from.freed;
    tell(peers_[node], Kind::credit, port.number, from.freed);
}

/// Hears what a message for that port, if there is one, tells of our own. True: somebody may wait for that.
bool Node::take_freed(const Port *port, uint64_t label)
{
    if (!(label & freed_told))
        return false;
    const uint32_t node = node_of(label), from = b_of(label);
    // Two ports are bound to each other, as a rule.
    if (port && port->dest_port == from && port->targets.size() == 1 && port->targets[0]->peer->node == node)
        [[likely]]
        return port->targets[0]->take_freed(freed_of(label), freed_mask);
    const auto flow = flows_.find({node, from});
    return flow != flows_.end() && flow->second->take_freed(freed_of(label), freed_mask);
}

/// Runs the handlers of complete messages, unless some thread does. False: nothing was done.
bool Node::deliver(Lock &lock)
{
    if (aborting_) [[unlikely]]
        options_.aborted(*this);
    bool any = false;
    while (!exclusive_ && ready_.head) {
        hand_over(lock, ready_.pop());
        any = true;
    }
    return any;
}

void Node::hand_over(Lock &lock, Buffer *buffer)
{
    Port &port = *buffer->port;
    const uint32_t length = buffer->length;
    const bool cut = buffer->cut;
    spare_buffers_.push(buffer);
    if (closing_)
        return;
    if (cut) [[unlikely]]
        raise(port, GAMMA_E_LENGTH);
    if (port.active) {
        gamma_thread &thread = thread_state(this);
        const gamma_thread before = thread;
        thread.active_port = static_cast<unsigned short>(port.number);
        thread.msglen = length;
        run_handler(lock, port.handler);
        thread.active_port = before.active_port;
        thread.msglen = before.msglen;
    }
    if (port.semaphore != GAMMA_NO_SEMAPHORE)
        ++semaphores_[port.semaphore].count;
}

/// Runs user code, without the lock; no other handler meanwhile.
void Node::run_handler(Lock &lock, void (*handler)())
{
    const bool before = std::exchange(exclusive_, true);
    holder_ = emx::Lock::this_thread();
    lock.unlock();
    [&]() noexcept { handler(); }();
    lock.lock();
    exclusive_ = before;
}

// ---- messages without a buffer

/// MX calls it inside a call of ours, so that the lock is held; much is not allowed here.
mx_unexp_handler_action_t Node::met_no_buffer(void *node, mx_endpoint_addr_t, uint64_t label, uint32_t,
                                              void *)
{
    return static_cast<Node *>(node)->keeps(label) ? MX_RECV_CONTINUE : MX_RECV_FINISHED;
}

bool Node::keeps(uint64_t label)
{
    if (label & control_bit)
        return true;
    if (kind_of(label) == Kind::packet)
        return true;
    if (kind_of(label) != Kind::data || node_of(label) >= count() || a_of(label) >= ports_all || closing_)
        return false;
    Port *port = find(a_of(label));
    if (take_freed(port, label)) {
        room_came_ = true;
        mx_wakeup(endpoint_); // no request completes that a sleeper would see
    }
    if (port) {
        Port::From &from = port->from[node_of(label)];
        const bool kept = !is_flow(label) && !units_of(label) && from.kept < kept_most;
        from.kept = static_cast<uint16_t>(from.kept + kept);
        port->waiting += kept || is_flow(label);
        if (kept || is_flow(label))
            return true;
    }
    if (notes_.size() < notes_most || is_flow(label))
        notes_.push_back({label, port ? GAMMA_E_LOST : GAMMA_E_NO_PORT});
    if (port)
        ++port->lost;
    return false;
}

void Node::serve_notes()
{
    std::vector<Note> notes;
    notes.swap(notes_);
    for (const Note &note : notes) {
        if (note.code == GAMMA_E_NO_PORT)
            tell(peers_[node_of(note.label)], Kind::refused, b_of(note.label),
                 static_cast<uint32_t>(note.code), is_flow(note.label) ? units_of(note.label) : 0);
        else if (Port *port = find(a_of(note.label)))
            raise(*port, note.code);
    }
}

/// An error at a port, as by gamma_sigerr.
void Node::raise(Port &port, int code)
{
    if (port.number < user_ports)
        semaphores_.raise(port.semaphore, code);
}

} // namespace emx_gamma
