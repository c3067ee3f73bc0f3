/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For mutants.c: frames, the fields of each packet and what a peer of the board would have to put
 * there, and ways to spoil them.
 */
#ifndef EMX_GUEST_FRAME_FIELDS_H
#define EMX_GUEST_FRAME_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <emx/wire.h>

#define FRAME_MAX 9014
#define FRAME_LEAST 14 /* the kernel sends nothing shorter */
#define N_MTU 9000 /* of the boards' dialect N */

struct frame {
	size_t length;
	uint8_t b[FRAME_MAX];
};

/* What a field means to those who speak; ANY: they need not agree on it. */
enum use {
	ANY,
	THEIRS, /* the board's endpoint */
	OURS, /* the stranger's endpoint */
	SESSION, /* of their endpoint */
	NUMBER, /* of our message */
	NEXT, /* that we use next */
	SEEN, /* theirs that we expect next */
	LAST, /* theirs that we saw */
	COUNTER,
	ECHO, /* their newest counter */
	WINDOW,
	WINDOW_TAG,
	WINDOW_OFFSET,
	TOTAL, /* length of their message */
	HANDLE,
	MAGIC,
	REQUEST,
	HOST_MAGIC,
	ADVERT,
	REQUESTER, /* session of who asked for the connection */
	KEY_OR_SESSION,
	CONNECT_NUMBER,
	ONE, /* a status or state that is right with that value */
};

struct field {
	uint8_t type; /* 0: of every frame */
	char dialect; /* 0: of both */
	uint8_t at, size, use;
};

#define FIELD(type, dialect, body, member, use)                                     \
	{                                                                           \
		EMX_##type, dialect, EMX_OUTER_LEN + offsetof(struct body, member), \
			sizeof(((struct body *)NULL)->member), use                  \
	}
#define EAGER(type)                                                                               \
	FIELD(type, 0, emx_w_eager, dst_ep, THEIRS), FIELD(type, 0, emx_w_eager, src_ep, OURS),   \
		FIELD(type, 0, emx_w_eager, seq, NUMBER), FIELD(type, 0, emx_w_eager, ack, SEEN), \
		FIELD(type, 0, emx_w_eager, match, ANY),                                          \
		FIELD(type, 0, emx_w_eager, session, SESSION)
#define ENDS(type, body) FIELD(type, 0, body, dst_ep, THEIRS), FIELD(type, 0, body, src_ep, OURS)
#define PULL(dialect, body)                                                                      \
	FIELD(PULL, dialect, body, dst_ep, THEIRS), FIELD(PULL, dialect, body, src_ep, OURS),    \
		FIELD(PULL, dialect, body, session, SESSION),                                    \
		FIELD(PULL, dialect, body, total, TOTAL),                                        \
		FIELD(PULL, dialect, body, window, WINDOW),                                      \
		FIELD(PULL, dialect, body, window_tag, WINDOW_TAG),                              \
		FIELD(PULL, dialect, body, window_offset, WINDOW_OFFSET),                        \
		FIELD(PULL, dialect, body, handle, ANY), FIELD(PULL, dialect, body, magic, ANY), \
		FIELD(PULL, dialect, body, skip, ANY), FIELD(PULL, dialect, body, length, ANY),  \
		FIELD(PULL, dialect, body, frame, ANY)

