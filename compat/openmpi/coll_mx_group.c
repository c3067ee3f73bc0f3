/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The group of a communicator: agreed on at the first call, and its operations, which wait while
 * Open MPI makes progress.
 */
#include "coll_mx.h"

#include <mx_extensions.h>
#include <myriexpress.h>

#include <sched.h>
#include <string.h>
#include <time.h>

/* Looks at the endpoint in vain until Open MPI has its turn. */
#define LOOKS_PER_PROGRESS 8
/* A rank that ends waits so long for those that may need frames of its. */
#define LEAVE_NS 10000000000ull

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cast_endpoint *endpoint; /* of the process, with the rest under the lock */
static struct cast_place own;
static unsigned users; /* modules that have asked for it */
static bool tried, initialised_mx;

/* A rank as it describes itself to the others. */
struct offer {
	struct cast_place place;
	uint32_t key;
	uint32_t id; /* that it proposes for the group */
};

/* Frames of others are answered in any call of MPI. */
static int progress(void)
{
	int found = 0;

	if (pthread_mutex_trylock(&lock) != 0)
		return 0;
	if (endpoint)
		found = cast_poll(endpoint);
	pthread_mutex_unlock(&lock);
	return found;
}

/* One for all communicators of a job: cards have room for few groups. */
static uint32_t key_of_job(void)
{
	const uint32_t key = (uint32_t)OMPI_PROC_MY_NAME->jobid * 0x9e3779b1u;

	return key ? key : 1;
}

/* With the lock held, once. Without MX, or a board, the place stays empty. */
static void open_endpoint(void)
{
	const int board = mca_coll_mx_component.board;

	users++;
	if (tried)
		return;
	tried = true;
	mx_set_error_handler(MX_ERRORS_RETURN);
	const mx_return_t code = mx_init();

	initialised_mx = code == MX_SUCCESS;
	if (code != MX_SUCCESS && code != MX_ALREADY_INITIALIZED)
		return;
	endpoint = cast_open(board < 0 ? MX_ANY_NIC : (uint32_t)board, key_of_job(), &own);
	if (endpoint)
		opal_progress_register_lp(progress);
}

/* ---- agreement ---- */

/* The same verdict on all ranks, who see the same offers. */
static bool fits(const struct offer *offers, int ranks)
{
	uint64_t hosts[COLL_MX_HOSTS_MAX];
	int count = 0;

	for (int i = 0; i < ranks; i++) {
		int at = 0;

		if (offers[i].place.frame == 0 || offers[i].key != offers[0].key)
			return false;
		while (at < count && hosts[at] != offers[i].place.nic_id)
			at++;
		if (at == COLL_MX_HOSTS_MAX)
			return false;
		hosts[at] = offers[i].place.nic_id;
		count += at == count;
	}
	return count >= 2;
}

/* With the lock held. */
static bool make_group(struct coll_mx_module *m, const struct offer *offers, int ranks)
{
	struct cast_place places[COLL_MX_RANKS_MAX];
	const int self = ompi_comm_rank(m->comm);

	for (int i = 0; i < ranks; i++) {
		places[i] = offers[i].place;
		if (i != self && !cast_connect(endpoint, &places[i],
					       (uint32_t)mca_coll_mx_component.connect_timeout_ms))
			return false;
	}
	m->group = cast_make(endpoint, offers[0].id, (uint32_t)self, places, (uint32_t)ranks);
	return m->group != NULL;
}

static void drop_group(struct coll_mx_module *m)
{
	pthread_mutex_lock(&lock);
	if (m->group)
		cast_drop(endpoint, m->group);
	m->group = NULL;
	pthread_mutex_unlock(&lock);
}

static void describe(struct offer *offer)
{
	static uint32_t proposals;

	memset(offer, 0, sizeof(*offer));
	pthread_mutex_lock(&lock);
	open_endpoint();
	offer->place = own;
	offer->key = key_of_job();
	offer->id = own.session ^ ++proposals * 0x9e3779b1u;
	pthread_mutex_unlock(&lock);
}

/* Calls of before, which all ranks make: who has offered what, and who could do it. */
static bool agree(struct coll_mx_module *m)
{
	struct offer offers[COLL_MX_RANKS_MAX], offer;
	const int ranks = ompi_comm_size(m->comm);
	int ready = 0, all = 0;

	describe(&offer);
	if (m->before.allgather(&offer, sizeof(offer), MPI_BYTE, offers, sizeof(offer), MPI_BYTE,
				m->comm, m->before.allgather_module) != MPI_SUCCESS ||
	    !fits(offers, ranks))
		return false;
	pthread_mutex_lock(&lock);
	ready = make_group(m, offers, ranks);
	pthread_mutex_unlock(&lock);
	if (m->before.allreduce(&ready, &all, 1, MPI_INT, MPI_MIN, m->comm,
				m->before.allreduce_module) == MPI_SUCCESS &&
	    all)
		return true;
	drop_group(m);
	return false;
}

