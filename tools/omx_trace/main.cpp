// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// omx_trace: what endpoints did, from the files that EMX_TRACE has them write: recorded, or while they run.
#include "driver/base/environment.hpp"
#include "tools/cli.hpp"
#include "tools/omx_trace/merge.hpp"
#include "tools/omx_trace/output.hpp"
#include "tools/omx_trace/trace_file.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

namespace emx::trace {
namespace {

constexpr int look_ms = 50;

struct Options {
    Form form = Form::text;
    bool live = false;
    bool quiet = false;
    std::string command;
    std::string keep; ///< where the files of the command go
    std::set<std::string> only; ///< events; empty: all
};

volatile sig_atomic_t stopped = 0;

Form parse_form(std::string_view text)
{
    if (text == "text")
        return Form::text;
    if (text == "csv")
        return Form::csv;
    if (text == "json")
        return Form::json;
    throw cli::Failure("-F " + std::string(text) + ": give text, csv or json");
}

std::set<std::string> parse_only(std::string_view text)
{
    const std::set<std::string> known = {"sent",    "resent",  "received", "matched", "queued", "early",
                                         "dropped", "counted", "pulling",  "pulled",  "link",   "abandoned"};
    std::set<std::string> only;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        const std::string word(text.substr(at, end - at));
        if (!known.count(word))
            throw cli::Failure(
                "-e " + std::string(text) +
                ": give names of events, separated by commas: sent, resent, received, matched, "
                "queued, early, dropped, counted, pulling, pulled, link, abandoned");
        only.insert(word);
        at = end + 1;
    }
    return only;
}

/// Files and what was read of them.
class Session {
public:
    explicit Session(const Options &options) : options_(options) {}

    void add(const std::string &path)
    {
        TraceFile file(path);
        traces_.push_back({path, file.header(), {}, 0, 0});
        files_.push_back(std::move(file));
    }

    /// Takes up the files of that beginning that it does not know.
    void look_for(const std::string &prefix)
    {
        const std::filesystem::path path(prefix);
        std::error_code ignored;
        for (const auto &entry : std::filesystem::directory_iterator(
                 path.has_parent_path() ? path.parent_path() : std::filesystem::path("."), ignored)) {
            const std::string name = entry.path().filename().string();
            if (!name.starts_with(path.filename().string() + ".") || known_.count(name))
                continue;
            try {
                add(entry.path().string());
                known_.insert(name);
            } catch (const cli::Failure &) { // it is being made: next time
            }
        }
    }

    /// Reads what is new; true when all endpoints are closed.
    bool read()
    {
        bool closed = !files_.empty();
        for (std::size_t i = 0; i < files_.size(); i++) {
            // In this order: what was written before it was closed is read.
            traces_[i].closed_ns = files_[i].closed_ns();
            files_[i].read(traces_[i].entries);
            traces_[i].lost = files_[i].lost();
            closed = closed && traces_[i].closed_ns;
        }
        return closed;
    }

    /// Prints what was read and not yet printed, as it comes: nothing is known yet of what arrived.
    void print_new()
    {
        std::vector<Event> events;
        printed_.resize(traces_.size());
        for (uint32_t i = 0; i < traces_.size(); i++) {
            const Trace &trace = traces_[i];
            for (; printed_[i] < trace.entries.size(); printed_[i]++) {
                const Entry &e = trace.entries[printed_[i]];
                events.push_back(
                    {i, static_cast<int64_t>(e.time_ns) + trace.header.realtime_ns, e, Fate::unknown, 0});
            }
        }
        if (events.empty())
            return;
        std::stable_sort(events.begin(), events.end(),
                         [](const Event &a, const Event &b) { return a.time_ns < b.time_ns; });
        const Output output(options_.form, traces_);
        if (!std::exchange(begun_, true))
            output.begin();
        for (const Event &event : events)
            if (wanted(event))
                output.event(event);
        std::fflush(stdout);
    }

    void print_all() const
    {
        Merged merged = merge(traces_);
        const Output output(options_.form, traces_);
        if (options_.form == Form::json) {
            std::erase_if(merged.events, [this](const Event &event) { return !wanted(event); });
            return output.json(merged, !options_.quiet);
        }
        if (!options_.quiet) {
            output.begin();
            for (const Event &event : merged.events)
                if (wanted(event))
                    output.event(event);
        }
        if (options_.form == Form::text)
            output.summary(merged);
    }

    void print_summary() const
    {
        if (options_.form == Form::text)
            Output(options_.form, traces_).summary(merge(traces_));
    }

    bool empty() const { return files_.empty(); }

private:
    bool wanted(const Event &event) const
    {
        return options_.only.empty() || options_.only.count(event_name(event.entry));
    }

