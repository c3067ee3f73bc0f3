/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Decides which frames of a message to ask for by X PULL, and when again (docs/protocol.md, the
 * EtherMX extension).
 *
 * The place of a frame in the order of answers is the number of the newest request for it, and
 * within that the number of the frame. A frame is lost when FW_X_REORDER answers have come since
 * one from a later place. It is then marked, counts as under way no longer, and goes into one of
 * the next requests, which are sets of frames: lost and new ones together. An answer tells the
 * request that it belongs to, so a late first answer is not taken for that to the repeat. An answer
 * to a request that the timer made shows at once what is lost before it: no reordering lasts that
 * long.
 *
 * What the numbers of answers claim decides only what is asked for when. A forged one costs
 * needless repeats, or leaves a repeat to the timer.
 */
#include "fw_xpull.h"

#define WANT_BITS (8u * EMX_X_WANT_LEN)
#define OVERTAKEN 0x8000000000000000ull

/* ---- bitmaps of frames base .. asked ---- */

static int x_get_bit(const __u32 *map, __u32 frame)
{
	return map[frame % FW_X_SPAN / 32] >> frame % 32 & 1;
}

static void x_set_bit(__u32 *map, __u32 frame, int value)
{
	__u32 bit = 1u << frame % 32;
	__u32 *word = &map[frame % FW_X_SPAN / 32];

	*word = value ? *word | bit : *word & ~bit;
}

static int x_missing(const struct fw_xpull *x, __u32 k)
{
	return !x_get_bit(x->got, k) && !x_get_bit(x->mark, k);
}

/* ---- geometry ---- */

static __u32 x_length(const struct fw_pull *p, const struct fw_xpull *x, __u32 k)
{
	__u32 left = p->total - k * x->unit;

	return left < x->unit ? left : x->unit;
}

/* ---- order ---- */

static __u64 x_place(__u32 request, __u32 frame)
{
	return (__u64)request << 32 | frame;
}

/* The number of a request of which 16 bits are known: the newest that has them. */
static __u32 whole_number(const struct fw_xpull *x, __u16 bits)
{
	return x->request - (__u16)(x->request - bits);
}

static __u64 place_of(const struct fw_xpull *x, __u32 k)
{
	return x_place(whole_number(x, x->by[k % FW_X_SPAN]), k);
}

/* True if the frames that are missing were asked for in the order of their numbers. */
static int is_ordered(const struct fw_pull *p, const struct fw_xpull *x)
{
	return p->base >= x->mixed;
}

/* ---- answers ---- */

/* Takes note of an answer; what is missing from before the place returned is lost. */
static __u64 x_learn_order(struct fw_xpull *x, __u32 request, __u32 k)
{
	__u64 limit = x->history[x->history_at];

	if (x->seen < x_place(request, k))
		x->seen = x_place(request, k);
	x->history[x->history_at] = x->seen;
	x->history_at = (x->history_at + 1) % FW_X_REORDER;
	if (request == x->timed && limit < x_place(request, 0))
		limit = x_place(request, 0);
	return limit;
}

static void mark_lost(struct fw_endpoint *ep, struct fw_pull *p, struct fw_xpull *x, __u64 limit)
{
	__u32 k, before = x->marked;

	for (k = p->base; k < p->asked; k++) {
		if (!x_missing(x, k) || place_of(x, k) >= limit)
			continue;
		x_set_bit(x->mark, k, 1);
		x->marked++;
		p->missing--;
		ep->outstanding--;
	}
	if (x->marked != before)
		fw_pace_lost(ep);
}

static void take_sample(struct fw_endpoint *ep, const struct fw_pull *p, struct fw_xpull *x,
			__u32 request, __u64 now)
{
	if (!x->sample || request < x->sample)
		return;
	if (request == x->sample)
		fw_pace_trip(ep, p->peer, now - x->sample_ns);
	x->sample = 0;
}

static void put_down(struct fw_endpoint *ep, struct fw_pull *p, struct fw_xpull *x, __u32 k)
{
	if (x_get_bit(x->mark, k)) { /* late, but not lost */
		x_set_bit(x->mark, k, 0);
		x->marked--;
	} else {
		p->missing--;
		ep->outstanding--;
	}
	x_set_bit(x->got, k, 1);
	p->received += x_length(p, x, k);
	while (p->base < p->asked && x_get_bit(x->got, p->base))
		x_set_bit(x->got, p->base++, 0);
}

static void x_accept(struct fw_endpoint *ep, struct fw_pull *p, __u32 request, __u32 k, __u64 now)
{
	struct fw_xpull *x = fw_x_of(ep, p);
	/* The next in turn overtakes nothing: spares the search, nearly always. */
	const int in_turn = k == p->base && is_ordered(p, x) && x_place(request, k) > x->seen;
	__u64 limit;

	put_down(ep, p, x, k);
	take_sample(ep, p, x, request, now);
	fw_pace_arrived(ep);
	limit = x_learn_order(x, request, k);
	if (request == x->timed) /* it was not late, then, else its first answer would have come */
		fw_pace_lost(ep);
	if (!in_turn)
		mark_lost(ep, p, x, limit);
}

int fw_xask_answered(struct fw_endpoint *ep, struct fw_pull *p, const struct fw_pkt *pkt, __u64 now)
{
	const struct fw_xpull *x = fw_x_of(ep, p);
	const __u32 k = pkt->frame;
	const __u32 request = whole_number(x, pkt->x.request);

	if (k >= p->asked || pkt->msg.data_len != x_length(p, x, k))
		return EMX_CNT_DROP_REPLY_SHAPE;
	if (request == 0 || request > x->request) /* there never was one */
		return EMX_CNT_DROP_REPLY_SHAPE;
	if (k < p->base || x_get_bit(x->got, k))
		return EMX_CNT_DROP_REPLY_DUPLICATE;
	x_accept(ep, p, request, k, now);
	return 0;
}

