/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Matching: any source, any tag, both; the order of each sender; contexts and the whole range of tags;
 * matched probes and cancelled receives, which take away what others would match. */
#include "check.h"

#include <string.h>

enum { ROUNDS = 200 };

struct note {
    int from, number, tag;
};

static void send_notes(int to, int count, int tag_step)
{
    for (int i = 0; i < count; i++) {
        struct note note = {rank, i, (i * tag_step) % 1000};
        MPI_Send(&note, sizeof note, MPI_BYTE, to, note.tag, MPI_COMM_WORLD);
    }
}

/* Rank 0 receives all with these wildcards; what arrives must be in each sender's order. */
static void collect(int source, int tag, int senders)
{
    int *seen = get((size_t)ranks * sizeof *seen);
    for (int i = 0; i < senders * ROUNDS; i++) {
        struct note note;
        MPI_Status status;
        MPI_Recv(&note, sizeof note, MPI_BYTE, source, tag, MPI_COMM_WORLD, &status);
        CHECK_STATUS(&status, note.from, note.tag, (int)sizeof note);
        if (note.from >= 0 && note.from < ranks)
            CHECK(note.number == seen[note.from]++, "%d of rank %d came out of order", note.number,
                  note.from);
    }
    free(seen);
}

static void case_any_source(void)
{
    if (rank == 0)
        collect(MPI_ANY_SOURCE, 0, ranks - 1);
    else
        send_notes(0, ROUNDS, 0);
}

static void case_any_tag(void)
{
    if (rank == 0)
        for (int source = 1; source < ranks; source++)
            collect(source, MPI_ANY_TAG, 1);
    else
        send_notes(0, ROUNDS, 7);
}

static void case_any_source_any_tag(void)
{
    if (rank == 0)
        collect(MPI_ANY_SOURCE, MPI_ANY_TAG, ranks - 1);
    else
        send_notes(0, ROUNDS, 7);
}

/* Tags taken in another order than they were sent in: all but the last are unexpected first. */
static void case_tags_in_reverse(void)
{
    enum { TAGS = 50, BYTES = 3000 };
    unsigned char(*out)[BYTES] = get(TAGS * BYTES), in[BYTES];
    MPI_Request sends[TAGS];
    for (int tag = 0; tag < TAGS; tag++) {
        fill(out[tag], BYTES, (uint64_t)(rank * TAGS + tag));
        MPI_Isend(out[tag], BYTES, MPI_BYTE, next, tag, MPI_COMM_WORLD, &sends[tag]);
    }
    for (int tag = TAGS - 1; tag >= 0; tag--) {
        MPI_Status status;
        MPI_Recv(in, BYTES, MPI_BYTE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
        CHECK_STATUS(&status, before, tag, BYTES);
        CHECK(same(in, BYTES, (uint64_t)(before * TAGS + tag)), "message of tag %d differs", tag);
    }
    MPI_Waitall(TAGS, sends, MPI_STATUSES_IGNORE);
    free(out);
}

static void case_tag_range(void)
{
    int *bound, there;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &there);
    CHECK(there && *bound >= 32767, "no useful MPI_TAG_UB");
    int tags[] = {0, 1, 32767, 32768, 65535, 65536, 0x7fffff, 0x1000000, *bound - 1, *bound};
    enum { TAGS = sizeof tags / sizeof tags[0] };
    int out[TAGS], in[TAGS];
    MPI_Request requests[2 * TAGS];
    MPI_Status statuses[2 * TAGS];
    for (int i = 0; i < TAGS; i++) {
        tags[i] = tags[i] > *bound ? *bound : tags[i];
        out[i] = rank * 100 + i;
        MPI_Irecv(&in[i], 1, MPI_INT, before, tags[i], MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TAGS; i++)
        MPI_Isend(&out[i], 1, MPI_INT, next, tags[i], MPI_COMM_WORLD, &requests[TAGS + i]);
    MPI_Waitall(2 * TAGS, requests, statuses);
    for (int i = 0; i < TAGS; i++) {
        CHECK_STATUS(&statuses[i], before, tags[i], 4);
        CHECK(in[i] == before * 100 + i, "tag %d carries %d", tags[i], in[i]);
    }
}

/* Same ranks and tags in many communicators: each message stays in its own. */
static void case_contexts(void)
{
    enum { COMMS = 20 };
    MPI_Comm comms[COMMS];
    MPI_Request sends[COMMS];
    int out[COMMS], in = -1;
    for (int i = 0; i < COMMS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        out[i] = rank * 100 + i;
    }
    for (int i = 0; i < COMMS; i++)
        MPI_Isend(&out[i], 1, MPI_INT, next, 4, comms[i], &sends[i]);
    for (int i = COMMS - 1; i >= 0; i--) {
        MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[i], MPI_STATUS_IGNORE);
        CHECK(in == before * 100 + i, "communicator %d carries %d", i, in);
    }
    MPI_Waitall(COMMS, sends, MPI_STATUSES_IGNORE);
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&comms[i]);
}

