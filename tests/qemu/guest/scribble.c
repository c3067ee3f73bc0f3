// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A hostile user of /dev/ethermx: random ioctls and commands by io_uring with random and
 * half-sensible contents, random writes into everything that can be mapped, endpoints opened and
 * closed all the time. Nothing it
 * does may harm the kernel, or another process: the test reads the kernel log.
 *
 *   scribble SEED COUNT BOARDS    COUNT operations; exits 0 when it is still alive after them
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <emx/dev.h>

#define FILES 4
#define ARENA (4u << 20) /* memory that commands name; its second half comes and goes */

struct file {
	int fd;
	struct emx_dev_claim claim;
	uint8_t *map[3]; /* ring, slots, counters */
	size_t bytes[3];
};

static struct file files[FILES];
static uint8_t *arena;
static uint64_t state;
static unsigned int boards;

static uint32_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16);
}

static uint32_t below(uint32_t n)
{
	return draw() % n;
}

static bool chance(uint32_t one_in)
{
	return below(one_in) == 0;
}

static void scramble(void *memory, size_t bytes)
{
	uint8_t *b = memory;
	size_t i;

	for (i = 0; i < bytes; i++)
		b[i] = (uint8_t)draw();
}

/* Mostly memory that is there, sometimes memory that is not, the kernel's, or nonsense. */
static uint64_t address(void)
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

static uint64_t length(void)
{
	switch (below(10)) {
	case 0:
		return 0;
	case 1:
		return (uint64_t)draw() << below(32);
	case 2:
	case 3:
		return below(ARENA);
	default:
		return below(40000);
	}
}

/* ---- files ---- */

static void drop(struct file *f)
{
	int i;

	for (i = 0; i < 3; i++)
		if (f->map[i])
			munmap(f->map[i], f->bytes[i]);
	if (f->fd >= 0)
		close(f->fd);
	memset(f, 0, sizeof(*f));
	f->fd = -1;
}

static void map(struct file *f, int part, uint64_t offset, uint64_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, offset);

	f->map[part] = memory == MAP_FAILED ? NULL : memory;
	f->bytes[part] = bytes;
}

static void begin(struct file *f)
{
	drop(f);
	f->fd = open(EMX_DEV_PATH, O_RDWR | O_CLOEXEC);
	if (f->fd < 0 || chance(8))
		return;
	f->claim.board = chance(8) ? draw() : below(boards);
	f->claim.number = chance(8) ? draw() : EMX_DEV_ANY;
	f->claim.session = 1 + below(2);
	f->claim.x_wanted = chance(4) ? draw() : EMX_X_FRAG_MAX;
	if (ioctl(f->fd, EMX_IOC_CLAIM, &f->claim))
		return;
	map(f, 0, EMX_DEV_MAP_RING, f->claim.ring_bytes);
	map(f, 1, EMX_DEV_MAP_SLOTS, f->claim.slots_bytes);
	map(f, 2, EMX_DEV_MAP_COUNTERS, f->claim.counters_bytes);
}

/* ---- operations ---- */

static void message(struct emx_msg *msg)
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

static struct emx_dev_segment segments[32];

static void compose(struct emx_dev_command *c)
{
	uint64_t total = 0;
	uint32_t i;

	memset(c, 0, sizeof(*c));
	message(&c->msg);
	c->op = chance(16) ? draw() : 1 + below(5);
	c->segment_count = chance(16) ? draw() : 1 + below(chance(4) ? 32 : 2);
	for (i = 0; i < c->segment_count && i < 32; i++) {
		segments[i].address = address();
		segments[i].length = length();
		total += segments[i].length;
	}
	c->segments = chance(16) ? address() : (uintptr_t)segments;
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
	segments[0].address = (uintptr_t)arena + below(ARENA / 4);
	segments[0].length = c->op == EMX_DEV_PULL_START ? 1 + below(20000) : below(ARENA / 2);
	c->segments = (uintptr_t)segments;
	c->length = segments[0].length;
}

static void submit(struct file *f)
{
	struct emx_dev_command list[8];
	struct emx_dev_submit s = { .commands = (uintptr_t)list, .count = below(9) };
	int i;

	for (i = 0; i < 8; i++)
		compose(&list[i]);
	if (chance(16))
		s.commands = address();
	ioctl(f->fd, EMX_IOC_SUBMIT, &s);
}

/* ---- io_uring ---- */

#define QUEUE 8

static struct io_uring ring;
static bool ring_open;
/* Threads of the kernel may still read them while the next are composed. */
static struct emx_dev_command uring_commands[QUEUE];
static unsigned long uring_answers, uring_done;

static void begin_ring(void)
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

static void compose_entry(const struct file *f, struct io_uring_sqe *sqe,
			  struct emx_dev_command *command)
{
	struct emx_dev_uring *given = (struct emx_dev_uring *)sqe->cmd;

	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, f->fd, NULL, 0, 0);
	compose(command);
	given->command = chance(8) ? address() : (uintptr_t)command;
	given->reserved = chance(16) ? draw() : 0;
	sqe->cmd_op = chance(16) ? draw() : EMX_IOC_COMMAND;
	sqe->user_data = 1;
	if (chance(16))
		sqe->uring_cmd_flags = draw() % 4;
	if (chance(4))
		sqe->flags = draw();
	if (chance(64))
		io_uring_prep_poll_add(sqe, f->fd, POLLIN);
	if (chance(64))
		scramble(given, sizeof(*given));
}

