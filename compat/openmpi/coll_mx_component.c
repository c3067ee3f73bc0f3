/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * coll/mx as Open MPI sees it: parameters, and whether it is wanted.
 */
#include "coll_mx.h"

#include "opal/mca/base/mca_base_var.h"

static int nothing(void)
{
	return OMPI_SUCCESS;
}

static int register_parameters(void);

static int init_query(bool progress_threads, bool mpi_threads)
{
	(void)progress_threads;
	(void)mpi_threads;
	return mca_coll_mx_component.enable ? OMPI_SUCCESS : OMPI_ERR_NOT_AVAILABLE;
}

__attribute__((visibility("default"))) struct coll_mx_component mca_coll_mx_component = {
    .super =
	{
	    .collm_version =
		{
		    COLL_MX_BASE_VERSION,
		    .mca_component_name = "mx",
		    MCA_BASE_MAKE_VERSION(component, 0, 1, 0),
		    .mca_open_component = nothing,
		    .mca_close_component = nothing,
		    .mca_register_component_params = register_parameters,
		},
	    .collm_data = {.param_field = MCA_BASE_METADATA_PARAM_NONE},
	    .collm_init_query = init_query,
	    .collm_comm_query = coll_mx_query,
	},
};
#ifdef MCA_BASE_COMPONENT_INIT /* after Open MPI 5.0 */
MCA_BASE_COMPONENT_INIT(ompi, coll, mx)
#endif

/* An MCA parameter coll_mx_NAME. */
static int parameter(const char *name, const char *text, int *value, int preset, int level)
{
	*value = preset;
	return mca_base_component_var_register(&mca_coll_mx_component.super.collm_version, name,
					       text, MCA_BASE_VAR_TYPE_INT, NULL, 0, 0, level,
					       MCA_BASE_VAR_SCOPE_READONLY, value) < 0
		       ? OMPI_ERROR
		       : OMPI_SUCCESS;
}

static int register_parameters(void)
{
	struct coll_mx_component *c = &mca_coll_mx_component;
	const struct {
		const char *name, *text;
		int *value;
		int preset, level;
	} all[] = {
		{ "enable",
		  "1: broadcasts and barriers by one Ethernet frame for all hosts, on "
		  "communicators of "
		  "2 to 64 ranks on 2 to 8 hosts",
		  &c->enable, 0, OPAL_INFO_LVL_3 },
		{ "priority",
		  "Above those of Open MPI's own (tuned: 30) it is taken where it can serve",
		  &c->priority, 60, OPAL_INFO_LVL_6 },
		{ "board", "Board of its endpoint; -1: any", &c->board, -1, OPAL_INFO_LVL_6 },
		{ "bytes_max", "Longer broadcasts go to Open MPI's own trees", &c->bytes_max,
		  1 << 20, OPAL_INFO_LVL_6 },
		{ "allreduce", "1: allreduce is a reduce and a broadcast; 0: Open MPI's own",
		  &c->allreduce, 1, OPAL_INFO_LVL_6 },
		{ "connect_timeout", "Milliseconds to wait for a rank that does not answer",
		  &c->connect_timeout_ms, 60000, OPAL_INFO_LVL_6 },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (parameter(all[i].name, all[i].text, all[i].value, all[i].preset,
			      all[i].level) != OMPI_SUCCESS)
			return OMPI_ERROR;
	return OMPI_SUCCESS;
}
