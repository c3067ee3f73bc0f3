// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Transmit path: building frames, and sending them to the wire or to a board of this host.
 */
#include <linux/etherdevice.h>
#include <linux/highmem.h>
#include <linux/skbuff.h>
#include <linux/uio.h>

#include "board.h"
#include "region.h"
#include "tx.h"

/* Payloads up to that many bytes are copied: less work than to hold their pages. */
#define COPY_BREAK 256
/* Frames with payloads up to that many bytes are memory of their own. */
#define SLAB_MAX 1024
/* Payloads up to that many bytes are in one piece with their header, whatever memory costs. */
#define LINEAR_MAX 3072
/* Frames that wait for a board of this host, at most. */
#define LOOP_MAX 4096

/* ---- building ---- */

static void emx_tx_address(struct sk_buff *skb)
{
	skb_reset_mac_header(skb);
	skb_set_network_header(skb, ETH_HLEN);
	skb->protocol = htons(EMX_ETHERTYPE);
}

/*
 * Memory of the length needed, cut from a large piece: the allocator gives powers of two, and the
 * kernel clears all of what it gives. NULL when there is none.
 */
static struct sk_buff *emx_tx_alloc_cut(u32 bytes)
{
	u32 room = SKB_DATA_ALIGN(bytes) + SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	struct sk_buff *skb;
	void *memory;

	memory = netdev_alloc_frag(room);
	if (!memory)
		return NULL;
	skb = build_skb(memory, room);
	if (!skb)
		skb_free_frag(memory);
	return skb;
}

/* A frame with room for that many bytes in one piece, and its header in place. */
static struct sk_buff *emx_tx_begin(const struct emx_board *board, const void *header, u32 length,
				    u32 bytes, gfp_t gfp)
{
	u32 room = board->headroom + max_t(u32, length + bytes, EMX_FRAME_MIN) + board->tailroom;
	struct sk_buff *skb = NULL;

	if (bytes > SLAB_MAX)
		skb = emx_tx_alloc_cut(room);
	if (!skb && (bytes <= LINEAR_MAX || !READ_ONCE(board->gather)))
		skb = alloc_skb(room, gfp);
	if (!skb)
		return NULL;
	skb_reserve(skb, board->headroom);
	emx_tx_address(skb);
	skb_put_data(skb, header, length);
	return skb;
}

static void emx_tx_pad(struct sk_buff *skb)
{
	if (skb->len < EMX_FRAME_MIN)
		skb_put_zero(skb, EMX_FRAME_MIN - skb->len);
}

struct sk_buff *emx_tx_header(const struct emx_board *board, const void *header, u32 length)
{
	struct sk_buff *skb = emx_tx_begin(board, header, length, 0, GFP_ATOMIC);

	if (skb)
		emx_tx_pad(skb);
	return skb;
}

/* A frame whose payload, still to be filled in, lies in pages of its own. */
static struct sk_buff *emx_tx_begin_in_pages(const struct emx_board *board, const void *header,
					     u32 length, u32 bytes, gfp_t gfp)
{
	struct sk_buff *skb;
	int err;

	skb = alloc_skb_with_frags(board->headroom + length + board->tailroom, bytes,
				   PAGE_ALLOC_COSTLY_ORDER, &err, gfp);
	if (!skb)
		return NULL;
	skb_reserve(skb, board->headroom);
	emx_tx_address(skb);
	skb_put_data(skb, header, length);
	skb->data_len = bytes;
	skb->len += bytes;
	return skb;
}

/*
 * A frame whose payload is still to be filled in. Where memory is scarce long ones need no large
 * piece of it, unless the interface wants one: then the network stack would get it, and copy once
 * more.
 */
static struct sk_buff *emx_tx_begin_empty(const struct emx_board *board, const void *header,
					  u32 length, u32 bytes, gfp_t gfp)
{
	struct sk_buff *skb = emx_tx_begin(board, header, length, bytes, gfp);

	if (skb)
		skb_put(skb, bytes);
	else if (bytes > LINEAR_MAX)
		skb = emx_tx_begin_in_pages(board, header, length, bytes, gfp);
	return skb;
}

static int emx_tx_fill_from_user(struct sk_buff *skb, u32 at, const void __user *payload, u32 bytes)
{
	struct iov_iter from;

	iov_iter_ubuf(&from, WRITE, (void __user *)payload, bytes);
	return skb_copy_datagram_from_iter(skb, at, &from, bytes);
}

struct sk_buff *emx_tx_user(const struct emx_board *board, const void *header, u32 length,
			    const void __user *payload, u32 bytes)
{
	struct sk_buff *skb = emx_tx_begin_empty(board, header, length, bytes, GFP_KERNEL);
	int err = 0;

	if (!skb)
		return ERR_PTR(-ENOMEM);
	if (skb_is_nonlinear(skb))
		err = emx_tx_fill_from_user(skb, length, payload, bytes);
	else if (bytes)
		err = copy_from_user(skb->data + length, payload, bytes);
	if (err) {
		kfree_skb(skb);
		return ERR_PTR(-EFAULT);
	}
	emx_tx_pad(skb);
	return skb;
}

