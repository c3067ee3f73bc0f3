/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * MXoE frame layouts: the only place that knows where a field lies on the wire.
 *
 * Offsets follow the wire specification, sections 2 to 4 (docs/protocol.md repeats them). Every
 * multi-byte field is a byte array, so that no structure needs packing and no access can be
 * misaligned; emx_get/put below turn them into host integers.
 *
 * Adding a packet type: its value in enum emx_type, its layout here, a row in the codec's table
 * (driver/core/fw_codec.c), a state function (driver/core/fw_rx.c), a golden frame (compat/wire). X GROUP, which no board is addressed by,
 * has all that in fw_group.c.
 */
#ifndef EMX_WIRE_H
#define EMX_WIRE_H

#include <linux/types.h>

#define EMX_ETHERTYPE 0x86df /* MXoE */
#define EMX_FRAME_MIN 60 /* without FCS; the sender pads (section 2.3) */
#define EMX_OUTER_LEN 16 /* Ethernet header and tag */
#define EMX_HEADER_MAX 64 /* no fixed header, outer part included, is longer */
#define EMX_TAG_NONE 0xffff /* the peer has not told us its index for us yet */
#define EMX_SESSION_NONE 0xffffffffu
#define EMX_NAME_MAX 80 /* board name with its NUL */

#define EMX_TINY_MAX 32
#define EMX_SMALL_MAX 128
#define EMX_FRAGS_MAX 32 /* MEDIUM fragments of one message, either dialect */
#define EMX_ENDPOINTS_MAX 256
#define EMX_BEACON_LEN 64
#define EMX_MAC_BROADCAST 0xffffffffffffull

enum emx_type {
	EMX_NONE = 0,
	EMX_RAW = 1,
	EMX_HOST_QUERY = 3,
	EMX_HOST_REPLY = 4,
	EMX_TRUC = 35,
	EMX_CONNECT = 36,
	EMX_TINY = 37,
	EMX_SMALL = 38,
	EMX_MEDIUM = 39,
	EMX_RNDV = 40,
	EMX_PULL = 41,
	EMX_PULL_REPLY = 42,
	EMX_NOTIFY = 43,
	EMX_NACK_LIB = 44,
	EMX_NACK_MCP = 45,
	/* the EtherMX extension, docs/protocol.md */
	EMX_X_MEDIUM = 112,
	EMX_X_REPORT = 113,
	EMX_X_PULL = 114,
	EMX_X_DATA = 115,
	EMX_X_ADDRESS = 117,
	EMX_X_GROUP = 118, /* to a group address: driver/core/fw_group.h */
	EMX_X_PACK = 119, /* several messages of one packet each: driver/core/fw_pack.h */
};

/* Reasons of NACK LIB (1 to 3) and NACK MCP (1 to 4): section 4.13. Nothing else may be sent. */
enum emx_nack {
	EMX_NACK_BAD_ENDPOINT = 1,
	EMX_NACK_CLOSED = 2,
	EMX_NACK_BAD_SESSION = 3,
	EMX_NACK_BAD_WINDOW = 4,
};

#define EMX_CONNECT_DATA_LEN 16
#define EMX_CONNECT_OK 0
#define EMX_CONNECT_BAD_KEY 11
#define EMX_TRUC_DATA_LEN 16
#define EMX_TRUC_ACK 0x55
#define EMX_RNDV_DATA_LEN 8
#define EMX_MEDIUM_EXPONENT_W 12