static void take_answers(void)
{
	struct io_uring_cqe *cqe;

	while (io_uring_peek_cqe(&ring, &cqe) == 0) {
		uring_answers++;
		uring_done += cqe->res == 0;
		io_uring_cqe_seen(&ring, cqe);
	}
}

static void submit_ring(const struct file *f)
{
	unsigned int i, n = 1 + below(QUEUE);
	struct io_uring_sqe *sqe;

	if (!ring_open || chance(300))
		begin_ring();
	for (i = 0; ring_open && i < n; i++) {
		sqe = io_uring_get_sqe(&ring);
		if (!sqe)
			break;
		compose_entry(f, sqe, &uring_commands[i]);
	}
	if (!ring_open)
		return;
	io_uring_submit(&ring);
	take_answers();
}

/* ---- ioctls ---- */

/* An ioctl with nothing but noise in its structure. */
static void noise(struct file *f)
{
	static const unsigned long requests[] = {
		EMX_IOC_VERSION, EMX_IOC_BOARD, EMX_IOC_CLAIM,	  EMX_IOC_COMMAND, EMX_IOC_SUBMIT,
		EMX_IOC_PEER,	 EMX_IOC_NAMES, EMX_IOC_COUNTERS, EMX_IOC_ATTACH,  EMX_IOC_ENDPOINT,
		EMX_IOC_DETACH,	 EMX_IOC_POLL,	EMX_IOC_PEERS,
	};
	uint8_t memory[512];

	scramble(memory, sizeof(memory));
	ioctl(f->fd, requests[below(sizeof(requests) / sizeof(*requests))],
	      chance(8) ? (void *)(uintptr_t)address() : memory);
}

/* Somewhere in the mapped memory; often the ring's head, tail and mask. */
static void write_anywhere(struct file *f)
{
	int part = below(3);
	uint32_t at;

	if (!f->map[part])
		return;
	at = chance(2) ? below(16) : below(f->bytes[part] - 16);
	scramble(f->map[part] + at, 1 + below(16));
}

/* As a library would: takes what is there. */
static void consume(struct file *f)
{
	uint32_t *ring = (uint32_t *)f->map[0];

	if (ring)
		ring[2] = ring[1];
}

static void peer(struct file *f)
{
	struct emx_dev_peer p = { .board = below(boards), .by = below(4), .index = below(8) };

	p.mac = 0x020000000000ull | below(32);
	ioctl(f->fd, EMX_IOC_PEER, &p);
}

static void change_arena(void)
{
	uint8_t *half = arena + ARENA / 2;

	if (chance(2))
		mprotect(half, ARENA / 2, PROT_NONE);
	else
		mmap(half, ARENA / 2, PROT_READ | (chance(2) ? PROT_WRITE : 0),
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/* Behind it lies nothing as far as a message reaches: it would overwrite this program. */
static uint8_t *make_arena(void)
{
	const size_t nothing = 5ull << 30;
	uint8_t *all = mmap(NULL, ARENA + nothing, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (all == MAP_FAILED || mprotect(all, ARENA, PROT_READ | PROT_WRITE))
		return NULL;
	return all;
}

static void operate(struct file *f)
{
	struct emx_dev_command command;
	struct pollfd p = { .fd = f->fd, .events = POLLIN };

	switch (below(32)) {
	case 0:
		noise(f);
		break;
	case 1:
		submit(f);
		break;
	case 2:
		peer(f);
		break;
	case 3:
		poll(&p, 1, 0);
		break;
	case 4:
	case 5:
	case 6:
		write_anywhere(f);
		break;
	case 7:
	case 8:
		consume(f);
		break;
	case 9:
		if (chance(8))
			change_arena();
		break;
	case 10:
	case 11:
	case 12:
		submit_ring(f);
		break;
	default:
		compose(&command);
		ioctl(f->fd, EMX_IOC_COMMAND, &command);
		break;
	}
	if (chance(2000))
		begin(f);
}

int main(int argc, char **argv)
{
	unsigned long i, count;

	if (argc != 4)
		return 2;
	state = strtoul(argv[1], NULL, 0) * 0x9e3779b97f4a7c15ull + 1;
	count = strtoul(argv[2], NULL, 0);
	boards = (unsigned int)strtoul(argv[3], NULL, 0);
	arena = make_arena();
	if (!arena || boards == 0)
		return 2;
	for (i = 0; i < FILES; i++) {
		files[i].fd = -1;
		begin(&files[i]);
	}
	for (i = 0; i < count; i++)
		operate(&files[below(FILES)]);
	printf("%lu operations, %lu answers by io_uring, %lu of success\n", count, uring_answers,
	       uring_done);
	return uring_done == 0;
}
