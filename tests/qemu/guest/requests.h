/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A hostile user of /dev/ethermx: random ioctls and commands by io_uring, valid, nearly valid and
 * wild ones, random writes into everything that can be mapped, endpoints opened and closed all the
 * time.
 *
 * The includer calls prepare_requests(), then scribble(), in several threads if it likes; what
 * becomes of requests it finds in tallies.
 */
#ifndef EMX_GUEST_REQUESTS_H
#define EMX_GUEST_REQUESTS_H

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <emx/dev.h>

#include "userns.h"

#define FILES 4
#define THREADS 4 /* of a process, at most */
#define QUEUE 8 /* of io_uring, entries */
#define ARENA (4u << 20) /* memory that commands name; its second half comes and goes */
#define MAC 0x020000000000ull /* of interfaces and peers: those from there on */
#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))

struct file {
	int fd;
	struct emx_dev_claim claim;
	uint8_t *map[3]; /* ring, slots, counters */
	size_t bytes[3];
};

/* Files of each thread: others use their descriptors, not what is mapped. */
static struct file files[THREADS][FILES];
static uint8_t *arena;
/* Memory that commands are read from, of each thread. */
static _Thread_local struct {
	struct emx_dev_segment segments[32];
	struct emx_dev_command list[8];
	/* Threads of the kernel may still read them while the next are composed. */
	struct emx_dev_command queue[QUEUE];
} * desk;
static _Thread_local uint64_t state;
static _Thread_local unsigned long asked; /* requests */
static unsigned int boards;
static bool own_boards; /* boards are the program's own */

static const char *const interfaces[] = { "d0", "d1", "v" };

static inline uint32_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16);
}

static inline uint32_t below(uint32_t n)
{
	return draw() % n;
}

static inline bool chance(uint32_t one_in)
{
	return below(one_in) == 0;
}

static inline void scramble(void *memory, size_t bytes)
{
	uint8_t *b = memory;
	size_t i;

	for (i = 0; i < bytes; i++)
		b[i] = (uint8_t)draw();
}

/* Mostly memory that is there, sometimes memory that is not, the kernel's, or nonsense. */
static inline uint64_t address(void)
{
	switch (below(16)) {
	case 0:
		return 0;
	case 1:
		return 0xffff888000000000ull + draw();
	case 2:
		return (uint64_t)draw() << 32 | draw();
	case 3:
		return ~0ull - below(8192);
	default:
		return (uintptr_t)arena + below(ARENA);
	}
}

static inline uint64_t length(void)
{
	switch (below(10)) {
	case 0:
		return 0;
	case 1:
		return (uint64_t)draw() << below(32);
	case 2:
	case 3:
		return below(chance(4) ? ARENA : 65536);
	default:
		return below(40000);
	}
}

/* ---- files ---- */

static inline void unmap(struct file *f)
{
	int i;

	for (i = 0; i < 3; i++)
		if (f->map[i])
			munmap(f->map[i], f->bytes[i]);
	memset(f->map, 0, sizeof(f->map));
}

static inline void drop(struct file *f)
{
	unmap(f);
	if (f->fd >= 0)
		close(f->fd);
	memset(f, 0, sizeof(*f));
	f->fd = -1;
}

static inline void map(struct file *f, int part, uint64_t offset, uint64_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, offset);

	f->map[part] = memory == MAP_FAILED ? NULL : memory;
	f->bytes[part] = bytes;
}

/* All parts; sometimes others than there are, which is gone again at once. */
static inline void map_all(struct file *f)
{
	static const uint64_t parts[] = { EMX_DEV_MAP_RING, EMX_DEV_MAP_SLOTS,
					  EMX_DEV_MAP_COUNTERS };
	size_t bytes = (1 + below(chance(4) ? 2048 : 3)) * 4096;
	void *other;

	other = mmap(NULL, bytes, 1 + below(7), chance(4) ? MAP_PRIVATE : MAP_SHARED, f->fd,
		     (off_t)(parts[below(3)] + (chance(2) ? below(16) * 4096 : 0)));
	if (other != MAP_FAILED)
		munmap(other, bytes);
	map(f, 0, parts[0], f->claim.ring_bytes);
	map(f, 1, parts[1], f->claim.slots_bytes);
	map(f, 2, parts[2], f->claim.counters_bytes);
}

