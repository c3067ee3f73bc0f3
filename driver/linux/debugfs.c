// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Boards, endpoints, peers, counters and memory in debugfs. For people and tests, no stable
 * interface.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <net/net_namespace.h>

#include "ethermx.h"

static struct dentry *root;

/* One line each: value, then label. */
static int counters_show(struct seq_file *seq, void *unused)
{
	struct emx_counters *sum;
	unsigned int i;

	sum = kmalloc(sizeof(*sum), GFP_KERNEL);
	if (!sum)
		return -ENOMEM;
	emx_counters_sum(seq->private, sum);
	for (i = 0; i < EMX_CNT_COUNT; i++)
		seq_printf(seq, "%llu %s\n", sum->v[i], fw_counter_label(i));
	kfree(sum);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

static int endpoints_show(struct seq_file *seq, void *unused)
{
	struct emx_board *board = seq->private;
	struct emx_endpoint *ep;
	unsigned int i;

	rcu_read_lock();
	for (i = 0; i < EMX_ENDPOINTS_MAX; i++) {
		ep = rcu_dereference(board->endpoint[i]);
		if (ep)
			seq_printf(seq, "%u process %d user %u (%s) session %08x pulls %u\n", i,
				   ep->tgid, ep->uid, ep->command, ep->fw->session,
				   READ_ONCE(ep->fw->pulls_active));
	}
	rcu_read_unlock();
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(endpoints);

static int peers_show(struct seq_file *seq, void *unused)
{
	struct emx_board *board = seq->private;
	const struct fw_peer *peer;
	char name[EMX_NAME_MAX];
	u32 i;

	for (i = 0; (peer = fw_peer(board->fw.peers, i)); i++) {
		fw_peer_name_get(board->fw.peers, i, name);
		seq_printf(seq, "%u %012llx %s\n", i, peer->mac, name[0] ? name : "?");
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(peers);

static int memory_show(struct seq_file *seq, void *unused)
{
	seq_printf(seq, "%llu pages pinned\n", emx_region_pages());
	seq_printf(seq, "%lld regions that could not be pinned\n",
		   atomic64_read(&emx_regions_loose));
	seq_printf(seq, "%lld reply payloads sent as pages\n", atomic64_read(&emx_replies_paged));
	seq_printf(seq, "%lld reply payloads copied\n", atomic64_read(&emx_replies_copied));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(memory);

void emx_debugfs_init(void)
{
	root = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("memory", 0444, root, NULL, &memory_fops);
}

void emx_debugfs_exit(void)
{
	debugfs_remove(root);
}

void emx_debugfs_add(struct emx_board *board, const struct net_device *dev)
{
	char name[IFNAMSIZ + 16];

	if (board->net == &init_net)
		snprintf(name, sizeof(name), "%s", netdev_name(dev));
	else
		snprintf(name, sizeof(name), "%s@%u", netdev_name(dev), board->net->ns.inum);
	board->debugfs = debugfs_create_dir(name, root);
	debugfs_create_file("counters", 0444, board->debugfs, board, &counters_fops);
	debugfs_create_file("endpoints", 0444, board->debugfs, board, &endpoints_fops);
	debugfs_create_file("peers", 0444, board->debugfs, board, &peers_fops);
}

void emx_debugfs_remove(struct emx_board *board)
{
	debugfs_remove(board->debugfs);
}
