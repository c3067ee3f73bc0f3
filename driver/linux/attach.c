// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Attaching interfaces, which makes them boards, and detaching them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cred.h>
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/user_namespace.h>
#include <linux/utsname.h>
#include <net/net_namespace.h>

#include "board.h"
#include "config.h"
#include "control.h"
#include "effects.h"
#include "endpoint.h"
#include "names.h"

/* ---- checks before an interface becomes a board ---- */

/*
 * The user to whom the boards of a namespace count: the owner of the outermost user namespace
 * that it is in; none for namespaces of the host's own.
 */
static kuid_t emx_attach_owner_of(const struct net *net)
{
	const struct user_namespace *ns = net->user_ns;

	if (ns == &init_user_ns)
		return INVALID_UID;
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	return ns->owner;
}

/*
 * Their interfaces cost memory that nobody accounts for, and beacons go out for each. old: the
 * board that it takes the place of, or NULL.
 */
static bool emx_attach_may_have_another(const struct net *net, const struct emx_board *old)
{
	const kuid_t owner = emx_attach_owner_of(net);

	return !uid_valid(owner) || emx_boards_owned(net, owner) - !!old < emx_user_boards;
}

/* Checks that every frame of the chosen dialect fits the interface, and tells the remedy. */
static int emx_attach_choose_sizes(struct fw_sizes *sizes, const struct net_device *dev,
				   u32 frame_size)
{
	if (!frame_size) {
		fw_sizes_w(sizes);
	} else if (fw_sizes_n(sizes, frame_size)) {
		emx_tell(err, "frame_size=%u: give 0, or 256 to 65535\n", frame_size);
		return -EINVAL;
	}
	if (dev->mtu >= sizes->payload_min)
		return 0;
	emx_tell(err, "%*pE: its MTU of %u is below %u: raise it, or frame_size=%u on all hosts\n",
		 (int)strlen(dev->name), dev->name, dev->mtu, sizes->payload_min, dev->mtu);
	return -EMSGSIZE;
}

/*
 * The engine's sockets are bound to the interface for our EtherType, from before its agent asks
 * for our interfaces: so one of the two sees the other.
 */
static bool emx_attach_has_other_firmware(struct net_device *dev)
{
	struct packet_type *other;
	bool found = false;

	rcu_read_lock();
	list_for_each_entry_rcu(other, &dev->ptype_specific, list)
		if (other->type == htons(EMX_ETHERTYPE))
			found = true;
	rcu_read_unlock();
	return found;
}

static int emx_attach_check_device(struct net_device *dev)
{
	if (dev->type != ARPHRD_ETHER) {
		emx_tell(err, "%*pE: not an Ethernet interface\n", (int)strlen(dev->name),
			 dev->name);
		return -EINVAL;
	}
	if (emx_board_of_device(dev)) {
		emx_tell(err, "%*pE: attached already; name it once\n", (int)strlen(dev->name),
			 dev->name);
		return -EBUSY;
	}
	if (emx_attach_has_other_firmware(dev)) {
		emx_tell(err, "%*pE: omxd or another has EtherType 0x86df on it: end that first\n",
			 (int)strlen(dev->name), dev->name);
		return -EBUSY;
	}
	return 0;
}

/* ---- making ---- */

static void emx_attach_init_board(struct emx_board *board, struct net_device *dev)
{
	tasklet_setup(&board->loop_task, emx_rx_loop);
	INIT_DELAYED_WORK(&board->name_work, emx_names_work);
	INIT_DELAYED_WORK(&board->beacon_work, emx_beacons_work);
	board->net = dev_net(dev);
	board->owner = emx_attach_owner_of(board->net);
	board->ifindex = dev->ifindex;
	board->headroom = LL_RESERVED_SPACE(dev);
	board->tailroom = dev->needed_tailroom;
	board->gather = dev->features & NETIF_F_SG;
	board->link = emx_board_link_of(dev);
	board->mtu = dev->mtu;
	board->number = emx_board_free_number(board->net);
}

