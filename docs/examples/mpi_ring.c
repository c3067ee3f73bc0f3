/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A ring in MPI: a number goes round once, and each process adds its own. Each says where it runs.
 *
 *   mpicc mpi_ring.c -o mpi_ring
 *   mpirun --mca pml cm --mca mtl mx -n 4 ./mpi_ring
 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	char host[MPI_MAX_PROCESSOR_NAME];
	int rank, size, length, sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Get_processor_name(host, &length);
	printf("%d of %d on %s\n", rank, size, host);
	if (rank > 0)
		MPI_Recv(&sum, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	sum += rank;
	if (rank + 1 < size)
		MPI_Send(&sum, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
	else
		printf("the sum is %d\n", sum);
	MPI_Finalize();
	return 0;
}
