// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A one-way stream without loss causes no repeat, of messages or of pulls, in each dialect, whether short
// messages share frames or not, with a receiver that is always there and with one that computes between its
// calls, helped or alone. Its receiver decides how many messages one acknowledgement serves.
#include "bench.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace emx::sim {
namespace {

constexpr uint64_t data_match = 1, end_match = 2;
constexpr uint32_t in_flight = 64;

/// Behaviour of both ends. Times are ns.
struct Manner {
    uint64_t compute = 0; ///< of the receiver between two looks for messages
    uint64_t pause = 0; ///< of the sender after each message, inside the library
    uint32_t count = 640;
    bool helped = true; ///< somebody works for the receiver while it computes
    const char *pack_after = "0"; ///< frames under way beyond which short messages share others; 0: none do
    const char *notacked_max = "4"; ///< messages that the receiver takes before an ack leaves at once
};

HostOptions polled(char dialect, uint32_t size)
{
    HostOptions o = Bench::options(dialect, size);
    o.polled = true;
    o.rx_slots = 4096;
    return o;
}

/// A sender on host 0, a receiver on host 1.
class Stream {
public:
    Stream(const HostOptions &options, const Manner &manner, const char *extension)
        : bench(1, {options, options}), manner_(manner), from_(bench.start(0, 1, extension)),
          at_(bench.start(1, 2, extension))
    {
        bench.network.faults.in_order = true; // as on one cable
        at_.process->environment.emplace("EMX_HELPER_MS", manner.helped ? "5" : "0");
        at_.process->environment.emplace("OMX_NOTACKED_MAX", manner.notacked_max);
        from_.process->environment.emplace("EMX_PACK_AFTER", manner.pack_after);
        bench.pass(ms);
        to_ = bench.connect(from_, bench.mac(1), 2);
        bench.connect(at_, bench.mac(0), 1);
        bench.pass(100 * ms);
    }

    /// Packets that were repeated, or came a second time, while all messages of that length arrived.
    uint64_t repeats(uint32_t length)
    {
        const uint64_t before = repeats();
        bool sent = false, received = false;
        from_.task = [&] {
            send_all(length);
            sent = true;
        };
        at_.task = [&] {
            receive_all(length);
            received = true;
        };
        bench.until([&] { return sent && received; });
        bench.pass(sec); // for acks that are still due, and repeats of what they do not acknowledge
        return repeats() - before;
    }

    void serve_with_an_ack(uint32_t messages)
    {
        bench.tell(at_, [&] { CHECK(mx_set_messages_per_ack(at_.ep, messages) == MX_SUCCESS); });
    }
    bool refuses_to_serve(uint32_t messages)
    {
        mx_return_t code = MX_SUCCESS;
        bench.tell(at_, [&] { code = mx_set_messages_per_ack(at_.ep, messages); });
        return code == MX_BAD_PARAM_VAL;
    }
    uint64_t acks() const { return at_.process->device()->counters(0).v[EMX_CNT_TX_TRUC]; }
    uint64_t packs() const { return from_.process->device()->counters(0).v[EMX_CNT_TX_X_PACK]; }

    Bench bench;

private:
    uint64_t repeats() const
    {
        uint64_t sum = 0;
        for (const Player *player : {&from_, &at_})
            for (emx_counter c :
                 {EMX_CNT_RESEND_MESSAGE, EMX_CNT_RESEND_CONNECT, EMX_CNT_RESEND_PULL, EMX_CNT_DROP_SEQUENCE,
                  EMX_CNT_DROP_REPLY_DUPLICATE, EMX_CNT_DROP_REPLY_UNKNOWN})
                sum += player->process->device()->counters(0).v[c];
        return sum;
    }

    void finish(mx_request_t request)
    {
        mx_status_t status{};
        uint32_t done = 0;
        mx_wait(from_.ep, &request, MX_INFINITE, &status, &done);
        CHECK(status.code == MX_STATUS_SUCCESS);
    }

