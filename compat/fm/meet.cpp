// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Start and end of a job, and nodes that die.
#include "api.hpp"

#include <mx_extensions.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace fm {

namespace {

constexpr uint32_t look_ms = 10; ///< while the job starts or ends

std::string place_text(const Place &place)
{
    char text[64];
    std::snprintf(text, sizeof text, "endpoint %u of board %012llx", place.endpoint,
                  static_cast<unsigned long long>(place.nic_id));
    return text;
}

} // namespace

std::string Node::open_endpoint()
{
    endpoint_ = options_.endpoint;
    if (endpoint_)
        return {};
    mx_param_t parameter{};
    parameter.key = MX_PARAM_ERROR_HANDLER;
    parameter.val.error_handler = note_trouble;
    const uint32_t number = options_.places[options_.node].endpoint;
    const mx_return_t code =
        mx_open_endpoint(options_.board, number, options_.key, &parameter, 1, &endpoint_);
    if (code == MX_SUCCESS)
        return {};
    return "endpoint " + std::to_string(number) + " cannot be opened: " + mx_strerror(code) +
           (code == MX_BUSY ? "; name another in FM_HOSTS, or end the program that has it" : "");
}

/// pump() that sleeps so long, while the job starts or ends.
bool Node::take_one(uint32_t timeout_ms)
{
    mx_status_t status;
    uint32_t found = 0;
    mx_wait_any(endpoint_, timeout_ms, 0, 0, &status, &found);
    if (found)
        take(static_cast<Event *>(status.context), status);
    return found != 0;
}

std::string Node::connect(Peer &peer)
{
    mx_return_t code = MX_SUCCESS;
    if (peer.node == options_.node) {
        mx_get_endpoint_addr(endpoint_, &peer.address);
        peer.greeted = true;
        peer.window = window_;
        return {};
    }
    for (uint32_t looks = options_.start_timeout * 1000 / look_ms; looks; looks--) {
        code = mx_connect(endpoint_, peer.place.nic_id, peer.place.endpoint, options_.key, look_ms * 100,
                          &peer.address);
        if (code == MX_SUCCESS) {
            mx_decompose_endpoint_addr2(peer.address, nullptr, nullptr, &peer.session);
            return {};
        }
        if (code != MX_CONNECTION_FAILED && code != MX_TIMEOUT && code != MX_NIC_NOT_FOUND)
            break;
        if (code == MX_TIMEOUT) {
            looks -= std::min<uint32_t>(looks - 1, 99);
            continue;
        }
        take_one(look_ms);
    }
    return "node " + std::to_string(peer.node) + ", " + place_text(peer.place) +
           ", is not there: " + mx_strerror(code) +
           "; start it, and check that all nodes have the same list and key";
}

std::string Node::missing() const
{
    std::string list;
    for (const Peer &peer : peers_)
        if (!peer.greeted)
            list += (list.empty() ? "" : ", ") + std::to_string(peer.node);
    return list;
}

/// Meets all: nobody leaves before all have come.
std::string Node::greet_all()
{
    Hello hello{protocol_version, count(), window_, packet_bytes};
    for (Peer &peer : peers_) {
        mx_segment_t segment{&hello, sizeof hello};
        if (peer.node != options_.node)
            transmit(peer, label(Kind::hello, true, options_.node, 0), &segment, 1);
    }
    uint32_t looks = options_.start_timeout * 1000 / look_ms;
    while (!missing().empty()) {
        if (!take_one(look_ms) && --looks == 0)
            return "of node " + missing() + " no greeting came; all nodes must have the same list";
        for (const Peer &peer : peers_)
            if (peer.dead)
                return "node " + std::to_string(peer.node) +
                       " has gone or belongs to another job; all nodes must have the same list and version";
    }
    return {};
}

void Node::take_hello(Peer &peer, const Slot &slot)
{
    Hello hello{};
    if (slot.length == sizeof hello)
        std::memcpy(&hello, slot.data, sizeof hello);
    if (hello.version != protocol_version || hello.nodes != count() || hello.packet != packet_bytes ||
        hello.window < window_least || hello.window > window_most)
        return bury(peer, "its greeting is of another job or version");
    peer.window = hello.window;
    peer.greeted = true;
}

