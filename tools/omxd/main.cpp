// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// omxd, the board agent: options, and where the outcome of the start is told.
#include "driver/agent/agent.hpp"
#include "tools/omxd/daemon.hpp"

#include "driver/base/fd.hpp"
#include "driver/base/printable.hpp"

#include <fcntl.h>
#include <getopt.h>
#include <signal.h>

#include <cstdlib>
#include <cstring>
#include <exception>

namespace emx {
namespace {

constexpr int64_t started_linger_s = 5; // when a process started us: between two runs of a job

const char usage[] =
    "usage: omxd [OPTION]...\n"
    "The EtherMX board agent: one per network namespace, started by the first program that opens a board.\n"
    "  -b, --boards SPEC      interfaces to serve: INTERFACE[:W|:N[=SIZE]][,...]\n"
    "  -c, --config FILE      where boards and others are named (/etc/ethermx/ethermx.conf)\n"
    "  -p, --peers FILE       closed list of peers (what the configuration file says, or else\n"
    "                         /etc/ethermx/peers, /etc/open-mx/peers)\n"
    "  -g, --group NAME       serve members of this group, besides root (ethermx)\n"
    "  -u, --user NAME        become this user, if root (ethermx, if there is such a user)\n"
    "  -e, --endpoints N      endpoint numbers per board, 1 to 256 (32)\n"
    "  -t, --table N          slots in the table of peers, 1 to 65535 (1024; as many as the list has)\n"
    "  -f, --foreground       stay attached, log to standard error\n"
    "  -l, --linger SECONDS   end that long after the last client left (never; 5 when a program started it)\n"
    "      --log FILE         append a line per event\n"
    "      --report FD        tell the starter through this descriptor (internal)\n"
    "  -h, --help\n"
    "  -V, --version\n";

bool parse_number(const char *text, long low, long high, long &value)
{
    char *end = nullptr;
    value = std::strtol(text, &end, 10);
    return *text != '\0' && *end == '\0' && value >= low && value <= high;
}

bool bad(const char *option, const char *value, const char *wanted)
{
    std::fprintf(stderr, "omxd: %s %s: %s\n", option, printable(value).c_str(), wanted);
    return false;
}

const option long_options[] = {
    {"boards", required_argument, nullptr, 'b'}, {"config", required_argument, nullptr, 'c'},
    {"peers", required_argument, nullptr, 'p'},  {"group", required_argument, nullptr, 'g'},
    {"user", required_argument, nullptr, 'u'},   {"endpoints", required_argument, nullptr, 'e'},
    {"foreground", no_argument, nullptr, 'f'},   {"linger", required_argument, nullptr, 'l'},
    {"log", required_argument, nullptr, 'L'},    {"table", required_argument, nullptr, 't'},
    {"report", required_argument, nullptr, 'R'}, {"help", no_argument, nullptr, 'h'},
    {"version", no_argument, nullptr, 'V'},      {nullptr, 0, nullptr, 0},
};

bool take_option(int letter, AgentOptions &options, bool &linger_given)
{
    long value = 0;
    switch (letter) {
    case 'b': options.boards = optarg; return true;
    case 'c': options.config = optarg; return true;
    case 'p': options.peers = optarg; return true;
    case 'g': options.group = optarg; return true;
    case 'u': options.user = optarg; return true;
    case 'L': options.log = optarg; return true;
    case 'f': return options.foreground = true;
    case 'e':
        if (!parse_number(optarg, 1, EMX_ENDPOINTS_MAX, value))
            return bad("--endpoints", optarg, "give a number from 1 to 256");
        options.endpoint_max = static_cast<uint32_t>(value);
        return true;
    case 't':
        if (!parse_number(optarg, 1, FW_PEERS_MAX, value))
            return bad("--table", optarg, "give a number from 1 to 65535");
        options.table = static_cast<uint32_t>(value);
        return true;
    case 'l':
        if (!parse_number(optarg, 0, 1000000, value))
            return bad("--linger", optarg, "give a number of seconds");
        options.linger_s = value;
        return linger_given = true;
    case 'R':
        if (!parse_number(optarg, 0, 1 << 20, value))
            return bad("--report", optarg, "give a descriptor");
        options.report_fd = static_cast<int>(value);
        return true;
    default: return false;
    }
}

/// Returns -1 to go on, else the exit status.
int parse_options(int argc, char **argv, AgentOptions &options)
{
    bool linger_given = false;
    for (int letter;
         (letter = ::getopt_long(argc, argv, "b:c:p:g:u:e:t:fl:hV", long_options, nullptr)) != -1;) {
        if (letter == 'h') {
            std::fputs(usage, stdout);
            return 0;
        }
        if (letter == 'V') {
            std::puts("omxd (EtherMX) " EMX_VERSION);
            return 0;
        }
        if (!take_option(letter, options, linger_given)) {
            std::fputs(usage, stderr);
            return 2;
        }
    }
    if (optind != argc)
        return bad("unexpected argument", argv[optind], "see omxd --help"), 2;
    if (options.report_fd >= 0 && !linger_given)
        options.linger_s = started_linger_s;
    return -1;
}

/// Tells the starter, or whoever reads standard error, why the agent does not serve.
int cannot_start(Fd starter, const StartError &error)
{
    const bool asked = static_cast<bool>(starter);
    if (asked && error.running)
        tell_outcome(std::move(starter)); // it only wants an agent to be there
    else if (asked)
        tell_outcome(std::move(starter), error.code, error.text);
    else if (error.running)
        std::fputs("omxd: another omxd serves this network namespace\n", stderr);
    else
        std::fprintf(stderr, "omxd: %s\n", printable(error.text).c_str());
    return asked && error.running ? 0 : 1;
}

int serve(const AgentOptions &options)
{
    Log log;
    if (!options.log.empty()) {
        Fd fd(::open(options.log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
        std::FILE *file = fd ? ::fdopen(fd.release(), "a") : nullptr;
        if (!file)
            return bad("--log", options.log.c_str(), std::strerror(errno)), 1;
        log.to(file);
    } else if (options.foreground) {
        log.to(stderr);
    }
    ::signal(SIGPIPE, SIG_IGN);
    Fd starter(options.report_fd);
    Agent agent(options, log);
    StartError error;
    if (!agent.start(error))
        return cannot_start(std::move(starter), error);
    if (!options.foreground && !starter) {
        starter = become_daemon();
        if (!starter)
            return std::perror("omxd: becoming a daemon"), 1;
    }
    if (!agent.settle(error)) {
        log.line(error.text);
        return cannot_start(std::move(starter), error);
    }
    if (starter)
        tell_outcome(std::move(starter));
    if (options.foreground)
        tell_manager();
    return agent.run();
}

} // namespace
} // namespace emx

int main(int argc, char **argv)
{
    try {
        emx::AgentOptions options;
        const int status = emx::parse_options(argc, argv, options);
        return status >= 0 ? status : emx::serve(options);
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "omxd: %s\n", emx::printable(failure.what()).c_str());
        return 1;
    }
}
