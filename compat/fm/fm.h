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
 * - Errors. A call that fails leaves one of FM_E_... in FM_errno, and none is set back to 0 by success.
 * - Threads. Every call may be made by any thread after FM_initialize. FM_errno is each thread's own.
 * - Names in brackets at the end of a comment say which paper has the call: "FM 2.x, 1998" is Efficient
 *   Layering for High Speed Communication: Fast Messages 2.x (HPDC-7); "FM 1.x, 1995" is High Performance
 *   Messaging on Workstations: Illinois Fast Messages for Myrinet (Supercomputing).
 *
 * Arguments that have one meaning in all calls:
 *
 * - dest: the node that it goes to.
 * - handler: id of the handler there.
 * - length: bytes.
 * - stream: a message under way.
 * - id: an id below FM_MAX_HANDLERS, or FM_ANY_ID: the next free one from 1.
 *
 * Manual pages: fm(3), and one for each call, which is made of its comment.
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

typedef uint32_t ULONG; /* of the papers */

/* A message under way: one that is being sent, or the one that a handler receives. Opaque. */
typedef struct FM_stream FM_stream;

/* Results of handlers: go on, or end this FM_extract. */
#define FM_CONTINUE 1 /* a handler's result: go on */
#define FM_QUIT 0 /* a handler's result: end this FM_extract */

#define FM_ANY_ID 0xffffffffU /* FM_register_handler: the next free id from 1 */
#define FM_ALL 0xffffffffU /* FM_extract: without a limit */

/* Values of FM_errno. */
enum FM_error {
	FM_E_NONE = 0, /* no error */
	FM_E_INIT = 1, /* FM_initialize comes first */
	FM_E_JOB = 2, /* the job cannot be joined: the text on standard error has the remedy */
	FM_E_NODE = 3, /* no such node */
	FM_E_HANDLER = 4, /* no such handler here, or an id beyond FM_MAX_HANDLERS */
	FM_E_FULL = 5, /* no room at the receiver, and none may be waited for: extract, and try again */
	FM_E_TOO_LONG = 6, /* longer than what a handler, or a node to itself, may send at all */
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
	FM_MEMORY = 4, /* bytes for packets that come before they are extracted; default 8 MiB */
	FM_STACK = 5, /* bytes of stack of a handler that waits in FM_receive; default 256 KiB */
	FM_START_TIMEOUT = 6, /* seconds that FM_initialize waits for the other nodes; default 60 */
	FM_ERRORS_RETURN = 7 /* not 0: FM_initialize returns when it fails, FM_errno says so; default 0 */
};

/*
 * A handler of FM 2.x. It starts with the first packet of its message, and gives up control only in
 * FM_receive. Bytes that it does not receive are dropped. It may send, and calls neither FM_extract nor
 * FM_finalize. It must not leave by an exception or longjmp.
 * - stream: the message, valid until the handler returns.
 * - sender: the node that sends.
 * Returns: FM_CONTINUE, or FM_QUIT, which ends the FM_extract that runs it.
 * [FM 2.x, 1998]
 */
typedef int FM_handler(FM_stream *stream, unsigned sender);

/*
 * A handler of FM 1.x, which starts when the message is whole. All else is as for FM_handler.
 * - buffer: the message, aligned to 8, and gone when the handler returns.
 * - size: its bytes.
 * - sender: the node that sends.
 * Returns: FM_CONTINUE, or FM_QUIT, which ends the FM_extract that runs it.
 * [FM 1.x, 1995]
 */
typedef int FM_handler_1(void *buffer, unsigned size, unsigned sender);

/* This node, and how many there are. FM_initialize sets them; they are read only. [FM 2.x, 1998] */
extern ULONG FM_nodeid;
extern ULONG FM_numnodes;

/*
 * Gives the place of the thread's last error, one of FM_error. Programs use the macro FM_errno, which reads
 * and writes it.
 * Returns: The place, never NULL. It stays valid as long as the thread.
 * Errors: none. May be called before FM_initialize.
 */
int *FM_errno_location(void);
#define FM_errno (*FM_errno_location())

/*
 * Words an error, with its remedy.
 * - error: any value.
 * Returns: A static text, never NULL. May be called before FM_initialize.
 * Errors: none.
 */
const char *FM_strerror(int error);

/*
 * Sets a parameter before FM_initialize.
 * - what: one of FM_parameter; its value follows, as ULONG.
 * Returns: Nothing; FM_errno tells.
 * Errors: FM_E_PARAMETER.
 * Threads: One thread calls it.
 * [FM 2.x, 1998]
 */
void FM_set_parameter(int what, ...);

/*
 * Joins the job and returns when all nodes have. The nodes find each other under mpirun or by a list of
 * hosts: fm(3). A second call does nothing.
 * Returns: Nothing. After an error FM_numnodes is 0.
 * Errors: FM_E_JOB. It is told on standard error and ends the process, unless FM_ERRORS_RETURN is set.
 * Threads: One thread calls it.
 * [FM 2.x, 1998]
 */
void FM_initialize(void);

/*
 * Leaves the job when all nodes that live do so, too. Messages that come meanwhile are dropped, and
 * handlers that wait for more never run on.
 * Returns: Nothing; FM_errno tells.
 * Errors: FM_E_INIT, FM_E_IN_HANDLER.
 * Threads: One thread calls it, not in a handler; no other is in a call then.
 */