/* Collectives have tags of their own that MPI_ANY_TAG must not match. */
static void case_collectives_pass_wildcards(void)
{
    MPI_Request wild;
    int in = -1, complete = 0, sum = 0, out = rank + 1000;
    MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &wild);
    for (int i = 0; i < 20; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        int root = i % ranks, value = rank == root ? i : -1;
        MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD);
        CHECK(value == i, "broadcast %d gave %d", i, value);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(sum == ranks * (ranks - 1) / 2, "sum %d", sum);
        MPI_Test(&wild, &complete, MPI_STATUS_IGNORE);
        CHECK(!complete, "a collective's message was matched");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Status status;
    MPI_Send(&out, 1, MPI_INT, next, 12, MPI_COMM_WORLD);
    MPI_Wait(&wild, &status);
    CHECK_STATUS(&status, before, 12, 4);
    CHECK(in == before + 1000, "got %d", in);
}

static uint64_t seed_of(int from, int length) { return (uint64_t)from << 32 | (uint64_t)length; }

/* Many different collectives at once, completed in another order than started. */
static void case_collectives_at_once(void)
{
    enum { EACH = 12, COUNT = 12000, BYTES = 400 };
    MPI_Request requests[3 * EACH];
    unsigned char *bcast[EACH], *out[EACH], *in[EACH];
    int sums[EACH], ones[EACH];
    for (int i = 0; i < EACH; i++) {
        bcast[i] = get(COUNT);
        out[i] = get((size_t)(BYTES * ranks));
        in[i] = get((size_t)(BYTES * ranks));
        ones[i] = i + 1;
        if (rank == i % ranks)
            fill(bcast[i], COUNT, (uint64_t)i);
        for (int to = 0; to < ranks; to++)
            fill(out[i] + to * BYTES, BYTES, seed_of(rank, to * EACH + i));
        MPI_Ibcast(bcast[i], COUNT, MPI_BYTE, i % ranks, MPI_COMM_WORLD, &requests[i]);
        MPI_Ialltoall(out[i], BYTES, MPI_BYTE, in[i], BYTES, MPI_BYTE, MPI_COMM_WORLD, &requests[EACH + i]);
        MPI_Iallreduce(&ones[i], &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2 * EACH + i]);
    }
    for (int i = 3 * EACH - 1; i >= 0; i--)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    for (int i = 0; i < EACH; i++) {
        CHECK(same(bcast[i], COUNT, (uint64_t)i), "ibcast %d", i);
        for (int from = 0; from < ranks; from++)
            CHECK(same(in[i] + from * BYTES, BYTES, seed_of(from, rank * EACH + i)), "ialltoall %d from rank %d", i, from);
        CHECK(sums[i] == ranks * (i + 1), "sum %d is %d", i, sums[i]);
        free(bcast[i]), free(out[i]), free(in[i]);
    }
}

/* The first posted receive that fits takes the message, wildcard or not. */
static void case_posting_order(void)
{
    int in[4] = {-1, -1, -1, -1}, out[4] = {10, 11, 12, 13};
    MPI_Request receives[4];
    MPI_Irecv(&in[0], 1, MPI_INT, before, 2, MPI_COMM_WORLD, &receives[0]);
    MPI_Irecv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &receives[1]);
    MPI_Irecv(&in[2], 1, MPI_INT, before, 1, MPI_COMM_WORLD, &receives[2]);
    MPI_Irecv(&in[3], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &receives[3]);
    MPI_Barrier(MPI_COMM_WORLD);
    static const int tags[4] = {1, 1, 2, 1};
    for (int i = 0; i < 4; i++)
        MPI_Send(&out[i], 1, MPI_INT, next, tags[i], MPI_COMM_WORLD);
    MPI_Waitall(4, receives, MPI_STATUSES_IGNORE);
    CHECK(in[0] == 12 && in[1] == 10 && in[2] == 11 && in[3] == 13, "got %d %d %d %d", in[0], in[1], in[2],
          in[3]);
}

