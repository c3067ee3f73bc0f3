// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Client: PVFS2 and OrangeFS, method bmi_mx.
//
// The top four match bits are the kind of a message, and the context id; the rest is peer and tag. Clients
// and servers come and go: connects are requests, sessions are compared, sends are cancelled by
// disconnecting.
#include "client.h"

#include <pthread.h>
#include <string.h>

#define USER "OrangeFS bmi_mx"

enum { KEY = 0x70766673, LONG = 300000 };
#define EXACT (~0ull)
#define KIND_MASK (0xfull << 60)
#define KIND(n) ((uint64_t)(n) << 60)
enum { ICON_REQ = 1, CONN_REQ = 2, ICON_ACK = 3, CONN_ACK = 4, UNEXPECTED = 5, EXPECTED = 6 };

static uint64_t bits(int kind, uint32_t peer, uint32_t tag)
{
    return KIND(kind) | (uint64_t)(peer & 0xfffff) << 32 | tag;
}

static mx_endpoint_t open_endpoint(struct client *c, uint32_t eid)
{
    mx_param_t param;
    mx_endpoint_t ep = NULL;

    param.key = MX_PARAM_CONTEXT_ID;
    param.val.context_id.bits = 4;
    param.val.context_id.shift = 60;
    OK(mx_open_endpoint(0, eid, KEY, &param, 1, &ep));
    return ep;
}

static void start(struct client *c, struct client_net *net)
{
    client_env(c, "MX_ZOMBIE", "0");
    mx_set_error_handler(client_errors_return);
    OK(mx_init());
    memset(net, 0, sizeof *net);
    net->key = KEY;
    net->ep = open_endpoint(c, MX_ANY_ENDPOINT);
    client_meet(c, net);
}

/// Polls for the oldest complete request of a kind.
static mx_status_t test_any(struct client *c, mx_endpoint_t ep, int kind)
{
    double end = client_deadline(c);
    mx_status_t s;
    uint32_t result = 7;

    for (;;) {
        OK(mx_test_any(ep, KIND(kind), KIND_MASK, &s, &result));
        if (result == 1)
            return s;
        EXPECT_EQ(result, 0, "a result is 0 or 1");
        EXPECT(client_now_ms(c) < end,
               "mx_test_any drives the endpoint until a request of its kind is complete");
    }
}

/// Connects by a request, as it always does.
static mx_endpoint_addr_t iconnect(struct client *c, struct client_net *net, int peer)
{
    mx_request_t request = NULL;
    mx_status_t s;

    OK(mx_iconnect(net->ep, net->nic[peer], net->eid[peer], KEY, bits(ICON_REQ, (uint32_t)peer, 0), net,
                   &request));
    s = test_any(c, net->ep, ICON_REQ);
    EXPECT_EQ(s.code, MX_STATUS_SUCCESS, "the connect succeeds");
    EXPECT(s.context == net, "a connect completes as a request, with its context");
    EXPECT_EQ(s.match_info, bits(ICON_REQ, (uint32_t)peer, 0), "and with the match bits it was given");
    return s.source;
}

CLIENT(bmi_second_init_is_not_fatal, 1, ANYWHERE)
{
    mx_endpoint_t ep;

    mx_set_error_handler(client_errors_return);
    OK(mx_init());
    EXPECT_EQ(mx_init(), MX_ALREADY_INITIALIZED, "a second mx_init says so, and ends nothing");
    ep = open_endpoint(c, MX_ANY_ENDPOINT);
    OK(mx_close_endpoint(ep));
    OK(mx_finalize());
    EXPECT_EQ(mx_finalize(), MX_NOT_INITIALIZED,
              "one mx_finalize ends the library, however often it was begun");
}

CLIENT(bmi_looks_hosts_up_by_name_and_board, 1, ANYWHERE)
{
    char name[MX_MAX_HOSTNAME_LEN], *colon;
    uint64_t own = 0, nic = 0;

    mx_set_error_handler(client_errors_return);
    OK(mx_init());
    OK(mx_board_number_to_nic_id(0, &own));
    OK(mx_nic_id_to_hostname(own, name));
    OK(mx_hostname_to_nic_id(name, &nic));
    EXPECT_EQ(nic, own, "\"host:board\" is what a name looks like, and leads back to the board");
    colon = strchr(name, ':');
    EXPECT(colon && !strcmp(colon, ":0"), "the first board's name ends with :0");
    *colon = 0;
    nic = 0;
    OK(mx_hostname_to_nic_id(name, &nic));
    EXPECT_EQ(nic, own, "the bare host name is its first board");
    OK(mx_finalize());
}

