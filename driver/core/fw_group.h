/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Frames to a group of endpoints: X GROUP, one frame for all of them (docs/protocol.md, Groups).
 *
 * Such a frame has a group address, for which fw_check drops it: a platform that finds
 * EMX_CNT_DROP_NOT_OURS, or looks at another socket, asks fw_group_check. So no other frame pays
 * for groups. The library orders and repeats; here frames may be lost.
 */
#ifndef EMX_FW_GROUP_H
#define EMX_FW_GROUP_H

#include "fw.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FW_GROUPS EMX_GROUPS_MAX /* that one endpoint is in, at most */
#define FW_X_GROUP_HEADER (EMX_OUTER_LEN + 24)

/* Groups of an endpoint, by key; the platform serialises calls. Zeroed memory: none. */
struct fw_groups {
	__u32 key[FW_GROUPS]; /* 0: free */
};

/* The group's address on the Ethernet: locally administered, made of the key. */
static inline __u64 fw_group_mac(__u32 key)
{
	return (__u64)EMX_X_GROUP_PREFIX << 32 | key;
}

/* True for such an address. */
static inline int fw_is_group_mac(__u64 mac)
{
	return mac >> 32 == EMX_X_GROUP_PREFIX;
}

/* Bytes of data in an X GROUP where frames have that many at most; 0: there are no groups. */
static inline __u32 fw_group_bytes(__u32 frame)
{
	return frame < EMX_FRAME_MIN + FW_X_GROUP_HEADER ? 0 : frame - FW_X_GROUP_HEADER;
}

/* Takes an endpoint into a group, once; 0, or -1 for key 0 and beyond FW_GROUPS. */
int fw_group_join(struct fw_groups *groups, __u32 key);
void fw_group_leave(struct fw_groups *groups, __u32 key);
/* True if it is in that group. */
int fw_group_has(const struct fw_groups *groups, __u32 key);

/*
 * The judge of a frame of len bytes with a group address: 0 with *msg filled as the event for each
 * member (local_ep is 0; match: key << 32 | number; session: the sender's own; data: the payload
 * behind `frame`), or the counter of the reason to drop. Only a peer of the table is heard. A
 * checksum is judged.
 */
int fw_group_check(const struct fw_board *b, const void *frame, __u32 len, struct emx_msg *msg);
static inline __u32 fw_group_key(const struct emx_msg *msg)
{
	return (__u32)(msg->match >> 32);
}

/*
 * Header of a frame to that group with data_len bytes behind it, into hdr (EMX_HEADER_MAX bytes).
 * Returns its length, 0 for key 0 or more data than a frame has. It has no checksum:
 * fw_put_checksum makes one.
 */
__u32 fw_group_encode(const struct fw_endpoint *ep, __u32 key, __u32 number, __u32 data_len,
		      void *hdr);

#ifdef __cplusplus
}
#endif
#endif