/* Index 0 of the peer table is the board itself, as programs expect. */
static void emx_attach_init_firmware(struct emx_board *board, struct net_device *dev,
				     const struct emx_config *config)
{
	struct fw_board *fw = &board->fw;

	fw->mac = ether_addr_to_u64(dev->dev_addr);
	fw->counters = &board->counters;
	fw->endpoint_max = config->endpoints;
	fw->query_magic = get_random_u32();
	fw->answers_hosts = 1;
	snprintf(fw->name, sizeof(fw->name), "%s:%u", utsname()->nodename, board->number);
	fw_peer_add(fw->peers, fw->mac);
	fw_peer_name(fw->peers, 0, fw->name);
}

static void emx_attach_introduce_one(struct emx_board *to, const struct emx_board *whom)
{
	int index;

	spin_lock_bh(&to->lock);
	index = emx_peer_place_locked(to, whom->fw.mac);
	if (index >= 0)
		fw_peer_name(to->fw.peers, index, whom->fw.name);
	spin_unlock_bh(&to->lock);
}

/* Boards of one host know each other without asking. */
static void emx_attach_introduce(struct emx_board *other, void *data)
{
	struct emx_board *board = data;

	emx_attach_introduce_one(board, other);
	emx_attach_introduce_one(other, board);
}

/* The administrator's settings of the board hold for its successor. */
static void emx_attach_inherit(struct emx_board *board, const struct emx_board *old)
{
	struct fw_peers *peers = board->fw.peers;
	const struct fw_peer *peer;
	char name[EMX_NAME_MAX];
	int index;
	u32 i;

	for (i = 1; (peer = fw_peer(old->fw.peers, i)); i++) {
		index = fw_peer_add(peers, peer->mac);
		if (index <= 0)
			continue;
		fw_peer_pin(peers, index, peer->speaks);
		if (peer->flags & FW_PEER_LISTED)
			fw_peer_list(peers, index);
		if (fw_peer_name_get(old->fw.peers, i, name))
			continue;
		if (peer->flags & FW_PEER_LEARNED)
			fw_peer_learn(peers, index, name);
		else
			fw_peer_name(peers, index, name);
	}
	WRITE_ONCE(peers->open, old->fw.peers->open);
	if (board->number != old->number)
		return;
	strscpy_pad(board->fw.name, old->fw.name, sizeof(board->fw.name));
	fw_peer_name(peers, 0, board->fw.name);
}

/* ---- attaching and detaching ---- */

static void emx_attach_publish(struct emx_board *board, struct net_device *dev)
{
	rcu_assign_pointer(board->dev, dev);
	netdev_hold(dev, &board->dev_tracker, GFP_KERNEL);
	emx_board_list(board);
	emx_debugfs_add(board, dev);
	board->packet_type.type = htons(EMX_ETHERTYPE);
	board->packet_type.dev = dev;
	board->packet_type.func = emx_rx;
	board->packet_type.af_packet_priv = board;
	dev_add_pack(&board->packet_type);
}

static void emx_attach_detach(struct emx_board *board)
{
	struct net_device *dev = rtnl_dereference(board->dev);

	emx_debugfs_remove(board);
	/* Taken from claimers first, then from senders, then from frames: this waits for all. */
	spin_lock_bh(&board->lock);
	RCU_INIT_POINTER(board->dev, NULL);
	spin_unlock_bh(&board->lock);
	board->link = EMX_LINK_GONE;
	emx_board_unlist(board);
	dev_remove_pack(&board->packet_type);
	emx_endpoints_link(board, EMX_LINK_GONE);
	tasklet_kill(&board->loop_task);
	skb_queue_purge(&board->loop);
	cancel_delayed_work_sync(&board->name_work);
	cancel_delayed_work_sync(&board->beacon_work);
	netdev_put(dev, &board->dev_tracker);
	emx_board_put(board);
}