CLIENT(bmi_probe_tells_the_transfer_length, 2, ANYWHERE)
{
    const uint32_t lengths[] = {0, 20, 128, 5000, 32768, 32769, LONG};
    struct client_net net;
    uint8_t *data = client_memory(c, LONG);
    mx_endpoint_addr_t to;
    mx_status_t s;
    uint32_t i, result = 0;
    double end;

    start(c, &net);
    to = iconnect(c, &net, 1 - c->id);
    for (i = 0; i < 7; i++) {
        if (c->id) {
            client_fill(data, i, lengths[i]);
            client_isend(c, net.ep, data, lengths[i], to, bits(UNEXPECTED, 1, i), NULL);
            EXPECT_EQ(test_any(c, net.ep, UNEXPECTED).code, MX_STATUS_SUCCESS, "the request succeeds");
            continue;
        }
        for (result = 0, end = client_deadline(c); result != 1;) {
            OK(mx_iprobe(net.ep, KIND(UNEXPECTED), KIND_MASK, &s, &result));
            EXPECT(client_now_ms(c) < end,
                   "mx_iprobe drives the endpoint until a message of its kind is there");
        }
        EXPECT_EQ(s.xfer_length, lengths[i],
                  "a probe's xfer_length is the message's length: buffers get that size");
        client_irecv(c, net.ep, data, s.xfer_length, s.match_info, EXACT, NULL);
        s = test_any(c, net.ep, UNEXPECTED);
        EXPECT_EQ(s.code, MX_STATUS_SUCCESS, "and the message fits into it");
        EXPECT_EQ(client_verify(data, i, lengths[i]), lengths[i], "data arrives as it was sent");
    }
    client_stop(c, &net);
}

static uint32_t session_of(struct client *c, mx_endpoint_addr_t address, uint32_t *eid)
{
    uint64_t nic = 0;
    uint32_t session = 0;

    OK(mx_decompose_endpoint_addr2(address, &nic, eid, &session));
    return session;
}

CLIENT(bmi_session_tells_a_restart, 2, ANYWHERE)
{
    struct client_net net;
    mx_endpoint_addr_t first, again;
    uint32_t eid = 99, session;
    uint64_t sessions[2];

    start(c, &net);
    OK(mx_get_endpoint_addr(net.ep, &first));
    client_exchange(c, session_of(c, first, &eid), sessions);
    if (c->id == 0) {
        first = iconnect(c, &net, 1);
        session = session_of(c, first, &eid);
        EXPECT_EQ(eid, net.eid[1], "an address tells the endpoint's number");
        EXPECT_EQ(session, sessions[1], "and the session, as its owner sees it");
        again = iconnect(c, &net, 1);
        EXPECT_EQ(session_of(c, again, &eid), session,
                  "connecting again to the same life gives the same session");
        client_barrier(c);
        client_barrier(c); // the server has started again
        again = iconnect(c, &net, 1);
        EXPECT(session_of(c, again, &eid) != session,
               "an endpoint that was opened again has another session");
    } else {
        client_barrier(c);
        OK(mx_close_endpoint(net.ep));
        net.ep = open_endpoint(c, net.eid[1]);
        client_barrier(c);
    }
    client_stop(c, &net);
}

/// A server: everything that is no expected message comes to its handler.
struct server {
    struct client *c;
    struct client_net *net;
    mx_endpoint_addr_t old; ///< of the peer's previous life
    int reconnect, requests, other;
};

/// A connect request: drop the peer's old connection, and connect back.
static mx_unexp_handler_action_t on_message(void *context, mx_endpoint_addr_t source, uint64_t match,
                                            uint32_t length, void *data)
{
    struct server *server = context;
    struct client *c = server->c;
    uint64_t nic = 0;
    uint32_t eid = 0, session = 0;
    mx_request_t request = NULL;

    if ((match & KIND_MASK) != KIND(CONN_REQ)) {
        server->other++;
        return MX_RECV_CONTINUE;
    }
    server->requests++;
    NOTE(length == 5 && data && !memcmp(data, "hello", 5), "the handler has a small message's data");
    NOTE(mx_decompose_endpoint_addr2(source, &nic, &eid, &session) == MX_SUCCESS,
         "the handler can take the source apart");
    NOTE(nic == server->net->nic[1] && eid == server->net->eid[1], "and finds who sent it");
    if (server->reconnect) {
        NOTE(mx_disconnect(server->net->ep, server->old) == MX_SUCCESS, "the handler may disconnect");
        NOTE(mx_set_endpoint_addr_context(server->old, NULL) == MX_SUCCESS,
             "the context of a disconnected address may be reset");
    }
    NOTE(mx_set_endpoint_addr_context(source, server) == MX_SUCCESS,
         "the handler may set the source's context");
    server->old = source;
    NOTE(mx_iconnect(server->net->ep, nic, eid, KEY, bits(ICON_ACK, 1, 0), server, &request) == MX_SUCCESS,
         "the handler may connect back by mx_iconnect");
    return MX_RECV_FINISHED;
}

