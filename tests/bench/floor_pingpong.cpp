// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The floor: a ping-pong of messages as raw frames of the same sizes as dialect W or N, without
// matching, reliability or reassembly. What EtherMX adds to it is what EtherMX costs.
#include "raw_link.hpp"
#include "series.hpp"

#include <emx/wire.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

using emx::bench::batch;
using emx::bench::Piece;
using emx::bench::RawLink;
using emx::cli::Failure;

constexpr uint64_t patience_ns = 60'000'000'000; // says only that the other side hangs or a frame is lost
constexpr uint64_t resend_ns = 20'000'000;
constexpr uint32_t eager_header = 40;
constexpr uint32_t medium_header = 48;
constexpr uint32_t reply_header = 32;
constexpr uint32_t medium_max = 32768;

struct Settings {
    std::string interface = "eth0";
    uint32_t dialect_mtu = 9000; // 0: dialect W
    bool bulk = false;
    uint64_t bulk_from = 8193;
    uint64_t peer = 0;
};

/// The plan that the client tells the server before a series of exchanges, in a frame of type RAW.
struct Plan {
    uint64_t length;
    uint32_t iterations; // 0: the end
    uint32_t id;
    uint32_t window; // bulk frames the teller can take
};

/// The way in which a message of some length is cut.
struct Cut {
    uint8_t type;
    uint32_t header;
    uint32_t data; // most bytes in a frame
    bool bulk;
};

class Floor {
public:
    explicit Floor(const Settings &s)
        : settings_(s), link_(s.interface, std::max(frame_max(s), 2048u), s.bulk), peer_(s.peer)
    {
    }

    static uint32_t frame_max(const Settings &s) { return s.dialect_mtu ? s.dialect_mtu : 4144; }

    void start(const Plan &plan)
    {
        plan_ = plan;
        cut_ = cut_of(plan.length);
        buffer_.resize(std::max<std::size_t>(plan.length, 1), std::byte{0x5a});
    }

    void send_message()
    {
        const uint32_t frames = frames_of();
        uint32_t acked = 0;
        for (uint32_t first = 0; first < frames;) {
            const uint32_t n = std::min(cut_.bulk ? batch : 1u, frames - first);
            while (first + n > acked + window_)
                acked += take_credit();
            if (cut_.bulk)
                send_pieces(first, n);
            else
                send_one(first);
            first += n;
        }
    }

    void receive_message()
    {
        const uint32_t frames = frames_of();
        uint32_t owed = 0;
        for (uint32_t first = 0; first < frames;) {
            const uint32_t n =
                cut_.bulk ? receive_pieces(first, std::min(batch, frames - first)) : receive_one(first);
            first += n;
            owed += n;
            if (owed >= batch && first < frames) {
                send_small(EMX_PULL, &owed, sizeof owed);
                owed = 0;
            }
        }
    }

    /// Client: repeats the plan until the server confirms it.
    void agree(uint64_t length, uint32_t iterations)
    {
        const Plan plan{length, iterations, ++plan_id_, own_window()};
        const uint64_t give_up = emx::perf::now_ns() + patience_ns;
        while (emx::perf::now_ns() < give_up) {
            send_small(EMX_RAW, &plan, sizeof plan);
            if (iterations == 0 || confirmed(plan.id)) {
                start(plan);
                return;
            }
        }
        throw Failure(
            "the server does not answer: is floor_pingpong running there, with the same -m and --bulk?");
    }

    /// Server: the next new plan, confirmed. False at the end.
    bool next_plan(uint64_t deadline_ns)
    {
        Plan plan;
        do {
            plan = take_plan(deadline_ns);
        } while (plan.id == plan_id_ && plan.iterations);
        if (plan.iterations == 0)
            return false;
        window_ = plan.window;
        plan_id_ = plan.id;
        Plan answer = plan;
        answer.window = own_window();
        start(plan);
        send_small(EMX_RAW, &answer, sizeof answer);
        return true;
    }

    uint64_t mac() const { return link_.mac(); }
    uint32_t iterations() const { return plan_.iterations; }

private:
    Cut cut_of(uint64_t length) const
    {
        const uint32_t m = settings_.dialect_mtu;
        const uint32_t fragment = m == 0                      ? 4096
                                  : m - medium_header <= 4096 ? m - medium_header
                                  : m >= 8240                 ? 8192
                                                              : 4096;
        const bool bulk = settings_.bulk && length >= settings_.bulk_from;
        if (length <= EMX_SMALL_MAX)
            return {EMX_TINY, eager_header, EMX_SMALL_MAX, false};
        if (length <= medium_max && !bulk)
            return {EMX_MEDIUM, medium_header, fragment, false};
        return {EMX_PULL_REPLY, reply_header, m == 0 ? 4096 : m - reply_header, bulk};
    }

    uint32_t own_window() const { return settings_.bulk ? link_.bulk_window() : 64; }

    uint32_t frames_of() const
    {
        return std::max<uint32_t>(1, static_cast<uint32_t>((plan_.length + cut_.data - 1) / cut_.data));
    }

    Piece piece(uint32_t index)
    {
        const uint64_t position = uint64_t{index} * cut_.data;
        return {buffer_.data() + position,
                static_cast<uint32_t>(std::min<uint64_t>(cut_.data, plan_.length - position))};
    }

    void send_one(uint32_t index)
    {
        const Piece p = piece(index);
        frame_[EMX_OUTER_LEN] = std::byte{cut_.type};
        std::memcpy(frame_.data() + EMX_OUTER_LEN + 4, &index, sizeof index);
        std::memcpy(frame_.data() + cut_.header, p.data, p.length);
        link_.send(peer_, {frame_.data(), cut_.header + p.length});
    }

