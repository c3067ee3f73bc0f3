/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * coll/mx: MPI_Bcast, MPI_Barrier and the broadcast half of MPI_Allreduce by one Ethernet frame for
 * all hosts (compat/cast). Everything else, and what it cannot serve, goes to the modules that Open
 * MPI would have taken without it.
 *
 * Threads: one lock guards the process's endpoint and all its groups. It is never held while Open
 * MPI makes progress, and nobody waits for it who could make progress instead: a thread that finds
 * it taken calls opal_progress, which another thread's message may need.
 */
#ifndef COLL_MX_H
#define COLL_MX_H

#include "mtl_mx_version.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/proc/proc.h"
#include "opal/datatype/opal_convertor.h"
#include "opal/runtime/opal_progress.h"

#include "compat/cast/cast.h"

#include <pthread.h>
#include <stdbool.h>

#define COLL_MX_RANKS_MAX 64
#define COLL_MX_HOSTS_MAX 8

struct coll_mx_component {
	mca_coll_base_component_t super;
	/* MCA parameters */
	int enable;
	int priority;
	int board; /* -1: any */
	int bytes_max; /* of a broadcast; longer ones go to Open MPI's own */
	int allreduce;
	int connect_timeout_ms;
};
extern struct coll_mx_component mca_coll_mx_component;

enum coll_mx_state {
	COLL_MX_UNKNOWN, /* nobody has asked the others yet */
	COLL_MX_AGREEING,
	COLL_MX_SERVES,
	COLL_MX_CANNOT,
};

/* The component on one communicator. */
struct coll_mx_module {
	mca_coll_base_module_t super;
	enum coll_mx_state state;
	struct ompi_communicator_t *comm;
	struct cast_group *group;
	/* modules that Open MPI would take without us */
	struct {
		mca_coll_base_module_allgather_fn_t allgather;
		mca_coll_base_module_t *allgather_module;
		mca_coll_base_module_allreduce_fn_t allreduce;
		mca_coll_base_module_t *allreduce_module;
		mca_coll_base_module_barrier_fn_t barrier;
		mca_coll_base_module_t *barrier_module;
		mca_coll_base_module_bcast_fn_t bcast;
		mca_coll_base_module_t *bcast_module;
		mca_coll_base_module_reduce_fn_t reduce;
		mca_coll_base_module_t *reduce_module;
	} before;
};
typedef struct coll_mx_module coll_mx_module; /* a name that Open MPI's classes want */
OBJ_CLASS_DECLARATION(coll_mx_module);

/* coll_mx_module.c */
mca_coll_base_module_t *coll_mx_query(struct ompi_communicator_t *comm, int *priority);

/* coll_mx_group.c: the group of a communicator */
/* True if it has one; agrees with the other ranks at the first call, which all of them make. */
bool coll_mx_serves(struct coll_mx_module *m);
/* Each returns an MPI code. */
int coll_mx_send(struct coll_mx_module *m, const void *data, size_t bytes);
int coll_mx_receive(struct coll_mx_module *m, int root, void *data, size_t bytes);
int coll_mx_wait_for_all(struct coll_mx_module *m);
/* The communicator ends. */
void coll_mx_leave(struct coll_mx_module *m);

#endif
