// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// mx_get_info and the internal functions that real clients link against (API specification, 3.12, 4).
#include "libmx/api/call.hpp"
#include "libmx/api/export.hpp"
#include "libmx/api/hooks.hpp"

#include "driver/core/fw.h"

#include "mx_extensions.h"
#include "mx_internals/mx__driver_interface.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

using namespace emx;
using namespace emx::api;

namespace {

/// Where an answer goes: copies it, or gives the code for a place that is missing or too small.
struct Output {
    void *place;
    uint32_t length;

    mx_return_t bytes(const void *data, std::size_t size) const
    {
        if (!place)
            return MX_BAD_INFO_VAL;
        if (length < size)
            return MX_BAD_INFO_LENGTH;
        std::memcpy(place, data, size);
        return MX_SUCCESS;
    }
    mx_return_t number(uint32_t value) const { return bytes(&value, sizeof(value)); }
    mx_return_t text(const std::string &value) const
    {
        if (!place)
            return MX_BAD_INFO_VAL;
        if (length == 0)
            return MX_BAD_INFO_LENGTH;
        std::size_t size = std::min<std::size_t>(value.size(), length - 1);
        std::memcpy(place, value.data(), size);
        static_cast<char *>(place)[size] = '\0';
        return MX_SUCCESS;
    }
};

mx_return_t nic_ids(const std::vector<BoardInfo> &boards, const Output &out)
{
    std::vector<uint64_t> ids;
    for (const BoardInfo &board : boards)
        ids.push_back(board.nic_id);
    if (out.length >= (ids.size() + 1) * sizeof(uint64_t))
        ids.push_back(0); // the terminator, when there is room for it
    return out.bytes(ids.data(), ids.size() * sizeof(uint64_t));
}

mx_return_t counter_labels(const Output &out)
{
    std::vector<char> labels(std::size_t{EMX_CNT_COUNT} * MX_MAX_STR_LEN, '\0');
    for (unsigned i = 0; i < EMX_CNT_COUNT; ++i) {
        std::string label = fw_counter_label(i);
        std::copy_n(label.begin(), std::min<std::size_t>(label.size(), MX_MAX_STR_LEN - 1),
                    labels.begin() + static_cast<std::ptrdiff_t>(i) * MX_MAX_STR_LEN);
    }
    return out.bytes(labels.data(), labels.size());
}

mx_return_t counter_values(Context &context, uint32_t board, const Output &out)
{
    emx_counters counters = context.device().counters(board);
    std::vector<uint32_t> values(counters.v, counters.v + EMX_CNT_COUNT);
    return out.bytes(values.data(), values.size() * sizeof(uint32_t));
}

/// The board a per-board key asks about; a code without calling the handler.
mx_return_t choose_board(Context &context, mx_endpoint_t ep, const void *in, uint32_t in_len,
                         BoardInfo &board)
{
    uint32_t number;
    if (in && in_len == sizeof(uint32_t)) {
        std::memcpy(&number, in, sizeof(number));
    } else if (in && in_len == 1) {
        number = *static_cast<const uint8_t *>(in);
    } else if (!in && ep) {
        Call call(ep);
        if (!call)
            return MX_BAD_ENDPOINT;
        number = call->identity().board.number;
    } else {
        return MX_BAD_INFO_VAL;
    }
    for (const BoardInfo &info : context.device().boards())
        if (info.number == number) {
            board = info;
            return MX_SUCCESS;
        }
    return MX_BOARD_UNKNOWN;
}

/// "MXoE, dialect N=9000": what boards must have in common to understand each other.
std::string dialect_of(const BoardInfo &board)
{
    std::string text = std::string("MXoE, dialect ") + board.dialect;
    return board.dialect_mtu ? text + "=" + std::to_string(board.dialect_mtu) : text;
}

mx_return_t board_info(Context &context, int key, const BoardInfo &board, const Output &out)
{
    switch (key) {
    case MX_COUNTERS_COUNT: return out.number(EMX_CNT_COUNT);
    case MX_COUNTERS_LABELS: return counter_labels(out);
    case MX_COUNTERS_VALUES: return counter_values(context, board.number, out);
    case MX_PRODUCT_CODE: return out.text("EtherMX (" + board.driver + ")");
    case MX_PART_NUMBER: return out.text(dialect_of(board));
    case MX_SERIAL_NUMBER: return out.text("not available");
    case MX_PORT_COUNT: return out.number(1);
    case MX_NUMA_NODE: return out.number(board.numa_node);
    case MX_NET_TYPE: return out.number(MX_NET_ETHER);
    case MX_LINE_SPEED: return out.number(board.dialect == 'W' ? MX_SPEED_10G : MX_SPEED_OPEN_MX);
    default: return MX_BAD_INFO_KEY;
    }
}

mx_return_t info(Context &context, mx_endpoint_t ep, int key, const void *in, uint32_t in_len,
                 const Output &out)
{
    switch (key) {
    case MX_NIC_COUNT: return out.number(static_cast<uint32_t>(context.device().boards().size()));
    case MX_NIC_IDS: return nic_ids(context.device().boards(), out);
    case MX_MAX_NATIVE_ENDPOINTS: {
        uint32_t most = 0;
        for (const BoardInfo &board : context.device().boards())
            most = std::max(most, board.endpoint_max);
        return out.number(most);
    }
    case MX_NATIVE_REQUESTS: return out.number(0xffffffff);
    case MX_PIO_SEND_MAX: return out.number(EMX_SMALL_MAX);
    case MX_COPY_SEND_MAX: {
        auto most = static_cast<uint32_t>(context.conf().rndv_threshold);
        if (context.conf().shared_rndv_threshold)
            most = std::min(most, static_cast<uint32_t>(context.conf().shared_rndv_threshold));
        for (const BoardInfo &board : context.device().boards())
            most = std::min(most, board.medium_max);
        return out.number(most);
    }
    default: break;
    }
    if (key < MX_NIC_COUNT || key > MX_LINE_SPEED)
        return MX_BAD_INFO_KEY;
    BoardInfo board;
    if (mx_return_t code = choose_board(context, ep, in, in_len, board))
        return code;
    return board_info(context, key, board, out);
}

} // namespace

