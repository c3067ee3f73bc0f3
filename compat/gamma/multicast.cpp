// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The group of a job. See multicast.hpp.
#include "api.hpp"

#include <compat/cast/packet.hpp>

#include <mx_extensions.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace emx_gamma {

namespace {

namespace cast = emx::cast;

constexpr uint32_t receives_posted = 16; ///< for packets that come as messages
constexpr uint32_t frames_per_poll = 32;
constexpr uint32_t bytes_most = 32768; ///< of a frame

} // namespace

struct Multicast::Receive : Event {
    explicit Receive(uint32_t room) : Event(What::packet), bytes(room) {}
    std::vector<std::byte> bytes;
};

Multicast::Multicast(Node &node) : node_(node), others_(node.count()), streams_(node.count()) {}

Multicast::~Multicast() = default;

// ---- membership

/// True where a frame takes the place of several messages.
bool Multicast::gains() const
{
    std::set<uint64_t> boards;
    for (const Peer &peer : node_.peers_)
        boards.insert(peer.place.nic_id);
    return node_.count() > 2 && boards.size() > 1;
}

/// One key for all nodes of a job, which no other job is likely to have.
uint32_t Multicast::key_of_job() const
{
    const Peer &first = node_.peers_[0];
    uint32_t session = 0;
    mx_decompose_endpoint_addr2(first.address, nullptr, nullptr, &session);
    const uint32_t key =
        (session ^ static_cast<uint32_t>(first.place.nic_id)) * 0x9e3779b1U ^ first.place.endpoint;
    return key ? key : 1;
}

void Multicast::join()
{
    if (asked_) [[likely]]
        return;
    asked_ = true;
    if (!gains())
        return;
    uint32_t limit = 0;
    mx_group_limit(node_.endpoint_, &limit);
    limit = std::min({limit, node_.copied_most_, bytes_most});
    const uint32_t key = key_of_job();
    if (limit > sizeof(cast::Packet) && mx_group_join(node_.endpoint_, key) == MX_SUCCESS) {
        key_ = key;
        bytes_ = limit;
        frame_.resize(bytes_);
        for (uint32_t i = 0; i < receives_posted; i++) {
            receives_.push_back(std::make_unique<Receive>(bytes_most));
            post(receives_.back().get());
        }
    }
    node_.broadcast_.tell(Kind::hello, hello_joined, bytes_);
}

void Multicast::take_joined(const Peer &peer, uint32_t bytes) { others_[peer.node].bytes = bytes; }

bool Multicast::is_ready() const
{
    return key_ != 0 && std::all_of(node_.peers_.begin(), node_.peers_.end(), [this](const Peer &peer) {
               return peer.node == node_.number() || peer.dead || peer.left || others_[peer.node].bytes > 0;
           });
}

// ---- streams

cast::Group &Multicast::stream(uint32_t root)
{
    std::unique_ptr<cast::Group> &stream = streams_[root];
    if (stream)
        return *stream;
    uint32_t bytes = bytes_;
    std::vector<bool> by_group(node_.count());
    if (root == node_.number())
        for (const Peer &peer : node_.peers_) {
            by_group[peer.node] = peer.place.nic_id != node_.peers_[root].place.nic_id;
            if (others_[peer.node].bytes > 0)
                bytes = std::min(bytes, others_[peer.node].bytes);
        }
    stream = std::make_unique<cast::Group>(*this, root, node_.number(), std::move(by_group), bytes);
    for (const Peer &peer : node_.peers_) {
        if (peer.dead)
            stream->lose(peer.node);
        if (peer.left && peer.node != node_.number())
            stream->leave(peer.node, others_[peer.node].sent);
    }
    return *stream;
}

uint32_t Multicast::sent() const
{
    const std::unique_ptr<cast::Group> &own = streams_[node_.number()];
    return own ? own->sent() : 0;
}

void Multicast::lose(const Peer &peer)
{
    for (const std::unique_ptr<cast::Group> &stream : streams_)
        if (stream)
            stream->lose(peer.node);
}

void Multicast::leave(const Peer &peer, uint32_t sent)
{
    others_[peer.node].sent = sent;
    for (const std::unique_ptr<cast::Group> &stream : streams_)
        if (stream)
            stream->leave(peer.node, sent);
}

// ---- packets

void Multicast::post(Receive *receive)
{
    mx_segment_t segment{receive->bytes.data(), static_cast<uint32_t>(receive->bytes.size())};
    mx_request_t request; // found again by its context
    mx_irecv(node_.endpoint_, &segment, 1, label(Kind::packet, 0, 0, 0, 0), kind_mask,
             static_cast<Event *>(receive), &request);
}

void Multicast::take_message(Event *event, const mx_status_t &status)
{
    auto *receive = static_cast<Receive *>(event);
    const uint32_t from = node_of(status.match_info);
    if (status.code == MX_STATUS_SUCCESS && from < node_.count())
        dispatch(from, {receive->bytes.data(), status.xfer_length});
    post(receive);
}

void Multicast::dispatch(uint32_t from, std::span<const std::byte> bytes)
{
    cast::Packet head;
    if (bytes.size() < sizeof head)
        return;
    std::memcpy(&head, bytes.data(), sizeof head);
    // A stream has one sender; all others only answer it.
    if (head.group < node_.count() && (head.group == from || head.group == node_.number()))
        stream(head.group).take(from, bytes);
}

bool Multicast::poll()
{
    uint32_t found = 0;
    for (uint32_t n = 0; key_ != 0 && n < frames_per_poll; n++, found++) {
        mx_group_status_t status;
        uint32_t came = 0;
        mx_group_receive(node_.endpoint_, key_, frame_.data(), bytes_, &status, &came);
        if (!came)
            break;
        cast::Packet head;
        if (status.length < sizeof head || status.length > bytes_)
            continue;
        std::memcpy(&head, frame_.data(), sizeof head);
        if (head.member >= node_.count() || head.member == node_.number())
            continue;
        const Peer &peer = node_.peers_[head.member];
        // Another job may have the same key.
        if (status.nic_id == peer.place.nic_id && status.endpoint_id == peer.place.endpoint &&
            status.session_id == peer.session)
            dispatch(head.member, {frame_.data(), status.length});
    }
    return found > 0;
}

uint64_t Multicast::now_ns() { return node_.options_.now_ns ? node_.options_.now_ns() : Link::now_ns(); }

void Multicast::to_group(std::span<const std::byte> bytes)
{
    mx_group_send(node_.endpoint_, key_, 0, bytes.data(), static_cast<uint32_t>(bytes.size()));
}

/// MX copies what is no longer than a frame.
void Multicast::to_member(cast::Group &, uint32_t member, std::span<const std::byte> bytes)
{
    Peer &peer = node_.peers_[member];
    if (peer.dead) // one that has left still repeats what others lack
        return;
    mx_segment_t segment{const_cast<std::byte *>(bytes.data()), static_cast<uint32_t>(bytes.size())};
    const mx_return_t code = mx_isend(node_.endpoint_, &segment, 1, peer.address,
                                      label(Kind::packet, node_.number(), 0, 0, 0), nullptr, nullptr);
    if (code != MX_SUCCESS)
        node_.bury(peer, mx_strerror(code));
}

} // namespace emx_gamma
