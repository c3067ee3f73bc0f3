// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Endpoints: claiming and closing, their memory, and its mapping.
 */
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "board.h"
#include "compat.h"
#include "config.h"
#include "effects.h"
#include "endpoint.h"
#include "group.h"
#include "large.h"
#include "names.h"
#include "region.h"
#include "tracing.h"

/* Events that wait, at most; fewer when a payload is so large that slots would take too much. */
#define RING_ENTRIES 512
#define RING_ENTRIES_MIN 128
#define SLOTS_BYTES_MAX (4u << 20)
/* As for the engine, whose figures were measured. */
#define PULL_WINDOW 64
#define PULL_BLOCK 16
#define PULL_REPEAT_MS 20
#define PULL_LIMIT_MS 500000
#define X_WINDOW 64
/* Places for long X MEDIUM where they are no gain but for checksums: a partner's window. */
#define LONG_SLOTS_FEW 32

/* ---- memory ---- */

/* Zeroed, counted for the memory control group, and a number of whole pages. */
static void *emx_endpoint_alloc_mapped(size_t bytes)
{
	return __vmalloc(PAGE_ALIGN(bytes), GFP_KERNEL_ACCOUNT | __GFP_ZERO);
}

static size_t emx_endpoint_ring_bytes(const struct emx_endpoint *ep)
{
	return PAGE_ALIGN(sizeof(struct fw_ring) + (ep->ring_mask + 1) * sizeof(struct emx_msg));
}

static size_t emx_endpoint_slots_bytes(const struct emx_endpoint *ep)
{
	return PAGE_ALIGN((size_t)(ep->ring_mask + 1) * ep->slot_bytes +
			  (size_t)ep->long_slots * ep->long_bytes);
}

static void emx_endpoint_shape_ring(struct emx_endpoint *ep)
{
	u32 longest = READ_ONCE(ep->board->fragment_max);
	u32 entries = RING_ENTRIES;

	ep->slot_bytes = ALIGN(max_t(u32, longest, EMX_SMALL_MAX), SMP_CACHE_BYTES);
	while (entries > RING_ENTRIES_MIN && entries * ep->slot_bytes > SLOTS_BYTES_MAX)
		entries /= 2;
	ep->ring_mask = entries - 1;
}

/*
 * X MEDIUM up to the wanted length, as far as the interface takes them. Slots for each entry as
 * long as those would cost twice the memory, or half the entries; so there are a few places for
 * them.
 */
static void emx_endpoint_shape_long(struct emx_endpoint *ep, u32 wanted)
{
	const struct fw_sizes *sizes = &ep->board->fw.sizes;
	u32 longest = min(wanted, fw_x_frag_max(emx_board_x_frame(ep->board)));

	ep->x_fragment = longest;
	if (longest <= ep->slot_bytes)
		return;
	ep->long_bytes = ALIGN(longest, SMP_CACHE_BYTES);
	/* Compare the frames of the longest eager message. */
	if (DIV_ROUND_UP(EMX_X_FRAG_MAX, longest) < DIV_ROUND_UP(EMX_X_FRAG_MAX, sizes->frag))
		ep->long_slots = EMX_LONG_SLOTS;
	else
		ep->long_slots = LONG_SLOTS_FEW;
}

static void emx_endpoint_free_memory(struct emx_endpoint *ep)
{
	if (ep->watched)
		mmu_notifier_unregister(&ep->notifier, ep->mm);
	emx_loose_free(ep);
	vfree(ep->ring);
	vfree(ep->slots);
	vfree(ep->page);
	kvfree(ep->window);
	kvfree(ep->pull);
	kvfree(ep->kept);
	kvfree(ep->fw);
	emx_board_put(ep->board);
	mmdrop(ep->mm);
	put_pid(ep->pid);
	kfree(ep);
}