struct sk_buff *emx_tx_loose(const struct emx_board *board, const void *header, u32 length,
			     const struct emx_region *region, u64 position, u32 bytes)
{
	struct sk_buff *skb = emx_tx_begin_empty(board, header, length, bytes, GFP_KERNEL);
	void __user *address;
	u32 at = length;
	u32 n;

	if (!skb)
		return ERR_PTR(-ENOMEM);
	for (; bytes; bytes -= n, at += n, position += n) {
		n = min(bytes, emx_region_address(region, position, &address));
		if (emx_tx_fill_from_user(skb, at, address, n)) {
			kfree_skb(skb);
			return ERR_PTR(-EFAULT);
		}
	}
	emx_tx_pad(skb);
	atomic64_inc(&emx_replies_copied);
	return skb;
}

/* Copies bytes of a region to place `at` of the frame. */
static int emx_tx_fill_from_region(struct sk_buff *skb, u32 at, const struct emx_region *region,
				   u64 position, u32 bytes)
{
	struct page *page;
	u32 offset;
	u32 n;

	for (; bytes; bytes -= n, at += n, position += n) {
		void *from;
		int err;

		n = min(bytes, emx_region_span(region, position, &page, &offset));
		from = kmap_local_page(page);
		err = skb_store_bits(skb, at, from + offset, n);
		kunmap_local(from);
		if (err)
			return err;
	}
	return 0;
}

static struct sk_buff *emx_tx_copy_region(const struct emx_board *board, const void *header,
					  u32 length, const struct emx_region *region, u64 position,
					  u32 bytes)
{
	struct sk_buff *skb = emx_tx_begin_empty(board, header, length, bytes, GFP_ATOMIC);

	if (!skb)
		return NULL;
	if (emx_tx_fill_from_region(skb, length, region, position, bytes)) {
		kfree_skb(skb);
		return NULL;
	}
	emx_tx_pad(skb);
	return skb;
}

/*
 * Hangs the pages of a region behind the header; false when there are too many. The frame takes
 * references of its own: neither the end of the region nor a driver that lets go of the socket
 * buffer's owner early can free a page under it.
 */
static bool emx_tx_hang_pages(struct sk_buff *skb, const struct emx_region *region, u64 position,
			      u32 bytes)
{
	struct page *page;
	u32 offset;
	u32 n;
	int i;

	/* The program may write to them at any time. */
	skb_shinfo(skb)->flags |= SKBFL_SHARED_FRAG;
	for (i = 0; bytes; i++, bytes -= n, position += n) {
		if (i == MAX_SKB_FRAGS)
			return false;
		n = min(bytes, emx_region_span(region, position, &page, &offset));
		get_page(page);
		skb_fill_page_desc(skb, i, page, offset, n);
		skb->len += n;
		skb->data_len += n;
		skb->truesize += n;
	}
	return true;
}

struct sk_buff *emx_tx_region(const struct emx_board *board, const void *header, u32 length,
			      const struct emx_region *region, u64 position, u32 bytes)
{
	struct sk_buff *skb;

	if (bytes <= COPY_BREAK) {
		atomic64_inc(&emx_replies_short);
		return emx_tx_copy_region(board, header, length, region, position, bytes);
	}
	if (READ_ONCE(board->gather)) {
		skb = emx_tx_begin(board, header, length, 0, GFP_ATOMIC);
		if (skb && emx_tx_hang_pages(skb, region, position, bytes)) {
			atomic64_inc(&emx_replies_paged);
			return skb;
		}
		kfree_skb(skb);
	}
	atomic64_inc(&emx_replies_copied);
	return emx_tx_copy_region(board, header, length, region, position, bytes);
}

/* ---- sending ---- */

/* To a board of this namespace, in softirq context as from the wire. Caller: RCU. */
static int emx_tx_loop(struct emx_board *to, struct sk_buff *skb)
{
	if (skb_queue_len(&to->loop) >= LOOP_MAX) {
		kfree_skb(skb);
		return -EIO;
	}
	skb_queue_tail(&to->loop, skb);
	tasklet_schedule(&to->loop_task);
	return 0;
}

/* Caller: RCU. */
static int emx_tx_send(struct emx_board *board, struct sk_buff *skb)
{
	struct net_device *dev = rcu_dereference(board->dev);
	struct emx_board *local;
	int status;

	if (!dev) {
		kfree_skb(skb);
		return -EIO;
	}
	local = emx_board_local(board, emx_get_mac(skb->data));
	if (local)
		return emx_tx_loop(local, skb);
	/* It was larger once, and may be again: until then such frames are lost. */
	if (skb->len > READ_ONCE(dev->mtu) + ETH_HLEN) {
		kfree_skb(skb);
		return -EIO;
	}
	skb->dev = dev;
	status = dev_queue_xmit(skb);
	/* net_xmit_eval() evaluates its argument twice. */
	return net_xmit_eval(status) ? -EIO : 0;
}

int emx_tx(struct emx_board *board, struct sk_buff *skb)
{
	int err;

	rcu_read_lock();
	local_bh_disable(); /* what loops is taken at the end of this, not by another thread */
	err = emx_tx_send(board, skb);
	local_bh_enable();
	rcu_read_unlock();
	if (err)
		emx_board_count(board, EMX_CNT_TX_FAILED);
	return err;
}

void emx_tx_all(struct emx_board *board, struct sk_buff_head *frames)
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(frames))) {
		emx_sum_now(skb);
		emx_tx(board, skb);
	}
}
