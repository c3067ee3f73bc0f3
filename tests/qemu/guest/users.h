/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For programs about users of the device: endpoints as a library sees them, their memory, the user
 * and the neighbour, and the wire.
 */
#ifndef EMX_GUEST_USERS_H
#define EMX_GUEST_USERS_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <emx/dev.h>

#include "userns.h"

#define NEIGHBOUR 1000 /* users */
#define USER 1001
#define SESSION 0x1000 /* of endpoint 0; that of endpoint 1 is one more */
#define LIMIT (256u << 10) /* of locked memory, bytes */
#define WAIT_MS 300000 /* only what hangs waits that long */
#define PAGE 4096u
#define KERNEL 0xffff888000100000ull /* an address that is mapped, but not for programs */
#define SECRET "neither yours nor mine"

/* As the library sees it. */
struct ring {
	uint32_t mask, head, tail, reserved;
	struct emx_msg entry[];
};

struct endpoint {
	int fd;
	struct emx_dev_claim claim;
	struct ring *ring;
	uint8_t *slots;
	uint64_t *counters;
	uint32_t tail;
};

static bool by_uring; /* command() does not use the ioctl */
static struct io_uring uring;
static pid_t uring_of; /* who made it */
static int wire; /* raw socket */
static int account; /* what the module tells of memory; only root may open it */
static int neighbour; /* socket to it */
static uint64_t stranger; /* address of the far end */
static uint64_t agreed; /* the offer of all whose messages are pulled; 0: without the extension */

/* ---- endpoints ---- */

static inline void *map(int fd, uint64_t offset, uint64_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);

	return at == MAP_FAILED ? NULL : at;
}

/* 0 or an errno. */
static inline int claim(struct endpoint *ep, uint32_t number)
{
	memset(ep, 0, sizeof(*ep));
	ep->fd = open(EMX_DEV_PATH, O_RDWR);
	need(ep->fd >= 0, EMX_DEV_PATH);
	ep->claim.number = number;
	ep->claim.session = SESSION + number;
	ep->claim.x_wanted = EMX_X_FRAG_MAX;
	if (ioctl(ep->fd, EMX_IOC_CLAIM, &ep->claim))
		return errno;
	ep->ring = map(ep->fd, EMX_DEV_MAP_RING, ep->claim.ring_bytes);
	ep->slots = map(ep->fd, EMX_DEV_MAP_SLOTS, ep->claim.slots_bytes);
	ep->counters = map(ep->fd, EMX_DEV_MAP_COUNTERS, ep->claim.counters_bytes);
	need(ep->ring && ep->slots && ep->counters, "maps of an own endpoint");
	return 0;
}

static inline void release(struct endpoint *ep)
{
	if (ep->ring) {
		munmap(ep->ring, ep->claim.ring_bytes);
		munmap(ep->slots, ep->claim.slots_bytes);
		munmap(ep->counters, ep->claim.counters_bytes);
	}
	close(ep->fd);
}

/* An entry for that command; the caller may change it. */
static inline struct io_uring_sqe *uring_entry(int fd, const void *command)
{
	struct emx_dev_uring given = { .command = (uintptr_t)command };
	struct io_uring_sqe *sqe;

	if (uring_of != getpid())
		need(!io_uring_queue_init(4, &uring, 0), "io_uring");
	uring_of = getpid();
	sqe = io_uring_get_sqe(&uring);
	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, 0);
	sqe->cmd_op = EMX_IOC_COMMAND;
	memcpy(sqe->cmd, &given, sizeof(given));
	return sqe;
}

/* 0 or an errno: what became of the entry. */
static inline int uring_answer(void)
{
	struct io_uring_cqe *cqe;
	int result;

	need(io_uring_submit(&uring) == 1, "io_uring_enter");
	need(!io_uring_wait_cqe(&uring, &cqe), "io_uring");
	result = cqe->res;
	io_uring_cqe_seen(&uring, cqe);
	return -result;
}

