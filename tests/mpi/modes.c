/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Point to point: every send mode at every length, into posted receives, as unexpected messages, and
 * persistent. */
#include "check.h"

#include <string.h>

typedef int start_fn(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static int start_send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r)
{
    *r = MPI_REQUEST_NULL;
    return MPI_Send(b, n, t, to, tag, c);
}

static int start_bsend(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r)
{
    *r = MPI_REQUEST_NULL;
    return MPI_Bsend(b, n, t, to, tag, c);
}

static int start_ssend(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r)
{
    *r = MPI_REQUEST_NULL;
    return MPI_Ssend(b, n, t, to, tag, c);
}

static int start_rsend(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r)
{
    *r = MPI_REQUEST_NULL;
    return MPI_Rsend(b, n, t, to, tag, c);
}

static unsigned char *out, *in, *attached;

static void begin_buffers(void)
{
    out = get(LONGEST);
    in = get(LONGEST + 16);
    int room = 5 * LONGEST; /* a receiver may have a message before its sender knows */
    attached = get((size_t)room);
    MPI_Buffer_attach(attached, room);
}

static void end_buffers(void)
{
    void *old;
    int size;
    MPI_Buffer_detach(&old, &size);
    CHECK(old == attached, "detach gave another buffer");
    free(out);
    free(in);
    free(attached);
}

static uint64_t seed_of(int from, int length, int tag)
{
    return (uint64_t)from << 40 | (uint64_t)length << 8 | (uint64_t)tag;
}

static void check_received(const MPI_Status *status, int length, int tag)
{
    CHECK_STATUS(status, before, tag, length);
    CHECK(same(in, (size_t)length, seed_of(before, length, tag)), "%d bytes differ", length);
    CHECK(all_are(in + length, 16, 0xee), "wrote behind %d bytes", length);
}

/* Round the ring; everybody's receive is posted before anybody sends, as ready mode demands. */
static void posted(start_fn *start, int tag)
{
    for (size_t i = 0; i < length_count; i++) {
        int length = lengths[i];
        MPI_Request receive, send;
        MPI_Status status;
        memset(in, 0xee, LONGEST + 16);
        fill(out, (size_t)length, seed_of(rank, length, tag));
        MPI_Irecv(in, length, MPI_BYTE, before, tag, MPI_COMM_WORLD, &receive);
        MPI_Barrier(MPI_COMM_WORLD);
        start(out, length, MPI_BYTE, next, tag, MPI_COMM_WORLD, &send);
        MPI_Wait(&receive, &status);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        check_received(&status, length, tag);
    }
}

/* Nobody receives before everybody has sent, and then more than that; only for sends that do not wait for it.
 */
static void unexpected(start_fn *start, int tag)
{
    for (size_t i = 0; i < length_count; i++) {
        int length = lengths[i];
        MPI_Request send;
        MPI_Status status;
        memset(in, 0xee, LONGEST + 16);
        fill(out, (size_t)length, seed_of(rank, length, tag));
        start(out, length, MPI_BYTE, next, tag, MPI_COMM_WORLD, &send);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Recv(in, LONGEST, MPI_BYTE, before, tag, MPI_COMM_WORLD, &status);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        check_received(&status, length, tag);
    }
}

static void case_posted(void)
{
    static start_fn *const modes[] = {start_send, start_bsend, start_ssend, start_rsend,
                                      MPI_Isend,  MPI_Ibsend,  MPI_Issend,  MPI_Irsend};
    begin_buffers();
    for (int i = 0; i < 8; i++)
        posted(modes[i], i);
    end_buffers();
}

static void case_unexpected(void)
{
    static start_fn *const modes[] = {start_bsend, MPI_Isend, MPI_Ibsend, MPI_Issend};
    begin_buffers();
    for (int i = 0; i < 4; i++)
        unexpected(modes[i], i);
    end_buffers();
}

