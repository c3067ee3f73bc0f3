/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Every reduction with every operation on every built-in type where MPI defines it, blocking and not. */
#include "check.h"

#include <complex.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 300 };

/* What a type can do. */
enum { ORDER = 1, LOGIC = 2, BITS = 4, ARITHMETIC = 8 };
#define INTEGER (ORDER | LOGIC | BITS | ARITHMETIC)
#define FLOATING (ORDER | ARITHMETIC)

/* Numbers that all types can hold, also as products of 16 of them: name, MPI type, C type, abilities. */
#define TYPES(X)                                                                                             \
    X(signed_char, MPI_SIGNED_CHAR, signed char, INTEGER)                                                    \
    X(unsigned_char, MPI_UNSIGNED_CHAR, unsigned char, INTEGER)                                              \
    X(short, MPI_SHORT, short, INTEGER)                                                                      \
    X(unsigned_short, MPI_UNSIGNED_SHORT, unsigned short, INTEGER)                                           \
    X(int, MPI_INT, int, INTEGER)                                                                            \
    X(unsigned, MPI_UNSIGNED, unsigned, INTEGER)                                                             \
    X(long, MPI_LONG, long, INTEGER)                                                                         \
    X(unsigned_long, MPI_UNSIGNED_LONG, unsigned long, INTEGER)                                              \
    X(long_long, MPI_LONG_LONG, long long, INTEGER)                                                          \
    X(unsigned_long_long, MPI_UNSIGNED_LONG_LONG, unsigned long long, INTEGER)                               \
    X(int8_t, MPI_INT8_T, int8_t, INTEGER)                                                                   \
    X(int16_t, MPI_INT16_T, int16_t, INTEGER)                                                                \
    X(int32_t, MPI_INT32_T, int32_t, INTEGER)                                                                \
    X(int64_t, MPI_INT64_T, int64_t, INTEGER)                                                                \
    X(uint8_t, MPI_UINT8_T, uint8_t, INTEGER)                                                                \
    X(uint16_t, MPI_UINT16_T, uint16_t, INTEGER)                                                             \
    X(uint32_t, MPI_UINT32_T, uint32_t, INTEGER)                                                             \
    X(uint64_t, MPI_UINT64_T, uint64_t, INTEGER)                                                             \
    X(aint, MPI_AINT, MPI_Aint, ORDER | BITS | ARITHMETIC)                                                   \
    X(offset, MPI_OFFSET, MPI_Offset, ORDER | BITS | ARITHMETIC)                                             \
    X(count, MPI_COUNT, MPI_Count, ORDER | BITS | ARITHMETIC)                                                \
    X(integer, MPI_INTEGER, MPI_Fint, ORDER | BITS | ARITHMETIC)                                             \
    X(float, MPI_FLOAT, float, FLOATING)                                                                     \
    X(double, MPI_DOUBLE, double, FLOATING)                                                                  \
    X(long_double, MPI_LONG_DOUBLE, long double, FLOATING)                                                   \
    X(real, MPI_REAL, float, FLOATING)                                                                       \
    X(double_precision, MPI_DOUBLE_PRECISION, double, FLOATING)                                              \
    X(float_complex, MPI_C_FLOAT_COMPLEX, float complex, ARITHMETIC)                                         \
    X(double_complex, MPI_C_DOUBLE_COMPLEX, double complex, ARITHMETIC)                                      \
    X(long_double_complex, MPI_C_LONG_DOUBLE_COMPLEX, long double complex, ARITHMETIC)                       \
    X(complex, MPI_COMPLEX, float complex, ARITHMETIC)                                                       \
    X(double_complex_precision, MPI_DOUBLE_COMPLEX, double complex, ARITHMETIC)                              \
    X(c_bool, MPI_C_BOOL, _Bool, LOGIC)                                                                      \
    X(logical, MPI_LOGICAL, MPI_Fint, LOGIC)                                                                 \
    X(byte, MPI_BYTE, unsigned char, BITS)

struct type {
    const char *name;
    MPI_Datatype mpi;
    size_t size;
    int abilities;
    void (*put)(void *, int, int);
    int (*get)(const void *, int);
};

