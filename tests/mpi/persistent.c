/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Persistent requests of every send mode, started again and again; completion calls on groups of requests. */
#include "check.h"

#include <string.h>

typedef int init_fn(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static void rounds_of(init_fn *init, int source, int tag, int length)
{
    unsigned char *out = get((size_t)length), *in = get((size_t)length);
    MPI_Request requests[2]; /* receive, send */
    MPI_Status statuses[2];
    MPI_Recv_init(in, length, MPI_BYTE, source, tag, MPI_COMM_WORLD, &requests[0]);
    init(out, length, MPI_BYTE, next, 6, MPI_COMM_WORLD, &requests[1]);
    for (int round = 0; round < 10; round++) {
        fill(out, (size_t)length, (uint64_t)(rank * 100 + round));
        memset(in, 0, (size_t)length);
        MPI_Start(&requests[0]);
        MPI_Barrier(MPI_COMM_WORLD); /* ready mode needs the receive */
        MPI_Start(&requests[1]);
        MPI_Waitall(2, requests, statuses);
        CHECK_STATUS(&statuses[0], before, 6, length);
        CHECK(same(in, (size_t)length, (uint64_t)(before * 100 + round)), "round %d of %d bytes", round, length);
        CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL, "a request is gone");
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    free(out);
    free(in);
}

static void every_length(init_fn *init)
{
    for (int length = 1; length < 400000; length *= 9) {
        rounds_of(init, before, 6, length);
        rounds_of(init, MPI_ANY_SOURCE, MPI_ANY_TAG, length);
    }
}

static void case_standard(void) { every_length(MPI_Send_init); }
static void case_synchronous(void) { every_length(MPI_Ssend_init); }
static void case_ready(void) { every_length(MPI_Rsend_init); }

static void case_buffered(void)
{
    void *attached = get(20 * 400000), *old;
    int size;
    MPI_Buffer_attach(attached, 20 * 400000);
    every_length(MPI_Bsend_init);
    MPI_Buffer_detach(&old, &size);
    free(attached);
}

/* A persistent receive that is inactive takes nothing. */
static void case_inactive(void)
{
    int idle = -1, in = -1, complete = 0;
    MPI_Request receive;
    MPI_Status status;
    MPI_Recv_init(&idle, 1, MPI_INT, before, 8, MPI_COMM_WORLD, &receive);
    MPI_Test(&receive, &complete, &status);
    CHECK(complete, "an inactive request is not complete");
    MPI_Sendrecv(&rank, 1, MPI_INT, next, 8, &in, 1, MPI_INT, before, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in == before && idle == -1, "got %d, the inactive one %d", in, idle);
    MPI_Request_free(&receive);
}

static void case_startall(void)
{
    enum { COUNT = 32, BYTES = 5000 };
    unsigned char(*out)[BYTES] = get(COUNT * BYTES), (*in)[BYTES] = get(COUNT * BYTES);
    MPI_Request requests[2 * COUNT];
    for (int i = 0; i < COUNT; i++) {
        MPI_Recv_init(in[i], BYTES, MPI_BYTE, before, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Send_init(out[i], BYTES, MPI_BYTE, next, i, MPI_COMM_WORLD, &requests[COUNT + i]);
    }
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < COUNT; i++)
            fill(out[i], BYTES, (uint64_t)((rank * 10 + round) * COUNT + i));
        MPI_Startall(2 * COUNT, requests);
        MPI_Waitall(2 * COUNT, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < COUNT; i++)
            CHECK(same(in[i], BYTES, (uint64_t)((before * 10 + round) * COUNT + i)), "round %d tag %d", round, i);
    }
    for (int i = 0; i < 2 * COUNT; i++)
        MPI_Request_free(&requests[i]);
    free(out);
    free(in);
}

/* Waitany, Waitsome, Testany, Testsome, Testall and Request_get_status each see every request once. */
static void case_completion_calls(void)
{
    enum { COUNT = 40 };
    for (int how = 0; how < 5; how++) {
        int in[COUNT], seen[COUNT] = {0}, left = COUNT, indices[COUNT], done = 0;
        MPI_Request receives[COUNT], sends[COUNT];
        for (int i = 0; i < COUNT; i++)
            MPI_Irecv(&in[i], 1, MPI_INT, before, i, MPI_COMM_WORLD, &receives[i]);
        for (int i = COUNT - 1; i >= 0; i--)
            MPI_Isend(&rank, 1, MPI_INT, next, i, MPI_COMM_WORLD, &sends[i]);
        while (left > 0) {
            done = 0;
            if (how == 0) {
                MPI_Waitany(COUNT, receives, &indices[0], MPI_STATUS_IGNORE);
                done = 1;
            } else if (how == 1)
                MPI_Waitsome(COUNT, receives, &done, indices, MPI_STATUSES_IGNORE);
            else if (how == 2)
                MPI_Testany(COUNT, receives, &indices[0], &done, MPI_STATUS_IGNORE);
            else if (how == 3)
                MPI_Testsome(COUNT, receives, &done, indices, MPI_STATUSES_IGNORE);
            else {
                MPI_Testall(COUNT, receives, &done, MPI_STATUSES_IGNORE);
                for (int i = 0; i < COUNT && done; i++)
                    indices[i] = i;
                done = done ? COUNT : 0;
            }
            for (int i = 0; i < done && left > 0; i++, left--)
                seen[indices[i]]++;
        }
        MPI_Waitall(COUNT, sends, MPI_STATUSES_IGNORE);
        for (int i = 0; i < COUNT; i++)
            CHECK(seen[i] == 1 && in[i] == before, "way %d: request %d seen %d times, %d", how, i, seen[i], in[i]);
    }
}

int main(int argc, char **argv)
{
    const char *pml = getenv("OMPI_MCA_pml");
    const char *stale = pml && strcmp(pml, "cm") == 0
                            ? "Open MPI's pml cm sends the data of the first start again, with any mtl"
                            : NULL;
    const struct test_case cases[] = {
        {"standard", case_standard, NULL},
        {"buffered", case_buffered, stale},
        {"synchronous", case_synchronous, NULL},
        {"ready", case_ready, NULL},
        {"inactive", case_inactive, NULL},
        {"startall", case_startall, NULL},
        {"completion_calls", case_completion_calls, NULL},
#if MPI_VERSION < 4
        {"partitioned", NULL, "this Open MPI has no partitioned communication (MPI 4)"},
#endif
    };
    return RUN_CASES(argc, argv, MPI_THREAD_SINGLE, cases);
}
