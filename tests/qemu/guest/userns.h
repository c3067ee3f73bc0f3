/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For programs that root starts and that become users, in user namespaces of their own or not.
 */
#ifndef EMX_GUEST_USERNS_H
#define EMX_GUEST_USERNS_H

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static int failures;

static inline bool check(bool good, const char *what)
{
	printf("%s  %s\n", good ? "  ok    " : "  NOT OK", what);
	failures += !good;
	return good;
}

static inline void need(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(2);
}

/* It may still write the files in /proc/self that name its users in a namespace. */
static inline void become(uid_t user)
{
	need(!setgroups(0, NULL) && !setresgid(user, user, user) && !setresuid(user, user, user) &&
		     !prctl(PR_SET_DUMPABLE, 1),
	     "setresuid");
}

static inline void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	need(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
	close(fd);
}

/* Root of a user namespace in the present one, with a network namespace of its own. */
static inline void enter_own(void)
{
	char users[32], groups[32];

	snprintf(users, sizeof(users), "0 %u 1", getuid());
	snprintf(groups, sizeof(groups), "0 %u 1", getgid());
	need(!unshare(CLONE_NEWUSER | CLONE_NEWNET), "unshare");
	write_file("/proc/self/setgroups", "deny");
	write_file("/proc/self/uid_map", users);
	write_file("/proc/self/gid_map", groups);
}

#endif
