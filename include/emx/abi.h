/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Contract between the library and the firmware, on whichever platform: one message record that
 * travels both ways (a command to send a frame, an event about a frame received), the effects of
 * a large transfer, and the counters.
 */
#ifndef EMX_ABI_H
#define EMX_ABI_H

#include <linux/types.h>

#define EMX_ABI_VERSION 1

/*
 * Kinds of struct emx_msg. Values below 0x80 are packet types of wire.h (CONNECT, TINY, SMALL,
 * MEDIUM, RNDV, NOTIFY, TRUC, NACK LIB, X MEDIUM, X REPORT, X GROUP, X PACK); the rest are local
 * events.
 */
enum emx_event_kind {
	EMX_EV_PULL_DONE = 0x80, /* u.pull: all copied, or failed with a status */
	EMX_EV_LINK = 0x81, /* u.link: the interface went down, came up, or is gone */
	EMX_EV_SURE_END = 0x82, /* the sure way to .peer and .remote_ep is gone: Port::take_back() */
	EMX_EV_SURE_ROOM = 0x83, /* it was full, and is not any more */
};

/* Added to the type of a packet that came by a sure way; its .session is the sender's own. */
#define EMX_EV_SURE 0x80

enum emx_link_state {
	EMX_LINK_UP = 0,
	EMX_LINK_DOWN = 1,
	EMX_LINK_GONE = 2,
};

/* Outcomes of a pull. Values 1 to 4 are the reasons of NACK MCP. */
enum emx_pull_status {
	EMX_PULL_OK = 0,
	EMX_PULL_BAD_ENDPOINT = 1,
	EMX_PULL_CLOSED = 2,
	EMX_PULL_BAD_SESSION = 3,
	EMX_PULL_BAD_WINDOW = 4,
	EMX_PULL_TIMEOUT = 5,
	EMX_PULL_ABORTED = 6, /* cancelled by the library, or the destination became unreadable */
};

/*
 * One library packet, in host byte order.
 *
 * As a command the library fills everything; the firmware adds MACs, tag and advert, and takes
 * local_ep from the endpoint that issues it. As an event the firmware has checked the frame
 * (wire specification, section 13, rules 1 to 8) and found the peer; what a partner may do is
 * for the library to judge.
 */
struct emx_msg {
	__u8 type;
	__u8 local_ep;
	__u8 remote_ep;
	__u8 reserved;
	__u32 peer; /* index in this board's peer table */
	__u32 session; /* wire session field: of the destination endpoint */
	__u16 seq;
	__u16 ack;
	__u64 match;
	__u32 msg_len; /* whole message; NOTIFY: bytes transferred */
	__u32 data_len; /* payload bytes of this frame */
	/*
	 * Event: address of the payload, valid until the event is consumed. RNDV, as the command to
	 * pull its message: the offer by which its sender agreed to the extension, or 0.
	 */
	__u64 data;
	union {
		struct {
			__u32 position;
			__u8 frag; /* number of the fragment */
			__u8 summed; /* command, X MEDIUM: with a checksum, made of .crc */
			__u32 crc; /* CRC-32C of the payload */
		} medium;
		struct {
			__u32 count; /* messages in the payload; .seq: of the first */
			__u8 reserved;
			__u8 summed; /* as of medium */
			__u32 crc;
		} pack;
		struct {
			__u32 offset;
			__u8 id;
			__u8 tag;
		} window; /* RNDV, NOTIFY */
		struct {
			__u32 session; /* the sender's own */
			__u32 key; /* request only */
			__u16 start;
			__u8 is_reply;
			__u8 number;
			__u8 status; /* reply only */
		} connect; /* .session above: reply: the echo; request: unused. .match: emx_offer() */
		struct {
			__u32 counter;
		} truc; /* the ack is in .ack */
		struct {
			__u32 counter;
			__u32 echo;
			__u16 room;
			__u8 ask;
		} report; /* X REPORT; .seq: the number used next; payload: struct emx_w_x_state */
		struct {
			__u8 reason;
		} nack; /* NACK MCP, the answer to a question: .match, emx_question() */
		struct {
			__u64 cookie;
			__u32 length;
			__u8 status; /* enum emx_pull_status */
		} pull;
		struct {
			__u8 state; /* enum emx_link_state */
		} link;
	} u;
};

/*
 * A question of the library's, and what it is answered by: a command of type PULL with this in .match,
 * .peer, and .session of the partner, is a request that makes sense in both dialects, for an endpoint
 * that no host has. Its refusal repeats bytes that lie elsewhere in each: an event of type NACK MCP with
 * handle << 32 | magic in .match. handle: 1 to 4095, to which dialect N answers; tag: not 0, and
 * offset: 0 to 127, to which dialect W does.
 */
