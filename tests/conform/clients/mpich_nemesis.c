// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Client: MPICH 1.1 to 3.0, channel nemesis with the MX network module.
//
// User messages are matched by MX, the module's own packets go to an unexpected handler; bit 63 of the match
// bits separates them, and is the context id. Progress may come only between disable and re-enable calls.
#include "client.h"

#include <string.h>

#define USER "MPICH nemesis"

enum { KEY = (int)0xabadbada, PACKET_MAX = 1024 };
#define MODULE (1ull << 63) // packets of the module, in contrast to messages of the user
#define EXACT (~0ull)

static uint64_t bits(uint32_t context, uint32_t rank, uint32_t tag)
{
    return (uint64_t)context << 48 | (uint64_t)rank << 32 | tag;
}

static void start(struct client *c, struct client_net *net)
{
    mx_param_t param;

    client_env(c, "MX_DISABLE_SHARED", "1");
    client_env(c, "MX_DISABLE_SELF", "1");
    OK(mx_init());
    mx_set_error_handler(client_errors_return);
    memset(net, 0, sizeof *net);
    net->key = (uint32_t)KEY;
    param.key = MX_PARAM_CONTEXT_ID;
    param.val.context_id.bits = 1;
    param.val.context_id.shift = 63;
    OK(mx_open_endpoint(MX_ANY_NIC, MX_ANY_ENDPOINT, net->key, &param, 1, &net->ep));
    client_meet(c, net);
}

static void start_connected(struct client *c, struct client_net *net)
{
    start(c, net);
    client_connected(c, net);
}

/// Polls mx_test_any with its masks until something of that class is complete.
static mx_status_t test_any(struct client *c, mx_endpoint_t ep, uint64_t class)
{
    double end = client_deadline(c);
    mx_status_t s;
    uint32_t result = 7;

    do {
        OK(mx_test_any(ep, class, MODULE, &s, &result));
        EXPECT(client_now_ms(c) < end, "mx_test_any drives the endpoint until a request is complete");
    } while (result != 1);
    EXPECT_EQ(s.code, MX_STATUS_SUCCESS, "the request succeeds");
    return s;
}

CLIENT(nem_lists_the_boards, 1, ANYWHERE)
{
    uint32_t count = 0, max = 0;
    uint64_t *ids;

    OK(mx_init());
    mx_set_error_handler(client_errors_return);
    OK(mx_get_info(NULL, MX_NIC_COUNT, NULL, 0, &count, sizeof count));
    EXPECT(count >= 1, "there is a board");
    ids = client_memory(c, (count + 1) * sizeof *ids);
    ids[count] = 1;
    OK(mx_get_info(NULL, MX_NIC_IDS, NULL, 0, ids, (uint32_t)((count + 1) * sizeof *ids)));
    EXPECT(ids[0] != 0 && ids[count] == 0, "MX_NIC_IDS writes every identifier and a zero behind them");
    OK(mx_get_info(NULL, MX_COPY_SEND_MAX, NULL, 0, &max, sizeof max));
    EXPECT(max >= PACKET_MAX, "MX_COPY_SEND_MAX is larger than its packets");
    OK(mx_finalize());
}

/// Work of the module's handler, in structures that nothing but the gate protects.
struct module {
    struct client *c;
    mx_endpoint_t ep;
    int gate_closed, calls;
    uint64_t last; ///< bits
    mx_endpoint_addr_t source;
};

static mx_unexp_handler_action_t on_packet(void *context, mx_endpoint_addr_t source, uint64_t match,
                                           uint32_t length, void *data)
{
    struct module *m = context;
    struct client *c = m->c;

    if (!(match & MODULE))
        return MX_RECV_CONTINUE; // the user's message: its receive comes later
    NOTE(!m->gate_closed, "while progression is disabled, the handler is never entered");
    NOTE(data != NULL && length <= PACKET_MAX && client_verify(data, match & 0xff, length) == length,
         "the handler has the packet's data");
    m->calls++;
    m->last = match;
    m->source = source;
    return MX_RECV_FINISHED;
}

