/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The MX MTL: Open MPI's messages as MX messages, one MX endpoint per process. Open MPI's pml/cm
 * calls the operations below (ompi/mca/mtl/mtl.h says what each must do); MX matches, so that
 * nothing is queued here.
 *
 * Threads: libmx may be called by several at a time. What this component adds of its own: peers are
 * published once (mtl_mx_peer.c), and a claim is a probe and a receive that nobody may part
 * (mtl_mx_probe.c).
 */
#ifndef MTL_MX_H
#define MTL_MX_H

#include "mtl_mx_version.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/mtl/base/base.h"
#include "ompi/mca/mtl/mtl.h"
#include "ompi/message/message.h"
#include "ompi/proc/proc.h"
#include "ompi/request/request.h"
#include "opal/datatype/opal_convertor.h"
#include "opal/runtime/opal_progress.h"

#include <mx_extensions.h>
#include <myriexpress.h>

/* Only endpoints of this component connect to one another. */
#define MTL_MX_KEY 0x656d7801

/* The contact that a process publishes to the others of its job. */
struct mtl_mx_contact {
	uint64_t nic_id;
	uint32_t endpoint_id;
	uint32_t layout; /* MTL_MX_LAYOUT of the sender */
	char dialect[32]; /* of its board, as MX_PART_NUMBER tells it */
};
/* Changes with the meaning of match bits or of struct mtl_mx_contact. */
#define MTL_MX_LAYOUT 2

/* A process that this one has sent to. */
struct mtl_mx_peer {
	mx_endpoint_addr_t address;
};

enum mtl_mx_kind {
	MTL_MX_SEND, /* completed by Open MPI's callback */
	MTL_MX_BLOCKING_SEND, /* a thread waits for `done` */
	MTL_MX_OWN_SEND, /* of a copy; Open MPI has been told that it is complete */
	MTL_MX_RECEIVE,
	MTL_MX_CLAIM /* the receive behind a matched probe */
};

/* Follows each request of pml/cm, see mtl_request_size. */
struct mtl_mx_request {
	struct mca_mtl_request_t super;
	enum mtl_mx_kind kind;
	mx_request_t mx; /* valid until the completion is reported */
	struct opal_convertor_t *convertor; /* of a receive that has to be unpacked */
	void *bounce; /* packed data, freed at completion; may be NULL */
	int error; /* MPI code; of a blocking send */
	volatile bool done;
};

struct mtl_mx_module {
	struct mca_mtl_base_module_t base;
	mx_endpoint_t endpoint;
	bool initialized_mx; /* and so has to finalize it */
	opal_mutex_t connecting; /* held while a peer is looked up and connected */
	opal_mutex_t claiming; /* held from a probe to the receive of what it found, and by all who
				  post receives */
	/* MCA parameters */
	int priority;
	int board, endpoint_id; /* -1: any */
	int connect_timeout_ms;
	int request_timeout_ms; /* 0: MX's own */
	int gather_min_bytes; /* least mean length of pieces that go to MX as a list; shorter ones
			       * are packed
			       */
	int sleep_after; /* looks in vain before a rank that yields sleeps; 0: never */
	int verbose;
};

extern struct mtl_mx_module ompi_mtl_mx;
extern mca_mtl_base_component_2_0_0_t mca_mtl_mx_component;

/* mtl_mx_component.c: the user asked for this transport by name, so that its absence is worth a
 * message. */
bool mtl_mx_is_wanted(void);

/* mtl_mx_endpoint.c: opens the endpoint and publishes its address; an OMPI code. */
int mtl_mx_open(void);
int mtl_mx_finalize(struct mca_mtl_base_module_t *mtl);
/* Address and dialect of this process's endpoint; an OMPI code. */
int mtl_mx_own_contact(struct mtl_mx_contact *contact);

/* mtl_mx_peer.c */
int mtl_mx_add_procs(struct mca_mtl_base_module_t *mtl, size_t count, struct ompi_proc_t **procs);
int mtl_mx_del_procs(struct mca_mtl_base_module_t *mtl, size_t count, struct ompi_proc_t **procs);
int mtl_mx_add_comm(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm);
int mtl_mx_del_comm(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm);
/* Connects to a process; NULL after a message to the user. Blocks. */
struct mtl_mx_peer *mtl_mx_connect(struct ompi_proc_t *proc);

static inline struct mtl_mx_peer *mtl_mx_peer(struct ompi_communicator_t *comm, int rank)
{
	struct ompi_proc_t *proc = ompi_comm_peer_lookup(comm, rank);
	struct mtl_mx_peer *peer = proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_MTL];

	return OPAL_LIKELY(peer != NULL) ? peer : mtl_mx_connect(proc);
}

/* mtl_mx_idle.c: before MX starts */
void mtl_mx_prepare_idle(void);
/* For progress: it begins; something completed in this thread; when nothing did, whether to sleep.
 */
void mtl_mx_looks_again(void);
void mtl_mx_was_busy(void);
bool mtl_mx_may_sleep(void);

/* mtl_mx_send.c */
int mtl_mx_send(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int dest,
		int tag, struct opal_convertor_t *convertor, mca_pml_base_send_mode_t mode);
int mtl_mx_isend(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int dest,
		 int tag, struct opal_convertor_t *convertor, mca_pml_base_send_mode_t mode,
		 bool blocking, struct mca_mtl_request_t *request);

/* mtl_mx_recv.c */
int mtl_mx_irecv(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int source,
		 int tag, struct opal_convertor_t *convertor, struct mca_mtl_request_t *request);
/* Ends a receive: data to its place, status, callback. */
void mtl_mx_finish_receive(struct mtl_mx_request *r, const mx_status_t *status);

/* mtl_mx_probe.c */
int mtl_mx_iprobe(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int source,
		  int tag, int *flag, struct ompi_status_public_t *status);
int mtl_mx_improbe(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int source,
		   int tag, int *matched, struct ompi_message_t **message,
		   struct ompi_status_public_t *status);
int mtl_mx_imrecv(struct mca_mtl_base_module_t *mtl, struct opal_convertor_t *convertor,
		  struct ompi_message_t **message, struct mca_mtl_request_t *request);
void mtl_mx_finish_claim(struct mtl_mx_request *r, const mx_status_t *status);

/* mtl_mx_cancel.c */
int mtl_mx_cancel(struct mca_mtl_base_module_t *mtl, struct mca_mtl_request_t *request, int flag);

/* mtl_mx_progress.c: reports what MX has completed; the number of completions. */
int mtl_mx_progress(void);
/* Reports one request's completion; the request may be gone afterwards. */
void mtl_mx_finish(struct mtl_mx_request *r, const mx_status_t *status);

/* mtl_mx_report.c */
/* Prints a text, with this host's name. */
void mtl_mx_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The MPI code of a completion; a failure is also explained to the user. */
int mtl_mx_mpi_code(const mx_status_t *status);
/* Chatter for --mca mtl_mx_verbose LEVEL. */
void mtl_mx_trace(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
