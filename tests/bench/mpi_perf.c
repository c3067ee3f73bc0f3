/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Measures MPI over some transport: ping-pong, streams, both ways at once, collectives. An MPI program like
 * any other; tests/bench/mpi runs it over several transports in turn.
 *
 *   mpirun -n RANKS mpi_perf [-t MS] [-e END] [-l LENGTH]... PATTERN...
 *
 * PATTERN: pingpong stream both vector (between ranks 0 and 1), barrier bcast allreduce alltoall reduce
 * allgather gather scatter sendrecv exchange (all ranks; the last two with the neighbours in a ring, as the
 * Intel MPI benchmarks have them). With -l only these lengths, up to 4 MiB, instead of doubled ones. Prints
 * "pattern,bytes,iterations,min_us,median_us,MB_s", a line per length. A time is that of a half round trip,
 * of one message of a stream with up to 64 outstanding (of one each way for "both"), or of a collective at
 * its slowest rank. "vector" is a ping-pong of 128 pieces with gaps as long as they; its length is that of a
 * piece. Round trips are timed one by one, as omx_perf times them; the others in batches, whose means include
 * every interruption.
 */
#include <mpi.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BATCHES = 20,
    OUTSTANDING_MAX = 64,
    STREAM_BYTES = 4 << 20, /* outstanding at most, but two messages */
    PIECES = 128
};

static int rank, size;
static char *outgoing, *incoming;

