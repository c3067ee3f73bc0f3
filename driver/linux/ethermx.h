/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared by the files of the kernel host: what a board and an endpoint are, and which file does
 * what.
 *
 * Contexts: boards come and go under rtnl; the list is read under RCU too. Frames arrive in softirq
 * context (rx.c); commands come from processes (command.c); pulls have timers (pull.c).
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
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <emx/dev.h>

#include "compat.h"
#include "fw.h"

struct emx_endpoint;

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

struct emx_piece {
	u64 begin; /* position of its first byte in the region */
	unsigned long first; /* its first page: index in pages */
	u32 offset; /* of its first byte in that page */
	u64 address; /* in its process */
};

/*
 * User memory, one piece behind the other: pinned, or loose. Whoever uses it without the endpoint's
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
	u32 x_fragment; /* bytes of data in an X MEDIUM that it sends and receives, at most */
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

/* Settings that the administrator chose. */
struct emx_config {
	unsigned int endpoints; /* numbers at and above it do not exist */
	unsigned int frame_size; /* 0: dialect W; else dialect N with frames of that size, bytes */
	unsigned int peers; /* slots in a board's peer table */
};

/* main.c */

/* Parameters of the module, for boards attached at run time. */
extern struct emx_config emx_defaults;
/* For work that waits for no user's memory; flushed before the module goes. */
extern struct workqueue_struct *emx_workqueue;
/* Boards that one user may have in all user namespaces of its own. */
extern unsigned int emx_user_boards;

/* board.c */

/* 0, or -EINVAL after telling in the log what is out of range. */
int emx_config_check(const struct emx_config *config);
/*
 * Attaches the interface of that name in that network namespace; the firmware sizes must fit its
 * MTU. Sleeps. Returns the board's number or a negative errno, after telling the reason in the log.
 */
int emx_board_attach(struct net *net, const char *ifname, const struct emx_config *config);
/*
 * Ends the board of that interface, also one that has vanished and may come back; without a name
 * all of those. Sleeps. 0, -ENODEV, or -EBUSY when it has endpoints.
 */
int emx_board_detach(struct net *net, const char *ifname);
/* Detaches every board and waits until no frame is in our hands. Sleeps. */
void emx_boards_detach(void);
/* From now on what happens to interfaces is followed. 0 or a negative errno. */
int emx_boards_watch(void);
void emx_boards_unwatch(void);
/*
 * The board of a namespace with the lowest number >= number, with a reference for the caller, or
 * NULL. Any context.
 */
struct emx_board *emx_board_find(struct net *net, unsigned int number);
/* The same for exactly that number. */
struct emx_board *emx_board_get(struct net *net, unsigned int number);
void emx_board_put(struct emx_board *board);
/* The board with that address in the namespace of an attached board, or NULL. Caller: RCU. */
struct emx_board *emx_board_local(const struct emx_board *board, u64 mac);
/* True if endpoints are open on it; stays so for who holds its lock. */
bool emx_board_in_use(const struct emx_board *board);
/* Number of boards in all namespaces. Any context. */
unsigned int emx_boards_count(void);
/* Longest frame of X DATA that the interface takes now; 0 when it is gone. Any context. */
u32 emx_board_x_frame(const struct emx_board *board);
/* Calls f for each board of the namespace; rtnl is held, f may sleep. */
void emx_boards_each(struct net *net, void (*f)(struct emx_board *board, void *data), void *data);

/* rx.c */

/* packet_type handler of a board; consumes the skb. Softirq context. */
int emx_rx(struct sk_buff *skb, struct net_device *dev, struct packet_type *pt,
	   struct net_device *orig_dev);
/* Takes frames of this namespace's boards off board->loop. */
void emx_rx_loop(struct tasklet_struct *task);
/*
 * Executes an effect of the core and, when more is nonzero, those that wait behind it; arms the
 * timer. skb: the frame that caused them, or NULL. Frames to send are added to out. Caller:
 * endpoint->lock.
 */
