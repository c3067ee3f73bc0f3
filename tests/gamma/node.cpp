// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A node of a real job (run.sh): two threads that broadcast from different nodes and meet in barriers, two
// that broadcast from the same, two that send checked messages by active ports, all at once; then it says so.
// With an argument:
//   wait   waits for messages until a node dies, and says so
//   die    dies when all have sent a message
//   abort  ends the job
//   cast   broadcasts, and says how many it got of node 0
//   fall   dies among those
//   3      takes part in a job of so many nodes only
//   short  a tenth of that, for emulated hosts
#include <gamma.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr unsigned buffers = 4, length_most = 60000;
unsigned rounds = 100;
constexpr unsigned short second = 100; ///< ports from there are the second thread's
std::atomic<unsigned> messages{0}, broadcasts{0}, wrong{0};

char fill(unsigned sender, unsigned round, unsigned long at)
{
    return static_cast<char>(sender * 101 + round * 31 + at * 7 + 1);
}

unsigned long length_of(unsigned long round) { return round * round * 6; }

std::vector<char> text_of(unsigned sender, unsigned round)
{
    std::vector<char> text(length_of(round));
    for (unsigned long i = 0; i < text.size(); i++)
        text[i] = fill(sender, round, i);
    return text;
}

/// Ports 0... and 100... for each other node; messages of a port come in order, and so do its buffers.
struct Incoming {
    std::vector<char> memory[buffers];
    unsigned round = 0;
};
Incoming incoming[2 * second];

void take()
{
    Incoming &in = incoming[gamma_active_port];
    std::vector<char> &memory = in.memory[in.round % buffers];
    const std::vector<char> text = text_of(gamma_active_port % second, in.round++);
    wrong += gamma_msglen != text.size() || std::memcmp(memory.data(), text.data(), text.size()) != 0;
    wrong += gamma_post_recv(gamma_active_port, memory.data(), memory.size()) != 0;
    messages++;
}

void need(const char *what, int result)
{
    if (result >= 0)
        return;
    std::fprintf(stderr, "%s: %s\n", what, gamma_strerror(result));
    std::exit(1);
}

const auto number = [](int n) { return static_cast<unsigned short>(n); };

void bind_all()
{
    for (const unsigned short first : {number(0), second})
        for (int node = 0; node < gamma_how_many_nodes(); node++) {
            const unsigned short port = number(first + node);
            for (auto &memory : incoming[port].memory)
                memory.resize(length_most);
            need("bind", gamma_set_active_port(port, number(node), 0, number(first + gamma_my_node()), take,
                                               first, GO_BACK, incoming[port].memory[0].data(), length_most));
            for (unsigned i = 1; i < buffers; i++)
                need("post", gamma_post_recv(port, incoming[port].memory[i].data(), length_most));
        }
}

void send_all(unsigned short first)
{
    for (unsigned round = 0; round < rounds; round++) {
        const std::vector<char> text = text_of(static_cast<unsigned>(gamma_my_node()), round);
        for (int node = 0; node < gamma_how_many_nodes(); node++) {
            const unsigned short port = number(first + node);
            if (round % 2)
                need("send", gamma_send_flowctl(port, text.data(), text.size()));
            else
                need("isend",
                     gamma_isend_2p_flowctl(port, text.data(), text.size() / 2, text.data() + text.size() / 2,
                                            text.size() - text.size() / 2));
            need("wsend", gamma_wsend(port));
        }
    }
    need("wait", gamma_wait(first, static_cast<unsigned long>(gamma_how_many_nodes()) * rounds));
}

/// Two threads share a root, and which of them gets a broadcast is open: all are there, each once.
std::atomic<unsigned> shared_got{0}, shared_sum{0};

void broadcast_shared(unsigned thread)
{
    for (unsigned round = 0; round < rounds; round++) {
        std::vector<unsigned> memory(500, gamma_my_node() == 2 ? thread * rounds + round : ~0u);
        need("broadcast", gamma_broadcast(2, memory.data(), memory.size() * sizeof memory[0]));
        for (const unsigned word : memory)
            wrong += word != memory[0];
        shared_sum += memory[0];
        shared_got++;
    }
}

