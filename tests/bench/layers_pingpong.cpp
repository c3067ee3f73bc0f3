// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Half round trips of MX, Fast Messages and GAMMA, in turn between the same two processes
// (tests/bench/layers), each on an endpoint of its own, so that differences are of the layers alone.
//
//   layers_pingpong PEER ROUNDS TRIALS LENGTH...    on host PEER, too; FM_HOSTS and GAMMA_HOSTS as their
//   pages say, and
//                                          MX on endpoint 9 of board 0
//
// Node 0 prints "bytes,what,round,ns": means of TRIALS ping-pongs that look for their message without a
// pause.
#include <fm.h>
#include <gamma.h>
#include <myriexpress.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

namespace {

constexpr ULONG length_max = 4096, key = 0x1a7e5;
constexpr uint32_t endpoint_number = 9;
constexpr unsigned short flowing = 1, best_effort = 2; ///< ports of GAMMA

char outgoing[length_max], incoming[length_max];

[[noreturn]] void fail(const char *what, const char *why)
{
    std::fprintf(stderr, "layers_pingpong: %s: %s\n", what, why);
    std::exit(1);
}

void need(const char *what, mx_return_t code)
{
    if (code != MX_SUCCESS)
        fail(what, mx_strerror(code));
}

void need_gamma(const char *what, int code)
{
    if (code < 0)
        fail(what, gamma_strerror(code));
}

// ---- one message each way; the first node begins

struct Mx {
    mx_endpoint_t endpoint = nullptr;
    mx_endpoint_addr_t peer{};

    Mx() { need("open", mx_open_endpoint(0, endpoint_number, key, nullptr, 0, &endpoint)); }
    void connect(const std::string &host)
    {
        uint64_t nic_id = 0;
        need("name", mx_hostname_to_nic_id((host + ":0").data(), &nic_id));
        need("connect", mx_connect(endpoint, nic_id, endpoint_number, key, 60000, &peer));
    }
    void send(ULONG length) const
    {
        mx_segment_t segment{outgoing, length};
        mx_isend(endpoint, &segment, 1, peer, 1, nullptr, nullptr);
    }
    void receive() const
    {
        mx_segment_t segment{incoming, length_max};
        mx_request_t request;
        mx_irecv(endpoint, &segment, 1, 1, MX_MATCH_MASK_NONE, nullptr, &request);
        mx_status_t status;
        for (uint32_t result = 0; !result;)
            mx_test(endpoint, &request, &status, &result);
    }
};
Mx *mx;
void mx_to_and_fro(ULONG length, bool first)
{
    if (first)
        mx->send(length);
    mx->receive();
    if (!first)
        mx->send(length);
}

ULONG whole_id, stream_id;
uint64_t got;
int take_whole(void *, unsigned, unsigned)
{
    got++;
    return FM_CONTINUE;
}
int take_stream(FM_stream *stream, unsigned)
{
    FM_receive(incoming, stream, length_max);
    got++;
    return FM_CONTINUE;
}
void extract_one()
{
    for (const uint64_t before = got; got == before;)
        FM_extract(FM_ALL);
}
void send_whole(ULONG length)
{
    while (FM_send(1 - FM_nodeid, whole_id, outgoing, length) < 0)
        FM_extract(0);
}
void send_stream(ULONG length)
{
    FM_stream *stream;
    while (!(stream = FM_begin_message(1 - FM_nodeid, length, stream_id)))
        FM_extract(0);
    FM_send_piece(stream, outgoing, length);
    FM_end_message(stream);
}
template <void (*Send)(ULONG)>
void fm_to_and_fro(ULONG length, bool first)
{
    if (first)
        Send(length);
    extract_one();
    if (!first)
        Send(length);
}

template <int (*Send)(unsigned short, const void *, unsigned long), unsigned short Port>
void gamma_to_and_fro(ULONG length, bool first)
{
    if (first)
        Send(Port, outgoing, length);
    gamma_post_recv(Port, incoming, length_max); // as MX's is: the answer to the last one has gone
    while (gamma_test(Port) == 0) {
    }
    if (!first)
        Send(Port, outgoing, length);
}

const struct {
    const char *name;
    void (*run)(ULONG length, bool first);
} ways[] = {
    {"MX", mx_to_and_fro},
    {"FM whole", fm_to_and_fro<send_whole>},
    {"FM streams", fm_to_and_fro<send_stream>},
    {"GAMMA best effort", gamma_to_and_fro<gamma_send, best_effort>},
    {"GAMMA flow control", gamma_to_and_fro<gamma_send_flowctl, flowing>},
};

double now_ns()
{
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

void begin(const std::string &peer)
{
    whole_id = FM_register_handler_1(FM_ANY_ID, take_whole);
    stream_id = FM_register_handler(FM_ANY_ID, take_stream);
    FM_initialize();
    if (FM_numnodes != 2)
        fail("FM_HOSTS", "a job of two nodes is wanted");
    need_gamma("init", gamma_init(2, 0, nullptr));
    const auto other = static_cast<unsigned short>(1 - FM_nodeid);
    for (const unsigned short port : {flowing, best_effort})
        need_gamma("bind", gamma_set_passive_port(port, other, static_cast<unsigned char>(gamma_my_par_pid()),
                                                  port, port, GO_BACK, nullptr, 0));
    mx = new Mx;
    need_gamma("sync", gamma_sync()); // all are open
    mx->connect(peer);
}

void measure(ULONG length, int rounds, int trials)
{
    const bool first = FM_nodeid == 0;
    for (int round = 0; round < rounds; round++)
        for (const auto &way : ways) {
            need_gamma("sync", gamma_sync());
            for (int i = 0; i < trials / 10 + 1; i++) // back to this layer
                way.run(length, first);
            const double began = now_ns();
            for (int i = 0; i < trials; i++)
                way.run(length, first);
            if (first)
                std::printf("%u,%s,%d,%.1f\n", unsigned{length}, way.name, round,
                            (now_ns() - began) / 2 / trials);
        }
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 5 || std::atoi(argv[2]) < 1 || std::atoi(argv[3]) < 1) {
        std::fputs("usage: layers_pingpong PEER ROUNDS TRIALS LENGTH... (ROUNDS and TRIALS above 0)\n",
                   stderr);
        return 2;
    }
    begin(argv[1]);
    if (FM_nodeid == 0)
        std::puts("bytes,what,round,ns");
    for (int i = 4; i < argc; i++) {
        const long length = std::atol(argv[i]);
        if (length < 0 || length > long{length_max})
            fail("length", "at most 4096");
        measure(static_cast<ULONG>(length), std::atoi(argv[2]), std::atoi(argv[3]));
    }
    need_gamma("exit", gamma_exit());
    FM_finalize();
    return 0;
}
