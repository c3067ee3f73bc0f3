/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared by the files of the kernel host: what a board is, and which file does what.
 *
 * Contexts: boards come and go under rtnl, which guards the list. Frames arrive in softirq
 * context (rx.c). board->lock serialises calls into the core and guards its counters and peer
 * table; effects other than events are executed after it is released.
 */
#ifndef EMX_LINUX_ETHERMX_H
#define EMX_LINUX_ETHERMX_H

#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/spinlock.h>

#include "fw.h"

/* An attached interface. */
struct emx_board {
	struct list_head list; /* in board.c's list; rtnl */
	struct net_device *dev;
	netdevice_tracker dev_tracker;
	struct packet_type packet_type;
	struct dentry *debugfs;
	unsigned int number; /* lowest that was free; part of the board's name */
	spinlock_t lock; /* serialises the core */
	struct emx_counters counters; /* lock */
	struct fw_board fw; /* lock */
};

/* What the administrator chose when loading the module. */
struct emx_config {
	unsigned int endpoints; /* numbers at and above it do not exist */
	unsigned int frame_size; /* 0: dialect W; else dialect N with frames of that size, bytes */
	unsigned int peers; /* slots in a board's peer table */
};

/* board.c */

/*
 * Attaches the interface of that name in the initial network namespace; the firmware sizes must
 * fit its MTU. Sleeps. Returns 0 or a negative errno, after telling the reason in the log.
 */
int emx_board_attach(const char *ifname, const struct emx_config *config);
/* Detaches every board and waits until no frame is in our hands. Sleeps. */
void emx_boards_detach(void);
/* From now on interfaces that vanish are detached by themselves. 0 or a negative errno. */
int emx_boards_watch(void);
void emx_boards_unwatch(void);

/* rx.c */

/* packet_type handler of a board; consumes the skb. Softirq context. */
int emx_rx(struct sk_buff *skb, struct net_device *dev, struct packet_type *pt,
	   struct net_device *orig_dev);

/* tx.c */

/* Sends a header-only frame, padded to the minimum; counts a failure. Any context, no lock held. */
void emx_tx(struct emx_board *board, const void *frame, u32 length);

/* debugfs.c */

/* /sys/kernel/debug/ethermx/: one directory per board with a file "counters". */
void emx_debugfs_init(void);
void emx_debugfs_exit(void);
void emx_debugfs_add(struct emx_board *board);
void emx_debugfs_remove(struct emx_board *board);

/* selftest.c */

/* Decodes and encodes known frames with this build of the core; 0, or -EIO, reason logged. */
int emx_selftest(void);

#endif
