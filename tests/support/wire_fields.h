/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fields of all packets: one line each, for C, C++ and, by ../interop/wire_rows.c, the Wireshark dissector. The
 * places come from the wire specification, section 4, and docs/protocol.md; assertions at the end compare them with
 * the declarations in emx/wire.h.
 *
 *   FIELD(packet, part, offset in the body, bytes, name, use, structure, member)
 *
 * Names are the keys of tools/wireshark. Part: see enum wire_part; use: see enum wire_use.
 */
#ifndef EMX_TESTS_WIRE_FIELDS_H
#define EMX_TESTS_WIRE_FIELDS_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <emx/wire.h>

/* Frames that have the field. */
enum wire_part {
	WIRE_ALL,
	WIRE_W, /* a dialect */
	WIRE_N,
	WIRE_REQUEST, /* a CONNECT */
	WIRE_REPLY,
	WIRE_OFFER, /* a CONNECT with that behind it */
	WIRE_STATE, /* an X REPORT with that behind it */
};

/* The meaning of a field to those who speak. */
enum wire_use {
	USE_ANY, /* they need not agree on it */
	USE_UNREAD, /* it is sent, and no receiver looks at it */
	USE_IGNORED, /* the same, and a careful sender leaves it 0 */
	USE_TAG, /* index that the receiver told */
	USE_ADVERT, /* index that the sender tells */
	USE_TO, /* endpoint numbers */
	USE_FROM,
	USE_SESSION, /* of the endpoint that it is for */
	USE_REQUESTER, /* session of the endpoint that asks for a connection */
	USE_REPLIER,
	USE_KEY,
	USE_CONNECT_NUMBER, /* counted by the requester */
	USE_NUMBER, /* of the message */
	USE_NEXT, /* that the sender uses next */
	USE_SEEN, /* that the sender expects next */
	USE_LAST, /* that the sender saw last */
	USE_COUNTER, /* rises */
	USE_ECHO, /* newest counter of the receiver */
	USE_OWN_WINDOW, /* chosen by the sender of a large message */
	USE_OWN_WINDOW_TAG,
	USE_WINDOW, /* the same, by its receiver */
	USE_WINDOW_TAG,
	USE_WINDOW_OFFSET,
	USE_TOTAL, /* length of the large message */
	USE_OWN_HANDLE, /* chosen by the puller */
	USE_OWN_MAGIC,
	USE_HANDLE, /* the same, by the replier */
	USE_MAGIC,
	USE_REQUEST, /* that is answered */
	USE_OWN_HOST_MAGIC, /* chosen by the board that asks for a name */
	USE_HOST_MAGIC, /* the same, by the board that answers */
};

struct wire_field {
	uint8_t type; /* of the packet; 0: every frame */
	uint8_t part, at, size, use; /* at: in the frame */
	const char *name;
};

/* Fields of every frame; offsets in the frame. */
#define WIRE_OUTER(FIELD)                                             \
	FIELD(NONE, ALL, 0, 6, dst, ANY, emx_outer, dst)              \
	FIELD(NONE, ALL, 6, 6, src, ANY, emx_outer, src)              \
	FIELD(NONE, ALL, 12, 2, ethertype, ANY, emx_outer, ethertype) \
	FIELD(NONE, ALL, 14, 2, tag, TAG, emx_outer, tag)             \
	FIELD(NONE, ALL, 16, 1, type, ANY, wire_packet, type)

#define WIRE_ENDS(FIELD, packet, body)                        \
	FIELD(packet, ALL, 1, 1, dst_ep, TO, body, dst_ep)   \
	FIELD(packet, ALL, 2, 1, src_ep, FROM, body, src_ep)

#define WIRE_GENERATION(FIELD, packet, body)                 \
	WIRE_ENDS(FIELD, packet, body)                       \
	FIELD(packet, ALL, 3, 1, generation, IGNORED, body, gen)

