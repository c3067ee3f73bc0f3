/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Derived datatypes between ranks: gaps stay untouched, and both sides may use different types of one signature. */
#include "check.h"

#include <stdio.h>
#include <string.h>

enum { GAP = 0xbb };

/* Where a type has its ints: found with MPI's own pack, within this process, from memory that numbers its ints. */
struct layout {
    MPI_Datatype type;
    size_t ints; /* in one element */
    size_t room; /* ints of memory that `copies` elements need */
    int copies;
    int *place; /* of each int, in the order of the message */
};

static struct layout layout_of(MPI_Datatype type, int copies)
{
    struct layout it = {.type = type, .copies = copies};
    MPI_Aint low, extent, true_low, true_extent;
    int bytes, at = 0;
    MPI_Type_commit(&it.type);
    MPI_Type_size(type, &bytes);
    MPI_Type_get_extent(type, &low, &extent);
    MPI_Type_get_true_extent(type, &true_low, &true_extent);
    it.ints = (size_t)bytes / sizeof(int) * (size_t)copies;
    it.room = (size_t)(extent * (copies - 1) + true_low + true_extent) / sizeof(int) + 4;
    it.place = get((it.ints + 1) * sizeof(int));
    int *numbered = get(it.room * sizeof(int));
    for (size_t i = 0; i < it.room; i++)
        numbered[i] = (int)i;
    MPI_Pack(numbered, copies, it.type, it.place, (int)(it.ints * sizeof(int)), &at, MPI_COMM_SELF);
    CHECK((size_t)at == it.ints * sizeof(int), "packed %d bytes of %zu ints", at, it.ints);
    free(numbered);
    return it;
}

static void drop(struct layout *it)
{
    free(it->place);
    MPI_Type_free(&it->type);
}

static int value(int from, size_t number) { return from * 10000019 + (int)number * 7 + 1; }

static int *outgoing(const struct layout *it)
{
    int *memory = get(it->room * sizeof(int));
    memset(memory, 0x77, it->room * sizeof(int));
    for (size_t i = 0; i < it->ints; i++)
        memory[it->place[i]] = value(rank, i);
    return memory;
}

static void check_incoming(const struct layout *it, const int *memory, size_t ints, const char *what)
{
    size_t bad = 0, touched = 0;
    char *written = get(it->room);
    for (size_t i = 0; i < ints; i++) {
        bad += memory[it->place[i]] != value(before, i);
        written[it->place[i]] = 1;
    }
    for (size_t i = 0; i < it->room; i++)
        touched += !written[i] && !all_are(&memory[i], sizeof(int), GAP);
    CHECK(bad == 0, "%s: %zu of %zu ints differ", what, bad, ints);
    CHECK(touched == 0, "%s: %zu ints of gaps were written to", what, touched);
    free(written);
}

/* Round the ring, once into a posted receive, once as unexpected, once by a matched probe. */
static void exchange(const struct layout *to, const struct layout *from, const char *what)
{
    for (int way = 0; way < 3; way++) {
        int *out = outgoing(to), *in = get(from->room * sizeof(int)), ints = -1;
        MPI_Request receive = MPI_REQUEST_NULL, send;
        MPI_Message message;
        MPI_Status status;
        memset(in, GAP, from->room * sizeof(int));
        if (way == 0)
            MPI_Irecv(in, from->copies, from->type, before, 1, MPI_COMM_WORLD, &receive);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Isend(out, to->copies, to->type, next, 1, MPI_COMM_WORLD, &send);
        if (way == 1) {
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Recv(in, from->copies, from->type, before, 1, MPI_COMM_WORLD, &status);
        } else if (way == 2) {
            MPI_Mprobe(before, 1, MPI_COMM_WORLD, &message, &status);
            MPI_Mrecv(in, from->copies, from->type, &message, &status);
        } else
            MPI_Wait(&receive, &status);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        MPI_Get_elements(&status, from->type, &ints);
        CHECK((size_t)ints == to->ints, "%s: status says %d ints of %zu", what, ints, to->ints);
        check_incoming(from, in, to->ints, what);
        free(out);
        free(in);
    }
}

/* The type on both sides, then on one side against plain ints. */
static void both_ways(MPI_Datatype type, int copies, const char *what)
{
    struct layout derived = layout_of(type, copies), plain;
    MPI_Datatype ints;
    MPI_Type_contiguous((int)derived.ints, MPI_INT, &ints);
    plain = layout_of(ints, 1);
    exchange(&derived, &derived, what);
    exchange(&derived, &plain, what);
    exchange(&plain, &derived, what);
    drop(&derived);
    drop(&plain);
}

