// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Tests that a user of /dev/ethermx without privileges cannot do what it must not, one case each,
 * beside the same thing done by a user that may:
 *
 *   trespass CASE IFNAME [uring]     CASE: send, slots, pin, memory, rights or uring
 *
 * With "uring" all commands are given by io_uring instead of the ioctl.
 *
 * Started by root. It opens a raw socket on IFNAME, the far end of the board, which sees
 * what leaves; forks a neighbour, another ordinary user with endpoint 0, which does as it is asked;
 * and becomes the user with endpoint 1, the subject of the case. A line for each check; exit status
 * 0 when all hold.
 */
#define _GNU_SOURCE /* memmem, mremap, setresuid */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <emx/dev.h>

#include "users.h"

/* ---- frames from an endpoint of somebody else ---- */

/* Only packets of libraries may be sent: no answers for the board, no data of large messages. */
static void all_types(const struct endpoint *own, uint32_t peer)
{
	static const uint8_t refused[] = { EMX_RAW,  EMX_HOST_QUERY, EMX_HOST_REPLY,
					   EMX_PULL, EMX_PULL_REPLY, EMX_NACK_MCP };
	struct emx_dev_command c;
	int wrong = 0;
	size_t i;

	for (i = 0; i < sizeof(refused); i++) {
		c = message(refused[i], peer, 2, NULL, 0);
		wrong += command(own, &c) != EINVAL;
	}
	check(!wrong, "no frames that are the board's");
}

static void case_send(struct endpoint *own)
{
	uint32_t peer = peer_of(own, stranger);
	struct emx_dev_command c = message(EMX_SMALL, peer, 2, "mine", 4);
	struct endpoint foreign = { 0 };
	struct endpoint other;

	check(!ask(SEND_OUT), "the neighbour sends");
	sees(0, "from the neighbour", "its message comes from its endpoint");

	c.msg.local_ep = 0;
	check(!command(own, &c), "a message that says it is from endpoint 0");
	sees(1, "mine", "leaves as one of the endpoint that sent it");

	foreign.fd = file_of_neighbour();
	c = message(EMX_SMALL, peer, 2, "not mine", 8);
	check(command(&foreign, &c) == EPERM, "no command through the neighbour's file");
	{
		struct emx_dev_submit s = { .commands = (uintptr_t)&c, .count = 1 };

		check(ioctl(foreign.fd, EMX_IOC_SUBMIT, &s) && errno == EPERM && s.done == 0,
		      "nor a list of them");
	}
	all_types(own, peer);
	close(foreign.fd);
	check(!send_to(own, peer, 2, "mine again"), "an own message after all that");
	sees(1, "mine again", "is the next on the wire");

	check(claim(&other, 0) == EBUSY, "the neighbour's endpoint cannot be claimed");
	release(&other);
	check(!ask(SEND_OUT), "though a copy of its file was closed, it still sends");
	sees(0, "from the neighbour", "and its message leaves");
	ask(LEAVE);
	check(!claim(&other, 0), "when it has left, its number can be claimed");
	release(&other);
	check(socket(AF_PACKET, SOCK_RAW, htons(EMX_ETHERTYPE)) < 0 && errno == EPERM,
	      "no raw socket");
}

/* ---- slots of somebody else ---- */

static void no_other_parts(const struct endpoint *own)
{
	const uint64_t begin[] = { EMX_DEV_MAP_RING, EMX_DEV_MAP_SLOTS, EMX_DEV_MAP_COUNTERS };
	const uint64_t bytes[] = { own->claim.ring_bytes, own->claim.slots_bytes,
				   own->claim.counters_bytes };
	int wrong = 0;
	int i;

	for (i = 0; i < 3; i++) {
		wrong += map(own->fd, begin[i], bytes[i] + PAGE) != NULL;
		wrong += map(own->fd, begin[i] + PAGE, bytes[i]) != NULL;
		wrong += map(own->fd, begin[i] + bytes[i], PAGE) != NULL;
		wrong += bytes[i] > PAGE && map(own->fd, begin[i], bytes[i] - PAGE);
		wrong += map(own->fd, begin[i] | 1ull << 40, bytes[i]) != NULL;
		wrong += mmap(NULL, bytes[i], PROT_READ, MAP_PRIVATE, own->fd, (off_t)begin[i]) !=
			 MAP_FAILED;
	}
	check(!wrong, "nothing but the whole parts can be mapped");
}

