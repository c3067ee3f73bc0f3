// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// One of two processes that exchange messages of every size, many at a time and both ways, and check
// that each arrives intact, once, and in the receive that the matching rules give it.
//
//   exchange --rank 0|1 --meeting FILE --peer MAC [--messages N] [--endpoints N] [--large PERMILLE]
//            [--seed N] [--patience SECONDS]
//
// Endpoint i of one process talks with endpoint i of the other. Ends with a line of what it did.
#include "../../tools/cli.hpp"
#include "../../tools/omx_perf/payload.hpp"
#include "../support/mx_check.hpp"
#include "meeting.hpp"
#include "schedule.hpp"

#include <mx_extensions.h>
#include <myriexpress.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

namespace emx::test {
namespace {

using cli::Failure;
// tidy-allow(time): a limit that says that it hangs, a pause for what comes twice, and a figure for the eyes
using Clock = std::chrono::steady_clock;

constexpr uint32_t key = 0x10557;
constexpr uint32_t sends_out_max = block_length + 16, receives_out_max = 24;
constexpr uint32_t connect_ms = 60000;
/// Longer than the longest pause of a sender between two repeats: what comes twice comes by then.
constexpr auto echo_time = std::chrono::milliseconds(700);

struct Options {
    uint32_t rank = 0, messages = 10000, endpoints = 16, large = 20, seed = 1, patience = 120;
    std::string meeting, peer;
};

/// A message under way, in one of the directions.
struct Slot {
    mx_request_t request = nullptr;
    uint32_t message = 0;
    bool receives = false;
    bool busy = false;
    std::vector<std::byte> bytes;
};

/// One endpoint and its partner.
class Flow {
public:
    Flow(const Options &options, uint32_t index);
    ~Flow() { mx_close_endpoint(endpoint_); }
    Flow(const Flow &) = delete;
    Flow &operator=(const Flow &) = delete;

    void connect(uint64_t nic);
    /// Posts what may be posted and takes what is complete; false when nothing was.
    bool pump();
    /// Sleeps a little, until something comes.
    void rest();
    bool done() const { return sent_ == out_.messages.size() && received_ == in_.messages.size(); }
    /// Nothing may be left that nobody has asked for.
    void check_silence();
    std::string state() const;

    uint64_t bytes() const { return bytes_; }
    uint32_t sent() const { return sent_; }
    uint32_t received() const { return received_; }

private:
    static Schedule plan(const Options &options, uint32_t index, uint32_t from);
    uint64_t content(uint32_t message, bool received) const;
    Slot &free_slot(bool receives, uint32_t message);
    void post_sends();
    void post_receives();
    void take(const mx_status_t &status);
    void take_received(const Slot &slot, const mx_status_t &status);
    [[noreturn]] void wrong(const std::string &what, const Slot &slot) const;