static bool emx_endpoint_alloc_memory(struct emx_endpoint *ep)
{
	ep->ring = emx_endpoint_alloc_mapped(emx_endpoint_ring_bytes(ep));
	ep->slots = emx_endpoint_alloc_mapped(emx_endpoint_slots_bytes(ep));
	ep->page = emx_endpoint_alloc_mapped(sizeof(*ep->page));
	ep->window = kvcalloc(FW_WINDOWS, sizeof(*ep->window), GFP_KERNEL_ACCOUNT);
	ep->pull = kvcalloc(FW_PULLS, sizeof(*ep->pull), GFP_KERNEL_ACCOUNT);
	ep->kept = kvcalloc(BITS_TO_LONGS(ep->board->fw.peers->capacity), sizeof(*ep->kept),
			    GFP_KERNEL_ACCOUNT);
	ep->fw = kvzalloc(sizeof(*ep->fw), GFP_KERNEL_ACCOUNT);
	return ep->ring && ep->slots && ep->page && ep->window && ep->pull && ep->kept && ep->fw;
}

static void emx_endpoint_free_work(struct work_struct *work)
{
	struct emx_endpoint *ep = container_of(to_rcu_work(work), struct emx_endpoint, free);

	emx_endpoint_free_memory(ep);
}

void emx_endpoint_free(struct emx_endpoint *ep)
{
	emx_wait_exit(ep);
	INIT_RCU_WORK(&ep->free, emx_endpoint_free_work);
	queue_rcu_work(emx_free_workqueue, &ep->free);
}

/* ---- claiming ---- */

static void emx_endpoint_note_owner(struct emx_endpoint *ep)
{
	ep->mm = current->mm;
	mmgrab(ep->mm);
	ep->tgid = current->tgid;
	ep->pid = get_pid(task_tgid(current));
	ep->uid = current_uid();
	get_task_comm(ep->command, current->group_leader);
}

/* The addresses of the process are no more: it has ended, or executes another program. */
static void emx_endpoint_addresses_gone(struct mmu_notifier *notifier, struct mm_struct *mm)
{
	emx_endpoint_close(container_of(notifier, struct emx_endpoint, notifier));
}

/* Must not sleep, nor allocate what may have to wait for memory. */
static int emx_endpoint_addresses_change(struct mmu_notifier *notifier,
					 const struct mmu_notifier_range *range)
{
	struct emx_endpoint *ep = container_of(notifier, struct emx_endpoint, notifier);
	struct emx_range changed = { range->start, range->end };
	struct emx_effects now;
	bool open;

	open = emx_effects_begin(&now, ep, EMX_IN_PROCESS);
	ep->changes++;
	ep->changing++;
	if (open) {
		emx_windows_changed(ep, &changed, emx_unmaps(range));
		if (emx_pulls_changed(ep, &changed, emx_unmaps(range)))
			emx_effects_run_waiting(&now);
		emx_idle_changed(ep, &changed);
	}
	emx_effects_end(&now, EMX_IN_PROCESS);
	return 0;
}

/* A pin that begins after this finds the new pages. */
static void emx_endpoint_addresses_changed(struct mmu_notifier *notifier,
					   const struct mmu_notifier_range *range)
{
	struct emx_endpoint *ep = container_of(notifier, struct emx_endpoint, notifier);

	spin_lock_bh(&ep->lock);
	ep->changing--;
	spin_unlock_bh(&ep->lock);
}

static const struct mmu_notifier_ops emx_endpoint_notifier_ops = {
	.release = emx_endpoint_addresses_gone,
	.invalidate_range_start = emx_endpoint_addresses_change,
	.invalidate_range_end = emx_endpoint_addresses_changed,
};

static int emx_endpoint_watch(struct emx_endpoint *ep)
{
	int err;

	ep->notifier.ops = &emx_endpoint_notifier_ops;
	err = mmu_notifier_register(&ep->notifier, ep->mm);
	ep->watched = !err;
	/* Signals that wait keep it from taking its locks. */
	return err == -EINTR ? -ERESTARTNOINTR : err;
}

