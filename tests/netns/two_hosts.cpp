// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Two network namespaces joined by a veth pair, within one process.
#include "tests/netns/two_hosts.hpp"

#include "driver/base/control_socket.hpp"
#include "driver/board/agent_protocol.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace emx::test {
namespace {

[[noreturn]] void fail(const std::string &what)
{
    throw std::runtime_error(what + ": " + std::strerror(errno));
}

Fd current_namespace()
{
    Fd fd(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    if (!fd)
        fail("open own network namespace");
    return fd;
}

void shell(const std::string &command)
{
    if (std::system(command.c_str()) != 0)
        throw std::runtime_error("failed: " + command);
}

/// A child that stays in the calling thread's namespace, so that `ip` can name it.
class Anchor {
public:
    Anchor() : pid_(::fork())
    {
        if (pid_ == 0) {
            ::pause();
            ::_exit(0);
        }
    }
    ~Anchor()
    {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    std::string name() const { return std::to_string(pid_); }

private:
    pid_t pid_;
};

} // namespace

TwoHosts::TwoHosts(unsigned mtu) : mtu_(mtu), before_(current_namespace())
{
    for (Fd &host : hosts_) {
        if (::unshare(CLONE_NEWNET) != 0)
            fail("making a network namespace (needs root)");
        host = current_namespace();
        shell("ip link set lo up");
    }
    watcher_ = std::make_unique<watch::Watcher>(std::vector<std::string>{path(0), path(1)});
    join();
    enter(1);
}

std::string TwoHosts::path(int host) const
{
    return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(hosts_[host].get());
}

void TwoHosts::join() const
{
    const std::string size = " mtu " + std::to_string(mtu_);
    {
        enter(1);
        const Anchor second;
        enter(0);
        shell("ip link add eth0" + size + " type veth peer name eth0" + size + " netns " + second.name());
    }
    for (int host : {0, 1})
        run(host, "ip link set eth0 up");
    // The pair carries frames when both ends saw each other, and the kernel has put their queues to work.
    for (int host : {0, 1})
        run(host,
            "for i in $(seq 3000); do ip link show eth0 | grep -q 'state UP' && exit 0; sleep 0.02; done; "
            "exit 1");
}

TwoHosts::~TwoHosts()
{
    try {
        for (int host : {0, 1})
            stop_agent(host);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "an agent of the test's hosts may still run: %s\n", error.what());
    }
    const std::string verdict = watcher_->finish();
    if (!verdict.empty())
        watch::fail_in_the_end(verdict);
    ::setns(before_.get(), CLONE_NEWNET);
}

void TwoHosts::enter(int host) const
{
    if (::setns(hosts_[host].get(), CLONE_NEWNET) != 0)
        fail("entering a network namespace");
}

void TwoHosts::run(int host, const std::string &command) const
{
    const Fd here = current_namespace();
    enter(host);
    const int status = std::system(command.c_str());
    ::setns(here.get(), CLONE_NEWNET);
    if (status != 0)
        throw std::runtime_error("failed: " + command);
}

int TwoHosts::agent_pid(int host) const
{
    const Fd here = current_namespace();
    enter(host);
    sockaddr_un address;
    const socklen_t length = abstract_address(agent_socket_name, address);
    Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    ucred agent{};
    socklen_t size = sizeof(agent);
    if (::connect(fd.get(), reinterpret_cast<sockaddr *>(&address), length) == 0)
        ::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &agent, &size);
    ::setns(here.get(), CLONE_NEWNET);
    return agent.pid;
}

void TwoHosts::end_agent(int host, int signal) const
{
    const int pid = agent_pid(host);
    if (pid <= 0)
        return;
    const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    ::kill(pid, signal);
    pollfd ended = {process.get(), POLLIN, 0};
    ::poll(&ended, 1, 60000);
}

void TwoHosts::start_agent(int host, const std::string &options) const
{
    const char *program = std::getenv("EMX_OMXD");
    run(host, std::string(program ? program : "omxd") + " " + options);
}

} // namespace emx::test
