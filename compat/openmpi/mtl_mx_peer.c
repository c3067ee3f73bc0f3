/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The other processes: looked up and connected when something is first sent to them, so that a job
 * of a thousand processes starts without a million connections.
 */
#include "mtl_mx_match.h"

#include "opal/sys/atomic.h"
#include "opal/util/proc.h"

#include <inttypes.h>
#include <string.h>

/* Reads the contact that another process published; false after a message. */
static bool find_contact(struct ompi_proc_t *proc, struct mtl_mx_contact *contact)
{
	const char *host = opal_get_proc_hostname(&proc->super);
	struct mtl_mx_contact *found = NULL;
	size_t size = 0;
	int rc;

	OPAL_MODEX_RECV(rc, &mca_mtl_mx_component.mtl_version, &proc->super.proc_name,
			(void **)&found, &size);
	if (rc != OPAL_SUCCESS || !found) {
		mtl_mx_complain(
			"process %s on host %s does not use MX: a board must be up there "
			"(`omx_info`) and "
			"mca_mtl_mx.so installed, or run the job without --mca pml cm --mca mtl mx",
			OMPI_NAME_PRINT(&proc->super.proc_name), host);
		return false;
	}
	bool same = size == sizeof(*found) && found->layout == MTL_MX_LAYOUT;

	if (same)
		*contact = *found;
	else
		mtl_mx_complain("host %s has another version of mca_mtl_mx.so: install the same "
				"one on all hosts",
				host);
	free(found);
	return same;
}

/* Boards of different dialects exchange short messages and lose long ones; false after a message.
 */
static bool understands(struct ompi_proc_t *proc, const struct mtl_mx_contact *peer)
{
	struct mtl_mx_contact own;

	if (mtl_mx_own_contact(&own) != OMPI_SUCCESS || strcmp(own.dialect, peer->dialect) == 0)
		return true;
	mtl_mx_complain("the board of host %s speaks %s, this one %s: give all boards of a network "
			"the same dialect (EMX_BOARDS, or boards in ethermx.conf)",
			opal_get_proc_hostname(&proc->super), peer->dialect, own.dialect);
	return false;
}

/* Names the remedy for a connect that failed. */
static const char *remedy(mx_return_t code)
{
	switch (code) {
	case MX_NIC_NOT_FOUND:
		return "its board is not in this host's table of peers: add it to the peers file, "
		       "or run "
		       "without "
		       "one";
	case MX_CONNECTION_FAILED:
	case MX_TIMEOUT:
		return "`omx_info` on both hosts shows whether boards are up, on one network, and "
		       "of one "
		       "dialect";
	default:
		return "the process may have ended: look at its output";
	}
}

static struct mtl_mx_peer *connect_now(struct ompi_proc_t *proc)
{
	struct mtl_mx_contact contact;
	struct mtl_mx_peer *peer = malloc(sizeof(*peer));

	if (!peer || !find_contact(proc, &contact) || !understands(proc, &contact)) {
		free(peer);
		return NULL;
	}
	mx_return_t code =
		mx_connect(ompi_mtl_mx.endpoint, contact.nic_id, contact.endpoint_id, MTL_MX_KEY,
			   (uint32_t)ompi_mtl_mx.connect_timeout_ms, &peer->address);

	if (code == MX_SUCCESS) {
		mtl_mx_trace(2, "connected to %s", OMPI_NAME_PRINT(&proc->super.proc_name));
		return peer;
	}
	mtl_mx_complain("cannot connect to endpoint %" PRIu32 " of board %012" PRIx64
			" on host %s: %s; %s",
			contact.endpoint_id, contact.nic_id, opal_get_proc_hostname(&proc->super),
			mx_strerror(code), remedy(code));
	free(peer);
	return NULL;
}

struct mtl_mx_peer *mtl_mx_connect(struct ompi_proc_t *proc)
{
	struct mtl_mx_peer *peer;

	OPAL_THREAD_LOCK(&ompi_mtl_mx.connecting);
	peer = proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_MTL];
	if (!peer) {
		peer = connect_now(proc);
		opal_atomic_wmb(); /* other threads look at the pointer without the lock */
		proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_MTL] = peer;
	}
	OPAL_THREAD_UNLOCK(&ompi_mtl_mx.connecting);
	return peer;
}

int mtl_mx_add_procs(struct mca_mtl_base_module_t *mtl, size_t count, struct ompi_proc_t **procs)
{
	(void)mtl;
	(void)count;
	(void)procs;
	return OMPI_SUCCESS;
}

/* Does not disconnect: that would give up what is not acknowledged yet. */
int mtl_mx_del_procs(struct mca_mtl_base_module_t *mtl, size_t count, struct ompi_proc_t **procs)
{
	(void)mtl;
	for (size_t i = 0; i < count; i++) {
		free(procs[i]->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_MTL]);
		procs[i]->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_MTL] = NULL;
	}
	return OMPI_SUCCESS;
}

int mtl_mx_add_comm(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm)
{
	(void)mtl;
	if (ompi_comm_size(comm) <= MTL_MX_RANKS_MAX &&
	    ompi_comm_remote_size(comm) <= MTL_MX_RANKS_MAX &&
	    mtl_mx_context_id(comm) <= MTL_MX_CONTEXT_MAX)
		return OMPI_SUCCESS;
	mtl_mx_complain("a communicator of more than %d processes, or one more than %d "
			"communicators: use another "
			"transport",
			MTL_MX_RANKS_MAX, MTL_MX_CONTEXT_MAX);
	return OMPI_ERR_NOT_SUPPORTED;
}

int mtl_mx_del_comm(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm)
{
	(void)mtl;
	(void)comm;
	return OMPI_SUCCESS;
}
