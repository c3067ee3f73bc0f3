/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One-sided communication: windows with every way to synchronise. */
#include "check.h"

#include <string.h>

enum { CELLS = 20000 };

static int *cells;
static MPI_Win window;

static void open_window(int how)
{
    size_t bytes = CELLS * sizeof *cells;
    if (how)
        MPI_Win_allocate((MPI_Aint)bytes, sizeof *cells, MPI_INFO_NULL, MPI_COMM_WORLD, &cells, &window);
    else {
        cells = get(bytes);
        MPI_Win_create(cells, (MPI_Aint)bytes, sizeof *cells, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    }
    for (int i = 0; i < CELLS; i++)
        cells[i] = -1;
    MPI_Win_fence(0, window);
}

static void close_window(int how)
{
    MPI_Win_free(&window);
    if (!how)
        free(cells);
}

static void check_cells(const int *from, int first, int count, int source, const char *what)
{
    int bad = 0;
    for (int i = 0; i < count; i++)
        bad += from[i] != source * CELLS + first + i;
    CHECK(bad == 0, "%s: %d of %d cells differ", what, bad, count);
}

static int *own_values(void)
{
    int *values = get(CELLS * sizeof *values);
    for (int i = 0; i < CELLS; i++)
        values[i] = rank * CELLS + i;
    return values;
}

static void case_fence_put_get(void)
{
    static const int counts[] = {1, 100, 3000, CELLS};
    int *values = own_values(), *fetched = get(CELLS * sizeof *fetched);
    for (int how = 0; how < 2; how++)
        for (int i = 0; i < 4; i++) {
            open_window(how);
            MPI_Put(values, counts[i], MPI_INT, next, 0, counts[i], MPI_INT, window);
            MPI_Win_fence(0, window);
            check_cells(cells, 0, counts[i], before, "put");
            CHECK(counts[i] == CELLS || cells[counts[i]] == -1, "put wrote behind");
            MPI_Win_fence(0, window);
            MPI_Get(fetched, counts[i], MPI_INT, next, 0, counts[i], MPI_INT, window);
            MPI_Win_fence(0, window);
            check_cells(fetched, 0, counts[i], rank, "get back what was put");
            close_window(how);
        }
    free(values);
    free(fetched);
}

/* With gaps on both sides. */
static void case_fence_derived(void)
{
    MPI_Datatype every_second, every_third;
    int *values = own_values(), bad = 0;
    MPI_Type_vector(5000, 1, 2, MPI_INT, &every_second);
    MPI_Type_vector(5000, 1, 3, MPI_INT, &every_third);
    MPI_Type_commit(&every_second);
    MPI_Type_commit(&every_third);
    open_window(0);
    MPI_Put(values, 1, every_second, next, 7, 1, every_third, window);
    MPI_Win_fence(0, window);
    for (int i = 0; i < CELLS; i++) {
        int k = i - 7;
        bool written = k >= 0 && k % 3 == 0 && k / 3 < 5000;
        bad += cells[i] != (written ? before * CELLS + k / 3 * 2 : -1);
    }
    CHECK(bad == 0, "%d cells are wrong", bad);
    close_window(0);
    MPI_Type_free(&every_second);
    MPI_Type_free(&every_third);
    free(values);
}

static void case_accumulate(void)
{
    int *ones = get(CELLS * sizeof *ones), bad = 0;
    for (int i = 0; i < CELLS; i++)
        ones[i] = rank + 1;
    open_window(0);
    for (int to = 0; to < ranks; to++)
        MPI_Accumulate(ones, CELLS, MPI_INT, to, 0, CELLS, MPI_INT, MPI_SUM, window);
    MPI_Win_fence(0, window);
    for (int i = 0; i < CELLS; i++)
        bad += cells[i] != ranks * (ranks + 1) / 2 - 1;
    CHECK(bad == 0, "%d of %d sums are wrong, the first is %d", bad, CELLS, cells[0]);
    MPI_Win_fence(0, window);
    MPI_Accumulate(ones, 10, MPI_INT, next, 0, 10, MPI_INT, MPI_REPLACE, window);
    MPI_Win_fence(0, window);
    CHECK(cells[0] == before + 1 && cells[9] == before + 1, "replaced by %d", cells[0]);
    close_window(0);
    free(ones);
}

/* Each rank takes numbers from one counter: all different, none missing. */
static void case_fetch_and_op(void)
{
    enum { EACH = 200 };
    char *taken = get((size_t)(ranks * EACH)), *all = get((size_t)(ranks * EACH));
    open_window(1);
    if (rank == 0)
        cells[0] = 0;
    MPI_Win_fence(0, window);
    MPI_Win_lock_all(0, window);
    for (int i = 0; i < EACH; i++) {
        int one = 1, got = -1;
        MPI_Fetch_and_op(&one, &got, MPI_INT, 0, 0, MPI_SUM, window);
        MPI_Win_flush(0, window);
        CHECK(got >= 0 && got < ranks * EACH, "got %d", got);
        if (got >= 0 && got < ranks * EACH)
            taken[got]++;
    }
    MPI_Win_unlock_all(window);
    MPI_Allreduce(taken, all, ranks * EACH, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all_are(all, (size_t)(ranks * EACH), 1), "a number was given out twice or never");
    MPI_Win_fence(0, window);
    CHECK(rank != 0 || cells[0] == ranks * EACH, "the counter is %d", cells[0]);
    close_window(1);
    free(taken);
    free(all);
}

/* A lock of our own, by compare and swap, guards a counter that is read and written without atomics. */
static void case_compare_and_swap(void)
{
    enum { EACH = 20 };
    open_window(1);
    if (rank == 0)
        cells[0] = cells[1] = 0;
    MPI_Win_fence(0, window);
    MPI_Win_lock_all(0, window);
    for (int i = 0; i < EACH; i++) {
        int free_value = 0, mine = rank + 1, was = -1, count = 0;
        do {
            MPI_Compare_and_swap(&mine, &free_value, &was, MPI_INT, 0, 0, window);
            MPI_Win_flush(0, window);
        } while (was != 0);
        MPI_Get(&count, 1, MPI_INT, 0, 1, 1, MPI_INT, window);
        MPI_Win_flush(0, window);
        count++;
        MPI_Put(&count, 1, MPI_INT, 0, 1, 1, MPI_INT, window);
        MPI_Win_flush(0, window);
        MPI_Compare_and_swap(&free_value, &mine, &was, MPI_INT, 0, 0, window);
        MPI_Win_flush(0, window);
        CHECK(was == rank + 1, "the lock was held by %d", was - 1);
    }
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_fence(0, window);
    CHECK(rank != 0 || cells[1] == ranks * EACH, "counted %d of %d", cells[1], ranks * EACH);
    close_window(1);
}

/* Post, start, complete, wait: neighbours only. */
static void case_pscw(void)
{
    MPI_Group world, target, origin;
    int *values = own_values();
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &next, &target);
    MPI_Group_incl(world, 1, &before, &origin);
    open_window(0);
    for (int round = 0; round < 20; round++) {
        int count = round % 2 ? CELLS / 2 : 10, first = round * 100;
        MPI_Win_post(origin, 0, window);
        MPI_Win_start(target, 0, window);
        MPI_Put(values + first, count, MPI_INT, next, first, count, MPI_INT, window);
        MPI_Win_complete(window);
        MPI_Win_wait(window);
        check_cells(cells + first, first, count, before, "put");
    }
    MPI_Win_fence(0, window);
    close_window(0);
    MPI_Group_free(&world);
    MPI_Group_free(&target);
    MPI_Group_free(&origin);
    free(values);
}

