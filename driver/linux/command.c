// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Commands of the library: which function executes which, and the sending of its packets.
 */
#include "ethermx.h"

atomic64_t emx_uring_commands;

/* The header of a packet; 0 when the core refuses it. Counts it as sent. */
static u32 encode(struct emx_endpoint *ep, const struct emx_msg *msg, void *header)
{
	int counter = 0;
	u32 length = 0;

	spin_lock_bh(&ep->lock);
	if (ep->open)
		length = fw_send(ep->fw, msg, header, &counter);
	if (length)
		emx_count(&ep->counters, counter, 1);
	spin_unlock_bh(&ep->lock);
	return length;
}

static int send(struct emx_endpoint *ep, const struct emx_msg *msg)
{
	u8 header[EMX_HEADER_MAX];
	struct sk_buff *skb;
	u32 length;

	length = encode(ep, msg, header);
	if (!length)
		return -EINVAL;
	/* The core has checked that the payload is not longer than such a packet can be. */
	skb = emx_tx_user(ep->board, header, length, u64_to_user_ptr(msg->data), msg->data_len);
	if (IS_ERR(skb))
		return PTR_ERR(skb);
	return emx_tx(ep->board, skb);
}

bool emx_command_waits(const struct emx_dev_command *command)
{
	return command->op != EMX_DEV_SEND;
}

int emx_command(struct emx_endpoint *ep, const struct emx_dev_command *command)
{
	switch (command->op) {
	case EMX_DEV_SEND:
		return send(ep, &command->msg);
	case EMX_DEV_WINDOW_OPEN:
		return emx_window_open(ep, command);
	case EMX_DEV_WINDOW_CLOSE:
		return emx_window_close(ep, command);
	case EMX_DEV_PULL_START:
		return emx_pull_start(ep, command);
	case EMX_DEV_PULL_CANCEL:
		return emx_pull_cancel(ep, command);
	default:
		return -EOPNOTSUPP;
	}
}
