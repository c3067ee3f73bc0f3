// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// One of two processes: rank 0 streams messages of one length after the other to rank 1, and both
// count what was repeated meanwhile. Without loss nothing may be.
//
//   stream --rank 0|1 --meeting FILE --peer MAC [--lengths LIST] [--compute MS] [--pause MS] [--time MS]
//          [--rounds N]
//
// With --compute the receiver looks for messages, then computes for that long, and so on. With --pause
// the sender waits for that long after each message.
//
// A process that got no processor for some milliseconds answers late, and its peer rightly
// repeats: such a measurement is void and made again, a few times. Many short ones (--rounds) are longer
// undisturbed than a long one.
#include "../../tools/cli.hpp"
#include "meeting.hpp"

#include <emx/abi.h>
#include <mx_extensions.h>
#include <myriexpress.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <unistd.h>
#include <vector>

namespace emx::test {
namespace {

using cli::Failure;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr uint32_t key = 0x57e4;
constexpr uint64_t data_match = 1, end_match = 2, kind_mask = 0xff;
constexpr unsigned count_shift = 8; ///< the end tells how many messages there were
constexpr uint32_t in_flight = 64;
constexpr uint32_t wait_ms = 20000;
/// us without a processor, of both together, that void a measurement: pulls repeat after 3 ms.
constexpr uint64_t late_max_us = 2000;
constexpr int attempts_max = 12;

struct Options {
    uint32_t rank = 0, compute = 0, pause = 0, time = 400, rounds = 1;
    std::string meeting, peer;
    std::vector<uint32_t> lengths = {0, 64, 1024, 4096, 8192, 16384, 32768};
};

void check(mx_return_t code, const char *what)
{
    if (code != MX_SUCCESS)
        throw Failure(std::string(what) + ": " + mx_strerror(code));
}

using Counters = std::array<uint32_t, EMX_CNT_COUNT>;

/// Of board 0, all processes of the host.
Counters counters()
{
    Counters values;
    uint32_t board = 0;
    check(mx_get_info(nullptr, MX_COUNTERS_VALUES, &board, sizeof board, values.data(), sizeof values),
          "mx_get_info of the counters");
    return values;
}

/// Packets that this host repeated, or got a second time.
uint32_t repeats(const Counters &before, const Counters &now)
{
    uint32_t sum = 0;
    for (emx_counter c : {EMX_CNT_RESEND_MESSAGE, EMX_CNT_RESEND_CONNECT, EMX_CNT_RESEND_PULL,
                          EMX_CNT_DROP_SEQUENCE, EMX_CNT_DROP_REPLY_DUPLICATE, EMX_CNT_DROP_REPLY_UNKNOWN})
        sum += now[c] - before[c];
    return sum;
}

/// Microseconds that a thread was ready and had no processor.
uint64_t delay_of(const std::filesystem::path &task)
{
    uint64_t ran = 0, delayed = 0;
    return std::ifstream(task / "schedstat") >> ran >> delayed ? delayed / 1000 : 0;
}

/// The kernel's threads that carry frames when there are many: who has a processor hears nothing while
/// they wait for one.
std::vector<std::filesystem::path> carriers()
{
    std::vector<std::filesystem::path> found;
    for (auto &process : std::filesystem::directory_iterator("/proc")) {
        std::string name;
        if (std::ifstream(process.path() / "comm") >> name && name.starts_with("ksoftirqd/"))
            found.push_back(process.path());
    }
    return found;
}

/// The same of the threads of this process but the first, and of the carriers.
uint64_t others_delay()
{
    static const std::vector<std::filesystem::path> kernel = carriers();
    uint64_t sum = 0;
    for (auto &task : kernel)
        sum += delay_of(task);
    for (auto &task : std::filesystem::directory_iterator("/proc/self/task"))
        if (task.path().filename() != std::to_string(::getpid()))
            sum += delay_of(task.path());
    return sum;
}

/// The longest time between two ticks.
class Gaps {
public:
    void tick()
    {
        const auto now = Clock::now();
        longest_ = std::max(longest_, now - last_);
        last_ = now;
    }
    /// This time was meant to pass.
    void skip(Clock::time_point until = Clock::now()) { last_ = until; }
    uint64_t longest_us() const
    {
        return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(longest_).count());
    }

private:
    Clock::time_point last_ = Clock::now();
    Clock::duration longest_{};
};

class Stream {
public:
    explicit Stream(const Options &options) : options_(options), meeting_(options.meeting, options.rank)
    {
        check(mx_open_endpoint(0, 0, key, nullptr, 0, &endpoint_), "mx_open_endpoint");
        meet();
        check(mx_connect(endpoint_, cli::parse_mac(options.peer), 0, key, wait_ms, &partner_), "mx_connect");
        meet();
    }
    ~Stream() { mx_close_endpoint(endpoint_); }
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;

