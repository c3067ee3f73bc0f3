/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages beyond 2 GiB, between rank 0 and rank 1; only under --full, and with memory for both. */
#include "check.h"

#include <stdio.h>
#include <unistd.h>

#define GIB ((size_t)1 << 30)

/* In pieces with a seed each, so that a piece in the wrong place shows. */
static void fill_pieces(unsigned char *to, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += GIB / 64)
        fill(to + at, bytes - at < GIB / 64 ? bytes - at : GIB / 64, at);
}

static size_t wrong_pieces(const unsigned char *from, size_t bytes)
{
    size_t wrong = 0;
    for (size_t at = 0; at < bytes; at += GIB / 64)
        wrong += !same(from + at, bytes - at < GIB / 64 ? bytes - at : GIB / 64, at);
    return wrong;
}

/* One element of a type of that many bytes: counts are ints, the message is longer. */
static MPI_Datatype type_of(size_t bytes)
{
    MPI_Datatype piece, type;
    MPI_Type_contiguous((int)(bytes / 4096), MPI_BYTE, &piece);
    MPI_Type_contiguous(4096, piece, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&piece);
    return type;
}

static void one(size_t bytes, bool probed)
{
    MPI_Datatype type = type_of(bytes);
    unsigned char *data = rank < 2 ? get(bytes) : NULL;
    if (rank == 0) {
        fill_pieces(data, bytes);
        MPI_Send(data, 1, type, 1, 1, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Status status;
        MPI_Message message;
        MPI_Count got = -1;
        if (probed) {
            MPI_Mprobe(0, 1, MPI_COMM_WORLD, &message, &status);
            MPI_Mrecv(data, 1, type, &message, &status);
        } else
            MPI_Recv(data, 1, type, 0, 1, MPI_COMM_WORLD, &status);
        MPI_Get_elements_x(&status, type, &got);
        CHECK((size_t)got == bytes, "status says %lld of %zu bytes", (long long)got, bytes);
        CHECK(wrong_pieces(data, bytes) == 0, "%zu pieces of %zu bytes differ", wrong_pieces(data, bytes), bytes);
    }
    free(data);
    MPI_Type_free(&type);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void case_just_over_2_gib(void) { one(2 * GIB + 4096 * 3, true); }
static void case_3_gib(void) { one(3 * GIB, false); }

int main(int argc, char **argv)
{
    /* Ranks 0 and 1 share one machine's memory in this suite. */
    bool room = (size_t)sysconf(_SC_AVPHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) > 7 * GIB;
    const char *skip = !full_tier() ? "only under --full" : room ? NULL : "needs 7 GiB of free memory";
    const struct test_case cases[] = {
        {"just_over_2_gib", case_just_over_2_gib, skip},
        {"3_gib", case_3_gib, skip},
    };
    return RUN_CASES(argc, argv, MPI_THREAD_SINGLE, cases);
}
