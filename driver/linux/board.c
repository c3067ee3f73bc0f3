// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The boards of each network namespace: finding and listing them, and their memory.
 */
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "board.h"

#define HASH_BITS_OF_NET 6

/* The boards of a network namespace. Frames and searches of others never walk over them. */
struct emx_net {
	struct list_head boards; /* rtnl; readers RCU */
	struct list_head absent; /* whose interfaces have vanished and may come back; rtnl */
	DECLARE_HASHTABLE(by_index, HASH_BITS_OF_NET);
	DECLARE_HASHTABLE(by_mac, HASH_BITS_OF_NET);
};

static unsigned int emx_board_net_id;
static LIST_HEAD(emx_board_attached); /* of all namespaces; rtnl */
static atomic_t emx_board_count_attached = ATOMIC_INIT(0);

static struct emx_net *emx_board_net(const struct net *net)
{
	return net_generic(net, emx_board_net_id);
}

/* ---- finding ---- */

struct emx_board *emx_board_of_device(const struct net_device *dev)
{
	struct emx_net *own = emx_board_net(dev_net(dev));
	struct emx_board *board;

	ASSERT_RTNL();
	hash_for_each_possible(own->by_index, board, by_index, dev->ifindex)
		if (rcu_access_pointer(board->dev) == dev)
			return board;
	return NULL;
}

struct emx_board *emx_board_find(struct net *net, unsigned int number)
{
	struct emx_board *best = NULL;
	struct emx_board *board;

	rcu_read_lock();
	list_for_each_entry_rcu(board, &emx_board_net(net)->boards, list)
		if (board->number >= number && (!best || board->number < best->number))
			best = board;
	if (best && !kref_get_unless_zero(&best->ref))
		best = NULL;
	rcu_read_unlock();
	return best;
}

struct emx_board *emx_board_get(struct net *net, unsigned int number)
{
	struct emx_board *board = emx_board_find(net, number);

	if (!board || board->number == number)
		return board;
	emx_board_put(board);
	return NULL;
}

struct emx_board *emx_board_local(const struct emx_board *board, u64 mac)
{
	struct emx_board *other;

	if (!rcu_access_pointer(board->dev)) /* and perhaps its namespace is gone */
		return NULL;
	hash_for_each_possible_rcu(emx_board_net(board->net)->by_mac, other, by_mac, mac)
		if (READ_ONCE(other->fw.mac) == mac)
			return other;
	return NULL;
}

struct emx_board *emx_board_any(void)
{
	ASSERT_RTNL();
	return list_first_entry_or_null(&emx_board_attached, struct emx_board, all);
}

unsigned int emx_boards_count(void)
{
	return atomic_read(&emx_board_count_attached);
}

void emx_boards_each(struct net *net, void (*f)(struct emx_board *board, void *data), void *data)
{
	struct emx_board *board;
	unsigned int number;

	for (number = 0; (board = emx_board_find(net, number)); number++) {
		number = board->number;
		f(board, data);
		emx_board_put(board);
		cond_resched();
	}
}

void emx_boards_each_attached(const struct net *net, void (*f)(struct emx_board *board, void *data),
			      void *data)
{
	struct emx_board *board;

	ASSERT_RTNL();
	list_for_each_entry(board, &emx_board_net(net)->boards, list)
		f(board, data);
}

u32 emx_board_x_frame(const struct emx_board *board)
{
	const struct net_device *dev;
	u32 frame = 0;

	rcu_read_lock();
	dev = rcu_dereference(board->dev);
	if (dev)
		frame = fw_x_frame_max(&board->fw.sizes, READ_ONCE(dev->mtu));
	rcu_read_unlock();
	return frame;
}

bool emx_board_in_use(const struct emx_board *board)
{
	unsigned int i;

	for (i = 0; i < EMX_ENDPOINTS_MAX; i++)
		if (rcu_access_pointer(board->endpoint[i]))
			return true;
	return false;
}

static bool emx_board_number_used(const struct net *net, unsigned int number)
{
	struct emx_board *board;

	list_for_each_entry(board, &emx_board_net(net)->boards, list)
		if (board->number == number)
			return true;
	return false;
}

unsigned int emx_board_free_number(const struct net *net)
{
	unsigned int number = 0;

	while (emx_board_number_used(net, number))
		number++;
	return number;
}

unsigned int emx_boards_owned(const struct net *net, kuid_t owner)
{
	unsigned int count = 0;
	struct emx_board *board;

	list_for_each_entry(board, &emx_board_attached, all)
		count += uid_eq(board->owner, owner);
	list_for_each_entry(board, &emx_board_net(net)->absent, list)
		count++;
	return count;
}

