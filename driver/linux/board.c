// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Boards: attaching interfaces, letting go of them, and following what happens to them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cred.h>
#include <linux/etherdevice.h>
#include <linux/hashtable.h>
#include <linux/if_arp.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <linux/utsname.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "ethermx.h"

/* Messages that users can cause fill no log. */
#define tell(level, ...) pr_##level##_ratelimited(__VA_ARGS__)

#define HASH_BITS_OF_NET 6

/* The boards of a network namespace. Frames and searches of others never walk over them. */
struct emx_net {
	struct list_head boards; /* rtnl; readers RCU */
	struct list_head absent; /* whose interfaces have vanished and may come back; rtnl */
	DECLARE_HASHTABLE(by_index, HASH_BITS_OF_NET);
	DECLARE_HASHTABLE(by_mac, HASH_BITS_OF_NET);
};

static unsigned int net_id;
static LIST_HEAD(everywhere); /* attached boards; rtnl */
static atomic_t count_everywhere = ATOMIC_INIT(0);

static struct emx_net *of_net(const struct net *net)
{
	return net_generic(net, net_id);
}

/* ---- finding ---- */

static struct emx_board *find_board(const struct net_device *dev)
{
	struct emx_net *own = of_net(dev_net(dev));
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
	list_for_each_entry_rcu(board, &of_net(net)->boards, list)
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
	hash_for_each_possible_rcu(of_net(board->net)->by_mac, other, by_mac, mac)
		if (READ_ONCE(other->fw.mac) == mac)
			return other;
	return NULL;
}

