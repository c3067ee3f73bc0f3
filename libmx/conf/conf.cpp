// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Tunables: see conf.hpp.
#include "libmx/conf/conf.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace emx {

namespace {

enum class Style {
    loose, ///< parsed like atoi: garbage is 0
    boolean, ///< loose, any other number than 0 is 1
    zombie, ///< natively a boolean: 1 means "as many as usual"
    present, ///< set at all, even empty
    pair, ///< "bits,shift"
    strict, ///< a number in range or an error
    word, ///< one of words_of() or an error
    text,
};

struct Tunable {
    const char *name;
    const char *twin; ///< MX_* name, or nullptr
    const char *alias; ///< another accepted name, or nullptr
    Style style;
    int Conf::*number;
    std::string Conf::*text;
    int low, high;
    const char *unit;
    const char *help;
};

// clang-format off
const Tunable tunables[] = {
    {"OMX_DISABLE_SELF", "MX_DISABLE_SELF", nullptr, Style::boolean, &Conf::disable_self, nullptr, 0, 1, "bool", "messages to the own endpoint travel as frames"},
    {"OMX_DISABLE_SHARED", "MX_DISABLE_SHMEM", "MX_DISABLE_SHARED", Style::boolean, &Conf::disable_shared, nullptr, 0, 1, "bool", "messages within the host travel as frames"},
    {"OMX_RNDV_THRESHOLD", nullptr, nullptr, Style::loose, &Conf::rndv_threshold, nullptr, 128, 32768, "bytes", "longer sends go by rendezvous"},
    {"OMX_SHARED_RNDV_THRESHOLD", nullptr, nullptr, Style::loose, &Conf::shared_rndv_threshold, nullptr, 128, 32768, "bytes", "the same within the host; 0: as OMX_RNDV_THRESHOLD"},
    {"OMX_RESENDS_MAX", "MX_MAX_RETRIES", nullptr, Style::loose, &Conf::resends_max, nullptr, 1, INT_MAX, "0.5 s", "silence before a peer is unreachable"},
    {"OMX_ZOMBIE_SEND", nullptr, nullptr, Style::loose, &Conf::zombies_max, nullptr, 0, INT_MAX, "messages", "sends completed before their ack"},
    {"MX_ZOMBIE_SEND", nullptr, "MX_ZOMBIE", Style::zombie, &Conf::zombies_max, nullptr, 0, INT_MAX, "bool", "0: sends complete on their ack only"},
    {"OMX_NOTACKED_MAX", "MX_IMM_ACK", nullptr, Style::loose, &Conf::notacked_max, nullptr, 1, 255, "messages", "taken before an ack goes out at once"},
    {"OMX_WAITSPIN", nullptr, nullptr, Style::boolean, &Conf::wait_spin, nullptr, 0, 1, "bool", "blocking calls never sleep"},
    {"OMX_WAITINTR", nullptr, nullptr, Style::boolean, &Conf::wait_interruptible, nullptr, 0, 1, "bool", "a signal that comes while a blocking call sleeps ends it like a timeout"},
    {"OMX_CONNECT_POLLALL", nullptr, nullptr, Style::boolean, &Conf::connect_pollall, nullptr, 0, 1, "bool", "mx_connect answers for the other endpoints of the process meanwhile"},
    {"OMX_FATAL_ERRORS", "MX_ERRORS_ARE_FATAL", "OMX_ERRORS_ARE_FATAL", Style::boolean, &Conf::fatal_errors, nullptr, 0, 1, "bool", "0: the default error handler returns"},
    {"OMX_ANY_ENDPOINT", nullptr, nullptr, Style::boolean, &Conf::any_endpoint, nullptr, 0, 1, "bool", "the endpoint number asked for is ignored"},
    {"OMX_VERBOSE", "MX_VERBOSE", nullptr, Style::present, &Conf::verbose, nullptr, 0, 1, "bool", "set, even empty: endpoints and peers that come and go are told on stderr"},
    {"OMX_VERBOSE_PREFIX", nullptr, nullptr, Style::text, nullptr, &Conf::verbose_prefix, 0, 0, "text", "in front of that; 1: host and process; %p process %e endpoint %b board %B its name %H host, [FROM-TO] cuts"},
    {"OMX_ABORT_SLEEPS", nullptr, nullptr, Style::loose, &Conf::abort_sleeps, nullptr, 0, 86400, "s", "sleep before a fatal error ends the process, for a debugger"},
    {"OMX_PROCESS_BINDING", nullptr, nullptr, Style::text, nullptr, &Conf::process_binding, 0, 0, "binding", "processor of the thread that opens an endpoint: all:CPU, a list by endpoint, file, file:PATH"},
    {"OMX_IGNORE_MX_ENV", nullptr, nullptr, Style::boolean, &Conf::ignore_mx_env, nullptr, 0, 1, "bool", "no MX_* variable is looked at"},
    {"OMX_CTXIDS", nullptr, nullptr, Style::pair, &Conf::context_bits, nullptr, 0, 16, "bits,shift", "context ids of endpoints opened without that parameter"},
    {"EMX_WINDOW", nullptr, nullptr, Style::strict, &Conf::window_frames, nullptr, 1, 250, "frames", "unacknowledged eager frames per partner"},
    {"EMX_PARTNERS", nullptr, nullptr, Style::strict, &Conf::partners_max, nullptr, 1, 262144, "partners", "remote endpoints that an endpoint knows at most; others are not connected to, and their connects dropped"},
    {"EMX_RESEND_MS", nullptr, nullptr, Style::strict, &Conf::resend_ms, nullptr, 1, 500, "ms", "first resend; doubles up to 500"},
    {"EMX_ACK_MS", nullptr, nullptr, Style::strict, &Conf::ack_delay_ms, nullptr, 1, 100, "ms", "longest delay of an ack"},
    {"EMX_HELPER_MS", nullptr, nullptr, Style::strict, &Conf::helper_ms, nullptr, 0, 1000, "ms", "absence of the application before the helper thread steps in; 0 = no helper"},
    {"EMX_SPIN_US", nullptr, nullptr, Style::strict, &Conf::spin_us, nullptr, 0, 1000000, "us", "spinning of a blocking call before it sleeps"},
    {"EMX_BUSY_POLL_US", nullptr, nullptr, Style::strict, &Conf::busy_poll_us, nullptr, 0, 1000, "us", "with the kernel module: time for which a spinning program looks into the network card itself; 0 = never"},
    {"EMX_YIELD_AFTER", nullptr, nullptr, Style::strict, &Conf::yield_after, nullptr, 0, INT_MAX, "polls", "empty polls before the core is offered to others; 0 = never"},
    {"EMX_EXTENSION", nullptr, nullptr, Style::strict, &Conf::extension, nullptr, 0, 1, "bool", "0: partners are not offered the EtherMX extension of the protocol"},
    {"EMX_PACK_AFTER", nullptr, nullptr, Style::strict, &Conf::pack_after, nullptr, 0, 250, "frames", "unacknowledged ones to a partner beyond which short messages share frames, between hosts, and wait for each other up to 200 us; 0 = never"},
    {"EMX_PACK_LONGEST", nullptr, nullptr, Style::strict, &Conf::pack_longest, nullptr, 128, 16384, "bytes", "longest message that shares a frame with others, between hosts; 128 = and take no longer ones in such frames"},
    {"EMX_CHECKSUM", nullptr, nullptr, Style::strict, &Conf::checksum, nullptr, 0, 1, "bool", "1: messages from and to partners that agreed to the EtherMX extension carry checksums; not within the host"},
    {"EMX_LINGER_MS", nullptr, nullptr, Style::strict, &Conf::linger_ms, nullptr, 0, 60000, "ms", "wait of mx_close_endpoint for acks of completed sends"},
    {"EMX_ENDPOINTS", nullptr, nullptr, Style::strict, &Conf::endpoints_max, nullptr, 1, 256, "endpoints", "endpoints per board, when this process starts the agent"},
    {"EMX_DEVICE", nullptr, nullptr, Style::word, nullptr, &Conf::device, 0, 0, "device", "auto: the kernel module where it has boards, else the engine; kernel or engine: only that"},
    {"EMX_COMMANDS", nullptr, nullptr, Style::word, nullptr, &Conf::commands, 0, 0, "way", "to the kernel module: auto: one by an ioctl, several by one together; ioctl: each by its own; uring: sends by io_uring, where that can be used"},
    {"EMX_BULK", nullptr, nullptr, Style::word, nullptr, &Conf::bulk, 0, 0, "way", "of large messages between engines: auto: by TCP where a connection can be had, else in UDP datagrams where these arrive and are faster, else in frames; tcp, udp: by that, wherever it arrives, else in frames; raw: in frames only"},
    {"EMX_BOARDS", nullptr, nullptr, Style::text, nullptr, &Conf::boards, 0, 0, "list", "interfaces, INTERFACE[:W|:N[=MTU]][,...], when this process starts the agent"},
    {"EMX_PEERS", nullptr, nullptr, Style::text, nullptr, &Conf::peers_file, 0, 0, "file", "peers file, when this process starts the agent"},
    {"EMX_GROUP", nullptr, nullptr, Style::text, nullptr, &Conf::group, 0, 0, "group", "its members are served besides root (ethermx), when this process starts the agent"},
    {"EMX_OMXD", nullptr, nullptr, Style::text, nullptr, &Conf::agent, 0, 0, "file", "the board agent's program"},
    {"EMX_TRACE", nullptr, nullptr, Style::text, nullptr, &Conf::trace, 0, 0, "file", "each endpoint records what it does in FILE.HOST.PID.BOARD.ENDPOINT, for omx_trace"},
    {"EMX_TRACE_ENTRIES", nullptr, nullptr, Style::strict, &Conf::trace_entries, nullptr, 16, 1 << 24, "entries", "of 64 bytes in such a file, which then goes on over the oldest"},
};

struct Ignored {
    const char *name;
    const char *reason;
};

// Known to users of MX and Open-MX; nothing here could do what they ask for.
const Ignored ignored[] = {
    {"OMX_VERBDEBUG", "there is no debug build with message classes"},
    {"OMX_DEBUG_REQUESTS", "requests are checked always"},
    {"OMX_DEBUG_CHECKSUM", "the network cards check frames; EMX_CHECKSUM=1 has the library do it, too"},
    {"OMX_DEBUG_SIGNAL", "attach a debugger, or run omx_endpoint_info"},
    {"OMX_DEBUG_SIGNAL_NUM", "as OMX_DEBUG_SIGNAL"},
    {"OMX_RCACHE", "no memory is registered"},
    {"OMX_PRCACHE", "no memory is registered"},
    {"OMX_MEDIUM_SENDQ", "sends that complete at once are always copied"},
    {"MX_RCACHE", "no memory is registered"},
    {"MX_MONOTHREAD", "calls are always safe for threads"},
    {"MX_CSUM", "as OMX_DEBUG_CHECKSUM"},
    {"MX_NO_MYRINET", "boards are named by EMX_BOARDS"},
    {"MX_BONDING", "a message goes through one board"},
    {"MX_PIPELINE_LOG", "the receiver chooses the fragments of large messages"},
    {"MX_FW_ACK", "acks are the library's"},
};
// clang-format on

struct Found {
    const char *value = nullptr;
    const char *source = "default";
};

bool is_ours(const Tunable &row) { return std::strncmp(row.name, "EMX_", 4) == 0; }

Found look_up(const Tunable &row, const Environment &environment, bool ignore_twins)
{
    for (const char *name : {row.name, row.twin, row.alias}) {
        if (!name || (ignore_twins && std::strncmp(name, "MX_", 3) == 0))
            continue;
        if (const char *value = environment(name))
            return {value, name};
    }
    return {};
}

bool ignore_twins(const Environment &environment)
{
    const char *value = environment("OMX_IGNORE_MX_ENV");
    return value && std::atoi(value) != 0;
}

bool set_strict(Conf &conf, const Tunable &row, const char *value, std::string &error)
{
    char *end = nullptr;
    errno = 0;
    long number = std::strtol(value, &end, 10);
    if (end == value || *end || errno || number < row.low || number > row.high) {
        error = std::string(row.name) + "=\"" + value + "\" is not a number from " + std::to_string(row.low) +
                " to " + std::to_string(row.high) + " (" + row.unit + "): correct or unset it";
        return false;
    }
    conf.*row.number = static_cast<int>(number);
    return true;
}

void set_loose(Conf &conf, const Tunable &row, const char *value)
{
    int number = std::atoi(value);
    switch (row.style) {
    case Style::boolean: conf.*row.number = number != 0; break;
    case Style::zombie:
        if (number == 0)
            conf.*row.number = 0;
        break;
    case Style::present: conf.*row.number = 1; break;
    case Style::pair: {
        const char *comma = std::strchr(value, ',');
        int shift = comma ? std::atoi(comma + 1) : 0;
        if (number >= 0 && number <= 16 && shift >= 0 && number + shift <= 64) {
            conf.context_bits = number;
            conf.context_shift = shift;
        }
        break;
    }
    default:
        // A number that makes no sense here is taken as not given.
        if (number >= row.low)
            conf.*row.number = std::min(number, row.high);
        else if (row.low == 128 && number > 0)
            conf.*row.number = row.low;
    }
}

using Words = std::vector<const char *>;

Words words_of(const Tunable &row)
{
    if (row.text == &Conf::device)
        return {"auto", "kernel", "engine"};
    if (row.text == &Conf::bulk)
        return {"auto", "tcp", "udp", "raw"};
    return {"auto", "ioctl", "uring"};
}

bool set_word(Conf &conf, const Tunable &row, const char *value, std::string &error)
{
    const Words words = words_of(row);
    for (const char *word : words) {
        if (std::strcmp(value, word) == 0) {
            conf.*row.text = value;
            return true;
        }
    }
    error = std::string(row.name) + "=\"" + value + "\" is not " + words.front();
    for (std::size_t i = 1; i < words.size(); i++)
        error += (i + 1 < words.size() ? ", " : " or ") + std::string(words[i]);
    error += ": correct or unset it";
    return false;
}

bool apply(Conf &conf, const Tunable &row, const char *value, std::string &error)
{
    if (row.style == Style::text)
        conf.*row.text = value;
    else if (row.style == Style::word)
        return set_word(conf, row, value, error);
    else if (row.style == Style::strict)
        return set_strict(conf, row, value, error);
    else
        set_loose(conf, row, value);
    return true;
}

std::string value_text(const Conf &conf, const Tunable &row)
{
    if (row.style == Style::text || row.style == Style::word)
        return conf.*row.text;
    if (row.style == Style::pair)
        return std::to_string(conf.context_bits) + "," + std::to_string(conf.context_shift);
    return std::to_string(conf.*row.number);
}

} // namespace

