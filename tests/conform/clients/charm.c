// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Client: Charm++ 5.9 to 6.5, net-mx.
//
// Messages are unexpected: a callback of the old form posts the receive. Handles are dropped when they are
// posted, and complete requests are found by mx_ipeek. Its launcher asks for a library without threads.
#include "client.h"

#include <string.h>

#define USER "Charm++"

enum { KEY = 0x6368, LONG = 100000, COUNT = 60 };
#define MATCH 0x11223344ull // one value, and a full mask
#define EXACT (~0ull)

static void start_connected(struct client *c, struct client_net *net)
{
    client_env(c, "MX_MONOTHREAD", "1");
    mx_set_error_handler(client_errors_return);
    OK(mx_init());
    memset(net, 0, sizeof *net);
    net->key = KEY;
    OK(mx_open_endpoint(MX_ANY_NIC, MX_ANY_ENDPOINT, KEY, NULL, 0, &net->ep));
    EXPECT(net->ep != NULL, "an endpoint is not NULL: that is how it knows that it has one");
    client_meet(c, net);
    client_connected(c, net);
}

CLIENT(charm_endpoint_is_not_null, 1, ANYWHERE)
{
    struct client_net net;
    mx_endpoint_t none = NULL;

    start_connected(c, &net);
    EXPECT(mx_open_endpoint(77, MX_ANY_ENDPOINT, KEY, NULL, 0, &none) != MX_SUCCESS && none == NULL,
           "an endpoint that could not be opened stays NULL");
    client_stop(c, &net);
}

/// A message on its way: the context of its request.
struct message {
    uint32_t length, number;
    int received; ///< else sent
    uint8_t data[];
};

/// The machine layer of one process.
struct machine {
    struct client *c;
    struct client_net *net;
    uint32_t callbacks, sent, received;
};

static uint32_t length_of(uint32_t number)
{
    const uint32_t lengths[] = {16, 100, 2000, 32768, 32769, LONG};

    return lengths[number % 6];
}

static struct message *new_message(struct client *c, uint32_t length, uint32_t number, int received)
{
    struct message *m = client_memory(c, sizeof *m + length);

    m->length = length;
    m->number = number;
    m->received = received;
    return m;
}

/// Sends, and forgets the handle: mx_ipeek will bring it back.
static void send_message(struct client *c, struct machine *m, uint32_t number)
{
    struct message *message = new_message(c, length_of(number), number, 0);

    client_fill(message->data, number, message->length);
    client_isend(c, m->net->ep, message->data, message->length, m->net->to[1 - c->id], MATCH, message);
}

/// A request is complete: its context is all that is known of it.
static void complete(struct client *c, struct machine *m, const mx_status_t *s)
{
    struct message *message = s->context;

    EXPECT_EQ(s->code, MX_STATUS_SUCCESS, "the request succeeds");
    EXPECT_EQ(s->xfer_length, message->length, "the length that the callback was told is the message's");
    EXPECT(message->number < COUNT, "a request is reported once");
    EXPECT_EQ(client_verify(message->data, message->number, message->length), message->length,
              "a receive that the callback posts gets the message that it was called for");
    if (message->received)
        m->received++;
    else
        m->sent++;
    message->number = COUNT;
}

/// The callback of the old form: no source, no data, no answer. It posts the receive, and tries it at once.
static void on_message(void *context, uint64_t match, int length)
{
    struct machine *m = context;
    struct client *c = m->c;
    struct message *message = new_message(c, (uint32_t)length, m->callbacks, 1);
    mx_segment_t segment = {message->data, (uint32_t)length};
    mx_request_t request = NULL;
    mx_status_t s;
    uint32_t result = 7;

    NOTE(match == MATCH && (uint32_t)length == length_of(m->callbacks),
         "the callback comes once per message, in their order, with its bits and length");
    m->callbacks++;
    NOTE(mx_irecv(m->net->ep, &segment, 1, match, EXACT, message, &request) == MX_SUCCESS,
         "the callback may post a receive");
    NOTE(mx_test(m->net->ep, &request, &s, &result) == MX_SUCCESS && result <= 1,
         "the callback may test it at once, complete or not");
    if (result != 1)
        return;
    NOTE(client_verify(message->data, message->number, message->length) == message->length,
         "a receive that the callback posts gets the message that it was called for");
    message->number = COUNT;
    m->received++;
}

