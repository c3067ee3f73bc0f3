// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Users in user namespaces of their own, in which they are root, get boards, up to a limit; no
 * lines of their own making in the kernel's log; and numbers of processes as they see them. One user
 * fills no more than its part of a table of peers.
 *
 *   namespaces     started by root, with /dev/ethermx and one board of the host's own
 */
#define _GNU_SOURCE /* setresgid, unshare */

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <emx/dev.h>

#include "userns.h"

#define USER 1001
#define OTHER 1002
#define BOARDS 8 /* of one user, here */
#define LOG_BYTES (1 << 20)
#define NAME "x\n<0>made up"
#define ESCAPED "x\\n<0>made up"

static int device(void)
{
	int fd = open(EMX_DEV_PATH, O_RDWR | O_CLOEXEC);

	need(fd >= 0, EMX_DEV_PATH);
	return fd;
}

static int attach(int fd, const char *interface)
{
	struct emx_dev_attach request = { .frame_size = 1500 };

	snprintf(request.interface, sizeof(request.interface), "%s", interface);
	return ioctl(fd, EMX_IOC_ATTACH, &request) ? errno : 0;
}

/* A process with boards that stay until it is let go. */
struct owner {
	pid_t pid;
	int let_go;
	int attached;
	int error; /* of the first that was refused, or 0 */
};

static void own_boards(int depth, int wanted, int answer)
{
	int result[2] = { 0, 0 };
	char command[96];
	char name[16];
	int fd;

	while (depth--)
		enter_own();
	fd = device();
	for (; result[0] < wanted && !result[1]; result[0] += !result[1]) {
		snprintf(name, sizeof(name), "d%d", result[0]);
		snprintf(command, sizeof(command),
			 "/bin/ip link add %s type dummy && /bin/ip link set %s up", name, name);
		need(!system(command), command);
		result[1] = attach(fd, name);
	}
	need(write(answer, result, sizeof(result)) == sizeof(result), "answer");
}

/* depth: user namespaces, one in the other. */
static struct owner owner_of_boards(uid_t user, int depth, int wanted)
{
	struct owner owner;
	int answer[2], hold[2], result[2] = { -1, -1 };
	char byte;

	need(!pipe(answer) && !pipe(hold), "pipe");
	owner.pid = fork();
	if (!owner.pid) {
		close(hold[1]);
		become(user);
		own_boards(depth, wanted, answer[1]);
		need(read(hold[0], &byte, 1) == 0, "hold");
		_exit(0);
	}
	close(answer[1]);
	close(hold[0]);
	need(read(answer[0], result, sizeof(result)) == sizeof(result), "an owner of boards");
	close(answer[0]);
	owner.let_go = hold[1];
	owner.attached = result[0];
	owner.error = result[1];
	return owner;
}

static void let_go(const struct owner *owner)
{
	close(owner->let_go);
	waitpid(owner->pid, NULL, 0);
}

static int boards_of(uid_t user, int depth, int wanted)
{
	struct owner owner = owner_of_boards(user, depth, wanted);

	let_go(&owner);
	return owner.attached;
}

static void limits(void)
{
	struct owner owner;
	int tries = 0;

	owner = owner_of_boards(USER, 1, BOARDS + 1);
	check(owner.attached == BOARDS && owner.error == EDQUOT,
	      "a user has so many boards in a namespace of its own");
	check(boards_of(USER, 1, 1) == 0, "none in another one then");
	check(boards_of(USER, 2, 1) == 0, "nor in one within another");
	check(boards_of(OTHER, 2, 2) == 2, "which other users have");
	let_go(&owner);
	/* Namespaces go some time after the last of their processes. */
	while (boards_of(USER, 1, 1) == 0 && tries++ < 3000)
		;
	check(boards_of(USER, 1, BOARDS) > 0, "and again when they are gone");
}

