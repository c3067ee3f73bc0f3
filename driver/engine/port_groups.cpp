// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// An endpoint of the engine: groups. Their frames come by a socket and a ring of their own, which the agent
// opens at the first join, so that an endpoint in no group pays nothing for those of others.
#include "driver/engine/port.hpp"

#include "driver/mx_codes.hpp"
#include "driver/system_error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace emx {

uint32_t EnginePort::group_bytes() const { return fw_group_bytes(record_.x_frame); }

bool EnginePort::open_groups(DeviceError &error)
{
    if (groups_open_)
        return true;
    AgentReply reply;
    std::vector<Fd> fds;
    if (!claim_->request(request_for(AgentOp::group_socket), reply, fds, error,
                         AgentConnection::usual_patience_ms))
        return false;
    const RingShape shape{reply.ring_slot, reply.ring_block, reply.ring_blocks};
    if (fds.size() != 1 || !is_packet_socket(fds[0].get()) || !shape.possible()) {
        error = {mx_no_driver, "omxd gave no socket for groups: stop it, and the next open starts another"};
        return false;
    }
    if (!group_ring_.map(std::move(fds[0]), shape)) {
        error = system_error("mapping the ring of groups");
        return false;
    }
    groups_open_ = true;
    poll_groups_.store(group_ring_.fd(), std::memory_order_relaxed);
    return true;
}

bool EnginePort::join_group(uint32_t key, DeviceError &error)
{
    if (fw_group_has(&groups_, key))
        return true;
    if (group_bytes() == 0) {
        error = {mx_no_dev, "frames of this board are too short for groups"};
        return false;
    }
    if (fw_group_join(&groups_, key) != 0) {
        error = {mx_no_resources,
                 "an endpoint is in " + std::to_string(FW_GROUPS) + " groups at most: leave one"};
        return false;
    }
    if (open_groups(error)) {
        if (set_membership(group_ring_.fd(), static_cast<int>(record_.ifindex), fw_group_mac(key), true))
            return true;
        error = system_error("joining a group on the interface");
    }
    fw_group_leave(&groups_, key);
    return false;
}

void EnginePort::leave_group(uint32_t key)
{
    if (!fw_group_has(&groups_, key))
        return;
    fw_group_leave(&groups_, key);
    set_membership(group_ring_.fd(), static_cast<int>(record_.ifindex), fw_group_mac(key), false);
}

/// The frame that waits in the ring of groups, as an event; nullptr when it is dropped.
const emx_msg *EnginePort::take_group()
{
    uint32_t bytes;
    const std::byte *frame = group_ring_.frame(bytes);
    int why = bytes == 0 ? int{EMX_CNT_DROP_OVERSIZE} : fw_group_check(&board_, frame, bytes, &fx_.u.msg);
    if (why == 0 && !fw_group_has(&groups_, fw_group_key(&fx_.u.msg)))
        why = EMX_CNT_DROP_GROUP_STRANGER;
    if (why != 0)
        return drop(group_ring_, why);
    fx_.u.msg.local_ep = endpoint_.number;
    emx_count(&counters_, EMX_CNT_RX_X_GROUP, 1);
    more_ = 0;
    held_ = &group_ring_;
    return current_ = &fx_.u.msg;
}

} // namespace emx