/* 0 or what errno is then. */
static inline int command(const struct endpoint *ep, struct emx_dev_command *c)
{
	if (!by_uring)
		return ioctl(ep->fd, EMX_IOC_COMMAND, c) ? errno : 0;
	uring_entry(ep->fd, c);
	errno = uring_answer();
	return errno;
}

/* Index of a board in the peer table. */
static inline uint32_t peer_of(const struct endpoint *ep, uint64_t mac)
{
	struct emx_dev_peer p = { .by = EMX_DEV_PEER_ADD, .mac = mac };

	need(!ioctl(ep->fd, EMX_IOC_PEER, &p), "peer");
	return p.index;
}

static inline struct emx_dev_command message(uint8_t type, uint32_t peer, uint8_t to,
					     const void *data, uint32_t bytes)
{
	struct emx_dev_command c = { .op = EMX_DEV_SEND };

	c.msg.type = type;
	c.msg.peer = peer;
	c.msg.remote_ep = to;
	c.msg.session = SESSION + to;
	c.msg.msg_len = bytes;
	c.msg.data_len = bytes;
	c.msg.data = (uintptr_t)data;
	return c;
}

/* The next event but changes of the link, or NULL; it stays until the one after it is asked for. */
static inline const struct emx_msg *event(struct endpoint *ep, uint32_t mask)
{
	struct pollfd p = { .fd = ep->fd, .events = POLLIN };
	const struct emx_msg *msg;

	do {
		__atomic_store_n(&ep->ring->tail, ep->tail, __ATOMIC_RELEASE);
		if (poll(&p, 1, WAIT_MS) != 1 || !(p.revents & POLLIN))
			return NULL;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		msg = &ep->ring->entry[ep->tail++ & mask];
	} while (msg->type == EMX_EV_LINK);
	return msg;
}

static inline bool contains(const void *memory, size_t bytes, const void *what, size_t length)
{
	return memmem(memory, bytes, what, length) != NULL;
}

/* Pulls a window of that endpoint of this board: enum emx_pull_status, or -1. */
static inline int pull(struct endpoint *own, uint8_t from, uint8_t id, void *memory, uint32_t bytes)
{
	struct emx_dev_segment segment = { .address = (uintptr_t)memory, .length = bytes };
	struct emx_dev_command c = { .op = EMX_DEV_PULL_START,
				     .segment_count = 1,
				     .length = bytes };
	const struct emx_msg *msg;

	c.msg.remote_ep = from;
	c.msg.session = SESSION + from;
	c.msg.u.window.id = id;
	c.msg.data = agreed;
	c.segments = (uintptr_t)&segment;
	if (command(own, &c))
		return -1;
	msg = event(own, own->claim.ring_entries - 1);
	return msg && msg->type == EMX_EV_PULL_DONE ? msg->u.pull.status : -1;
}

/* ---- memory ---- */

/* In a line that has all of the format, which ends with %n. */
static inline long number_in(int fd, const char *format)
{
	char text[8192];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	const char *line;
	long value;

	need(n > 0, format);
	text[n] = 0;
	for (line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		int end = 0;

		if (sscanf(line, format, &value, &end) == 1 && end)
			return value;
	}
	return -1;
}

/* Memory that this process has pinned, KiB. */
static inline long pinned(void)
{
	int fd = open("/proc/self/status", O_RDONLY);
	long value = number_in(fd, "VmPin: %ld%n");

	close(fd);
	return value;
}

/* Count of messages that found their memory pinned, since the module was loaded. */
static inline long found_pinned(void)
{
	return number_in(account, "%ld messages found their memory pinned%n");
}

/* Memory that the module has pinned, of all processes, KiB. */
static inline long pinned_by_all(void)
{
	return number_in(account, "%ld pages pinned%n") * (PAGE >> 10);
}

static inline void *pages(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	need(at != MAP_FAILED, "mmap");
	return memset(at, 1, bytes);
}

/* Other memory at that address, full of that byte. */
static inline void replace(void *memory, size_t bytes, char byte)
{
	void *at = mmap(memory, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	need(at == memory, "mmap");
	memset(at, byte, bytes);
}

static inline bool full_of(const uint8_t *memory, size_t bytes, uint8_t byte)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		if (memory[i] != byte)
			return false;
	return true;
}

