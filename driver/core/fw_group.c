/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Frames to a group of endpoints, and the groups that an endpoint is in. See fw_group.h.
 */
#include "fw_group.h"

#include "fw_internal.h"

#define DATA_MAX (65535 - FW_X_GROUP_HEADER)

/* ---- membership ---- */

int fw_group_has(const struct fw_groups *groups, __u32 key)
{
	__u32 i;

	for (i = 0; key && i < FW_GROUPS; i++)
		if (groups->key[i] == key)
			return 1;
	return 0;
}

int fw_group_join(struct fw_groups *groups, __u32 key)
{
	__u32 i;

	if (!key || fw_group_has(groups, key))
		return key ? 0 : -1;
	for (i = 0; i < FW_GROUPS; i++) {
		if (groups->key[i])
			continue;
		groups->key[i] = key;
		return 0;
	}
	return -1;
}

void fw_group_leave(struct fw_groups *groups, __u32 key)
{
	__u32 i;

	for (i = 0; i < FW_GROUPS; i++)
		if (groups->key[i] == key)
			groups->key[i] = 0;
}

/* ---- frames ---- */

/* The outer header; *tag tells where to look for the sender first. */
static int read_group_outer(const struct fw_board *b, const void *frame, __u64 *source, __u16 *tag)
{
	const struct emx_outer_pair *outer = frame;
	const __u64 first = emx_get64(outer->first);
	const __u64 second = emx_get64(outer->second);

	if ((second >> 16 & 0xffff) != EMX_ETHERTYPE)
		return EMX_CNT_DROP_ETHERTYPE;
	if (!fw_is_group_mac(first >> 16))
		return EMX_CNT_DROP_NOT_OURS;
	*source = (first & 0xffff) << 32 | second >> 32;
	*tag = (__u16)second;
	if (*source == 0 || fw_mac_is_group(*source) || *source == b->mac)
		return EMX_CNT_DROP_BAD_SOURCE;
	return 0;
}

static int has_wrong_sum(const __u8 *frame, __u32 sum, __u32 data_len)
{
	return sum && sum != fw_checksum(frame, fw_crc32c(0, frame + FW_X_GROUP_HEADER, data_len));
}

/* The body: what it says of itself is what its address and its length say. */
static int read_group_body(const __u8 *frame, __u32 len, struct emx_msg *msg)
{
	const struct emx_w_x_group *body = (const void *)(frame + EMX_OUTER_LEN);
	const __u32 key = emx_get32(body->key);

	if (body->type != EMX_X_GROUP)
		return EMX_CNT_DROP_TYPE;
	if (fw_group_mac(key) != emx_get_mac(frame) || key == 0)
		return EMX_CNT_DROP_GROUP;
	if (emx_get32(body->session) == EMX_SESSION_NONE)
		return EMX_CNT_DROP_GROUP;
	fw_zero(msg, sizeof(*msg));
	msg->type = EMX_X_GROUP;
	msg->remote_ep = body->src_ep;
	msg->session = emx_get32(body->session);
	msg->match = (__u64)key << 32 | emx_get32(body->number);
	msg->msg_len = emx_get16(body->length);
	msg->data_len = msg->msg_len;
	msg->data = (__u64)(unsigned long)(frame + FW_X_GROUP_HEADER);
	if (FW_X_GROUP_HEADER + msg->data_len > len)
		return EMX_CNT_DROP_LENGTH;
	return has_wrong_sum(frame, emx_get32(body->checksum), msg->data_len)
		       ? EMX_CNT_DROP_CHECKSUM
		       : 0;
}

int fw_group_check(const struct fw_board *b, const void *frame, __u32 len, struct emx_msg *msg)
{
	__u64 source = 0;
	__u16 tag = 0;
	int why, peer;

	if (len < EMX_FRAME_MIN)
		return EMX_CNT_DROP_SHORT;
	why = read_group_outer(b, frame, &source, &tag);
	if (!why)
		why = read_group_body(frame, len, msg);
	if (why)
		return why;
	peer = fw_peer_find(b->peers, source, tag);
	if (peer < 0)
		return EMX_CNT_DROP_UNKNOWN_PEER;
	msg->peer = (__u32)peer;
	return 0;
}

__u32 fw_group_encode(const struct fw_endpoint *ep, __u32 key, __u32 number, __u32 data_len,
		      void *hdr)
{
	struct emx_outer_pair *outer = hdr;
	struct emx_w_x_group *body = (void *)((__u8 *)hdr + EMX_OUTER_LEN);
	const __u64 to = fw_group_mac(key), from = ep->board->mac;

	if (!key || data_len > DATA_MAX)
		return 0;
	outer->first = emx_put64(to << 16 | from >> 32);
	outer->second = emx_put64(from << 32 | (__u64)EMX_ETHERTYPE << 16 | EMX_TAG_NONE);
	fw_zero(body, sizeof(*body));
	body->type = EMX_X_GROUP;
	body->src_ep = ep->number;
	body->session = emx_put32(ep->session);
	body->key = emx_put32(key);
	body->number = emx_put32(number);
	body->length = emx_put16((__u16)data_len);
	return FW_X_GROUP_HEADER;
}