#define WIRE_NUMBERS(FIELD, packet)                                       \
	FIELD(packet, ALL, 8, 2, seq, NUMBER, emx_w_eager, seq)           \
	FIELD(packet, ALL, 10, 2, ack, SEEN, emx_w_eager, ack)            \
	FIELD(packet, ALL, 12, 8, match, ANY, emx_w_eager, match)         \
	FIELD(packet, ALL, 20, 4, session, SESSION, emx_w_eager, session)

#define WIRE_SMALL(FIELD, packet)                                            \
	WIRE_GENERATION(FIELD, packet, emx_w_eager)                          \
	FIELD(packet, ALL, 4, 2, length, ANY, emx_w_eager, length)           \
	FIELD(packet, ALL, 6, 2, checksum, IGNORED, emx_w_eager, checksum)   \
	WIRE_NUMBERS(FIELD, packet)

#define WIRE_HOST(FIELD)                                                       \
	FIELD(HOST_QUERY, ALL, 2, 2, advert, ADVERT, emx_w_host, advert)       \
	FIELD(HOST_QUERY, ALL, 8, 4, host_magic, OWN_HOST_MAGIC, emx_w_host, magic)       \
	FIELD(HOST_REPLY, ALL, 1, 1, name_length, ANY, emx_w_host, name_len)   \
	FIELD(HOST_REPLY, ALL, 2, 2, advert, ADVERT, emx_w_host, advert)       \
	FIELD(HOST_REPLY, ALL, 8, 4, host_magic, HOST_MAGIC, emx_w_host, magic) \
	FIELD(RAW, ALL, 16, 2, board_high, ANY, wire_beacon, high)             \
	FIELD(RAW, ALL, 18, 6, board, ANY, wire_beacon, board)                 \
	FIELD(RAW, ALL, 24, 4, serial, ANY, emx_w_beacon, serial)

#define WIRE_CONNECT(FIELD)                                                                      \
	WIRE_GENERATION(FIELD, CONNECT, emx_w_connect)                                           \
	FIELD(CONNECT, ALL, 4, 1, data_part, ANY, emx_w_connect, data_len)                       \
	FIELD(CONNECT, ALL, 8, 2, seq, ANY, emx_w_connect, seq)                                  \
	FIELD(CONNECT, ALL, 10, 2, advert, ADVERT, emx_w_connect, advert)                        \
	FIELD(CONNECT, ALL, 16, 4, requester, REQUESTER, emx_w_connect, requester_session)       \
	FIELD(CONNECT, ALL, 24, 2, start, SEEN, emx_w_connect, start)                            \
	FIELD(CONNECT, ALL, 26, 1, is_reply, ANY, emx_w_connect, is_reply)                       \
	FIELD(CONNECT, ALL, 27, 1, number, CONNECT_NUMBER, emx_w_connect, number)                \
	FIELD(CONNECT, REQUEST, 20, 4, key, KEY, emx_w_connect, key_or_session)                  \
	FIELD(CONNECT, REPLY, 20, 4, replier, REPLIER, emx_w_connect, key_or_session)            \
	FIELD(CONNECT, REPLY, 28, 1, status, ANY, emx_w_connect, status)                         \
	FIELD(CONNECT, OFFER, 32, 1, offer_newest, ANY, wire_offering, offer.newest)             \
	FIELD(CONNECT, OFFER, 33, 1, offer_oldest, ANY, wire_offering, offer.oldest)             \
	FIELD(CONNECT, OFFER, 34, 2, offer_features, ANY, wire_offering, offer.features)         \
	FIELD(CONNECT, OFFER, 36, 2, offer_frame, ANY, wire_offering, offer.frame)               \
	FIELD(CONNECT, OFFER, 38, 2, offer_frames, ANY, wire_offering, offer.frames)             \
	FIELD(CONNECT, OFFER, 40, 8, offer_check, ANY, wire_offering, offer.check)

