/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Decides which frames of a message to ask for, and when again (wire specification,
 * sections 10.2, 10.3).
 *
 * The frames asked for form a queue, in the order of asking. The replier answers in that order, so
 * an answer tells about its predecessors: a frame that is missing REORDER positions behind the
 * newest answer is lost, and is asked for again at the end of the queue, at once and by itself. A
 * link that reorders within REORDER frames causes no repeat; one that reorders more causes
 * needless ones, which cost a frame each and nothing else. (Open-MX waits until a later block is
 * complete, and then has the whole block sent again.) The timer repeats what no answer follows.
 *
 * An answer to a frame that was asked for twice may belong to the first request and so proves
 * nothing about the order, unless the timer lies between the two: by then the first is answered or
 * lost.
 *
 * 8 bits suffice for frames and positions: a missing frame stands in head .. tail exactly once,
 * since a frame is asked for again only when head passes it. Let h be the frame at head. When h
 * was queued, all frames of the queue since then were below h + FW_PULL_FRAMES (base is not above
 * h) and above h - FW_PULL_FRAMES (they were missing when queued, h was asked for by then, and base
 * cannot have been FW_PULL_FRAMES below h). So the queue is shorter than 2 * FW_PULL_FRAMES = 256.
 */
#include "fw_xpull.h"

#define REORDER 4

/* Positions and frame numbers are running numbers: a before b. */
static int before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

static int get_bit(const __u32 *map, __u32 frame)
{
	return map[frame % FW_PULL_FRAMES / 32] >> frame % 32 & 1;
}

static void set_bit(__u32 *map, __u32 frame, int value)
{
	__u32 bit = 1u << frame % 32;
	__u32 *word = &map[frame % FW_PULL_FRAMES / 32];

	*word = value ? *word | bit : *word & ~bit;
}

/* ---- geometry (section 10.2) ---- */

/* Where frame k begins in the message; frame `frames` begins at the end. */
static __u32 frame_start(const struct fw_pull *p, __u32 k)
{
	__u64 at;

	if (k == 0)
		return 0;
	at = (__u64)k * p->unit - p->first_offset;
	return at < p->total ? (__u32)at : p->total;
}

static __u32 frame_length(const struct fw_pull *p, __u32 k)
{
	return frame_start(p, k + 1) - frame_start(p, k);
}

/* ---- the queue ---- */

static int is_missing(const struct fw_pull *p, __u32 k)
{
	return k >= p->base && k < p->asked && !get_bit(p->got, k);
}

/* The frame at a position, if it is missing; otherwise some number that is not missing either. */
static __u32 frame_at(const struct fw_pull *p, __u32 position)
{
	return p->base + (__u8)(p->frame_at[position % 256] - p->base);
}

static __u32 position_of(const struct fw_pull *p, __u32 k)
{
	return p->head + (__u8)(p->position_of[k % FW_PULL_FRAMES] - p->head);
}

static void append(struct fw_pull *p, __u32 k, int again)
{
	p->frame_at[p->tail % 256] = (__u8)k;
	p->position_of[k % FW_PULL_FRAMES] = (__u8)p->tail;
	set_bit(p->again, k, again);
	p->tail++;
}

/* Keeps the promise that the frame at head is missing. */
static void skip_answered(struct fw_pull *p)
{
	while (before(p->head, p->tail) && !is_missing(p, frame_at(p, p->head)))
		p->head++;
}

void fw_ask_all_lost(struct fw_pull *p)
{
	p->lost = p->tail;
	p->timed = p->tail;
}

/* ---- answers ---- */

/* Takes note of what an answer at that position says about its predecessors. */
static void learn_order(struct fw_pull *p, __u32 k)
{
	__u32 at = position_of(p, k);

	if (get_bit(p->again, k))
		return;
	if (before(p->seen, at + 1))
		p->seen = at + 1;
	if (before(p->lost, at + 1 - REORDER))
		p->lost = at + 1 - REORDER;
}

static void accept(struct fw_endpoint *ep, struct fw_pull *p, __u32 k)
{
	learn_order(p, k);
	set_bit(p->got, k, 1);
	p->received += frame_length(p, k);
	p->missing--;
	ep->outstanding--;
	while (p->base < p->asked && get_bit(p->got, p->base))
		set_bit(p->got, p->base++, 0);
	skip_answered(p);
}

static int matches(const struct fw_pull *p, const struct fw_pkt *pkt, __u32 k)
{
	return pkt->position == frame_start(p, k) && pkt->msg.data_len == frame_length(p, k);
}

int fw_ask_answered(struct fw_endpoint *ep, struct fw_pull *p, const struct fw_pkt *pkt)
{
	__u32 ahead = (__u8)(pkt->frame - p->base);
	__u32 k = p->base + ahead;

	if (k >= p->asked) {
		k -= 256; /* of the past, then */
		if (k < p->base && matches(p, pkt, k))
			return EMX_CNT_DROP_REPLY_DUPLICATE;
		return EMX_CNT_DROP_REPLY_SHAPE;
	}
	if (!matches(p, pkt, k))
		return EMX_CNT_DROP_REPLY_SHAPE;
	if (!is_missing(p, k))
		return EMX_CNT_DROP_REPLY_DUPLICATE;
	accept(ep, p, k);
	return 0;
}

/* ---- requests ---- */

