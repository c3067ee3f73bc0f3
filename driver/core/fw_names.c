/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names of packet types and counters, for traces, tools and documentation.
 */
#include "fw_internal.h"

static const char *const type_names[] = {
#define KIND(type, refusal) [EMX_##type] = #type,
	FW_TYPES(KIND)
#undef KIND
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
