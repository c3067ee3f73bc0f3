// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Start and end of a job, and nodes that die.
#include "api.hpp"

#include <mx_extensions.h>

namespace emx_gamma {

const job::Terms terms_of_gamma{
    .program = "gamma",
    .hosts = "GAMMA_HOSTS",
    .number = "GAMMA_NODE",
    .place_key = "ethermx.gamma.place",
    .manual = "gamma(3)",
    .after_death = "messages to it end with GAMMA_E_PEER",
    .nodes_most = nodes_max,
};

/// pump() that sleeps so long.
bool Node::take_one(uint32_t timeout_ms)
{
    mx_status_t status;
    uint32_t found = 0;
    mx_wait_any(endpoint_, timeout_ms, 0, 0, &status, &found);
    if (found)
        take(static_cast<Event *>(status.context), status);
    if (!notes_.empty())
        serve_notes();
    if (room_came_)
        serve_queues();
    return found;
}

void Node::greet(job::Member &member)
{
    Hello hello{protocol_version, count(), options_.par_pid, window_units};
    mx_segment_t segment{&hello, sizeof hello};
    const mx_return_t code = mx_isend(endpoint_, &segment, 1, member.address,
                                      label(Kind::hello, options_.node, 0, 0, 0), nullptr, nullptr);
    if (code != MX_SUCCESS)
        bury(member, mx_strerror(code));
}

void Node::take_hello(Peer &peer, const Hello &hello)
{
    if (hello.version != protocol_version || hello.nodes != count() || hello.par_pid != options_.par_pid ||
        hello.window != window_units)
        return bury(peer, "its greeting is of another job or version");
    peer.greeted = true;
}

std::string Node::open()
{
    Lock lock(turn_);
    if (const std::string wrong = open_endpoint(); !wrong.empty())
        return wrong;
    mx_get_info(endpoint_, MX_COPY_SEND_MAX, nullptr, 0, &copied_most_, sizeof copied_most_);
    mx_register_unexp_handler(endpoint_, met_no_buffer, this);
    controls_ = std::make_unique<Control[]>(controls_posted);
    for (uint32_t i = 0; i < controls_posted; i++)
        post_control(&controls_[i]);
    barrier_.join(count());
    broadcast_.join();
    ready_for_use_ = true; // a faster node may send as soon as it has met all
    const std::string wrong = meet();
    if (!wrong.empty()) {
        ready_for_use_ = false;
        mx_close_endpoint(endpoint_);
    }
    return wrong;
}

int Node::close()
{
    Lock lock(turn_);
    if (int code = check(true))
        return fail(code);
    wait_until(lock, nullptr, [this] {
        for (const auto &port : ports_)
            if (port->sends)
                return false;
        return true;
    });
    closing_ = true;
    drop_waiting();
    for (Peer &peer : peers_)
        if (peer.node == options_.node)
            peer.left = true;
        else
            tell(peer, Kind::bye, multicast_.sent() & 0xffff, multicast_.sent() >> 16);
    wait_for_leavers();
    ready_for_use_ = false;
    mx_close_endpoint(endpoint_);
    return 0;
}

/// Messages that wait in MX for a buffer: their senders wait for them, and have to leave, too.
void Node::drop_waiting()
{
    for (const auto &port : ports_)
        for (; port->waiting > 0; --port->waiting)
            mx_irecv(endpoint_, nullptr, 0, data_label(0, port->number, 0, 0) & data_mask, data_mask, nullptr,
                     nullptr);
}

void Node::abort()
{
    const Lock lock(turn_);
    if (!ready_for_use_)
        return;
    broadcast_.tell(Kind::abort);
    mx_close_endpoint(endpoint_); // delivers it
    ready_for_use_ = false;
}

bool Node::mourn(job::Member &member)
{
    ++dead_;
    multicast_.lose(static_cast<const Peer &>(member));
    room_came_ = true; // for nobody: what waits for it has failed
    if (closing_)
        return false;
    for (const auto &port : ports_)
        for (const Flow *flow : port->targets)
            if (flow->peer == &member)
                raise(*port, GAMMA_E_PEER);
    barrier_.look_for_missing();
    return true;
}

} // namespace emx_gamma
