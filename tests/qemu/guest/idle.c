// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Memory that stays pinned between messages: used again as long as it is the memory of those
 * addresses, and not a moment longer.
 *
 *   idle CASE IFNAME     CASE: changes, random, limit, or ends
 *
 * Started by root, it becomes an ordinary user with endpoint 1 of the board at the other end of
 * IFNAME, and sends to itself. A line for each check; exit status 0 when all hold. In the first
 * three cases the module's keep_ms has to be longer than they take, in the last one short.
 */
#define _GNU_SOURCE /* memfd_create, mremap, setresuid */

#include "users.h"

#include <sys/mount.h>
#include <sys/wait.h>

#define PAGES 8
#define BYTES (PAGES * PAGE)
#define WINDOW 1

static int file; /* in a file system that writes nothing to a disk, but might */

/* ---- messages ---- */

static uint8_t *other; /* memory of the other side, which does not change */

/* Sends what is in memory, and tells whether that byte comes, everywhere. */
static bool sends(struct endpoint *own, const uint8_t *memory, size_t bytes, uint8_t byte)
{
	bool well = !offer(own, 0, memory, bytes, bytes, WINDOW) &&
		    pull(own, 1, WINDOW, other, (uint32_t)bytes) == EMX_PULL_OK;

	close_window(own, WINDOW, 0);
	return well && full_of(other, bytes, byte);
}

/* Receives so many such bytes into memory: the outcome. */
static int receive(struct endpoint *own, uint8_t *memory, size_t bytes, uint8_t byte)
{
	int status = -1;

	memset(other, byte, bytes);
	if (!offer(own, 0, other, bytes, bytes, WINDOW))
		status = pull(own, 1, WINDOW, memory, (uint32_t)bytes);
	close_window(own, WINDOW, 0);
	return status;
}

static bool receives(struct endpoint *own, uint8_t *memory, size_t bytes, uint8_t byte)
{
	return receive(own, memory, bytes, byte) == EMX_PULL_OK && full_of(memory, bytes, byte);
}

/*
 * True if a message from that memory, or to it, finds so many of its two sides pinned, and none finds
 * more. The kernel may let go of memory at any moment, as when it moves pages to make room for long pieces:
 * one of some messages finds it.
 */
static bool finds(struct endpoint *own, bool outward, uint8_t *memory, size_t bytes, uint8_t byte,
		  long count)
{
	int tries;

	for (tries = 0; tries < 100; tries++) {
		const long before = found_pinned();

		if (outward ? !sends(own, memory, bytes, byte) :
			      !receives(own, memory, bytes, byte))
			return false;
		if (found_pinned() >= before + count)
			return found_pinned() == before + count;
	}
	return false;
}

/* ---- memory, and what changes it ---- */

static uint8_t *anonymous(void)
{
	return pages(BYTES);
}

/* A page of zeros in all places, until something is written. */
static uint8_t *untouched(void)
{
	void *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	need(at != MAP_FAILED, "mmap");
	return at;
}

static uint8_t *of_file(int fd, int flags)
{
	void *at;

	need(fd >= 0 && !ftruncate(fd, BYTES), "file");
	at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, flags, fd, 0);
	need(at != MAP_FAILED, "mmap");
	return at;
}

static int memory_file;

static uint8_t *private_file(void)
{
	memory_file = memfd_create("idle", 0);
	return of_file(memory_file, MAP_PRIVATE);
}

static uint8_t *shared_file(void)
{
	memory_file = memfd_create("idle", 0);
	return of_file(memory_file, MAP_SHARED);
}

static void replaced(uint8_t *memory)
{
	replace(memory, BYTES, 0);
}

static void part_replaced(uint8_t *memory)
{
	replace(memory + BYTES / 2, PAGE, 0);
}

static void discarded(uint8_t *memory)
{
	need(!madvise(memory, BYTES, MADV_DONTNEED), "madvise");
}

static void moved(uint8_t *memory)
{
	void *away =
		mremap(memory, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, (uint8_t *)anonymous());

	need(away != MAP_FAILED, "mremap");
	replace(memory, BYTES, 0);
}

