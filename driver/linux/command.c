// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Commands of the library: packets to send, windows to open and close, pulls to start and cancel,
 * groups.
 * Those that may take long are functions apart, off the path of a short message.
 */
#include <linux/ktime.h>
#include <linux/workqueue.h>

#include "board.h"
#include "control.h"
#include "effects.h"
#include "endpoint.h"
#include "group.h"
#include "large.h"
#include "names.h"
#include "region.h"
#include "tx.h"

atomic64_t emx_uring_commands;

/* ---- packets ---- */

/* The header of a packet; 0 when the core refuses it. Counts it as sent. */
static u32 emx_command_encode(struct emx_endpoint *ep, const struct emx_msg *msg, void *header)
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

static int emx_command_send(struct emx_endpoint *ep, const struct emx_msg *msg)
{
	u8 header[EMX_HEADER_MAX];
	struct sk_buff *skb;
	u32 length;

	length = emx_command_encode(ep, msg, header);
	if (!length)
		return -EINVAL;
	/* The core has checked that the payload is not longer than such a packet can be. */
	skb = emx_tx_user(ep->board, header, length, u64_to_user_ptr(msg->data), msg->data_len);
	if (IS_ERR(skb))
		return PTR_ERR(skb);
	return emx_tx(ep->board, skb);
}

/* ---- windows ---- */

static u16 emx_command_slot(const struct emx_dev_command *command)
{
	return fw_window_slot(command->msg.u.window.id, command->msg.u.window.tag);
}

static struct emx_region *emx_command_pin(struct emx_endpoint *ep,
					  const struct emx_dev_command *command, bool write)
{
	return emx_region_pin(ep, u64_to_user_ptr(command->segments), command->segment_count,
			      command->length, write);
}

static noinline int emx_command_open_window(struct emx_endpoint *ep,
					    const struct emx_dev_command *command)
{
	const struct emx_msg *msg = &command->msg;
	struct emx_region *region = NULL;
	struct emx_region *old = NULL;
	struct emx_effects now;
	int err = 0;

	if (command->length) {
		region = emx_loose_ready(ep, emx_command_pin(ep, command, false));
		if (IS_ERR(region))
			return PTR_ERR(region);
	}
	if (emx_effects_begin(&now, ep, EMX_IN_PROCESS)) {
		if (region)
			emx_region_begin(ep, region);
		old = emx_window_exchange(ep, emx_command_slot(command), region);
		fw_window_open(ep->fw, msg->u.window.id, msg->u.window.tag, msg->peer,
			       msg->remote_ep, command->length);
	} else {
		old = region;
		err = -EBADF;
	}
	emx_effects_end(&now, EMX_IN_PROCESS);
	emx_region_put(old);
	return err;
}

static noinline int emx_command_close_window(struct emx_endpoint *ep,
					     const struct emx_dev_command *command)
{
	const struct emx_msg *msg = &command->msg;
	struct emx_region *old = NULL;
	struct emx_effects now;

	if (emx_effects_begin(&now, ep, EMX_IN_PROCESS)) {
		old = emx_window_exchange(ep, emx_command_slot(command), NULL);
		fw_window_close(ep->fw, msg->u.window.id, msg->u.window.tag);
	}
	emx_effects_end(&now, EMX_IN_PROCESS);
	emx_region_put(old);
	return 0;
}

/* ---- pulls ---- */

static bool emx_command_is_local(const struct emx_board *board, u32 index)
{
	const struct fw_peer *peer = fw_peer(board->fw.peers, index);

	return peer && emx_peer_is_local(board, READ_ONCE(peer->mac));
}

/*
 * With frames no longer than the interface takes now, which may be less than was agreed on; and
 * without checksums what never leaves the host.
 */