/* Part by part, some of them told before what the kernel may do with them. */
static inline void remap(struct file *f)
{
	int part = below(3);

	if (f->map[part] && chance(2))
		madvise(f->map[part], f->bytes[part], below(24));
	if (f->map[part] && chance(2))
		mmap(f->map[part], 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (f->map[part] && chance(2))
		mprotect(f->map[part], f->bytes[part], (int)below(8));
	unmap(f);
	if (f->claim.ring_bytes)
		map_all(f);
}

/* ---- what became of them ---- */

/* Operations of a command, of a list of peers' names, and ways to name a peer: all that there are.
 */
static const struct {
	const char *name;
	uint32_t number;
} operations[] = {
	{ "send", EMX_DEV_SEND },
	{ "open a window", EMX_DEV_WINDOW_OPEN },
	{ "close a window", EMX_DEV_WINDOW_CLOSE },
	{ "start a pull", EMX_DEV_PULL_START },
	{ "cancel a pull", EMX_DEV_PULL_CANCEL },
	{ "join a group", EMX_DEV_GROUP_JOIN },
	{ "leave a group", EMX_DEV_GROUP_LEAVE },
	{ "send to a group", EMX_DEV_GROUP_SEND },
};
static const uint32_t naming[] = {
	EMX_DEV_NAME_BOARD,   EMX_DEV_NAMES_FORGET,   EMX_DEV_PEERS_CLEAR,
	EMX_DEV_PEERS_APPEND, EMX_DEV_PEERS_COMPLETE, EMX_DEV_PEER_SPEAKS,
};
static const uint32_t peer_by[] = { EMX_DEV_PEER_INDEX, EMX_DEV_PEER_MAC,  EMX_DEV_PEER_ADD,
				    EMX_DEV_PEER_NAME,	EMX_DEV_PEER_KEEP, EMX_DEV_PEER_RELEASE };

struct tally {
	unsigned long tried, good;
};

/* Shared by all processes. */
static struct {
	struct tally request[32], operation[COUNT_OF(operations)], uring;
} * tallies;

static inline void note(struct tally *t, bool good)
{
	asked++;
	__atomic_fetch_add(&t->tried, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->good, good, __ATOMIC_RELAXED);
}

/* ---- commands ---- */

static inline void message(struct emx_msg *msg)
{
	static const uint8_t types[] = { EMX_CONNECT,  EMX_TINY,    EMX_SMALL, EMX_MEDIUM,
					 EMX_RNDV,     EMX_NOTIFY,  EMX_TRUC,  EMX_NACK_LIB,
					 EMX_X_MEDIUM, EMX_X_REPORT };

	scramble(msg, sizeof(*msg));
	if (!chance(8))
		msg->type = types[below(sizeof(types))];
	if (!chance(8))
		msg->peer = below(3);
	if (!chance(4)) {
		msg->remote_ep = below(6);
		msg->session = 1 + below(2);
	}
	msg->data_len = msg->type == EMX_TINY	    ? below(40)
			: msg->type == EMX_SMALL    ? below(140)
			: msg->type == EMX_MEDIUM   ? below(9000)
			: msg->type == EMX_X_MEDIUM ? 8000 + below(1000)
						    : 0;
	if (!chance(8)) {
		msg->msg_len = msg->data_len;
		msg->u.medium.position = 0;
		msg->u.medium.frag = 0;
		msg->u.medium.summed = chance(8);
	}
	msg->data = address();
}

static inline void compose(struct emx_dev_command *c)
{
	uint64_t total = 0;
	uint32_t i;

	memset(c, 0, sizeof(*c));
	message(&c->msg);
	c->op = chance(16) ? draw() : operations[below(COUNT_OF(operations))].number;
	c->segment_count = chance(16) ? draw() : 1 + below(chance(4) ? 32 : 2);
	for (i = 0; i < c->segment_count && i < 32; i++) {
		desk->segments[i].address = address();
		desk->segments[i].length = length();
		total += desk->segments[i].length;
	}
	c->segments = chance(16) ? address() : (uintptr_t)desk->segments;
	c->length = chance(4) ? length() : total;
	c->cookie = below(8);
	/* So that pulls meet windows, and these hold what is asked for. */
	if (chance(4))
		return;
	c->msg.u.window.id = below(2);
	c->msg.u.window.tag = 0;
	c->msg.u.window.offset = 0;
	if (c->op == EMX_DEV_PULL_START && chance(2))
		c->msg.data = emx_offer(1, 1, EMX_X_PULLS | (chance(2) ? EMX_X_SUMS : 0),
					chance(4) ? draw() : 9014, 32);
	c->segment_count = 1;
	desk->segments[0].address = (uintptr_t)arena + below(ARENA / 4);
	desk->segments[0].length = c->op == EMX_DEV_PULL_START
					   ? 1 + below(20000)
					   : below(chance(8) ? ARENA / 2 : 65536);
	c->segments = (uintptr_t)desk->segments;
	c->length = desk->segments[0].length;
}

static inline void command(int fd)
{
	struct emx_dev_command c;
	bool good;
	size_t i;

	compose(&c);
	good = ioctl(fd, EMX_IOC_COMMAND, &c) == 0;
	for (i = 0; i < COUNT_OF(operations) && c.op != operations[i].number; i++)
		;
	if (i < COUNT_OF(operations))
		note(&tallies->operation[i], good);
}

/* ---- io_uring ---- */

static _Thread_local struct io_uring ring;
static _Thread_local bool ring_open;

static inline void begin_ring(void)
{
	static const unsigned int setups[] = {
		IORING_SETUP_SQPOLL,	    IORING_SETUP_SQE128, IORING_SETUP_CQE32,
		IORING_SETUP_COOP_TASKRUN,  IORING_SETUP_IOPOLL, IORING_SETUP_SUBMIT_ALL,
		IORING_SETUP_SINGLE_ISSUER,
	};
	struct io_uring_params params = { .sq_thread_idle = 1 };

	if (ring_open)
		io_uring_queue_exit(&ring);
	if (!chance(3))
		params.flags = setups[below(sizeof(setups) / sizeof(*setups))];
	ring_open = io_uring_queue_init_params(QUEUE, &ring, &params) == 0;
}

static inline void compose_entry(int fd, struct io_uring_sqe *sqe, struct emx_dev_command *c)
{
	struct emx_dev_uring *given = (struct emx_dev_uring *)sqe->cmd;

	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, 0);
	compose(c);
	given->command = chance(8) ? address() : (uintptr_t)c;
	given->reserved = chance(16) ? draw() : 0;
	sqe->cmd_op = chance(16) ? draw() : EMX_IOC_COMMAND;
	sqe->user_data = 1;
	if (chance(16))
		sqe->uring_cmd_flags = draw() % 4;
	if (chance(4))
		sqe->flags = draw();
	if (chance(64))
		io_uring_prep_poll_add(sqe, fd, POLLIN);
	if (chance(64))
		scramble(given, sizeof(*given));
}

