/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The puller of large messages: pulls as the library sees them, their timers, and the effects that
 * wait for fw_next (wire specification, section 10). Requests, order and loss: fw_pull_ask.c.
 */
#include "fw_xpull.h"

#define DEFAULT_BLOCKS 4 /* outstanding, as Open-MX does */
#define DEFAULT_REPEAT_MS 1000
#define DEFAULT_LIMIT_MS 500000
#define REPEAT_MAX_MS 1000
#define USE_MASK 0xffffffu

void fw_endpoint_init(struct fw_endpoint *ep, struct fw_board *board, __u8 number, __u32 session,
		      __u32 secret)
{
	ep->board = board;
	ep->session = session;
	ep->magic = (secret & ~0xffu) | number;
	ep->number = number;
	ep->pull_block = (__u16)board->sizes.block;
	ep->pull_window = (__u16)(board->sizes.block * DEFAULT_BLOCKS);
	ep->pull_repeat_ms = DEFAULT_REPEAT_MS;
	ep->pull_limit_ms = DEFAULT_LIMIT_MS;
	ep->pull_last = FW_PULLS - 1;
	/* Late replies to an earlier endpoint of this number then meet other handles. */
	ep->pull_use = session & USE_MASK;
	ep->deadline = ~0ull;
	fw_pace_init(&ep->pace);
}

/* ---- the list of pulls that may have effects waiting ---- */

static __u8 slot_of(const struct fw_endpoint *ep, const struct fw_pull *p)
{
	return (__u8)(p - ep->pull);
}

void fw_pull_list(struct fw_endpoint *ep, struct fw_pull *p)
{
	__u8 slot = slot_of(ep, p);

	if (p->listed)
		return;
	p->listed = 1;
	if (ep->list_length++ == 0)
		ep->list_head = slot;
	else
		ep->pull[ep->list_tail].next = slot;
	ep->list_tail = slot;
}

static void list_remove_first(struct fw_endpoint *ep)
{
	struct fw_pull *p = &ep->pull[ep->list_head];

	p->listed = 0;
	ep->list_head = p->next;
	ep->list_length--;
}

/* ---- begin and end ---- */

static struct fw_pull *free_pull(struct fw_endpoint *ep)
{
	__u32 i;

	/* In turn, so that a slot rests before its next use. */
	for (i = 1; i <= FW_PULLS; i++) {
		struct fw_pull *p = &ep->pull[(ep->pull_last + i) % FW_PULLS];

		if (p->state == FW_PULL_FREE)
			return p;
	}
	return FW_NULL;
}

static __u32 new_handle(struct fw_endpoint *ep, __u8 slot)
{
	ep->pull_last = slot;
	ep->pull_use = (ep->pull_use + 1) & USE_MASK;
	return ep->pull_use << 8 | slot;
}

static void set_geometry(struct fw_endpoint *ep, struct fw_pull *p, __u32 offset, __u32 total)
{
	struct fw_sizes own;
	const struct fw_sizes *s = fw_sizes_to(ep->board, p->peer, &own);
	__u32 l = s->reply;

	p->unit = l;
	p->block = ep->pull_block < s->block ? ep->pull_block : s->block;
	p->window_offset = offset;
	p->total = total;
	p->first_offset = offset % l;
	/* ceil((o + T) / L) without a sum or a division of 64 bits */
	p->frames = total / l + (total % l + p->first_offset + l - 1) / l;
}

void fw_pull_time(struct fw_endpoint *ep, struct fw_pull *p, __u64 now, __u64 ns)
{
	p->deadline = now + ns;
	if (p->deadline > p->give_up)
		p->deadline = p->give_up;
	if (ep->deadline > p->deadline)
		ep->deadline = p->deadline;
}

/* An accepted frame, or the start, moves the timer on. */
static void restart_timer(struct fw_endpoint *ep, struct fw_pull *p, __u64 now)
{
	p->interval_ms = ep->pull_repeat_ms ? ep->pull_repeat_ms : 1;
	p->give_up = now + fw_ns(ep->pull_limit_ms);
	fw_pull_time(ep, p, now, fw_ns(p->interval_ms));
}

static void set_running(struct fw_endpoint *ep, const struct fw_pull *p, int running)
{
	const __u8 slot = slot_of(ep, p);
	const __u32 bit = 1u << slot % 32;

	if (running)
		ep->running[slot / 32] |= bit;
	else
		ep->running[slot / 32] &= ~bit;
}

