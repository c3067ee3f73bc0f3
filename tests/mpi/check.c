/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The runner of the MPI suite's cases, and its checks. */
#include "check.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

int rank, ranks, next, before;
static atomic_int wrong; /* checks of this case that failed in this rank */

enum { SHOWN = 5 };

const int lengths[] = {0,     1,     7,     32,    33,    128,   129,    1000,    4096,   4097,
                       8192,  16385, 32768, 32769, 65536, 65537, 100003, 262144,  524289, LONGEST};
const size_t length_count = sizeof lengths / sizeof lengths[0];

void check(bool good, const char *file, int line, const char *what, const char *format, ...)
{
    if (good || atomic_fetch_add(&wrong, 1) >= SHOWN)
        return;
    char text[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *base = strrchr(file, '/');
    printf("    rank %d: %s:%d: %s: %s\n", rank, base ? base + 1 : file, line, what, text);
    fflush(stdout);
}

static uint64_t word(uint64_t seed, uint64_t number)
{
    uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15U ^ number * 0xbf58476d1ce4e5b9U;
    x ^= x >> 29;
    return x * 0x94d049bb133111ebU;
}

void fill(void *buffer, size_t bytes, uint64_t seed)
{
    unsigned char *to = buffer;
    for (size_t at = 0; at < bytes; at += 8) {
        uint64_t value = word(seed, at / 8);
        memcpy(to + at, &value, bytes - at < 8 ? bytes - at : 8);
    }
}

bool same(const void *buffer, size_t bytes, uint64_t seed)
{
    const unsigned char *from = buffer;
    for (size_t at = 0; at < bytes; at += 8) {
        uint64_t value = word(seed, at / 8);
        if (memcmp(from + at, &value, bytes - at < 8 ? bytes - at : 8) != 0)
            return false;
    }
    return true;
}

bool all_are(const void *buffer, size_t bytes, unsigned char value)
{
    const unsigned char *from = buffer;
    return bytes == 0 || (from[0] == value && memcmp(from, from + 1, bytes - 1) == 0);
}

void *get(size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);
    if (!memory) {
        printf("    rank %d: no memory for %zu bytes\n", rank, bytes);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    return memory;
}

bool full_tier(void)
{
    const char *full = getenv("EMX_FULL");
    return full && strcmp(full, "1") == 0;
}

void check_status(const MPI_Status *status, int source, int tag, int bytes, const char *file, int line)
{
    int count = -1;
    MPI_Get_count(status, MPI_BYTE, &count);
    check(status->MPI_SOURCE == source && status->MPI_TAG == tag && count == bytes, file, line, "status",
          "source %d, tag %d, %d bytes instead of %d, %d, %d", status->MPI_SOURCE, status->MPI_TAG,
          count, source, tag, bytes);
}

static bool chosen(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return argc < 2;
}

/* The name goes out before the case, so that whoever reads the output knows where a job hangs or dies. */
static void run_case(const char *program, const struct test_case *one)
{
    int skip = one->skip != NULL;
    MPI_Bcast(&skip, 1, MPI_INT, 0, MPI_COMM_WORLD); /* ranks may see it differently, as memory comes and goes */
    if (skip) {
        if (rank == 0)
            printf("skip %s.%s: %s\n", program, one->name, one->skip);
        return;
    }
    if (rank == 0)
        printf("case %s.%s\n", program, one->name);
    fflush(stdout);
    atomic_store(&wrong, 0);
    double start = MPI_Wtime();
    MPI_Barrier(MPI_COMM_WORLD);
    one->run();
    int mine = atomic_load(&wrong), all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s %s.%s (%.1f s)\n", all ? "FAIL" : "ok  ", program, one->name, MPI_Wtime() - start);
    fflush(stdout);
}

int run_cases(int argc, char **argv, int threads, const struct test_case *cases, size_t count)
{
    int given = 0;
    MPI_Init_thread(&argc, &argv, threads, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    next = (rank + 1) % ranks;
    before = (rank + ranks - 1) % ranks;
    const char *slash = strrchr(argv[0], '/');
    const char *program = slash ? slash + 1 : argv[0];
    program += strncmp(program, "mpi_", 4) == 0 ? 4 : 0;
    if (given < threads) {
        if (rank == 0)
            printf("FAIL %s: MPI grants thread level %d, not %d\n", program, given, threads);
    } else {
        for (size_t i = 0; i < count; i++)
            if (chosen(argc, argv, cases[i].name))
                run_case(program, &cases[i]);
    }
    MPI_Finalize();
    if (rank == 0)
        printf("done %s\n", program);
    return 0;
}