#define WIRE_EAGER(FIELD)                                                                        \
	WIRE_SMALL(FIELD, TINY)                                                                  \
	WIRE_SMALL(FIELD, SMALL)                                                                 \
	WIRE_GENERATION(FIELD, MEDIUM, emx_w_eager)                                              \
	FIELD(MEDIUM, W, 4, 2, length, ANY, emx_w_eager, length)                                 \
	FIELD(MEDIUM, N, 4, 4, length, ANY, emx_w_eager, length32)                               \
	WIRE_NUMBERS(FIELD, MEDIUM)                                                              \
	FIELD(MEDIUM, ALL, 24, 2, frag_size, ANY, emx_w_medium, frag_len)                        \
	FIELD(MEDIUM, ALL, 26, 1, frag, ANY, emx_w_medium, frag)                                 \
	FIELD(MEDIUM, W, 27, 1, exponent, ANY, emx_w_medium, exponent)                           \
	FIELD(MEDIUM, ALL, 28, 2, checksum, IGNORED, emx_w_medium, checksum)                     \
	WIRE_GENERATION(FIELD, RNDV, emx_w_eager)                                                \
	FIELD(RNDV, ALL, 4, 2, data_part, ANY, emx_w_eager, length)                              \
	FIELD(RNDV, ALL, 6, 2, checksum, IGNORED, emx_w_eager, checksum)                         \
	WIRE_NUMBERS(FIELD, RNDV)                                                                \
	FIELD(RNDV, ALL, 24, 4, length, ANY, emx_w_rndv, length)                                 \
	FIELD(RNDV, ALL, 28, 1, window, OWN_WINDOW, emx_w_rndv, window)                          \
	FIELD(RNDV, ALL, 29, 1, window_tag, OWN_WINDOW_TAG, emx_w_rndv, window_tag)              \
	FIELD(RNDV, ALL, 30, 2, window_offset, ANY, emx_w_rndv, window_offset)

#define WIRE_PULL(FIELD)                                                                         \
	WIRE_GENERATION(FIELD, PULL, emx_w_pull_w)                                               \
	FIELD(PULL, ALL, 4, 4, session, SESSION, emx_w_pull_w, session)                          \
	FIELD(PULL, ALL, 8, 4, total, TOTAL, emx_w_pull_w, total)                                \
	FIELD(PULL, W, 12, 1, window, WINDOW, emx_w_pull_w, window)                              \
	FIELD(PULL, W, 13, 1, window_tag, WINDOW_TAG, emx_w_pull_w, window_tag)                  \
	FIELD(PULL, W, 14, 2, window_offset, WINDOW_OFFSET, emx_w_pull_w, window_offset)         \
	FIELD(PULL, W, 16, 4, handle, OWN_HANDLE, emx_w_pull_w, handle)                          \
	FIELD(PULL, W, 20, 4, magic, OWN_MAGIC, emx_w_pull_w, magic)                             \
	FIELD(PULL, W, 24, 2, skip, ANY, emx_w_pull_w, skip)                                     \
	FIELD(PULL, W, 26, 2, block, ANY, emx_w_pull_w, length)                                  \
	FIELD(PULL, W, 28, 4, frame, ANY, emx_w_pull_w, frame)                                   \
	FIELD(PULL, N, 12, 4, window, WINDOW, emx_w_pull_n, window)                              \
	FIELD(PULL, N, 16, 1, window_tag, WINDOW_TAG, emx_w_pull_n, window_tag)                  \
	FIELD(PULL, N, 20, 4, window_offset, WINDOW_OFFSET, emx_w_pull_n, window_offset)         \
	FIELD(PULL, N, 24, 4, handle, OWN_HANDLE, emx_w_pull_n, handle)                          \
	FIELD(PULL, N, 28, 4, magic, OWN_MAGIC, emx_w_pull_n, magic)                             \
	FIELD(PULL, N, 32, 4, skip, ANY, emx_w_pull_n, skip)                                     \
	FIELD(PULL, N, 36, 4, block, ANY, emx_w_pull_n, length)                                  \
	FIELD(PULL, N, 40, 4, frame, ANY, emx_w_pull_n, frame)                                   \
	FIELD(PULL_REPLY, ALL, 1, 1, reply_frame, ANY, emx_w_pull_reply, frame)                  \
	FIELD(PULL_REPLY, ALL, 2, 2, reply_size, ANY, emx_w_pull_reply, length)                  \
	FIELD(PULL_REPLY, ALL, 4, 4, position, ANY, emx_w_pull_reply, position)                  \
	FIELD(PULL_REPLY, ALL, 8, 4, handle, HANDLE, emx_w_pull_reply, handle)                   \
	FIELD(PULL_REPLY, ALL, 12, 4, magic, MAGIC, emx_w_pull_reply, magic)                     \
	WIRE_GENERATION(FIELD, NOTIFY, emx_w_notify)                                             \
	FIELD(NOTIFY, ALL, 4, 4, session, SESSION, emx_w_notify, session)                        \
	FIELD(NOTIFY, ALL, 8, 4, length, TOTAL, emx_w_notify, length)                            \
	FIELD(NOTIFY, ALL, 12, 1, window, WINDOW, emx_w_notify, window)                          \
	FIELD(NOTIFY, ALL, 13, 1, window_tag, WINDOW_TAG, emx_w_notify, window_tag)              \
	FIELD(NOTIFY, ALL, 18, 2, seq, NUMBER, emx_w_notify, seq)                                \
	FIELD(NOTIFY, ALL, 20, 2, ack, SEEN, emx_w_notify, ack)

