/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A table in parts, one of each node: every node broadcasts its part, checks the whole, and reports to node 0, whose
 * active port counts the reports as they come.
 *
 *   cc gamma_broadcast.c -o gamma_broadcast $(pkg-config --cflags --libs gamma)
 *   mpirun -n 4 ./gamma_broadcast       or, without a launcher, on each host (gamma(3)):
 *   GAMMA_HOSTS=node1:0:0,node2:0:0 GAMMA_NODE=0 ./gamma_broadcast
 */
#include <gamma.h>
#include <stdio.h>
#include <stdlib.h>

enum { PART = 20000 /* numbers of each node */, REPORTS = 1 /* a port, and its semaphore */ };

static int report; /* faults that a node found */
static int nodes_heard, faults_heard;

static void need(const char *what, int result)
{
	if (result >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, gamma_strerror(result));
	exit(1);
}

/* Runs at the arrival of a report: takes it, and posts the buffer for the next one. */
static void take_report(void)
{
	nodes_heard++;
	faults_heard += report;
	need("post", gamma_post_recv(gamma_active_port, &report, sizeof(report)));
}

static int value(int node, int i)
{
	return node * 7919 + i * i;
}

static int check(const int *table, int nodes)
{
	int faults = 0;

	for (int node = 0; node < nodes; node++)
		for (int i = 0; i < PART; i++)
			faults += table[node * PART + i] != value(node, i);
	return faults;
}

int main(int argc, char **argv)
{
	int me, nodes, faults, *table;

	need("init", gamma_init(0, argc, argv)); /* 0: as many nodes as the launcher says */
	me = gamma_my_node();
	nodes = gamma_how_many_nodes();
	table = calloc((size_t)nodes * PART, sizeof(int));
	if (!table)
		return 1;

	/* All bind their ports, then meet: no message comes before its port. */
	need("bind", gamma_set_active_port(REPORTS, 0, (unsigned char)gamma_my_par_pid(), REPORTS, take_report,
					   REPORTS, GO_BACK, &report, sizeof(report)));
	need("sync", gamma_sync());

	for (int i = 0; i < PART; i++)
		table[me * PART + i] = value(me, i);
	for (int root = 0; root < nodes; root++)
		need("broadcast",
		     gamma_broadcast((unsigned short)root, &table[(size_t)root * PART], PART * sizeof(int)));
	faults = check(table, nodes);

	if (me) { /* flow controlled: many nodes send to one buffer, and none is lost */
		need("send", gamma_send_flowctl(REPORTS, &faults, sizeof(faults)));
	} else {
		need("wait", gamma_wait(REPORTS, (unsigned long)(nodes - 1)));
		printf("node 0 of %d: %d parts, checked by %d others, %d faults\n", nodes, nodes, nodes_heard,
		       faults + faults_heard);
	}
	need("exit", gamma_exit());
	return 0;
}