static inline void take_answers(void)
{
	struct io_uring_cqe *cqe;

	while (io_uring_peek_cqe(&ring, &cqe) == 0) {
		note(&tallies->uring, cqe->res == 0);
		io_uring_cqe_seen(&ring, cqe);
	}
}

static inline void submit_ring(int fd)
{
	unsigned int i, n = 1 + below(QUEUE);
	struct io_uring_sqe *sqe;

	if (!ring_open || chance(300))
		begin_ring();
	for (i = 0; ring_open && i < n; i++) {
		sqe = io_uring_get_sqe(&ring);
		if (!sqe)
			break;
		compose_entry(fd, sqe, &desk->queue[i]);
	}
	if (!ring_open)
		return;
	io_uring_submit(&ring);
	take_answers();
}

/* ---- ioctls ---- */

union content {
	struct emx_dev_version version;
	struct emx_dev_board board;
	struct emx_dev_claim claim;
	struct emx_dev_command command;
	struct emx_dev_submit submit;
	struct emx_dev_peer peer;
	struct emx_dev_peers peers;
	struct emx_dev_names names;
	struct emx_dev_counters counters;
	struct emx_dev_endpoint endpoint;
	struct emx_dev_attach attach;
	struct emx_dev_detach detach;
	struct emx_dev_poll poll;
	struct emx_dev_wait wait;
	uint8_t bytes[512];
};