#define WIRE_ANSWERS(FIELD)                                                                      \
	WIRE_GENERATION(FIELD, TRUC, emx_w_truc)                                                 \
	FIELD(TRUC, ALL, 4, 1, data_part, ANY, emx_w_truc, data_len)                             \
	FIELD(TRUC, ALL, 8, 4, session, SESSION, emx_w_truc, session)                            \
	FIELD(TRUC, ALL, 12, 1, kind, ANY, emx_w_truc, kind)                                     \
	FIELD(TRUC, ALL, 14, 2, ack, SEEN, emx_w_truc, ack)                                      \
	FIELD(TRUC, ALL, 16, 4, session_copy, SESSION, emx_w_truc, session_copy)                 \
	FIELD(TRUC, ALL, 20, 4, counter, COUNTER, emx_w_truc, counter)                           \
	FIELD(TRUC, ALL, 24, 2, ack_copy, UNREAD, emx_w_truc, ack_copy)                          \
	FIELD(TRUC, ALL, 26, 1, resends, UNREAD, emx_w_truc, resends)                            \
	FIELD(NACK_LIB, ALL, 1, 1, src_ep, FROM, emx_w_nack_lib, src_ep)                         \
	FIELD(NACK_LIB, ALL, 2, 1, generation, IGNORED, emx_w_nack_lib, gen)                     \
	FIELD(NACK_LIB, ALL, 3, 1, reason, ANY, emx_w_nack_lib, reason)                          \
	FIELD(NACK_LIB, ALL, 9, 1, dst_ep, TO, emx_w_nack_lib, dst_ep)                           \
	FIELD(NACK_LIB, ALL, 10, 2, tag_copy, ANY, emx_w_nack_lib, tag_copy)                     \
	FIELD(NACK_LIB, ALL, 12, 2, seq, LAST, emx_w_nack_lib, seq)                              \
	FIELD(NACK_MCP, ALL, 1, 1, dst_ep, TO, emx_w_nack_mcp, puller_ep)                        \
	FIELD(NACK_MCP, ALL, 2, 1, generation, IGNORED, emx_w_nack_mcp, gen)                     \
	FIELD(NACK_MCP, ALL, 3, 1, reason, ANY, emx_w_nack_mcp, reason)                          \
	FIELD(NACK_MCP, ALL, 8, 4, handle, HANDLE, emx_w_nack_mcp, handle)                       \
	FIELD(NACK_MCP, ALL, 12, 4, magic, MAGIC, emx_w_nack_mcp, magic)

