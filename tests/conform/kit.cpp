// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Helpers of the conformance cases. See kit.hpp.
#include "kit.hpp"

#include <algorithm>

namespace emx::conform {

std::vector<Case> &cases()
{
    static std::vector<Case> list;
    return list;
}

Endpoint::Endpoint(Rank &r, uint32_t eid, mx_param_t *params, uint32_t count)
{
    REQUIRE_OK(mx_open_endpoint(MX_ANY_NIC, eid, key, params, count, &ep_));
    REQUIRE(ep_ != nullptr);
}

mx_return_t Endpoint::close()
{
    mx_endpoint_t ep = ep_;
    ep_ = nullptr;
    return ep ? mx_close_endpoint(ep) : MX_SUCCESS;
}

mx_endpoint_addr_t Endpoint::self() const
{
    mx_endpoint_addr_t a{};
    mx_get_endpoint_addr(ep_, &a);
    return a;
}

uint64_t Endpoint::nic() const
{
    uint64_t nic = 0;
    uint32_t eid = 0;
    mx_decompose_endpoint_addr(self(), &nic, &eid);
    return nic;
}

uint32_t Endpoint::eid() const
{
    uint64_t nic = 0;
    uint32_t eid = 0;
    mx_decompose_endpoint_addr(self(), &nic, &eid);
    return eid;
}

mx_endpoint_addr_t connect_to(Rank &r, mx_endpoint_t ep, uint64_t nic, uint32_t eid, uint32_t k)
{
    mx_endpoint_addr_t a{};
    REQUIRE_OK(mx_connect(ep, nic, eid, k, patience, &a));
    return a;
}

Net open_net(Rank &r, bool connect, mx_param_t *params, uint32_t count)
{
    Net net;
    net.ep = Endpoint(r, MX_ANY_ENDPOINT, params, count);
    net.nic = r.exchange(net.ep.nic());
    for (uint64_t e : r.exchange(net.ep.eid()))
        net.eid.push_back(static_cast<uint32_t>(e));
    net.to.resize(static_cast<size_t>(r.n));
    for (size_t i = 0; connect && i < net.to.size(); i++)
        net.to[i] =
            static_cast<int>(i) == r.id ? net.ep.self() : connect_to(r, net.ep, net.nic[i], net.eid[i]);
    r.barrier();
    return net;
}

mx_request_t isend(Rank &r, mx_endpoint_t ep, const void *data, uint32_t length, mx_endpoint_addr_t to,
                   uint64_t match, void *context)
{
    mx_segment_t s{const_cast<void *>(data), length};
    mx_request_t q = nullptr;
    REQUIRE_OK(mx_isend(ep, &s, 1, to, match, context, &q));
    return q;
}

mx_request_t issend(Rank &r, mx_endpoint_t ep, const void *data, uint32_t length, mx_endpoint_addr_t to,
                    uint64_t match, void *context)
{
    mx_segment_t s{const_cast<void *>(data), length};
    mx_request_t q = nullptr;
    REQUIRE_OK(mx_issend(ep, &s, 1, to, match, context, &q));
    return q;
}

mx_request_t irecv(Rank &r, mx_endpoint_t ep, void *data, uint32_t length, uint64_t match, uint64_t mask,
                   void *context)
{
    mx_segment_t s{data, length};
    mx_request_t q = nullptr;
    REQUIRE_OK(mx_irecv(ep, &s, 1, match, mask, context, &q));
    return q;
}

mx_status_t finish(Rank &r, mx_endpoint_t ep, mx_request_t &request, uint32_t timeout)
{
    mx_status_t status{};
    uint32_t result = 0;
    REQUIRE_OK(mx_wait(ep, &request, timeout, &status, &result));
    REQUIRE_EQ(result, 1u);
    CHECK(request == nullptr);
    return status;
}

mx_status_t finish_ok(Rank &r, mx_endpoint_t ep, mx_request_t &request)
{
    mx_status_t s = finish(r, ep, request);
    CHECK_EQ(s.code, MX_STATUS_SUCCESS);
    return s;
}

void send(Rank &r, mx_endpoint_t ep, const void *data, uint32_t length, mx_endpoint_addr_t to, uint64_t match)
{
    mx_request_t q = isend(r, ep, data, length, to, match);
    mx_status_t s = finish_ok(r, ep, q);
    CHECK_EQ(s.xfer_length, length);
}

mx_status_t recv(Rank &r, mx_endpoint_t ep, void *data, uint32_t length, uint64_t match, uint64_t mask)
{
    mx_request_t q = irecv(r, ep, data, length, match, mask);
    return finish_ok(r, ep, q);
}

bool completes(Rank &r, mx_endpoint_t ep, mx_request_t &request, uint32_t ms, mx_status_t *status)
{
    mx_status_t own{};
    uint32_t result = 0;
    double end = r.now_ms() + ms;
    do {
        REQUIRE_OK(mx_test(ep, &request, status ? status : &own, &result));
    } while (!result && r.now_ms() < end);
    return result == 1;
}

namespace {

constexpr int real_calls = 1000;
constexpr uint32_t real_wait = 10; ///< ms

/// Calls `step` for that long, or that often, while it says true; what it said last.
bool poll_for(Rank &r, uint32_t ms, const std::function<bool()> &step)
{
    double end = r.now_ms() + ms;
    bool more = true;
    for (int i = 0; more && (r.virtual_time() ? r.now_ms() < end : i < real_calls); i++)
        more = step();
    return more;
}

} // namespace

void progress_for(Rank &r, mx_endpoint_t ep, uint32_t ms)
{
    poll_for(r, ms, [&] {
        REQUIRE_OK(mx_progress(ep));
        return true;
    });
}

void progress_until(Rank &r, mx_endpoint_t ep, const std::function<bool()> &done)
{
    for (double end = r.now_ms() + patience; !done() && r.now_ms() < end;)
        REQUIRE_OK(mx_progress(ep));
}

void progress_until_killed(Rank &r, mx_endpoint_t ep)
{
    for (;; r.now_ms())
        REQUIRE_OK(mx_progress(ep));
}

bool stays_pending(Rank &r, mx_endpoint_t ep, mx_request_t &request, uint32_t ms)
{
    return poll_for(r, ms, [&] { return !completes(r, ep, request, 0); });
}

uint32_t in_vain(const Rank &r, uint32_t ms) { return r.virtual_time() ? ms : std::min(ms, real_wait); }

mx_status_t await_unexpected(Rank &r, mx_endpoint_t ep, uint64_t match, uint64_t mask)
{
    mx_status_t s{};
    uint32_t result = 0;
    REQUIRE_OK(mx_probe(ep, patience, match, mask, &s, &result));
    REQUIRE_EQ(result, 1u);
    return s;
}

namespace {

/// The byte at a position: a multiplicative hash of the 8-byte word it lies in.
uint8_t byte_at(uint64_t number, uint64_t i)
{
    uint64_t w = (i / 8 + 1) * 0x9e3779b97f4a7c15ull + number * 0xc2b2ae3d27d4eb4full;
    return static_cast<uint8_t>((w ^ (w >> 29)) >> (8 * (i % 8)));
}

} // namespace

std::vector<uint8_t> pattern(uint64_t number, size_t length)
{
    std::vector<uint8_t> v(length);
    for (size_t i = 0; i < length; i++)
        v[i] = byte_at(number, i);
    return v;
}

size_t verify(const uint8_t *data, uint64_t number, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (data[i] != byte_at(number, i))
            return i;
    return length;
}

} // namespace emx::conform