static void send_packet(struct client *c, struct client_net *net, int to, uint32_t tag, uint32_t length)
{
    uint8_t data[PACKET_MAX];
    uint64_t match = MODULE | bits(0, (uint32_t)c->id, tag);

    client_fill(data, match & 0xff, length);
    client_test_ok(c, net->ep, client_isend(c, net->ep, data, length, net->to[to], match, NULL));
}

/// Calls of all kinds that must not let anything in.
static void use_the_closed_gate(struct client *c, struct module *m, double end)
{
    mx_request_t request = NULL;
    mx_status_t s;
    uint32_t result;

    m->gate_closed = 1;
    while (client_now_ms(c) < end) {
        request = client_irecv(c, m->ep, NULL, 0, bits(9, 9, 9), EXACT, NULL);
        OK(mx_test(m->ep, &request, &s, &result));
        EXPECT_EQ(result, 0, "nothing completes that needs a message from outside");
        OK(mx_test_any(m->ep, MODULE, MODULE, &s, &result));
        OK(mx_iprobe(m->ep, bits(1, 0, 0), EXACT, &s, &result));
        EXPECT_EQ(result, 0, "while progression is disabled, nothing comes in");
        OK(mx_cancel(m->ep, &request, &result));
        EXPECT_EQ(result, 1, "a receive can be cancelled while progression is disabled");
    }
    m->gate_closed = 0;
}

CLIENT(nem_progression_gate, 2, ANYWHERE)
{
    struct client_net net;
    struct module m = {c, NULL, 0, 0, 0, {{0, 0}}};
    int i, before;
    uint32_t result;
    mx_status_t s;

    start_connected(c, &net);
    m.ep = net.ep;
    OK(mx_register_unexp_handler(net.ep, on_packet, &m));
    client_barrier(c);
    for (i = 0; i < 5; i++) {
        if (c->id == 0) {
            OK(mx_disable_progression(net.ep));
            OK(mx_disable_progression(net.ep)); // a flag, not a counter
            before = m.calls;
            client_barrier(c);
            client_barrier(c); // the packet is under way
            use_the_closed_gate(c, &m, client_now_ms(c) + 20);
            EXPECT_EQ(m.calls, before, "while progression is disabled, the handler is never entered");
            OK(mx_reenable_progression(net.ep));
            for (double end = client_deadline(c); m.calls == before;) {
                OK(mx_test_any(net.ep, MODULE, MODULE, &s, &result));
                EXPECT(client_now_ms(c) < end, "one mx_reenable_progression opens the gate");
            }
        } else {
            client_barrier(c);
            send_packet(c, &net, 0, (uint32_t)i, 500);
            client_barrier(c);
        }
        client_barrier(c);
    }
    client_stop(c, &net);
}

CLIENT(nem_complete_requests_show_behind_the_gate, 1, ANYWHERE)
{
    struct client_net net;
    mx_request_t request;
    mx_status_t s;
    uint32_t result = 0;
    int mark = 0;

    start_connected(c, &net);
    request = client_isend(c, net.ep, "x", 1, net.to[0], bits(1, 0, 1), &mark);
    client_test_ok(c, net.ep, client_irecv(c, net.ep, &mark, 1, bits(1, 0, 1), EXACT, NULL));
    OK(mx_wait(net.ep, &request, 20000, &s, &result)); // complete, and now once more without progress
    request = client_isend(c, net.ep, "x", 1, net.to[0], bits(1, 0, 1), &mark);
    OK(mx_disable_progression(net.ep));
    OK(mx_test(net.ep, &request, &s, &result));
    EXPECT(result == 1 && s.context == &mark,
           "a request that is complete is reported while progression is disabled");
    OK(mx_reenable_progression(net.ep));
    client_stop(c, &net);
}

