/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Half round trips between two hosts in MX:
 *
 *   cc mx_pingpong.c -o mx_pingpong $(pkg-config --cflags --libs myriexpress)
 *   node1$ ./mx_pingpong
 *   node2$ ./mx_pingpong node1:0 [BYTES]
 * Most errors need no code here: MX's own handler prints them and ends the program.
 */
#include <myriexpress.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { KEY = 0x706f6e67, PATIENCE_MS = 30000, ROUNDS = 1000 };
enum { HELLO = 1, DATA = 2 }; /* match bits */

static mx_endpoint_t endpoint;

static mx_status_t finish(mx_request_t *request)
{
	mx_status_t status;
	uint32_t done;

	mx_wait(endpoint, request, MX_INFINITE, &status, &done);
	if (status.code != MX_STATUS_SUCCESS) {
		fprintf(stderr, "%s\n", mx_strstatus(status.code));
		exit(1);
	}
	return status;
}

static mx_status_t receive(uint64_t match, void *buffer, uint32_t bytes)
{
	mx_segment_t segment = { buffer, bytes };
	mx_request_t request;

	mx_irecv(endpoint, &segment, 1, match, MX_MATCH_MASK_NONE, NULL, &request);
	return finish(&request);
}

static void send_to(mx_endpoint_addr_t peer, uint64_t match, void *buffer, uint32_t bytes)
{
	mx_segment_t segment = { buffer, bytes };
	mx_request_t request;

	mx_isend(endpoint, &segment, 1, peer, match, NULL, &request);
	finish(&request);
}

/* The peer may start later: until then its host refuses. */
static mx_endpoint_addr_t meet(uint64_t nic, uint32_t number)
{
	const struct timespec moment = { .tv_nsec = 10000000 };
	mx_endpoint_addr_t peer;
	mx_return_t code;

	mx_set_error_handler(MX_ERRORS_RETURN);
	while ((code = mx_connect(endpoint, nic, number, KEY, PATIENCE_MS, &peer)) == MX_CONNECTION_FAILED)
		nanosleep(&moment, NULL);
	mx_set_error_handler(MX_ERRORS_ARE_FATAL);
	if (code != MX_SUCCESS) /* again, to be told why */
		mx_connect(endpoint, nic, number, KEY, PATIENCE_MS, &peer);
	return peer;
}

/* The client's first message tells the length; its sender is the one to connect to. */
static mx_endpoint_addr_t meet_client(uint32_t *bytes)
{
	mx_status_t hello = receive(HELLO, bytes, sizeof(*bytes));
	uint64_t nic;
	uint32_t number;

	mx_decompose_endpoint_addr(hello.source, &nic, &number);
	return meet(nic, number);
}

static double microseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
	const int client = argc > 1; /* else the server */
	uint32_t bytes = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
	mx_endpoint_addr_t peer;
	double began;
	char *buffer;
	uint64_t nic;

	mx_init();
	mx_open_endpoint(MX_ANY_NIC, client ? MX_ANY_ENDPOINT : 0, KEY, NULL, 0, &endpoint);
	if (client) {
		mx_hostname_to_nic_id(argv[1], &nic);
		peer = meet(nic, 0);
		send_to(peer, HELLO, &bytes, sizeof(bytes));
	} else {
		peer = meet_client(&bytes);
	}
	if (!(buffer = calloc(1, bytes + 1)))
		return 1;
	began = microseconds();
	for (int round = 0; round < ROUNDS; round++) {
		if (client)
			send_to(peer, DATA, buffer, bytes);
		receive(DATA, buffer, bytes);
		if (!client)
			send_to(peer, DATA, buffer, bytes);
	}
	printf("%u bytes: %.3f us\n", bytes, (microseconds() - began) / ROUNDS / 2);
	free(buffer);
	mx_close_endpoint(endpoint);
	mx_finalize();
	return 0;
}
