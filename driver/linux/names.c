// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Peers of a board: its table, the names that hosts ask one another for, and the beacons by which
 * they hear of each other.
 */
#include <linux/ctype.h>
#include <linux/random.h>

#include "ethermx.h"

#define QUERIES_PER_ROUND 64
#define QUERY_INTERVAL (5 * HZ)

/* ---- the table ---- */

int emx_peer_add_locked(struct emx_board *board, u64 mac)
{
	int known = fw_peer_find(board->fw.peers, mac, 0);
	int index;

	if (known >= 0)
		return known;
	index = fw_peer_add(board->fw.peers, mac);
	/* A board that is detached only waits for its last endpoint. */
	if (index >= 0 && rcu_access_pointer(board->dev))
		mod_delayed_work(emx_workqueue, &board->name_work, 0);
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

static bool is_local(const struct emx_board *board, u64 mac)
{
	bool local;

	rcu_read_lock();
	local = rcu_access_pointer(board->dev) && emx_board_local(board, mac);
	rcu_read_unlock();
	return local;
}

int emx_peer(struct emx_board *board, struct emx_dev_peer *peer)
{
	struct fw_peers *peers = board->fw.peers;
	const struct fw_peer *entry;
	int index = peer->index;

	if (peer->by > EMX_DEV_PEER_ADD)
		return -EINVAL;
	if (peer->by != EMX_DEV_PEER_INDEX)
		index = fw_peer_find(peers, peer->mac, 0);
	if (index < 0 && peer->by == EMX_DEV_PEER_ADD) {
		index = READ_ONCE(peers->open) ? emx_peer_add(board, peer->mac) : -1;
		if (index < 0)
			return -ENOSPC;
	}
	entry = index < 0 ? NULL : fw_peer(peers, index);
	if (!entry)
		return -ENOENT;
	peer->index = index;
	peer->mac = READ_ONCE(entry->mac);
	peer->local = is_local(board, peer->mac);
	memset(peer->reserved, 0, sizeof(peer->reserved));
	memset(peer->name, 0, sizeof(peer->name));
	fw_peer_name_get(peers, index, peer->name);
	return 0;
}

/* ---- names of others ---- */

static void query(struct emx_board *board, u32 index, const struct fw_peer *entry)
{
	u8 header[EMX_HEADER_MAX];
	struct sk_buff *skb;
	struct fw_pkt pkt;
	u32 length;

	memset(&pkt, 0, sizeof(pkt));
	pkt.msg.type = EMX_HOST_QUERY;
	pkt.src_mac = READ_ONCE(board->fw.mac);
	pkt.dst_mac = READ_ONCE(entry->mac);
	pkt.tag = READ_ONCE(entry->tag);
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
	bool some = board->name_next > 0;
	u32 asked = 0;
	int i;

	for (i = board->name_next; asked < QUERIES_PER_ROUND; i++) {
		i = fw_peer_to_ask(board->fw.peers, i);
		entry = fw_peer(board->fw.peers, i);
		if (!entry)
			break;
		if (is_local(board, entry->mac))
			continue;
		if (READ_ONCE(board->link) == EMX_LINK_UP)
			query(board, i, entry);
		asked++;
	}
	board->name_next = asked < QUERIES_PER_ROUND ? 0 : i;
	if (some || asked)
		queue_delayed_work(emx_workqueue, &board->name_work, QUERY_INTERVAL);
}

/* ---- beacons ---- */

/* When the next is due at the latest. Caller: board->lock, or nobody knows the board yet. */
static unsigned long beacon_wait(const struct emx_board *board)
{
	u64 now = ktime_get_ns();

	return board->beacons.due <= now ? 0 : nsecs_to_jiffies(board->beacons.due - now) + 1;
}

/*
 * A board that begins waits for a second: whoever attached it may be about to say which peers it
 * is to know, and a beacon has strangers introduce themselves.
 */
static void start_locked(struct emx_board *board)
{
	fw_beacons_start(&board->beacons, get_random_u32(), ktime_get_ns() + NSEC_PER_SEC);
	if (rcu_access_pointer(board->dev))
		mod_delayed_work(emx_workqueue, &board->beacon_work, beacon_wait(board));
}

void emx_beacons_start(struct emx_board *board)
{
	spin_lock_bh(&board->lock);
	start_locked(board);
	spin_unlock_bh(&board->lock);
}

void emx_beacons_heard(struct emx_board *board, const struct fw_fx *fx)
{
	if (emx_board_local(board, fx->u.host.mac))
		return;
	fw_beacons_heard(&board->beacons, board->fw.peers, fx->u.host.peer, fx->u.host.serial,
			 ktime_get_ns());
	if (READ_ONCE(board->link) == EMX_LINK_UP)
		mod_delayed_work(emx_workqueue, &board->beacon_work, beacon_wait(board));
	/* In its turn, which may be waited for. */
	if (fw_peer_to_ask(board->fw.peers, fx->u.host.peer) == (int)fx->u.host.peer)
		queue_delayed_work(emx_workqueue, &board->name_work, 0);
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
	queue_delayed_work(emx_workqueue, &board->beacon_work, beacon_wait(board));
	spin_unlock_bh(&board->lock);
	if (length)
		skb = emx_tx_header(board, header, length);
	if (!skb)
		return;
	emx_board_count(board, EMX_CNT_TX_RAW);
	emx_tx(board, skb);
}

/* ---- what the administrator says ---- */

static bool good_name(const char *name)
{
	size_t length = strnlen(name, EMX_NAME_MAX);
	size_t i;

	for (i = 0; i < length; i++)
		if (!isgraph(name[i]) || !isascii(name[i]))
			return false;
	return length > 0 && length < EMX_NAME_MAX;
}

struct naming {
	const struct emx_dev_names *request;
	u64 mac; /* of the board to be renamed */
	int err;
};

static void forget(struct emx_board *board)
{
	const struct fw_peer *entry;
	u32 i;

	for (i = 0; (entry = fw_peer(board->fw.peers, i)); i++)
		if (!emx_board_local(board, entry->mac))
			fw_peer_name(board->fw.peers, i, NULL);
	board->fw.query_magic++; /* late replies to older queries do not count */
	mod_delayed_work(emx_workqueue, &board->name_work, 0);
}

static void append(struct emx_board *board, struct naming *n)
{
	int index = emx_peer_add_locked(board, n->request->mac);

	if (index < 0)
		n->err = -ENOSPC;
	else if (n->request->name[0])
		fw_peer_name(board->fw.peers, index, n->request->name);
}

/* The board itself and those beside it know it by that name. */
static void rename(struct emx_board *board, const struct naming *n)
{
	int index = fw_peer_find(board->fw.peers, n->mac, 0);

	if (index >= 0)
		fw_peer_name(board->fw.peers, index, n->request->name);
	if (board->fw.mac != n->mac || !strcmp(board->fw.name, n->request->name))
		return;
	strscpy_pad(board->fw.name, n->request->name, sizeof(board->fw.name));
	start_locked(board);
}

static void name_one(struct emx_board *board, void *data)
{
	struct naming *n = data;
	u32 op = n->request->op;

	rcu_read_lock();
	spin_lock_bh(&board->lock);
	if (op == EMX_DEV_NAMES_FORGET || op == EMX_DEV_PEERS_CLEAR)
		forget(board);
	if (op == EMX_DEV_PEERS_CLEAR || op == EMX_DEV_PEERS_COMPLETE)
		WRITE_ONCE(board->fw.peers->open, op == EMX_DEV_PEERS_CLEAR);
	if (op == EMX_DEV_PEERS_CLEAR)
		start_locked(board);
	if (op == EMX_DEV_PEERS_APPEND)
		append(board, n);
	if (op == EMX_DEV_NAME_BOARD || (op == EMX_DEV_PEERS_APPEND && n->request->name[0]))
		rename(board, n);
	spin_unlock_bh(&board->lock);
	rcu_read_unlock();
}

int emx_names(struct net *net, const struct emx_dev_names *names)
{
	struct naming n = { .request = names, .mac = names->mac };
	struct emx_board *board;

	if (names->op < EMX_DEV_NAME_BOARD || names->op > EMX_DEV_PEERS_COMPLETE)
		return -EINVAL;
	if (names->op == EMX_DEV_NAME_BOARD) {
		board = emx_board_get(net, names->board);
		if (!board)
			return -ENODEV;
		n.mac = board->fw.mac;
		emx_board_put(board);
	}
	if ((names->op == EMX_DEV_NAME_BOARD || names->name[0]) && !good_name(names->name))
		return -EINVAL;
	emx_boards_each(net, name_one, &n);
	return n.err;
}
