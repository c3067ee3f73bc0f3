// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Client: Open MPI 1.3 to 1.8, pml cm with the MX MTL.
//
// Matching is MX's: 16 bits of context, 16 of source, 32 of tag. It finds complete requests by mx_ipeek,
// and stops at any code that it does not expect.
#include "client.h"

#include <string.h>

#define USER "Open MPI's MTL"

enum { KEY = 0xaaaaffff, LONG = 100000 };
#define ANY_SOURCE (~0xffff00000000ull)
#define ANY_TAG (~0x7fffffffull) // negative tags are the library's own: the sign stays in the mask
#define EXACT (~0ull)

int mx__regcache_clean(void *addr, size_t length); // no header declares it

static uint64_t bits(uint32_t context, uint32_t source, int32_t tag)
{
    return (uint64_t)context << 48 | (uint64_t)source << 32 | (uint32_t)tag;
}

static void start(struct client *c, struct client_net *net)
{
    static char page[4096];

    client_env(c, "MX_RCACHE", "2"); // its memory hooks work
    mx__regcache_clean(page, sizeof page); // and are called at any time
    mx_set_error_handler(client_errors_return);
    OK(mx_init());
    memset(net, 0, sizeof *net);
    net->key = KEY;
    OK(mx_open_endpoint(MX_ANY_NIC, MX_ANY_ENDPOINT, KEY, NULL, 0, &net->ep));
    client_meet(c, net);
}

static void start_connected(struct client *c, struct client_net *net)
{
    start(c, net);
    client_connected(c, net);
}

CLIENT(mtl_error_handler_stands_before_init, 1, ANYWHERE)
{
    mx_endpoint_t none = NULL;

    mx_set_error_handler(client_errors_return);
    OK(mx_init());
    EXPECT_EQ(mx_open_endpoint(77, 0, KEY, NULL, 0, &none), MX_BOARD_UNKNOWN,
              "a handler set before mx_init gives codes back after it, and the process lives");
    EXPECT(mx_strerror(MX_BOARD_UNKNOWN) && *mx_strerror(MX_BOARD_UNKNOWN), "every code has a text");
    OK(mx_finalize());
}

CLIENT(mtl_opens_any_endpoint_of_any_board, 2, ANYWHERE)
{
    struct client_net net;
    char name[MX_MAX_HOSTNAME_LEN];

    start(c, &net);
    EXPECT(net.nic[0] != net.nic[1] || net.eid[0] != net.eid[1], "two processes never get one endpoint");
    memset(name, 'x', sizeof name);
    OK(mx_nic_id_to_hostname(net.nic[c->id], name));
    EXPECT(name[0] && memchr(name, 0, sizeof name), "the own board has a name of less than 80 characters");
    client_stop(c, &net);
}

CLIENT(mtl_all_connect_to_all_at_once, 4, ANYWHERE)
{
    struct client_net net;
    uint32_t from[4];
    mx_request_t in[4] = {NULL}, out;
    int i;

    start(c, &net);
    client_connect_all(c, &net); // no barrier: others may be at any point of it
    for (i = 0; i < c->n; i++)
        in[i] = client_irecv(c, net.ep, &from[i], sizeof from[i], bits(1, (uint32_t)i, 0), EXACT, NULL);
    for (i = 0; i < c->n; i++) {
        out = client_isend(c, net.ep, &c->id, sizeof c->id, net.to[i], bits(1, (uint32_t)c->id, 0), NULL);
        client_test_ok(c, net.ep, out);
    }
    for (i = 0; i < c->n; i++) {
        client_test_ok(c, net.ep, in[i]);
        EXPECT_EQ(from[i], i, "connected means connected: the next message arrives");
    }
    client_stop(c, &net);
}

CLIENT(mtl_connect_says_timeout_and_may_be_repeated, 2, ANYWHERE)
{
    struct client_net net;
    mx_return_t code = MX_TIMEOUT;
    int i;

    start(c, &net);
    if (c->id == 0) {
        client_freeze(c, 1);
        for (i = 0; i < 3; i++) {
            code = mx_connect(net.ep, net.nic[1], net.eid[1], KEY, 100, &net.to[1]);
            EXPECT_EQ(code, MX_TIMEOUT, "a peer that does not answer in time is code 30, every time");
        }
        client_thaw(c, 1);
        for (code = MX_TIMEOUT; code == MX_TIMEOUT && i < 20; i++)
            code = mx_connect(net.ep, net.nic[1], net.eid[1], KEY, 1000, &net.to[1]);
        EXPECT_EQ(code, MX_SUCCESS, "one of 20 tries succeeds once the peer answers");
    }
    client_stop(c, &net);
}

