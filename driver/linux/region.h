/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Regions: user memory of large messages, pinned or loose.
 */
#ifndef EMX_LINUX_REGION_H
#define EMX_LINUX_REGION_H

#include <linux/kref.h>
#include <linux/list.h>

#include "ethermx.h"

struct emx_piece {
	u64 begin; /* position of its first byte in the region */
	unsigned long first; /* its first page: index in pages */
	u32 offset; /* of its first byte in that page */
	u64 address; /* in its process */
};

/*
 * User memory, one piece behind the other: pinned, or loose. A user without the endpoint's
 * lock holds a reference, or is counted in copying.
 */
struct emx_region {
	struct kref ref;
	struct list_head offered; /* of a window: in endpoint->offered */
	struct list_head list; /* in endpoint->idle, or in endpoint->dead */
	bool unmapped; /* endpoint->lock; the program has given it up, or a part of it */
	struct emx_range range; /* has all its pieces */
	struct emx_range span; /* of what is pinned: may be more */
	/* After its message. */
	bool can_idle;
	bool stale; /* endpoint->lock; the addresses may have other pages by now */
	u64 changes; /* endpoint->changes when the addresses surely had these pages */
	u64 idle_limit; /* it is not idle while its process has more pages pinned */
	unsigned long idle_since; /* jiffies */
	/* State of a pull; endpoint->lock. */
	u32 copying; /* frames that a DMA engine or a thread is copying into it */
	bool over; /* the pull has ended, and waits for those only */
	bool owed; /* the program is to be told by this event */
	struct emx_msg event;
	struct mm_struct *mm; /* whose limit it counts against; its structure is held */
	u64 length;
	unsigned long pages_wanted;
	unsigned long pages_pinned;
	struct page **pages;
	bool write;
	bool loose; /* not pinned: no pages */
	u32 pieces;
	struct emx_piece piece[];
};

static inline bool emx_ranges_meet(const struct emx_range *a, const struct emx_range *b)
{
	return a->begin < b->end && b->begin < a->end;
}

/* region.c */

/*
 * Makes a region of the first `length` bytes of a list in kernel memory, with nothing pinned. Cuts
 * the list to the segments that it uses. ERR_PTR: -EINVAL (the list is shorter than that), -EFAULT
 * (the memory is no user's), -ENOMEM. Sleeps.
 */
struct emx_region *emx_region_new(struct emx_dev_segment *list, u32 count, u64 length, bool write);
/* Counts it against the limit of the current process. 0, or -ENOMEM beyond that. */
int emx_region_charge(struct emx_region *region);
/*
 * Pins its memory, which the list describes. 0, -ENOMEM or -EFAULT; then a part of it may be
 * pinned. Caller: the endpoint's process. Sleeps.
 */
int emx_region_fill(struct emx_region *region, const struct emx_dev_segment *list);
/* Makes it loose, whatever was pinned and counted. Sleeps. */
void emx_region_loosen(struct emx_region *region);
/* Makes an idle region one of those bytes, which its pages contain. */
void emx_region_reuse(struct emx_region *region, u64 address, u64 length);
/* Leaves its unpinning to a work. Takes over the reference. Caller: endpoint->lock. */
void emx_region_bury(struct emx_endpoint *ep, struct emx_region *region);
/* Work of that. */
void emx_region_reap(struct work_struct *work);
/* Gives up a reference; the last one unpins. NULL is allowed. Sleeps. */
void emx_region_put(struct emx_region *region);
/*
 * Address of byte `position` of the region in its process, and how many bytes follow it in its
 * piece, at least 1. position must be inside.
 */
u32 emx_region_address(const struct emx_region *region, u64 position, void __user **address);
/*
 * Where byte `position` of a pinned region lies, and how many bytes follow it in that page, at
 * least 1. position must be inside.
 */
u32 emx_region_span(const struct emx_region *region, u64 position, struct page **page, u32 *offset);
/* Pages pinned at this moment, by all. */
u64 emx_region_pages(void);
/* True if a byte of it has an address in that range of its process. */
bool emx_region_touches(const struct emx_region *region, const struct emx_range *range);
/* Regions that could not be pinned, since the module was loaded. */
extern atomic64_t emx_regions_loose;

/* idle.c: regions that stay pinned between messages */

void emx_idle_init(struct emx_endpoint *ep);
/* With the endpoint withdrawn: there are none any more. Sleeps. */
void emx_idle_close(struct emx_endpoint *ep);
/* An idle region that has those addresses, for the caller; or NULL. Takes endpoint->lock. */
struct emx_region *emx_idle_take(struct emx_endpoint *ep, u64 address, u64 length, bool write);
/* Takes over the region, and its reference; false when it is not to stay. Caller: lock. */
bool emx_idle_add(struct emx_endpoint *ep, struct emx_region *region);
/* Unpins, later, regions with one of those addresses: they change. Caller: endpoint->lock. */
void emx_idle_changed(struct emx_endpoint *ep, const struct emx_range *range);
/* Unpins all; false when there are none. Sleeps. */
bool emx_idle_release(struct emx_endpoint *ep);
/* Pages of idle regions at this moment, of all. */
u64 emx_idle_pages(void);
/* Count of messages that found their memory pinned, since the module was loaded. */
extern atomic64_t emx_idle_taken;

/* pin.c: regions of messages, idle ones first */

/*
 * Pins `length` bytes, those of the first segments of a list in user memory, or takes an idle
 * region that has them; write: for data from the wire. Where that cannot be, the region is loose.
 * ERR_PTR: -EINVAL (list too long or shorter than that), -EFAULT (the list; or the memory is no
 * user's), -ENOMEM. Caller: the endpoint's process. Sleeps.
 */
struct emx_region *emx_region_pin(struct emx_endpoint *ep,
				  const struct emx_dev_segment __user *list, u32 count, u64 length,
				  bool write);
/* From now on it belongs to a message, and hears of changes. Caller: endpoint->lock. */
void emx_region_begin(const struct emx_endpoint *ep, struct emx_region *region);
/*
 * Its message is over: it becomes idle, or is unpinned later, since that sleeps. Takes over the
 * reference. Caller: endpoint->lock.
 */
void emx_region_end(struct emx_endpoint *ep, struct emx_region *region);

#endif
