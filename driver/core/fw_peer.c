/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The peer table: boards by index and by MAC (wire specification, section 6.1).
 *
 * One writer, readers without locks in any process that maps it. Slots are only ever added: a
 * reader that sees a hash entry sees the slot it names, because the slot and the count are written
 * before the entry is published. An entry whose slot has another MAC by now names nobody.
 */
#include "fw_internal.h"

#define NAME_TRIES 10000

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
	fw_tags_init(fw_peers_tags(t), t->capacity);
}

struct fw_peer *fw_peer(struct fw_peers *t, __u32 i)
{
	if (i >= __atomic_load_n(&t->count, __ATOMIC_ACQUIRE))
		return FW_NULL;
	return &slots(t)[i];
}

static FW_COLD int find_by_hash(const struct fw_peers *t, __u64 mac)
{
	const struct fw_peer *p = slots(t);
	const __u32 *hash = hash_slots(t);
	__u32 i, at, n;

	for (i = hash_of(t, mac), n = 0; n <= t->hash_mask; i++, n++) {
		at = __atomic_load_n(&hash[i & t->hash_mask], __ATOMIC_ACQUIRE);
		if (at == 0)
			return -1;
		if (at <= t->capacity && p[at - 1].mac == mac)
			return (int)(at - 1);
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

/* The first free hash slot of a MAC; there is one, the hash is twice as large as the table. */
static __u32 *free_hash_slot(struct fw_peers *t, __u64 mac)
{
	__u32 *hash = hash_slots(t);
	__u32 i = hash_of(t, mac);

	while (hash[i & t->hash_mask])
		i++;
	return &hash[i & t->hash_mask];
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
	__atomic_store_n(free_hash_slot(t, mac), i + 1, __ATOMIC_RELEASE);
	return (int)i;
}

static __u32 empty_hash_slots(const struct fw_peers *t)
{
	const __u32 *hash = hash_slots(t);
	__u32 i, empty = 0;

	for (i = 0; i <= t->hash_mask; i++)
		empty += hash[i] == 0;
	return empty;
}

FW_COLD int fw_peers_fit(const struct fw_peers *t, __u32 capacity)
{
	__u32 i, count, empty, last = 0;

	capacity = clamp(capacity);
	if (t->capacity != capacity || t->hash_mask != hash_size(capacity) - 1)
		return 0;
	empty = empty_hash_slots(t);
	for (i = 0; i <= t->hash_mask; i++)
		if (hash_slots(t)[i] > last)
			last = hash_slots(t)[i];
	/* Last: an addition counts first. One slot stays empty, where searches end. */
	count = __atomic_load_n(&t->count, __ATOMIC_ACQUIRE);
	return count <= capacity && last <= count && empty > capacity - count;
}

int fw_peer_readdress(struct fw_peers *t, __u32 i, __u64 mac)
{
	struct fw_peer *p = fw_peer(t, i);
	int known = fw_peer_find(t, mac, ~0u);
	__u32 at;

	if (p && known == (int)i)
		return 0;
	/* Additions have their places, and one stays empty, where searches end. */
	if (!p || known >= 0 || !is_address(mac) ||
	    empty_hash_slots(t) <= t->capacity - t->count + 1)
		return -1;
	__atomic_store_n(&p->mac, mac, __ATOMIC_RELEASE);
	for (at = hash_of(t, mac); hash_slots(t)[at & t->hash_mask] != 0; at++)
		if (hash_slots(t)[at & t->hash_mask] == i + 1)
			return 0; /* it had this MAC before */
	__atomic_store_n(&hash_slots(t)[at & t->hash_mask], i + 1, __ATOMIC_RELEASE);
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

FW_COLD int fw_tags_follow(struct fw_tags *own, struct fw_tags *seen, struct fw_peers *t)
{
	const struct fw_tags *told = fw_peers_tags(t);
	const __u32 serial = __atomic_load_n(&told->serial, __ATOMIC_ACQUIRE);
	__u32 i;

	if (serial == seen->serial)
		return 0;
	for (i = 0; fw_peer(t, i); i++) {
		const __u16 tag = __atomic_load_n(&told->tag[i], __ATOMIC_RELAXED);

		if (tag == seen->tag[i])
			continue;
		seen->tag[i] = tag;
		fw_learn_tag(own, i, tag);
	}
	seen->serial = serial;
	return 1;
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
	struct fw_peer *p = fw_peer(t, i);
	__u32 n = 0;
	__u16 seq;

	if (!p)
		return;
	seq = (__u16)(__atomic_load_n(&p->name_seq, __ATOMIC_RELAXED) & ~1u); /* odd: it died */
	__atomic_store_n(&p->name_seq, (__u16)(seq + 1), __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	for (; name && name[n] && n < EMX_NAME_MAX - 1; n++)
		__atomic_store_n(&p->name[n], name[n], __ATOMIC_RELAXED);
	for (; n < EMX_NAME_MAX; n++)
		__atomic_store_n(&p->name[n], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&p->flags, (__u16)((p->flags & FW_PEER_HEARD) | flags), __ATOMIC_RELAXED);
	__atomic_store_n(&p->name_seq, (__u16)(seq + 2), __ATOMIC_RELEASE);
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

	/* Bounded: a writer that died half way must not hang the readers. */
	for (tries = 0; p && tries < NAME_TRIES; tries++) {
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
