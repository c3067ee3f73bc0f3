// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Idle regions: memory that stays pinned after a message. The next message often uses the same
 * memory, and pinning and releasing it costs as many instructions as copying it.
 *
 * A region stops being idle when another message takes it, when its process changes anything about
 * its addresses, when its endpoint needs the room under the limit, and after keep_ms.
 */
#include <linux/jiffies.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>

#include "config.h"
#include "region.h"

/* An endpoint keeps so much at most. */
#define IDLE_REGIONS 32
#define IDLE_PAGES ((64u << 20) >> PAGE_SHIFT)

static unsigned int emx_idle_keep_ms = 1000;
module_param_named(keep_ms, emx_idle_keep_ms, uint, 0644);
MODULE_PARM_DESC(keep_ms,
		 "memory stays pinned so long after a large message, ms, 0: not at all (1000)");

atomic64_t emx_idle_taken;
static atomic64_t emx_idle_pages_now;

u64 emx_idle_pages(void)
{
	return atomic64_read(&emx_idle_pages_now);
}

static unsigned long emx_idle_keep(void)
{
	return msecs_to_jiffies(READ_ONCE(emx_idle_keep_ms));
}

static void emx_idle_take_off(struct emx_endpoint *ep, struct emx_region *region)
{
	list_del(&region->list);
	ep->idle_count--;
	ep->idle_pages -= region->pages_pinned;
	atomic64_sub(region->pages_pinned, &emx_idle_pages_now);
}

/* Leaves the unpinning to a work: it may sleep. */
static void emx_idle_discard(struct emx_endpoint *ep, struct emx_region *region)
{
	emx_idle_take_off(ep, region);
	emx_region_bury(ep, region);
}

static struct emx_region *emx_idle_find(const struct emx_endpoint *ep,
					const struct emx_range *range, bool write)
{
	struct emx_region *region;

	list_for_each_entry(region, &ep->idle, list)
		if (region->span.begin <= range->begin && range->end <= region->span.end &&
		    (region->write || !write))
			return region;
	return NULL;
}

struct emx_region *emx_idle_take(struct emx_endpoint *ep, u64 address, u64 length, bool write)
{
	const struct emx_range range = { address, address + length };
	struct emx_region *region = NULL;

	if (range.end <= range.begin)
		return NULL;
	spin_lock_bh(&ep->lock);
	region = emx_idle_find(ep, &range, write);
	if (region) {
		emx_idle_take_off(ep, region);
		region->changes = ep->changes;
	}
	spin_unlock_bh(&ep->lock);
	if (region)
		atomic64_inc(&emx_idle_taken);
	return region;
}

/* Idle regions leave half of the limit to io_uring and others that pin memory of the process. */
static bool emx_idle_make_room(struct emx_endpoint *ep, const struct emx_region *region)
{
	if (region->pages_pinned > IDLE_PAGES ||
	    atomic64_read(&region->mm->pinned_vm) > region->idle_limit)
		return false;
	while (ep->idle_count == IDLE_REGIONS || ep->idle_pages + region->pages_pinned > IDLE_PAGES)
		emx_idle_discard(ep, list_last_entry(&ep->idle, struct emx_region, list));
	return true;
}

bool emx_idle_add(struct emx_endpoint *ep, struct emx_region *region)
{
	const unsigned long time = emx_idle_keep();

	if (!time || !region->can_idle || region->stale || !ep->open)
		return false;
	if (emx_idle_find(ep, &region->span, region->write) || !emx_idle_make_room(ep, region))
		return false;
	region->idle_since = jiffies;
	list_add(&region->list, &ep->idle);
	ep->idle_count++;
	ep->idle_pages += region->pages_pinned;
	atomic64_add(region->pages_pinned, &emx_idle_pages_now);
	queue_delayed_work(emx_workqueue, &ep->idle_work, time);
	return true;
}

void emx_idle_changed(struct emx_endpoint *ep, const struct emx_range *range)
{
	struct emx_region *region;
	struct emx_region *next;

	list_for_each_entry_safe(region, next, &ep->idle, list)
		if (emx_ranges_meet(&region->span, range))
			emx_idle_discard(ep, region);
}

/* Unpins what has been idle since that point of time. The oldest region is the last of the list. */
static bool emx_idle_release_since(struct emx_endpoint *ep, unsigned long since)
{
	struct emx_region *region;
	struct emx_region *next;
	LIST_HEAD(old);

	spin_lock_bh(&ep->lock);
	list_for_each_entry_safe_reverse(region, next, &ep->idle, list) {
		if (time_after(region->idle_since, since))
			break;
		emx_idle_take_off(ep, region);
		list_add(&region->list, &old);
	}
	spin_unlock_bh(&ep->lock);
	if (list_empty(&old))
		return false;
	list_for_each_entry_safe(region, next, &old, list)
		emx_region_put(region);
	return true;
}

static void emx_idle_work(struct work_struct *work)
{
	struct emx_endpoint *ep =
		container_of(to_delayed_work(work), struct emx_endpoint, idle_work);
	const unsigned long time = emx_idle_keep();

	emx_idle_release_since(ep, jiffies - time);
	spin_lock_bh(&ep->lock);
	if (!list_empty(&ep->idle))
		queue_delayed_work(emx_workqueue, &ep->idle_work, max(time, 1ul));
	spin_unlock_bh(&ep->lock);
}

bool emx_idle_release(struct emx_endpoint *ep)
{
	return emx_idle_release_since(ep, jiffies);
}

void emx_idle_init(struct emx_endpoint *ep)
{
	INIT_LIST_HEAD(&ep->idle);
	INIT_DELAYED_WORK(&ep->idle_work, emx_idle_work);
}

void emx_idle_close(struct emx_endpoint *ep)
{
	emx_idle_release_since(ep, jiffies);
	cancel_delayed_work_sync(&ep->idle_work);
}
