// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Memory that the module has pinned, or copies from and to later, while its process unmaps it,
 * forks, or executes another program:
 *
 *   regions CASE IFNAME [extension]     CASE: unmap, fork or exec
 *
 * With "extension" messages are fetched by X PULL.
 *
 * Started by root, it becomes an ordinary user with endpoint 1 of the board at the other end of
 * IFNAME. A raw socket on IFNAME answers pulls when the case says so: what happens to memory in
 * between is certain to happen under a running pull. A line for each check; exit status 0 when all
 * hold.
 */
#define _GNU_SOURCE /* memmem, setresuid */

#include "users.h"

#include <sys/wait.h>

#define LOOSE (2 * LIMIT) /* more than may be pinned */

/* ---- the stranger, who has a message ---- */

struct request {
	uint8_t mac[6];
	emx_be32 handle, magic;
	emx_be16 number; /* of an X PULL */
};

/* The next request for a message that comes to the stranger. */
static bool requested(struct request *request)
{
	struct pollfd p = { .fd = wire, .events = POLLIN };
	const uint8_t type = agreed ? EMX_X_PULL : EMX_PULL;
	const struct emx_w_pull_n *body;
	const struct emx_w_x_pull *x_body;
	uint8_t frame[256];

	do {
		if (poll(&p, 1, WAIT_MS) <= 0)
			return false;
	} while (recv(wire, frame, sizeof(frame), 0) < 60 || frame[EMX_OUTER_LEN] != type);
	body = (const struct emx_w_pull_n *)(frame + EMX_OUTER_LEN);
	x_body = (const struct emx_w_x_pull *)(frame + EMX_OUTER_LEN);
	memcpy(request->mac, frame + 6, 6);
	request->handle = agreed ? x_body->handle : body->handle;
	request->magic = agreed ? x_body->magic : body->magic;
	request->number = x_body->request;
	return true;
}

static void set_mac(uint8_t *to, uint64_t mac)
{
	int i;

	for (i = 0; i < 6; i++)
		to[i] = (uint8_t)(mac >> 8 * (5 - i));
}

/* Sends a board that header, and a page full of that byte behind it, or nothing. */
static bool send_body(const uint8_t *mac, const void *body, size_t length, int byte)
{
	struct emx_outer outer = { .ethertype = emx_put16(EMX_ETHERTYPE),
				   .tag = emx_put16(EMX_TAG_NONE) };
	uint8_t frame[EMX_HEADER_MAX + PAGE];
	const size_t bytes = sizeof(outer) + length + (byte ? PAGE : 0);

	memcpy(outer.dst, mac, 6);
	set_mac(outer.src, stranger);
	memcpy(frame, &outer, sizeof(outer));
	memcpy(frame + sizeof(outer), body, length);
	memset(frame + sizeof(outer) + length, byte, PAGE);
	return send(wire, frame, bytes, 0) == (ssize_t)bytes;
}

/* Answers it with a page full of that byte. */
static bool answer(const struct request *request, char byte)
{
	const struct emx_w_pull_reply body = { .type = EMX_PULL_REPLY,
					       .length = emx_put16(PAGE),
					       .handle = request->handle,
					       .magic = request->magic };
	const struct emx_w_x_data x_body = { .type = EMX_X_DATA,
					     .dst_ep = 1,
					     .src_ep = 2,
					     .length = emx_put16(PAGE),
					     .handle = request->handle,
					     .magic = request->magic,
					     .request = request->number };

	if (agreed)
		return send_body(request->mac, &x_body, sizeof(x_body), byte);
	return send_body(request->mac, &body, sizeof(body), byte);
}

/* Repeats of requests that were answered since; no more come. */
static void forget_requests(void)
{
	uint8_t frame[256];

	while (recv(wire, frame, sizeof(frame), MSG_DONTWAIT) > 0)
		;
}

/* A pull of a page that the stranger has. */
static int pull_of_stranger(const struct endpoint *own, void *memory)
{
	struct emx_dev_segment segment = { .address = (uintptr_t)memory, .length = PAGE };
	struct emx_dev_command c = { .op = EMX_DEV_PULL_START, .segment_count = 1, .length = PAGE };

	c.msg.peer = peer_of(own, stranger);
	c.msg.remote_ep = 2;
	c.msg.session = 7;
	c.msg.u.window.id = 9;
	c.msg.data = agreed;
	c.segments = (uintptr_t)&segment;
	forget_requests();
	return command(own, &c);
}

/* The outcome of the pull. */
static int ended(struct endpoint *own)
{
	const struct emx_msg *msg = event(own, own->claim.ring_entries - 1);

	return msg && msg->type == EMX_EV_PULL_DONE ? msg->u.pull.status : -1;
}

/* ---- unmapped ---- */

