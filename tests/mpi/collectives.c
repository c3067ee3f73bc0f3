/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* All collectives that move data, blocking and nonblocking, with every root, in place too. Sums are in reductions.c. */
#include "check.h"

#include <string.h>
#include <time.h>

static bool nonblocking;

/* Ibcast is Bcast and a wait, with a test in between now and then. */
#define COLL(blocking, starting, ...)                                                                        \
    do {                                                                                                     \
        if (nonblocking) {                                                                                   \
            MPI_Request request_;                                                                            \
            starting(__VA_ARGS__, &request_);                                                                \
            finish(&request_);                                                                               \
        } else                                                                                               \
            blocking(__VA_ARGS__);                                                                           \
    } while (0)

static void finish(MPI_Request *request)
{
    int complete = 0;
    MPI_Test(request, &complete, MPI_STATUS_IGNORE);
    if (!complete)
        MPI_Wait(request, MPI_STATUS_IGNORE);
}

/* Ints that one rank gives to another, or to all. */
static const int counts[] = {0, 1, 17, 1000, 9000, 70000};
enum { COUNTS = sizeof counts / sizeof counts[0] };

static int value(int from, int to, int i) { return from * 1000003 + to * 1009 + i * 3; }

static void put(int *buffer, int from, int to, int count)
{
    for (int i = 0; i < count; i++)
        buffer[i] = value(from, to, i);
}

static void check_part(const int *buffer, int from, int to, int count, const char *what)
{
    int bad = 0;
    for (int i = 0; i < count; i++)
        bad += buffer[i] != value(from, to, i);
    CHECK(bad == 0, "%s, %d ints from rank %d: %d differ", what, count, from, bad);
}

static int *ints(int count) { return get(((size_t)count + 1) * sizeof(int)); }

static void both(void (*one)(int count))
{
    for (int i = 0; i < 2; i++) {
        nonblocking = i;
        for (int k = 0; k < COUNTS; k++)
            if (counts[k] * ranks < 300000)
                one(counts[k]);
    }
}

static void bcast_one(int count)
{
    int *data = ints(count);
    for (int root = 0; root < ranks; root++) {
        if (rank == root)
            put(data, root, 0, count);
        else
            memset(data, 0, (size_t)count * sizeof *data);
        COLL(MPI_Bcast, MPI_Ibcast, data, count, MPI_INT, root, MPI_COMM_WORLD);
        check_part(data, root, 0, count, "bcast");
    }
    free(data);
}

static void gather_scatter_one(int count)
{
    int *mine = ints(count), *all = ints(count * ranks), *back = ints(count);
    for (int root = 0; root < ranks; root++) {
        put(mine, rank, root, count);
        memset(all, 0, (size_t)(count * ranks) * sizeof *all);
        if (rank == root)
            put(all + root * count, root, root, count);
        COLL(MPI_Gather, MPI_Igather, rank == root ? MPI_IN_PLACE : mine, count, MPI_INT, all, count, MPI_INT, root,
             MPI_COMM_WORLD);
        for (int from = 0; from < ranks && rank == root; from++)
            check_part(all + from * count, from, root, count, "gather");
        COLL(MPI_Scatter, MPI_Iscatter, all, count, MPI_INT, back, count, MPI_INT, root, MPI_COMM_WORLD);
        check_part(back, rank, root, count, "scatter of what was gathered");
    }
    free(mine);
    free(all);
    free(back);
}

/* Rank r has count + r ints; parts lie in reverse with a gap of one. */
struct parts {
    int *counts, *places, room;
};

static struct parts uneven(int count)
{
    struct parts it = {ints(ranks), ints(ranks), 0};
    for (int r = ranks - 1; r >= 0; r--) {
        it.counts[r] = count + r;
        it.places[r] = it.room;
        it.room += it.counts[r] + 1;
    }
    return it;
}

static void drop(struct parts *it)
{
    free(it->counts);
    free(it->places);
}

static void check_parts(const struct parts *it, const int *all, int to, const char *what)
{
    for (int from = 0; from < ranks; from++) {
        check_part(all + it->places[from], from, to, it->counts[from], what);
        CHECK(all[it->places[from] + it->counts[from]] == -5, "%s: the gap behind rank %d was written to", what, from);
    }
}

static int *empty(const struct parts *it)
{
    int *all = ints(it->room);
    for (int i = 0; i < it->room; i++)
        all[i] = -5;
    return all;
}

static void vector_forms_one(int count)
{
    struct parts it = uneven(count);
    int *mine = ints(count + rank), *back = ints(count + rank);
    for (int root = 0; root < ranks; root++) {
        int *all = empty(&it);
        put(mine, rank, root, count + rank);
        COLL(MPI_Gatherv, MPI_Igatherv, mine, count + rank, MPI_INT, all, it.counts, it.places, MPI_INT, root,
             MPI_COMM_WORLD);
        if (rank == root)
            check_parts(&it, all, root, "gatherv");
        COLL(MPI_Scatterv, MPI_Iscatterv, all, it.counts, it.places, MPI_INT, back, count + rank, MPI_INT, root,
             MPI_COMM_WORLD);
        check_part(back, rank, root, count + rank, "scatterv");
        free(all);
    }
    int *all = empty(&it);
    put(mine, rank, 77, count + rank);
    COLL(MPI_Allgatherv, MPI_Iallgatherv, mine, count + rank, MPI_INT, all, it.counts, it.places, MPI_INT, MPI_COMM_WORLD);
    check_parts(&it, all, 77, "allgatherv");
    free(all);
    free(mine);
    free(back);
    drop(&it);
}

