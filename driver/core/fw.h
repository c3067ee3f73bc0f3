/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The firmware core: what a Myrinet NIC did, as state machines without I/O.
 *
 * A platform (kernel module, user-space engine, simulator, board agent) owns memory, time, locks,
 * sockets. It hands in frames, commands and the time; the core answers with effects, one at a
 * time: a call fills *fx and returns nonzero when more effects of that endpoint wait, to be
 * fetched with fw_next(). The platform executes effects in order. At most FW_EFFECTS_MAX follow
 * one input.
 *
 * No allocation, no locks, no callbacks, no clock, no knowledge of the platform, which serialises
 * calls on one endpoint; the board is read-only but for its tags, and the bound on its answers,
 * which is the platform's. The peer table has one writer (fw_peer_add, fw_peer_replace) and
 * lock-free readers, which may have mapped it read-only.
 */
#ifndef EMX_FW_H
#define EMX_FW_H

#include <emx/abi.h>
#include <emx/wire.h>

#include "fw_peer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- sizes of the dialect (wire specification, section 5.2) ---- */

enum fw_dialect { FW_DIALECT_W = 0, FW_DIALECT_N = 1 };

struct fw_sizes {
	__u8 dialect; /* enum fw_dialect */
	__u32 mtu; /* N: the configured size M; W: 0 */
	__u32 frag; /* bytes in a full MEDIUM fragment */
	__u32 frags_max; /* fragments in a message, at most */
	__u32 frag_accept; /* longest fragment accepted */
	__u32 medium_max; /* longest MEDIUM message */
	__u32 reply; /* L: bytes in a full PULL REPLY */
	__u32 block; /* n: most frames one PULL may ask for */
	__u32 payload_min; /* L2 payload (interface MTU) that the largest frame needs */
};

/* Fills *s for dialect W. */
void fw_sizes_w(struct fw_sizes *s);
/* Fills *s for dialect N with frames of mtu bytes; 0, or -1 when mtu is not in 256..65535. */
int fw_sizes_n(struct fw_sizes *s, __u32 mtu);

/* A dialect with its size as one number: FW_SPEAKS_W, or the frame size of dialect N. */
#define FW_SPEAKS_BOARD 0u /* of a peer: what the board speaks */
#define FW_SPEAKS_W 1u
/* Fills *s for such a number other than FW_SPEAKS_BOARD; 0, or -1 when it names no dialect. */
int fw_sizes_spoken(struct fw_sizes *s, __u16 speaks);
/*
 * Makes room in *s for what *more needs: frames, fragments and replies as long as the longer of the
 * two. Nonzero when that changed something.
 */
int fw_sizes_widen(struct fw_sizes *s, const struct fw_sizes *more);

/* ---- a validated frame ---- */

/*
 * A frame as its receiver sees it: msg.local_ep is the endpoint it is for (PULL REPLY, NACK MCP:
 * the puller's), msg.remote_ep the one it comes from. fw_encode takes the same view, so a
 * packet that the platform builds has the addressed endpoint in msg.local_ep.
 */
struct fw_pkt {
	struct emx_msg msg; /* library packets: complete but for .peer */
	__u64 src_mac;
	__u64 dst_mac;
	__u16 tag;
	__u16 advert; /* CONNECT, HOST QUERY, HOST REPLY */
	__u32 handle; /* PULL, PULL REPLY, NACK MCP, X PULL, X DATA */
	__u32 magic; /* the same, and HOST QUERY, HOST REPLY */
	__u32 total; /* PULL, X PULL */
	__u32 window; /* PULL: 32 bits in dialect N; msg.u.window.id is its low byte */
	__u32 skip; /* PULL */
	__u32 length; /* PULL: block length; PULL REPLY, X DATA: data bytes = msg.data_len */
	__u32 frame; /* frame index; PULL REPLY: modulo 256 */
	__u32 position; /* PULL REPLY; NOTE bytes from the start of the message */
	__u32 serial; /* RAW */
	__u64 board; /* RAW: address told in the beacon */
	__u8 exponent; /* MEDIUM of dialect W */
	__u8 foreign; /* PULL: of the other dialect, as which it was read: it can only be refused */
	/* HOST REPLY: the string with its NUL; else empty. What is behind it is undefined. */
	char name[EMX_NAME_MAX];
	/* Packets of the extension; else undefined, so that no other pays for it. */
	struct {
		__u32 checksum; /* X MEDIUM, X DATA, X PACK: 0 = none */
		__u16 request; /* X PULL, X DATA */
		__u16 unit; /* X PULL: bytes in a full frame */
		__u64 secret; /* X ADDRESS, with the next five */
		__u32 address; /* IPv4 */
		__u32 session; /* the sender's own */
		__u16 port;
		__u16 bytes;
		__u8 is_answer;
		__u8 takes_fragments;
		__u8 tcp; /* X ADDRESS: of a socket that listens */
		__u8 carrier; /* X PULL, and a run of X DATA: enum fw_carrier of the data */
		__u8 sum; /* X PULL: data with checksums; in a run of X DATA: the request's */
		__u8 want[EMX_X_WANT_LEN]; /* X PULL: bit i: frame `frame` + i */
	} x;
};