static void case_vector(void)
{
    static const int shapes[][3] = {{5, 1, 2}, {100, 3, 7}, {3000, 2, 5}, {64, 256, 300}, {40000, 1, 3}, {1000, 100, 101}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        MPI_Datatype type;
        char what[60];
        snprintf(what, sizeof what, "vector %d of %d every %d", shapes[i][0], shapes[i][1], shapes[i][2]);
        MPI_Type_vector(shapes[i][0], shapes[i][1], shapes[i][2], MPI_INT, &type);
        both_ways(type, 1, what);
        MPI_Type_create_hvector(shapes[i][0], shapes[i][1], shapes[i][2] * (int)sizeof(int), MPI_INT, &type);
        both_ways(type, 2, what);
    }
}

static void case_indexed(void)
{
    for (int blocks = 3; blocks <= 3000; blocks *= 10) {
        int *sizes = get((size_t)blocks * sizeof *sizes), *places = get((size_t)blocks * sizeof *places), at = 0;
        for (int i = 0; i < blocks; i++) {
            sizes[i] = (i * 5) % 13;
            at += i % 4;
            places[blocks - 1 - i] = at; /* backwards, so that order in memory and message differ */
            at += 13;
        }
        MPI_Datatype type;
        MPI_Type_indexed(blocks, sizes, places, MPI_INT, &type);
        both_ways(type, 1, "indexed");
        MPI_Type_create_indexed_block(blocks, 7, places, MPI_INT, &type);
        both_ways(type, 3, "indexed block");
        free(sizes);
        free(places);
    }
}

static void case_subarray(void)
{
    static const int whole[3] = {40, 30, 50}, part[3] = {11, 17, 23}, start[3] = {5, 9, 20};
    static const int orders[2] = {MPI_ORDER_C, MPI_ORDER_FORTRAN};
    for (int i = 0; i < 2; i++) {
        MPI_Datatype type;
        MPI_Type_create_subarray(3, whole, part, start, orders[i], MPI_INT, &type);
        both_ways(type, 1, "subarray");
        MPI_Type_create_subarray(2, whole, part, start, orders[i], MPI_INT, &type);
        both_ways(type, 4, "subarray of two dimensions");
    }
}

static void case_nested_and_resized(void)
{
    MPI_Datatype row, spaced, nested;
    MPI_Type_vector(10, 2, 4, MPI_INT, &row);
    MPI_Type_create_resized(row, 0, 200, &spaced);
    MPI_Type_vector(20, 3, 5, spaced, &nested);
    both_ways(nested, 3, "vector of resized vectors");
    MPI_Type_free(&row);
    MPI_Type_free(&spaced);
}

static void case_different_types(void)
{
    MPI_Datatype vector, indexed;
    int sizes[300], places[300], at = 0;
    for (int i = 0; i < 300; i++) {
        sizes[i] = 20;
        places[i] = at;
        at += 21 + i % 3;
    }
    MPI_Type_vector(1200, 5, 9, MPI_INT, &vector);
    MPI_Type_indexed(300, sizes, places, MPI_INT, &indexed);
    struct layout one = layout_of(vector, 1), other = layout_of(indexed, 1);
    exchange(&one, &other, "vector into indexed");
    exchange(&other, &one, "indexed into vector");
    drop(&one);
    drop(&other);
}

/* Fewer elements than the receive has room for: a part of its type is filled. */
static void case_partial(void)
{
    MPI_Datatype vector, few;
    MPI_Type_vector(2000, 3, 4, MPI_INT, &vector);
    MPI_Type_contiguous(1001, MPI_INT, &few);
    struct layout to = layout_of(few, 1), from = layout_of(vector, 2);
    exchange(&to, &from, "a part of a vector");
    drop(&to);
    drop(&from);
}

struct mixed {
    char letter;
    double number;
    short few[3];
    int count;
    long long big;
};