    mx_request_t post(std::vector<char> &bytes, uint64_t match)
    {
        mx_segment_t segment{bytes.data(), static_cast<uint32_t>(bytes.size())};
        mx_request_t request{};
        mx_isend(from_.ep, &segment, 1, to_, match, nullptr, &request);
        return request;
    }

    void send_all(uint32_t length)
    {
        std::vector<char> bytes(length, 'x'), nothing;
        std::array<mx_request_t, in_flight> ring{};
        for (uint32_t i = 0; i < manner_.count; i++) {
            if (i >= in_flight)
                finish(ring[i % in_flight]);
            ring[i % in_flight] = post(bytes, data_match);
            for (const uint64_t end = bench.world.now() + manner_.pause; bench.world.now() < end;) {
                mx_progress(from_.ep);
                from_.process->sleep(20 * us);
            }
        }
        for (uint32_t i = 0; i < std::min(in_flight, manner_.count); i++)
            finish(ring[i]);
        finish(post(nothing, end_match));
    }

    /// All into the same buffer: others look at what is in it.
    void post_receive(mx_request_t &request, std::vector<char> &bytes, uint64_t match)
    {
        mx_segment_t segment{bytes.data(), static_cast<uint32_t>(bytes.size())};
        mx_irecv(at_.ep, &segment, 1, match, ~0ull, &request, &request);
    }

    void receive_all(uint32_t length)
    {
        std::vector<char> bytes(length), nothing;
        std::array<mx_request_t, in_flight> receives{};
        mx_request_t end{};
        const uint32_t posted = std::min(in_flight, manner_.count);
        post_receive(end, nothing, end_match);
        for (uint32_t i = 0; i < posted; i++)
            post_receive(receives[i], bytes, data_match);
        for (uint32_t came = 0, ended = 0; came < manner_.count || !ended;) {
            mx_status_t status{};
            uint32_t done = 0;
            mx_test_any(at_.ep, 0, 0, &status, &done);
            if (!done) {
                at_.process->sleep(std::max(manner_.compute, us));
                continue;
            }
            CHECK(status.code == MX_STATUS_SUCCESS);
            if (status.match_info == end_match) {
                ended = 1;
                continue;
            }
            if (++came + posted <= manner_.count)
                post_receive(*static_cast<mx_request_t *>(status.context), bytes, data_match);
        }
    }

    const Manner manner_;
    Player &from_, &at_;
    mx_endpoint_addr_t to_{};
};

const std::vector<HostOptions> dialects = {polled('N', 9000), polled('N', 1500), polled('W', 0)};
const std::vector<uint32_t> short_ones = {0, 8, 33, 128};
const std::vector<uint32_t> every_class = {0, 64, 1024, 4096, 8192, 16384, 32768, 102400};

void repeats_nothing(const Manner &manner, const std::vector<uint32_t> &lengths)
{
    for (const HostOptions &options : dialects)
        for (const char *extension : {"1", "0"}) {
            Stream stream(options, manner, extension);
            for (uint32_t length : lengths) {
                CAPTURE(options.dialect, options.dialect_mtu, extension, length);
                CHECK(stream.repeats(length) == 0);
            }
        }
}

/// The same of streams whose messages share frames: each way of receiving, and a sender that posts all it may
/// or looks at the endpoint after each message.
void repeats_nothing_packed(const Manner &of_both)
{
    for (const HostOptions &kind : dialects)
        for (const bool polled : {true, false})
            for (const uint64_t pause : {0 * us, us}) {
                HostOptions options = kind;
                options.polled = polled;
                Manner manner = of_both;
                manner.pack_after = "4";
                manner.pause = pause;
                Stream stream(options, manner, "1");
                for (uint32_t length : short_ones) {
                    CAPTURE(options.dialect, options.dialect_mtu, polled, pause, length);
                    CHECK(stream.repeats(length) == 0);
                }
                CHECK((pause > 0 || stream.packs() > 0));
            }
}

/// Repeats of a stream of that length whose frames overtake each other: three in ten are held back for up to
/// that long, while a message leaves every 20 us.
uint64_t repeats_of_late_frames(const HostOptions &options, const char *extension, uint32_t length,
                                uint64_t delay)
{
    Stream stream(options, {.pause = 20 * us}, extension);
    stream.bench.network.faults.in_order = false;
    stream.bench.network.faults.reorder = 300;
    stream.bench.network.faults.reorder_delay = delay;
    return stream.repeats(length);
}

} // namespace