/* Waits until this process has no more than that pinned, KiB. */
static inline bool until_pinned_at_most(long most)
{
	int tries;

	for (tries = 0; tries < 3000 && pinned() > most; tries++)
		/* tidy-allow(sleep): between two looks at the account */
		usleep(100000);
	return pinned() <= most;
}

/* True if the module has let go of all pages, soon. */
static inline bool nothing_pinned(void)
{
	int tries;

	for (tries = 0; tries < 3000 && pinned_by_all(); tries++)
		/* tidy-allow(sleep): between two looks at the module's account */
		usleep(100000);
	return !pinned_by_all() && !pinned();
}

static inline void close_window(const struct endpoint *ep, uint8_t id, uint8_t tag)
{
	struct emx_dev_command c = { .op = EMX_DEV_WINDOW_CLOSE };

	c.msg.u.window.id = id;
	c.msg.u.window.tag = tag;
	command(ep, &c);
}

/* ---- the neighbour ---- */

enum wish {
	SEND_OUT = 1, /* a message to the stranger */
	SEND_OVER, /* a message to endpoint 1 */
	KEEP_SECRET, /* send it to itself, tell whether it is in its slots */
	GIVE_FILE, /* its endpoint's file */
	FINGERPRINT, /* of its ring and slots */
	OFFER, /* a page with the secret, to endpoint 1 */
	OFFER_ELSEWHERE, /* the same, to an endpoint of the stranger */
	LEAVE,
};

static inline void give(int to, int fd)
{
	char byte = 0;
	struct iovec part = { .iov_base = &byte, .iov_len = 1 };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	need(sendmsg(to, &m, 0) == 1, "sendmsg");
}

static inline int take(int from)
{
	char byte;
	struct iovec part = { .iov_base = &byte, .iov_len = 1 };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	int fd;

	need(recvmsg(from, &m, 0) == 1 && m.msg_controllen, "recvmsg");
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	return fd;
}

static inline uint64_t fingerprint(const struct endpoint *ep)
{
	const uint8_t *parts[] = { (const uint8_t *)ep->ring, ep->slots };
	const uint64_t bytes[] = { ep->claim.ring_bytes, ep->claim.slots_bytes };
	uint64_t sum = 14695981039346656037ull;
	uint64_t i;
	int part;

	for (part = 0; part < 2; part++)
		for (i = 0; i < bytes[part]; i++)
			sum = (sum ^ parts[part][i]) * 1099511628211ull;
	return sum;
}

static inline int offer(const struct endpoint *ep, uint32_t peer, const void *memory,
			uint64_t bytes, uint64_t length, uint8_t id)
{
	struct emx_dev_segment segment = { .address = (uintptr_t)memory, .length = bytes };
	struct emx_dev_command c = { .op = EMX_DEV_WINDOW_OPEN };

	c.msg.peer = peer;
	c.msg.remote_ep = 1;
	c.msg.u.window.id = id;
	c.segments = (uintptr_t)&segment;
	c.segment_count = 1;
	c.length = length;
	return command(ep, &c);
}

static inline int send_to(const struct endpoint *ep, uint32_t peer, uint8_t to, const char *text)
{
	struct emx_dev_command c = message(EMX_SMALL, peer, to, text, (uint32_t)strlen(text));

	return command(ep, &c);
}

static inline uint64_t fulfil(struct endpoint *ep, uint8_t wish)
{
	static char page[PAGE] __attribute__((aligned(PAGE))) = SECRET;

	switch (wish) {
	case SEND_OUT:
		return send_to(ep, peer_of(ep, stranger), 2, "from the neighbour");
	case SEND_OVER:
		return send_to(ep, 0, 1, "to the user");
	case KEEP_SECRET:
		return !send_to(ep, 0, 0, SECRET) && event(ep, ep->claim.ring_entries - 1) &&
		       contains(ep->slots, ep->claim.slots_bytes, SECRET, strlen(SECRET));
	case FINGERPRINT:
		return fingerprint(ep);
	case OFFER:
		return offer(ep, 0, page, PAGE, PAGE, 1);
	case OFFER_ELSEWHERE:
		return offer(ep, peer_of(ep, stranger), page, PAGE, PAGE, 2);
	default:
		release(ep);
		return 0;
	}
}

