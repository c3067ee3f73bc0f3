// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Client: MPJ Express, device mxdev.
//
// A Java library over JNI: handles live in Java longs, and calls get the address of a local copy. Everybody
// connects to endpoint 0 of each host, again and again until the process there has started.
#include "client.h"

#include <string.h>

#define USER "MPJ Express"

enum { KEY = (int)0xcafebabe, LONG = 150000 };
#define EXACT (~0ull)
#define ANY_SOURCE (~0x0000ffff00000000ull)
#define ANY_TAG (~0x7fffffffull)

/// Context, source, one flag, tag.
static uint64_t bits(uint32_t context, uint32_t source, uint32_t flag, uint32_t tag)
{
    return (uint64_t)context << 48 | (uint64_t)source << 32 | (uint64_t)flag << 31 | tag;
}

static void start(struct client *c, struct client_net *net)
{
    OK(mx_init());
    mx_set_error_handler(client_errors_return);
    memset(net, 0, sizeof *net);
    net->key = (uint32_t)KEY;
    OK(mx_open_endpoint(MX_ANY_NIC, MX_ANY_ENDPOINT, net->key, NULL, 0, &net->ep));
    client_meet(c, net);
}

static void start_connected(struct client *c, struct client_net *net)
{
    start(c, net);
    client_connected(c, net);
}

/// A request as Java has it.
static uint64_t keep(mx_request_t request) { return (uint64_t)(uintptr_t)request; }

/// One call of Request.test(): a local copy of the handle goes into the library.
static int java_test(struct client *c, mx_endpoint_t ep, uint64_t handle, mx_status_t *s)
{
    mx_request_t request = (mx_request_t)(uintptr_t)handle;
    uint32_t result = 7;

    OK(mx_test(ep, &request, s, &result));
    EXPECT(result <= 1, "a result is 0 or 1");
    return result == 1;
}

/// One call of Request.await().
static mx_status_t java_wait(struct client *c, mx_endpoint_t ep, uint64_t handle)
{
    mx_request_t request = (mx_request_t)(uintptr_t)handle;
    mx_status_t s;
    uint32_t result = 0;

    OK(mx_wait(ep, &request, 20000, &s, &result));
    EXPECT_EQ(result, 1, "a matched request completes while mx_wait waits");
    EXPECT_EQ(s.code, MX_STATUS_SUCCESS, "the request succeeds");
    return s;
}

CLIENT(mpj_first_endpoint_of_a_host_is_zero, 2, ANYWHERE)
{
    struct client_net net;
    mx_endpoint_t second = NULL;
    mx_endpoint_addr_t own;
    uint64_t nic = 0;
    uint32_t eid = 99;

    start(c, &net);
    if (net.nic[0] != net.nic[1])
        EXPECT_EQ(net.eid[c->id], 0, "the first endpoint that a host opens has number 0");
    else
        EXPECT(net.eid[0] + net.eid[1] == 1, "MX_ANY_ENDPOINT gives the lowest free number");
    client_barrier(c);
    OK(mx_close_endpoint(net.ep)); // and the next job on this host finds 0 free again
    client_barrier(c);
    if (c->id == 0) {
        OK(mx_open_endpoint(MX_ANY_NIC, MX_ANY_ENDPOINT, net.key, NULL, 0, &second));
        OK(mx_get_endpoint_addr(second, &own));
        OK(mx_decompose_endpoint_addr(own, &nic, &eid));
        EXPECT_EQ(eid, 0, "a number is free again when its endpoint is closed");
        OK(mx_close_endpoint(second));
    }
    client_barrier(c);
    OK(mx_finalize());
}

CLIENT(mpj_refused_connects_come_back_promptly, 2, ANYWHERE)
{
    struct client_net net;
    mx_return_t code = MX_CONNECTION_FAILED;
    double begin, end = client_deadline(c);
    int tries;

    start(c, &net);
    if (c->id) { // not there yet, as far as the other one can tell
        OK(mx_close_endpoint(net.ep));
        client_barrier(c);
        client_barrier(c);
        OK(mx_open_endpoint(MX_ANY_NIC, net.eid[1], net.key, NULL, 0, &net.ep));
    } else {
        client_barrier(c);
        for (tries = 0; tries < 5; tries++) {
            begin = client_now_ms(c);
            code = mx_connect(net.ep, net.nic[1], net.eid[1], net.key, MX_INFINITE, &net.to[1]);
            EXPECT_EQ(code, MX_CONNECTION_FAILED,
                      "nobody there is code 33, also for a connect without time limit");
            TOOK(begin, 0, 400, "and comes back at once: before any repetition");
        }
        client_barrier(c);
        while (code == MX_CONNECTION_FAILED) {
            code = mx_connect(net.ep, net.nic[1], net.eid[1], net.key, MX_INFINITE, &net.to[1]);
            EXPECT(client_now_ms(c) < end, "the loop ends when the process has started");
        }
        EXPECT_EQ(code, MX_SUCCESS, "the loop ends when the process has started");
    }
    client_stop(c, &net);
}

CLIENT(mpj_host_names, 1, ANYWHERE)
{
    char name[MX_MAX_HOSTNAME_LEN];
    struct client_net net;
    uint64_t nic = 0;

    start_connected(c, &net);
    OK(mx_nic_id_to_hostname(net.nic[0], name));
    OK(mx_hostname_to_nic_id(name, &nic)); // from the user's list of machines, as node1:0
    EXPECT_EQ(nic, net.nic[0], "a board's name leads to the board");
    EXPECT_EQ(mx_hostname_to_nic_id("no-such-machine:0", &nic), MX_HOST_NOT_FOUND,
              "an unknown name is code 28");
    client_stop(c, &net);
}