/* ---- requests ---- */

static struct fw_pkt begin_request(const struct fw_endpoint *ep, const struct fw_pull *p,
				   struct fw_xpull *x, __u32 first, __u64 now)
{
	struct fw_pkt pkt = fw_ask_packet(ep, p, EMX_X_PULL, first);

	fw_zero(&pkt.x, sizeof(pkt.x));
	pkt.x.unit = (__u16)x->unit;
	pkt.x.sum = x->sum;
	x->request++;
	pkt.x.request = (__u16)x->request;
	if (!x->sample) {
		x->sample = x->request;
		x->sample_ns = now;
	}
	return pkt;
}

static void put_wanted(struct fw_xpull *x, struct fw_pkt *pkt, __u32 k)
{
	const __u32 bit = k - pkt->frame;

	pkt->x.want[bit / 8] |= (__u8)(1u << bit % 8);
	x->by[k % FW_X_SPAN] = (__u16)x->request;
}

static void put_repeated(struct fw_xpull *x, struct fw_pkt *pkt, __u32 k)
{
	put_wanted(x, pkt, k);
	if (x->mixed <= k)
		x->mixed = k + 1;
}

static __u32 new_frames(const struct fw_pull *p)
{
	__u32 left = p->frames - p->asked, room = p->base + FW_X_SPAN - p->asked;

	return left < room ? left : room;
}

__u32 fw_xask_wants(const struct fw_pull *p, const struct fw_xpull *x)
{
	return x->marked + new_frames(p);
}

/* First frame from k on that is marked, or asked. */
static __u32 next_marked(const struct fw_pull *p, const struct fw_xpull *x, __u32 k)
{
	while (k < p->asked && !x_get_bit(x->mark, k))
		k++;
	return k;
}

/* Puts up to n lost frames into the request; returns how many. */
static __u32 put_lost(const struct fw_pull *p, struct fw_xpull *x, __u32 n, struct fw_pkt *pkt)
{
	__u32 put = 0, k;

	for (k = pkt->frame; put < n && x->marked; put++) {
		k = next_marked(p, x, k);
		if (k >= p->asked || k - pkt->frame >= WANT_BITS)
			break;
		x_set_bit(x->mark, k, 0);
		x->marked--;
		put_repeated(x, pkt, k);
	}
	return put;
}

int fw_xask_more(struct fw_endpoint *ep, struct fw_pull *p, __u32 n, __u64 now, struct fw_fx *fx)
{
	struct fw_xpull *x = fw_x_of(ep, p);
	struct fw_pkt pkt;
	__u32 put;

	if (n == 0 || fw_xask_wants(p, x) == 0)
		return 0;
	pkt = begin_request(ep, p, x, x->marked ? next_marked(p, x, p->base) : p->asked, now);
	put = put_lost(p, x, n, &pkt);
	if (put)
		fw_count(ep->counters, EMX_CNT_RESEND_PULL);
	for (; put < n && new_frames(p) && p->asked - pkt.frame < WANT_BITS; put++)
		put_wanted(x, &pkt, p->asked++);
	p->missing += put;
	ep->outstanding += put;
	fw_tx(ep->board, &pkt, p->peer, fx);
	return 1;
}

int fw_xask_again(struct fw_endpoint *ep, struct fw_pull *p, __u32 n, __u64 now, struct fw_fx *fx)
{
	struct fw_xpull *x = fw_x_of(ep, p);
	struct fw_pkt pkt;
	__u32 k = p->base;

	if (p->missing == 0)
		return 0;
	while (!x_missing(x, k))
		k++;
	pkt = begin_request(ep, p, x, k, now);
	x->timed = x->request;
	for (; n && k < p->asked && k - pkt.frame < WANT_BITS; k++) {
		if (!x_missing(x, k))
			continue;
		put_repeated(x, &pkt, k);
		n--;
	}
	fw_count(ep->counters, EMX_CNT_RESEND_PULL);
	fw_tx(ep->board, &pkt, p->peer, fx);
	return 1;
}

/* ---- prediction ---- */

/* Inserts a key into the n smallest, ascending and at most max; returns the new n. */
static __u32 x_insert(__u64 *keys, __u32 n, __u32 max, __u64 key)
{
	__u32 i = n;

	if (n == max && keys[max - 1] < key)
		return n;
	if (n == max)
		i--;
	else
		n++;
	for (; i > 0 && keys[i - 1] > key; i--)
		keys[i] = keys[i - 1];
	keys[i] = key;
	return n;
}

__u32 fw_xask_expect(const struct fw_pull *p, const struct fw_xpull *x, __u32 max,
		     struct fw_place *out)
{
	__u64 keys[FW_PLACES_MAX] = { 0 };
	__u32 n = 0, i, k;

	for (k = p->base; k < p->asked; k++) {
		__u64 at;

		if (!x_missing(x, k))
			continue;
		at = place_of(x, k);
		n = x_insert(keys, n, max, at > x->seen ? at : at | OVERTAKEN);
		if (n == max && is_ordered(p, x) && keys[n - 1] < OVERTAKEN)
			break; /* the others come later */
	}
	for (i = 0; i < n; i++) {
		out[i].position = (__u32)keys[i] * x->unit;
		out[i].length = x_length(p, x, (__u32)keys[i]);
	}
	return n;
}