static inline uint64_t some_mac(void)
{
	return MAC | below(chance(8) ? 1u << 24 : 16);
}

/* Blanks, control characters, and no NUL now and then. */
static inline void some_name(char name[EMX_NAME_MAX])
{
	snprintf(name, EMX_NAME_MAX, "host%u:%u", below(4), below(4));
	if (chance(8))
		scramble(name, EMX_NAME_MAX);
	if (chance(8))
		name[0] = 0;
}

static inline void some_interface(char name[EMX_DEV_IFNAME])
{
	snprintf(name, EMX_DEV_IFNAME, "%s", interfaces[below(COUNT_OF(interfaces))]);
	if (chance(16))
		scramble(name, EMX_DEV_IFNAME);
	if (chance(16))
		name[0] = 0;
}

static inline uint32_t some_dialect(void)
{
	static const uint32_t sizes[] = { 0, 1, 256, 1500, 1500, 1500, 9000, 65535 };

	return chance(16) ? draw() : sizes[below(COUNT_OF(sizes))];
}

static inline void fill_nothing(union content *c)
{
	memset(c, 0, sizeof(*c));
}

static inline void fill_board(union content *c)
{
	c->board.number = below(boards + 1);
}

static inline void fill_claim(union content *c)
{
	memset(c, 0, sizeof(*c));
	c->claim.board = chance(8) ? draw() : below(boards);
	c->claim.number = chance(4) ? below(40) : EMX_DEV_ANY;
	c->claim.session = 1 + below(2);
	c->claim.x_wanted = chance(4) ? draw() : EMX_X_FRAG_MAX;
}

static inline void fill_command(union content *c)
{
	compose(&c->command);
}

static inline void fill_submit(union content *c)
{
	int i;

	for (i = 0; i < 8; i++)
		compose(&desk->list[i]);
	c->submit.commands = (uintptr_t)desk->list;
	c->submit.count = below(9);
}

static inline void fill_peer(union content *c)
{
	memset(c, 0, sizeof(*c));
	c->peer.board = below(boards);
	c->peer.by = peer_by[below(COUNT_OF(peer_by))];
	c->peer.mac = some_mac();
	c->peer.index = below(chance(8) ? 2000 : 8);
	some_name(c->peer.name);
}

static inline void fill_peers(union content *c)
{
	c->peers.board = below(boards);
	c->peers.first = chance(4) ? draw() : below(8);
	c->peers.address = address();
	c->peers.count = chance(16) ? draw() : below(32);
}

static inline void fill_names(union content *c)
{
	memset(c, 0, sizeof(*c));
	c->names.op = naming[below(COUNT_OF(naming))];
	c->names.board = c->names.op == EMX_DEV_PEER_SPEAKS ? some_dialect() : below(boards);
	c->names.mac = some_mac();
	some_name(c->names.name);
}

static inline void fill_counters(union content *c)
{
	memset(c, 0, sizeof(*c));
	c->counters.board = below(boards);
	c->counters.clear = chance(4);
	c->counters.address = address();
	c->counters.count = chance(8) ? draw() : below(2 * EMX_CNT_COUNT);
}

static inline void fill_endpoint(union content *c)
{
	c->endpoint.board = below(boards);
	c->endpoint.number = chance(4) ? draw() : below(8);
}

static inline void fill_attach(union content *c)
{
	memset(c, 0, sizeof(*c));
	some_interface(c->attach.interface);
	c->attach.frame_size = some_dialect();
	c->attach.endpoints = chance(4) ? below(300) : 0;
	c->attach.peers = chance(32) ? 65535 : chance(2) ? below(64) : 0;
}

static inline void fill_detach(union content *c)
{
	some_interface(c->detach.interface);
}

