// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Counters: of boards and of their endpoints, added up when somebody asks.
 */
#include <linux/rcupdate.h>

#include "board.h"

atomic64_t emx_replies_paged;
atomic64_t emx_replies_copied;
atomic64_t emx_replies_short;

void emx_board_count(struct emx_board *board, unsigned int counter)
{
	spin_lock_bh(&board->lock);
	emx_count(&board->counters, counter, 1);
	spin_unlock_bh(&board->lock);
}

/*
 * Counters of a library, in its page. A program may write there what it likes: of the rest, our own
 * count is told.
 */
static const u8 emx_counters_of_library[] = {
	EMX_CNT_RESEND_MESSAGE,	  EMX_CNT_RESEND_CONNECT,    EMX_CNT_SHM_MESSAGE,
	EMX_CNT_DROP_TYPE,	  EMX_CNT_DROP_LENGTH,	     EMX_CNT_DROP_DATA_PART,
	EMX_CNT_DROP_FRAGMENT,	  EMX_CNT_DROP_SESSION,	     EMX_CNT_DROP_TRUC,
	EMX_CNT_DROP_NACK,	  EMX_CNT_DROP_CONNECT,	     EMX_CNT_DROP_PARTNER,
	EMX_CNT_DROP_SEQUENCE,	  EMX_CNT_DROP_CONTENT,	     EMX_CNT_DROP_EXTENSION,
	EMX_CNT_EXTENSION_AGREED, EMX_CNT_DROP_CONNECT_ROOM, EMX_CNT_DROP_ANSWER,
	EMX_CNT_SHM_PUSH,	  EMX_CNT_SHM_UNUSED,
};

/* Counters that the library watches there, to see whether large messages make progress. */
static const u8 emx_counters_watched[] = {
	EMX_CNT_RX_PULL,   EMX_CNT_RX_PULL_REPLY, EMX_CNT_TX_PULL_REPLY,
	EMX_CNT_RX_X_PULL, EMX_CNT_RX_X_DATA,	  EMX_CNT_TX_X_DATA,
};

void emx_counters_show(struct emx_endpoint *ep)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(emx_counters_watched); i++) {
		u64 now = ep->counters.v[emx_counters_watched[i]];

		if (READ_ONCE(ep->page->v[emx_counters_watched[i]]) != now)
			WRITE_ONCE(ep->page->v[emx_counters_watched[i]], now);
	}
}

static void emx_counters_add(struct emx_counters *sum, const struct emx_counters *of)
{
	unsigned int i;

	for (i = 0; i < EMX_CNT_COUNT; i++)
		sum->v[i] += READ_ONCE(of->v[i]);
}

static void emx_counters_add_endpoint(struct emx_counters *sum, const struct emx_endpoint *ep)
{
	unsigned int i;

	emx_counters_add(sum, &ep->counters);
	for (i = 0; i < ARRAY_SIZE(emx_counters_of_library); i++)
		sum->v[emx_counters_of_library[i]] +=
			READ_ONCE(ep->page->v[emx_counters_of_library[i]]);
}

void emx_counters_inherit(struct emx_board *board, const struct emx_endpoint *ep)
{
	emx_counters_add_endpoint(&board->counters, ep);
}

/* Calls f for each endpoint. Caller: RCU, board->lock. */
static void emx_counters_each(struct emx_board *board,
			      void (*f)(struct emx_endpoint *ep, struct emx_counters *sum),
			      struct emx_counters *sum)
{
	struct emx_endpoint *ep;
	unsigned int i;

	for (i = 0; i < EMX_ENDPOINTS_MAX; i++) {
		ep = rcu_dereference(board->endpoint[i]);
		if (ep)
			f(ep, sum);
	}
}

static void emx_counters_add_one(struct emx_endpoint *ep, struct emx_counters *sum)
{
	emx_counters_add_endpoint(sum, ep);
}

static void emx_counters_clear_one(struct emx_endpoint *ep, struct emx_counters *sum)
{
	memset(&ep->counters, 0, sizeof(ep->counters));
	memset(ep->page, 0, sizeof(*ep->page));
}

void emx_counters_sum(struct emx_board *board, struct emx_counters *sum)
{
	memset(sum, 0, sizeof(*sum));
	rcu_read_lock();
	spin_lock_bh(&board->lock);
	emx_counters_add(sum, &board->counters);
	emx_counters_each(board, emx_counters_add_one, sum);
	spin_unlock_bh(&board->lock);
	rcu_read_unlock();
}

void emx_counters_clear(struct emx_board *board)
{
	rcu_read_lock();
	spin_lock_bh(&board->lock);
	memset(&board->counters, 0, sizeof(board->counters));
	emx_counters_each(board, emx_counters_clear_one, NULL);
	spin_unlock_bh(&board->lock);
	rcu_read_unlock();
}