static void no_growth(const struct endpoint *own)
{
	size_t more = own->claim.slots_bytes + PAGE;
	void *heap = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(mremap(heap, PAGE, 2 * PAGE, MREMAP_MAYMOVE) != MAP_FAILED, "memory can grow");
	check(mremap(own->slots, own->claim.slots_bytes, more, MREMAP_MAYMOVE) == MAP_FAILED,
	      "the slots' cannot");
}

/* True if a forked child can read that byte. */
static bool child_reads(const volatile uint8_t *byte)
{
	pid_t child = fork();
	int status;

	if (!child) {
		(void)*byte;
		_exit(0);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status);
}

static bool all_zero(const uint8_t *memory, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		if (memory[i])
			return false;
	return true;
}

static void case_slots(struct endpoint *own)
{
	static const uint8_t ordinary = 1;
	struct endpoint foreign = { 0 };
	struct endpoint fresh;

	check(ask(KEEP_SECRET), "the neighbour's slots hold what was sent to it");
	check(!contains(own->slots, own->claim.slots_bytes, SECRET, strlen(SECRET)),
	      "those of another endpoint do not");
	foreign.fd = file_of_neighbour();
	check(!map(foreign.fd, EMX_DEV_MAP_SLOTS, own->claim.slots_bytes) && errno == EPERM,
	      "its slots cannot be mapped with its file");
	check(!map(foreign.fd, EMX_DEV_MAP_RING, own->claim.ring_bytes) && errno == EPERM,
	      "nor its ring");
	close(foreign.fd);
	no_other_parts(own);
	no_growth(own);
	check(child_reads(&ordinary), "a forked child reads its parent's memory");
	check(!child_reads(own->slots), "but not its slots");

	ask(LEAVE);
	check(!claim(&fresh, 0), "the neighbour leaves, and its endpoint is claimed");
	check(all_zero(fresh.slots, fresh.claim.slots_bytes), "its slots are empty");
	check(!contains(fresh.ring, fresh.claim.ring_bytes, SECRET, strlen(SECRET)),
	      "and the ring holds nothing of the neighbour's");
	release(&fresh);
}

/* ---- more pages than the limit ---- */

/* One page each, as many as there can be. */
static void many_windows(const struct endpoint *own, uint8_t *memory, unsigned int count)
{
	struct emx_dev_segment segment = { .length = PAGE };
	struct emx_dev_command c = { .op = EMX_DEV_WINDOW_OPEN,
				     .segment_count = 1,
				     .length = PAGE };
	int errors = 0;
	unsigned int i;

	c.segments = (uintptr_t)&segment;
	for (i = 0; i < count; i++) {
		segment.address = (uintptr_t)memory + i % (4 * LIMIT / PAGE) * PAGE;
		c.msg.u.window.id = (uint8_t)i;
		c.msg.u.window.tag = (uint8_t)(i >> 8);
		errors += command(own, &c) != 0;
	}
	check(!errors, "thousands of windows can be opened");
	check(pinned() == LIMIT >> 10, "they pin no more than the limit");
	check(pinned_by_all() == LIMIT >> 10, "says the module, too");
	for (i = 0; i < count; i++)
		close_window(own, (uint8_t)i, (uint8_t)(i >> 8));
	check(pinned() == 0 && pinned_by_all() == 0, "nothing is pinned when they are closed");
}

/* A page named many times counts each time, since each is a pin. */
static void one_page_often(const struct endpoint *own, uint8_t *memory)
{
	static struct emx_dev_segment segment[EMX_DEV_SEGMENTS_MAX];
	struct emx_dev_command c = { .op = EMX_DEV_WINDOW_OPEN,
				     .segment_count = EMX_DEV_SEGMENTS_MAX,
				     .length = EMX_DEV_SEGMENTS_MAX };
	unsigned int i;

	for (i = 0; i < EMX_DEV_SEGMENTS_MAX; i++) {
		segment[i].address = (uintptr_t)memory;
		segment[i].length = 1;
	}
	c.segments = (uintptr_t)segment;
	check(!command(own, &c) && pinned() == 0,
	      "nor does a page that is named thousands of times");
	close_window(own, 0, 0);
}

