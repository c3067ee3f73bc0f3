/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The peer table: boards by index and by MAC (wire specification, section 6.1).
 *
 * One writer, readers without locks in any process that maps it. A reader that sees a hash entry
 * sees the slot it names, because the slot and the count are written before the entry is published.
 * Entries move when one is taken out: a reader that found nothing meanwhile searches again.
 */
#include "fw_internal.h"

#define TRIES 10000 /* of a reader, whom a writer that died half way must not hang */

static struct fw_peer *slots(const struct fw_peers *t)
{
	return (struct fw_peer *)(unsigned long)(t + 1);
}

static __u32 *hash_slots(const struct fw_peers *t)
{
	return (__u32 *)(slots(t) + t->capacity);
}

struct fw_tags *fw_peers_tags(struct fw_peers *t)
{
	return (struct fw_tags *)(hash_slots(t) + t->hash_mask + 1);
}

static inline __u64 rotate(__u64 x, unsigned int bits)
{
	return x << bits | x >> (64 - bits);
}

static inline void sip_rounds(__u64 v[4], int rounds)
{
	while (rounds--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32) + v[3];
		v[2] += v[1];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[2] = rotate(v[2], 32);
	}
}

FW_COLD __u64 fw_siphash(const __u64 key[2], __u64 word)
{
	const __u64 length = (__u64)sizeof(word) << 56; /* the last word: no bytes left */
	__u64 v[4] = { key[0] ^ 0x736f6d6570736575ull, key[1] ^ 0x646f72616e646f6dull,
		       key[0] ^ 0x6c7967656e657261ull, key[1] ^ 0x7465646279746573ull };

	v[3] ^= word;
	sip_rounds(v, 2);
	v[0] ^= word;
	v[3] ^= length;
	sip_rounds(v, 2);
	v[0] ^= length;
	v[2] ^= 0xff;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static __u32 hash_of(const struct fw_peers *t, __u64 mac)
{
	return (__u32)fw_siphash(t->key, mac);
}

static __u32 hash_size(__u32 capacity)
{
	__u32 n = 2;

	while (n < 2 * capacity)
		n *= 2;
	return n;
}

static __u32 clamp(__u32 capacity)
{
	return capacity < FW_PEERS_MAX ? capacity : FW_PEERS_MAX;
}

__u64 fw_peers_bytes(__u32 capacity)
{
	capacity = clamp(capacity);
	return sizeof(struct fw_peers) + (__u64)capacity * sizeof(struct fw_peer) +
	       (__u64)hash_size(capacity) * sizeof(__u32) + fw_tags_bytes(capacity);
}

__u64 fw_tags_bytes(__u32 capacity)
{
	return sizeof(struct fw_tags) + (__u64)clamp(capacity) * sizeof(__u16);
}

void fw_tags_init(struct fw_tags *tags, __u32 capacity)
{
	__u32 i;

	tags->serial = 0;
	for (i = 0; i < clamp(capacity); i++)
		tags->tag[i] = EMX_TAG_NONE;
}

void fw_peers_init(struct fw_peers *t, __u32 capacity, __u64 key0, __u64 key1)
{
	t->key[0] = key0;
	t->key[1] = key1;
	t->capacity = clamp(capacity);
	t->hash_mask = hash_size(t->capacity) - 1;
	t->count = 0;
	t->open = 1;
	t->pinned = 0;
	t->hash_seq = 0;
	t->hand[0] = 0;
	t->hand[1] = 0;
	t->asked = 0;
	fw_tags_init(fw_peers_tags(t), t->capacity);
}

struct fw_peer *fw_peer(struct fw_peers *t, __u32 i)
{
	if (i >= __atomic_load_n(&t->count, __ATOMIC_ACQUIRE))
		return FW_NULL;
	return &slots(t)[i];
}

/* One search: entries may move meanwhile, and what it finds is right, but not what it misses. */
static int search(const struct fw_peers *t, __u64 mac)
{
	const struct fw_peer *p = slots(t);
	const __u32 *hash = hash_slots(t);
	__u32 i, at, n;

	for (i = hash_of(t, mac), n = 0; n <= t->hash_mask; i++, n++) {
		at = __atomic_load_n(&hash[i & t->hash_mask], __ATOMIC_ACQUIRE);
		if (at == 0)
			return -1;
		if (at <= t->capacity && __atomic_load_n(&p[at - 1].mac, __ATOMIC_RELAXED) == mac)
			return (int)(at - 1);
	}
	return -1;
}

static FW_COLD int find_by_hash(const struct fw_peers *t, __u64 mac)
{
	int tries, found;
	__u32 seq;

	for (tries = 0; tries < TRIES; tries++) {
		seq = __atomic_load_n(&t->hash_seq, __ATOMIC_ACQUIRE);
		found = search(t, mac);
		if (found >= 0)
			return found;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(seq & 1) && seq == __atomic_load_n(&t->hash_seq, __ATOMIC_RELAXED))
			return -1;
	}
	return -1;
}

