/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Cancelling: receives that nothing has matched. A send cannot be cancelled, which MPI allows.
 */
#include "mtl_mx.h"

int mtl_mx_cancel(struct mca_mtl_base_module_t *mtl, struct mca_mtl_request_t *request, int flag)
{
	struct mtl_mx_request *r = (struct mtl_mx_request *)request;
	uint32_t cancelled = 0;

	(void)mtl;
	(void)flag;
	if (r->kind != MTL_MX_RECEIVE || !r->mx)
		return OMPI_SUCCESS;
	mx_cancel(ompi_mtl_mx.endpoint, &r->mx, &cancelled);
	if (!cancelled)
		return OMPI_SUCCESS; /* matched: it completes as any receive */
	free(r->bounce);
	r->bounce = NULL;
	r->mx = NULL;
	request->ompi_req->req_status._cancelled = true;
	request->completion_callback(request);
	return OMPI_SUCCESS;
}
