// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Peers of a board: its table, the names that hosts ask one another for, and the beacons by which
 * they hear of each other.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/ctype.h>
#include <linux/random.h>
#include <linux/uaccess.h>

#include "board.h"
#include "config.h"
#include "names.h"
#include "tx.h"

/* ---- the table ---- */

/* When that time comes at the latest. */
static unsigned long emx_names_wait_for(u64 due)
{
	u64 now = ktime_get_ns();

	return due <= now ? 0 : nsecs_to_jiffies(due - now) + 1;
}

/* Caller: board->lock. A board that is detached only waits for its last endpoint. */
static void emx_names_soon_locked(struct emx_board *board)
{
	fw_questions_soon(&board->questions, ktime_get_ns());
	if (rcu_access_pointer(board->dev))
		mod_delayed_work(emx_workqueue, &board->name_work,
				 emx_names_wait_for(board->questions.due));
}

void emx_names_soon(struct emx_board *board)
{
	spin_lock_bh(&board->lock);
	emx_names_soon_locked(board);
	spin_unlock_bh(&board->lock);
}

/* The index of a stranger, of whom no endpoint keeps anything, or -1. Caller: board->lock. */
static int emx_names_replace_spare(struct emx_board *board, u64 mac)
{
	struct fw_peers *peers = board->fw.peers;
	struct fw_spares spares;
	int index;

	fw_spares_begin(&spares, peers);
	do {
		index = fw_spares_next(&spares, peers, 1);
		if (index < 0)
			return -1;
	} while (board->kept[index]);
	/* An endpoint that keeps an index takes the lock, too. */
	if (fw_peer_replace(peers, index, fw_peer(peers, index)->mac, mac))
		return -1; /* no address: the entry stays, and counts to whom it did */
	board->added[index] = INVALID_UID;
	return index;
}

int emx_peer_place_locked(struct emx_board *board, u64 mac)
{
	int index = fw_peer_add(board->fw.peers, mac);

	return index >= 0 ? index : emx_names_replace_spare(board, mac);
}

int emx_peer_add_locked(struct emx_board *board, u64 mac)
{
	int known = fw_peer_find(board->fw.peers, mac, 0);
	int index;

	if (known >= 0)
		return known;
	index = emx_peer_place_locked(board, mac);
	if (index >= 0)
		emx_names_soon_locked(board);
	return index;
}

int emx_peer_add(struct emx_board *board, u64 mac)
{
	int index;

	spin_lock_bh(&board->lock);
	index = emx_peer_add_locked(board, mac);
	spin_unlock_bh(&board->lock);
	return index;
}

bool emx_peer_is_local(const struct emx_board *board, u64 mac)
{
	bool local;

	rcu_read_lock();
	local = rcu_access_pointer(board->dev) && emx_board_local(board, mac);
	rcu_read_unlock();
	return local;
}

/* True if the caller administers the namespace of the board, which may be detached. */
static bool emx_names_may_administer(struct emx_board *board)
{
	struct net_device *dev;
	struct net *net = NULL;
	bool may;

	rcu_read_lock();
	dev = rcu_dereference(board->dev);
	if (dev)
		net = maybe_get_net(dev_net(dev));
	rcu_read_unlock();
	if (!net)
		return false;
	may = ns_capable(net->user_ns, CAP_NET_ADMIN);
	put_net(net);
	return may;
}

/* Part of the table that one user without rights fills, and the least that it may. */
#define QUOTA_PART 8
#define QUOTA_LEAST 16

/* Caller: board->lock. */
static bool emx_names_within_quota(const struct emx_board *board, kuid_t user)
{
	const u32 count = board->fw.peers->count;
	u32 own = 0;
	u32 i;

	for (i = 0; i < count; i++)
		own += uid_eq(board->added[i], user) &&
		       (fw_peer(board->fw.peers, i)->flags & FW_PEER_ASKED);
	return own < max_t(u32, QUOTA_LEAST, board->fw.peers->capacity / QUOTA_PART);
}

/* Index, -ENOSPC, or -EDQUOT when the caller has asked for too many that nobody knows. */
static int emx_names_add_for_caller(struct emx_board *board, u64 mac)
{
	const bool may = emx_names_may_administer(board);
	const kuid_t user = current_uid();
	int index;

	spin_lock_bh(&board->lock);
	index = fw_peer_find(board->fw.peers, mac, 0);
	if (index >= 0)
		goto out;
	if (!may && !emx_names_within_quota(board, user)) {
		index = -EDQUOT;
		goto out;
	}
	index = emx_peer_add_locked(board, mac);
	if (index < 0) {
		index = -ENOSPC;
	} else if (!may) {
		board->added[index] = user;
		fw_peer_ask_for(board->fw.peers, index);
	}
out:
	spin_unlock_bh(&board->lock);
	return index;
}

