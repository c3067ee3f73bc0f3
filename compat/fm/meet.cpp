// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Start and end of a job, and nodes that die.
#include "api.hpp"

#include <algorithm>
#include <cstring>

namespace fm {

const job::Terms terms_of_fm{
    .program = "fm",
    .hosts = "FM_HOSTS",
    .number = "FM_NODE",
    .place_key = "ethermx.fm.place",
    .manual = "fm(3)",
    .after_death = "messages to and from it end with FM_E_PEER",
    .nodes_most = nodes_max,
};

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

void Node::greet(job::Member &member)
{
    Hello hello{protocol_version, count(), window_, packet_bytes};
    mx_segment_t segment{&hello, sizeof hello};
    say(static_cast<Peer &>(member), Word::hello, &segment, 1);
}

void Node::take_hello(Peer &peer, const Slot &slot)
{
    Hello hello{};
    if (slot.length == sizeof hello)
        std::memcpy(&hello, slot.data, sizeof hello);
    if (hello.version != protocol_version || hello.nodes != count() || hello.packet != packet_bytes ||
        hello.window < window_least || hello.window > window_most)
        return bury(peer, "its greeting is of another job or version");
    grant(peer, hello.window);
    peer.greeted = true;
}

void Node::grant(Peer &peer, uint32_t window)
{
    peer.window = window;
    peer.whole = std::min(window / 2, whole_most);
    if (window >= wide_window_least)
        peer.longest = longest_;
}

std::string Node::open()
{
    const Lock lock(mutex_);
    if (const std::string wrong = open_endpoint(); !wrong.empty())
        return wrong;
    uint32_t copied = 0;
    mx_get_info(endpoint_, MX_COPY_SEND_MAX, nullptr, 0, &copied, sizeof copied);
    // A message is promised units for packets of these two lengths alone.
    bulk_min_ = std::max(copied, wide_bytes) + 1;
    longest_ = copied >= wide_bytes ? wide_bytes : packet_bytes;
    if (copied < packet_bytes) { // MX would read the memory of a packet after its call
        mx_close_endpoint(endpoint_);
        return "MX copies messages of up to " + std::to_string(copied) + " bytes, and a packet has " +
               std::to_string(packet_bytes) +
               "; raise OMX_RNDV_THRESHOLD and OMX_SHARED_RNDV_THRESHOLD, or leave them out";
    }
    refill(short_);
    refill(wide_);
    grant(peers_[options_.node], window_);
    const std::string wrong = meet();
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
            say(peer, Word::bye, nullptr, 0);
    }
    wait_for_leavers();
    ready_for_use_ = false;
    mx_close_endpoint(endpoint_);
    return true;
}

// ---- death

bool Node::mourn(job::Member &member)
{
    if (closing_) // it has what it waited for
        return false;
    news_ = FM_E_PEER;
    for (ReceiveStream *stream = static_cast<Peer &>(member).streams, *next; stream; stream = next) {
        next = stream->next;
        break_stream(stream);
    }
    return true;
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
        stream->holed |= taken_back != 0;
    }
    if (stream->bulk_out == 0) {
        stream->bulk_posted = 0;
        wake(stream);
    }
}

} // namespace fm
