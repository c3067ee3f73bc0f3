/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Frames of an open endpoint: the session check, and one state function per packet type (wire
 * specification, section 13, rule 8).
 */
#include "fw_internal.h"

/* The answer to a packet whose session is not that of the endpoint (sections 7.7 and 11.1). */
enum stale { NO_TYPE, UNCHECKED, REFUSE_LIB, REFUSE_MCP, IGNORE };

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

/* True for an altered X MEDIUM that its host has not judged: it is one piece then. */
static int is_altered(const struct fw_pkt *pkt)
{
	const __u8 *data = (const __u8 *)(unsigned long)pkt->msg.data;

	return !fw_checksum_fits(pkt, data - FW_X_MEDIUM_HEADER,
				 fw_crc32c(0, data, pkt->msg.data_len));
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

static const struct {
	/* FW_NULL: the packet is an event for the library as it is */
	void (*receive)(struct fw_endpoint *ep, struct fw_pkt *pkt, __u64 now, struct fw_fx *fx);
	__u8 stale; /* enum stale */
} states[] = {
	[EMX_TRUC] = { FW_NULL, IGNORE },
	[EMX_CONNECT] = { rx_connect, UNCHECKED },
	[EMX_TINY] = { FW_NULL, REFUSE_LIB },
	[EMX_SMALL] = { FW_NULL, REFUSE_LIB },
	[EMX_MEDIUM] = { FW_NULL, REFUSE_LIB },
	[EMX_RNDV] = { FW_NULL, REFUSE_LIB },
	[EMX_PULL] = { fw_pull_serve, REFUSE_MCP },
	[EMX_PULL_REPLY] = { fw_pull_reply, UNCHECKED },
	[EMX_NOTIFY] = { FW_NULL, REFUSE_LIB },
	[EMX_NACK_LIB] = { FW_NULL, UNCHECKED },
	[EMX_NACK_MCP] = { fw_pull_refused, UNCHECKED },
	[EMX_X_MEDIUM] = { rx_x_medium, REFUSE_LIB },
	[EMX_X_REPORT] = { FW_NULL, IGNORE },
	[EMX_X_PULL] = { fw_xpull_serve, REFUSE_MCP },
	[EMX_X_DATA] = { fw_xpull_data, UNCHECKED },
};

/* The session may be what was altered: then nobody is to be refused. */
static FW_COLD void refuse_stale(const struct fw_endpoint *ep, const struct fw_pkt *pkt, __u8 stale,
				 struct fw_fx *fx)
{
	if (pkt->msg.type == EMX_X_MEDIUM && ep->x_frag && pkt->x.checksum && is_altered(pkt))
		fw_drop(fx, EMX_CNT_DROP_CHECKSUM);
	else if (stale == REFUSE_LIB)
		fw_nack_lib(ep->board, pkt, EMX_NACK_BAD_SESSION, fx);
	else if (stale == REFUSE_MCP)
		fw_nack_mcp(ep->board, pkt, EMX_NACK_BAD_SESSION, fx);
	else
		fw_drop(fx, EMX_CNT_DROP_SESSION);
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
	return ep->list_length != 0;
}
