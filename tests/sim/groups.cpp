// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Groups of the simulator: its network floods their frames, and each board gives them to its members.
#include "port.hpp"

#include "driver/mx_codes.hpp"

#include <cstring>

namespace emx::sim {

void Board::serve_group(const Frame &frame)
{
    emx_msg msg;
    const int why = fw_group_check(&fw_, frame.data(), static_cast<uint32_t>(frame.size()), &msg);
    if (why) {
        counters.v[why]++;
        return;
    }
    for (SimPort *port : ports_) {
        if (!port || !fw_group_has(&port->groups(), fw_group_key(&msg)))
            continue;
        port->counters().v[EMX_CNT_RX_X_GROUP]++;
        msg.local_ep = port->endpoint()->number;
        port->put_event(msg, &frame);
    }
}

uint32_t SimPort::group_bytes() const { return fw_group_bytes(ep_->x_frame); }

bool SimPort::join_group(uint32_t key, DeviceError &error)
{
    if (group_bytes() != 0 && fw_group_join(&groups_, key) == 0)
        return true;
    error = {mx_no_resources, "the simulated endpoint is in too many groups, or its frames are too short"};
    return false;
}

bool SimPort::send_group(uint32_t key, uint32_t number, std::byte *payload, uint32_t length, bool summed)
{
    device_.charge(300);
    if (!board_ || length > group_bytes())
        return false;
    uint8_t header[EMX_HEADER_MAX];
    const uint32_t bytes = fw_group_encode(ep_.get(), key, number, length, header);
    if (!bytes)
        return false;
    if (summed)
        fw_put_checksum(header, fw_crc32c(0, payload, length));
    Frame frame(header, header + bytes);
    const auto *data = reinterpret_cast<const uint8_t *>(payload);
    frame.insert(frame.end(), data, data + length);
    const bool sent = board_->transmit(std::move(frame));
    counters_.v[sent ? EMX_CNT_TX_X_GROUP : EMX_CNT_TX_FAILED]++;
    return sent;
}

} // namespace emx::sim