int fw_pull_start(struct fw_endpoint *ep, const struct emx_msg *rndv, __u32 total, __u64 cookie,
		  __u64 now)
{
	struct fw_pull *p;
	__u8 listed, next;

	if (total == 0 || !fw_peer(ep->board->peers, rndv->peer))
		return -1;
	p = free_pull(ep);
	if (!p)
		return -1;
	listed = p->listed;
	next = p->next;
	fw_zero(p, sizeof(*p));
	p->listed = listed;
	p->next = next;
	p->state = FW_PULL_RUNNING;
	p->cookie = cookie;
	p->handle = new_handle(ep, slot_of(ep, p));
	p->peer = rndv->peer;
	p->session = rndv->session;
	p->remote_ep = rndv->remote_ep;
	p->window = rndv->u.window.id;
	p->window_tag = rndv->u.window.tag;
	set_geometry(ep, p, rndv->u.window.offset, total);
	ep->pulls_active++;
	set_running(ep, p, 1);
	restart_timer(ep, p, now);
	fw_xpull_start(ep, p, rndv->data, now);
	fw_pull_list(ep, p);
	return slot_of(ep, p);
}

/* No more frames are expected. */
static void stop(struct fw_endpoint *ep, struct fw_pull *p, __u8 state)
{
	ep->outstanding -= p->missing;
	p->missing = 0;
	ep->pulls_active--;
	set_running(ep, p, 0);
	p->state = state;
	if (p->is_x)
		fw_xpull_stop(ep, p);
}

static void end(struct fw_endpoint *ep, struct fw_pull *p, __u8 status)
{
	stop(ep, p, FW_PULL_ENDED);
	p->status = status;
	fw_pull_list(ep, p);
}

void fw_pull_complete(struct fw_endpoint *ep, struct fw_pull *p)
{
	end(ep, p, EMX_PULL_OK);
}

void fw_pull_cancel(struct fw_endpoint *ep, __u64 cookie)
{
	__u32 i;

	for (i = 0; i < FW_PULLS; i++) {
		struct fw_pull *p = &ep->pull[i];

		if (p->state == FW_PULL_FREE || p->cookie != cookie)
			continue;
		if (p->state == FW_PULL_RUNNING)
			stop(ep, p, FW_PULL_FREE);
		p->state = FW_PULL_FREE; /* the list finds nothing to do */
	}
}

void fw_pull_fail(struct fw_endpoint *ep, int slot, __u8 status)
{
	if (slot < 0 || slot >= FW_PULLS || ep->pull[slot].state == FW_PULL_FREE)
		return;
	if (ep->pull[slot].state == FW_PULL_RUNNING)
		end(ep, &ep->pull[slot], status);
	ep->pull[slot].status = status;
}

/* ---- frames ---- */

struct fw_pull *fw_pull_of(struct fw_endpoint *ep, const struct fw_pkt *pkt)
{
	struct fw_pull *p = &ep->pull[pkt->handle % FW_PULLS];

	if (p->state != FW_PULL_RUNNING || p->handle != pkt->handle || pkt->magic != ep->magic ||
	    p->peer != pkt->msg.peer)
		return FW_NULL;
	return p;
}

void fw_pull_copy(const struct fw_endpoint *ep, const struct fw_pull *p, __u32 position,
		  __u32 length, __u32 source, struct fw_fx *fx)
{
	fx->kind = FW_FX_COPY;
	fx->u.copy.pull = slot_of(ep, p);
	fx->u.copy.cookie = p->cookie;
	fx->u.copy.position = position;
	fx->u.copy.length = length;
	fx->u.copy.source = source;
}

void fw_pull_reply(struct fw_endpoint *ep, struct fw_pkt *pkt, __u64 now, struct fw_fx *fx)
{
	struct fw_pull *p = fw_pull_of(ep, pkt);
	int why = p && !p->is_x ? fw_ask_answered(ep, p, pkt) : EMX_CNT_DROP_REPLY_UNKNOWN;

	if (why) {
		fw_drop(fx, why);
		return;
	}
	fw_pull_copy(ep, p, pkt->position, pkt->msg.data_len, FW_REPLY_HEADER, fx);
	restart_timer(ep, p, now);
	if (p->base == p->frames)
		end(ep, p, EMX_PULL_OK);
	else if (fw_ask_wants(ep, p))
		fw_pull_list(ep, p);
}