/* Lengths that take different ways may not overtake one another; posted first, then unexpected. */
static void mixed_lengths(bool posted)
{
    enum { COUNT = 40 };
    static const int sizes[4] = {200000, 8, 20000, 0};
    unsigned char *in[COUNT], *out[COUNT];
    MPI_Request receives[COUNT], sends[COUNT];
    MPI_Status statuses[COUNT];
    for (int i = 0; i < COUNT; i++) {
        in[i] = get(200000);
        out[i] = get(200000);
        fill(out[i], (size_t)sizes[i % 4], (uint64_t)(rank * COUNT + i));
        if (posted)
            MPI_Irecv(in[i], 200000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &receives[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++)
        MPI_Isend(out[i], sizes[i % 4], MPI_BYTE, next, i, MPI_COMM_WORLD, &sends[i]);
    if (!posted)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < COUNT && !posted; i++)
        MPI_Irecv(in[i], 200000, MPI_BYTE, before, MPI_ANY_TAG, MPI_COMM_WORLD, &receives[i]);
    MPI_Waitall(COUNT, receives, statuses);
    MPI_Waitall(COUNT, sends, MPI_STATUSES_IGNORE);
    for (int i = 0; i < COUNT; i++) {
        CHECK_STATUS(&statuses[i], before, i, sizes[i % 4]);
        CHECK(same(in[i], (size_t)sizes[i % 4], (uint64_t)(before * COUNT + i)), "message %d differs", i);
        free(in[i]);
        free(out[i]);
    }
}

static void case_order_of_lengths(void)
{
    mixed_lengths(true);
    mixed_lengths(false);
}

/* A message that a matched probe has taken is out of everybody else's sight, and messages behind it are not held up. */
static void taken_is_hidden(unsigned char *out, unsigned char *in, int length)
{
    MPI_Message first;
    MPI_Status status;
    MPI_Request sends[2];
    unsigned char *second = get(LONGEST);
    fill(second, (size_t)length, seed_of(rank, length) + 1);
    fill(out, (size_t)length, seed_of(rank, length));
    memset(in, 0, LONGEST);
    MPI_Isend(out, length, MPI_BYTE, next, 7, MPI_COMM_WORLD, &sends[0]);
    MPI_Isend(second, length, MPI_BYTE, next, 7, MPI_COMM_WORLD, &sends[1]);
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    CHECK_STATUS(&status, before, 7, length);
    MPI_Mprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &first, &status);
    CHECK_STATUS(&status, before, 7, length);
    unsigned char *got = get(LONGEST);
    MPI_Recv(got, LONGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    CHECK_STATUS(&status, before, 7, length);
    CHECK(same(got, (size_t)length, seed_of(before, length) + 1), "the second message of %d bytes differs",
          length);
    int there = 1;
    MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &there, &status);
    CHECK(!there, "a probe sees what was taken");
    MPI_Mrecv(in, length, MPI_BYTE, &first, &status);
    CHECK_STATUS(&status, before, 7, length);
    CHECK(same(in, (size_t)length, seed_of(before, length)), "%d bytes differ", length);
    MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    free(second);
    free(got);
}

static void case_taken_is_hidden(void)
{
    unsigned char *out = get(LONGEST), *in = get(LONGEST);
    for (size_t i = 0; i < length_count; i++)
        taken_is_hidden(out, in, lengths[i]);
    free(out);
    free(in);
}

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

static int cancelled(MPI_Request *request)
{
    MPI_Status status;
    int flag = -1;
    MPI_Cancel(request);
    MPI_Wait(request, &status);
    MPI_Test_cancelled(&status, &flag);
    return flag;
}

/* One out of many: the others keep their order. */
static void case_cancelled_among_many(void)
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

/* A cancel races with the message: either way exactly one of them has it. */
static void case_cancel_races(void)
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
        CHECK((was == 1 ? again : in) == before * 1000 + i && (was == 0 || in == -1),
              "cancelled %d: %d and %d", was, in, again);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
    }
}

/* A receive that is complete already cannot be cancelled; its data stays. */
static void case_cancelled_too_late(void)
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

static void case_cancelled_persistent(void)
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
        {"any_source", case_any_source, NULL},
        {"any_tag", case_any_tag, NULL},
        {"any_source_any_tag", case_any_source_any_tag, NULL},
        {"tags_in_reverse", case_tags_in_reverse, NULL},
        {"tag_range", case_tag_range, NULL},
        {"contexts", case_contexts, NULL},
        {"collectives_pass_wildcards", case_collectives_pass_wildcards, NULL},
        {"collectives_at_once", case_collectives_at_once, NULL},
        {"posting_order", case_posting_order, NULL},
        {"order_of_lengths", case_order_of_lengths, NULL},
        {"taken_is_hidden", case_taken_is_hidden, NULL},
        {"many_taken", case_many_taken, NULL},
        {"cancelled_among_many", case_cancelled_among_many, NULL},
        {"cancelled_too_late", case_cancelled_too_late, NULL},
        {"cancelled_persistent", case_cancelled_persistent, NULL},
        {"cancel_races", case_cancel_races, NULL},
    };
    return RUN_CASES(argc, argv, MPI_THREAD_SINGLE, cases);
}