static inline void serve(int to)
{
	struct endpoint ep;
	uint64_t answer = claim(&ep, 0);
	uint8_t wish;

	need(write(to, &answer, sizeof(answer)) == sizeof(answer), "neighbour");
	while (read(to, &wish, 1) == 1) {
		if (wish == GIVE_FILE) {
			give(to, ep.fd);
			continue;
		}
		answer = fulfil(&ep, wish);
		need(write(to, &answer, sizeof(answer)) == sizeof(answer), "neighbour");
	}
	exit(0);
}

static inline uint64_t answer_of_neighbour(void)
{
	uint64_t answer;

	need(read(neighbour, &answer, sizeof(answer)) == sizeof(answer), "neighbour");
	return answer;
}

static inline uint64_t ask(uint8_t wish)
{
	need(write(neighbour, &wish, 1) == 1, "neighbour");
	return answer_of_neighbour();
}

static inline int file_of_neighbour(void)
{
	uint8_t wish = GIVE_FILE;

	need(write(neighbour, &wish, 1) == 1, "neighbour");
	return take(neighbour);
}

/* ---- the wire ---- */

/*
 * The endpoint that the next message of a board's programs comes from, and its text; -1: none.
 * Boards ask for names and send beacons whenever they like.
 */
static inline int source_on_wire(char *text, size_t size)
{
	struct pollfd p = { .fd = wire, .events = POLLIN };
	uint8_t frame[256];
	ssize_t n;

	do {
		if (poll(&p, 1, WAIT_MS) <= 0)
			return -1;
		n = recv(wire, frame, sizeof(frame), 0);
	} while (n < 60 || frame[EMX_OUTER_LEN] == EMX_HOST_QUERY ||
		 frame[EMX_OUTER_LEN] == EMX_RAW);
	snprintf(text, size, "%.*s", (int)n - EMX_OUTER_LEN - 24,
		 (const char *)frame + EMX_OUTER_LEN + 24);
	return ((const struct emx_w_eager *)(frame + EMX_OUTER_LEN))->src_ep;
}

static inline void sees(int endpoint, const char *text, const char *what)
{
	char got[256] = "";
	int source = source_on_wire(got, sizeof(got));

	if (!check(source == endpoint && !strcmp(got, text), what))
		printf("          from endpoint %d: \"%s\"\n", source, got);
}

static inline void open_wire(const char *ifname)
{
	struct sockaddr_ll address = { .sll_family = AF_PACKET,
				       .sll_protocol = htons(EMX_ETHERTYPE),
				       .sll_ifindex = (int)if_nametoindex(ifname) };
	struct ifreq request = { 0 };

	wire = socket(AF_PACKET, SOCK_RAW, htons(EMX_ETHERTYPE));
	strncpy(request.ifr_name, ifname, IFNAMSIZ - 1);
	need(wire >= 0 && !bind(wire, (struct sockaddr *)&address, sizeof(address)) &&
		     !ioctl(wire, SIOCGIFHWADDR, &request),
	     ifname);
	stranger = emx_get_mac((const uint8_t *)request.ifr_hwaddr.sa_data);
}

static inline void meet_neighbour(void)
{
	int pair[2];

	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
	if (!fork()) {
		close(pair[0]);
		become(NEIGHBOUR);
		serve(pair[1]);
	}
	close(pair[1]);
	neighbour = pair[0];
	need(!answer_of_neighbour(), "the neighbour's endpoint");
}

/* Does what only root may, before anybody becomes a user. */
static inline void prepare(const char *ifname)
{
	const struct rlimit limit = { .rlim_cur = LIMIT, .rlim_max = LIMIT };

	setvbuf(stdout, NULL, _IOLBF, 0);
	open_wire(ifname);
	account = open("/sys/kernel/debug/ethermx/memory", O_RDONLY);
	need(account >= 0 && !setrlimit(RLIMIT_MEMLOCK, &limit), "root");
}

#endif
