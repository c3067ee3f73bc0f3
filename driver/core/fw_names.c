/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The packet types, and names of types and counters for traces, tools and documentation.
 */
#include "fw_internal.h"

/* clang-format off */
#define KIND(type, refusal) \
	[EMX_##type] = { #type, EMX_CNT_RX_##type, EMX_CNT_TX_##type, refusal }

const struct fw_type fw_types[] = {
	KIND(RAW, 0), KIND(HOST_QUERY, 0), KIND(HOST_REPLY, 0), KIND(TRUC, 0),
	KIND(CONNECT, EMX_NACK_LIB), KIND(TINY, EMX_NACK_LIB), KIND(SMALL, EMX_NACK_LIB),
	KIND(MEDIUM, EMX_NACK_LIB), KIND(RNDV, EMX_NACK_LIB), KIND(PULL, EMX_NACK_MCP),
	KIND(PULL_REPLY, 0), KIND(NOTIFY, EMX_NACK_LIB), KIND(NACK_LIB, 0), KIND(NACK_MCP, 0),
	KIND(X_MEDIUM, EMX_NACK_LIB), KIND(X_REPORT, 0), KIND(X_PULL, EMX_NACK_MCP),
	KIND(X_DATA, 0), KIND(X_ADDRESS, 0), KIND(X_PACK, EMX_NACK_LIB),
};

/* clang-format on */

const char *fw_type_name(unsigned int type)
{
	return type < FW_COUNT_OF(fw_types) ? fw_types[type].name : FW_NULL;
}

static const struct {
	const char *label;
	const char *help;
} counters[] = {
#define COUNTER_ROW(id, label, help) { label, help },
	EMX_COUNTERS(COUNTER_ROW)
#undef COUNTER_ROW
};

const char *fw_counter_label(unsigned int counter)
{
	return counter < FW_COUNT_OF(counters) ? counters[counter].label : FW_NULL;
}

const char *fw_counter_help(unsigned int counter)
{
	return counter < FW_COUNT_OF(counters) ? counters[counter].help : FW_NULL;
}
