// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Queries about the boards of a network namespace, and changes by its administrator.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/pid.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>

#include "board.h"
#include "config.h"
#include "control.h"
#include "names.h"

static bool emx_admin_may_administer(const struct net *net)
{
	return ns_capable(net->user_ns, CAP_NET_ADMIN);
}

int emx_admin_board(struct net *net, struct emx_dev_board *info)
{
	struct emx_board *board = emx_board_find(net, info->number);
	struct net_device *dev;

	if (!board)
		return -ENODEV;
	memset(info, 0, sizeof(*info));
	info->number = board->number;
	info->mac = READ_ONCE(board->fw.mac);
	info->dialect_mtu = board->fw.sizes.mtu;
	info->endpoint_max = board->fw.endpoint_max;
	info->peers_max = board->fw.peers->capacity;
	info->peers = READ_ONCE(board->fw.peers->count);
	info->open = !!READ_ONCE(board->fw.peers->open);
	info->link = READ_ONCE(board->link);
	info->x_frame = emx_board_x_frame(board);
	rcu_read_lock();
	dev = rcu_dereference(board->dev);
	if (dev) {
		info->mtu = READ_ONCE(dev->mtu);
		strscpy(info->interface, netdev_name(dev), sizeof(info->interface));
	}
	rcu_read_unlock();
	spin_lock_bh(&board->lock);
	strscpy(info->name, board->fw.name, sizeof(info->name));
	spin_unlock_bh(&board->lock);
	emx_board_put(board);
	return dev ? 0 : -ENODEV;
}

int emx_admin_endpoint(struct net *net, struct emx_dev_endpoint *info)
{
	struct emx_board *board = emx_board_get(net, info->board);
	struct emx_endpoint *ep = NULL;
	u32 n;

	if (!board)
		return -ENODEV;
	rcu_read_lock();
	for (n = info->number; n < EMX_ENDPOINTS_MAX && !ep; n++)
		ep = rcu_dereference(board->endpoint[n]);
	if (ep) {
		info->number = n - 1;
		info->pid = pid_vnr(ep->pid); /* 0: of a process that the caller does not see */
		info->uid = from_kuid_munged(current_user_ns(), ep->uid);
		info->session = ep->fw->session;
		info->reserved = 0;
		strscpy_pad(info->command, ep->command, sizeof(info->command));
	}
	rcu_read_unlock();
	emx_board_put(board);
	return ep ? 0 : -ENOENT;
}

static int emx_admin_tell_counters(struct emx_board *board, struct emx_dev_counters *request)
{
	u32 count = min_t(u32, request->count, EMX_CNT_COUNT);
	struct emx_counters *sum;
	int err = 0;

	sum = kmalloc(sizeof(*sum), GFP_KERNEL_ACCOUNT);
	if (!sum)
		return -ENOMEM;
	emx_counters_sum(board, sum);
	if (copy_to_user(u64_to_user_ptr(request->address), sum, count * sizeof(u64)))
		err = -EFAULT;
	request->count = EMX_CNT_COUNT;
	kfree(sum);
	return err;
}

int emx_admin_counters(struct net *net, struct emx_dev_counters *request)
{
	struct emx_board *board;
	int err = 0;

	if (request->clear && !emx_admin_may_administer(net))
		return -EPERM;
	board = emx_board_get(net, request->board);
	if (!board)
		return -ENODEV;
	if (request->clear)
		emx_counters_clear(board);
	else
		err = emx_admin_tell_counters(board, request);
	emx_board_put(board);
	return err;
}

int emx_admin_peers(struct net *net, struct emx_dev_peers *list)
{
	struct emx_board *board = emx_board_get(net, list->board);
	int err;

	if (!board)
		return -ENODEV;
	err = emx_peers(board, list);
	emx_board_put(board);
	return err;
}

int emx_admin_names(struct net *net, const struct emx_dev_names *names)
{
	return emx_admin_may_administer(net) ? emx_names(net, names) : -EPERM;
}

int emx_admin_attach(struct net *net, struct emx_dev_attach *request)
{
	struct emx_config config = emx_defaults;
	int number;

	if (!emx_admin_may_administer(net))
		return -EPERM;
	request->interface[EMX_DEV_IFNAME - 1] = 0;
	config.frame_size = request->frame_size;
	if (request->endpoints)
		config.endpoints = request->endpoints;
	if (request->peers)
		config.peers = request->peers;
	number = emx_board_attach(net, request->interface, &config);
	if (number < 0)
		return number;
	request->number = number;
	return 0;
}

int emx_admin_detach(struct net *net, struct emx_dev_detach *request)
{
	if (!emx_admin_may_administer(net))
		return -EPERM;
	request->interface[EMX_DEV_IFNAME - 1] = 0;
	return emx_board_detach(net, request->interface);
}