/* The message begins in one page and ends in the next. */
static void part_of_a_window(struct endpoint *own, uint8_t *target)
{
	uint8_t *memory = pages(4 * PAGE);

	check(!offer(own, 0, memory + PAGE / 2, PAGE, PAGE, 5), "a message in two pages");
	munmap(memory + 2 * PAGE, 2 * PAGE);
	check(pull(own, 1, 5, target, PAGE) == EMX_PULL_OK,
	      "can be fetched when the pages behind it are gone");
	munmap(memory + PAGE, PAGE);
	check(pull(own, 1, 5, target, PAGE) == EMX_PULL_BAD_WINDOW,
	      "and fails when one of the two is");
	close_window(own, 5, 0);
	munmap(memory, PAGE);
	check(nothing_pinned(), "nothing stays pinned");
}

static void unmapped_windows(struct endpoint *own)
{
	uint8_t *memory = pages(PAGE);
	uint8_t *loose = pages(LOOSE);
	uint8_t *target = pages(PAGE);

	check(!offer(own, 0, memory, PAGE, PAGE, 1) && pinned() == PAGE >> 10, "a pinned message");
	replace(memory, PAGE, 'n');
	check(pull(own, 1, 1, target, PAGE) == EMX_PULL_BAD_WINDOW && full_of(target, PAGE, 1),
	      "fails when its memory is other memory");
	check(!offer(own, 0, memory, PAGE, PAGE, 4) &&
		      pull(own, 1, 4, target, PAGE) == EMX_PULL_OK && full_of(target, PAGE, 'n'),
	      "and only that: a message in the other memory can be fetched");
	close_window(own, 4, 0);
	munmap(memory, PAGE);
	close_window(own, 1, 0);
	check(nothing_pinned(), "and its pages are let go of in the end");
	part_of_a_window(own, target);

	check(!offer(own, 0, loose, LOOSE, LOOSE, 2) && !pinned(), "a message that is not pinned");
	memset(target, 0, PAGE);
	check(pull(own, 1, 2, target, PAGE) == EMX_PULL_OK && full_of(target, PAGE, 1),
	      "can be fetched");
	munmap(loose, LOOSE);
	check(pull(own, 1, 2, target, PAGE) == EMX_PULL_BAD_WINDOW,
	      "and fails when its memory is gone");
	close_window(own, 2, 0);
}

static void unmapped_targets(struct endpoint *own)
{
	uint8_t *memory = pages(PAGE);
	uint8_t *source = pages(PAGE);
	struct request request;
	struct request again;

	check(!pull_of_stranger(own, memory) && requested(&request) && pinned() == PAGE >> 10,
	      "a message is being fetched");
	replace(memory, PAGE, 'n');
	check(ended(own) == EMX_PULL_ABORTED && nothing_pinned(),
	      "it fails at once when its memory is other memory");
	check(!pull_of_stranger(own, memory) && requested(&again) && answer(&request, 'd') &&
		      answer(&again, 'e') && ended(own) == EMX_PULL_OK &&
		      full_of(memory, PAGE, 'e'),
	      "what comes late is lost, and another message comes");
	check(!pull_of_stranger(own, memory) && requested(&request), "another one");
	munmap(memory, PAGE);
	check(ended(own) == EMX_PULL_ABORTED && nothing_pinned(), "fails when its memory is gone");
	check(!offer(own, 0, source, PAGE, PAGE, 3), "a message for memory that is not there");
	check(pull(own, 1, 3, memory, PAGE) == EMX_PULL_ABORTED, "fails");
	memory = pages(PAGE);
	check(pull(own, 1, 3, memory, PAGE) == EMX_PULL_OK && full_of(memory, PAGE, 1),
	      "and only that: for other memory it comes");
	close_window(own, 3, 0);
}

/* ---- asked for in pieces ---- */

/* The next data that comes to the stranger: a frame of that number, a page full of that byte. */
static bool data_is(uint32_t number, uint8_t byte)
{
	struct pollfd p = { .fd = wire, .events = POLLIN };
	const struct emx_w_x_data *body;
	uint8_t frame[2 * PAGE];
	ssize_t n;

	do {
		if (poll(&p, 1, WAIT_MS) <= 0)
			return false;
		n = recv(wire, frame, sizeof(frame), 0);
	} while (n < 60 || frame[EMX_OUTER_LEN] != EMX_X_DATA);
	body = (const struct emx_w_x_data *)(frame + EMX_OUTER_LEN);
	return n == (ssize_t)(EMX_OUTER_LEN + sizeof(*body) + PAGE) &&
	       emx_get32(body->frame) == number && emx_get16(body->length) == PAGE &&
	       full_of(frame + EMX_OUTER_LEN + sizeof(*body), PAGE, byte);
}

/*
 * The stranger asks for frames of a message that it takes for longer than it is: what there is of
 * them comes, what is beyond the message does not.
 */
