// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// As much of the MX interface over the model peer as tests need: a library that LD_PRELOAD puts before
// ours, so that a program of the tests is the model peer instead of a user of our stack.
//
//   EMX_BOARDS=eth0:W EMX_MODEL=garbage,offsets LD_PRELOAD=libmodel_mx.so PROGRAM
//
// EMX_BOARDS has one board; the words of EMX_MODEL are those of Manner (station.hpp). What is not here is
// answered by our library, which does not know that it was initialised, and says so.
#include "station.hpp"

#include <mx_extensions.h>
#include <myriexpress.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using emx::model::Address;
using emx::model::Bytes;
using emx::model::End;
using emx::model::Endpoint;
using emx::model::ms;
using emx::model::never;
using emx::model::Received;
using emx::model::Station;

/// A handle's address is what tells it from all others: they are never used again.
union mx_request {
    char unused;
};

struct mx_endpoint {
    struct Late {
        mx_request_t request;
        mx_endpoint_addr_t to;
        uint64_t match;
        Bytes data;
        bool synchronous;
    };
    uint8_t number;
    bool open = true;
    std::deque<Late> late; ///< sends for which a window may be missing, and those behind them
};

namespace {

constexpr uint32_t endpoints_max = 32;
constexpr size_t large_max = 128; ///< sends of an endpoint that have windows, as in Open-MX

struct Request {
    enum class Kind { send, receive, connect };
    Kind kind;
    mx_endpoint *owner;
    mx_status_t status{};
    bool complete = false, forgotten = false;
    std::vector<mx_segment_t> segments; ///< of a receive
};

using Key = std::array<uint64_t, 2>;

/// All of the process, under the station's lock; but the station itself, which comes and goes with mx_init.
struct Library {
    std::deque<mx_endpoint> endpoints; ///< closed ones, too: their handles may still be around
    std::deque<mx_request> handles;
    std::map<mx_request_t, Request> requests;
    std::deque<mx_request_t> complete; ///< in that order
    std::map<Key, void *> contexts; ///< of addresses
    std::unique_ptr<Station> station; ///< last: its thread ends before the rest is gone
};

Library &library()
{
    static Library all;
    return all;
}

/// An address: MAC and endpoint, and the session.
mx_endpoint_addr_t address(Address a, uint32_t session)
{
    return {{a.mac << 8 | a.endpoint, uint64_t{1} << 32 | session}};
}
Address place(const mx_endpoint_addr_t &a) { return {a.stuff[0] >> 8, static_cast<uint8_t>(a.stuff[0])}; }
uint32_t session(const mx_endpoint_addr_t &a) { return static_cast<uint32_t>(a.stuff[1]); }

mx_status_code_t status_of(End end)
{
    switch (end) {
    case End::good: return MX_STATUS_SUCCESS;
    case End::refused: return MX_STATUS_ENDPOINT_CLOSED;
    case End::impossible: return MX_STATUS_BAD_ENDPOINT;
    case End::stale:
    case End::reset: return MX_STATUS_BAD_SESSION;
    case End::bad_key: return MX_STATUS_BAD_KEY;
    case End::failed: break;
    }
    return MX_STATUS_ENDPOINT_UNREACHABLE;
}

mx_return_t code_of_connect(mx_status_code_t status)
{
    switch (status) {
    case MX_STATUS_SUCCESS: return MX_SUCCESS;
    case MX_STATUS_BAD_KEY: return MX_BAD_CONNECTION_KEY;
    case MX_STATUS_BAD_ENDPOINT: return MX_BAD_ENDPOINT_ID;
    case MX_STATUS_ENDPOINT_CLOSED: return MX_CONNECTION_FAILED;
    default: return MX_TIMEOUT;
    }
}

/// The request is over. Its status has the length already; `taken` of it was transferred.
void complete(mx_request_t handle, mx_status_code_t code, uint32_t taken)
{
    Library &all = library();
    Request &r = all.requests.at(handle);
    r.status.code = code == MX_STATUS_SUCCESS && taken < r.status.msg_length ? MX_STATUS_TRUNCATED : code;
    r.status.xfer_length = taken;
    r.complete = true;
    if (r.forgotten)
        all.requests.erase(handle);
    else
        all.complete.push_back(handle);
}

/// One call of the application: the lock, and the endpoint.
class Call {
public:
    explicit Call(mx_endpoint_t handle) : handle_(handle)
    {
        if (!library().station) {
            problem = MX_NOT_INITIALIZED;
            return;
        }
        lock_ = library().station->lock();
        if (!handle || !handle->open)
            problem = MX_BAD_ENDPOINT;
    }

