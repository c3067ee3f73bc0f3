/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The puller of large messages: pulls as the library sees them, their timer, and the effects that
 * wait for fw_next (wire specification, section 10). Frames to ask for: fw_ask.c.
 */
#include "fw_pull.h"

#define REPEAT_MAX_MS 1000
/* X PULL: a time slice of Linux, since a host that waits for its CPU lost nothing. */
#define REPEAT_MIN_NS 3000000u
/* X PULL, while no round trip was measured; never more than the platform's own. */
#define REPEAT_UNKNOWN_MS 10
/* Times that the timer runs out until datagrams count as not coming: some 20 ms. */
#define DATAGRAM_TRIES 2
/* The same of TCP, where all begins anew then: some 0.4 s. */
#define TCP_TRIES 7

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

static __u64 first_interval(const struct fw_endpoint *ep, const struct fw_pull *p)
{
	const __u64 twice = p->is_x ? 2ull * fw_pace_trip_to(ep, p->peer) : 0;
	__u32 ms = ep->pull_repeat_ms;

	if (twice)
		return twice > REPEAT_MIN_NS ? twice : REPEAT_MIN_NS;
	if (p->is_x && ms > REPEAT_UNKNOWN_MS)
		ms = REPEAT_UNKNOWN_MS;
	return fw_ns(ms ? ms : 1);
}

static void set_timer(struct fw_endpoint *ep, struct fw_pull *p, __u64 now, __u64 interval)
{
	p->interval = interval;
	p->deadline = now + interval;
	if (p->deadline > p->give_up)
		p->deadline = p->give_up;
	if (ep->deadline > p->deadline)
		ep->deadline = p->deadline;
}

/* An accepted frame, or the start, moves the timer on. */
static void restart_timer(struct fw_endpoint *ep, struct fw_pull *p, __u64 now)
{
	p->tries = 0;
	p->give_up = now + fw_ns(ep->pull_limit_ms);
	set_timer(ep, p, now, first_interval(ep, p));
}

/* It begins to run, or no longer does. */
static void turn_running(struct fw_endpoint *ep, const struct fw_pull *p)
{
	const __u8 slot = fw_slot_of(ep, p);

	ep->running[slot / 32] ^= 1u << slot % 32;
}

int fw_pull_start(struct fw_endpoint *ep, const struct emx_msg *rndv, __u32 total, __u64 cookie,
		  __u64 now)
{
	return fw_pull_start_by(ep, rndv, total, cookie, FW_BY_FRAMES, 0, now);
}

/* The running pull asks for its frames by that carrier, from the first on. */
static void begin(struct fw_endpoint *ep, struct fw_pull *p, __u8 carrier, __u16 packet, __u64 now)
{
	ep->pull_use = (ep->pull_use + 1) & 0xffffff;
	p->handle = ep->pull_use << 8 | fw_slot_of(ep, p);
	fw_ask_begin(ep, p, carrier, packet);
	restart_timer(ep, p, now);
	if (p->is_x)
		fw_pace_start(ep, p);
	fw_enqueue(ep, p, FW_READY);
}

int fw_pull_start_by(struct fw_endpoint *ep, const struct emx_msg *rndv, __u32 total, __u64 cookie,
		     __u8 carrier, __u16 packet, __u64 now)
{
	struct fw_pull *p;

	if (total == 0 || !fw_peer(ep->board->peers, rndv->peer))
		return -1;
	p = free_pull(ep);
	if (!p)
		return -1;
	/* It may stand in queues since its last use. */
	fw_zero((__u8 *)p + sizeof(p->link),
		__builtin_offsetof(struct fw_pull, frame.by) - sizeof(p->link));
	p->state = FW_PULL_RUNNING;
	p->cookie = cookie;
	ep->pull_last = fw_slot_of(ep, p);
	p->peer = rndv->peer;
	p->session = rndv->session;
	p->remote_ep = rndv->remote_ep;
	p->window = rndv->u.window.id;
	p->window_tag = rndv->u.window.tag;
	p->window_offset = rndv->u.window.offset;
	p->offer = rndv->data;
	p->total = total;
	ep->pulls_active++;
	turn_running(ep, p);
	begin(ep, p, carrier, packet, now);
	return fw_slot_of(ep, p);
}

/* No more frames are expected. */
static void stop(struct fw_endpoint *ep, struct fw_pull *p, __u8 state)
{
	ep->outstanding -= p->missing;
	p->missing = 0;
	ep->pulls_active--;
	turn_running(ep, p);
	p->state = state;
	if (p->is_x)
		fw_pace_stop(ep, p);
}