/* A refusal of no pull may answer a question: the library knows those that it has asked. */
static FW_COLD void answer_question(struct fw_pkt *pkt, struct fw_fx *fx)
{
	const int is_n = pkt->magic == 0 && pkt->handle > 0 && pkt->handle <= 0xfff;
	const int is_w = pkt->handle >> 24 && !(pkt->handle & 0xffffff);

	if (!is_n && !is_w) {
		fw_drop(fx, EMX_CNT_DROP_NACK);
		return;
	}
	pkt->msg.match = (__u64)pkt->handle << 32 | pkt->magic;
	fx->kind = FW_FX_EVENT;
	fx->u.msg = pkt->msg;
}

void fw_pull_refused(struct fw_endpoint *ep, struct fw_pkt *pkt, __u64 now, struct fw_fx *fx)
{
	struct fw_pull *p = fw_pull_of(ep, pkt);

	if (!p) {
		answer_question(pkt, fx);
		return;
	}
	end(ep, p, pkt->msg.u.nack.reason);
	fw_next(ep, now, fx);
}

/* ---- time ---- */

static void time_out(struct fw_endpoint *ep, struct fw_pull *p, __u64 now)
{
	if (now >= p->give_up) {
		fw_count(ep->counters, EMX_CNT_PULL_TIMEOUT);
		end(ep, p, EMX_PULL_TIMEOUT);
		return;
	}
	if (p->is_x) {
		fw_xpull_late(ep, p, now);
		return;
	}
	fw_ask_all_lost(p);
	if (p->interval_ms < REPEAT_MAX_MS)
		p->interval_ms *= 2;
	if (p->interval_ms > REPEAT_MAX_MS && p->interval_ms > ep->pull_repeat_ms)
		p->interval_ms = REPEAT_MAX_MS;
	fw_pull_time(ep, p, now, fw_ns(p->interval_ms));
	fw_pull_list(ep, p);
}

void fw_tick(struct fw_endpoint *ep, __u64 now)
{
	__u32 i;

	if (now < ep->deadline)
		return;
	ep->deadline = ~0ull;
	for (i = 0; i < FW_PULLS && ep->pulls_active; i++) {
		struct fw_pull *p = &ep->pull[i];

		if (!(ep->running[i / 32] >> i % 32)) {
			i |= 31; /* none up to the next word */
			continue;
		}
		if (p->state == FW_PULL_RUNNING && now >= p->deadline)
			time_out(ep, p, now);
		if (p->state == FW_PULL_RUNNING && ep->deadline > p->deadline)
			ep->deadline = p->deadline;
	}
}

__u64 fw_deadline(const struct fw_endpoint *ep)
{
	return ep->pulls_active ? ep->deadline : ~0ull;
}

/* ---- effects ---- */

static void announce_end(struct fw_endpoint *ep, struct fw_pull *p, struct fw_fx *fx)
{
	struct emx_msg *m = &fx->u.msg;

	p->state = FW_PULL_FREE;
	fx->kind = FW_FX_EVENT;
	fw_zero(m, sizeof(*m));
	m->type = EMX_EV_PULL_DONE;
	m->local_ep = ep->number;
	m->remote_ep = p->remote_ep;
	m->peer = p->peer;
	m->u.pull.cookie = p->cookie;
	m->u.pull.length = p->received;
	m->u.pull.status = p->status;
}

static int next_of(struct fw_endpoint *ep, struct fw_pull *p, __u64 now, struct fw_fx *fx)
{
	if (p->state == FW_PULL_RUNNING)
		return p->is_x ? fw_xpull_next(ep, p, now, fx) : fw_ask_next(ep, p, fx);
	if (p->state != FW_PULL_ENDED)
		return 0;
	announce_end(ep, p, fx);
	return 1;
}

int fw_next(struct fw_endpoint *ep, __u64 now, struct fw_fx *fx)
{
	for (; ep->list_length; list_remove_first(ep))
		if (next_of(ep, &ep->pull[ep->list_head], now, fx))
			return 1;
	fx->kind = FW_FX_NONE;
	return 0;
}