/* A synchronous send is not complete before its receive is posted. */
static void case_synchronous(void)
{
    begin_buffers();
    for (size_t i = 0; i < length_count; i++) {
        MPI_Request send;
        int length = lengths[i], complete = 0;
        fill(out, (size_t)length, seed_of(rank, length, 9));
        MPI_Issend(out, length, MPI_BYTE, next, 9, MPI_COMM_WORLD, &send);
        for (int test = 0; test < 100 && !complete; test++)
            MPI_Test(&send, &complete, MPI_STATUS_IGNORE);
        CHECK(!complete, "a synchronous send of %d bytes ended without a receive", length);
        MPI_Barrier(MPI_COMM_WORLD);
        memset(in, 0xee, LONGEST + 16);
        MPI_Status status;
        MPI_Recv(in, length, MPI_BYTE, before, 9, MPI_COMM_WORLD, &status);
        check_received(&status, length, 9);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
    }
    end_buffers();
}

/* Everybody to everybody, itself included, all at once and of different lengths. */
static void case_all_pairs(void)
{
    enum { EACH = 3 };
    static const int sizes[EACH] = {40, 5000, 70000};
    int count = ranks * EACH;
    MPI_Request *requests = get((size_t)count * 2 * sizeof *requests);
    unsigned char **from = get((size_t)count * sizeof *from), **to = get((size_t)count * sizeof *to);
    for (int i = 0; i < count; i++) {
        int peer = i / EACH, length = sizes[i % EACH] + peer;
        from[i] = get((size_t)sizes[i % EACH] + (size_t)rank);
        MPI_Irecv(from[i], sizes[i % EACH] + rank, MPI_BYTE, peer, i % EACH, MPI_COMM_WORLD, &requests[i]);
        to[i] = get((size_t)length);
        fill(to[i], (size_t)length, seed_of(rank, length, peer));
    }
    for (int i = 0; i < count; i++)
        MPI_Isend(to[i], sizes[i % EACH] + i / EACH, MPI_BYTE, i / EACH, i % EACH, MPI_COMM_WORLD,
                  &requests[count + i]);
    MPI_Waitall(2 * count, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < count; i++) {
        int length = sizes[i % EACH] + rank;
        CHECK(same(from[i], (size_t)length, seed_of(i / EACH, length, rank)), "%d bytes of rank %d differ",
              length, i / EACH);
        free(from[i]);
        free(to[i]);
    }
    free(from);
    free(to);
    free(requests);
}

static void case_sendrecv(void)
{
    begin_buffers();
    for (size_t i = 0; i < length_count; i++) {
        int length = lengths[i];
        MPI_Status status;
        memset(in, 0xee, LONGEST + 16);
        fill(out, (size_t)length, seed_of(rank, length, 5));
        MPI_Sendrecv(out, length, MPI_BYTE, next, 5, in, LONGEST, MPI_BYTE, before, 5, MPI_COMM_WORLD, &status);
        check_received(&status, length, 5);
        fill(in, (size_t)length, seed_of(rank, length, 6));
        MPI_Sendrecv_replace(in, length, MPI_BYTE, next, 6, before, 6, MPI_COMM_WORLD, &status);
        check_received(&status, length, 6);
    }
    end_buffers();
}

