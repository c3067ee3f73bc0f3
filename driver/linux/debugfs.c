// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Boards, endpoints, peers, counters and memory in debugfs. For people and tests, no stable
 * interface.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <net/net_namespace.h>

#include "board.h"
#include "compat.h"
#include "control.h"
#include "large.h"
#include "region.h"

#define DIRECTORY_MAX (IFNAMSIZ + 16)

static struct dentry *emx_debugfs_root;

static int emx_debugfs_board_show(struct seq_file *seq, void *unused)
{
	struct emx_board *board = seq->private;
	struct net_device *dev;

	rcu_read_lock();
	dev = rcu_dereference(board->dev);
	if (dev)
		seq_printf(seq, "interface %*pE\nmtu %u\n", (int)strlen(netdev_name(dev)),
			   netdev_name(dev), READ_ONCE(dev->mtu));
	rcu_read_unlock();
	spin_lock_bh(&board->lock);
	seq_printf(seq, "name %*pE\n", (int)strlen(board->fw.name), board->fw.name);
	spin_unlock_bh(&board->lock);
	seq_printf(seq, "number %u\naddress %012llx\n", board->number, READ_ONCE(board->fw.mac));
	seq_printf(seq, "link %s\n", READ_ONCE(board->link) == EMX_LINK_UP ? "up" : "down");
	if (board->fw.sizes.mtu)
		seq_printf(seq, "dialect N=%u\n", board->fw.sizes.mtu);
	else
		seq_puts(seq, "dialect W\n");
	seq_printf(seq, "endpoints at most %u\n", board->fw.endpoint_max);
	seq_printf(seq, "peers %u of %u, others are %s\n", READ_ONCE(board->fw.peers->count),
		   board->fw.peers->capacity,
		   READ_ONCE(board->fw.peers->open) ? "added" : "refused");
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(emx_debugfs_board);

/* One line each: value, then label. */
static int emx_debugfs_counters_show(struct seq_file *seq, void *unused)
{
	struct emx_counters *sum;
	unsigned int i;

	sum = kmalloc(sizeof(*sum), GFP_KERNEL_ACCOUNT);
	if (!sum)
		return -ENOMEM;
	emx_counters_sum(seq->private, sum);
	for (i = 0; i < EMX_CNT_COUNT; i++)
		seq_printf(seq, "%llu %s\n", sum->v[i], fw_counter_label(i));
	kfree(sum);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(emx_debugfs_counters);

static int emx_debugfs_endpoints_show(struct seq_file *seq, void *unused)
{
	struct emx_board *board = seq->private;
	struct emx_endpoint *ep;
	unsigned int i;

	rcu_read_lock();
	for (i = 0; i < EMX_ENDPOINTS_MAX; i++) {
		ep = rcu_dereference(board->endpoint[i]);
		if (ep)
			seq_printf(seq, "%u process %d user %u (%*pE) session %08x pulls %u\n", i,
				   pid_vnr(ep->pid), from_kuid_munged(&init_user_ns, ep->uid),
				   (int)strlen(ep->command), ep->command, ep->fw->session,
				   READ_ONCE(ep->fw->pulls_active));
	}
	rcu_read_unlock();
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(emx_debugfs_endpoints);

static int emx_debugfs_peers_show(struct seq_file *seq, void *unused)
{
	struct emx_board *board = seq->private;
	const struct fw_peer *peer;
	char name[EMX_NAME_MAX];
	u32 i;

	for (i = 0; (peer = fw_peer(board->fw.peers, i)); i++) {
		if (fw_peer_name_get(board->fw.peers, i, name))
			strscpy(name, "?", sizeof(name));
		seq_printf(seq, "%u %012llx %*pE\n", i, peer->mac, (int)strlen(name), name);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(emx_debugfs_peers);

static int emx_debugfs_memory_show(struct seq_file *seq, void *unused)
{
	seq_printf(seq, "%llu pages pinned\n", emx_region_pages());
	seq_printf(seq, "%llu of them idle between messages\n", emx_idle_pages());
	seq_printf(seq, "%lld messages found their memory pinned\n",
		   atomic64_read(&emx_idle_taken));
	seq_printf(seq, "%lld regions that could not be pinned\n",
		   atomic64_read(&emx_regions_loose));
	seq_printf(seq, "%lld reply payloads sent as pages\n", atomic64_read(&emx_replies_paged));
	seq_printf(seq, "%lld reply payloads copied\n", atomic64_read(&emx_replies_copied));
	seq_printf(seq, "%lld short reply payloads copied\n", atomic64_read(&emx_replies_short));
	seq_printf(seq, "%lld bytes of pulls copied by the processor\n",
		   atomic64_read(&emx_copied_cpu));
	seq_printf(seq, "%lld bytes of pulls copied by a DMA engine\n",
		   atomic64_read(&emx_copied_dma));
	seq_printf(seq, "%lld frames that a DMA engine failed to copy\n",
		   atomic64_read(&emx_dma_failed));
	seq_printf(seq, "%lld commands by io_uring\n", atomic64_read(&emx_uring_commands));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(emx_debugfs_memory);

void emx_debugfs_init(void)
{
	emx_debugfs_root = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("memory", 0444, emx_debugfs_root, NULL, &emx_debugfs_memory_fops);
}

void emx_debugfs_exit(void)
{
	debugfs_remove(emx_debugfs_root);
}

static void emx_debugfs_directory_of(const struct emx_board *board, const struct net_device *dev,
				     char name[DIRECTORY_MAX])
{
	if (board->net == &init_net)
		snprintf(name, DIRECTORY_MAX, "%s", netdev_name(dev));
	else
		snprintf(name, DIRECTORY_MAX, "%s@%u", netdev_name(dev), board->net->ns.inum);
}

void emx_debugfs_add(struct emx_board *board, const struct net_device *dev)
{
	char name[DIRECTORY_MAX];

	emx_debugfs_directory_of(board, dev, name);
	board->debugfs = debugfs_create_dir(name, emx_debugfs_root);
	debugfs_create_file("board", 0444, board->debugfs, board, &emx_debugfs_board_fops);
	debugfs_create_file("counters", 0444, board->debugfs, board, &emx_debugfs_counters_fops);
	debugfs_create_file("endpoints", 0444, board->debugfs, board, &emx_debugfs_endpoints_fops);
	debugfs_create_file("peers", 0444, board->debugfs, board, &emx_debugfs_peers_fops);
}

void emx_debugfs_rename(struct emx_board *board, const struct net_device *dev)
{
	char name[DIRECTORY_MAX];

	emx_debugfs_directory_of(board, dev, name);
	emx_debugfs_change_name(board->debugfs, emx_debugfs_root, name);
}

void emx_debugfs_remove(struct emx_board *board)
{
	debugfs_remove(board->debugfs);
}
