/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * GAMMA over MX: active and passive ports, best effort and flow control, barrier and broadcast.
 *
 * Rules that hold for every call, unless its comment says otherwise:
 *
 * - Results. Negative on error, non-negative otherwise. An error is minus one of enum gamma_error, which stands
 *   in gamma_errno, too; success does not set that back to 0.
 * - A job is a group of up to 255 processes, its nodes, numbered from 0. Lengths are bytes.
 * - Handlers run in calls that wait, in gamma_test and in gamma_tsend, of any thread; one at a time. A program
 *   that computes for long calls one of those from time to time, or lets a thread wait.
 * - Inside a handler, and inside gamma_atomic, nothing waits: calls that would are refused.
 * - Messages from one port to another arrive in the order of their sends, as far as those are of one quality.
 * - Threads. Every call may be made by any thread after gamma_init, but for gamma_exit: no other thread is in a
 *   call then. gamma_errno, gamma_active_port and gamma_msglen are each thread's own.
 *
 * Names and meanings: G. Chiola, G. Ciaccio, "GAMMA: a low-cost network of workstations based on active
 * messages" (1997), and the library's later editions. Manual page: gamma(3).
 */
#ifndef GAMMA_H
#define GAMMA_H

#include <stdint.h>

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

#define GAMMA_ALL 0xffff /* dest_node: all nodes but this one */
#define GAMMA_NO_SEMAPHORE 0xffff /* semaphore: none */
#define GO_BACK 1 /* kind: each message starts at the beginning of its buffer */
#define GAMMA_LENGTH_MAX 0x7fffffffUL /* of a message */

enum gamma_error {
	GAMMA_E_NONE = 0,
	GAMMA_E_INIT = 1, /* gamma_init comes first */
	GAMMA_E_JOB = 2, /* the job cannot be joined: the text on standard error has the remedy */
	GAMMA_E_NODE = 3, /* no such node */
	GAMMA_E_PAR_PID = 4, /* not the number of this parallel program */
	GAMMA_E_PORT = 5, /* the port is not bound here */
	GAMMA_E_BOUND = 6, /* the port is bound already */
	GAMMA_E_ARGUMENT = 7, /* unknown kind, no handler, NULL with a length, a code below 1, no such semaphore */
	GAMMA_E_LENGTH = 8, /* too long: for any message, or for the buffer that it met */
	GAMMA_E_NO_PORT = 9, /* the port is not bound at the destination */
	GAMMA_E_LOST = 10, /* best effort: messages were lost */
	GAMMA_E_BUSY = 11, /* too many pending sends or posted buffers */
	GAMMA_E_FULL = 12, /* no room at the receiver, and none may be waited for here */
	GAMMA_E_IN_HANDLER = 13, /* not inside a handler or gamma_atomic */
	GAMMA_E_PEER = 14, /* the other node is gone */
	GAMMA_E_GROUP = 15, /* the nodes do not make the same call, or are not as many as gamma_init says */
	GAMMA_E_MX = 16 /* the layer below refused: memory is exhausted, or the interface is gone */
};

/* State of a thread: for the three macros below, not for programs. */
struct gamma_thread {
	int error;
	unsigned short active_port;
	unsigned long msglen;
};
struct gamma_thread *gamma_thread_state(void);

#define gamma_errno (gamma_thread_state()->error) /* the last error of the thread */
#define gamma_active_port (gamma_thread_state()->active_port) /* in a handler: the port that it runs for */
#define gamma_msglen (gamma_thread_state()->msglen) /* and the bytes that its buffer got */

/* Static text of an error, with its remedy: any value, of either sign, never NULL, at any time. */
const char *gamma_strerror(int error);

/*
 * Joins the job, under mpirun or by a list of hosts (gamma(3)), and returns when all nodes have. `num_nodes` is
 * how many there must be, 0 for any number; argc and argv are not looked at. Errors, told on standard error,
 * too: GAMMA_E_JOB, GAMMA_E_GROUP. One thread.
 */