#define EMX_X_VERSION 1 /* newest version of the extension that we speak, and the oldest */
/* Features that an offer states of its sender. */
#define EMX_X_SUMS 1 /* wishes payload checksums in what is sent to it */
#define EMX_X_REPORTS 2 /* takes X REPORT */
#define EMX_X_FRAGMENTS 4 /* takes X MEDIUM */
#define EMX_X_PULLS 8 /* serves X PULL, takes X DATA */
#define EMX_X_DATAGRAMS 16 /* takes X ADDRESS, sends X DATA in UDP datagrams on request */
#define EMX_X_PACKS 32 /* takes X PACK */
#define EMX_X_TCP 64 /* takes X ADDRESS of TCP, sends X DATA by TCP on request */
#define EMX_X_LONG_PACKS 128 /* takes X PACK with messages longer than SMALL */
#define EMX_X_FRAME_MIN 256 /* least that an offer may name as longest frame */
#define EMX_X_EAGER_MAX 262144 /* bytes of an X MEDIUM message */
#define EMX_X_FRAG_MAX 32768 /* bytes of data in an X MEDIUM */
/* Its frame is so much shorter than the longest: a full X DATA is told by its length. */
#define EMX_X_FRAG_LESS 16
#define EMX_X_STATE_LEN 28 /* of X REPORT that we know */
#define EMX_X_REPORT_ASK 1 /* X REPORT: answer at once */
#define EMX_X_PULL_SUM 1 /* X PULL: data with checksums */
#define EMX_X_PULL_DATAGRAMS 2 /* X PULL: data may come in datagrams */
#define EMX_X_PULL_TCP 4 /* X PULL: data comes by TCP */
#define EMX_X_ADDRESS_ANSWER 1 /* X ADDRESS: answers one */
#define EMX_X_ADDRESS_FRAGMENTS 2 /* X ADDRESS: fragments of X MEDIUM may come there from now on */
#define EMX_X_ADDRESS_TCP 4 /* X ADDRESS: connect there by TCP, for X DATA */
#define EMX_X_PORT 34527 /* UDP and TCP port of endpoint 0; the others' follow */
#define EMX_X_MARK 0x454d5844 /* "EMXD", of datagrams */
#define EMX_X_TCP_MARK 0x454d5854 /* "EMXT", of connections */
#define EMX_X_TCP_PAD 8 /* zeros before each packet in a connection: data then lies at multiples of 16 */
#define EMX_IP_UDP_LEN 28 /* IPv4 and UDP headers, which a datagram has within the MTU */
#define EMX_X_DATAGRAM_MAX (65535 - EMX_IP_UDP_LEN)
#define EMX_X_DATAGRAM_MIN (EMX_OUTER_LEN + 24 + EMX_X_UNIT_MIN)
#define EMX_X_UNIT_MIN 64 /* X PULL: bytes in a full frame */
#define EMX_X_UNIT_MAX (65535 - EMX_OUTER_LEN - 24)
#define EMX_X_PACK_MAX 255 /* messages in an X PACK */
#define EMX_X_GROUP_PREFIX 0x0345 /* first bytes of a group address; the key follows */
#define EMX_GROUPS_MAX 4 /* groups of one endpoint */
#define EMX_X_WANT_LEN 16 /* X PULL: bytes of the bitmap */

typedef struct {
	__u8 b[2];
} emx_be16;
typedef struct {
	__u8 b[4];
} emx_be32;
typedef struct {
	__u8 b[8];
} emx_be64;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define EMX_SWAP(bits, v) __builtin_bswap##bits(v)
#else
#define EMX_SWAP(bits, v) (v)
#endif

/* Copies, because the fields are not aligned; compilers make one load or store of each. */
#define EMX_BYTE_ORDER(bits)                                 \
	static inline __u##bits emx_get##bits(emx_be##bits v) \
	{                                                    \
		__u##bits host;                              \
							     \
		__builtin_memcpy(&host, &v, sizeof(host));   \
		return EMX_SWAP(bits, host);                 \
	}                                                    \
	static inline emx_be##bits emx_put##bits(__u##bits v) \
	{                                                    \
		__u##bits wire = EMX_SWAP(bits, v);          \
		emx_be##bits r;                              \
							     \
		__builtin_memcpy(&r, &wire, sizeof(r));      \
		return r;                                    \
	}

EMX_BYTE_ORDER(16)
EMX_BYTE_ORDER(32)
EMX_BYTE_ORDER(64)
#undef EMX_BYTE_ORDER
#undef EMX_SWAP

