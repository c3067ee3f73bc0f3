/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completions: from MX to whoever waits in Open MPI.
 */
#include "mtl_mx.h"

/* At most so many in one go, so that other callbacks of opal_progress get their turn. */
#define COMPLETIONS_MAX 64

static void finish_send(struct mtl_mx_request *r, const mx_status_t *status)
{
	/* That the receiver's buffer was short is the receiver's error. */
	int error = status->code == MX_STATUS_TRUNCATED ? MPI_SUCCESS : mtl_mx_mpi_code(status);

	free(r->bounce);
	r->bounce = NULL;
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

int mtl_mx_progress(void)
{
	int count = 0;

	while (count < COMPLETIONS_MAX) {
		mx_status_t status;
		uint32_t complete = 0;

		mx_test_any(ompi_mtl_mx.endpoint, 0, 0, &status, &complete);
		if (!complete && count == 0 && mtl_mx_may_sleep())
			mx_wait_any(ompi_mtl_mx.endpoint, SLEEP_MS, 0, 0, &status, &complete);
		if (!complete)
			break;
		mtl_mx_finish(status.context, &status);
		count++;
	}
	if (count)
		mtl_mx_was_busy();
	return count;
}