int gamma_init(unsigned char num_nodes, int argc, char **argv);

/*
 * Leaves the job: ends what flow-controlled sends are pending, then waits until all nodes that live leave, too.
 * Messages that come meanwhile are dropped. One thread. Errors: GAMMA_E_INIT, GAMMA_E_IN_HANDLER.
 */
int gamma_exit(void);

/* Ends all processes of the job with status 1: this one at once, others in their next call that waits or tests. */
int gamma_abort(void);

int gamma_my_node(void);
int gamma_my_par_pid(void); /* number of this parallel program: GAMMA_PAR_PID, or 0 */
int gamma_how_many_nodes(void);

/*
 * Binds a port, once: messages sent by it go to `dest_port` of `dest_node` (or of all others, GAMMA_ALL);
 * messages that come to it, from any node, go to `buf`, which holds `size` bytes and is the library's until a
 * message is complete. Then `handler` runs, and `semaphore` is signalled when it has returned. `dest_par_pid` is
 * that of gamma_my_par_pid, `kind` GO_BACK. One message takes one buffer; a NULL `buf` posts none.
 * All nodes bind their ports, then call gamma_sync, then send.
 * Errors: GAMMA_E_BOUND, GAMMA_E_NODE, GAMMA_E_PAR_PID, GAMMA_E_ARGUMENT, GAMMA_E_INIT, GAMMA_E_MX.
 */
int gamma_set_active_port(unsigned short port, unsigned short dest_node, unsigned char dest_par_pid,
			  unsigned short dest_port, void (*handler)(void), unsigned short semaphore,
			  unsigned char kind, void *buf, unsigned long size);

/* The same without a handler: `semaphore` is signalled when a message is complete. */
int gamma_set_passive_port(unsigned short port, unsigned short dest_node, unsigned char dest_par_pid,
			   unsigned short dest_port, unsigned short semaphore, unsigned char kind,
			   void *buf, unsigned long size);

/*
 * Posts the next buffer of a port, behind those that it has; the library's as above. A buffer of 0 bytes, which
 * may be NULL, takes an empty message. A message that is longer than its buffer is cut, and told: GAMMA_E_LENGTH
 * as by gamma_sigerr at the port's semaphore. Errors: GAMMA_E_PORT, GAMMA_E_BUSY (1024 are posted),
 * GAMMA_E_ARGUMENT, GAMMA_E_MX.
 */
int gamma_post_recv(unsigned short port, void *buf, unsigned long size);

/*
 * Sends by a port, best effort: without flow control. The network's losses are made good, but a message is lost
 * when the receiver has no buffer for it and holds eight others of this node for that port already (none, if it
 * is longer than 32 KiB), or when this node has too much under way. A loss is told as by gamma_sigerr with
 * GAMMA_E_LOST at the semaphore of the port that knows of it: the receiver's in the first case, else the
 * sender's. Returns when the memory may be used again. Waits only with more than 32 KiB.
 * Errors: GAMMA_E_PORT, GAMMA_E_LENGTH, GAMMA_E_ARGUMENT, GAMMA_E_PEER, GAMMA_E_IN_HANDLER (it would have to
 * wait). That the destination has not bound its port is told later: GAMMA_E_NO_PORT at the port's semaphore.
 */
int gamma_send(unsigned short port, const void *buf, unsigned long len);
int gamma_send_2p(unsigned short port, const void *buf1, unsigned long len1, const void *buf2, unsigned long len2);

/*
 * The same, reliable and flow controlled: each message finds its buffer, however late that is posted. Waits while
 * the receiver holds 64 KiB of this node for that port, in messages that count for 4 KiB at least; handlers run
 * meanwhile. On a port to GAMMA_ALL the slowest node sets the pace. Inside a handler GAMMA_E_FULL instead.
 */
int gamma_send_flowctl(unsigned short port, const void *buf, unsigned long len);
int gamma_send_2p_flowctl(unsigned short port, const void *buf1, unsigned long len1, const void *buf2,
			  unsigned long len2);