    /// False when something was repeated.
    bool run()
    {
        bool good = true;
        for (uint32_t length : options_.lengths)
            good &= step(length);
        meet();
        meeting_.end();
        return good;
    }

private:
    struct Result {
        uint64_t messages = 0, repeats = 0;
        bool disturbed = false; ///< by want of a processor, on either side
    };

    bool step(uint32_t length)
    {
        uint64_t messages = 0;
        Result result;
        for (uint32_t round = 0; round < options_.rounds && !result.repeats; round++) {
            for (int attempt = 0; attempt < attempts_max; attempt++) {
                result = measure(length);
                if (!result.repeats || !result.disturbed)
                    break;
            }
            messages += result.messages;
        }
        std::printf("%u bytes, receiver %s: %llu messages, %llu repeats%s\n", length,
                    options_.compute ? "computing" : "present", static_cast<unsigned long long>(messages),
                    static_cast<unsigned long long>(result.repeats),
                    result.repeats && result.disturbed ? ", and never enough processor to judge" : "");
        return result.repeats == 0;
    }

    Result measure(uint32_t length)
    {
        meet(); // both sides' acks are through
        const Counters before = counters();
        const uint64_t delay = others_delay();
        gaps_ = Gaps();
        count_ = 0;
        options_.rank == 0 ? send_all(length) : receive_all(length);
        settle();
        const uint64_t own = repeats(before, counters());
        const uint64_t all = own + meeting_.exchange(own, [this] { progress(); });
        const uint64_t late = std::max(gaps_.longest_us(), others_delay() - delay);
        const uint64_t both = late + meeting_.exchange(late, [this] { progress(); });
        return {count_, all, both > late_max_us};
    }

    /// Time for an ack that is still due, and for a repeat of what it did not acknowledge.
    void settle()
    {
        meet();
        for (const auto end = Clock::now() + milliseconds(60); Clock::now() < end;)
            progress();
        meet();
    }

    void progress()
    {
        check(mx_progress(endpoint_), "mx_progress");
        gaps_.tick();
    }
    void meet()
    {
        meeting_.meet([this] { progress(); });
        gaps_.skip();
    }

    mx_request_t post_send(uint32_t length, uint64_t match)
    {
        mx_segment_t segment{buffer_.data(), length};
        mx_request_t request;
        check(mx_isend(endpoint_, &segment, 1, partner_, match, nullptr, &request), "mx_isend");
        return request;
    }
    void finish(mx_request_t request)
    {
        mx_status_t status;
        for (uint32_t done = 0; !done; gaps_.tick())
            check(mx_test(endpoint_, &request, &status, &done), "mx_test");
        if (status.code != MX_STATUS_SUCCESS)
            throw Failure(std::string("a message fails: ") + mx_strstatus(status.code));
    }

    void send_all(uint32_t length)
    {
        buffer_.resize(length);
        std::vector<mx_request_t> ring(in_flight);
        const auto end = Clock::now() + milliseconds(options_.time);
        for (gaps_.skip(); Clock::now() < end; count_++) {
            if (count_ >= in_flight)
                finish(ring[count_ % in_flight]);
            ring[count_ % in_flight] = post_send(length, data_match);
            for (const auto next = Clock::now() + milliseconds(options_.pause); Clock::now() < next;)
                progress();
        }
        for (uint64_t i = count_ - std::min<uint64_t>(count_, in_flight); i < count_; i++)
            finish(ring[i % in_flight]);
        finish(post_send(0, end_match | count_ << count_shift));
    }

