/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Contract between the library and the kernel module: the ioctls of /dev/ethermx, and what may be
 * mapped of it.
 *
 * Anybody may open the device and ask about the boards of the own network namespace. EMX_IOC_CLAIM
 * makes the file an endpoint: then it takes commands, can be mapped, and polls readable while its
 * event ring holds an event. The endpoint ends when the process that claimed it closes any copy of
 * the file, executes another program, or ends; a forked child does not keep it.
 *
 * Versions: the number of an ioctl contains the size of its structure, so what has grown since
 * fails with ENOTTY. Before anything else a program asks EMX_IOC_VERSION, whose structure never
 * changes.
 */
#ifndef EMX_DEV_H
#define EMX_DEV_H

#include <linux/ioctl.h>
#include <linux/types.h>

#include <emx/abi.h>
#include <emx/wire.h>

#define EMX_DEV_PATH "/dev/ethermx"
#define EMX_DEV_VERSION 1 /* of this file */
#define EMX_DEV_OLDEST 1 /* libraries of that version and newer find all they need */
#define EMX_DEV_ANY 0xffffffffu /* any endpoint number */
#define EMX_DEV_PACKS 1 /* endpoints take and send X PACK as long as their X MEDIUM */
#define EMX_DEV_SEGMENTS_MAX 4096 /* pieces of one message */
#define EMX_DEV_IFNAME 16 /* interface name with its NUL */

/* Out. A library works with a driver when oldest <= EMX_DEV_VERSION <= version and abi is equal. */
struct emx_dev_version {
	__u32 version; /* EMX_DEV_VERSION of the driver */
	__u32 oldest; /* EMX_DEV_OLDEST of the driver */
	__u32 abi; /* its EMX_ABI_VERSION */
	__u32 features; /* EMX_DEV_PACKS; 0 of older drivers */
};

/* In: number. Out: the board of the caller's namespace with the lowest number >= it; or ENODEV. */
struct emx_dev_board {
	__u32 number;
	__u32 mtu; /* of the interface, bytes */
	__u64 mac;
	__u32 dialect_mtu; /* 0: dialect W; else N with frames of that size */
	__u32 endpoint_max; /* endpoint numbers are below it */
	__u32 peers_max; /* slots of its peer table */
	__u32 peers; /* slots in use */
	__u8 open; /* unknown boards may enter the peer table */
	__u8 link; /* enum emx_link_state */
	__u16 x_frame; /* longest X DATA that the interface takes now; 0: a driver without X PULL */
	__u8 reserved[4];
	char interface[EMX_DEV_IFNAME];
	char name[EMX_NAME_MAX];
};

/*
 * In: board, number, session, x_wanted. Out: the number, x_fragment, and the sizes of what can be
 * mapped. Errors: ENODEV (no such board), ECHRNG (number out of range), EBUSY (taken), EEXIST (this
 * file is an endpoint already), ENOMEM.
 */
struct emx_dev_claim {
	__u32 board;
	__u32 number; /* or EMX_DEV_ANY */
	__u32 session;
	__u32 ring_entries; /* a power of two */
	__u32 slot_bytes;
	__u16 x_wanted; /* bytes of data in an X MEDIUM, at most; 0: none, as of older libraries */
	__u16 x_fragment; /* of them, what it sends and receives; 0: none, as of older drivers */
	__u64 ring_bytes; /* at EMX_DEV_MAP_RING: struct fw_ring of ring_entries */
	__u64 slots_bytes; /* at EMX_DEV_MAP_SLOTS: a receive slot for each entry, and long ones */
	__u64 counters_bytes; /* at EMX_DEV_MAP_COUNTERS: struct emx_counters for the library */
};

/*
 * Offsets for mmap (MAP_SHARED, readable and writable, whole parts only). The event in entry i of
 * the ring has its payload in slot i, or behind all slots when it is longer than one, as an X
 * MEDIUM or X PACK may be; msg.data is the offset of the payload in what is mapped. The place is
 * free again when the library has moved the ring's tail beyond the entry. The library counts in the
 * counters; of what the driver counts they show how many requests and replies of pulls came and
 * replies went.
 */
