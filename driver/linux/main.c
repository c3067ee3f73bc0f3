// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * ethermx: the firmware role of EtherMX in the kernel. This file: load and unload.
 *
 * Nothing is attached by default, so that loading the module never changes what a host answers
 * on the wire; `ifnames` names the interfaces.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <net/net_namespace.h>

#include "board.h"
#include "config.h"
#include "control.h"
#include "large.h"

#define IFNAMES_MAX 32

static char *emx_main_ifnames[IFNAMES_MAX];
static int emx_main_ifnames_count;
module_param_array_named(ifnames, emx_main_ifnames, charp, &emx_main_ifnames_count, 0444);
MODULE_PARM_DESC(ifnames, "interfaces to attach, separated by commas (none by default)");

static bool emx_main_selftest;
module_param_named(selftest, emx_main_selftest, bool, 0444);
MODULE_PARM_DESC(selftest, "check the core against known frames before attaching anything");

/* The names are of interfaces of the first network namespace. */
static int emx_main_attach_named(void)
{
	int number;
	int i;

	for (i = 0; i < emx_main_ifnames_count; i++) {
		number = emx_board_attach(&init_net, emx_main_ifnames[i], &emx_defaults);
		if (number < 0)
			return number;
	}
	return 0;
}

/* Without boards and files: nothing comes any more, but some may wait. */
static void emx_main_stop(void)
{
	rcu_barrier(); /* endpoints that wait to be freed come to their work queue */
	destroy_workqueue(emx_free_workqueue);
	destroy_workqueue(emx_workqueue);
	emx_offload_exit();
	emx_debugfs_exit();
}

static int emx_main_start(void)
{
	int err;

	emx_workqueue = alloc_workqueue(KBUILD_MODNAME, WQ_UNBOUND, 0);
	if (!emx_workqueue)
		return -ENOMEM;
	emx_free_workqueue = alloc_workqueue(KBUILD_MODNAME "-free", WQ_UNBOUND, 0);
	if (!emx_free_workqueue) {
		destroy_workqueue(emx_workqueue);
		return -ENOMEM;
	}
	emx_offload_init();
	emx_debugfs_init();
	err = emx_boards_watch();
	if (err)
		goto no_watch;
	err = emx_main_attach_named();
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
	emx_main_stop();
	return err;
}

static int __init emx_main_init(void)
{
	int err;

	err = emx_config_check(&emx_defaults);
	if (!err && emx_main_selftest)
		err = emx_selftest();
	return err ? err : emx_main_start();
}

static void __exit emx_main_exit(void)
{
	emx_device_remove();
	emx_boards_detach();
	emx_boards_unwatch();
	emx_main_stop();
}

module_init(emx_main_init);
module_exit(emx_main_exit);

MODULE_DESCRIPTION("EtherMX: Myrinet Express over Ethernet, firmware role");
MODULE_AUTHOR("The EtherMX authors");
MODULE_LICENSE("Dual BSD/GPL");