static void pingpong(int bytes)
{
    if (rank == 0) {
        MPI_Send(outgoing, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(outgoing, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(outgoing, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(outgoing, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
}

static void vector(int bytes)
{
    static MPI_Datatype type = MPI_DATATYPE_NULL;
    static int made;

    if (made != bytes) {
        if (type != MPI_DATATYPE_NULL)
            MPI_Type_free(&type);
        MPI_Type_vector(PIECES, bytes, 2 * bytes, MPI_BYTE, &type);
        MPI_Type_commit(&type);
        made = bytes;
    }
    if (rank == 0) {
        MPI_Send(outgoing, 1, type, 1, 4, MPI_COMM_WORLD);
        MPI_Recv(outgoing, 1, type, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(outgoing, 1, type, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(outgoing, 1, type, 0, 4, MPI_COMM_WORLD);
    }
}

static int outstanding(int bytes)
{
    int fit = STREAM_BYTES / (bytes ? bytes : 1);

    return fit > OUTSTANDING_MAX ? OUTSTANDING_MAX : fit < 2 ? 2 : fit;
}

static void stream(int bytes)
{
    MPI_Request requests[OUTSTANDING_MAX];
    int n = outstanding(bytes);

    for (int i = 0; i < n && rank < 2; i++)
        if (rank == 0)
            MPI_Isend(outgoing, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv(incoming, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[i]);
    if (rank >= 2)
        return;
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    /* Nothing is sent ahead of what is received. */
    if (rank == 0)
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
}

static void both(int bytes)
{
    MPI_Request requests[2 * OUTSTANDING_MAX];
    int n = outstanding(bytes);

    if (rank >= 2)
        return;
    for (int i = 0; i < n; i++) {
        MPI_Irecv(incoming, bytes, MPI_BYTE, 1 - rank, 3, MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(outgoing, bytes, MPI_BYTE, 1 - rank, 3, MPI_COMM_WORLD, &requests[n + i]);
    }
    MPI_Waitall(2 * n, requests, MPI_STATUSES_IGNORE);
}

static void barrier(int bytes)
{
    (void)bytes;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast(int bytes) { MPI_Bcast(outgoing, bytes, MPI_BYTE, 0, MPI_COMM_WORLD); }

static void allreduce(int bytes)
{
    MPI_Allreduce(outgoing, incoming, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void alltoall(int bytes)
{
    MPI_Alltoall(outgoing, bytes, MPI_BYTE, incoming, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void reduce(int bytes)
{
    MPI_Reduce(outgoing, incoming, bytes / 8, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void allgather(int bytes)
{
    MPI_Allgather(outgoing, bytes, MPI_BYTE, incoming, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void gather(int bytes)
{
    MPI_Gather(outgoing, bytes, MPI_BYTE, incoming, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void scatter(int bytes)
{
    MPI_Scatter(outgoing, bytes, MPI_BYTE, incoming, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void sendrecv(int bytes)
{
    MPI_Sendrecv(outgoing, bytes, MPI_BYTE, (rank + 1) % size, 5, incoming, bytes, MPI_BYTE,
                 (rank + size - 1) % size, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void exchange(int bytes)
{
    MPI_Request requests[2];
    int left = (rank + size - 1) % size, right = (rank + 1) % size;

    MPI_Isend(outgoing, bytes, MPI_BYTE, left, 6, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(outgoing, bytes, MPI_BYTE, right, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Recv(incoming, bytes, MPI_BYTE, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(incoming, bytes, MPI_BYTE, right, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static double two(int bytes)
{
    (void)bytes;
    return 2;
}

static double one(int bytes)
{
    (void)bytes;
    return 1;
}

static double messages(int bytes) { return outstanding(bytes); }

static const struct pattern {
    const char *name;
    void (*run)(int bytes);
    double (*share)(int bytes); /* runs make so many results */
    int first, last; /* lengths */
    int directions; /* of the throughput */
    bool one_by_one; /* each run is timed, at rank 0 */
} patterns[] = {
    {"pingpong", pingpong, two, 0, 4 << 20, 1, true},
    {"stream", stream, messages, 0, 4 << 20, 1, false},
    {"both", both, messages, 0, 4 << 20, 2, false},
    {"vector", vector, two, 16, (4 << 20) / PIECES, PIECES, true},
    {"barrier", barrier, one, 0, 0, 0, false},
    {"bcast", bcast, one, 8, 1 << 20, 1, false},
    {"allreduce", allreduce, one, 8, 1 << 20, 1, false},
    {"alltoall", alltoall, one, 8, 256 << 10, 1, false},
    {"reduce", reduce, one, 8, 1 << 20, 1, false},
    {"allgather", allgather, one, 8, 256 << 10, 1, false},
    {"gather", gather, one, 8, 256 << 10, 1, false},
    {"scatter", scatter, one, 8, 256 << 10, 1, false},
    {"sendrecv", sendrecv, one, 0, 4 << 20, 2, false},
    {"exchange", exchange, one, 0, 4 << 20, 4, false},
    {.name = NULL},
};

/* Seconds of `count` runs at the slowest rank; the same number at every rank. */
static double batch(const struct pattern *p, int bytes, long count)
{
    double begin, time;

    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    for (long i = 0; i < count; i++)
        p->run(bytes);
    time = MPI_Wtime() - begin;
    MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return time;
}

static void time_runs(const struct pattern *p, int bytes, double *times, long count)
{
    double before, after;

    MPI_Barrier(MPI_COMM_WORLD);
    before = MPI_Wtime();
    for (long i = 0; i < count; i++, before = after) {
        p->run(bytes);
        after = MPI_Wtime();
        times[i] = after - before;
    }
}

static void time_batches(const struct pattern *p, int bytes, double *means, long count)
{
    for (int i = 0; i < BATCHES; i++)
        means[i] = batch(p, bytes, count) / (double)count;
}

static int by_value(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;

    return (d > 0) - (d < 0);
}

static void measure(const struct pattern *p, int bytes, double seconds)
{
    double *times, median, to_us = 1e6 / p->share(bytes);
    long count = 1, n;

    /* Also the warm-up; the first run may have to connect. */
    batch(p, bytes, 1);
    while (batch(p, bytes, count) < seconds / BATCHES && count < 1L << 24)
        count *= 2;
    n = p->one_by_one ? count * BATCHES : BATCHES;
    times = malloc((size_t)n * sizeof(*times));
    if (!times) {
        fprintf(stderr, "mpi_perf: no memory for %ld times; choose a shorter -t\n", n);
        MPI_Abort(MPI_COMM_WORLD, 1);
        return;
    }
    if (p->one_by_one)
        time_runs(p, bytes, times, n);
    else
        time_batches(p, bytes, times, count);
    qsort(times, (size_t)n, sizeof(*times), by_value);
    median = (times[n / 2 - 1] + times[n / 2]) / 2 * to_us;
    if (rank == 0) {
        printf("%s,%d,%ld,%.3f,%.3f,%.3f\n", p->name, bytes, count * BATCHES, times[0] * to_us, median,
               p->directions * bytes / median);
        fflush(stdout);
    }
    free(times);
}

static const struct pattern *find(const char *name)
{
    for (const struct pattern *p = patterns; p->name; p++)
        if (strcmp(p->name, name) == 0)
            return p;
    if (rank == 0)
        fprintf(stderr,
                "mpi_perf: no pattern \"%s\"; there are pingpong stream both barrier bcast allreduce "
                "alltoall reduce allgather gather scatter sendrecv exchange\n",
                name);
    MPI_Abort(MPI_COMM_WORLD, 2);
    return NULL;
}

static double ms = 50;
static int end = 4 << 20, chosen[16], chosen_count;

static void read_options(int argc, char **argv)
{
    int option;

    while ((option = getopt(argc, argv, "t:e:l:")) != -1) {
        if (option == 't')
            ms = atof(optarg);
        else if (option == 'e')
            end = atoi(optarg);
        else if (option == 'l' && chosen_count < 16 && atoi(optarg) >= 0 && atoi(optarg) <= 4 << 20)
            chosen[chosen_count++] = atoi(optarg);
        else
            MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (size < 2 || ms <= 0 || optind == argc) {
        fprintf(stderr,
                "usage: mpirun -n RANKS mpi_perf [-t MS] [-e LAST-LENGTH] [-l LENGTH]... PATTERN... (2 "
                "ranks or more)\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

static void measure_all(const struct pattern *p)
{
    if (chosen_count && p->last)
        for (int i = 0; i < chosen_count; i++)
            measure(p, chosen[i], ms / 1e3);
    else
        for (int bytes = p->first; bytes <= p->last && bytes <= end; bytes = bytes ? 2 * bytes : 1)
            measure(p, bytes, ms / 1e3);
}

int main(int argc, char **argv)
{

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    read_options(argc, argv);
    outgoing = calloc((size_t)size, 4 << 20);
    incoming = calloc((size_t)size, 4 << 20);
    if (rank == 0)
        puts("pattern,bytes,iterations,min_us,median_us,MB_s");
    for (int i = optind; i < argc; i++)
        measure_all(find(argv[i]));
    free(outgoing);
    free(incoming);
    MPI_Finalize();
    return 0;
}
