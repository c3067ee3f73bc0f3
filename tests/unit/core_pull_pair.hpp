// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A puller and a replier joined back to back by a wire that may lose, repeat and reorder.
#pragma once

#include "core_board.hpp"

#include <catch2/catch.hpp>

#include <deque>
#include <map>
#include <random>
#include <string>

namespace emx::test {

// A sanitizer makes sweeps over megabytes cost ten times as much; they are as long as they were without one.
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool whole_sweeps = false;
#else
inline constexpr bool whole_sweeps = true;
#endif

struct Wire {
    double loss = 0, repeat = 0, reorder = 0;
    uint32_t reorder_by = 3; ///< frames that may overtake
};

/// The parts of a pull and its outcome.
struct PullJob {
    uint64_t cookie = 0;
    std::vector<uint8_t> source; ///< the window: offset bytes before the message
    std::vector<uint8_t> destination;
    uint32_t offset = 0;
    int slot = -1;
    bool done = false;
    uint8_t status = 0xff;
    uint32_t length = 0;
};

class PullPair {
public:
    PullPair(const fw_sizes &s, Wire wire = {}, uint64_t seed = 1)
        : sizes(s), a(mac_a, s), b(mac_b, s), sender(a, 2, 0x11223344), puller(b, 5, 0xa1b2c3d4), wire_(wire),
          random_(seed)
    {
        peer_of_a = b.add_peer(mac_a, 7);
        peer_of_b = a.add_peer(mac_b, 9);
    }

    /// To the end of the pull: replies change places among four, requests do not.
    void shuffle(PullJob &job)
    {
        while (!job.done) {
            std::size_t group = 0;
            while (group < 4 && group < on_wire() && is_reply(group))
                group++;
            if (group == 0)
                deliver(0);
            else
                while (group-- > 0)
                    deliver(group);
        }
    }

    /// Exposes `total` random bytes at window offset `offset` and starts to pull them.
    PullJob &start(uint32_t total, uint32_t offset = 0)
    {
        uint64_t cookie = jobs.size() + 1;
        PullJob &job = jobs[cookie];
        job.cookie = cookie;
        job.offset = offset;
        job.source.resize(uint64_t{offset} + total);
        for (auto &byte : job.source)
            byte = static_cast<uint8_t>(random_());
        job.destination.assign(total, 0);
        auto window = static_cast<uint8_t>(cookie);
        fw_window_open(sender.fw.get(), window, 42, peer_of_b, 5, job.source.size());
        emx_msg rndv{};
        rndv.type = EMX_RNDV;
        rndv.peer = peer_of_a;
        rndv.remote_ep = 2;
        rndv.session = 0x11223344;
        rndv.u.window.id = window;
        rndv.u.window.tag = 42;
        rndv.u.window.offset = offset;
        rndv.data = offer;
        job.slot = fw_pull_start_by(puller.fw.get(), &rndv, total, cookie, carrier, datagram, now);
        REQUIRE(job.slot >= 0);
        drain();
        return job;
    }

    /// Until every pull ended. Delivers all frames; when none is left lets the time pass.
    void run()
    {
        for (uint64_t steps = 0; open_jobs(); steps++) {
            REQUIRE(steps < 10000000);
            if (flight_.empty())
                pass_time();
            else
                deliver_next();
        }
    }

    /// Delivers one frame of those on the wire.
    void deliver_next()
    {
        std::size_t pick = 0;
        if (chance(wire_.reorder))
            pick = std::min<std::size_t>(random_() % (wire_.reorder_by + 1), flight_.size() - 1);
        deliver(pick);
    }

    /// Delivers the i-th frame on the wire.
    void deliver(std::size_t i)
    {
        Frame frame = flight_[i];
        lose(i);
        now += 1000;
        give(frame[5] == (mac_a & 0xff) ? a : b, frame);
    }

    void pass_time()
    {
        uint64_t due = fw_deadline(puller.fw.get());
        REQUIRE(due != ~0ull);
        now = std::max(now, due);
        fw_tick(puller.fw.get(), now);
        REQUIRE(fw_deadline(puller.fw.get()) > now);
        drain();
    }

    /// Fetches all waiting effects of the puller.
    void drain()
    {
        fw_fx fx{};
        uint32_t n = 0;
        for (; fw_next(puller.fw.get(), now, &fx); n++)
            execute(fx, nullptr);
        effects_max = std::max(effects_max, n);
        REQUIRE(n < FW_EFFECTS_MAX);
    }

    void give(TestBoard &board, const Frame &frame)
    {
        fw_pkt pkt;
        REQUIRE(fw_check(&sizes, board.fw.mac, frame.data(), static_cast<uint32_t>(frame.size()), &pkt) == 0);
        fw_fx fx{};
        fw_endpoint *ep = fw_demux(&board.fw, &pkt, &fx);
        int more = ep ? fw_rx(ep, &pkt, now, &fx) : 0;
        execute(fx, &frame);
        if (more)
            drain();
    }

