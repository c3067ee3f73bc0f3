// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Copies of large messages by a DMA engine (I/OAT and its like), while the processor does something
 * else.
 *
 * A frame is copied as a whole, its pieces in any order; it keeps its socket buffer until the last
 * one is done. Whatever goes wrong with a piece, the processor copies the frame again after that,
 * from the same socket buffer: nothing is lost, and nobody writes to the region later than
 * emx_pull_copied() says.
 */
#include <linux/dmaengine.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "compat.h"
#include "large.h"
#include "region.h"
#include "tracing.h"

static bool emx_offload_dma = true;
module_param_named(dma, emx_offload_dma, bool, 0444);
MODULE_PARM_DESC(dma, "let a DMA engine copy large messages where there is one (Y)");

static unsigned int emx_offload_frame_min = 2048;
module_param_named(dma_frame_min, emx_offload_frame_min, uint, 0644);
MODULE_PARM_DESC(dma_frame_min, "payloads of fewer bytes are copied by the processor (2048)");

static unsigned int emx_offload_message_min = 65536;
module_param_named(dma_message_min, emx_offload_message_min, uint, 0644);
MODULE_PARM_DESC(dma_message_min, "messages of fewer bytes are copied by the processor (65536)");

atomic64_t emx_copied_dma;
atomic64_t emx_dma_failed;

/* The copying of a frame's payload. */
struct emx_copy {
	struct emx_endpoint *ep; /* stays as long as its regions do */
	struct emx_region *region;
	struct sk_buff *skb;
	u64 position;
	u32 from;
	u32 bytes;
	u32 handle; /* of the pull */
	atomic_t pieces; /* under way, and one while they are being submitted */
	bool failed;
};

void emx_offload_init(void)
{
	if (emx_offload_dma)
		dmaengine_get();
}

void emx_offload_exit(void)
{
	if (emx_offload_dma)
		dmaengine_put();
	/* The last callback has told that it is done, but may not have returned. */
	synchronize_rcu();
}

/* Caller: endpoint->lock. The region may be gone after this. */
static void emx_offload_end(struct emx_copy *copy)
{
	const bool failed = READ_ONCE(copy->failed);

	if (failed) {
		atomic64_inc(&emx_dma_failed);
		emx_pull_copy_now(copy->region, copy->position, copy->skb, copy->from, copy->bytes);
	} else {
		atomic64_add(copy->bytes, &emx_copied_dma);
	}
	emx_tell_copied(copy->ep, copy->handle, copy->position, copy->bytes,
			failed ? EMX_BY_PROCESSOR : EMX_BY_DMA);
	emx_pull_copied(copy->ep, copy->region);
	consume_skb(copy->skb);
	kfree(copy);
}

static void emx_offload_piece_done(void *param, const struct dmaengine_result *result)
{
	struct emx_copy *copy = param;
	struct emx_endpoint *ep = copy->ep;

	if (result && result->result != DMA_TRANS_NOERROR)
		WRITE_ONCE(copy->failed, true);
	if (!atomic_dec_and_test(&copy->pieces))
		return;
	spin_lock_bh(&ep->lock);
	emx_offload_end(copy);
	spin_unlock_bh(&ep->lock);
}

/* ---- pieces: at most a page of the frame to at most a page of the region ---- */

struct emx_place {
	struct page *page;
	u32 offset;
};

static bool emx_offload_map(struct device *dev, struct dmaengine_unmap_data *unmap,
			    struct emx_place to, struct emx_place from, u32 bytes)
{
	unmap->len = bytes;
	unmap->addr[0] = dma_map_page(dev, from.page, from.offset, bytes, DMA_TO_DEVICE);
	if (dma_mapping_error(dev, unmap->addr[0]))
		return false;
	unmap->to_cnt = 1;
	unmap->addr[1] = dma_map_page(dev, to.page, to.offset, bytes, DMA_FROM_DEVICE);
	if (dma_mapping_error(dev, unmap->addr[1]))
		return false;
	unmap->from_cnt = 1;
	return true;
}