    mx_return_t problem = MX_SUCCESS;

    Station &station() const { return *library().station; }
    Endpoint &endpoint() const { return *station().host().endpoint(handle_->number); }
    mx_endpoint_t handle() const { return handle_; }

    void progress() const
    {
        station().progress(endpoint());
        send_late();
    }
    /// Progresses once, or until the condition holds or the time is over.
    template <typename Condition>
    bool until(bool waits, uint32_t timeout, const Condition &condition)
    {
        const uint64_t end = !waits ? 0 : timeout == MX_INFINITE ? never : Station::now() + timeout * ms;
        for (;;) {
            progress();
            if (condition())
                return true;
            if (Station::now() >= end)
                return false;
            station().rest(lock_, std::min(end, endpoint().deadline()));
        }
    }
    mx_request_t make(Request::Kind kind, uint64_t match, void *context, uint32_t length,
                      mx_request_t *out) const
    {
        Library &all = library();
        mx_request_t handle = &all.handles.emplace_back();
        Request &r = all.requests[handle];
        r.kind = kind;
        r.owner = handle_;
        r.forgotten = !out;
        r.status.match_info = match;
        r.status.context = context;
        r.status.msg_length = length;
        if (out)
            *out = handle;
        return handle;
    }
    mx_return_t send(const mx_segment_t *segments, uint32_t count, mx_endpoint_addr_t to, uint64_t match,
                     void *context, mx_request_t *out, bool synchronous) const;
    mx_return_t finish(mx_request_t *request, bool waits, uint32_t timeout, mx_status_t *status,
                       uint32_t *result);
    mx_return_t finish_any(bool waits, uint32_t timeout, uint64_t match, uint64_t mask, mx_status_t *status,
                           uint32_t *result);
    mx_return_t peek(bool waits, uint32_t timeout, mx_request_t *request, uint32_t *result);
    mx_return_t probe(bool waits, uint32_t timeout, uint64_t match, uint64_t mask, mx_status_t *status,
                      uint32_t *result);

private:
    void send_late() const;
    mx_request_t first_complete(uint64_t match, uint64_t mask) const;
    void take(mx_request_t handle, mx_status_t *status) const;