void emx_effects(struct emx_endpoint *ep, struct fw_fx *fx, int more, struct sk_buff *skb,
		 struct sk_buff_head *out);

/* tx.c: none of these is called with a lock held, unless it says so */

/* A frame that is all header, padded to the minimum; NULL without memory. Any lock. */
struct sk_buff *emx_tx_header(const struct emx_board *board, const void *header, u32 length);
/* A frame with a payload copied from user memory, or an ERR_PTR: -ENOMEM, -EFAULT. Sleeps. */
struct sk_buff *emx_tx_user(const struct emx_board *board, const void *header, u32 length,
			    const void __user *payload, u32 bytes);
/*
 * A frame with a payload out of a region, which must hold it: its pages themselves, or a copy where
 * the interface cannot do that. NULL without memory. Caller: lock of the region's endpoint.
 */
struct sk_buff *emx_tx_region(const struct emx_board *board, const void *header, u32 length,
			      const struct emx_region *region, u64 position, u32 bytes);
/*
 * A frame with a payload copied from a loose region, whose address space the caller uses; or an
 * ERR_PTR: -ENOMEM, -EFAULT. Sleeps.
 */
struct sk_buff *emx_tx_loose(const struct emx_board *board, const void *header, u32 length,
			     const struct emx_region *region, u64 position, u32 bytes);
/*
 * Sends a frame, to the wire or to a board of this namespace; consumes it. 0 or -EIO, counted: also
 * of a frame that is longer than the interface takes by now. Any context.
 */
int emx_tx(struct emx_board *board, struct sk_buff *skb);
/* Sends all frames of a list, sums up those that emx_sum_later() has marked. */
void emx_tx_all(struct emx_board *board, struct sk_buff_head *frames);

/* sum.c: checksums of the EtherMX extension */

/*
 * True if the checksum of an X MEDIUM or X DATA fits, or there is none; of X MEDIUM, the core need
 * not look then. Other packets have none. Any context.
 */
bool emx_sum_fits(struct sk_buff *skb, struct fw_pkt *pkt);
/* Makes emx_tx_all() fill in the checksum of a frame of X DATA with so many bytes of data. */
void emx_sum_later(struct sk_buff *skb, u32 bytes);
/* Fills in the checksum of a frame so marked; others stay as they are. Any context. */
void emx_sum_now(struct sk_buff *skb);
/* True if a run of replies is to have checksums. */
static inline bool emx_sum_wanted(const struct fw_replies *run)
{
	return run->reply.msg.type == EMX_X_DATA && run->reply.x.sum;
}

/* endpoint.c */

/*
 * Makes an endpoint for the current process and fills what claim tells; an ERR_PTR as
 * EMX_IOC_CLAIM says. Sleeps.
 */
struct emx_endpoint *emx_endpoint_claim(struct net *net, struct emx_dev_claim *claim);
/*
 * Nothing comes in or goes out any more, pages are unpinned. Repeated calls do nothing. Sleeps.
 * Whoever ends the last use of the process's address space calls it, too.
 */
void emx_endpoint_close(struct emx_endpoint *ep);
/* Frees a closed endpoint, later. */
void emx_endpoint_free(struct emx_endpoint *ep);
/* The board's link state changed: each endpoint gets an event. Takes endpoint->lock. */
void emx_endpoints_link(struct emx_board *board, u8 state);
/* Maps a part of the endpoint (EMX_DEV_MAP_*). 0, -EINVAL, -ENOMEM. */
int emx_endpoint_map(struct emx_endpoint *ep, struct vm_area_struct *vma);

/* event.c; caller: endpoint->lock */

/*
 * Appends the event of a frame with its payload, data_len bytes at offset `source` of the skb;
 * false when there is no room.
 */
bool emx_event_frame(struct emx_endpoint *ep, const struct emx_msg *msg, const struct sk_buff *skb,
		     u32 source);