#define EMX_QUESTION_ENDPOINT 255
static inline __u64 emx_question(__u16 handle, __u8 tag, __u16 offset)
{
	return (__u64)(handle & 0xfff) << 48 | (__u64)tag << 32 | (offset & 127);
}

/* The answer of a host of dialect N to it, and of one of dialect W. */
static inline __u64 emx_answer_n(__u64 question)
{
	return question >> 48 << 32;
}

static inline __u64 emx_answer_w(__u64 question)
{
	return (question >> 32 & 0xff) << 56 | (question & 0xffffffff);
}

/*
 * The offer of the EtherMX extension that a CONNECT carries, in one number: its fields as they
 * stand in the frame; 0: none. The check value is the firmware's: an event has an offer only if
 * it was right.
 */
static inline __u64 emx_offer(__u8 newest, __u8 oldest, __u16 features, __u16 frame, __u16 frames)
{
	return (__u64)newest << 56 | (__u64)oldest << 48 | (__u64)features << 32 |
	       (__u64)frame << 16 | frames;
}

static inline __u8 emx_offer_newest(__u64 offer)
{
	return (__u8)(offer >> 56);
}

static inline __u8 emx_offer_oldest(__u64 offer)
{
	return (__u8)(offer >> 48);
}

static inline __u16 emx_offer_features(__u64 offer)
{
	return (__u16)(offer >> 32);
}

static inline __u16 emx_offer_frame(__u64 offer)
{
	return (__u16)(offer >> 16);
}

static inline __u16 emx_offer_frames(__u64 offer)
{
	return (__u16)offer;
}

/*
 * Counters, one list for the core, its platforms, omx_counters and the documentation:
 * X(identifier, label, explanation). Append only: their order is visible to programs.
 * The DROP_ group are the reasons why a frame was thrown away.
 */