static const struct field fields[] = {
	{ 0, 0, 0, 6, ANY },
	{ 0, 0, 6, 6, ANY },
	{ 0, 0, 12, 2, ANY },
	{ 0, 0, 14, 2, ANY },
	{ 0, 0, EMX_OUTER_LEN, 1, ANY },

	FIELD(RAW, 0, emx_w_beacon, serial, ANY),
	FIELD(HOST_QUERY, 0, emx_w_host, advert, ADVERT),
	FIELD(HOST_QUERY, 0, emx_w_host, magic, ANY),
	FIELD(HOST_REPLY, 0, emx_w_host, name_len, ANY),
	FIELD(HOST_REPLY, 0, emx_w_host, advert, ADVERT),
	FIELD(HOST_REPLY, 0, emx_w_host, magic, HOST_MAGIC),

	ENDS(CONNECT, emx_w_connect),
	FIELD(CONNECT, 0, emx_w_connect, data_len, ANY),
	FIELD(CONNECT, 0, emx_w_connect, seq, ANY),
	FIELD(CONNECT, 0, emx_w_connect, advert, ADVERT),
	FIELD(CONNECT, 0, emx_w_connect, requester_session, REQUESTER),
	FIELD(CONNECT, 0, emx_w_connect, key_or_session, KEY_OR_SESSION),
	FIELD(CONNECT, 0, emx_w_connect, start, SEEN),
	FIELD(CONNECT, 0, emx_w_connect, is_reply, ANY),
	FIELD(CONNECT, 0, emx_w_connect, number, CONNECT_NUMBER),
	FIELD(CONNECT, 0, emx_w_connect, status, ANY),

	EAGER(TINY),
	FIELD(TINY, 0, emx_w_eager, length, ANY),
	EAGER(SMALL),
	FIELD(SMALL, 0, emx_w_eager, length, ANY),
	EAGER(MEDIUM),
	FIELD(MEDIUM, 'W', emx_w_eager, length, ANY),
	FIELD(MEDIUM, 'N', emx_w_eager, length32, ANY),
	FIELD(MEDIUM, 0, emx_w_medium, frag_len, ANY),
	FIELD(MEDIUM, 0, emx_w_medium, frag, ANY),
	FIELD(MEDIUM, 'W', emx_w_medium, exponent, ANY),
	EAGER(RNDV),
	FIELD(RNDV, 0, emx_w_eager, length, ANY),
	FIELD(RNDV, 0, emx_w_rndv, length, ANY),
	FIELD(RNDV, 0, emx_w_rndv, window, ANY),
	FIELD(RNDV, 0, emx_w_rndv, window_tag, ANY),
	FIELD(RNDV, 0, emx_w_rndv, window_offset, ANY),

	PULL('W', emx_w_pull_w),
	PULL('N', emx_w_pull_n),
	FIELD(PULL_REPLY, 0, emx_w_pull_reply, frame, ANY),
	FIELD(PULL_REPLY, 0, emx_w_pull_reply, length, ANY),
	FIELD(PULL_REPLY, 0, emx_w_pull_reply, position, ANY),
	FIELD(PULL_REPLY, 0, emx_w_pull_reply, handle, HANDLE),
	FIELD(PULL_REPLY, 0, emx_w_pull_reply, magic, MAGIC),

	ENDS(NOTIFY, emx_w_notify),
	FIELD(NOTIFY, 0, emx_w_notify, session, SESSION),
	FIELD(NOTIFY, 0, emx_w_notify, length, TOTAL),
	FIELD(NOTIFY, 0, emx_w_notify, window, WINDOW),
	FIELD(NOTIFY, 0, emx_w_notify, window_tag, WINDOW_TAG),
	FIELD(NOTIFY, 0, emx_w_notify, seq, NUMBER),
	FIELD(NOTIFY, 0, emx_w_notify, ack, SEEN),

	ENDS(TRUC, emx_w_truc),
	FIELD(TRUC, 0, emx_w_truc, data_len, ANY),
	FIELD(TRUC, 0, emx_w_truc, session, SESSION),
	FIELD(TRUC, 0, emx_w_truc, kind, ANY),
	FIELD(TRUC, 0, emx_w_truc, ack, SEEN),
	FIELD(TRUC, 0, emx_w_truc, session_copy, SESSION),
	FIELD(TRUC, 0, emx_w_truc, counter, COUNTER),
	FIELD(TRUC, 0, emx_w_truc, ack_copy, SEEN),
	FIELD(TRUC, 0, emx_w_truc, resends, ANY),

	ENDS(NACK_LIB, emx_w_nack_lib),
	FIELD(NACK_LIB, 0, emx_w_nack_lib, reason, ANY),
	FIELD(NACK_LIB, 0, emx_w_nack_lib, tag_copy, ANY),
	FIELD(NACK_LIB, 0, emx_w_nack_lib, seq, LAST),
	FIELD(NACK_MCP, 0, emx_w_nack_mcp, puller_ep, THEIRS),
	FIELD(NACK_MCP, 0, emx_w_nack_mcp, reason, ANY),
	FIELD(NACK_MCP, 0, emx_w_nack_mcp, handle, HANDLE),
	FIELD(NACK_MCP, 0, emx_w_nack_mcp, magic, MAGIC),

	EAGER(X_MEDIUM),
	FIELD(X_MEDIUM, 0, emx_w_eager, length32, ANY),
	FIELD(X_MEDIUM, 0, emx_w_x_medium, position, ANY),
	FIELD(X_MEDIUM, 0, emx_w_x_medium, frag_len, ANY),
	FIELD(X_MEDIUM, 0, emx_w_x_medium, frag, ANY),
	FIELD(X_MEDIUM, 0, emx_w_x_medium, checksum, ANY),
	ENDS(X_REPORT, emx_w_x_report),
	FIELD(X_REPORT, 0, emx_w_x_report, flags, ANY),
	FIELD(X_REPORT, 0, emx_w_x_report, session, SESSION),
	FIELD(X_REPORT, 0, emx_w_x_report, ack, SEEN),
	FIELD(X_REPORT, 0, emx_w_x_report, next, NEXT),
	FIELD(X_REPORT, 0, emx_w_x_report, counter, COUNTER),
	FIELD(X_REPORT, 0, emx_w_x_report, echo, ECHO),
	FIELD(X_REPORT, 0, emx_w_x_report, room, ANY),
	FIELD(X_REPORT, 0, emx_w_x_report, state_len, ANY),
	ENDS(X_PULL, emx_w_x_pull),
	FIELD(X_PULL, 0, emx_w_x_pull, flags, ANY),
	FIELD(X_PULL, 0, emx_w_x_pull, session, SESSION),
	FIELD(X_PULL, 0, emx_w_x_pull, total, TOTAL),
	FIELD(X_PULL, 0, emx_w_x_pull, window, WINDOW),
	FIELD(X_PULL, 0, emx_w_x_pull, window_tag, WINDOW_TAG),
	FIELD(X_PULL, 0, emx_w_x_pull, window_offset, WINDOW_OFFSET),
	FIELD(X_PULL, 0, emx_w_x_pull, handle, ANY),
	FIELD(X_PULL, 0, emx_w_x_pull, magic, ANY),
	FIELD(X_PULL, 0, emx_w_x_pull, unit, ANY),
	FIELD(X_PULL, 0, emx_w_x_pull, request, ANY),
	FIELD(X_PULL, 0, emx_w_x_pull, first, ANY),
	ENDS(X_DATA, emx_w_x_data),
	FIELD(X_DATA, 0, emx_w_x_data, handle, HANDLE),
	FIELD(X_DATA, 0, emx_w_x_data, magic, MAGIC),
	FIELD(X_DATA, 0, emx_w_x_data, frame, ANY),
	FIELD(X_DATA, 0, emx_w_x_data, request, REQUEST),
	FIELD(X_DATA, 0, emx_w_x_data, length, ANY),
	FIELD(X_DATA, 0, emx_w_x_data, checksum, ANY),
};