#define FUNCTIONS(name, mpi, type, abilities)                                                                \
    static void put_##name(void *to, int i, int value) { ((type *)to)[i] = (type)value; }                    \
    static int get_##name(const void *from, int i) { return (int)((const type *)from)[i]; }
TYPES(FUNCTIONS)

struct operation {
    const char *name;
    MPI_Op mpi;
    int needs;
};

enum { SUM, PROD, MAX, MIN, LAND, LOR, LXOR, BAND, BOR, BXOR, OPERATIONS };

static int combine(int operation, int a, int b)
{
    switch (operation) {
    case SUM: return a + b;
    case PROD: return a * b;
    case MAX: return a > b ? a : b;
    case MIN: return a < b ? a : b;
    case LAND: return a && b;
    case LOR: return a || b;
    case LXOR: return !a != !b;
    case BAND: return a & b;
    case BOR: return a | b;
    default: return a ^ b;
    }
}

/* Element i of that rank. Products stay below 128 with 16 ranks, as sums do. */
static int operand(int operation, int abilities, int i, int of)
{
    if (operation == PROD)
        return (i + of) % 3 == 0 && of < 12 ? 2 : 1;
    if (abilities == LOGIC || (operation >= LAND && operation <= LXOR))
        return (i * 7 + of * 3) % 4 != 0;
    return (i * 5 + of * 11) % 8;
}

/* Over ranks first to last. */
static int expected(int operation, int abilities, int i, int first, int last)
{
    int value = operand(operation, abilities, i, first);
    for (int of = first + 1; of <= last; of++)
        value = combine(operation, value, operand(operation, abilities, i, of));
    return value;
}

struct trial {
    const struct type *type;
    int operation;
    MPI_Op op;
    unsigned char *out, *in; /* of ranks * COUNT elements */
    bool nonblocking;
};

#define COLL(trial, blocking, starting, ...)                                                                 \
    do {                                                                                                     \
        MPI_Request request_ = MPI_REQUEST_NULL;                                                             \
        memset((trial)->in, 0, (size_t)(COUNT * ranks) * (trial)->type->size);                               \
        if ((trial)->nonblocking)                                                                            \
            starting(__VA_ARGS__, &request_);                                                                \
        else                                                                                                 \
            blocking(__VA_ARGS__);                                                                           \
        MPI_Wait(&request_, MPI_STATUS_IGNORE);                                                              \
    } while (0)

/* The result holds elements from `offset` on. */
static void check_result(const struct trial *t, int offset, int count, int first, int last, const char *what)
{
    int bad = 0, at = -1;
    for (int i = 0; i < count; i++) {
        int wanted = expected(t->operation, t->type->abilities, offset + i, first, last);
        if (t->type->get(t->in, i) != wanted) {
            at = bad++ ? at : i;
        }
    }
    CHECK(bad == 0, "%s%s of %s, operation %d: %d of %d wrong, element %d is %d", t->nonblocking ? "i" : "", what,
          t->type->name, t->operation, bad, count, at, t->type->get(t->in, at < 0 ? 0 : at));
}

static void allreduce(const struct trial *t)
{
    COLL(t, MPI_Allreduce, MPI_Iallreduce, t->out, t->in, COUNT, t->type->mpi, t->op, MPI_COMM_WORLD);
    check_result(t, 0, COUNT, 0, ranks - 1, "allreduce");
}

static void reduce(const struct trial *t)
{
    int root = t->operation % ranks;
    COLL(t, MPI_Reduce, MPI_Ireduce, t->out, t->in, COUNT, t->type->mpi, t->op, root, MPI_COMM_WORLD);
    if (rank == root)
        check_result(t, 0, COUNT, 0, ranks - 1, "reduce");
}

static void scans(const struct trial *t)
{
    COLL(t, MPI_Scan, MPI_Iscan, t->out, t->in, COUNT, t->type->mpi, t->op, MPI_COMM_WORLD);
    check_result(t, 0, COUNT, 0, rank, "scan");
    COLL(t, MPI_Exscan, MPI_Iexscan, t->out, t->in, COUNT, t->type->mpi, t->op, MPI_COMM_WORLD);
    if (rank > 0)
        check_result(t, 0, COUNT, 0, rank - 1, "exscan");
}

