// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Fuzzes a live endpoint: frames, time and commands in any order, effects executed against memory
// whose ends a sanitizer guards. Input: steps of one opcode byte and its operands.
#include "input.hpp"

#include <driver/core/fw_pack.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

namespace {

using emx::fuzz::Input;
using emx::fuzz::must;

constexpr uint64_t self = 0x02000000000b, other = 0x02000000000a;
constexpr uint32_t session = 0xa1b2c3d4;

class Bench {
public:
    explicit Bench(uint8_t config) : peers_(fw_peers_bytes(8) / 8 + 1)
    {
        if (config & 1)
            fw_sizes_n(&board_.sizes, config & 2 ? 1500 : 256);
        else
            fw_sizes_w(&board_.sizes);
        board_.mac = self;
        board_.peers = reinterpret_cast<fw_peers *>(peers_.data());
        fw_peers_init(board_.peers, 8, 1, 2);
        board_.tags = fw_peers_tags(board_.peers);
        fw_peer_add(board_.peers, other);
        spoken_ = board_.sizes;
        if ((config & 3) == 2 &&
            fw_peer_pin(board_.peers, 0, 1500) == 0) // speaks another dialect than the board
            fw_sizes_n(&spoken_, 1500);
        board_.counters = &counters_;
        board_.endpoint_max = 8;
        board_.answers_hosts = 1;
        board_.ep_state[3] = FW_EP_FOREIGN;
        board_.ep_state[5] = FW_EP_OPEN;
        board_.ep[5] = ep_.get();
        fw_endpoint_init(ep_.get(), &board_, 5, session, 0);
        ep_->counters = &counters_;
        if (config & 4)
            ep_->pull_block = 1 + config / 64;
        if (config & 8) {
            ep_->x_frame = config & 16 ? 9014 : 256;
            ep_->x_window = config & 32 ? 64 : 8;
            ep_->x_frag = static_cast<uint16_t>(config & 1 ? fw_x_frag_max(ep_->x_frame) : 0);
            ep_->x_pack = ep_->x_frag;
            ep_->x_datagram = static_cast<uint16_t>(config & 16 ? 1472 : 214);
            ep_->x_datagrams = config & 32 ? 124 : 4;
            ep_->x_tcp = config & 16 ? 16 : 2;
        }
    }

    void step(Input &in)
    {
        switch (in.take(1) % 11) {
        case 0: return give(raw_frame(in));
        case 1:
        case 2: return give(good_reply(in));
        case 3: return give(pull_frame(in));
        case 4: return start_pull(in);
        case 5:
            now_ += uint64_t{in.take(2)} * 100000000;
            fw_tick(ep_.get(), now_);
            must(fw_deadline(ep_.get()) > now_);
            return drain();
        case 6: return window(in);
        case 7: return end_pull(in);
        case 8:
        case 9: return give(x_data(in));
        case 10: return give(x_pull_frame(in));
        }
    }

    void judge() const
    {
        uint32_t missing = 0, active = 0, by_x = 0, granted = 0;
        std::array<uint32_t, FW_CARRIERS> by{};
        for (auto &p : ep_->pull)
            if (p.state == FW_PULL_RUNNING) {
                missing += p.missing;
                active++;
                by_x += p.is_x;
                granted += p.grant;
                by[p.carrier] += p.is_x;
                const fw_frames &f = p.frame;
                must(f.base <= f.asked && f.asked <= p.frames && f.asked - f.base <= p.span);
                must(p.span == (p.is_x ? FW_X_SPAN : FW_PULL_FRAMES) && (p.is_x || f.marked == 0));
                must(p.missing > 0); // a running pull always waits for something
                must(p.missing + f.marked <= f.asked - f.base);
                must(p.is_x || oldest(f) < 2 * FW_PULL_FRAMES);
            }
        must(missing == ep_->outstanding && active == ep_->pulls_active && by_x == ep_->pace.pulls);
        must(granted == ep_->pace.granted && granted == 0 && std::equal(by.begin(), by.end(), ep_->pace.by));
    }

    /// The expectations of running pulls lie within them, and leave out nothing that is missing.
    void predict() const
    {
        for (int slot = 0; slot < 4; slot++) {
            const fw_pull &p = ep_->pull[slot];
            std::array<fw_place, FW_PLACES_MAX> places{};
            const uint32_t n = fw_expect(ep_.get(), slot, places.size(), places.data());
            for (uint32_t i = 0; i < n; i++)
                must(places[i].length > 0 && uint64_t{places[i].position} + places[i].length <= p.total);
            must(p.state != FW_PULL_RUNNING || n == std::min<uint32_t>(p.missing, FW_PLACES_MAX));
        }
    }

private:
    /// Returns how many frames a PULL has asked for, at most, since it last asked for one that is missing.
    /// The 16 bits of its number tell its place as long as they can count these.
    static uint32_t oldest(const fw_frames &f)
    {
        uint16_t most = 0;
        for (uint32_t k = f.base; k < f.asked; k++)
            if (!(f.got[k % FW_X_SPAN / 32] >> k % 32 & 1))
                most = std::max(most, static_cast<uint16_t>(f.number - f.by[k % FW_X_SPAN]));
        return most;
    }

