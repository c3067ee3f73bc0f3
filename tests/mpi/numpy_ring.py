# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Sends numpy arrays around a ring of all ranks; each adds its rank and checks what comes back."""
import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
for length in (0, 1, 1000, 100_000, 1_000_000):
    data = numpy.arange(length, dtype='f8')
    if rank == 0:
        world.Send(data, (rank + 1) % size, tag=length % 1000)
    got = numpy.empty_like(data)
    world.Recv(got, (rank - 1) % size, tag=length % 1000)
    before = sum(range(rank)) if rank else sum(range(size))
    if not numpy.array_equal(got, data + before):
        raise SystemExit(f'rank {rank}: wrong array of {length}')
    if rank != 0:
        world.Send(got + rank, (rank + 1) % size, tag=length % 1000)
world.Barrier()
if rank == 0:
    print('ring of', size, 'ranks: all arrays right')