/* Takes over the caller's reference on the board. An ERR_PTR when it cannot. */
static struct emx_endpoint *emx_endpoint_new(struct emx_board *board, u32 x_wanted)
{
	struct emx_endpoint *ep = kzalloc(sizeof(*ep), GFP_KERNEL_ACCOUNT);
	int err;

	if (!ep) {
		emx_board_put(board);
		return ERR_PTR(-ENOMEM);
	}
	ep->board = board;
	spin_lock_init(&ep->lock);
	emx_wait_init(ep);
	emx_group_init(ep);
	init_waitqueue_head(&ep->ended);
	INIT_LIST_HEAD(&ep->dead);
	INIT_LIST_HEAD(&ep->offered);
	INIT_WORK(&ep->reap, emx_region_reap);
	emx_idle_init(ep);
	emx_loose_init(ep, emx_borrow_work);
	emx_timer_setup(&ep->timer, emx_effects_timer);
	emx_endpoint_shape_ring(ep);
	emx_endpoint_shape_long(ep, x_wanted);
	emx_endpoint_note_owner(ep);
	err = emx_endpoint_alloc_memory(ep) ? emx_endpoint_watch(ep) : -ENOMEM;
	if (err) {
		emx_endpoint_free_memory(ep);
		return ERR_PTR(err);
	}
	ep->ring->mask = ep->ring_mask;
	return ep;
}

static void emx_endpoint_init_firmware(struct emx_endpoint *ep, u8 number, u32 session)
{
	struct fw_endpoint *fw = ep->fw;

	fw_endpoint_init(fw, &ep->board->fw, number, session, get_random_u32());
	fw->counters = &ep->counters;
	fw->pull_window = PULL_WINDOW;
	fw->pull_block = min_t(u32, ep->board->fw.sizes.block, PULL_BLOCK);
	fw->pull_repeat_ms = PULL_REPEAT_MS;
	fw->pull_limit_ms = PULL_LIMIT_MS;
	fw->x_frame = emx_board_x_frame(ep->board);
	fw->x_window = X_WINDOW;
	fw->x_frag = ep->x_fragment;
	fw->x_pack = ep->x_fragment;
}

/* A number to take: the one wanted, or the first that is free. Caller: board->lock. */
static int emx_endpoint_choose_number(struct emx_board *board, u32 wanted)
{
	u32 n;

	if (wanted != EMX_DEV_ANY && wanted >= board->fw.endpoint_max)
		return -ECHRNG;
	for (n = 0; n < board->fw.endpoint_max; n++) {
		if (wanted != EMX_DEV_ANY && n != wanted)
			continue;
		if (!rcu_access_pointer(board->endpoint[n]))
			return n;
	}
	return -EBUSY;
}

/* From here on frames find the endpoint. Caller: both locks. */
static int emx_endpoint_publish(struct emx_endpoint *ep, const struct emx_dev_claim *claim)
{
	struct emx_board *board = ep->board;
	int number;

	if (!rcu_access_pointer(board->dev))
		return -ENODEV;
	/* A peer was given another dialect meanwhile: from now on none is. */
	if (ep->slot_bytes < board->fragment_max)
		return -EAGAIN;
	number = emx_endpoint_choose_number(board, claim->number);
	if (number < 0)
		return number;
	emx_endpoint_init_firmware(ep, number, claim->session);
	ep->open = true;
	ep->link_owed = board->link;
	emx_event_link(ep);
	board->fw.ep[number] = ep->fw;
	board->fw.ep_state[number] = FW_EP_OPEN;
	rcu_assign_pointer(board->endpoint[number], ep);
	emx_tell_opened(ep);
	return number;
}

struct emx_endpoint *emx_endpoint_claim(struct net *net, struct emx_dev_claim *claim)
{
	struct emx_board *board = emx_board_get(net, claim->board);
	struct emx_endpoint *ep;
	int number;

