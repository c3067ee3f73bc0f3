/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The component as Open MPI sees it: parameters, and the table of operations.
 */
#include "mtl_mx_match.h"

#include "opal/mca/base/mca_base_var.h"

#include <limits.h>
#include <string.h>

static int register_parameters(void);
static int query(mca_base_module_t **module, int *priority);
static struct mca_mtl_base_module_t *init(MTL_MX_INIT_PARAMETERS);

static int nothing(void)
{
	return OMPI_SUCCESS;
}

__attribute__((visibility("default"))) mca_mtl_base_component_2_0_0_t mca_mtl_mx_component = {
    .mtl_version =
	{
	    MCA_MTL_BASE_VERSION_2_0_0,
	    .mca_component_name = "mx",
	    MCA_BASE_MAKE_VERSION(component, 0, 1, 0),
	    .mca_open_component = nothing,
	    .mca_close_component = nothing,
	    .mca_query_component = query,
	    .mca_register_component_params = register_parameters,
	},
    .mtl_data = {.param_field = MCA_BASE_METADATA_PARAM_NONE},
    .mtl_init = init,
};
#ifdef MCA_BASE_COMPONENT_INIT /* after Open MPI 5.0 */
MCA_BASE_COMPONENT_INIT(ompi, mtl, mx)
#endif

struct mtl_mx_module ompi_mtl_mx = {
    .base =
	{
	    .mtl_max_contextid = MTL_MX_CONTEXT_MAX,
	    .mtl_max_tag = INT_MAX,
	    .mtl_request_size = sizeof(struct mtl_mx_request) - sizeof(struct mca_mtl_request_t),
	    .mtl_add_procs = mtl_mx_add_procs,
	    .mtl_del_procs = mtl_mx_del_procs,
	    .mtl_finalize = mtl_mx_finalize,
	    .mtl_send = mtl_mx_send,
	    .mtl_isend = mtl_mx_isend,
	    .mtl_irecv = mtl_mx_irecv,
	    .mtl_iprobe = mtl_mx_iprobe,
	    .mtl_imrecv = mtl_mx_imrecv,
	    .mtl_improbe = mtl_mx_improbe,
	    .mtl_cancel = mtl_mx_cancel,
	    .mtl_add_comm = mtl_mx_add_comm,
	    .mtl_del_comm = mtl_mx_del_comm,
	},
};

/* An MCA parameter mtl_mx_NAME. */
static int parameter(const char *name, const char *text, int *value, int preset, int level)
{
	*value = preset;
	return mca_base_component_var_register(&mca_mtl_mx_component.mtl_version, name, text,
					       MCA_BASE_VAR_TYPE_INT, NULL, 0, 0, level,
					       MCA_BASE_VAR_SCOPE_READONLY, value) < 0
		       ? OMPI_ERROR
		       : OMPI_SUCCESS;
}

static int register_parameters(void)
{
	struct mtl_mx_module *m = &ompi_mtl_mx;
	const struct {
		const char *name, *text;
		int *value;
		int preset, level;
	} all[] = {
		{ "priority",
		  "Above 20 it is taken by itself wherever a board is up; otherwise ask for it: "
		  "--mca pml cm "
		  "--mca mtl mx",
		  &m->priority, 15, OPAL_INFO_LVL_4 },
		{ "board", "Number of the board to use; -1: any", &m->board, -1, OPAL_INFO_LVL_4 },
		{ "endpoint", "Number of the endpoint to open; -1: the lowest free one",
		  &m->endpoint_id, -1, OPAL_INFO_LVL_6 },
		{ "connect_timeout", "Milliseconds to wait for a process that does not answer",
		  &m->connect_timeout_ms, 60000, OPAL_INFO_LVL_5 },
		{ "request_timeout",
		  "Milliseconds until a message that its receiver does not acknowledge fails; 0: "
		  "the limit of MX",
		  &m->request_timeout_ms, 0, OPAL_INFO_LVL_5 },
		{ "gather_min",
		  "Data with gaps goes out of and into place when its pieces are this many bytes "
		  "long on "
		  "average, and by way of a packed copy when they are shorter",
		  &m->gather_min_bytes, 1024, OPAL_INFO_LVL_6 },
		{ "sleep_after",
		  "Where ranks yield while idle (mpi_yield_when_idle): looks in vain before a rank "
		  "sleeps until something arrives; 0: it never sleeps",
		  &m->sleep_after, 100, OPAL_INFO_LVL_6 },
		{ "verbose", "1: endpoint and peers, 2: connections", &m->verbose, 0,
		  OPAL_INFO_LVL_9 },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (parameter(all[i].name, all[i].text, all[i].value, all[i].preset,
			      all[i].level) != OMPI_SUCCESS)
			return OMPI_ERROR;
	return OMPI_SUCCESS;
}

static int query(mca_base_module_t **module, int *priority)
{
	*priority = ompi_mtl_mx.priority;
	*module = (mca_base_module_t *)&ompi_mtl_mx.base;
	return OMPI_SUCCESS;
}

/* True if objects of Open MPI are as long as those that the component was compiled with. */
static bool laid_out_alike(void)
{
	if (OBJ_CLASS(opal_mutex_t)->cls_sizeof == sizeof(opal_mutex_t) &&
	    OBJ_CLASS(opal_convertor_t)->cls_sizeof == sizeof(opal_convertor_t) &&
	    OBJ_CLASS(ompi_request_t)->cls_sizeof == sizeof(ompi_request_t) &&
	    OBJ_CLASS(ompi_communicator_t)->cls_sizeof == sizeof(ompi_communicator_t))
		return true;
	mtl_mx_complain(
		"Open MPI cannot use MX: mca_mtl_mx.so was built with the headers of another "
		"Open MPI; build it with those of this one");
	return false;
}

static struct mca_mtl_base_module_t *init(MTL_MX_INIT_PARAMETERS)
{
	(void)progress_threads;
	(void)mpi_threads; /* libmx can be called by several threads at any time */
	if (!laid_out_alike())
		return NULL;
	mtl_mx_refuse_accelerators();
	return mtl_mx_open() == OMPI_SUCCESS ? &ompi_mtl_mx.base : NULL;
}

/* True if a comma-separated list of the MCA parameter names `word`. */
static bool parameter_names(const char *parameter, const char *word)
{
	const char **value = NULL;
	int index = mca_base_var_find_by_name(parameter, &index) == OPAL_SUCCESS ? index : -1;

	if (index < 0 || mca_base_var_get_value(index, &value, NULL, NULL) != OPAL_SUCCESS ||
	    !value || !*value)
		return false;
	for (const char *at = *value; *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == strlen(word) && strncmp(at, word, strlen(word)) == 0)
			return true;
	return false;
}

bool mtl_mx_is_wanted(void)
{
	return parameter_names("mtl", "mx");
}