    mx_endpoint_t handle_;
    Station::Lock lock_;
};

mx_return_t judge(const mx_segment_t *segments, uint32_t count)
{
    if (count > MX_MAX_SEGMENTS)
        return MX_BAD_SEG_CNT;
    return count && !segments ? MX_BAD_SEG_LIST : MX_SUCCESS;
}

mx_return_t Call::send(const mx_segment_t *segments, uint32_t count, mx_endpoint_addr_t to, uint64_t match,
                       void *context, mx_request_t *out, bool synchronous) const
{
    if (mx_return_t bad = judge(segments, count); bad != MX_SUCCESS)
        return bad;
    Bytes data;
    for (uint32_t i = 0; i < count; i++) {
        const auto *bytes = static_cast<const uint8_t *>(segments[i].segment_ptr);
        data.insert(data.end(), bytes, bytes + segments[i].segment_length);
    }
    mx_request_t request = make(Request::Kind::send, match, context, static_cast<uint32_t>(data.size()), out);
    library().requests[request].status.source = to;
    handle_->late.push_back({request, to, match, std::move(data), synchronous});
    send_late();
    return MX_SUCCESS;
}

void Call::send_late() const
{
    std::deque<mx_endpoint::Late> &late = handle_->late;
    while (!late.empty() && endpoint().large_under_way() < large_max) {
        mx_endpoint::Late next = std::move(late.front());
        late.pop_front();
        if (endpoint().session_of(place(next.to)) != session(next.to)) {
            complete(next.request, MX_STATUS_BAD_SESSION, 0);
            continue;
        }
        endpoint().send(
            place(next.to), next.match, std::move(next.data), next.synchronous,
            [request = next.request](End end, uint32_t taken) { complete(request, status_of(end), taken); });
    }
}

/// The oldest of this endpoint's that has such match bits; none: nullptr.
mx_request_t Call::first_complete(uint64_t match, uint64_t mask) const
{
    for (mx_request_t handle : library().complete) {
        const Request &r = library().requests.at(handle);
        if (r.owner == handle_ && (r.status.match_info & mask) == match)
            return handle;
    }
    return nullptr;
}

void Call::take(mx_request_t handle, mx_status_t *status) const
{
    auto node = library().requests.extract(handle);
    std::erase(library().complete, handle);
    if (status)
        *status = node.mapped().status;
}

mx_return_t Call::finish(mx_request_t *request, bool waits, uint32_t timeout, mx_status_t *status,
                         uint32_t *result)
{
    auto it = library().requests.find(*request);
    if (it == library().requests.end() || it->second.owner != handle_ || it->second.forgotten)
        return MX_BAD_REQUEST;
    *result = until(waits, timeout, [&] { return it->second.complete; });
    if (*result) {
        take(*request, status);
        *request = nullptr;
    }
    return MX_SUCCESS;
}

mx_return_t Call::finish_any(bool waits, uint32_t timeout, uint64_t match, uint64_t mask, mx_status_t *status,
                             uint32_t *result)
{
    if (match & ~mask)
        return MX_BAD_MATCH_MASK;
    mx_request_t found = nullptr;
    *result = until(waits, timeout, [&] { return (found = first_complete(match, mask)) != nullptr; });
    if (found)
        take(found, status);
    return MX_SUCCESS;
}

mx_return_t Call::peek(bool waits, uint32_t timeout, mx_request_t *request, uint32_t *result)
{
    mx_request_t found = nullptr;
    *result = until(waits, timeout, [&] { return (found = first_complete(0, 0)) != nullptr; });
    if (found)
        *request = found;
    return MX_SUCCESS;
}

mx_return_t Call::probe(bool waits, uint32_t timeout, uint64_t match, uint64_t mask, mx_status_t *status,
                        uint32_t *result)
{
    if (match & ~mask)
        return MX_BAD_MATCH_MASK;
    std::optional<emx::model::Unexpected> found;
    *result = until(waits, timeout, [&] { return (found = endpoint().look(match, mask)).has_value(); });
    if (!found)
        return MX_SUCCESS;
    *status = {};
    status->source = address(found->from, endpoint().session_of(found->from));
    status->match_info = found->match;
    status->msg_length = status->xfer_length = found->length;
    return MX_SUCCESS;
}

void scatter(const Bytes &data, const std::vector<mx_segment_t> &segments)
{
    size_t at = 0;
    for (const mx_segment_t &s : segments) {
        size_t n = std::min<size_t>(s.segment_length, data.size() - at);
        if (n)
            std::memcpy(s.segment_ptr, data.data() + at, n);
        at += n;
    }
}

/// A multicast address, or none, is no board's.
bool is_board(uint64_t nic) { return nic && !(nic >> 40 & 1) && !(nic >> 48); }

void start_connect(const Call &call, uint64_t nic, uint32_t number, uint32_t key, mx_request_t request)
{
    call.station().meet(nic);
    Address to{nic, static_cast<uint8_t>(number)};
    Endpoint &e = call.endpoint();
    e.connect(to, key, [to, request, &e](End end) {
        library().requests.at(request).status.source = address(to, e.session_of(to));
        complete(request, status_of(end), 0);
    });
}

} // namespace

// ------------------------------------------------------------------------------------- library, endpoints

mx_return_t mx__init_api(int)
{
    if (library().station)
        return MX_ALREADY_INITIALIZED;
    const char *board = std::getenv("EMX_BOARDS"), *words = std::getenv("EMX_MODEL");
    try {
        library().station = std::make_unique<Station>(emx::model::read_place(board ? board : ""),
                                                      emx::model::read_manner(words ? words : ""));
    } catch (const std::runtime_error &e) {
        std::fprintf(stderr, "model peer: %s\n", e.what());
        return MX_NO_DEV;
    }
    return MX_SUCCESS;
}