#define EMX_DEV_MAP_RING 0x00000000ull
#define EMX_DEV_MAP_SLOTS 0x10000000ull
#define EMX_DEV_MAP_COUNTERS 0x20000000ull

enum emx_dev_op {
	/* Sends msg; msg.data is the address of its payload, which is copied. EIO: not sent. */
	EMX_DEV_SEND = 1,
	/*
	 * Exposes `length` bytes of memory under msg.u.window.id and .tag for pulls by endpoint
	 * msg.remote_ep of msg.peer, until the window is closed. Its pages stay pinned, or are
	 * copied from when the limit of locked memory does not allow that. EINVAL: the segments are
	 * shorter than `length`, or too many; ENOMEM: no memory left; EFAULT: no such addresses.
	 */
	EMX_DEV_WINDOW_OPEN = 2,
	EMX_DEV_WINDOW_CLOSE = 3, /* msg.u.window.id and .tag */
	/*
	 * Fetches `length` > 0 bytes of the message that the RNDV in msg announced into memory; by
	 * X PULL if the offer in msg.data has it. Ends with an EMX_EV_PULL_DONE with that cookie;
	 * pages as above. EBUSY: try again when another pull has ended; EINVAL, ENOMEM, EFAULT: as
	 * above.
	 */
	EMX_DEV_PULL_START = 4,
	EMX_DEV_PULL_CANCEL = 5, /* all pulls with that cookie; no event comes any more */
	/*
	 * Joins the group whose key is the cookie, and leaves it: its frames come as events of type
	 * EMX_X_GROUP. EINVAL: a key has 32 bits and is not 0; ENOSPC: the endpoint is in
	 * EMX_GROUPS_MAX groups; EMSGSIZE: the interface's frames are too short. Older drivers, for
	 * these and the next: EOPNOTSUPP.
	 */
	EMX_DEV_GROUP_JOIN = 6,
	EMX_DEV_GROUP_LEAVE = 7,
	/*
	 * Sends a frame to a group: msg.match is its key << 32 | the frame's number, msg.data the
	 * address of data_len bytes, which are copied. length: 1 with a checksum, else 0. EMSGSIZE: more
	 * than a frame has; EIO: not sent.
	 */
	EMX_DEV_GROUP_SEND = 8,
};

struct emx_dev_segment {
	__u64 address;
	__u64 length;
};

/* EMX_IOC_COMMAND: one command; only the process that claimed the endpoint may give any. */
struct emx_dev_command {
	__u32 op; /* enum emx_dev_op */
	__s32 result; /* EMX_IOC_SUBMIT: 0, or a negative errno */
	struct emx_msg msg;
	__u64 segments; /* address of struct emx_dev_segment[] */
	__u64 length;
	__u64 cookie;
	__u32 segment_count;
	__u32 reserved;
};

/* EMX_IOC_SUBMIT: `count` commands at that address, in order, whatever becomes of each. */
struct emx_dev_submit {
	__u64 commands; /* address of struct emx_dev_command[] */
	__u32 count;
	__u32 done; /* out: commands executed; their results are filled in */
};

/*
 * Takes frames out of the network card that brought this endpoint's last one, without waiting for
 * its interrupt: once, and again until an event is there or the time is over. For programs that
 * would spin. ENODATA: no such card is known, as long as no frame came from one; EOPNOTSUPP: the
 * kernel or the administrator does not allow it; EBUSY: another thread is at it.
 */
struct emx_dev_poll {
	__u32 microseconds; /* in: the module's parameter busy_poll_max_us limits it */
	__u32 frames; /* out: how many it brought for this endpoint */
};

/*
 * Commands by io_uring: IORING_OP_URING_CMD on the file, with cmd_op EMX_IOC_COMMAND and this in
 * the SQE's cmd. The command must stay until its CQE comes, whose res is what the ioctl would have
 * said: 0, or a negative errno. EMX_DEV_SEND has executed when io_uring_enter returns; the others,
 * which may take long, go to a thread of io_uring. EOPNOTSUPP: a driver that knows none of this.
 */