CLIENT(nem_copy_send_max_is_the_true_threshold, 2, ANYWHERE)
{
    struct client_net net;
    uint8_t *data;
    uint32_t max = 0, result = 7;
    mx_request_t request = NULL;
    mx_status_t s;

    start_connected(c, &net);
    OK(mx_get_info(net.ep, MX_COPY_SEND_MAX, NULL, 0, &max, sizeof max));
    data = client_memory(c, max + 1);
    if (c->id) {
        client_fill(data, 1, max);
        client_test_ok(c, net.ep, client_isend(c, net.ep, data, max, net.to[0], bits(1, 1, 1), NULL));
        client_fill(data, 2, max + 1); // copied: the buffer is free
        request = client_isend(c, net.ep, data, max + 1, net.to[0], bits(1, 1, 2), NULL);
        for (double end = client_now_ms(c) + 50; client_now_ms(c) < end;) {
            OK(mx_test(net.ep, &request, &s, &result));
            EXPECT_EQ(result, 0, "a longer message completes when it is received, not before");
        }
        client_barrier(c);
        client_test_ok(c, net.ep, request);
    } else {
        client_barrier(c); // until then nothing is received
        client_test_ok(c, net.ep, client_irecv(c, net.ep, data, max, bits(1, 1, 1), EXACT, NULL));
        EXPECT_EQ(client_verify(data, 1, max), max,
                  "messages of up to MX_COPY_SEND_MAX are copied before they complete");
        client_test_ok(c, net.ep, client_irecv(c, net.ep, data, max + 1, bits(1, 1, 2), EXACT, NULL));
        EXPECT_EQ(client_verify(data, 2, max + 1), max + 1, "data arrives as it was sent");
    }
    client_stop(c, &net);
}

CLIENT(nem_results_are_exactly_one, 2, ANYWHERE)
{
    struct client_net net;
    mx_request_t request;
    mx_status_t s;
    uint32_t result = 4711;
    double end = client_deadline(c);
    int in = 0;

    start_connected(c, &net);
    if (c->id) {
        client_test_ok(c, net.ep, client_isend(c, net.ep, &in, sizeof in, net.to[0], bits(1, 1, 1), NULL));
        client_test_ok(c, net.ep, client_isend(c, net.ep, &in, sizeof in, net.to[0], bits(1, 1, 2), NULL));
    } else {
        OK(mx_test_any(net.ep, MODULE, MODULE, &s, &result));
        EXPECT_EQ(result, 0, "\"no\" is 0, also where the result was not");
        for (result = 4711; result != 1; EXPECT(client_now_ms(c) < end, "a result of mx_iprobe is 1"))
            OK(mx_iprobe(net.ep, bits(1, 1, 1), EXACT, &s, &result));
        OK(mx_probe(net.ep, 20000, bits(1, 1, 2), EXACT, &s, &result));
        EXPECT_EQ(result, 1, "\"yes\" of mx_probe is 1: it compares with 1");
        request = client_irecv(c, net.ep, &in, sizeof in, bits(1, 1, 1), EXACT, NULL);
        for (result = 4711; result != 1; EXPECT(client_now_ms(c) < end, "a result of mx_test is 1"))
            OK(mx_test(net.ep, &request, &s, &result));
        request = client_irecv(c, net.ep, &in, sizeof in, bits(1, 1, 2), EXACT, NULL);
        for (result = 4711; result != 1; EXPECT(client_now_ms(c) < end, "a result of mx_test_any is 1"))
            OK(mx_test_any(net.ep, 0, MODULE, &s, &result));
        request = client_irecv(c, net.ep, &in, sizeof in, bits(1, 1, 3), EXACT, NULL);
        result = 4711;
        OK(mx_cancel(net.ep, &request, &result));
        EXPECT_EQ(result, 1, "\"yes\" of mx_cancel is 1");
    }
    client_stop(c, &net);
}

/// A message of three bytes, with empty segments in every place.
static void put_holes(mx_segment_t *segments, char *data)
{
    const mx_segment_t list[] = {{NULL, 0}, {data, 1}, {NULL, 0}, {NULL, 0}, {data + 1, 2}, {NULL, 0}};

    memcpy(segments, list, sizeof list);
}

