/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * GAMMA over MX: active and passive ports, best effort and flow control, barrier and broadcast.
 *
 * Rules that hold for every call, unless its comment says otherwise:
 *
 * - Returns. Negative on error, 0 or more otherwise.
 * - Errors. An error is minus one of enum gamma_error, which stands in gamma_errno, too; success does not set
 *   that back to 0.
 * - A job is a group of up to 255 processes, its nodes, numbered from 0. Lengths are bytes.
 * - Handlers run in calls that wait, in gamma_test and in gamma_tsend, of any thread; one at a time. A program
 *   that computes for long calls one of those from time to time, or lets a thread wait.
 * - Inside a handler, and inside gamma_atomic, nothing waits: calls that would are refused.
 * - Messages from one port to another arrive in the order of their sends, as far as those are of one quality.
 * - Threads. Every call may be made by any thread after gamma_init, but for gamma_exit: no other thread is in a
 *   call then. gamma_errno, gamma_active_port and gamma_msglen are each thread's own.
 *
 * Arguments that have one meaning in all calls:
 *
 * - port: number of a port of this node.
 * - dest_node: the node that messages of the port go to; GAMMA_ALL: all but this one.
 * - dest_par_pid: number of the parallel program there, from gamma_my_par_pid.
 * - dest_port: number of the port there.
 * - kind: GO_BACK.
 * - semaphore: number of a semaphore, 0 to 65534.
 * - buf: the memory.
 * - size: its bytes.
 * - len: its bytes.
 * - buf1: the first piece of the message.
 * - len1: its bytes.
 * - buf2: the second piece.
 * - len2: its bytes.
 *
 * Names and meanings: G. Chiola, G. Ciaccio, "GAMMA: a low-cost network of workstations based on active
 * messages" (1997), and the library's later editions. Manual pages: gamma(3), and one for each call, which is
 * made of its comment.
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

/* Errors, as gamma_errno has them. */
enum gamma_error {
	GAMMA_E_NONE = 0, /* no error */
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
	int error; /* gamma_errno */
	unsigned short active_port; /* gamma_active_port */
	unsigned long msglen; /* gamma_msglen */
};

/*
 * Gives the state of the thread, for three macros. Programs use the macros alone. In a handler
 * gamma_active_port is the port that it runs for, and gamma_msglen the bytes that its buffer got. gamma_errno
 * is the last error of the thread.
 * Returns: The state, never NULL.
 * Errors: none. May be called before gamma_init.
 */
struct gamma_thread *gamma_thread_state(void);
#define gamma_errno (gamma_thread_state()->error)
#define gamma_active_port (gamma_thread_state()->active_port)
#define gamma_msglen (gamma_thread_state()->msglen)

/*
 * Words an error, with its remedy.
 * - error: any value, of either sign.
 * Returns: A static text, never NULL. May be called before gamma_init.
 * Errors: none.
 */
const char *gamma_strerror(int error);

/*
 * Joins the job and returns when all nodes have. The nodes find each other under mpirun or by a list of hosts:
 * gamma(3).
 * - num_nodes: how many nodes there must be; 0 for any number.
 * - argc: not looked at.
 * - argv: not looked at.
 * Errors: GAMMA_E_JOB, GAMMA_E_GROUP. They are told on standard error, too.
 * Threads: One thread calls it.
 */
int gamma_init(unsigned char num_nodes, int argc, char **argv);

/*
 * Leaves the job when all nodes that live leave, too. Pending flow-controlled sends are ended first. Messages
 * that come meanwhile are dropped.
 * Errors: GAMMA_E_INIT, GAMMA_E_IN_HANDLER.
 * Threads: One thread calls it, and no other is in a call.
 */
int gamma_exit(void);

/*
 * Ends all processes of the job with status 1. This one ends at once, others in their next call that waits or
 * tests.
 * Returns: Not at all in a job; else minus the error.
 * Errors: GAMMA_E_INIT.
 */
