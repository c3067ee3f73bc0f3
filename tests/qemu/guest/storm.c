// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Hostile users (requests.h) in user namespaces, where they are root: boards of their own, which
 * they attach, rename, clear and detach meanwhile.
 *
 *   storm SEED COUNT    started by root; COUNT requests
 *
 * Several processes of several threads each, a half of them in either of two network namespaces
 * that a link joins. They end with whatever they have, and others follow. Before that the table of
 * requests is compared with what the driver knows. A thread's requests follow from the seed, their
 * order among threads does not.
 */
#define _GNU_SOURCE /* setns, setresuid */

#include <pthread.h>

#include "requests.h"

#define PROCESSES 2 /* at a time */
#define LIFE 10000 /* requests of one of them, at most */
#define USER 1001

/* ---- the tables have all that there is ---- */

static bool all_are(bool same, const char *what, uint32_t number)
{
	if (!same)
		printf("          %s %#x: in the driver, or in a table here, but not in both\n",
		       what, number);
	return same;
}

static bool is_request(unsigned long number)
{
	size_t i;

	for (i = 0; i < REQUESTS; i++)
		if (requests[i].number == number)
			return true;
	return false;
}

static bool requests_are_all(int fd)
{
	uint32_t direction, bytes, n;
	bool all = true;

	for (direction = 0; direction < 4; direction++)
		for (bytes = 0; bytes <= sizeof(union content); bytes++)
			for (n = 0; n < COUNT_OF(tallies->request); n++) {
				unsigned long number = _IOC(direction, EMX_IOC_MAGIC, n, bytes);
				bool known = !ioctl(fd, number, NULL) || errno != ENOTTY;

				all &= all_are(known == is_request(number), "request",
					       (uint32_t)number);
			}
	return all;
}

static bool is_among(const uint32_t *list, size_t count, uint32_t number)
{
	while (count && list[count - 1] != number)
		count--;
	return count > 0;
}

static bool operations_are_all(int fd)
{
	bool all = true;
	uint32_t n, i;

	for (n = 0; n < 256; n++) {
		struct emx_dev_command c = { .op = n };
		bool known = !ioctl(fd, EMX_IOC_COMMAND, &c) || errno != EOPNOTSUPP;
		bool listed = false;

		for (i = 0; i < COUNT_OF(operations); i++)
			listed |= operations[i].number == n;
		all &= all_are(known == listed, "operation", n);
	}
	return all;
}

static bool names_are_all(int fd)
{
	bool all = true;
	uint32_t n;

	for (n = 0; n < 256; n++) {
		struct emx_dev_names names = { .op = n, .board = 1, .name = "name" };
		struct emx_dev_peer peer = { .by = n, .mac = MAC };
		bool known = !ioctl(fd, EMX_IOC_NAMES, &names) || errno != EINVAL;

		all &= all_are(known == is_among(naming, COUNT_OF(naming), n), "naming", n);
		known = !ioctl(fd, EMX_IOC_PEER, &peer) || errno != EINVAL;
		all &= all_are(known == is_among(peer_by, COUNT_OF(peer_by), n), "way to a peer",
			       n);
	}
	return all;
}

static int device(void)
{
	int fd = open(EMX_DEV_PATH, O_RDWR | O_CLOEXEC);

	need(fd >= 0, EMX_DEV_PATH);
	return fd;
}

static void tables(void)
{
	struct emx_dev_attach attach = { .interface = "d0", .frame_size = 1500 };
	struct emx_dev_claim claim = { .number = EMX_DEV_ANY };
	int fd = device();

	check(requests_are_all(fd), "every request of the driver is drawn");
	need(!ioctl(fd, EMX_IOC_ATTACH, &attach) && !ioctl(fd, EMX_IOC_CLAIM, &claim), "a board");
	check(operations_are_all(fd), "every operation");
	check(names_are_all(fd), "every naming, and every way to name a peer");
}

/* ---- namespaces of their own ---- */

static pthread_barrier_t done;
static int net[2]; /* of the threads in turn */
static uint64_t seed;
static unsigned long share; /* of a thread, requests */

static void add_dummies(void)
{
	need(!system("for i in d0 d1; do /bin/ip link add $i mtu 9000 type dummy && /bin/ip link set $i up || exit; done"),
	     "interfaces");
}

