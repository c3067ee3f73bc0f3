// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Tests what ends a sleep in an endpoint (EMX_IOC_WAIT), and nobody else's: sleeps IFNAME, as
 * trespass. A line for each check; exit status 0 when all hold.
 */
#define _GNU_SOURCE /* what users.h needs */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <emx/dev.h>

#include "users.h"

static int sleep_in(int fd, int watched, uint32_t wakes, uint64_t deadline)
{
	struct emx_dev_wait wait = { .deadline_ns = deadline, .watched = watched, .wakes = wakes };

	return ioctl(fd, EMX_IOC_WAIT, &wait);
}

static void *wake_after_a_look(void *own)
{
	/* The other thread may not sleep yet: it is woken all the same. */
	return ioctl(((struct endpoint *)own)->fd, EMX_IOC_WAKE) ? own : NULL;
}

static void on_alarm(int number)
{
	(void)number;
}

static void case_sleep(struct endpoint *own)
{
	const struct timeval soon = { .tv_usec = 20000 };
	struct itimerval alarm = { .it_value = soon, .it_interval = soon };
	struct sigaction act = { .sa_handler = on_alarm };
	const int fresh = open(EMX_DEV_PATH, O_RDWR), news = eventfd(1, 0), quiet = eventfd(0, 0);
	int fifo, told, copy;
	pthread_t thread;
	void *failed;
	pid_t child;

	need(!mkfifo("/tmp/fifo", 0600) && (fifo = open("/tmp/fifo", O_RDWR)) >= 0, "a FIFO");
	check(sleep_in(fresh, -1, 0, 0) < 0 && errno == EBADFD,
	      "no file sleeps that is no endpoint");
	check(ioctl(fresh, EMX_IOC_WAKE) < 0 && errno == EBADFD, "nor is it woken");
	own->ring->tail = own->ring->head;
	check(!sleep_in(own->fd, -1, 0, 0), "a time that is over ends a sleep");
	check(sleep_in(own->fd, -1, 0, ~0ull) == 0, "and half a second does");
	check(sleep_in(own->fd, 999, 0, 0) < 0 && errno == EBADF, "what is watched must be open");
	check(sleep_in(own->fd, fifo, 0, 0) < 0 && errno == EINVAL, "and have one queue");
	check(sleep_in(own->fd, news, 0, ~0ull) == EMX_WAIT_WATCHED,
	      "it ends a sleep when it is readable");
	check(!sleep_in(own->fd, quiet, 0, 0), "and does not while it is not");
	check(!ioctl(own->fd, EMX_IOC_WAKE), "a wake");
	told = sleep_in(own->fd, -1, 0, ~0ull);
	check(told == (EMX_WAIT_WOKEN | 1 << EMX_WAIT_SHIFT), "ends the next sleep");
	check(sleep_in(own->fd, -1, told >> EMX_WAIT_SHIFT, 0) == 1 << EMX_WAIT_SHIFT,
	      "and no other");
	need(!pthread_create(&thread, NULL, wake_after_a_look, own), "a thread");
	told = sleep_in(own->fd, quiet, 1, ~0ull);
	check(!pthread_join(thread, &failed) && !failed &&
		      told == (EMX_WAIT_WOKEN | 2 << EMX_WAIT_SHIFT),
	      "a thread wakes another");
	check(!ask(SEND_OVER) && (sleep_in(own->fd, -1, 2, ~0ull) & EMX_WAIT_EVENT),
	      "a message ends a sleep");
	own->ring->tail = own->ring->head;
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &alarm, NULL);
	while ((told = sleep_in(own->fd, -1, 2, ~0ull)) == 2 << EMX_WAIT_SHIFT)
		; /* the half second was over before the alarm was set */
	check(told < 0 && errno == EINTR, "a signal handler ends a sleep");
	memset(&alarm, 0, sizeof(alarm));
	setitimer(ITIMER_REAL, &alarm, NULL);
	child = fork();
	if (!child)
		_exit(sleep_in(own->fd, -1, 2, 0) < 0 && errno == EPERM &&
				      ioctl(own->fd, EMX_IOC_WAKE) < 0 && errno == EPERM
			      ? 0
			      : 1);
	check(waitpid(child, &told, 0) == child && told == 0,
	      "no other process sleeps in it, or wakes it");
	copy = dup(own->fd);
	close(copy);
	check((sleep_in(own->fd, -1, 2, ~0ull) & 15) == EMX_WAIT_CLOSED,
	      "nobody sleeps in what is closed");
	close(quiet), close(news), close(fresh), close(fifo);
	unlink("/tmp/fifo");
}

int main(int argc, char **argv)
{
	struct endpoint own;

	if (argc != 2)
		return 2;
	prepare(argv[1]);
	meet_neighbour();
	become(USER);
	need(!claim(&own, 1), "endpoint 1");
	case_sleep(&own);
	return failures ? 1 : 0;
}