    uint32_t rank_, index_;
    mx_endpoint_t endpoint_{};
    mx_endpoint_addr_t partner_{};
    Schedule out_, in_;
    std::vector<std::unique_ptr<Slot>> slots_;
    uint32_t next_send_ = 0, next_receive_ = 0; ///< of the plans
    uint32_t sent_ = 0, received_ = 0;
    uint64_t bytes_ = 0;
};

Flow::Flow(const Options &options, uint32_t index)
    : rank_(options.rank), index_(index), out_(plan(options, index, options.rank)),
      in_(plan(options, index, 1 - options.rank))
{
    check(mx_open_endpoint(0, index, key, nullptr, 0, &endpoint_), "mx_open_endpoint");
}

/// The messages of all flows and both directions are as many as asked for.
Schedule Flow::plan(const Options &options, uint32_t index, uint32_t from)
{
    const uint64_t share = 2 * uint64_t{index} + from, shares = 2 * uint64_t{options.endpoints};
    const uint64_t count = options.messages * (share + 1) / shares - options.messages * share / shares;
    return Schedule(options.seed * shares + share, static_cast<uint32_t>(count), options.large);
}

void Flow::connect(uint64_t nic)
{
    check(mx_connect(endpoint_, nic, index_, key, connect_ms, &partner_), "mx_connect");
}

/// Seed of a message's bytes: no two messages of a run have the same.
uint64_t Flow::content(uint32_t message, bool received) const
{
    const uint32_t from = received ? 1 - rank_ : rank_;
    return (index_ * 2 + from) << 24 | message;
}

Slot &Flow::free_slot(bool receives, uint32_t message)
{
    size_t i = 0;
    while (i < slots_.size() && slots_[i]->busy)
        i++;
    if (i == slots_.size())
        slots_.push_back(std::make_unique<Slot>());
    *slots_[i] = {nullptr, message, receives, true, {}};
    return *slots_[i];
}

void Flow::post_sends()
{
    while (next_send_ < out_.messages.size() && next_send_ - sent_ < sends_out_max) {
        const PlannedMessage &m = out_.messages[next_send_];
        Slot &slot = free_slot(false, next_send_++);
        slot.bytes.resize(m.length);
        perf::fill(slot.bytes.data(), m.length, content(slot.message, false));
        mx_segment_t segment{slot.bytes.data(), m.length};
        auto send = m.synchronous ? mx_issend : mx_isend;
        check(send(endpoint_, &segment, 1, partner_, m.match, &slot, &slot.request), "send");
    }
}

void Flow::post_receives()
{
    while (next_receive_ < in_.receives.size() && next_receive_ - received_ < receives_out_max) {
        const PlannedReceive &r = in_.receives[next_receive_++];
        Slot &slot = free_slot(true, r.message);
        slot.bytes.resize(in_.messages[r.message].length + 1); // a longer message is no whole one
        mx_segment_t segment{slot.bytes.data(), static_cast<uint32_t>(slot.bytes.size())};
        check(mx_irecv(endpoint_, &segment, 1, r.match, r.mask, &slot, &slot.request), "mx_irecv");
    }
}

bool Flow::pump()
{
    post_receives();
    post_sends();
    bool found = false;
    for (;;) {
        mx_status_t status;
        uint32_t result = 0;
        check(mx_test_any(endpoint_, 0, 0, &status, &result), "mx_test_any");
        if (!result)
            return found;
        take(status);
        found = true;
    }
}

void Flow::rest()
{
    mx_request_t request;
    uint32_t result;
    check(mx_peek(endpoint_, 1, &request, &result), "mx_peek");
}

void Flow::wrong(const std::string &what, const Slot &slot) const
{
    throw Failure("endpoint " + std::to_string(index_) + ", message " + std::to_string(slot.message) +
                  (slot.receives ? " to here: " : " from here: ") + what);
}

void Flow::take(const mx_status_t &status)
{
    Slot &slot = *static_cast<Slot *>(status.context);
    if (!slot.busy)
        wrong("completes twice", slot);
    slot.busy = false;
    const bool truncated = slot.receives && status.code == MX_STATUS_TRUNCATED; // told with its lengths
    if (status.code != MX_STATUS_SUCCESS && !truncated)
        wrong(mx_strstatus(status.code), slot);
    if (slot.receives) {
        take_received(slot, status);
        received_++;
    } else {
        if (status.xfer_length != out_.messages[slot.message].length)
            wrong("sent only " + std::to_string(status.xfer_length) + " bytes", slot);
        sent_++;
    }
    bytes_ += status.xfer_length;
    slot.bytes = {};
}

void Flow::take_received(const Slot &slot, const mx_status_t &status)
{
    const PlannedMessage &m = in_.messages[slot.message];
    if (status.match_info != m.match)
        wrong("its receive got message " + std::to_string(status.match_info & 0xffffffff), slot);
    if (status.msg_length != m.length || status.xfer_length != m.length)
        wrong("has " + std::to_string(status.xfer_length) + " of " + std::to_string(status.msg_length) +
                  " bytes instead of " + std::to_string(m.length),
              slot);
    if (auto at = perf::find_damage(slot.bytes.data(), m.length, content(slot.message, true)))
        wrong("differs from byte " + std::to_string(*at) + " of " + std::to_string(m.length) + " on", slot);
}

void Flow::check_silence()
{
    mx_status_t status;
    uint32_t result = 0;
    check(mx_iprobe(endpoint_, 0, 0, &status, &result), "mx_iprobe");
    if (result)
        throw Failure("endpoint " + std::to_string(index_) +
                      ": a message that nobody sent, or a second time: " +
                      std::to_string(status.match_info & 0xffffffff));
}

std::string Flow::state() const
{
    return "endpoint " + std::to_string(index_) + ": " + std::to_string(sent_) + " of " +
           std::to_string(out_.messages.size()) + " sends complete, " + std::to_string(received_) + " of " +
           std::to_string(in_.messages.size()) + " receives\n";
}

/// All flows of this process.
class Exchange {
public:
    explicit Exchange(const Options &options)
        : options_(options), meeting_(options.meeting, options.rank),
          deadline_(Clock::now() + std::chrono::seconds(options.patience))
    {
        for (uint32_t i = 0; i < options.endpoints; i++)
            flows_.push_back(std::make_unique<Flow>(options, i));
    }