static struct emx_msg emx_command_announced(const struct emx_endpoint *ep,
					    const struct emx_msg *rndv)
{
	const u64 offer = rndv->data;
	u16 features = emx_offer_features(offer);
	struct emx_msg msg = *rndv;

	if (features & EMX_X_SUMS && emx_command_is_local(ep->board, rndv->peer))
		features &= ~EMX_X_SUMS;
	msg.data = emx_offer(emx_offer_newest(offer), emx_offer_oldest(offer), features,
			     min_t(u32, emx_offer_frame(offer), emx_board_x_frame(ep->board)),
			     emx_offer_frames(offer));
	return msg;
}

/* Between begin and end. */
static int emx_command_start_locked(struct emx_effects *now, const struct emx_dev_command *command,
				    struct emx_region *region)
{
	struct emx_endpoint *ep = now->ep;
	const struct emx_msg rndv = emx_command_announced(ep, &command->msg);
	int slot;

	ep->pull_serial++;
	if (!ep->open)
		return -EBADF;
	if (!emx_event_room(ep))
		return -EBUSY;
	slot = fw_pull_start(ep->fw, &rndv, command->length, ep->pull_serial, ktime_get_ns());
	if (slot < 0)
		return -EBUSY;
	emx_pull_add(ep, slot, region, command->cookie);
	emx_effects_run_waiting(now);
	return 0;
}

static noinline int emx_command_start_pull(struct emx_endpoint *ep,
					   const struct emx_dev_command *command)
{
	struct emx_region *region;
	struct emx_effects now;
	int err;

	region = emx_command_pin(ep, command, true);
	/* Regions whose pulls have ended are not to count against the limit: try again. */
	if (!IS_ERR(region) && region->loose && flush_work(&ep->reap)) {
		emx_region_put(region);
		region = emx_command_pin(ep, command, true);
	}
	region = emx_loose_ready(ep, region);
	if (IS_ERR(region))
		return PTR_ERR(region);
	emx_effects_begin(&now, ep, EMX_IN_PROCESS);
	err = emx_command_start_locked(&now, command, region);
	emx_effects_end(&now, EMX_IN_PROCESS);
	if (err)
		emx_region_put(region);
	return err;
}

static noinline int emx_command_cancel_pull(struct emx_endpoint *ep,
					    const struct emx_dev_command *command)
{
	struct emx_effects now;
	bool open;
	u32 i;

	open = emx_effects_begin(&now, ep, EMX_IN_PROCESS);
	for (i = 0; i < FW_PULLS && open; i++) {
		struct emx_pull *pull = &ep->pull[i];

		if (!pull->region || pull->cookie != command->cookie)
			continue;
		fw_pull_cancel(ep->fw, pull->serial);
		emx_pull_forget(ep, pull);
	}
	/* Others may have what it had under way. */
	if (open)
		emx_effects_run_waiting(&now);
	emx_effects_end(&now, EMX_IN_PROCESS);
	emx_loose_flush(ep);
	emx_pull_wait_for_ends(ep);
	return 0;
}

/* ---- which it is ---- */

bool emx_command_waits(const struct emx_dev_command *command)
{
	return command->op != EMX_DEV_SEND;
}

int emx_command(struct emx_endpoint *ep, const struct emx_dev_command *command)
{
	switch (command->op) {
	case EMX_DEV_SEND:
		return emx_command_send(ep, &command->msg);
	case EMX_DEV_WINDOW_OPEN:
		return emx_command_open_window(ep, command);
	case EMX_DEV_WINDOW_CLOSE:
		return emx_command_close_window(ep, command);
	case EMX_DEV_PULL_START:
		return emx_command_start_pull(ep, command);
	case EMX_DEV_PULL_CANCEL:
		return emx_command_cancel_pull(ep, command);
	case EMX_DEV_GROUP_JOIN:
		return emx_group_join(ep, command->cookie);
	case EMX_DEV_GROUP_LEAVE:
		return emx_group_leave(ep, command->cookie);
	case EMX_DEV_GROUP_SEND:
		return emx_group_send(ep, command);
	default:
		return -EOPNOTSUPP;
	}
}
