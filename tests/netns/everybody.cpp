// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// One of several processes, each on a host of its own, that send each other a message of every length at
// which the protocol does something else, and check that each arrives intact, once and in order.
//
//   everybody --rank N --meeting FILE [--longest BYTES] [--seed N] [--patience SECONDS] HOST...
//
// HOST, one for each rank: E@MAC, a host of our stack, which speaks to each as that one does; W@MAC or
// N=SIZE@MAC, a stranger of that dialect. Strangers of two dialects have only the short messages in common.
#include "../../tools/cli.hpp"
#include "../../tools/omx_perf/payload.hpp"
#include "../model/frame.hpp"
#include "../support/mx_check.hpp"
#include "meeting.hpp"

#include <mx_extensions.h>
#include <myriexpress.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <list>
#include <memory>
#include <vector>

namespace emx::test {
namespace {

using cli::Failure;
// tidy-allow(time): a limit that says that it hangs, a pause for what comes twice, and a figure for the eyes
using Clock = std::chrono::steady_clock;

constexpr uint32_t key = 0xfab1c, number = 0;
constexpr uint32_t outstanding = 8; ///< sends, and receives, of a pair
constexpr uint32_t eager_max = 32768, short_max = 128;
constexpr uint32_t synchronous_every = 7;
constexpr uint64_t pair_mask = ~uint64_t{0} << 32;
/// Longer than the pause of a sender between two repeats: what comes twice comes by then.
constexpr auto echo_time = std::chrono::milliseconds(700);

struct Options {
    uint32_t rank = 0, longest = 1u << 24, seed = 1, patience = 120;
    bool strangers_apart = false;
    std::string meeting;
};

struct Host {
    bool ours = false;
    uint32_t size = 0; ///< of dialect N; 0: W
    uint64_t nic = 0;
};

Host read_host(const std::string &text)
{
    Host host;
    const size_t at = text.find('@');
    const std::string kind = text.substr(0, at);
    host.ours = kind == "E";
    if (kind.rfind("N=", 0) == 0)
        host.size = static_cast<uint32_t>(cli::parse_number("a size of dialect N", kind.substr(2), 65535));
    if (at != std::string::npos)
        host.nic = cli::parse_mac(text.substr(at + 1));
    if (host.nic == 0 || (!host.ours && !host.size && kind != "W"))
        throw Failure("\"" + text + "\": a host is E@MAC, W@MAC or N=SIZE@MAC");
    return host;
}

/// We speak to each as it does.
bool speak_alike(const Host &a, const Host &b) { return a.ours || b.ours || a.size == b.size; }

/// Lengths of what `from` sends to `to`, in the order in which it does.
std::vector<uint32_t> lengths_between(const Options &o, const std::vector<Host> &hosts, uint32_t from,
                                      uint32_t to)
{
    const Host &a = hosts[from], &b = hosts[to];
    const bool strangers = !a.ours && !b.ours;
    if (from == to || (strangers && o.strangers_apart))
        return {};
    const uint32_t size = a.ours ? b.size : a.size;
    std::vector<uint32_t> all =
        model::boundaries(size ? model::dialect_n(size) : model::dialect_w(), eager_max);
    const uint32_t longest = speak_alike(a, b) ? o.longest : short_max;
    std::erase_if(all, [longest](uint32_t length) { return length > longest; });
    Rng rng(uint64_t{o.seed} << 32 | from << 8 | to);
    for (size_t i = all.size(); i > 1; i--)
        std::swap(all[i - 1], all[rng.below(i)]);
    return all;
}

/// A message under way.
struct Slot {
    uint32_t peer, number;
    bool receives;
    std::vector<std::byte> bytes;
};

/// Messages of this process to another one, and from it.
struct Pair {
    mx_endpoint_addr_t address{};
    std::vector<uint32_t> out, in; ///< lengths
    bool of_one_dialect = true; ///< else no message may be pulled
    uint32_t next_out = 0, next_in = 0, sent = 0, received = 0;
    bool done() const { return sent == out.size() && received == in.size(); }
};

class Everybody {
public:
    Everybody(const Options &options, std::vector<Host> hosts)
        : o_(options), hosts_(std::move(hosts)),
          meeting_(options.meeting, options.rank, static_cast<uint32_t>(hosts_.size())),
          deadline_(Clock::now() + std::chrono::seconds(options.patience))
    {
        check(mx_open_endpoint(0, number, key, nullptr, 0, &endpoint_), "mx_open_endpoint");
        for (uint32_t peer = 0; peer < hosts_.size(); peer++) {
            Pair &p = pairs_.emplace_back();
            p.of_one_dialect = speak_alike(hosts_[o_.rank], hosts_[peer]);
            p.out = lengths_between(o_, hosts_, o_.rank, peer);
            p.in = lengths_between(o_, hosts_, peer, o_.rank);
        }
    }