/// Answers one connect request, then a write of the client's.
static void serve(struct client *c, struct server *server, uint8_t *data)
{
    struct client_net *net = server->net;
    void *context = NULL;
    mx_status_t s = test_any(c, net->ep, ICON_ACK);

    EXPECT_EQ(s.code, MX_STATUS_SUCCESS, "a connect that the handler began succeeds");
    OK(mx_get_endpoint_addr_context(s.source, &context));
    EXPECT(context == server, "its address has the context that was set through the handler's source");
    client_isend(c, net->ep, "welcome", 7, s.source, bits(CONN_ACK, 0, 0), NULL);
    EXPECT_EQ(test_any(c, net->ep, CONN_ACK).code, MX_STATUS_SUCCESS, "the request succeeds");
    client_irecv(c, net->ep, data, LONG, bits(EXPECTED, 0, 77), EXACT, NULL);
    EXPECT_EQ(test_any(c, net->ep, EXPECTED).xfer_length, LONG, "a write comes whole");
    EXPECT_EQ(client_verify(data, 77, LONG), LONG, "data arrives as it was sent");
}

static void ask(struct client *c, struct client_net *net, uint8_t *data)
{
    char answer[8] = "";
    mx_endpoint_addr_t to = iconnect(c, net, 0);

    client_irecv(c, net->ep, answer, 7, KIND(CONN_ACK), KIND_MASK, NULL);
    client_isend(c, net->ep, "hello", 5, to, bits(CONN_REQ, 1, 0), NULL);
    EXPECT_EQ(test_any(c, net->ep, CONN_REQ).code, MX_STATUS_SUCCESS, "the request succeeds");
    EXPECT_EQ(test_any(c, net->ep, CONN_ACK).xfer_length, 7, "the server answers");
    client_fill(data, 77, LONG);
    client_isend(c, net->ep, data, LONG, to, bits(EXPECTED, 0, 77), NULL);
    EXPECT_EQ(test_any(c, net->ep, EXPECTED).code, MX_STATUS_SUCCESS, "the request succeeds");
}

CLIENT(bmi_disconnects_and_connects_in_the_handler, 2, ANYWHERE)
{
    struct client_net net;
    struct server server = {c, &net, {{0, 0}}, 0, 0, 0};
    uint8_t *data = client_memory(c, LONG);
    int life;

    start(c, &net);
    if (c->id == 0)
        OK(mx_register_unexp_handler(net.ep, on_message, &server));
    client_barrier(c);
    for (life = 0; life < 3; life++) { // the client ends and starts again
        server.reconnect = life;
        if (c->id == 0) {
            serve(c, &server, data);
            EXPECT_EQ(server.requests, life + 1, "the handler is called once per connect request");
        } else {
            ask(c, &net, data);
        }
        client_barrier(c);
        if (c->id) {
            OK(mx_close_endpoint(net.ep));
            net.ep = open_endpoint(c, MX_ANY_ENDPOINT);
        }
        client_meet(c, &net);
    }
    client_stop(c, &net);
}

/// One message of each kind from 1 to 6, to be received without a handler.
static void send_kinds(struct client *c, struct client_net *net, mx_endpoint_addr_t to)
{
    int kind;

    for (kind = 1; kind <= 6; kind++)
        client_isend(c, net->ep, &kind, sizeof kind, to, bits(kind, 1, 9), NULL);
    for (kind = 1; kind <= 6; kind++)
        EXPECT_EQ(test_any(c, net->ep, kind).match_info, bits(kind, 1, 9),
                  "mx_test_any takes sends by the bits that they were sent with");
}

