// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The simulated device of one process: boards, names, time. See port.hpp.
#include "port.hpp"

#include <myriexpress.h>

namespace emx::sim {

uint64_t SimDevice::now_ns()
{
    charge(20); // a program that only watches the clock gets on, too
    return host_.world().now();
}

std::vector<BoardInfo> SimDevice::boards()
{
    std::vector<BoardInfo> out;
    for (auto &b : host_.boards) {
        const fw_sizes &s = b->fw().sizes;
        BoardInfo i;
        i.number = b->number();
        i.nic_id = b->fw().mac;
        i.interface = "sim" + std::to_string(b->number());
        i.host_name = b->name();
        i.driver = "simulator";
        i.mtu = s.payload_min;
        i.dialect = s.dialect == FW_DIALECT_W ? 'W' : 'N';
        i.dialect_mtu = s.mtu;
        i.frag = s.frag;
        i.medium_max = s.medium_max;
        i.reply = s.reply;
        i.x_frame = b->x_frame();
        i.endpoint_max = b->fw().endpoint_max;
        i.up = true;
        out.push_back(i);
    }
    return out;
}

std::unique_ptr<Port> SimDevice::open(uint32_t board, uint32_t number, uint32_t session, DeviceError &error)
{
    if (board >= host_.boards.size()) {
        error = {MX_BOARD_UNKNOWN, "no such simulated board"};
        return nullptr;
    }
    Board &b = *host_.boards[board];
    if (number >= b.fw().endpoint_max) {
        error = {MX_BAD_ENDPOINT, "endpoint number out of range"};
        return nullptr;
    }
    if (b.fw().ep_state[number] != FW_EP_CLOSED) {
        error = {MX_BUSY, "endpoint number is taken"};
        return nullptr;
    }
    return std::make_unique<SimPort>(*this, b, number, session);
}

std::vector<PeerInfo> SimDevice::peers(uint32_t board)
{
    std::vector<PeerInfo> out;
    if (board >= host_.boards.size())
        return out;
    fw_peers *t = host_.boards[board]->fw().peers;
    for (uint32_t i = 0; fw_peer(t, i); i++) {
        const struct fw_peer *p = fw_peer(t, i);
        out.push_back({i, p->mac, p->flags & FW_PEER_NAMED ? p->name : ""});
    }
    return out;
}

std::optional<uint64_t> SimDevice::nic_id_of(const std::string &host_name)
{
    for (auto &b : host_.boards)
        if (b->name() == host_name)
            return b->fw().mac;
    for (uint32_t b = 0; b < host_.boards.size(); b++)
        for (const PeerInfo &p : peers(b))
            if (p.name == host_name)
                return p.nic_id;
    return std::nullopt;
}

std::optional<std::string> SimDevice::name_of(uint64_t nic_id)
{
    for (auto &b : host_.boards)
        if (b->fw().mac == nic_id)
            return b->name();
    for (uint32_t b = 0; b < host_.boards.size(); b++)
        for (const PeerInfo &p : peers(b))
            if (p.nic_id == nic_id && !p.name.empty())
                return p.name;
    return std::nullopt;
}

bool SimDevice::set_host_name(uint32_t board, const std::string &name, DeviceError &error)
{
    if (board >= host_.boards.size()) {
        error = {MX_BOARD_UNKNOWN, "no such simulated board"};
        return false;
    }
    host_.boards[board]->rename(name);
    return true;
}

emx_counters SimDevice::counters(uint32_t board)
{
    emx_counters sum{};
    if (board >= host_.boards.size())
        return sum;
    sum = host_.boards[board]->counters;
    for (SimPort *p : ports_)
        for (int i = 0; i < EMX_CNT_COUNT; i++)
            sum.v[i] += p->counters().v[i];
    return sum;
}

bool SimDevice::clear_counters(uint32_t board, DeviceError &error)
{
    if (board >= host_.boards.size()) {
        error = {MX_BOARD_UNKNOWN, "no such simulated board"};
        return false;
    }
    host_.boards[board]->counters = {};
    return true;
}

void SimDevice::kill()
{
    for (SimPort *p : ports_)
        p->detach();
}

bool SimDevice::has_input() const
{
    for (const SimPort *p : ports_)
        if (p->has_input())
            return true;
    return false;
}

} // namespace emx::sim
