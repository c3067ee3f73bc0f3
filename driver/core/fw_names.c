/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names of packet types and counters, for traces, tools and documentation.
 */
#include "fw_internal.h"

static const char *const type_names[] = {
	[EMX_RAW] = "RAW",
	[EMX_HOST_QUERY] = "HOST_QUERY",
	[EMX_HOST_REPLY] = "HOST_REPLY",
	[EMX_TRUC] = "TRUC",
	[EMX_CONNECT] = "CONNECT",
	[EMX_TINY] = "TINY",
	[EMX_SMALL] = "SMALL",
	[EMX_MEDIUM] = "MEDIUM",
	[EMX_RNDV] = "RNDV",
	[EMX_PULL] = "PULL",
	[EMX_PULL_REPLY] = "PULL_REPLY",
	[EMX_NOTIFY] = "NOTIFY",
	[EMX_NACK_LIB] = "NACK_LIB",
	[EMX_NACK_MCP] = "NACK_MCP",
	[EMX_X_MEDIUM] = "X_MEDIUM",
	[EMX_X_REPORT] = "X_REPORT",
	[EMX_X_PULL] = "X_PULL",
	[EMX_X_DATA] = "X_DATA",
};

const char *fw_type_name(unsigned int type)
{
	return type < FW_COUNT_OF(type_names) ? type_names[type] : FW_NULL;
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
