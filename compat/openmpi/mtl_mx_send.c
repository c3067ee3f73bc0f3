/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sending: MPI's modes as mx_isend and mx_issend.
 */
#include "mtl_mx_data.h"
#include "mtl_mx_match.h"

#include <string.h>

/* Gives the pieces to MX, for r. An OMPI code; after a failure nothing will be reported. */
static int give(struct mtl_mx_request *r, struct mtl_mx_pieces *pieces,
		const struct mtl_mx_peer *peer, uint64_t match, mca_pml_base_send_mode_t mode)
{
	mx_return_t code;

	r->bounce = pieces->bounce;
	r->done = false;
	if (mode == MCA_PML_BASE_SEND_SYNCHRONOUS)
		code = mx_issend(ompi_mtl_mx.endpoint, pieces->list, pieces->count, peer->address,
				 match, r, &r->mx);
	else
		code = mx_isend(ompi_mtl_mx.endpoint, pieces->list, pieces->count, peer->address,
				match, r, &r->mx);
	if (code == MX_SUCCESS)
		return OMPI_SUCCESS;
	free(pieces->bounce);
	return code == MX_NO_RESOURCES ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_ERROR;
}

static uint64_t match_of(struct ompi_communicator_t *comm, int tag)
{
	return mtl_mx_match(mtl_mx_context_id(comm), ompi_comm_rank(comm), tag);
}

/* Lists the message and gives it to MX; r->kind is set. An OMPI or MPI code, as give(). */
static int post(struct mtl_mx_request *r, struct ompi_communicator_t *comm, int dest, int tag,
		struct opal_convertor_t *convertor, mca_pml_base_send_mode_t mode)
{
	struct mtl_mx_peer *peer = mtl_mx_peer(comm, dest);
	struct mtl_mx_pieces pieces;
	int rc;

	if (!peer)
		return OMPI_ERR_UNREACH;
	rc = mtl_mx_pieces_to_send(convertor, &pieces);
	return rc == OMPI_SUCCESS ? give(r, &pieces, peer, match_of(comm, tag), mode) : rc;
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

/* Moves a message that leaves from the caller's memory to a copy of ours. */
static bool copy_for_threads(struct mtl_mx_pieces *pieces)
{
	char *to;

	if (pieces->bounce)
		return true;
	to = malloc(pieces->length ? pieces->length : 1);
	if (!to)
		return false;
	pieces->bounce = to;
	for (uint32_t i = 0; i < pieces->count; i++) {
		const mx_segment_t *piece = &pieces->list[i];

		memcpy(to, piece->segment_ptr, piece->segment_length);
		to += piece->segment_length;
	}
	pieces->count = pieces->length > 0;
	pieces->list[0] = (mx_segment_t){ pieces->bounce, (uint32_t)pieces->length };
	return true;
}

/*
 * Sends a copy in a request of ours, and completes r before it returns. An OMPI code, with the
 * pieces' copy released on failure.
 */
static int send_copy(struct mtl_mx_request *r, struct mtl_mx_pieces *pieces,
		     const struct mtl_mx_peer *peer, uint64_t match)
{
	struct mtl_mx_request *own = malloc(sizeof(*own));
	int rc;

	if (!own) {
		free(pieces->bounce);
		return OMPI_ERR_OUT_OF_RESOURCE;
	}
	*own = (struct mtl_mx_request){ .kind = MTL_MX_OWN_SEND };
	rc = give(own, pieces, peer, match, MCA_PML_BASE_SEND_BUFFERED);
	if (rc != OMPI_SUCCESS) {
		free(own);
		return rc;
	}
	r->super.ompi_req->req_status.MPI_ERROR = MPI_SUCCESS;
	r->super.completion_callback(&r->super);
	return OMPI_SUCCESS;
}

/*
 * A buffered send, in a request that may be started again. pml/cm completes such a request behind
 * this call, and a thread that sees the message gone meanwhile would complete it a second time:
 * with several threads the message goes from a copy, and the request is complete on return.
 */
static int post_buffered(struct mtl_mx_request *r, struct ompi_communicator_t *comm, int dest,
			 int tag, struct opal_convertor_t *convertor)
{
	struct mtl_mx_peer *peer = mtl_mx_peer(comm, dest);
	struct mtl_mx_pieces pieces;
	uint64_t match = match_of(comm, tag);
	int rc;

	if (!peer)
		return OMPI_ERR_UNREACH;
	rc = mtl_mx_pieces_to_send(convertor, &pieces);
	if (rc != OMPI_SUCCESS)
		return rc;
	if (mtl_mx_copy_buffered(&r->super, comm, dest, tag, convertor, &pieces))
		return send_copy(r, &pieces, peer, match);
	if (opal_using_threads())
		return copy_for_threads(&pieces) ? send_copy(r, &pieces, peer, match)
						 : OMPI_ERR_OUT_OF_RESOURCE;
	rc = give(r, &pieces, peer, match, MCA_PML_BASE_SEND_BUFFERED);
	if (rc == OMPI_SUCCESS)
		finish_if_complete(r);
	return rc;
}

int mtl_mx_isend(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int dest,
		 int tag, struct opal_convertor_t *convertor, mca_pml_base_send_mode_t mode,
		 bool blocking, struct mca_mtl_request_t *request)
{
	struct mtl_mx_request *r = (struct mtl_mx_request *)request;

	(void)mtl;
	(void)blocking;
	r->kind = MTL_MX_SEND;
	if (OPAL_UNLIKELY(mode == MCA_PML_BASE_SEND_BUFFERED))
		return post_buffered(r, comm, dest, tag, convertor);
	int rc = post(r, comm, dest, tag, convertor, mode);

	if (rc == OMPI_SUCCESS)
		finish_if_complete(r);
	return rc;
}
