// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * ethermx: the firmware role of EtherMX in the kernel. This file: parameters, load and unload.
 *
 * Nothing is attached by default, so that loading the module never changes what a host answers
 * on the wire; `ifnames` names the interfaces.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>

#include "ethermx.h"

#define IFNAMES_MAX 32

static char *ifnames[IFNAMES_MAX];
static int ifnames_count;
module_param_array(ifnames, charp, &ifnames_count, 0444);
MODULE_PARM_DESC(ifnames, "interfaces to attach, separated by commas (none by default)");

static unsigned int endpoints = 32;
module_param(endpoints, uint, 0444);
MODULE_PARM_DESC(endpoints, "endpoints per board, 1 to 256 (32)");

static unsigned int frame_size;
module_param(frame_size, uint, 0444);
MODULE_PARM_DESC(frame_size,
		 "0: MX wire format; else Open-MX's own with frames of that many bytes (0)");

static unsigned int peers = 1024;
module_param(peers, uint, 0444);
MODULE_PARM_DESC(peers, "slots in a board's peer table, 1 to 65535 (1024)");

static bool selftest;
module_param(selftest, bool, 0444);
MODULE_PARM_DESC(selftest, "check the core against known frames before attaching anything");

static int check_parameters(void)
{
	if (endpoints < 1 || endpoints > EMX_ENDPOINTS_MAX) {
		pr_err("endpoints=%u: give 1 to %u\n", endpoints, EMX_ENDPOINTS_MAX);
		return -EINVAL;
	}
	/* Indexes travel in 16 bits, and EMX_TAG_NONE is none. */
	if (peers < 1 || peers > EMX_TAG_NONE) {
		pr_err("peers=%u: give 1 to %u\n", peers, EMX_TAG_NONE);
		return -EINVAL;
	}
	return 0;
}

static int attach_all(void)
{
	struct emx_config config = {
		.endpoints = endpoints,
		.frame_size = frame_size,
		.peers = peers,
	};
	int i;
	int err;

	for (i = 0; i < ifnames_count; i++) {
		err = emx_board_attach(ifnames[i], &config);
		if (err)
			return err;
	}
	return 0;
}

static int __init ethermx_init(void)
{
	int err;

	err = check_parameters();
	if (err)
		return err;
	if (selftest) {
		err = emx_selftest();
		if (err)
			return err;
	}
	emx_debugfs_init();
	err = emx_boards_watch();
	if (err)
		goto no_watch;
	err = attach_all();
	if (err)
		goto no_boards;
	return 0;

no_boards:
	emx_boards_unwatch();
	emx_boards_detach();
no_watch:
	emx_debugfs_exit();
	return err;
}

static void __exit ethermx_exit(void)
{
	emx_boards_unwatch();
	emx_boards_detach();
	emx_debugfs_exit();
}

module_init(ethermx_init);
module_exit(ethermx_exit);

MODULE_DESCRIPTION("EtherMX: Myrinet Express over Ethernet, firmware role");
MODULE_AUTHOR("The EtherMX authors");
MODULE_LICENSE("Dual BSD/GPL");