    /// Over the front of a frame; fw_encode itself wants more room than a frame needs.
    void put_header(std::vector<uint8_t> &frame, const fw_pkt &packet) const
    {
        std::array<uint8_t, EMX_HEADER_MAX + EMX_NAME_MAX> header{};
        const uint32_t bytes = fw_encode(&spoken_, &packet, header.data());
        must(bytes <= frame.size());
        std::copy_n(header.data(), bytes, frame.data());
    }

    /// A frame of fuzzed bytes, with a plausible outer header.
    std::vector<uint8_t> raw_frame(Input &in)
    {
        std::vector<uint8_t> f(60 + in.take(1));
        fw_pkt p{};
        p.msg.type = EMX_TINY;
        p.src_mac = in.take(1) % 4 ? other : other + 0x10;
        p.dst_mac = self;
        put_header(f, p);
        for (std::size_t i = EMX_OUTER_LEN; i < f.size(); i++)
            f[i] = static_cast<uint8_t>(in.take(1));
        return f;
    }

    /// A reply that fits a live pull, but for one fuzzed field now and then.
    std::vector<uint8_t> good_reply(Input &in)
    {
        uint32_t slot = in.take(1) % 4, n = in.take(1), how = in.take(1);
        fw_pkt p{};
        p.msg.type = EMX_PULL_REPLY;
        p.src_mac = other;
        p.dst_mac = self;
        p.handle = ep_->pull[slot].handle;
        p.magic = ep_->magic;
        std::array<fw_place, FW_PLACES_MAX> places{};
        if (const uint32_t count = fw_expect(ep_.get(), static_cast<int>(slot), places.size(), places.data());
            n % 40 < count) {
            p.position = places[n % 40].position;
            p.msg.data_len = places[n % 40].length;
        } else {
            p.position = in.take(4);
        }
        p.frame = (p.position + spoken_.reply - 1) / spoken_.reply;
        if (how == 1)
            p.frame = in.take(1);
        if (how == 2)
            p.position ^= in.take(4);
        if (how == 3)
            p.msg.data_len = in.take(2);
        if (how == 4)
            p.handle ^= in.take(4);
        std::vector<uint8_t> f(std::max<std::size_t>(60, 32 + p.msg.data_len), 0x5a);
        put_header(f, p);
        return f;
    }

    /// A frame that fits a live X PULL, but for one fuzzed field now and then.
    std::vector<uint8_t> x_data(Input &in)
    {
        const uint32_t slot = in.take(1) % 4, n = in.take(1), how = in.take(1);
        const fw_pull &pull = ep_->pull[slot];
        std::array<fw_place, FW_PLACES_MAX> places{};
        fw_pkt p{};
        p.msg.type = EMX_X_DATA;
        p.src_mac = other;
        p.dst_mac = self;
        p.msg.local_ep = 5;
        p.msg.remote_ep = 2;
        p.handle = ep_->pull[slot].handle;
        p.magic = ep_->magic;
        if (const uint32_t count = fw_expect(ep_.get(), static_cast<int>(slot), places.size(), places.data());
            count && pull.unit) {
            p.frame = places[n % count].position / pull.unit;
            p.msg.data_len = places[n % count].length;
        }
        p.x.request = pull.frame.by[p.frame % FW_X_SPAN];
        if (how == 1)
            p.frame = in.take(1);
        if (how == 2)
            p.x.request = static_cast<uint16_t>(p.x.request - in.take(1));
        if (how == 3)
            p.msg.data_len = in.take(2);
        if (how == 4)
            p.handle ^= in.take(4);
        std::vector<uint8_t> f(std::max<std::size_t>(60, FW_X_DATA_HEADER + p.msg.data_len), 0x5a);
        put_header(f, p);
        return f;
    }

    static fw_pkt request(uint8_t type, Input &in)
    {
        fw_pkt p{};
        p.msg.type = type;
        p.src_mac = other;
        p.dst_mac = self;
        p.msg.local_ep = 5;
        p.msg.remote_ep = 2;
        p.msg.session = session;
        p.window = in.take(1) % 4;
        p.msg.u.window.tag = static_cast<uint8_t>(in.take(1) % 2);
        p.msg.u.window.offset = in.take(2);
        return p;
    }