struct emx_dev_uring {
	__u64 command; /* address of struct emx_dev_command */
	__u64 reserved; /* 0, else EINVAL */
};

enum emx_dev_peer_by {
	EMX_DEV_PEER_INDEX = 0, /* in: index */
	EMX_DEV_PEER_MAC = 1, /* in: mac */
	EMX_DEV_PEER_ADD = 2, /* the same, adding it to a table that is open */
	EMX_DEV_PEER_NAME = 3, /* in: name; the first that is called so. Older drivers: EINVAL */
	/*
	 * Commands of the process of an endpoint. In: index, mac. As long as the endpoint keeps it, the index is
	 * that peer's; others, of peers that never told a name, may be given to newcomers. ESTALE: it
	 * is another's by now. Older drivers: EINVAL, and they give no index to another.
	 */
	EMX_DEV_PEER_KEEP = 4,
	EMX_DEV_PEER_RELEASE = 5, /* in: index */
};

/* Entry of a board's peer table. ENOENT: no such peer; ENOSPC: the table is full or closed. */
struct emx_dev_peer {
	__u32 board; /* endpoints: ignored, it is theirs */
	__u32 by; /* enum emx_dev_peer_by */
	__u64 mac;
	__u32 index;
	__u8 local; /* a board of this namespace */
	__u8 reserved;
	__u16 speaks; /* 0: its board's dialect; 1: W; else N with frames of that size */
	char name[EMX_NAME_MAX]; /* empty while unknown */
};

/*
 * Many of them: the driver writes those from index `first` on to the address, `count` at most, and
 * sets count to how many it wrote: fewer at the end of the table.
 */
struct emx_dev_peers {
	__u32 board;
	__u32 first;
	__u64 address; /* of struct emx_dev_peer[count] */
	__u32 count;
	__u32 reserved;
};

enum emx_dev_names_op {
	EMX_DEV_NAME_BOARD = 1, /* board: its own name, for peers to ask for */
	EMX_DEV_NAMES_FORGET = 2, /* all boards: other boards' names are asked for again */
	EMX_DEV_PEERS_CLEAR = 3, /* the same, and tables are open again */
	EMX_DEV_PEERS_APPEND = 4, /* all boards: mac and name */
	EMX_DEV_PEERS_COMPLETE = 5, /* all boards: unknown boards are refused from now on */
	/*
	 * All boards whose interfaces carry it: the dialect of the listed peer mac is `board`, as in
	 * emx_dev_peer.speaks. EMSGSIZE: none carries it; ENOENT: not listed; EADDRINUSE: a board
	 * of this namespace, which speaks another; EBUSY: endpoints are open. Older drivers: EINVAL.
	 */
	EMX_DEV_PEER_SPEAKS = 6,
};

/*
 * Needs CAP_NET_ADMIN over the network namespace. EINVAL: name empty, or with blanks. EBUSY:
 * endpoints are open whose peers would be spoken to in other dialects.
 */
struct emx_dev_names {
	__u32 op; /* enum emx_dev_names_op */
	__u32 board;
	__u64 mac;
	char name[EMX_NAME_MAX];
};

/*
 * Sum of the counters of a board and its endpoints, past ones too. The driver writes at most
 * `count` of them to the address and sets count to how many it has; clearing needs CAP_NET_ADMIN.
 */
struct emx_dev_counters {
	__u32 board;
	__u32 clear; /* nonzero: set to zero instead */
	__u64 address; /* of __u64[count] */
	__u32 count;
	__u32 reserved;
};

/* In: board, number. Out: the open endpoint with the lowest number >= it; or ENOENT. */
struct emx_dev_endpoint {
	__u32 board;
	__u32 number;
	__u32 pid;
	__u32 uid;
	__u32 session;
	__u32 reserved;
	char command[16];
};