/* fw_check reads no byte of the frame beyond this many. */
#define FW_CHECK_BYTES (EMX_OUTER_LEN + 16 + EMX_NAME_MAX)
/* Where the payload of a PULL REPLY begins in its frame, and that of an X DATA. */
#define FW_REPLY_HEADER (EMX_OUTER_LEN + 16)
#define FW_X_DATA_HEADER (EMX_OUTER_LEN + 24)
#define FW_X_MEDIUM_HEADER (EMX_OUTER_LEN + 40)
#define FW_X_PACK_HEADER (EMX_OUTER_LEN + 24)

/*
 * Longest frame of the extension that a board sends and receives: as long as its interface takes.
 * But who configures dialect N with frames shorter than that says what the network takes, which may
 * be less, with a switch between that drops the others in silence.
 */
static inline __u32 fw_x_frame_max(const struct fw_sizes *s, __u32 interface_mtu)
{
	__u32 frame = interface_mtu + 14;

	if (s->mtu && s->mtu < interface_mtu)
		frame = s->mtu;
	return frame < FW_X_DATA_HEADER + EMX_X_UNIT_MAX ? frame
							 : FW_X_DATA_HEADER + EMX_X_UNIT_MAX;
}

/* Bytes of data in an X MEDIUM between hosts whose longest frame has that many, at most. */
static inline __u32 fw_x_frag_max(__u32 frame)
{
	const __u32 less = FW_X_MEDIUM_HEADER + EMX_X_FRAG_LESS;

	if (frame < less)
		return 0;
	return frame - less < EMX_X_FRAG_MAX ? frame - less : EMX_X_FRAG_MAX;
}

/*
 * Rules 1 to 3, 5 and 6 of section 13 on one frame of len bytes: the only code that looks at raw
 * bytes. self: our MAC, or 0 to accept any destination and our own source (loopback).
 * msg.data is the address of the payload behind `frame`, or 0 for a packet without payload.
 * Returns 0, or the counter of the reason to drop (EMX_CNT_DROP_*); then *pkt holds nothing of use.
 */
int fw_check(const struct fw_sizes *s, __u64 self, const void *frame, __u32 len,
	     struct fw_pkt *pkt);
struct fw_board;
/* The same by the sizes of a board and, for peers that have some, by those of their own. */
int fw_check_for(const struct fw_board *b, __u64 self, const void *frame, __u32 len,
		 struct fw_pkt *pkt);

/*
 * Rules 5 and 6 of section 13 on a decoded packet, which need not have been a frame. 0, or the
 * counter of the reason to drop.
 */
int fw_check_fields(const struct fw_sizes *s, const struct fw_pkt *pkt);

/*
 * The inverse: writes the outer header and the fixed header of pkt into hdr (at least
 * EMX_HEADER_MAX bytes, HOST REPLY EMX_HEADER_MAX + EMX_NAME_MAX; all reserved bytes zero) and
 * returns their length, 0 for a type that does not exist. The name of a HOST REPLY counts as
 * header. Payload follows it on the wire; the platform pads to EMX_FRAME_MIN.
 */
__u32 fw_encode(const struct fw_sizes *s, const struct fw_pkt *pkt, void *hdr);

/*
 * Check value of the offer behind the CONNECT in that frame, of at least EMX_OUTER_LEN + 48 bytes;
 * the one that stands there does not matter.
 */
__u64 fw_offer_check(const void *frame);

/*
 * CRC-32C of n more bytes, behind those that gave crc; 0 before the first. By the processor's
 * instruction, where there is one.
 */