int emx_peer_keep(struct emx_endpoint *ep, u32 index, u64 mac)
{
	struct emx_board *board = ep->board;
	const struct fw_peer *entry;
	int err = 0;

	spin_lock_bh(&board->lock);
	entry = fw_peer(board->fw.peers, index);
	if (rcu_access_pointer(board->endpoint[ep->fw->number]) != ep)
		err = -EBADFD; /* it is closed */
	else if (!entry || entry->mac != mac)
		err = -ESTALE;
	else if (!__test_and_set_bit(index, ep->kept))
		board->kept[index]++;
	spin_unlock_bh(&board->lock);
	return err;
}

int emx_peer_release(struct emx_endpoint *ep, u32 index)
{
	struct emx_board *board = ep->board;

	if (index >= board->fw.peers->capacity)
		return -ENOENT;
	spin_lock_bh(&board->lock);
	if (__test_and_clear_bit(index, ep->kept))
		board->kept[index]--;
	spin_unlock_bh(&board->lock);
	return 0;
}

void emx_peers_release(struct emx_endpoint *ep)
{
	const u32 capacity = ep->board->fw.peers->capacity;
	u32 i;

	for_each_set_bit(i, ep->kept, capacity) ep->board->kept[i]--;
	bitmap_zero(ep->kept, capacity);
}

int emx_peer(struct emx_board *board, struct emx_dev_peer *peer)
{
	struct fw_peers *peers = board->fw.peers;
	const struct fw_peer *entry;
	int index = peer->index;

	if (peer->by > EMX_DEV_PEER_NAME)
		return -EINVAL;
	peer->name[EMX_NAME_MAX - 1] = 0;
	if (peer->by == EMX_DEV_PEER_NAME)
		index = fw_peer_by_name(peers, peer->name);
	else if (peer->by != EMX_DEV_PEER_INDEX)
		index = fw_peer_find(peers, peer->mac, 0);
	if (index < 0 && peer->by == EMX_DEV_PEER_ADD) {
		index = READ_ONCE(peers->open) ? emx_names_add_for_caller(board, peer->mac)
					       : -ENOSPC;
		if (index < 0)
			return index;
	}
	entry = index < 0 ? NULL : fw_peer(peers, index);
	if (!entry)
		return -ENOENT;
	peer->index = index;
	peer->mac = READ_ONCE(entry->mac);
	peer->local = emx_peer_is_local(board, peer->mac);
	peer->reserved = 0;
	peer->speaks = READ_ONCE(entry->speaks);
	memset(peer->name, 0, sizeof(peer->name));
	fw_peer_name_get(peers, index, peer->name);
	return 0;
}

int emx_peers(struct emx_board *board, struct emx_dev_peers *list)
{
	struct emx_dev_peer __user *to = u64_to_user_ptr(list->address);
	struct emx_dev_peer peer;
	u32 n;

	for (n = 0; n < list->count && n < FW_PEERS_MAX; n++) {
		memset(&peer, 0, sizeof(peer));
		peer.board = list->board;
		peer.by = EMX_DEV_PEER_INDEX;
		peer.index = list->first + n;
		if (emx_peer(board, &peer))
			break;
		if (copy_to_user(to + n, &peer, sizeof(peer)))
			return -EFAULT;
		cond_resched();
	}
	list->count = n;
	return 0;
}

/* ---- names of others ---- */

static void emx_names_query(struct emx_board *board, u32 index, const struct fw_peer *entry)
{
	u8 header[EMX_HEADER_MAX];
	struct sk_buff *skb;
	struct fw_pkt pkt;
	u32 length;

	memset(&pkt, 0, sizeof(pkt));
	pkt.msg.type = EMX_HOST_QUERY;
	pkt.src_mac = READ_ONCE(board->fw.mac);
	pkt.dst_mac = READ_ONCE(entry->mac);
	pkt.tag = READ_ONCE(board->fw.tags->tag[index]);
	pkt.advert = index;
	pkt.magic = READ_ONCE(board->fw.query_magic);
	length = fw_encode(&board->fw.sizes, &pkt, header);
	skb = emx_tx_header(board, header, length);
	if (!skb)
		return;
	emx_board_count(board, EMX_CNT_TX_HOST_QUERY);
	emx_tx(board, skb);
}

void emx_names_work(struct work_struct *work)
{
	struct emx_board *board = container_of(to_delayed_work(work), struct emx_board, name_work);
	const struct fw_peer *entry;
	u64 due;
	int i;

	if (READ_ONCE(board->link) != EMX_LINK_UP)
		return; /* goes on when it comes up */
	do {
		spin_lock_bh(&board->lock);
		i = fw_questions_next(&board->questions, board->fw.peers, 0, ktime_get_ns());
		due = board->questions.due;
		spin_unlock_bh(&board->lock);
		entry = i < 0 ? NULL : fw_peer(board->fw.peers, i);
		if (entry && !emx_peer_is_local(board, entry->mac))
			emx_names_query(board, i, entry);
	} while (i >= 0);
	queue_delayed_work(emx_workqueue, &board->name_work, emx_names_wait_for(due));
}