/* A MAC address as the number its bytes spell. */
static inline __u64 emx_get_mac(const __u8 *b)
{
	emx_be32 high;
	emx_be16 low;

	__builtin_memcpy(&high, b, sizeof(high));
	__builtin_memcpy(&low, b + sizeof(high), sizeof(low));
	return (__u64)emx_get32(high) << 16 | emx_get16(low);
}

/* Section 2.2: in front of every body. */
struct emx_outer {
	__u8 dst[6];
	__u8 src[6];
	emx_be16 ethertype;
	emx_be16 tag; /* index of the sender in the receiver's peer table */
};

/* The same 16 bytes as two numbers: who touches all fields at once is spared six accesses. */
struct emx_outer_pair {
	emx_be64 first; /* dst, upper 16 bits of src */
	emx_be64 second; /* lower 32 bits of src, ethertype, tag */
};

/* Section 4.2. A reply carries name_len bytes of name after it. */
struct emx_w_host {
	__u8 type;
	__u8 name_len; /* reply only, with the NUL */
	emx_be16 advert;
	__u8 reserved4[4];
	emx_be32 magic;
	__u8 reserved12[4];
};

/* Section 4.3. */
struct emx_w_connect {
	__u8 type;
	__u8 dst_ep;
	__u8 src_ep;
	__u8 gen;
	__u8 data_len;
	__u8 reserved5[3];
	emx_be16 seq;
	emx_be16 advert;
	__u8 reserved12[4];
	emx_be32 requester_session;
	emx_be32 key_or_session; /* request: key; reply: session of the replier */
	emx_be16 start;
	__u8 is_reply;
	__u8 number;
	__u8 status;
	__u8 reserved29[3];
};

/* Sections 4.4 to 4.6: TINY and SMALL; MEDIUM and RNDV begin with it. */
struct emx_w_eager {
	__u8 type;
	__u8 dst_ep;
	__u8 src_ep;
	__u8 gen;
	union {
		struct {
			emx_be16 length;
			emx_be16 checksum;
		};
		emx_be32 length32; /* MEDIUM of dialect N */
	};
	emx_be16 seq;
	emx_be16 ack;
	emx_be64 match;
	emx_be32 session;
};

struct emx_w_medium {
	struct emx_w_eager eager;
	emx_be16 frag_len;
	__u8 frag;
	__u8 exponent; /* dialect W */
	emx_be16 checksum;
	__u8 reserved30[2];
};

struct emx_w_rndv {
	struct emx_w_eager eager; /* length is EMX_RNDV_DATA_LEN */
	emx_be32 length;
	__u8 window;
	__u8 window_tag;
	emx_be16 window_offset;
};

/* Section 4.7, dialect W. */
struct emx_w_pull_w {
	__u8 type;
	__u8 dst_ep;
	__u8 src_ep;
	__u8 gen;
	emx_be32 session;
	emx_be32 total;
	__u8 window;
	__u8 window_tag;
	emx_be16 window_offset;
	emx_be32 handle;
	emx_be32 magic;
	emx_be16 skip;
	emx_be16 length;
	emx_be32 frame;
};

/* Section 4.7, dialect N. */
struct emx_w_pull_n {
	__u8 type;
	__u8 dst_ep;
	__u8 src_ep;
	__u8 gen;
	emx_be32 session;
	emx_be32 total;
	emx_be32 window;
	__u8 window_tag;
	__u8 reserved17[3];
	emx_be32 window_offset;
	emx_be32 handle;
	emx_be32 magic;
	emx_be32 skip;
	emx_be32 length;
	emx_be32 frame;
};

/* Section 4.8. */
struct emx_w_pull_reply {
	__u8 type;
	__u8 frame;
	emx_be16 length;
	emx_be32 position;
	emx_be32 handle;
	emx_be32 magic;
};