CLIENT(mtl_closed_endpoint_is_no_timeout, 2, ANYWHERE)
{
    struct client_net net;

    start(c, &net);
    if (c->id == 0)
        EXPECT_EQ(mx_connect(net.ep, net.nic[1], 31, KEY, 5000, &net.to[1]), MX_CONNECTION_FAILED,
                  "code 30 alone is tried again: a closed endpoint is another one");
    client_stop(c, &net);
}

/// Two messages of each kind: internal ones of context 5, ones of another context, ones of context 5.
static void send_to_wild_receives(struct client *c, struct client_net *net)
{
    const int32_t tags[] = {-10, 7, 7};
    const uint32_t contexts[] = {5, 6, 5};
    uint32_t i;

    for (i = 0; i < 3; i++)
        client_test_ok(c, net->ep,
                       client_isend(c, net->ep, &i, sizeof i, net->to[0],
                                    bits(contexts[i], (uint32_t)c->id, tags[i]), NULL));
}

/// Receives them, the wildest first. *in is where the data goes.
static void post_wild_receives(struct client *c, struct client_net *net, mx_request_t *posted, uint32_t *in)
{
    int i;

    for (i = 0; i < 2; i++)
        posted[i] = client_irecv(c, net->ep, &in[i], 4, bits(5, 0, 0) & ANY_SOURCE & ANY_TAG,
                                 ANY_SOURCE & ANY_TAG, NULL);
    for (i = 2; i < 4; i++)
        posted[i] = client_irecv(c, net->ep, &in[i], 4, bits(6, 0, 7) & ANY_SOURCE, ANY_SOURCE, NULL);
    for (i = 4; i < 6; i++)
        posted[i] = client_irecv(c, net->ep, &in[i], 4, bits(5, (uint32_t)i - 3, -10), EXACT, NULL);
}

static void check_wild_receives(struct client *c, struct client_net *net, mx_request_t *posted, uint32_t *in)
{
    const uint32_t kind[] = {2, 2, 1, 1, 0, 0};
    uint32_t sources[3] = {0, 0, 0}, source;
    mx_status_t s;
    int i;

    for (i = 0; i < 6; i++) {
        s = client_test_ok(c, net->ep, posted[i]);
        EXPECT_EQ(in[i], kind[i], "wild source and wild tag keep the context and the sign of the tag apart");
        source = (uint32_t)(s.match_info >> 32) & 0xffff;
        EXPECT(source == 1 || source == 2,
               "the status has the message's own bits: the source is read from them");
        EXPECT_EQ((uint32_t)s.match_info, (uint32_t)(kind[i] ? 7 : -10), "and the tag as well");
        sources[source]++;
    }
    EXPECT(sources[1] == 3 && sources[2] == 3, "every message is received once");
}

CLIENT(mtl_wildcards_of_the_match_bits, 3, ANYWHERE)
{
    struct client_net net;
    mx_request_t posted[6] = {NULL};
    uint32_t in[6] = {0};
    int round;

    start_connected(c, &net);
    for (round = 0; round < 2; round++) { // expected messages, then unexpected ones
        if (c->id == 0 && round == 0)
            post_wild_receives(c, &net, posted, in);
        client_barrier(c);
        if (c->id)
            send_to_wild_receives(c, &net);
        client_barrier(c);
        if (c->id == 0 && round == 1)
            post_wild_receives(c, &net, posted, in);
        if (c->id == 0)
            check_wild_receives(c, &net, posted, in);
        client_barrier(c);
    }
    client_stop(c, &net);
}

CLIENT(mtl_probe_then_receive, 2, ANYWHERE)
{
    struct client_net net;
    mx_status_t s;
    uint32_t result = 0;
    double end;
    uint8_t *data = client_memory(c, LONG);

    start_connected(c, &net);
    if (c->id == 1) {
        client_fill(data, 1, LONG);
        client_test_ok(c, net.ep, client_isend(c, net.ep, data, LONG, net.to[0], bits(3, 1, 42), NULL));
    } else {
        for (end = client_deadline(c); !result;) {
            OK(mx_iprobe(net.ep, bits(3, 0, 0), ANY_SOURCE & ANY_TAG, &s, &result));
            EXPECT(client_now_ms(c) < end, "mx_iprobe drives the endpoint until the message shows");
        }
        EXPECT_EQ(s.match_info, bits(3, 1, 42), "a probe tells source and tag");
        EXPECT_EQ(s.msg_length, LONG,
                  "a probe tells the length, also of messages that are still at the sender");
        client_test_ok(c, net.ep, client_irecv(c, net.ep, data, LONG, s.match_info, EXACT, NULL));
        EXPECT_EQ(client_verify(data, 1, LONG), LONG, "the receive with the probed bits gets that message");
    }
    client_stop(c, &net);
}

