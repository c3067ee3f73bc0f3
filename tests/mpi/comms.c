/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Communicators: created, duplicated, split, joined, with topologies; each is used and its messages stay in it. */
#include "check.h"

#include <string.h>

/* Sum of world ranks, and a ring within the communicator. */
static void use(MPI_Comm comm, int members, long sum_of_ranks)
{
    int size = 1, me, in = -1;
    long mine = rank, sum = -1;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &me);
    CHECK(size == members, "%d members instead of %d", size, members);
    if (size < 1)
        return;
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comm);
    CHECK(sum == sum_of_ranks, "sum %ld instead of %ld", sum, sum_of_ranks);
    MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % size, 3, &in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm,
                 MPI_STATUS_IGNORE);
    CHECK(in == (me + size - 1) % size, "the neighbour says %d", in);
}

static long sum_below(int count, int step, int first)
{
    long sum = 0;
    for (int r = first; r < count; r += step)
        sum += r;
    return sum;
}

static void case_dup(void)
{
    MPI_Comm copy, later, with_info;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_idup(copy, &later, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_dup_with_info(later, MPI_INFO_NULL, &with_info);
    use(copy, ranks, sum_below(ranks, 1, 0));
    use(later, ranks, sum_below(ranks, 1, 0));
    use(with_info, ranks, sum_below(ranks, 1, 0));
    MPI_Comm_free(&copy);
    MPI_Comm_free(&later);
    MPI_Comm_free(&with_info);
}

static void case_many(void)
{
    enum { COMMS = 300 };
    static MPI_Comm comms[COMMS];
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < COMMS; i += 37)
        use(comms[i], ranks, sum_below(ranks, 1, 0));
    use(comms[COMMS - 1], ranks, sum_below(ranks, 1, 0));
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&comms[i]);
    for (int i = 0; i < COMMS; i++) { /* the context ids come back */
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
        MPI_Comm_free(&comms[0]);
    }
}

static void case_split(void)
{
    MPI_Comm half, alone, none;
    int members = (ranks + 1 - rank % 2) / 2, me;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half); /* in reverse order */
    use(half, members, sum_below(ranks, 2, rank % 2));
    MPI_Comm_rank(half, &me);
    CHECK(me == members - 1 - rank / 2, "rank %d in the half", me);
    MPI_Comm_split(half, rank, 0, &alone);
    use(alone, 1, rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, 0, &none);
    CHECK((none == MPI_COMM_NULL) == (rank == 0), "MPI_UNDEFINED gives a communicator");
    if (none != MPI_COMM_NULL) {
        use(none, ranks - 1, sum_below(ranks, 1, 0));
        MPI_Comm_free(&none);
    }
    MPI_Comm_free(&half);
    MPI_Comm_free(&alone);
}

/* Those that share memory share a host. */
static void case_split_type(void)
{
    MPI_Comm host;
    char mine[MPI_MAX_PROCESSOR_NAME] = {0};
    int length, members;
    long sum = 0;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Get_processor_name(mine, &length);
    char(*all)[MPI_MAX_PROCESSOR_NAME] = get((size_t)ranks * sizeof *all);
    MPI_Allgather(mine, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, all, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, MPI_COMM_WORLD);
    members = 0;
    for (int r = 0; r < ranks; r++)
        if (strcmp(all[r], mine) == 0) {
            members++;
            sum += r;
        }
    use(host, members, sum);
    MPI_Comm_free(&host);
    free(all);
}

static void case_create(void)
{
    MPI_Group world, some;
    MPI_Comm created, by_group;
    int count = (ranks + 1) / 2, *chosen = get((size_t)count * sizeof *chosen);
    for (int i = 0; i < count; i++)
        chosen[i] = 2 * (count - 1 - i);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, count, chosen, &some);
    MPI_Comm_create(MPI_COMM_WORLD, some, &created);
    CHECK((created != MPI_COMM_NULL) == (rank % 2 == 0), "members are wrong");
    if (rank % 2 == 0) {
        use(created, count, sum_below(ranks, 2, 0));
        MPI_Comm_create_group(MPI_COMM_WORLD, some, 5, &by_group); /* only its members call */
        use(by_group, count, sum_below(ranks, 2, 0));
        MPI_Comm_free(&by_group);
        MPI_Comm_free(&created);
    }
    MPI_Group_free(&some);
    MPI_Group_free(&world);
    free(chosen);
}