void FM_finalize(void);

/*
 * Binds an id to a handler of streams, anew if it was bound. It is called before FM_initialize, or before
 * the first FM_extract that needs it, on all nodes in one order. Ids are shared with handlers of whole
 * messages; either kind takes messages of either kind of send.
 * - handler: the handler; NULL frees the id.
 * Returns: The id, or FM_ANY_ID on an error.
 * Errors: FM_E_HANDLER.
 * Threads: Before FM_initialize one thread calls it.
 * [FM 2.x, 1998]
 */
ULONG FM_register_handler(ULONG id, FM_handler *handler);

/*
 * Like FM_register_handler, but for a handler of FM 1.x, which takes whole messages.
 * - handler: the handler; NULL frees the id.
 *
 * [FM 1.x, 1995]
 */
ULONG FM_register_handler_1(ULONG id, FM_handler_1 *handler);

/*
 * Opens a message to a node. It waits for room at the receiver, and takes in packets meanwhile. A message
 * of up to 128 KiB that fits half the receiver's memory for us has its room from here on: neither its
 * pieces nor its end wait. A longer one waits in them for the receiver to extract.
 * - length: bytes of the message at most.
 * Returns: The stream, which is the library's until FM_end_message, or NULL on an error.
 * Errors: FM_E_FULL (the receiver has no room, and a sender may wait for messages that are not extracted
 *   here, or at once inside a handler; outside call FM_extract and try again), FM_E_TOO_LONG (inside a
 *   handler: longer than such a message), FM_E_BUSY (another thread is between begin and
 *   end, or 16 messages to that node are open), FM_E_INIT, FM_E_NODE, FM_E_HANDLER, FM_E_PEER.
 * [FM 2.x, 1998]
 */
FM_stream *FM_begin_message(ULONG dest, ULONG length, ULONG handler);

/*
 * Adds a piece to a message.
 * - buffer: the piece, of any alignment. It is the library's, unchanged, until FM_end_message returned.
 * - length: its bytes.
 * Returns: Nothing; FM_errno tells.
 * Errors: FM_E_STREAM, FM_E_LENGTH (the piece is left out), FM_E_PEER.
 * [FM 2.x, 1998]
 */
void FM_send_piece(FM_stream *stream, const void *buffer, ULONG length);

/*
 * Closes a message. It may have got fewer bytes than announced. The pieces are the caller's again, and the
 * stream is gone.
 * Returns: Nothing; FM_errno tells.
 * Errors: FM_E_STREAM, FM_E_PEER.
 * [FM 2.x, 1998]
 */
void FM_end_message(FM_stream *stream);

/*
 * Receives the next bytes of a message, in its handler. It waits for those that are not here yet: other
 * handlers, and the caller of FM_extract, run meanwhile.
 * - buffer: place for the bytes.
 * - length: bytes that are wanted.
 * Returns: The bytes received, fewer than asked for on an error.
 * Errors: FM_E_END, FM_E_PEER (its sender died), FM_E_STREAM.
 * Threads: The handler of the stream calls it.
 * [FM 2.x, 1998]
 */
ULONG FM_receive(void *buffer, FM_stream *stream, ULONG length);

/*
 * Takes packets that are here, and runs or resumes their handlers. It ends when no packet is left, the
 * limit is reached, or a handler returned FM_QUIT. A packet is taken whole: the limit is exceeded by less
 * than 32 KiB, or 1 MiB of a long piece. It does not wait. Programs of FM 1.x define FM_1X before the
 * header, and call it without an argument.
 * - maxbytes: the limit; FM_ALL is none, 0 runs no handler.
 * Returns: The bytes taken.
 * Errors: FM_E_INIT, FM_E_IN_HANDLER, FM_E_HANDLER (a message for an unknown handler was dropped),
 *   FM_E_PEER (a node was found dead), FM_E_MX.
 * [FM 2.x, 1998; without a limit: FM 1.x, 1995]
 */
ULONG FM_extract(ULONG maxbytes);

/*
 * Like FM_send, but sends four words, which the handler of FM 1.x finds in its buffer.
 * - i0: the first word.
 * - i1: the second word.
 * - i2: the third word.
 * - i3: the fourth word.
 *
 * [FM 1.x, 1995]
 */
int FM_send_4(ULONG dest, ULONG handler, ULONG i0, ULONG i1, ULONG i2, ULONG i3);

/*
 * Sends a whole message. It waits as FM_begin_message does.
 * - buffer: the message, which is the caller's again when the call returns.
 * - size: its bytes, any number.
 * Returns: 0, or minus the error, which stands in FM_errno, too.
 * Errors: FM_E_FULL, FM_E_TOO_LONG, FM_E_BUSY, FM_E_INIT, FM_E_NODE, FM_E_HANDLER, FM_E_PEER.
 * [FM 1.x, 1995]
 */
int FM_send(ULONG dest, ULONG handler, const void *buffer, ULONG size);

/*
 * Does nothing. It is for programs of the manual of FM 2.x, in which all senders run when they call it.
 * Memory is shared out among all nodes from the start here.
 * Returns: Nothing.
 * Errors: none.
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