CLIENT(mtl_synchronous_send, 2, ANYWHERE)
{
    struct client_net net;
    mx_segment_t segment = {NULL, 0};
    mx_request_t request = NULL;
    mx_status_t s;
    uint32_t result = 7;

    start_connected(c, &net);
    if (c->id == 1) {
        OK(mx_issend(net.ep, &segment, 1, net.to[0], bits(1, 1, 1), NULL, &request));
        OK(mx_wait(net.ep, &request, 100, &s, &result));
        EXPECT_EQ(result, 0, "MPI_Ssend of nothing waits for the match; a time-out of mx_wait is no error");
        EXPECT(request != NULL, "a request lives on after a time-out");
        client_barrier(c);
        OK(mx_wait(net.ep, &request, 20000, &s, &result));
        EXPECT_EQ(result, 1, "the match completes it");
        EXPECT_EQ(s.code, MX_STATUS_SUCCESS, "the request succeeds");
    } else {
        client_barrier(c);
        client_test_ok(c, net.ep, client_irecv(c, net.ep, NULL, 0, bits(1, 1, 1), EXACT, NULL));
    }
    client_stop(c, &net);
}

CLIENT(mtl_truncation_is_a_status, 2, ANYWHERE)
{
    const uint32_t lengths[] = {100, 5000, LONG};
    struct client_net net;
    mx_status_t s;
    uint8_t *data = client_memory(c, LONG);
    uint32_t i;

    start_connected(c, &net);
    client_fill(data, 1, LONG);
    for (i = 0; i < 3; i++) {
        if (c->id == 1) {
            client_test(c, net.ep, client_isend(c, net.ep, data, lengths[i], net.to[0], bits(1, 1, 1), NULL));
            continue;
        }
        memset(data, 0, LONG);
        s = client_test(c, net.ep, client_irecv(c, net.ep, data, 60, bits(1, 1, 1), EXACT, NULL));
        EXPECT_EQ(s.code, MX_STATUS_TRUNCATED, "MPI_ERR_TRUNCATE comes from the status, not from a code");
        EXPECT_EQ(s.xfer_length, 60, "a truncated receive fills its buffer");
        EXPECT_EQ(client_verify(data, 1, 60), 60, "with the first bytes");
        EXPECT(data[60] == 0, "and writes nothing behind it");
    }
    client_stop(c, &net);
}

enum { BURST = 48 };

/// A burst in flight: the context of each request says which one it is.
struct burst {
    int done;
    char complete[2 * BURST]; ///< sends, then receives
    mx_request_t request[2 * BURST];
};

static uint32_t burst_length(int i)
{
    const uint32_t lengths[] = {0, 8, 128, 3000, 32768, 40000};

    return lengths[i % 6];
}

static void post_burst(struct client *c, struct client_net *net, struct burst *b, uint8_t *in, uint8_t *out)
{
    uint32_t peer = (uint32_t)(1 - c->id), i;

    for (i = 0; i < BURST; i++)
        b->request[BURST + i] = client_irecv(c, net->ep, in + (size_t)i * 40000, burst_length((int)i),
                                             bits(2, peer, (int32_t)i), EXACT, &b->request[BURST + i]);
    for (i = 0; i < BURST; i++) {
        client_fill(out + (size_t)i * 40000, i, burst_length((int)i));
        b->request[i] = client_isend(c, net->ep, out + (size_t)i * 40000, burst_length((int)i), net->to[peer],
                                     bits(2, (uint32_t)c->id, (int32_t)i), &b->request[i]);
    }
}

/// Its progress function: whatever mx_ipeek names is complete.
static void progress(struct client *c, mx_endpoint_t ep, struct burst *b)
{
    mx_request_t request = NULL, again = NULL;
    mx_status_t s;
    uint32_t result = 7;
    ptrdiff_t i;

    OK(mx_ipeek(ep, &request, &result));
    EXPECT(result <= 1, "a result is 0 or 1");
    if (!result)
        return;
    OK(mx_ipeek(ep, &again, &result));
    EXPECT(result == 1 && again == request, "mx_ipeek consumes nothing: it names the same request again");
    OK(mx_test(ep, &again, &s, &result));
    EXPECT_EQ(result, 1, "mx_test of what mx_ipeek named is complete: it aborts otherwise");
    EXPECT_EQ(s.code, MX_STATUS_SUCCESS, "the request succeeds");
    i = (mx_request_t *)s.context - b->request;
    EXPECT(i >= 0 && i < BURST + BURST, "the status has the request's context");
    EXPECT(b->request[i] == request, "mx_ipeek names a request by the handle that posting it gave");
    EXPECT(!b->complete[i], "a request is reported once");
    b->complete[i] = 1;
    b->done++;
}