mx_return_t mx_finalize()
{
    Library &all = library();
    if (!all.station)
        return MX_NOT_INITIALIZED;
    for (mx_endpoint &e : all.endpoints)
        mx_close_endpoint(&e);
    all.station.reset();
    all.contexts.clear();
    return MX_SUCCESS;
}

mx_return_t mx_open_endpoint(uint32_t, uint32_t number, uint32_t key, mx_param_t *, uint32_t,
                             mx_endpoint_t *out)
{
    *out = nullptr;
    Library &all = library();
    if (!all.station)
        return MX_NOT_INITIALIZED;
    Station::Lock lock = all.station->lock();
    emx::model::Host &host = all.station->host();
    if (number == MX_ANY_ENDPOINT)
        for (number = 0; number < endpoints_max && host.endpoint(static_cast<uint8_t>(number));)
            number++;
    else if (number >= endpoints_max)
        return MX_BAD_ENDPOINT;
    if (number == endpoints_max || host.endpoint(static_cast<uint8_t>(number)))
        return MX_BUSY;
    host.open(static_cast<uint8_t>(number), key);
    *out = &all.endpoints.emplace_back();
    (*out)->number = static_cast<uint8_t>(number);
    return MX_SUCCESS;
}

mx_return_t mx_close_endpoint(mx_endpoint_t endpoint)
{
    Call call(endpoint);
    if (call.problem != MX_SUCCESS)
        return call.problem;
    call.progress();
    call.station().host().close(endpoint->number);
    endpoint->open = false;
    endpoint->late.clear();
    Library &all = library();
    std::erase_if(all.complete, [&](mx_request_t r) { return all.requests.at(r).owner == endpoint; });
    std::erase_if(all.requests, [&](auto &r) { return r.second.owner == endpoint; });
    return MX_SUCCESS;
}

mx_return_t mx_progress(mx_endpoint_t endpoint)
{
    Call call(endpoint);
    if (call.problem == MX_SUCCESS)
        call.progress();
    return call.problem;
}

// ------------------------------------------------------------------------------------- messages

mx_return_t mx_isend(mx_endpoint_t endpoint, mx_segment_t *segments, uint32_t count, mx_endpoint_addr_t to,
                     uint64_t match, void *context, mx_request_t *request)
{
    Call call(endpoint);
    return call.problem == MX_SUCCESS ? call.send(segments, count, to, match, context, request, false)
                                      : call.problem;
}

mx_return_t mx_issend(mx_endpoint_t endpoint, mx_segment_t *segments, uint32_t count, mx_endpoint_addr_t to,
                      uint64_t match, void *context, mx_request_t *request)
{
    Call call(endpoint);
    return call.problem == MX_SUCCESS ? call.send(segments, count, to, match, context, request, true)
                                      : call.problem;
}

mx_return_t mx_irecv(mx_endpoint_t endpoint, mx_segment_t *segments, uint32_t count, uint64_t match,
                     uint64_t mask, void *context, mx_request_t *request)
{
    Call call(endpoint);
    if (call.problem != MX_SUCCESS)
        return call.problem;
    if (match & ~mask)
        return MX_BAD_MATCH_MASK;
    if (mx_return_t bad = judge(segments, count); bad != MX_SUCCESS)
        return bad;
    mx_request_t handle = call.make(Request::Kind::receive, match, context, 0, request);
    std::vector<mx_segment_t> &list = library().requests[handle].segments;
    uint32_t length = 0;
    for (uint32_t i = 0; i < count; i++) {
        list.push_back(segments[i]);
        length += segments[i].segment_length;
    }
    Endpoint &e = call.endpoint();
    e.post({match, mask, length,
            [handle, &e](const Received &m) {
                Request &r = library().requests.at(handle);
                r.status.source = address(m.from, e.session_of(m.from));
                r.status.match_info = m.match;
                r.status.msg_length = m.length;
                scatter(m.data, r.segments);
                complete(handle, m.good ? MX_STATUS_SUCCESS : MX_STATUS_ENDPOINT_UNREACHABLE,
                         m.good ? static_cast<uint32_t>(m.data.size()) : 0);
            },
            handle});
    return MX_SUCCESS;
}