/* The child has pages of its own of what it or its parent writes to. */
static void forked(uint8_t *memory)
{
	pid_t child = fork();
	int status;

	if (!child) {
		memset(memory, 'c', BYTES);
		_exit(0);
	}
	need(waitpid(child, &status, 0) == child && !status, "child");
}

static void truncated(uint8_t *memory)
{
	(void)memory;
	need(!ftruncate(memory_file, 0) && !ftruncate(memory_file, BYTES), "ftruncate");
}

static void protected(uint8_t *memory)
{
	need(!mprotect(memory, BYTES, PROT_NONE) &&
		     !mprotect(memory, BYTES, PROT_READ | PROT_WRITE),
	     "mprotect");
}

static void nothing(uint8_t *memory)
{
	(void)memory;
}

static const struct change {
	const char *name;
	uint8_t *(*memory)(void);
	void (*change)(uint8_t *memory);
	bool unmaps; /* what was under way may fail */
} changes[] = {
	{ "that is as it was", anonymous, nothing, false },
	{ "that is other memory", anonymous, replaced, true },
	{ "that is other memory in part", anonymous, part_replaced, true },
	{ "that was discarded", anonymous, discarded, false },
	{ "that was moved", anonymous, moved, true },
	{ "that a child has, too", anonymous, forked, false },
	{ "that was protected for a while", anonymous, protected, false },
	{ "never written to before", untouched, nothing, false },
	{ "of a file, in private", private_file, nothing, false },
	{ "of a file, in private, that was truncated", private_file, truncated, true },
	{ "of a file", shared_file, nothing, false },
	{ "of a file that was truncated", shared_file, truncated, true },
};

static void check_of(bool well, const struct change *c, const char *what)
{
	char text[256];

	snprintf(text, sizeof(text), "memory %s: %s", c->name, what);
	check(well, text);
}

/* Between two messages. */
static void change_between(struct endpoint *own, const struct change *c)
{
	uint8_t *memory = c->memory();

	sends(own, memory, BYTES, memory[0]);
	c->change(memory);
	memset(memory, 's', BYTES);
	check_of(sends(own, memory, BYTES, 's'), c, "what is sent");
	check_of(receives(own, memory, BYTES, 'r'), c, "what comes");
	c->change(memory);
	check_of(receives(own, memory, BYTES, 'q'), c, "what comes after a receive");
	memset(memory, 't', BYTES);
	check_of(sends(own, memory, BYTES, 't'), c, "what is sent after a receive");
	munmap(memory, BYTES);
}

/* While a message is on offer: it may have the old memory, the next one must not. */
static void change_meanwhile(struct endpoint *own, const struct change *c)
{
	uint8_t *memory = c->memory();

	check_of(!offer(own, 0, memory, BYTES, BYTES, WINDOW), c, "a message on offer");
	c->change(memory);
	check_of(pull(own, 1, WINDOW, other, BYTES) == EMX_PULL_OK || c->unmaps, c, "is fetched");
	close_window(own, WINDOW, 0);
	memset(memory, 'm', BYTES);
	check_of(sends(own, memory, BYTES, 'm'), c, "what is sent next");
	check_of(receives(own, memory, BYTES, 'n'), c, "what comes next");
	munmap(memory, BYTES);
}

static void case_changes(struct endpoint *own)
{
	uint8_t *memory;
	size_t i;

	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		change_between(own, &changes[i]);
		change_meanwhile(own, &changes[i]);
	}
	/* Beyond half of the limit nothing stays pinned, and a work releases what was let go of. */
	check(until_pinned_at_most(2 * BYTES >> 10), "memory that was let go of is released");
	memory = anonymous();
	receives(own, memory, BYTES, 'a');
	check(finds(own, false, memory, BYTES, 'b', 2),
	      "both sides of a message find their memory pinned");
	check(finds(own, false, memory + PAGE / 2, 2 * PAGE, 'c', 2) && memory[0] == 'b' &&
		      memory[5 * PAGE / 2] == 'b',
	      "and a part of it");
	memset(memory + 3, 'd', PAGE);
	check(finds(own, true, memory + 3, PAGE, 'd', 2), "also for the other direction");
	need(!mprotect(memory, BYTES, PROT_READ), "mprotect");
	check(receive(own, memory, BYTES, 'e') == EMX_PULL_ABORTED && memory[5 * PAGE / 2] == 'b',
	      "nothing comes into memory that is only for reading now");
	munmap(memory, BYTES);
	memory = of_file(file, MAP_SHARED);
	receives(own, memory, BYTES, 'f');
	check(finds(own, false, memory, BYTES, 'g', 1),
	      "memory of a file that may be written back is let go of");
}