CLIENT(nem_empty_segments_may_be_null, 2, ANYWHERE)
{
    struct client_net net;
    mx_segment_t segments[6], nothing = {NULL, 0};
    mx_request_t request = NULL;
    char data[4] = "abc", in[4] = "";

    start_connected(c, &net);
    put_holes(segments, c->id ? data : in);
    if (c->id) {
        OK(mx_isend(net.ep, segments, 6, net.to[0], bits(1, 1, 1), NULL, &request));
        client_test_ok(c, net.ep, request);
        OK(mx_issend(net.ep, segments, 6, net.to[0], bits(1, 1, 2), NULL, &request));
        client_test_ok(c, net.ep, request);
        OK(mx_isend(net.ep, &nothing, 1, net.to[0], bits(1, 1, 3), NULL, &request));
        client_test_ok(c, net.ep, request);
    } else {
        for (uint32_t i = 1; i < 3; i++) {
            memset(in, 0, sizeof in);
            OK(mx_irecv(net.ep, segments, 6, bits(1, 1, i), EXACT, NULL, &request));
            EXPECT_EQ(client_test_ok(c, net.ep, request).xfer_length, 3, "empty segments add nothing");
            EXPECT(!memcmp(in, data, 3), "empty segments with a NULL pointer are skipped");
        }
        OK(mx_irecv(net.ep, &nothing, 1, bits(1, 1, 3), EXACT, NULL, &request));
        EXPECT_EQ(client_test_ok(c, net.ep, request).xfer_length, 0, "a message may be one empty segment");
    }
    client_stop(c, &net);
}

/// Reads the context of the sender through an address that the library gave out.
static void *context_of(struct client *c, mx_endpoint_addr_t address)
{
    mx_endpoint_addr_t copy;
    void *context = &copy;

    memcpy(&copy, &address, sizeof copy);
    OK(mx_get_endpoint_addr_context(copy, &context));
    return context;
}

CLIENT(nem_address_context_by_any_copy, 2, ANYWHERE)
{
    struct client_net net;
    struct module m = {c, NULL, 0, 0, 0, {{0, 0}}};
    mx_status_t s;
    uint32_t result = 0;
    int connection = 0, in;
    double end;

    start_connected(c, &net);
    if (c->id == 0) {
        EXPECT(context_of(c, net.to[1]) == NULL, "a context that was never set reads as NULL");
        OK(mx_set_endpoint_addr_context(net.to[1], &connection));
        OK(mx_register_unexp_handler(net.ep, on_packet, &m));
        client_barrier(c);
        for (end = client_deadline(c); !m.calls; EXPECT(client_now_ms(c) < end, "the handler is called"))
            OK(mx_test_any(net.ep, 0, MODULE, &s, &result));
        EXPECT(context_of(c, m.source) == &connection, "the handler's source leads to the connection");
        OK(mx_probe(net.ep, 20000, bits(1, 1, 1), EXACT, &s, &result));
        EXPECT(result == 1 && context_of(c, s.source) == &connection,
               "a probe's source leads to the connection");
        s = client_test_ok(c, net.ep, client_irecv(c, net.ep, &in, sizeof in, bits(1, 1, 1), EXACT, NULL));
        EXPECT(context_of(c, s.source) == &connection, "a receive's source leads to the connection");
        OK(mx_set_endpoint_addr_context(s.source, NULL));
        EXPECT(context_of(c, net.to[1]) == NULL, "and it can be changed through any of them");
    } else {
        client_barrier(c);
        send_packet(c, &net, 0, 1, 100);
        client_test_ok(c, net.ep, client_isend(c, net.ep, &in, sizeof in, net.to[0], bits(1, 1, 1), NULL));
    }
    client_stop(c, &net);
}