/* Appends the event that a running pull has kept room for. */
void emx_event_pull(struct emx_endpoint *ep, const struct emx_msg *msg);
/* Tells the link state that is owed, as soon as there is room. */
void emx_event_link(struct emx_endpoint *ep);
/* True if another pull can keep room for its event. */
bool emx_event_room(const struct emx_endpoint *ep);

/* poll.c */

/* A frame has come for the endpoint. Caller: endpoint->lock. */
void emx_poll_note(struct emx_endpoint *ep, const struct sk_buff *skb);
/* EMX_IOC_POLL. Sleeps. */
int emx_poll(struct emx_endpoint *ep, struct emx_dev_poll *poll);

/* wait.c */

void emx_wait_init(struct emx_endpoint *ep);
/* Nobody sleeps, nor will. Sleeps. */
void emx_wait_exit(struct emx_endpoint *ep);
/* EMX_IOC_WAIT. Sleeps. Returns what that does. */
long emx_wait(struct emx_endpoint *ep, const struct emx_dev_wait *wait);
/* EMX_IOC_WAKE. */
void emx_wake(struct emx_endpoint *ep);

/* command.c */

extern atomic64_t emx_uring_commands; /* executed for io_uring */

/* Executes a command whose structure was copied from user memory. 0 or a negative errno. Sleeps. */
int emx_command(struct emx_endpoint *ep, const struct emx_dev_command *command);
/* True if that may take long: pin or unpin memory, or wait for who writes to it. */
bool emx_command_waits(const struct emx_dev_command *command);

/* region.c */

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

static inline bool emx_ranges_meet(const struct emx_range *a, const struct emx_range *b)
{
	return a->begin < b->end && b->begin < a->end;
}

/* idle.c: regions that stay pinned between messages */

void emx_idle_init(struct emx_endpoint *ep);
/* With the endpoint withdrawn: there are none any more. Sleeps. */
void emx_idle_close(struct emx_endpoint *ep);
/* An idle region that has those addresses, for the caller; or NULL. Takes endpoint->lock. */
struct emx_region *emx_idle_take(struct emx_endpoint *ep, u64 address, u64 length, bool write);
/* Takes over the region, and its reference; false when it is not to stay. Caller: lock. */
bool emx_idle_add(struct emx_endpoint *ep, struct emx_region *region);
/* Unpins, later, what has one of those addresses: they change. Caller: endpoint->lock. */
void emx_idle_changed(struct emx_endpoint *ep, const struct emx_range *range);
/* Unpins all; false when there are none. Sleeps. */
bool emx_idle_release(struct emx_endpoint *ep);
/* Pages of idle regions at this moment, of all. */
u64 emx_idle_pages(void);
/* Count of messages that found their memory pinned, since the module was loaded. */
extern atomic64_t emx_idle_taken;

/* loose.c: regions that are not pinned, served by a thread that borrows the address space */

/* Prepares an endpoint. */
void emx_loose_init(struct emx_endpoint *ep);
/*
 * A new region, or an ERR_PTR, ready to be used by that endpoint should it be loose; else takes
 * over the region, and gives an ERR_PTR. Sleeps.
 */
struct emx_region *emx_loose_ready(struct emx_endpoint *ep, struct emx_region *region);
/* With the endpoint closed: nothing waits any more. Sleeps. */
void emx_loose_free(struct emx_endpoint *ep);
/* Takes a frame to be copied to a loose region of a pull. Caller: endpoint->lock. */
void emx_loose_copy(struct emx_endpoint *ep, const struct fw_fx *fx, struct sk_buff *skb);
/* Takes a run of replies from a loose window. Caller: endpoint->lock. */
void emx_loose_reply(struct emx_endpoint *ep, const struct fw_replies *run);
/* True if data of pulls has to be dropped for now. Caller: endpoint->lock. */
bool emx_loose_full(const struct emx_endpoint *ep);
/* Waits until nothing is copied any more for what was cancelled. Sleeps. */
void emx_loose_flush(struct emx_endpoint *ep);
/* Throws away what waits; the endpoint is closed. Sleeps. */
void emx_loose_close(struct emx_endpoint *ep);
/* Regions that could not be pinned, since the module was loaded. */
extern atomic64_t emx_regions_loose;

