// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Regions: pieces of user memory that are pinned, so that frames can be sent from them and data be
 * placed in them while their process does something else.
 *
 * What is pinned counts against RLIMIT_MEMLOCK of the process, as for RDMA: mm->pinned_vm. Memory
 * beyond the limit, or that cannot be pinned, makes a loose region: loose.c serves those.
 */
#include <linux/mm.h>
#include <linux/mmu_context.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "config.h"
#include "region.h"

atomic64_t emx_regions_loose;
static atomic64_t emx_region_pinned;

u64 emx_region_pages(void)
{
	return atomic64_read(&emx_region_pinned);
}

static const struct emx_piece *emx_region_find_piece(const struct emx_region *region, u64 position)
{
	u32 low = 0;
	u32 high = region->pieces; /* the piece is in low .. high - 1 */

	while (high - low > 1) {
		u32 middle = low + (high - low) / 2;

		if (region->piece[middle].begin <= position)
			low = middle;
		else
			high = middle;
	}
	return &region->piece[low];
}

/* The first byte behind a piece: position in the region. */
static u64 emx_region_piece_end(const struct emx_region *region, const struct emx_piece *piece)
{
	return piece + 1 < region->piece + region->pieces ? piece[1].begin : region->length;
}

u32 emx_region_address(const struct emx_region *region, u64 position, void __user **address)
{
	const struct emx_piece *piece = emx_region_find_piece(region, position);

	*address = u64_to_user_ptr(piece->address + (position - piece->begin));
	return emx_region_piece_end(region, piece) - position;
}

u32 emx_region_span(const struct emx_region *region, u64 position, struct page **page, u32 *offset)
{
	const struct emx_piece *piece = region->piece;
	u64 end = region->length;
	u64 at;

	if (unlikely(region->pieces > 1)) {
		piece = emx_region_find_piece(region, position);
		end = emx_region_piece_end(region, piece);
	}
	at = position - piece->begin + piece->offset;
	*page = region->pages[piece->first + (at >> PAGE_SHIFT)];
	*offset = offset_in_page(at);
	return min_t(u64, PAGE_SIZE - *offset, end - position);
}

static struct emx_range emx_region_range_of(const struct emx_region *region,
					    const struct emx_piece *piece)
{
	return (struct emx_range){
		.begin = piece->address,
		.end = piece->address + (emx_region_piece_end(region, piece) - piece->begin),
	};
}

static struct emx_range emx_region_range_of_all(const struct emx_region *region)
{
	struct emx_range all = { .begin = ULONG_MAX };
	const struct emx_piece *piece;

	for (piece = region->piece; piece < region->piece + region->pieces; piece++) {
		struct emx_range one = emx_region_range_of(region, piece);

		all.begin = min(all.begin, one.begin);
		all.end = max(all.end, one.end);
	}
	return all;
}

bool emx_region_touches(const struct emx_region *region, const struct emx_range *range)
{
	const struct emx_piece *piece;

	if (!emx_ranges_meet(&region->range, range))
		return false;
	for (piece = region->piece; piece < region->piece + region->pieces; piece++) {
		struct emx_range one = emx_region_range_of(region, piece);

		if (emx_ranges_meet(&one, range))
			return true;
	}
	return false;
}

/* ---- the limit ---- */

int emx_region_charge(struct emx_region *region)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	u64 total = atomic64_add_return(region->pages_wanted, &current->mm->pinned_vm);

	if (ns_capable_noaudit(&init_user_ns, CAP_IPC_LOCK))
		limit = ULONG_MAX;
	region->idle_limit = limit / 2;
	if (total > limit) {
		atomic64_sub(region->pages_wanted, &current->mm->pinned_vm);
		return -ENOMEM;
	}
	region->mm = current->mm;
	mmgrab(region->mm);
	atomic64_add(region->pages_wanted, &emx_region_pinned);
	return 0;
}

static void emx_region_uncharge(struct emx_region *region)
{
	if (!region->mm)
		return;
	atomic64_sub(region->pages_wanted, &region->mm->pinned_vm);
	atomic64_sub(region->pages_wanted, &emx_region_pinned);
	mmdrop(region->mm);
	region->mm = NULL;
}

/* ---- pinning ---- */

static unsigned long emx_region_pages_of(u64 address, u64 length)
{
	return (offset_in_page(address) + length + PAGE_SIZE - 1) >> PAGE_SHIFT;
}

/*
 * Lays the pieces out; addresses are copied once, and only this copy is used. Returns how many
 * pieces the region has, or a negative errno.
 */
static int emx_region_lay_out(struct emx_region *region, struct emx_dev_segment *copy, u32 count)
{
	u64 left = region->length;
	u32 n = 0;
	u32 i;

	for (i = 0; i < count && left; i++) {
		struct emx_dev_segment s = copy[i];

		if (!s.length)
			continue;
		s.length = min(s.length, left);
		if (!access_ok(u64_to_user_ptr(s.address), s.length))
			return -EFAULT;
		region->piece[n].begin = region->length - left;
		region->piece[n].first = region->pages_wanted;
		region->piece[n].offset = offset_in_page(s.address);
		region->piece[n].address = s.address;
		region->pages_wanted += emx_region_pages_of(s.address, s.length);
		left -= s.length;
		copy[n++] = s;
	}
	region->pieces = n;
	return left ? -EINVAL : 0;
}

