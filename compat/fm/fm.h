/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Fast Messages over MX: the calls of FM 2.x (streams) and of FM 1.1 (whole messages).
 *
 * Rules that hold for every call, unless its comment says otherwise:
 *
 * - A job has FM_numnodes processes, its nodes, numbered from 0. Lengths are bytes.
 * - Delivery is reliable, and in order for each sender: messages of one sender to one node start their
 *   handlers in the order in which their first packets left (for messages of one packet: FM_end_message).
 * - Sends run no handler. Handlers run in FM_extract alone, and may send.
 * - A call that fails leaves one of FM_E_... in FM_errno, and none is set back to 0 by success.
 * - Threads. Every call may be made by any thread after FM_initialize. FM_errno is each thread's own.
 * - Names in brackets at the end of a comment say which paper has the call: "FM 2.x, 1998" is Efficient
 *   Layering for High Speed Communication: Fast Messages 2.x (HPDC-7); "FM 1.x, 1995" is High Performance
 *   Messaging on Workstations: Illinois Fast Messages for Myrinet (Supercomputing).
 *
 * Manual page: fm(3).
 */
#ifndef FM_H
#define FM_H

#include <stdint.h>

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t ULONG;

/* A message under way: one that is being sent, or the one that a handler receives. Opaque. */
typedef struct FM_stream FM_stream;

/* Results of handlers: go on, or end this FM_extract. */
#define FM_CONTINUE 1
#define FM_QUIT 0

#define FM_ANY_ID 0xffffffffU /* FM_register_handler: the next free id from 1 */
#define FM_ALL 0xffffffffU /* FM_extract: without a limit */

/* Values of FM_errno. */
enum FM_error {
	FM_E_NONE = 0,
	FM_E_INIT = 1, /* FM_initialize comes first */
	FM_E_JOB = 2, /* the job cannot be joined: the text on standard error has the remedy */
	FM_E_NODE = 3, /* no such node */
	FM_E_HANDLER = 4, /* no such handler here, or an id beyond FM_MAX_HANDLERS */
	FM_E_FULL = 5, /* no room at the receiver, and none may be waited for: extract, and try again */
	FM_E_TOO_LONG = 6, /* longer than what a handler may send at all */
	FM_E_BUSY = 7, /* another thread is in a message, or too many are open: end them, and try again */
	FM_E_LENGTH = 8, /* a piece beyond the length of FM_begin_message */
	FM_E_STREAM = 9, /* not a stream of this kind, or one after its end */
	FM_E_END = 10, /* FM_receive of more than the message has */
	FM_E_PEER = 11, /* the other node is gone */
	FM_E_IN_HANDLER = 12, /* not from inside a handler */
	FM_E_PARAMETER = 13, /* unknown parameter, bad value, or after FM_initialize */
	FM_E_MX = 14 /* the layer below refused: memory is exhausted, or the interface is gone */
};

/* Parameters of FM_set_parameter, each followed by one argument of type ULONG. */
enum FM_parameter {
	FM_QUIET = 1, /* not 0: nothing is printed on standard error; default 0 */
	FM_MAX_HANDLERS = 2, /* ids are below it: 1 to 65536; default 1024 */
	FM_JOB_KEY = 3, /* nodes with another key are no part of the job; default 0x464d */
	FM_MEMORY = 4, /* bytes for packets that come before they are extracted; default 4 MiB */
	FM_STACK = 5, /* bytes of stack of a handler that waits in FM_receive; default 256 KiB */
	FM_START_TIMEOUT = 6, /* seconds that FM_initialize waits for the other nodes; default 60 */
	FM_ERRORS_RETURN = 7 /* not 0: FM_initialize returns when it fails, FM_errno says so; default 0 */
};

/*
 * A handler of FM 2.x. `stream` is valid until it returns, `sender` the node that sends. It starts with the
 * first packet of its message, and gives up control only in FM_receive. Bytes that it does not receive are
 * dropped. Returns FM_CONTINUE or FM_QUIT. It may send, and calls neither FM_extract nor FM_finalize.
 * It must not leave by an exception or longjmp. [FM 2.x, 1998]
 */
typedef int FM_handler(FM_stream *stream, unsigned sender);

/*
 * A handler of FM 1.x: starts when the message is whole. `buffer` holds `size` bytes, aligned to 8, and is
 * gone when the handler returns. All else as FM_handler. [FM 1.x, 1995]
 */
typedef int FM_handler_1(void *buffer, unsigned size, unsigned sender);

/* This node, and how many there are: set by FM_initialize, read only. [FM 2.x, 1998] */
extern ULONG FM_nodeid;
extern ULONG FM_numnodes;

/* The last error of the thread, one of enum FM_error; each thread has its own. */
int *FM_errno_location(void);
#define FM_errno (*FM_errno_location())

/* Static text of an error, with its remedy: any value, never NULL, at any time. */
const char *FM_strerror(int error);

/*
 * Sets a parameter before FM_initialize; `what` is one of enum FM_parameter, then comes its value.
 * Errors: FM_E_PARAMETER. One thread. [FM 2.x, 1998]
 */