int gamma_abort(void);

/*
 * Tells the number of this node.
 * Returns: The number, or minus the error.
 * Errors: GAMMA_E_INIT.
 */
int gamma_my_node(void);

/*
 * Tells the number of this parallel program. It is the value of GAMMA_PAR_PID in the environment, or 0.
 * Returns: The number, or minus the error.
 * Errors: GAMMA_E_INIT.
 */
int gamma_my_par_pid(void);

/*
 * Tells how many nodes there are.
 * Returns: The number, or minus the error.
 * Errors: GAMMA_E_INIT.
 */
int gamma_how_many_nodes(void);

/*
 * Binds an active port, once. Messages sent by it go to its destination; messages that come to it, from any
 * node, go to `buf`. When one is complete, the handler runs, and the semaphore is signalled when it has
 * returned. One message takes one buffer. All nodes bind their ports, then call gamma_sync, then send.
 * - handler: the handler.
 * - semaphore: number of the semaphore, or GAMMA_NO_SEMAPHORE.
 * - buf: place for a message, the library's until one is complete; NULL posts none.
 * Errors: GAMMA_E_BOUND, GAMMA_E_NODE, GAMMA_E_PAR_PID, GAMMA_E_ARGUMENT, GAMMA_E_INIT, GAMMA_E_MX.
 */
int gamma_set_active_port(unsigned short port, unsigned short dest_node, unsigned char dest_par_pid,
			  unsigned short dest_port, void (*handler)(void), unsigned short semaphore,
			  unsigned char kind, void *buf, unsigned long size);

/*
 * Binds a passive port, once. It is an active port without a handler: the semaphore is signalled when a message
 * is complete.
 * - semaphore: number of the semaphore, or GAMMA_NO_SEMAPHORE.
 * - buf: place for a message, the library's until one is complete; NULL posts none.
 * Errors: GAMMA_E_BOUND, GAMMA_E_NODE, GAMMA_E_PAR_PID, GAMMA_E_ARGUMENT, GAMMA_E_INIT, GAMMA_E_MX.
 */
int gamma_set_passive_port(unsigned short port, unsigned short dest_node, unsigned char dest_par_pid,
			   unsigned short dest_port, unsigned short semaphore, unsigned char kind,
			   void *buf, unsigned long size);

/*
 * Posts the next buffer of a port, behind those that it has. A message that is longer than its buffer is cut,
 * and told: GAMMA_E_LENGTH as by gamma_sigerr at the port's semaphore.
 * - buf: place for a message, the library's until one is complete. With 0 bytes it takes an empty message, and
 *   may be NULL.
 * Errors: GAMMA_E_PORT, GAMMA_E_BUSY (1024 are posted), GAMMA_E_ARGUMENT, GAMMA_E_MX, GAMMA_E_INIT.
 */
int gamma_post_recv(unsigned short port, void *buf, unsigned long size);

/*
 * Sends by a port, best effort: without flow control. The network's losses are made good, but a message is lost
 * when the receiver has no buffer for it and holds eight others of this node for that port already (none, if it
 * is longer than 32 KiB), or when this node has too much under way. A loss is told as by gamma_sigerr with
 * GAMMA_E_LOST at the semaphore of the port that knows of it: the receiver's in the first case, else the
 * sender's. Returns when the memory may be used again. Waits only with more than 32 KiB. That the destination
 * has not bound its port is told later: GAMMA_E_NO_PORT at the port's semaphore.
 * Errors: GAMMA_E_PORT, GAMMA_E_LENGTH, GAMMA_E_ARGUMENT, GAMMA_E_PEER, GAMMA_E_IN_HANDLER (it would have to
 *   wait), GAMMA_E_INIT.
 */
int gamma_send(unsigned short port, const void *buf, unsigned long len);

/* Like gamma_send, but the message is in two pieces. */
int gamma_send_2p(unsigned short port, const void *buf1, unsigned long len1, const void *buf2, unsigned long len2);