unsigned int emx_boards_count(void)
{
	return atomic_read(&count_everywhere);
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

static bool number_used(const struct net *net, unsigned int number)
{
	struct emx_board *board;

	list_for_each_entry(board, &of_net(net)->boards, list)
		if (board->number == number)
			return true;
	return false;
}

/*
 * The user to whom the boards of a namespace count: the owner of the outermost user namespace
 * that it is in. Nobody, for those of the host's own.
 */
static kuid_t owner_of(const struct net *net)
{
	const struct user_namespace *ns = net->user_ns;

	if (ns == &init_user_ns)
		return INVALID_UID;
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	return ns->owner;
}

/* Their interfaces cost memory that nobody accounts for, and beacons go out for each. */
static bool may_have_another(const struct net *net)
{
	const kuid_t owner = owner_of(net);
	unsigned int count = 0;
	struct emx_board *board;

	if (!uid_valid(owner))
		return true;
	list_for_each_entry(board, &everywhere, all)
		count += uid_eq(board->owner, owner);
	list_for_each_entry(board, &of_net(net)->absent, list)
		count++;
	return count < emx_user_boards;
}

/* ---- checks before an interface becomes a board ---- */

/* Checks that every frame of the chosen dialect fits the interface, and says what would. */
static int choose_sizes(struct fw_sizes *sizes, const struct net_device *dev, u32 frame_size)
{
	if (!frame_size) {
		fw_sizes_w(sizes);
	} else if (fw_sizes_n(sizes, frame_size)) {
		tell(err, "frame_size=%u: give 0, or 256 to 65535\n", frame_size);
		return -EINVAL;
	}
	if (dev->mtu >= sizes->payload_min)
		return 0;
	tell(err, "%*pE: its MTU of %u is below %u: raise it, or frame_size=%u on all hosts\n",
	     (int)strlen(dev->name), dev->name, dev->mtu, sizes->payload_min, dev->mtu);
	return -EMSGSIZE;
}

/*
 * The engine's sockets are bound to the interface for our EtherType, from before its agent asks
 * whether we have the interface: so one of the two sees the other.
 */
static bool has_other_firmware(struct net_device *dev)
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

static int check_device(struct net_device *dev)
{
	if (dev->type != ARPHRD_ETHER) {
		tell(err, "%*pE: not an Ethernet interface\n", (int)strlen(dev->name), dev->name);
		return -EINVAL;
	}
	if (find_board(dev)) {
		tell(err, "%*pE: attached already; name it once\n", (int)strlen(dev->name),
		     dev->name);
		return -EBUSY;
	}
	if (has_other_firmware(dev)) {
		tell(err, "%*pE: omxd or another has EtherType 0x86df on it: end that first\n",
		     (int)strlen(dev->name), dev->name);
		return -EBUSY;
	}
	return 0;
}

int emx_config_check(const struct emx_config *config)
{
	if (config->endpoints < 1 || config->endpoints > EMX_ENDPOINTS_MAX) {
		tell(err, "endpoints=%u: give 1 to %u\n", config->endpoints, EMX_ENDPOINTS_MAX);
		return -EINVAL;
	}
	/* Indexes travel in 16 bits, and EMX_TAG_NONE is none. */
	if (config->peers < 1 || config->peers > FW_PEERS_MAX) {
		tell(err, "peers=%u: give 1 to %u\n", config->peers, FW_PEERS_MAX);
		return -EINVAL;
	}
	return 0;
}

/* ---- making and freeing ---- */

static void free_tables(struct emx_board *board)
{
	kvfree(board->kept);
	kvfree(board->added);
	kvfree(board->fw.peers);
	kvfree(board);
}

static void free_board(struct kref *ref)
{
	struct emx_board *board = container_of(ref, struct emx_board, ref);

	free_tables(board);
}

void emx_board_put(struct emx_board *board)
{
	kref_put(&board->ref, free_board);
}

static struct emx_board *alloc_board(u32 peers)
{
	struct emx_board *board;

	board = kvzalloc(sizeof(*board), GFP_KERNEL_ACCOUNT);
	if (!board)
		return NULL;
	board->fw.peers = kvzalloc(fw_peers_bytes(peers), GFP_KERNEL_ACCOUNT);
	board->added = kvmalloc_array(peers, sizeof(*board->added), GFP_KERNEL_ACCOUNT);
	board->kept = kvcalloc(peers, sizeof(*board->kept), GFP_KERNEL_ACCOUNT);
	if (!board->fw.peers || !board->added || !board->kept) {
		free_tables(board);
		return NULL;
	}
	memset(board->added, 0xff, array_size(peers, sizeof(*board->added))); /* INVALID_UID */
	fw_peers_init(board->fw.peers, peers, get_random_u64(), get_random_u64());
	board->fw.tags = fw_peers_tags(board->fw.peers);
	kref_init(&board->ref);
	spin_lock_init(&board->lock);
	skb_queue_head_init(&board->loop);
	tasklet_setup(&board->loop_task, emx_rx_loop);
	INIT_DELAYED_WORK(&board->name_work, emx_names_work);
	INIT_DELAYED_WORK(&board->beacon_work, emx_beacons_work);
	return board;
}

static u8 link_of(const struct net_device *dev)
{
	return netif_running(dev) && netif_oper_up(dev) ? EMX_LINK_UP : EMX_LINK_DOWN;
}

static void init_board(struct emx_board *board, struct net_device *dev)
{
	board->net = dev_net(dev);
	board->owner = owner_of(board->net);
	board->ifindex = dev->ifindex;
	board->headroom = LL_RESERVED_SPACE(dev);
	board->tailroom = dev->needed_tailroom;
	board->gather = dev->features & NETIF_F_SG;
	board->link = link_of(dev);
	board->mtu = dev->mtu;
	while (number_used(board->net, board->number))
		board->number++;
}

/* Index 0 of the peer table is the board itself, as programs expect. */
static void init_firmware(struct emx_board *board, struct net_device *dev,
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

static void introduce_one(struct emx_board *to, const struct emx_board *whom)
{
	int index;

	spin_lock_bh(&to->lock);
	index = emx_peer_place_locked(to, whom->fw.mac);
	if (index >= 0)
		fw_peer_name(to->fw.peers, index, whom->fw.name);
	spin_unlock_bh(&to->lock);
}

/* Boards of one host know each other without asking. */
static void introduce(struct emx_board *board)
{
	struct emx_board *other;

	list_for_each_entry(other, &of_net(board->net)->boards, list) {
		introduce_one(board, other);
		introduce_one(other, board);
	}
}

/* ---- interfaces that come back ---- */

static struct emx_board *find_absent(const struct net *net, const char *ifname)
{
	struct emx_board *board;

	list_for_each_entry(board, &of_net(net)->absent, list)
		if (!strcmp(board->ifname, ifname))
			return board;
	return NULL;
}

/* Takes over the caller's reference. No reader is left in the other list: detach() has waited. */
static void remember(struct emx_board *board)
{
	list_add_tail(&board->list, &of_net(board->net)->absent);
}

static void forget(struct emx_board *board)
{
	list_del(&board->list);
	emx_board_put(board);
}

/* Forgets the boards of a namespace. Returns how many. */
static unsigned int forget_all(const struct net *net)
{
	struct emx_board *board;
	struct emx_board *next;
	unsigned int count = 0;

	list_for_each_entry_safe(board, next, &of_net(net)->absent, list) {
		forget(board);
		count++;
	}
	return count;
}

/* The administrator's settings of the board hold for its successor. */
static void inherit(struct emx_board *board, const struct emx_board *old)
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

static void publish_board(struct emx_board *board, struct net_device *dev)
{
	rcu_assign_pointer(board->dev, dev);
	netdev_hold(dev, &board->dev_tracker, GFP_KERNEL);
	list_add_tail_rcu(&board->list, &of_net(board->net)->boards);
	list_add_tail(&board->all, &everywhere);
	hash_add(of_net(board->net)->by_index, &board->by_index, board->ifindex);
	hash_add_rcu(of_net(board->net)->by_mac, &board->by_mac, board->fw.mac);
	atomic_inc(&count_everywhere);
	emx_debugfs_add(board, dev);
	board->packet_type.type = htons(EMX_ETHERTYPE);
	board->packet_type.dev = dev;
	board->packet_type.func = emx_rx;
	board->packet_type.af_packet_priv = board;
	dev_add_pack(&board->packet_type);
}

static void detach(struct emx_board *board)
{
	struct net_device *dev = rtnl_dereference(board->dev);

	emx_debugfs_remove(board);
	/* Taken from claimers first, then from senders, then from frames: this waits for all. */
	spin_lock_bh(&board->lock);
	RCU_INIT_POINTER(board->dev, NULL);
	spin_unlock_bh(&board->lock);
	board->link = EMX_LINK_GONE;
	list_del_rcu(&board->list);
	list_del(&board->all);
	hash_del(&board->by_index);
	hash_del_rcu(&board->by_mac);
	atomic_dec(&count_everywhere);
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
static int attach_device(struct net_device *dev, const struct emx_config *config,
			 const struct emx_board *old)
{
	struct emx_board *board;
	struct fw_sizes sizes;
	int err;

	err = emx_config_check(config);
	if (!err && !may_have_another(dev_net(dev))) {
		tell(err, "user %u has its %u boards (user_boards): detach some\n",
		     from_kuid_munged(&init_user_ns, owner_of(dev_net(dev))), emx_user_boards);
		err = -EDQUOT;
	}
	if (!err)
		err = check_device(dev);
	if (!err)
		err = choose_sizes(&sizes, dev, config->frame_size);
	if (err)
		return err;
	board = alloc_board(config->peers);
	if (!board)
		return -ENOMEM;
	board->fw.sizes = sizes;
	init_board(board, dev);
	init_firmware(board, dev, config);
	if (old)
		inherit(board, old);
	fw_peers_widen(board->fw.peers, &sizes);
	board->fragment_max = sizes.frag_accept;
	introduce(board);
	publish_board(board, dev);
	emx_beacons_start(board);
	tell(info, "%*pE: attached as board %*pE\n", (int)strlen(dev->name), dev->name,
	     (int)strlen(board->fw.name), board->fw.name);
	return board->number;
}

int emx_board_attach(struct net *net, const char *ifname, const struct emx_config *config)
{
	struct emx_board *old;
	struct net_device *dev;
	int result;

	rtnl_lock();
	old = find_absent(net, ifname);
	if (old)
		forget(old);
	dev = __dev_get_by_name(net, ifname);
	if (dev) {
		result = attach_device(dev, config, NULL);
	} else {
		tell(err, "%*pE: no such interface; correct the name\n", (int)strlen(ifname),
		     ifname);
		result = -ENODEV;
	}
	rtnl_unlock();
	return result;
}

bool emx_board_in_use(const struct emx_board *board)
{
	unsigned int i;

	for (i = 0; i < EMX_ENDPOINTS_MAX; i++)
		if (rcu_access_pointer(board->endpoint[i]))
			return true;
	return false;
}

/* No name: all that may come back. */
static int detach_absent(struct net *net, const char *ifname)
{
	struct emx_board *old = find_absent(net, ifname);

	if (!*ifname)
		return forget_all(net) ? 0 : -ENODEV;
	if (!old)
		return -ENODEV;
	forget(old);
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
		board = find_board(dev);
	if (!board)
		err = detach_absent(net, ifname);
	else if (emx_board_in_use(board))
		err = -EBUSY;
	else
		detach(board);
	rtnl_unlock();
	return err;
}

void emx_boards_detach(void)
{
	struct emx_board *board;
	struct emx_board *next;

	rtnl_lock();
	list_for_each_entry_safe(board, next, &everywhere, all)
		detach(board);
	rtnl_unlock();
}

/* ---- what happens to interfaces ---- */

/* The address identifies the board to its peers, and frames for the old one are not ours now. */
static void change_address(struct emx_board *board, const struct net_device *dev)
{
	u64 mac = ether_addr_to_u64(dev->dev_addr);

	spin_lock_bh(&board->lock);
	WRITE_ONCE(board->fw.mac, mac);
	/* Whoever searches meanwhile takes it for a board of another host, once. */
	hash_del_rcu(&board->by_mac);
	hash_add_rcu(of_net(board->net)->by_mac, &board->by_mac, mac);
	if (fw_peer_readdress(board->fw.peers, 0, mac))
		fw_peer_add(board->fw.peers, mac);
	spin_unlock_bh(&board->lock);
	emx_beacons_start(board);
}

static void change_link(struct emx_board *board, u8 state)
{
	if (board->link == state)
		return;
	WRITE_ONCE(board->link, state);
	emx_endpoints_link(board, state);
	if (state == EMX_LINK_UP)
		emx_names_soon(board);
	if (state == EMX_LINK_UP)
		emx_beacons_start(board);
}

/* Frames that are too long from now on are lost; what is asked for from now on is cut shorter. */
static void change_mtu(struct emx_board *board, const struct net_device *dev)
{
	if (dev->mtu < board->fw.sizes.payload_min)
		tell(warn, "%*pE: its MTU of %u is below %u now: long messages fail\n",
		     (int)strlen(dev->name), dev->name, dev->mtu, board->fw.sizes.payload_min);
	else if (dev->mtu < board->mtu && emx_board_in_use(board))
		tell(warn, "%*pE: its MTU fell from %u to %u: large messages under way fail\n",
		     (int)strlen(dev->name), dev->name, board->mtu, dev->mtu);
	board->mtu = dev->mtu;
}

static void vanish(struct emx_board *board, const struct net_device *dev)
{
	tell(info, "%*pE: gone, detached until it comes back\n", (int)strlen(dev->name), dev->name);
	strscpy(board->ifname, dev->name, sizeof(board->ifname));
	kref_get(&board->ref);
	detach(board);
	remember(board);
}

/* An interface is up that is no board: perhaps it was one before it vanished. */
static void come_back(struct net_device *dev)
{
	struct emx_board *old = find_absent(dev_net(dev), dev->name);
	struct emx_config config;

	/* It may still get its size. */
	if (!old || !netif_running(dev) || dev->mtu < old->fw.sizes.payload_min)
		return;
	config.endpoints = old->fw.endpoint_max;
	config.frame_size = old->fw.sizes.mtu;
	config.peers = old->fw.peers->capacity;
	if (attach_device(dev, &config, old) >= 0)
		forget(old);
}

static int device_event(struct notifier_block *nb, unsigned long event, void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);
	struct emx_board *board = find_board(dev);

	if (!board) {
		if (event == NETDEV_UP || event == NETDEV_CHANGEMTU)
			come_back(dev);
		return NOTIFY_DONE;
	}
	switch (event) {
	case NETDEV_CHANGEADDR:
		change_address(board, dev);
		break;
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		change_link(board, link_of(dev));
		break;
	case NETDEV_CHANGEMTU:
		change_mtu(board, dev);
		break;
	case NETDEV_FEAT_CHANGE:
		WRITE_ONCE(board->gather, !!(dev->features & NETIF_F_SG));
		break;
	case NETDEV_CHANGENAME:
		emx_debugfs_rename(board, dev);
		break;
	case NETDEV_UNREGISTER:
		vanish(board, dev);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block device_notifier = {
	.notifier_call = device_event,
};

static int __net_init net_init(struct net *net)
{
	struct emx_net *own = of_net(net);

	INIT_LIST_HEAD(&own->boards);
	INIT_LIST_HEAD(&own->absent);
	hash_init(own->by_index);
	hash_init(own->by_mac);
	return 0;
}

/* Runs when the interfaces of the namespace have gone. */
static void net_exit(struct net *net)
{
	rtnl_lock();
	forget_all(net);
	rtnl_unlock();
}

static struct pernet_operations net_operations = {
	.init = net_init,
	.exit = net_exit,
	.id = &net_id,
	.size = sizeof(struct emx_net),
};

int emx_boards_watch(void)
{
	int err;

	err = register_pernet_subsys(&net_operations);
	if (err)
		return err;
	err = register_netdevice_notifier(&device_notifier);
	if (err)
		unregister_pernet_subsys(&net_operations);
	return err;
}

void emx_boards_unwatch(void)
{
	unregister_netdevice_notifier(&device_notifier);
	unregister_pernet_subsys(&net_operations);
}
