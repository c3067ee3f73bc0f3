// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Counters: of boards and of their endpoints, added up when somebody asks.
 */
#include <linux/rcupdate.h>

#include "ethermx.h"

atomic64_t emx_replies_paged;
atomic64_t emx_replies_copied;
atomic64_t emx_replies_short;

void emx_board_count(struct emx_board *board, unsigned int counter)
{
	spin_lock_bh(&board->lock);
	emx_count(&board->counters, counter, 1);
	spin_unlock_bh(&board->lock);
}

static void add(struct emx_counters *sum, const struct emx_counters *of)
{
	unsigned int i;

	for (i = 0; i < EMX_CNT_COUNT; i++)
		sum->v[i] += READ_ONCE(of->v[i]);
}

void emx_counters_inherit(struct emx_board *board, const struct emx_counters *of)
{
	add(&board->counters, of);
}

/* Calls f for the board's own counters and those of each endpoint. */
static void each(struct emx_board *board,
		 void (*f)(struct emx_counters *of, struct emx_counters *sum),
		 struct emx_counters *sum)
{
	struct emx_endpoint *ep;
	unsigned int i;

	rcu_read_lock();
	spin_lock_bh(&board->lock);
	f(&board->counters, sum);
	for (i = 0; i < EMX_ENDPOINTS_MAX; i++) {
		ep = rcu_dereference(board->endpoint[i]);
		if (ep)
			f(ep->counters, sum);
	}
	spin_unlock_bh(&board->lock);
	rcu_read_unlock();
}

static void add_one(struct emx_counters *of, struct emx_counters *sum)
{
	add(sum, of);
}

static void clear_one(struct emx_counters *of, struct emx_counters *sum)
{
	memset(of, 0, sizeof(*of));
}

void emx_counters_sum(struct emx_board *board, struct emx_counters *sum)
{
	memset(sum, 0, sizeof(*sum));
	each(board, add_one, sum);
}

void emx_counters_clear(struct emx_board *board)
{
	each(board, clear_one, NULL);
}
