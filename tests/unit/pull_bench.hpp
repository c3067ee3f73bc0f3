// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A core that pulls and one that serves, and messages from and into memory in pieces, for tests of the
// engine's senders and receivers, which lie between them.
#pragma once

#include "core_board.hpp"

#include <driver/segments.hpp>

#include <catch2/catch.hpp>

#include <map>
#include <random>

namespace emx::test {

/// Memory in pieces, which lie in another order than in the message.
struct Pieces {
    Pieces(uint32_t bytes, unsigned pieces) : bytes_(bytes), storage(bytes + pieces)
    {
        uint32_t at = 0;
        for (unsigned i = 0; i < pieces; i++) {
            const uint32_t length = i + 1 == pieces ? bytes - at : bytes / pieces;
            segments.push_back({storage.data() + storage.size() - at - length - i, length});
            at += length;
        }
        list.assign(segments);
    }
    std::vector<std::byte> content() const
    {
        std::vector<std::byte> all(bytes_);
        list.copy_out(0, all.data(), bytes_);
        return all;
    }
    const uint32_t bytes_;
    std::vector<std::byte> storage;
    std::vector<Segment> segments;
    PieceList list;
};

struct Message {
    Pieces source, target;
    int slot = -1;
    bool done = false;
    bool cancelled = false;
    uint8_t window = 0;
};

class PullBench {
public:
    explicit PullBench(const fw_sizes &s)
        : sizes(s), a(mac_a, s), b(mac_b, s), sender(a, 2, 0x11223344), puller(b, 5, 0xa1b2c3d4)
    {
        peer_of_a = b.add_peer(mac_a);
        peer_of_b = a.add_peer(mac_b);
    }
    PullBench(const PullBench &) = delete;
    PullBench &operator=(const PullBench &) = delete;
    virtual ~PullBench() = default;

    void run()
    {
        for (unsigned idle = 0; puller.fw->pulls_active;) {
            REQUIRE(idle < 1000);
            idle = step() ? 0 : idle + 1;
            if (idle <= patience)
                continue;
            now = std::max<uint64_t>(now, fw_deadline(puller.fw.get()));
            fw_tick(puller.fw.get(), now);
            drain(nullptr);
        }
        for (auto &[cookie, message] : messages) {
            CHECK(message.done == !message.cancelled);
            if (message.done)
                CHECK(message.source.content() == message.target.content());
        }
    }

    /// Something moves: out of the sender, through the middle, into the receiver. False: nothing does.
    virtual bool step() = 0;

    fw_sizes sizes;
    TestBoard a, b;
    TestEndpoint sender, puller;
    uint32_t peer_of_a, peer_of_b;
    std::map<uint64_t, Message> messages;
    uint64_t now = 1000000, placed = 0, moved = 0;
    uint32_t spoil = 0; ///< of 1000 packets: that many have a byte altered
    uint64_t spoiled = 0, refused = 0;

protected:
    virtual void open_window(uint16_t slot, const std::vector<Segment> &memory) = 0;
    virtual void answer(const fw_replies &run) = 0;
    virtual void accepted(const fw_fx &) {} ///< a part of a message, by its COPY

    /// A pull of random bytes; offer: what the sender can, as in RNDV.
    Message &start(uint32_t bytes, unsigned pieces, unsigned target_pieces, uint64_t offer,
                   fw_carrier carrier, uint16_t packet)
    {
        const uint64_t cookie = messages.size() + 1;
        Message &message =
            messages.emplace(cookie, Message{{bytes, pieces}, {bytes, target_pieces}}).first->second;
        for (std::byte &byte : message.source.storage)
            byte = static_cast<std::byte>(random());
        message.window = static_cast<uint8_t>(cookie);
        open_window(fw_window_slot(message.window, 42), message.source.segments);
        fw_window_open(sender.fw.get(), message.window, 42, peer_of_b, 5, bytes);
        emx_msg rndv{};
        rndv.peer = peer_of_a;
        rndv.remote_ep = 2;
        rndv.session = 0x11223344;
        rndv.u.window.id = message.window;
        rndv.u.window.tag = 42;
        rndv.data = offer;
        message.slot = fw_pull_start_by(puller.fw.get(), &rndv, bytes, cookie, carrier, packet, now);
        REQUIRE(message.slot >= 0);
        drain(nullptr);
        return message;
    }

    /// The message that alone is under way; null where there is none or several are.
    const Message *only() const
    {
        const Message *found = nullptr;
        for (const auto &[cookie, message] : messages) {
            if (!message.done && found)
                return nullptr;
            if (!message.done)
                found = &message;
        }
        return found;
    }

    /// Alters a byte of the payload, where it lies now: there, or in its final place. unit: the most that a
    /// packet has.
    void alter(const fw_pkt &pkt, const std::byte *payload, const PieceList *target, uint32_t unit)
    {
        const auto at = static_cast<uint32_t>(random() % pkt.msg.data_len);
        spoiled++;
        if (payload) {
            const_cast<std::byte *>(payload)[at] ^= std::byte{1};
            return;
        }
        const uint64_t position = uint64_t{pkt.frame} * unit + at;
        std::byte byte;
        target->copy_out(position, &byte, 1);
        byte ^= std::byte{1};
        target->copy_in(position, &byte, 1);
    }

    /// payload: null when it lies in its final place.
    void take(fw_pkt &pkt, const std::byte *payload)
    {
        fw_fx fx{};
        fw_endpoint *ep = fw_demux(&b.fw, &pkt, &fx);
        REQUIRE(ep);
        const int more = fw_rx(ep, &pkt, now, &fx);
        execute(fx, payload);
        if (more)
            drain(payload);
    }

    unsigned patience = 0; ///< steps in which nothing moves before the timer runs
    std::mt19937_64 random{7};

private:
    void drain(const std::byte *payload)
    {
        fw_fx fx{};
        while (fw_next(puller.fw.get(), now, &fx))
            execute(fx, payload);
    }

    void execute(const fw_fx &fx, const std::byte *payload)
    {
        if (fx.kind == FW_FX_TX)
            return serve(tx_frame(fx));
        if (fx.kind == FW_FX_EVENT) {
            CHECK(fx.u.msg.u.pull.status == EMX_PULL_OK);
            messages.at(fx.u.msg.u.pull.cookie).done = true;
        }
        if (fx.kind != FW_FX_COPY)
            return;
        accepted(fx);
        (payload ? moved : placed)++;
        if (payload)
            messages.at(fx.u.copy.cookie).target.list.copy_in(fx.u.copy.position, payload, fx.u.copy.length);
    }

    void serve(const Frame &frame)
    {
        fw_pkt pkt;
        REQUIRE(fw_check(&sizes, mac_a, frame.data(), static_cast<uint32_t>(frame.size()), &pkt) == 0);
        fw_fx fx{};
        fw_endpoint *ep = fw_demux(&a.fw, &pkt, &fx);
        REQUIRE(ep);
        fw_rx(ep, &pkt, now, &fx);
        if (fx.kind == FW_FX_REPLIES) // else its window is closed
            answer(fx.u.replies);
    }
};

} // namespace emx::test