/* Section 4.9: sequence number and ack lie elsewhere than in the other sequenced packets. */
struct emx_w_notify {
	__u8 type;
	__u8 dst_ep;
	__u8 src_ep;
	__u8 gen;
	emx_be32 session;
	emx_be32 length;
	__u8 window;
	__u8 window_tag;
	__u8 reserved14[4];
	emx_be16 seq;
	emx_be16 ack;
	__u8 reserved22[2];
};

/* Section 4.10. */
struct emx_w_truc {
	__u8 type;
	__u8 dst_ep;
	__u8 src_ep;
	__u8 gen;
	__u8 data_len;
	__u8 reserved5[3];
	emx_be32 session;
	__u8 kind;
	__u8 reserved13;
	emx_be16 ack;
	emx_be32 session_copy;
	emx_be32 counter;
	emx_be16 ack_copy;
	__u8 resends;
	__u8 reserved27;
};

/* Section 4.11: mind the places of the endpoint numbers. */
struct emx_w_nack_lib {
	__u8 type;
	__u8 src_ep; /* the endpoint that refuses */
	__u8 gen;
	__u8 reason;
	__u8 reserved4[5];
	__u8 dst_ep; /* the refused packet's source */
	emx_be16 tag_copy;
	emx_be16 seq;
	__u8 reserved14[2];
};

/* Section 4.12. */
struct emx_w_nack_mcp {
	__u8 type;
	__u8 puller_ep;
	__u8 gen;
	__u8 reason;
	__u8 reserved4[4];
	emx_be32 handle;
	emx_be32 magic;
};

/* ---- the EtherMX extension: docs/protocol.md has the layouts ---- */

/* Behind the body of a CONNECT. */
struct emx_w_offer {
	__u8 newest;
	__u8 oldest;
	emx_be16 features;
	emx_be16 frame; /* longest frame received */
	emx_be16 frames; /* eager frames held unacknowledged */
	emx_be64 check;
};

struct emx_w_x_medium {
	struct emx_w_eager eager; /* with length32 */
	emx_be32 position;
	emx_be16 frag_len;
	__u8 frag;
	__u8 reserved31;
	emx_be32 checksum;
	__u8 reserved36[4];
};

/* At most EMX_X_STATE_LEN bytes of struct emx_w_x_state follow. */
struct emx_w_x_report {
	__u8 type;
	__u8 dst_ep;
	__u8 src_ep;
	__u8 flags;
	emx_be32 session;
	emx_be16 ack;
	emx_be16 next; /* number that the sender of the report uses next */
	emx_be32 counter;
	emx_be32 echo;
	emx_be16 room; /* eager frames */
	emx_be16 state_len;
};

struct emx_w_x_state {
	__u8 here[16]; /* bit i: number ack + 1 + i */
	emx_be32 frags; /* of number ack */
	emx_be16 other; /* number of one more message that lacks fragments */
	__u8 reserved22[2];
	emx_be32 other_frags;
};

struct emx_w_x_pull {
	__u8 type;
	__u8 dst_ep;
	__u8 src_ep;
	__u8 flags;
	emx_be32 session;
	emx_be32 total;
	__u8 window;
	__u8 window_tag;
	emx_be16 window_offset;
	emx_be32 handle;
	emx_be32 magic;
	emx_be16 unit;
	emx_be16 request;
	emx_be32 first;
	__u8 want[EMX_X_WANT_LEN]; /* bit i: frame first + i */
};

struct emx_w_x_data {
	__u8 type;
	__u8 dst_ep;
	__u8 src_ep;
	__u8 reserved3;
	emx_be32 handle;
	emx_be32 magic;
	emx_be32 frame;
	emx_be16 request;
	emx_be16 length;
	emx_be32 checksum;
};

struct emx_w_x_address {
	__u8 type;
	__u8 dst_ep;
	__u8 src_ep;
	__u8 flags;
	emx_be32 session;
	emx_be32 own_session; /* of the sender */
	emx_be32 address; /* IPv4 */
	emx_be64 secret; /* that datagrams to the sender carry */
	emx_be16 port;
	emx_be16 bytes; /* longest datagram that it receives */
};

