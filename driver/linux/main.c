// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * ethermx: the firmware role of EtherMX in the kernel. This file: parameters, load and unload.
 *
 * Nothing is attached by default, so that loading the module never changes what a host answers
 * on the wire; `ifnames` names the interfaces.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <net/net_namespace.h>

#include "ethermx.h"

#define IFNAMES_MAX 32

static char *ifnames[IFNAMES_MAX];
static int ifnames_count;
module_param_array(ifnames, charp, &ifnames_count, 0444);
MODULE_PARM_DESC(ifnames, "interfaces to attach, separated by commas (none by default)");

struct emx_config emx_defaults = {
	.endpoints = 32,
	.peers = 1024,
};

module_param_named(endpoints, emx_defaults.endpoints, uint, 0444);
MODULE_PARM_DESC(endpoints, "endpoints per board, 1 to 256 (32)");
module_param_named(frame_size, emx_defaults.frame_size, uint, 0444);
MODULE_PARM_DESC(frame_size,
		 "0: MX wire format; else Open-MX's own with frames of that many bytes (0)");
module_param_named(peers, emx_defaults.peers, uint, 0444);
MODULE_PARM_DESC(peers, "slots in a board's peer table, 1 to 65535 (1024)");

unsigned int emx_user_boards = 64;
module_param_named(user_boards, emx_user_boards, uint, 0644);
MODULE_PARM_DESC(user_boards, "boards that one user may have in user namespaces (64)");

struct workqueue_struct *emx_workqueue;

static bool selftest;
module_param(selftest, bool, 0444);
MODULE_PARM_DESC(selftest, "check the core against known frames before attaching anything");

/* The names are of interfaces of the first network namespace. */
static int attach_all(void)
{
	int number;
	int i;

	for (i = 0; i < ifnames_count; i++) {
		number = emx_board_attach(&init_net, ifnames[i], &emx_defaults);
		if (number < 0)
			return number;
	}
	return 0;
}

/* Without boards and files: nothing comes any more, but some may wait. */
static void stop(void)
{
	rcu_barrier(); /* endpoints that wait to be freed come to the work queue */
	destroy_workqueue(emx_workqueue);
	emx_offload_exit();
	emx_debugfs_exit();
}

static int start(void)
{
	int err;

	emx_workqueue = alloc_workqueue(KBUILD_MODNAME, WQ_UNBOUND, 0);
	if (!emx_workqueue)
		return -ENOMEM;
	emx_offload_init();
	emx_debugfs_init();
	err = emx_boards_watch();
	if (err)
		goto no_watch;
	err = attach_all();
	if (err)
		goto no_boards;
	err = emx_device_add();
	if (err)
		goto no_boards;
	return 0;

no_boards:
	emx_boards_detach();
	emx_boards_unwatch();
no_watch:
	stop();
	return err;
}

static int __init ethermx_init(void)
{
	int err;

	err = emx_config_check(&emx_defaults);
	if (!err && selftest)
		err = emx_selftest();
	return err ? err : start();
}

static void __exit ethermx_exit(void)
{
	emx_device_remove();
	emx_boards_detach();
	emx_boards_unwatch();
	stop();
}

module_init(ethermx_init);
module_exit(ethermx_exit);

MODULE_DESCRIPTION("EtherMX: Myrinet Express over Ethernet, firmware role");
MODULE_AUTHOR("The EtherMX authors");
MODULE_LICENSE("Dual BSD/GPL");