    const Options &options_;
    std::vector<TraceFile> files_;
    std::vector<Trace> traces_;
    std::vector<std::size_t> printed_;
    std::set<std::string> known_;
    bool begun_ = false;
};

void on_signal(int) { stopped = 1; }

void heed_signals()
{
    struct sigaction action {};
    action.sa_handler = on_signal;
    for (const int signal : {SIGINT, SIGTERM})
        ::sigaction(signal, &action, nullptr);
}

int follow(Session &session)
{
    heed_signals();
    while (!session.read() && !stopped) {
        session.print_new();
        ::poll(nullptr, 0, look_ms);
    }
    session.read();
    session.print_new();
    session.print_summary();
    return 0;
}

/// A folder that goes with everything in it.
class Scratch {
public:
    Scratch()
    {
        const char *const base = environment_variable("TMPDIR");
        path_ = std::string(base && *base ? base : "/tmp") + "/omx_trace.XXXXXX";
        if (!::mkdtemp(path_.data()))
            throw cli::Failure(path_ + ": " + std::strerror(errno) +
                               "; name another place by TMPDIR, or give -o");
    }
    ~Scratch()
    {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Scratch(const Scratch &) = delete;
    Scratch &operator=(const Scratch &) = delete;
    const std::string &path() const { return path_; }

private:
    std::string path_;
};

pid_t start(const std::string &command, const std::string &prefix)
{
    const pid_t child = ::fork();
    if (child < 0)
        throw cli::Failure(std::string("cannot start the command: ") + std::strerror(errno));
    if (child == 0) {
        ::setenv("EMX_TRACE", prefix.c_str(), 1);
        ::execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char *>(nullptr));
        ::_exit(127);
    }
    return child;
}

/// Runs the command and returns its exit status; its endpoints are traced.
int run_command(const Options &options, Session &session)
{
    std::optional<Scratch> scratch;
    if (options.keep.empty())
        scratch.emplace();
    const std::string prefix = scratch ? scratch->path() + "/trace" : options.keep;
    heed_signals(); // the command gets those of the terminal, too
    const pid_t child = start(options.command, prefix);
    int status = 0;
    for (bool running = true; running;) {
        const pid_t ended = ::waitpid(child, &status, WNOHANG);
        running = ended == 0 || (ended < 0 && errno == EINTR);
        if (running && std::exchange(stopped, 0))
            ::kill(child, SIGTERM);
        session.look_for(prefix);
        session.read();
        if (options.live)
            session.print_new();
        if (running)
            ::poll(nullptr, 0, look_ms);
    }
    session.read();
    if (session.empty())
        throw cli::Failure(
            "the command opened no endpoint that could be traced: it must use this EtherMX, with "
            "its environment",
            WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : cli::exit_failure);
    if (options.live) {
        session.print_new();
        session.print_summary();
    } else {
        session.print_all();
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int body(int argc, char **argv)
{
    Options options;
    cli::Parser parser("[options] FILE... | [options] -x COMMAND",
                       "Shows what endpoints did, from files that EMX_TRACE=FILE has programs write.");
    parser.option('F', "format", "FORM", "text, csv or json (text)",
                  [&](std::string_view text) { options.form = parse_form(text); });
    parser.option('e', "events", "LIST", "only these, as sent,resent,matched,dropped (all)",
                  [&](std::string_view text) { options.only = parse_only(text); });
    parser.flag('l', "live", "follow endpoints that are open, until they close or Ctrl-C", options.live);
    parser.text('x', "execute", "run this command of the shell, traced", options.command);
    parser.text('o', "output", "of -x: keep its files, with names that begin so", options.keep);
    parser.flag('q', "quiet", "no events, the summary only", options.quiet);
    const std::vector<std::string> paths = parser.parse(argc, argv);
    if (options.command.empty() == paths.empty())
        throw cli::Failure(paths.empty() ? "give trace files, or a command with -x; -h shows the options"
                                         : "give either trace files or -x COMMAND");
    if (!options.keep.empty() && options.command.empty())
        throw cli::Failure("-o goes with -x: trace files are there already");
    if (options.live && (options.form == Form::json || options.quiet))
        throw cli::Failure(options.quiet ? "-l shows events: leave out -q"
                                         : "-l prints as events come: give -F text or -F csv");
    Session session(options);
    if (!options.command.empty())
        return run_command(options, session);
    for (const std::string &path : paths)
        session.add(path);
    if (options.live)
        return follow(session);
    session.read();
    session.print_all();
    return 0;
}

} // namespace
} // namespace emx::trace

int main(int argc, char **argv) { return emx::cli::run(argc, argv, emx::trace::body); }