struct fw_pkt fw_ask_packet(const struct fw_endpoint *ep, const struct fw_pull *p, __u8 type,
			    __u32 first)
{
	struct fw_pkt pkt;

	fw_clear(&pkt);
	pkt.msg.type = type;
	pkt.msg.local_ep = p->remote_ep;
	pkt.msg.remote_ep = ep->number;
	pkt.msg.session = p->session;
	pkt.msg.u.window.tag = p->window_tag;
	pkt.msg.u.window.offset = p->window_offset;
	pkt.window = p->window;
	pkt.total = p->total;
	pkt.handle = p->handle;
	pkt.magic = ep->magic;
	pkt.frame = first;
	return pkt;
}

static void put_request(const struct fw_endpoint *ep, const struct fw_pull *p, __u32 first,
			__u32 count, struct fw_fx *fx)
{
	struct fw_pkt pkt = fw_ask_packet(ep, p, EMX_PULL, first);

	pkt.skip = first ? 0 : p->first_offset;
	pkt.length = frame_start(p, first + count) - frame_start(p, first);
	fw_tx(ep->board, &pkt, p->peer, fx);
}

/*
 * Passes the lost frames at the head of the queue, if there are any: a run of them that one
 * request can name. Once its first frame is lost, what is missing right behind it and has been
 * overtaken too belongs to the run: a lost request loses all its frames. Returns their count.
 */
static __u32 take_lost(struct fw_pull *p, __u32 *first)
{
	__u32 limit = before(p->lost, p->seen) ? p->seen : p->lost;
	__u32 n = 0;

	if (!before(p->head, p->lost) || p->head == p->tail)
		return 0;
	*first = frame_at(p, p->head);
	while (n < p->block && before(p->head, limit) && before(p->head, p->tail) &&
	       frame_at(p, p->head) == *first + n && is_missing(p, *first + n)) {
		p->head++;
		n++;
	}
	return n;
}

static int ask_again(struct fw_endpoint *ep, struct fw_pull *p, struct fw_fx *fx)
{
	__u32 first, n, i;
	int again;

	n = take_lost(p, &first);
	if (n == 0)
		return 0;
	again = !before(p->head - n, p->timed);
	for (i = 0; i < n; i++)
		append(p, first + i, again);
	skip_answered(p);
	fw_count(ep->counters, EMX_CNT_RESEND_PULL);
	put_request(ep, p, first, n, fx);
	return 1;
}

/*
 * Frames of the next block, if it may be asked for now. A pull with nothing outstanding always
 * may; beyond that the endpoint's window is shared evenly among its pulls.
 */
static __u32 next_block(const struct fw_endpoint *ep, const struct fw_pull *p)
{
	__u32 left = p->frames - p->asked;
	__u32 n = left < p->block ? left : p->block;

	if (n == 0 || p->asked + n - p->base > FW_PULL_FRAMES)
		return 0;
	if (p->missing == 0)
		return n;
	if (ep->outstanding + n > ep->pull_window)
		return 0;
	return (p->missing + n) * ep->pulls_active > ep->pull_window ? 0 : n;
}

static int ask_more(struct fw_endpoint *ep, struct fw_pull *p, struct fw_fx *fx)
{
	__u32 n = next_block(ep, p);
	__u32 first = p->asked;
	__u32 i;

	if (n == 0)
		return 0;
	p->asked += n;
	p->missing += n;
	ep->outstanding += n;
	for (i = 0; i < n; i++)
		append(p, first + i, 0);
	put_request(ep, p, first, n, fx);
	return 1;
}

int fw_ask_wants(const struct fw_endpoint *ep, const struct fw_pull *p)
{
	return before(p->head, p->lost) || next_block(ep, p) != 0;
}

int fw_ask_next(struct fw_endpoint *ep, struct fw_pull *p, struct fw_fx *fx)
{
	return ask_again(ep, p, fx) || ask_more(ep, p, fx);
}

/* ---- prediction ---- */

/* The n-th missing frame of positions from .. to, counting down *n; ~0 when there are fewer. */
static __u32 nth_missing(const struct fw_pull *p, __u32 from, __u32 to, __u32 *n)
{
	for (; before(from, to); from++) {
		__u32 k = frame_at(p, from);

		if (is_missing(p, k) && (*n)-- == 0)
			return k;
	}
	return ~0u;
}

int fw_predict(const struct fw_endpoint *ep, int slot, __u32 n, __u32 *position, __u32 *length)
{
	const struct fw_pull *p;
	__u32 newest, k;

	if (slot < 0 || slot >= FW_PULLS)
		return -1;
	p = &ep->pull[slot];
	if (p->state != FW_PULL_RUNNING || p->is_x || n >= p->missing)
		return -1;
	newest = before(p->head, p->seen) ? p->seen : p->head;
	k = nth_missing(p, newest, p->tail, &n);
	if (k == ~0u)
		k = nth_missing(p, p->head, newest, &n);
	if (k == ~0u)
		return -1;
	*position = frame_start(p, k);
	*length = frame_length(p, k);
	return 0;
}

__u32 fw_expect(const struct fw_endpoint *ep, int slot, __u32 max, struct fw_place *place)
{
	__u32 n = 0;

	if (slot >= 0 && slot < FW_PULLS && ep->pull[slot].is_x &&
	    ep->pull[slot].state == FW_PULL_RUNNING)
		return fw_xask_expect(&ep->pull[slot], &ep->xpull[slot], max, place);
	while (n < max && fw_predict(ep, slot, n, &place[n].position, &place[n].length) == 0)
		n++;
	return n;
}