/*
 * Sends by a port, reliable and flow controlled. Each message finds its buffer, however late that is posted.
 * The call waits while the receiver holds 64 KiB of this node for that port, in messages that count for 4 KiB
 * at least; handlers run meanwhile. On a port to GAMMA_ALL the slowest node sets the pace. Returns when the
 * memory may be used again.
 * Errors: GAMMA_E_PORT, GAMMA_E_LENGTH, GAMMA_E_ARGUMENT, GAMMA_E_PEER, GAMMA_E_FULL (inside a handler, which
 *   may not wait), GAMMA_E_IN_HANDLER (more than 32 KiB inside a handler), GAMMA_E_INIT.
 */
int gamma_send_flowctl(unsigned short port, const void *buf, unsigned long len);

/* Like gamma_send_flowctl, but the message is in two pieces. */
int gamma_send_2p_flowctl(unsigned short port, const void *buf1, unsigned long len1, const void *buf2,
			  unsigned long len2);

/*
 * Sends by a port, best effort, without waiting. The memory is the library's until gamma_wsend returned or
 * gamma_tsend said 1. Pending sends go on in any call that waits or tests. What is lost, and how that is told,
 * is as for gamma_send.
 * Errors: GAMMA_E_BUSY (256 sends of the port are pending), GAMMA_E_PORT, GAMMA_E_LENGTH, GAMMA_E_ARGUMENT,
 *   GAMMA_E_PEER, GAMMA_E_INIT.
 */
int gamma_isend(unsigned short port, const void *buf, unsigned long len);

/* Like gamma_isend, but the message is in two pieces. */
int gamma_isend_2p(unsigned short port, const void *buf1, unsigned long len1, const void *buf2, unsigned long len2);

/*
 * Sends by a port, reliable and flow controlled, without waiting. The memory is the library's until gamma_wsend
 * returned or gamma_tsend said 1. Pending sends go on in any call that waits or tests.
 * Errors: GAMMA_E_BUSY (256 sends of the port are pending), GAMMA_E_PORT, GAMMA_E_LENGTH, GAMMA_E_ARGUMENT,
 *   GAMMA_E_PEER, GAMMA_E_INIT.
 */
int gamma_isend_flowctl(unsigned short port, const void *buf, unsigned long len);

/* Like gamma_isend_flowctl, but the message is in two pieces. */
int gamma_isend_2p_flowctl(unsigned short port, const void *buf1, unsigned long len1, const void *buf2,
			   unsigned long len2);

/*
 * Waits for the end of all non-blocking sends of a port.
 * Returns: 0, or minus the first error of those that ended since it was last asked.
 * Errors: GAMMA_E_PEER, GAMMA_E_PORT, GAMMA_E_IN_HANDLER, GAMMA_E_INIT.
 */
int gamma_wsend(unsigned short port);

/*
 * Like gamma_wsend, but does not wait.
 * Returns: 1 if they ended, 0 if not yet, or minus the first error.
 */
int gamma_tsend(unsigned short port);

/*
 * Counts messages of best effort that a port knows to be lost.
 * Returns: Their number since the port was bound, modulo 2^31, or minus the error.
 * Errors: GAMMA_E_PORT, GAMMA_E_INIT.
 */
int gamma_lost(unsigned short port);

/*
 * Adds 1 to a counting semaphore. All semaphores are 0 at first.
 * Errors: GAMMA_E_ARGUMENT, GAMMA_E_INIT.
 */
int gamma_signal(unsigned short semaphore);

/*
 * Waits for signals of a semaphore and takes them.
 * - n: number of signals; 0 takes none.
 * Errors: GAMMA_E_ARGUMENT, GAMMA_E_IN_HANDLER, GAMMA_E_INIT, GAMMA_E_LOST, GAMMA_E_LENGTH, GAMMA_E_NO_PORT,
 *   GAMMA_E_PEER (a node has died that a port with this semaphore sends to). Any code of gamma_sigerr comes
 *   here, too.
 */