__u32 fw_crc32c(__u32 crc, const void *bytes, __u64 n);
/* The same without it. */
__u32 fw_crc32c_table(__u32 crc, const void *bytes, __u64 n);
/*
 * Checksum of an X MEDIUM, X DATA, X GROUP or X PACK whose header (outer part included) is hdr and
 * whose payload has that CRC-32C. Never 0, and independent of the checksum that stands in hdr.
 */
__u32 fw_checksum(const void *hdr, __u32 payload_crc);
/* Writes it there. */
void fw_put_checksum(void *hdr, __u32 payload_crc);
/*
 * For X DATA, which the platform judges before fw_demux, as it knows where the payload is: 0 when
 * pkt came with a checksum that does not fit its header hdr and that CRC-32C of its payload; then
 * the frame is dropped for EMX_CNT_DROP_CHECKSUM. fw_rx judges X MEDIUM unless the platform did,
 * and X PACK.
 */
static inline int fw_checksum_fits(const struct fw_pkt *pkt, const void *hdr, __u32 payload_crc)
{
	return pkt->x.checksum == 0 || pkt->x.checksum == fw_checksum(hdr, payload_crc);
}

/* Turns the header that fw_encode wrote for a PULL REPLY into that of another frame of its run. */
void fw_reply_place(void *hdr, __u32 frame, __u32 position, __u32 length);
/* The same for an X DATA. */
void fw_x_data_place(void *hdr, __u32 frame, __u32 length);

/* ---- board and endpoint ---- */

enum fw_ep_state {
	FW_EP_CLOSED = 0, /* refuse */
	FW_EP_FOREIGN = 1, /* another process's, or not ready: drop */
	FW_EP_OPEN = 2,
};

/*
 * A bound on what costs something: `rate` a second, and as many at once. Zero: nothing was taken
 * yet.
 */
struct fw_bucket {
	__u64 full; /* when all of it may be taken again */
};

/* Takes one; 0 when none is left. rate: 1 .. 10^9. now: never less than before. */
static inline int fw_bucket_take(struct fw_bucket *bucket, __u64 now, __u32 rate)
{
	const __u64 second = 1000000000u;
	const __u32 each = 1000000000u / rate;

	if (bucket->full < now)
		bucket->full = now;
	if (bucket->full - now > second - each)
		return 0;
	bucket->full += each;
	return 1;
}

/*
 * Answers to frames that anyone may have sent, in anybody's name, so that a flood of these makes
 * nobody else a source of floods: frames beyond it draw none. That many may be due at once, when
 * thousands of hosts ask a newcomer for its name, connect to one endpoint, or sent to one that
 * closes; in a second they are 7 Mbit. All repeat what draws no answer.
 */
#define FW_ANSWERS 10000u

struct fw_endpoint;

struct fw_board {
	__u64 mac;
	struct fw_sizes sizes;
	struct fw_peers *peers; /* read-only but to its one writer */
	struct fw_tags *tags; /* of this process */
	struct emx_counters *counters; /* of what belongs to no endpoint of ours */
	__u32 endpoint_max; /* numbers at and above it are refused with reason 1 */
	__u32 query_magic; /* expected in host replies */
	__u8 answers_hosts; /* this platform answers host queries (the agent, the module) */
	__u8 ep_state[EMX_ENDPOINTS_MAX]; /* enum fw_ep_state */
	struct fw_endpoint *ep[EMX_ENDPOINTS_MAX]; /* when FW_EP_OPEN */
	char name[EMX_NAME_MAX];
	struct fw_bucket answers; /* the platform's, for answers of fw_demux */
};

/*
 * Messages on offer. On the wire a window has 8 bits of id, and 8 bits of tag that count its uses;
 * the low bits of the tag tell apart windows that share an id.
 */
#define FW_WINDOWS 4096
#define FW_WINDOWS_PER_ID (FW_WINDOWS / 256)
#define FW_PULLS 256

/* Where the window with that id and tag stands in a table of FW_WINDOWS. */
static inline __u16 fw_window_slot(__u8 id, __u8 tag)
{
	return (__u16)(id | (tag % FW_WINDOWS_PER_ID) << 8);
}

struct fw_window {
	__u64 length;
	__u32 peer;
	__u8 remote_ep;
	__u8 tag;
	__u8 used;
};

enum fw_pull_state {
	FW_PULL_FREE = 0,
	FW_PULL_RUNNING = 1,
	FW_PULL_ENDED = 2, /* its EMX_EV_PULL_DONE has not been fetched yet */
};

