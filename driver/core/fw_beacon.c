/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Beacons: how the boards of a network hear of each other without being told (wire specification,
 * section 6.4), and at what pace they ask each other for their names. A board whose table is closed
 * sends none: it wants to meet nobody, and who heard of it would ask it for its name in vain, every
 * 5 s. Who is on its list hears of it by a host query.
 */
#include "fw_internal.h"

#define BURST 8
#define SHORT_MS 1000
#define LONG_MS 180000
/* Between rounds of questions. */
#define SOON_MS 100
#define LATER_MS 5000

void fw_beacons_start(struct fw_beacons *s, __u32 serial, __u64 now)
{
	s->serial = serial;
	s->random = serial;
	s->left = BURST;
	s->due = now;
}

/* A whole network answers a newcomer: not all in the same moment. */
static __u64 some_wait(struct fw_beacons *s)
{
	s->random = s->random * 1664525 + 1013904223;
	return fw_ns(SHORT_MS) * s->random >> 32;
}

static void again(struct fw_beacons *s, __u64 now)
{
	__u64 soon = now + some_wait(s);

	s->left = BURST;
	if (s->due > soon)
		s->due = soon;
}

void fw_beacons_heard(struct fw_beacons *s, struct fw_peers *peers, __u32 peer, __u32 serial,
		      __u64 now)
{
	struct fw_peer *p = fw_peer(peers, peer);
	__u32 flags;

	if (!p || ((p->flags & FW_PEER_HEARD) && p->serial == serial))
		return;
	flags = p->flags | FW_PEER_HEARD;
	/*
	 * It has restarted, or told its name before its first beacon came: perhaps it has another
	 * name now. What an administrator says stays.
	 */
	if (!peers->open || (p->flags & FW_PEER_LEARNED))
		flags |= FW_PEER_ASK;
	p->serial = serial;
	__atomic_store_n(&p->flags, (__u16)flags, __ATOMIC_RELAXED);
	if (peers->open)
		again(s, now);
}

__u32 fw_beacons_next(struct fw_beacons *s, const struct fw_board *b, __u64 now, void *frame)
{
	struct fw_pkt pkt;

	if (now < s->due)
		return 0;
	if (!b->peers->open) {
		s->due = now + fw_ns(LONG_MS);
		return 0;
	}
	if (s->left)
		s->left--;
	s->due = now + fw_ns(s->left ? SHORT_MS : LONG_MS);
	fw_clear(&pkt);
	pkt.msg.type = EMX_RAW;
	pkt.dst_mac = EMX_MAC_BROADCAST;
	pkt.src_mac = b->mac;
	pkt.board = b->mac;
	pkt.serial = s->serial;
	return fw_encode(&b->sizes, &pkt, frame);
}

/* ---- questions ---- */

void fw_questions_soon(struct fw_questions *s, __u64 now)
{
	__u64 soon = s->began + fw_ns(SOON_MS);

	if (soon < now)
		soon = now;
	if (s->due > soon)
		s->due = soon;
	s->urgent = 1;
}

int fw_questions_newcomer(struct fw_questions *s, __u64 now)
{
	if (now - s->newcomers_since >= fw_ns(SOON_MS)) {
		s->newcomers_since = now;
		s->newcomers = 0;
	}
	if (s->newcomers < FW_QUESTIONS_AT_ONCE) {
		s->newcomers++;
		return 1;
	}
	fw_questions_soon(s, now);
	return 0;
}

/*
 * Where most are silent, those behind them wait as long as they do: a network that is down is not
 * to be asked for ever at full pace.
 */
static int begin_round(struct fw_questions *s, __u64 now)
{
	const __u64 later = s->began + fw_ns(LATER_MS);

	if (now < s->due)
		return 0;
	if (s->asked == FW_QUESTIONS_ROUND && s->answered < FW_QUESTIONS_ROUND / 2 && !s->urgent &&
	    now < later) {
		s->due = later;
		return 0;
	}
	s->running = 1;
	s->urgent = 0;
	s->began = now;
	s->asked = 0;
	s->answered = 0;
	return 1;
}

int fw_questions_next(struct fw_questions *s, struct fw_peers *peers, __u32 first, __u64 now)
{
	int peer = -1;

	if (!s->running && !begin_round(s, now))
		return -1;
	if (s->asked < FW_QUESTIONS_ROUND)
		peer = fw_peer_to_ask(peers, s->next > first ? s->next : first);
	if (peer >= 0) {
		s->next = (__u32)peer + 1;
		s->asked++;
		return peer;
	}
	s->running = 0;
	if (s->asked < FW_QUESTIONS_ROUND)
		s->next = 0; /* the end of the table */
	s->due = now + fw_ns(s->asked < FW_QUESTIONS_ROUND ? LATER_MS : SOON_MS);
	return -1;
}
