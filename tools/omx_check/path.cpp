// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// From answers, and their absence, to sentences.
#include "tools/omx_check/path.hpp"

#include "tools/cli.hpp"
#include "tools/omx_check/carrier.hpp"
#include "tools/omx_check/prober.hpp"
#include "tools/omx_check/results.hpp"

#include "driver/base/printable.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace emx::check {

namespace {

constexpr uint32_t ethernet_header = 14;
// Receivers take frames of exactly the greatest length for pull replies, whatever their type.
constexpr uint32_t short_of_reply = 1;
constexpr unsigned round_trips = 200;
constexpr uint32_t skip_max = 65535 - FW_REPLY_HEADER; // of dialect N with the largest size
constexpr const char *conf_file = "/etc/ethermx/ethermx.conf";

class Path {
public:
    Path(const Options &options, const std::string &host);
    /// True if all is right.
    bool test();

private:
    void test_here();
    bool test_answers();
    void test_frames();
    bool test_dialect(Prober &prober);
    void test_sizes(Prober &prober);
    void test_longer(Prober &prober);
    void vanish(Prober &prober, uint32_t longest, const std::string &why, const std::string &remedy);
    void test_losses(Prober &prober);
    void test_latency(Prober &prober);
    void test_doubles(Prober &prober);
    void test_messages();
    void test_rates();
    void tell_carrier(const emx_counters &before);
    void compare(const Settings &theirs);
    static uint32_t reply_size(Prober &prober);
    void print_title() const;
    std::string verdict() const;

    /// A line of the report; nothing where the document is wanted.
    [[gnu::format(printf, 3, 4)]] void tell(const char *what, const char *format, ...) const;
    void wrong(const std::string &sentence) { results_.wrong.push_back(printable(sentence)); }
    void untested(const std::string &what) { results_.untested.push_back(what); }