int gamma_wait(unsigned short semaphore, unsigned long n);

/*
 * Takes one signal of a semaphore, if there is one.
 * Returns: 1 if it took one, 0 if there is none, or minus the error.
 * Errors: GAMMA_E_ARGUMENT, GAMMA_E_INIT, GAMMA_E_LOST, GAMMA_E_LENGTH, GAMMA_E_NO_PORT, GAMMA_E_PEER (a node
 *   has died that a port with this semaphore sends to). Any code of gamma_sigerr comes here, too.
 */
int gamma_test(unsigned short semaphore);

/*
 * Signals an error at a semaphore. It ends each gamma_wait of that semaphore that is under way, with minus
 * `code`; if none is, the next gamma_wait or gamma_test gets it. Several of one code that none has got yet
 * count as one.
 * - code: the error, at least 1.
 * Errors: GAMMA_E_ARGUMENT, GAMMA_E_INIT.
 */
int gamma_sigerr(unsigned short semaphore, int code);

/*
 * Calls a function while no handler runs. None begins until it has returned.
 * - f: the function.
 * Errors: GAMMA_E_ARGUMENT, GAMMA_E_INIT.
 */
int gamma_atomic(void (*f)(void));

/*
 * Returns when all nodes have called it as often: a barrier. Any threads may be in it; each call counts.
 * Errors: GAMMA_E_PEER (a node died or left without it), GAMMA_E_GROUP, GAMMA_E_IN_HANDLER, GAMMA_E_INIT. The
 *   first two stay.
 */
int gamma_sync(void);

/*
 * Brings bytes of one node to all others. All nodes call it with the same root and length. Returns when the
 * memory may be used again (at the root), or is filled. Calls with different roots do not wait for each other,
 * so threads may make them at once; those with one root go by their order in each process. One frame serves
 * all other hosts where it can; a root that computes for long afterwards calls gamma_test from time to time, as
 * a node that lacks a frame asks it.
 * - root: the node that has the bytes.
 * - buf: the bytes, or the place for them.
 * Errors: GAMMA_E_NODE, GAMMA_E_LENGTH, GAMMA_E_ARGUMENT, GAMMA_E_IN_HANDLER, GAMMA_E_PEER (the root is gone;
 *   at the root: some node is, and all others got it), GAMMA_E_GROUP (the nodes do not agree on length, root or
 *   order, as far as that shows, which is where one thread alone makes such calls), GAMMA_E_MX, GAMMA_E_INIT.
 *   GAMMA_E_GROUP stays.
 */
int gamma_broadcast(unsigned short root, void *buf, unsigned long len);

typedef uint64_t gamma_time_t; /* nanoseconds of a clock that never goes back */

/*
 * Reads a clock that never goes back.
 * - now: place for the time, in nanoseconds.
 * Returns: Nothing.
 * Errors: none. May be called before gamma_init.
 */
void gamma_time(gamma_time_t *now);

/*
 * Tells the time between two readings of gamma_time.
 * - from: the earlier reading.
 * - to: the later one.
 * Returns: Microseconds.
 * Errors: none. May be called before gamma_init.
 */
double gamma_time_diff(gamma_time_t from, gamma_time_t to);

/*
 * Keeps memory resident: a hint. MX pins memory of its transfers itself, so that a refusal by the system is no
 * error.
 * Errors: GAMMA_E_ARGUMENT.
 */
int gamma_mlock(void *buf, unsigned long size);

/*
 * Undoes gamma_mlock of the same memory.
 * Errors: GAMMA_E_ARGUMENT.
 */
int gamma_munlock(void *buf, unsigned long size);

/*
 * Undoes all that gamma_mlock did.
 * Errors: none.
 */
int gamma_munlockall(void);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif /* GAMMA_H */
