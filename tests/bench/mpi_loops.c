/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two loops of the ancestors' papers in MPI, between ranks 0 and 1, for omx_perf --report:
 *
 *   mpirun -n 2 mpi_loops flow COUNT LENGTH...      COUNT messages one way, then one answer (FM 1.x, 1995)
 *   mpirun -n 2 mpi_loops batches COUNT LENGTH...   five messages each way, work between posting them and
 *                                                   waiting for them (EMP, 2001)
 *
 * "flow" prints "what,bytes,count,us", a line "stream" (us per message, the best of three) for each
 * length. "batches" prints
 * "bytes,count,work_us,loop_us,isend_us,irecv_us,wait_us": medians over COUNT loops of rank 0, for work of 0
 * to 20 times as long as five messages each way take without. Work calls nothing; its time alone is
 * calibrated.
 */
#include <mpi.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUTSTANDING = 64, BATCH = 5, LENGTH_MAX = 4 << 20, CALIBRATION = 200000 };

static int rank;
static char *outgoing, *incoming;

static double stream(int bytes, long count)
{
    MPI_Request requests[OUTSTANDING];
    double began;

    for (int i = 0; i < OUTSTANDING; i++)
        requests[i] = MPI_REQUEST_NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    began = MPI_Wtime();
    for (long i = 0; i < count; i++) {
        MPI_Request *request = &requests[i % OUTSTANDING];

        MPI_Wait(request, MPI_STATUS_IGNORE);
        if (rank == 0)
            MPI_Isend(outgoing, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, request);
        else
            MPI_Irecv(incoming, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, request);
    }
    MPI_Waitall(OUTSTANDING, requests, MPI_STATUSES_IGNORE);
    if (rank == 0)
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    return (MPI_Wtime() - began) * 1e6 / (double)count;
}

static void flow(int bytes, long count)
{
    double us;

    stream(bytes, count < 200 ? count : 200);
    us = stream(bytes, count);
    for (int again = 0; again < 2; again++) {
        double next = stream(bytes, count);

        us = next < us ? next : us;
    }
    if (rank == 0)
        printf("stream,%d,%ld,%.4f\n", bytes, count, us);
}

static volatile uint64_t state = 88172645463325252u;

static void work(uint64_t steps)
{
    uint64_t x = state;

    for (uint64_t i = 0; i < steps; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    state = x;
}

/* Steps of work() a microsecond: the best of several, undisturbed. */
static double steps_per_us(void)
{
    double best = 0;

    for (int i = 0; i < 20; i++) {
        double began = MPI_Wtime(), us;

        work(CALIBRATION);
        us = (MPI_Wtime() - began) * 1e6;
        if (i == 0 || us < best)
            best = us;
    }
    return CALIBRATION / best;
}

struct times {
    double loop, isend, irecv, wait;
};

static struct times one_batch(int bytes, uint64_t steps)
{
    MPI_Request requests[2 * BATCH];
    double begin = MPI_Wtime(), received, sent, worked, end;

    for (int i = 0; i < BATCH; i++)
        MPI_Irecv(incoming + (size_t)i * LENGTH_MAX, bytes, MPI_BYTE, 1 - rank, i, MPI_COMM_WORLD,
                  &requests[i]);
    received = MPI_Wtime();
    for (int i = 0; i < BATCH; i++)
        MPI_Isend(outgoing, bytes, MPI_BYTE, 1 - rank, i, MPI_COMM_WORLD, &requests[BATCH + i]);
    sent = MPI_Wtime();
    work(steps);
    worked = MPI_Wtime();
    MPI_Waitall(2 * BATCH, requests, MPI_STATUSES_IGNORE);
    end = MPI_Wtime();
    return (struct times){end - begin, sent - received, received - begin, end - worked};
}

static int by_value(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;

    return (d > 0) - (d < 0);
}

/* The value of that place among those of one field: 0 is the least, count / 2 the median. */
static double ranked_us(const struct times *times, size_t field, long count, long place)
{
    double *values = malloc((size_t)count * sizeof(*values)), us;

    if (!values) {
        MPI_Abort(MPI_COMM_WORLD, 1);
        return 0;
    }
    for (long i = 0; i < count; i++)
        memcpy(&values[i], (const char *)&times[i] + field, sizeof(*values));
    qsort(values, (size_t)count, sizeof(*values), by_value);
    us = values[place] * 1e6;
    free(values);
    return us;
}

/* The same work at both ranks; returns the least time of a loop in microseconds. */
static double batches_with(int bytes, long count, double work_us, double rate, int print)
{
    struct times *times = malloc((size_t)count * sizeof(*times));
    double least;

    if (!times) {
        MPI_Abort(MPI_COMM_WORLD, 1);
        return 0;
    }
    MPI_Bcast(&work_us, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (long i = 0; i < count; i++)
        times[i] = one_batch(bytes, (uint64_t)(work_us * rate));
    least = ranked_us(times, offsetof(struct times, loop), count, 0);
    if (rank == 0 && print)
        printf("%d,%ld,%.3f,%.3f,%.3f,%.3f,%.3f\n", bytes, count, work_us,
               ranked_us(times, offsetof(struct times, loop), count, count / 2),
               ranked_us(times, offsetof(struct times, isend), count, count / 2),
               ranked_us(times, offsetof(struct times, irecv), count, count / 2),
               ranked_us(times, offsetof(struct times, wait), count, count / 2));
    free(times);
    return least;
}

static void batches(int bytes, long count)
{
    static const double parts[] = {0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 8, 12, 20};
    double rate = steps_per_us(), alone = batches_with(bytes, count, 0, rate, 0);

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        batches_with(bytes, count, parts[i] * alone, rate, 1);
}

int main(int argc, char **argv)
{
    int size, flows;
    long count;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    flows = argc > 3 && strcmp(argv[1], "flow") == 0;
    count = argc > 3 ? atol(argv[2]) : 0;
    if (size != 2 || count < 1 || (!flows && strcmp(argv[1], "batches") != 0)) {
        fprintf(stderr, "usage: mpirun -n 2 mpi_loops flow|batches COUNT LENGTH...\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    outgoing = calloc(1, LENGTH_MAX);
    incoming = calloc(BATCH, LENGTH_MAX);
    if (!outgoing || !incoming)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0)
        puts(flows ? "what,bytes,count,us" : "bytes,count,work_us,loop_us,isend_us,irecv_us,wait_us");
    for (int i = 3; i < argc; i++) {
        int bytes = atoi(argv[i]);

        if (bytes < 0 || bytes > LENGTH_MAX)
            MPI_Abort(MPI_COMM_WORLD, 2);
        (flows ? flow : batches)(bytes, count);
        fflush(stdout);
    }
    free(outgoing);
    free(incoming);
    MPI_Finalize();
    return 0;
}