mx_return_t mx_iprobe(mx_endpoint_t endpoint, uint64_t match, uint64_t mask, mx_status_t *status,
                      uint32_t *result)
{
    Call call(endpoint);
    return call.problem == MX_SUCCESS ? call.probe(false, 0, match, mask, status, result) : call.problem;
}

mx_return_t mx_probe(mx_endpoint_t endpoint, uint32_t timeout, uint64_t match, uint64_t mask,
                     mx_status_t *status, uint32_t *result)
{
    Call call(endpoint);
    return call.problem == MX_SUCCESS ? call.probe(true, timeout, match, mask, status, result) : call.problem;
}

// ------------------------------------------------------------------------------------- requests

mx_return_t mx_test(mx_endpoint_t endpoint, mx_request_t *request, mx_status_t *status, uint32_t *result)
{
    Call call(endpoint);
    return call.problem == MX_SUCCESS ? call.finish(request, false, 0, status, result) : call.problem;
}

mx_return_t mx_wait(mx_endpoint_t endpoint, mx_request_t *request, uint32_t timeout, mx_status_t *status,
                    uint32_t *result)
{
    Call call(endpoint);
    return call.problem == MX_SUCCESS ? call.finish(request, true, timeout, status, result) : call.problem;
}

mx_return_t mx_test_any(mx_endpoint_t endpoint, uint64_t match, uint64_t mask, mx_status_t *status,
                        uint32_t *result)
{
    Call call(endpoint);
    return call.problem == MX_SUCCESS ? call.finish_any(false, 0, match, mask, status, result) : call.problem;
}

mx_return_t mx_wait_any(mx_endpoint_t endpoint, uint32_t timeout, uint64_t match, uint64_t mask,
                        mx_status_t *status, uint32_t *result)
{
    Call call(endpoint);
    return call.problem == MX_SUCCESS ? call.finish_any(true, timeout, match, mask, status, result)
                                      : call.problem;
}

mx_return_t mx_ipeek(mx_endpoint_t endpoint, mx_request_t *request, uint32_t *result)
{
    Call call(endpoint);
    return call.problem == MX_SUCCESS ? call.peek(false, 0, request, result) : call.problem;
}

mx_return_t mx_peek(mx_endpoint_t endpoint, uint32_t timeout, mx_request_t *request, uint32_t *result)
{
    Call call(endpoint);
    return call.problem == MX_SUCCESS ? call.peek(true, timeout, request, result) : call.problem;
}

mx_return_t mx_context(mx_request_t *request, void **context)
{
    Library &all = library();
    if (!all.station)
        return MX_NOT_INITIALIZED;
    Station::Lock lock = all.station->lock();
    auto it = all.requests.find(*request);
    if (it == all.requests.end() || it->second.forgotten)
        return MX_BAD_REQUEST;
    *context = it->second.status.context;
    return MX_SUCCESS;
}

mx_return_t mx_cancel(mx_endpoint_t endpoint, mx_request_t *request, uint32_t *result)
{
    Call call(endpoint);
    if (call.problem != MX_SUCCESS)
        return call.problem;
    auto it = library().requests.find(*request);
    if (it == library().requests.end() || it->second.forgotten)
        return MX_BAD_REQUEST;
    *result = 0;
    if (it->second.kind == Request::Kind::send)
        return MX_CANCEL_NOT_SUPPORTED;
    *result = it->second.kind == Request::Kind::receive && call.endpoint().withdraw(*request);
    if (*result) {
        library().requests.erase(it);
        *request = nullptr;
    }
    return MX_SUCCESS;
}

