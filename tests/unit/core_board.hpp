// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A board of the core in plain memory, for tests: sizes, peers, counters and endpoints.
#pragma once

#include <driver/core/fw.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

namespace emx::test {

using Frame = std::vector<uint8_t>;

inline constexpr uint64_t mac_a = 0x02000000000a;
inline constexpr uint64_t mac_b = 0x02000000000b;

inline fw_sizes sizes_w()
{
    fw_sizes s;
    fw_sizes_w(&s);
    return s;
}

inline fw_sizes sizes_n(uint32_t mtu)
{
    fw_sizes s;
    if (fw_sizes_n(&s, mtu))
        std::abort();
    return s;
}

template <typename T>
T zeroed()
{
    T t;
    std::memset(static_cast<void *>(&t), 0, sizeof t);
    return t;
}

class PeerTable {
public:
    explicit PeerTable(uint32_t capacity) : memory_(fw_peers_bytes(capacity) / 8 + 1)
    {
        fw_peers_init(get(), capacity, 1, 2);
    }
    fw_peers *get() { return reinterpret_cast<fw_peers *>(memory_.data()); }

private:
    std::vector<uint64_t> memory_;
};

struct TestBoard {
    PeerTable peers{16};
    emx_counters counters{};
    fw_board fw{};

    TestBoard(uint64_t mac, const fw_sizes &sizes)
    {
        fw.mac = mac;
        fw.sizes = sizes;
        fw.peers = peers.get();
        fw.tags = fw_peers_tags(fw.peers);
        fw.counters = &counters;
        fw.endpoint_max = 32;
        fw.query_magic = 0x13052008;
        fw.answers_hosts = 1;
        std::memcpy(fw.name, "node:0", 7);
    }

    /// Peer `mac`, who calls us `tag`; returns our index for it.
    uint32_t add_peer(uint64_t mac, uint16_t tag = EMX_TAG_NONE)
    {
        int i = fw_peer_add(fw.peers, mac);
        fw.tags->tag[i] = tag;
        return static_cast<uint32_t>(i);
    }
};

struct TestEndpoint {
    std::unique_ptr<fw_endpoint> fw = std::make_unique<fw_endpoint>();
    emx_counters counters{};

    TestEndpoint(TestBoard &board, uint8_t number, uint32_t session)
    {
        fw_endpoint_init(fw.get(), &board.fw, number, session, 0x5ec7e700);
        fw->counters = &counters;
        board.fw.ep[number] = fw.get();
        board.fw.ep_state[number] = FW_EP_OPEN;
    }
};

/// The whole frame of a packet, padded.
inline Frame make_frame(const fw_sizes &s, const fw_pkt &pkt, const std::vector<uint8_t> &payload = {})
{
    Frame frame(EMX_HEADER_MAX + EMX_NAME_MAX);
    frame.resize(fw_encode(&s, &pkt, frame.data()));
    frame.insert(frame.end(), payload.begin(), payload.end());
    if (frame.size() < EMX_FRAME_MIN)
        frame.resize(EMX_FRAME_MIN);
    return frame;
}

/// The frame of a TX effect.
inline Frame tx_frame(const fw_fx &fx)
{
    Frame frame(fx.u.tx.header, fx.u.tx.header + fx.u.tx.length);
    frame.resize(std::max<std::size_t>(frame.size(), EMX_FRAME_MIN));
    return frame;
}

/// The frames of a REPLIES effect; window: the memory it reads.
inline std::vector<Frame> reply_frames(const fw_sizes &s, fw_replies run, const uint8_t *window)
{
    std::vector<Frame> frames;
    while (run.count > 0) {
        Frame frame(EMX_HEADER_MAX + EMX_NAME_MAX);
        frame.resize(fw_encode(&s, &run.reply, frame.data()));
        uint32_t position = 0;
        const uint32_t n = fw_replies_take(&run, frame.data(), &position);
        const uint8_t *from = window + run.window_offset + position;
        frame.insert(frame.end(), from, from + n);
        frame.resize(std::max<std::size_t>(frame.size(), EMX_FRAME_MIN));
        frames.push_back(std::move(frame));
    }
    return frames;
}

} // namespace emx::test