/* Frames of a pull from the first that is not here to the last asked for, at most. */
#define FW_PULL_FRAMES 128 /* of a dialect, whose answers name them by 8 bits */
#define FW_X_SPAN 1024 /* of X PULL */
#define FW_REORDER 4 /* answers by which a frame may be late and not be lost */

/*
 * The frames of a message that were asked for, and in which order: fw_frames.c. Those below base
 * are here, those from asked on were not asked for. A bit stands for a frame, modulo FW_X_SPAN.
 */
struct fw_frames {
	__u32 base;
	__u32 asked;
	__u32 marked; /* frames that are lost and not asked for again yet */
	__u32 mixed; /* frames from here on were asked for in their order */
	__u32 number; /* newest, of a request or of a frame asked for, from 1 on */
	__u32 timed; /* newest when the timer ran out last, its own request included; 0: none */
	__u64 seen; /* place of the newest answer: its number, then the frame */
	__u64 history[FW_REORDER]; /* what seen was after each of the last answers */
	__u8 history_at; /* the oldest of them */
	__u32 got[FW_X_SPAN / 32];
	__u32 mark[FW_X_SPAN / 32];
	__u32 again[FW_X_SPAN / 32]; /* an answer may be to an earlier request than the newest */
	__u16 by[FW_X_SPAN]; /* low bits of the newest number under which it was asked for */
};

/* First in, first out: slots of pulls, linked in struct fw_pull. */
struct fw_queue {
	__u16 length;
	__u8 first;
	__u8 last;
};

enum fw_queues {
	FW_READY, /* pulls that may have effects waiting */
	FW_TURNS, /* X PULLs that wait for their turn */
	FW_QUEUES,
};

/* By which X DATA comes (docs/protocol.md, Datagrams and TCP). */
enum fw_carrier {
	FW_BY_FRAMES,
	FW_BY_DATAGRAMS,
	FW_BY_TCP,
	FW_CARRIERS,
};

/*
 * A fetch of one large message: fw_pull.c. What is_x tells are by X PULL, the others by PULL of the
 * peer's dialect.
 */
struct fw_pull {
	struct {
		__u8 queued;
		__u8 next; /* slot */
	} link[FW_QUEUES];
	__u8 state; /* enum fw_pull_state */
	__u8 status; /* enum emx_pull_status, when ended */
	__u8 is_x;
	__u8 sum; /* frames come with checksums */
	__u32 handle; /* slot in the low 8 bits, use counter above */
	__u32 peer;
	__u64 cookie;
	/* geometry (section 10.2) */
	__u32 unit; /* L */
	__u32 total; /* T */
	__u32 first_offset; /* o = U mod L; of X PULL 0 */
	__u32 frames; /* K */
	__u16 span; /* FW_PULL_FRAMES or FW_X_SPAN */
	__u16 block; /* frames that one PULL may ask for */
	/* progress */
	__u32 missing; /* frames under way: asked for, not here, and of X PULL not lost */
	__u32 received; /* bytes */
	__u16 grant; /* frames that an X PULL may ask for now */
	__u8 probe; /* frames that it is to ask for again because the timer ran out */
	__u8 tries; /* of the timer, without an answer */
	/* time, nanoseconds */
	__u64 deadline; /* of the next repeat */
	__u64 give_up;
	__u64 interval; /* of the current repeat timer */
	__u64 sample_at; /* when the request `sample` was made */
	__u32 sample; /* request of X PULL whose answer will tell the round trip; 0: none */
	__u32 session;
	__u32 window_offset;
	__u8 remote_ep;
	__u8 window;
	__u8 window_tag;
	__u8 carrier; /* enum fw_carrier: by which frames may come */
	__u8 left; /* carrier by which they no longer do: the platform has not heard of it yet */
	__u64 offer; /* by which the sender agreed to the extension */
	struct fw_frames frame;
};

/* The pace of all X PULLs of an endpoint: fw_pace.c. */
struct fw_pace {
	__u32 budget; /* frames under way */
	__u32 granted; /* of them, those not asked for yet */
	__u32 round; /* answers until the present round ends */
	__u32 quantum; /* frames of one turn, of many */
	__u8 lossy; /* a frame has been lost */
	__u8 cut; /* the present round has seen a loss */
	__u16 pulls; /* that are running */
	__u16 by[FW_CARRIERS]; /* of them, those by each carrier */
	struct {
		__u32 peer;
		__u32 ns; /* smoothed; 0: unknown */
	} trip[64]; /* round trips, by peer mod 64 */
};

