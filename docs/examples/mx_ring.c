/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A ring in MX: a number goes round once, and each process adds its own.
 *
 *   cc mx_ring.c -o mx_ring $(pkg-config --cflags --libs myriexpress)
 *   ./mx_ring NUMBER BOARD...      on each host; NUMBER: of this process, from 0; BOARD: of all, in their order
 *
 * as in "./mx_ring 0 node1:0 node2:0 node1:0". Process N has endpoint N of its board. Most errors
 * need no code here: MX's own handler prints them and ends the program.
 */
#include <myriexpress.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { KEY = 0x72696e67, PATIENCE_MS = 30000, TOKEN = 1 };

static mx_endpoint_t endpoint;

static void finish(mx_request_t *request)
{
	mx_status_t status;
	uint32_t done;

	mx_wait(endpoint, request, MX_INFINITE, &status, &done);
	if (status.code != MX_STATUS_SUCCESS) {
		fprintf(stderr, "%s\n", mx_strstatus(status.code));
		exit(1);
	}
}

static uint32_t receive(void)
{
	uint32_t token = 0;
	mx_segment_t segment = { &token, sizeof(token) };
	mx_request_t request;

	mx_irecv(endpoint, &segment, 1, TOKEN, MX_MATCH_MASK_NONE, NULL, &request);
	finish(&request);
	return token;
}

static void send_to(mx_endpoint_addr_t next, uint32_t token)
{
	mx_segment_t segment = { &token, sizeof(token) };
	mx_request_t request;

	mx_isend(endpoint, &segment, 1, next, TOKEN, NULL, &request);
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

int main(int argc, char **argv)
{
	const uint32_t count = (uint32_t)argc - 2;
	uint32_t own, following, board, token;
	mx_endpoint_addr_t next;
	uint64_t nic;

	if (argc < 3 || (own = (uint32_t)strtoul(argv[1], NULL, 10)) >= count) {
		fprintf(stderr, "usage: mx_ring NUMBER BOARD..., with a NUMBER from 0 below the count of boards\n");
		return 2;
	}
	following = (own + 1) % count;
	mx_init();
	mx_hostname_to_nic_id(argv[2 + own], &nic);
	mx_nic_id_to_board_number(nic, &board);
	mx_open_endpoint(board, own, KEY, NULL, 0, &endpoint);
	mx_hostname_to_nic_id(argv[2 + following], &nic);
	next = meet(nic, following);
	token = own;
	if (own != 0)
		token += receive();
	send_to(next, token);
	if (own == 0)
		token = receive();
	printf("%u of %u: %u\n", own, count, token);
	mx_close_endpoint(endpoint);
	mx_finalize();
	return 0;
}
