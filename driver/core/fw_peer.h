/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The peer table (wire specification, section 6.1); it lives in memory of the platform, and several
 * processes may map it.
 */
#ifndef EMX_FW_PEER_H
#define EMX_FW_PEER_H

#include <emx/abi.h>
#include <emx/wire.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fw_sizes;

#define FW_PEER_NAMED 1u /* name[] is valid */
#define FW_PEER_LEARNED 2u /* it told its name itself */
#define FW_PEER_HEARD 4u /* serial is that of its last beacon */
#define FW_PEER_ASK 8u /* the name may have changed: ask for it again */
#define FW_PEER_DOUBTED 16u /* another board took its name: forgotten unless it says so again */
#define FW_PEER_LISTED 32u /* the administrator's: it stays */
#define FW_PEER_ASKED 64u /* a user without rights asked for it: the first to make room */

struct fw_peer {
	__u64 mac; /* 48 bits, first octet most significant; 0: it is just being replaced */
	__u16 flags;
	__u16 speaks; /* the dialect that it alone is spoken to in; FW_SPEAKS_BOARD: none */
	__u16 name_seq; /* odd while the name changes */
	__u16 reserved;
	__u32 serial; /* of its beacon daemon */
	char name[EMX_NAME_MAX];
	__u32 life; /* counts the peers that had this index before */
};

struct fw_peers {
	__u32 capacity; /* slots */
	__u32 hash_mask; /* hash slots - 1, a power of two minus one, >= 2 * capacity - 1 */
	__u32 count; /* published slots; grows only */
	__u16 open; /* nonzero: unknown boards may be added */
	__u16 pinned; /* nonzero: some peer may have a dialect of its own */
	__u32 hash_seq; /* odd while entries of the hash move */
	__u32 hand[2]; /* where the next search for room begins: [1] among FW_PEER_ASKED */
	__u32 asked; /* peers with FW_PEER_ASKED */
	__u64 key[2]; /* of the hash: addresses are chosen by those who send */
	/* then capacity struct fw_peer, hash_mask + 1 __u32 of (index + 1), struct fw_tags */
};

/*
 * Tags: what peers call us, by their indices; EMX_TAG_NONE until they told us. A frame tells it, so
 * that each process that hears frames keeps tags of its own; the table has those of its writer.
 */
struct fw_tags {
	__u32 serial; /* counts changes */
	__u16 tag[];
};

/* Bytes a table of that capacity needs. */
__u64 fw_peers_bytes(__u32 capacity);
/*
 * Lays out an empty, open table in zeroed memory, 8-byte aligned. At most FW_PEERS_MAX slots: an
 * index travels in 16 bits, and EMX_TAG_NONE is not an index. The key is random, each table's own:
 * without it nobody can choose addresses that make searches long.
 */
#define FW_PEERS_MAX 65535u
void fw_peers_init(struct fw_peers *t, __u32 capacity, __u64 key0, __u64 key1);
/*
 * True if memory of fw_peers_bytes(capacity) that somebody else wrote is a table of that capacity
 * in which searches end, and into which additions fit. Its writer may add meanwhile.
 */
int fw_peers_fit(const struct fw_peers *t, __u32 capacity);
/* The tags of the table's writer. */
struct fw_tags *fw_peers_tags(struct fw_peers *t);
/* Bytes that tags of a table of that capacity need, and no tag for each; 4-byte aligned memory. */
__u64 fw_tags_bytes(__u32 capacity);
void fw_tags_init(struct fw_tags *tags, __u32 capacity);
/*
 * Takes over what the writer of the table learned since the last call with these `seen`, which are
 * as large as `own` and begin as fw_tags_init leaves them. What we learned before is older.
 */
void fw_tags_follow(struct fw_tags *own, struct fw_tags *seen, struct fw_peers *t);
/* SipHash-2-4 of one word. Pure. */
__u64 fw_siphash(const __u64 key[2], __u64 word);
/* Peer i, or NULL when i is not published. */
struct fw_peer *fw_peer(struct fw_peers *t, __u32 i);
/* Index of a MAC, or -1. hint: an index to try first (the frame's tag). Any thread. */
int fw_peer_find(const struct fw_peers *t, __u64 mac, __u32 hint);
/* Adds a MAC (or finds it); -1 when the table is full or the MAC not unicast. One writer. */
int fw_peer_add(struct fw_peers *t, __u64 mac);
/*
 * Room in a full table: peers that never told a name, whom no list holds, and who have no dialect
 * of their own; those that users asked for go first, then the oldest. Frames with made-up addresses
 * fill a table with such. fw_spares_next tells one after the other, from index `first` on, or -1;
 * its caller passes over those of which an endpoint keeps the index (Port::keep_peer). It looks at
 * FW_SPARES_LOOKS places at most: a flood of newcomers takes no more time for each than that.
 */
