/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages to the user.
 */
#include "mtl_mx.h"

#include "opal/util/output.h"

#include <stdarg.h>
#include <stdio.h>

void mtl_mx_complain(const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	opal_output(0, "mtl mx on %s: %s", ompi_process_info.nodename, text);
}

void mtl_mx_trace(int level, const char *format, ...)
{
	char text[512];
	va_list arguments;

	if (ompi_mtl_mx.verbose < level)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	opal_output(0, "mtl mx on %s: %s", ompi_process_info.nodename, text);
}

/* The first failure only: the others of a lost peer say the same. */
static void explain(const mx_status_t *status)
{
	static bool explained;
	char host[MX_MAX_HOSTNAME_LEN] = "?";
	uint64_t nic = 0;
	uint32_t endpoint = 0;

	if (__atomic_exchange_n(&explained, true, __ATOMIC_RELAXED))
		return;
	if (mx_decompose_endpoint_addr(status->source, &nic, &endpoint) == MX_SUCCESS)
		mx_nic_id_to_hostname(nic, host);
	mtl_mx_complain(
		"communication with endpoint %u of board %s failed: %s; look at the output of the "
		"process there, and `omx_counters` on both hosts",
		endpoint, host, mx_strstatus(status->code));
}

int mtl_mx_mpi_code(const mx_status_t *status)
{
	if (status->code == MX_STATUS_SUCCESS)
		return MPI_SUCCESS;
	if (status->code == MX_STATUS_TRUNCATED)
		return MPI_ERR_TRUNCATE;
	explain(status);
#ifdef MPI_ERR_PROC_FAILED
	if (status->code == MX_STATUS_ENDPOINT_CLOSED ||
	    status->code == MX_STATUS_ENDPOINT_UNREACHABLE || status->code == MX_STATUS_BAD_SESSION)
		return MPI_ERR_PROC_FAILED;
#endif
	return MPI_ERR_OTHER;
}