mx_return_t mx_forget(mx_endpoint_t endpoint, mx_request_t *request)
{
    Call call(endpoint);
    if (call.problem != MX_SUCCESS)
        return call.problem;
    Library &all = library();
    auto it = all.requests.find(*request);
    if (it == all.requests.end() || it->second.forgotten)
        return MX_BAD_REQUEST;
    it->second.forgotten = true;
    if (it->second.complete) {
        std::erase(all.complete, *request);
        all.requests.erase(it);
    }
    *request = nullptr;
    return MX_SUCCESS;
}

/// The model copies all that it sends.
mx_return_t mx_ibuffered(mx_endpoint_t endpoint, mx_request_t *request, uint32_t *result)
{
    Call call(endpoint);
    if (call.problem != MX_SUCCESS)
        return call.problem;
    auto it = library().requests.find(*request);
    if (it == library().requests.end() || it->second.kind != Request::Kind::send)
        return MX_BAD_REQUEST;
    *result = 1;
    return MX_SUCCESS;
}

mx_return_t mx_buffered(mx_endpoint_t endpoint, mx_request_t *request, uint32_t, uint32_t *result)
{
    return mx_ibuffered(endpoint, request, result);
}

// ------------------------------------------------------------------------------------- addresses

mx_return_t mx_iconnect(mx_endpoint_t endpoint, uint64_t nic, uint32_t number, uint32_t key, uint64_t match,
                        void *context, mx_request_t *request)
{
    Call call(endpoint);
    if (call.problem != MX_SUCCESS)
        return call.problem;
    if (!is_board(nic))
        return MX_NIC_NOT_FOUND;
    start_connect(call, nic, number, key, call.make(Request::Kind::connect, match, context, 0, request));
    return MX_SUCCESS;
}

mx_return_t mx_connect(mx_endpoint_t endpoint, uint64_t nic, uint32_t number, uint32_t key, uint32_t timeout,
                       mx_endpoint_addr_t *addr)
{
    Call call(endpoint);
    if (call.problem != MX_SUCCESS)
        return call.problem;
    if (!is_board(nic))
        return MX_NIC_NOT_FOUND;
    mx_request_t request = nullptr;
    call.make(Request::Kind::connect, 0, nullptr, 0, &request);
    start_connect(call, nic, number, key, request);
    mx_status_t status{};
    uint32_t result = 0;
    call.finish(&request, true, timeout, &status, &result);
    if (!result) { // nobody asks for it any more
        library().requests.at(request).forgotten = true;
        return MX_TIMEOUT;
    }
    *addr = status.source;
    return code_of_connect(status.code);
}

mx_return_t mx_get_endpoint_addr(mx_endpoint_t endpoint, mx_endpoint_addr_t *addr)
{
    Call call(endpoint);
    if (call.problem == MX_SUCCESS)
        *addr = address({call.station().host().mac(), endpoint->number}, call.endpoint().session());
    return call.problem;
}

mx_return_t mx_decompose_endpoint_addr2(mx_endpoint_addr_t addr, uint64_t *nic, uint32_t *number,
                                        uint32_t *of)
{
    if (nic)
        *nic = place(addr).mac;
    if (number)
        *number = place(addr).endpoint;
    if (of)
        *of = session(addr);
    return MX_SUCCESS;
}

mx_return_t mx_decompose_endpoint_addr(mx_endpoint_addr_t addr, uint64_t *nic, uint32_t *number)
{
    return mx_decompose_endpoint_addr2(addr, nic, number, nullptr);
}

mx_return_t mx_set_endpoint_addr_context(mx_endpoint_addr_t addr, void *context)
{
    Library &all = library();
    if (!all.station)
        return MX_NOT_INITIALIZED;
    Station::Lock lock = all.station->lock();
    all.contexts[{addr.stuff[0], addr.stuff[1]}] = context;
    return MX_SUCCESS;
}

mx_return_t mx_get_endpoint_addr_context(mx_endpoint_addr_t addr, void **context)
{
    Library &all = library();
    if (!all.station)
        return MX_NOT_INITIALIZED;
    Station::Lock lock = all.station->lock();
    auto it = all.contexts.find({addr.stuff[0], addr.stuff[1]});
    *context = it == all.contexts.end() ? nullptr : it->second;
    return MX_SUCCESS;
}