#define FW_SPARES_LOOKS 1024u
struct fw_spares {
	__u32 looks;
	__u32 asked;
};

void fw_spares_begin(struct fw_spares *s, const struct fw_peers *t);
int fw_spares_next(struct fw_spares *s, struct fw_peers *t, __u32 first);
/*
 * Puts another MAC in the place of peer i, of which nothing is kept but its index. In between an
 * endpoint may say that it keeps the index: after fw_peer_vacate the caller looks again, and gives
 * the place back by fw_peer_restore if one did. One writer. fw_peer_replace: 0, or -1 as
 * fw_peer_add; the place is restored then.
 */
__u64 fw_peer_vacate(struct fw_peers *t, __u32 i);
void fw_peer_restore(struct fw_peers *t, __u32 i, __u64 mac);
int fw_peer_replace(struct fw_peers *t, __u32 i, __u64 old, __u64 mac);
/* A user without rights asked for peer i, or an administrator lists it. One writer. */
void fw_peer_ask_for(struct fw_peers *t, __u32 i);
void fw_peer_list(struct fw_peers *t, __u32 i);
/* Makes whole what a writer that died half way left. */
void fw_peers_mend(struct fw_peers *t);
/*
 * Gives peer i another MAC: an own board whose interface came back with a new one. 0, or -1 when
 * the MAC is not unicast or another peer's. One writer.
 */
int fw_peer_readdress(struct fw_peers *t, __u32 i, __u64 mac);
/*
 * Pins peer i to a dialect of its own, or returns it to the board's. 0, or -1 when there is no
 * such peer or dialect. One writer, while no endpoint of the board is open: what an endpoint has
 * under way with a peer is cut by sizes that stay.
 */
int fw_peer_pin(struct fw_peers *t, __u32 i, __u16 speaks);
/* All are spoken to in the board's dialect again. */
void fw_peers_unpin(struct fw_peers *t);
/*
 * The sizes for peer i of a table whose board has *board: these, or those of its own dialect, which
 * are put into *own. Any index.
 */
const struct fw_sizes *fw_peer_sizes(const struct fw_peers *t, const struct fw_sizes *board,
				     __u32 i, struct fw_sizes *own);
/* The same in line, for tables whose peers all speak the board's dialect. */
static inline const struct fw_sizes *
fw_sizes_to(const struct fw_peers *t, const struct fw_sizes *board, __u32 i, struct fw_sizes *own)
{
	return __builtin_expect(!t->pinned, 1) ? board : fw_peer_sizes(t, board, i, own);
}

/* Widens *s by the dialects of all peers. */
void fw_peers_widen(const struct fw_peers *t, struct fw_sizes *s);
/* Gives a peer a name or, with NULL, takes it away. One writer. */
void fw_peer_name(struct fw_peers *t, __u32 i, const char *name);
/*
 * A peer told its name. A name that fw_peer_name gave stays. When another peer had told the same
 * one, that is forgotten, since a board that comes with a new address is a new peer; if the other
 * tells it again, both have it. One writer.
 */
void fw_peer_learn(struct fw_peers *t, __u32 i, const char *name);
/* True if peer i is to be asked for its name. */
int fw_peer_asks(struct fw_peers *t, __u32 i);
/* The first peer from index i on that is, or -1. */
int fw_peer_to_ask(struct fw_peers *t, __u32 i);
/* The first peer of that name, or -1. Any thread. */
int fw_peer_by_name(struct fw_peers *t, const char *name);
/*
 * Copies the name of peer i, with its NUL, into name[EMX_NAME_MAX]; 0, or -1 (and an empty name)
 * when i has none. Any thread: never a mixture of an old and a new name.
 */
int fw_peer_name_get(struct fw_peers *t, __u32 i, char *name);

#ifdef __cplusplus
}
#endif

#endif
