/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Frames of an open endpoint: the session check, and one state function per packet type (wire
 * specification, section 13, rule 8).
 */
#include "fw_internal.h"
#include "fw_pack.h"

/*
 * The answer to a packet whose session is not that of the endpoint (sections 7.7 and 11.1), besides
 * EMX_NACK_LIB and EMX_NACK_MCP.
 */
enum stale { NO_TYPE, UNCHECKED, IGNORE };

static inline void rx_event(const struct fw_pkt *pkt, struct fw_fx *fx)
{
	fx->kind = FW_FX_EVENT;
	fx->u.msg = pkt->msg;
}

static void rx_connect(struct fw_endpoint *ep, struct fw_pkt *pkt, __u64 now, struct fw_fx *fx)
{
	(void)now;
	if (pkt->msg.u.connect.is_reply && pkt->msg.session != ep->session)
		fw_drop(fx, EMX_CNT_DROP_ECHO);
	else
		rx_event(pkt, fx);
}

/* True for an altered X MEDIUM or X PACK that the platform has not judged: it is one piece then. */
static int is_altered(const struct fw_pkt *pkt)
{
	const __u8 *data = (const __u8 *)(unsigned long)pkt->msg.data;
	const __u32 header = pkt->msg.type == EMX_X_PACK ? FW_X_PACK_HEADER : FW_X_MEDIUM_HEADER;

	return !fw_checksum_fits(pkt, data - header, fw_crc32c(0, data, pkt->msg.data_len));
}

static void rx_x_medium(struct fw_endpoint *ep, struct fw_pkt *pkt, __u64 now, struct fw_fx *fx)
{
	(void)now;
	if (!ep->x_frag)
		fw_drop(fx, EMX_CNT_DROP_EXTENSION);
	else if (pkt->msg.data_len > ep->x_frag)
		fw_drop(fx, EMX_CNT_DROP_FRAGMENT);
	else if (pkt->x.checksum && is_altered(pkt))
		fw_drop(fx, EMX_CNT_DROP_CHECKSUM);
	else
		rx_event(pkt, fx);
}

static void rx_x_pack(struct fw_endpoint *ep, struct fw_pkt *pkt, __u64 now, struct fw_fx *fx)
{
	(void)now;
	if (!ep->x_pack)
		fw_drop(fx, EMX_CNT_DROP_EXTENSION);
	else if (pkt->msg.data_len > ep->x_pack)
		fw_drop(fx, EMX_CNT_DROP_LENGTH);
	else if (pkt->x.checksum && is_altered(pkt))
		fw_drop(fx, EMX_CNT_DROP_CHECKSUM);
	else if (fw_pack_count((const void *)(unsigned long)pkt->msg.data, pkt->msg.data_len) !=
		 pkt->msg.u.pack.count)
		fw_drop(fx, EMX_CNT_DROP_LENGTH);
	else
		rx_event(pkt, fx);
}

static const struct {
	/* FW_NULL: the packet is an event for the library as it is */
	void (*receive)(struct fw_endpoint *ep, struct fw_pkt *pkt, __u64 now, struct fw_fx *fx);
	__u8 stale;
} states[] = {
	[EMX_TRUC] = { FW_NULL, IGNORE },
	[EMX_CONNECT] = { rx_connect, UNCHECKED },
	[EMX_TINY] = { FW_NULL, EMX_NACK_LIB },
	[EMX_SMALL] = { FW_NULL, EMX_NACK_LIB },
	[EMX_MEDIUM] = { FW_NULL, EMX_NACK_LIB },
	[EMX_RNDV] = { FW_NULL, EMX_NACK_LIB },
	[EMX_PULL] = { fw_window_serve, EMX_NACK_MCP },
	[EMX_PULL_REPLY] = { fw_pull_answer, UNCHECKED },
	[EMX_NOTIFY] = { FW_NULL, EMX_NACK_LIB },
	[EMX_NACK_LIB] = { FW_NULL, UNCHECKED },
	[EMX_NACK_MCP] = { fw_pull_refused, UNCHECKED },
	[EMX_X_MEDIUM] = { rx_x_medium, EMX_NACK_LIB },
	[EMX_X_REPORT] = { FW_NULL, IGNORE },
	[EMX_X_PULL] = { fw_window_serve, EMX_NACK_MCP },
	[EMX_X_DATA] = { fw_pull_answer, UNCHECKED },
	[EMX_X_ADDRESS] = { fw_address_heard, IGNORE },
	[EMX_X_PACK] = { rx_x_pack, EMX_NACK_LIB },
};

/* The session may be what was altered: then nobody is to be refused. */
static FW_COLD void refuse_stale(const struct fw_endpoint *ep, const struct fw_pkt *pkt, __u8 stale,
				 struct fw_fx *fx)
{
	const int summed = (pkt->msg.type == EMX_X_MEDIUM && ep->x_frag) ||
			   (pkt->msg.type == EMX_X_PACK && ep->x_pack);

	if (summed && pkt->x.checksum && is_altered(pkt))
		fw_drop(fx, EMX_CNT_DROP_CHECKSUM);
	else if (stale == IGNORE)
		fw_drop(fx, EMX_CNT_DROP_SESSION);
	else
		fw_nack(ep->board, pkt, stale, EMX_NACK_BAD_SESSION, fx);
}

/* Nonzero when the packet belongs to another instance of the endpoint; then *fx is filled. */
static int is_stale(const struct fw_endpoint *ep, const struct fw_pkt *pkt, struct fw_fx *fx)
{
	__u8 stale = states[pkt->msg.type].stale;

	if (FW_LIKELY(pkt->msg.session == ep->session) || stale == UNCHECKED)
		return 0;
	refuse_stale(ep, pkt, stale, fx);
	return 1;
}

static inline void receive(struct fw_endpoint *ep, struct fw_pkt *pkt, __u64 now, struct fw_fx *fx)
{
	if (FW_UNLIKELY(states[pkt->msg.type].receive))
		states[pkt->msg.type].receive(ep, pkt, now, fx);
	else
		rx_event(pkt, fx);
}

FW_HOT int fw_rx(struct fw_endpoint *ep, struct fw_pkt *pkt, __u64 now, struct fw_fx *fx)
{
	const __u8 type = pkt->msg.type;

	fx->kind = FW_FX_NONE;
	if (FW_UNLIKELY(type >= FW_COUNT_OF(states) || states[type].stale == NO_TYPE))
		fw_drop(fx, EMX_CNT_DROP_TYPE);
	else if (FW_LIKELY(!is_stale(ep, pkt, fx)))
		receive(ep, pkt, now, fx);
	return ep->queue[FW_READY].length != 0;
}
