/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tracepoints of the module, as perf, bpftrace and tracefs show them (docs/tracing.md). Read by
 * trace.c alone, for the macros of the kernel; the module calls the functions of tracing.h.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ethermx

#if !defined(EMX_LINUX_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define EMX_LINUX_TRACE_H

#include <linux/etherdevice.h>
#include <linux/tracepoint.h>

#include "compat.h"
#include "tracing.h"

/* clang-format off */

/* Programs that read the binary form learn the values of these names. */
#define EMX_TRACE_TYPES(X) \
	X(RAW) X(HOST_QUERY) X(HOST_REPLY) X(TRUC) X(CONNECT) X(TINY) X(SMALL) X(MEDIUM) X(RNDV) \
	X(PULL) X(PULL_REPLY) X(NOTIFY) X(NACK_LIB) X(NACK_MCP) X(X_MEDIUM) X(X_REPORT) X(X_PULL) \
	X(X_DATA) X(X_ADDRESS) X(X_PACK)

#define EMX_TRACE_ENUM(name) TRACE_DEFINE_ENUM(EMX_##name);
EMX_TRACE_TYPES(EMX_TRACE_ENUM)

#define EMX_TRACE_TYPE(name) { EMX_##name, #name },
#define emx_trace_type_name(type) \
	__print_symbolic(type, EMX_TRACE_TYPES(EMX_TRACE_TYPE) { 0, "-" })

#define EMX_TRACE_PULLS(X) \
	X(OK) X(BAD_ENDPOINT) X(CLOSED) X(BAD_SESSION) X(BAD_WINDOW) X(TIMEOUT) X(ABORTED)

#define EMX_TRACE_PULL_ENUM(name) TRACE_DEFINE_ENUM(EMX_PULL_##name);
EMX_TRACE_PULLS(EMX_TRACE_PULL_ENUM)
TRACE_DEFINE_ENUM(EMX_TRACE_CANCELLED);

#define EMX_TRACE_PULL(name) { EMX_PULL_##name, #name },
#define emx_trace_pull_name(status) \
	__print_symbolic(status, \
			 EMX_TRACE_PULLS(EMX_TRACE_PULL) { EMX_TRACE_CANCELLED, "CANCELLED" })

TRACE_DEFINE_ENUM(EMX_BY_PROCESSOR);
TRACE_DEFINE_ENUM(EMX_BY_DMA);
TRACE_DEFINE_ENUM(EMX_BY_THREAD);
#define emx_trace_copier_name(by) \
	__print_symbolic(by, { EMX_BY_PROCESSOR, "processor" }, { EMX_BY_DMA, "dma" }, \
			 { EMX_BY_THREAD, "thread" })

/* A frame that the core found right, before it is given to its endpoint or to the board. */
TRACE_EVENT(emx_frame_received,
	TP_PROTO(const struct emx_board *board, const struct sk_buff *skb,
		 const struct fw_pkt *pkt),
	TP_ARGS(board, skb, pkt),
	TP_STRUCT__entry(
		__field(u32, board)
		__array(u8, mac, ETH_ALEN)
		__field(u8, type)
		__field(u8, endpoint)
		__array(u8, peer, ETH_ALEN)
		__field(u8, peer_endpoint)
		__field(u32, length)
		__field(u32, data)
		__field(u32, handle)
	),
	TP_fast_assign(
		__entry->board = board->number;
		u64_to_ether_addr(board->fw.mac, __entry->mac);
		__entry->type = pkt->msg.type;
		__entry->endpoint = pkt->msg.local_ep;
		u64_to_ether_addr(pkt->src_mac, __entry->peer);
		__entry->peer_endpoint = pkt->msg.remote_ep;
		__entry->length = skb->len;
		__entry->data = pkt->msg.data_len;
		__entry->handle = pkt->handle;
	),
	TP_printk("board=%u mac=%pM endpoint=%u peer=%pM/%u type=%s length=%u data=%u handle=%08x",
		  __entry->board, __entry->mac, __entry->endpoint, __entry->peer,
		  __entry->peer_endpoint, emx_trace_type_name(__entry->type), __entry->length,
		  __entry->data, __entry->handle)
);

/* A frame that goes no further, or a request that draws no answer; by the name of its counter. */
TRACE_EVENT(emx_frame_dropped,
	TP_PROTO(const struct emx_board *board, int endpoint, u64 peer, u8 type, u32 length,
		 u32 reason),
	TP_ARGS(board, endpoint, peer, type, length, reason),
	TP_STRUCT__entry(
		__field(u32, board)
		__array(u8, mac, ETH_ALEN)
		__field(u8, type)
		__field(s16, endpoint)
		__array(u8, peer, ETH_ALEN)
		__field(u32, length)
		__field(u32, reason)
		__string(name, fw_counter_label(reason))
	),
	TP_fast_assign(
		__entry->board = board->number;
		u64_to_ether_addr(board->fw.mac, __entry->mac);
		__entry->type = type;
		__entry->endpoint = endpoint;
		u64_to_ether_addr(peer, __entry->peer);
		__entry->length = length;
		__entry->reason = reason;
		emx_assign_str(name, fw_counter_label(reason));
	),
	TP_printk("board=%u mac=%pM endpoint=%d peer=%pM type=%s length=%u reason=%u %s",
		  __entry->board, __entry->mac, __entry->endpoint, __entry->peer,
		  emx_trace_type_name(__entry->type), __entry->length, __entry->reason,
		  __get_str(name))
);

