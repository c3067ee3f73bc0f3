// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// MX endpoint of the tools.
#include "session.hpp"

#include "../cli.hpp"
#include "series.hpp"

#include "driver/base/printable.hpp"

#include <mx_extensions.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <sched.h>
#include <unistd.h>
#include <utility>

namespace emx::perf {

namespace {

constexpr uint32_t block_ms = 500; // a blocked wait looks this often whether the peer still lives
constexpr uint32_t retry_us = 20000;
constexpr uint64_t silence_ns = 1000000000; // after which the peer is asked whether it lives
constexpr uint32_t answer_ms = 500;

// The library reports what belongs to no call (a lost peer) to the error handler only.
std::mutex error_mutex;
std::string error_text;
std::atomic<bool> error_seen{false};
std::atomic<bool> asking{false};

mx_return_t remember_error(char *text, mx_return_t code)
{
    if (code == MX_TIMEOUT && asking.load())
        return code; // a peer that computes answers later
    const std::lock_guard lock(error_mutex);
    error_text = text ? text : "";
    error_seen.store(true);
    return code;
}

std::string take_error()
{
    const std::lock_guard lock(error_mutex);
    error_seen.store(false);
    return std::exchange(error_text, {});
}

uint64_t deadline_after(uint32_t seconds)
{
    return seconds ? now_ns() + uint64_t{seconds} * 1000000000 : ~uint64_t{0};
}

uint32_t session_of(mx_endpoint_addr_t address)
{
    uint32_t session = 0;
    mx_decompose_endpoint_addr2(address, nullptr, nullptr, &session);
    return session;
}

/// Calls of poll() between two looks at the clock: for milliseconds of spinning; a yield may
/// last milliseconds itself, and a blocked wait block_ms.
uint32_t looks_per_check(Waiting waiting)
{
    switch (waiting) {
    case Waiting::spin: return 1 << 16;
    case Waiting::yield: return 1 << 6;
    case Waiting::block: break;
    }
    return 1;
}

} // namespace

void fail(mx_return_t code, const std::string &what)
{
    std::string reason = take_error();
    if (reason.empty())
        reason = mx_strerror(code);
    throw cli::Failure(what + ": " + reason);
}

Session::Session(uint32_t board, uint32_t endpoint, Waiting waiting, uint32_t key)
    : waiting_(waiting), key_(key)
{
    mx_set_error_handler(remember_error);
    check(mx_init(), "cannot use MX");
    const mx_return_t code = mx_open_endpoint(board, endpoint, key, nullptr, 0, &endpoint_);
    if (code != MX_SUCCESS)
        mx_finalize();
    check(code, "cannot open an endpoint");
}

Session::~Session()
{
    mx_close_endpoint(endpoint_);
    mx_finalize();
}

uint64_t Session::resolve(const std::string &host, uint32_t patience_s)
{
    uint64_t id = cli::parse_mac_or_name(host);
    const uint64_t deadline = deadline_after(patience_s);
    while (id == 0) {
        std::string name = host;
        if (mx_hostname_to_nic_id(name.data(), &id) == MX_SUCCESS)
            break;
        if (now_ns() > deadline)
            throw cli::Failure("no board is called \"" + host +
                               "\": omx_info shows the known ones; give the MAC " +
                               "address, or tell the name by omx_init_peers");
        usleep(retry_us);
    }
    take_error();
    return id;
}

mx_endpoint_addr_t Session::connect(uint64_t nic_id, uint32_t remote_endpoint, uint32_t patience_s)
{
    const uint64_t deadline = deadline_after(patience_s);
    for (;;) {
        mx_endpoint_addr_t address;
        const mx_return_t code = mx_connect(endpoint_, nic_id, remote_endpoint, key_, 1000, &address);
        if (code == MX_SUCCESS) {
            take_error();
            return peer_.emplace(address);
        }
        const std::string what =
            "cannot connect to endpoint " + std::to_string(remote_endpoint) + " of " + cli::mac_text(nic_id);
        if (code == MX_BAD_CONNECTION_KEY)
            throw WrongKey(what + ": " + take_error());
        const bool may_come = code == MX_CONNECTION_FAILED || code == MX_TIMEOUT || code == MX_NIC_NOT_FOUND;
        if (!may_come || now_ns() > deadline)
            fail(code, what);
        usleep(retry_us);
    }
}

mx_request_t Session::send(mx_endpoint_addr_t to, void *data, uint32_t length, uint64_t match,
                           bool synchronous)
{
    mx_segment_t segment{data, length};
    mx_request_t request = nullptr;
    const auto call = synchronous ? mx_issend : mx_isend;
    check(call(endpoint_, &segment, 1, to, match, nullptr, &request), "cannot send");
    return request;
}

mx_request_t Session::receive(void *data, uint32_t length, uint64_t match, uint64_t mask)
{
    mx_segment_t segment{data, length};
    mx_request_t request = nullptr;
    check(mx_irecv(endpoint_, &segment, 1, match, mask, nullptr, &request), "cannot receive");
    return request;
}

bool Session::poll(mx_request_t &request, mx_status_t &status)
{
    uint32_t result = 0;
    if (waiting_ == Waiting::block)
        check(mx_wait(endpoint_, &request, block_ms, &status, &result), "mx_wait");
    else
        check(mx_test(endpoint_, &request, &status, &result), "mx_test");
    if (!result && waiting_ == Waiting::yield)
        sched_yield();
    return result == 1;
}

mx_status_t Session::wait(mx_request_t &request, uint32_t limit_s)
{
    if (limit_s)
        limit_s = std::max(limit_s, patience_s_);
    mx_status_t status;
    const uint32_t stride = looks_per_check(waiting_);
    uint64_t deadline = 0, ask_ns = 0;
    for (uint32_t looks = 1; !poll(request, status); looks++) {
        if (error_seen.load(std::memory_order_relaxed) && limit_s)
            throw cli::Failure("the peer is gone: " + take_error());
        if (looks % stride != 0)
            continue;
        const uint64_t now = now_ns();
        if (deadline == 0) {
            deadline = deadline_after(limit_s);
            ask_ns = now + silence_ns;
        } else if (now > deadline) {
            throw cli::Failure("nothing from the peer for " + std::to_string(limit_s) + " s");
        } else if (now > ask_ns && limit_s && peer_) {
            ask_peer();
            ask_ns = now_ns() + silence_ns;
        }
    }
    if (status.code != MX_STATUS_SUCCESS)
        throw cli::Failure(std::string("a message failed: ") + mx_strstatus(status.code));
    if (!limit_s)
        take_error();
    return status;
}

void Session::ask_peer()
{
    uint64_t nic_id = 0;
    uint32_t number = 0;
    mx_endpoint_addr_t address;
    mx_decompose_endpoint_addr(*peer_, &nic_id, &number);
    asking.store(true);
    const mx_return_t code = mx_connect(endpoint_, nic_id, number, key_, answer_ms, &address);
    asking.store(false);
    if (code == MX_CONNECTION_FAILED || code == MX_BAD_CONNECTION_KEY)
        fail(code, "the peer is gone");
    if (code == MX_SUCCESS && session_of(address) != session_of(*peer_))
        throw cli::Failure("the peer is gone: its endpoint was opened anew");
}

bool Session::complete(mx_request_t &request)
{
    mx_status_t status;
    uint32_t result = 0;
    check(mx_test(endpoint_, &request, &status, &result), "mx_test");
    if (result && status.code != MX_STATUS_SUCCESS)
        throw cli::Failure(std::string("a message failed: ") + mx_strstatus(status.code));
    return result == 1;
}

std::string Session::describe() const
{
    uint64_t nic_id = 0;
    uint32_t number = 0;
    mx_endpoint_addr_t own;
    char name[MX_MAX_HOSTNAME_LEN] = "?";
    if (mx_get_endpoint_addr(endpoint_, &own) == MX_SUCCESS)
        mx_decompose_endpoint_addr(own, &nic_id, &number);
    if (mx_nic_id_to_hostname(nic_id, name) != MX_SUCCESS)
        take_error();
    return "endpoint " + std::to_string(number) + " on " + printable(name) + " (" + cli::mac_text(nic_id) +
           ")";
}

} // namespace emx::perf
