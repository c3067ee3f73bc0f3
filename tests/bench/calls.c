/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages between two endpoints of one process, or of one process each, for a count of instructions
 * (tests/bench/calls).
 *
 *   calls ROUNDS BYTES BURST           ROUNDS times BURST messages there and one back
 *   calls ROUNDS BYTES BURST HOST:0    the same to a process on another host,
 *   calls ROUNDS BYTES BURST far       which is this one
 */
#include "mx_extensions.h"
#include "myriexpress.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BURST_MAX = 256, BYTES_MAX = 65536, KEY = 7 };

static char outgoing[BYTES_MAX], incoming[BYTES_MAX];
static mx_endpoint_t near_end, far_end;

/* valgrind does not know pidfd_open, without which no memory is shared: here, no process ends. */
long syscall(long number, ...)
{
    static long (*next)(long, ...);
    long words[6];
    va_list rest;

    if (number == SYS_pidfd_open)
        return eventfd(0, EFD_CLOEXEC);
    if (!next)
        next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(rest, long);
    va_end(rest);
    return next(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

static void check(mx_return_t code)
{
    if (code != MX_SUCCESS) {
        fprintf(stderr, "calls: %s\n", mx_strerror(code));
        exit(1);
    }
}

__attribute__((noinline)) static mx_request_t call_isend(mx_endpoint_t end, mx_endpoint_addr_t to,
                                                         unsigned bytes)
{
    mx_segment_t segment = {outgoing, bytes};
    mx_request_t request;

    check(mx_isend(end, &segment, 1, to, 1, NULL, &request));
    return request;
}

__attribute__((noinline)) static mx_request_t call_irecv(mx_endpoint_t end, unsigned bytes)
{
    mx_segment_t segment = {incoming, bytes};
    mx_request_t request;

    check(mx_irecv(end, &segment, 1, 1, ~UINT64_C(0), NULL, &request));
    return request;
}

static inline void finish(mx_endpoint_t end, mx_request_t request, mx_status_t *status)
{
    uint32_t done = 0;

    while (!done)
        check(mx_test(end, &request, status, &done));
    if (status->code != MX_STATUS_SUCCESS) {
        fprintf(stderr, "calls: %s\n", mx_strstatus(status->code));
        exit(1);
    }
}

/* Not inlined, and different: callgrind tells them by their names. */
__attribute__((noinline)) static void test_send(mx_endpoint_t end, mx_request_t request)
{
    mx_status_t status;

    finish(end, request, &status);
}

__attribute__((noinline)) static void test_receive(mx_endpoint_t end, mx_request_t request, uint32_t bytes)
{
    mx_status_t status;

    finish(end, request, &status);
    if (status.xfer_length != bytes)
        abort();
}

/* Both ends have to be looked at meanwhile. */
static mx_endpoint_addr_t meet(mx_endpoint_t end, mx_endpoint_t other, uint64_t nic_id, uint32_t number)
{
    mx_request_t request;
    mx_status_t status;
    uint32_t done = 0, unwanted;

    check(mx_iconnect(end, nic_id, number, KEY, 0, NULL, &request));
    while (!done) {
        check(mx_test(end, &request, &status, &done));
        if (!done)
            check(mx_iprobe(other, 0, ~UINT64_C(0), &status, &unwanted));
    }
    return status.source;
}

/* Sends what was posted, unless it has left already. */
__attribute__((noinline)) static void call_flush(mx_endpoint_t end) { check(mx_progress(end)); }

/* Each round begins when the far end says that its receives are posted. */
static void near_rounds(char *far_board, int rounds, unsigned bytes, int burst)
{
    mx_request_t sends[BURST_MAX], ready, connected;
    mx_endpoint_addr_t to_far;
    mx_status_t status;
    uint64_t nic_id;

    check(mx_open_endpoint(0, 0, KEY, NULL, 0, &near_end));
    check(mx_hostname_to_nic_id(far_board, &nic_id));
    check(mx_iconnect(near_end, nic_id, 1, KEY, 0, NULL, &connected));
    finish(near_end, connected, &status);
    to_far = status.source;
    test_send(near_end, call_isend(near_end, to_far, 0)); /* tells our address */
    for (int round = 0; round < rounds; round++) {
        ready = call_irecv(near_end, bytes);
        test_receive(near_end, ready, bytes);
        for (int i = 0; i < burst; i++) {
            sends[i] = call_isend(near_end, to_far, bytes);
            test_send(near_end, sends[i]);
        }
        call_flush(near_end);
    }
    ready = call_irecv(near_end, 0);
    test_receive(near_end, ready, 0);
    mx_close_endpoint(near_end);
}

static void far_rounds(int rounds, unsigned bytes, int burst)
{
    mx_request_t receives[BURST_MAX];
    mx_status_t first, last;

    check(mx_open_endpoint(0, 1, KEY, NULL, 0, &far_end));
    finish(far_end, call_irecv(far_end, 0), &first);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < burst; i++)
            receives[i] = call_irecv(far_end, bytes);
        test_send(far_end, call_isend(far_end, first.source, bytes));
        finish(far_end, receives[burst - 1], &last); /* looks for nothing are no part of a message */
        for (int i = 0; i < burst - 1; i++)
            test_receive(far_end, receives[i], bytes);
    }
    test_send(far_end, call_isend(far_end, first.source, 0));
    mx_close_endpoint(far_end);
}

int main(int argc, char **argv)
{
    mx_request_t sends[BURST_MAX], receives[BURST_MAX];
    mx_endpoint_addr_t to_far, to_near;
    uint64_t nic_id;
    int rounds = argc >= 4 ? atoi(argv[1]) : 0, bytes = argc >= 4 ? atoi(argv[2]) : 0;
    int burst = argc == 4 || argc == 5 ? atoi(argv[3]) : 0;

    if (rounds < 1 || bytes < 0 || bytes > BYTES_MAX || burst < 1 || burst > BURST_MAX) {
        fprintf(stderr,
                "usage: calls ROUNDS BYTES BURST [HOST:0 | far], at most %d bytes, and %d in a burst\n",
                BYTES_MAX, BURST_MAX);
        return 2;
    }
    check(mx_init());
    if (argc == 5) {
        if (strcmp(argv[4], "far") == 0)
            far_rounds(rounds, (unsigned)bytes, burst);
        else
            near_rounds(argv[4], rounds, (unsigned)bytes, burst);
        mx_finalize();
        return 0;
    }
    check(mx_open_endpoint(0, 0, KEY, NULL, 0, &near_end));
    check(mx_open_endpoint(0, 1, KEY, NULL, 0, &far_end));
    check(mx_board_number_to_nic_id(0, &nic_id));
    to_far = meet(near_end, far_end, nic_id, 1);
    to_near = meet(far_end, near_end, nic_id, 0);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < burst; i++)
            receives[i] = call_irecv(far_end, (unsigned)bytes);
        for (int i = 0; i < burst; i++)
            sends[i] = call_isend(near_end, to_far, (unsigned)bytes);
        for (int i = 0; i < burst; i++)
            test_send(near_end, sends[i]);
        for (int i = 0; i < burst; i++)
            test_receive(far_end, receives[i], (unsigned)bytes);
        receives[0] = call_irecv(near_end, (unsigned)bytes);
        sends[0] = call_isend(far_end, to_near, (unsigned)bytes);
        test_send(far_end, sends[0]);
        test_receive(near_end, receives[0], (unsigned)bytes);
    }
    mx_close_endpoint(far_end);
    mx_close_endpoint(near_end);
    mx_finalize();
    return 0;
}