CLIENT(mpj_copies_of_handles, 2, ANYWHERE)
{
    struct client_net net;
    uint64_t handle, other;
    mx_status_t s;
    mx_request_t copy;
    uint32_t result = 7;
    double end = client_deadline(c);
    int in = -1, out = 5, i;

    start_connected(c, &net);
    if (c->id == 0) {
        handle = keep(client_irecv(c, net.ep, &in, sizeof in, bits(1, 1, 0, 1), EXACT, &in));
        other = keep(client_irecv(c, net.ep, &out, sizeof out, bits(1, 1, 0, 2), EXACT, &out));
        for (i = 0; i < 3; i++)
            EXPECT(!java_test(c, net.ep, handle, &s), "a test that finds nothing leaves the handle good");
        client_barrier(c);
        while (!java_test(c, net.ep, handle, &s))
            EXPECT(client_now_ms(c) < end, "every copy of a handle is as good as the first");
        EXPECT(s.context == &in && in == 77, "only the value of a handle counts, not where it stands");
        copy = (mx_request_t)(uintptr_t)handle;
        if (mx_test(net.ep, &copy, &s, &result) == MX_SUCCESS)
            EXPECT_EQ(result, 0, "a copy that outlived its request never takes another one");
        EXPECT(java_wait(c, net.ep, other).context == &out, "a stale handle does no harm to other requests");
        handle = keep(client_irecv(c, net.ep, &in, sizeof in, bits(1, 1, 0, 3), EXACT, NULL));
        copy = (mx_request_t)(uintptr_t)handle;
        OK(mx_cancel(net.ep, &copy, &result));
        EXPECT_EQ(result, 1, "a receive is cancelled by any copy of its handle");
    } else {
        client_barrier(c);
        in = 77;
        java_wait(c, net.ep,
                  keep(client_isend(c, net.ep, &in, sizeof in, net.to[0], bits(1, 1, 0, 1), NULL)));
        java_wait(c, net.ep,
                  keep(client_isend(c, net.ep, &in, sizeof in, net.to[0], bits(1, 1, 0, 2), NULL)));
    }
    client_stop(c, &net);
}

CLIENT(mpj_context_by_a_copy, 1, ANYWHERE)
{
    struct client_net net;
    mx_request_t copy, peeked = NULL;
    void *context = NULL;
    uint64_t handle;
    uint32_t result = 0;
    int in = 0;

    start_connected(c, &net);
    handle = keep(client_irecv(c, net.ep, &in, sizeof in, bits(1, 0, 0, 1), EXACT, &in));
    copy = (mx_request_t)(uintptr_t)handle;
    OK(mx_context(&copy, &context));
    EXPECT(context == &in, "mx_context answers for a copy of a handle");
    java_wait(c, net.ep, keep(client_isend(c, net.ep, &in, sizeof in, net.to[0], bits(1, 0, 0, 1), &net)));
    OK(mx_peek(net.ep, 20000, &peeked, &result));
    EXPECT(result == 1 && keep(peeked) == handle,
           "mx_peek gives the same value as posting did: it is looked up");
    java_wait(c, net.ep, handle);
    client_stop(c, &net);
}

/// A message in two pieces, as its buffers are: primitive data, and objects.
static mx_request_t post_buffer(struct client *c, struct client_net *net, uint8_t *data, int synchronous,
                                int send, uint64_t match, uint64_t mask)
{
    mx_segment_t pieces[2] = {{data, 1000}, {data + 1000, LONG - 1000}};
    mx_request_t request = NULL;

    if (!send)
        OK(mx_irecv(net->ep, pieces, 2, match, mask, NULL, &request));
    else if (synchronous)
        OK(mx_issend(net->ep, pieces, 2, net->to[0], match, NULL, &request));
    else
        OK(mx_isend(net->ep, pieces, 2, net->to[0], match, NULL, &request));
    return request;
}

CLIENT(mpj_wild_receives_of_two_pieces, 2, ANYWHERE)
{
    struct client_net net;
    uint8_t *data = client_memory(c, LONG);
    mx_status_t s;
    uint32_t result = 0, i;

    start_connected(c, &net);
    for (i = 0; i < 4; i++) {
        if (c->id) {
            client_fill(data, i, LONG);
            java_wait(c, net.ep,
                      keep(post_buffer(c, &net, data, i & 1, 1, bits(3, 1, i & 1, 40 + i), EXACT)));
            client_barrier(c);
            continue;
        }
        OK(mx_probe(net.ep, 20000, bits(3, 0, i & 1, 0), ANY_SOURCE & ANY_TAG, &s, &result));
        EXPECT(result == 1 && s.msg_length == LONG, "mx_probe waits for a message and tells its length");
        OK(mx_iprobe(net.ep, bits(3, 0, (i & 1) ^ 1, 0), ANY_SOURCE & ANY_TAG, &s, &result));
        EXPECT_EQ(result, 0, "the flag above the tag is not wild");
        memset(data, 0, LONG);
        s = java_wait(c, net.ep,
                      keep(post_buffer(c, &net, data, 0, 0, bits(3, 0, i & 1, 0), ANY_SOURCE & ANY_TAG)));
        EXPECT_EQ(s.match_info, bits(3, 1, i & 1, 40 + i), "the status tells source and tag of the message");
        EXPECT_EQ(client_verify(data, i, LONG), LONG, "pieces are filled in their order");
        client_barrier(c);
    }
    client_stop(c, &net);
}
