// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Counters in debugfs, one line each: value, then label. For people and tests, no stable interface.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "ethermx.h"

static struct dentry *root;

static int counters_show(struct seq_file *seq, void *unused)
{
	struct emx_board *board = seq->private;
	unsigned int i;
	u64 value;

	for (i = 0; i < EMX_CNT_COUNT; i++) {
		spin_lock_bh(&board->lock);
		value = board->counters.v[i];
		spin_unlock_bh(&board->lock);
		seq_printf(seq, "%llu %s\n", value, fw_counter_label(i));
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

void emx_debugfs_init(void)
{
	root = debugfs_create_dir(KBUILD_MODNAME, NULL);
}

void emx_debugfs_exit(void)
{
	debugfs_remove(root);
}

void emx_debugfs_add(struct emx_board *board)
{
	board->debugfs = debugfs_create_dir(netdev_name(board->dev), root);
	debugfs_create_file("counters", 0444, board->debugfs, board, &counters_fops);
}

void emx_debugfs_remove(struct emx_board *board)
{
	debugfs_remove(board->debugfs);
}