/*
 * The same without waiting: the memory is the library's until gamma_wsend returned or gamma_tsend said 1.
 * GAMMA_E_BUSY: 256 sends of the port are pending. They go on in any call that waits or tests.
 */
int gamma_isend(unsigned short port, const void *buf, unsigned long len);
int gamma_isend_2p(unsigned short port, const void *buf1, unsigned long len1, const void *buf2, unsigned long len2);
int gamma_isend_flowctl(unsigned short port, const void *buf, unsigned long len);
int gamma_isend_2p_flowctl(unsigned short port, const void *buf1, unsigned long len1, const void *buf2,
			   unsigned long len2);

/*
 * Waits for the end of all non-blocking sends of a port. Returns 0, or the first error of those that ended since
 * it was last asked: GAMMA_E_PEER. Others: GAMMA_E_PORT, GAMMA_E_IN_HANDLER.
 */
int gamma_wsend(unsigned short port);
int gamma_tsend(unsigned short port); /* The same without waiting: 1: ended; 0: not yet. */

/* Messages of best effort that this port knows to be lost: since it was bound, modulo 2^31. */
int gamma_lost(unsigned short port);

/*
 * Counting semaphores, numbered from 0 to 65534, all 0 at first. gamma_signal adds 1. gamma_wait waits for n
 * signals and takes them; 0 takes none. gamma_test takes one and returns 1, or returns 0 if there is none.
 * gamma_sigerr ends each gamma_wait of that semaphore that is under way, with minus `code`; if none is,
 * the next gamma_wait or gamma_test gets it. Several of one code that none has got yet count as one.
 * Errors: GAMMA_E_ARGUMENT, GAMMA_E_IN_HANDLER (gamma_wait), and codes of gamma_sigerr; of the library's own:
 * GAMMA_E_LOST, GAMMA_E_LENGTH, GAMMA_E_NO_PORT, and GAMMA_E_PEER when a node has died that a port with this
 * semaphore sends to.
 */
int gamma_signal(unsigned short semaphore);
int gamma_wait(unsigned short semaphore, unsigned long n);
int gamma_test(unsigned short semaphore);
int gamma_sigerr(unsigned short semaphore, int code);

/* Calls f while no handler runs, and lets none begin until it has returned. Errors: GAMMA_E_ARGUMENT. */
int gamma_atomic(void (*f)(void));

/*
 * Barrier: returns when all nodes have called it as often. Any threads may be in it; each call counts.
 * Errors: GAMMA_E_PEER (a node died or left without it), GAMMA_E_GROUP, GAMMA_E_IN_HANDLER. Both stay.
 */
int gamma_sync(void);

/*
 * Broadcast: `len` bytes from node `root` to all others; all call it with the same root and length. Returns when
 * the memory may be used again (at the root), or is filled. Calls with different roots do not wait for each
 * other, so threads may make them at once; those with one root go by their order in each process.
 * Errors: GAMMA_E_NODE, GAMMA_E_LENGTH, GAMMA_E_IN_HANDLER; GAMMA_E_PEER (the root is gone; at the root: some
 * node is, and all others got it); GAMMA_E_GROUP: the nodes do not agree on length, root or order, as far as
 * that shows, which is where one thread alone makes such calls. That one stays.
 */
int gamma_broadcast(unsigned short root, void *buf, unsigned long len);

typedef uint64_t gamma_time_t; /* nanoseconds of a clock that never goes back */
void gamma_time(gamma_time_t *now);
double gamma_time_diff(gamma_time_t from, gamma_time_t to); /* microseconds */

/*
 * Keep memory resident: a hint. MX pins what it transfers itself, so that a refusal by the system is no error.
 * gamma_munlockall undoes all that gamma_mlock did. Errors: GAMMA_E_ARGUMENT.
 */
int gamma_mlock(void *buf, unsigned long size);
int gamma_munlock(void *buf, unsigned long size);
int gamma_munlockall(void);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif /* GAMMA_H */
