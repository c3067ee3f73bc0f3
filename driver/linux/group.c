// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Groups of endpoints, and the frames to them. The interface takes the addresses of the groups that
 * endpoints of its board are in, and counts how many have asked for each.
 */
#include <linux/etherdevice.h>

#include "board.h"
#include "effects.h"
#include "endpoint.h"
#include "group.h"
#include "tracing.h"
#include "tx.h"

/* ---- membership ---- */

void emx_group_init(struct emx_endpoint *ep)
{
	mutex_init(&ep->group_mutex);
}

static void emx_group_address(u32 key, u8 address[ETH_ALEN])
{
	u64_to_ether_addr(fw_group_mac(key), address);
}

/* The interface takes frames to that group from now on. Nothing else needs rtnl here. */
static int emx_group_add_address(const struct emx_board *board, u32 key)
{
	struct net_device *dev;
	u8 address[ETH_ALEN];
	int err = -ENODEV;

	emx_group_address(key, address);
	rcu_read_lock();
	dev = rcu_dereference(board->dev);
	if (dev)
		err = dev_mc_add(dev, address);
	rcu_read_unlock();
	return err;
}

/* An interface that goes forgets its addresses by itself. */
static void emx_group_remove_address(const struct emx_board *board, u32 key)
{
	struct net_device *dev;
	u8 address[ETH_ALEN];

	emx_group_address(key, address);
	rcu_read_lock();
	dev = rcu_dereference(board->dev);
	if (dev)
		dev_mc_del(dev, address);
	rcu_read_unlock();
}

/* 1 if the endpoint is a member already, 0 if it is one from now on. Caller: group_mutex. */
static int emx_group_take_place(struct emx_endpoint *ep, u32 key)
{
	int result = 0;

	spin_lock_bh(&ep->lock);
	if (!ep->open)
		result = -EBADF;
	else if (fw_group_has(&ep->groups, key))
		result = 1;
	else if (fw_group_join(&ep->groups, key))
		result = -ENOSPC;
	spin_unlock_bh(&ep->lock);
	return result;
}

/* True if the endpoint was a member. Caller: group_mutex. */
static bool emx_group_give_place(struct emx_endpoint *ep, u32 key)
{
	bool member;

	spin_lock_bh(&ep->lock);
	member = fw_group_has(&ep->groups, key);
	fw_group_leave(&ep->groups, key);
	spin_unlock_bh(&ep->lock);
	return member;
}

static bool emx_group_is_key(u64 key)
{
	return key && key <= U32_MAX;
}

int emx_group_join(struct emx_endpoint *ep, u64 key)
{
	int err;

	if (!emx_group_is_key(key))
		return -EINVAL;
	if (!fw_group_bytes(emx_board_x_frame(ep->board)))
		return -EMSGSIZE;
	mutex_lock(&ep->group_mutex);
	err = emx_group_take_place(ep, key);
	if (!err) {
		err = emx_group_add_address(ep->board, key);
		if (err)
			emx_group_give_place(ep, key);
	}
	mutex_unlock(&ep->group_mutex);
	return err < 0 ? err : 0;
}

int emx_group_leave(struct emx_endpoint *ep, u64 key)
{
	if (!emx_group_is_key(key))
		return -EINVAL;
	mutex_lock(&ep->group_mutex);
	if (emx_group_give_place(ep, key))
		emx_group_remove_address(ep->board, key);
	mutex_unlock(&ep->group_mutex);
	return 0;
}

void emx_group_leave_all(struct emx_endpoint *ep)
{
	unsigned int i;

	for (i = 0; i < FW_GROUPS; i++)
		emx_group_leave(ep, READ_ONCE(ep->groups.key[i])); /* none joins any more */
}

/* ---- out ---- */

/* The header of a frame; 0 when there is none. Counts it as sent. */
static u32 emx_group_encode(struct emx_endpoint *ep, const struct emx_msg *msg, void *header)
{
	u32 length = 0;

	spin_lock_bh(&ep->lock);
	if (ep->open)
		length = fw_group_encode(ep->fw, fw_group_key(msg), (u32)msg->match, msg->data_len,
					 header);
	if (length)
		emx_count(&ep->counters, EMX_CNT_TX_X_GROUP, 1);
	spin_unlock_bh(&ep->lock);
	return length;
}

int emx_group_send(struct emx_endpoint *ep, const struct emx_dev_command *command)
{
	const struct emx_msg *msg = &command->msg;
	u8 header[EMX_HEADER_MAX];
	struct sk_buff *skb;
	u32 length;

	if (msg->data_len > fw_group_bytes(emx_board_x_frame(ep->board)))
		return -EMSGSIZE;
	length = emx_group_encode(ep, msg, header);
	if (!length)
		return -EINVAL;
	skb = emx_tx_user(ep->board, header, length, u64_to_user_ptr(msg->data), msg->data_len);
	if (IS_ERR(skb))
		return PTR_ERR(skb);
	if (command->length)
		emx_sum_put(skb, length, msg->data_len);
	return emx_tx(ep->board, skb);
}

/* ---- in ---- */

/* The longest payload that the endpoint has a place for. */
static u32 emx_group_room(const struct emx_endpoint *ep)
{
	return ep->long_slots ? ep->long_bytes : ep->slot_bytes;
}

/* True if the endpoint is a member, which has the frame then or has dropped it. */
static bool emx_group_deliver(struct emx_endpoint *ep, struct emx_msg *msg,
			      const struct sk_buff *skb)
{
	struct emx_effects now;
	bool member = false;

	if (emx_effects_begin(&now, ep, EMX_IN_SOFTIRQ))
		member = fw_group_has(&ep->groups, fw_group_key(msg));
	if (member && msg->data_len > emx_group_room(ep)) {
		emx_drop(ep, skb, EMX_CNT_DROP_OVERSIZE);
	} else if (member) {
		emx_poll_note(ep, skb);
		emx_count(&ep->counters, EMX_CNT_RX_X_GROUP, 1);
		msg->local_ep = ep->fw->number;
		emx_event_frame(ep, msg, skb, FW_X_GROUP_HEADER);
	}
	emx_effects_end(&now, EMX_IN_SOFTIRQ);
	return member;
}

static bool emx_group_deliver_all(struct emx_board *board, struct emx_msg *msg,
				  const struct sk_buff *skb)
{
	struct emx_endpoint *ep;
	bool found = false;
	unsigned int i;

	for (i = 0; i < board->fw.endpoint_max; i++) {
		ep = rcu_dereference(board->endpoint[i]);
		if (ep && emx_group_deliver(ep, msg, skb))
			found = true;
	}
	return found;
}

int emx_group_rx(struct emx_board *board, struct sk_buff *skb)
{
	struct fw_pkt pkt = {};
	int why;

	if (!fw_is_group_mac(emx_get_mac(skb->data)))
		return EMX_CNT_DROP_NOT_OURS;
	/* The core sums up one piece of memory. */
	if (skb_linearize(skb))
		return EMX_CNT_DROP_MEMORY;
	why = fw_group_check(&board->fw, skb->data, skb->len, &pkt.msg);
	if (why)
		return why;
	pkt.src_mac = emx_get_mac(skb->data + ETH_ALEN);
	emx_tell_received(board, skb, &pkt);
	return emx_group_deliver_all(board, &pkt.msg, skb) ? 0 : EMX_CNT_DROP_NOT_OURS;
}
