/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ways into the module for programs and people: the device, commands, administration, debugfs.
 */
#ifndef EMX_LINUX_CONTROL_H
#define EMX_LINUX_CONTROL_H

#include <linux/atomic.h>

#include "ethermx.h"

/* command.c */

/* Executes a command whose structure was copied from user memory. 0 or a negative errno. Sleeps. */
int emx_command(struct emx_endpoint *ep, const struct emx_dev_command *command);
/* True if that may take long: pin or unpin memory, or wait until nothing writes to it. */
bool emx_command_waits(const struct emx_dev_command *command);
extern atomic64_t emx_uring_commands; /* executed for io_uring */

/* admin.c: ioctls that need privileges, and those that only ask */

/* Answers EMX_IOC_BOARD. Sleeps. */
int emx_admin_board(struct net *net, struct emx_dev_board *info);
int emx_admin_endpoint(struct net *net, struct emx_dev_endpoint *info);
int emx_admin_counters(struct net *net, struct emx_dev_counters *request);
int emx_admin_names(struct net *net, const struct emx_dev_names *names);
int emx_admin_peers(struct net *net, struct emx_dev_peers *list);
int emx_admin_attach(struct net *net, struct emx_dev_attach *request);
int emx_admin_detach(struct net *net, struct emx_dev_detach *request);

/* device.c */

/* The character device. 0 or a negative errno. */
int emx_device_add(void);
void emx_device_remove(void);

/* debugfs.c */

/*
 * /sys/kernel/debug/ethermx/: "memory", and one directory per board, named by its interface (and
 * its network namespace, unless that is the first), with "board", "counters", "endpoints" and
 * "peers".
 */
void emx_debugfs_init(void);
void emx_debugfs_exit(void);
void emx_debugfs_add(struct emx_board *board, const struct net_device *dev);
/* The interface has another name now. */
void emx_debugfs_rename(struct emx_board *board, const struct net_device *dev);
void emx_debugfs_remove(struct emx_board *board);

/* selftest.c */

/* Decodes and encodes known frames with this build of the core; 0, or -EIO, reason logged. */
int emx_selftest(void);

#endif
