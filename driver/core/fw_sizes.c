/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sizes that both ends of a network must share (wire specification, section 5.2).
 */
#include "fw_internal.h"

void fw_sizes_w(struct fw_sizes *s)
{
	fw_zero(s, sizeof(*s));
	s->dialect = FW_DIALECT_W;
	s->frag = 4096;
	s->frags_max = 8;
	s->frag_accept = 4096;
	s->medium_max = s->frag * s->frags_max;
	s->reply = 4096;
	s->block = 8;
	/* the largest frame is a full MEDIUM; an interface's MTU does not count the Ethernet header
	 */
	s->payload_min = EMX_OUTER_LEN + sizeof(struct emx_w_medium) + s->frag - 14;
}

static __u32 medium_frag(__u32 mtu)
{
	__u32 header = EMX_OUTER_LEN + sizeof(struct emx_w_medium);

	if (mtu - header <= 4096)
		return mtu - header;
	return mtu >= 8192 + header ? 8192 : 4096;
}

int fw_sizes_n(struct fw_sizes *s, __u32 mtu)
{
	if (mtu < 256 || mtu > 65535)
		return -1;
	fw_zero(s, sizeof(*s));
	s->dialect = FW_DIALECT_N;
	s->mtu = mtu;
	s->frag = medium_frag(mtu);
	s->frags_max = EMX_FRAGS_MAX;
	for (s->frag_accept = 1; s->frag_accept < s->frag;)
		s->frag_accept *= 2;
	s->medium_max = s->frag * s->frags_max;
	s->reply = mtu - FW_REPLY_HEADER;
	s->block = 32;
	s->payload_min = mtu - 14;
	return 0;
}

FW_COLD int fw_sizes_spoken(struct fw_sizes *s, __u16 speaks)
{
	if (speaks != FW_SPEAKS_W)
		return fw_sizes_n(s, speaks);
	fw_sizes_w(s);
	return 0;
}

static int widen(__u32 *size, __u32 more)
{
	if (*size >= more)
		return 0;
	*size = more;
	return 1;
}

FW_COLD int fw_sizes_widen(struct fw_sizes *s, const struct fw_sizes *more)
{
	int changed = widen(&s->frag, more->frag);

	changed |= widen(&s->frags_max, more->frags_max);
	changed |= widen(&s->frag_accept, more->frag_accept);
	changed |= widen(&s->medium_max, more->medium_max);
	changed |= widen(&s->reply, more->reply);
	changed |= widen(&s->block, more->block);
	changed |= widen(&s->payload_min, more->payload_min);
	return changed;
}
