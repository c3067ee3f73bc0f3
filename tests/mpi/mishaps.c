/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Jobs that end badly: mishaps NAME. One rank aborts, is killed, or leaves without finalising, while the
 * others wait for it or are in the middle of long messages. tests/mpi/run looks at how the job ends. In
 * "outlived" nobody ends the survivors: each must learn from its own messages that they go nowhere.
 */
#include "check.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ABORT_STATUS = 7, BYTES = 4 << 20 };

static void go_wrong(const char *how)
{
    if (strncmp(how, "abort", 5) == 0)
        MPI_Abort(MPI_COMM_WORLD, ABORT_STATUS);
    if (strncmp(how, "killed", 6) == 0 || strncmp(how, "outlived", 8) == 0)
        raise(SIGKILL);
    _exit(0);
}

static void leave(int error)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(error, text, &length);
    printf("rank %d outlives it: %s\n", rank, text);
    fflush(stdout);
    /* After an exit of another kind mpirun, told to recover, may wait for ever. */
    MPI_Abort(MPI_COMM_SELF, ABORT_STATUS);
}

/*
 * Long messages round the ring until one rank has had enough, with its own on the way. Both ways round if
 * others are to outlive it: MPI tells a rank of the end of another by its messages to it alone, and who only
 * waited for a message from there would do so for ever.
 */
static void traffic(const char *how)
{
    enum { WAYS = 2 };
    const int ways = strncmp(how, "outlived", 8) == 0 ? WAYS : 1;
    const int from[WAYS] = {before, next}, to[WAYS] = {next, before};
    unsigned char *out = get(BYTES), *in[WAYS] = {get(BYTES), get(BYTES)};
    for (int i = 0;; i++) {
        MPI_Request requests[2 * WAYS];
        for (int way = 0; way < ways; way++) {
            MPI_Irecv(in[way], BYTES, MPI_BYTE, from[way], way, MPI_COMM_WORLD, &requests[2 * way]);
            MPI_Isend(out, BYTES, MPI_BYTE, to[way], way, MPI_COMM_WORLD, &requests[2 * way + 1]);
        }
        if (i == 20 && rank == ranks - 1)
            go_wrong(how);
        int error = MPI_Waitall(2 * ways, requests, MPI_STATUSES_IGNORE);
        if (error != MPI_SUCCESS)
            leave(error);
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "abort";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    next = (rank + 1) % ranks;
    before = (rank + ranks - 1) % ranks;
    MPI_Barrier(MPI_COMM_WORLD);
    if (strncmp(how, "outlived", 8) == 0)
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (strstr(how, "traffic"))
        traffic(how);
    if (rank == ranks - 1)
        go_wrong(how);
    MPI_Recv(&next, 1, MPI_INT, ranks - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* never comes */
    return 0;
}
