/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state that the files of the module share: boards, endpoints, and the locks of both. The
 * functions are declared in a header for each concern: config.h, board.h, names.h, endpoint.h,
 * region.h, large.h, group.h, tx.h, effects.h, control.h.
 *
 * Contexts: boards come and go under rtnl; the list is read under RCU too. Frames arrive in softirq
 * context (rx.c); commands come from processes (command.c); pulls have timers (effects.c).
 *
 * Locks, always with softirqs off, the endpoint's before the board's:
 *   endpoint->lock  the core's state of the endpoint, its regions, its side of the event ring
 *   board->lock     the board's peer table (its writer), name and counters, and ep_state, which
 *                   changes under both locks
 * Frames to send are built under a lock, are summed up and leave after it was released.
 */
#ifndef EMX_LINUX_ETHERMX_H
#define EMX_LINUX_ETHERMX_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <emx/dev.h>

#include "fw.h"
#include "fw_group.h"

struct emx_endpoint;
struct emx_region;

/* Places of an endpoint for payloads that are longer than its slots, at most. */
#define EMX_LONG_SLOTS 64

/* An attached interface. It is freed with its last endpoint, which may be long after. */
struct emx_board {
	struct list_head list; /* of its namespace: the boards, or the absent; rtnl, readers RCU */
	struct list_head all; /* attached ones of all namespaces; rtnl */
	struct hlist_node by_index; /* of the namespace, by its interface's index; rtnl */
	struct hlist_node by_mac; /* the same, by address; rtnl, readers RCU */
	int ifindex;
	kuid_t owner; /* to whom it counts; invalid: to nobody */
	struct kref ref; /* the list's, and one for each endpoint */
	struct net_device __rcu *dev; /* NULL once detached */
	char ifname[IFNAMSIZ]; /* its name when it vanished */
	struct net *net; /* valid while it is in a list */
	netdevice_tracker dev_tracker;
	struct packet_type packet_type;
	struct dentry *debugfs;
	unsigned int number; /* lowest that was free in its namespace; part of the board's name */
	unsigned int headroom; /* for frames: the interface's wish */
	unsigned int tailroom;
	bool gather; /* the interface sends from several pieces of memory */
	u8 link; /* enum emx_link_state; rtnl */
	unsigned int mtu; /* when it changed last; rtnl */
	struct sk_buff_head loop; /* frames from boards of this namespace; its own lock */
	struct tasklet_struct loop_task;
	struct delayed_work name_work;
	struct fw_questions questions; /* lock */
	kuid_t *added; /* lock; by peers: the user without rights here that asked for it, or none */
	u16 *kept; /* lock; by peers: endpoints that keep the index */
	struct delayed_work beacon_work;
	struct fw_beacons beacons; /* lock */
	struct emx_endpoint __rcu *endpoint[EMX_ENDPOINTS_MAX]; /* writers: lock */
	spinlock_t lock;
	struct emx_counters counters; /* lock; of closed endpoints too */
	u32 fragment_max; /* lock; longest that a peer may send, in any dialect spoken here */
	struct fw_board fw;
};

/* Addresses of a process: begin .. end - 1. */
struct emx_range {
	unsigned long begin;
	unsigned long end;
};

struct emx_pull {
	struct emx_region *region; /* NULL: slot is free */
	u64 cookie; /* the program's */
	u64 serial; /* ours, which the core keeps: unlike cookies it never repeats */
};

/* An open endpoint: of the file that claimed it, and found by frames under RCU. */
struct emx_endpoint {
	struct emx_board *board; /* holds a reference */
	struct fw_endpoint *fw; /* lock */
	spinlock_t lock;
	bool open; /* lock; false: only memory is left */
	u8 link_told; /* lock; newest state in the ring */
	u8 link_owed; /* lock; state to tell */
	unsigned long *kept; /* board->lock; peers whose indexes it keeps */
	struct emx_counters counters; /* lock; what the module and its core count */
	/* Mapped, hence hostile: the event ring, its slots, the library's counters. */
	struct fw_ring *ring;
	void *slots;
	struct emx_counters *page;
	u32 ring_mask;
	u32 slot_bytes;
	u32 x_fragment; /* longest X MEDIUM and X PACK that it sends and receives, bytes of data */
	u32 head; /* lock; ours: the mapped one is for the program */
	u32 reserved; /* lock; entries kept free for events of running pulls */
	wait_queue_head_t wait;
	atomic_t wakes; /* EMX_IOC_WAKE */
	struct hrtimer wait_timer; /* ends all sleeps */
	spinlock_t wait_lock;
	u32 wait_ends; /* wait_lock; how often it has ended */
	u64 wait_ns; /* wait_lock; when it ends, if it runs */
	/* Longer payloads have places behind the slots, used in turn. */
	u32 long_slots; /* how many; 0: no payload is longer */
	u32 long_bytes; /* of each */
	u32 long_first; /* lock; the oldest in use */
	u32 long_used; /* lock */
	u32 long_entry[EMX_LONG_SLOTS]; /* lock; number of the ring's entry that has it */
	/* Busy polling. */
	unsigned int napi; /* lock; that brought the last frame from the wire; 0: unknown */
	const struct task_struct *poller; /* lock; the thread that polls it now */
	u32 polled; /* lock; frames that this polling has brought */
	/* Groups. */
	struct mutex group_mutex; /* of those who join and leave */
	struct fw_groups groups; /* lock; changes under group_mutex */
	/* Large messages. */
	struct emx_region **window; /* lock; by fw_window_slot */
	struct emx_pull *pull; /* lock; by the core's slot */
	u64 pull_serial; /* lock */
	struct hrtimer timer;
	u64 timer_ns; /* lock; when it ends, if it is queued */
	u32 ending; /* lock; regions that are over and still copied to */
	wait_queue_head_t ended; /* told when that is none */
	struct list_head offered; /* lock; pinned regions of windows, while it is open */
	struct emx_range offered_range; /* lock; has all of those since there were none */
	struct list_head dead; /* lock; regions to unpin */
	struct work_struct reap;
	struct list_head idle; /* lock; regions between two messages, while it is open */
	u32 idle_count; /* lock */
	u32 idle_pages; /* lock */
	struct delayed_work idle_work;
	u64 changes; /* lock; of the memory of its process */
	u32 changing; /* lock; of those, how many are under way */
	struct sk_buff_head loose_frames; /* lock; for loose regions of pulls */
	struct list_head loose_runs; /* lock; replies from loose windows */
	u32 loose_run_count; /* lock */
	struct work_struct loose_work;
	struct workqueue_struct *loose_queue; /* set once */
	struct rcu_work free;
	/* The process of the endpoint. */
	struct mm_struct *mm; /* whose addresses the commands contain; only its structure is held */
	struct mmu_notifier notifier; /* tells when those are gone */
	bool watched;
	pid_t tgid;
	struct pid *pid;
	kuid_t uid;
	char command[TASK_COMM_LEN];
};

#endif
