/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The messages in an X PACK (docs/protocol.md, Several short messages in one frame): written by the
 * library that sends them, counted by the core that gets the frame, taken out by the library that
 * gets it. Inline, since each message comes by.
 */
#ifndef EMX_FW_PACK_H
#define EMX_FW_PACK_H

#include "fw.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FW_PACKED_HEADER 10u /* bytes in front of the data of each message */

/* Counts the messages that fill exactly `length` bytes; 0: none do. */
static inline __u32 fw_pack_count(const void *messages, __u32 length)
{
	const __u8 *from = (const __u8 *)messages;
	__u32 count = 0, at = 0, bytes;
	struct emx_w_x_packed packed;

	for (; at < length; at += bytes, count++) {
		if (length - at < FW_PACKED_HEADER)
			return 0;
		__builtin_memcpy(&packed, from + at, FW_PACKED_HEADER);
		bytes = FW_PACKED_HEADER + emx_get16(packed.length);
	}
	return at == length ? count : 0;
}

/* Writes what stands in front of a message's data; `to` has room for FW_PACKED_HEADER bytes. */
static inline void fw_pack_put(void *to, const struct emx_msg *msg)
{
	struct emx_w_x_packed packed;

	packed.match = emx_put64(msg->match);
	packed.length = emx_put16((__u16)msg->msg_len);
	__builtin_memcpy(to, &packed, FW_PACKED_HEADER);
}

/* A way through the messages of an X PACK. */
struct fw_unpack {
	const __u8 *at;
	__u32 left; /* messages */
	struct emx_msg msg; /* the one at hand, as if it had come alone */
};

/* Begins with an X PACK that fw_rx accepted, whose payload stays where it is. */
static inline void fw_unpack_begin(struct fw_unpack *u, const struct emx_msg *pack)
{
	u->at = (const __u8 *)(unsigned long)pack->data;
	u->left = pack->u.pack.count;
	u->msg = *pack;
	/* A MEDIUM is its first fragment, and all of it. */
	__builtin_memset(&u->msg.u, 0, sizeof(u->msg.u));
	/* One before the first: low bits count, the session bits on top stay. */
	u->msg.seq = (__u16)((pack->seq & 0xc000) | ((pack->seq - 1) & 0x3fff));
}

/* Takes the next message, which is u->msg then; 0 when there is none. */
static inline int fw_unpack_next(struct fw_unpack *u)
{
	struct emx_w_x_packed packed;
	struct emx_msg *msg = &u->msg;

	if (u->left == 0)
		return 0;
	u->left--;
	__builtin_memcpy(&packed, u->at, FW_PACKED_HEADER);
	msg->seq = (__u16)((msg->seq & 0xc000) | ((msg->seq + 1) & 0x3fff));
	msg->match = emx_get64(packed.match);
	msg->msg_len = emx_get16(packed.length);
	msg->data_len = msg->msg_len;
	msg->type = msg->msg_len <= EMX_TINY_MAX    ? EMX_TINY
		    : msg->msg_len <= EMX_SMALL_MAX ? EMX_SMALL
						    : EMX_MEDIUM;
	msg->data = (__u64)(unsigned long)(u->at + FW_PACKED_HEADER);
	u->at += FW_PACKED_HEADER + msg->msg_len;
	return 1;
}

/*
 * Bytes behind the header of an X PACK between hosts whose longest frame has that many, at most: no
 * more than in an X MEDIUM, so that slots of a receive queue need not be longer.
 */
static inline __u32 fw_x_pack_max(__u32 frame)
{
	return fw_x_frag_max(frame);
}

#ifdef __cplusplus
}
#endif
#endif