#define WIRE_EXTENSION(FIELD)                                                                    \
	WIRE_ENDS(FIELD, X_MEDIUM, emx_w_eager)                                                  \
	FIELD(X_MEDIUM, ALL, 4, 4, length, ANY, emx_w_eager, length32)                           \
	WIRE_NUMBERS(FIELD, X_MEDIUM)                                                            \
	FIELD(X_MEDIUM, ALL, 24, 4, position, ANY, emx_w_x_medium, position)                     \
	FIELD(X_MEDIUM, ALL, 28, 2, frag_size, ANY, emx_w_x_medium, frag_len)                    \
	FIELD(X_MEDIUM, ALL, 30, 1, frag, ANY, emx_w_x_medium, frag)                             \
	FIELD(X_MEDIUM, ALL, 32, 4, x_checksum, ANY, emx_w_x_medium, checksum)                   \
	WIRE_ENDS(FIELD, X_REPORT, emx_w_x_report)                                               \
	FIELD(X_REPORT, ALL, 3, 1, x_report_flags, ANY, emx_w_x_report, flags)                   \
	FIELD(X_REPORT, ALL, 4, 4, session, SESSION, emx_w_x_report, session)                    \
	FIELD(X_REPORT, ALL, 8, 2, ack, SEEN, emx_w_x_report, ack)                               \
	FIELD(X_REPORT, ALL, 10, 2, x_next, NEXT, emx_w_x_report, next)                          \
	FIELD(X_REPORT, ALL, 12, 4, x_counter, COUNTER, emx_w_x_report, counter)                 \
	FIELD(X_REPORT, ALL, 16, 4, x_echo, ECHO, emx_w_x_report, echo)                          \
	FIELD(X_REPORT, ALL, 20, 2, x_room, ANY, emx_w_x_report, room)                           \
	FIELD(X_REPORT, ALL, 22, 2, x_state_size, ANY, emx_w_x_report, state_len)                \
	FIELD(X_REPORT, STATE, 24, 16, x_here, ANY, wire_reporting, state.here)                  \
	FIELD(X_REPORT, STATE, 40, 4, x_frags, ANY, wire_reporting, state.frags)                 \
	FIELD(X_REPORT, STATE, 44, 2, x_other, ANY, wire_reporting, state.other)                 \
	FIELD(X_REPORT, STATE, 48, 4, x_other_frags, ANY, wire_reporting, state.other_frags)     \
	WIRE_ENDS(FIELD, X_PULL, emx_w_x_pull)                                                   \
	FIELD(X_PULL, ALL, 3, 1, x_pull_flags, ANY, emx_w_x_pull, flags)                         \
	FIELD(X_PULL, ALL, 4, 4, session, SESSION, emx_w_x_pull, session)                        \
	FIELD(X_PULL, ALL, 8, 4, total, TOTAL, emx_w_x_pull, total)                              \
	FIELD(X_PULL, ALL, 12, 1, window, WINDOW, emx_w_x_pull, window)                          \
	FIELD(X_PULL, ALL, 13, 1, window_tag, WINDOW_TAG, emx_w_x_pull, window_tag)              \
	FIELD(X_PULL, ALL, 14, 2, window_offset, WINDOW_OFFSET, emx_w_x_pull, window_offset)     \
	FIELD(X_PULL, ALL, 16, 4, handle, OWN_HANDLE, emx_w_x_pull, handle)                      \
	FIELD(X_PULL, ALL, 20, 4, magic, OWN_MAGIC, emx_w_x_pull, magic)                         \
	FIELD(X_PULL, ALL, 24, 2, x_unit, ANY, emx_w_x_pull, unit)                               \
	FIELD(X_PULL, ALL, 26, 2, x_request, ANY, emx_w_x_pull, request)                         \
	FIELD(X_PULL, ALL, 28, 4, x_frame, ANY, emx_w_x_pull, first)                             \
	FIELD(X_PULL, ALL, 32, 16, x_want, ANY, emx_w_x_pull, want)                              \
	WIRE_ENDS(FIELD, X_DATA, emx_w_x_data)                                                   \
	FIELD(X_DATA, ALL, 4, 4, handle, HANDLE, emx_w_x_data, handle)                           \
	FIELD(X_DATA, ALL, 8, 4, magic, MAGIC, emx_w_x_data, magic)                              \
	FIELD(X_DATA, ALL, 12, 4, x_frame, ANY, emx_w_x_data, frame)                             \
	FIELD(X_DATA, ALL, 16, 2, x_request, REQUEST, emx_w_x_data, request)                     \
	FIELD(X_DATA, ALL, 18, 2, x_size, ANY, emx_w_x_data, length)                             \
	FIELD(X_DATA, ALL, 20, 4, x_checksum, ANY, emx_w_x_data, checksum)                       \
	WIRE_ENDS(FIELD, X_ADDRESS, emx_w_x_address)                                             \
	FIELD(X_ADDRESS, ALL, 3, 1, x_address_flags, ANY, emx_w_x_address, flags)                \
	FIELD(X_ADDRESS, ALL, 4, 4, session, SESSION, emx_w_x_address, session)                  \
	FIELD(X_ADDRESS, ALL, 8, 4, x_session, ANY, emx_w_x_address, own_session)                \
	FIELD(X_ADDRESS, ALL, 12, 4, x_address, ANY, emx_w_x_address, address)                   \
	FIELD(X_ADDRESS, ALL, 16, 8, x_secret, ANY, emx_w_x_address, secret)                     \
	FIELD(X_ADDRESS, ALL, 24, 2, x_port, ANY, emx_w_x_address, port)                         \
	FIELD(X_ADDRESS, ALL, 26, 2, x_longest, ANY, emx_w_x_address, bytes)                     \
	FIELD(X_GROUP, ALL, 2, 1, src_ep, FROM, emx_w_x_group, src_ep)                           \
	FIELD(X_GROUP, ALL, 4, 4, x_session, ANY, emx_w_x_group, session)                        \
	FIELD(X_GROUP, ALL, 8, 4, x_group_key, ANY, emx_w_x_group, key)                          \
	FIELD(X_GROUP, ALL, 12, 4, x_group_number, ANY, emx_w_x_group, number)                   \
	FIELD(X_GROUP, ALL, 16, 2, x_group_size, ANY, emx_w_x_group, length)                     \
	FIELD(X_GROUP, ALL, 20, 4, x_checksum, ANY, emx_w_x_group, checksum)                     \
	WIRE_ENDS(FIELD, X_PACK, emx_w_x_pack)                                                   \
	FIELD(X_PACK, ALL, 4, 2, x_pack_size, ANY, emx_w_x_pack, length)                         \
	FIELD(X_PACK, ALL, 6, 2, x_pack_count, ANY, emx_w_x_pack, count)                         \
	FIELD(X_PACK, ALL, 8, 2, seq, NUMBER, emx_w_x_pack, seq)                                 \
	FIELD(X_PACK, ALL, 10, 2, ack, SEEN, emx_w_x_pack, ack)                                  \
	FIELD(X_PACK, ALL, 12, 4, session, SESSION, emx_w_x_pack, session)                       \
	FIELD(X_PACK, ALL, 16, 4, x_checksum, ANY, emx_w_x_pack, checksum)