CLIENT(nem_context_id_in_bit_63, 2, ANYWHERE)
{
    struct client_net net;
    struct module m = {c, NULL, 0, 0, 0, {{0, 0}}};
    mx_request_t wild[2];
    uint32_t i, in[2] = {99, 99};

    start_connected(c, &net);
    OK(mx_register_unexp_handler(net.ep, on_packet, &m));
    if (c->id == 0) { // MPI_ANY_SOURCE and MPI_ANY_TAG: only the context and bit 63 are left in the mask
        for (i = 0; i < 2; i++)
            wild[i] = client_irecv(c, net.ep, &in[i], 4, bits(1, 0, 0), MODULE | bits(0x7fff, 0, 0), NULL);
        client_barrier(c);
        for (i = 0; i < 2; i++) {
            client_test_ok(c, net.ep, wild[i]);
            EXPECT_EQ(in[i], i, "the wildest receive of the user takes the user's messages, and those only");
        }
        EXPECT_EQ(m.calls, 2, "packets sent before a user's message reach the handler before that completes");
        EXPECT(m.last & MODULE, "all 64 match bits travel unchanged");
    } else {
        client_barrier(c);
        for (i = 0; i < 2; i++) {
            send_packet(c, &net, 0, i, 64);
            client_test_ok(c, net.ep, client_isend(c, net.ep, &i, 4, net.to[0], bits(1, 1, i), NULL));
        }
    }
    client_stop(c, &net);
}

CLIENT(nem_test_any_by_context_id, 2, ANYWHERE)
{
    enum { COUNT = 20 };
    struct client_net net;
    char marks[2 * COUNT] = "";
    int i, in[COUNT];
    mx_status_t s;

    start_connected(c, &net);
    for (i = 0; i < COUNT; i++) { // every handle is dropped: the context comes back with the status
        client_irecv(c, net.ep, &in[i], sizeof in[i], bits(1, (uint32_t)(1 - c->id), (uint32_t)i), EXACT,
                     &marks[i]);
        client_isend(c, net.ep, &i, sizeof i, net.to[1 - c->id], bits(1, (uint32_t)c->id, (uint32_t)i),
                     &marks[COUNT + i]);
    }
    client_isend(c, net.ep, &i, sizeof i, net.to[1 - c->id], MODULE | bits(1, 0, 0), &net); // to stay aside
    for (i = 0; i < 2 * COUNT; i++) {
        s = test_any(c, net.ep, 0);
        EXPECT((char *)s.context >= marks && (char *)s.context < marks + sizeof marks,
               "mx_test_any with bit 63 in its mask reaps one class, sends and receives");
        EXPECT(!(*(char *)s.context)++, "mx_test_any reports a request once");
    }
    s = test_any(c, net.ep, MODULE);
    EXPECT(s.context == &net, "a request whose handle was dropped is reaped by mx_test_any, by its context");
    for (i = 0; i < COUNT; i++)
        EXPECT_EQ(in[i], i, "data arrives as it was sent");
    client_stop(c, &net);
}

CLIENT(nem_cancel_or_test, 2, ANYWHERE)
{
    struct client_net net;
    mx_request_t requests[8];
    uint32_t result, taken = 0, in[8];
    mx_status_t s;
    int i;

    start_connected(c, &net);
    if (c->id == 0) {
        for (i = 0; i < 8; i++)
            requests[i] = client_irecv(c, net.ep, &in[i], 4, bits(1, 1, 1), EXACT, NULL);
        client_barrier(c);
        client_barrier(c);
        for (i = 7; i >= 0; i--) {
            result = 4711;
            OK(mx_cancel(net.ep, &requests[i], &result));
            if (result == 1)
                continue;
            s = client_test_ok(c, net.ep, requests[i]); // it loops until the request is complete
            EXPECT_EQ(s.match_info, bits(1, 1, 1), "a receive that could not be cancelled completes");
            EXPECT_EQ(in[i], i, "messages go to the receives in their order");
            taken++;
        }
        for (; taken < 3; taken++) // a message that came after its receive was cancelled is still there
            client_test_ok(c, net.ep, client_irecv(c, net.ep, &in[0], 4, bits(1, 1, 1), EXACT, NULL));
        OK(mx_iprobe(net.ep, bits(1, 1, 1), EXACT, &s, &result));
        EXPECT_EQ(result, 0, "no message is received twice or left over");
    } else {
        client_barrier(c);
        for (i = 0; i < 3; i++)
            client_test_ok(c, net.ep, client_isend(c, net.ep, &i, 4, net.to[0], bits(1, 1, 1), NULL));
        client_barrier(c);
    }
    client_stop(c, &net);
}

