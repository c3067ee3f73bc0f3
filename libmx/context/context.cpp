// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The library instance: endpoints by handle, opening and closing.
#include "libmx/context/context.hpp"

#include "driver/base/system_calls.hpp"
#include "driver/base/thread.hpp"
#include "libmx/shm/port.hpp"
#include "libmx/trace/port.hpp"

#include <emx/wire.h>

#include <algorithm>

namespace emx {

namespace {

mx_endpoint_t handle_of(uint32_t slot, uint32_t generation)
{
    uint64_t value = uint64_t{1} << 63 | uint64_t{generation} << handle_slot_bits | slot;
    return reinterpret_cast<mx_endpoint_t>(value);
}

/// Tells how to have more endpoints than `limit` a board, all of which are open.
std::string none_left(uint32_t board, uint32_t limit)
{
    const std::string all = "all " + std::to_string(limit) + " endpoints of " +
                            (board == MX_ANY_NIC ? "each board" : "board " + std::to_string(board)) +
                            " are open (omx_endpoint_info lists them): ";
    if (limit >= EMX_ENDPOINTS_MAX)
        return all + "one more board has as many more";
    const std::string more = std::to_string(std::min<uint32_t>(2 * limit, EMX_ENDPOINTS_MAX));
    return all + "write endpoints = " + more + " into /etc/ethermx/ethermx.conf and start EtherMX again (" +
           std::to_string(EMX_ENDPOINTS_MAX) +
           " at most), or have as many more by one more board; where programs start the agent, set "
           "EMX_ENDPOINTS=" +
           more;
}

} // namespace

Context::Context(std::unique_ptr<Device> device, Conf conf, HandlerSource handler)
    : Instance(std::move(device), std::move(conf), handler),
      slots_storage_(std::make_unique<std::array<EndpointSlot, endpoint_slots>>()),
      slots_(slots_storage_->data())
{
}

Context::~Context()
{
    stop_helper();
    close_all();
}

mx_endpoint_t Context::open(const OpenArgs &args, DeviceError &error)
{
    std::vector<BoardInfo> boards = device_->boards();
    uint32_t limit = 0;
    bool known = args.board == MX_ANY_NIC && !boards.empty();
    for (const BoardInfo &board : boards) {
        limit = std::max(limit, board.endpoint_max);
        known = known || board.number == args.board;
    }
    if (!known) {
        error = {MX_BOARD_UNKNOWN, "no such board; omx_info lists them"};
        return nullptr;
    }
    bool any = args.number == MX_ANY_ENDPOINT || conf_.any_endpoint;
    if (!any && args.number >= limit) {
        error = {MX_BAD_ENDPOINT, "endpoint number out of range: below " + std::to_string(limit)};
        return nullptr;
    }
    uint32_t first = any ? 0 : args.number;
    uint32_t last = any ? limit : args.number + 1;
    // Ascending number, then ascending board: the first free pair (API specification, 3.2).
    for (uint32_t number = first; number < last; ++number)
        for (const BoardInfo &board : boards) {
            if (args.board != MX_ANY_NIC && board.number != args.board)
                continue;
            mx_endpoint_t handle = open_one(args, board.number, number, error);
            const bool next = error.code == MX_BUSY || (args.board == MX_ANY_NIC && error.code == MX_NO_DEV);
            if (handle || !next)
                return handle;
        }
    if (any && error.code == MX_BUSY)
        error.text = none_left(args.board, limit);
    return nullptr;
}

mx_endpoint_t Context::open_one(const OpenArgs &args, uint32_t board_number, uint32_t number,
                                DeviceError &error)
{
    uint32_t session;
    do
        session = static_cast<uint32_t>(device_->random());
    while (session == EMX_SESSION_NONE || session == 0);
    std::unique_ptr<Port> port = device_->open(board_number, number, session, error);
    if (!port)
        return nullptr;
    std::lock_guard opening(open_mutex_);
    if (!have_helper()) {
        error = {MX_NO_RESOURCES, std::string("the helper thread: ") + no_thread};
        return nullptr;
    }
    BoardInfo board;
    for (const BoardInfo &info : device_->boards())
        if (info.number == board_number)
            board = info;
    if (!conf_.disable_shared)
        port = shm::share(std::move(port), board, session);
    std::unique_ptr<trace::Recorder> recorder;
    if (!conf_.trace.empty() &&
        !(recorder = trace::Recorder::make(conf_.trace, static_cast<uint32_t>(conf_.trace_entries), board,
                                           number, session, *device_, error)))
        return nullptr;
    for (uint32_t i = 0; i < endpoint_slots; ++i) {
        EndpointSlot &slot = slots_[i];
        std::lock_guard lock(slot.mutex);
        if (slot.endpoint || slot.users)
            continue;
        auto endpoint = std::make_unique<Endpoint>(*this, slot, i, board, args.key, session);
        if (recorder)
            port = std::make_unique<trace::TracePort>(std::move(port), *endpoint, std::move(recorder));
        endpoint->attach(std::move(port));
        endpoint->exchange_handler(args.handler);
        endpoint->matcher().set_bound(args.unexp_max);
        endpoint->set_context_ids(args.context_bits, args.context_shift);
        slot.endpoint = std::move(endpoint);
        slots_used_ = std::max(slots_used_.load(), i + 1);
        tell("endpoint opened", &board, number);
        const mx_endpoint_t handle = handle_of(i, slot.generation);
        slot.handle = reinterpret_cast<uint64_t>(handle);
        return handle;
    }
    error = {MX_NO_RESOURCES, "too many endpoints open in this process"};
    return nullptr;
}

void Context::close(EndpointSlot &slot, std::unique_lock<Lock> &lock)
{
    const sys::Uncancelled here;
    Endpoint &endpoint = *slot.endpoint;
    slot.handle = 0;
    endpoint.gate().begin_close();
    endpoint.wakeup();
    while (slot.users)
        slot.changed.wait(lock);
    endpoint.linger(lock);
    tell("endpoint closed", &endpoint.identity().board, endpoint.number());
    std::unique_ptr<Endpoint> dying = std::move(slot.endpoint);
    ++slot.generation;
    lock.unlock();
}

void Context::close_all()
{
    for (uint32_t i = 0; i < slots_used_; ++i) {
        std::unique_lock lock(slots_[i].mutex);
        if (slots_[i].endpoint && !slots_[i].endpoint->gate().is_ending())
            close(slots_[i], lock);
    }
}

Census Context::census()
{
    Census total;
    for (uint32_t i = 0; i < slots_used_; ++i) {
        std::lock_guard lock(slots_[i].mutex);
        if (!slots_[i].endpoint)
            continue;
        Census one = slots_[i].endpoint->census();
        total.endpoints += one.endpoints;
        total.requests += one.requests;
        total.incoming += one.incoming;
        total.tx_messages += one.tx_messages;
        total.windows += one.windows;
        total.busy_partners += one.busy_partners;
    }
    return total;
}

} // namespace emx
