// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Page faults that never end: a program offers messages in memory whose faults nobody serves, on as
 * many endpoints as a queue of works of the kernel executes at a time. The boards of others go on.
 *
 *   stuck IFNAME     started by root; IFNAME: the far end of board 0
 */
#define _GNU_SOURCE /* syscall, setresuid */

#include <linux/userfaultfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "users.h"

#define VICTIMS 256
#define BYTES 1024 /* of a message: one frame in each dialect */
#define PULLS 64 /* of an endpoint */
#define FIRST 4 /* of those that pull */

/* Memory of this process, of which the first touch waits until the descriptor is closed. */
static void *silent_memory(int *fd)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	void *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	need(at != MAP_FAILED && *fd >= 0 && !ioctl(*fd, UFFDIO_API, &api), "userfaultfd");
	range.range.start = (uintptr_t)at;
	range.range.len = PAGE;
	need(!ioctl(*fd, UFFDIO_REGISTER, &range), "UFFDIO_REGISTER");
	return at;
}

static int claim_on(uint32_t board, uint32_t number)
{
	struct emx_dev_claim claim = { .board = board,
				       .number = number,
				       .session = SESSION + number };
	int fd = open(EMX_DEV_PATH, O_RDWR | O_CLOEXEC);

	need(fd >= 0 && !ioctl(fd, EMX_IOC_CLAIM, &claim), "an endpoint");
	return fd;
}

static uint64_t mac_of(uint32_t board)
{
	struct emx_dev_board info = { .number = board };
	int fd = open(EMX_DEV_PATH, O_RDWR | O_CLOEXEC);

	need(fd >= 0 && !ioctl(fd, EMX_IOC_BOARD, &info), "board");
	close(fd);
	return info.mac;
}

static void with_page(int fd, struct emx_dev_command *c, void *memory)
{
	struct emx_dev_segment segment = { .address = (uintptr_t)memory, .length = BYTES };

	c->segment_count = 1;
	c->length = BYTES;
	c->segments = (uintptr_t)&segment;
	need(!ioctl(fd, EMX_IOC_COMMAND, c), "a command");
}

/* Offers and fetches the message of each victim; returns once all those faults wait. */
static void offer_and_pull(uint32_t board)
{
	struct endpoint self = { .fd = -1 };
	struct endpoint other;
	struct uffd_msg fault;
	void *memory;
	int uffd, i;

	memory = silent_memory(&uffd);
	become(USER);
	for (i = 0; i < VICTIMS; i++) {
		struct emx_dev_command offered = { .op = EMX_DEV_WINDOW_OPEN };
		struct emx_dev_command wanted = { .op = EMX_DEV_PULL_START, .cookie = 1u + i };

		if (i % PULLS == 0)
			self.fd = claim_on(0, FIRST + i / PULLS);
		other.fd = claim_on(board, (uint32_t)i);
		offered.msg.peer = peer_of(&other, mac_of(0));
		offered.msg.remote_ep = (uint8_t)(FIRST + i / PULLS);
		with_page(other.fd, &offered, memory);
		wanted.msg.peer = peer_of(&self, mac_of(board));
		wanted.msg.remote_ep = (uint8_t)i;
		wanted.msg.session = SESSION + i;
		with_page(self.fd, &wanted, pages(PAGE));
	}
	for (i = 0; i < VICTIMS; i++)
		need(read(uffd, &fault, sizeof(fault)) == sizeof(fault), "a page fault");
	check(true, "so many page faults wait");
	need(getchar() == EOF, "the end of the input");
	close(uffd);
	exit(failures ? 1 : 0);
}

/* True if board 0 asks that address for its name. */
static bool asks(uint64_t mac)
{
	struct pollfd p = { .fd = wire, .events = POLLIN };
	uint8_t frame[256];

	while (poll(&p, 1, WAIT_MS) > 0)
		if (recv(wire, frame, sizeof(frame), 0) >= 60 &&
		    frame[EMX_OUTER_LEN] == EMX_HOST_QUERY && emx_get_mac(frame) == mac)
			return true;
	return false;
}

int main(int argc, char **argv)
{
	const struct rlimit none = { 0 };
	struct emx_dev_attach attach = { .interface = "emx2",
					 .frame_size = 1500,
					 .endpoints = VICTIMS };
	const uint64_t newcomer = 0x02000000ee01ull;
	int begun[2], end[2], status, fd;
	char line[64] = "";
	pid_t child;

	if (argc != 2)
		return 2;
	prepare(argv[1]);
	need(!system("/bin/ip link add emx2 mtu 9000 type veth peer name emx3 mtu 9000 && "
		     "/bin/ip link set emx2 up && /bin/ip link set emx3 up"),
	     "emx2");
	fd = open(EMX_DEV_PATH, O_RDWR | O_CLOEXEC);
	need(!ioctl(fd, EMX_IOC_ATTACH, &attach), "attach");
	need(!setrlimit(RLIMIT_MEMLOCK, &none) && !pipe(begun) && !pipe(end), "pipe");
	child = fork();
	if (!child) {
		close(end[1]);
		dup2(end[0], 0);
		dup2(begun[1], 1);
		offer_and_pull(attach.number);
	}
	close(begun[1]);
	close(end[0]);
	check(read(begun[0], line, sizeof(line) - 1) > 0 &&
		      strstr(line, "so many page faults wait"),
	      "a program has as many page faults that nobody serves as a queue has places");
	need(!ioctl(fd, EMX_IOC_PEER,
		    &(struct emx_dev_peer){ .by = EMX_DEV_PEER_ADD, .mac = newcomer }),
	     "a newcomer");
	check(asks(newcomer), "another board asks a newcomer for its name all the same");
	close(end[1]);
	waitpid(child, &status, 0);
	check(WIFEXITED(status) && !WEXITSTATUS(status), "the program ends when they are served");
	need(!system("/bin/ip link del emx2"), "emx2");
	return failures ? 1 : 0;
}
