/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Declarations that the files of the core share with each other and with nobody else.
 */
#ifndef EMX_FW_INTERNAL_H
#define EMX_FW_INTERNAL_H

#include "fw.h"

#define FW_COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))
#define FW_NULL ((void *)0)

/* For what is rare: apart from its callers, which are spared its registers and its stack. */
#define FW_COLD __attribute__((__cold__, __noinline__))
/* The same for what is not rare but longer than the rest of its caller. */
#define FW_NOINLINE __attribute__((__noinline__))
/* Code that nearly every frame runs: kept together, without jumps. */
#define FW_HOT __attribute__((__hot__))
#define FW_LIKELY(x) __builtin_expect(!!(x), 1)
#define FW_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* fw_names.c: the packet types. */
struct fw_type {
	const char *name;
	__u16 received; /* counter */
	__u16 sent; /* counter */
	__u8 refusal; /* type of the NACK for an endpoint that is not open (section 11.1), or 0 */
};

extern const struct fw_type fw_types[EMX_X_PACK + 1];

static inline void fw_zero(void *p, unsigned long n)
{
	__builtin_memset(p, 0, n);
}

/* An empty packet. The name is left alone but for its first byte: this runs for every frame. */
static inline void fw_clear(struct fw_pkt *pkt)
{
	fw_zero(pkt, __builtin_offsetof(struct fw_pkt, name));
	pkt->name[0] = 0;
}

static inline void fw_count(struct emx_counters *c, unsigned int counter)
{
	if (c)
		emx_count(c, counter, 1);
}

static inline int fw_drop(struct fw_fx *fx, int counter)
{
	fx->kind = FW_FX_DROP;
	fx->counter = (__u16)counter;
	return 0;
}

static inline __u64 fw_ns(__u32 ms)
{
	return (__u64)ms * 1000000u;
}

/* Group (multicast or broadcast) bit of the first octet. */
static inline int fw_mac_is_group(__u64 mac)
{
	return (int)(mac >> 40 & 1);
}

/* Tags change while others read them. i: of a published peer. */
static inline __u16 fw_tag(const struct fw_board *b, __u32 i)
{
	return __atomic_load_n(&b->tags->tag[i], __ATOMIC_RELAXED);
}

/* fw_peer.c */
void fw_learn_tag(struct fw_tags *tags, __u32 i, __u16 tag);

/* fw_codec.c: bytes of the fixed body, 0 for a type that does not exist. */
__u32 fw_body_len(const struct fw_sizes *s, __u8 type);

/* fw_codec.c: fw_encode for an eager packet of the library from endpoint `from`. */
__u32 fw_encode_eager(const struct fw_board *b, const struct emx_msg *m, __u8 from,
		      const struct fw_peer *peer, void *hdr);

/*
 * fw_check.c: what fw_check and fw_check_for look at behind the outer header; by dialects of peers,
 * or NULL. Not static, so that it has one name wherever it is placed (libmx/install/hot.ld).
 */
int fw_check_body(const struct fw_sizes *s, const struct fw_peers *peers, __u64 self,
		  const __u8 *frame, __u32 len, struct fw_pkt *pkt);

/* fw_check.c: fw_check_fields for MEDIUM; exponent: of dialect W. */
int fw_check_medium(const struct fw_sizes *s, const struct emx_msg *m, __u8 exponent);

/* The same for TINY and SMALL, which are the whole message. */
static inline int fw_check_small(const struct emx_msg *m)
{
	__u32 limit = m->type == EMX_TINY ? EMX_TINY_MAX : EMX_SMALL_MAX;

	return m->msg_len > limit || m->data_len != m->msg_len ? EMX_CNT_DROP_LENGTH : 0;
}

/*
 * fw_tx.c: turns pkt, whose endpoints and content are set, into the TX effect of a frame from board
 * b to peer number `peer`; into an ANSWER, when any frame may have drawn it.
 */
void fw_tx(const struct fw_board *b, struct fw_pkt *pkt, __u32 peer, struct fw_fx *fx);
FW_COLD void fw_answer(const struct fw_board *b, struct fw_pkt *pkt, __u32 peer, struct fw_fx *fx);
/* The refusal of section 11.1 to the sender of pkt, an EMX_NACK_LIB or MCP, as ANSWER effect. */
FW_COLD void fw_nack(const struct fw_board *b, const struct fw_pkt *pkt, __u8 type, __u8 reason,
		     struct fw_fx *fx);

/* State functions for fw_rx.c's table. Each fills *fx with one effect. */
/* fw_window.c: PULL, X PULL. */
void fw_window_serve(struct fw_endpoint *ep, struct fw_pkt *pkt, __u64 now, struct fw_fx *fx);
/* fw_pull.c: PULL REPLY and X DATA; NACK MCP. */
void fw_pull_answer(struct fw_endpoint *ep, struct fw_pkt *pkt, __u64 now, struct fw_fx *fx);
void fw_pull_refused(struct fw_endpoint *ep, struct fw_pkt *pkt, __u64 now, struct fw_fx *fx);
/* fw_address.c: X ADDRESS. */
void fw_address_heard(struct fw_endpoint *ep, struct fw_pkt *pkt, __u64 now, struct fw_fx *fx);

#endif
