/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* MPI_THREAD_MULTIPLE: four threads in each rank, all in MPI at once. */
#include "check.h"

#include <pthread.h>
#include <string.h>

enum { THREADS = 4 };

static void together(void *(*work)(void *))
{
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
            MPI_Abort(MPI_COMM_WORLD, 3);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static uint64_t seed_of(int from, long thread, int i)
{
    return (uint64_t)from << 32 | (uint64_t)thread << 16 | (uint64_t)i;
}

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
            MPI_Irecv(in, length, MPI_BYTE, before, (int)me, MPI_COMM_WORLD, &requests[0]);
            MPI_Isend(out, length, MPI_BYTE, next, (int)me, MPI_COMM_WORLD, &requests[1]);
            MPI_Wait(&requests[0], &status);
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
            CHECK_STATUS(&status, before, (int)me, length);
            CHECK(same(in, (size_t)length, seed_of(before, me, length)), "thread %ld: %d bytes differ", me,
                  length);
        }
    free(out);
    free(in);
    return NULL;
}

static void case_exchange(void) { together(exchange); }

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
        MPI_Isend(out, 2, MPI_INT, to, i % 7, MPI_COMM_WORLD, &send);
        MPI_Recv(in, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
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

enum { SHORT = 64, BUFFERED = 2000 };

/*
 * Every thread starts buffered sends of a few bytes, which are gone before their call returns, while the others serve
 * the library: each request completes once, and each message comes.
 */
static void *buffered(void *argument)
{
    long me = (long)argument;
    for (int i = 0; i < BUFFERED; i++) {
        unsigned char out[SHORT], in[SHORT];
        MPI_Request request;
        MPI_Status status;
        fill(out, sizeof out, seed_of(rank, me, i));
        MPI_Ibsend(out, SHORT, MPI_BYTE, next, (int)me, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        memset(out, 0, sizeof out);
        MPI_Recv(in, SHORT, MPI_BYTE, before, (int)me, MPI_COMM_WORLD, &status);
        CHECK_STATUS(&status, before, (int)me, SHORT);
        CHECK(same(in, sizeof in, seed_of(before, me, i)), "thread %ld: message %d differs", me, i);
    }
    return NULL;
}

static void case_buffered(void)
{
    int room = THREADS * 64 * (SHORT + MPI_BSEND_OVERHEAD);
    void *buffer = get((size_t)room);
    MPI_Buffer_attach(buffer, room);
    together(buffered);
    MPI_Buffer_detach(&buffer, &room);
    free(buffer);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"exchange", case_exchange, NULL},
        {"wildcards", case_wildcards, NULL},
        {"buffered", case_buffered, NULL},
    };
    return RUN_CASES(argc, argv, MPI_THREAD_MULTIPLE, cases);
}