static int emx_region_pin_piece(struct emx_region *region, const struct emx_dev_segment *s)
{
	unsigned long todo = emx_region_pages_of(s->address, s->length);
	unsigned long address = s->address & PAGE_MASK;
	unsigned int flags = FOLL_LONGTERM | (region->write ? FOLL_WRITE : 0);
	int got;

	while (todo) {
		got = pin_user_pages_fast(address, min_t(unsigned long, todo, INT_MAX), flags,
					  region->pages + region->pages_pinned);
		if (got <= 0)
			return got == -ENOMEM ? -ENOMEM : -EFAULT;
		region->pages_pinned += got;
		address += (unsigned long)got << PAGE_SHIFT;
		todo -= got;
		cond_resched();
	}
	return 0;
}

static void emx_region_unpin(struct emx_region *region)
{
	if (region->pages_pinned)
		unpin_user_pages_dirty_lock(region->pages, region->pages_pinned, region->write);
	region->pages_pinned = 0;
	emx_region_uncharge(region);
	kvfree(region->pages);
	region->pages = NULL;
}

static bool emx_region_is_anonymous(const struct emx_range *range)
{
	struct vm_area_struct *vma;
	bool is;

	mmap_read_lock(current->mm);
	vma = find_vma(current->mm, range->begin);
	is = vma && vma->vm_start <= range->begin && range->end <= vma->vm_end &&
	     vma_is_anonymous(vma);
	mmap_read_unlock(current->mm);
	return is;
}

/* True when no page belongs to a file on a disk. Where the mapping does not tell, the pages do. */
static bool emx_region_is_of_no_file(const struct emx_region *region)
{
	unsigned long i;

	if (emx_region_is_anonymous(&region->span))
		return true;
	for (i = 0; i < region->pages_pinned; i++)
		if (!folio_test_swapbacked(page_folio(region->pages[i])))
			return false;
	return true;
}

/* A page of a file on a disk has to be marked dirty when its message ends, not later. */
static bool emx_region_may_idle(const struct emx_region *region)
{
	return IS_ENABLED(CONFIG_MMU_NOTIFIER) && region->pieces == 1 &&
	       (!region->write || emx_region_is_of_no_file(region));
}

struct emx_region *emx_region_new(struct emx_dev_segment *list, u32 count, u64 length, bool write)
{
	struct emx_region *region;
	int err;

	region = kvzalloc(struct_size(region, piece, count), GFP_KERNEL_ACCOUNT);
	if (!region)
		return ERR_PTR(-ENOMEM);
	kref_init(&region->ref);
	INIT_LIST_HEAD(&region->offered);
	region->length = length;
	region->write = write;
	err = emx_region_lay_out(region, list, count);
	if (err) {
		kvfree(region);
		return ERR_PTR(err);
	}
	region->range = emx_region_range_of_all(region);
	region->span.begin = region->range.begin & PAGE_MASK;
	region->span.end = PAGE_ALIGN(region->range.end);
	return region;
}

int emx_region_fill(struct emx_region *region, const struct emx_dev_segment *list)
{
	u32 i;
	int err;

	region->pages =
		kvmalloc_array(region->pages_wanted, sizeof(*region->pages), GFP_KERNEL_ACCOUNT);
	if (!region->pages)
		return -ENOMEM;
	for (i = 0; i < region->pieces; i++) {
		err = emx_region_pin_piece(region, &list[i]);
		if (err)
			return err;
	}
	region->can_idle = emx_region_may_idle(region);
	return 0;
}

void emx_region_loosen(struct emx_region *region)
{
	emx_region_unpin(region);
	region->loose = true;
	atomic64_inc(&emx_regions_loose);
}

void emx_region_reuse(struct emx_region *region, u64 address, u64 length)
{
	struct emx_piece *piece = &region->piece[0];

	region->length = length;
	region->range.begin = address;
	region->range.end = address + length;
	piece->first = (address - region->span.begin) >> PAGE_SHIFT;
	piece->offset = offset_in_page(address);
	piece->address = address;
	region->over = false;
	region->owed = false;
}

static void emx_region_free(struct kref *ref)
{
	struct emx_region *region = container_of(ref, struct emx_region, ref);

	emx_region_unpin(region);
	kvfree(region);
}

void emx_region_put(struct emx_region *region)
{
	if (region)
		kref_put(&region->ref, emx_region_free);
}

/* ---- unpinning later ---- */

void emx_region_bury(struct emx_endpoint *ep, struct emx_region *region)
{
	list_add_tail(&region->list, &ep->dead);
	queue_work(emx_workqueue, &ep->reap);
}

void emx_region_reap(struct work_struct *work)
{
	struct emx_endpoint *ep = container_of(work, struct emx_endpoint, reap);
	struct emx_region *region;
	struct emx_region *next;
	LIST_HEAD(dead);

	spin_lock_bh(&ep->lock);
	list_splice_init(&ep->dead, &dead);
	spin_unlock_bh(&ep->lock);
	list_for_each_entry_safe(region, next, &dead, list)
		emx_region_put(region);
}