/* The process dies with an endpoint: what its limit says then counts for nobody. */
static void by_a_child(uint8_t *memory)
{
	pid_t child = fork();
	struct endpoint ep;
	int status;

	if (!child) {
		_exit(claim(&ep, EMX_DEV_ANY) || offer(&ep, 0, memory, LIMIT, LIMIT, 0) ||
		      pinned() != LIMIT >> 10);
	}
	waitpid(child, &status, 0);
	check(WIFEXITED(status) && !WEXITSTATUS(status), "a child may pin as much");
	check(pinned_by_all() == 0, "and nothing is left of that when it has ended");
}

static void case_pin(struct endpoint *own)
{
	const struct rlimit more = { .rlim_cur = 4 * LIMIT, .rlim_max = 4 * LIMIT };
	uint8_t *memory = pages(4 * LIMIT);

	check(!offer(own, 0, memory, LIMIT / 2, LIMIT / 2, 0) && pinned() == LIMIT / 2 >> 10,
	      "half the limit is pinned");
	check(!offer(own, 0, memory, LIMIT, LIMIT, 1) && pinned() == LIMIT / 2 >> 10,
	      "what would be more is not");
	check(!offer(own, 0, memory, LIMIT / 2, LIMIT / 2, 2) && pinned() == LIMIT >> 10,
	      "what just fits is");
	check(pinned_by_all() == LIMIT >> 10, "as the module says");
	check(setrlimit(RLIMIT_MEMLOCK, &more) && errno == EPERM, "the limit stays");
	close_window(own, 0, 0);
	close_window(own, 1, 0);
	close_window(own, 2, 0);
	check(pinned() == 0, "closed: nothing is pinned");
	many_windows(own, memory, 4096);
	one_page_often(own, memory);
	by_a_child(memory);
}

/* The same request by root: CAP_IPC_LOCK has no limit. */
static void pins_of_root(void)
{
	pid_t child = fork();
	struct endpoint ep;
	int status;

	if (!child)
		_exit(claim(&ep, EMX_DEV_ANY) ||
		      offer(&ep, 0, pages(4 * LIMIT), 4 * LIMIT, 4 * LIMIT, 0) ||
		      pinned() != 4 * LIMIT >> 10);
	waitpid(child, &status, 0);
	check(WIFEXITED(status) && !WEXITSTATUS(status), "root pins four times the limit");
	check(pinned_by_all() == 0, "and is gone");
}

/* ---- what others decide, or are told ---- */

/* As the module tells anybody. */
static uint64_t count_of(const struct endpoint *ep, unsigned int counter)
{
	uint64_t counts[EMX_CNT_COUNT];
	struct emx_dev_counters c = { .address = (uintptr_t)counts, .count = EMX_CNT_COUNT };

	need(!ioctl(ep->fd, EMX_IOC_COUNTERS, &c), "counters");
	return counts[counter];
}

static int say_names(int fd, uint32_t op)
{
	struct emx_dev_names names = { .op = op };

	return ioctl(fd, EMX_IOC_NAMES, &names) ? errno : 0;
}

static int clear_counters(int fd)
{
	struct emx_dev_counters c = { .clear = 1 };

	return ioctl(fd, EMX_IOC_COUNTERS, &c) ? errno : 0;
}

static int add_peer(int fd, uint64_t mac)
{
	struct emx_dev_peer p = { .by = EMX_DEV_PEER_ADD, .mac = mac };

	return ioctl(fd, EMX_IOC_PEER, &p) ? errno : 0;
}

/* With a file that root has opened: what counts is who asks. */
static void decisions(int fd)
{
	struct emx_dev_attach attach = { .interface = "emx1" };
	struct emx_dev_detach detach = { .interface = "emx0" };

	check(add_peer(fd, 0x02000000aa01) == ENOSPC, "a table that root has closed gets no peers");
	check(say_names(fd, EMX_DEV_PEERS_CLEAR) == EPERM, "nor is it opened");
	check(say_names(fd, EMX_DEV_NAMES_FORGET) == EPERM, "names are not forgotten");
	check(clear_counters(fd) == EPERM, "counters are not cleared");
	check(ioctl(fd, EMX_IOC_ATTACH, &attach) && errno == EPERM, "nothing is attached");
	check(ioctl(fd, EMX_IOC_DETACH, &detach) && errno == EPERM, "nothing is detached");
}

