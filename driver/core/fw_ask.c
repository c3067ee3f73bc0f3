/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Decides which frames of a message to ask for, and when again (wire specification, sections 10.2
 * and 10.3; docs/protocol.md, the EtherMX extension; docs/decisions/0025-one-pull-engine.md).
 *
 * PULL asks for a block of new frames, or again for a run of lost ones: at once and beside the
 * window, so that these stay under way. Each frame has a number of its own. An answer to a frame
 * that was asked for twice may belong to the first request and so comes from an unknown place,
 * unless the timer lies between the two: by then the first is answered or lost. Answers name frames
 * by 8 bits: those of FW_PULL_FRAMES under way, or of as many before them.
 *
 * X PULL asks for a set of frames, lost and new ones together, within the budget. An answer tells
 * its request, so a late first answer is not taken for that to the repeat. The timer asks for a few
 * frames: an answer to its request shows at once what is lost before it, since no reordering lasts
 * that long, and a sender that was only away answers all requests when it comes back.
 */
#include "fw_pull.h"

#define WANT_BITS (8u * EMX_X_WANT_LEN)
#define PROBE 8 /* frames that the timer of X PULL asks for again, halved each time */

/* An answer: its frame, and the number under which that was asked for, 0 when that is unknown. */
struct answer {
	__u32 frame;
	__u32 number;
};

/* ---- geometry (section 10.2) ---- */

/* The position of frame k in the message; frame `frames` begins at the end. */
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

/*
 * Bytes in a full frame of X DATA towards us, 0 when the sender or we have no X PULL. packet: the
 * longest by that carrier.
 */
static __u32 x_unit(const struct fw_endpoint *ep, __u64 offer, __u8 carrier, __u16 packet)
{
	__u32 frame = emx_offer_frame(offer);

	if (!(emx_offer_features(offer) & EMX_X_PULLS))
		return 0;
	if (frame > ep->x_frame)
		frame = ep->x_frame;
	if (frame < FW_X_DATA_HEADER + EMX_X_UNIT_MIN)
		return 0; /* without frames no other carrier serves: a pull may leave it for them */
	if (carrier == FW_BY_TCP || (carrier == FW_BY_DATAGRAMS && frame > packet))
		frame = packet; /* with headers as long as those of a frame */
	return frame - FW_X_DATA_HEADER;
}

void fw_ask_begin(struct fw_endpoint *ep, struct fw_pull *p, __u8 carrier, __u16 packet)
{
	struct fw_sizes own;
	const struct fw_sizes *s = fw_sizes_to(ep->board->peers, &ep->board->sizes, p->peer, &own);
	const __u32 unit = x_unit(ep, p->offer, carrier, packet), l = unit ? unit : s->reply;
	const __u32 offset = p->window_offset;

	p->is_x = unit != 0;
	p->sum = ep->x_frag && emx_offer_features(p->offer) & EMX_X_SUMS;
	p->carrier = p->is_x ? carrier : FW_BY_FRAMES;
	p->unit = l;
	p->span = p->is_x ? FW_X_SPAN : FW_PULL_FRAMES;
	p->block = ep->pull_block < s->block ? ep->pull_block : (__u16)s->block;
	p->first_offset = p->is_x ? 0 : offset % l;
	/* ceil((o + T) / L) without a sum or a division of 64 bits */
	p->frames = p->total / l + (p->total % l + p->first_offset + l - 1) / l;
}

/* ---- common to both ---- */

static void note_missing(struct fw_endpoint *ep, struct fw_pull *p, int frames)
{
	p->missing += (__u32)frames;
	ep->outstanding += (__u32)frames;
}

/* A request of that type, from that frame on. */
static void begin_request(const struct fw_endpoint *ep, const struct fw_pull *p, __u8 type,
			  __u32 first, struct fw_pkt *pkt)
{
	fw_clear(pkt);
	pkt->msg.type = type;
	pkt->msg.local_ep = p->remote_ep;
	pkt->msg.remote_ep = ep->number;
	pkt->msg.session = p->session;
	pkt->msg.u.window.tag = p->window_tag;
	pkt->msg.u.window.offset = p->window_offset;
	pkt->window = p->window;
	pkt->total = p->total;
	pkt->handle = p->handle;
	pkt->magic = ep->magic;
	pkt->frame = first;
}

/* ---- PULL ---- */

static int pull_answer(const struct fw_pull *p, const struct fw_pkt *pkt, struct answer *a)
{
	const struct fw_frames *f = &p->frame;

	a->frame = f->base + (__u8)(pkt->frame - f->base);
	if (a->frame >= f->asked)
		a->frame -= 256; /* of the past, then */
	a->number = fw_bit(f->again, a->frame) ? 0 : fw_frames_number_of(f, a->frame);
	return pkt->position == frame_start(p, a->frame);
}

