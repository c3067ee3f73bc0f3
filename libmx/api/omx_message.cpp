// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The second layer: sending, receiving, probing.
#include "libmx/api/hooks.hpp"
#include "libmx/api/omx_convert.hpp"

#include <limits>

using emx::omx::asked;
using emx::omx::code;
using emx::omx::mx;

namespace {

constexpr std::size_t length_max = std::numeric_limits<uint32_t>::max();

/// Posts one buffer as the only segment; `post` gets it.
template <typename Post>
omx_return_t one_buffer(void *buffer, std::size_t length, const char *too_long, Post post)
{
    if (length > length_max)
        return code(emx::api::fail(MX_BAD_SEG_CNT, too_long));
    mx_segment_t segment = {buffer, static_cast<uint32_t>(length)};
    return code(post(&segment));
}

} // namespace

omx_return_t omx_isend(omx_endpoint_t ep, void *buffer, size_t length, omx_endpoint_addr_t dest,
                       uint64_t match_info, void *context, omx_request_t *request)
{
    return one_buffer(buffer, length, "omx_isend: a message has at most 2^32 - 1 bytes",
                      [&](mx_segment_t *segment) {
                          return mx_isend(mx(ep), segment, 1, mx(dest), match_info, context, mx(request));
                      });
}

omx_return_t omx_issend(omx_endpoint_t ep, void *buffer, size_t length, omx_endpoint_addr_t dest,
                        uint64_t match_info, void *context, omx_request_t *request)
{
    return one_buffer(buffer, length, "omx_issend: a message has at most 2^32 - 1 bytes",
                      [&](mx_segment_t *segment) {
                          return mx_issend(mx(ep), segment, 1, mx(dest), match_info, context, mx(request));
                      });
}

omx_return_t omx_irecv(omx_endpoint_t ep, void *buffer, size_t length, uint64_t match_info,
                       uint64_t match_mask, void *context, omx_request_t *request)
{
    return one_buffer(buffer, length, "omx_irecv: a message has at most 2^32 - 1 bytes",
                      [&](mx_segment_t *segment) {
                          return mx_irecv(mx(ep), segment, 1, match_info, match_mask, context, mx(request));
                      });
}

omx_return_t omx_isendv(omx_endpoint_t ep, omx_seg_t *segs, uint32_t nseg, omx_endpoint_addr_t dest,
                        uint64_t match_info, void *context, omx_request_t *request)
{
    return code(mx_isend(mx(ep), mx(segs), nseg, mx(dest), match_info, context, mx(request)));
}

omx_return_t omx_issendv(omx_endpoint_t ep, omx_seg_t *segs, uint32_t nseg, omx_endpoint_addr_t dest,
                         uint64_t match_info, void *context, omx_request_t *request)
{
    return code(mx_issend(mx(ep), mx(segs), nseg, mx(dest), match_info, context, mx(request)));
}

omx_return_t omx_irecvv(omx_endpoint_t ep, omx_seg_t *segs, uint32_t nseg, uint64_t match_info,
                        uint64_t match_mask, void *context, omx_request_t *request)
{
    return code(mx_irecv(mx(ep), mx(segs), nseg, match_info, match_mask, context, mx(request)));
}

omx_return_t omx_iprobe(omx_endpoint_t ep, uint64_t match_info, uint64_t match_mask, omx_status_t *status,
                        uint32_t *result)
{
    return asked(status, result, [&](mx_status_t *found) {
        return mx_iprobe(mx(ep), match_info, match_mask, found, result);
    });
}

omx_return_t omx_probe(omx_endpoint_t ep, uint64_t match_info, uint64_t match_mask, omx_status_t *status,
                       uint32_t *result, uint32_t timeout)
{
    if (timeout == 0)
        return omx_iprobe(ep, match_info, match_mask, status, result);
    return asked(status, result, [&](mx_status_t *found) {
        return mx_probe(mx(ep), emx::omx::timeout(timeout), match_info, match_mask, found, result);
    });
}