struct fw_endpoint {
	struct fw_board *board;
	struct emx_counters *counters;
	__u32 session;
	__u32 magic; /* low byte is the endpoint number */
	__u8 number;
	/* the platform may change these four after fw_endpoint_init, before the first pull */
	__u16 pull_block; /* frames per PULL we send; 1 .. sizes.block */
	__u16 pull_window; /* frames outstanding per endpoint that the receive queue holds */
	__u32 pull_repeat_ms; /* first repeat timer; doubles up to 1000 ms */
	__u32 pull_limit_ms; /* a pull without progress for this long fails */
	/*
	 * It may set these as well: the longest frame that it sends and receives as X DATA, 0 when
	 * it has no X PULL, and how many of them its receive queue holds.
	 */
	__u16 x_frame;
	__u16 x_window;
	/*
	 * Likewise: bytes of data in an X MEDIUM that it sends and receives, at most; 0: none, and
	 * no checksums. Else it gives X MEDIUM as one piece of memory, the header in
	 * front of msg.data, or judges its checksum and makes pkt->x.checksum 0; that of X DATA it
	 * judges.
	 */
	__u16 x_frag;
	__u16 pulls_active;
	struct fw_queue queue[FW_QUEUES];
	__u8 pull_last; /* slot given out last */
	__u32 pull_use; /* use counter for handles, 24 bits */
	__u32 outstanding; /* frames asked for and not here, over all pulls */
	__u64 deadline; /* no pull's timer ends before it */
	__u32 running[FW_PULLS / 32]; /* bit: slot */
	struct fw_pace pace;
	struct fw_bucket answers; /* the platform's, for answers of fw_rx */
	/*
	 * A platform that takes and sends X DATA in datagrams sets these: the longest that it
	 * takes, 0 where it has none, and how many of them its receive queue holds. It may change
	 * them when no pull by datagrams is running.
	 */
	__u16 x_datagram;
	__u16 x_datagrams;
	/* Likewise by TCP: frames under way, at most; 0: none go so. */
	__u16 x_tcp;
	/*
	 * Likewise: bytes behind the header of an X PACK that it sends and receives, at most; 0:
	 * none. Else it gives X PACK as one piece of memory, the header in front of msg.data.
	 */
	__u16 x_pack;
	struct fw_window window[FW_WINDOWS];
	struct fw_pull pull[FW_PULLS];
};

/*
 * Prepares zeroed memory as endpoint `number` of board with that session; secret goes into the
 * upper bits of the magic. Defaults: blocks of sizes.block frames, 4 of them outstanding, repeat
 * after 1000 ms, give up after 500 s. board->sizes must not change afterwards.
 */
void fw_endpoint_init(struct fw_endpoint *ep, struct fw_board *board, __u8 number, __u32 session,
		      __u32 secret);

/* ---- effects ---- */

enum fw_fx_kind {
	FW_FX_NONE = 0,
	FW_FX_DROP, /* count `counter`; nothing else */
	FW_FX_EVENT, /* hand `msg` to the library of endpoint `ep` */
	FW_FX_TX, /* send `header` (length bytes, then `payload` bytes, padded) */
	FW_FX_ANSWER, /* the same if fw_may_answer allows it, else count EMX_CNT_DROP_ANSWER */
	FW_FX_REPLIES, /* send a run of pull replies, or X DATA, from a window */
	FW_FX_COPY, /* move payload of the frame just given to the destination of a pull */
	FW_FX_PEER, /* unknown but admissible board `mac`: add it, then give the frame again */
	FW_FX_BEACON, /* agent: beacon of board `mac` (its index is `peer`) with that `serial` */
	FW_FX_NAME, /* agent: store `name` for `peer` */
	FW_FX_ADDRESS, /* endpoint `address` tells where it takes datagrams, or connections */
	FW_FX_FALLBACK, /* datagrams, or what comes by TCP, of endpoint `address` have ceased */
};

/*
 * A run of pull replies: frame i (0 <= i < count) has number first + i, starts at position (first
 * frame) or behind its predecessor, and carries len_first, then L, and in the end the rest. Of X
 * DATA: the frames first + i with bit i in `want`, each L bytes or less at the end of the pull.
 * Either is taken apart by fw_replies_take.
 */
struct fw_replies {
	__u16 window; /* read from this window's memory: fw_window_slot */
	__u8 count;
	__u8 bit; /* X DATA: i of the next frame */
	__u32 first; /* frame index of the first */
	__u32 position; /* of its first byte in the message; X DATA: of the next frame */
	__u32 window_offset; /* U: byte `position` lies at window offset U + position */
	__u32 len_first;
	__u32 length; /* bytes of all frames; X DATA: from position to the end of the pull */
	__u32 unit; /* L */
	__u8 want[EMX_X_WANT_LEN];
	struct fw_pkt reply; /* template: fw_encode it, then fw_replies_take for each frame */
};