static void allgather_one(int count)
{
    int *mine = ints(count), *all = ints(count * ranks);
    put(mine, rank, 3, count);
    COLL(MPI_Allgather, MPI_Iallgather, mine, count, MPI_INT, all, count, MPI_INT, MPI_COMM_WORLD);
    for (int from = 0; from < ranks; from++)
        check_part(all + from * count, from, 3, count, "allgather");
    memset(all, 0, (size_t)(count * ranks) * sizeof *all);
    put(all + rank * count, rank, 4, count);
    COLL(MPI_Allgather, MPI_Iallgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, count, MPI_INT, MPI_COMM_WORLD);
    for (int from = 0; from < ranks; from++)
        check_part(all + from * count, from, 4, count, "allgather in place");
    free(mine);
    free(all);
}

static void alltoall_one(int count)
{
    int *out = ints(count * ranks), *in = ints(count * ranks);
    for (int to = 0; to < ranks; to++)
        put(out + to * count, rank, to, count);
    COLL(MPI_Alltoall, MPI_Ialltoall, out, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD);
    for (int from = 0; from < ranks; from++)
        check_part(in + from * count, from, rank, count, "alltoall");
    COLL(MPI_Alltoall, MPI_Ialltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, count, MPI_INT, MPI_COMM_WORLD);
    for (int from = 0; from < ranks; from++)
        check_part(out + from * count, from, rank, count, "alltoall in place");
    free(out);
    free(in);
}

/* From rank a to b go count + a + 2b ints; some pairs have none. */
static int pair_count(int count, int from, int to) { return (from + to) % 3 == 2 ? 0 : count + from + 2 * to; }

static void alltoallv_one(int count)
{
    int *n_out = ints(ranks), *at_out = ints(ranks), *n_in = ints(ranks), *at_in = ints(ranks), room_out = 0, room_in = 0;
    MPI_Datatype *types = get((size_t)ranks * sizeof(MPI_Datatype));
    for (int r = 0; r < ranks; r++) {
        n_out[r] = pair_count(count, rank, r);
        n_in[r] = pair_count(count, r, rank);
        at_out[r] = room_out;
        at_in[r] = room_in;
        room_out += n_out[r] + 2;
        room_in += n_in[r] + 1;
        types[r] = MPI_INT;
    }
    int *out = ints(room_out), *in = ints(room_in);
    for (int r = 0; r < ranks; r++)
        put(out + at_out[r], rank, r, n_out[r]);
    COLL(MPI_Alltoallv, MPI_Ialltoallv, out, n_out, at_out, MPI_INT, in, n_in, at_in, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++)
        check_part(in + at_in[r], r, rank, n_in[r], "alltoallv");
    memset(in, 0, (size_t)room_in * sizeof *in);
    for (int r = 0; r < ranks; r++) { /* alltoallw counts in bytes */
        at_out[r] *= (int)sizeof(int);
        at_in[r] *= (int)sizeof(int);
    }
    COLL(MPI_Alltoallw, MPI_Ialltoallw, out, n_out, at_out, types, in, n_in, at_in, types, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++)
        check_part(in + at_in[r] / (int)sizeof(int), r, rank, n_in[r], "alltoallw");
    free(n_out), free(at_out), free(n_in), free(at_in), free(types), free(out), free(in);
}

static void case_bcast(void) { both(bcast_one); }
static void case_gather_scatter(void) { both(gather_scatter_one); }
static void case_vector_forms(void) { both(vector_forms_one); }
static void case_allgather(void) { both(allgather_one); }
static void case_alltoall(void) { both(alltoall_one); }
static void case_alltoallv(void) { both(alltoallv_one); }

/* One clock for all: the hosts of this suite are one machine. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t); /* tidy-allow(time): tells what came first */
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Nobody leaves a barrier before the last one has come. */
static void case_barrier(void)
{
    for (int late = 0; late < ranks; late++)
        for (int i = 0; i < 2; i++) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Barrier(MPI_COMM_WORLD);
            for (double until = now() + 0.01; rank == late && now() < until;)
                ;
            double entered = now(), last, left;
            if (i)
                MPI_Ibarrier(MPI_COMM_WORLD, &request);
            else
                MPI_Barrier(MPI_COMM_WORLD);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            left = now();
            MPI_Allreduce(&entered, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
            CHECK(left >= last, "left %g s before the last one came; rank %d was late", last - left, late);
        }
}

