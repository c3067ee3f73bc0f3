/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Records which fragments of a MEDIUM message are here (wire specification, section 9).
 *
 * All fragments but the last have one size, the unit, and fragment i lies at i times that size.
 * Once one fragment has shown the unit, the others must fit it: then different numbers never
 * overlap, and the sizes add up to the message only when every byte is there.
 */
#include "fw_internal.h"

/* The unit that a fragment of a longer message shows; 0 when it shows an impossible one. */
static __u32 unit_of(__u32 msg_len, __u32 frag, __u32 position, __u32 length)
{
	__u32 unit = frag ? position / frag : length;

	if (length == 0 || position != frag * unit || length > unit)
		return 0;
	return position + length < msg_len && length != unit ? 0 : unit;
}

int fw_reasm_add(struct fw_reasm *r, __u32 msg_len, __u32 frag, __u32 position, __u32 length)
{
	__u32 unit = length;

	if (frag >= EMX_FRAGS_MAX || (__u64)position + length > msg_len)
		return -1;
	if (length == msg_len && frag)
		return -1;
	if (length < msg_len)
		unit = unit_of(msg_len, frag, position, length);
	if (length < msg_len && unit == 0)
		return -1;
	if (r->frags && (r->msg_len != msg_len || r->unit != unit))
		return -1;
	if (r->frags & 1u << frag)
		return 0;
	r->msg_len = msg_len;
	r->unit = unit;
	r->frags |= 1u << frag;
	r->received += length;
	return 1;
}
