/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Receives that are cancelled: they complete as cancelled and take no message with them. */
#include "check.h"

static int cancelled(MPI_Request *request)
{
    MPI_Status status;
    int flag = -1;
    MPI_Cancel(request);
    MPI_Wait(request, &status);
    MPI_Test_cancelled(&status, &flag);
    return flag;
}

/* At every length: cancel a receive, then have another one take the message. */
static void case_receive(void)
{
    unsigned char *out = get(LONGEST), *lost = get(LONGEST), *in = get(LONGEST);
    for (size_t i = 0; i < length_count; i++) {
        int length = lengths[i];
        MPI_Request receive;
        MPI_Status status;
        fill(out, (size_t)length, (uint64_t)(rank + length));
        MPI_Irecv(lost, LONGEST, MPI_BYTE, i % 2 ? MPI_ANY_SOURCE : before, 2, MPI_COMM_WORLD, &receive);
        CHECK(cancelled(&receive) == 1, "not cancelled");
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Sendrecv(out, length, MPI_BYTE, next, 2, in, LONGEST, MPI_BYTE, before, 2, MPI_COMM_WORLD, &status);
        CHECK_STATUS(&status, before, 2, length);
        CHECK(same(in, (size_t)length, (uint64_t)(before + length)), "%d bytes differ", length);
        CHECK(all_are(lost, LONGEST, 0), "the cancelled receive got data");
    }
    free(out);
    free(lost);
    free(in);
}

/* One out of many: the others keep their order. */
static void case_one_of_many(void)
{
    enum { COUNT = 100 };
    int in[COUNT], out[COUNT], expected = 0;
    MPI_Request receives[COUNT];
    for (int i = 0; i < COUNT; i++) {
        in[i] = -1;
        out[i] = i;
        MPI_Irecv(&in[i], 1, MPI_INT, before, 1, MPI_COMM_WORLD, &receives[i]);
    }
    for (int i = 0; i < COUNT; i += 3)
        CHECK(cancelled(&receives[i]) == 1, "receive %d not cancelled", i);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < COUNT - (COUNT + 2) / 3; i++)
        MPI_Send(&out[i], 1, MPI_INT, next, 1, MPI_COMM_WORLD);
    MPI_Waitall(COUNT, receives, MPI_STATUSES_IGNORE);
    for (int i = 0; i < COUNT; i++)
        CHECK(in[i] == (i % 3 ? expected++ : -1), "receive %d has %d", i, in[i]);
}

/* A receive that is complete already cannot be cancelled; its data stays. */
static void case_too_late(void)
{
    int in = -1, there = 0;
    MPI_Request receive;
    MPI_Irecv(&in, 1, MPI_INT, before, 4, MPI_COMM_WORLD, &receive);
    MPI_Send(&rank, 1, MPI_INT, next, 4, MPI_COMM_WORLD);
    while (!there)
        MPI_Request_get_status(receive, &there, MPI_STATUS_IGNORE);
    CHECK(cancelled(&receive) == 0, "it was complete");
    CHECK(in == before, "got %d", in);
}

/* A cancel races with the message: either way exactly one of them has it. */
static void case_race(void)
{
    for (int i = 0; i < 300; i++) {
        int in = -1, again = -1, out = rank * 1000 + i;
        MPI_Request receive, send;
        MPI_Irecv(&in, 1, MPI_INT, before, 5, MPI_COMM_WORLD, &receive);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Isend(&out, 1, MPI_INT, next, 5, MPI_COMM_WORLD, &send);
        int was = cancelled(&receive);
        if (was == 1)
            MPI_Recv(&again, 1, MPI_INT, before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK((was == 1 ? again : in) == before * 1000 + i && (was == 0 || in == -1), "cancelled %d: %d and %d", was, in,
              again);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
    }
}

static void case_persistent(void)
{
    int in = -1;
    MPI_Request receive;
    MPI_Status status;
    MPI_Recv_init(&in, 1, MPI_INT, before, 6, MPI_COMM_WORLD, &receive);
    MPI_Start(&receive);
    CHECK(cancelled(&receive) == 1, "not cancelled");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Start(&receive);
    MPI_Send(&rank, 1, MPI_INT, next, 6, MPI_COMM_WORLD);
    MPI_Wait(&receive, &status);
    CHECK_STATUS(&status, before, 6, 4);
    CHECK(in == before, "got %d", in);
    MPI_Request_free(&receive);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"receive", case_receive, NULL}, {"one_of_many", case_one_of_many, NULL},
        {"too_late", case_too_late, NULL}, {"race", case_race, NULL},
        {"persistent", case_persistent, NULL},
    };
    return RUN_CASES(argc, argv, MPI_THREAD_SINGLE, cases);
}
