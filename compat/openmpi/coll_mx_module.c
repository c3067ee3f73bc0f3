/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * coll/mx on a communicator: its operations, and when they are left to others.
 */
#include "coll_mx.h"

#include <stdlib.h>

/* ---- data ---- */

/* Bytes of a piece of data as one message: where they lie, or a copy. */
struct flat {
	void *bytes;
	size_t length;
	void *copy; /* to be freed; NULL: the user's own memory */
};

static int convert(struct ompi_datatype_t *type, size_t count, void *user, struct flat *flat,
		   bool pack)
{
	opal_convertor_t convertor;
	struct iovec piece = { .iov_base = flat->copy, .iov_len = flat->length };
	uint32_t pieces = 1;
	size_t length = flat->length;

	OBJ_CONSTRUCT(&convertor, opal_convertor_t);
	if (pack) {
		opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super,
							 count, user, 0, &convertor);
		opal_convertor_pack(&convertor, &piece, &pieces, &length);
	} else {
		opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &type->super,
							 count, user, 0, &convertor);
		opal_convertor_unpack(&convertor, &piece, &pieces, &length);
	}
	OBJ_DESTRUCT(&convertor);
	return length == flat->length ? MPI_SUCCESS : MPI_ERR_TYPE;
}

static int flatten(struct ompi_datatype_t *type, size_t count, void *user, struct flat *flat,
		   bool pack)
{
	ptrdiff_t gap = 0;

	flat->copy = NULL;
	flat->bytes = user;
	if (flat->length == 0)
		return MPI_SUCCESS;
	if (opal_datatype_is_contiguous_memory_layout(&type->super, (int32_t)count)) {
		opal_datatype_span(&type->super, count, &gap);
		flat->bytes = (char *)user + gap;
		return MPI_SUCCESS;
	}
	flat->copy = malloc(flat->length);
	flat->bytes = flat->copy;
	if (!flat->copy)
		return MPI_ERR_NO_MEM;
	return pack ? convert(type, count, user, flat, true) : MPI_SUCCESS;
}

/* True if a message of that many bytes is short enough; on all ranks alike, as they are as many. */
static bool is_short(struct ompi_datatype_t *type, int count, size_t *bytes)
{
	size_t size = 0;

	opal_datatype_type_size(&type->super, &size);
	*bytes = size * (size_t)count;
	return *bytes <= (size_t)mca_coll_mx_component.bytes_max;
}

/* ---- operations ---- */

static int broadcast(struct coll_mx_module *m, void *user, int count, struct ompi_datatype_t *type,
		     int root, size_t bytes)
{
	const bool sends = ompi_comm_rank(m->comm) == root;
	struct flat flat = { .length = bytes };
	int code = flatten(type, (size_t)count, user, &flat, sends);

	if (code == MPI_SUCCESS)
		code = sends ? coll_mx_send(m, flat.bytes, bytes)
			     : coll_mx_receive(m, root, flat.bytes, bytes);
	if (code == MPI_SUCCESS && flat.copy && !sends)
		code = convert(type, (size_t)count, user, &flat, false);
	free(flat.copy);
	return code;
}

static int bcast(void *user, int count, struct ompi_datatype_t *type, int root,
		 struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	struct coll_mx_module *m = (struct coll_mx_module *)module;
	size_t bytes;

	if (!is_short(type, count, &bytes) || !coll_mx_serves(m))
		return m->before.bcast(user, count, type, root, comm, m->before.bcast_module);
	return broadcast(m, user, count, type, root, bytes);
}

static int allreduce(const void *from, void *to, int count, struct ompi_datatype_t *type,
		     struct ompi_op_t *op, struct ompi_communicator_t *comm,
		     mca_coll_base_module_t *module)
{
	struct coll_mx_module *m = (struct coll_mx_module *)module;
	const bool in_place = from == MPI_IN_PLACE;
	size_t bytes;
	int code;

	if (!mca_coll_mx_component.allreduce || !is_short(type, count, &bytes) ||
	    !coll_mx_serves(m))
		return m->before.allreduce(from, to, count, type, op, comm,
					   m->before.allreduce_module);
	if (ompi_comm_rank(comm) == 0)
		code = m->before.reduce(from, to, count, type, op, 0, comm,
					m->before.reduce_module);
	else
		code = m->before.reduce(in_place ? to : from, NULL, count, type, op, 0, comm,
					m->before.reduce_module);
	return code == MPI_SUCCESS ? broadcast(m, to, count, type, 0, bytes) : code;
}

static int barrier(struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	struct coll_mx_module *m = (struct coll_mx_module *)module;

	if (!coll_mx_serves(m))
		return m->before.barrier(comm, m->before.barrier_module);
	return coll_mx_wait_for_all(m);
}

/* ---- life ---- */

#define KEEP(name)                                                            \
	do {                                                                  \
		m->before.name = comm->c_coll->coll_##name;                   \
		m->before.name##_module = comm->c_coll->coll_##name##_module; \
		if (!m->before.name || !m->before.name##_module)              \
			return OMPI_ERROR;                                    \
		OBJ_RETAIN(m->before.name##_module);                          \
	} while (0)

/* Modules of lower priority have been enabled before. */
static int enable(mca_coll_base_module_t *module, struct ompi_communicator_t *comm)
{
	struct coll_mx_module *m = (struct coll_mx_module *)module;

	m->comm = comm;
	KEEP(allgather);
	KEEP(allreduce);
	KEEP(barrier);
	KEEP(bcast);
	KEEP(reduce);
	return OMPI_SUCCESS;
}

static void construct(struct coll_mx_module *m)
{
	m->state = COLL_MX_UNKNOWN;
	m->comm = NULL;
	m->group = NULL;
	memset(&m->before, 0, sizeof(m->before));
}

static void let_go(mca_coll_base_module_t *module)
{
	if (module)
		OBJ_RELEASE(module);
}

static void destruct(struct coll_mx_module *m)
{
	coll_mx_leave(m);
	let_go(m->before.allgather_module);
	let_go(m->before.allreduce_module);
	let_go(m->before.barrier_module);
	let_go(m->before.bcast_module);
	let_go(m->before.reduce_module);
}

OBJ_CLASS_INSTANCE(coll_mx_module, mca_coll_base_module_t, construct, destruct);

/* True if some rank is on another host, which is so on all ranks or on none. */
static bool spans_hosts(struct ompi_communicator_t *comm)
{
	for (int i = 0; i < ompi_comm_size(comm); i++) {
		struct ompi_proc_t *proc = ompi_comm_peer_lookup(comm, i);

		if (!OPAL_PROC_ON_LOCAL_NODE(proc->super.proc_flags))
			return true;
	}
	return false;
}

mca_coll_base_module_t *coll_mx_query(struct ompi_communicator_t *comm, int *priority)
{
	struct coll_mx_module *m;

	*priority = mca_coll_mx_component.priority;
	if (OMPI_COMM_IS_INTER(comm) || ompi_comm_size(comm) < 2 ||
	    ompi_comm_size(comm) > COLL_MX_RANKS_MAX || !spans_hosts(comm))
		return NULL;
	m = OBJ_NEW(coll_mx_module);
	if (!m)
		return NULL;
	m->super.coll_module_enable = enable;
	m->super.coll_allreduce = allreduce;
	m->super.coll_barrier = barrier;
	m->super.coll_bcast = bcast;
	return &m->super;
}