mx_return_t emx::api::select_board(mx_endpoint_t ep, const void *in, uint32_t in_len, BoardInfo &board)
{
    Context *context = process().context.get();
    if (!context)
        return fail(MX_NOT_INITIALIZED, "call mx_init first");
    if (mx_return_t code = choose_board(*context, ep, in, in_len, board))
        return fail(code, "no such board, or no board given");
    return MX_SUCCESS;
}

mx_return_t mx_get_info(mx_endpoint_t ep, mx_get_info_key_t key, void *in, uint32_t in_len, void *out,
                        uint32_t out_len)
{
    try {
        Context *context = process().context.get();
        if (!context)
            return fail(MX_NOT_INITIALIZED, "mx_get_info: call mx_init first");
        mx_return_t code = info(*context, ep, std::bit_cast<int>(key), in, in_len, {out, out_len});
        if (code == MX_SUCCESS)
            return code;
        return fail(code,
                    "mx_get_info: unknown key or board, or the place for the answer is missing or too small");
    } catch (const std::exception &e) {
        return fail(MX_BAD_BAD_BAD, e.what());
    }
}

mx_return_t mx_open_board(int board, mx_endpt_handle_t *handle)
{
    Context *context = process().context.get();
    if (!context)
        return fail(MX_NOT_INITIALIZED, "mx_open_board: call mx_init first");
    for (const BoardInfo &info : context->device().boards())
        if (static_cast<int>(info.number) == board) {
            if (handle)
                *handle = board;
            return MX_SUCCESS;
        }
    return fail(MX_BOARD_UNKNOWN, "mx_open_board: no such board");
}

mx_return_t mx__get_mapper_state(mx_endpt_handle_t, mx_mapper_state_t *state)
{
    Context *context = process().context.get();
    if (!context)
        return fail(MX_NOT_INITIALIZED, "mx__get_mapper_state: call mx_init first");
    if (!state)
        return fail(MX_BAD_BAD_BAD, "mx__get_mapper_state: no place for the state");
    // There is no mapper; all hosts name the same one, since clients compare it between hosts (section 4).
    std::memset(state->mapper_mac, 0, sizeof(state->mapper_mac));
    state->map_version = 1;
    state->network_configured = 1;
    state->routes_valid = 1;
    state->num_hosts = static_cast<uint32_t>(context->device().peers(state->board_number).size());
    state->level = 0;
    state->flags = 0;
    return MX_SUCCESS;
}

/// Called from hooks inside free(): nothing is cached, so there is nothing to drop.
EMX_EXPORT int mx__regcache_clean(void *, size_t) { return 0; }
