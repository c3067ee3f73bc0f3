// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "api.hpp"

namespace emx_gamma {

void Broadcast::join()
{
    lines_.resize(node_.count());
    for (uint32_t root = 0; root < node_.count(); root++)
        node_.aim(node_.new_port(user_ports + root), GAMMA_ALL, user_ports + node_.number());
}

Port &Broadcast::channel(uint32_t root) const { return *node_.find(user_ports + root); }

void Broadcast::launch(Send &send)
{
    Port &port = *send.port;
    const bool copied = send.message.length <= node_.copied_most_;
    if (copied) {
        send.error = node_.send_at_once(port, send.message, send.units);
        return node_.finish(&send);
    }
    const uint64_t label = data_label(node_.number(), port.dest_port, port.number, send.units);
    send.error = GAMMA_E_PEER;
    for (Flow *flow : port.targets) {
        if (!flow->alive())
            continue;
        if (send.message.flow)
            flow->sent = static_cast<uint16_t>(flow->sent + send.units);
        if (!node_.transmit(*flow, label | (send.message.flow ? flow_bit : 0), send.message, &send))
            continue;
        send.error = 0;
        ++send.out;
    }
    if (send.out == 0)
        node_.finish(&send);
}

void Broadcast::tell(Kind kind, uint32_t a, uint32_t b)
{
    for (Peer &peer : node_.peers_)
        if (peer.node != node_.number())
            node_.tell(peer, kind, a, b);
}

Buffer *Broadcast::expect(uint32_t root, void *memory, uint32_t length)
{
    Buffer *buffer = node_.new_buffer(channel(root));
    buffer->header = {};
    buffer->segments = {{{&buffer->header, sizeof buffer->header}, {memory, length}}};
    if (!node_.post(buffer))
        return buffer;
    release(buffer);
    return nullptr;
}

bool Broadcast::withdraw(Buffer *buffer)
{
    uint32_t taken_back = 0;
    if (buffer->request)
        mx_cancel(node_.endpoint_, &buffer->request, &taken_back);
    return taken_back;
}

void Broadcast::release(Buffer *buffer) { node_.spare_buffers_.push(buffer); }

} // namespace emx_gamma