#define WIRE_FIELDS(FIELD)                                                                \
	WIRE_HOST(FIELD) WIRE_CONNECT(FIELD) WIRE_EAGER(FIELD) WIRE_PULL(FIELD) WIRE_ANSWERS(FIELD) \
		WIRE_EXTENSION(FIELD)

/* Structures that no single declaration holds: the byte that tells the packet, a packet and what follows it, a board's number as
 * its address. */
struct wire_packet {
	struct emx_outer outer;
	__u8 type;
};
struct wire_offering {
	struct emx_w_connect connect;
	struct emx_w_offer offer;
};
struct wire_reporting {
	struct emx_w_x_report report;
	struct emx_w_x_state state;
};
struct wire_beacon {
	__u8 head[offsetof(struct emx_w_beacon, board)];
	__u8 high[2];
	__u8 board[6];
};
static_assert(sizeof(struct wire_packet) == EMX_OUTER_LEN + 1, "type");
static_assert(sizeof(struct wire_beacon) == offsetof(struct emx_w_beacon, serial), "board");

#define WIRE_ASSERT(packet, part, at, size, name, use, body, member)                     \
	static_assert(offsetof(struct body, member) == (at) &&                           \
			      sizeof(((struct body *)NULL)->member) == (size),           \
		      #packet " " #name);
WIRE_OUTER(WIRE_ASSERT)
WIRE_FIELDS(WIRE_ASSERT)
#undef WIRE_ASSERT

#define WIRE_OUTER_ROW(packet, part, at, size, name, use, body, member) \
	{ EMX_##packet, WIRE_##part, at, size, USE_##use, #name },
#define WIRE_ROW(packet, part, at, size, name, use, body, member) \
	{ EMX_##packet, WIRE_##part, EMX_OUTER_LEN + (at), size, USE_##use, #name },
static const struct wire_field wire_fields[] = { WIRE_OUTER(WIRE_OUTER_ROW) WIRE_FIELDS(WIRE_ROW) };
#undef WIRE_OUTER_ROW
#undef WIRE_ROW

#define WIRE_FIELD_COUNT (sizeof(wire_fields) / sizeof(wire_fields[0]))

/* True when the frame, of dialect 'W' or 'N', has the field and all of its bytes. */
static inline bool wire_has(const struct wire_field *x, const uint8_t *frame, size_t length, char dialect)
{
	const size_t is_reply = EMX_OUTER_LEN + offsetof(struct emx_w_connect, is_reply);

	if ((size_t)x->at + x->size > length || (x->type && x->type != frame[EMX_OUTER_LEN]))
		return false;
	switch (x->part) {
	case WIRE_W:
		return dialect == 'W';
	case WIRE_N:
		return dialect == 'N';
	case WIRE_REQUEST:
		return !frame[is_reply];
	case WIRE_REPLY:
		return frame[is_reply];
	case WIRE_OFFER:
		return length >= EMX_OUTER_LEN + sizeof(struct wire_offering);
	case WIRE_STATE:
		return length >= EMX_OUTER_LEN + sizeof(struct wire_reporting);
	default:
		return true;
	}
}

/* The value; of a field of more than eight bytes the first eight. */
static inline uint64_t wire_get(const struct wire_field *x, const uint8_t *frame)
{
	uint64_t v = 0;
	unsigned int i;

	for (i = 0; i < x->size && i < 8; i++)
		v = v << 8 | frame[x->at + i];
	return v;
}

static inline void wire_put(const struct wire_field *x, uint8_t *frame, uint64_t v)
{
	unsigned int i = x->size < 8 ? x->size : 8;

	for (; i-- > 0; v >>= 8)
		frame[x->at + i] = (uint8_t)v;
}

/* The field of that name, or NULL. */
static inline const struct wire_field *wire_named(const char *name, const uint8_t *frame, size_t length,
						  char dialect)
{
	size_t i;

	for (i = 0; i < WIRE_FIELD_COUNT; i++)
		if (wire_has(&wire_fields[i], frame, length, dialect) && !__builtin_strcmp(wire_fields[i].name, name))
			return &wire_fields[i];
	return NULL;
}

/* True when senders agree on that byte: it is in a field that receivers look at, or in the name of a board. */
static inline bool wire_matters(size_t at, const uint8_t *frame, size_t length, char dialect)
{
	const struct wire_field *x;

	for (x = wire_fields; x < wire_fields + WIRE_FIELD_COUNT; x++)
		if (at >= x->at && at < (size_t)x->at + x->size && x->use != USE_IGNORED && x->use != USE_UNREAD &&
		    wire_has(x, frame, length, dialect))
			return true;
	return frame[EMX_OUTER_LEN] == EMX_HOST_REPLY && at >= EMX_OUTER_LEN + sizeof(struct emx_w_host);
}

#endif
