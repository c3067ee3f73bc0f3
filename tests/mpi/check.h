/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Parts that the programs of the MPI suite share: cases, checks, patterns. A case is a function that all ranks of
 * MPI_COMM_WORLD call; rank 0 prints one line per case, ranks print what was wrong.
 */
#ifndef EMX_TESTS_MPI_CHECK_H
#define EMX_TESTS_MPI_CHECK_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct test_case {
    const char *name;
    void (*run)(void);
    const char *skip; /* why it cannot run here, or NULL */
};

extern int rank, ranks;  /* of MPI_COMM_WORLD */
extern int next, before; /* neighbours in a ring of all ranks */

/* Initialises MPI with that thread level, runs the cases named by the arguments (all without arguments), and
 * finalises. Returns main's exit status: 0 also when cases failed, the lines count. */
int run_cases(int argc, char **argv, int threads, const struct test_case *cases, size_t count);
#define RUN_CASES(argc, argv, threads, cases)                                                                \
    run_cases(argc, argv, threads, cases, sizeof(cases) / sizeof(cases)[0])

/* Any thread may check. The text after the condition is printf's. */
void check(bool good, const char *file, int line, const char *what, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
#define CHECK(condition, ...) check(condition, __FILE__, __LINE__, #condition, __VA_ARGS__)

/* A pattern that depends on seed and position; fill and same agree for any length. */
void fill(void *buffer, size_t bytes, uint64_t seed);
bool same(const void *buffer, size_t bytes, uint64_t seed);
bool all_are(const void *buffer, size_t bytes, unsigned char value);

/* Memory or the end of the job. */
void *get(size_t bytes);

/* More, and longer, under --full. */
bool full_tier(void);

/* A source's and a tag's status, and its length in MPI_BYTE. */
void check_status(const MPI_Status *status, int source, int tag, int bytes, const char *file, int line);
#define CHECK_STATUS(status, source, tag, bytes) check_status(status, source, tag, bytes, __FILE__, __LINE__)

/* Lengths around every change of protocol that a transport may have. */
extern const int lengths[];
extern const size_t length_count;
#define LONGEST 1048577

#endif
