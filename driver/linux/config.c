// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Settings of boards, which are parameters of the module, and the queue for its works.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/moduleparam.h>
#include <linux/workqueue.h>

#include "config.h"
#include "ethermx.h"

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
struct workqueue_struct *emx_free_workqueue;

int emx_config_check(const struct emx_config *config)
{
	if (config->endpoints < 1 || config->endpoints > EMX_ENDPOINTS_MAX) {
		emx_tell(err, "endpoints=%u: give 1 to %u\n", config->endpoints, EMX_ENDPOINTS_MAX);
		return -EINVAL;
	}
	/* Indexes travel in 16 bits, and EMX_TAG_NONE is none. */
	if (config->peers < 1 || config->peers > FW_PEERS_MAX) {
		emx_tell(err, "peers=%u: give 1 to %u\n", config->peers, FW_PEERS_MAX);
		return -EINVAL;
	}
	return 0;
}
