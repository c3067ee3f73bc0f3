/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Probing, and matched probes: MX has none, so a found message is claimed by receiving it into
 * memory of ours at once, from where MPI_Mrecv takes it.
 */
#include "mtl_mx_data.h"
#include "mtl_mx_match.h"

#include "ompi/mca/mtl/base/mtl_base_datatype.h"

#include <string.h>

/* A message between MPI_Mprobe and MPI_Mrecv. */
struct claim {
	struct mtl_mx_request r; /* of the receive into `data`; r.done once that is complete */
	mx_status_t status;
	struct mtl_mx_request *taker; /* who waits for `data`; NULL: MPI_Mrecv was not called yet */
	void *target; /* of the taker */
	size_t room;
	char data[];
};

/* MPI_ERROR of a status is set by calls for several requests alone. */
static void fill_status(struct ompi_status_public_t *status, const mx_status_t *found)
{
	if (status == MPI_STATUS_IGNORE)
		return;
	status->MPI_SOURCE = mtl_mx_match_source(found->match_info);
	status->MPI_TAG = mtl_mx_match_tag(found->match_info);
	status->_ucount = found->msg_length;
	status->_cancelled = 0;
}

int mtl_mx_iprobe(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int source,
		  int tag, int *flag, struct ompi_status_public_t *status)
{
	uint64_t match, mask;
	mx_status_t found;
	uint32_t result = 0;

	(void)mtl;
	mtl_mx_pattern(comm, source, tag, &match, &mask);
	if (mx_iprobe(ompi_mtl_mx.endpoint, match, mask, &found, &result) != MX_SUCCESS)
		return OMPI_ERROR;
	*flag = result != 0;
	if (result)
		fill_status(status, &found);
	return OMPI_SUCCESS;
}

/* Receives the message that a probe has found; the lock is held. NULL: no memory. */
static struct claim *claim_found(const mx_status_t *found)
{
	struct claim *c = malloc(sizeof(*c) + found->msg_length);
	mx_segment_t whole;

	if (!c)
		return NULL;
	memset(c, 0, sizeof(*c));
	c->r.kind = MTL_MX_CLAIM;
	whole = (mx_segment_t){ c->data, found->msg_length };
	if (mx_irecv(ompi_mtl_mx.endpoint, &whole, 1, found->match_info, ~UINT64_C(0), c,
		     &c->r.mx) == MX_SUCCESS)
		return c;
	free(c);
	return NULL;
}

int mtl_mx_improbe(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int source,
		   int tag, int *matched, struct ompi_message_t **message,
		   struct ompi_status_public_t *status)
{
	uint64_t match, mask;
	mx_status_t found;
	uint32_t result = 0;
	struct claim *claim = NULL;

	(void)mtl;
	*matched = 0;
	mtl_mx_pattern(comm, source, tag, &match, &mask);
	/* Asking in vain makes progress and yields: with the lock held, all other threads would
	 * starve. */
	mx_return_t code = mx_iprobe(ompi_mtl_mx.endpoint, match, mask, &found, &result);

	if (code == MX_SUCCESS && result) {
		OPAL_THREAD_LOCK(&ompi_mtl_mx.claiming);
		code = mx_iprobe(ompi_mtl_mx.endpoint, match, mask, &found, &result);
		if (code == MX_SUCCESS && result)
			claim = claim_found(&found);
		OPAL_THREAD_UNLOCK(&ompi_mtl_mx.claiming);
	}
	if (code != MX_SUCCESS)
		return OMPI_ERROR;
	if (!result)
		return OMPI_SUCCESS;
	*message = claim ? ompi_message_alloc() : NULL;
	if (!*message)
		return OMPI_ERR_OUT_OF_RESOURCE;
	(*message)->comm = comm;
	(*message)->req_ptr = claim;
	(*message)->peer = mtl_mx_match_source(found.match_info);
	(*message)->count = found.msg_length;
	fill_status(status, &found);
	*matched = 1;
	return OMPI_SUCCESS;
}

/* Both sides are there: the taker gets the data. */
static void hand_over(struct claim *c)
{
	size_t bytes = c->status.xfer_length < c->room ? c->status.xfer_length : c->room;

	if (bytes > 0)
		memcpy(c->target, c->data, bytes);
	if (c->status.code == MX_STATUS_SUCCESS && bytes < c->status.msg_length)
		c->status.code = MX_STATUS_TRUNCATED;
	c->status.xfer_length = (uint32_t)bytes;
	mtl_mx_finish_receive(c->taker, &c->status);
	free(c);
}

void mtl_mx_finish_claim(struct mtl_mx_request *r, const mx_status_t *status)
{
	struct claim *c = (struct claim *)r;

	OPAL_THREAD_LOCK(&ompi_mtl_mx.claiming);
	c->status = *status;
	c->r.done = true;
	bool awaited = c->taker != NULL;

	OPAL_THREAD_UNLOCK(&ompi_mtl_mx.claiming);
	if (awaited)
		hand_over(c);
}

int mtl_mx_imrecv(struct mca_mtl_base_module_t *mtl, struct opal_convertor_t *convertor,
		  struct ompi_message_t **message, struct mca_mtl_request_t *request)
{
	struct mtl_mx_request *r = (struct mtl_mx_request *)request;
	struct claim *c = (*message)->req_ptr;
	bool allocated = false;
	int rc = ompi_mtl_datatype_recv_buf(convertor, &c->target, &c->room, &allocated);

	(void)mtl;
	if (rc != OMPI_SUCCESS || (c->room > 0 && !c->target))
		return OMPI_ERR_OUT_OF_RESOURCE;
	r->kind = MTL_MX_RECEIVE;
	r->mx = NULL; /* nothing that could be cancelled */
	r->convertor = convertor;
	r->bounce = allocated ? c->target : NULL;
	ompi_message_return(*message);
	*message = MPI_MESSAGE_NULL;
	OPAL_THREAD_LOCK(&ompi_mtl_mx.claiming);
	c->taker = r;
	bool here = c->r.done;

	OPAL_THREAD_UNLOCK(&ompi_mtl_mx.claiming);
	if (here)
		hand_over(c);
	return OMPI_SUCCESS;
}