static inline void fill_poll(union content *c)
{
	c->poll.microseconds = chance(4) ? draw() : below(50);
}

static inline void fill_wait(union content *c)
{
	memset(c, 0, sizeof(*c));
	c->wait.deadline_ns = chance(8) ? draw() : 0;
	c->wait.watched = chance(2) ? -1 : (int)below(32);
	c->wait.wakes = below(4);
}

/* All that there are; how often each is drawn. Those that wait for others cost much time. */
static const struct request {
	const char *name;
	unsigned long number;
	void (*fill)(union content *c);
	unsigned int weight;
	bool refused; /* by all that interfaces of a guest's are */
} requests[] = {
	{ "version", EMX_IOC_VERSION, fill_nothing, 2, false },
	{ "board", EMX_IOC_BOARD, fill_board, 4, false },
	{ "claim", EMX_IOC_CLAIM, fill_claim, 8, false },
	{ "command", EMX_IOC_COMMAND, fill_command, 8, false },
	{ "submit", EMX_IOC_SUBMIT, fill_submit, 12, false },
	{ "peer", EMX_IOC_PEER, fill_peer, 16, false },
	{ "peers", EMX_IOC_PEERS, fill_peers, 8, false },
	{ "names", EMX_IOC_NAMES, fill_names, 16, false },
	{ "counters", EMX_IOC_COUNTERS, fill_counters, 8, false },
	{ "endpoint", EMX_IOC_ENDPOINT, fill_endpoint, 8, false },
	{ "attach", EMX_IOC_ATTACH, fill_attach, 4, false },
	{ "detach", EMX_IOC_DETACH, fill_detach, 2, false },
	{ "poll", EMX_IOC_POLL, fill_poll, 4, true },
	{ "wait", EMX_IOC_WAIT, fill_wait, 4, false },
	{ "wake", EMX_IOC_WAKE, fill_nothing, 4, false },
};
#define REQUESTS COUNT_OF(requests)
_Static_assert(REQUESTS <= COUNT_OF(tallies->request), "a tally of each request");

static inline void ask(int fd, size_t i)
{
	const struct request *r = &requests[i];
	void *argument;
	union content c;

	r->fill(&c);
	argument = &c;
	switch (below(10)) {
	case 0:
		scramble(&c, sizeof(c));
		break;
	case 1:
		scramble(c.bytes + below(_IOC_SIZE(r->number) ?: 1), 1 + below(8));
		break;
	case 2:
		if (chance(2))
			argument = (void *)(uintptr_t)address();
		break;
	}
	note(&tallies->request[i], ioctl(fd, r->number, argument) >= 0);
}

static inline void ask_any(int fd)
{
	unsigned int total = 0, drawn;
	size_t i;

	for (i = 0; i < REQUESTS; i++)
		total += requests[i].weight;
	drawn = below(total);
	for (i = 0; drawn >= requests[i].weight; i++)
		drawn -= requests[i].weight;
	ask(fd, i);
}

static inline void begin(struct file *f)
{
	union content c;

	drop(f);
	f->fd = open(EMX_DEV_PATH, O_RDWR | O_CLOEXEC);
	if (f->fd < 0 || chance(8))
		return;
	fill_claim(&c);
	f->claim = c.claim;
	if (ioctl(f->fd, EMX_IOC_CLAIM, &f->claim))
		f->claim.ring_bytes = 0;
	else
		map_all(f);
}

/* ---- other operations ---- */

/* Somewhere in the mapped memory; often the ring's head, tail and mask. */
static inline void write_anywhere(struct file *f)
{
	int part = below(3);
	uint32_t at;

	if (!f->map[part])
		return;
	at = chance(2) ? below(16) : below(f->bytes[part] - 16);
	scramble(f->map[part] + at, 1 + below(16));
}

/* As a library would: takes what is there. */
static inline void consume(struct file *f)
{
	uint32_t *ring = (uint32_t *)f->map[0];

	if (ring)
		ring[2] = ring[1];
}