/* Runs it as that user, in a process of its own. */
static void as_user(uid_t user, void (*f)(int fd), int fd)
{
	pid_t child = fork();
	int status;

	if (!child) {
		become(user);
		f(fd);
		_exit(failures ? 1 : 0);
	}
	waitpid(child, &status, 0);
	failures += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static void additions(int fd)
{
	check(!add_peer(fd, 0x02000000aa02), "a table that root has opened gets peers");
}

#define PLACES 1024 /* in a table of peers */

static int keep(int fd, uint32_t by, uint32_t index, uint64_t mac)
{
	struct emx_dev_peer p = { .by = by, .index = index, .mac = mac };

	return ioctl(fd, EMX_IOC_PEER, &p) ? errno : 0;
}

/* More newcomers than a table has places. */
static bool newcomers(int fd)
{
	static uint64_t next = 0x02000000bb00; /* new each time */
	int left = 2 * PLACES;

	while (left && !add_peer(fd, next++))
		left--;
	return !left;
}

/* Places in a full table are taken again, but for those that an endpoint keeps. */
static void places(int plain)
{
	const uint64_t mac = 0x02000000aa03;
	struct endpoint own;
	uint32_t index;

	need(!claim(&own, 5), "endpoint 5");
	index = peer_of(&own, mac);
	check(keep(plain, EMX_DEV_PEER_KEEP, index, mac) == EBADFD,
	      "only an endpoint keeps a peer");
	check(keep(own.fd, EMX_DEV_PEER_KEEP, index, mac ^ 1) == ESTALE,
	      "none keeps one by another's address");
	check(keep(own.fd, EMX_DEV_PEER_KEEP, PLACES, mac) == ESTALE &&
		      keep(own.fd, EMX_DEV_PEER_RELEASE, PLACES, mac) == ENOENT,
	      "nor one that is not there");
	check(!keep(own.fd, EMX_DEV_PEER_KEEP, index, mac) && newcomers(own.fd) &&
		      peer_of(&own, mac) == index,
	      "newcomers find places, but not that of a peer which is kept");
	check(!keep(own.fd, EMX_DEV_PEER_RELEASE, index, 0) && newcomers(own.fd) &&
		      keep(own.fd, EMX_DEV_PEER_KEEP, index, mac) == ESTALE,
	      "they take it when it is released");
	index = peer_of(&own, mac);
	need(!keep(own.fd, EMX_DEV_PEER_KEEP, index, mac), "keep it again");
	release(&own);
	need(newcomers(plain), "newcomers when its endpoint has closed");
	check(!claim(&own, 5) && keep(own.fd, EMX_DEV_PEER_KEEP, index, mac) == ESTALE,
	      "so another has its place");
	release(&own);
}

static void decisions_of_root(void)
{
	int fd = open(EMX_DEV_PATH, O_RDWR);

	check(!say_names(fd, EMX_DEV_PEERS_COMPLETE), "root closes the table of peers");
	as_user(USER, decisions, fd);
	check(!say_names(fd, EMX_DEV_PEERS_CLEAR) && !clear_counters(fd),
	      "root opens it, and clears counters");
	as_user(USER, additions, fd);
	places(fd);
	close(fd);
}

static void case_rights(struct endpoint *own)
{
	uint64_t before = count_of(own, EMX_CNT_TX_SMALL);

	check(!send_to(own, peer_of(own, stranger), 2, "counted") &&
		      count_of(own, EMX_CNT_TX_SMALL) == before + 1,
	      "what is sent is counted");
	memset(own->counters, 0xff, own->claim.counters_bytes);
	check(count_of(own, EMX_CNT_TX_SMALL) == before + 1, "whatever the program writes there");
	release(own);
	need(!claim(own, 1), "endpoint 1");
	check(count_of(own, EMX_CNT_TX_SMALL) == before + 1, "also when it has closed");
}

/* ---- memory outside of the regions ---- */

static void foreign_windows(struct endpoint *own)
{
	uint8_t *memory = pages(PAGE);

	check(!ask(OFFER) && pull(own, 0, 1, memory, PAGE) == EMX_PULL_OK &&
		      contains(memory, PAGE, SECRET, strlen(SECRET)),
	      "a message is fetched by whom it is for");
	memset(memory, 1, PAGE);
	check(!ask(OFFER_ELSEWHERE) && pull(own, 0, 2, memory, PAGE) == EMX_PULL_BAD_WINDOW,
	      "by nobody else");
	check(!contains(memory, PAGE, SECRET, strlen(SECRET)), "who gets nothing of it");
}

/* Asking for more than a window has is not answered. */
static void beyond_the_window(struct endpoint *own)
{
	uint8_t *memory = pages(4 * PAGE);
	struct emx_dev_segment segment = { .length = 2 * PAGE };
	struct emx_dev_command c = {
		.op = EMX_DEV_PULL_START, .segment_count = 1, .length = 2 * PAGE, .cookie = 7
	};
	uint64_t before = count_of(own, EMX_CNT_DROP_PULL_RANGE);
	int tries;

	memset(memory, 2, PAGE);
	segment.address = (uintptr_t)memory + 2 * PAGE;
	c.segments = (uintptr_t)&segment;
	c.msg.remote_ep = 1;
	c.msg.session = SESSION + 1;
	c.msg.u.window.id = 3;
	c.msg.data = agreed;
	check(offer(own, 0, memory, PAGE, PAGE + 1, 3) == EINVAL,
	      "a window longer than its memory");
	check(!offer(own, 0, memory, PAGE, PAGE, 3), "one as long as that");
	check(!command(own, &c), "a fetch of more than it has");
	for (tries = 0; tries < 3000 && count_of(own, EMX_CNT_DROP_PULL_RANGE) == before; tries++)
		/* tidy-allow(sleep): between two looks at what the module counts */
		usleep(100000);
	check(count_of(own, EMX_CNT_DROP_PULL_RANGE) != before, "is refused");
	c.op = EMX_DEV_PULL_CANCEL;
	check(!command(own, &c), "and cancelled");
	check(!contains(memory + 2 * PAGE, 2 * PAGE, "\2", 1), "nothing has come");
}

static void addresses_of_the_kernel(struct endpoint *own)
{
	uint32_t peer = peer_of(own, stranger);
	struct emx_dev_command c = message(EMX_SMALL, peer, 2, (void *)KERNEL, 64);
	struct emx_dev_submit s = { .commands = KERNEL, .count = 1 };
	struct emx_dev_counters counters = { .address = KERNEL, .count = 1 };

	check(command(own, &c) == EFAULT, "no payload out of the kernel's memory");
	check(offer(own, 0, (void *)KERNEL, PAGE, PAGE, 4) == EFAULT, "no window");
	check(pull(own, 1, 4, (void *)KERNEL, PAGE) == -1 && errno == EFAULT, "no fetch");
	c = (struct emx_dev_command){ .op = EMX_DEV_WINDOW_OPEN, .segment_count = 1, .length = 1 };
	c.segments = KERNEL;
	check(command(own, &c) == EFAULT, "no list of segments");
	check(ioctl(own->fd, EMX_IOC_SUBMIT, &s) && errno == EFAULT, "no list of commands");
	check(ioctl(own->fd, EMX_IOC_COMMAND, (void *)KERNEL) && errno == EFAULT, "no command");
	check(ioctl(own->fd, EMX_IOC_COUNTERS, &counters) && errno == EFAULT, "no answer into it");
	check(!send_to(own, peer, 2, "own"), "an own message");
	sees(1, "own", "is the next on the wire");
}

/* A file that this user may read, and nothing else. */
static void read_only(struct endpoint *own, int file)
{
	uint8_t *source = pages(PAGE);
	uint8_t *target = pages(PAGE);
	uint8_t *shared = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, 0);
	uint8_t *private = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, file, 0);
	uint8_t now[PAGE];

	need(shared != MAP_FAILED && private != MAP_FAILED, "file");
	memset(source, 'x', PAGE);
	check(!offer(own, 0, source, PAGE, PAGE, 5) &&
		      pull(own, 1, 5, target, PAGE) == EMX_PULL_OK && !memcmp(source, target, PAGE),
	      "data comes into own memory");
	check(pull(own, 1, 5, shared, PAGE) == EMX_PULL_ABORTED, "not into a file of others");
	check(pull(own, 1, 5, private, PAGE) == EMX_PULL_ABORTED, "nor into a private view of it");
	check(pread(file, now, PAGE, 0) == PAGE && contains(now, PAGE, "untouched", 9) &&
		      !contains(now, PAGE, "x", 1) && !contains(shared, PAGE, "x", 1),
	      "which has not changed");
}

