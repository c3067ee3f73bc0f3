/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program as users have them, which passes messages. tests/netns/old_binaries.sh links it against
 * stubs of other makers' libraries and runs it, unchanged, on ours. It calls all functions that
 * have a version, and takes a predefined handler from its variable.
 *
 *   messages serve          endpoint 3 of board 0; ends when the other side has sent everything
 *   messages NAME           sends to the server on the host of that name, and checks its answers
 */
#include "mx_extensions.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KEY 0x600d
#define SERVER 3
#define LIMIT 20000 /* ms: longer means that it hangs */

static const uint32_t lengths[] = {0, 1, 32, 33, 128, 129, 4096, 5000, 32768, 32769, 1000000};
#define ROUNDS (sizeof(lengths) / sizeof(lengths[0]))
#define LENGTH_MAX 1000000

static unsigned char out[LENGTH_MAX], in[LENGTH_MAX + 1];
static mx_endpoint_t ep;

static void stop(const char *what, long got, long wanted)
{
	fprintf(stderr, "messages: %s: %ld, expected %ld\n", what, got, wanted);
	exit(1);
}

static void expect(const char *what, long got, long wanted)
{
	if (got != wanted)
		stop(what, got, wanted);
}

/* The question of a round, and (turned) its answer. */
static void fill(unsigned char *data, uint32_t length, uint32_t round, unsigned int turn)
{
	uint32_t i, x = round * 2654435761u + 1;

	for (i = 0; i < length; i++) {
		x = x * 1664525 + 1013904223;
		data[i] = (unsigned char)(x >> 24) ^ turn;
	}
}

static void check(uint32_t round, unsigned int turn)
{
	fill(out, lengths[round], round, turn);
	expect("data that differs", memcmp(in, out, lengths[round]) != 0, 0);
	expect("byte behind the message", in[lengths[round]], 0xee);
}

/* Waits in both ways that there are: mx_test has a version, as mx_wait. */
static mx_status_t finish(mx_request_t request, int poll)
{
	mx_status_t status;
	uint32_t result = 0;

	while (poll && !result)
		expect("mx_test", mx_test(ep, &request, &status, &result), MX_SUCCESS);
	if (!poll)
		expect("mx_wait", mx_wait(ep, &request, LIMIT, &status, &result), MX_SUCCESS);
	expect("result", result, 1);
	expect("status", status.code, MX_STATUS_SUCCESS);
	return status;
}

static void send_round(mx_endpoint_addr_t to, uint32_t round, unsigned int turn)
{
	mx_segment_t segments[3] = {{out, lengths[round] / 3}, {NULL, 0}, {out + lengths[round] / 3, 0}};
	mx_request_t request = NULL;

	segments[2].segment_length = lengths[round] - lengths[round] / 3;
	fill(out, lengths[round], round, turn);
	if (round % 2)
		expect("mx_issend", mx_issend(ep, segments, 3, to, round, NULL, &request), MX_SUCCESS);
	else
		expect("mx_isend", mx_isend(ep, segments, 3, to, round, NULL, &request), MX_SUCCESS);
	finish(request, round % 3 == 0);
}

static mx_status_t receive_round(uint32_t round, unsigned int turn)
{
	mx_segment_t segment = {in, LENGTH_MAX};
	mx_request_t request = NULL;
	mx_status_t status;

	memset(in, 0xee, sizeof(in));
	expect("mx_irecv", mx_irecv(ep, &segment, 1, round, MX_MATCH_MASK_NONE, in, &request), MX_SUCCESS);
	status = finish(request, round % 2);
	expect("length", status.xfer_length, lengths[round]);
	expect("context", status.context == in, 1);
	check(round, turn);
	return status;
}

static void serve(void)
{
	mx_status_t status;
	uint64_t nic = 0;
	uint32_t round, result, eid = 99;

	for (round = 0; round < ROUNDS; round++) {
		for (result = 0; !result;)
			expect("mx_iprobe", mx_iprobe(ep, round, MX_MATCH_MASK_NONE, &status, &result), MX_SUCCESS);
		expect("probed length", status.msg_length, lengths[round]);
		status = receive_round(round, 0);
		expect("mx_decompose_endpoint_addr", mx_decompose_endpoint_addr(status.source, &nic, &eid), MX_SUCCESS);
		expect("endpoint of the source", eid, SERVER + 1);
		send_round(status.source, round, 0x5a);
	}
}

static void ask(char *name)
{
	mx_return_t code = MX_CONNECTION_FAILED;
	mx_endpoint_addr_t to;
	uint64_t nic = 0;
	uint32_t round;
	time_t end = time(NULL) + LIMIT / 1000;

	expect("mx_hostname_to_nic_id", mx_hostname_to_nic_id(name, &nic), MX_SUCCESS);
	while (code == MX_CONNECTION_FAILED && time(NULL) < end) /* until the server is there */
		code = mx_connect(ep, nic, SERVER, KEY, LIMIT, &to);
	expect("mx_connect", code, MX_SUCCESS);
	for (round = 0; round < ROUNDS; round++) {
		send_round(to, round, 0);
		receive_round(round, 0x5a);
	}
}

int main(int argc, char **argv)
{
	int server = argc == 2 && !strcmp(argv[1], "serve");
	uint32_t count = 0;

	expect("number of arguments", argc, 2);
	mx_set_error_handler(MX_ERRORS_RETURN);
	expect("mx_init", mx_init(), MX_SUCCESS);
	expect("mx_get_info", mx_get_info(NULL, MX_NIC_COUNT, NULL, 0, &count, sizeof(count)), MX_SUCCESS);
	expect("boards", count, 1);
	expect("mx_open_endpoint", mx_open_endpoint(0, server ? SERVER : SERVER + 1, KEY, NULL, 0, &ep), MX_SUCCESS);
	if (server)
		serve();
	else
		ask(argv[1]);
	expect("mx_close_endpoint", mx_close_endpoint(ep), MX_SUCCESS);
	expect("mx_finalize", mx_finalize(), MX_SUCCESS);
	printf("messages: %d rounds ok\n", (int)ROUNDS);
	return 0;
}