    void run()
    {
        meeting_.meet([this] { pump(); });
        connect();
        talking_ = true;
        while (!std::all_of(pairs_.begin(), pairs_.end(), [](const Pair &p) { return p.done(); }))
            pump();
        meeting_.meet([this] { pump(); });
        for (const auto end = Clock::now() + echo_time; Clock::now() < end;)
            pump();
        check_silence();
        meeting_.meet([this] { pump(); });
        meeting_.end();
    }

    void report(Clock::duration time) const
    {
        uint64_t sent = 0, received = 0;
        for (const Pair &p : pairs_)
            sent += p.sent, received += p.received;
        std::printf("%llu sent, %llu received, %.1f MB both ways, %.1f s\n",
                    static_cast<unsigned long long>(sent), static_cast<unsigned long long>(received),
                    static_cast<double>(bytes_) / 1e6, std::chrono::duration<double>(time).count());
    }

private:
    bool speaks_with(uint32_t peer) const { return !pairs_[peer].out.empty(); }
    uint64_t label(uint32_t from, uint32_t to) const { return uint64_t{from} << 48 | uint64_t{to} << 32; }

    /// To all at once: each side needs the other inside its library.
    void connect()
    {
        for (uint32_t peer = 0; peer < hosts_.size(); peer++) {
            if (!speaks_with(peer))
                continue;
            mx_request_t request = nullptr;
            check(mx_iconnect(endpoint_, hosts_[peer].nic, number, key, peer, nullptr, &request),
                  "mx_iconnect");
            connecting_++;
        }
        while (connecting_)
            pump();
    }
    void post_sends(uint32_t peer);
    void post_receives(uint32_t peer);
    void pump();
    void take(const mx_status_t &status);
    void take_received(const Slot &slot, const mx_status_t &status);
    void check_silence();
    Slot *slot(uint32_t peer, uint32_t message, bool receives, uint32_t length)
    {
        slots_.push_back({peer, message, receives, std::vector<std::byte>(length)});
        return &slots_.back();
    }
    [[noreturn]] void wrong(const Slot &slot, const std::string &what) const
    {
        throw Failure("message " + std::to_string(slot.number) +
                      (slot.receives ? " from rank " : " to rank ") + std::to_string(slot.peer) + ": " +
                      what);
    }
    std::string state() const;