int fw_peer_find(const struct fw_peers *t, __u64 mac, __u32 hint)
{
	if (mac == 0)
		return -1;
	if (hint < __atomic_load_n(&t->count, __ATOMIC_ACQUIRE) && slots(t)[hint].mac == mac)
		return (int)hint;
	return find_by_hash(t, mac);
}

/* Publishes peer i under its MAC. There is a free hash slot: they are twice as many as peers. */
static void hash_insert(struct fw_peers *t, __u32 i)
{
	__u32 *hash = hash_slots(t);
	__u32 at = hash_of(t, slots(t)[i].mac);

	while (hash[at & t->hash_mask])
		at++;
	__atomic_store_n(&hash[at & t->hash_mask], i + 1, __ATOMIC_RELEASE);
}

static void hash_moves(struct fw_peers *t)
{
	__atomic_store_n(&t->hash_seq, t->hash_seq | 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void hash_stays(struct fw_peers *t)
{
	__atomic_store_n(&t->hash_seq, (t->hash_seq | 1) + 1, __ATOMIC_RELEASE);
}

/* Distance of a hash slot from where the search for its entry begins. */
static __u32 hash_way(const struct fw_peers *t, __u32 at)
{
	const __u32 named = hash_slots(t)[at];

	return (at - hash_of(t, slots(t)[named - 1].mac)) & t->hash_mask;
}

/* The entry of peer i, which had that MAC; its MAC now does not count. -1: it has none. */
static int hash_entry_of(const struct fw_peers *t, __u32 i, __u64 mac)
{
	const __u32 *hash = hash_slots(t);
	__u32 at = hash_of(t, mac);
	__u32 n;

	for (n = 0; n <= t->hash_mask && hash[at & t->hash_mask]; n++, at++)
		if (hash[at & t->hash_mask] == i + 1)
			return (int)(at & t->hash_mask);
	return -1;
}

/* Takes that entry out; those behind it that it kept from their places move up. */
static void hash_remove(struct fw_peers *t, __u32 i, __u64 mac)
{
	__u32 *hash = hash_slots(t);
	int found = hash_entry_of(t, i, mac);
	__u32 hole, at, n;

	if (found < 0)
		return;
	hash_moves(t);
	hole = (__u32)found;
	for (at = hole, n = 0; n < t->hash_mask; n++) {
		at = (at + 1) & t->hash_mask;
		if (hash[at] == 0)
			break;
		if (hash_way(t, at) < ((at - hole) & t->hash_mask))
			continue;
		__atomic_store_n(&hash[hole], hash[at], __ATOMIC_RELEASE);
		hole = at;
	}
	__atomic_store_n(&hash[hole], 0, __ATOMIC_RELEASE);
	hash_stays(t);
}

FW_COLD void fw_peers_mend(struct fw_peers *t)
{
	int whole = !(t->hash_seq & 1);
	__u32 i;

	for (i = 0; i < t->count; i++)
		whole &= slots(t)[i].mac != 0;
	if (whole)
		return;
	hash_moves(t);
	for (i = 0; i <= t->hash_mask; i++)
		__atomic_store_n(&hash_slots(t)[i], 0, __ATOMIC_RELAXED);
	for (i = 0; i < t->count; i++)
		if (slots(t)[i].mac && search(t, slots(t)[i].mac) < 0)
			hash_insert(t, i);
	hash_stays(t);
}

static int is_address(__u64 mac)
{
	return mac != 0 && mac >> 48 == 0 && !fw_mac_is_group(mac);
}

int fw_peer_add(struct fw_peers *t, __u64 mac)
{
	int known = fw_peer_find(t, mac, ~0u);
	struct fw_peer *p;
	__u32 i = t->count;

	if (known >= 0)
		return known;
	if (i >= t->capacity || !is_address(mac))
		return -1;
	p = &slots(t)[i];
	fw_zero(p, sizeof(*p));
	p->mac = mac;
	__atomic_store_n(&t->count, i + 1, __ATOMIC_RELEASE);
	hash_insert(t, i);
	return (int)i;
}

void fw_spares_begin(struct fw_spares *s, const struct fw_peers *t)
{
	s->looks = FW_SPARES_LOOKS;
	s->asked = t->asked != 0;
}

static int is_spare(const struct fw_peer *p)
{
	return !(p->flags & (FW_PEER_NAMED | FW_PEER_LISTED)) && p->speaks == FW_SPEAKS_BOARD;
}

/* The next place, round the table; its count, when there is none. */
static __u32 look(struct fw_peers *t, __u32 asked, __u32 first)
{
	__u32 i = t->hand[asked];

	if (i < first || i >= t->count)
		i = first;
	t->hand[asked] = i + 1;
	return i;
}

FW_COLD int fw_spares_next(struct fw_spares *s, struct fw_peers *t, __u32 first)
{
	const __u32 wanted = s->asked ? FW_PEER_ASKED : 0;
	__u32 i;

	while (s->looks) {
		s->looks--;
		i = look(t, s->asked, first);
		if (i >= t->count)
			return -1;
		if (is_spare(&slots(t)[i]) && (slots(t)[i].flags & wanted) == wanted)
			return (int)i;
	}
	if (!s->asked)
		return -1;
	s->asked = 0;
	s->looks = FW_SPARES_LOOKS;
	return fw_spares_next(s, t, first);
}

FW_COLD __u64 fw_peer_vacate(struct fw_peers *t, __u32 i)
{
	const __u64 old = slots(t)[i].mac;

	__atomic_store_n(&slots(t)[i].mac, 0, __ATOMIC_RELAXED);
	/* An endpoint says that it keeps the index, and then looks at the MAC. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return old;
}

FW_COLD void fw_peer_restore(struct fw_peers *t, __u32 i, __u64 mac)
{
	__atomic_store_n(&slots(t)[i].mac, mac, __ATOMIC_RELEASE);
}

FW_COLD int fw_peers_fit(const struct fw_peers *t, __u32 capacity)
{
	const __u32 *hash = hash_slots(t);
	__u32 i, count, empty = 0, last = 0;

	capacity = clamp(capacity);
	if (t->capacity != capacity || t->hash_mask != hash_size(capacity) - 1)
		return 0;
	for (i = 0; i <= t->hash_mask; i++) {
		empty += hash[i] == 0;
		if (hash[i] > last)
			last = hash[i];
	}
	/* Last: an addition counts first. One slot stays empty, where searches end. */
	count = __atomic_load_n(&t->count, __ATOMIC_ACQUIRE);
	return count <= capacity && last <= count && empty > capacity - count;
}

FW_COLD int fw_peer_readdress(struct fw_peers *t, __u32 i, __u64 mac)
{
	struct fw_peer *p = fw_peer(t, i);
	int known = fw_peer_find(t, mac, ~0u);

	if (p && known == (int)i)
		return 0;
	if (!p || known >= 0 || !is_address(mac))
		return -1;
	hash_remove(t, i, p->mac);
	__atomic_store_n(&p->mac, mac, __ATOMIC_RELEASE);
	hash_insert(t, i);
	return 0;
}

FW_COLD void fw_learn_tag(struct fw_tags *tags, __u32 i, __u16 tag)
{
	/* Told by every connect: leave the cache line alone when nothing changed. */
	if (__atomic_load_n(&tags->tag[i], __ATOMIC_RELAXED) == tag)
		return;
	__atomic_store_n(&tags->tag[i], tag, __ATOMIC_RELAXED);
	__atomic_store_n(&tags->serial, tags->serial + 1, __ATOMIC_RELEASE);
}

FW_COLD void fw_tags_follow(struct fw_tags *own, struct fw_tags *seen, struct fw_peers *t)
{
	const struct fw_tags *told = fw_peers_tags(t);
	const __u32 serial = __atomic_load_n(&told->serial, __ATOMIC_ACQUIRE);
	__u32 i;

	if (serial == seen->serial)
		return;
	for (i = 0; fw_peer(t, i); i++) {
		const __u16 tag = __atomic_load_n(&told->tag[i], __ATOMIC_RELAXED);

		if (tag == seen->tag[i])
			continue;
		seen->tag[i] = tag;
		fw_learn_tag(own, i, tag);
	}
	seen->serial = serial;
}

FW_COLD int fw_peer_pin(struct fw_peers *t, __u32 i, __u16 speaks)
{
	struct fw_peer *p = fw_peer(t, i);
	struct fw_sizes s;

	if (!p || (speaks != FW_SPEAKS_BOARD && fw_sizes_spoken(&s, speaks)))
		return -1;
	__atomic_store_n(&p->speaks, speaks, __ATOMIC_RELAXED);
	if (speaks != FW_SPEAKS_BOARD)
		__atomic_store_n(&t->pinned, 1, __ATOMIC_RELEASE);
	return 0;
}

FW_COLD void fw_peers_unpin(struct fw_peers *t)
{
	__u32 i;

	for (i = 0; i < t->count; i++)
		__atomic_store_n(&slots(t)[i].speaks, FW_SPEAKS_BOARD, __ATOMIC_RELAXED);
	__atomic_store_n(&t->pinned, 0, __ATOMIC_RELEASE);
}

FW_COLD const struct fw_sizes *fw_peer_sizes(const struct fw_peers *t, const struct fw_sizes *board,
					     __u32 i, struct fw_sizes *own)
{
	__u16 speaks = FW_SPEAKS_BOARD;

	if (i < __atomic_load_n(&t->count, __ATOMIC_ACQUIRE))
		speaks = __atomic_load_n(&slots(t)[i].speaks, __ATOMIC_RELAXED);
	return speaks == FW_SPEAKS_BOARD || fw_sizes_spoken(own, speaks) ? board : own;
}

FW_COLD void fw_peers_widen(const struct fw_peers *t, struct fw_sizes *s)
{
	const __u32 count = __atomic_load_n(&t->count, __ATOMIC_ACQUIRE);
	struct fw_sizes own;
	__u32 i;

	for (i = 0; i < count && t->pinned; i++)
		fw_sizes_widen(s, fw_peer_sizes(t, s, i, &own));
}

/* flags: of those about the name, which are set with it. */
static void set_name(struct fw_peers *t, __u32 i, const char *name, __u32 flags)
{
	const __u32 stays =
		FW_PEER_HEARD | FW_PEER_LISTED | (flags & FW_PEER_NAMED ? 0 : FW_PEER_ASKED);
	struct fw_peer *p = fw_peer(t, i);
	__u32 n = 0;
	__u16 seq;

	if (!p)
		return;
	if ((p->flags & ~stays & FW_PEER_ASKED) && t->asked)
		t->asked--;
	seq = (__u16)(__atomic_load_n(&p->name_seq, __ATOMIC_RELAXED) & ~1u); /* odd: it died */
	__atomic_store_n(&p->name_seq, (__u16)(seq + 1), __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	for (; name && name[n] && n < EMX_NAME_MAX - 1; n++)
		__atomic_store_n(&p->name[n], name[n], __ATOMIC_RELAXED);
	for (; n < EMX_NAME_MAX; n++)
		__atomic_store_n(&p->name[n], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&p->flags, (__u16)((p->flags & stays) | flags), __ATOMIC_RELAXED);
	__atomic_store_n(&p->name_seq, (__u16)(seq + 2), __ATOMIC_RELEASE);
}

FW_COLD void fw_peer_ask_for(struct fw_peers *t, __u32 i)
{
	struct fw_peer *p = fw_peer(t, i);

	if (!p || (p->flags & FW_PEER_ASKED))
		return;
	__atomic_store_n(&p->flags, (__u16)(p->flags | FW_PEER_ASKED), __ATOMIC_RELAXED);
	t->asked++;
}

FW_COLD void fw_peer_list(struct fw_peers *t, __u32 i)
{
	struct fw_peer *p = fw_peer(t, i);

	if (p)
		__atomic_store_n(&p->flags, (__u16)(p->flags | FW_PEER_LISTED), __ATOMIC_RELAXED);
}

FW_COLD int fw_peer_replace(struct fw_peers *t, __u32 i, __u64 old, __u64 mac)
{
	struct fw_peer *p = &slots(t)[i];

	if (!is_address(mac) || fw_peer_find(t, mac, ~0u) >= 0) {
		fw_peer_restore(t, i, old);
		return -1;
	}
	hash_remove(t, i, old);
	set_name(t, i, FW_NULL, FW_PEER_NAMED); /* takes FW_PEER_ASKED off, too */
	__atomic_store_n(&p->flags, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&p->serial, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&p->life, p->life + 1, __ATOMIC_RELAXED);
	fw_learn_tag(fw_peers_tags(t), i, EMX_TAG_NONE);
	__atomic_store_n(&p->mac, mac, __ATOMIC_RELEASE);
	hash_insert(t, i);
	return 0;
}

void fw_peer_name(struct fw_peers *t, __u32 i, const char *name)
{
	set_name(t, i, name, name ? FW_PEER_NAMED : 0);
}

static int same_name(const char *a, const char *b)
{
	__u32 n;

	for (n = 0; n < EMX_NAME_MAX - 1 && a[n] && a[n] == b[n]; n++)
		;
	return n == EMX_NAME_MAX - 1 || a[n] == b[n];
}

static FW_COLD void forget_namesake(struct fw_peers *t, __u32 i, const char *name)
{
	const struct fw_peer *p = slots(t);
	__u32 j;

	for (j = 0; j < t->count; j++)
		if (j != i && (p[j].flags & FW_PEER_LEARNED) && same_name(p[j].name, name))
			set_name(t, j, FW_NULL, FW_PEER_DOUBTED);
}

FW_COLD void fw_peer_learn(struct fw_peers *t, __u32 i, const char *name)
{
	struct fw_peer *p = fw_peer(t, i);

	if (!p)
		return;
	if (!(p->flags & FW_PEER_NAMED) ||
	    ((p->flags & FW_PEER_LEARNED) && !same_name(p->name, name))) {
		if (!(p->flags & FW_PEER_DOUBTED))
			forget_namesake(t, i, name);
		set_name(t, i, name, FW_PEER_NAMED | FW_PEER_LEARNED);
	}
	__atomic_store_n(&p->flags, (__u16)(p->flags & ~FW_PEER_ASK), __ATOMIC_RELAXED);
}

FW_COLD int fw_peer_asks(struct fw_peers *t, __u32 i)
{
	const struct fw_peer *p = fw_peer(t, i);
	const __u32 flags = p ? __atomic_load_n(&p->flags, __ATOMIC_RELAXED) : FW_PEER_NAMED;

	return !(flags & FW_PEER_NAMED) || (flags & FW_PEER_ASK);
}

FW_COLD int fw_peer_to_ask(struct fw_peers *t, __u32 i)
{
	for (; fw_peer(t, i); i++)
		if (fw_peer_asks(t, i))
			return (int)i;
	return -1;
}

/* One try at a consistent copy: nonzero when the name changed meanwhile. */
static int copy_name(const struct fw_peer *p, char *name, __u32 *flags)
{
	__u16 seq = __atomic_load_n(&p->name_seq, __ATOMIC_ACQUIRE);
	__u32 n;

	*flags = __atomic_load_n(&p->flags, __ATOMIC_RELAXED);
	for (n = 0; n < EMX_NAME_MAX; n++)
		name[n] = __atomic_load_n(&p->name[n], __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return (seq & 1) || seq != __atomic_load_n(&p->name_seq, __ATOMIC_RELAXED);
}

int fw_peer_name_get(struct fw_peers *t, __u32 i, char *name)
{
	struct fw_peer *p = fw_peer(t, i);
	__u32 flags = 0;
	int tries;

	for (tries = 0; p && tries < TRIES; tries++) {
		if (copy_name(p, name, &flags))
			continue;
		name[EMX_NAME_MAX - 1] = 0;
		if (flags & FW_PEER_NAMED)
			return 0;
		break;
	}
	name[0] = 0;
	return -1;
}

FW_COLD int fw_peer_by_name(struct fw_peers *t, const char *name)
{
	const struct fw_peer *p;
	char copy[EMX_NAME_MAX];
	__u32 i;

	/* Copies are made, and take their time, only where they are likely to be the one. */
	for (i = 0; (p = fw_peer(t, i)); i++)
		if (__atomic_load_n(&p->name[0], __ATOMIC_RELAXED) == name[0] &&
		    same_name(p->name, name) && fw_peer_name_get(t, i, copy) == 0 &&
		    same_name(copy, name))
			return (int)i;
	return -1;
}