    void send_pieces(uint32_t first, uint32_t count)
    {
        std::array<Piece, batch> pieces;
        for (uint32_t i = 0; i < count; i++)
            pieces[i] = piece(first + i);
        link_.send_batch(peer_, cut_.type, cut_.header, {pieces.data(), count}, first);
    }

    uint32_t receive_pieces(uint32_t first, uint32_t count)
    {
        std::array<Piece, batch> pieces;
        for (uint32_t i = 0; i < count; i++)
            pieces[i] = piece(first + i);
        return link_.receive_batch(cut_.header, {pieces.data(), count}, first, deadline());
    }

    uint32_t receive_one(uint32_t index)
    {
        std::span<const std::byte> frame = take(cut_.type);
        uint32_t number;
        std::memcpy(&number, frame.data() + EMX_OUTER_LEN + 4, sizeof number);
        if (number != index)
            throw Failure("frame " + std::to_string(index) + " was lost");
        const Piece p = piece(index);
        std::memcpy(p.data, frame.data() + cut_.header, p.length);
        link_.release();
        return 1;
    }

    void send_small(uint8_t type, const void *data, std::size_t size)
    {
        std::array<std::byte, EMX_FRAME_MIN> frame{};
        frame[EMX_OUTER_LEN] = std::byte{type};
        std::memcpy(frame.data() + EMX_OUTER_LEN + 4, data, size);
        link_.send(peer_, frame);
    }

    uint32_t take_credit()
    {
        uint32_t count;
        std::memcpy(&count, take(EMX_PULL).data() + EMX_OUTER_LEN + 4, sizeof count);
        link_.release();
        return count;
    }

    static uint64_t deadline() { return emx::perf::now_ns() + patience_ns; }

    /// Next frame of that type, not yet released; repeated plans in between are thrown away.
    std::span<const std::byte> take(uint8_t type)
    {
        const uint64_t until = deadline();
        for (;;) {
            const auto frame = link_.receive(until);
            if (frame[EMX_OUTER_LEN] == std::byte{type})
                return frame;
            link_.release();
        }
    }

    Plan take_plan(uint64_t deadline_ns)
    {
        Plan plan;
        for (;;) {
            const auto frame = link_.receive(deadline_ns);
            const bool found = frame[EMX_OUTER_LEN] == std::byte{EMX_RAW};
            std::memcpy(&plan, frame.data() + EMX_OUTER_LEN + 4, sizeof plan);
            if (found && peer_ == 0) {
                for (uint32_t i = 0; i < 6; i++)
                    peer_ = peer_ << 8 | static_cast<uint8_t>(frame[6 + i]);
            }
            link_.release();
            if (found)
                return plan;
        }
    }

    bool confirmed(uint32_t id)
    {
        try {
            const Plan answer = take_plan(emx::perf::now_ns() + resend_ns);
            window_ = answer.window;
            return answer.id == id;
        } catch (const Failure &) {
            return false; // not yet: the plan is sent again
        }
    }

    Settings settings_;
    RawLink link_;
    uint64_t peer_;
    Plan plan_{};
    uint32_t plan_id_ = 0;
    uint32_t window_ = 64;
    Cut cut_{};
    std::vector<std::byte> buffer_;
    std::array<std::byte, 65536> frame_{};
};

class FloorExchange : public emx::perf::Exchange {
public:
    explicit FloorExchange(Floor &floor) : floor_(floor) {}
    void prepare(uint64_t length, uint32_t iterations) override { floor_.agree(length, iterations); }
    void exchange() override
    {
        floor_.send_message();
        floor_.receive_message();
    }

private:
    Floor &floor_;
};

void serve(Floor &floor)
{
    std::printf("floor_pingpong: serving on %s\n", emx::cli::mac_text(floor.mac()).c_str());
    std::fflush(stdout);
    static_assert(sizeof(Plan) + EMX_OUTER_LEN + 4 <= EMX_FRAME_MIN);
    const uint64_t ever = ~uint64_t{0};
    while (floor.next_plan(ever)) {
        for (uint32_t i = 0; i < floor.iterations(); i++) {
            floor.receive_message();
            floor.send_message();
        }
    }
}

int body(int argc, char **argv)
{
    Settings settings;
    emx::bench::Series series;
    std::string peer;
    emx::cli::Parser parser("[-i INTERFACE] [-d MAC] [options]",
                            "Ping-pong of raw frames; without -d it serves one client.");
    parser.text('i', "interface", "network interface (eth0)", settings.interface);
    parser.text('d', "peer", "MAC address of the server: client mode", peer);
    parser.number('m', "mtu", "N's configured size, 0 = dialect W (9000)", settings.dialect_mtu, 65535);
    parser.flag('B', "bulk", "sendmmsg and recvmmsg for large messages", settings.bulk);
    parser.size('X', "bulk-from", "first length that goes that way (8193)", settings.bulk_from);
    series.add_to(parser);
    parser.parse(argc, argv);
    series.lengths.check();
    settings.peer = peer.empty() ? 0 : emx::cli::parse_mac(peer);
    if (!peer.empty() && settings.peer == 0)
        throw Failure("-d: \"" + peer + "\" is not a MAC address");
    Floor floor(settings);
    if (peer.empty()) {
        serve(floor);
        return 0;
    }
    FloorExchange exchange(floor);
    series.run(exchange, "half round trip of raw frames", {{"bulk", settings.bulk ? "yes" : "no"}},
               [&] { floor.agree(0, 0); });
    return 0;
}

} // namespace

int main(int argc, char **argv) { return emx::cli::run(argc, argv, body); }