    /// All into the same buffer: what is in it is another suite's business.
    void post_receive(size_t slot, uint32_t length, uint64_t match)
    {
        mx_segment_t segment{buffer_.data(), length};
        check(mx_irecv(endpoint_, &segment, 1, match, kind_mask, &receives_[slot], &receives_[slot]),
              "mx_irecv");
    }

    void receive_all(uint32_t length)
    {
        buffer_.resize(length);
        post_receive(in_flight, 0, end_match);
        for (size_t i = 0; i < in_flight; i++)
            post_receive(i, length, data_match);
        uint64_t total = ~uint64_t{0};
        for (gaps_.skip(); count_ < total;) {
            mx_status_t status;
            uint32_t done = 0;
            check(mx_test_any(endpoint_, 0, 0, &status, &done), "mx_test_any");
            gaps_.tick();
            if (!done) {
                compute();
                continue;
            }
            if (status.code != MX_STATUS_SUCCESS || status.xfer_length != status.msg_length)
                throw Failure(std::string("a message fails: ") + mx_strstatus(status.code));
            if (status.match_info != data_match) {
                total = status.match_info >> count_shift;
                continue;
            }
            count_++;
            post_receive(static_cast<size_t>(static_cast<mx_request_t *>(status.context) - receives_.data()),
                         length, data_match);
        }
        for (size_t i = 0; i < in_flight; i++) {
            uint32_t cancelled = 0;
            check(mx_cancel(endpoint_, &receives_[i], &cancelled), "mx_cancel");
            if (!cancelled)
                throw Failure("a message after the last");
        }
    }

    void compute()
    {
        if (!options_.compute)
            return;
        const auto end = Clock::now() + milliseconds(options_.compute);
        while (Clock::now() < end) {
        }
        gaps_.skip(end); // what it took longer, it had no processor
    }

    const Options &options_;
    Meeting meeting_;
    mx_endpoint_t endpoint_{};
    mx_endpoint_addr_t partner_{};
    std::vector<std::byte> buffer_;
    std::array<mx_request_t, in_flight + 1> receives_{};
    Gaps gaps_;
    uint64_t count_ = 0; ///< messages of this measurement
};

std::vector<uint32_t> parse_lengths(std::string_view list)
{
    std::vector<uint32_t> lengths;
    for (size_t at = 0; at <= list.size();) {
        const size_t comma = std::min(list.find(',', at), list.size());
        lengths.push_back(
            static_cast<uint32_t>(cli::parse_size("--lengths", list.substr(at, comma - at), UINT32_MAX)));
        at = comma + 1;
    }
    return lengths;
}

int body(int argc, char **argv)
{
    Options o;
    cli::Parser parser("--rank 0|1 --meeting FILE --peer MAC [options]",
                       "Streams messages from rank 0 to rank 1; status 1 when anything was repeated.");
    parser.number('r', "rank", "which of the two", o.rank, 1);
    parser.text('m', "meeting", "empty file of both ranks", o.meeting);
    parser.text('p', "peer", "MAC of the other's board 0", o.peer);
    parser.number('c', "compute", "ms between the receiver's looks for messages (0)", o.compute);
    parser.number('P', "pause", "ms of the sender after each message (0)", o.pause);
    parser.number('t', "time", "ms per measurement (400)", o.time);
    parser.number('n', "rounds", "measurements per length (1)", o.rounds);
    parser.option('l', "lengths", "LIST", "separated by commas (0,64,1K,4K,8K,16K,32K)",
                  [&](std::string_view list) { o.lengths = parse_lengths(list); });
    parser.parse(argc, argv);
    if (cli::parse_mac(o.peer) == 0)
        throw Failure("--peer needs a MAC address");
    mx_set_error_handler(MX_ERRORS_RETURN);
    check(mx_init(), "mx_init");
    const bool good = Stream(o).run();
    mx_finalize();
    return good ? 0 : 1;
}

} // namespace
} // namespace emx::test

int main(int argc, char **argv) { return emx::cli::run(argc, argv, emx::test::body); }
