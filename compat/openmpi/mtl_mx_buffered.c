/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Persistent buffered sends, in spite of pml/cm of Open MPI 4.1.
 *
 * It packs the data into the attached buffer and leaves the convertor of the request on that copy.
 * The next start packs that copy again, though it may be another message's by then. A request that
 * is started before its last message has gone is made anew, with its number of bytes as its number
 * of elements. So the convertor goes back to the program's data here, and the message goes from a
 * copy of ours: then pml/cm has finished with the request when the start returns.
 */
#include "mtl_mx_data.h"

#include <string.h>

/* The fields just before our part of a request of pml/cm that may be started again. */
struct send_fields {
	const void *data; /* the program's */
	size_t bytes;
	int32_t dest, tag;
	void *copy; /* in the attached buffer */
	bool blocking;
};

/* The fields just before its convertor. */
struct type_fields {
	struct ompi_communicator_t *comm;
	struct ompi_datatype_t *type;
};

/*
 * True if these fields lie there. Open MPI installs no declaration of them, and another release may
 * have other ones: each field that we can know must be right.
 */
static bool is_as_known(const struct mca_mtl_request_t *request, const struct type_fields *type,
			const struct send_fields *send, const struct ompi_communicator_t *comm,
			int dest, int tag, const struct mtl_mx_pieces *pieces)
{
	return request->ompi_req->req_persistent && pieces->count == 1 && !pieces->bounce &&
	       send->copy == pieces->list[0].segment_ptr && send->bytes == pieces->length &&
	       send->dest == dest && send->tag == tag && type->comm == comm && type->type;
}

bool mtl_mx_copy_buffered(struct mca_mtl_request_t *request, struct ompi_communicator_t *comm,
			  int dest, int tag, struct opal_convertor_t *convertor,
			  struct mtl_mx_pieces *pieces)
{
	const struct send_fields *send = (const struct send_fields *)(void *)request - 1;
	const struct type_fields *type = (const struct type_fields *)(void *)convertor - 1;
	size_t size = 0;

	if (!is_as_known(request, type, send, comm, dest, tag, pieces))
		return false;
	opal_datatype_type_size(&type->type->super, &size);
	if (size == 0 || send->bytes % size != 0)
		return false;
	pieces->bounce = malloc(pieces->length);
	if (!pieces->bounce)
		return false;
	memcpy(pieces->bounce, send->copy, pieces->length);
	pieces->list[0].segment_ptr = pieces->bounce;
	opal_convertor_cleanup(convertor);
	opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->type->super,
						 send->bytes / size, send->data, 0, convertor);
	return true;
}
