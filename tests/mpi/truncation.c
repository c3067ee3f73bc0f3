/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages longer than their receive: MPI_ERR_TRUNCATE, nothing written behind, and life goes on. */
#include "check.h"

#include <string.h>

static const int long_ones[] = {1, 20, 100, 1000, 5000, 30000, 32769, 100000, LONGEST};
enum { COUNT = sizeof long_ones / sizeof long_ones[0] };

static unsigned char *out, *in;

static int class_of(int error)
{
    int class = -1;
    MPI_Error_class(error, &class);
    return class;
}

static void check_cut(int error, int room, int length)
{
    CHECK(class_of(error) == MPI_ERR_TRUNCATE, "%d bytes into %d: error class %d", length, room, class_of(error));
    CHECK(all_are(in + room, LONGEST - (size_t)room, 0xdd), "%d bytes into %d: wrote behind", length, room);
}

static void exchange_after(int length)
{
    MPI_Status status;
    fill(out, (size_t)length, (uint64_t)(rank + length));
    int error = MPI_Sendrecv(out, length, MPI_BYTE, next, 2, in, length, MPI_BYTE, before, 2, MPI_COMM_WORLD, &status);
    CHECK(error == MPI_SUCCESS, "afterwards: error class %d", class_of(error));
    CHECK_STATUS(&status, before, 2, length);
    CHECK(same(in, (size_t)length, (uint64_t)(before + length)), "afterwards %d bytes differ", length);
}

/* One rank after the other would hide nothing: all do it at once, round the ring. */
static void every_length(void (*one)(int room, int length))
{
    out = get(LONGEST);
    in = get(LONGEST);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < COUNT; i++) {
        int rooms[3] = {0, long_ones[i] / 2, long_ones[i] - 1};
        for (int k = 0; k < 3; k++) {
            memset(in, 0xdd, LONGEST);
            one(rooms[k], long_ones[i]);
            exchange_after(long_ones[i]);
        }
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    free(out);
    free(in);
}

static void posted_one(int room, int length)
{
    MPI_Request receive, send;
    MPI_Irecv(in, room, MPI_BYTE, before, 1, MPI_COMM_WORLD, &receive);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(out, length, MPI_BYTE, next, 1, MPI_COMM_WORLD, &send);
    check_cut(MPI_Wait(&receive, MPI_STATUS_IGNORE), room, length);
    CHECK(MPI_Wait(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS, "the sender has an error");
}

static void unexpected_one(int room, int length)
{
    MPI_Request send;
    MPI_Isend(out, length, MPI_BYTE, next, 1, MPI_COMM_WORLD, &send);
    MPI_Barrier(MPI_COMM_WORLD);
    check_cut(MPI_Recv(in, room, MPI_BYTE, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), room, length);
    CHECK(MPI_Wait(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS, "the sender has an error");
}

static void synchronous_one(int room, int length)
{
    MPI_Request send;
    MPI_Issend(out, length, MPI_BYTE, next, 1, MPI_COMM_WORLD, &send);
    check_cut(MPI_Recv(in, room, MPI_BYTE, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), room, length);
    CHECK(MPI_Wait(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS, "the sender has an error");
}

/* Among several requests the status says which was cut. */
static void waitall_one(int room, int length)
{
    int small = -1;
    MPI_Request requests[4];
    MPI_Status statuses[4];
    MPI_Irecv(in, room, MPI_BYTE, before, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&small, 1, MPI_INT, before, 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(out, length, MPI_BYTE, next, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(&rank, 1, MPI_INT, next, 3, MPI_COMM_WORLD, &requests[3]);
    CHECK(class_of(MPI_Waitall(4, requests, statuses)) == MPI_ERR_IN_STATUS, "Waitall reports no error");
    check_cut(statuses[0].MPI_ERROR, room, length);
    for (int i = 1; i < 4; i++)
        while (statuses[i].MPI_ERROR == MPI_ERR_PENDING)
            statuses[i].MPI_ERROR = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    for (int i = 1; i < 4; i++)
        CHECK(statuses[i].MPI_ERROR == MPI_SUCCESS, "request %d has class %d", i, class_of(statuses[i].MPI_ERROR));
    CHECK(small == before, "the small one is %d", small);
}

static void matched_one(int room, int length)
{
    MPI_Request send;
    MPI_Message message;
    MPI_Isend(out, length, MPI_BYTE, next, 1, MPI_COMM_WORLD, &send);
    MPI_Mprobe(before, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    check_cut(MPI_Mrecv(in, room, MPI_BYTE, &message, MPI_STATUS_IGNORE), room, length);
    CHECK(MPI_Wait(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS, "the sender has an error");
}

static void case_posted(void) { every_length(posted_one); }
static void case_unexpected(void) { every_length(unexpected_one); }
static void case_synchronous(void) { every_length(synchronous_one); }
static void case_waitall(void) { every_length(waitall_one); }
static void case_matched(void) { every_length(matched_one); }

/* A receive with gaps that is too short by some elements. */
static void case_derived(void)
{
    enum { ROOM = 3000, SENT = 5000 };
    int *from = get(SENT * sizeof *from), *to = get(2 * SENT * sizeof *to);
    MPI_Datatype spread;
    MPI_Request send;
    for (int i = 0; i < SENT; i++)
        from[i] = rank * SENT + i;
    memset(to, 0xdd, 2 * SENT * sizeof *to);
    MPI_Type_vector(ROOM, 1, 2, MPI_INT, &spread);
    MPI_Type_commit(&spread);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Isend(from, SENT, MPI_INT, next, 1, MPI_COMM_WORLD, &send);
    int error = MPI_Recv(to, 1, spread, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(class_of(error) == MPI_ERR_TRUNCATE, "error class %d", class_of(error));
    for (int i = 1; i < 2 * ROOM; i += 2)
        CHECK(all_are(&to[i], sizeof(int), 0xdd), "gap %d was written to", i);
    CHECK(all_are(&to[2 * ROOM - 1], (2 * (SENT - ROOM) + 1) * sizeof(int), 0xdd), "wrote behind");
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Type_free(&spread);
    free(from);
    free(to);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"posted", case_posted, NULL},   {"unexpected", case_unexpected, NULL},
        {"synchronous", case_synchronous, NULL}, {"waitall", case_waitall, NULL},
        {"matched", case_matched, NULL}, {"derived", case_derived, NULL},
    };
    return RUN_CASES(argc, argv, MPI_THREAD_SINGLE, cases);
}
