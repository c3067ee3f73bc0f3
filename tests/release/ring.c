/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A ring in MPI: messages of several lengths go round, and each rank checks and changes every byte.
 * Then rank 0 broadcasts them, and each rank checks them again.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>

enum { LONGEST = 1 << 20 };

static unsigned char buffer[LONGEST];

/* One round of a message whose bytes count the ranks that it has passed. */
static void round_of(int length, int rank, int size)
{
    if (rank != 0)
        MPI_Recv(buffer, length, MPI_BYTE, rank - 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < length; i++) {
        if (rank == 0)
            buffer[i] = (unsigned char)i;
        if (buffer[i]++ != (unsigned char)(i + rank)) {
            fprintf(stderr, "rank %d: byte %d of %d is wrong\n", rank, i, length);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    MPI_Send(buffer, length, MPI_BYTE, (rank + 1) % size, 7, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Recv(buffer, length, MPI_BYTE, size - 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void broadcast_of(int length, int rank)
{
    memset(buffer, rank == 0 ? length % 251 : 255, (size_t)length);
    MPI_Bcast(buffer, length, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < length; i++) {
        if (buffer[i] != length % 251) {
            fprintf(stderr, "rank %d: byte %d of a broadcast of %d is wrong\n", rank, i, length);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int length = 1; size > 1 && length <= LONGEST; length *= 4)
        round_of(length, rank, size);
    for (int length = 1; length <= LONGEST; length *= 4)
        broadcast_of(length, rank);
    if (rank == 0)
        printf("ring of %d: good\n", size);
    MPI_Finalize();
    return 0;
}