std::string Node::open()
{
    const Lock lock(mutex_);
    if (const std::string wrong = open_endpoint(); !wrong.empty())
        return wrong;
    uint32_t copied = 0;
    mx_get_info(endpoint_, MX_COPY_SEND_MAX, nullptr, 0, &copied, sizeof copied);
    bulk_min_ = copied + 1;
    if (copied < packet_bytes) { // MX would read the memory of a packet after its call
        mx_close_endpoint(endpoint_);
        return "MX copies messages of up to " + std::to_string(copied) + " bytes, and a packet has " +
               std::to_string(packet_bytes) +
               "; raise OMX_RNDV_THRESHOLD and OMX_SHARED_RNDV_THRESHOLD, or leave them out";
    }
    for (uint32_t i = 0; i < slot_count_; i++)
        post(&slots_[i]);
    std::string wrong;
    for (Peer &peer : peers_)
        if (wrong.empty())
            wrong = connect(peer);
    if (wrong.empty())
        wrong = greet_all();
    if (wrong.empty())
        ready_for_use_ = true;
    else
        mx_close_endpoint(endpoint_);
    return wrong;
}

bool Node::close()
{
    const Lock lock(mutex_);
    if (!ready_for_use_ || inside_handler()) {
        fail(ready_for_use_ ? FM_E_IN_HANDLER : FM_E_INIT);
        return false;
    }
    closing_ = true;
    while (Slot *slot = ready_.pop())
        discard(slot);
    for (Peer &peer : peers_) {
        for (ReceiveStream *stream = peer.streams; stream; stream = stream->next) {
            while (Slot *slot = stream->queue.pop())
                discard(slot);
            if (!stream->dropping)
                warn("FM_finalize ends a handler that waits for more of a message of node " +
                     std::to_string(peer.node));
        }
        if (peer.node == options_.node)
            peer.left = true;
        else if (!peer.dead)
            transmit(peer, label(Kind::bye, true, options_.node, 0), nullptr, 0);
    }
    for (Peer &peer : peers_)
        while (!peer.left && !peer.dead)
            if (!take_one(look_ms))
                look_after(&peer);
    ready_for_use_ = false;
    mx_close_endpoint(endpoint_);
    return true;
}

// ---- death

/// Asks for a sign of life.
void Node::ping(Peer &peer)
{
    if (peer.pinging || peer.dead || peer.left || peer.node == options_.node)
        return;
    mx_request_t request; // found again by its context
    const mx_return_t code =
        mx_iconnect(endpoint_, peer.place.nic_id, peer.place.endpoint, options_.key, 0, &peer.ping, &request);
    if (code != MX_SUCCESS)
        return bury(peer, mx_strerror(code));
    peer.pinging = true;
}

void Node::take_pong(Peer &peer, const mx_status_t &status)
{
    peer.pinging = false;
    if (peer.left)
        return;
    if (status.code != MX_STATUS_SUCCESS)
        return bury(peer, mx_strstatus(status.code));
    uint32_t session = 0;
    mx_decompose_endpoint_addr2(status.source, nullptr, nullptr, &session);
    // With another address of the same session the connection broke down meanwhile, and packets are lost.
    if (session != peer.session || std::memcmp(&status.source, &peer.address, sizeof peer.address) != 0)
        bury(peer, "it has begun anew");
}

void Node::bury(Peer &peer, const char *why)
{
    if (peer.dead)
        return;
    peer.dead = true;
    if (closing_) // it has what it waited for
        return;
    news_ = FM_E_PEER;
    warn("node " + std::to_string(peer.node) + ", " + place_text(peer.place) + ", is gone: " + why +
         "; messages to and from it end with FM_E_PEER");
    for (ReceiveStream *stream = peer.streams, *next; stream; stream = next) {
        next = stream->next;
        break_stream(stream);
    }
}

void Node::break_stream(ReceiveStream *stream)
{
    stream->broken = true;
    if (stream->dropping)
        return remove(stream);
    for (uint32_t i = 0; i < stream->bulk_posted; i++) {
        uint32_t taken_back = 0;
        if (stream->bulk[i])
            mx_cancel(endpoint_, &stream->bulk[i], &taken_back);
        stream->bulk_out -= taken_back;
    }
    if (stream->bulk_out == 0) {
        stream->bulk_posted = 0;
        wake(stream);
    }
}

/// From time to time while nothing comes: is the one that is waited for alive, or, in turn, each?
void Node::look_after(Peer *awaited)
{
    if (trouble_seen_ != troubles.load(std::memory_order_relaxed)) {
        trouble_seen_ = troubles.load(std::memory_order_relaxed);
        for (Peer &peer : peers_)
            ping(peer);
    } else if (awaited)
        return ping(*awaited);
    next_pinged_ = (next_pinged_ + 1) % count();
    ping(peers_[next_pinged_]);
}

} // namespace fm