    const Options options_;
    const std::string host_;
    BoardFacts board_; ///< with the sizes for that host
    Settings own_;
    Partner partner_;
    const uint64_t peer_;
    uint32_t passes_ = 0; ///< longest frame that passes, as far as known
    const uint32_t own_longest_; ///< frame of the extension, by what this board itself speaks
    uint32_t shared_mtu_ = 0; ///< what both interfaces take, when known
    uint32_t shared_longest_ = 0; ///< frame of the extension that both send, when known
    Results results_;
};

std::string join(const std::vector<std::string> &parts, const char *between)
{
    std::string all;
    for (const std::string &part : parts)
        all += (all.empty() ? "" : between) + part;
    return all;
}

Path::Path(const Options &options, const std::string &host)
    : options_(options), host_(host), board_(BoardView::open()->board(options.board)),
      own_(settings_of(board_)), partner_(options.board, MX_ANY_ENDPOINT),
      peer_(Partner::resolve(host, options.patience_s * 1000)),
      own_longest_(fw_x_frame_max(&board_.sizes, board_.mtu))
{
    if (peer_ == board_.mac)
        throw cli::Failure("\"" + host + "\" is this board itself: name a board of another host");
    for (const PeerView &peer : BoardView::open()->peers(options.board))
        if (peer.mac == peer_ && fw_sizes_spoken(&board_.sizes, peer.speaks) == 0)
            own_ = settings_of(board_);
    passes_ = board_.sizes.payload_min + ethernet_header - short_of_reply;
}

void Path::tell(const char *what, const char *format, ...) const
{
    if (options_.json)
        return;
    std::printf("  %-14s ", what);
    va_list arguments;
    va_start(arguments, format);
    std::vprintf(format, arguments);
    va_end(arguments);
    std::putchar('\n');
    std::fflush(stdout);
}

void Path::print_title() const
{
    std::printf("from %s (%s, %s, %s) to %s\n", board_.name.c_str(), board_.interface.c_str(),
                cli::mac_text(board_.mac).c_str(), own_.text().c_str(),
                host_ == cli::mac_text(peer_)
                    ? host_.c_str()
                    : (printable(host_) + " (" + cli::mac_text(peer_) + ")").c_str());
}

void Path::test_here()
{
    if (!options_.json)
        print_title();
    if (board_.link != EMX_LINK_UP)
        wrong("the link of " + board_.interface + " is down here: plug it in, or ip link set " +
              board_.interface + " up");
    if (board_.mtu < board_.sizes.payload_min)
        wrong(board_.interface + " has an MTU of " + std::to_string(board_.mtu) + " here, and " +
              own_.text() + " needs " + std::to_string(board_.sizes.payload_min) + ": ip link set " +
              board_.interface + " mtu " + std::to_string(board_.sizes.payload_min));
}

bool Path::test_answers()
{
    const Contact contact = partner_.connect(peer_, options_.endpoint, options_.patience_s * 1000);
    results_.served = contact == Contact::served;
    results_.answers = contact != Contact::nothing;
    if (results_.answers) {
        tell("answers", results_.served ? "yes; omx_check -s serves there" : "yes");
        return true;
    }
    tell("answers", "no");
    if (results_.wrong.empty())
        wrong(
            "nothing answers at " + cli::mac_text(peer_) +
            ". Is the host up, its cable in, and the address right? Does EtherMX serve that board (omx_info "
            "there)? Is this board in its peer table? If not, omx_counters there shows unknown peers, and "
            "omx_init_peers " +
            cli::mac_text(board_.mac) + " " + board_.name + " there adds it");
    return false;
}

/// Bytes of data in a frame of the other side's pull replies: the least skip that it refuses.
uint32_t Path::reply_size(Prober &prober)
{
    uint32_t taken = 0, refused = skip_max + 1;
    while (refused - taken > 1) {
        const uint32_t middle = taken + (refused - taken) / 2;
        (prober.takes_pull(middle) ? taken : refused) = middle;
    }
    return refused;
}

/// False when the other side does not tell.
bool Path::test_dialect(Prober &prober)
{
    Settings theirs{prober.dialect(), 0, 0};
    if (theirs.dialect == 0)
        return false;
    if (theirs.dialect == 'N') {
        const uint32_t own = board_.sizes.reply;
        if (own_.dialect == 'N' && prober.takes_pull(own - 1) && !prober.takes_pull(own))
            theirs.size = own_.size;
        else if (!prober.takes_pull(skip_max))
            theirs.size = reply_size(prober) + FW_REPLY_HEADER;
        else
            untested("the frame size of its dialect (Open-MX does not tell)");
    }
    compare(theirs);
    return true;
}

void Path::compare(const Settings &theirs)
{
    results_.theirs = theirs;
    results_.same_dialect = theirs.dialect == own_.dialect && (theirs.size == own_.size || theirs.size == 0);
    tell("dialect", "%s, %s", theirs.text().c_str(),
         results_.same_dialect ? "as here" : ("but " + own_.text() + " here").c_str());
    if (!results_.same_dialect)
        wrong("dialect mismatch: that host speaks " + theirs.text() + ", this one " + own_.text() +
              ". Give both the same: boards = INTERFACE:" + own_.text() + " in " + conf_file +
              ", or EMX_BOARDS, and restart EtherMX there; or have this host speak " + theirs.text() +
              " to that one alone: omx_init_peers " + cli::mac_text(peer_) + " NAME " + theirs.text() +
              (theirs.dialect == 'N' && theirs.size == 0 ? "=SIZE" : ""));
    if (theirs.mtu == 0 || !results_.same_dialect || theirs.mtu >= board_.sizes.payload_min)
        return;
    wrong("that host's interface has an MTU of " + std::to_string(theirs.mtu) + ", and " + theirs.text() +
          " needs " + std::to_string(board_.sizes.payload_min) +
          ": raise it there with ip link set INTERFACE mtu " + std::to_string(board_.sizes.payload_min));
}

/// Frames of `longest` bytes do not arrive, some of passes_ do: which, and what is wrong.
void Path::vanish(Prober &prober, uint32_t longest, const std::string &why, const std::string &remedy)
{
    for (uint32_t lost = longest; lost - passes_ > 1;) {
        const uint32_t middle = passes_ + (lost - passes_) / 2;
        (prober.round_trip(middle) ? passes_ : lost) = middle;
    }
    results_.frame_max = passes_;
    results_.frames_vanish = true;
    tell("largest frames", "of %u bytes vanish; at most %u bytes arrive there", longest, passes_);
    wrong((prober.too_long_here() ? "MTU mismatch: " + board_.interface + " here refuses frames above "
                                  : "MTU mismatch on the way: nothing arrives above ") +
          std::to_string(passes_) + " bytes (MTU " + std::to_string(passes_ - ethernet_header) + "), and " +
          why + ". Raise it on every switch, bridge and interface between the hosts, or " + remedy +
          std::to_string(passes_));
}

void Path::test_sizes(Prober &prober)
{
    const uint32_t full = passes_;
    if (prober.round_trip(full))
        return test_longer(prober);
    passes_ = EMX_FRAME_MIN;
    vanish(prober, full + short_of_reply,
           own_.text() + " needs an MTU of " + std::to_string(board_.sizes.payload_min), "give all hosts N=");
}

/// The extension's frames, which both hosts speak, are as long as both interfaces take.
void Path::test_longer(Prober &prober)
{
    // The longest that are not X DATA, which receivers tell by its length, whatever the type.
    const uint32_t longest = FW_X_MEDIUM_HEADER + fw_x_frag_max(shared_longest_);
    results_.frame_max = passes_;
    if (longest <= passes_)
        return tell("largest frames", "arrive there (MTU %u)", board_.sizes.payload_min);
    if (prober.round_trip(longest)) {
        results_.frame_max = longest;
        tell("largest frames", "arrive there (MTU %u)", shared_mtu_);
    } else
        vanish(prober, longest, "both interfaces have an MTU of " + std::to_string(shared_mtu_),
               "lower it on both interfaces to fit frames of ");
}

void Path::test_losses(Prober &prober)
{
    const Burst burst = prober.burst(options_.frames, {EMX_FRAME_MIN, passes_});
    results_.frames = burst.sent;
    results_.lost = burst.lost;
    results_.reordered = burst.late;
    tell("loss", "%u of %u frames or their answers", burst.lost, burst.sent);
    tell("reordering", "%u of %u", burst.late, burst.sent);
    if (burst.lost > 0)
        wrong("frames are lost: " + std::to_string(burst.lost) + " of " + std::to_string(burst.sent) +
              " were not answered. Look at the errors of cables and switch ports (ip -s link, ethtool -S), "
              "at flow "
              "control, and at omx_counters on both hosts");
    if (burst.late > 0)
        wrong("frames are reordered: " + std::to_string(burst.late) + " of " + std::to_string(burst.sent) +
              " answers came after later ones. Messages arrive all the same, but slower: look for links that "
              "are "
              "bundled packet by packet (round robin)");
}

void Path::test_doubles(Prober &prober)
{
    if (const uint32_t surplus = prober.surplus())
        wrong("frames are answered twice (" + std::to_string(surplus) + " of " +
              std::to_string(prober.sent()) + "): two boards have the address " + cli::mac_text(peer_) +
              ", or the network has a loop. Give one of the boards another address");
}

void Path::test_latency(Prober &prober)
{
    std::vector<uint64_t> times;
    for (unsigned i = 0; i < round_trips; i++)
        if (const auto time = prober.round_trip(EMX_FRAME_MIN))
            times.push_back(*time);
    if (times.empty())
        return;
    std::sort(times.begin(), times.end());
    results_.round_trip_min_us = static_cast<double>(times.front()) / 1000;
    results_.round_trip_median_us = static_cast<double>(times[times.size() / 2]) / 1000;
    tell("round trip", "%.1f us at best, %.1f us median, of frames that EtherMX refuses there",
         *results_.round_trip_min_us, *results_.round_trip_median_us);
}

void Path::test_frames()
{
    const auto view = BoardView::open();
    if (view->has_hosts()) {
        untested("sizes, loss and reordering of datagrams (of raw frames alone)");
        return;
    }
    const auto prober = Prober::open(board_, peer_, partner_.number());
    if (!prober) {
        untested("sizes, loss and reordering of frames (only root can: raw sockets)");
        return;
    }
    for (const PeerView &peer : view->peers(options_.board))
        if (peer.mac == peer_)
            prober->learn_tag(peer.index);
    if (!prober->round_trip(EMX_FRAME_MIN)) {
        wrong("that host answers to a connect, but refuses no frame for an endpoint that nobody has open: it "
              "speaks no MXoE, or nearly every frame is lost");
        return;
    }
    if (!results_.served && !test_dialect(*prober))
        untested("the dialect (that host does not tell)");
    test_sizes(*prober);
    test_losses(*prober);
    test_latency(*prober);
    test_doubles(*prober);
}

void Path::test_messages()
{
    if (!results_.served) {
        untested("bandwidth, and long frames from there to here (start omx_check -s there)");
        return;
    }
    if (const auto theirs = partner_.exchange_settings(own_)) {
        compare(*theirs);
        if (results_.same_dialect) {
            shared_mtu_ = std::min(board_.mtu, theirs->mtu);
            shared_longest_ = std::min(own_longest_, fw_x_frame_max(&board_.sizes, theirs->mtu));
        }
    } else
        throw cli::Failure("the omx_check -s there does not answer: use the same version on both hosts");
}

void Path::test_rates()
{
    if (const auto ns = partner_.latency()) {
        results_.latency_us = *ns / 1000;
        tell("latency", "%.2f us, half a round trip of empty messages", *results_.latency_us);
    }
    const auto there = results_.there_mb_s = partner_.send_rate();
    if (!there) {
        wrong("messages of 1 MiB do not get there, within seconds");
        return;
    }
    const emx_counters before = BoardView::open()->counters(options_.board);
    const auto back = results_.back_mb_s = partner_.receive_rate();
    tell("bandwidth", "%.0f MB/s there, %s", *there,
         back ? (std::to_string(static_cast<int>(*back)) + " MB/s back").c_str() : "nothing comes back");
    if (back)
        tell_carrier(before);
    if (!back)
        wrong(
            "MTU mismatch on the way back: messages of 1 MiB come from there neither whole nor in part. Run "
            "omx_check on that host to find the size that passes, and raise the MTU on the way, also of " +
            board_.interface + " here");
}

void Path::tell_carrier(const emx_counters &before)
{
    const auto view = BoardView::open();
    results_.carrier = carrier_of(board_, *view, before, view->counters(options_.board));
    const Carrier &found = *results_.carrier;
    const std::string how = found.name == "tcp" ? "by TCP" : "in " + found.name;
    tell("large messages", "come %s%s%s", how.c_str(), found.why.empty() ? "" : ": ", found.why.c_str());
}

std::string Path::verdict() const
{
    const std::string rest =
        results_.untested.empty() ? "" : "Not tested: " + join(results_.untested, "; ") + ".\n";
    if (results_.wrong.empty())
        return rest + "OK" + (results_.untested.empty() ? "" : ", as far as tested") + "\n";
    return rest + "WRONG: " + join(results_.wrong, ".\nWRONG: ") + ".\n";
}

bool Path::test()
{
    test_here();
    if (test_answers()) {
        test_messages();
        test_frames();
        // Through what is known to be wrong long messages would only run into time limits.
        if (results_.served && results_.wrong.empty())
            test_rates();
    }
    if (options_.json)
        print_json(board_, own_, host_, peer_, results_);
    else
        std::printf("%s", verdict().c_str());
    return results_.wrong.empty();
}

} // namespace

bool test_path(const Options &options, const std::string &host) { return Path(options, host).test(); }

} // namespace emx::check
