// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The MX endpoint of a process's groups. See endpoint.hpp.
#include "endpoint.hpp"

#include <algorithm>
#include <cstring>

namespace emx::cast {

namespace {

constexpr uint32_t connect_key = 0x656d7863; ///< only endpoints of this kind connect to one another
constexpr uint32_t packet_max = 32768; ///< bytes; MX copies as many at once
constexpr unsigned receives = 32; ///< posted
constexpr unsigned per_poll = 32; ///< messages, and frames
constexpr uint32_t sleep_ms = 1;

} // namespace

std::unique_ptr<Endpoint> Endpoint::open(uint32_t board, uint32_t key)
{
    std::unique_ptr<Endpoint> self(new Endpoint);
    if (mx_open_endpoint(board, MX_ANY_ENDPOINT, connect_key, nullptr, 0, &self->endpoint_) != MX_SUCCESS)
        return nullptr;
    mx_endpoint_addr_t own{};
    uint32_t limit = 0;
    mx_get_endpoint_addr(self->endpoint_, &own);
    mx_decompose_endpoint_addr2(own, &self->place_.nic_id, &self->place_.endpoint, &self->place_.session);
    mx_group_limit(self->endpoint_, &limit);
    if (limit > sizeof(Packet) && mx_group_join(self->endpoint_, key) == MX_SUCCESS) {
        self->key_ = key;
        self->place_.frame = std::min(limit, packet_max);
    }
    self->frame_.resize(packet_max);
    for (unsigned i = 0; i < receives; i++) {
        Buffer &buffer = self->buffers_.emplace_back();
        buffer.receives = true;
        buffer.bytes.resize(packet_max);
        self->post(&buffer);
    }
    return self;
}

Endpoint::~Endpoint()
{
    groups_.clear();
    if (endpoint_)
        mx_close_endpoint(endpoint_);
}

bool Endpoint::connect(const Place &member, uint32_t timeout_ms)
{
    const uint64_t key = key_of(member.nic_id, member.endpoint);
    const auto known = partners_.find(key);
    if (known != partners_.end() && known->second.place.session == member.session)
        return !known->second.dead;
    Partner partner{member, {}, false};
    if (mx_connect(endpoint_, member.nic_id, member.endpoint, connect_key, timeout_ms, &partner.address) !=
        MX_SUCCESS)
        return false;
    partners_[key] = partner;
    return true;
}

Group *Endpoint::make(uint32_t id, uint32_t self, const std::vector<Place> &members)
{
    if (groups_.contains(id))
        return nullptr;
    uint32_t frame = packet_max;
    for (const Place &member : members)
        if (member.frame > 0)
            frame = std::min(frame, member.frame);
    std::vector<bool> by_group;
    Entry entry;
    for (const Place &member : members) {
        by_group.push_back(place_.frame > 0 && member.frame > 0 && member.nic_id != place_.nic_id);
        entry.partners.push_back(key_of(member.nic_id, member.endpoint));
    }
    entry.group = std::make_unique<Group>(*this, id, self, std::move(by_group), frame);
    Group *group = entry.group.get();
    groups_.emplace(id, std::move(entry));
    return group;
}

void Endpoint::close(Group *group) { groups_.erase(group->id()); }

uint64_t Endpoint::now_ns() { return clock ? clock(clock_context) : Link::now_ns(); }

void Endpoint::post(Buffer *buffer)
{
    mx_segment_t segment{buffer->bytes.data(), packet_max};
    mx_request_t request;
    mx_irecv(endpoint_, &segment, 1, 0, 0, buffer, &request);
}

Endpoint::Buffer *Endpoint::send_buffer()
{
    if (spare_.empty())
        return &buffers_.emplace_back();
    Buffer *buffer = spare_.back();
    spare_.pop_back();
    return buffer;
}

void Endpoint::to_group(std::span<const std::byte> bytes)
{
    if (key_ != 0)
        mx_group_send(endpoint_, key_, 0, bytes.data(), static_cast<uint32_t>(bytes.size()));
}

void Endpoint::to_member(Group &group, uint32_t member, std::span<const std::byte> bytes)
{
    const uint64_t key = groups_.at(group.id()).partners[member];
    const Partner &partner = partners_.at(key);
    if (partner.dead)
        return;
    Buffer *buffer = send_buffer();
    buffer->to = key;
    buffer->bytes.assign(bytes.begin(), bytes.end());
    mx_segment_t segment{buffer->bytes.data(), static_cast<uint32_t>(bytes.size())};
    mx_request_t request;
    if (mx_isend(endpoint_, &segment, 1, partner.address, 0, buffer, &request) == MX_SUCCESS)
        return;
    spare_.push_back(buffer);
    bury(key);
}

/// A partner whose messages fail is dead in all groups.
void Endpoint::bury(uint64_t key)
{
    partners_.at(key).dead = true;
    for (auto &[id, entry] : groups_)
        for (uint32_t i = 0; i < entry.partners.size(); i++)
            if (entry.partners[i] == key)
                entry.group->lose(i);
}

void Endpoint::dispatch(uint64_t from, std::span<const std::byte> bytes)
{
    Packet head;
    if (bytes.size() < sizeof head)
        return;
    std::memcpy(&head, bytes.data(), sizeof head);
    const auto found = groups_.find(head.group);
    if (found == groups_.end())
        return; // of a group that is not made here yet: it is asked for, or that ended
    const std::vector<uint64_t> &partners = found->second.partners;
    if (head.member < partners.size() && partners[head.member] == from)
        found->second.group->take(head.member, bytes);
}

bool Endpoint::take_message()
{
    mx_status_t status;
    uint32_t complete = 0;
    mx_test_any(endpoint_, 0, 0, &status, &complete);
    if (complete)
        take(status);
    return complete;
}

/// A request that ended.
void Endpoint::take(const mx_status_t &status)
{
    auto *buffer = static_cast<Buffer *>(status.context);
    if (!buffer->receives) {
        const uint64_t to = buffer->to;
        spare_.push_back(buffer);
        if (status.code != MX_STATUS_SUCCESS)
            bury(to);
        return;
    }
    uint64_t nic_id = 0;
    uint32_t endpoint = 0;
    if (status.code == MX_STATUS_SUCCESS &&
        mx_decompose_endpoint_addr(status.source, &nic_id, &endpoint) == MX_SUCCESS)
        dispatch(key_of(nic_id, endpoint), {buffer->bytes.data(), status.xfer_length});
    post(buffer);
}

bool Endpoint::take_frame()
{
    mx_group_status_t status;
    uint32_t result = 0;
    if (key_ == 0)
        return false;
    mx_group_receive(endpoint_, key_, frame_.data(), static_cast<uint32_t>(frame_.size()), &status, &result);
    if (!result)
        return false;
    const uint64_t from = key_of(status.nic_id, status.endpoint_id);
    const auto partner = partners_.find(from);
    if (partner != partners_.end() && partner->second.place.session == status.session_id &&
        status.length <= frame_.size())
        dispatch(from, {frame_.data(), status.length});
    return true;
}

bool Endpoint::poll()
{
    unsigned found = 0;
    for (unsigned n = 0; n < per_poll && take_message(); n++)
        found++;
    for (unsigned n = 0; n < per_poll && take_frame(); n++)
        found++;
    if (found > 0)
        patience_.was_busy();
    return found > 0;
}

bool Endpoint::rest(bool &found)
{
    if (!patience_.may_sleep())
        return false;
    mx_status_t status;
    uint32_t complete = 0;
    mx_wait_any(endpoint_, sleep_ms, 0, 0, &status, &complete);
    if (complete)
        take(status);
    found = poll() || complete;
    return true;
}

} // namespace emx::cast
