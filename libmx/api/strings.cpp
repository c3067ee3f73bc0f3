// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Texts of the codes of both layers: any value, never NULL, static.
#include "open-mx.h"

#include "myriexpress.h"

#include <bit>
#include <cstddef>

namespace {

struct Text {
    int code;
    const char *text;
};

constexpr Text return_texts[] = {
    {MX_SUCCESS, "success"},
    {MX_BAD_BAD_BAD, "internal error of the library"},
    {MX_FAILURE, "failed, or not supported"},
    {MX_ALREADY_INITIALIZED, "the library is initialized already"},
    {MX_NOT_INITIALIZED, "the library is not initialized"},
    {MX_NO_DEV, "no board can be used"},
    {MX_NO_DRIVER, "the service behind the library does not run"},
    {MX_NO_PERM, "permission denied"},
    {MX_BOARD_UNKNOWN, "no such board on this host"},
    {MX_BAD_ENDPOINT, "not an open endpoint, or endpoint number out of range"},
    {MX_BAD_SEG_LIST, "the segment list is NULL"},
    {MX_BAD_SEG_MEM, "a segment lies in unusable memory"},
    {MX_BAD_SEG_CNT, "too many segments, or the message is too long"},
    {MX_BAD_REQUEST, "not a request that this call accepts"},
    {MX_BAD_MATCH_MASK, "the match information has bits outside its mask"},
    {MX_NO_RESOURCES, "out of memory or table space"},
    {MX_BAD_ADDR_LIST, "bad address list"},
    {MX_BAD_ADDR_COUNT, "bad address count"},
    {MX_BAD_ROOT, "bad root"},
    {MX_NOT_COMPLETED, "operations are pending"},
    {MX_BUSY, "the endpoint is in use"},
    {MX_BAD_INFO_KEY, "unknown information key"},
    {MX_BAD_INFO_VAL, "bad pointer for this information key"},
    {MX_BAD_NIC, "malformed NIC id"},
    {MX_BAD_PARAM_LIST, "the parameter list is NULL"},
    {MX_BAD_PARAM_NAME, "unknown endpoint parameter"},
    {MX_BAD_PARAM_VAL, "endpoint parameter out of range"},
    {MX_BAD_HOSTNAME_ARGS, "host name or result pointer is NULL"},
    {MX_HOST_NOT_FOUND, "host or NIC id is not in the peer table"},
    {MX_REQUEST_PENDING, "the request is pending"},
    {MX_TIMEOUT, "timed out"},
    {MX_NO_MATCH, "no match"},
    {MX_BAD_ENDPOINT_ID, "remote endpoint number out of range"},
    {MX_CONNECTION_FAILED, "the remote endpoint is not open"},
    {MX_BAD_CONNECTION_KEY, "the remote endpoint has another connection key"},
    {MX_BAD_INFO_LENGTH, "the information does not fit into the buffer"},
    {MX_NIC_NOT_FOUND, "the NIC id is not in the peer table"},
    {MX_BAD_KERNEL_VERSION, "the service is older than the library: update it"},
    {MX_BAD_LIB_VERSION, "program, library and service are of different generations"},
    {MX_NIC_DEAD, "the network interface failed or is gone"},
    {MX_CANCEL_NOT_SUPPORTED, "a send cannot be cancelled"},
    {MX_CLOSE_IN_HANDLER, "not possible inside the unexpected handler"},
    {MX_BAD_MATCHING_FOR_CONTEXT_ID_MASK, "the match mask hides bits of the context id"},
    {MX_NOT_SUPPORTED_WITH_CONTEXT_ID, "not supported with context ids"},
};

constexpr Text status_texts[] = {
    {MX_STATUS_SUCCESS, "success"},
    {MX_STATUS_PENDING, "pending"},
    {MX_STATUS_BUFFERED, "buffered"},
    {MX_STATUS_REJECTED, "rejected"},
    {MX_STATUS_TIMEOUT, "the request timed out"},
    {MX_STATUS_TRUNCATED, "the message was longer than the receive buffer"},
    {MX_STATUS_CANCELLED, "cancelled"},
    {MX_STATUS_ENDPOINT_UNKNOWN, "unknown endpoint"},
    {MX_STATUS_ENDPOINT_CLOSED, "the remote endpoint is closed"},
    {MX_STATUS_ENDPOINT_UNREACHABLE, "the remote endpoint does not answer, or was disconnected"},
    {MX_STATUS_BAD_SESSION, "the remote endpoint was opened again since the connect"},
    {MX_STATUS_BAD_KEY, "the remote endpoint has another connection key"},
    {MX_STATUS_BAD_ENDPOINT, "remote endpoint number out of range"},
    {MX_STATUS_BAD_RDMAWIN, "the sender no longer has the message"},
    {MX_STATUS_ABORTED, "the transfer was given up: its memory is gone, here or at the peer"},
    {MX_STATUS_EVENTQ_FULL, "event queue full"},
    {MX_STATUS_NO_RESOURCES, "out of memory or table space here or at the peer"},
};

// Texts that the second layer's list has besides the codes above.
constexpr Text omx_texts[] = {
    {OMX_CANCELLED, "cancelled"},
    {OMX_REMOTE_RDMA_WINDOW_BAD_ID, "the sender no longer has the message"},
    {OMX_REMOTE_ENDPOINT_UNREACHABLE, "the remote endpoint does not answer, or was disconnected"},
    {OMX_REMOTE_ENDPOINT_BAD_SESSION, "the remote endpoint was opened again since the connect"},
    {OMX_MESSAGE_ABORTED, "the transfer was given up: its memory is gone, here or at the peer"},
    {OMX_MESSAGE_TRUNCATED, "the message was longer than the receive buffer"},
    {OMX_NOT_SUPPORTED_IN_HANDLER, "not possible inside the unexpected handler"},
    {OMX_NO_SYSTEM_RESOURCES, "out of memory or table space of the system"},
    {OMX_NOT_IMPLEMENTED, "not implemented"},
};

// Codes are taken as integers: programs pass values outside the enumerations.
template <std::size_t n>
const char *find(const Text (&texts)[n], int code, const char *otherwise)
{
    for (const Text &entry : texts)
        if (entry.code == code)
            return entry.text;
    return otherwise;
}

} // namespace

const char *mx_strerror(mx_return_t code)
{
    return find(return_texts, std::bit_cast<int>(code), "unknown return code");
}

const char *mx_strstatus(mx_status_code_t code)
{
    return find(status_texts, std::bit_cast<int>(code), "unknown status code");
}

const char *omx_strerror(omx_return_t code)
{
    const int value = std::bit_cast<int>(code);
    return find(omx_texts, value, find(return_texts, value, "unknown return code"));
}
