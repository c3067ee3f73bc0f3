// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Client: Ibis, JavaMx.
//
// A Java library with many threads. It ends by waking the threads that wait, and closes the endpoint
// without waiting for them: they come back from their calls whenever they may.
#include "client.h"

#include <pthread.h>
#include <string.h>

#define USER "Ibis"

enum { KEY = 0x49626973, WAITERS = 5 };
#define EXACT (~0ull)

static void start(struct client *c, struct client_net *net)
{
    mx_set_error_handler(client_errors_return);
    OK(mx_init());
    memset(net, 0, sizeof *net);
    net->key = KEY;
    OK(mx_open_endpoint(MX_ANY_NIC, MX_ANY_ENDPOINT, KEY, NULL, 0, &net->ep));
    client_meet(c, net);
}

/// A thread that blocks in one of the calls.
struct waiter {
    pthread_t thread;
    struct client_net *net;
    int call;
    int entered; ///< about to block; atomic
    int well; ///< how it came back
};

static mx_return_t block(struct waiter *w, uint32_t *result)
{
    mx_endpoint_t ep = w->net->ep;
    mx_request_t request = NULL;
    mx_endpoint_addr_t to;
    mx_status_t s;

    switch (w->call) {
    case 0: return mx_wait_any(ep, MX_INFINITE, 0, 0, &s, result);
    case 1: return mx_probe(ep, MX_INFINITE, 1, EXACT, &s, result);
    case 2: return mx_peek(ep, MX_INFINITE, &request, result);
    case 3:
        if (mx_irecv(ep, NULL, 0, 2, EXACT, NULL, &request) != MX_SUCCESS)
            return MX_FAILURE;
        __atomic_store_n(&w->entered, 1, __ATOMIC_SEQ_CST);
        return mx_wait(ep, &request, MX_INFINITE, &s, result);
    default: return mx_connect(ep, w->net->nic[1], w->net->eid[1], KEY, MX_INFINITE, &to);
    }
}

static void *wait_in_a_thread(void *argument)
{
    struct waiter *w = argument;
    uint32_t result = 0;
    mx_return_t code;

    if (w->call != 3)
        __atomic_store_n(&w->entered, 1, __ATOMIC_SEQ_CST);
    code = block(w, &result);
    // One that had not fallen asleep when the endpoint went finds it closed.
    w->well = result == 0 && (code == MX_BAD_ENDPOINT || code == (w->call == 4 ? MX_TIMEOUT : MX_SUCCESS));
    return NULL;
}

/// `pause` ms between the last thread's entry and the end.
static void close_while_blocked(struct client *c, uint32_t pause)
{
    struct client_net net;
    struct waiter waiters[WAITERS];
    double end;
    int i;

    start(c, &net);
    if (c->id == 0) {
        client_freeze(c, 1); // or the connect would not block
        for (i = 0; i < WAITERS; i++) {
            waiters[i] = (struct waiter){.net = &net, .call = i};
            EXPECT_EQ(pthread_create(&waiters[i].thread, NULL, wait_in_a_thread, &waiters[i]), 0,
                      "there are threads");
        }
        for (i = 0, end = client_deadline(c); i < WAITERS;
             i += __atomic_load_n(&waiters[i].entered, __ATOMIC_SEQ_CST))
            EXPECT(client_now_ms(c) < end, "the threads run");
        client_sleep_ms(c, pause);
        OK(mx_wakeup(net.ep));
        OK(mx_close_endpoint(net.ep));
        for (i = 0; i < WAITERS; i++)
            pthread_join(waiters[i].thread, NULL); // one that hangs is what the case's time limit is for
        client_thaw(c, 1);
        for (i = 0; i < WAITERS; i++)
            EXPECT(waiters[i].well,
                   "closing releases threads in calls: result 0, from mx_connect a time-out");
        client_barrier(c);
    } else {
        client_barrier(c);
        OK(mx_close_endpoint(net.ep));
    }
    OK(mx_finalize());
}

CLIENT(ibis_closes_while_threads_sleep, 2, THREADS) { close_while_blocked(c, 200); }

CLIENT(ibis_closes_while_threads_fall_asleep, 2, THREADS) { close_while_blocked(c, 0); }

CLIENT(ibis_connects_with_a_time_limit, 2, ANYWHERE)
{
    struct client_net net;
    double begin;

    start(c, &net);
    if (c->id == 0) {
        client_freeze(c, 1);
        begin = client_now_ms(c);
        EXPECT_EQ(mx_connect(net.ep, net.nic[1], net.eid[1], KEY, 300, &net.to[1]), MX_TIMEOUT,
                  "a connect ends with a time-out when nobody answers");
        TOOK(begin, 299, 1000, "not before its time, and not long after it");
        client_thaw(c, 1);
        EXPECT_EQ(mx_connect(net.ep, net.nic[1], net.eid[1], KEY, 20000, &net.to[1]), MX_SUCCESS,
                  "the next one succeeds when somebody does");
    }
    client_stop(c, &net);
}

CLIENT(ibis_synchronous_send_and_cancel, 2, ANYWHERE)
{
    struct client_net net;
    mx_segment_t segment = {"x", 1};
    mx_request_t request = NULL;
    mx_status_t s;
    uint32_t result = 4711;
    char in = 0;

    start(c, &net);
    if (c->id == 0) {
        OK(mx_connect(net.ep, net.nic[1], net.eid[1], KEY, 20000, &net.to[1]));
        OK(mx_issend(net.ep, &segment, 1, net.to[1], 7, NULL, &request));
        OK(mx_wait(net.ep, &request, 50, &s, &result));
        EXPECT_EQ(result, 0, "a synchronous send is complete when it is received, not before");
        client_barrier(c);
        EXPECT_EQ(client_test(c, net.ep, request).code, MX_STATUS_SUCCESS, "then it succeeds");
    } else {
        request = client_irecv(c, net.ep, &in, 1, 9, EXACT, NULL);
        OK(mx_cancel(net.ep, &request, &result));
        EXPECT_EQ(result, 1, "a receive that nothing matched can be cancelled");
        client_barrier(c);
        client_test_ok(c, net.ep, client_irecv(c, net.ep, &in, 1, 7, EXACT, NULL));
        EXPECT(in == 'x', "data arrives as it was sent");
    }
    client_stop(c, &net);
}
