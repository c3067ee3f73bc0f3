// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Following what happens to the interfaces of boards: link, address, size, name, end.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/etherdevice.h>
#include <linux/notifier.h>
#include <linux/rtnetlink.h>

#include "board.h"
#include "config.h"
#include "control.h"
#include "endpoint.h"
#include "names.h"

/* The address identifies the board to its peers, and frames for the old one are not ours now. */
static void emx_follow_address(struct emx_board *board, const struct net_device *dev)
{
	u64 mac = ether_addr_to_u64(dev->dev_addr);

	spin_lock_bh(&board->lock);
	WRITE_ONCE(board->fw.mac, mac);
	emx_board_relist(board, mac);
	if (fw_peer_readdress(board->fw.peers, 0, mac))
		fw_peer_add(board->fw.peers, mac);
	spin_unlock_bh(&board->lock);
	emx_beacons_start(board);
}

static void emx_follow_link(struct emx_board *board, u8 state)
{
	if (board->link == state)
		return;
	/* An endpoint that has read the old state stands in the table by now. */
	spin_lock_bh(&board->lock);
	WRITE_ONCE(board->link, state);
	spin_unlock_bh(&board->lock);
	emx_endpoints_link(board, state);
	if (state == EMX_LINK_UP)
		emx_names_soon(board);
	if (state == EMX_LINK_UP)
		emx_beacons_start(board);
}

/* Frames that are too long from now on are lost; later requests ask for shorter ones. */
static void emx_follow_mtu(struct emx_board *board, const struct net_device *dev)
{
	if (dev->mtu < board->fw.sizes.payload_min)
		emx_tell(warn, "%*pE: its MTU of %u is below %u now: long messages fail\n",
			 (int)strlen(dev->name), dev->name, dev->mtu, board->fw.sizes.payload_min);
	else if (dev->mtu < board->mtu && emx_board_in_use(board))
		emx_tell(warn, "%*pE: its MTU fell from %u to %u: large messages under way fail\n",
			 (int)strlen(dev->name), dev->name, board->mtu, dev->mtu);
	board->mtu = dev->mtu;
}

static int emx_follow_event(struct notifier_block *nb, unsigned long event, void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);
	struct emx_board *board = emx_board_of_device(dev);

	if (!board) {
		if (event == NETDEV_UP || event == NETDEV_CHANGEMTU)
			emx_board_come_back(dev);
		return NOTIFY_DONE;
	}
	switch (event) {
	case NETDEV_CHANGEADDR:
		emx_follow_address(board, dev);
		break;
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		emx_follow_link(board, emx_board_link_of(dev));
		break;
	case NETDEV_CHANGEMTU:
		emx_follow_mtu(board, dev);
		break;
	case NETDEV_FEAT_CHANGE:
		WRITE_ONCE(board->gather, !!(dev->features & NETIF_F_SG));
		break;
	case NETDEV_CHANGENAME:
		emx_debugfs_rename(board, dev);
		break;
	case NETDEV_UNREGISTER:
		emx_board_vanish(board, dev);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block emx_follow_notifier = {
	.notifier_call = emx_follow_event,
};

int emx_boards_watch(void)
{
	int err;

	err = emx_boards_init();
	if (err)
		return err;
	err = register_netdevice_notifier(&emx_follow_notifier);
	if (err)
		emx_boards_exit();
	return err;
}

void emx_boards_unwatch(void)
{
	unregister_netdevice_notifier(&emx_follow_notifier);
	emx_boards_exit();
}