/* A large message begins to be fetched. */
TRACE_EVENT(emx_pull_started,
	TP_PROTO(const struct emx_endpoint *ep, const struct fw_pull *pull, u64 peer),
	TP_ARGS(ep, pull, peer),
	TP_STRUCT__entry(
		__field(u32, board)
		__array(u8, mac, ETH_ALEN)
		__field(u8, endpoint)
		__field(u8, extension)
		__array(u8, peer, ETH_ALEN)
		__field(u8, peer_endpoint)
		__field(u32, handle)
		__field(u32, length)
	),
	TP_fast_assign(
		__entry->board = ep->board->number;
		u64_to_ether_addr(ep->board->fw.mac, __entry->mac);
		__entry->endpoint = ep->fw->number;
		__entry->extension = pull->is_x;
		u64_to_ether_addr(peer, __entry->peer);
		__entry->peer_endpoint = pull->remote_ep;
		__entry->handle = pull->handle;
		__entry->length = pull->total;
	),
	TP_printk("board=%u mac=%pM endpoint=%u peer=%pM/%u handle=%08x length=%u by=%s",
		  __entry->board, __entry->mac, __entry->endpoint, __entry->peer,
		  __entry->peer_endpoint, __entry->handle, __entry->length,
		  __entry->extension ? "X_PULL" : "PULL")
);

/*
 * It has ended: all that will come is here. What a DMA engine or the thread of loose regions still
 * has to copy is copied before its program hears of the end.
 */
TRACE_EVENT(emx_pull_ended,
	TP_PROTO(const struct emx_endpoint *ep, const struct fw_pull *pull, u64 peer, u8 status),
	TP_ARGS(ep, pull, peer, status),
	TP_STRUCT__entry(
		__field(u32, board)
		__array(u8, mac, ETH_ALEN)
		__field(u8, endpoint)
		__field(u8, status)
		__array(u8, peer, ETH_ALEN)
		__field(u8, peer_endpoint)
		__field(u32, handle)
		__field(u32, length)
		__field(u32, received)
	),
	TP_fast_assign(
		__entry->board = ep->board->number;
		u64_to_ether_addr(ep->board->fw.mac, __entry->mac);
		__entry->endpoint = ep->fw->number;
		__entry->status = status;
		u64_to_ether_addr(peer, __entry->peer);
		__entry->peer_endpoint = pull->remote_ep;
		__entry->handle = pull->handle;
		__entry->length = pull->total;
		__entry->received = pull->received;
	),
	TP_printk("board=%u mac=%pM endpoint=%u peer=%pM/%u handle=%08x length=%u received=%u status=%s",
		  __entry->board, __entry->mac, __entry->endpoint, __entry->peer,
		  __entry->peer_endpoint, __entry->handle, __entry->length, __entry->received,
		  emx_trace_pull_name(__entry->status))
);

/* The data of one frame has come to its place in the memory of the program. */
TRACE_EVENT(emx_frame_copied,
	TP_PROTO(const struct emx_endpoint *ep, u32 handle, u64 position, u32 length, u8 by),
	TP_ARGS(ep, handle, position, length, by),
	TP_STRUCT__entry(
		__field(u32, board)
		__array(u8, mac, ETH_ALEN)
		__field(u8, endpoint)
		__field(u8, by)
		__field(u32, handle)
		__field(u64, position)
		__field(u32, length)
	),
	TP_fast_assign(
		__entry->board = ep->board->number;
		u64_to_ether_addr(ep->board->fw.mac, __entry->mac);
		__entry->endpoint = ep->fw->number;
		__entry->by = by;
		__entry->handle = handle;
		__entry->position = position;
		__entry->length = length;
	),
	TP_printk("board=%u mac=%pM endpoint=%u handle=%08x position=%llu length=%u by=%s",
		  __entry->board, __entry->mac, __entry->endpoint, __entry->handle,
		  __entry->position, __entry->length, emx_trace_copier_name(__entry->by))
);

/* A program has an endpoint, and has it no more. */
DECLARE_EVENT_CLASS(emx_endpoint,
	TP_PROTO(const struct emx_endpoint *ep),
	TP_ARGS(ep),
	TP_STRUCT__entry(
		__field(u32, board)
		__array(u8, mac, ETH_ALEN)
		__field(u8, endpoint)
		__field(u32, session)
		__field(pid_t, process)
		__array(char, command, TASK_COMM_LEN)
	),
	TP_fast_assign(
		__entry->board = ep->board->number;
		u64_to_ether_addr(ep->board->fw.mac, __entry->mac);
		__entry->endpoint = ep->fw->number;
		__entry->session = ep->fw->session;
		__entry->process = ep->tgid;
		memcpy(__entry->command, ep->command, TASK_COMM_LEN);
	),
	TP_printk("board=%u mac=%pM endpoint=%u session=%08x process=%d command=%s",
		  __entry->board, __entry->mac, __entry->endpoint, __entry->session,
		  __entry->process, __entry->command)
);

DEFINE_EVENT(emx_endpoint, emx_endpoint_opened,
	TP_PROTO(const struct emx_endpoint *ep),
	TP_ARGS(ep)
);

DEFINE_EVENT(emx_endpoint, emx_endpoint_closed,
	TP_PROTO(const struct emx_endpoint *ep),
	TP_ARGS(ep)
);

/* clang-format on */

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
