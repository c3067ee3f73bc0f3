/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* MPI_THREAD_MULTIPLE: four threads in each rank, all in MPI at once. */
#include "check.h"

#include <pthread.h>
#include <string.h>

enum { THREADS = 4 };

static MPI_Comm comms[THREADS]; /* one for each thread */
static MPI_Comm shared;

static void together(void *(*work)(void *))
{
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
            MPI_Abort(MPI_COMM_WORLD, 3);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static uint64_t seed_of(int from, long thread, int i) { return (uint64_t)from << 32 | (uint64_t)thread << 16 | (uint64_t)i; }

/* Every thread exchanges with its twin in the next rank; tags keep them apart. */
static void *exchange(void *argument)
{
    long me = (long)argument;
    unsigned char *out = get(LONGEST), *in = get(LONGEST);
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < length_count; i++) {
            int length = lengths[(i + (size_t)me * 5) % length_count];
            MPI_Status status;
            MPI_Request requests[2];
            fill(out, (size_t)length, seed_of(rank, me, length));
            MPI_Irecv(in, length, MPI_BYTE, before, (int)me, shared, &requests[0]);
            MPI_Isend(out, length, MPI_BYTE, next, (int)me, shared, &requests[1]);
            MPI_Wait(&requests[0], &status);
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
            CHECK_STATUS(&status, before, (int)me, length);
            CHECK(same(in, (size_t)length, seed_of(before, me, length)), "thread %ld: %d bytes differ", me, length);
        }
    free(out);
    free(in);
    return NULL;
}

static void case_exchange(void) { together(exchange); }

/* Blocking calls of all sorts, each thread in a communicator of its own. */
static void *collectives(void *argument)
{
    long me = (long)argument;
    for (int i = 0; i < 60; i++) {
        int value = rank == i % ranks ? i * 10 + (int)me : -1, sum = 0, mine = rank + (int)me;
        MPI_Bcast(&value, 1, MPI_INT, i % ranks, comms[me]);
        CHECK(value == i * 10 + me, "thread %ld: broadcast %d gave %d", me, i, value);
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comms[me]);
        CHECK(sum == ranks * (ranks - 1) / 2 + ranks * me, "thread %ld: sum %d", me, sum);
        MPI_Barrier(comms[me]);
    }
    return NULL;
}

static void case_collectives(void) { together(collectives); }

static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static int *seen; /* [from][number] */
enum { EACH = 400 };

/* All threads receive with wildcards what all threads of all ranks send: each message comes once. */
static void *wildcards(void *argument)
{
    long me = (long)argument;
    for (int i = 0; i < EACH; i++) {
        int out[2] = {rank, (int)me * EACH + i}, in[2] = {-1, -1}, to = (rank + i) % ranks;
        MPI_Request send;
        MPI_Status status;
        MPI_Isend(out, 2, MPI_INT, to, i % 7, shared, &send);
        MPI_Recv(in, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, shared, &status);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        CHECK(status.MPI_SOURCE == in[0] && in[1] >= 0 && in[1] < THREADS * EACH, "source %d, data %d %d",
              status.MPI_SOURCE, in[0], in[1]);
        pthread_mutex_lock(&counting);
        if (in[0] >= 0 && in[0] < ranks && in[1] >= 0 && in[1] < THREADS * EACH)
            seen[in[0] * THREADS * EACH + in[1]]++;
        pthread_mutex_unlock(&counting);
    }
    return NULL;
}

