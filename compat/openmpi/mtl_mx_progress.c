/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completions: from MX to whoever waits in Open MPI.
 */
#include "mtl_mx.h"

static void finish_send(struct mtl_mx_request *r, const mx_status_t *status)
{
	/* A short receive buffer is the receiver's error, not the sender's. */
	int error = status->code == MX_STATUS_TRUNCATED ? MPI_SUCCESS : mtl_mx_mpi_code(status);

	free(r->bounce);
	r->bounce = NULL;
	if (r->kind == MTL_MX_OWN_SEND) {
		free(r); /* of an error the user has been told */
		return;
	}
	if (r->kind == MTL_MX_BLOCKING_SEND) {
		r->error = error;
		__atomic_store_n(&r->done, true,
				 __ATOMIC_RELEASE); /* and the sender's stack frame is gone */
		return;
	}
	r->super.ompi_req->req_status.MPI_ERROR = error;
	r->super.completion_callback(&r->super);
}

void mtl_mx_finish(struct mtl_mx_request *r, const mx_status_t *status)
{
	switch (r->kind) {
	case MTL_MX_SEND:
	case MTL_MX_BLOCKING_SEND:
	case MTL_MX_OWN_SEND:
		finish_send(r, status);
		break;
	case MTL_MX_RECEIVE:
		mtl_mx_finish_receive(r, status);
		break;
	case MTL_MX_CLAIM:
		mtl_mx_finish_claim(r, status);
		break;
	}
}

/* Other callbacks of opal_progress are kept waiting no longer than this. */
#define SLEEP_MS 1

/*
 * One completion at a time: to ask whether there are more costs whom this one concerns more than it
 * costs the others to be called again.
 */
int mtl_mx_progress(void)
{
	mx_status_t status;
	uint32_t complete = 0;

	mtl_mx_looks_again();
	mx_test_any(ompi_mtl_mx.endpoint, 0, 0, &status, &complete);
	if (!complete && mtl_mx_may_sleep())
		mx_wait_any(ompi_mtl_mx.endpoint, SLEEP_MS, 0, 0, &status, &complete);
	if (!complete)
		return 0;
	mtl_mx_finish(status.context, &status);
	mtl_mx_was_busy();
	return 1;
}