bool coll_mx_serves(struct coll_mx_module *m)
{
	if (OPAL_LIKELY(m->state == COLL_MX_SERVES))
		return true;
	if (m->state != COLL_MX_UNKNOWN)
		return false; /* what is called while the ranks agree goes the old way */
	m->state = COLL_MX_AGREEING;
	m->state = agree(m) ? COLL_MX_SERVES : COLL_MX_CANNOT;
	return m->state == COLL_MX_SERVES;
}

/* ---- operations ---- */

/* One look at the endpoint. *idle: nothing came, or another thread looks. */
static enum cast_outcome look(struct coll_mx_module *m, bool *idle)
{
	enum cast_outcome outcome = CAST_BUSY;

	*idle = true;
	if (pthread_mutex_trylock(&lock) != 0)
		return CAST_BUSY;
	outcome = cast_advance(m->group);
	if (outcome == CAST_BUSY && cast_poll(endpoint)) {
		*idle = false;
		outcome = cast_advance(m->group);
	}
	pthread_mutex_unlock(&lock);
	return outcome;
}

static int mpi_code(enum cast_outcome outcome)
{
	switch (outcome) {
	case CAST_DONE:
		return MPI_SUCCESS;
	case CAST_DISAGREED:
		return MPI_ERR_TRUNCATE;
	case CAST_NO_MEMORY:
		return MPI_ERR_NO_MEM;
	default:
		return MPI_ERR_OTHER;
	}
}

/*
 * Gives others their turn: Open MPI, threads of this process, and processes of this host. Not Open
 * MPI after each sleep: the MTL would sleep, too, on an endpoint to which no frame comes.
 */
static void step_aside(unsigned *looks)
{
	if (opal_progress_yield_when_idle && !opal_using_threads()) {
		const int slept = cast_rest(endpoint);

		if (slept) {
			*looks = 0;
			if (slept == 1)
				opal_progress();
			return;
		}
	}
	if (++*looks % LOOKS_PER_PROGRESS == 0)
		opal_progress(); /* which steps aside itself */
	else if (opal_progress_yield_when_idle || opal_using_threads())
		sched_yield();
}

static int finish(struct coll_mx_module *m, enum cast_outcome outcome)
{
	unsigned looks = 0;
	bool idle;

	while (outcome == CAST_BUSY) {
		outcome = look(m, &idle);
		if (outcome == CAST_BUSY && idle)
			step_aside(&looks);
	}
	return mpi_code(outcome);
}

int coll_mx_send(struct coll_mx_module *m, const void *data, size_t bytes)
{
	enum cast_outcome outcome;

	pthread_mutex_lock(&lock);
	outcome = cast_begin_send(m->group, data, (uint32_t)bytes);
	pthread_mutex_unlock(&lock);
	return finish(m, outcome);
}

int coll_mx_receive(struct coll_mx_module *m, int root, void *data, size_t bytes)
{
	enum cast_outcome outcome;

	pthread_mutex_lock(&lock);
	outcome = cast_begin_receive(m->group, (uint32_t)root, data, (uint32_t)bytes);
	pthread_mutex_unlock(&lock);
	return finish(m, outcome);
}

int coll_mx_wait_for_all(struct coll_mx_module *m)
{
	enum cast_outcome outcome;

	pthread_mutex_lock(&lock);
	outcome = cast_begin_barrier(m->group);
	pthread_mutex_unlock(&lock);
	return finish(m, outcome);
}

/* ---- the end ---- */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void close_endpoint(void)
{
	if (endpoint) {
		opal_progress_unregister(progress);
		cast_shut(endpoint);
	}
	endpoint = NULL;
	memset(&own, 0, sizeof(own));
	if (initialised_mx)
		mx_finalize();
	initialised_mx = tried = false;
}

/* Others may lack our last frames. All ranks are in the same call, or come to it. */
static void leave_group(struct coll_mx_module *m)
{
	const uint64_t end = now_ns() + LEAVE_NS;
	enum cast_outcome outcome;
	unsigned looks = 0;
	bool idle = false;

	pthread_mutex_lock(&lock);
	outcome = cast_begin_close(m->group);
	pthread_mutex_unlock(&lock);
	while (outcome == CAST_BUSY && now_ns() < end) {
		outcome = look(m, &idle);
		if (outcome == CAST_BUSY && idle)
			step_aside(&looks);
	}
	drop_group(m);
}

void coll_mx_leave(struct coll_mx_module *m)
{
	if (m->state == COLL_MX_UNKNOWN)
		return;
	if (m->group)
		leave_group(m);
	pthread_mutex_lock(&lock);
	if (--users == 0)
		close_endpoint();
	pthread_mutex_unlock(&lock);
	m->state = COLL_MX_UNKNOWN;
}
