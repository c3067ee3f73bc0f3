/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where the data of a message lies: the user's memory as one piece or a list of pieces, or a packed
 * copy.
 */
#ifndef MTL_MX_DATA_H
#define MTL_MX_DATA_H

#include "mtl_mx.h"

struct mtl_mx_pieces {
	size_t length; /* of the message, or room for it; bytes */
	void *bounce; /* the packed copy, to be freed by the caller; NULL: there is none */
	uint32_t count;
	mx_segment_t list[MX_MAX_SEGMENTS];
};

/*
 * Lists what is to be sent, packing it where its pieces are short. 0 or an OMPI or MPI code:
 * MPI_ERR_COUNT when the message is longer than MX messages are.
 */
int mtl_mx_pieces_to_send(struct opal_convertor_t *convertor, struct mtl_mx_pieces *pieces);

/* Lists where received bytes go; a bounce has to be unpacked afterwards (mtl_mx_unpack). */
int mtl_mx_pieces_to_fill(struct opal_convertor_t *convertor, struct mtl_mx_pieces *pieces);

/*
 * mtl_mx_buffered.c: of a buffered send that may be started again, has the pieces be a copy of
 * ours, and the convertor be as it was before pml/cm packed the data. False when it may not, or is
 * not what we know of it: all is as it was.
 */
bool mtl_mx_copy_buffered(struct mca_mtl_request_t *request, struct ompi_communicator_t *comm,
			  int dest, int tag, struct opal_convertor_t *convertor,
			  struct mtl_mx_pieces *pieces);

/* Puts packed bytes into place. */
void mtl_mx_unpack(struct opal_convertor_t *convertor, void *bounce, size_t bytes);

#endif