CLIENT(bmi_partial_masks_over_context_ids, 2, ANYWHERE)
{
    struct client_net net;
    mx_endpoint_addr_t to;
    mx_status_t s;
    uint32_t result = 0;
    int in[7] = {0}, i;

    start(c, &net);
    to = iconnect(c, &net, 1 - c->id);
    client_barrier(c);
    if (c->id) {
        send_kinds(c, &net, to);
        client_stop(c, &net);
        return;
    }
    OK(mx_probe(net.ep, 20000, KIND(6), KIND_MASK, &s, &result));
    EXPECT_EQ(result, 1, "mx_probe by kind finds the last message");
    OK(mx_iprobe(net.ep, KIND(4), KIND(4), &s, &result)); // 4, 5, 6
    EXPECT(result == 1 && s.match_info == bits(4, 1, 9), "a probe may look at one of the context id's bits");
    OK(mx_iprobe(net.ep, 0, 0, &s, &result));
    EXPECT(result == 1 && s.match_info == bits(1, 1, 9),
           "a probe may look at no bit: the earliest of all kinds");
    for (i = 1; i <= 6; i++) // the kind is whole, peer and tag are wild
        client_irecv(c, net.ep, &in[i], sizeof in[i], KIND(i), KIND_MASK, &in[i]);
    OK(mx_wait_any(net.ep, 20000, KIND(2), KIND(2), &s, &result)); // 2, 3, 6
    EXPECT(result == 1 && s.context == &in[2], "mx_wait_any may look at one of the context id's bits");
    OK(mx_test_any(net.ep, 0, 0, &s, &result));
    EXPECT(result == 1 && s.context == &in[1], "mx_test_any may look at no bit: the oldest of all kinds");
    OK(mx_test_any(net.ep, KIND(4), KIND(4), &s, &result));
    EXPECT(result == 1 && s.context == &in[4], "mx_test_any may look at one of the context id's bits");
    for (i = 3; i <= 6; i++)
        if (i != 4)
            EXPECT(test_any(c, net.ep, i).context == &in[i],
                   "mx_test_any takes receives by the message's bits");
    for (i = 1; i <= 6; i++)
        EXPECT_EQ(in[i], i, "data arrives as it was sent");
    client_stop(c, &net);
}

CLIENT(bmi_zeroed_and_dead_addresses, 2, ANYWHERE)
{
    struct client_net net;
    mx_endpoint_addr_t zero, to;
    void *context = &net;

    start(c, &net);
    memset(&zero, 0, sizeof zero);
    OK(mx_set_endpoint_addr_context(zero, NULL)); // freeing a peer that was never connected
    OK(mx_get_endpoint_addr_context(zero, &context));
    EXPECT(context == NULL, "an address of zeros has no context");
    OK(mx_disconnect(net.ep, zero));
    to = iconnect(c, &net, 1 - c->id);
    OK(mx_set_endpoint_addr_context(to, &net));
    client_barrier(c);
    OK(mx_disconnect(net.ep, to));
    OK(mx_set_endpoint_addr_context(to, NULL)); // freeing a peer after it was disconnected
    OK(mx_get_endpoint_addr_context(to, &context));
    EXPECT(context == NULL, "the context of a disconnected address can be reset");
    OK(mx_disconnect(net.ep, to));
    client_stop(c, &net);
}

CLIENT(bmi_cancels_a_send_by_disconnecting, 2, ANYWHERE)
{
    struct client_net net;
    uint8_t *data = client_memory(c, LONG);
    mx_request_t request;
    mx_endpoint_addr_t to;
    mx_status_t s;
    uint32_t result = 4711;

    start(c, &net);
    to = iconnect(c, &net, 1 - c->id);
    client_barrier(c);
    if (c->id) {
        request = client_isend(c, net.ep, data, LONG, to, bits(EXPECTED, 1, 1), data);
        mx_cancel(net.ep, &request, &result);
        EXPECT_EQ(result, 0, "a send that cannot be cancelled gives result 0");
        OK(mx_disconnect(net.ep, to));
        s = test_any(c, net.ep, EXPECTED);
        EXPECT(s.context == data, "disconnecting completes the send");
        EXPECT_EQ(s.code, MX_STATUS_ENDPOINT_UNREACHABLE, "with \"unreachable\"");
        to = iconnect(c, &net, 0);
        client_isend(c, net.ep, "again", 5, to, bits(EXPECTED, 1, 2), NULL);
        EXPECT_EQ(test_any(c, net.ep, EXPECTED).code, MX_STATUS_SUCCESS, "after a new connect, messages go");
    } else {
        client_irecv(c, net.ep, data, 5, bits(EXPECTED, 1, 2), EXACT, NULL);
        EXPECT_EQ(test_any(c, net.ep, EXPECTED).xfer_length, 5, "and arrive");
        request = client_irecv(c, net.ep, data, 5, bits(EXPECTED, 1, 3), EXACT, NULL);
        OK(mx_cancel(net.ep, &request, &result));
        EXPECT_EQ(result, 1, "a receive that nothing matched can be cancelled");
    }
    client_stop(c, &net);
}