/* A rank gets as many messages as it sends: in round i, thread t of all ranks. */
static void case_wildcards(void)
{
    int count = ranks * THREADS * EACH, wrong = 0;
    int *all = get((size_t)count * sizeof *all);
    seen = get((size_t)count * sizeof *seen);
    together(wildcards);
    MPI_Allreduce(seen, all, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        wrong += all[i] != 1;
    CHECK(wrong == 0, "%d of %d messages came never or twice", wrong, count);
    free(all);
    free(seen);
}

/* Matched probes exist so that threads do not take each other's messages. */
static void *probes(void *argument)
{
    long me = (long)argument;
    unsigned char *out = get(70000), *in = get(70000);
    for (int i = 0; i < 60; i++) {
        int length = i * 997 % 70000, count = -1;
        MPI_Request send;
        MPI_Message message;
        MPI_Status status;
        fill(out, (size_t)length, (uint64_t)length);
        MPI_Isend(out, length, MPI_BYTE, next, (int)me, shared, &send);
        MPI_Mprobe(before, MPI_ANY_TAG, shared, &message, &status); /* perhaps another thread's twin's */
        MPI_Get_count(&status, MPI_BYTE, &count);
        MPI_Mrecv(in, count, MPI_BYTE, &message, &status);
        CHECK(same(in, (size_t)count, (uint64_t)count), "thread %ld: %d bytes differ", me, count);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
    }
    free(out);
    free(in);
    return NULL;
}

static void case_probes(void) { together(probes); }

/* Communicators made, windows of requests and cancels, at the same time in all threads. */
static void *mixture(void *argument)
{
    long me = (long)argument;
    enum { WINDOW = 50 };
    int in[WINDOW], out[WINDOW];
    for (int round = 0; round < 10; round++) {
        MPI_Comm copy;
        MPI_Request requests[2 * WINDOW], never;
        int nothing, cancelled = 0;
        MPI_Status status;
        MPI_Comm_dup(comms[me], &copy);
        MPI_Irecv(&nothing, 1, MPI_INT, MPI_ANY_SOURCE, 99, copy, &never);
        for (int i = 0; i < WINDOW; i++) {
            out[i] = rank * 1000 + i;
            MPI_Irecv(&in[i], 1, MPI_INT, before, i, copy, &requests[i]);
            MPI_Isend(&out[i], 1, MPI_INT, next, i, copy, &requests[WINDOW + i]);
        }
        MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < WINDOW; i++)
            CHECK(in[i] == before * 1000 + i, "thread %ld: %d is %d", me, i, in[i]);
        MPI_Cancel(&never);
        MPI_Wait(&never, &status);
        MPI_Test_cancelled(&status, &cancelled);
        CHECK(cancelled, "thread %ld: not cancelled", me);
        MPI_Comm_free(&copy);
    }
    return NULL;
}

static void case_mixture(void) { together(mixture); }

/* A thread that waits does not keep another one from what the first one waits for. */
static void *halves(void *argument)
{
    long me = (long)argument;
    int value = -1;
    for (int i = 0; i < 100; i++) {
        if (me % 2) {
            MPI_Recv(&value, 1, MPI_INT, rank, 50 + (int)me, shared, MPI_STATUS_IGNORE); /* from this process */
            CHECK(value == i, "thread %ld: %d instead of %d", me, value, i);
        } else
            MPI_Ssend(&i, 1, MPI_INT, rank, 50 + (int)me + 1, shared);
    }
    return NULL;
}

static void case_within_a_process(void) { together(halves); }

static void begin_comms(void)
{
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    MPI_Comm_dup(MPI_COMM_WORLD, &shared);
}

static void end_comms(void)
{
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&comms[i]);
    MPI_Comm_free(&shared);
}

#define WITH_COMMS(name)                                                                                     \
    static void run_##name(void)                                                                             \
    {                                                                                                        \
        begin_comms();                                                                                       \
        case_##name();                                                                                       \
        end_comms();                                                                                         \
    }
WITH_COMMS(exchange)
WITH_COMMS(collectives)
WITH_COMMS(wildcards)
WITH_COMMS(probes)
WITH_COMMS(mixture)
WITH_COMMS(within_a_process)

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"exchange", run_exchange, NULL}, {"collectives", run_collectives, NULL},
        {"wildcards", run_wildcards, NULL}, {"probes", run_probes, NULL},
        {"mixture", run_mixture, NULL},   {"within_a_process", run_within_a_process, NULL},
    };
    return RUN_CASES(argc, argv, MPI_THREAD_MULTIPLE, cases);
}
