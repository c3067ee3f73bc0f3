// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The second layer: omx_get_info and its own keys (spec 10.1).
#include "libmx/api/hooks.hpp"
#include "libmx/api/omx_convert.hpp"

#include <emx/abi.h>

#include <cstring>
#include <string_view>

using emx::omx::code;
using emx::omx::mx;

namespace {

constexpr uint32_t board_max = 32;

constexpr const char *label_table[] = {
#define EMX_LABEL(id, label, help) label,
    EMX_COUNTERS(EMX_LABEL)
#undef EMX_LABEL
};

struct OmxOutput {
    void *data;
    uint32_t length;

    omx_return_t value(uint32_t value) const
    {
        if (!data)
            return fail(MX_BAD_INFO_VAL, "omx_get_info: the output pointer is NULL");
        if (length < sizeof(value))
            return fail(MX_BAD_INFO_LENGTH, "omx_get_info: the output needs 4 bytes");
        std::memcpy(data, &value, sizeof(value));
        return OMX_SUCCESS;
    }

    /// Cut to fit, always terminated.
    omx_return_t string(std::string_view text) const
    {
        if (!data)
            return fail(MX_BAD_INFO_VAL, "omx_get_info: the output pointer is NULL");
        if (length == 0)
            return fail(MX_BAD_INFO_LENGTH, "omx_get_info: the output has no room");
        const std::size_t n = text.copy(static_cast<char *>(data), length - 1);
        static_cast<char *>(data)[n] = '\0';
        return OMX_SUCCESS;
    }

    static omx_return_t fail(mx_return_t mx_code, const char *text)
    {
        return code(emx::api::fail(mx_code, text));
    }
};

omx_return_t board_string(omx_endpoint_t ep, const void *in, uint32_t in_len, const OmxOutput &out,
                          std::string emx::BoardInfo::*member)
{
    emx::BoardInfo board;
    const mx_return_t ret = emx::api::select_board(mx(ep), in, in_len, board);
    return ret == MX_SUCCESS ? out.string(board.*member) : code(ret);
}

omx_return_t counter_label(const void *in, uint32_t in_len, const OmxOutput &out)
{
    if (!in || in_len < 1)
        return OmxOutput::fail(MX_BAD_INFO_VAL, "omx_get_info: give the counter's number as one byte");
    uint8_t number;
    std::memcpy(&number, in, sizeof(number));
    if (number >= EMX_CNT_COUNT)
        return OmxOutput::fail(MX_BAD_INFO_VAL, "omx_get_info: no counter has this number");
    return out.string(label_table[number]);
}

} // namespace

omx_return_t omx_get_info(omx_endpoint_t ep, enum omx_info_key key, const void *in_val, uint32_t in_len,
                          void *out_val, uint32_t out_len)
{
    // Answers every key only between init and finalize.
    uint32_t unused;
    const mx_return_t ready = mx_get_info(mx(ep), MX_NATIVE_REQUESTS, nullptr, 0, &unused, sizeof(unused));
    if (ready != MX_SUCCESS)
        return code(ready);

    const OmxOutput out = {out_val, out_len};
    const auto ask = [&](mx_get_info_key_t mx_key) {
        return code(mx_get_info(mx(ep), mx_key, const_cast<void *>(in_val), in_len, out_val, out_len));
    };
    switch (std::bit_cast<int>(key)) {
    case OMX_INFO_BOARD_MAX: return out.value(board_max);
    case OMX_INFO_ENDPOINT_MAX: return ask(MX_MAX_NATIVE_ENDPOINTS);
    case OMX_INFO_BOARD_COUNT: return ask(MX_NIC_COUNT);
    case OMX_INFO_BOARD_IDS: return ask(MX_NIC_IDS);
    case OMX_INFO_BOARD_HOSTNAME: return board_string(ep, in_val, in_len, out, &emx::BoardInfo::host_name);
    case OMX_INFO_BOARD_IFACENAME: return board_string(ep, in_val, in_len, out, &emx::BoardInfo::interface);
    case OMX_INFO_BOARD_NUMA_NODE: return ask(MX_NUMA_NODE);
    case OMX_INFO_COUNTER_MAX: return out.value(EMX_CNT_COUNT);
    case OMX_INFO_COUNTER_VALUES: return ask(MX_COUNTERS_VALUES);
    case OMX_INFO_COUNTER_LABEL: return counter_label(in_val, in_len, out);
    }
    return OmxOutput::fail(MX_BAD_INFO_KEY, "omx_get_info: unknown key");
}
