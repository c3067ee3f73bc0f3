// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Calls on endpoints: see call.hpp.
#include "libmx/api/call.hpp"

#include "libmx/api/hooks.hpp"

#include <string>

namespace emx::api {

mx_return_t Visit::report_lost(EndpointSlot *locked, const char *function)
{
    return Call(locked, function).done();
}

mx_return_t Call::refused(const char *function)
{
    std::string text = function;
    if (process().context) {
        text += ": not an open endpoint of this process";
    } else if (process().inherited) {
        text += ": endpoints stay with the parent of a fork; call mx_init in the child and open its own";
    } else {
        text += ": the library is not initialised; call mx_init";
        return emx::api::fail(MX_NOT_INITIALIZED, text.c_str());
    }
    return emx::api::fail(MX_BAD_ENDPOINT, text.c_str());
}

mx_return_t Call::fail(mx_return_t code, const char *text)
{
    slot_->endpoint->leave(is_send_);
    ErrorHandler handler = slot_->endpoint->handler();
    lock_.unlock();
    std::string copy(text);
    if (!copy.starts_with(function_))
        copy = std::string(function_) + ": " + copy;
    return handler(copy.data(), code);
}

void Call::request_failed(int status)
{
    slot_->endpoint->leave(is_send_);
    ErrorHandler handler = slot_->endpoint->handler();
    lock_.unlock();
    std::string text = std::string("request failed: ") + mx_strstatus(static_cast<mx_status_code_t>(status));
    handler(text.data(), handler_code(status));
}

uint64_t deadline_of(Endpoint &endpoint, uint32_t timeout_ms)
{
    if (timeout_ms == MX_INFINITE)
        return ~uint64_t{0};
    return endpoint.instance().device().now_ns() + uint64_t{timeout_ms} * 1000000;
}

mx_return_t Segments::read_list(const mx_segment_t *segments, uint32_t count, uint64_t &length)
{
    length = 0;
    if (count > MX_MAX_SEGMENTS)
        return MX_BAD_SEG_CNT;
    if (count && !segments)
        return MX_BAD_SEG_LIST;
    Segment *list = few_;
    if (count > std::size(few_)) {
        many_ = std::make_unique<Segment[]>(count);
        list = many_.get();
    }
    for (uint32_t i = 0; i < count; ++i) {
        if (!segments[i].segment_ptr && segments[i].segment_length)
            return MX_BAD_SEG_MEM;
        list[i] = {static_cast<std::byte *>(segments[i].segment_ptr), segments[i].segment_length};
        length += segments[i].segment_length;
    }
    return length > 0xffffffffu ? MX_BAD_SEG_CNT : MX_SUCCESS;
}

} // namespace emx::api