bool load_conf(Conf &conf, const Environment &environment, std::string &error)
{
    bool ignore = ignore_twins(environment);
    for (const Tunable &row : tunables) {
        Found found = look_up(row, environment, ignore);
        if (found.value && !apply(conf, row, found.value, error))
            return false;
    }
    return true;
}

std::vector<ConfRow> conf_rows(const Environment &environment, const std::vector<std::string> &names)
{
    std::vector<ConfRow> rows;
    Conf conf;
    bool ignore = ignore_twins(environment);
    for (const Tunable &row : tunables) {
        Found found = look_up(row, environment, ignore);
        std::string error;
        if (found.value && !apply(conf, row, found.value, error))
            rows.push_back({row.name, found.value, row.unit, "invalid", error});
        else
            rows.push_back({row.name, value_text(conf, row), row.unit, found.source, row.help});
    }
    for (const auto &[name, reason] : ignored) {
        const char *value = environment(name);
        rows.push_back({name, value ? value : "", "", value ? name : "default",
                        std::string("accepted, no effect: ") + reason});
    }
    for (const std::string &name : names) {
        bool known = std::any_of(std::begin(tunables), std::end(tunables),
                                 [&](const Tunable &row) { return is_ours(row) && name == row.name; });
        if (!known && name.rfind("EMX_", 0) == 0)
            rows.push_back({name, "", "", "unknown", "no such tunable; a typing error?"});
    }
    return rows;
}

} // namespace emx