/*
 * Takes the next frame off a run, of which count > 0 are left: turns hdr, which fw_encode wrote for
 * run->reply, into its header, and tells where its payload lies in the message. Returns the bytes
 * of it. hdr may be NULL.
 */
__u32 fw_replies_take(struct fw_replies *run, void *hdr, __u32 *position);
/* Bytes of such a header. */
static inline __u32 fw_replies_header(const struct fw_replies *run)
{
	return run->reply.msg.type == EMX_X_DATA ? FW_X_DATA_HEADER : FW_REPLY_HEADER;
}

/* An X ADDRESS: place where an endpoint takes datagrams or connections (docs/protocol.md). */
struct fw_address {
	__u64 secret; /* that datagrams to it carry */
	__u32 peer;
	__u32 session; /* the endpoint's */
	__u32 address; /* IPv4 */
	__u16 port;
	__u16 bytes; /* longest datagram that it takes */
	__u8 remote_ep;
	__u8 is_answer;
	__u8 takes_fragments; /* of X MEDIUM in datagrams, from now on */
	__u8 tcp; /* a connection is to be made to there */
};

struct fw_fx {
	__u8 kind; /* enum fw_fx_kind */
	__u16 counter; /* enum emx_counter: of a DROP; of what a TX or an ANSWER sends */
	union {
		struct emx_msg msg;
		struct {
			__u8 header[EMX_HEADER_MAX + EMX_NAME_MAX];
			__u32 length;
		} tx;
		struct fw_replies replies;
		struct {
			__u16 pull; /* slot */
			__u64 cookie;
			__u32 position; /* in the message, hence in the destination */
			__u32 length;
			__u32 source; /* offset of the payload in the frame */
		} copy;
		struct {
			__u64 mac;
			__u32 peer;
			__u32 serial;
			__u8 type;
			char name[EMX_NAME_MAX];
		} host;
		struct fw_address address; /* FALLBACK: peer, remote_ep and session of it */
	} u;
};

/*
 * True if an ANSWER is sent: a refusal, or our name. answers: of the board for an effect of
 * fw_demux, of the endpoint for one of fw_rx and fw_replies_refuse; caller as for these.
 */
static inline int fw_may_answer(struct fw_bucket *answers, __u64 now)
{
	return fw_bucket_take(answers, now, FW_ANSWERS);
}

/*
 * One input makes a pull ask for a frame at most once, so each pull yields at most FW_PULL_FRAMES
 * requests, or one event; the frame given adds its own effect.
 */
#define FW_EFFECTS_MAX (1 + FW_PULLS * FW_PULL_FRAMES)

/*
 * Rules 4 and 7 of section 13, for a frame that fw_check passed: finds the peer and the endpoint.
 * Returns the endpoint to give to fw_rx, or NULL with *fx filled (drop, NACK, host matters, PEER,
 * or NONE for a host query that somebody else answers). Counts the packet as received, in the
 * endpoint's counters or else the board's.
 */
struct fw_endpoint *fw_demux(struct fw_board *b, struct fw_pkt *pkt, struct fw_fx *fx);

/* True if fw_rx looks at the time for that packet. */
static inline int fw_needs_time(const struct fw_pkt *pkt)
{
	return pkt->msg.type >= EMX_PULL;
}

/*
 * Session check and state functions for a frame of that endpoint; fills *fx with one effect.
 * Nonzero: then call fw_next until it returns 0. The platform counts drops and sends.
 */
int fw_rx(struct fw_endpoint *ep, struct fw_pkt *pkt, __u64 now, struct fw_fx *fx);

/*
 * Next waiting effect of the endpoint: nonzero with *fx filled, or 0 with FW_FX_NONE when there is
 * none.
 */
int fw_next(struct fw_endpoint *ep, __u64 now, struct fw_fx *fx);

/* Repeats of pulls that are due: call at fw_deadline(), then fw_next until it returns 0. */
void fw_tick(struct fw_endpoint *ep, __u64 now);
/*
 * When to call fw_tick, ~0 if never: not later than its work is due, perhaps earlier, since replies
 * move a pull's timer on and only fw_tick looks for the new earliest. After fw_tick(now) it lies
 * after now.
 */
