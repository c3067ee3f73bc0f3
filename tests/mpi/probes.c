/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Probe, Iprobe, and matched probes with their receives, at every length. */
#include "check.h"

#include <string.h>

static unsigned char *out, *in;

static uint64_t seed_of(int from, int length) { return (uint64_t)from << 32 | (uint64_t)length; }

static MPI_Request start(int length, int tag)
{
    MPI_Request send;
    fill(out, (size_t)length, seed_of(rank, length));
    memset(in, 0, LONGEST);
    MPI_Isend(out, length, MPI_BYTE, next, tag, MPI_COMM_WORLD, &send);
    return send;
}

static void every_length(void (*one)(int length))
{
    out = get(LONGEST);
    in = get(LONGEST);
    for (size_t i = 0; i < length_count; i++)
        one(lengths[i]);
    free(out);
    free(in);
}

static void check_taken(const MPI_Status *status, int length, int tag)
{
    CHECK_STATUS(status, before, tag, length);
    CHECK(same(in, (size_t)length, seed_of(before, length)), "%d bytes differ", length);
}

static void probe_one(int length)
{
    MPI_Status status;
    MPI_Request send = start(length, 3);
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    CHECK_STATUS(&status, before, 3, length);
    MPI_Probe(before, 3, MPI_COMM_WORLD, &status);
    CHECK_STATUS(&status, before, 3, length);
    MPI_Recv(in, length, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
    check_taken(&status, length, 3);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
}

static void iprobe_one(int length)
{
    MPI_Status status;
    int there = 1;
    MPI_Iprobe(before, 4, MPI_COMM_WORLD, &there, &status);
    CHECK(!there, "a message that nobody sent");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Request send = start(length, 4);
    do
        MPI_Iprobe(before, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
    while (!there);
    CHECK_STATUS(&status, before, 4, length);
    MPI_Iprobe(before, 5, MPI_COMM_WORLD, &there, &status);
    CHECK(!there, "the message has another tag");
    MPI_Recv(in, LONGEST, MPI_BYTE, before, 4, MPI_COMM_WORLD, &status);
    check_taken(&status, length, 4);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void mprobe_one(int length)
{
    MPI_Message message;
    MPI_Status status;
    MPI_Request send = start(length, 5);
    MPI_Mprobe(before, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
    CHECK_STATUS(&status, before, 5, length);
    CHECK(message != MPI_MESSAGE_NULL && message != MPI_MESSAGE_NO_PROC, "no message");
    MPI_Mrecv(in, length, MPI_BYTE, &message, &status);
    CHECK(message == MPI_MESSAGE_NULL, "the handle is still there");
    check_taken(&status, length, 5);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
}

static void improbe_one(int length)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Request receive, send = start(length, 6);
    MPI_Status status;
    int there = 0;
    while (!there)
        MPI_Improbe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &there, &message, &status);
    CHECK_STATUS(&status, before, 6, length);
    MPI_Imrecv(in, LONGEST, MPI_BYTE, &message, &receive);
    MPI_Wait(&receive, &status);
    check_taken(&status, length, 6);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
}

static void case_probe(void) { every_length(probe_one); }
static void case_iprobe(void) { every_length(iprobe_one); }
static void case_mprobe(void) { every_length(mprobe_one); }
static void case_improbe(void) { every_length(improbe_one); }

/* What a matched probe has taken is out of everybody else's sight, and messages behind it are not held up. */
static void taken_is_hidden(int length)
{
    MPI_Message first;
    MPI_Status status;
    MPI_Request sends[2];
    unsigned char *second = get(LONGEST);
    fill(second, (size_t)length, seed_of(rank, length) + 1);
    sends[0] = start(length, 7);
    MPI_Isend(second, length, MPI_BYTE, next, 7, MPI_COMM_WORLD, &sends[1]);
    MPI_Mprobe(before, 7, MPI_COMM_WORLD, &first, &status);
    unsigned char *got = get(LONGEST);
    MPI_Recv(got, LONGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    CHECK_STATUS(&status, before, 7, length);
    CHECK(same(got, (size_t)length, seed_of(before, length) + 1), "the second message of %d bytes differs", length);
    int there = 1;
    MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &there, &status);
    CHECK(!there, "a probe sees what was taken");
    MPI_Mrecv(in, length, MPI_BYTE, &first, &status);
    check_taken(&status, length, 7);
    MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    free(second);
    free(got);
}

static void case_taken_is_hidden(void) { every_length(taken_is_hidden); }

/* Many taken at once, received in reverse. */
static void case_many_taken(void)
{
    enum { COUNT = 60, BYTES = 40000 };
    MPI_Message messages[COUNT];
    MPI_Request sends[COUNT];
    MPI_Status status;
    unsigned char(*from)[BYTES] = get(COUNT * BYTES), *to = get(BYTES);
    for (int i = 0; i < COUNT; i++) {
        fill(from[i], (size_t)(i * 600), seed_of(rank, i));
        MPI_Isend(from[i], i * 600, MPI_BYTE, next, i, MPI_COMM_WORLD, &sends[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        MPI_Mprobe(before, MPI_ANY_TAG, MPI_COMM_WORLD, &messages[i], &status);
        CHECK_STATUS(&status, before, i, i * 600);
    }
    for (int i = COUNT - 1; i >= 0; i--) {
        MPI_Mrecv(to, BYTES, MPI_BYTE, &messages[i], &status);
        CHECK_STATUS(&status, before, i, i * 600);
        CHECK(same(to, (size_t)(i * 600), seed_of(before, i)), "message %d differs", i);
    }
    MPI_Waitall(COUNT, sends, MPI_STATUSES_IGNORE);
    free(from);
    free(to);
}

static void case_nobody(void)
{
    MPI_Message message;
    MPI_Status status;
    MPI_Request receive;
    int there = 0, untouched = 55;
    MPI_Probe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
    CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    MPI_Mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &message, &status);
    CHECK(message == MPI_MESSAGE_NO_PROC, "Mprobe gave a message");
    MPI_Mrecv(&untouched, 1, MPI_INT, &message, &status);
    CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    CHECK(message == MPI_MESSAGE_NULL, "the handle is still there");
    MPI_Improbe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &there, &message, &status);
    CHECK(there && message == MPI_MESSAGE_NO_PROC, "Improbe gave %d", there);
    MPI_Imrecv(&untouched, 1, MPI_INT, &message, &receive);
    MPI_Wait(&receive, &status);
    CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    CHECK(untouched == 55, "it is %d", untouched);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"probe", case_probe, NULL},           {"iprobe", case_iprobe, NULL},
        {"mprobe", case_mprobe, NULL},         {"improbe", case_improbe, NULL},
        {"taken_is_hidden", case_taken_is_hidden, NULL}, {"many_taken", case_many_taken, NULL},
        {"nobody", case_nobody, NULL},
    };
    return RUN_CASES(argc, argv, MPI_THREAD_SINGLE, cases);
}