    std::vector<uint8_t> x_pull_frame(Input &in)
    {
        fw_pkt p = request(EMX_X_PULL, in);
        p.total = in.take(3);
        p.frame = in.take(2);
        p.x.unit = static_cast<uint16_t>(in.take(2));
        for (uint8_t &byte : p.x.want)
            byte = static_cast<uint8_t>(in.take(1));
        std::vector<uint8_t> f(EMX_OUTER_LEN + sizeof(emx_w_x_pull));
        put_header(f, p);
        return f;
    }

    std::vector<uint8_t> pull_frame(Input &in)
    {
        fw_pkt p = request(EMX_PULL, in);
        p.skip = in.take(2);
        p.length = in.take(spoken_.dialect == FW_DIALECT_W ? 2 : 3);
        p.frame = in.take(2);
        std::vector<uint8_t> f(60);
        put_header(f, p);
        return f;
    }

    void start_pull(Input &in)
    {
        if (ep_->pulls_active >= 8)
            return;
        uint32_t total = in.take(3) % 600000;
        emx_msg rndv{};
        rndv.remote_ep = 2;
        rndv.u.window.offset = in.take(2);
        const uint32_t way = in.take(1);
        if (way % 2)
            rndv.data = emx_offer(1, 1, EMX_X_PULLS, static_cast<uint16_t>(in.take(2)), 32);
        uint64_t cookie = ++cookies_;
        const auto carrier = static_cast<uint8_t>(way % 8 == 3   ? FW_BY_DATAGRAMS
                                                  : way % 8 == 7 ? FW_BY_TCP
                                                                 : FW_BY_FRAMES);
        const uint16_t packet = carrier == FW_BY_TCP ? uint16_t{4096} : ep_->x_datagram;
        if (fw_pull_start_by(ep_.get(), &rndv, total, cookie, carrier, packet, now_) < 0)
            must(total == 0);
        else
            destination_[cookie] = {std::unique_ptr<uint8_t[]>(new uint8_t[total]), total, 0};
        drain();
    }

    void end_pull(Input &in)
    {
        uint32_t how = in.take(1);
        if (how % 2)
            fw_pull_fail(ep_.get(), static_cast<int>(how / 2), EMX_PULL_ABORTED);
        else if (!destination_.empty()) {
            uint64_t cookie = destination_.begin()->first;
            fw_pull_cancel(ep_.get(), cookie);
            destination_.erase(cookie);
        }
        drain();
    }

    void window(Input &in)
    {
        uint32_t which = in.take(1);
        auto id = static_cast<uint8_t>(which % 4), tag = static_cast<uint8_t>(which / 4 % 2);
        std::unique_ptr<uint8_t[]> &memory = window_[fw_window_slot(id, tag)];
        if (memory) {
            fw_window_close(ep_.get(), id, tag);
            memory.reset();
            return;
        }
        uint32_t length = in.take(3) % 200000;
        memory.reset(new uint8_t[length]());
        fw_window_open(ep_.get(), id, tag, 0, 2, length);
    }

    void give(const std::vector<uint8_t> &bytes)
    {
        emx::fuzz::count_frame();
        std::unique_ptr<uint8_t[]> frame(new uint8_t[bytes.size()]);
        std::memcpy(frame.get(), bytes.data(), bytes.size());
        fw_pkt pkt;
        fw_fx fx{};
        if (fw_check_for(&board_, self, frame.get(), static_cast<uint32_t>(bytes.size()), &pkt))
            return;
        fw_endpoint *ep = fw_demux(&board_, &pkt, &fx);
        if (!ep && fx.kind == FW_FX_PEER) {
            if (fw_peer_add(board_.peers, fx.u.host.mac) < 0)
                return;
            ep = fw_demux(&board_, &pkt, &fx);
            must(fx.kind != FW_FX_PEER);
        }
        int more = ep ? fw_rx(ep, &pkt, now_, &fx) : 0;
        execute(fx, frame.get(), static_cast<uint32_t>(bytes.size()));
        if (more)
            drain();
    }

    void drain()
    {
        fw_fx fx{};
        uint32_t n = 0;
        for (; fw_next(ep_.get(), now_, &fx); n++)
            execute(fx, nullptr, 0);
        must(n < FW_EFFECTS_MAX);
    }

