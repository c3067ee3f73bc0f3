/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The endpoint of this process: opened and made known at the start, closed at the end.
 */
#include "mtl_mx.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The text that MX gave last while starting: it says more than the code. */
static char reason[512];

static mx_return_t remember(char *text, mx_return_t code)
{
	snprintf(reason, sizeof(reason), "%s", text);
	return code;
}

/* Says why this host cannot use MX, if anybody wants to know; MX's texts name the remedy. */
static int refuse(mx_return_t code)
{
	const char *why = reason[0] ? reason : mx_strerror(code);

	/* The first process of a host reports what is true of the host; an endpoint lacks the one
	 * alone. */
	if (mtl_mx_is_wanted() && (MTL_MX_LOCAL_RANK == 0 || code == MX_BUSY))
		mtl_mx_complain("Open MPI cannot use MX: %s", why);
	else
		mtl_mx_trace(1, "not used: %s", why);
	return OMPI_ERR_NOT_AVAILABLE;
}

static int start_mx(void)
{
	/* Codes come back to this component; the default would end the process. */
	mx_set_error_handler(remember);
	mtl_mx_prepare_idle();
	mx_return_t code = mx_init();

	ompi_mtl_mx.initialized_mx = code == MX_SUCCESS;
	return code == MX_SUCCESS || code == MX_ALREADY_INITIALIZED ? OMPI_SUCCESS : refuse(code);
}

static int open_endpoint(void)
{
	struct mtl_mx_module *m = &ompi_mtl_mx;
	uint32_t board = m->board < 0 ? MX_ANY_NIC : (uint32_t)m->board;
	uint32_t number = m->endpoint_id < 0 ? MX_ANY_ENDPOINT : (uint32_t)m->endpoint_id;
	mx_return_t code = mx_open_endpoint(board, number, MTL_MX_KEY, NULL, 0, &m->endpoint);

	return code == MX_SUCCESS ? OMPI_SUCCESS : refuse(code);
}

int mtl_mx_own_contact(struct mtl_mx_contact *contact)
{
	mx_endpoint_addr_t address;
	char text[MX_MAX_STR_LEN] = "";

	memset(contact, 0, sizeof(*contact));
	contact->layout = MTL_MX_LAYOUT;
	if (mx_get_endpoint_addr(ompi_mtl_mx.endpoint, &address) != MX_SUCCESS ||
	    mx_decompose_endpoint_addr(address, &contact->nic_id, &contact->endpoint_id) !=
		    MX_SUCCESS)
		return OMPI_ERROR;
	if (mx_get_info(ompi_mtl_mx.endpoint, MX_PART_NUMBER, NULL, 0, text, sizeof(text)) ==
	    MX_SUCCESS)
		snprintf(contact->dialect, sizeof(contact->dialect), "%.*s",
			 (int)sizeof(contact->dialect) - 1, text);
	return OMPI_SUCCESS;
}

static int publish(void)
{
	struct mtl_mx_contact contact;
	int rc = OMPI_ERROR;

	if (mtl_mx_own_contact(&contact) != OMPI_SUCCESS)
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
		mx_set_error_handler(MX_ERRORS_RETURN);
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
