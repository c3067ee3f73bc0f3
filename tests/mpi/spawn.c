/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Processes that start others, and jobs that meet by a port. */
#include "check.h"

#include <stdio.h>
#include <string.h>

enum { CHILDREN = 2, LENGTH = 100000 };

static char *program;

/* The work of children, named by their only argument after "child". */
static int child(void)
{
    MPI_Comm parent, merged;
    int me, size, members, sum = 0, mine;
    unsigned char *data = get(LENGTH);
    MPI_Comm_get_parent(&parent);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Recv(data, LENGTH, MPI_BYTE, 0, 5, parent, MPI_STATUS_IGNORE);
    int good = size == CHILDREN && same(data, LENGTH, (uint64_t)me);
    MPI_Send(&good, 1, MPI_INT, 0, 6, parent);
    MPI_Intercomm_merge(parent, 1, &merged);
    MPI_Comm_size(merged, &members);
    mine = 1000;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, merged);
    MPI_Send(&sum, 1, MPI_INT, 0, 7, parent);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&parent);
    free(data);
    return 0;
}

static void with_children(MPI_Comm children)
{
    MPI_Comm merged;
    unsigned char *data = get(LENGTH);
    int members, good = 0, sum = 0, mine = 1;
    MPI_Comm_remote_size(children, &members);
    CHECK(members == CHILDREN, "%d children", members);
    for (int i = 0; i < members && rank == 0; i++) {
        fill(data, LENGTH, (uint64_t)i);
        MPI_Send(data, LENGTH, MPI_BYTE, i, 5, children);
        MPI_Recv(&good, 1, MPI_INT, i, 6, children, MPI_STATUS_IGNORE);
        CHECK(good == 1, "child %d got other data", i);
    }
    MPI_Intercomm_merge(children, 0, &merged);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, merged);
    CHECK(sum == ranks + 1000 * CHILDREN, "the sum with children is %d", sum);
    for (int i = 0; i < members && rank == 0; i++) {
        MPI_Recv(&sum, 1, MPI_INT, i, 7, children, MPI_STATUS_IGNORE);
        CHECK(sum == ranks + 1000 * CHILDREN, "child %d has sum %d", i, sum);
    }
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&children);
    free(data);
}

/* All children on the host of that rank. */
static MPI_Info on_host_of(int one)
{
    char name[MPI_MAX_PROCESSOR_NAME] = {0}, places[MPI_MAX_PROCESSOR_NAME + 10];
    int length;
    MPI_Info info;
    MPI_Get_processor_name(name, &length);
    MPI_Bcast(name, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, one, MPI_COMM_WORLD);
    snprintf(places, sizeof places, "%s:%d", name, CHILDREN);
    MPI_Info_create(&info);
    MPI_Info_set(info, "host", places);
    return info;
}

static void case_spawn(void)
{
    static char word[] = "child", *arguments[] = {word, NULL};
    for (int i = 0; i < 2; i++) {
        MPI_Comm children;
        MPI_Info info = on_host_of(i ? 0 : ranks - 1);
        int errors[CHILDREN] = {0};
        MPI_Comm_spawn(program, arguments, CHILDREN, info, 0, MPI_COMM_WORLD, &children, errors);
        MPI_Info_free(&info);
        for (int k = 0; k < CHILDREN; k++)
            CHECK(errors[k] == MPI_SUCCESS, "child %d has error %d", k, errors[k]);
        with_children(children);
    }
}

/* Halves of the world that meet as strangers do, by the name of a port. */
static void case_connect_accept(void)
{
    MPI_Comm half, other;
    char port[MPI_MAX_PORT_NAME] = {0};
    int odd = rank % 2, me, in = -1, others;
    MPI_Comm_split(MPI_COMM_WORLD, odd, rank, &half);
    MPI_Comm_rank(half, &me);
    if (rank == 0)
        MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (odd)
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &other);
    else
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &other);
    MPI_Comm_remote_size(other, &others);
    CHECK(others == (ranks + odd) / 2, "%d others", others);
    if (me < others && me < ranks / 2) {
        MPI_Sendrecv(&rank, 1, MPI_INT, me, 1, &in, 1, MPI_INT, me, 1, other, MPI_STATUS_IGNORE);
        CHECK(in == (odd ? rank - 1 : rank + 1), "the other one says %d", in);
    }
    MPI_Comm_disconnect(&other);
    MPI_Comm_free(&half);
    if (rank == 0)
        MPI_Close_port(port);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"spawn", case_spawn, NULL},
        {"connect_accept", case_connect_accept, NULL},
        {"children_on_two_hosts", NULL,
         "Debian's Open MPI 4.1.4 cannot start them, with any transport: PML add procs failed"},
    };
    program = argv[0];
    if (argc > 1 && strcmp(argv[1], "child") == 0) {
        MPI_Init(&argc, &argv);
        child();
        MPI_Finalize();
        return 0;
    }
    return RUN_CASES(argc, argv, MPI_THREAD_SINGLE, cases);
}