/* Exclusive locks: read, change, write must not mix. */
static void case_lock(void)
{
    enum { EACH = 30 };
    open_window(0);
    if (rank == 0)
        cells[5] = 0;
    MPI_Win_fence(0, window);
    for (int i = 0; i < EACH; i++) {
        int count = -1;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        MPI_Get(&count, 1, MPI_INT, 0, 5, 1, MPI_INT, window);
        MPI_Win_flush(0, window);
        count++;
        MPI_Put(&count, 1, MPI_INT, 0, 5, 1, MPI_INT, window);
        MPI_Win_unlock(0, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int last = -1;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Get(&last, 1, MPI_INT, 0, 5, 1, MPI_INT, window);
    MPI_Win_unlock(0, window);
    CHECK(last == ranks * EACH, "counted %d of %d", last, ranks * EACH);
    MPI_Barrier(MPI_COMM_WORLD);
    close_window(0);
}

/* Requests of their own, flushes, and a shared lock of all. */
static void case_requests_and_flush(void)
{
    int *values = own_values(), *fetched = get(CELLS * sizeof *fetched), sum = 5, was = -7;
    MPI_Request request;
    open_window(0);
    MPI_Win_lock_all(0, window);
    MPI_Rput(values, CELLS / 2, MPI_INT, next, 0, CELLS / 2, MPI_INT, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Put(values + CELLS / 2, CELLS / 2, MPI_INT, next, CELLS / 2, CELLS / 2, MPI_INT, window);
    MPI_Win_flush_local(next, window);
    MPI_Win_flush_all(window);
    MPI_Rget(fetched, CELLS, MPI_INT, next, 0, CELLS, MPI_INT, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_cells(fetched, 0, CELLS, rank, "what was put");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Get_accumulate(&sum, 1, MPI_INT, &was, 1, MPI_INT, next, 3, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_flush(next, window);
    CHECK(was == rank * CELLS + 3, "there was %d", was);
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_fence(0, window);
    CHECK(cells[3] == before * CELLS + 8, "the sum is %d", cells[3]);
    close_window(0);
    free(values);
    free(fetched);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"fence_put_get", case_fence_put_get, NULL}, {"fence_derived", case_fence_derived, NULL},
        {"accumulate", case_accumulate, NULL},       {"fetch_and_op", case_fetch_and_op, NULL},
        {"compare_and_swap", case_compare_and_swap, NULL}, {"pscw", case_pscw, NULL},
        {"lock", case_lock, NULL},                   {"requests_and_flush", case_requests_and_flush, NULL},
    };
    return RUN_CASES(argc, argv, MPI_THREAD_SINGLE, cases);
}