/* ---- listing ---- */

void emx_board_list(struct emx_board *board)
{
	struct emx_net *own = emx_board_net(board->net);

	list_add_tail_rcu(&board->list, &own->boards);
	list_add_tail(&board->all, &emx_board_attached);
	hash_add(own->by_index, &board->by_index, board->ifindex);
	hash_add_rcu(own->by_mac, &board->by_mac, board->fw.mac);
	atomic_inc(&emx_board_count_attached);
}

void emx_board_unlist(struct emx_board *board)
{
	list_del_rcu(&board->list);
	list_del(&board->all);
	hash_del(&board->by_index);
	hash_del_rcu(&board->by_mac);
	atomic_dec(&emx_board_count_attached);
}

/* A search at the same time takes it for a board of another host, once. */
void emx_board_relist(struct emx_board *board, u64 mac)
{
	hash_del_rcu(&board->by_mac);
	hash_add_rcu(emx_board_net(board->net)->by_mac, &board->by_mac, mac);
}

/* ---- those whose interfaces may come back ---- */

struct emx_board *emx_board_absent(const struct net *net, const char *ifname)
{
	struct emx_board *board;

	list_for_each_entry(board, &emx_board_net(net)->absent, list)
		if (!strcmp(board->ifname, ifname))
			return board;
	return NULL;
}

/* No reader is left in the other list: detaching has waited for them. */
void emx_board_remember(struct emx_board *board)
{
	list_add_tail(&board->list, &emx_board_net(board->net)->absent);
}

void emx_board_forget(struct emx_board *board)
{
	list_del(&board->list);
	emx_board_put(board);
}

unsigned int emx_boards_forget(const struct net *net)
{
	struct emx_board *board;
	struct emx_board *next;
	unsigned int count = 0;

	list_for_each_entry_safe(board, next, &emx_board_net(net)->absent, list) {
		emx_board_forget(board);
		count++;
	}
	return count;
}

/* ---- memory ---- */

static void emx_board_free_tables(struct emx_board *board)
{
	kvfree(board->kept);
	kvfree(board->added);
	kvfree(board->fw.peers);
	kvfree(board);
}

static void emx_board_free(struct kref *ref)
{
	struct emx_board *board = container_of(ref, struct emx_board, ref);

	emx_board_free_tables(board);
}

void emx_board_put(struct emx_board *board)
{
	kref_put(&board->ref, emx_board_free);
}

struct emx_board *emx_board_new(u32 peers)
{
	struct emx_board *board;

	board = kvzalloc(sizeof(*board), GFP_KERNEL_ACCOUNT);
	if (!board)
		return NULL;
	board->fw.peers = kvzalloc(fw_peers_bytes(peers), GFP_KERNEL_ACCOUNT);
	board->added = kvmalloc_array(peers, sizeof(*board->added), GFP_KERNEL_ACCOUNT);
	board->kept = kvcalloc(peers, sizeof(*board->kept), GFP_KERNEL_ACCOUNT);
	if (!board->fw.peers || !board->added || !board->kept) {
		emx_board_free_tables(board);
		return NULL;
	}
	memset(board->added, 0xff, array_size(peers, sizeof(*board->added))); /* INVALID_UID */
	fw_peers_init(board->fw.peers, peers, get_random_u64(), get_random_u64());
	board->fw.tags = fw_peers_tags(board->fw.peers);
	kref_init(&board->ref);
	spin_lock_init(&board->lock);
	skb_queue_head_init(&board->loop);
	return board;
}

/* ---- namespaces ---- */

static int __net_init emx_board_net_init(struct net *net)
{
	struct emx_net *own = emx_board_net(net);

	INIT_LIST_HEAD(&own->boards);
	INIT_LIST_HEAD(&own->absent);
	hash_init(own->by_index);
	hash_init(own->by_mac);
	return 0;
}

/* Runs when the interfaces of the namespace have gone. */
static void emx_board_net_exit(struct net *net)
{
	rtnl_lock();
	emx_boards_forget(net);
	rtnl_unlock();
}

static struct pernet_operations emx_board_net_operations = {
	.init = emx_board_net_init,
	.exit = emx_board_net_exit,
	.id = &emx_board_net_id,
	.size = sizeof(struct emx_net),
};

int emx_boards_init(void)
{
	return register_pernet_subsys(&emx_board_net_operations);
}

void emx_boards_exit(void)
{
	unregister_pernet_subsys(&emx_board_net_operations);
}