static void reduce_scatters(const struct trial *t)
{
    int part = COUNT / ranks, *parts = get((size_t)ranks * sizeof *parts), offset = 0;
    COLL(t, MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, t->out, t->in, part, t->type->mpi, t->op,
         MPI_COMM_WORLD);
    check_result(t, rank * part, part, 0, ranks - 1, "reduce_scatter_block");
    for (int r = 0; r < ranks; r++) {
        parts[r] = part / 2 + (r % 2 ? 3 : 0);
        offset += r < rank ? parts[r] : 0;
    }
    COLL(t, MPI_Reduce_scatter, MPI_Ireduce_scatter, t->out, t->in, parts, t->type->mpi, t->op, MPI_COMM_WORLD);
    check_result(t, offset, parts[rank], 0, ranks - 1, "reduce_scatter");
    free(parts);
}

/* The short tier takes one of the ways for each pair of type and operation, in turn. */
static void reduce_all_ways(const struct trial *t, int turn)
{
    static void (*const ways[])(const struct trial *) = {allreduce, reduce, scans, reduce_scatters};
    for (int i = 0; i < 4; i++)
        if (full_tier() || turn % 4 == i)
            ways[i](t);
}

#define ROW(name, mpi, type, abilities) {#name, mpi, sizeof(type), abilities, put_##name, get_##name},

static void every_type(bool nonblocking)
{
    const struct type types[] = {TYPES(ROW)};
    const struct operation operations[OPERATIONS] = {
        {"sum", MPI_SUM, ARITHMETIC}, {"prod", MPI_PROD, ARITHMETIC}, {"max", MPI_MAX, ORDER}, {"min", MPI_MIN, ORDER},
        {"land", MPI_LAND, LOGIC},    {"lor", MPI_LOR, LOGIC},        {"lxor", MPI_LXOR, LOGIC},
        {"band", MPI_BAND, BITS},     {"bor", MPI_BOR, BITS},         {"bxor", MPI_BXOR, BITS},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        size_t bytes = (size_t)(COUNT * ranks) * types[i].size;
        struct trial t = {&types[i], 0, MPI_OP_NULL, get(bytes), get(bytes), nonblocking};
        for (int o = 0; o < OPERATIONS; o++) {
            if (!(types[i].abilities & operations[o].needs))
                continue;
            t.operation = o;
            t.op = operations[o].mpi;
            for (int k = 0; k < COUNT; k++)
                types[i].put(t.out, k, operand(o, types[i].abilities, k, rank));
            reduce_all_ways(&t, (int)i + o);
        }
        free(t.out);
        free(t.in);
    }
}

static void case_every_type_blocking(void) { every_type(false); }
static void case_every_type_nonblocking(void) { every_type(true); }

/* Pairs: the extreme value, and the lowest index that has it. */
#define PAIR_CASE(name, mpi, type)                                                                           \
    static void pairs_##name(void)                                                                           \
    {                                                                                                        \
        struct pair {                                                                                        \
            type value;                                                                                      \
            int index;                                                                                       \
        } out[COUNT], most[COUNT], least[COUNT];                                                             \
        for (int i = 0; i < COUNT; i++)                                                                      \
            out[i] = (struct pair){(type)((i + rank * 5) % 7), rank};                                        \
        MPI_Allreduce(out, most, COUNT, mpi, MPI_MAXLOC, MPI_COMM_WORLD);                                    \
        MPI_Allreduce(out, least, COUNT, mpi, MPI_MINLOC, MPI_COMM_WORLD);                                   \
        for (int i = 0; i < COUNT; i++) {                                                                    \
            int high = 0, low = 0;                                                                           \
            for (int r = 1; r < ranks; r++) {                                                                \
                high = (i + r * 5) % 7 > (i + high * 5) % 7 ? r : high;                                      \
                low = (i + r * 5) % 7 < (i + low * 5) % 7 ? r : low;                                         \
            }                                                                                                \
            CHECK(most[i].index == high && least[i].index == low && most[i].value == (i + high * 5) % 7 &&   \
                      least[i].value == (i + low * 5) % 7,                                                   \
                  #mpi " element %d: ranks %d and %d instead of %d and %d", i, most[i].index,                \
                  least[i].index, high, low);                                                                \
        }                                                                                                    \
    }
