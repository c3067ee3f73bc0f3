/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Broadcast, barrier and allreduce, on communicators of all kinds: what coll/mx serves (tests/mpi/coll). */
#include "check.h"

#include <pthread.h>
#include <string.h>

static const int bytes_of[] = {1, 8, 100, 1400, 1500, 9000, 100000, 1048576, 1200000};

static void broadcasts_on(MPI_Comm comm, uint64_t seed)
{
    int own, all;

    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &all);
    for (size_t i = 0; i < sizeof(bytes_of) / sizeof(bytes_of[0]); i++) {
        char *data = get((size_t)bytes_of[i]);
        for (int root = 0; root < all; root++) {
            memset(data, 0, (size_t)bytes_of[i]);
            if (own == root)
                fill(data, (size_t)bytes_of[i], seed + (uint64_t)root);
            MPI_Bcast(data, bytes_of[i], MPI_BYTE, root, comm);
            CHECK(same(data, (size_t)bytes_of[i], seed + (uint64_t)root), "%d bytes from %d", bytes_of[i],
                  root);
        }
        free(data);
    }
}

static void broadcasts(void) { broadcasts_on(MPI_COMM_WORLD, 1); }

static void many_short(void)
{
    const int count = full_tier() ? 20000 : 2000;

    for (int i = 0; i < count; i++) {
        int value = rank == 0 ? i : -1;
        MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
        CHECK(value == i, "got %d instead of %d", value, i);
        if (value != i)
            return;
    }
}

static void communicators(void)
{
    for (int round = 0; round < 3; round++) {
        MPI_Comm half, dup, order;
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
        MPI_Comm_dup(half, &dup);
        MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 0, 0, &order);
        broadcasts_on(half, 10);
        MPI_Barrier(MPI_COMM_WORLD);
        broadcasts_on(dup, 20);
        if (order != MPI_COMM_NULL) {
            broadcasts_on(order, 30);
            MPI_Comm_free(&order);
        }
        MPI_Comm_free(&half);
        MPI_Comm_free(&dup);
    }
}

static void with_gaps(void)
{
    enum { pieces = 500 };
    MPI_Datatype type;
    int *data = get(3 * pieces * sizeof(int));

    MPI_Type_vector(pieces, 2, 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int root = 0; root < ranks; root++) {
        int wrong = 0;
        for (int i = 0; i < 3 * pieces; i++)
            data[i] = rank == root ? i * 7 + root : -1;
        MPI_Bcast(data, 1, type, root, MPI_COMM_WORLD);
        for (int i = 0; i < 3 * pieces - 1; i++)
            wrong += data[i] != (i % 3 < 2 || rank == root ? i * 7 + root : -1);
        CHECK(wrong == 0, "%d numbers from %d", wrong, root);
    }
    MPI_Type_free(&type);
    free(data);
}

static void sums(void)
{
    for (int count = 1; count <= 10000; count *= 10) {
        int *from = get((size_t)count * sizeof(int)), *to = get((size_t)count * sizeof(int)), wrong = 0;
        for (int i = 0; i < count; i++)
            from[i] = rank + i;
        MPI_Allreduce(from, to, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allreduce(MPI_IN_PLACE, from, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < count; i++)
            wrong += to[i] != ranks * i + ranks * (ranks - 1) / 2 || from[i] != to[i];
        CHECK(wrong == 0, "%d of %d sums", wrong, count);
        free(from);
        free(to);
    }
}

/* Nobody leaves a barrier before the last has come: who leaves says so to the last, which hears nothing
 * before. */
static void barriers(void)
{
    for (int i = 0; i < 100; i++) {
        const int late = i % ranks;
        int flag = 0, none = 0;
        for (int looks = 0; rank == late && looks < 200 && !flag; looks++)
            MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag, "somebody has passed barrier %d", i);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank != late)
            MPI_Send(&none, 1, MPI_INT, late, 5, MPI_COMM_WORLD);
        for (int others = 1; rank == late && others < ranks; others++)
            MPI_Recv(&none, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* Messages of ranks while others broadcast: each needs the other's progress. */
static void amid_messages(void)
{
    static char long_one[300000], from_before[300000];

    for (int i = 0; i < 20; i++) {
        MPI_Request requests[2];
        int value = rank == i % ranks ? i : -1;
        fill(long_one, sizeof(long_one), (uint64_t)(rank + i));
        MPI_Irecv(from_before, sizeof(from_before), MPI_BYTE, before, i, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(long_one, sizeof(long_one), MPI_BYTE, next, i, MPI_COMM_WORLD, &requests[1]);
        MPI_Bcast(&value, 1, MPI_INT, i % ranks, MPI_COMM_WORLD);
        CHECK(value == i, "got %d instead of %d", value, i);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(same(from_before, sizeof(from_before), (uint64_t)(before + i)), "message %d", i);
    }
}

/* Threads that broadcast at once, each on a communicator of its own. */
static void *broadcast_much(void *context)
{
    const MPI_Comm comm = *(MPI_Comm *)context;

    for (int i = 0; i < 300; i++) {
        int value = rank == i % ranks ? i : -1;
        MPI_Bcast(&value, 1, MPI_INT, i % ranks, comm);
        CHECK(value == i, "got %d instead of %d", value, i);
    }
    MPI_Barrier(comm);
    broadcasts_on(comm, 40);
    return NULL;
}

static void threads(void)
{
    enum { count = 3 };
    MPI_Comm comms[count];
    pthread_t all[count];

    for (int i = 0; i < count; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < count; i++)
        CHECK(pthread_create(&all[i], NULL, broadcast_much, &comms[i]) == 0, "thread %d", i);
    for (int i = 0; i < count; i++)
        pthread_join(all[i], NULL);
    for (int i = 0; i < count; i++)
        MPI_Comm_free(&comms[i]);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"broadcasts", broadcasts, NULL},
        {"many_short", many_short, NULL},
        {"communicators", communicators, NULL},
        {"with_gaps", with_gaps, NULL},
        {"sums", sums, NULL},
        {"barriers", barriers, NULL},
        {"amid_messages", amid_messages, NULL},
        {"threads", threads, NULL},
    };

    return RUN_CASES(argc, argv, MPI_THREAD_MULTIPLE, cases);
}
