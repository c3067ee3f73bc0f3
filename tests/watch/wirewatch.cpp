// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// wirewatch: judges every frame that hosts send, while they send it, or in a capture. See usage.
#include "judge.hpp"
#include "order.hpp"
#include "tap.hpp"

#include <tests/support/pcap.hpp>

#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <sstream>
#include <stdexcept>

namespace emx::watch {
namespace {

constexpr char usage[] =
    R"(usage: wirewatch [OPTION]... NAMESPACE...    each a path, as /run/netns/NAME or /proc/PID/ns/net
       wirewatch [OPTION]... --pcap FILE...

Judges the frames of EtherType 0x86DF that network namespaces send by the wire specification, with the checkers of the
simulator. Prints "watching" when it has begun, each violation with its frame, and at the end how many frames it
has seen and how many not, for want of room. It ends when told so (TERM, or "end" with --commands).

  -d, --dialect W|N=SIZE    boards have that dialect, or another one that is named (default: W, N=1500, N=9000)
  -o, --only MAC            judge frames with that source only (and others named so)
  -n, --not MAC             do not judge frames with that source
  -b, --both NAMESPACE      judge what comes into that namespace, too: for a host whose peer's cannot be watched. Counters
                            of acks are not judged then, as frames may overtake each other on their way
  -f, --foreign NAMESPACE   do not judge what this one sends, but hear what it tells
  -s, --spare ENDPOINT      do not judge messages and pull requests for that endpoint: probes of omx_check
  -D, --dangers             only what makes an Open-MX host abort or crash: the senders do as they like
  -r, --ring FRAMES         room for so many frames of a namespace (131072)
  -w, --while PID           end with that process
  -c, --commands            commands on standard input, a line each: "not MAC", "foreign K" (K-th namespace from 0),
                            "distrust" (tags and sessions are not judged), "end"; the end of the input is one
  -p, --pcap                judge captures

Exit status: 0, 1 after violations, 2 when it cannot watch.
)";

constexpr unsigned printed_max = 20; ///< violations that are shown; all are counted
constexpr int nap_ms =
    5; ///< a ring holds what comes meanwhile; a wake-up for each frame would slow its sender

volatile sig_atomic_t told_to_end;
void on_signal(int /*signal*/) { told_to_end = 1; }

struct Source {
    std::string path;
    Ways ways;
    bool foreign;
};

struct Options {
    std::vector<Dialect> dialects;
    std::vector<uint64_t> only, strangers;
    std::vector<uint8_t> spared;
    std::vector<Source> sources;
    std::vector<std::string> captures;
    bool dangers = false, commands = false;
    uint32_t ring = 1u << 17;
    pid_t companion = 0;
};

[[noreturn]] void wrong(const std::string &what) { throw std::runtime_error(what + "; see wirewatch -h"); }

uint64_t to_mac(const std::string &text)
{
    const auto mac = mac_of(text);
    if (!mac)
        wrong("\"" + text + "\" is no address");
    return *mac;
}

uint32_t to_number(const std::string &text, uint32_t max)
{
    size_t end = 0;
    unsigned long value = 0;
    try {
        value = std::stoul(text, &end);
    } catch (const std::exception &) {
        end = 0;
    }
    if (end == 0 || end != text.size() || value > max)
        wrong("\"" + text + "\" is not a number from 0 to " + std::to_string(max));
    return static_cast<uint32_t>(value);
}

void add_dialect(Options &o, const std::string &name)
{
    const auto dialect = dialect_of(name);
    if (!dialect)
        wrong("a dialect is W or N=SIZE, not \"" + name + "\"");
    o.dialects.push_back(*dialect);
}

Options parse(int argc, char **argv)
{
    static constexpr std::array<option, 14> known{{{"dialect", required_argument, nullptr, 'd'},
                                                   {"only", required_argument, nullptr, 'o'},
                                                   {"not", required_argument, nullptr, 'n'},
                                                   {"both", required_argument, nullptr, 'b'},
                                                   {"foreign", required_argument, nullptr, 'f'},
                                                   {"spare", required_argument, nullptr, 's'},
                                                   {"dangers", no_argument, nullptr, 'D'},
                                                   {"ring", required_argument, nullptr, 'r'},
                                                   {"while", required_argument, nullptr, 'w'},
                                                   {"commands", no_argument, nullptr, 'c'},
                                                   {"pcap", no_argument, nullptr, 'p'},
                                                   {"help", no_argument, nullptr, 'h'},
                                                   {nullptr, 0, nullptr, 0}}};
    Options o;
    bool pcap = false;
    for (int c; (c = getopt_long(argc, argv, "d:o:n:b:f:s:Dr:w:cph", known.data(), nullptr)) != -1;)
        switch (c) {
        case 'd': add_dialect(o, optarg); break;
        case 'o': o.only.push_back(to_mac(optarg)); break;
        case 'n': o.strangers.push_back(to_mac(optarg)); break;
        case 'b': o.sources.push_back({optarg, Ways::both, false}); break;
        case 'f': o.sources.push_back({optarg, Ways::sent, true}); break;
        case 's': o.spared.push_back(static_cast<uint8_t>(to_number(optarg, 255))); break;
        case 'D': o.dangers = true; break;
        case 'r': o.ring = to_number(optarg, 1u << 22); break;
        case 'w': o.companion = static_cast<pid_t>(to_number(optarg, 1u << 30)); break;
        case 'c': o.commands = true; break;
        case 'p': pcap = true; break;
        default: std::fputs(usage, c == 'h' ? stdout : stderr); std::exit(c == 'h' ? 0 : 2);
        }
    for (int i = optind; i < argc; i++)
        if (pcap)
            o.captures.emplace_back(argv[i]);
        else
            o.sources.push_back({argv[i], Ways::sent, false});
    if (o.sources.empty() && o.captures.empty())
        wrong("name network namespaces, or captures after --pcap");
    if (o.dialects.empty())
        for (const char *name : {"W", "N=1500", "N=9000"})
            add_dialect(o, name);
    return o;
}

class Watch {
public:
    explicit Watch(const Options &o);
    /// Until it is told to end; the exit status.
    int run();
    int read_captures();

private:
    bool take_commands();
    void obey(const std::string &line);
    bool ends() const;
    bool is_foreign(const Bytes &frame, int tap) const;
    bool excused(const Bytes &frame, int tap);
    bool take(const Bytes &frame, int tap, bool last);
    void report(const std::string &why, const Bytes &frame);
    int conclude();
    uint64_t missed();

