/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Half round trips between two hosts in MX:
 *
 *   cc mx_pingpong.c -o mx_pingpong $(pkg-config --cflags --libs myriexpress)
 *   node1$ ./mx_pingpong
 *   node2$ ./mx_pingpong node1:0 [BYTES]
 *
 * Errors need no code here: MX's own handler prints them and ends the program.
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

/* The client's first message tells the length; its sender is the one to connect to. */
static mx_endpoint_addr_t meet_client(uint32_t *bytes)
{
	mx_status_t hello = receive(HELLO, bytes, sizeof(*bytes));
	mx_endpoint_addr_t client;
	uint64_t nic;
	uint32_t number;

	mx_decompose_endpoint_addr(hello.source, &nic, &number);
	mx_connect(endpoint, nic, number, KEY, PATIENCE_MS, &client);
	return client;
}

static mx_endpoint_addr_t meet_server(char *board, uint32_t *bytes)
{
	mx_endpoint_addr_t server;
	uint64_t nic;

	mx_hostname_to_nic_id(board, &nic);
	mx_connect(endpoint, nic, 0, KEY, PATIENCE_MS, &server);
	send_to(server, HELLO, bytes, sizeof(*bytes));
	return server;
}

static double microseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
	const int client = argc > 1;
	uint32_t bytes = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
	mx_endpoint_addr_t peer;
	double began;
	char *buffer;
	int round;

	mx_init();
	mx_open_endpoint(MX_ANY_NIC, client ? MX_ANY_ENDPOINT : 0, KEY, NULL, 0, &endpoint);
	peer = client ? meet_server(argv[1], &bytes) : meet_client(&bytes);
	buffer = calloc(1, bytes + 1);
	if (!buffer)
		return 1;
	began = microseconds();
	for (round = 0; round < ROUNDS; round++) {
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