typedef int init_fn(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

/* The receive is first in the list, which is the order that Startall starts in; ready mode needs it before.
 */
static void rounds_of(init_fn *init, int source, int tag, int length)
{
    MPI_Request requests[2]; /* receive, send */
    MPI_Status statuses[2];
    MPI_Recv_init(in, length, MPI_BYTE, source, tag, MPI_COMM_WORLD, &requests[0]);
    init(out, length, MPI_BYTE, next, 6, MPI_COMM_WORLD, &requests[1]);
    for (int round = 0; round < 4; round++) {
        fill(out, (size_t)length, seed_of(rank, length, round));
        memset(in, 0xee, LONGEST + 16);
        if (init == MPI_Rsend_init) {
            MPI_Start(&requests[0]);
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Start(&requests[1]);
        } else
            MPI_Startall(2, requests);
        MPI_Waitall(2, requests, statuses);
        CHECK_STATUS(&statuses[0], before, 6, length);
        CHECK(same(in, (size_t)length, seed_of(before, length, round)), "round %d of %d bytes", round,
              length);
        CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL, "a request is gone");
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* Requests that are started again and again send what their memory holds then. */
static void case_persistent(void)
{
    static init_fn *const modes[] = {MPI_Send_init, MPI_Ssend_init, MPI_Rsend_init, MPI_Bsend_init};
    begin_buffers();
    for (int i = 0; i < 4; i++)
        for (int length = 1; length < 400000; length *= 9) {
            rounds_of(modes[i], before, 6, length);
            rounds_of(modes[i], MPI_ANY_SOURCE, MPI_ANY_TAG, length);
        }
    end_buffers();
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

enum { BYTES = 100000, WAYS = 14 };

/* Receives a message from before: `way` says by which calls, and of which the status is. */
static void receive_by(int way, void *in, MPI_Status *status)
{
    int there = 0, index;
    MPI_Request receive = MPI_REQUEST_NULL;
    MPI_Message message;
    if (way < 5)
        MPI_Irecv(in, BYTES, MPI_BYTE, before, 7, MPI_COMM_WORLD, &receive);
    switch (way) {
    case 0: MPI_Wait(&receive, status); return;
    case 1: while (!there) MPI_Test(&receive, &there, status); return;
    case 2: MPI_Waitany(1, &receive, &index, status); return;
    case 3: while (!there) MPI_Testany(1, &receive, &index, &there, status); return;
    case 4: while (!there) MPI_Request_get_status(receive, &there, status); break;
    case 5: MPI_Recv(in, BYTES, MPI_BYTE, before, 7, MPI_COMM_WORLD, status); return;
    case 6: MPI_Probe(before, 7, MPI_COMM_WORLD, status); break;
    case 7: while (!there) MPI_Iprobe(before, 7, MPI_COMM_WORLD, &there, status); break;
    case 8: MPI_Mprobe(before, 7, MPI_COMM_WORLD, &message, status); break;
    case 9: while (!there) MPI_Improbe(before, 7, MPI_COMM_WORLD, &there, &message, status); break;
    default: MPI_Mprobe(before, 7, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE); break;
    }
    if (way == 4)
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
    else if (way < 8)
        MPI_Recv(in, BYTES, MPI_BYTE, before, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (way < 11)
        MPI_Mrecv(in, BYTES, MPI_BYTE, &message, way == 10 ? status : MPI_STATUS_IGNORE);
    else {
        MPI_Imrecv(in, BYTES, MPI_BYTE, &message, &receive);
        while (way == 12 && !there)
            MPI_Test(&receive, &there, status);
        if (way == 13)
            MPI_Waitany(1, &receive, &index, status);
        else if (way == 11)
            MPI_Wait(&receive, status);
    }
}

/* Calls about one message fill its status, but for MPI_ERROR, which is the program's own (MPI 3.1, section 3.2.5). */
static void case_error_of_a_status(void)
{
    static char out[BYTES], in[BYTES];
    for (int way = 0; way < WAYS; way++)
        for (int length = 1; length <= BYTES; length *= 10) {
            MPI_Request send;
            MPI_Status sent = {.MPI_ERROR = 4711}, status = {.MPI_ERROR = 4711};
            MPI_Isend(out, length, MPI_BYTE, next, 7, MPI_COMM_WORLD, &send);
            receive_by(way, in, &status);
            MPI_Wait(&send, &sent);
            CHECK_STATUS(&status, before, 7, length);
            CHECK(status.MPI_ERROR == 4711, "way %d, %d bytes: %d", way, length, status.MPI_ERROR);
            CHECK(sent.MPI_ERROR == 4711, "way %d, %d bytes, of the send: %d", way, length, sent.MPI_ERROR);
        }
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"posted", case_posted, NULL},           {"unexpected", case_unexpected, NULL},
        {"synchronous", case_synchronous, NULL}, {"all_pairs", case_all_pairs, NULL},
        {"sendrecv", case_sendrecv, NULL},       {"persistent", case_persistent, NULL},
        {"completion_calls", case_completion_calls, NULL},
        {"error_of_a_status", case_error_of_a_status, NULL},
    };
    return RUN_CASES(argc, argv, MPI_THREAD_SINGLE, cases);
}