    const Options o_;
    const std::vector<Host> hosts_;
    Meeting meeting_;
    Clock::time_point deadline_;
    mx_endpoint_t endpoint_ = nullptr;
    std::vector<Pair> pairs_; ///< by rank
    std::list<Slot> slots_;
    uint32_t connecting_ = 0;
    bool talking_ = false;
    uint64_t bytes_ = 0;
};

void Everybody::post_sends(uint32_t peer)
{
    for (Pair &p = pairs_[peer]; p.next_out < p.out.size() && p.next_out - p.sent < outstanding;
         p.next_out++) {
        const uint32_t length = p.out[p.next_out];
        Slot *s = slot(peer, p.next_out, false, length);
        const uint64_t match = label(o_.rank, peer) | p.next_out;
        perf::fill(s->bytes.data(), length, match);
        mx_segment_t segment{s->bytes.data(), length};
        mx_request_t request = nullptr;
        auto send = p.of_one_dialect && p.next_out % synchronous_every == 0 ? mx_issend : mx_isend;
        check(send(endpoint_, &segment, 1, p.address, match, s, &request), "send");
    }
}

/// Each for the next message of that rank, whichever it is: they come in order.
void Everybody::post_receives(uint32_t peer)
{
    for (Pair &p = pairs_[peer]; p.next_in < p.in.size() && p.next_in - p.received < outstanding;
         p.next_in++) {
        Slot *s = slot(peer, p.next_in, true, p.in[p.next_in] + 1); // a longer one is no whole one
        mx_segment_t segment{s->bytes.data(), static_cast<uint32_t>(s->bytes.size())};
        mx_request_t request = nullptr;
        check(mx_irecv(endpoint_, &segment, 1, label(peer, o_.rank), pair_mask, s, &request), "mx_irecv");
    }
}

void Everybody::take_received(const Slot &s, const mx_status_t &status)
{
    const uint32_t length = pairs_[s.peer].in[s.number];
    if (status.match_info != (label(s.peer, o_.rank) | s.number))
        wrong(s, "its receive got message " + std::to_string(status.match_info & 0xffffffff));
    if (status.msg_length != length || status.xfer_length != length)
        wrong(s, "has " + std::to_string(status.xfer_length) + " of " + std::to_string(status.msg_length) +
                     " bytes instead of " + std::to_string(length));
    if (auto at = perf::find_damage(s.bytes.data(), length, status.match_info))
        wrong(s, "differs from byte " + std::to_string(*at) + " of " + std::to_string(length) + " on");
}

void Everybody::take(const mx_status_t &status)
{
    if (!status.context) {
        if (status.code != MX_STATUS_SUCCESS)
            throw Failure("connect to rank " + std::to_string(status.match_info) + ": " +
                          mx_strstatus(status.code));
        pairs_[status.match_info].address = status.source;
        connecting_--;
        return;
    }
    auto *s = static_cast<Slot *>(status.context);
    if (status.code != MX_STATUS_SUCCESS)
        wrong(*s, mx_strstatus(status.code));
    Pair &p = pairs_[s->peer];
    if (s->receives) {
        take_received(*s, status);
        p.received++;
    } else {
        if (status.xfer_length != p.out[s->number])
            wrong(*s, "sent only " + std::to_string(status.xfer_length) + " bytes");
        p.sent++;
    }
    bytes_ += status.xfer_length;
    slots_.remove_if([s](const Slot &other) { return &other == s; });
}

void Everybody::pump()
{
    bool found = false;
    for (uint32_t peer = 0; peer < hosts_.size() && talking_; peer++) {
        post_receives(peer);
        post_sends(peer);
    }
    for (uint32_t result = 1; result; found |= result) {
        mx_status_t status;
        check(mx_test_any(endpoint_, 0, 0, &status, &result), "mx_test_any");
        if (result)
            take(status);
    }
    if (!found) {
        mx_request_t request;
        uint32_t result;
        check(mx_peek(endpoint_, 1, &request, &result), "mx_peek");
    }
    if (Clock::now() >= deadline_)
        throw Failure("not done in " + std::to_string(o_.patience) + " s:" + state());
}

void Everybody::check_silence()
{
    mx_status_t status;
    uint32_t result = 0;
    check(mx_iprobe(endpoint_, 0, 0, &status, &result), "mx_iprobe");
    if (result)
        throw Failure("a message that nobody sent, or a second time: " +
                      std::to_string(status.match_info & 0xffffffff) + " of rank " +
                      std::to_string(status.match_info >> 48));
}

std::string Everybody::state() const
{
    std::string all;
    for (uint32_t peer = 0; peer < hosts_.size(); peer++)
        if (const Pair &p = pairs_[peer]; !p.done())
            all += " rank " + std::to_string(peer) + ": " + std::to_string(p.sent) + " of " +
                   std::to_string(p.out.size()) + " sent, " + std::to_string(p.received) + " of " +
                   std::to_string(p.in.size()) + " received;";
    return all;
}

int body(int argc, char **argv)
{
    Options o;
    cli::Parser parser("--rank N --meeting FILE [options] HOST...",
                       "Exchanges checked messages of every interesting length with all other ranks.");
    parser.number('r', "rank", "which of the hosts", o.rank, Meeting::ranks_max - 1);
    parser.text('m', "meeting", "empty file of all ranks", o.meeting);
    parser.number('l', "longest", "bytes of a message (16777216)", o.longest);
    parser.number('s', "seed", "of the order (1)", o.seed);
    parser.number('t', "patience", "seconds (120)", o.patience);
    parser.flag('a', "strangers-apart", "strangers do not speak with each other", o.strangers_apart);
    std::vector<Host> hosts;
    for (const std::string &text : parser.parse(argc, argv))
        hosts.push_back(read_host(text));
    if (o.rank >= hosts.size() || hosts.size() > Meeting::ranks_max)
        throw Failure("a host for each rank is needed, " + std::to_string(Meeting::ranks_max) + " at most");
    mx_set_error_handler(MX_ERRORS_RETURN);
    check(mx_init(), "mx_init");
    {
        const auto start = Clock::now();
        Everybody everybody(o, hosts);
        everybody.run();
        everybody.report(Clock::now() - start);
    }
    mx_finalize();
    return 0;
}

} // namespace
} // namespace emx::test

int main(int argc, char **argv) { return emx::cli::run(argc, argv, emx::test::body); }