/* ---- beacons ---- */

/*
 * A board that begins waits for a second: whoever attached it may be about to say which peers it
 * is to know, and a beacon has strangers introduce themselves.
 */
static void emx_names_start_beacons(struct emx_board *board)
{
	fw_beacons_start(&board->beacons, get_random_u32(), ktime_get_ns() + NSEC_PER_SEC);
	if (rcu_access_pointer(board->dev))
		mod_delayed_work(emx_workqueue, &board->beacon_work,
				 emx_names_wait_for(board->beacons.due));
}

void emx_beacons_start(struct emx_board *board)
{
	spin_lock_bh(&board->lock);
	emx_names_start_beacons(board);
	spin_unlock_bh(&board->lock);
}

void emx_beacons_heard(struct emx_board *board, const struct fw_fx *fx)
{
	if (emx_board_local(board, fx->u.host.mac))
		return;
	fw_beacons_heard(&board->beacons, board->fw.peers, fx->u.host.peer, fx->u.host.serial,
			 ktime_get_ns());
	if (READ_ONCE(board->link) == EMX_LINK_UP)
		mod_delayed_work(emx_workqueue, &board->beacon_work,
				 emx_names_wait_for(board->beacons.due));
	if (fw_peer_asks(board->fw.peers, fx->u.host.peer))
		emx_names_soon_locked(board);
}

void emx_beacons_work(struct work_struct *work)
{
	struct emx_board *board =
		container_of(to_delayed_work(work), struct emx_board, beacon_work);
	u8 header[EMX_HEADER_MAX];
	struct sk_buff *skb = NULL;
	u32 length;

	if (READ_ONCE(board->link) != EMX_LINK_UP)
		return; /* begins anew when it comes up */
	spin_lock_bh(&board->lock);
	length = fw_beacons_next(&board->beacons, &board->fw, ktime_get_ns(), header);
	queue_delayed_work(emx_workqueue, &board->beacon_work,
			   emx_names_wait_for(board->beacons.due));
	spin_unlock_bh(&board->lock);
	if (length)
		skb = emx_tx_header(board, header, length);
	if (!skb)
		return;
	emx_board_count(board, EMX_CNT_TX_RAW);
	emx_tx(board, skb);
}

/* ---- what the administrator says ---- */

static bool emx_names_is_good(const char *name)
{
	size_t length = strnlen(name, EMX_NAME_MAX);
	size_t i;

	for (i = 0; i < length; i++)
		if (!isgraph(name[i]) || !isascii(name[i]))
			return false;
	return length > 0 && length < EMX_NAME_MAX;
}

struct emx_naming {
	const struct emx_dev_names *request;
	u64 mac; /* of the board to be renamed */
	int err;
};

/* Peers whose names are forgotten while others wait for the board. */
#define FORGET_BATCH 256

/* Forgets some peers, from i on: where to go on, or 0. Caller: RCU, board->lock. */
static u32 emx_names_forget_some(struct emx_board *board, u32 i)
{
	const u32 end = i + FORGET_BATCH;
	const struct fw_peer *entry;

	for (; i < end; i++) {
		entry = fw_peer(board->fw.peers, i);
		if (!entry)
			return 0;
		if (!emx_board_local(board, entry->mac))
			fw_peer_name(board->fw.peers, i, NULL);
	}
	return i;
}

/* All but the first, of which the caller has taken care. */
static void emx_names_forget_rest(struct emx_board *board, u32 i)
{
	while (i) {
		cond_resched();
		rcu_read_lock();
		spin_lock_bh(&board->lock);
		i = emx_names_forget_some(board, i);
		spin_unlock_bh(&board->lock);
		rcu_read_unlock();
	}
}

static void emx_names_append(struct emx_board *board, struct emx_naming *n)
{
	int index = emx_peer_add_locked(board, n->request->mac);

	if (index < 0) {
		n->err = -ENOSPC;
		return;
	}
	fw_peer_list(board->fw.peers, index);
	if (n->request->name[0])
		fw_peer_name(board->fw.peers, index, n->request->name);
}

/* The board itself and those beside it know it by that name. */
static void emx_names_rename(struct emx_board *board, const struct emx_naming *n)
{
	int index = fw_peer_find(board->fw.peers, n->mac, 0);

	if (index >= 0)
		fw_peer_name(board->fw.peers, index, n->request->name);
	if (board->fw.mac != n->mac || !strcmp(board->fw.name, n->request->name))
		return;
	strscpy_pad(board->fw.name, n->request->name, sizeof(board->fw.name));
	emx_names_start_beacons(board);
}

