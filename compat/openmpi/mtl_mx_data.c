/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Open MPI's description of user data as MX segments.
 */
#include "mtl_mx_data.h"

#include "ompi/mca/mtl/base/mtl_base_datatype.h"

static void one_piece(struct mtl_mx_pieces *pieces, void *data, size_t bytes)
{
	pieces->length = bytes;
	pieces->count = bytes > 0;
	pieces->list[0] = (mx_segment_t){ data, (uint32_t)bytes };
}

/*
 * Data with gaps as a list, if MX takes as many pieces and they are not too short. Otherwise the
 * convertor is as it was.
 */
static bool list_pieces(struct opal_convertor_t *convertor, struct mtl_mx_pieces *pieces)
{
	struct iovec found[MX_MAX_SEGMENTS];
	uint32_t count = MX_MAX_SEGMENTS;
	size_t bytes = 0, start = 0, length;

	opal_convertor_get_packed_size(convertor, &length);
	if (length == 0 || length > UINT32_MAX || length < (size_t)ompi_mtl_mx.gather_min_bytes)
		return false;
	opal_convertor_raw(convertor, found, &count, &bytes);
	if (bytes != length || length / count < (size_t)ompi_mtl_mx.gather_min_bytes) {
		opal_convertor_set_position(convertor, &start);
		return false;
	}
	for (uint32_t i = 0; i < count; i++)
		pieces->list[i] = (mx_segment_t){ found[i].iov_base, (uint32_t)found[i].iov_len };
	pieces->count = count;
	pieces->length = length;
	pieces->bounce = NULL;
	return true;
}

/*
 * For contiguous data pml/cm prepares only what tells so, which ompi_mtl_datatype_pack knows; all
 * else of the convertor must not be looked at.
 */
static bool is_contiguous(const struct opal_convertor_t *convertor)
{
	return convertor->pDesc && !(convertor->flags & CONVERTOR_COMPLETED) &&
	       opal_datatype_is_contiguous_memory_layout(convertor->pDesc,
							 (int32_t)convertor->count);
}

int mtl_mx_pieces_to_send(struct opal_convertor_t *convertor, struct mtl_mx_pieces *pieces)
{
	void *data = NULL;
	size_t bytes = 0;
	bool packed = false;

	if (!is_contiguous(convertor) && opal_convertor_need_buffers(convertor)) {
		if (list_pieces(convertor, pieces))
			return OMPI_SUCCESS;
		opal_convertor_get_packed_size(convertor, &bytes);
		if (bytes > UINT32_MAX)
			return MPI_ERR_COUNT;
	}
	int rc = ompi_mtl_datatype_pack(convertor, &data, &bytes, &packed);

	if (rc != OMPI_SUCCESS)
		return rc;
	pieces->bounce = packed ? data : NULL;
	/* pml/cm prepares requests that are started later in full, and all but these have the
	 * offset of the type in their address already. */
	if (is_contiguous(convertor) && (convertor->flags & CONVERTOR_SEND))
		data = (char *)data + convertor->pDesc->true_lb;
	if (bytes > UINT32_MAX) {
		free(pieces->bounce);
		return MPI_ERR_COUNT;
	}
	one_piece(pieces, data, bytes);
	return OMPI_SUCCESS;
}

int mtl_mx_pieces_to_fill(struct opal_convertor_t *convertor, struct mtl_mx_pieces *pieces)
{
	void *data = NULL;
	size_t bytes = 0;
	bool allocated = false;

	if (opal_convertor_need_buffers(convertor) && list_pieces(convertor, pieces))
		return OMPI_SUCCESS;
	int rc = ompi_mtl_datatype_recv_buf(convertor, &data, &bytes, &allocated);

	if (rc != OMPI_SUCCESS)
		return rc;
	if (bytes > 0 && !data)
		return OMPI_ERR_OUT_OF_RESOURCE;
	pieces->bounce = allocated ? data : NULL;
	/* No message is longer. */
	one_piece(pieces, data, bytes < UINT32_MAX ? bytes : UINT32_MAX);
	return OMPI_SUCCESS;
}

void mtl_mx_unpack(struct opal_convertor_t *convertor, void *bounce, size_t bytes)
{
	struct iovec all = { bounce, bytes };
	uint32_t count = 1;

	if (bytes > 0)
		opal_convertor_unpack(convertor, &all, &count, &bytes);
}