/* old: the board that the interface was before it vanished, or NULL. */
static int emx_attach_device(struct net_device *dev, const struct emx_config *config,
			     const struct emx_board *old)
{
	struct emx_board *board;
	struct fw_sizes sizes;
	int err;

	err = emx_config_check(config);
	if (!err && !emx_attach_may_have_another(dev_net(dev), old)) {
		emx_tell(err, "user %u has its %u boards (user_boards): detach some\n",
			 from_kuid_munged(&init_user_ns, emx_attach_owner_of(dev_net(dev))),
			 emx_user_boards);
		err = -EDQUOT;
	}
	if (!err)
		err = emx_attach_check_device(dev);
	if (!err)
		err = emx_attach_choose_sizes(&sizes, dev, config->frame_size);
	if (err)
		return err;
	board = emx_board_new(config->peers);
	if (!board)
		return -ENOMEM;
	board->fw.sizes = sizes;
	emx_attach_init_board(board, dev);
	emx_attach_init_firmware(board, dev, config);
	if (old)
		emx_attach_inherit(board, old);
	fw_peers_widen(board->fw.peers, &sizes);
	board->fragment_max = sizes.frag_accept;
	emx_boards_each_attached(board->net, emx_attach_introduce, board);
	emx_attach_publish(board, dev);
	emx_beacons_start(board);
	emx_tell(info, "%*pE: attached as board %*pE\n", (int)strlen(dev->name), dev->name,
		 (int)strlen(board->fw.name), board->fw.name);
	return board->number;
}

int emx_board_attach(struct net *net, const char *ifname, const struct emx_config *config)
{
	struct emx_board *old;
	struct net_device *dev;
	int result;

	rtnl_lock();
	old = emx_board_absent(net, ifname);
	if (old)
		emx_board_forget(old);
	dev = __dev_get_by_name(net, ifname);
	if (dev) {
		result = emx_attach_device(dev, config, NULL);
	} else {
		emx_tell(err, "%*pE: no such interface; correct the name\n", (int)strlen(ifname),
			 ifname);
		result = -ENODEV;
	}
	rtnl_unlock();
	return result;
}

/* No name: all that may come back. */
static int emx_attach_detach_absent(struct net *net, const char *ifname)
{
	struct emx_board *old = emx_board_absent(net, ifname);

	if (!*ifname)
		return emx_boards_forget(net) ? 0 : -ENODEV;
	if (!old)
		return -ENODEV;
	emx_board_forget(old);
	return 0;
}

int emx_board_detach(struct net *net, const char *ifname)
{
	struct emx_board *board = NULL;
	struct net_device *dev;
	int err = 0;

	rtnl_lock();
	dev = __dev_get_by_name(net, ifname);
	if (dev)
		board = emx_board_of_device(dev);
	if (!board)
		err = emx_attach_detach_absent(net, ifname);
	else if (emx_board_in_use(board))
		err = -EBUSY;
	else
		emx_attach_detach(board);
	rtnl_unlock();
	return err;
}

void emx_boards_detach(void)
{
	struct emx_board *board;

	rtnl_lock();
	while ((board = emx_board_any()))
		emx_attach_detach(board);
	rtnl_unlock();
}

/* ---- interfaces that vanish and come back ---- */

void emx_board_vanish(struct emx_board *board, const struct net_device *dev)
{
	emx_tell(info, "%*pE: gone, detached until it comes back\n", (int)strlen(dev->name),
		 dev->name);
	strscpy(board->ifname, dev->name, sizeof(board->ifname));
	kref_get(&board->ref);
	emx_attach_detach(board);
	emx_board_remember(board);
}

void emx_board_come_back(struct net_device *dev)
{
	struct emx_board *old = emx_board_absent(dev_net(dev), dev->name);
	struct emx_config config;

	/* It may still get its size. */
	if (!old || !netif_running(dev) || dev->mtu < old->fw.sizes.payload_min)
		return;
	config.endpoints = old->fw.endpoint_max;
	config.frame_size = old->fw.sizes.mtu;
	config.peers = old->fw.peers->capacity;
	if (emx_attach_device(dev, &config, old) >= 0)
		emx_board_forget(old);
}
