/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * MPI matching as MX's 64 match bits: context id (16) | rank of the sender (16) | tag with its sign
 * (32).
 *
 * A communicator beyond either 16 bits is refused when it is made (mtl_mx_add_comm,
 * mtl_max_contextid).
 */
#ifndef MTL_MX_MATCH_H
#define MTL_MX_MATCH_H

#include "mtl_mx.h"

#define MTL_MX_CONTEXT_MAX 0xffff
#define MTL_MX_RANKS_MAX 0x10000

#define MTL_MX_CONTEXT_MASK 0xffff000000000000ULL
#define MTL_MX_SOURCE_MASK 0x0000ffff00000000ULL
#define MTL_MX_TAG_MASK 0x00000000ffffffffULL
/* A wildcard matches no negative tag, which are those of collectives. */
#define MTL_MX_TAG_SIGN 0x0000000080000000ULL

static inline uint64_t mtl_mx_match(uint32_t context, int source, int tag)
{
	return (uint64_t)context << 48 | (uint64_t)(uint16_t)source << 32 | (uint32_t)tag;
}

static inline int mtl_mx_match_source(uint64_t match)
{
	return (int)(match >> 32 & 0xffff);
}

static inline int mtl_mx_match_tag(uint64_t match)
{
	return (int)(int32_t)(uint32_t)match;
}

/* The pattern that a receive or probe looks for; source and tag may be wildcards. */
static inline void mtl_mx_pattern(struct ompi_communicator_t *comm, int source, int tag,
				  uint64_t *match, uint64_t *mask)
{
	*mask = MTL_MX_CONTEXT_MASK;
	*mask |= source == MPI_ANY_SOURCE ? 0 : MTL_MX_SOURCE_MASK;
	*mask |= tag == MPI_ANY_TAG ? MTL_MX_TAG_SIGN : MTL_MX_TAG_MASK;
	*match =
		mtl_mx_match(mtl_mx_context_id(comm), source, tag == MPI_ANY_TAG ? 0 : tag) & *mask;
}

#endif