CLIENT(nem_disconnects_at_the_end, 2, ANYWHERE)
{
    struct client_net net;
    int in, i;

    start_connected(c, &net);
    for (i = 0; i < 10; i++) {
        client_isend(c, net.ep, &i, sizeof i, net.to[1 - c->id], bits(1, (uint32_t)c->id, (uint32_t)i), NULL);
        client_test_ok(c, net.ep,
                       client_irecv(c, net.ep, &in, sizeof in, bits(1, (uint32_t)(1 - c->id), (uint32_t)i),
                                    EXACT, NULL));
        EXPECT_EQ(in, i, "data arrives as it was sent");
    }
    client_barrier(c);
    OK(mx_disconnect(net.ep, net.to[1 - c->id]));
    client_stop(c, &net);
}

/// A packet that is too long for the handler: it posts the receive, and lets the library go on.
struct long_packet {
    struct client *c;
    mx_endpoint_t ep;
    uint8_t *data;
    int calls;
};

enum { LONG = 100000 };

static mx_unexp_handler_action_t on_long_packet(void *context, mx_endpoint_addr_t source, uint64_t match,
                                                uint32_t length, void *data)
{
    struct long_packet *p = context;
    struct client *c = p->c;
    mx_segment_t segment = {p->data, length};
    mx_request_t request = NULL;

    (void)source;
    NOTE(match & MODULE, "a message for which a receive is posted never comes to the handler");
    NOTE(length == LONG && !data, "the handler has the length of a long message, and no data");
    NOTE(mx_irecv(p->ep, &segment, 1, match, EXACT, p, &request) == MX_SUCCESS,
         "the handler may post a receive");
    p->calls++;
    return MX_RECV_CONTINUE;
}

CLIENT(nem_handler_posts_the_receive, 2, ANYWHERE)
{
    struct client_net net;
    struct long_packet p = {c, NULL, client_memory(c, LONG), 0};
    int i, in = -1;
    mx_status_t s;

    start_connected(c, &net);
    p.ep = net.ep;
    OK(mx_register_unexp_handler(net.ep, on_long_packet, &p));
    for (i = 0; i < 4; i++) {
        if (c->id == 0) {
            client_irecv(c, net.ep, &in, sizeof in, bits(1, 1, (uint32_t)i), EXACT, &in);
            client_barrier(c);
            s = test_any(c, net.ep, MODULE);
            EXPECT(s.context == &p && s.xfer_length == LONG,
                   "the receive that the handler posted gets the message that it was called for");
            EXPECT_EQ(client_verify(p.data, (uint64_t)i, LONG), LONG, "data arrives as it was sent");
            EXPECT(test_any(c, net.ep, 0).context == &in && in == i, "data arrives as it was sent");
            EXPECT_EQ(p.calls, i + 1, "the handler is called once per packet");
        } else {
            client_barrier(c);
            client_isend(c, net.ep, &i, sizeof i, net.to[0], bits(1, 1, (uint32_t)i), NULL);
            client_fill(p.data, (uint64_t)i, LONG);
            client_isend(c, net.ep, p.data, LONG, net.to[0], MODULE | bits(0, 1, (uint32_t)i), NULL);
            test_any(c, net.ep, 0);
            test_any(c, net.ep, MODULE);
        }
    }
    client_stop(c, &net);
}
