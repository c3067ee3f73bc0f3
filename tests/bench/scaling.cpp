// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Measures how cost grows: memory of an idle endpoint and of a partner, time of a message while many others
// wait unexpected, while many receives are posted, and with many partners. One process, one board.
#include "../../tools/cli.hpp"
#include "../../tools/omx_perf/series.hpp"

#include <mx_extensions.h>
#include <myriexpress.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <malloc.h>
#include <string>
#include <vector>

namespace {

using emx::cli::Failure;

constexpr uint32_t key = 0x5ca1e;
constexpr uint32_t partners = 1000;
constexpr uint64_t endpoint_limit = 8 << 20; // bytes
constexpr uint64_t partner_limit = 1024;
constexpr uint32_t rounds = 2000;
constexpr uint64_t nobody = 0x02ee00000000; // locally administered addresses that no board has
constexpr uint64_t probe_bits = ~uint64_t{0} - 1;

void check(mx_return_t code, const char *what)
{
    if (code != MX_SUCCESS)
        throw Failure(std::string(what) + ": " + mx_strerror(code));
}

/// Resident bytes of this process, shared mappings (rings) included.
uint64_t resident()
{
    std::ifstream file("/proc/self/smaps_rollup");
    std::string word;
    uint64_t kib = 0;
    while (file >> word) {
        if (word == "Rss:")
            file >> kib;
    }
    return kib * 1024;
}

uint64_t heap()
{
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

class Endpoint {
public:
    Endpoint()
    {
        check(mx_open_endpoint(0, MX_ANY_ENDPOINT, key, nullptr, 0, &endpoint_), "mx_open_endpoint");
        mx_endpoint_addr_t own;
        uint64_t nic;
        uint32_t id;
        check(mx_get_endpoint_addr(endpoint_, &own), "mx_get_endpoint_addr");
        check(mx_decompose_endpoint_addr(own, &nic, &id), "mx_decompose_endpoint_addr");
        check(mx_connect(endpoint_, nic, id, key, 1000, &self_), "mx_connect to itself");
    }
    ~Endpoint() { mx_close_endpoint(endpoint_); }
    Endpoint(const Endpoint &) = delete;
    Endpoint &operator=(const Endpoint &) = delete;

    void send(uint64_t bits)
    {
        mx_segment_t segment{&payload_, sizeof payload_};
        mx_request_t request;
        check(mx_isend(endpoint_, &segment, 1, self_, bits, nullptr, &request), "mx_isend");
        finish(request);
    }
    mx_request_t post(uint64_t bits)
    {
        mx_segment_t segment{&received_, sizeof received_};
        mx_request_t request;
        check(mx_irecv(endpoint_, &segment, 1, bits, MX_MATCH_MASK_NONE, nullptr, &request), "mx_irecv");
        return request;
    }
    void finish(mx_request_t request)
    {
        mx_status_t status;
        uint32_t result = 0;
        check(mx_wait(endpoint_, &request, 10000, &status, &result), "mx_wait");
        if (!result || status.code != MX_STATUS_SUCCESS)
            throw Failure("a message to the own endpoint did not arrive within 10 s");
    }
    void cancel(mx_request_t request)
    {
        uint32_t result = 0;
        check(mx_cancel(endpoint_, &request, &result), "mx_cancel");
        if (!result)
            throw Failure("a receive that nothing matches could not be cancelled");
    }
    /// Gives a partner an existence, without an answer to wait for.
    void meet(uint64_t nic)
    {
        mx_request_t request;
        uint32_t result = 0;
        check(mx_iconnect(endpoint_, nic, 0, key, 0, nullptr, &request), "mx_iconnect");
        check(mx_cancel(endpoint_, &request, &result), "mx_cancel of a connect");
    }

private:
    mx_endpoint_t endpoint_ = nullptr;
    mx_endpoint_addr_t self_{};
    uint64_t payload_ = 0;
    uint64_t received_ = 0;
};

/// Median nanoseconds of `what`, over rounds.
template <typename What>
double median_ns(What what)
{
    std::vector<uint64_t> times(rounds);
    for (uint64_t &t : times) {
        const uint64_t before = emx::perf::now_ns();
        what();
        t = emx::perf::now_ns() - before;
    }
    std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
    return static_cast<double>(times[rounds / 2]);
}

void report(const char *what, uint32_t count, double ns)
{
    std::printf("%s,%u,%.0f\n", what, count, ns);
    std::fflush(stdout);
}

/// One message sent and received, while `count` others of different bits wait.
void measure_unexpected(uint32_t count)
{
    Endpoint endpoint;
    for (uint32_t i = 0; i < count; i++)
        endpoint.send(i);
    report("unexpected", count, median_ns([&] {
               endpoint.send(probe_bits);
               endpoint.finish(endpoint.post(probe_bits));
           }));
    for (uint32_t i = count; i-- > 0;) // the last first: every search meets the whole queue
        endpoint.finish(endpoint.post(i));
}

void measure_posted(uint32_t count)
{
    Endpoint endpoint;
    std::vector<mx_request_t> posted;
    for (uint32_t i = 0; i < count; i++)
        posted.push_back(endpoint.post(i));
    report("posted", count, median_ns([&] {
               const mx_request_t last = endpoint.post(probe_bits);
               endpoint.send(probe_bits);
               endpoint.finish(last);
           }));
    for (const mx_request_t request : posted)
        endpoint.cancel(request);
}

/// Returns the number of limits that were broken.
int measure_memory()
{
    const uint64_t before = resident();
    Endpoint endpoint;
    const uint64_t idle = resident() - std::min(before, resident());
    endpoint.meet(nobody); // what the first partner alone costs is not counted
    const uint64_t heap_before = heap();
    for (uint32_t i = 1; i <= partners; i++)
        endpoint.meet(nobody + i);
    const uint64_t heap_after = heap();
    const uint64_t each = (heap_after - std::min(heap_after, heap_before)) / partners;
    std::printf("idle endpoint: %llu KiB resident (limit %llu)\n",
                static_cast<unsigned long long>(idle >> 10),
                static_cast<unsigned long long>(endpoint_limit >> 10));
    std::printf("partner: %llu bytes of heap (limit %llu)\n", static_cast<unsigned long long>(each),
                static_cast<unsigned long long>(partner_limit));
    if (each == 0)
        throw Failure("partners cost nothing: the measurement is wrong");
    std::printf("what,count,median_ns\n");
    report("partners", partners, median_ns([&] {
               endpoint.send(probe_bits);
               endpoint.finish(endpoint.post(probe_bits));
           }));
    return (idle >= endpoint_limit) + (each >= partner_limit);
}

int body(int, char **)
{
    mx_set_error_handler(MX_ERRORS_RETURN);
    check(mx_init(), "mx_init");
    const int broken = measure_memory();
    for (const uint32_t count : {0u, 10u, 100u, 1000u, 10000u})
        measure_unexpected(count);
    for (const uint32_t count : {0u, 10u, 100u, 1000u, 10000u})
        measure_posted(count);
    check(mx_finalize(), "mx_finalize");
    std::printf("%d passed, %d failed, 0 skipped\n", 2 - broken, broken);
    return broken ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) { return emx::cli::run(argc, argv, body); }