struct flipping {
	struct emx_dev_segment segment;
	uint64_t own;
	bool over;
};

static void *flip(void *data)
{
	struct flipping *f = data;

	while (!__atomic_load_n(&f->over, __ATOMIC_RELAXED)) {
		__atomic_store_n(&f->segment.address, f->own | 0xffull << 56, __ATOMIC_RELAXED);
		__atomic_store_n(&f->segment.address, f->own, __ATOMIC_RELAXED);
	}
	return NULL;
}

/*
 * The list changes while the module reads it: what was checked is what is used. The two addresses
 * differ in one byte, so that no mixture of both is a third one.
 */
static void changing_list(struct endpoint *own)
{
	uint8_t *memory = pages(PAGE);
	uint8_t *target = pages(PAGE);
	struct flipping f = { .segment = { .address = (uintptr_t)memory, .length = PAGE },
			      .own = (uintptr_t)memory };
	struct emx_dev_command c = { .op = EMX_DEV_WINDOW_OPEN,
				     .segment_count = 1,
				     .length = PAGE };
	pthread_t thread;
	int opened = 0;
	int refused = 0;
	int wrong = 0;
	int i;

	memset(memory, 'y', PAGE);
	c.msg.remote_ep = 1;
	c.msg.u.window.id = 6;
	c.segments = (uintptr_t)&f.segment;
	need(!pthread_create(&thread, NULL, flip, &f), "pthread_create");
	for (i = 0; i < 2000 || (!(opened && refused) && i < 200000); i++) {
		int err = command(own, &c);

		opened += !err;
		refused += err == EFAULT;
		if (err || opened % 64)
			continue;
		memset(target, 0, PAGE);
		wrong += pull(own, 1, 6, target, PAGE) != EMX_PULL_OK ||
			 memcmp(target, memory, PAGE) != 0;
	}
	__atomic_store_n(&f.over, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	if (!check(opened && refused && opened + refused == i && !wrong,
		   "a list that changes under the module's eyes"))
		printf("          %d opened, %d refused of %d, %d not what was opened\n", opened,
		       refused, i, wrong);
}

/* An event with the neighbour's text, where the module's own count says. */
static bool came(struct endpoint *own)
{
	uint32_t at = own->tail & (own->claim.ring_entries - 1);
	const struct emx_msg *msg = event(own, own->claim.ring_entries - 1);

	return msg && msg->type == EMX_SMALL && msg->data == (uint64_t)at * own->claim.slot_bytes &&
	       !memcmp(own->slots + msg->data, "to the user", 11);
}

/* To itself, the longest payload there is, full of that byte. */
static int send_long(const struct endpoint *own, uint8_t byte)
{
	static uint8_t payload[EMX_X_FRAG_MAX];
	struct emx_dev_command c = message(EMX_X_MEDIUM, 0, 1, payload, own->claim.x_fragment);

	memset(payload, byte, sizeof(payload));
	return command(own, &c);
}

static bool long_came(struct endpoint *own, uint8_t byte)
{
	const uint64_t slots = (uint64_t)own->claim.ring_entries * own->claim.slot_bytes;
	const struct emx_msg *msg = event(own, own->claim.ring_entries - 1);
	uint32_t i = 0;

	if (!msg || msg->type != EMX_X_MEDIUM || msg->data_len != own->claim.x_fragment ||
	    msg->data < slots || msg->data + msg->data_len > own->claim.slots_bytes)
		return false;
	while (i < msg->data_len && own->slots[msg->data + i] == byte)
		i++;
	return i == msg->data_len;
}

/* There are fewer places for them than entries in the ring. */
static void long_payloads(struct endpoint *own)
{
	const uint64_t before = count_of(own, EMX_CNT_DROP_EVENT_FULL);
	struct emx_dev_command c = message(EMX_X_MEDIUM, 0, 1, NULL, own->claim.x_fragment + 1u);
	const uint32_t n = 2 * EMX_FRAGS_MAX + 1;
	uint32_t i, arrived, wrong = 0;

	check(own->claim.x_fragment > own->claim.slot_bytes, "fragments are longer than slots");
	check(command(own, &c) == EINVAL, "but no longer than agreed on");
	for (i = 0; i < n; i++)
		wrong += send_long(own, (uint8_t)i) != 0;
	arrived = n - (uint32_t)(count_of(own, EMX_CNT_DROP_EVENT_FULL) - before);
	for (i = 0; i < arrived; i++)
		wrong += !long_came(own, (uint8_t)i);
	check(arrived && arrived < n && !wrong, "as many come as there is room for, unaltered");
	check(!ask(SEND_OVER) && came(own), "a short one after them has its slot");
	for (i = 0; i < n; i++)
		wrong += send_long(own, (uint8_t)i) || !long_came(own, (uint8_t)i);
	check(!wrong, "whoever takes them gets all");
}

static void hostile_ring(struct endpoint *own)
{
	static const uint32_t tails[] = { 1u << 31, ~0u, 512, 513, 511, 0x7fffffff, 1 };
	uint64_t before;
	size_t i;
	int n;

	check(!ask(SEND_OVER) && came(own), "a message of the neighbour comes");
	before = ask(FINGERPRINT);
	check(ask(FINGERPRINT) == before, "which leaves its ring and slots as they are");
	own->ring->mask = ~0u;
	own->ring->head = 0x7ffffff0;
	own->ring->reserved = ~0u;
	check(!ask(SEND_OVER) && came(own), "another one, though mask and head are nonsense");
	/* Frames find the ring full, or a tail beyond the head. Guard pages lie behind all parts.
	 */
	for (i = 0; i < sizeof(tails) / sizeof(*tails); i++)
		for (n = 0; n < 32; n++) {
			own->ring->mask = ~0u;
			own->ring->head = ~0u << n % 32;
			__atomic_store_n(&own->ring->tail, own->tail + tails[i] + (uint32_t)n,
					 __ATOMIC_RELEASE);
			memset(own->counters, 0xff, own->claim.counters_bytes);
			ask(SEND_OVER);
			send_long(own, 'l');
		}
	check(ask(FINGERPRINT) == before, "the neighbour's have not changed by all that");
	check(ask(KEEP_SECRET) && ask(FINGERPRINT) != before, "but by a message to it they do");
}

static void case_memory(struct endpoint *own, int file)
{
	const uint64_t x_pulls = count_of(own, EMX_CNT_RX_X_PULL);

	foreign_windows(own);
	beyond_the_window(own);
	read_only(own, file);
	/* Nobody has made such an offer, nor takes such frames. */
	agreed = emx_offer(255, 1, 0xffff, 0xffff, 0xffff);
	foreign_windows(own);
	beyond_the_window(own);
	read_only(own, file);
	check(count_of(own, EMX_CNT_RX_X_PULL) > x_pulls, "the same by the extension");
	addresses_of_the_kernel(own);
	changing_list(own);
	long_payloads(own);
	hostile_ring(own);
}

/* ---- io_uring ---- */

/* Nothing but commands, and nothing but what is defined. */
static void malformed(const struct endpoint *own, struct emx_dev_command *c)
{
	static const unsigned long others[] = {
		EMX_IOC_VERSION, EMX_IOC_BOARD,	   EMX_IOC_CLAIM,    EMX_IOC_SUBMIT, EMX_IOC_PEER,
		EMX_IOC_NAMES,	 EMX_IOC_COUNTERS, EMX_IOC_ENDPOINT, EMX_IOC_ATTACH, EMX_IOC_DETACH,
	};
	struct emx_dev_uring given = { .command = (uintptr_t)c, .reserved = 1ull << 63 };
	struct iovec buffer = { .iov_base = pages(PAGE), .iov_len = PAGE };
	struct io_uring_sqe *sqe;
	int wrong = 0;
	size_t i;

	for (i = 0; i < sizeof(others) / sizeof(*others); i++) {
		uring_entry(own->fd, c)->cmd_op = (uint32_t)others[i];
		wrong += uring_answer() != ENOTTY;
	}
	check(!wrong, "no other request");
	sqe = uring_entry(own->fd, c);
	memcpy(sqe->cmd, &given, sizeof(given));
	check(uring_answer() == EINVAL, "no command with a reserved bit");
	need(!io_uring_register_buffers(&uring, &buffer, 1), "io_uring_register_buffers");
	sqe = uring_entry(own->fd, c);
	sqe->uring_cmd_flags = IORING_URING_CMD_FIXED;
	check(uring_answer() == EINVAL, "nor one with a registered buffer");
	uring_entry(own->fd, (void *)KERNEL);
	check(uring_answer() == EFAULT, "nor one out of the kernel's memory");
}

/* The ring and the file are the parent's, and so are the addresses in commands. */
static void inherited_ring(const struct endpoint *own, struct emx_dev_command *c)
{
	pid_t child = fork();
	int status;

	if (!child) {
		uring_of = getpid();
		uring_entry(own->fd, c);
		_exit(uring_answer());
	}
	waitpid(child, &status, 0);
	check(WIFEXITED(status) && WEXITSTATUS(status) == EPERM, "no command of a child by it");
	uring_of = 0; /* the queue is beyond what this process knows of it */
}

/* The ring holds the file; its endpoint ends all the same. */
static void closed_file(struct endpoint *own, struct emx_dev_command *c)
{
	struct endpoint other;

	need(!io_uring_register_files(&uring, &own->fd, 1), "io_uring_register_files");
	uring_entry(0, c)->flags = IOSQE_FIXED_FILE;
	check(!uring_answer(), "a message by a registered file");
	sees(1, "mine", "leaves");
	release(own);
	uring_entry(0, c)->flags = IOSQE_FIXED_FILE;
	check(uring_answer() == EINVAL, "none when the file was closed");
	check(!claim(&other, 1), "whose endpoint can be claimed");
	release(&other);
}

static void case_uring(struct endpoint *own)
{
	struct emx_dev_command c = message(EMX_SMALL, peer_of(own, stranger), 2, "mine", 4);
	struct endpoint unclaimed = { .fd = open(EMX_DEV_PATH, O_RDWR) };

	by_uring = true;
	check(command(&unclaimed, &c) == EBADFD, "no command by a file that is no endpoint");
	malformed(own, &c);
	inherited_ring(own, &c);
	check(!send_to(own, c.msg.peer, 2, "mine again"), "an own message after all that");
	sees(1, "mine again", "is the next on the wire");
	uring_entry(own->fd, &c)->flags = IOSQE_ASYNC;
	check(!uring_answer(), "a message by a thread of io_uring");
	sees(1, "mine", "leaves as one of the endpoint");
	closed_file(own, &c);
}

/* ---- start ---- */

static int file_of_root(void)
{
	static const char text[PAGE] = "untouched";
	int fd = open("/tmp/read-only", O_RDWR | O_CREAT | O_TRUNC, 0444);

	need(fd >= 0 && write(fd, text, PAGE) == PAGE, "/tmp/read-only");
	close(fd);
	return open("/tmp/read-only", O_RDONLY);
}

int main(int argc, char **argv)
{
	struct endpoint own;
	int file;

	if (argc != 3 && argc != 4)
		return 2;
	by_uring = argc == 4;
	prepare(argv[2]);
	file = file_of_root();
	need(file >= 0, "/tmp/read-only");
	if (!strcmp(argv[1], "pin"))
		pins_of_root();
	if (!strcmp(argv[1], "rights"))
		decisions_of_root();
	meet_neighbour();
	become(USER);
	need(!claim(&own, 1), "endpoint 1");
	if (!strcmp(argv[1], "send"))
		case_send(&own);
	else if (!strcmp(argv[1], "slots"))
		case_slots(&own);
	else if (!strcmp(argv[1], "pin"))
		case_pin(&own);
	else if (!strcmp(argv[1], "memory"))
		case_memory(&own, file);
	else if (!strcmp(argv[1], "rights"))
		case_rights(&own);
	else if (!strcmp(argv[1], "uring"))
		case_uring(&own);
	else
		return 2;
	return failures ? 1 : 0;
}