static void request_named(unsigned long number, int fd, const char *interface)
{
	union content c = { 0 };
	size_t i;

	for (i = 0; requests[i].number != number; i++)
		;
	if (number == EMX_IOC_ATTACH)
		c.attach.frame_size = 1500;
	snprintf(number == EMX_IOC_ATTACH ? c.attach.interface : c.detach.interface,
		 sizeof(c.attach.interface), "%s", interface);
	note(&tallies->request[i], ioctl(fd, number, &c) == 0);
}

/* As many as the user may have. */
static void attach_all(void)
{
	int fd = device();
	size_t i;

	for (i = 0; i < COUNT_OF(interfaces); i++)
		request_named(EMX_IOC_ATTACH, fd, interfaces[i]);
	request_named(EMX_IOC_DETACH, fd, "v");
	request_named(EMX_IOC_ATTACH, fd, "v");
	close(fd);
}

/* Two network namespaces, and a link from the one to the other. */
static void make_namespaces(void)
{
	char text[256];

	enter_own();
	add_dummies();
	net[0] = open("/proc/self/ns/net", O_RDONLY);
	need(!unshare(CLONE_NEWNET), "unshare");
	add_dummies();
	net[1] = open("/proc/self/ns/net", O_RDONLY);
	snprintf(
		text, sizeof(text),
		"/bin/ip link add v mtu 9000 type veth peer name v netns /proc/self/fd/%d mtu 9000 && "
		"/bin/ip link set v up",
		net[0]);
	need(!system(text), text);
	attach_all();
	need(!setns(net[0], CLONE_NEWNET) && !system("/bin/ip link set v up"), "v");
	attach_all();
}

static void *live(void *number)
{
	uintptr_t i = (uintptr_t)number;

	need(!setns(net[i % 2], CLONE_NEWNET), "setns");
	scribble(files[i], seed * THREADS + i, share);
	/* Threads of the kernel may still read its memory, which is not to be another's. */
	pthread_barrier_wait(&done);
	pause();
	return NULL;
}

/* Ends with files and boards as they are. */
static void live_and_end(void)
{
	pthread_t thread;
	uintptr_t i;

	make_namespaces();
	need(!pthread_barrier_init(&done, NULL, THREADS + 1), "barrier");
	for (i = 0; i < THREADS; i++)
		need(!pthread_create(&thread, NULL, live, (void *)i), "pthread_create");
	pthread_barrier_wait(&done);
}

static pid_t start(void (*f)(void))
{
	pid_t child = fork();

	if (child)
		return child;
	failures = 0;
	become(USER);
	f();
	fflush(stdout);
	_exit(failures ? 1 : 0);
}

static bool ended_well(void)
{
	int status;

	return wait(&status) > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
}

static void tables_in_own(void)
{
	enter_own();
	add_dummies();
	tables();
}

static unsigned long tell(const char *name, const struct tally *t, bool refused, bool *all)
{
	printf("          %-16s %8lu, granted %8lu\n", name, t->tried, t->good);
	*all &= refused || t->good > 0;
	return t->tried;
}

static void run(uint64_t first, unsigned long count)
{
	const unsigned long lives =
		(count + LIFE - 1) / LIFE < PROCESSES ? PROCESSES : (count + LIFE - 1) / LIFE;
	unsigned long started, total = 0;
	bool well = true, all = true;
	size_t i;

	start(tables_in_own);
	failures += !ended_well();
	share = count / lives / THREADS + 1;
	for (started = 0; started < lives; started++) {
		if (started >= PROCESSES)
			well &= ended_well();
		seed = first + started;
		start(live_and_end);
	}
	for (i = 0; i < PROCESSES; i++)
		well &= ended_well();
	check(well, "the users' processes live to their end");
	for (i = 0; i < REQUESTS; i++)
		total += tell(requests[i].name, &tallies->request[i], requests[i].refused, &all);
	for (i = 0; i < COUNT_OF(operations); i++)
		total += tell(operations[i].name, &tallies->operation[i], false, &all);
	total += tell("by io_uring", &tallies->uring, false, &all);
	printf("          seed %llu: %lu requests of %lu processes\n", (unsigned long long)first,
	       total, lives);
	check(total >= count, "all requests are made");
	check(all, "of each kind some are granted");
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	prepare_requests(COUNT_OF(interfaces), true);
	run(strtoull(argv[1], NULL, 0), strtoul(argv[2], NULL, 0));
	return failures ? 1 : 0;
}