/// Each thread has a root of its own, and an order of calls that no other process shares.
void broadcast_all(unsigned short root)
{
    const bool own = gamma_my_node() == root;
    for (unsigned round = 0; round < rounds; round++) {
        const std::vector<char> text = text_of(root, round);
        std::vector<char> memory = own ? text : std::vector<char>(text.size());
        need("broadcast", gamma_broadcast(root, memory.data(), memory.size()));
        wrong += memory != text;
        broadcasts++;
        need("sync", gamma_sync());
    }
}

int exchange()
{
    bind_all();
    need("sync", gamma_sync());
    std::vector<std::thread> threads;
    threads.emplace_back(send_all, number(0));
    threads.emplace_back(send_all, second);
    threads.emplace_back(broadcast_all, number(0));
    threads.emplace_back(broadcast_all, number(1));
    threads.emplace_back(broadcast_shared, 0);
    threads.emplace_back(broadcast_shared, 1);
    for (std::thread &thread : threads)
        thread.join();
    need("sync", gamma_sync());
    wrong += shared_sum != rounds * (2 * rounds - 1);
    std::printf("node %d of %d: %u messages, %u broadcasts, %u wrong\n", gamma_my_node(),
                gamma_how_many_nodes(), messages.load(), broadcasts + shared_got, wrong.load());
    return wrong ? 1 : 0;
}

char byte;

void bind_last()
{
    need("bind", gamma_set_passive_port(1, number(gamma_how_many_nodes() - 1), 0, 1, 1, GO_BACK, &byte, 1));
    need("post", gamma_post_recv(1, &byte, 1));
    need("sync", gamma_sync());
}

int wait_for_death()
{
    bind_last();
    need("send", gamma_send_flowctl(1, &byte, 1)); // it may die now
    const int code = gamma_wait(1, 1);
    std::printf("told: %s\n", gamma_strerror(code));
    return code == -GAMMA_E_PEER && gamma_sync() == -GAMMA_E_PEER ? 0 : 1;
}

/// Broadcasts of node 0, in which the last node may die: the others get all of them. What is left then is
/// more than a group has under way (256 frames), so that the sender has to hear of it.
int broadcast_to_the_living(bool dies)
{
    constexpr unsigned count = 600, last = 250, length = 3000;
    unsigned got = 0;
    int told = 0;
    for (unsigned round = 0; round < count; round++) {
        if (dies && round == last)
            std::raise(SIGKILL);
        std::vector<char> memory(length, static_cast<char>(gamma_my_node() ? 0 : round));
        const int code = gamma_broadcast(0, memory.data(), length);
        if (code < 0 && (gamma_my_node() || code != -GAMMA_E_PEER))
            need("broadcast", code);
        told = code < 0 ? code : told;
        got += memory == std::vector<char>(length, static_cast<char>(round));
    }
    std::printf("node %d: %u broadcasts%s%s\n", gamma_my_node(), got, told ? "; told: " : "",
                told ? gamma_strerror(told) : "");
    return got == count ? 0 : 1;
}

} // namespace

int main(int argc, char **argv)
{
    const std::string mode = argc > 1 ? argv[1] : "";
    if (gamma_init(static_cast<unsigned char>(std::atoi(mode.c_str())), argc, argv) < 0)
        return 1;
    int status = 0;
    if (mode == "wait") {
        status = wait_for_death();
    } else if (mode == "die" || mode == "abort") {
        bind_last();
        need("wait", gamma_wait(1, static_cast<unsigned long>(gamma_how_many_nodes() - 1)));
        if (mode == "die")
            std::raise(SIGKILL);
        gamma_abort();
    } else if (mode == "cast" || mode == "fall") {
        status = broadcast_to_the_living(mode == "fall");
    } else {
        if (mode == "short")
            rounds /= 10;
        status = exchange();
    }
    need("exit", gamma_exit());
    return status;
}
