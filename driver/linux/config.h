/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Settings, the queue for works, and messages in the log.
 */
#ifndef EMX_LINUX_CONFIG_H
#define EMX_LINUX_CONFIG_H

#include <linux/printk.h>
#include <linux/workqueue.h>

/* Messages that users can cause fill no log. */
#define emx_tell(level, ...) pr_##level##_ratelimited(__VA_ARGS__)

/* Settings that the administrator chose. */
struct emx_config {
	unsigned int endpoints; /* numbers at and above it do not exist */
	unsigned int frame_size; /* 0: dialect W; else dialect N with frames of that size, bytes */
	unsigned int peers; /* slots in a board's peer table */
};

/* Parameters of the module, for boards attached at run time. */
extern struct emx_config emx_defaults;
/* For work that waits for no user's memory; flushed before the module goes. */
extern struct workqueue_struct *emx_workqueue;
/*
 * For the end of endpoints, which waits for the notifiers of all address spaces. Those may wait for
 * work of the other queue, which takes so many at a time.
 */
extern struct workqueue_struct *emx_free_workqueue;
/* Boards that one user may have in all user namespaces of its own. */
extern unsigned int emx_user_boards;
/* 0, or -EINVAL after telling in the log what is out of range. */
int emx_config_check(const struct emx_config *config);

#endif
