// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A program that takes whatever comes to its endpoint, and sends messages of all classes back to
 * whoever sent it one: it consumes what mutants.c gets accepted.
 *
 *   sink ENDPOINT      until it gets SIGTERM
 */
#include <mx_extensions.h>
#include <myriexpress.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define KEY 0xabcd /* of mutants.c */
#define RECEIVES 24
#define SENDS 8
#define ANSWER_EACH 4 /* messages */
#define LONGEST (1u << 20)
#define WAIT_MS 100
#define SEND_MS 2000 /* until one is given up: who asked for it may not exist any more */

struct slot {
	void *memory; /* of a receive */
	uint32_t length;
	bool busy;
};

static const uint32_t lengths[] = { 32, 128, 4096, 32768, 40000, 300000, LONGEST, 0 };
static const uint32_t classes[] = { 32, 128, 32768, ~0u };
#define CLASSES (sizeof(classes) / sizeof(classes[0]))

static struct slot receives[RECEIVES], sends[SENDS];
static mx_endpoint_t endpoint;
static uint8_t pattern[LONGEST];
static unsigned long came[CLASSES], failed, went, not_sent;
static volatile sig_atomic_t over;

static void on_term(int number)
{
	(void)number;
	over = 1;
}

static void need(mx_return_t code, const char *what)
{
	if (code == MX_SUCCESS)
		return;
	fprintf(stderr, "sink: %s: %s\n", what, mx_strerror(code));
	exit(1);
}

static void receive(struct slot *slot)
{
	mx_segment_t segment = { slot->memory, slot->length };
	mx_request_t request;

	need(mx_irecv(endpoint, &segment, 1, 0, 0, slot, &request), "receive");
}

/* To an address that may have become nobody's meanwhile. */
static void answer(mx_endpoint_addr_t to)
{
	static unsigned int which;
	struct slot *slot;
	mx_segment_t segment = { pattern,
				 lengths[which++ % (sizeof(lengths) / sizeof(lengths[0]))] };
	mx_request_t request;

	for (slot = sends; slot < sends + SENDS && slot->busy; slot++)
		;
	if (slot == sends + SENDS)
		return;
	if ((which % 8 ? mx_isend : mx_issend)(endpoint, &segment, 1, to, which, slot, &request) !=
	    MX_SUCCESS) {
		not_sent++;
		return;
	}
	slot->busy = true;
	need(mx_set_request_timeout(endpoint, request, SEND_MS), "time limit");
}

static void received(const mx_status_t *status)
{
	static unsigned long messages;
	size_t class = 0;

	if (status->code != MX_STATUS_SUCCESS && status->code != MX_STATUS_TRUNCATED) {
		failed++;
		return;
	}
	while (status->msg_length > classes[class])
		class ++;
	came[class]++;
	if (messages++ % ANSWER_EACH == 0)
		answer(status->source);
}

static void take(const mx_status_t *status)
{
	struct slot *slot = status->context;

	if (slot >= sends && slot < sends + SENDS) {
		slot->busy = false;
		*(status->code == MX_STATUS_SUCCESS ? &went : &not_sent) += 1;
		return;
	}
	received(status);
	receive(slot);
}

int main(int argc, char **argv)
{
	mx_status_t status;
	uint32_t result;
	unsigned int i;

	if (argc != 2) {
		fprintf(stderr, "usage: sink ENDPOINT\n");
		return 2;
	}
	signal(SIGTERM, on_term);
	mx_set_error_handler(MX_ERRORS_RETURN);
	need(mx_init(), "MX");
	need(mx_open_endpoint(0, (uint32_t)atoi(argv[1]), KEY, NULL, 0, &endpoint), "endpoint");
	for (i = 0; i < RECEIVES; i++) {
		receives[i].length = lengths[i % (sizeof(lengths) / sizeof(lengths[0]))];
		receives[i].memory = malloc(receives[i].length + 1);
		if (!receives[i].memory)
			return 1;
		receive(&receives[i]);
	}
	while (!over) {
		need(mx_wait_any(endpoint, WAIT_MS, 0, 0, &status, &result), "wait");
		if (result)
			take(&status);
	}
	need(mx_close_endpoint(endpoint), "close");
	need(mx_finalize(), "end");
	printf("endpoint %s: %lu tiny, %lu small, %lu medium and %lu large messages came, %lu "
	       "failed; %lu went back, %lu failed\n",
	       argv[1], came[0], came[1], came[2], came[3], failed, went, not_sent);
	return 0;
}
