/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sending: MPI's modes as mx_isend and mx_issend.
 */
#include "mtl_mx_data.h"
#include "mtl_mx_match.h"

/* Gives the message to MX; r->kind is set. An OMPI or MPI code; after a failure nothing will be
 * reported. */
static int post(struct mtl_mx_request *r, struct ompi_communicator_t *comm, int dest, int tag,
		struct opal_convertor_t *convertor, mca_pml_base_send_mode_t mode)
{
	struct mtl_mx_peer *peer = mtl_mx_peer(comm, dest);
	uint64_t match = mtl_mx_match(mtl_mx_context_id(comm), ompi_comm_rank(comm), tag);
	struct mtl_mx_pieces pieces;
	mx_return_t code;
	int rc;

	if (!peer)
		return OMPI_ERR_UNREACH;
	rc = mtl_mx_pieces_to_send(convertor, &pieces);
	if (rc != OMPI_SUCCESS)
		return rc;
	r->bounce = pieces.bounce;
	r->done = false;
	if (mode == MCA_PML_BASE_SEND_SYNCHRONOUS)
		code = mx_issend(ompi_mtl_mx.endpoint, pieces.list, pieces.count, peer->address,
				 match, r, &r->mx);
	else
		code = mx_isend(ompi_mtl_mx.endpoint, pieces.list, pieces.count, peer->address,
				match, r, &r->mx);
	if (code == MX_SUCCESS)
		return OMPI_SUCCESS;
	free(pieces.bounce);
	return code == MX_NO_RESOURCES ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_ERROR;
}

/*
 * A short message is complete as soon as it is posted. With several threads another one may have
 * seen that already, and the request be gone.
 */
static void finish_if_complete(struct mtl_mx_request *r)
{
	mx_status_t status;
	uint32_t complete = 0;

	if (opal_using_threads())
		return;
	mx_test(ompi_mtl_mx.endpoint, &r->mx, &status, &complete);
	if (complete)
		mtl_mx_finish(r, &status);
}

int mtl_mx_send(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int dest,
		int tag, struct opal_convertor_t *convertor, mca_pml_base_send_mode_t mode)
{
	struct mtl_mx_request r = { .kind = MTL_MX_BLOCKING_SEND };
	int rc = post(&r, comm, dest, tag, convertor, mode);

	(void)mtl;
	if (rc != OMPI_SUCCESS)
		return rc;
	finish_if_complete(&r);
	while (!__atomic_load_n(&r.done, __ATOMIC_ACQUIRE))
		opal_progress();
	return r.error;
}

int mtl_mx_isend(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int dest,
		 int tag, struct opal_convertor_t *convertor, mca_pml_base_send_mode_t mode,
		 bool blocking, struct mca_mtl_request_t *request)
{
	struct mtl_mx_request *r = (struct mtl_mx_request *)request;

	(void)mtl;
	(void)blocking;
	r->kind = MTL_MX_SEND;
	int rc = post(r, comm, dest, tag, convertor, mode);

	if (rc == OMPI_SUCCESS)
		finish_if_complete(r);
	return rc;
}
