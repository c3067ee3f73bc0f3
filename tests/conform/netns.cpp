// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Namespaces of the conformance runs, by the ip command. See netns.hpp.
#include "netns.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

namespace emx::conform {

namespace {

unsigned labs_made;

bool run(const std::string &command) { return std::system((command + " 2>/dev/null").c_str()) == 0; }

void end_processes_in(const std::string &ns)
{
    FILE *list = popen(("ip netns pids " + ns + " 2>/dev/null").c_str(), "r");
    int pid;
    while (list && std::fscanf(list, "%d", &pid) == 1)
        ::kill(pid, SIGKILL);
    if (list)
        pclose(list);
}

} // namespace

std::string Lab::name(const char *part) const
{
    return "emxconf" + std::to_string(owner_) + "-" + std::to_string(serial_) + part;
}

std::string Lab::path(int host) const { return "/run/netns/" + name(host ? "b" : "a"); }

bool Lab::make(uint32_t mtu, int boards, std::string &error)
{
    remove();
    serial_ = ++labs_made;
    made_ = true;
    std::string sw = name("s"), m = std::to_string(mtu);
    bool ok = run("ip netns add " + sw) &&
              run("ip -n " + sw + " link add name sw0 type bridge stp_state 0 forward_delay 0") &&
              run("ip -n " + sw + " link set sw0 mtu " + m + " up");
    for (const char *host : {"a", "b"}) {
        std::string ns = name(host), port = std::string("p") + host;
        ok = ok && run("ip netns add " + ns) && run("ip -n " + ns + " link set lo up");
        for (int board = 0; board < boards; board++) {
            std::string eth = "eth" + std::to_string(board);
            ok = ok &&
                 run("ip -n " + ns + " link add " + eth + " type veth peer name " + port + " netns " + sw) &&
                 run("ip -n " + ns + " link set " + eth + " mtu " + m + " up") &&
                 run("ip -n " + sw + " link set " + port + " mtu " + m + " master sw0 up");
            port += "x";
        }
    }
    if (!ok) {
        error = "cannot make network namespaces: run as root, with the ip command (iproute2) installed";
        remove();
    }
    return ok;
}

bool Lab::give_addresses(std::string &error) const
{
    const bool ok = run("ip -n " + name("a") + " addr add 10.78.0.1/24 dev eth0") &&
                    run("ip -n " + name("b") + " addr add 10.78.0.2/24 dev eth0");
    if (!ok)
        error = "cannot give the hosts IP addresses";
    return ok;
}

void Lab::remove()
{
    if (!made_)
        return;
    for (const char *part : {"a", "b", "s"}) {
        end_processes_in(name(part));
        run("ip netns delete " + name(part));
    }
    made_ = false;
}

bool Lab::cut(bool off)
{
    return run("ip -n " + name("s") + " link set pa " + (off ? "nomaster" : "master sw0"));
}

} // namespace emx::conform