#undef FIELD
#undef EAGER
#undef ENDS
#undef PULL

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static inline bool has(const struct field *x, uint8_t type, char dialect)
{
	return (!x->type || x->type == type) && (!x->dialect || x->dialect == dialect);
}

static inline uint64_t get(const struct frame *f, unsigned int at, unsigned int size)
{
	uint64_t v = 0;
	unsigned int i;

	for (i = 0; i < size; i++)
		v = v << 8 | f->b[at + i];
	return v;
}

static inline void put(struct frame *f, unsigned int at, unsigned int size, uint64_t v)
{
	while (size-- > 0) {
		f->b[at + size] = (uint8_t)v;
		v >>= 8;
	}
}

/* ---- chance ---- */

static uint64_t chance_state;

/* splitmix64: the same numbers from the same seed, on every machine */
static inline uint64_t chance(void)
{
	uint64_t z = chance_state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static inline uint32_t below(uint32_t n)
{
	return (uint32_t)(chance() >> 32) % n;
}

/* ---- how frames are spoiled ---- */

static inline uint64_t spoiled(uint64_t v)
{
	static const uint64_t edges[] = { 0,	     1,	     0x1f,	 0x20,	     0x21,
					  0x7f,	     0x80,   0x81,	 0xff,	     0x7fff,
					  0x8000,    0xfffe, 0xffff,	 0x10000,    0x3fff,
					  0x4000,    0x1000, 0x7fffffff, 0x80000000, 0xfffffffe,
					  0xffffffff };

	switch (below(6)) {
	case 0:
		return below(256);
	case 1:
		return chance();
	case 2:
		return v + below(16);
	case 3:
		return v - below(16);
	case 4:
		return v ^ 1ull << below(64);
	default:
		return edges[below(sizeof(edges) / sizeof(edges[0]))];
	}
}

static inline void spoil_field(struct frame *f, char dialect)
{
	const struct field *x;
	uint8_t type = f->b[EMX_OUTER_LEN];
	unsigned int i, at = below(FIELDS), rest = 3;

	/* Addresses and type are every frame's, and would be hit too often. */
	for (i = 0; i < FIELDS; i++) {
		x = &fields[(at + i) % FIELDS];
		if (!has(x, type, dialect) || (!x->type && rest-- > 0 && below(8)))
			continue;
		if (x->at + x->size <= f->length)
			put(f, x->at, x->size, spoiled(get(f, x->at, x->size)));
		return;
	}
}

static inline void spoil_byte(struct frame *f)
{
	uint32_t end = f->length > 80 && below(4) ? 80 : (uint32_t)f->length;
	uint8_t *b;

	if (end <= FRAME_LEAST)
		return;
	b = &f->b[FRAME_LEAST + below(end - FRAME_LEAST)];
	*b = below(2) ? (uint8_t)chance() : *b ^ 1u << below(8);
}

static inline void spoil_length(struct frame *f)
{
	size_t was = f->length;

	if (below(2))
		f->length = FRAME_LEAST + below((uint32_t)was - FRAME_LEAST + 1);
	else
		f->length += below(below(4) ? 64 : FRAME_MAX);
	if (f->length > FRAME_MAX)
		f->length = FRAME_MAX;
	for (; was < f->length; was++)
		f->b[was] = (uint8_t)chance();
}

/* In none to four ways; true when there was one. */
static inline bool spoil(struct frame *f, char dialect)
{
	uint32_t ways = below(5), i;

	for (i = 0; i < ways; i++) {
		if (!below(16))
			spoil_length(f);
		else if (f->length > EMX_OUTER_LEN && below(2))
			spoil_field(f, dialect);
		else
			spoil_byte(f);
	}
	return ways > 0;
}

#endif