/* Two halves, joined: messages and collectives between them, then one communicator of both. */
static void case_intercommunicator(void)
{
    MPI_Comm half, both, merged;
    int odd = rank % 2, others, me, in = -1, remote = -1, size;
    MPI_Comm_split(MPI_COMM_WORLD, odd, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, odd ? 0 : 1, 12, &both);
    MPI_Comm_remote_size(both, &others);
    MPI_Comm_rank(half, &me);
    CHECK(others == (ranks + odd) / 2, "%d others", others);
    if (me < others && me < ranks / 2) { /* my twin in the other half */
        MPI_Sendrecv(&rank, 1, MPI_INT, me, 1, &in, 1, MPI_INT, MPI_ANY_SOURCE, 1, both, MPI_STATUS_IGNORE);
        CHECK(in == (odd ? rank - 1 : rank + 1), "the twin says %d", in);
    }
    long mine = rank, sum = -1;
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, both); /* of the other half */
    CHECK(sum == sum_below(ranks, 2, !odd), "the others' sum is %ld", sum);
    remote = odd ? -1 : 4711;
    MPI_Bcast(&remote, 1, MPI_INT, odd ? 0 : (me == 0 ? MPI_ROOT : MPI_PROC_NULL), both);
    CHECK(remote == 4711, "broadcast gave %d", remote);
    MPI_Barrier(both);
    MPI_Intercomm_merge(both, !odd, &merged); /* the odd half comes first */
    use(merged, ranks, sum_below(ranks, 1, 0));
    MPI_Comm_rank(merged, &me);
    MPI_Comm_size(half, &size);
    CHECK(odd ? me < size : me >= ranks - size, "rank %d after the merge", me);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

/* A ring as a Cartesian topology, and neighbourhood collectives on it. */
static void case_topology(void)
{
    MPI_Comm ring;
    int periodic = 1, left, right, from[2] = {-1, -1};
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
    MPI_Cart_shift(ring, 0, 1, &left, &right);
    CHECK(left == before && right == next, "neighbours %d and %d", left, right);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, from, 1, MPI_INT, ring);
    CHECK(from[0] == before && from[1] == next, "neighbours say %d and %d", from[0], from[1]);
    int out[2] = {rank * 2, rank * 2 + 1};
    MPI_Request request;
    MPI_Comm graph;
    int weight = 1;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, &weight, 1, &next, &weight, MPI_INFO_NULL, 0,
                                   &graph);
    MPI_Ineighbor_alltoall(out, 2, MPI_INT, from, 2, MPI_INT, graph, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(from[0] == before * 2 && from[1] == before * 2 + 1, "the neighbour sent %d and %d", from[0], from[1]);
    MPI_Comm_free(&graph);
    MPI_Comm_free(&ring);
}

/* Messages that are still on their way when their communicator is freed arrive. */
static void case_free_with_messages(void)
{
    enum { LENGTH = 100000 };
    unsigned char *out = get(LENGTH), *in = get(LENGTH);
    MPI_Comm copy;
    MPI_Request requests[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    fill(out, LENGTH, (uint64_t)rank);
    MPI_Irecv(in, LENGTH, MPI_BYTE, before, 1, copy, &requests[0]);
    MPI_Isend(out, LENGTH, MPI_BYTE, next, 1, copy, &requests[1]);
    MPI_Comm_free(&copy);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(same(in, LENGTH, (uint64_t)before), "data differs");
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"dup", case_dup, NULL},
        {"many", case_many, NULL},
        {"split", case_split, NULL},
        {"split_type", case_split_type, NULL},
        {"create", case_create, NULL},
        {"intercommunicator", case_intercommunicator, NULL},
        {"topology", case_topology, NULL},
        {"free_with_messages", case_free_with_messages, NULL},
    };
    return RUN_CASES(argc, argv, MPI_THREAD_SINGLE, cases);
}