PAIR_CASE(int, MPI_2INT, int)
PAIR_CASE(short, MPI_SHORT_INT, short)
PAIR_CASE(long, MPI_LONG_INT, long)
PAIR_CASE(float, MPI_FLOAT_INT, float)
PAIR_CASE(double, MPI_DOUBLE_INT, double)
PAIR_CASE(long_double, MPI_LONG_DOUBLE_INT, long double)

static void case_pairs(void)
{
    pairs_int();
    pairs_short();
    pairs_long();
    pairs_float();
    pairs_double();
    pairs_long_double();
}

/* Operation that does not commute: 2 by 2 matrices modulo a prime. Only rank order gives the result. */
enum { PRIME = 9973 };

static void multiply(void *left, void *both, int *count, MPI_Datatype *type)
{
    (void)type;
    int(*a)[4] = left, (*b)[4] = both;
    for (int i = 0; i < *count; i++) {
        int c[4] = {(a[i][0] * b[i][0] + a[i][1] * b[i][2]) % PRIME, (a[i][0] * b[i][1] + a[i][1] * b[i][3]) % PRIME,
                    (a[i][2] * b[i][0] + a[i][3] * b[i][2]) % PRIME, (a[i][2] * b[i][1] + a[i][3] * b[i][3]) % PRIME};
        memcpy(b[i], c, sizeof c);
    }
}

static void matrix(int *m, int i, int of)
{
    for (int k = 0; k < 4; k++)
        m[k] = (i * 31 + of * 17 + k * k * 101 + 1) % PRIME;
}

static void case_not_commutative(void)
{
    static int out[COUNT][4], all[COUNT][4], scan[COUNT][4];
    MPI_Datatype type;
    MPI_Op op;
    MPI_Type_contiguous(4, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(multiply, 0, &op);
    for (int i = 0; i < COUNT; i++)
        matrix(out[i], i, rank);
    MPI_Allreduce(out, all, COUNT, type, op, MPI_COMM_WORLD);
    MPI_Scan(out, scan, COUNT, type, op, MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++) {
        int wanted[4], part[4], one = 1;
        matrix(wanted, i, ranks - 1);
        for (int of = ranks - 1; of >= 0; of--) {
            int factor[4];
            matrix(factor, i, of);
            if (of < ranks - 1)
                multiply(factor, wanted, &one, &type);
        }
        CHECK(memcmp(all[i], wanted, sizeof wanted) == 0, "allreduce of matrix %d", i);
        matrix(part, i, rank);
        for (int of = rank - 1; of >= 0; of--) {
            int factor[4];
            matrix(factor, i, of);
            multiply(factor, part, &one, &type);
        }
        CHECK(memcmp(scan[i], part, sizeof part) == 0, "scan of matrix %d", i);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
}

/* Long vectors, which take other algorithms, and in place. */
static void case_long_vectors(void)
{
    for (int count = 5000; count <= 500000; count *= 10) {
        long *data = get((size_t)count * sizeof *data);
        int bad = 0;
        for (int i = 0; i < count; i++)
            data[i] = i % 1000 + rank;
        MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < count; i++)
            bad += data[i] != (long)ranks * (i % 1000) + ranks * (ranks - 1) / 2;
        CHECK(bad == 0, "allreduce of %d: %d wrong", count, bad);
        int root = count / 5000 % ranks;
        MPI_Reduce(rank == root ? MPI_IN_PLACE : data, data, count, MPI_LONG, MPI_MAX, root, MPI_COMM_WORLD);
        bad = 0;
        for (int i = 0; i < count; i++)
            bad += data[i] != (long)ranks * (i % 1000) + ranks * (ranks - 1) / 2;
        CHECK(bad == 0, "reduce of %d: %d wrong", count, bad);
        free(data);
    }
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"every_type_blocking", case_every_type_blocking, NULL},
        {"every_type_nonblocking", case_every_type_nonblocking, NULL},
        {"pairs", case_pairs, NULL},
        {"not_commutative", case_not_commutative, NULL},
        {"long_vectors", case_long_vectors, NULL},
    };
    return RUN_CASES(argc, argv, MPI_THREAD_SINGLE, cases);
}