/* Greeting of a connection by TCP; packets of X DATA follow, each behind EMX_X_TCP_PAD zeros. */
struct emx_w_connection {
	emx_be64 secret; /* as told by X ADDRESS */
	emx_be32 mark;
	__u8 reserved12[4];
};

/* Its destination is the group's address; data follows. */
struct emx_w_x_group {
	__u8 type;
	__u8 reserved1;
	__u8 src_ep;
	__u8 reserved3;
	emx_be32 session; /* of the sender */
	emx_be32 key;
	emx_be32 number;
	emx_be16 length; /* of the data */
	emx_be16 reserved18;
	emx_be32 checksum;
};

/* So many messages follow, each a struct emx_w_x_packed and its data, without gaps. */
struct emx_w_x_pack {
	__u8 type;
	__u8 dst_ep;
	__u8 src_ep;
	__u8 reserved3;
	emx_be16 length; /* bytes behind this header */
	emx_be16 count; /* messages */
	emx_be16 seq; /* of the first; the others follow */
	emx_be16 ack;
	emx_be32 session;
	emx_be32 checksum;
	__u8 reserved20[4];
};

struct emx_w_x_packed {
	emx_be64 match;
	emx_be16 length; /* of the data */
};

/* In a datagram, instead of struct emx_outer. */
struct emx_w_datagram {
	emx_be64 secret; /* the receiver's */
	emx_be32 mark;
	__u8 reserved12[4];
};

/* Section 6.4: the body of a beacon, 48 bytes. */
struct emx_w_beacon {
	__u8 type;
	__u8 reserved1[15];
	emx_be64 board;
	emx_be32 serial;
	__u8 reserved28[20];
};

#define EMX_WIRE_SIZE(s, n) _Static_assert(sizeof(struct s) == (n), #s)
#ifdef __cplusplus
#undef EMX_WIRE_SIZE
#define EMX_WIRE_SIZE(s, n) static_assert(sizeof(struct s) == (n), #s)
#endif
EMX_WIRE_SIZE(emx_outer, 16);
EMX_WIRE_SIZE(emx_outer_pair, 16);
EMX_WIRE_SIZE(emx_w_host, 16);
EMX_WIRE_SIZE(emx_w_connect, 32);
EMX_WIRE_SIZE(emx_w_eager, 24);
EMX_WIRE_SIZE(emx_w_medium, 32);
EMX_WIRE_SIZE(emx_w_rndv, 32);
EMX_WIRE_SIZE(emx_w_pull_w, 32);
EMX_WIRE_SIZE(emx_w_pull_n, 44);
EMX_WIRE_SIZE(emx_w_pull_reply, 16);
EMX_WIRE_SIZE(emx_w_notify, 24);
EMX_WIRE_SIZE(emx_w_truc, 28);
EMX_WIRE_SIZE(emx_w_nack_lib, 16);
EMX_WIRE_SIZE(emx_w_nack_mcp, 16);
EMX_WIRE_SIZE(emx_w_beacon, 48);
EMX_WIRE_SIZE(emx_w_offer, 16);
EMX_WIRE_SIZE(emx_w_x_medium, 40);
EMX_WIRE_SIZE(emx_w_x_report, 24);
EMX_WIRE_SIZE(emx_w_x_state, EMX_X_STATE_LEN);
EMX_WIRE_SIZE(emx_w_x_pull, 48);
EMX_WIRE_SIZE(emx_w_x_data, 24);
EMX_WIRE_SIZE(emx_w_x_address, 28);
EMX_WIRE_SIZE(emx_w_x_group, 24);
EMX_WIRE_SIZE(emx_w_x_pack, 24);
EMX_WIRE_SIZE(emx_w_x_packed, 10);
EMX_WIRE_SIZE(emx_w_datagram, 16);
EMX_WIRE_SIZE(emx_w_connection, 16);
#undef EMX_WIRE_SIZE

#endif
