/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The endpoint of this process: opened and made known at the start, closed at the end.
 */
#include "mtl_mx.h"

#include <inttypes.h>

/* Says why this host cannot use MX, if anybody wants to know. */
static int refuse(const char *doing, mx_return_t code, const char *remedy)
{
	/* What is true of a host, the first process there says for all; an endpoint lacks the one
	 * alone. */
	if (mtl_mx_is_wanted() && (MTL_MX_LOCAL_RANK == 0 || code == MX_BUSY))
		mtl_mx_complain("Open MPI cannot use MX: %s: %s. %s", doing, mx_strerror(code),
				remedy);
	else
		mtl_mx_trace(1, "not used: %s: %s", doing, mx_strerror(code));
	return OMPI_ERR_NOT_AVAILABLE;
}

static int start_mx(void)
{
	/* Codes come back to this component; the default would end the process. */
	mx_set_error_handler(MX_ERRORS_RETURN);
	mx_return_t code = mx_init();

	ompi_mtl_mx.initialized_mx = code == MX_SUCCESS;
	if (code == MX_SUCCESS || code == MX_ALREADY_INITIALIZED)
		return OMPI_SUCCESS;
	if (code == MX_BAD_LIB_VERSION)
		return refuse("starting", code,
			      "mca_mtl_mx.so was built for another libmyriexpress: install both "
			      "from one version");
	return refuse("starting", code, "`omx_info` on that host says what is missing");
}

static int open_endpoint(void)
{
	struct mtl_mx_module *m = &ompi_mtl_mx;
	uint32_t board = m->board < 0 ? MX_ANY_NIC : (uint32_t)m->board;
	uint32_t number = m->endpoint_id < 0 ? MX_ANY_ENDPOINT : (uint32_t)m->endpoint_id;
	mx_return_t code = mx_open_endpoint(board, number, MTL_MX_KEY, NULL, 0, &m->endpoint);

	if (code == MX_SUCCESS)
		return OMPI_SUCCESS;
	if (code == MX_BUSY)
		return refuse("opening an endpoint", code,
			      "All are taken: fewer processes on the host, or the one of "
			      "mtl_mx_endpoint is in use; `omx_endpoint_info` names the owners");
	return refuse("opening an endpoint", code, "`omx_info` on that host lists its boards");
}

static int publish(void)
{
	mx_endpoint_addr_t address;
	struct mtl_mx_contact contact = { .layout = MTL_MX_LAYOUT };
	int rc = OMPI_ERROR;

	if (mx_get_endpoint_addr(ompi_mtl_mx.endpoint, &address) != MX_SUCCESS ||
	    mx_decompose_endpoint_addr(address, &contact.nic_id, &contact.endpoint_id) !=
		    MX_SUCCESS)
		return OMPI_ERROR;
	OPAL_MODEX_SEND(rc, MTL_MX_PUBLISH_SCOPE, &mca_mtl_mx_component.mtl_version, &contact,
			sizeof(contact));
	mtl_mx_trace(1, "endpoint %" PRIu32 " of board %012" PRIx64, contact.endpoint_id,
		     contact.nic_id);
	return rc;
}

static void close_endpoint(void)
{
	mx_close_endpoint(ompi_mtl_mx.endpoint);
	ompi_mtl_mx.endpoint = NULL;
}

int mtl_mx_open(void)
{
	struct mtl_mx_module *m = &ompi_mtl_mx;

	if (start_mx() != OMPI_SUCCESS)
		return OMPI_ERR_NOT_AVAILABLE;
	if (open_endpoint() == OMPI_SUCCESS) {
		if (publish() == OMPI_SUCCESS) {
			if (m->request_timeout_ms > 0)
				mx_set_request_timeout(m->endpoint, NULL,
						       (uint32_t)m->request_timeout_ms);
			OBJ_CONSTRUCT(&m->connecting, opal_mutex_t);
			OBJ_CONSTRUCT(&m->claiming, opal_mutex_t);
			return opal_progress_register(mtl_mx_progress);
		}
		close_endpoint();
	}
	if (m->initialized_mx)
		mx_finalize();
	return OMPI_ERR_NOT_AVAILABLE;
}

int mtl_mx_finalize(struct mca_mtl_base_module_t *mtl)
{
	(void)mtl;
	opal_progress_unregister(mtl_mx_progress);
	/* Waits for the acknowledgements of what was sent. */
	close_endpoint();
	if (ompi_mtl_mx.initialized_mx)
		mx_finalize();
	OBJ_DESTRUCT(&ompi_mtl_mx.connecting);
	OBJ_DESTRUCT(&ompi_mtl_mx.claiming);
	return OMPI_SUCCESS;
}
