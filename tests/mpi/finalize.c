/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages still in flight when their senders have called MPI_Finalize: all arrive. */
#include "check.h"

#include <stdio.h>
#include <string.h>

enum { COUNT = 500, BYTES = 20000 };

/* All but the last rank send and finalise at once; the last one looks only when it has nothing else to do. */
int main(int argc, char **argv)
{
    static unsigned char data[BYTES];
    int wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == ranks - 1)
        printf("case finalize.in_flight\n");
    for (int i = 0; i < COUNT && rank < ranks - 1; i++) {
        size_t length = (size_t)(i * 997 % 4000);
        fill(data, length, (uint64_t)(rank * COUNT + i));
        MPI_Send(data, (int)length, MPI_BYTE, ranks - 1, rank, MPI_COMM_WORLD);
    }
    if (rank == ranks - 1) {
        for (double until = MPI_Wtime() + 0.3; MPI_Wtime() < until;)
            ; /* a program that computes: no call of MPI makes progress */
        for (int from = 0; from < ranks - 1; from++)
            for (int i = 0; i < COUNT; i++) {
                MPI_Status status;
                int length = i * 997 % 4000, got = -1;
                MPI_Recv(data, BYTES, MPI_BYTE, from, from, MPI_COMM_WORLD, &status);
                MPI_Get_count(&status, MPI_BYTE, &got);
                wrong += got != length || !same(data, (size_t)length, (uint64_t)(from * COUNT + i));
            }
        printf("%s finalize.in_flight (%d messages differ)\n", wrong ? "FAIL" : "ok  ", wrong);
    }
    MPI_Finalize();
    if (rank == ranks - 1)
        printf("done finalize\n");
    return 0;
}