static void frames_of_a_window(struct endpoint *own)
{
	struct emx_w_x_pull body = { .type = EMX_X_PULL,
				     .dst_ep = 1,
				     .src_ep = 1,
				     .session = emx_put32(SESSION + 1),
				     .total = emx_put32(0xffffffff),
				     .window = 7,
				     .unit = emx_put16(PAGE) };
	uint8_t *memory = pages(3 * PAGE);
	uint8_t *target = pages(PAGE);
	struct request request;
	int i;

	for (i = 0; i < 3; i++)
		memset(memory + i * PAGE, 'a' + i, PAGE);
	check(!pull_of_stranger(own, target) && requested(&request) && answer(&request, 'd') &&
		      ended(own) == EMX_PULL_OK,
	      "the stranger has heard of the board");
	check(!offer(own, peer_of(own, stranger), memory, 3 * PAGE, 3 * PAGE, 7),
	      "a message for the stranger");
	body.want[0] = 9; /* frames 0 and 3 */
	check(send_body(request.mac, &body, sizeof(body), 0), "which asks for a frame too much");
	body.want[0] = 5; /* frames 0 and 2 */
	check(send_body(request.mac, &body, sizeof(body), 0), "and for two that there are");
	check(data_is(0, 'a') && data_is(2, 'c'), "gets those, and no others");
	close_window(own, 7, 0);
	munmap(memory, 3 * PAGE);
	munmap(target, PAGE);
	check(nothing_pinned(), "nothing stays pinned");
}

/* ---- a child ---- */

static bool exits_well(pid_t child)
{
	int status;

	return waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* In the child: what is done to its memory and files must be its own matter. */
static int be_a_child(const struct endpoint *own, uint8_t *memory, int told)
{
	struct emx_dev_command c = message(EMX_SMALL, 0, 1, "child", 5);
	char byte;

	memset(memory, 'c', PAGE);
	if (command(own, &c) != EPERM)
		return 1;
	close(own->fd);
	/* The parent's message has come when it tells. */
	if (read(told, &byte, 1) != 1)
		return 2;
	return full_of(memory, PAGE, 'c') ? 0 : 3;
}

static void case_fork(struct endpoint *own)
{
	uint8_t *memory = pages(PAGE);
	uint8_t *source = pages(PAGE);
	struct request request;
	int told[2];
	pid_t child;

	check(!pull_of_stranger(own, memory) && requested(&request), "a message is being fetched");
	check(!offer(own, 0, source, PAGE, PAGE, 1) && pinned() == 2 * PAGE >> 10,
	      "another one is on offer");
	need(!pipe(told), "pipe");
	child = fork();
	if (!child)
		_exit(be_a_child(own, memory, told[0]));
	memset(source, 's', PAGE);
	check(answer(&request, 'd') && ended(own) == EMX_PULL_OK && full_of(memory, PAGE, 'd'),
	      "the message comes to the parent");
	check(pull(own, 1, 1, memory, PAGE) == EMX_PULL_OK && full_of(memory, PAGE, 's'),
	      "what the parent wrote after the fork is what is sent");
	need(write(told[1], "", 1) == 1, "pipe");
	check(exits_well(child), "the child saw none of it, and could command nothing");
	check(pull(own, 1, 1, memory, PAGE) == EMX_PULL_OK, "the parent goes on when it has ended");
	close_window(own, 1, 0);
	check(nothing_pinned(), "nothing stays pinned");
}

/* ---- another program ---- */

/* It has the files, but not the endpoint, nor its number, nor its pages. */
static int after_exec(int fd)
{
	struct endpoint own = { .fd = fd };
	struct endpoint again;

	check(nothing_pinned(), "the new program has nothing pinned, nor has the old one");
	check(send_to(&own, 0, 1, "new") == EPERM, "it cannot command the old one's endpoint");
	check(!claim(&again, 1), "but claim one of that number");
	return failures ? 1 : 0;
}

static void case_exec(struct endpoint *own)
{
	char fd[16];
	char accounts[16];

	check(!offer(own, 0, pages(PAGE), PAGE, PAGE, 1), "a message on offer");
	check(!pull_of_stranger(own, pages(PAGE)), "one is being fetched");
	check(!offer(own, 0, pages(LOOSE), LOOSE, LOOSE, 2), "and one is not pinned");
	check(pinned_by_all() == 2 * PAGE >> 10, "two pages are");
	snprintf(fd, sizeof(fd), "%d", own->fd);
	snprintf(accounts, sizeof(accounts), "%d", account);
	execl("/regions", "regions", "after", fd, accounts, NULL);
	need(false, "exec");
}

int main(int argc, char **argv)
{
	struct endpoint own;

	if (argc == 4 && !strcmp(argv[1], "after")) {
		account = atoi(argv[3]);
		return after_exec(atoi(argv[2]));
	}
	if (argc == 4 && !strcmp(argv[3], "extension"))
		agreed = emx_offer(1, 1, EMX_X_PULLS, 9014, 32);
	else if (argc != 3)
		return 2;
	prepare(argv[2]);
	become(USER);
	need(!claim(&own, 1), "endpoint 1");
	if (!strcmp(argv[1], "unmap")) {
		unmapped_windows(&own);
		unmapped_targets(&own);
		if (agreed)
			frames_of_a_window(&own);
	} else if (!strcmp(argv[1], "fork")) {
		case_fork(&own);
	} else if (!strcmp(argv[1], "exec")) {
		case_exec(&own);
	} else {
		return 2;
	}
	return failures ? 1 : 0;
}