/* window.c */

int emx_window_open(struct emx_endpoint *ep, const struct emx_dev_command *command);
int emx_window_close(struct emx_endpoint *ep, const struct emx_dev_command *command);
/*
 * Builds the frames of a run of replies; false when the program has given up the memory. Caller:
 * endpoint->lock.
 */
bool emx_window_reply(struct emx_endpoint *ep, struct fw_replies *run, struct sk_buff_head *out);
/*
 * Something changes about those addresses. unmaps: they are another memory's from now on, and who
 * pulls from there is refused. Loose regions notice by themselves. Caller: endpoint->lock, and the
 * endpoint is open; so for the next.
 */
void emx_windows_changed(struct emx_endpoint *ep, const struct emx_range *range, bool unmaps);

/* pull.c */

int emx_pull_start(struct emx_endpoint *ep, const struct emx_dev_command *command);
int emx_pull_cancel(struct emx_endpoint *ep, const struct emx_dev_command *command);
/* Places the payload of a reply, now or by a DMA engine. Caller: endpoint->lock. */
void emx_pull_copy(struct emx_endpoint *ep, const struct fw_fx *fx, struct sk_buff *skb);
/* Copies bytes of a frame into a region, by the processor. */
void emx_pull_copy_now(const struct emx_region *region, u64 position, const struct sk_buff *skb,
		       u32 from, u32 bytes);
/* A frame less is being copied into the region, which may be gone now. Caller: endpoint->lock. */
void emx_pull_copied(struct emx_endpoint *ep, struct emx_region *region);
/* Pulls to there fail. Caller: likewise. */
void emx_pulls_changed(struct emx_endpoint *ep, const struct emx_range *range, bool unmaps,
		       struct sk_buff_head *out);
/* Ends all pulls without telling, and waits until nothing writes any more. Sleeps. */
void emx_pull_end_all(struct emx_endpoint *ep);
/* The core says that a pull has ended: tells the program. Caller: endpoint->lock. */
void emx_pull_done(struct emx_endpoint *ep, const struct emx_msg *msg);
/* Sets the timer for when the core wants it. Caller: endpoint->lock. */
void emx_pull_arm(struct emx_endpoint *ep);
/* Timer of an endpoint. */
enum hrtimer_restart emx_pull_timer(struct hrtimer *timer);

/* offload.c: copies by a DMA engine, where there is one */

/* Bytes of pulls copied by the processor, by a DMA engine; frames that one failed to copy. */
extern atomic64_t emx_copied_cpu;
extern atomic64_t emx_copied_dma;
extern atomic64_t emx_dma_failed;
void emx_offload_init(void);
/* Without endpoints. Sleeps. */
void emx_offload_exit(void);
/*
 * Starts the copy of bytes of a frame into the region of a pull; emx_pull_copied() follows. false
 * when the processor is to do it. Caller: endpoint->lock.
 */
bool emx_offload_copy(struct emx_endpoint *ep, struct emx_region *region, u64 position,
		      struct sk_buff *skb, u32 from, u32 bytes);

/* names.c */

/* Index of a board in the peer table, added when it is not there; -1 when it cannot. Takes lock. */
int emx_peer_add(struct emx_board *board, u64 mac);
/* The same for a caller who holds board->lock. */
int emx_peer_add_locked(struct emx_board *board, u64 mac);
/* The same for a peer that is not to be asked for its name. */
int emx_peer_place_locked(struct emx_board *board, u64 mac);
/*
 * EMX_DEV_PEER_KEEP and EMX_DEV_PEER_RELEASE of an endpoint; all of them end when it closes. 0 or a
 * negative errno. Take board->lock; the last one's caller holds it.
 */
