/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Boards: the list of those that there are, attaching interfaces, counters.
 */
#ifndef EMX_LINUX_BOARD_H
#define EMX_LINUX_BOARD_H

#include <linux/etherdevice.h>

#include "ethermx.h"

struct emx_config;

/* board.c: the boards of all network namespaces */

/* From now on namespaces have lists of boards. 0 or a negative errno. Sleeps. */
int emx_boards_init(void);
void emx_boards_exit(void);
/* A board in no list, with a reference for the caller; NULL without memory. Sleeps. */
struct emx_board *emx_board_new(u32 peers);
void emx_board_put(struct emx_board *board);
/* Adds an attached board to the lists, takes it off them. Caller: rtnl. */
void emx_board_list(struct emx_board *board);
void emx_board_unlist(struct emx_board *board);
/* Lists the board by its new address. Caller: rtnl, board->lock. */
void emx_board_relist(struct emx_board *board, u64 mac);
/* The board of an interface, or NULL. Caller: rtnl. */
struct emx_board *emx_board_of_device(const struct net_device *dev);
/* An attached board of any namespace, or NULL. Caller: rtnl. */
struct emx_board *emx_board_any(void);
/* The lowest number that no board of the namespace has. Caller: rtnl. */
unsigned int emx_board_free_number(const struct net *net);
/*
 * Boards that count to that user, and those of the namespace that may come back. Caller: rtnl.
 */
unsigned int emx_boards_owned(const struct net *net, kuid_t owner);
/*
 * The board of an interface of that name that has vanished and may come back, or NULL. Caller:
 * rtnl, as for the next three.
 */
struct emx_board *emx_board_absent(const struct net *net, const char *ifname);
/* Keeps a board whose interface has vanished. Takes over the caller's reference. */
void emx_board_remember(struct emx_board *board);
void emx_board_forget(struct emx_board *board);
/* Forgets all such boards of a namespace. Returns how many. */
unsigned int emx_boards_forget(const struct net *net);
/*
 * The board of a namespace with the lowest number >= number, with a reference for the caller, or
 * NULL. Any context.
 */
struct emx_board *emx_board_find(struct net *net, unsigned int number);
/* The same for exactly that number. */
struct emx_board *emx_board_get(struct net *net, unsigned int number);
/* The board with that address in the namespace of an attached board, or NULL. Caller: RCU. */
struct emx_board *emx_board_local(const struct emx_board *board, u64 mac);
/* True if endpoints are open on it; stays so while the caller holds its lock. */
bool emx_board_in_use(const struct emx_board *board);
/* Number of boards in all namespaces. Any context. */
unsigned int emx_boards_count(void);
/* Longest frame of X DATA that the interface takes now; 0 when it is gone. Any context. */
u32 emx_board_x_frame(const struct emx_board *board);
/* Calls f, which may sleep, for each board of the namespace by its number. Sleeps. */
void emx_boards_each(struct net *net, void (*f)(struct emx_board *board, void *data), void *data);
/* Calls f for each board of the namespace in the order of attaching. Caller: rtnl. */
void emx_boards_each_attached(const struct net *net, void (*f)(struct emx_board *board, void *data),
			      void *data);
/* State of the interface's link: enum emx_link_state. */
static inline u8 emx_board_link_of(const struct net_device *dev)
{
	return netif_running(dev) && netif_oper_up(dev) ? EMX_LINK_UP : EMX_LINK_DOWN;
}

/* attach.c */

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
/* The interface has gone: detaches its board, and keeps it until it comes back. Caller: rtnl. */
void emx_board_vanish(struct emx_board *board, const struct net_device *dev);
/* Attaches an interface that is no board, if it was one before it vanished. Caller: rtnl. */
void emx_board_come_back(struct net_device *dev);

/* follow.c */

/* From now on what happens to interfaces is followed. 0 or a negative errno. */
int emx_boards_watch(void);
void emx_boards_unwatch(void);

/* counters.c */

/* Adds one to a counter of the board. Takes lock; any context. */
void emx_board_count(struct emx_board *board, unsigned int counter);
/* Sum over the board and its endpoints. */
void emx_counters_sum(struct emx_board *board, struct emx_counters *sum);
void emx_counters_clear(struct emx_board *board);
/* Adds those of an endpoint that closes. Caller: board->lock. */
void emx_counters_inherit(struct emx_board *board, const struct emx_endpoint *ep);
/* Shows the library the counters that it watches. Caller: endpoint->lock. */
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

#endif
