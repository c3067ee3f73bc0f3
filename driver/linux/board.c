// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Boards: attaching interfaces, letting go of them, and following what happens to them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/mm.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/utsname.h>

#include "ethermx.h"

static LIST_HEAD(boards); /* rtnl */

static struct emx_board *find_board(const struct net_device *dev)
{
	struct emx_board *board;

	ASSERT_RTNL();
	list_for_each_entry(board, &boards, list)
		if (board->dev == dev)
			return board;
	return NULL;
}

static bool number_used(unsigned int number)
{
	struct emx_board *board;

	list_for_each_entry(board, &boards, list)
		if (board->number == number)
			return true;
	return false;
}

/* Checks that every frame of the chosen dialect fits the interface, and says what would. */
static int choose_sizes(struct fw_sizes *sizes, const struct net_device *dev, u32 frame_size)
{
	if (!frame_size) {
		fw_sizes_w(sizes);
	} else if (fw_sizes_n(sizes, frame_size)) {
		pr_err("frame_size=%u: give 0, or 256 to 65535\n", frame_size);
		return -EINVAL;
	}
	if (dev->mtu >= sizes->payload_min)
		return 0;
	pr_err("%s: its MTU of %u is below %u: raise it, or load with frame_size=%u on all hosts\n",
	       dev->name, dev->mtu, sizes->payload_min, dev->mtu);
	return -EMSGSIZE;
}

static int check_device(const struct net_device *dev)
{
	if (dev->type != ARPHRD_ETHER) {
		pr_err("%s: not an Ethernet interface\n", dev->name);
		return -EINVAL;
	}
	if (find_board(dev)) {
		pr_err("%s: attached already; name it once\n", dev->name);
		return -EBUSY;
	}
	return 0;
}

static void free_board(struct emx_board *board)
{
	kvfree(board->fw.peers);
	kvfree(board);
}

static struct emx_board *alloc_board(u32 peers)
{
	struct emx_board *board;

	board = kvzalloc(sizeof(*board), GFP_KERNEL);
	if (!board)
		return NULL;
	board->fw.peers = kvzalloc(fw_peers_bytes(peers), GFP_KERNEL);
	if (!board->fw.peers) {
		kvfree(board);
		return NULL;
	}
	fw_peers_init(board->fw.peers, peers);
	spin_lock_init(&board->lock);
	return board;
}

/* Index 0 of the peer table is the board itself, as programs expect. */
static void init_firmware(struct emx_board *board, struct net_device *dev,
			  const struct emx_config *config)
{
	struct fw_board *fw = &board->fw;

	fw->mac = ether_addr_to_u64(dev->dev_addr);
	fw->counters = &board->counters;
	fw->endpoint_max = config->endpoints;
	fw->answers_hosts = 1;
	while (number_used(board->number))
		board->number++;
	snprintf(fw->name, sizeof(fw->name), "%s:%u", init_utsname()->nodename, board->number);
	fw_peer_add(fw->peers, fw->mac);
	fw_peer_name(fw->peers, 0, fw->name);
}

static void publish_board(struct emx_board *board, struct net_device *dev)
{
	board->dev = dev;
	netdev_hold(dev, &board->dev_tracker, GFP_KERNEL);
	list_add_tail(&board->list, &boards);
	emx_debugfs_add(board);
	board->packet_type.type = htons(EMX_ETHERTYPE);
	board->packet_type.dev = dev;
	board->packet_type.func = emx_rx;
	board->packet_type.af_packet_priv = board;
	dev_add_pack(&board->packet_type);
}

static void detach(struct emx_board *board)
{
	ASSERT_RTNL();
	dev_remove_pack(&board->packet_type); /* waits for the handlers that run */
	emx_debugfs_remove(board);
	list_del(&board->list);
	netdev_put(board->dev, &board->dev_tracker);
	free_board(board);
}

static int attach_device(struct net_device *dev, const struct emx_config *config)
{
	struct emx_board *board;
	struct fw_sizes sizes;
	int err;

	err = check_device(dev);
	if (err)
		return err;
	err = choose_sizes(&sizes, dev, config->frame_size);
	if (err)
		return err;
	board = alloc_board(config->peers);
	if (!board)
		return -ENOMEM;
	board->fw.sizes = sizes;
	init_firmware(board, dev, config);
	publish_board(board, dev);
	pr_info("%s: attached as board %s\n", dev->name, board->fw.name);
	return 0;
}

int emx_board_attach(const char *ifname, const struct emx_config *config)
{
	struct net_device *dev;
	int err;

	rtnl_lock();
	dev = __dev_get_by_name(&init_net, ifname);
	if (dev) {
		err = attach_device(dev, config);
	} else {
		pr_err("%s: no such interface; correct ifnames\n", ifname);
		err = -ENODEV;
	}
	rtnl_unlock();
	return err;
}

void emx_boards_detach(void)
{
	struct emx_board *board;
	struct emx_board *next;

	rtnl_lock();
	list_for_each_entry_safe(board, next, &boards, list)
		detach(board);
	rtnl_unlock();
}

/* The address identifies the board to its peers, and frames for the old one are not ours now. */
static void change_address(struct emx_board *board)
{
	spin_lock_bh(&board->lock);
	board->fw.mac = ether_addr_to_u64(board->dev->dev_addr);
	fw_peer_add(board->fw.peers, board->fw.mac);
	spin_unlock_bh(&board->lock);
}

static int device_event(struct notifier_block *nb, unsigned long event, void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);
	struct emx_board *board = find_board(dev);

	if (!board)
		return NOTIFY_DONE;
	if (event == NETDEV_CHANGEADDR)
		change_address(board);
	if (event == NETDEV_UNREGISTER) {
		pr_info("%s: gone, detached\n", dev->name);
		detach(board);
	}
	return NOTIFY_DONE;
}

static struct notifier_block device_notifier = {
	.notifier_call = device_event,
};

int emx_boards_watch(void)
{
	return register_netdevice_notifier(&device_notifier);
}

void emx_boards_unwatch(void)
{
	unregister_netdevice_notifier(&device_notifier);
}
