// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The region of a message: an idle one that has its memory, or a new one; and back to the idle ones
 * when the message is over. Memory that cannot be pinned makes a loose region.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "region.h"

static int emx_pin_all(struct emx_endpoint *ep, struct emx_region *region,
		       const struct emx_dev_segment *list)
{
	int err = emx_region_charge(region);

	if (err && emx_idle_release(ep))
		err = emx_region_charge(region);
	if (err)
		return err;
	spin_lock_bh(&ep->lock);
	region->changes = ep->changes;
	region->stale = ep->changing;
	spin_unlock_bh(&ep->lock);
	return emx_region_fill(region, list);
}

static struct emx_region *emx_pin_new(struct emx_endpoint *ep, struct emx_dev_segment *list,
				      u32 count, u64 length, bool write)
{
	struct emx_region *region = emx_region_new(list, count, length, write);

	if (!IS_ERR(region) && emx_pin_all(ep, region, list))
		emx_region_loosen(region);
	return region;
}

/* NULL when there is none. */
static struct emx_region *emx_pin_idle(struct emx_endpoint *ep, const struct emx_dev_segment *s,
				       u64 length, bool write)
{
	struct emx_region *region;

	if (s->length < length)
		return NULL;
	region = emx_idle_take(ep, s->address, length, write);
	if (region)
		emx_region_reuse(region, s->address, length);
	return region;
}

static struct emx_region *emx_pin_one(struct emx_endpoint *ep,
				      const struct emx_dev_segment __user *list, u64 length,
				      bool write)
{
	struct emx_dev_segment one;
	struct emx_region *region;

	if (copy_from_user(&one, list, sizeof(one)))
		return ERR_PTR(-EFAULT);
	region = emx_pin_idle(ep, &one, length, write);
	return region ? region : emx_pin_new(ep, &one, 1, length, write);
}

struct emx_region *emx_region_pin(struct emx_endpoint *ep,
				  const struct emx_dev_segment __user *list, u32 count, u64 length,
				  bool write)
{
	struct emx_dev_segment *copy;
	struct emx_region *region;

	if (!count || count > EMX_DEV_SEGMENTS_MAX || !length || length > U32_MAX)
		return ERR_PTR(-EINVAL);
	if (count == 1)
		return emx_pin_one(ep, list, length, write);
	copy = vmemdup_user(list, array_size(count, sizeof(*list)));
	if (IS_ERR(copy))
		return ERR_CAST(copy);
	region = emx_pin_new(ep, copy, count, length, write);
	kvfree(copy);
	return region;
}

void emx_region_begin(const struct emx_endpoint *ep, struct emx_region *region)
{
	if (region->changes != ep->changes)
		region->stale = true;
}

void emx_region_end(struct emx_endpoint *ep, struct emx_region *region)
{
	if (!emx_idle_add(ep, region))
		emx_region_bury(ep, region);
}
