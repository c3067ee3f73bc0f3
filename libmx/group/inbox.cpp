// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Frames of groups, kept for the program. See inbox.hpp.
#include "libmx/group/inbox.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace emx {

bool GroupInbox::put(const emx_msg &msg, uint64_t nic_id)
{
    if (frames_.size() >= frames_max || bytes_ + msg.data_len > bytes_max)
        return false;
    Frame frame{nic_id,
                msg.session,
                msg.remote_ep,
                static_cast<uint32_t>(msg.match >> 32),
                static_cast<uint32_t>(msg.match),
                {}};
    if (!spare_.empty()) {
        frame.data = std::move(spare_.back());
        spare_.pop_back();
    }
    const auto *data = reinterpret_cast<const std::byte *>(msg.data);
    frame.data.assign(data, data + msg.data_len);
    bytes_ += msg.data_len;
    frames_.push_back(std::move(frame));
    return true;
}

std::size_t GroupInbox::find(uint32_t key) const
{
    const auto is_of = [key](const Frame &f) { return f.key == key; };
    return static_cast<std::size_t>(std::find_if(frames_.begin(), frames_.end(), is_of) - frames_.begin());
}

const GroupInbox::Frame *GroupInbox::first(uint32_t key) const
{
    const std::size_t place = find(key);
    return place == frames_.size() ? nullptr : &frames_[place];
}

void GroupInbox::take_away(std::size_t place)
{
    std::vector<std::byte> &data = frames_[place].data;
    bytes_ -= data.size();
    if (spare_.size() < spare_max)
        spare_.push_back(std::move(data));
    frames_.erase(frames_.begin() + static_cast<std::ptrdiff_t>(place));
}

void GroupInbox::pop(uint32_t key) { take_away(find(key)); }

void GroupInbox::drop(uint32_t key)
{
    for (std::size_t place = find(key); place != frames_.size(); place = find(key))
        take_away(place);
}

std::byte *GroupInbox::to_send(std::span<const std::byte> data)
{
    out_.resize(send_headroom + data.size());
    if (!data.empty())
        std::memcpy(out_.data() + send_headroom, data.data(), data.size());
    return out_.data() + send_headroom;
}

} // namespace emx