CLIENT(bmi_cancels_a_receive_or_tests_it, 2, ANYWHERE)
{
    struct client_net net;
    uint8_t *data = client_memory(c, LONG);
    mx_request_t request;
    mx_endpoint_addr_t to;
    mx_status_t s;
    uint32_t result, got = 0, i;

    start(c, &net);
    to = iconnect(c, &net, 1 - c->id);
    client_barrier(c);
    for (i = 0; i < 5; i++) { // the receive is cancelled at various points of its life
        if (c->id) {
            client_fill(data, i, LONG);
            client_isend(c, net.ep, data, LONG, to, bits(EXPECTED, 1, i), NULL);
            EXPECT_EQ(test_any(c, net.ep, EXPECTED).code, MX_STATUS_SUCCESS, "the request succeeds");
            continue;
        }
        request = client_irecv(c, net.ep, data, LONG, bits(EXPECTED, 1, i), EXACT, NULL);
        OK(mx_wait_any(net.ep, 1 + i, KIND(UNEXPECTED), KIND_MASK, &s, &result)); // time passes
        result = 4711;
        OK(mx_cancel(net.ep, &request, &result));
        if (result == 1)
            request = client_irecv(c, net.ep, data, LONG, bits(EXPECTED, 1, i), EXACT, NULL);
        s = client_test_ok(c, net.ep, request); // what was not cancelled completes
        got += s.xfer_length == LONG && client_verify(data, i, LONG) == LONG;
        EXPECT_EQ(got, i + 1, "a receive is either cancelled, with no trace, or completes whole");
    }
    client_stop(c, &net);
}

CLIENT(bmi_request_timeout, 2, ANYWHERE)
{
    struct client_net net;
    uint8_t *data = client_memory(c, LONG);
    mx_request_t request;
    mx_endpoint_addr_t to;
    mx_status_t s;
    uint32_t result = 0;
    double begin;

    start(c, &net);
    to = iconnect(c, &net, 1 - c->id);
    client_barrier(c);
    if (c->id) {
        client_freeze(c, 0);
        begin = client_now_ms(c);
        request = client_isend(c, net.ep, data, LONG, to, bits(EXPECTED, 1, 1), NULL);
        OK(mx_set_request_timeout(net.ep, request, 1000));
        OK(mx_wait_any(net.ep, 20000, KIND(EXPECTED), KIND_MASK, &s, &result));
        client_thaw(c, 0);
        EXPECT_EQ(result, 1, "a request that nobody answers ends by its time-out");
        EXPECT(s.code == MX_STATUS_TIMEOUT || s.code == MX_STATUS_ENDPOINT_UNREACHABLE,
               "with \"time-out\" or \"unreachable\"");
        TOOK(begin, 500, 3000, "and not much earlier than it was told");
    }
    client_stop(c, &net);
}

/// A thread of the daemon that waits for anything.
static void *wait_for_anything(void *argument)
{
    mx_endpoint_t *ep = argument;
    mx_status_t s;
    uint32_t result = 7;
    mx_return_t code = mx_wait_any(*ep, MX_INFINITE, 0, 0, &s, &result);

    return code == MX_SUCCESS && result == 0 ? ep : NULL;
}

CLIENT(bmi_wakeup_ends_a_wait, 1, THREADS)
{
    struct client_net net;
    pthread_t thread;
    void *ended = NULL;
    struct timespec soon;
    int joined = 1, tries;

    start(c, &net);
    EXPECT_EQ(pthread_create(&thread, NULL, wait_for_anything, &net.ep), 0, "there are threads");
    for (tries = 0; joined && tries < 200; tries++) { // a wakeup before the thread sleeps is not remembered
        OK(mx_wakeup(net.ep));
        clock_gettime(CLOCK_REALTIME, &soon); // tidy-allow(time): looks again after a while
        soon.tv_sec += soon.tv_nsec >= 900000000;
        soon.tv_nsec = (soon.tv_nsec + 100000000) % 1000000000;
        joined = pthread_timedjoin_np(thread, &ended, &soon);
    }
    EXPECT_EQ(joined, 0, "mx_wakeup ends a mx_wait_any without end");
    EXPECT(ended == &net.ep, "which then succeeds with result 0");
    client_stop(c, &net);
}