__u64 fw_deadline(const struct fw_endpoint *ep);

/* ---- commands ---- */

/*
 * Header of a library packet (msg as in abi.h, local_ep ignored) into hdr (EMX_HEADER_MAX bytes);
 * returns its length, 0 when the peer is unknown, when a receiver would drop the packet as
 * malformed, or when the platform sends no such frame. Also gives the counter to add to.
 * msg.data_len bytes of payload follow. MEDIUM fragment i lies at i * sizes.frag.
 */
__u32 fw_send(struct fw_endpoint *ep, const struct emx_msg *msg, void *hdr, int *counter);

/* Exposes a message of length bytes for pulls of (peer, remote_ep) under (id, tag). */
void fw_window_open(struct fw_endpoint *ep, __u8 id, __u8 tag, __u32 peer, __u8 remote_ep,
		    __u64 length);
void fw_window_close(struct fw_endpoint *ep, __u8 id, __u8 tag);
/*
 * Instead of a run of replies: tells the puller that there is no such window, for a platform that
 * cannot read its memory. Fills *fx with one effect.
 */
void fw_replies_refuse(const struct fw_endpoint *ep, const struct fw_replies *run,
		       struct fw_fx *fx);

/*
 * Fetches total > 0 bytes of the message that rndv announced: its u.window, and peer, remote_ep and
 * session of its sender; in data the offer by which that session agreed to the extension, 0
 * without. Returns the slot, or -1 when all FW_PULLS are busy, total is 0 or the peer unknown. Then
 * fw_next until 0. Ends with EMX_EV_PULL_DONE: cookie, status, and in length the bytes that
 * arrived.
 */
int fw_pull_start(struct fw_endpoint *ep, const struct emx_msg *rndv, __u32 total, __u64 cookie,
		  __u64 now);
/*
 * The same by that carrier (enum fw_carrier), where the offer and the platform allow X PULL, in
 * packets of at most that many bytes, with headers as long as those of a frame: the request says
 * that frames may come so. When datagrams cease to come, the pull goes on by frames, and when
 * nothing comes by TCP it begins anew by frames, both with the effect FALLBACK.
 */
int fw_pull_start_by(struct fw_endpoint *ep, const struct emx_msg *rndv, __u32 total, __u64 cookie,
		     __u8 carrier, __u16 packet, __u64 now);
/*
 * The connection from that endpoint has ended: pulls by it begin anew, by frames. Then fw_next
 * until 0. What has come of their frames by TCP is of no pull any more.
 */
void fw_pull_leave_tcp(struct fw_endpoint *ep, __u32 peer, __u8 remote_ep, __u64 now);
/* Ends a pull without an event; its late replies are dropped. */
void fw_pull_cancel(struct fw_endpoint *ep, __u64 cookie);
/* Ends a pull with that status, where its data cannot be placed. Then fw_next until 0. */
void fw_pull_fail(struct fw_endpoint *ep, int slot, __u8 status);

struct fw_place {
	__u32 position;
	__u32 length;
};

#define FW_PLACES_MAX 64
/*
 * The first max <= FW_PLACES_MAX replies that a slot expects: position and length in the message.
 * Returns how many there are, fewer when fewer are under way. A platform has the kernel put them in
 * place. The order is that of the requests behind the newest answer; what answers have overtaken
 * comes last.
 */
__u32 fw_expect(const struct fw_endpoint *ep, int slot, __u32 max, struct fw_place *place);

/*
 * The place in the message of the payload of an X DATA that fw_check accepted, before that is here.
 * Returns the slot, or -1: no pull waits for it. Nothing is judged yet.
 */
int fw_pull_place(const struct fw_endpoint *ep, const struct fw_pkt *pkt, struct fw_place *place);

/* ---- datagrams, and addresses of TCP (docs/protocol.md) ---- */

/*
 * Tells the endpoint that *to names (peer, remote_ep, and session) that ours takes datagrams at
 * to->address and to->port, of at most to->bytes, with to->secret. Fills *fx with one effect.
 */
void fw_address_tell(const struct fw_endpoint *ep, const struct fw_address *to, struct fw_fx *fx);
/* Turns the header of a frame into that of a datagram to an endpoint with that secret. */
void fw_datagram_seal(void *hdr, __u64 secret);
/* The secret in a datagram of which at least EMX_OUTER_LEN + 1 bytes are there; 0: it is none. */
__u64 fw_datagram_secret(const void *hdr);
/*
 * The inverse of fw_datagram_seal: a frame from the board `from` to `to`, which fw_check accepts if
 * the rest of it is right. tag: index of the sender in our peer table.
 */