int emx_peer_keep(struct emx_endpoint *ep, u32 index, u64 mac);
int emx_peer_release(struct emx_endpoint *ep, u32 index);
void emx_peers_release(struct emx_endpoint *ep);
/* True if the address is that of a board of the same host, both attached. Any context. */
bool emx_peer_is_local(const struct emx_board *board, u64 mac);
/* Work that asks peers for their names; and has it begin soon, but never too often. */
void emx_names_work(struct work_struct *work);
void emx_names_soon(struct emx_board *board);
/* Work that sends beacons. */
void emx_beacons_work(struct work_struct *work);
/* Beacons of a board that begins, or comes up. Takes lock. */
void emx_beacons_start(struct emx_board *board);
/* A beacon came. Caller: board->lock, RCU. */
void emx_beacons_heard(struct emx_board *board, const struct fw_fx *fx);
/* EMX_IOC_NAMES and EMX_IOC_PEER on structures of the kernel's. 0 or a negative errno. */
int emx_names(struct net *net, const struct emx_dev_names *names);
int emx_peer(struct emx_board *board, struct emx_dev_peer *peer);
/* EMX_IOC_PEERS. */
int emx_peers(struct emx_board *board, struct emx_dev_peers *list);

/* counters.c */

/* Adds one to a counter of the board. Takes lock; any context. */
void emx_board_count(struct emx_board *board, unsigned int counter);
/* Sum over the board and its endpoints. */
void emx_counters_sum(struct emx_board *board, struct emx_counters *sum);
void emx_counters_clear(struct emx_board *board);
/* Adds those of an endpoint that closes. Caller: board->lock. */
void emx_counters_inherit(struct emx_board *board, const struct emx_endpoint *ep);
/* Shows the library what it watches of ours. Caller: endpoint->lock. */
void emx_counters_show(struct emx_endpoint *ep);
/* The counter for a run of replies, frame by frame. */
static inline unsigned int emx_reply_counter(const struct fw_replies *run)
{
	return run->reply.msg.type == EMX_X_DATA ? EMX_CNT_TX_X_DATA : EMX_CNT_TX_PULL_REPLY;
}

/* Payloads of replies, also X DATA: left as pages, had to be copied, copied as they are short. */
extern atomic64_t emx_replies_paged;
extern atomic64_t emx_replies_copied;
extern atomic64_t emx_replies_short;

/* admin.c: ioctls that need privileges, and those that only ask */

/* Answers EMX_IOC_BOARD. Sleeps. */
int emx_admin_board(struct net *net, struct emx_dev_board *info);
int emx_admin_endpoint(struct net *net, struct emx_dev_endpoint *info);
int emx_admin_counters(struct net *net, struct emx_dev_counters *request);
int emx_admin_names(struct net *net, const struct emx_dev_names *names);
int emx_admin_peers(struct net *net, struct emx_dev_peers *list);
int emx_admin_attach(struct net *net, struct emx_dev_attach *request);
int emx_admin_detach(struct net *net, struct emx_dev_detach *request);

/* device.c */

/* The character device. 0 or a negative errno. */
int emx_device_add(void);
void emx_device_remove(void);

/* debugfs.c */

/*
 * /sys/kernel/debug/ethermx/: "memory", and one directory per board, named by its interface (and
 * its network namespace, unless that is the first), with "board", "counters", "endpoints" and
 * "peers".
 */
void emx_debugfs_init(void);
void emx_debugfs_exit(void);
void emx_debugfs_add(struct emx_board *board, const struct net_device *dev);
/* The interface has another name now. */
void emx_debugfs_rename(struct emx_board *board, const struct net_device *dev);
void emx_debugfs_remove(struct emx_board *board);

/* selftest.c */

/* Decodes and encodes known frames with this build of the core; 0, or -EIO, reason logged. */
int emx_selftest(void);

#endif