	if (!board)
		return ERR_PTR(-ENODEV);
	ep = emx_endpoint_new(board, claim->x_wanted);
	if (IS_ERR(ep))
		return ep;
	spin_lock_bh(&ep->lock);
	spin_lock(&board->lock);
	number = emx_endpoint_publish(ep, claim);
	spin_unlock(&board->lock);
	spin_unlock_bh(&ep->lock);
	if (number < 0) {
		emx_endpoint_free_memory(ep);
		return ERR_PTR(number);
	}
	claim->number = number;
	claim->ring_entries = ep->ring_mask + 1;
	claim->slot_bytes = ep->slot_bytes;
	claim->x_fragment = ep->x_fragment;
	claim->ring_bytes = emx_endpoint_ring_bytes(ep);
	claim->slots_bytes = emx_endpoint_slots_bytes(ep);
	claim->counters_bytes = PAGE_ALIGN(sizeof(*ep->page));
	return ep;
}

/* ---- closing ---- */

/* Frames are refused from now on, and no new region can come; true the first time. */
static bool emx_endpoint_withdraw(struct emx_endpoint *ep)
{
	struct emx_board *board = ep->board;
	u8 number = ep->fw->number;
	bool was_open;

	spin_lock_bh(&ep->lock);
	was_open = ep->open;
	ep->open = false;
	if (was_open) {
		spin_lock(&board->lock);
		board->fw.ep_state[number] = FW_EP_CLOSED;
		board->fw.ep[number] = NULL;
		RCU_INIT_POINTER(board->endpoint[number], NULL);
		emx_counters_inherit(board, ep);
		emx_peers_release(ep);
		spin_unlock(&board->lock);
		emx_tell_closed(ep);
	}
	spin_unlock_bh(&ep->lock);
	return was_open;
}

void emx_endpoint_close(struct emx_endpoint *ep)
{
	unsigned int i;

	if (!emx_endpoint_withdraw(ep))
		return;
	hrtimer_cancel(&ep->timer);
	emx_group_leave_all(ep);
	emx_borrow_close(ep);
	/* Regions are used with the lock held by those only who saw the endpoint open. */
	for (i = 0; i < FW_WINDOWS; i++) {
		emx_region_put(ep->window[i]);
		ep->window[i] = NULL;
	}
	emx_pull_end_all(ep);
	emx_idle_close(ep);
	wake_up_interruptible_poll(&ep->wait, EPOLLIN | EPOLLHUP);
}

/* ---- link ---- */

void emx_endpoints_link(struct emx_board *board, u8 state)
{
	struct emx_endpoint *ep;
	unsigned int i;

	rcu_read_lock();
	for (i = 0; i < EMX_ENDPOINTS_MAX; i++) {
		ep = rcu_dereference(board->endpoint[i]);
		if (!ep)
			continue;
		spin_lock_bh(&ep->lock);
		ep->link_owed = state;
		emx_event_link(ep);
		spin_unlock_bh(&ep->lock);
	}
	rcu_read_unlock();
}

/* ---- mapping ---- */

static int emx_endpoint_map_pages(struct vm_area_struct *vma, void *memory, size_t bytes)
{
	unsigned long at = vma->vm_start;
	size_t done;
	int err;

	if (vma->vm_end - vma->vm_start != bytes || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	/* A forked child has no endpoint. */
	emx_vma_set_flags(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	for (done = 0; done < bytes; done += PAGE_SIZE) {
		err = vm_insert_page(vma, at + done, vmalloc_to_page(memory + done));
		if (err)
			return err;
	}
	return 0;
}

int emx_endpoint_map(struct emx_endpoint *ep, struct vm_area_struct *vma)
{
	switch ((u64)vma->vm_pgoff << PAGE_SHIFT) {
	case EMX_DEV_MAP_RING:
		return emx_endpoint_map_pages(vma, ep->ring, emx_endpoint_ring_bytes(ep));
	case EMX_DEV_MAP_SLOTS:
		return emx_endpoint_map_pages(vma, ep->slots, emx_endpoint_slots_bytes(ep));
	case EMX_DEV_MAP_COUNTERS:
		return emx_endpoint_map_pages(vma, ep->page, PAGE_ALIGN(sizeof(*ep->page)));
	default:
		return -EINVAL;
	}
}