    void execute(const fw_fx &fx, const uint8_t *frame, uint32_t len)
    {
        switch (fx.kind) {
        case FW_FX_TX:
        case FW_FX_ANSWER: return sent(fx);
        case FW_FX_REPLIES: return replies(fx.u.replies);
        case FW_FX_COPY: return copy(fx, frame, len);
        case FW_FX_EVENT: return event(fx.u.msg, frame, len);
        case FW_FX_FALLBACK: return fall_back(fx.u.address);
        }
    }

    /// Pulls that left TCP have nothing of their message any more.
    void fall_back(const fw_address &from)
    {
        for (const fw_pull &p : ep_->pull)
            if (from.tcp && p.state == FW_PULL_RUNNING && p.received == 0)
                destination_.at(p.cookie).placed = 0;
    }

    void sent(const fw_fx &fx)
    {
        uint8_t f[EMX_HEADER_MAX + EMX_NAME_MAX] = {};
        must(fx.u.tx.length <= sizeof f);
        std::memcpy(f, fx.u.tx.header, fx.u.tx.length);
        fw_pkt p;
        const bool to_other = emx_get_mac(f) == other;
        must(fw_check(to_other ? &spoken_ : &board_.sizes, 0, f, std::max<uint32_t>(60, fx.u.tx.length),
                      &p) == 0);
    }

    void replies(fw_replies r)
    {
        uint32_t sum = 0;
        must(r.count > 0);
        while (r.count > 0) {
            uint32_t position = 0;
            const uint32_t n = fw_replies_take(&r, nullptr, &position);
            const uint64_t at = uint64_t{r.window_offset} + position;
            must(n > 0);
            for (uint32_t k = 0; k<n; k += n> 1 ? n - 1 : 1) // first and last byte
                sum += window_[r.window][at + k];
        }
        must(sum == 0);
        must(r.reply.msg.type == EMX_X_DATA || r.length == 0);
    }

    void copy(const fw_fx &fx, const uint8_t *frame, uint32_t len)
    {
        auto &d = destination_.at(fx.u.copy.cookie);
        must(fx.u.copy.source + fx.u.copy.length <= len);
        must(uint64_t{fx.u.copy.position} + fx.u.copy.length <= d.total);
        std::memcpy(d.bytes.get() + fx.u.copy.position, frame + fx.u.copy.source, fx.u.copy.length);
        d.placed += fx.u.copy.length;
    }

    void event(const emx_msg &m, const uint8_t *frame, uint32_t len)
    {
        if (m.type != EMX_EV_PULL_DONE) {
            auto at = reinterpret_cast<uintptr_t>(frame);
            must(m.data_len == 0 || (m.data >= at && m.data + m.data_len <= at + len));
            return m.type == EMX_X_PACK ? unpack(m) : void();
        }
        auto &d = destination_.at(m.u.pull.cookie);
        must(m.u.pull.length == d.placed);
        must(m.u.pull.status != EMX_PULL_OK || d.placed == d.total);
        destination_.erase(m.u.pull.cookie);
    }

    /// The messages of an X PACK fill it, one after the other.
    static void unpack(const emx_msg &m)
    {
        fw_unpack one;
        fw_unpack_begin(&one, &m);
        uint64_t end = m.data;
        uint32_t count = 0;
        for (; fw_unpack_next(&one); count++) {
            must(one.msg.data == end + FW_PACKED_HEADER && one.msg.data_len == one.msg.msg_len);
            must(one.msg.type == (one.msg.msg_len <= EMX_TINY_MAX    ? EMX_TINY
                                  : one.msg.msg_len <= EMX_SMALL_MAX ? EMX_SMALL
                                                                     : EMX_MEDIUM));
            must(((one.msg.seq - m.seq - count) & 0x3fff) == 0 && (one.msg.seq ^ m.seq) < 0x4000);
            end = one.msg.data + one.msg.data_len;
        }
        must(end == m.data + m.data_len && count == m.u.pack.count && count > 0);
    }

    struct Destination {
        std::unique_ptr<uint8_t[]> bytes;
        uint32_t total = 0, placed = 0;
    };
    std::vector<uint64_t> peers_;
    emx_counters counters_{};
    fw_board board_{};
    fw_sizes spoken_{}; ///< what the peer `other` speaks
    std::unique_ptr<fw_endpoint> ep_ = std::make_unique<fw_endpoint>();
    std::map<uint64_t, Destination> destination_;
    std::map<uint16_t, std::unique_ptr<uint8_t[]>> window_;
    uint64_t now_ = 1, cookies_ = 0;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size)
{
    Input in(data, size);
    Bench bench(static_cast<uint8_t>(in.take(1)));
    for (int steps = 0; !in.empty() && steps < 2000; steps++) {
        bench.step(in);
        bench.judge();
        if (steps % 8 == 7) // dear
            bench.predict();
    }
    bench.predict();
    return 0;
}
