// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Shared by most conformance cases: open and connect, send, receive, patterns.
#pragma once

#include "conform.hpp"

#include <cstring>
#include <memory>

namespace emx::conform {

inline constexpr uint32_t key = 0x12345;
inline constexpr uint64_t all_bits = MX_MATCH_MASK_NONE;
/// ms: longer means that it hangs; what is waited for takes a twentieth at the most. Longer on slow machines
/// (conform_engine --patience).
inline uint32_t patience = 60000;

/// An open endpoint that closes itself.
class Endpoint {
public:
    Endpoint() = default;
    explicit Endpoint(Rank &r, uint32_t eid = MX_ANY_ENDPOINT, mx_param_t *params = nullptr,
                      uint32_t count = 0);
    Endpoint(Endpoint &&o) noexcept : ep_(o.ep_) { o.ep_ = nullptr; }
    Endpoint &operator=(Endpoint &&o) noexcept
    {
        std::swap(ep_, o.ep_);
        return *this;
    }
    ~Endpoint() { close(); }
    mx_return_t close();
    operator mx_endpoint_t() const { return ep_; }
    uint64_t nic() const;
    uint32_t eid() const;
    mx_endpoint_addr_t self() const;

private:
    mx_endpoint_t ep_ = nullptr;
};

/// An endpoint of every rank, each connected to all others.
struct Net {
    Endpoint ep;
    std::vector<uint64_t> nic;
    std::vector<uint32_t> eid;
    std::vector<mx_endpoint_addr_t> to;
};

/// The library in a bare case, under the variables set before; ends it again.
struct Session {
    explicit Session(Rank &r)
    {
        mx_set_error_handler(client_errors_return);
        REQUIRE_OK(mx_init());
    }
    ~Session() { mx_finalize(); }
};

/// Opens and connects with everybody; all ranks call it. `connect` false: only opens and tells.
Net open_net(Rank &r, bool connect = true, mx_param_t *params = nullptr, uint32_t count = 0);
mx_endpoint_addr_t connect_to(Rank &r, mx_endpoint_t ep, uint64_t nic, uint32_t eid, uint32_t k = key);

mx_request_t isend(Rank &r, mx_endpoint_t ep, const void *data, uint32_t length, mx_endpoint_addr_t to,
                   uint64_t match, void *context = nullptr);
mx_request_t issend(Rank &r, mx_endpoint_t ep, const void *data, uint32_t length, mx_endpoint_addr_t to,
                    uint64_t match, void *context = nullptr);
mx_request_t irecv(Rank &r, mx_endpoint_t ep, void *data, uint32_t length, uint64_t match,
                   uint64_t mask = all_bits, void *context = nullptr);
/// Waits until the request completes (bounded), and gives its status. Abandons on a hang.
mx_status_t finish(Rank &r, mx_endpoint_t ep, mx_request_t &request, uint32_t timeout = patience);
/// finish(), and the status must be a success.
mx_status_t finish_ok(Rank &r, mx_endpoint_t ep, mx_request_t &request);
/// Sends and finishes; receives and finishes, success both.
void send(Rank &r, mx_endpoint_t ep, const void *data, uint32_t length, mx_endpoint_addr_t to,
          uint64_t match);
mx_status_t recv(Rank &r, mx_endpoint_t ep, void *data, uint32_t length, uint64_t match,
                 uint64_t mask = all_bits);
/// True if the request is complete now or becomes so within ms of polling; it is then reaped.
bool completes(Rank &r, mx_endpoint_t ep, mx_request_t &request, uint32_t ms, mx_status_t *status = nullptr);
/// Polls the endpoint for that long in virtual time; on a real host, where the machine decides what happens
/// in a time, for a number of calls.
void progress_for(Rank &r, mx_endpoint_t ep, uint32_t ms);
/// Polls the endpoint until something is true, or it hangs: the caller looks.
void progress_until(Rank &r, mx_endpoint_t ep, const std::function<bool()> &done);
/// Polls the endpoint until the rank is killed.
[[noreturn]] void progress_until_killed(Rank &r, mx_endpoint_t ep);
/// The same as progress_for() with mx_test: false when the request has completed.
bool stays_pending(Rank &r, mx_endpoint_t ep, mx_request_t &request, uint32_t ms);
/// Time-out of a wait that nothing ends: so many ms of virtual time, and a few of real time.
uint32_t in_vain(const Rank &r, uint32_t ms);
/// Progresses until a message that fits is in the unexpected queue. Abandons on a hang.
mx_status_t await_unexpected(Rank &r, mx_endpoint_t ep, uint64_t match, uint64_t mask = all_bits);

/// Bytes that depend on their position and on a number.
std::vector<uint8_t> pattern(uint64_t number, size_t length);
/// Position of the first byte that differs from the pattern, or length.
size_t verify(const uint8_t *data, uint64_t number, size_t length);

#define CHECK_PATTERN(buffer, number, length)                                                                \
    CHECK_EQ(emx::conform::verify((buffer).data(), number, length), static_cast<size_t>(length))

} // namespace emx::conform