/* Sets the peer's own dialect on a board, where the interface carries it. Caller: RCU. */
static int emx_names_pin_dialect(struct emx_board *board, const struct emx_naming *n,
				 const struct fw_sizes *sizes)
{
	struct fw_peers *peers = board->fw.peers;
	const struct net_device *dev = rcu_dereference(board->dev);
	const struct emx_board *own = emx_board_local(board, n->mac);
	int index = fw_peer_find(peers, n->mac, 0);
	u16 speaks = n->request->board;

	if (own)
		return own->fw.sizes.mtu == sizes->mtu ? 0 : -EADDRINUSE;
	if (index < 0)
		return -ENOENT;
	if (!dev || READ_ONCE(dev->mtu) < sizes->payload_min)
		return -EMSGSIZE;
	if (fw_peer(peers, index)->speaks == speaks)
		return 0;
	/* Their slots hold no longer frames, and what they sent is cut as it is. */
	if (emx_board_in_use(board))
		return -EBUSY;
	fw_peer_pin(peers, index, speaks);
	WRITE_ONCE(board->fragment_max, max(board->fragment_max, sizes->frag_accept));
	return 0;
}

/* One board has to carry it; every other error counts. */
static void emx_names_pin_dialect_on(struct emx_board *board, void *data)
{
	struct emx_naming *n = data;
	struct fw_sizes sizes;
	int err;

	if (n->err && n->err != -EMSGSIZE)
		return;
	if (n->request->board > U16_MAX || fw_sizes_spoken(&sizes, n->request->board)) {
		n->err = -EINVAL;
		return;
	}
	rcu_read_lock();
	spin_lock_bh(&board->lock);
	err = emx_names_pin_dialect(board, n, &sizes);
	spin_unlock_bh(&board->lock);
	rcu_read_unlock();
	if (err != -EMSGSIZE)
		n->err = err;
}

/* 0, or -EBUSY when endpoints have begun to speak them. */
static int emx_names_unpin_dialects(struct emx_board *board)
{
	if (!board->fw.peers->pinned)
		return 0;
	if (emx_board_in_use(board))
		return -EBUSY;
	fw_peers_unpin(board->fw.peers);
	WRITE_ONCE(board->fragment_max, board->fw.sizes.frag_accept);
	return 0;
}

static void emx_names_change_on(struct emx_board *board, void *data)
{
	struct emx_naming *n = data;
	u32 op = n->request->op;
	u32 rest = 0;

	rcu_read_lock();
	spin_lock_bh(&board->lock);
	if (op == EMX_DEV_PEERS_CLEAR && emx_names_unpin_dialects(board)) {
		n->err = -EBUSY;
		goto out;
	}
	if (op == EMX_DEV_NAMES_FORGET || op == EMX_DEV_PEERS_CLEAR) {
		rest = emx_names_forget_some(board, 0);
		board->fw.query_magic++; /* late replies to older queries do not count */
		emx_names_soon_locked(board);
	}
	if (op == EMX_DEV_PEERS_CLEAR || op == EMX_DEV_PEERS_COMPLETE)
		WRITE_ONCE(board->fw.peers->open, op == EMX_DEV_PEERS_CLEAR);
	if (op == EMX_DEV_PEERS_CLEAR)
		emx_names_start_beacons(board);
	if (op == EMX_DEV_PEERS_APPEND)
		emx_names_append(board, n);
	if (op == EMX_DEV_NAME_BOARD || (op == EMX_DEV_PEERS_APPEND && n->request->name[0]))
		emx_names_rename(board, n);
out:
	spin_unlock_bh(&board->lock);
	rcu_read_unlock();
	emx_names_forget_rest(board, rest);
}

int emx_names(struct net *net, const struct emx_dev_names *names)
{
	struct emx_naming n = { .request = names, .mac = names->mac };
	struct emx_board *board;

	if (names->op < EMX_DEV_NAME_BOARD || names->op > EMX_DEV_PEER_SPEAKS)
		return -EINVAL;
	if (names->op == EMX_DEV_PEER_SPEAKS) {
		n.err = -EMSGSIZE;
		emx_boards_each(net, emx_names_pin_dialect_on, &n);
		return n.err;
	}
	if (names->op == EMX_DEV_NAME_BOARD) {
		board = emx_board_get(net, names->board);
		if (!board)
			return -ENODEV;
		n.mac = board->fw.mac;
		emx_board_put(board);
	}
	if ((names->op == EMX_DEV_NAME_BOARD || names->name[0]) && !emx_names_is_good(names->name))
		return -EINVAL;
	emx_boards_each(net, emx_names_change_on, &n);
	return n.err;
}
