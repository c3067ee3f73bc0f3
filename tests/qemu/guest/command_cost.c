// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Measures what a send costs the program by each way to give commands: an ioctl each, a list in one ioctl,
 * and a list by io_uring. The frames go to an interface that drops them.
 *
 *   command_cost [ROUNDS]     medians over rounds that take turns, in ns per command
 */
#include <fcntl.h>
#include <liburing.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <emx/dev.h>

#define LIST 32 /* commands in the longest list */
#define ROUNDS 101
#define TURN 64 /* commands of a way in one round */

enum way { IOCTL, SUBMIT, URING, WAYS };

static struct emx_dev_command commands[LIST];
static struct io_uring ring;
static uint8_t payload[9000];
static int fd;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void begin(void)
{
	struct emx_dev_claim claim = { .number = EMX_DEV_ANY, .session = 1 };
	struct io_uring_params params = { .flags = IORING_SETUP_SUBMIT_ALL };

	fd = open(EMX_DEV_PATH, O_RDWR | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, EMX_IOC_CLAIM, &claim))
		die(EMX_DEV_PATH);
	if (io_uring_queue_init_params(LIST, &ring, &params))
		die("io_uring");
}

static uint32_t add_peer(void)
{
	struct emx_dev_peer peer = { .by = EMX_DEV_PEER_ADD, .mac = 0x020000000099ull };

	if (ioctl(fd, EMX_IOC_PEER, &peer))
		die("EMX_IOC_PEER");
	return peer.index;
}

static void compose(uint32_t peer, uint32_t bytes)
{
	int i;

	memset(commands, 0, sizeof(commands));
	for (i = 0; i < LIST; i++) {
		struct emx_msg *msg = &commands[i].msg;

		commands[i].op = EMX_DEV_SEND;
		msg->type = bytes <= EMX_TINY_MAX ? EMX_TINY : EMX_MEDIUM;
		msg->peer = peer;
		msg->session = 1;
		msg->data = (uintptr_t)payload;
		msg->data_len = bytes;
		msg->msg_len = bytes;
	}
}

static void by_ioctl(unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (ioctl(fd, EMX_IOC_COMMAND, &commands[i]))
			die("EMX_IOC_COMMAND");
}

static void by_submit(unsigned int count)
{
	struct emx_dev_submit submit = { .commands = (uintptr_t)commands, .count = count };
	unsigned int i;

	if (ioctl(fd, EMX_IOC_SUBMIT, &submit) || submit.done != count)
		die("EMX_IOC_SUBMIT");
	for (i = 0; i < count; i++)
		if (commands[i].result)
			die("a command of EMX_IOC_SUBMIT");
}

static void by_uring(unsigned int count)
{
	struct io_uring_cqe *cqe;
	unsigned int head, seen = 0, i;

	for (i = 0; i < count; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
		struct emx_dev_uring *given = (struct emx_dev_uring *)sqe->cmd;

		io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, 0);
		sqe->cmd_op = EMX_IOC_COMMAND;
		given->command = (uintptr_t)&commands[i];
		given->reserved = 0;
	}
	if (io_uring_submit(&ring) != (int)count)
		die("io_uring_enter");
	io_uring_for_each_cqe(&ring, head, cqe)
	{
		if (cqe->res)
			die("a command of io_uring");
		seen++;
	}
	if (seen != count)
		die("a command that io_uring has not executed yet");
	io_uring_cq_advance(&ring, seen);
}

/* ns for each of TURN commands, given `count` at a time. */
static double turn(enum way way, unsigned int count)
{
	struct timespec from, to;
	unsigned int i;

	clock_gettime(CLOCK_MONOTONIC, &from); /* tidy-allow(time): a benchmark */
	for (i = 0; i < TURN / count; i++) {
		if (way == IOCTL)
			by_ioctl(count);
		else if (way == SUBMIT)
			by_submit(count);
		else
			by_uring(count);
	}
	clock_gettime(CLOCK_MONOTONIC, &to); /* tidy-allow(time): a benchmark */
	return ((to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec)) / TURN;
}

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *values, unsigned int count)
{
	qsort(values, count, sizeof(*values), ascending);
	return values[count / 2];
}

static void measure(uint32_t bytes, unsigned int count, unsigned int rounds)
{
	double *ns = calloc((size_t)WAYS * rounds, sizeof(*ns));
	double cost[WAYS];
	unsigned int round, way;

	if (!ns)
		die("memory");
	for (way = 0; way < WAYS; way++) /* warms up */
		turn(way, count);
	for (round = 0; round < rounds; round++)
		for (way = 0; way < WAYS; way++)
			ns[way * rounds + round] = turn(way, count);
	for (way = 0; way < WAYS; way++)
		cost[way] = median(ns + way * rounds, rounds);
	printf("%5u B x %2u  ioctl %7.0f  list %7.0f  io_uring %7.0f  list/ioctl %.2f  "
	       "io_uring/ioctl %.2f  io_uring/list %.2f\n",
	       bytes, count, cost[IOCTL], cost[SUBMIT], cost[URING], cost[SUBMIT] / cost[IOCTL],
	       cost[URING] / cost[IOCTL], cost[URING] / cost[SUBMIT]);
	free(ns);
}

int main(int argc, char **argv)
{
	static const unsigned int sizes[] = { 0, 32, 1024, 4096, 8192 };
	unsigned int rounds = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 0) : ROUNDS;
	unsigned int i, count;
	uint32_t peer;

	begin();
	peer = add_peer();
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		compose(peer, sizes[i]);
		for (count = 1; count <= LIST; count *= 2)
			measure(sizes[i], count, rounds);
	}
	return 0;
}