static struct dma_async_tx_descriptor *
emx_offload_prepare(struct dma_chan *channel, struct emx_place to, struct emx_place from, u32 bytes)
{
	struct dma_device *device = channel->device;
	struct dma_async_tx_descriptor *tx = NULL;
	struct dmaengine_unmap_data *unmap;

	if (!is_dma_copy_aligned(device, from.offset, to.offset, bytes))
		return NULL;
	unmap = dmaengine_get_unmap_data(device->dev, 2, GFP_NOWAIT);
	if (!unmap)
		return NULL;
	if (emx_offload_map(device->dev, unmap, to, from, bytes))
		tx = device->device_prep_dma_memcpy(channel, unmap->addr[1], unmap->addr[0], bytes,
						    DMA_PREP_INTERRUPT);
	if (tx)
		dma_set_unmap(tx, unmap);
	dmaengine_unmap_put(unmap); /* the descriptor has a reference of its own */
	return tx;
}

static bool emx_offload_submit(struct emx_copy *copy, struct dma_chan *channel, struct emx_place to,
			       struct emx_place from, u32 bytes)
{
	struct dma_async_tx_descriptor *tx = emx_offload_prepare(channel, to, from, bytes);

	if (!tx)
		return false;
	tx->callback_result = emx_offload_piece_done;
	tx->callback_param = copy;
	atomic_inc(&copy->pieces);
	if (!dma_submit_error(dmaengine_submit(tx)))
		return true;
	atomic_dec(&copy->pieces);
	return false;
}

/* Where byte `at` of the frame lies; how many follow it in that page. */
static u32 emx_offload_frame_span(const struct sk_buff *skb, u32 at, struct emx_place *place)
{
	const skb_frag_t *frag = skb_shinfo(skb)->frags;
	u32 offset;

	if (at < skb_headlen(skb)) {
		place->page = virt_to_page(skb->data + at);
		place->offset = offset_in_page(skb->data + at);
		return min_t(u32, skb_headlen(skb) - at, PAGE_SIZE - place->offset);
	}
	for (at -= skb_headlen(skb); at >= skb_frag_size(frag); frag++)
		at -= skb_frag_size(frag);
	offset = skb_frag_off(frag) + at;
	place->page = emx_page_at(skb_frag_page(frag), offset >> PAGE_SHIFT);
	place->offset = offset_in_page(offset);
	return min_t(u32, skb_frag_size(frag) - at, PAGE_SIZE - place->offset);
}

static bool emx_offload_submit_all(struct emx_copy *copy, struct dma_chan *channel)
{
	u64 position = copy->position;
	u32 left = copy->bytes;
	u32 from = copy->from;
	struct emx_place source;
	struct emx_place target;
	u32 n;

	for (; left; left -= n, position += n, from += n) {
		n = emx_region_span(copy->region, position, &target.page, &target.offset);
		n = min3(n, emx_offload_frame_span(copy->skb, from, &source), left);
		if (!emx_offload_submit(copy, channel, target, source, n))
			return false;
	}
	return true;
}

static struct emx_copy *emx_offload_new(struct emx_endpoint *ep, struct emx_region *region,
					struct sk_buff *skb)
{
	struct emx_copy *copy = kmalloc(sizeof(*copy), GFP_ATOMIC);

	if (!copy)
		return NULL;
	copy->ep = ep;
	copy->region = region;
	copy->skb = skb_get(skb);
	copy->failed = false;
	atomic_set(&copy->pieces, 1);
	region->copying++;
	return copy;
}

bool emx_offload_copy(struct emx_endpoint *ep, const struct fw_fx *fx, struct sk_buff *skb)
{
	struct emx_region *region = ep->pull[fx->u.copy.pull].region;
	const u32 bytes = fx->u.copy.length;
	struct dma_chan *channel;
	struct emx_copy *copy;

	if (!emx_offload_dma || bytes < READ_ONCE(emx_offload_frame_min) ||
	    region->length < READ_ONCE(emx_offload_message_min) || skb_has_frag_list(skb))
		return false;
	channel = dma_find_channel(DMA_MEMCPY);
	copy = channel ? emx_offload_new(ep, region, skb) : NULL;
	if (!copy)
		return false;
	copy->position = fx->u.copy.position;
	copy->from = fx->u.copy.source;
	copy->bytes = bytes;
	copy->handle = ep->fw->pull[fx->u.copy.pull].handle;
	if (!emx_offload_submit_all(copy, channel))
		WRITE_ONCE(copy->failed, true);
	dma_async_issue_pending(channel);
	if (atomic_dec_and_test(&copy->pieces))
		emx_offload_end(copy);
	return true;
}
