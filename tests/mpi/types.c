/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Derived datatypes between ranks, posted, unexpected and matched: gaps stay untouched. */
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

static MPI_Datatype absolute(char *memory, int count, int bytes, size_t step)
{
    MPI_Datatype type;
    int *lengths = get((size_t)count * sizeof(int));
    MPI_Aint *places = get((size_t)count * sizeof(MPI_Aint));
    for (int i = 0; i < count; i++) {
        lengths[i] = bytes;
        MPI_Get_address(memory + (size_t)i * step, &places[i]);
    }
    MPI_Type_create_hindexed(count, lengths, places, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    free(lengths);
    free(places);
    return type;
}

typedef int init_fn(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static void from_bottom(init_fn *init, int count, int bytes, size_t step)
{
    const size_t room = (size_t)count * step;
    char *out = get(room), *in = get(room), *wanted = get(room);
    MPI_Datatype to = absolute(out, count, bytes, step), from = absolute(in, count, bytes, step);
    MPI_Request both[2];
    init(MPI_BOTTOM, 1, to, next, 5, MPI_COMM_WORLD, &both[0]);
    MPI_Recv_init(MPI_BOTTOM, 1, from, before, 5, MPI_COMM_WORLD, &both[1]);
    for (unsigned round = 0; round < 3; round++) {
        fill(out, room, (unsigned)rank * 10 + round);
        fill(wanted, room, (unsigned)before * 10 + round);
        for (int i = 0; i < count; i++)
            memset(wanted + (size_t)i * step + bytes, GAP, step - (size_t)bytes);
        memset(in, GAP, room);
        MPI_Startall(2, both);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
        CHECK(memcmp(in, wanted, room) == 0, "%d pieces of %d bytes, %zu apart, round %u", count, bytes, step, round);
    }
    MPI_Request_free(&both[0]);
    MPI_Request_free(&both[1]);
    MPI_Type_free(&to);
    MPI_Type_free(&from);
    free(out);
    free(in);
    free(wanted);
}

/* Persistent requests whose types hold addresses: their data begin neither at the buffer nor at the type's origin. */
static void case_bottom(void)
{
    static const int counts[] = {1, 4, 300}, sizes[] = {16, 1000, 8192};
    int size = 4 * 300 * 8192;
    void *attached = get((size_t)size);
    MPI_Buffer_attach(attached, size);
    for (int i = 0; i < 18; i++)
        for (size_t gap = 0; gap <= 64; gap += 64)
            from_bottom(i < 9 ? MPI_Send_init : MPI_Bsend_init, counts[i / 3 % 3], sizes[i % 3], (size_t)sizes[i % 3] + gap);
    MPI_Buffer_detach(&attached, &size);
    free(attached);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"vector", case_vector, NULL},
        {"indexed", case_indexed, NULL},
        {"nested_and_resized", case_nested_and_resized, NULL},
        {"partial", case_partial, NULL},
        {"bottom", case_bottom, NULL},
    };
    return RUN_CASES(argc, argv, MPI_THREAD_SINGLE, cases);
}