static void case_struct(void)
{
    enum { COUNT = 2000 };
    int sizes[5] = {1, 1, 3, 1, 1};
    MPI_Aint places[5] = {offsetof(struct mixed, letter), offsetof(struct mixed, number), offsetof(struct mixed, few),
                          offsetof(struct mixed, count), offsetof(struct mixed, big)};
    MPI_Datatype parts[5] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT, MPI_INT, MPI_LONG_LONG}, type, sized;
    MPI_Type_create_struct(5, sizes, places, parts, &type);
    MPI_Type_create_resized(type, 0, sizeof(struct mixed), &sized);
    MPI_Type_commit(&sized);
    struct mixed *out = get(COUNT * sizeof *out), *in = get(COUNT * sizeof *in);
    memset(in, GAP, COUNT * sizeof *in);
    for (int i = 0; i < COUNT; i++)
        out[i] = (struct mixed){(char)(i + rank), i * 0.5 + rank, {(short)i, (short)rank, 3}, i - rank, (long long)i << 33};
    for (int count = 1; count <= COUNT; count += COUNT - 1) {
        MPI_Sendrecv(out, count, sized, next, 1, in, count, sized, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        int bad = 0, touched = 0;
        for (int i = 0; i < count; i++) {
            const struct mixed *got = &in[i];
            bad += got->letter != (char)(i + before) || got->number != i * 0.5 + before || got->few[0] != (short)i ||
                   got->few[1] != before || got->few[2] != 3 || got->count != i - before || got->big != (long long)i << 33;
            touched += !all_are((const char *)got + 1, offsetof(struct mixed, number) - 1, GAP);
        }
        CHECK(bad == 0 && touched == 0, "%d of %d wrong, %d gaps written to", bad, count, touched);
    }
    MPI_Type_free(&type);
    MPI_Type_free(&sized);
    free(out);
    free(in);
}

/* Absolute addresses: pieces of memory that have nothing to do with one another. */
static void case_bottom(void)
{
    enum { PIECES = 6, INTS = 9000 };
    int *out[PIECES], *in[PIECES], sizes[PIECES];
    MPI_Aint from[PIECES], to[PIECES];
    MPI_Datatype gather, scatter;
    for (int i = 0; i < PIECES; i++) {
        out[i] = get(INTS * sizeof(int));
        in[i] = get(INTS * sizeof(int));
        fill(out[i], INTS * sizeof(int), (uint64_t)(rank * PIECES + i));
        MPI_Get_address(out[i], &from[i]);
        MPI_Get_address(in[i], &to[i]);
        sizes[i] = INTS - i * 1000;
    }
    MPI_Type_create_hindexed(PIECES, sizes, from, MPI_INT, &gather);
    MPI_Type_create_hindexed(PIECES, sizes, to, MPI_INT, &scatter);
    MPI_Type_commit(&gather);
    MPI_Type_commit(&scatter);
    MPI_Sendrecv(MPI_BOTTOM, 1, gather, next, 1, MPI_BOTTOM, 1, scatter, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < PIECES; i++) {
        size_t bytes = (size_t)sizes[i] * sizeof(int);
        CHECK(same(in[i], bytes, (uint64_t)(before * PIECES + i)), "piece %d differs", i);
        CHECK(all_are((char *)in[i] + bytes, INTS * sizeof(int) - bytes, 0), "wrote behind piece %d", i);
        free(out[i]);
        free(in[i]);
    }
    MPI_Type_free(&gather);
    MPI_Type_free(&scatter);
}

/* Types without data, and packed messages against typed ones. */
static void case_empty_and_packed(void)
{
    MPI_Datatype nothing;
    MPI_Status status;
    int untouched = 9, at = 0, ints[500], bytes;
    unsigned char packed[3000];
    MPI_Type_contiguous(0, MPI_INT, &nothing);
    MPI_Type_commit(&nothing);
    MPI_Sendrecv(&untouched, 3, nothing, next, 1, &untouched, 3, nothing, before, 1, MPI_COMM_WORLD, &status);
    CHECK_STATUS(&status, before, 1, 0);
    CHECK(untouched == 9, "it is %d", untouched);
    MPI_Type_free(&nothing);
    for (int i = 0; i < 500; i++)
        ints[i] = rank * 1000 + i;
    MPI_Pack(ints, 500, MPI_INT, packed, sizeof packed, &at, MPI_COMM_WORLD);
    MPI_Sendrecv(packed, at, MPI_PACKED, next, 2, ints, 500, MPI_INT, before, 2, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &bytes);
    CHECK(bytes == 500 && ints[0] == before * 1000 && ints[499] == before * 1000 + 499, "%d ints, last %d", bytes, ints[499]);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"vector", case_vector, NULL},
        {"indexed", case_indexed, NULL},
        {"subarray", case_subarray, NULL},
        {"nested_and_resized", case_nested_and_resized, NULL},
        {"different_types", case_different_types, NULL},
        {"partial", case_partial, NULL},
        {"struct", case_struct, NULL},
        {"bottom", case_bottom, NULL},
        {"empty_and_packed", case_empty_and_packed, NULL},
    };
    return RUN_CASES(argc, argv, MPI_THREAD_SINGLE, cases);
}