/*
 * Makes an interface of the caller's namespace a board, or ends it. Needs CAP_NET_ADMIN there.
 * Numbers of 0 mean the module's parameters. Errors: ENODEV, EBUSY (attached already, or another
 * firmware has it), EMSGSIZE (its MTU is too small), EINVAL.
 */
struct emx_dev_attach {
	char interface[EMX_DEV_IFNAME];
	__u32 frame_size; /* 0: dialect W; else N with frames of that size */
	__u32 endpoints;
	__u32 peers;
	__u32 number; /* out */
};

/*
 * A board whose interface vanishes is attached again when an interface of that name is up, with its
 * numbers, peers and names, unless it is detached meanwhile: by its name, or with all of its like in
 * the namespace by an empty one. EBUSY: endpoints are open on it.
 */
struct emx_dev_detach {
	char interface[EMX_DEV_IFNAME];
};

#define EMX_IOC_MAGIC 0xe7
#define EMX_IOC_VERSION _IOR(EMX_IOC_MAGIC, 0, struct emx_dev_version)
#define EMX_IOC_BOARD _IOWR(EMX_IOC_MAGIC, 1, struct emx_dev_board)
#define EMX_IOC_CLAIM _IOWR(EMX_IOC_MAGIC, 2, struct emx_dev_claim)
#define EMX_IOC_COMMAND _IOW(EMX_IOC_MAGIC, 3, struct emx_dev_command)
#define EMX_IOC_SUBMIT _IOWR(EMX_IOC_MAGIC, 4, struct emx_dev_submit)
#define EMX_IOC_PEER _IOWR(EMX_IOC_MAGIC, 5, struct emx_dev_peer)
#define EMX_IOC_NAMES _IOW(EMX_IOC_MAGIC, 6, struct emx_dev_names)
#define EMX_IOC_COUNTERS _IOWR(EMX_IOC_MAGIC, 7, struct emx_dev_counters)
#define EMX_IOC_ENDPOINT _IOWR(EMX_IOC_MAGIC, 8, struct emx_dev_endpoint)
#define EMX_IOC_ATTACH _IOWR(EMX_IOC_MAGIC, 9, struct emx_dev_attach)
#define EMX_IOC_DETACH _IOW(EMX_IOC_MAGIC, 10, struct emx_dev_detach)
/*
 * EMX_IOC_WAIT: sleeps until the event ring holds an event, the endpoint is closed, `watched` is readable,
 * EMX_IOC_WAKE was asked more often than `wakes` says, or the time has come. Returns EMX_WAIT_* and, from bit
 * EMX_WAIT_SHIFT on, EMX_WAIT_BITS of the number of wakes until now; none of EMX_WAIT_* when the time has
 * come or, earlier, another sleep's of the endpoint, or half a second is over. EINTR: a signal handler ran. `watched` must be a file with one wait queue, such as of epoll
 * (EINVAL: it has several; EBADF). EMX_IOC_WAKE: ends such sleeps, also the next.
 */
struct emx_dev_wait {
	__u64 deadline_ns; /* CLOCK_MONOTONIC */
	__s32 watched; /* a descriptor, or -1 */
	__u32 wakes; /* as the last EMX_IOC_WAIT has told; 0 at first */
};
#define EMX_WAIT_EVENT 1
#define EMX_WAIT_WATCHED 2
#define EMX_WAIT_WOKEN 4
#define EMX_WAIT_CLOSED 8
#define EMX_WAIT_SHIFT 4
#define EMX_WAIT_BITS 27

#define EMX_IOC_POLL _IOWR(EMX_IOC_MAGIC, 11, struct emx_dev_poll) /* older drivers: ENOTTY */
#define EMX_IOC_PEERS _IOWR(EMX_IOC_MAGIC, 12, struct emx_dev_peers) /* the same */
#define EMX_IOC_WAIT _IOW(EMX_IOC_MAGIC, 13, struct emx_dev_wait) /* the same */
#define EMX_IOC_WAKE _IO(EMX_IOC_MAGIC, 14) /* the same */

#endif