/* ---- at random ---- */

static uint32_t seed = 1;

static uint32_t below(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)seed * n >> 32);
}

static void change_at_random(uint8_t *memory)
{
	const uint32_t first = below(PAGES);
	const uint32_t bytes = (1 + below(PAGES - first)) * PAGE;
	uint8_t *at = memory + first * PAGE;

	switch (below(8)) {
	case 0:
		replace(at, bytes, 0);
		break;
	case 1:
		need(!madvise(at, bytes, MADV_DONTNEED), "madvise");
		break;
	case 2:
		need(!mprotect(at, bytes, PROT_READ) &&
			     !mprotect(at, bytes, PROT_READ | PROT_WRITE),
		     "mprotect");
		break;
	case 3:
		if (!below(8))
			forked(memory);
		break;
	default:
		break;
	}
}

/* Parts of one piece of memory, each change followed by a message of a part. */
static void case_random(struct endpoint *own)
{
	const long before = found_pinned();
	uint8_t *memory = anonymous();
	int wrong = 0;
	int i;

	for (i = 0; i < 1500; i++) {
		const uint32_t at = below(BYTES - 1);
		const uint32_t bytes = 1 + below(BYTES - at);
		const uint8_t byte = (uint8_t)(1 + i % 255);

		change_at_random(memory);
		if (below(2)) {
			memset(memory + at, byte, bytes);
			wrong += !sends(own, memory + at, bytes, byte);
		} else {
			wrong += !receives(own, memory + at, bytes, byte);
		}
	}
	check(!wrong, "what is sent and comes is right after any changes");
	check(found_pinned() > before, "some found their memory pinned");
	check(pinned() <= LIMIT >> 10, "no more is pinned than the limit");
}

/* ---- how much ---- */

static void case_limit(struct endpoint *own)
{
	uint8_t *memory = pages(LIMIT);
	int i;

	check(!offer(own, 0, memory, LIMIT / 2, LIMIT / 2, 0), "half the limit");
	close_window(own, 0, 0);
	check(pinned() == LIMIT / 2 >> 10, "stays pinned");
	check(!offer(own, 0, memory, LIMIT, LIMIT, 0) && pinned() == LIMIT >> 10,
	      "and is no hindrance for a message of the whole");
	close_window(own, 0, 0);
	check(pinned() == 0, "which does not stay");
	for (i = 0; i < 64; i++) {
		offer(own, 0, memory + i * PAGE, PAGE, PAGE, 0);
		close_window(own, 0, 0);
	}
	check(pinned() <= LIMIT / 2 >> 10 && pinned() > 0, "many pages: some of them stay");
}

/* ---- how long ---- */

static void case_ends(struct endpoint *own)
{
	uint8_t *memory = anonymous();

	check(sends(own, memory, BYTES, 1) && receives(own, memory, BYTES, 2), "messages");
	check(nothing_pinned(), "after a while nothing is pinned any more");
	check(sends(own, memory, BYTES, 2) && nothing_pinned(), "nor after another one");
}

int main(int argc, char **argv)
{
	struct endpoint own;

	if (argc != 3)
		return 2;
	prepare(argv[2]);
	mkdir("/ramfs", 0700);
	need(!mount("ramfs", "/ramfs", "ramfs", 0, ""), "ramfs");
	file = open("/ramfs/file", O_RDWR | O_CREAT, 0600);
	umount2("/ramfs", MNT_DETACH);
	become(USER);
	need(!claim(&own, 1), "endpoint 1");
	other = pages(BYTES);
	if (!strcmp(argv[1], "changes"))
		case_changes(&own);
	else if (!strcmp(argv[1], "random"))
		case_random(&own);
	else if (!strcmp(argv[1], "limit"))
		case_limit(&own);
	else if (!strcmp(argv[1], "ends"))
		case_ends(&own);
	else
		return 2;
	return failures ? 1 : 0;
}