static void pull_request(const struct fw_endpoint *ep, const struct fw_pull *p, __u32 first,
			 __u32 count, struct fw_fx *fx)
{
	struct fw_pkt pkt;

	begin_request(ep, p, EMX_PULL, first, &pkt);
	pkt.skip = first ? 0 : p->first_offset;
	pkt.length = frame_start(p, first + count) - frame_start(p, first);
	fw_tx(ep->board, &pkt, p->peer, fx);
}

/*
 * Asks again for lost frames that one request can name. Once the first is lost, what is missing
 * right behind it and has been overtaken too belongs to the run: a lost request loses all its
 * frames.
 */
static void pull_run(struct fw_endpoint *ep, struct fw_pull *p, struct fw_fx *fx)
{
	struct fw_frames *f = &p->frame;
	const __u32 first = fw_frames_oldest(f);
	const int again = fw_frames_number_of(f, first) > f->timed;
	const __u32 n = fw_frames_run(f, first, p->block);
	__u32 i;

	for (i = 0; i < n; i++) {
		f->number++;
		fw_frames_ask(f, first + i, again);
	}
	fw_count(ep->counters, EMX_CNT_RESEND_PULL);
	pull_request(ep, p, first, n, fx);
}

static int pull_next(struct fw_endpoint *ep, struct fw_pull *p, __u64 now, struct fw_fx *fx)
{
	struct fw_frames *f = &p->frame;
	const __u32 first = f->asked;
	__u32 n;

	(void)now;
	if (f->marked) {
		pull_run(ep, p, fx);
		return 1;
	}
	n = fw_pace_block(ep, p);
	if (n == 0)
		return 0;
	note_missing(ep, p, (int)n);
	while (f->asked < first + n) {
		f->number++;
		fw_frames_ask(f, f->asked, 0);
	}
	pull_request(ep, p, first, n, fx);
	return 1;
}

/* ---- X PULL ---- */

static int x_answer(const struct fw_pull *p, const struct fw_pkt *pkt, struct answer *a)
{
	a->frame = pkt->frame;
	a->number = fw_frames_number(&p->frame, pkt->x.request);
	return a->number && a->number <= p->frame.number; /* else there never was one */
}

static void x_request(struct fw_endpoint *ep, struct fw_pull *p, __u32 first, __u64 now,
		      struct fw_pkt *pkt)
{
	begin_request(ep, p, EMX_X_PULL, first, pkt);
	fw_zero(&pkt->x, sizeof(pkt->x));
	pkt->x.unit = (__u16)p->unit;
	pkt->x.sum = p->sum;
	pkt->x.carrier = p->carrier;
	p->frame.number++;
	pkt->x.request = (__u16)p->frame.number;
	if (!p->sample) {
		p->sample = p->frame.number;
		p->sample_at = now;
	}
}

static void x_put(struct fw_pull *p, struct fw_pkt *pkt, __u32 k)
{
	const __u32 bit = k - pkt->frame;

	pkt->x.want[bit / 8] |= (__u8)(1u << bit % 8);
	fw_frames_ask(&p->frame, k, 1);
}

/* Puts up to n frames into the request that are marked, or missing. Returns how many. */
static __u32 x_put_again(struct fw_pull *p, struct fw_pkt *pkt, __u32 n, int marked)
{
	__u32 put = 0, k = fw_frames_next(&p->frame, pkt->frame, marked);

	for (; put < n && k < p->frame.asked && k - pkt->frame < WANT_BITS; put++) {
		x_put(p, pkt, k);
		k = fw_frames_next(&p->frame, k + 1, marked);
	}
	return put;
}

/*
 * Asks for n frames, if there are any: lost ones and then new ones, or those that are missing,
 * because the timer ran out.
 */
static int x_ask(struct fw_endpoint *ep, struct fw_pull *p, __u32 n, int late, __u64 now,
		 struct fw_fx *fx)
{
	struct fw_frames *f = &p->frame;
	struct fw_pkt pkt;
	__u32 put;

	if (n == 0 || (late ? p->missing : fw_pace_wanted(p)) == 0)
		return 0;
	x_request(ep, p, fw_frames_next(f, f->base, !late), now, &pkt);
	put = x_put_again(p, &pkt, n, !late);
	if (put)
		fw_count(ep->counters, EMX_CNT_RESEND_PULL);
	if (late) {
		f->timed = f->number;
	} else {
		for (; put < n && fw_pace_new(p) && f->asked - pkt.frame < WANT_BITS; put++)
			x_put(p, &pkt, f->asked);
		note_missing(ep, p, (int)put);
	}
	fw_tx(ep->board, &pkt, p->peer, fx);
	return 1;
}

static int x_next(struct fw_endpoint *ep, struct fw_pull *p, __u64 now, struct fw_fx *fx)
{
	const __u32 probe = p->probe;
	int asked;

	p->probe = 0;
	if (x_ask(ep, p, probe, 1, now, fx))
		return 1;
	do {
		asked = x_ask(ep, p, fw_pace_take(ep, p), 0, now, fx);
		fw_pace_want(ep, p);
		fw_pace_turn(ep);
	} while (!asked && p->grant); /* this pull leaves the queue, then */
	return asked;
}

