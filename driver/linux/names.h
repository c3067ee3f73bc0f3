/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Peers of a board, their names, and beacons.
 */
#ifndef EMX_LINUX_NAMES_H
#define EMX_LINUX_NAMES_H

#include "ethermx.h"

/* names.c */

/* Index of a board in the peer table, added when it is not there; -1 when it cannot. Takes lock. */
int emx_peer_add(struct emx_board *board, u64 mac);
/* The same for a caller that holds board->lock. */
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

#endif