CLIENT(mtl_progress_by_peek_and_test, 2, ANYWHERE)
{
    struct client_net net;
    struct burst *b = client_memory(c, sizeof *b);
    uint8_t *in = client_memory(c, sizeof(uint8_t[BURST][40000])),
            *out = client_memory(c, sizeof(uint8_t[BURST][40000]));
    double end;
    uint32_t i;

    start_connected(c, &net);
    post_burst(c, &net, b, in, out);
    for (end = client_deadline(c); b->done < 2 * BURST;) {
        progress(c, net.ep, b);
        EXPECT(client_now_ms(c) < end, "mx_ipeek alone drives sends and receives to their end");
    }
    for (i = 0; i < BURST; i++)
        EXPECT_EQ(client_verify(in + (size_t)i * 40000, i, burst_length((int)i)), burst_length((int)i),
                  "data arrives as it was sent");
    client_stop(c, &net);
}

CLIENT(mtl_tested_requests_are_not_peeked, 2, ANYWHERE)
{
    struct client_net net;
    mx_request_t request = NULL;
    uint32_t result = 7;
    int i, in = -1;

    start_connected(c, &net);
    for (i = 0; i < 20; i++) { // blocking MPI_Send and MPI_Recv
        if (c->id)
            client_test_ok(c, net.ep, client_isend(c, net.ep, &i, sizeof i, net.to[0], bits(1, 1, i), NULL));
        else
            client_test_ok(c, net.ep, client_irecv(c, net.ep, &in, sizeof in, bits(1, 1, i), EXACT, NULL));
    }
    client_barrier(c);
    OK(mx_ipeek(net.ep, &request, &result));
    EXPECT_EQ(result, 0, "a request finished by mx_test never shows in mx_ipeek");
    client_stop(c, &net);
}

static uint32_t cancel(struct client_net *net, mx_request_t *request)
{
    uint32_t result = 4711; // it looks at the result whatever the code

    mx_cancel(net->ep, request, &result);
    return result;
}

CLIENT(mtl_cancelled_receive_is_gone, 2, ANYWHERE)
{
    struct client_net net;
    mx_request_t request;
    uint32_t result = 7;
    int in = -1, out = 11;

    start_connected(c, &net);
    if (c->id == 0) {
        request = client_irecv(c, net.ep, &in, sizeof in, bits(1, 1, 1), EXACT, NULL);
        EXPECT_EQ(cancel(&net, &request), 1, "a receive that nothing matched can be cancelled");
        client_barrier(c);
        client_test_ok(c, net.ep, client_irecv(c, net.ep, &out, sizeof out, bits(1, 1, 1), EXACT, NULL));
        EXPECT(in == -1 && out == 22, "a cancelled receive takes no message");
        OK(mx_ipeek(net.ep, &request, &result));
        EXPECT_EQ(result, 0, "a cancelled receive never completes");
    } else {
        client_barrier(c);
        out = 22;
        client_test_ok(c, net.ep, client_isend(c, net.ep, &out, sizeof out, net.to[0], bits(1, 1, 1), NULL));
    }
    client_stop(c, &net);
}

CLIENT(mtl_cancel_always_writes_its_result, 2, ANYWHERE)
{
    struct client_net net;
    mx_request_t request, done = NULL;
    uint8_t *data = client_memory(c, LONG);
    uint32_t result = 0;
    double end;

    start_connected(c, &net);
    if (c->id == 0) {
        request = client_irecv(c, net.ep, data, LONG, bits(1, 1, 1), EXACT, NULL);
        client_barrier(c);
        for (end = client_deadline(c); !result; EXPECT(client_now_ms(c) < end, "the message arrives"))
            OK(mx_ipeek(net.ep, &done, &result));
        EXPECT_EQ(cancel(&net, &request), 0, "a complete receive cannot be cancelled, and says so");
        client_test_ok(c, net.ep, request);
        client_barrier(c);
    } else {
        request = client_isend(c, net.ep, data, LONG, net.to[0], bits(1, 1, 1), NULL);
        EXPECT_EQ(cancel(&net, &request), 0, "mx_cancel writes its result even where it returns an error");
        client_barrier(c);
        client_test_ok(c, net.ep, request);
        request = NULL;
        client_barrier(c);
        EXPECT_EQ(cancel(&net, &request), 0, "mx_cancel writes its result even where it returns an error");
    }
    client_stop(c, &net);
}
