// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Groups: one frame for all members on other hosts (mx_extensions.h; docs/protocol.md, Groups).
#include "libmx/api/call.hpp"
#include "libmx/group/inbox.hpp"

#include "mx_extensions.h"

#include <algorithm>
#include <cstring>

using namespace emx;
using namespace emx::api;

mx_return_t mx_group_limit(mx_endpoint_t ep, uint32_t *bytes)
{
    return on_endpoint("mx_group_limit", ep, [&](Call &call) {
        *bytes = call->port().group_bytes();
        return call.done();
    });
}

mx_return_t mx_group_join(mx_endpoint_t ep, uint32_t key)
{
    return on_endpoint("mx_group_join", ep, [&](Call &call) {
        if (key == 0 || call->port().group_bytes() == 0)
            return call.fail(MX_BAD_CONNECTION_KEY, key ? call->port().why_no_groups() : "0 is no key");
        call->groups(); // before the first frame
        DeviceError error;
        if (!call->port().join_group(key, error))
            return call.fail(static_cast<mx_return_t>(error.code), error.text.c_str());
        return call.done();
    });
}

mx_return_t mx_group_leave(mx_endpoint_t ep, uint32_t key)
{
    return on_endpoint("mx_group_leave", ep, [&](Call &call) {
        call->port().leave_group(key);
        call->groups().drop(key);
        return call.done();
    });
}

mx_return_t mx_group_send(mx_endpoint_t ep, uint32_t key, uint32_t number, const void *data, uint32_t length)
{
    return on_endpoint("mx_group_send", ep, [&](Call &call) {
        if (call->port().group_bytes() == 0)
            return call.fail(MX_BAD_SEG_MEM, call->port().why_no_groups());
        if (key == 0 || length > call->port().group_bytes())
            return call.fail(MX_BAD_SEG_MEM, "no key, or more bytes than mx_group_limit tells");
        std::byte *copy = call->groups().to_send({static_cast<const std::byte *>(data), length});
        const bool summed = call->instance().conf().checksum != 0;
        call->port().send_group(key, number, copy, length, summed); // one that does not leave is a lost one
        return call.done();
    });
}

mx_return_t mx_group_receive(mx_endpoint_t ep, uint32_t key, void *buffer, uint32_t room,
                             mx_group_status_t *status, uint32_t *result)
{
    return on_endpoint("mx_group_receive", ep, [&](Call &call) {
        GroupInbox &inbox = call->groups();
        const GroupInbox::Frame *frame = inbox.first(key);
        if (!frame && !call->inside_handler()) {
            call->progress(Driver::application);
            frame = inbox.first(key);
        }
        *result = frame != nullptr;
        if (!frame)
            return call.done();
        const auto length = static_cast<uint32_t>(frame->data.size());
        *status = {frame->nic_id, frame->endpoint, frame->session, frame->number, length};
        if (length > 0 && room > 0)
            std::memcpy(buffer, frame->data.data(), std::min(length, room));
        inbox.pop(key);
        return call.done();
    });
}