TEST_CASE("a receiver that is present: nothing is repeated")
{
    repeats_nothing({}, every_class);
    repeats_nothing_packed({});
}

TEST_CASE("a receiver that computes: nothing is repeated")
{
    repeats_nothing({.compute = 30 * ms}, every_class);
    repeats_nothing_packed({.compute = 30 * ms});
}

TEST_CASE("a receiver that computes without help: nothing is repeated")
{
    // Pulls are overdue each time it comes back, and their answers there.
    repeats_nothing({.compute = 5 * ms, .helped = false}, {32768, 102400});
}

TEST_CASE("now and then a message, and a receiver that computes for long: nothing is repeated")
{
    repeats_nothing({.compute = 250 * ms, .pause = 90 * ms, .count = 30}, {64, 4096, 102400});
    repeats_nothing_packed({.compute = 250 * ms, .count = 100});
}

TEST_CASE("frames of messages that others overtake: nothing is repeated")
{
    // EMP, SC 2001, accepts frames out of order. Here a message may be overtaken by the next, its fragments
    // by all of its others; for the frames of a pull, core_pull and core_xpull show the same. Of longer
    // messages a report in the middle of one, after half a window, may have late fragments repeated.
    for (const HostOptions &options : dialects)
        for (const char *extension : {"1", "0"})
            for (uint32_t length : {0u, 64u, 1024u, 4096u, 8192u}) {
                CAPTURE(options.dialect, options.dialect_mtu, extension, length);
                CHECK(repeats_of_late_frames(options, extension, length, length > 1024 ? 10 * us : 30 * us) ==
                      0);
            }
}

TEST_CASE("a frame that many others overtook is repeated, and counted as such")
{
    CHECK(repeats_of_late_frames(polled('N', 9000), "1", 1024, 2 * ms) > 0);
}

TEST_CASE("the receiver chooses how many messages one ack serves")
{
    // EMP, SC 2001. A message arrives every 20 us, so no delayed ack falls due between two.
    constexpr uint32_t count = 480;
    for (const HostOptions &options : dialects)
        for (const char *extension : {"1", "0"})
            for (const char *number : {"1", "3", "8"}) {
                Stream stream(options, {.pause = 20 * us, .count = count, .notacked_max = number}, extension);
                const uint64_t before = stream.acks();
                CAPTURE(options.dialect, options.dialect_mtu, extension, number);
                CHECK(stream.repeats(64) == 0);
                const uint64_t acks = stream.acks() - before, wanted = count / std::stoul(number);
                CHECK(acks >= wanted);
                CHECK(acks <= wanted + 1); // the message that ends the stream
            }
}

TEST_CASE("the receiver changes how many messages one ack serves while they come")
{
    constexpr uint32_t count = 480;
    for (const HostOptions &options : dialects)
        for (const char *extension : {"1", "0"}) {
            Stream stream(options, {.pause = 20 * us, .count = count}, extension);
            CAPTURE(options.dialect, options.dialect_mtu, extension);
            for (const uint32_t number : {8u, 2u, 1u, 3u}) {
                stream.serve_with_an_ack(number);
                const uint64_t before = stream.acks();
                CHECK(stream.repeats(64) == 0);
                CHECK(stream.acks() - before >= count / number);
                CHECK(stream.acks() - before <= count / number + 1); // the message that ends the stream
            }
            CHECK(stream.refuses_to_serve(0));
            CHECK(stream.refuses_to_serve(256));
        }
}

TEST_CASE("where frames are lost repeats are counted")
{
    for (const HostOptions &options : dialects) {
        Stream stream(options, {}, "1");
        stream.bench.network.faults.loss = 50;
        CHECK(stream.repeats(4096) > 0);
    }
}

} // namespace emx::sim