void fw_datagram_unseal(void *hdr, __u64 from, __u64 to, __u16 tag);

/* ---- beacons (section 6.4), for the platform that answers host queries ---- */

struct fw_beacons {
	__u64 due; /* of the next; fw_beacons_next moves it */
	__u32 serial; /* of this daemon */
	__u32 random;
	__u8 left; /* a second apart */
};

/*
 * Also when a board's name or address changes, with a new serial, and when its link comes up or its
 * table is open again.
 */
void fw_beacons_start(struct fw_beacons *s, __u32 serial, __u64 now);
/*
 * The effect of a beacon (FW_FX_BEACON) of a board that is not this host's own. A board that is new
 * here, or has restarted, hears of us soon: by a beacon or, when the table is closed, by a host
 * query (fw_peer_to_ask), which also goes to who may have changed its name.
 */
void fw_beacons_heard(struct fw_beacons *s, struct fw_peers *peers, __u32 peer, __u32 serial,
		      __u64 now);
/*
 * The board's next beacon: EMX_BEACON_LEN bytes in frame when it is due and the table is open, else
 * 0. A platform whose link is down does not call this.
 */
__u32 fw_beacons_next(struct fw_beacons *s, const struct fw_board *b, __u64 now, void *frame);

/* ---- when to ask whom for its name (section 6.3), for the same platform ---- */

#define FW_QUESTIONS_ROUND 64 /* questions at a time */
#define FW_QUESTIONS_AT_ONCE 32 /* newcomers asked out of turn in the time between two rounds */

struct fw_questions { /* zero: a round may begin */
	__u64 due; /* of the next round */
	__u64 began; /* the last round, and the newcomers' share */
	__u64 newcomers_since;
	__u32 next; /* peer with which the next round begins */
	__u32 asked; /* in the last round */
	__u32 answered; /* since it began; a host counts the names that come */
	__u32 newcomers;
	__u8 running;
	__u8 urgent; /* somebody came since */
};

/*
 * The peer to ask now, not below index first, or -1: then none until s->due. A round follows soon
 * while answers come, else seconds later; peers have their turn one after the other.
 */
int fw_questions_next(struct fw_questions *s, struct fw_peers *peers, __u32 first, __u64 now);
/* Somebody is to be asked: a round begins soon. */
void fw_questions_soon(struct fw_questions *s, __u64 now);
/* True if a newcomer may be asked out of turn; when many come at once, only some. */
int fw_questions_newcomer(struct fw_questions *s, __u64 now);

/* ---- MEDIUM reassembly bookkeeping, for the library (section 9) ---- */

struct fw_reasm {
	__u32 msg_len;
	__u32 received; /* bytes */
	__u32 frags; /* bitmap of fragment numbers */
	__u32 unit; /* size of all fragments but the last; 0 = not known yet */
};

/*
 * Takes a fragment into *r, zeroed before the first: 1 new, 0 a repeat, -1 contradicts the others
 * or itself. After 1 the fragment lies within the message and overlaps none that came before.
 * Complete when received == msg_len.
 */
int fw_reasm_add(struct fw_reasm *r, __u32 msg_len, __u32 frag, __u32 position, __u32 length);

/* ---- event ring, single producer (the firmware) and consumer (the library) ---- */

struct fw_ring {
	__u32 mask; /* entries - 1 */
	__u32 head; /* producer's, published with release */
	__u32 tail; /* consumer's, published with release */
	__u32 reserved;
	struct emx_msg entry[];
};

/*
 * Appends; 0, or -1 when full. The producer keeps its own head in *own_head: the mapped one is
 * hostile.
 */
int fw_ring_put(struct fw_ring *r, __u32 mask, __u32 *own_head, const struct emx_msg *msg);
/* Next entry or NULL, and release of it. The consumer keeps its own tail, and trusts the ring. */
const struct emx_msg *fw_ring_peek(const struct fw_ring *r, __u32 own_tail);
void fw_ring_take(struct fw_ring *r, __u32 *own_tail);

/* ---- names for traces and tools ---- */
const char *fw_type_name(unsigned int type); /* NULL for a type that does not exist */
const char *fw_counter_label(unsigned int counter); /* NULL beyond the list */
const char *fw_counter_help(unsigned int counter);

#ifdef __cplusplus
}
#endif
#endif
