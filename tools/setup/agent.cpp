// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Starting and ending the board agent, by systemd or without it.
#include "tools/setup/agent.hpp"

#include "driver/base/environment.hpp"
#include "driver/base/fd.hpp"
#include "driver/base/system_calls.hpp"
#include "driver/engine/agent_program.hpp"
#include "libmx/conf/conf.hpp"
#include "tools/cli.hpp"
#include "tools/setup/module.hpp"
#include "tools/setup/program.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace emx {
namespace {

constexpr const char *unit = "omxd.service";
constexpr int end_patience_ms = 30000;

/// True in a service of systemd: its parent has process id 1.
bool in_service() { return ::getppid() == 1; }

std::string network_of(const char *process)
{
    std::array<char, 64> text{};
    const std::string path = std::string("/proc/") + process + "/ns/net";
    const ssize_t length = ::readlink(path.c_str(), text.data(), text.size());
    return length > 0 ? std::string(text.data(), static_cast<std::size_t>(length)) : std::string();
}

/// True where the unit would serve this network namespace, which is that of systemd. A service may not look
/// at process 1, but runs in its namespace.
bool by_systemd()
{
    return ::access("/run/systemd/system", F_OK) == 0 &&
           (in_service() || (!network_of("1").empty() && network_of("1") == network_of("self")));
}

int systemctl(const std::string &verb) { return run_program("systemctl", {"--quiet", verb, unit}); }

/// False when the unit is not known here, as after an installation elsewhere.
bool unit_starts()
{
    if (!by_systemd() || run_program("systemctl", {"--quiet", "cat", unit}, Output::dropped) != 0)
        return false;
    if (systemctl("start") != 0)
        throw cli::Failure(std::string(unit) + " does not start: systemctl status " + unit + " tells why");
    return true;
}

void program_starts(const Plan &plan)
{
    Conf conf;
    std::string error;
    if (!load_conf(conf, environment_variable, error))
        throw cli::Failure(error);
    const std::string program = conf.agent.empty() ? find_agent_program() : conf.agent;
    if (!runnable(program))
        throw cli::Failure("there is neither the kernel module nor the board agent omxd" +
                           (program.empty() ? std::string() : " (EMX_OMXD names " + program + ")") +
                           ": install one of them; " + module_remedy());
    if (run_program(program, {"--config", plan.path}) != 0)
        throw cli::Failure("the board agent " + program + " does not start, for the reason above");
}

const BoardFacts *find(const std::vector<BoardFacts> &boards, const std::string &interface)
{
    for (const BoardFacts &board : boards)
        if (board.device == interface)
            return &board;
    return nullptr;
}

/// Failure unless each board of the plan is one, or if there are others.
void print_boards(BoardView &agent, const Plan &plan, const char *already)
{
    const auto boards = agent.boards();
    for (const BoardSpec &spec : plan.config.boards) {
        const BoardFacts *const there = find(boards, spec.interface);
        if (!there || !spec_matches(spec, spec.interface, there->sizes) ||
            boards.size() != plan.config.boards.size())
            throw cli::Failure(plan.boards_place() +
                               ": the board agent serves other boards: omx_init restart");
        std::printf("%s:%s is board #%u%s\n", there->interface.c_str(), there->dialect().c_str(),
                    there->number, already);
    }
}

/// The process, as the kernel names it.
pid_t process_of(const BoardView &agent)
{
    ucred credentials{};
    socklen_t size = sizeof(credentials);
    if (::getsockopt(agent.agent_socket(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0 ||
        credentials.pid <= 0)
        throw cli::Failure("the board agent runs where its process cannot be seen: end it there");
    return credentials.pid;
}

/// Ends a process, and returns when it is gone with all that it listened on.
void end_process(pid_t process)
{
    const Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
    if (!handle || ::syscall(SYS_pidfd_send_signal, handle.get(), SIGTERM, nullptr, 0) != 0)
        throw cli::Failure(std::string("ending the board agent: ") + std::strerror(errno));
    pollfd gone = {handle.get(), POLLIN, 0};
    if (sys::poll(&gone, 1, end_patience_ms) <= 0)
        throw cli::Failure("the board agent does not end: omxd, process " + std::to_string(process));
}

} // namespace

ServedBoards served_by(BoardView &agent)
{
    ServedBoards served;
    for (const BoardFacts &board : agent.boards())
        served[board.device] = board.sizes;
    return served;
}

void keep_agent(BoardView &agent, const Plan &plan)
{
    std::printf("the board agent omxd serves already%s\n",
                module_installed() ? "; omx_init restart takes the kernel module" : "");
    print_boards(agent, plan, " already");
}

void start_agent_for(const Plan &plan)
{
    if (::geteuid() != 0)
        throw cli::Failure("only root can start the agent that serves all users of the group: run as root");
    std::printf("no kernel module (%s)\n", module_remedy().c_str());
    const bool started = unit_starts();
    if (!started)
        program_starts(plan);
    const auto agent = open_running_agent_view();
    if (!agent)
        throw cli::Failure(
            "the board agent has started and does not serve this network namespace: start omxd here");
    std::printf("the board agent omxd serves%s\n", started ? ", as omxd.service" : "");
    print_boards(*agent, plan, "");
}

void end_agent(BoardView &agent)
{
    if (by_systemd() && systemctl("is-active") == 0) {
        // systemd stops the unit with the service, and after it: waiting for that here would last for ever.
        if (in_service())
            return;
        if (systemctl("stop") != 0)
            throw cli::Failure(std::string(unit) + " does not stop: systemctl status " + unit + " tells why");
    } else {
        end_process(process_of(agent));
    }
    std::printf("the board agent omxd has ended\n");
}

} // namespace emx