    void run()
    {
        const uint64_t nic = cli::parse_mac(options_.peer);
        meeting_.meet([&] { rest(); });
        for (auto &flow : flows_)
            flow->connect(nic);
        while (!std::all_of(flows_.begin(), flows_.end(), [](auto &f) { return f->done(); }))
            pump();
        meeting_.meet([&] { pump(); });
        for (const auto end = Clock::now() + echo_time; Clock::now() < end;)
            pump();
        for (auto &flow : flows_)
            flow->check_silence();
        meeting_.meet([&] { pump(); });
        meeting_.end();
    }

    void report(Clock::duration time) const
    {
        uint64_t sent = 0, received = 0, bytes = 0;
        for (auto &flow : flows_)
            sent += flow->sent(), received += flow->received(), bytes += flow->bytes();
        std::printf("%llu sent, %llu received, %.1f MB both ways, %.1f s\n",
                    static_cast<unsigned long long>(sent), static_cast<unsigned long long>(received),
                    static_cast<double>(bytes) / 1e6, std::chrono::duration<double>(time).count());
    }

private:
    void rest() { flows_[turn_++ % flows_.size()]->rest(); }
    void pump()
    {
        bool found = false;
        for (auto &flow : flows_)
            found |= flow->pump();
        if (!found)
            rest();
        if (Clock::now() < deadline_)
            return;
        std::string all = "not done in " + std::to_string(options_.patience) + " s:\n";
        for (auto &flow : flows_)
            all += flow->done() ? "" : flow->state();
        throw Failure(all);
    }

    const Options &options_;
    Meeting meeting_;
    Clock::time_point deadline_;
    std::vector<std::unique_ptr<Flow>> flows_;
    size_t turn_ = 0;
};

int body(int argc, char **argv)
{
    Options o;
    cli::Parser parser("--rank 0|1 --meeting FILE --peer MAC [options]",
                       "Exchanges checked messages with the other rank.");
    parser.number('r', "rank", "which of the two", o.rank, 1);
    parser.text('m', "meeting", "empty file of both ranks", o.meeting);
    parser.text('p', "peer", "MAC of the other's board 0", o.peer);
    parser.number('n', "messages", "of both directions (10000)", o.messages);
    parser.number('e', "endpoints", "of either rank (16)", o.endpoints, 32);
    parser.number('l', "large", "messages over 32 KiB, per mille (20)", o.large, 1000);
    parser.number('s', "seed", "(1)", o.seed);
    parser.number('t', "patience", "seconds (120)", o.patience);
    parser.parse(argc, argv);
    if (cli::parse_mac(o.peer) == 0 || o.endpoints == 0)
        throw Failure("--peer needs a MAC address, --endpoints at least 1");
    mx_set_error_handler(MX_ERRORS_RETURN);
    check(mx_init(), "mx_init");
    {
        const auto start = Clock::now();
        Exchange exchange(o);
        exchange.run();
        exchange.report(Clock::now() - start);
    }
    mx_finalize();
    return 0;
}

} // namespace
} // namespace emx::test

int main(int argc, char **argv) { return emx::cli::run(argc, argv, emx::test::body); }