    const Options &o_;
    Judge judge_;
    std::vector<Tap> taps_;
    std::vector<bool> foreign_;
    std::string input_; ///< of commands, without the lines that are done
    bool ended_ = false;
    uint64_t judged_ = 0, heard_ = 0, violations_ = 0;
};

Watch::Watch(const Options &o) : o_(o), judge_(o.dialects)
{
    for (const uint64_t mac : o.only)
        judge_.only(mac);
    for (const uint64_t mac : o.strangers)
        judge_.stranger(mac);
    for (const uint8_t endpoint : o.spared)
        judge_.spare(endpoint);
    if (o.dangers)
        judge_.only_dangers();
    taps_.reserve(o.sources.size());
    for (const Source &source : o.sources) {
        taps_.emplace_back(source.path, source.ways, o.ring);
        foreign_.push_back(source.foreign);
        // A virtual link has a queue for each processor, and a sender may move from one to another.
        if (source.ways == Ways::both)
            judge_.expect_disorder();
    }
}

uint64_t Watch::missed()
{
    uint64_t sum = 0;
    for (Tap &tap : taps_)
        sum += tap.missed();
    return sum;
}

void Watch::obey(const std::string &line)
{
    std::istringstream words(line);
    std::string command, what;
    words >> command >> what;
    if (command == "not")
        judge_.stranger(to_mac(what));
    else if (command == "foreign")
        foreign_.at(to_number(what, static_cast<uint32_t>(foreign_.size()) - 1)) = true;
    else if (command == "distrust")
        judge_.distrust();
    else if (command == "end")
        ended_ = true;
    else
        wrong("no command \"" + line + "\"");
}

/// True if there were any.
bool Watch::take_commands()
{
    bool any = false;
    pollfd input{STDIN_FILENO, POLLIN, 0};
    while (o_.commands && !ended_ && ::poll(&input, 1, 0) > 0) {
        char text[256];
        const ssize_t got = ::read(STDIN_FILENO, text, sizeof text);
        if (got <= 0)
            ended_ = true;
        else
            input_.append(text, static_cast<size_t>(got));
        for (size_t end; (end = input_.find('\n')) != std::string::npos; any = true) {
            obey(input_.substr(0, end));
            input_.erase(0, end + 1);
        }
    }
    return any;
}

bool Watch::ends() const
{
    return told_to_end || ended_ || (o_.companion && ::kill(o_.companion, 0) != 0 && errno == ESRCH);
}

bool Watch::is_foreign(const Bytes &frame, int tap) const
{
    return (tap >= 0 && foreign_[static_cast<size_t>(tap)]) || !judge_.is_judged(frame);
}

/// Anything said, or lost, before the frame was sent may not have been looked at before it.
bool Watch::excused(const Bytes &frame, int tap)
{
    const bool commanded = take_commands();
    const bool doubts = judge_.trusts() && missed() > 0;
    if (doubts)
        judge_.distrust();
    return (commanded && is_foreign(frame, tap)) || ((commanded || doubts) && judge_.judge(frame).empty());
}

/// True if the frame has been taken: a wrong one is not, unless this is its last chance.
bool Watch::take(const Bytes &frame, int tap, bool last)
{
    if (is_foreign(frame, tap)) {
        heard_++;
        judge_.overhear(frame);
        return true;
    }
    const std::string why = judge_.judge(frame);
    const bool right = why.empty() || excused(frame, tap);
    if (!right && !last)
        return false;
    judged_++;
    if (!right)
        report(why, frame);
    return true;
}

void Watch::report(const std::string &why, const Bytes &frame)
{
    const uint64_t number = judged_ + heard_;
    if (++violations_ <= printed_max)
        std::printf("FORBIDDEN: frame %llu, %zu bytes: %s\n%s", static_cast<unsigned long long>(number),
                    frame.size(), why.c_str(), hex(frame).c_str());
    std::fflush(stdout);
}

int Watch::conclude()
{
    const uint64_t lost = missed();
    std::printf("wirewatch: %llu frames judged, %llu of others heard, %llu missed for want of room, %llu "
                "violations\n",
                static_cast<unsigned long long>(judged_), static_cast<unsigned long long>(heard_),
                static_cast<unsigned long long>(lost), static_cast<unsigned long long>(violations_));
    std::fflush(stdout);
    return violations_ ? 1 : 0;
}

int Watch::run()
{
    Order<Tap> order(taps_);
    std::puts("watching");
    std::fflush(stdout);
    for (bool last = false;;) {
        take_commands();
        order.drain([this](const Bytes &frame, int tap, bool final) { return take(frame, tap, final); });
        if (last)
            return conclude();
        last = ends(); // what was sent before that is in the rings now
        pollfd input{o_.commands && !ended_ ? STDIN_FILENO : -1, POLLIN, 0};
        if (!last)
            ::poll(&input, 1, nap_ms);
    }
}

int Watch::read_captures()
{
    for (const std::string &path : o_.captures)
        for (auto &frame : test::read_pcap(path, test::Cut::allowed))
            if (frame.bytes.size() >= 14 && frame.bytes[12] == 0x86 && frame.bytes[13] == 0xdf)
                take(frame.bytes, -1, true);
    return conclude();
}

int run(int argc, char **argv)
{
    const Options o = parse(argc, argv);
    Watch watch(o);
    if (!o.captures.empty())
        return watch.read_captures();
    struct sigaction action {};
    action.sa_handler = on_signal;
    ::sigaction(SIGTERM, &action, nullptr);
    ::signal(SIGINT, SIG_IGN); // of the terminal, meant for the test, whose last frames count
    return watch.run();
}

} // namespace
} // namespace emx::watch

int main(int argc, char **argv)
{
    try {
        return emx::watch::run(argc, argv);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "wirewatch: %s\n", error.what());
        return 2;
    }
}