static void x_sample(struct fw_endpoint *ep, struct fw_pull *p, __u32 request, __u64 now)
{
	if (!p->sample || request < p->sample)
		return;
	if (request == p->sample)
		fw_pace_trip(ep, p->peer, now - p->sample_at);
	p->sample = 0;
}

/* ---- choice between the two ---- */

/* 0: contradicts what was asked for. A frame outside of it is for the caller to judge. */
static int answer(const struct fw_pull *p, const struct fw_pkt *pkt, struct answer *a)
{
	return p->is_x ? x_answer(p, pkt, a) : pull_answer(p, pkt, a);
}

int fw_ask_next(struct fw_endpoint *ep, struct fw_pull *p, __u64 now, struct fw_fx *fx)
{
	return p->is_x ? x_next(ep, p, now, fx) : pull_next(ep, p, now, fx);
}

void fw_ask_late(struct fw_pull *p)
{
	if (p->carrier == FW_BY_TCP) {
		p->probe = 1; /* whatever was asked for and heard comes, and in order */
		return;
	}
	if (p->is_x) {
		p->probe = PROBE >> (p->tries < 3 ? p->tries : 3);
		return;
	}
	fw_frames_lose(&p->frame, ~0ull);
	p->frame.timed = p->frame.number;
}

/* ---- answers ---- */

/* Takes note of what the answer from that place tells about frames before it. */
static void learn(struct fw_endpoint *ep, struct fw_pull *p, __u64 place, int in_turn)
{
	struct fw_frames *f = &p->frame;
	__u64 limit = fw_frames_learn(f, place, p->is_x);
	const __u32 number = (__u32)(place >> 32);
	__u32 lost;

	if (p->is_x && number == f->timed) {
		if (limit < fw_place(number, 0))
			limit = fw_place(number, 0);
		fw_pace_lost(ep); /* not late, else the first answer would have come */
	}
	lost = in_turn ? 0 : fw_frames_lose(f, limit);
	if (lost && p->is_x) { /* those of a PULL are asked for again at once */
		note_missing(ep, p, -(int)lost);
		fw_pace_lost(ep);
	}
}

static void accept(struct fw_endpoint *ep, struct fw_pull *p, const struct answer *a, __u64 now)
{
	const __u64 place = a->number ? fw_place(a->number, a->frame) : 0;
	/* The next in turn overtakes nothing: spares the search, nearly always. */
	const int in_turn = fw_frames_in_turn(&p->frame, a->frame, place);

	p->received += frame_length(p, a->frame);
	if (!fw_frames_take(&p->frame, a->frame) || !p->is_x)
		note_missing(ep, p, -1);
	if (p->is_x) {
		x_sample(ep, p, a->number, now);
		fw_pace_arrived(ep);
	}
	if (place)
		learn(ep, p, place, in_turn);
}

int fw_ask_answered(struct fw_endpoint *ep, struct fw_pull *p, const struct fw_pkt *pkt, __u64 now,
		    __u32 *position)
{
	struct answer a;

	if (!answer(p, pkt, &a) || a.frame >= p->frame.asked ||
	    pkt->msg.data_len != frame_length(p, a.frame))
		return EMX_CNT_DROP_REPLY_SHAPE;
	if (a.frame < p->frame.base || fw_bit(p->frame.got, a.frame))
		return EMX_CNT_DROP_REPLY_DUPLICATE;
	*position = frame_start(p, a.frame);
	accept(ep, p, &a, now);
	return 0;
}

/* ---- prediction ---- */

int fw_pull_place(const struct fw_endpoint *ep, const struct fw_pkt *pkt, struct fw_place *place)
{
	const struct fw_pull *p = &ep->pull[pkt->handle % FW_PULLS];

	if (p->state != FW_PULL_RUNNING || p->handle != pkt->handle || !p->is_x ||
	    pkt->magic != ep->magic || pkt->frame < p->frame.base || pkt->frame >= p->frame.asked ||
	    fw_bit(p->frame.got, pkt->frame))
		return -1;
	place->position = frame_start(p, pkt->frame);
	place->length = frame_length(p, pkt->frame);
	return place->length == pkt->msg.data_len ? fw_slot_of(ep, p) : -1;
}

__u32 fw_expect(const struct fw_endpoint *ep, int slot, __u32 max, struct fw_place *place)
{
	__u32 frame[FW_PLACES_MAX] = { 0 }, n, i;
	const struct fw_pull *p;

	if (!max || slot < 0 || slot >= FW_PULLS || ep->pull[slot].state != FW_PULL_RUNNING)
		return 0;
	p = &ep->pull[slot];
	n = fw_frames_expect(&p->frame, max, frame);
	for (i = 0; i < n; i++) {
		place[i].position = frame_start(p, frame[i]);
		place[i].length = frame_length(p, frame[i]);
	}
	return n;
}
