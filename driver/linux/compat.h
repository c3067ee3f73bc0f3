/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Differences between the kernels that the module builds for: 6.1 and newer.
 */
#ifndef EMX_LINUX_COMPAT_H
#define EMX_LINUX_COMPAT_H

#include <linux/debugfs.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/skbuff.h>
#include <linux/version.h>
#include <net/busy_poll.h>
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
#include <linux/io_uring.h>
#else
#include <linux/io_uring/cmd.h>
#endif

/* A variable on the stack that is filled at once, which kernels of Debian's would clear before. */
#if __has_attribute(uninitialized)
#define EMX_NO_INIT __attribute__((uninitialized))
#else
#define EMX_NO_INIT
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void emx_vma_set_flags(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}
#else
static inline void emx_vma_set_flags(struct vm_area_struct *vma, vm_flags_t flags)
{
	vm_flags_set(vma, flags);
}
#endif

/*
 * Without notifiers in the kernel nobody tells that a process executes another program: its
 * endpoints stay, of no use to anybody, until it closes their files. Nor that it unmaps memory:
 * messages in it go on, in pages that the program does not see any more.
 */
#include <linux/mmu_notifier.h>
#ifdef CONFIG_MMU_NOTIFIER
static inline bool emx_unmaps(const struct mmu_notifier_range *range)
{
	return range->event == MMU_NOTIFY_UNMAP;
}
#else
static inline bool emx_unmaps(const struct mmu_notifier_range *range)
{
	return false;
}

static inline int mmu_notifier_register(struct mmu_notifier *notifier, struct mm_struct *mm)
{
	return 0;
}

static inline void mmu_notifier_unregister(struct mmu_notifier *notifier, struct mm_struct *mm)
{
}
#endif

/* For points in time of ktime_get_ns(); it ends in softirq context. */
static inline void emx_timer_setup(struct hrtimer *timer,
				   enum hrtimer_restart (*ended)(struct hrtimer *))
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	timer->function = ended;
#else
	hrtimer_setup(timer, ended, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
#endif
}

/* In a tracepoint, which gave the source of the string where it declared it. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define emx_assign_str(field, source) __assign_str(field, source)
#else
#define emx_assign_str(field, source) __assign_str(field)
#endif

/* The payload that a command has in its SQE, which its program may change at any time. */
static inline const void *emx_uring_payload(const struct io_uring_cmd *cmd)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	return cmd->cmd;
#else
	return cmd->sqe->cmd;
#endif
}

/* The page so many after another of the same folio, whose descriptors adjoin since 6.18. */
static inline struct page *emx_page_at(struct page *page, unsigned long further)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
	return nth_page(page, further);
#else
	return page + further;
#endif
}

/* An entry that could not be made, or renamed, stays away: nothing depends on it. */
static inline void emx_debugfs_change_name(struct dentry *entry, struct dentry *folder,
					   const char *name)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
	debugfs_rename(folder, entry, folder, name);
#else
	debugfs_change_name(entry, "%s", name);
#endif
}

/* Id of the NAPI that brought a frame; 0: none, or a kernel that does not tell. */
static inline unsigned int emx_skb_napi(const struct sk_buff *skb)
{
#ifdef CONFIG_NET_RX_BUSY_POLL
	return skb->napi_id >= MIN_NAPI_ID ? skb->napi_id : 0;
#else
	return 0;
#endif
}

#define emx_can_busy_poll IS_ENABLED(CONFIG_NET_RX_BUSY_POLL)

/* Polls a NAPI, once and until over() says so; at once over when it does not exist. Sleeps. */
static inline void emx_busy_poll(unsigned int napi, bool (*over)(void *, unsigned long), void *data,
				 u16 frames)
{
#ifdef CONFIG_NET_RX_BUSY_POLL
	napi_busy_loop(napi, over, data, false, frames);
#endif
}

#endif
