/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Receiving.
 */
#include "mtl_mx_data.h"
#include "mtl_mx_match.h"

int mtl_mx_irecv(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int source,
		 int tag, struct opal_convertor_t *convertor, struct mca_mtl_request_t *request)
{
	struct mtl_mx_request *r = (struct mtl_mx_request *)request;
	struct mtl_mx_pieces pieces;
	uint64_t match, mask;
	int rc = mtl_mx_pieces_to_fill(convertor, &pieces);

	(void)mtl;
	if (rc != OMPI_SUCCESS)
		return rc;
	r->kind = MTL_MX_RECEIVE;
	r->bounce = pieces.bounce;
	r->convertor = convertor;
	mtl_mx_pattern(comm, source, tag, &match, &mask);
	OPAL_THREAD_LOCK(&ompi_mtl_mx.claiming);
	mx_return_t code =
		mx_irecv(ompi_mtl_mx.endpoint, pieces.list, pieces.count, match, mask, r, &r->mx);

	OPAL_THREAD_UNLOCK(&ompi_mtl_mx.claiming);
	if (code == MX_SUCCESS)
		return OMPI_SUCCESS;
	free(pieces.bounce);
	return code == MX_NO_RESOURCES ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_ERROR;
}

void mtl_mx_finish_receive(struct mtl_mx_request *r, const mx_status_t *status)
{
	struct ompi_status_public_t *result = &r->super.ompi_req->req_status;

	if (r->bounce)
		mtl_mx_unpack(r->convertor, r->bounce, status->xfer_length);
	free(r->bounce);
	r->bounce = NULL;
	r->mx = NULL;
	result->MPI_SOURCE = mtl_mx_match_source(status->match_info);
	result->MPI_TAG = mtl_mx_match_tag(status->match_info);
	result->MPI_ERROR = mtl_mx_mpi_code(status);
	result->_ucount = status->xfer_length;
	r->super.completion_callback(&r->super);
}