    void execute(const fw_fx &fx, const Frame *frame)
    {
        switch (fx.kind) {
        case FW_FX_TX: note_request(fx); [[fallthrough]];
        case FW_FX_ANSWER: send(tx_frame(fx)); break;
        case FW_FX_REPLIES:
            for (auto &f :
                 reply_frames(sizes, fx.u.replies, jobs.at(fx.u.replies.window & 0xff).source.data()))
                if (!(fx.u.replies.reply.x.carrier != FW_BY_FRAMES && carrier_is_down))
                    send(f);
            break;
        case FW_FX_FALLBACK: fallbacks.push_back(fx.u.address); break;
        case FW_FX_COPY: place(fx, *frame); break;
        case FW_FX_EVENT: finish(fx.u.msg); break;
        case FW_FX_DROP: drops[fx.counter]++; break;
        default: FAIL("effect " << int(fx.kind));
        }
    }

    std::size_t on_wire() const { return flight_.size(); }
    bool is_reply(std::size_t i) const
    {
        return flight_[i][EMX_OUTER_LEN] == EMX_PULL_REPLY || flight_[i][EMX_OUTER_LEN] == EMX_X_DATA;
    }
    /// Pulls from now on go by X PULL, with frames of at most `frame` bytes and `window` of them under way.
    void extend(uint16_t frame, uint16_t window)
    {
        offer = emx_offer(1, 1, EMX_X_PULLS, frame, 32);
        for (TestEndpoint *ep : {&sender, &puller}) {
            ep->fw->x_frame = frame;
            ep->fw->x_window = window;
        }
    }
    const Frame &frame_on_wire(std::size_t i) const { return flight_[i]; }
    void lose_wire() { flight_.clear(); }
    /// Drops the i-th frame on the wire.
    void lose(std::size_t i) { flight_.erase(flight_.begin() + static_cast<std::ptrdiff_t>(i)); }
    bool open_jobs() const
    {
        return std::any_of(jobs.begin(), jobs.end(), [](auto &j) { return !j.second.done; });
    }

    fw_sizes sizes;
    TestBoard a, b; ///< sender and puller
    TestEndpoint sender, puller;
    uint32_t peer_of_a, peer_of_b;
    uint64_t now = 1000000;
    std::map<uint64_t, PullJob> jobs;
    std::map<int, uint64_t> drops;
    std::vector<fw_pkt> requests; ///< every PULL that the puller sent
    std::vector<uint64_t> requested; ///< and when
    bool mixed = false; ///< pulls of both kinds
    uint64_t offer = 0; ///< that the sender's session agreed to
    uint64_t copies = 0;
    uint8_t carrier = FW_BY_FRAMES; ///< of pulls from now on
    uint16_t datagram = 0; ///< the longest packet by it
    bool carrier_is_down = false; ///< what goes by another than frames is lost
    std::vector<fw_address> fallbacks;
    uint32_t effects_max = 0;

private:
    bool chance(double p) { return std::uniform_real_distribution<double>(0, 1)(random_) < p; }

    void send(Frame frame)
    {
        if (chance(wire_.loss))
            return;
        if (chance(wire_.repeat))
            flight_.push_back(frame);
        flight_.push_back(std::move(frame));
    }

    void note_request(const fw_fx &fx)
    {
        fw_pkt pkt;
        Frame frame = tx_frame(fx);
        REQUIRE(fw_check(&sizes, mac_a, frame.data(), static_cast<uint32_t>(frame.size()), &pkt) == 0);
        const bool by_x = mixed ? pkt.msg.type == EMX_X_PULL : offer != 0;
        REQUIRE(pkt.msg.type == (by_x ? EMX_X_PULL : EMX_PULL));
        REQUIRE(fx.counter == (by_x ? EMX_CNT_TX_X_PULL : EMX_CNT_TX_PULL));
        requests.push_back(pkt);
        requested.push_back(now);
    }

    void place(const fw_fx &fx, const Frame &frame)
    {
        PullJob &job = jobs.at(fx.u.copy.cookie);
        REQUIRE(!job.done);
        REQUIRE(fx.u.copy.pull == job.slot);
        REQUIRE(uint64_t{fx.u.copy.position} + fx.u.copy.length <= job.destination.size());
        REQUIRE(uint64_t{fx.u.copy.source} + fx.u.copy.length <= frame.size());
        std::memcpy(job.destination.data() + fx.u.copy.position, frame.data() + fx.u.copy.source,
                    fx.u.copy.length);
        copies++;
    }

    void finish(const emx_msg &m)
    {
        REQUIRE(m.type == EMX_EV_PULL_DONE);
        PullJob &job = jobs.at(m.u.pull.cookie);
        REQUIRE(!job.done);
        job.done = true;
        job.status = m.u.pull.status;
        job.length = m.u.pull.length;
        if (job.status == EMX_PULL_OK)
            REQUIRE(
                std::equal(job.destination.begin(), job.destination.end(), job.source.begin() + job.offset));
    }

    Wire wire_;
    std::mt19937_64 random_;
    std::deque<Frame> flight_;
};

} // namespace emx::test
