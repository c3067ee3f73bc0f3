// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Messages between two nodes of one process by MX, Fast Messages and GAMMA, for a count of instructions
// (tests/bench/layer_calls).
//
//   layer_calls ROUNDS BYTES [time]    a message there and one back, ROUNDS times by each way; time: also
//   prints
//                                      the least time of a message, sent and received, in batches
#include <compat/fm/api.hpp>
#include <compat/gamma/api.hpp>

#include <mx_extensions.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace {

using Next = long (*)(long, ...);

} // namespace

/// valgrind does not know pidfd_open, without which no memory is shared: here, no process ends.
extern "C" long syscall(long number, ...) noexcept
{
    static const auto next = reinterpret_cast<Next>(dlsym(RTLD_NEXT, "syscall"));
    if (number == SYS_pidfd_open)
        return eventfd(0, EFD_CLOEXEC);
    long words[6];
    va_list rest;
    va_start(rest, number);
    for (long &word : words)
        word = va_arg(rest, long);
    va_end(rest);
    return next(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

namespace {

constexpr uint32_t key = 7, bytes_max = 4096;
constexpr unsigned short flowing = 1, best_effort = 2; ///< ports of GAMMA

char outgoing[bytes_max], incoming[bytes_max];
uint32_t bytes;
unsigned at; ///< the node that acts

[[noreturn]] void fail(const std::string &why)
{
    std::fprintf(stderr, "layer_calls: %s\n", why.c_str());
    std::exit(1);
}

void need(mx_return_t code)
{
    if (code != MX_SUCCESS)
        fail(mx_strerror(code));
}

void need(const char *what, int code)
{
    if (code < 0)
        fail(std::string(what) + ": " + gamma_strerror(code));
}

// ---- MX

mx_endpoint_t ends[2];
mx_endpoint_addr_t others[2];

void open_mx(uint64_t nic_id)
{
    for (uint32_t i = 0; i < 2; i++)
        need(mx_open_endpoint(0, 1 + i, key, nullptr, 0, &ends[i]));
    for (uint32_t i = 0; i < 2; i++) { // both are looked at meanwhile
        mx_request_t request;
        mx_status_t status{}, none;
        need(mx_iconnect(ends[i], nic_id, 2 - i, key, 0, nullptr, &request));
        for (uint32_t done = 0, unwanted = 0; !done;) {
            need(mx_test(ends[i], &request, &status, &done));
            need(mx_iprobe(ends[1 - i], 0, ~uint64_t{0}, &none, &unwanted));
        }
        others[i] = status.source;
    }
}

struct Mx {
    static inline mx_request_t requests[2];
    static void post()
    {
        mx_segment_t segment{incoming, bytes_max};
        mx_irecv(ends[at], &segment, 1, 1, MX_MATCH_MASK_NONE, nullptr, &requests[at]);
    }
    static void send()
    {
        mx_segment_t segment{outgoing, bytes};
        mx_isend(ends[at], &segment, 1, others[at], 1, nullptr, nullptr);
    }
    static void take()
    {
        mx_status_t status;
        for (uint32_t result = 0; !result;)
            mx_test(ends[at], &requests[at], &status, &result);
        post();
    }
};

// ---- Fast Messages

fm::Node *fm_nodes[2];
uint32_t got, got_streams;

int take_whole(void *, unsigned, unsigned)
{
    got++;
    return FM_CONTINUE;
}

int take_stream(FM_stream *stream, unsigned)
{
    FM_receive(incoming, stream, bytes);
    got_streams++;
    return FM_CONTINUE;
}

struct Whole {
    static void send() { FM_send(1 - at, 1, outgoing, bytes); }
    static void take()
    {
        for (const uint32_t before = got; got == before;)
            FM_extract(FM_ALL);
    }
};

struct Stream {
    static void send()
    {
        FM_stream *stream = FM_begin_message(1 - at, bytes, 2);
        FM_send_piece(stream, outgoing, bytes);
        FM_end_message(stream);
    }
    static void take()
    {
        for (const uint32_t before = got_streams; got_streams == before;)
            FM_extract(FM_ALL);
    }
};

// ---- GAMMA

emx_gamma::Node *gamma_nodes[2];

template <int (*Send)(unsigned short, const void *, unsigned long), unsigned short Port>
struct Gamma {
    static void send() { Send(Port, outgoing, bytes); }
    static void take()
    {
        while (gamma_test(Port) == 0) {
        }
        gamma_post_recv(Port, incoming, bytes_max);
    }
};
using Best = Gamma<gamma_send, best_effort>;
using Flow = Gamma<gamma_send_flowctl, flowing>;

// ---- all

template <class Node, class Options>
void open_nodes(Node **nodes, uint64_t nic_id, uint32_t first)
{
    Options options;
    options.key = key + first;
    options.board = 0;
    options.places = {{nic_id, first}, {nic_id, first + 1}};
    for (uint32_t i = 0; i < 2; i++) {
        options.node = i;
        nodes[i] = new Node(options);
    }
    const auto open = [](Node *node) {
        if (const std::string wrong = node->open(); !wrong.empty())
            fail(wrong);
    };
    std::thread first_node(open, nodes[0]);
    open(nodes[1]);
    first_node.join();
}

void begin()
{
    uint64_t nic_id = 0;
    need(mx_init());
    emx::Lock::allow_owners();
    need(mx_board_number_to_nic_id(0, &nic_id));
    open_mx(nic_id);
    open_nodes<fm::Node, fm::Options>(fm_nodes, nic_id, 3);
    open_nodes<emx_gamma::Node, emx_gamma::Options>(gamma_nodes, nic_id, 5);
    fm::current_node = [] { return fm_nodes[at]; };
    emx_gamma::current_node = [] { return gamma_nodes[at]; };
    for (at = 0; at < 2; at++) {
        FM_register_handler_1(1, take_whole);
        FM_register_handler(2, take_stream);
        for (const unsigned short port : {flowing, best_effort})
            need("bind", gamma_set_passive_port(port, static_cast<unsigned short>(1 - at), 0, port, port,
                                                GO_BACK, incoming, bytes_max));
    }
    for (at = 0; at < 2; at++)
        Mx::post();
}

/// Calls of node 1, each by a name of its own.
template <class Way>
[[gnu::noinline]] void counted_send()
{
    Way::send();
}
template <class Way>
[[gnu::noinline]] void counted_take()
{
    Way::take();
}

/// There and back. Node 1 was opened by this thread, as nodes are, and its locks know it; those of node 0 do
/// not.
template <class Way>
void exchange()
{
    at = 0;
    Way::send();
    at = 1;
    counted_take<Way>();
    counted_send<Way>();
    at = 0;
    Way::take();
}

void run(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        exchange<Mx>();
        exchange<Whole>();
        exchange<Stream>();
        exchange<Best>();
        exchange<Flow>();
    }
}

[[gnu::noinline]] void measured(int rounds) { run(rounds); }

/// Least time of a round trip in batches of 100, by each way.
template <class Way>
void print_time(const char *what, int rounds)
{
    double least = 1e9;
    for (int i = 0; i < rounds / 100; i++) {
        timespec begin{}, end{};
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (int n = 0; n < 100; n++)
            exchange<Way>();
        clock_gettime(CLOCK_MONOTONIC, &end);
        least = std::min(least, static_cast<double>(end.tv_sec - begin.tv_sec) * 1e9 +
                                    static_cast<double>(end.tv_nsec - begin.tv_nsec));
    }
    std::printf("%-20s%8.0f ns\n", what, least / 200);
}

} // namespace

int main(int argc, char **argv)
{
    const int rounds = argc >= 3 ? std::atoi(argv[1]) : 0;
    bytes = argc >= 3 ? static_cast<uint32_t>(std::atoi(argv[2])) : bytes_max + 1;
    if (rounds < 1 || bytes > bytes_max) {
        std::fputs("usage: layer_calls ROUNDS BYTES [time] (ROUNDS above 0, BYTES at most 4096)\n", stderr);
        return 2;
    }
    begin();
    for (int i = 0; i < 200; i++) { // until all messages go through memory, whatever is answered when
        run(20);
        usleep(1000); // tidy-allow(sleep): for the library's helper threads, which take their part
    }
    measured(rounds);
    if (argc == 4) {
        print_time<Mx>("MX", rounds);
        print_time<Whole>("FM whole", rounds);
        print_time<Stream>("FM streams", rounds);
        print_time<Best>("GAMMA best effort", rounds);
        print_time<Flow>("GAMMA flow control", rounds);
        std::fflush(stdout);
    }
    std::_Exit(0); // nodes leave together, which one thread cannot do
}