#define EMX_COUNTERS(X)                                                                        \
	X(RX_RAW, "raw frames received", "discovery beacons and fabric-manager frames")       \
	X(RX_HOST_QUERY, "host queries received", "a peer asked for our board name")          \
	X(RX_HOST_REPLY, "host replies received", "a peer told its board name")               \
	X(RX_TRUC, "explicit acks received", "acknowledgements that rode on no message")      \
	X(RX_CONNECT, "connect packets received", "requests and replies")                     \
	X(RX_TINY, "tiny messages received", "messages of at most 32 bytes")                  \
	X(RX_SMALL, "small messages received", "messages of at most 128 bytes")               \
	X(RX_MEDIUM, "medium fragments received", "fragments of eager messages")              \
	X(RX_RNDV, "rendezvous received", "announcements of large or synchronous messages")   \
	X(RX_PULL, "pull requests received", "a receiver asks for a part of a large message") \
	X(RX_PULL_REPLY, "pull replies received", "frames of large messages")                 \
	X(RX_NOTIFY, "notifies received", "large messages finished by the receiver")          \
	X(RX_NACK_LIB, "lib nacks received", "a peer refused a message or a connect")         \
	X(RX_NACK_MCP, "mcp nacks received", "a peer refused a pull request")                 \
	X(TX_RAW, "raw frames sent", "beacons and raw endpoint frames")                       \
	X(TX_HOST_QUERY, "host queries sent", "we asked a board for its name")                \
	X(TX_HOST_REPLY, "host replies sent", "we told our board name")                       \
	X(TX_TRUC, "explicit acks sent", "acknowledgements that rode on no message")          \
	X(TX_CONNECT, "connect packets sent", "requests and replies, repeats included")       \
	X(TX_TINY, "tiny messages sent", "repeats included")                                  \
	X(TX_SMALL, "small messages sent", "repeats included")                                \
	X(TX_MEDIUM, "medium fragments sent", "repeats included")                             \
	X(TX_RNDV, "rendezvous sent", "repeats included")                                     \
	X(TX_PULL, "pull requests sent", "repeats included")                                  \
	X(TX_PULL_REPLY, "pull replies sent", "frames of large messages")                     \
	X(TX_NOTIFY, "notifies sent", "repeats included")                                     \
	X(TX_NACK_LIB, "lib nacks sent", "we refused a message or a connect")                 \
	X(TX_NACK_MCP, "mcp nacks sent", "we refused a pull request")                         \
	X(TX_FAILED, "frames the interface refused", "queue full or link down; repeated later") \
	X(RESEND_MESSAGE, "messages repeated", "no ack came in time")                         \
	X(RESEND_CONNECT, "connect requests repeated", "no reply came in time")               \
	X(RESEND_PULL, "pull requests repeated", "pull replies were missing")                 \
	X(PULL_PLACED, "pull replies placed by the kernel", "received straight into the buffer") \
	X(PULL_MISPLACED, "pull replies moved", "predicted place was another frame's")        \
	X(PULL_TIMEOUT, "pulls given up", "no reply for the whole limit")                     \
	X(SHM_MESSAGE, "messages through shared memory", "endpoints of this host")            \
	X(DROP_SHORT, "drop: frame too short", "less than the header of its type needs")      \
	X(DROP_ETHERTYPE, "drop: not MXoE", "another EtherType")                              \
	X(DROP_NOT_OURS, "drop: for another board", "destination MAC is not ours")            \
	X(DROP_BAD_SOURCE, "drop: bad source MAC", "multicast, zero, or our own address")     \
	X(DROP_TYPE, "drop: unknown packet type", "reserved or unassigned")                   \
	X(DROP_UNKNOWN_PEER, "drop: unknown peer", "source MAC is not in the peer table")     \
	X(DROP_LENGTH, "drop: stated length wrong", "over the class limit or the frame's end") \
	X(DROP_DATA_PART, "drop: data part too short", "connect, ack or rendezvous data")     \
	X(DROP_FRAGMENT, "drop: bad medium fragment", "number, size or position impossible; often a peer set to other frame sizes") \
	X(DROP_ENDPOINT_BUSY, "drop: endpoint not ready", "claimed by a process that is still opening it, or another process's") \
	X(DROP_ENDPOINT, "drop: no such endpoint", "for a packet that must not be refused")   \
	X(DROP_SESSION, "drop: stale session", "for a packet that must not be refused")       \
	X(DROP_TRUC, "drop: bad ack packet", "kind unknown or the session copies differ")     \
	X(DROP_PULL_SHAPE, "drop: bad pull request", "empty, too many frames, or overflowing; often a peer set to other frame sizes") \
	X(DROP_PULL_RANGE, "drop: pull outside window", "asks for bytes the message does not have") \
	X(DROP_PULL_BUSY, "drop: too many pull requests", "a peer asks faster than we answer") \
	X(DROP_REPLY_UNKNOWN, "drop: pull reply of no pull", "late, repeated, or forged")     \
	X(DROP_REPLY_SHAPE, "drop: pull reply misplaced", "number, position and size disagree; often a peer set to other frame sizes") \
	X(DROP_REPLY_DUPLICATE, "drop: pull reply repeated", "already received")              \
	X(DROP_NACK, "drop: bad nack", "reason not defined, or nothing it could refuse")      \
	X(DROP_HOST, "drop: bad host query or reply", "impossible name, or wrong destination")    \
	X(DROP_RAW, "drop: bad beacon", "too short or an impossible address")                 \
	X(DROP_TABLE_FULL, "drop: peer table full", "raise the table size or list the peers") \
	X(DROP_CONNECT, "drop: bad connect", "impossible session, status or data")            \
	X(DROP_EVENT_FULL, "drop: event queue full", "the process does not take its events")  \
	X(DROP_PARTNER, "drop: no such partner", "a message from an endpoint that never connected") \
	X(DROP_SEQUENCE, "drop: outside the window", "repeated, or too far ahead")            \
	X(DROP_CONTENT, "drop: contradicting fragments", "fragments of one number differ")      \
	X(BUSY_POLL, "busy polls", "a spinning program looked for frames in the network card") \
	X(BUSY_POLL_FOUND, "busy polls that found frames", "before an interrupt brought them")     \
	X(DROP_DIALECT_MEDIUM, "drop: medium of the other dialect", "its sender is set to the other of W and N")  \
	X(DROP_DIALECT_PULL, "drop: pull of the other dialect", "its sender is set to the other of W and N") \
	X(DROP_ECHO, "drop: answer to a stranger", "a reply to a question that this board or endpoint never asked") \
	X(DROP_OVERSIZE, "drop: frame too long", "longer than any of our dialect and size")   \
	X(RX_X_MEDIUM, "x medium fragments received", "the same by the EtherMX extension")    \
	X(RX_X_REPORT, "x reports received", "what an EtherMX peer has received and sent")    \
	X(RX_X_PULL, "x pull requests received", "an EtherMX receiver asks for frames of a large message") \
	X(RX_X_DATA, "x data frames received", "frames of large messages, by the EtherMX extension") \
	X(TX_X_MEDIUM, "x medium fragments sent", "repeats included")                         \
	X(TX_X_REPORT, "x reports sent", "what we have received and sent")                    \
	X(TX_X_PULL, "x pull requests sent", "repeats included")                              \
	X(TX_X_DATA, "x data frames sent", "frames of large messages, by the EtherMX extension") \
	X(DROP_EXTENSION, "drop: extension not in use", "a packet of the EtherMX extension for an endpoint that does not use it") \
	X(EXTENSION_AGREED, "extension agreed", "sessions of partners that speak the EtherMX extension, too") \
	X(DROP_CHECKSUM, "drop: wrong checksum", "payload or header altered on the way; repeated like a lost frame") \
	X(DROP_OTHER_HOST, "drop: for another host", "a VLAN that has no interface here; attach the board to one") \
	X(DROP_CONNECT_ROOM, "drop: no room for a partner", "connects of more remote endpoints than EMX_PARTNERS; were they forged?") \
	X(DROP_ANSWER, "drop: too many to answer", "beyond 10,000 refusals, first connects and name queries a second; were they forged?") \
	X(RX_X_ADDRESS, "x addresses received", "an EtherMX peer tells where it takes datagrams")     \
	X(TX_X_ADDRESS, "x addresses sent", "we tell where we take datagrams")                \
	X(RX_DATAGRAM, "datagrams received", "large messages by UDP: x data, and probes of the way") \
	X(TX_DATAGRAM, "datagrams sent", "large messages by UDP: x data, and probes of the way") \
	X(DATAGRAM_ROUTE, "datagram routes", "ways from an endpoint to us on which a datagram arrived") \
	X(DATAGRAM_FALLBACK, "pulls that left datagrams", "these ceased to come: does a firewall drop UDP ports 34527 and up?") \
	X(DATAGRAM_REST, "fragments that left datagrams", "their messages were repeated: does a firewall drop UDP ports 34527 and up?") \
	X(DATAGRAM_PORT, "datagram ports taken", "another program has our UDP port: large messages go by frames") \
	X(DROP_DATAGRAM_SECRET, "drop: datagram with a wrong secret", "late, or forged")   \
	X(DROP_DATAGRAM_SOURCE, "drop: datagram from elsewhere", "its address or port is not its sender's") \
	X(DROP_ADDRESS, "drop: bad x address", "no address and port of a host") \
	X(RX_X_GROUP, "x group frames received", "frames to a group that the endpoint is in") \
	X(TX_X_GROUP, "x group frames sent", "one frame for all members of a group") \
	X(DROP_GROUP, "drop: bad x group", "its key and its address disagree, or no session") \
	X(DROP_GROUP_STRANGER, "drop: of another group", "this endpoint is not in it; another endpoint of the host is") \
	X(DROP_GROUP_FULL, "drop: group frames full", "the program does not take what came to its groups") \
	X(RX_X_PACK, "x packs received", "frames of several short messages")                  \
	X(TX_X_PACK, "x packs sent", "frames of several short messages, posted while others were under way") \
	X(PACKED, "messages sent in x packs", "short messages that shared a frame; repeats go alone") \
	X(RX_TCP, "tcp packets received", "large messages by TCP: x data")                    \
	X(TX_TCP, "tcp packets sent", "large messages by TCP: x data")                        \
	X(TCP_ROUTE, "tcp routes", "connections of other endpoints to us, for their data")    \
	X(TCP_FALLBACK, "pulls that left tcp", "their connection ended, or nothing came: does a firewall drop the TCP ports of the board?") \
	X(TCP_PORT, "tcp ports taken", "another program has our TCP port: large messages go by datagrams or frames") \
	X(DROP_CONNECTION, "drop: connection of nobody", "it began with a wrong secret, came from elsewhere, or sent what is no x data") \
	X(SHM_PUSH, "large messages copied by both sides", "within the host, their data came with the announcement") \
	X(SHM_UNUSED, "large messages copied in vain", "within the host, their data came before there was a receive") \
	X(DROP_MEMORY, "drop: no memory", "the kernel had none to put the frame into one piece")

enum emx_counter {
#define EMX_COUNTER_ENUM(id, label, help) EMX_CNT_##id,
	EMX_COUNTERS(EMX_COUNTER_ENUM)
#undef EMX_COUNTER_ENUM
		EMX_CNT_COUNT,
};

struct emx_counters {
	__u64 v[EMX_CNT_COUNT];
};

/*
 * Adds to a counter. It has one writer, the host that serialises the endpoint or the board, and
 * readers that take no lock: hence whole words, and no atomic addition.
 */
static inline void emx_count(struct emx_counters *c, unsigned int counter, __u64 n)
{
	__u64 *v = &c->v[counter];

	__atomic_store_n(v, __atomic_load_n(v, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

#endif