/* Many different ones at once, completed in another order than started. */
static void case_many_at_once(void)
{
    enum { EACH = 12, COUNT = 3000 };
    MPI_Request requests[3 * EACH];
    int *bcast[EACH], *out[EACH], *in[EACH], sums[EACH], ones[EACH];
    for (int i = 0; i < EACH; i++) {
        bcast[i] = ints(COUNT);
        out[i] = ints(100 * ranks);
        in[i] = ints(100 * ranks);
        ones[i] = i + 1;
        if (rank == i % ranks)
            put(bcast[i], rank, i, COUNT);
        for (int to = 0; to < ranks; to++)
            put(out[i] + to * 100, rank, to * 100 + i, 100);
        MPI_Ibcast(bcast[i], COUNT, MPI_INT, i % ranks, MPI_COMM_WORLD, &requests[i]);
        MPI_Ialltoall(out[i], 100, MPI_INT, in[i], 100, MPI_INT, MPI_COMM_WORLD, &requests[EACH + i]);
        MPI_Iallreduce(&ones[i], &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2 * EACH + i]);
    }
    for (int i = 3 * EACH - 1; i >= 0; i--)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    for (int i = 0; i < EACH; i++) {
        check_part(bcast[i], i % ranks, i, COUNT, "ibcast");
        for (int from = 0; from < ranks; from++)
            check_part(in[i] + from * 100, from, rank * 100 + i, 100, "ialltoall");
        CHECK(sums[i] == ranks * (i + 1), "sum %d is %d", i, sums[i]);
        free(bcast[i]), free(out[i]), free(in[i]);
    }
}

/* Every built-in type through collectives that copy it: all of its bytes arrive. */
static void case_every_type(void)
{
    const MPI_Datatype types[] = {
        MPI_CHAR, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_BYTE, MPI_PACKED, MPI_WCHAR, MPI_SHORT, MPI_UNSIGNED_SHORT,
        MPI_INT, MPI_UNSIGNED, MPI_LONG, MPI_UNSIGNED_LONG, MPI_LONG_LONG, MPI_UNSIGNED_LONG_LONG, MPI_FLOAT, MPI_DOUBLE,
        MPI_LONG_DOUBLE, MPI_C_BOOL, MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T, MPI_UINT8_T, MPI_UINT16_T,
        MPI_UINT32_T, MPI_UINT64_T, MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX, MPI_AINT,
        MPI_OFFSET, MPI_COUNT, MPI_2INT, MPI_FLOAT_INT, MPI_CHARACTER, MPI_LOGICAL, MPI_INTEGER, MPI_REAL,
        MPI_DOUBLE_PRECISION, MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_2INTEGER, MPI_2REAL, MPI_2DOUBLE_PRECISION};
    enum { COUNT = 1500 };
    for (size_t t = 0; t < 2 * sizeof types / sizeof types[0]; t++) {
        MPI_Datatype type = types[t / 2];
        int size;
        nonblocking = t % 2;
        MPI_Type_size(type, &size);
        size_t bytes = (size_t)size * COUNT;
        int root = (int)t % ranks;
        unsigned char *out = get(bytes * (size_t)ranks), *in = get(bytes * (size_t)ranks);
        fill(out, bytes * (size_t)ranks, 7); /* the same everywhere: part r of it is what r gives */
        COLL(MPI_Allgather, MPI_Iallgather, out + (size_t)rank * bytes, COUNT, type, in, COUNT, type, MPI_COMM_WORLD);
        CHECK(same(in, bytes * (size_t)ranks, 7), "allgather of type %zu", t / 2);
        memset(in, 0, bytes * (size_t)ranks);
        COLL(MPI_Gather, MPI_Igather, out + (size_t)rank * bytes, COUNT, type, in, COUNT, type, root, MPI_COMM_WORLD);
        CHECK(rank != root || same(in, bytes * (size_t)ranks, 7), "gather of type %zu", t / 2);
        COLL(MPI_Bcast, MPI_Ibcast, in, COUNT * ranks, type, root, MPI_COMM_WORLD);
        CHECK(same(in, bytes * (size_t)ranks, 7), "bcast of type %zu", t / 2);
        memset(in, 0, bytes * (size_t)ranks);
        COLL(MPI_Scatter, MPI_Iscatter, out, COUNT, type, in, COUNT, type, root, MPI_COMM_WORLD);
        CHECK(memcmp(in, out + (size_t)rank * bytes, bytes) == 0, "scatter of type %zu", t / 2);
        COLL(MPI_Alltoall, MPI_Ialltoall, out, COUNT, type, in, COUNT, type, MPI_COMM_WORLD);
        for (int from = 0; from < ranks; from++)
            CHECK(memcmp(in + (size_t)from * bytes, out + (size_t)rank * bytes, bytes) == 0, "alltoall of type %zu", t / 2);
        free(out);
        free(in);
    }
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"barrier", case_barrier, NULL},
        {"bcast", case_bcast, NULL},
        {"gather_scatter", case_gather_scatter, NULL},
        {"vector_forms", case_vector_forms, NULL},
        {"allgather", case_allgather, NULL},
        {"alltoall", case_alltoall, NULL},
        {"alltoallv_w", case_alltoallv, NULL},
        {"many_at_once", case_many_at_once, NULL},
        {"every_type", case_every_type, NULL},
    };
    return RUN_CASES(argc, argv, MPI_THREAD_SINGLE, cases);
}
