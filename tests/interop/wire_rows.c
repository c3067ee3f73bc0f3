/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Prints tools/wireshark/ethermx_rows.lua, the layout of the Wireshark dissector, from the table of fields. */
#include <stdio.h>

#include "../support/wire_fields.h"

int main(void)
{
	static const char *const parts[] = { "all", "W", "N", "request", "reply", "offer", "state" };
	const struct wire_field *x;

	puts("-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only\n"
	     "-- Made by tests/interop/wire_rows.c from tests/support/wire_fields.h: change that, not this.\n"
	     "-- Packet, part, offset in the body, bytes, key of the field and of the value.\n"
	     "return {");
	for (x = wire_fields; x < wire_fields + WIRE_FIELD_COUNT; x++)
		if (x->type)
			printf("    { %d, \"%s\", %d, %d, \"%s\" },\n", x->type, parts[x->part], x->at - EMX_OUTER_LEN,
			       x->size, x->name);
	puts("}");
	return 0;
}