static void log_is_ours(void)
{
	const struct emx_dev_attach request = { .interface = NAME };
	char *text = calloc(1, LOG_BYTES);
	pid_t child = fork();
	const char *line;
	int lines = 0;
	int i, fd;

	if (!child) {
		become(USER);
		enter_own();
		fd = device();
		for (i = 0; i < 2000; i++) {
			struct emx_dev_attach copy = request;

			if (!ioctl(fd, EMX_IOC_ATTACH, &copy) || errno != ENODEV)
				_exit(1);
		}
		_exit(0);
	}
	waitpid(child, &i, 0);
	check(WIFEXITED(i) && !WEXITSTATUS(i), "interfaces that do not exist are refused");
	need(text && klogctl(3, text, LOG_BYTES - 1) > 0, "the kernel's log");
	for (line = text; (line = strstr(line, "no such interface")); line++)
		lines++;
	check(lines > 0 && lines < 1000, "the log says so, not each time");
	check(strstr(text, ESCAPED) && !strstr(text, NAME), "and has no line that the user made");
	free(text);
}

static int additions(uid_t user, uint64_t first, int wanted, int *error)
{
	int results[2] = { 0, 0 };
	int answer[2];
	pid_t child;
	int fd;

	need(!pipe(answer), "pipe");
	child = fork();
	if (!child) {
		become(user);
		fd = device();
		for (; results[0] < wanted && !results[1]; results[0] += !results[1]) {
			struct emx_dev_peer peer = { .by = EMX_DEV_PEER_ADD,
						     .mac = first + results[0] };

			results[1] = ioctl(fd, EMX_IOC_PEER, &peer) ? errno : 0;
		}
		_exit(write(answer[1], results, sizeof(results)) != sizeof(results));
	}
	close(answer[1]);
	need(read(answer[0], results, sizeof(results)) == sizeof(results), "additions");
	close(answer[0]);
	waitpid(child, NULL, 0);
	*error = results[1];
	return results[0];
}

#define BEGGAR 1010 /* others still ask for peers */
#define DODGER 1011

/* An address that is none takes nobody's place, nor does it make a place count to nobody. */
static void dodge(int capacity)
{
	const int asked = capacity / 8 - 20;
	int error, i, n;

	n = additions(DODGER, 0x02de00030000ull, asked, &error);
	for (i = 0; i < 30; i++)
		additions(DODGER, 0, 1, &error);
	check(n == asked && error, "an address that is none is refused");
	n = additions(DODGER, 0x02de00040000ull, capacity, &error);
	check(n > 0 && asked + n <= capacity / 8 && error == EDQUOT,
	      "and makes room for no more peers of that user");
}

static void peers(void)
{
	const int capacity = 1024;
	int error, n;

	n = additions(BEGGAR, 0x02de00000000ull, capacity, &error);
	check(n > 0 && n <= capacity / 8 && error == EDQUOT,
	      "a user asks for a part of the table of peers");
	check(additions(OTHER, 0x02de00010000ull, 10, &error) == 10 && !error, "others get theirs");
	check(additions(BEGGAR, 0x02de00010000ull, 10, &error) == 10 && !error,
	      "what is there costs nothing");
	dodge(capacity);
	check(additions(0, 0x02de00020000ull, capacity / 4, &error) == capacity / 4 && !error,
	      "root has no limit");
}

/* The endpoint's process, as a process in another pid namespace is told. */
static void processes(void)
{
	struct emx_dev_endpoint own = { .number = 5 };
	struct emx_dev_claim claim = { .number = 5, .session = 5 };
	int fd = device();
	pid_t child;
	int status;

	need(!ioctl(fd, EMX_IOC_CLAIM, &claim), "claim");
	check(!ioctl(fd, EMX_IOC_ENDPOINT, &own) && own.pid == (uint32_t)getpid(),
	      "an endpoint has the process that opened it");
	need(!unshare(CLONE_NEWPID), "unshare");
	child = fork();
	if (!child) {
		struct emx_dev_endpoint there = { .number = 5 };

		_exit(ioctl(device(), EMX_IOC_ENDPOINT, &there) || there.pid != 0);
	}
	waitpid(child, &status, 0);
	check(WIFEXITED(status) && !WEXITSTATUS(status),
	      "which has no number where it is not seen");
	close(fd);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	write_file("/sys/module/ethermx/parameters/user_boards", "8");
	limits();
	log_is_ours();
	peers();
	processes();
	return failures ? 1 : 0;
}
