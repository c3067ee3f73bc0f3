/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queues of a hundred thousand: receives outstanding, messages unexpected. */
#include "check.h"

#include <string.h>

enum { COUNT = 100000, REVERSED = 5000 };

static int value(int from, int i) { return from * COUNT + i; }

/* All receives of one rank are posted before the first message goes out. */
static void outstanding(int count, int tag_step, bool any_source)
{
    int *in = get((size_t)count * sizeof *in), out, bad = 0;
    MPI_Request *receives = get((size_t)count * sizeof *receives);
    for (int i = 0; i < count; i++)
        MPI_Irecv(&in[i], 1, MPI_INT, any_source ? MPI_ANY_SOURCE : before, i * tag_step % 32768, MPI_COMM_WORLD,
                  &receives[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) {
        out = value(rank, i);
        MPI_Send(&out, 1, MPI_INT, next, i * tag_step % 32768, MPI_COMM_WORLD);
    }
    MPI_Waitall(count, receives, MPI_STATUSES_IGNORE);
    for (int i = 0; i < count; i++)
        bad += in[i] != value(before, i);
    CHECK(bad == 0, "%d of %d differ", bad, count);
    free(in);
    free(receives);
}

static void case_outstanding_receives(void) { outstanding(COUNT, 0, false); }
static void case_outstanding_tags(void) { outstanding(COUNT, 1, true); }

/* Nobody receives before all have sent everything. */
static void flood(int count, int length)
{
    unsigned char *out = get((size_t)length), *in = get((size_t)length);
    int bad = 0, got = -1;
    for (int i = 0; i < count; i++) {
        memset(out, 0, (size_t)length);
        *(int *)out = value(rank, i);
        /* Buffers of the library, not ours: the same memory is used for each. */
        MPI_Send(out, length, MPI_BYTE, next, 1, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) {
        MPI_Status status;
        MPI_Recv(in, length, MPI_BYTE, before, 1, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &got);
        bad += *(int *)in != value(before, i) || got != length;
    }
    CHECK(bad == 0, "%d of %d differ", bad, count);
    free(out);
    free(in);
}

static void case_flood(void) { flood(COUNT, 4); }
static void case_flood_of_kilobytes(void) { flood(COUNT / 10, 1000); }

/* Everybody floods rank 0, which takes from all with wildcards. */
static void case_flood_one(void)
{
    int each = COUNT / ranks, *next_of = get((size_t)ranks * sizeof *next_of), bad = 0;
    for (int i = 0; i < each && rank > 0; i++) {
        int out = value(rank, i);
        MPI_Send(&out, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < each * (ranks - 1) && rank == 0; i++) {
        int in = -1;
        MPI_Status status;
        MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
        bad += in != value(status.MPI_SOURCE, next_of[status.MPI_SOURCE]++);
    }
    CHECK(bad == 0, "%d came out of order", bad);
    free(next_of);
}

/* The longest search: the last one of a long queue is wanted first. */
static void case_reverse(void)
{
    int *out = get(REVERSED * sizeof *out), in = -1, bad = 0;
    MPI_Request *sends = get(REVERSED * sizeof *sends);
    for (int i = 0; i < REVERSED; i++) {
        out[i] = value(rank, i);
        MPI_Isend(&out[i], 1, MPI_INT, next, i, MPI_COMM_WORLD, &sends[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = REVERSED - 1; i >= 0; i--) {
        MPI_Recv(&in, 1, MPI_INT, before, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        bad += in != value(before, i);
    }
    MPI_Waitall(REVERSED, sends, MPI_STATUSES_IGNORE);
    CHECK(bad == 0, "%d differ", bad);
    free(out);
    free(sends);
}

/* Long messages, hundreds at once, none of them expected. */
static void case_long_ones(void)
{
    enum { LONG_ONES = 300, BYTES = 70000 };
    unsigned char *out = get(LONG_ONES * BYTES), *in = get(BYTES);
    MPI_Request sends[LONG_ONES];
    fill(out, LONG_ONES * BYTES, (uint64_t)rank);
    for (int i = 0; i < LONG_ONES; i++) {
        fill(out + i * BYTES, BYTES, (uint64_t)(rank * LONG_ONES + i));
        MPI_Isend(out + i * BYTES, BYTES, MPI_BYTE, next, i, MPI_COMM_WORLD, &sends[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < LONG_ONES; i++) {
        int tag = (i * 7) % LONG_ONES;
        MPI_Recv(in, BYTES, MPI_BYTE, before, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(same(in, BYTES, (uint64_t)(before * LONG_ONES + tag)), "message %d differs", tag);
    }
    MPI_Waitall(LONG_ONES, sends, MPI_STATUSES_IGNORE);
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"outstanding_receives", case_outstanding_receives, NULL},
        {"outstanding_tags", case_outstanding_tags, NULL},
        {"flood", case_flood, NULL},
        {"flood_of_kilobytes", case_flood_of_kilobytes, NULL},
        {"flood_one", case_flood_one, NULL},
        {"reverse", case_reverse, NULL},
        {"long_ones", case_long_ones, NULL},
    };
    return RUN_CASES(argc, argv, MPI_THREAD_SINGLE, cases);
}