static inline void change_arena(void)
{
	uint8_t *half = arena + ARENA / 2;

	if (chance(2))
		mprotect(half, ARENA / 2, PROT_NONE);
	else
		mmap(half, ARENA / 2, PROT_READ | (chance(2) ? PROT_WRITE : 0),
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/*
 * Nothing lies behind it as far as a message reaches, nor where an address leads of which some
 * bytes are wrong: the program would overwrite itself. Places: 1 and on.
 */
static inline void *remote_memory(uint64_t place, size_t bytes)
{
	const size_t nothing = 5ull << 30;
	void *at = mmap((void *)(place << 44), bytes + nothing, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	need(at != MAP_FAILED && !mprotect(at, bytes, PROT_READ | PROT_WRITE), "memory");
	return at;
}

/* A child has the files, but no endpoint of them. */
static inline void fork_and_ask(int fd)
{
	pid_t child = fork();

	if (!child) {
		command(fd);
		ask_any(fd);
		_exit(0);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
}

static inline void set_interface(unsigned long request, struct ifreq *r)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(r->ifr_name, sizeof(r->ifr_name), "%s", interfaces[below(COUNT_OF(interfaces))]);
	ioctl(fd, request, r);
	close(fd);
}

static inline void replace_interface(void)
{
	const char *name = interfaces[below(2)];
	char text[128];

	snprintf(
		text, sizeof(text),
		"{ /bin/ip link del %s; /bin/ip link add %s mtu 9000 type dummy && /bin/ip link set %s up; } "
		"2>/dev/null",
		name, name, name);
	if (system(text) < 0)
		perror(text);
}

/* Down and up, longer or shorter frames, another address, gone and there again. */
static inline void change_interface(void)
{
	static const int mtus[] = { 9000, 9000, 1500, 4200, 500 };
	struct ifreq r = { 0 };
	const uint64_t mac = htobe64(some_mac() << 16);

	switch (below(8)) {
	case 0:
		replace_interface();
		break;
	case 1:
		r.ifr_mtu = mtus[below(COUNT_OF(mtus))];
		set_interface(SIOCSIFMTU, &r);
		break;
	case 2:
		r.ifr_hwaddr.sa_family = ARPHRD_ETHER;
		memcpy(r.ifr_hwaddr.sa_data, &mac, 6);
		set_interface(SIOCSIFHWADDR, &r);
		break;
	default:
		r.ifr_flags = chance(3) ? 0 : IFF_UP;
		set_interface(SIOCSIFFLAGS, &r);
		break;
	}
}

static inline void operate(struct file *f)
{
	/* The board may be another thread's, which closes it at any time. */
	int fd = own_boards && chance(8) ? files[below(THREADS)][below(FILES)].fd : f->fd;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	switch (below(32)) {
	case 0:
		poll(&p, 1, 0);
		break;
	case 1:
	case 2:
	case 3:
		write_anywhere(f);
		break;
	case 4:
	case 5:
		consume(f);
		break;
	case 6:
		if (chance(8))
			change_arena();
		if (chance(8))
			remap(f);
		/* This request waits for many others, and costs most of the time. */
		if (chance(64))
			fork_and_ask(fd);
		if (own_boards && chance(32))
			change_interface();
		break;
	case 7:
	case 8:
	case 9:
		submit_ring(fd);
		break;
	case 10:
	case 11:
	case 12:
	case 13:
	case 14:
		ask_any(fd);
		break;
	default:
		command(fd);
		break;
	}
	if (chance(own_boards ? 400 : 2000))
		begin(f);
}

static inline void scribble(struct file *own, uint64_t seed, unsigned long count)
{
	int i;

	state = seed * 0x9e3779b97f4a7c15ull + 1;
	desk = remote_memory(2 + (own - files[0]) / FILES, sizeof(*desk));
	for (i = 0; i < FILES; i++) {
		own[i].fd = -1;
		begin(&own[i]);
	}
	while (asked < count)
		operate(&own[below(FILES)]);
}

/* Prepares what the threads share. */
static inline void prepare_requests(unsigned int count, bool own)
{
	boards = count;
	own_boards = own;
	arena = remote_memory(1, ARENA);
	tallies = mmap(NULL, sizeof(*tallies), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	need(tallies != MAP_FAILED, "mmap");
}

#endif
