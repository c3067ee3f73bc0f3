// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Messages between two hosts after a warm-up, and how often this process has allocated memory meanwhile (EMP,
// SC 2001: descriptors are used again, nothing is allocated). The program's own malloc counts.
//
//   steady                 the server
//   steady HOST [ROUNDS]   the client; stretches of so many (20) windows of messages with an answer each
//
// Both print "bytes N: A allocations of R messages" for each length, and end with 1 when there is any.
#include <myriexpress.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <vector>

extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
}

namespace {

std::atomic<uint64_t> allocations{0};

constexpr uint32_t key = 0x53544459, window = 16, patience_ms = 60000;
constexpr int stretches = 8;
constexpr uint64_t hello_match = 1, data_match = 2, answer_match = 3;
constexpr uint32_t lengths[] = {0, 32, 128, 4096, 32768, 100000, 1048576};

mx_endpoint_t endpoint;
mx_endpoint_addr_t peer;
std::vector<char> buffer(1048576);

void wait(mx_request_t request)
{
    mx_status_t status;
    uint32_t done;
    mx_wait(endpoint, &request, MX_INFINITE, &status, &done);
    if (status.code != MX_STATUS_SUCCESS) {
        std::fprintf(stderr, "steady: %s\n", mx_strstatus(status.code));
        std::exit(2);
    }
}

mx_request_t receive(uint64_t match, uint32_t bytes)
{
    mx_segment_t segment{buffer.data(), bytes};
    mx_request_t request;
    mx_irecv(endpoint, &segment, 1, match, MX_MATCH_MASK_NONE, nullptr, &request);
    return request;
}

mx_request_t send(uint64_t match, uint32_t bytes)
{
    mx_segment_t segment{buffer.data(), bytes};
    mx_request_t request;
    mx_isend(endpoint, &segment, 1, peer, match, nullptr, &request);
    return request;
}

/// A window of messages from the client, and an answer as long as they are: each receive is posted before its
/// send.
void round_of(bool client, uint32_t bytes)
{
    mx_request_t requests[window];
    if (client) {
        const mx_request_t answer = receive(answer_match, bytes);
        for (mx_request_t &request : requests)
            request = send(data_match, bytes);
        for (mx_request_t request : requests)
            wait(request);
        wait(answer);
    } else {
        for (mx_request_t &request : requests)
            request = receive(data_match, bytes);
        for (mx_request_t request : requests)
            wait(request);
        wait(send(answer_match, bytes));
    }
}

/// False when each of the stretches after the warm-up has allocated. The least counts: where frames
/// are lost, as on a host without processor time, packets that came before their turn are kept in memory of
/// their own.
bool is_steady(bool client, uint32_t bytes, uint32_t rounds)
{
    for (uint32_t i = 0; i < rounds; i++)
        round_of(client, bytes);
    uint64_t least = ~uint64_t{0};
    for (int stretch = 0; stretch < stretches; stretch++) {
        const uint64_t before = allocations;
        for (uint32_t i = 0; i < rounds; i++)
            round_of(client, bytes);
        least = std::min(least, allocations - before);
    }
    const uint64_t messages = uint64_t{rounds} * (window + 1);
    std::printf("bytes %u: %llu allocations of %llu messages\n", bytes,
                static_cast<unsigned long long>(least), static_cast<unsigned long long>(messages));
    return least == 0;
}

/// The server may start later.
void meet(const char *host, uint32_t rounds)
{
    uint64_t nic;
    mx_hostname_to_nic_id(const_cast<char *>(host), &nic);
    mx_set_error_handler(MX_ERRORS_RETURN);
    while (mx_connect(endpoint, nic, 0, key, patience_ms, &peer) != MX_SUCCESS)
        usleep(20000); // tidy-allow(sleep): tries to connect again
    mx_set_error_handler(MX_ERRORS_ARE_FATAL);
    mx_segment_t segment{&rounds, sizeof rounds};
    mx_request_t request;
    mx_isend(endpoint, &segment, 1, peer, hello_match, nullptr, &request);
    wait(request);
}

uint32_t meet_client()
{
    uint32_t rounds = 0, done, number;
    mx_segment_t segment{&rounds, sizeof rounds};
    mx_request_t request;
    mx_status_t status;
    uint64_t nic;
    mx_irecv(endpoint, &segment, 1, hello_match, MX_MATCH_MASK_NONE, nullptr, &request);
    mx_wait(endpoint, &request, MX_INFINITE, &status, &done);
    mx_decompose_endpoint_addr(status.source, &nic, &number);
    mx_connect(endpoint, nic, number, key, patience_ms, &peer);
    return rounds;
}

} // namespace

extern "C" {

void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    allocations++;
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    allocations++;
    return __libc_memalign(alignment, size);
}

} // extern "C"

int main(int argc, char **argv)
{
    const bool client = argc > 1;
    uint32_t rounds = argc > 2 ? static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 10)) : 20;
    mx_init();
    mx_open_endpoint(MX_ANY_NIC, client ? MX_ANY_ENDPOINT : 0, key, nullptr, 0, &endpoint);
    if (client)
        meet(argv[1], rounds);
    else
        rounds = meet_client();
    // The counting works: a library that starts does allocate.
    std::printf("at the start: %llu allocations\n", static_cast<unsigned long long>(allocations));
    bool steady = allocations > 0;
    for (const uint32_t bytes : lengths)
        steady = is_steady(client, bytes, rounds) && steady;
    mx_close_endpoint(endpoint);
    mx_finalize();
    return steady ? 0 : 1;
}
