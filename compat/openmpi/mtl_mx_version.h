/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where Open MPI 5 differs from Open MPI 4 for these components.
 */
#ifndef MTL_MX_VERSION_H
#define MTL_MX_VERSION_H

#include "ompi_config.h"

#include <stddef.h>

#include "ompi/constants.h"

#if OMPI_MAJOR_VERSION >= 5
#include "ompi/runtime/ompi_rte.h"
#include "opal/mca/pmix/pmix-internal.h"
#include "opal/mca/threads/mutex.h"
#define MTL_MX_PUBLISH_SCOPE PMIX_GLOBAL
#define MTL_MX_LOCAL_RANK (opal_process_info.my_local_rank)
#define mtl_mx_context_id(comm) ((uint32_t)(comm)->c_index)
#define MTL_MX_INIT_PARAMETERS bool progress_threads, bool mpi_threads, bool *accelerators
#define mtl_mx_refuse_accelerators() (*accelerators = false)
#define COLL_MX_BASE_VERSION MCA_COLL_BASE_VERSION_2_4_0
#else
#include "ompi/mca/rte/rte.h"
#include "opal/mca/pmix/pmix.h"
#include "opal/threads/mutex.h"
#define MTL_MX_PUBLISH_SCOPE OPAL_PMIX_GLOBAL
#define MTL_MX_LOCAL_RANK (ompi_process_info.my_local_rank)
#define mtl_mx_context_id(comm) ((uint32_t)(comm)->c_contextid)
#define MTL_MX_INIT_PARAMETERS bool progress_threads, bool mpi_threads
#define mtl_mx_refuse_accelerators() ((void)0)
#define COLL_MX_BASE_VERSION MCA_COLL_BASE_VERSION_2_0_0
#endif

#endif
