// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Sleeping for a program (EMX_IOC_WAIT): what poll(2) does for three descriptors, at a fourth of
 * its cost.
 *
 * The timer of an endpoint is not stopped when a sleep ends. A later deadline finds it running, and
 * ends with it, which is earlier than asked for: so programs that sleep often, with deadlines that
 * move on, hardly ever set it.
 */
#include <linux/file.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>

#include "compat.h"
#include "endpoint.h"

#define NEVER U64_MAX /* the timer does not run */
#define LONGEST_NS (NSEC_PER_SEC / 2)
#define WAKES_MASK GENMASK(EMX_WAIT_BITS - 1, 0)
#define SLACK_NS (50 * NSEC_PER_USEC)

/* A file that the program watches, registered for one sleep. */
struct emx_watched {
	struct poll_table_struct table;
	struct wait_queue_entry entry;
	wait_queue_head_t *queue;
	struct file *file;
	bool several; /* queues, of which only the first is registered */
	bool ready;
};

static int emx_wait_on_news(wait_queue_entry_t *entry, unsigned int mode, int flags, void *key)
{
	struct emx_watched *w = container_of(entry, struct emx_watched, entry);

	if (key && !(key_to_poll(key) & (EPOLLIN | EPOLLERR | EPOLLHUP)))
		return 0;
	WRITE_ONCE(w->ready, true);
	return default_wake_function(entry, mode, flags, key);
}

static void emx_wait_on_queue(struct file *file, wait_queue_head_t *queue, poll_table *table)
{
	struct emx_watched *w = container_of(table, struct emx_watched, table);

	w->several = w->queue;
	if (w->several)
		return;
	w->queue = queue;
	add_wait_queue(queue, &w->entry);
}

static int emx_wait_watch(struct emx_watched *w, int fd)
{
	*w = (struct emx_watched){};
	w->file = fget(fd);
	if (!w->file)
		return -EBADF;
	init_waitqueue_func_entry(&w->entry, emx_wait_on_news);
	w->entry.private = current;
	init_poll_funcptr(&w->table, emx_wait_on_queue);
	if (vfs_poll(w->file, &w->table) & (EPOLLIN | EPOLLERR | EPOLLHUP))
		WRITE_ONCE(w->ready, true);
	return w->several ? -EINVAL : 0;
}

static void emx_wait_unwatch(struct emx_watched *w)
{
	if (w->queue)
		remove_wait_queue(w->queue, &w->entry);
	if (w->file)
		fput(w->file);
}

/* Why there is nothing to wait for: EMX_WAIT_*. */
static long emx_wait_news(const struct emx_endpoint *ep, const struct emx_dev_wait *wait,
			  const struct emx_watched *w)
{
	const u32 wakes = atomic_read(&ep->wakes);

	if (!READ_ONCE(ep->open))
		return EMX_WAIT_CLOSED;
	return (READ_ONCE(ep->head) != READ_ONCE(ep->ring->tail) ? EMX_WAIT_EVENT : 0) |
	       (w && READ_ONCE(w->ready) ? EMX_WAIT_WATCHED : 0) |
	       ((wakes ^ wait->wakes) & WAKES_MASK ? EMX_WAIT_WOKEN : 0);
}

/* Caller: stands in the queue already. */
static void emx_wait_set_timer(struct emx_endpoint *ep, u64 deadline)
{
	deadline = min_t(u64, deadline, KTIME_MAX);
	if (deadline >= READ_ONCE(ep->wait_ns))
		return;
	spin_lock_bh(&ep->wait_lock);
	deadline = min(deadline, ktime_get_ns() + LONGEST_NS);
	if (deadline < ep->wait_ns) {
		WRITE_ONCE(ep->wait_ns, deadline);
		hrtimer_start_range_ns(&ep->wait_timer, ns_to_ktime(deadline), SLACK_NS,
				       HRTIMER_MODE_ABS_SOFT);
	}
	spin_unlock_bh(&ep->wait_lock);
}

static enum hrtimer_restart emx_wait_on_time(struct hrtimer *timer)
{
	struct emx_endpoint *ep = container_of(timer, struct emx_endpoint, wait_timer);

	/* Before those in the queue are woken: those that join it later set the timer anew. */
	spin_lock(&ep->wait_lock);
	WRITE_ONCE(ep->wait_ns, NEVER);
	WRITE_ONCE(ep->wait_ends, ep->wait_ends + 1);
	spin_unlock(&ep->wait_lock);
	wake_up_interruptible(&ep->wait);
	return HRTIMER_NORESTART;
}

void emx_wait_init(struct emx_endpoint *ep)
{
	init_waitqueue_head(&ep->wait);
	spin_lock_init(&ep->wait_lock);
	ep->wait_ns = NEVER;
	emx_timer_setup(&ep->wait_timer, emx_wait_on_time);
}

void emx_wait_exit(struct emx_endpoint *ep)
{
	hrtimer_cancel(&ep->wait_timer);
}

static long emx_wait_sleep(struct emx_endpoint *ep, const struct emx_dev_wait *wait,
			   const struct emx_watched *w)
{
	const u32 ends = READ_ONCE(ep->wait_ends);
	DEFINE_WAIT(entry);
	long found;

	do {
		prepare_to_wait(&ep->wait, &entry, TASK_INTERRUPTIBLE);
		found = emx_wait_news(ep, wait, w);
		if (found || READ_ONCE(ep->wait_ends) != ends)
			break;
		if (signal_pending(current)) {
			found = -ERESTARTNOHAND;
			break;
		}
		emx_wait_set_timer(ep, wait->deadline_ns);
		schedule();
		found = emx_wait_news(ep, wait, w);
	} while (!found);
	finish_wait(&ep->wait, &entry);
	return found;
}

static noinline long emx_wait_sleep_and_watch(struct emx_endpoint *ep,
					      const struct emx_dev_wait *wait)
{
	struct emx_watched w;
	long found = emx_wait_watch(&w, wait->watched);

	if (!found)
		found = emx_wait_sleep(ep, wait, &w);
	emx_wait_unwatch(&w);
	return found;
}

long emx_wait(struct emx_endpoint *ep, const struct emx_dev_wait *wait)
{
	long found;

	found = wait->watched < 0 ? emx_wait_sleep(ep, wait, NULL)
				  : emx_wait_sleep_and_watch(ep, wait);
	if (found < 0)
		return found;
	/* A sleep that is about to end serves all wakes until now. */
	return found | (atomic_read(&ep->wakes) & WAKES_MASK) << EMX_WAIT_SHIFT;
}

void emx_wake(struct emx_endpoint *ep)
{
	atomic_inc(&ep->wakes);
	wake_up_interruptible(&ep->wait);
}