/// Its scheduler's poll.
static void advance(struct client *c, struct machine *m)
{
    mx_request_t request = NULL;
    mx_status_t s;
    uint32_t result = 0;

    OK(mx_progress(m->net->ep));
    OK(mx_ipeek(m->net->ep, &request, &result));
    if (!result)
        return;
    OK(mx_test(m->net->ep, &request, &s, &result));
    EXPECT_EQ(result, 1, "mx_test of what mx_ipeek named is complete");
    complete(c, m, &s);
}

CLIENT(charm_callback_posts_and_tests, 2, ANYWHERE)
{
    struct client_net net;
    struct machine m = {c, &net, 0, 0, 0};
    double end;
    uint32_t i;

    start_connected(c, &net);
    OK(mx_register_unexp_callback(net.ep, on_message, &m));
    client_barrier(c);
    for (i = 0; i < COUNT; i++)
        send_message(c, &m, i);
    for (end = client_deadline(c); m.sent < COUNT || m.received < COUNT;) {
        advance(c, &m);
        EXPECT(client_now_ms(c) < end, "requests whose handles were dropped come back by mx_ipeek");
    }
    EXPECT_EQ(m.callbacks, COUNT, "the callback comes once per message");
    client_stop(c, &net);
}

CLIENT(charm_dropped_handles_complete, 2, ANYWHERE)
{
    struct client_net net;
    struct machine m = {c, &net, 0, 0, 0};
    struct message *message;
    double end;
    uint32_t i;

    start_connected(c, &net);
    for (i = 0; i < COUNT; i++) { // expected messages
        message = new_message(c, length_of(i), i, 1);
        client_irecv(c, net.ep, message->data, message->length, MATCH, EXACT, message);
    }
    client_barrier(c);
    for (i = 0; i < COUNT; i++)
        send_message(c, &m, i);
    for (end = client_deadline(c); m.sent < COUNT || m.received < COUNT;) {
        advance(c, &m);
        EXPECT(client_now_ms(c) < end, "requests whose handles were dropped come back by mx_ipeek");
    }
    client_stop(c, &net);
}

CLIENT(charm_probes_for_messages, 2, ANYWHERE)
{
    struct client_net net;
    struct machine m = {c, &net, 0, 0, 0};
    struct message *message;
    mx_status_t s;
    uint32_t i, result = 0;

    start_connected(c, &net);
    for (i = 0; i < COUNT; i++) // without a callback: probe, and receive what is there
        send_message(c, &m, i);
    for (i = 0; i < COUNT; i++) {
        OK(mx_iprobe(net.ep, MATCH, EXACT, &s, &result));
        if (!result)
            OK(mx_probe(net.ep, 20000, MATCH, EXACT, &s, &result));
        EXPECT_EQ(result, 1, "mx_probe waits for the next message");
        EXPECT_EQ(s.msg_length, length_of(i), "messages of one sender are probed in their order");
        message = new_message(c, s.msg_length, i, 1);
        client_test_ok(c, net.ep,
                       client_irecv(c, net.ep, message->data, message->length, MATCH, EXACT, message));
        EXPECT_EQ(client_verify(message->data, i, message->length), message->length,
                  "the receive after a probe gets the message that was probed");
    }
    for (double end = client_deadline(c); m.sent < COUNT; EXPECT(client_now_ms(c) < end, "sends complete"))
        advance(c, &m);
    client_stop(c, &net);
}