void FM_set_parameter(int what, ...);

/*
 * Joins the job, under mpirun or by a list of hosts (fm(3)), and returns when all nodes have. What fails is
 * told on standard error and ends the process, unless FM_ERRORS_RETURN is set: then FM_numnodes is 0, and
 * FM_errno FM_E_JOB. One thread. [FM 2.x, 1998]
 */
void FM_initialize(void);

/*
 * Leaves the job: waits until all nodes that live do so, too; messages that come meanwhile are dropped, and
 * handlers that wait for more never run on. One thread, not in a handler. Errors: FM_E_INIT,
 * FM_E_IN_HANDLER.
 */
void FM_finalize(void);

/*
 * Binds an id below FM_MAX_HANDLERS to a handler, anew if it was bound; FM_ANY_ID takes the next free one
 * from 1. NULL frees an id. Returns the id, or FM_ANY_ID with FM_errno FM_E_HANDLER. Before FM_initialize,
 * or before the first FM_extract that needs it; on all nodes in one order. [FM 2.x, 1998]
 */
ULONG FM_register_handler(ULONG id, FM_handler *handler);

/* The same for a handler of FM 1.x. Ids are shared; either kind takes messages of either kind of send. */
ULONG FM_register_handler_1(ULONG id, FM_handler_1 *handler);

/*
 * Opens a message of up to `length` bytes to node `dest` for its handler of that id. Waits for room at the
 * receiver, and takes in packets meanwhile. NULL with FM_errno:
 *   FM_E_FULL      the receiver has no room, and a sender may wait for what is extracted here; at once
 *                  inside a handler. Outside: call FM_extract, and try again.
 *   FM_E_TOO_LONG  inside a handler: longer than a handler may send (half the receiver's memory for us)
 *   FM_E_BUSY      another thread is between begin and end, or 16 messages to that node are open
 *   FM_E_INIT, FM_E_NODE, FM_E_HANDLER, FM_E_PEER
 * The stream is the library's until FM_end_message. A message that fits half the receiver's memory for us
 * has its room from here on: neither its pieces nor its end wait. A longer one waits in them for the
 * receiver to extract. [FM 2.x, 1998]
 */
FM_stream *FM_begin_message(ULONG dest, ULONG length, ULONG handler);

/*
 * Adds `length` bytes of any alignment. They are the library's, unchanged, until FM_end_message returned.
 * Errors: FM_E_STREAM, FM_E_LENGTH (the piece is left out), FM_E_PEER. [FM 2.x, 1998]
 */
void FM_send_piece(FM_stream *stream, const void *buffer, ULONG length);

/*
 * Closes the message, which may have got fewer bytes than announced; the pieces are the caller's again, the
 * stream is gone. Errors: FM_E_STREAM, FM_E_PEER. [FM 2.x, 1998]
 */
void FM_end_message(FM_stream *stream);

/*
 * In the handler of that stream: the next `length` bytes into `buffer`. Waits for those that are not here yet:
 * other handlers, and the caller of FM_extract, run meanwhile. Returns the bytes received: fewer than asked
 * for with FM_errno FM_E_END at the end of the message, FM_E_PEER when its sender died, FM_E_STREAM.
 * [FM 2.x, 1998]
 */
ULONG FM_receive(void *buffer, FM_stream *stream, ULONG length);

/*
 * Takes packets that are here, and runs or resumes their handlers, until none is left, `maxbytes` bytes are
 * taken, or a handler returned FM_QUIT. A packet is taken whole: the limit is exceeded by less than 4 KiB,
 * or 1 MiB of a long piece. 0 runs no handler. Returns the bytes taken. Does not wait. Errors: FM_E_INIT,
 * FM_E_IN_HANDLER; FM_E_HANDLER when a message for an unknown handler was dropped; FM_E_PEER when a node
 * was found dead. [FM 2.x, 1998; without a limit: FM 1.x, 1995]
 */
ULONG FM_extract(ULONG maxbytes);

/*
 * Sends four words; the handler of FM 1.x finds them in its buffer. Waits as FM_begin_message does. Returns
 * 0, or a negative error of enum FM_error, which stands in FM_errno, too. [FM 1.x, 1995]
 */
int FM_send_4(ULONG dest, ULONG handler, ULONG i0, ULONG i1, ULONG i2, ULONG i3);

/* Sends `size` bytes, of any number; `buffer` is the caller's again. As FM_send_4. [FM 1.x, 1995] */
int FM_send(ULONG dest, ULONG handler, const void *buffer, ULONG size);

/*
 * For programs of the manual of FM 2.x, in which all senders run when they call it: memory is shared out
 * among all nodes from the start here, so it does nothing.
 */
void FM_reallocate_credit(void);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

/* FM 1.x takes all that is pending: programs of it define FM_1X before this header. */
#ifdef FM_1X
#define FM_extract() FM_extract(FM_ALL)
#endif

#endif /* FM_H */