static void end(struct fw_endpoint *ep, struct fw_pull *p, __u8 status)
{
	stop(ep, p, FW_PULL_ENDED);
	p->status = status;
	fw_enqueue(ep, p, FW_READY);
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

/* The running pull of a reply or a refusal, or NULL. */
static struct fw_pull *pull_of(struct fw_endpoint *ep, const struct fw_pkt *pkt)
{
	struct fw_pull *p = &ep->pull[pkt->handle % FW_PULLS];

	if (p->state != FW_PULL_RUNNING || p->handle != pkt->handle || pkt->magic != ep->magic ||
	    p->peer != pkt->msg.peer)
		return FW_NULL;
	return p;
}

void fw_pull_answer(struct fw_endpoint *ep, struct fw_pkt *pkt, __u64 now, struct fw_fx *fx)
{
	const int is_x = pkt->msg.type == EMX_X_DATA;
	struct fw_pull *p = pull_of(ep, pkt);
	int why = EMX_CNT_DROP_REPLY_UNKNOWN;

	if (p && p->is_x == is_x)
		why = fw_ask_answered(ep, p, pkt, now, &fx->u.copy.position);
	if (why) {
		fw_drop(fx, why);
		return;
	}
	fx->kind = FW_FX_COPY;
	fx->u.copy.pull = fw_slot_of(ep, p);
	fx->u.copy.cookie = p->cookie;
	fx->u.copy.length = pkt->msg.data_len;
	fx->u.copy.source = is_x ? FW_X_DATA_HEADER : FW_REPLY_HEADER;
	restart_timer(ep, p, now);
	if (p->frame.base == p->frames) {
		end(ep, p, EMX_PULL_OK);
		return;
	}
	fw_pace_want(ep, p);
	if (is_x)
		fw_pace_turn(ep);
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
	struct fw_pull *p = pull_of(ep, pkt);

	if (!p) {
		answer_question(pkt, fx);
		return;
	}
	end(ep, p, pkt->msg.u.nack.reason);
	fw_next(ep, now, fx);
}

/* ---- time ---- */

static FW_COLD void leave_datagrams(struct fw_endpoint *ep, struct fw_pull *p)
{
	p->left = p->carrier;
	fw_pace_leave_datagrams(ep, p);
	fw_count(ep->counters, EMX_CNT_DATAGRAM_FALLBACK);
}

/* Frames by TCP are longer than others: what has come of them is of no use. */
static FW_COLD void leave_tcp(struct fw_endpoint *ep, struct fw_pull *p, __u64 now)
{
	ep->outstanding -= p->missing;
	p->missing = 0;
	p->received = 0;
	p->probe = 0;
	p->sample = 0;
	fw_pace_stop(ep, p);
	fw_zero(&p->frame, __builtin_offsetof(struct fw_frames, by));
	begin(ep, p, FW_BY_FRAMES, 0, now);
	fw_count(ep->counters, EMX_CNT_TCP_FALLBACK);
}

void fw_pull_leave_tcp(struct fw_endpoint *ep, __u32 peer, __u8 remote_ep, __u64 now)
{
	__u32 i;

	for (i = 0; i < FW_PULLS; i++) {
		struct fw_pull *p = &ep->pull[i];

		if (p->state == FW_PULL_RUNNING && p->carrier == FW_BY_TCP && p->peer == peer &&
		    p->remote_ep == remote_ep)
			leave_tcp(ep, p, now);
	}
}

static void time_out(struct fw_endpoint *ep, struct fw_pull *p, __u64 now)
{
	__u64 most = fw_ns(REPEAT_MAX_MS);

	if (now >= p->give_up) {
		fw_count(ep->counters, EMX_CNT_PULL_TIMEOUT);
		end(ep, p, EMX_PULL_TIMEOUT);
		return;
	}
	if (!p->is_x && most < fw_ns(ep->pull_repeat_ms))
		most = fw_ns(ep->pull_repeat_ms);
	if (p->carrier == FW_BY_TCP && p->tries >= TCP_TRIES) {
		leave_tcp(ep, p, now);
		p->left = FW_BY_TCP;
		return;
	}
	if (p->carrier == FW_BY_DATAGRAMS && p->tries >= DATAGRAM_TRIES)
		leave_datagrams(ep, p);
	fw_ask_late(p);
	p->tries += p->tries < 0xff;
	set_timer(ep, p, now, 2 * p->interval < most ? 2 * p->interval : most);
	fw_enqueue(ep, p, FW_READY);
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

/* The effect of a pull that has left datagrams, or TCP. */
static FW_COLD int tell_fallback(struct fw_pull *p, struct fw_fx *fx)
{
	const __u8 left = p->left;

	p->left = FW_BY_FRAMES;
	fx->kind = FW_FX_FALLBACK;
	fw_zero(&fx->u.address, sizeof(fx->u.address));
	fx->u.address.peer = p->peer;
	fx->u.address.remote_ep = p->remote_ep;
	fx->u.address.session = p->session;
	fx->u.address.tcp = left == FW_BY_TCP;
	return 1;
}

int fw_next(struct fw_endpoint *ep, __u64 now, struct fw_fx *fx)
{
	for (; ep->queue[FW_READY].length; fw_dequeue(ep, FW_READY)) {
		struct fw_pull *p = fw_first(ep, FW_READY);

		if (FW_UNLIKELY(p->left != FW_BY_FRAMES) && p->state == FW_PULL_RUNNING)
			return tell_fallback(p, fx);
		if (p->state == FW_PULL_RUNNING && fw_ask_next(ep, p, now, fx))
			return 1;
		if (p->state == FW_PULL_ENDED) {
			announce_end(ep, p, fx);
			return 1;
		}
	}
	fx->kind = FW_FX_NONE;
	return 0;
}
