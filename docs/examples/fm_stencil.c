/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Heat on a rod, in parts, one on each node of a job: in each step a node sends its outermost cells to its
 * neighbours in FM streams, and computes its inner cells while theirs are under way.
 *
 *   cc fm_stencil.c -o fm_stencil $(pkg-config --cflags --libs fm)
 *   mpirun -n 4 ./fm_stencil            or, without a launcher, on each host (fm(3)):
 *   FM_HOSTS=node1:0:0,node2:0:0 FM_NODE=0 ./fm_stencil
 */
#include <fm.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 1000, /* of each node */ STEPS = 200, EDGE = 1 };

/* The head of each message: a neighbour may be a step ahead, so two are kept. */
struct head {
	int step;
	int side; /* of the receiver: 0 left, 1 right */
};

static double rod[2][CELLS + 2]; /* with a neighbour's cell on either side */
static double edge[2][2]; /* by step modulo 2, and side */
static int arrived[2][2];

/* A stream is received as it suits the receiver: first the head, then the value to where that says. */
static int take_edge(FM_stream *stream, unsigned sender)
{
	struct head head;

	(void)sender;
	FM_receive(&head, stream, sizeof(head));
	FM_receive(&edge[head.step % 2][head.side], stream, sizeof(double));
	arrived[head.step % 2][head.side] = 1;
	return FM_CONTINUE;
}

/* Pieces are gathered from where they lie, and sent as one message. */
static void send_edge(ULONG to, int step, int side, const double *value)
{
	struct head head = {step, side};
	FM_stream *stream;

	while (!(stream = FM_begin_message(to, sizeof(head) + sizeof(*value), EDGE))) {
		if (FM_errno != FM_E_FULL) {
			fprintf(stderr, "node %u: %s\n", (unsigned)FM_nodeid, FM_strerror(FM_errno));
			exit(1);
		}
		FM_extract(FM_ALL); /* the neighbour may wait for the same */
	}
	FM_send_piece(stream, &head, sizeof(head));
	FM_send_piece(stream, value, sizeof(*value));
	FM_end_message(stream);
}

static void wait_for_edge(int step, int side)
{
	FM_errno = FM_E_NONE;
	while (!arrived[step % 2][side]) {
		FM_extract(FM_ALL);
		if (FM_errno == FM_E_PEER) {
			fprintf(stderr, "node %u: a neighbour is gone\n", (unsigned)FM_nodeid);
			exit(1);
		}
	}
	arrived[step % 2][side] = 0;
}

static void compute(const double *old, double *new, int from, int to)
{
	for (int i = from; i <= to; i++)
		new[i] = old[i] + 0.25 * (old[i - 1] - 2 * old[i] + old[i + 1]);
}

int main(void)
{
	double sum = 0;
	int left, right;

	FM_register_handler(EDGE, take_edge);
	FM_initialize();
	left = FM_nodeid > 0;
	right = FM_nodeid + 1 < FM_numnodes;
	for (int i = 1; i <= CELLS; i++) /* hot in the middle of each part */
		rod[0][i] = i > CELLS / 3 && i <= CELLS - CELLS / 3 ? 100 : 0;

	for (int step = 0; step < STEPS; step++) {
		double *old = rod[step % 2], *new = rod[(step + 1) % 2];

		if (left)
			send_edge(FM_nodeid - 1, step, 1, &old[1]);
		if (right)
			send_edge(FM_nodeid + 1, step, 0, &old[CELLS]);
		compute(old, new, 2, CELLS - 1);
		if (left)
			wait_for_edge(step, 0);
		if (right)
			wait_for_edge(step, 1);
		old[0] = left ? edge[step % 2][0] : old[1]; /* no heat leaves the rod */
		old[CELLS + 1] = right ? edge[step % 2][1] : old[CELLS];
		compute(old, new, 1, 1);
		compute(old, new, CELLS, CELLS);
	}
	for (int i = 1; i <= CELLS; i++)
		sum += rod[STEPS % 2][i];
	printf("node %u of %u: heat %.6f\n", (unsigned)FM_nodeid, (unsigned)FM_numnodes, sum);
	FM_finalize();
	return 0;
}
