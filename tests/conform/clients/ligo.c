// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Client: LIGO's data transport between front ends and data concentrators.
//
// Senders stream blocks to receivers, which have a thread for each endpoint, on up to 4 boards. Either side
// may be started first, and restarted: everything is a loop, with errors reported by the environment's
// choice.
#include "client.h"

#include <pthread.h>
#include <string.h>

#define USER "LIGO"

enum { KEY = 0x12345, BLOCK = 40000, BOARDS_MAX = 4, ENDPOINTS_MAX = 32 };
#define EXACT (~0ull)
#define MATCH (1ull << 31)

static void begin(struct client *c)
{
    client_env(c, "OMX_ERRORS_ARE_FATAL", "0");
    client_env(c, "MX_ERRORS_ARE_FATAL", "0");
    OK(mx_init());
}

static void start(struct client *c, struct client_net *net)
{
    begin(c);
    mx_set_error_handler(client_errors_return);
    memset(net, 0, sizeof *net);
    net->key = KEY;
    OK(mx_open_endpoint(0, MX_ANY_ENDPOINT, KEY, NULL, 0, &net->ep));
    client_meet(c, net);
}

/// Its wait: as often as the result is 0.
static mx_status_t wait(struct client *c, mx_endpoint_t ep, mx_request_t request, uint32_t *zeros)
{
    double end = client_deadline(c);
    mx_status_t s;
    uint32_t result = 0;

    for (;;) {
        OK(mx_wait(ep, &request, 10, &s, &result));
        if (result)
            return s;
        ++*zeros;
        EXPECT(request != NULL, "a wait that ends without result leaves the request as it was");
        EXPECT(client_now_ms(c) < end, "waiting on, the request completes");
    }
}

CLIENT(ligo_environment_decides_about_errors, 1, ANYWHERE)
{
    mx_endpoint_t none = NULL;
    uint64_t nic;

    begin(c); // and no handler is set
    EXPECT_EQ(mx_open_endpoint(99, 0, KEY, NULL, 0, &none), MX_BOARD_UNKNOWN,
              "errors are not fatal when the environment says so");
    EXPECT_EQ(mx_hostname_to_nic_id("no-such-host:0", &nic), MX_HOST_NOT_FOUND, "errors come back as codes");
    EXPECT(mx_strerror(MX_HOST_NOT_FOUND) != NULL, "every code has a text");
    OK(mx_finalize());
}

CLIENT(ligo_sizes_of_its_tables, 1, ANYWHERE)
{
    uint32_t boards = 0, endpoints = 0;
    char name[] = "localhost";
    uint64_t ids[BOARDS_MAX + 1], nic = 0;

    begin(c);
    OK(mx_get_info(NULL, MX_NIC_COUNT, NULL, 0, &boards, sizeof boards));
    EXPECT(boards >= 1 && boards <= BOARDS_MAX, "a host has at most 4 boards: it ends otherwise");
    OK(mx_get_info(NULL, MX_MAX_NATIVE_ENDPOINTS, NULL, 0, &endpoints, sizeof endpoints));
    EXPECT(endpoints >= 1 && endpoints <= ENDPOINTS_MAX,
           "a board has at most 32 endpoints: it ends otherwise");
    OK(mx_get_info(NULL, MX_NIC_IDS, NULL, 0, ids, sizeof ids));
    OK(mx_hostname_to_nic_id(name, &nic));
    EXPECT_EQ(nic, ids[0], "localhost is the first board");
    OK(mx_finalize());
}

CLIENT(ligo_timeout_of_one, 2, SIMULATED)
{
    struct client_net net;
    uint8_t *data = client_memory(c, BLOCK);
    mx_request_t request;
    uint32_t zeros = 0;

    start(c, &net);
    OK(mx_set_request_timeout(net.ep, NULL, 1)); // meaning a second
    client_connected(c, &net);
    if (c->id) {
        client_fill(data, 1, BLOCK);
        client_freeze(c, 0);
        request = client_isend(c, net.ep, data, BLOCK, net.to[0], MATCH, NULL);
        client_sleep_ms(c, 300);
        client_thaw(c, 0);
        EXPECT_EQ(wait(c, net.ep, request, &zeros).code, MX_STATUS_SUCCESS,
                  "with a time-out of 1, a request still has half a second");
    } else {
        EXPECT_EQ(wait(c, net.ep, client_irecv(c, net.ep, data, BLOCK, MATCH, EXACT, NULL), &zeros).code,
                  MX_STATUS_SUCCESS, "the request succeeds");
        EXPECT_EQ(client_verify(data, 1, BLOCK), BLOCK, "data arrives as it was sent");
    }
    client_stop(c, &net);
}

CLIENT(ligo_disconnects_its_own_address, 2, ANYWHERE)
{
    struct client_net net;
    uint8_t *data = client_memory(c, BLOCK);
    mx_endpoint_addr_t own;
    uint32_t i, zeros = 0;

    start(c, &net);
    client_connect_all(c, &net);
    OK(mx_get_endpoint_addr(net.ep, &own));
    client_barrier(c);
    for (i = 0; i < 3; i++) {
        if (c->id) {
            client_fill(data, i, BLOCK);
            EXPECT_EQ(
                wait(c, net.ep, client_isend(c, net.ep, data, BLOCK, net.to[0], MATCH + i, NULL), &zeros)
                    .code,
                MX_STATUS_SUCCESS, "connections to others survive it");
        } else {
            wait(c, net.ep, client_irecv(c, net.ep, data, BLOCK, MATCH + i, EXACT, NULL), &zeros);
            EXPECT_EQ(client_verify(data, i, BLOCK), BLOCK, "data arrives as it was sent");
        }
        OK(mx_disconnect(net.ep, own)); // after an error it takes the wrong address
    }
    client_stop(c, &net);
}

CLIENT(ligo_waits_in_short_steps, 2, ANYWHERE)
{
    struct client_net net;
    uint8_t *data = client_memory(c, BLOCK);
    mx_request_t request;
    mx_status_t s;
    uint32_t zeros = 0, result = 0;

    start(c, &net);
    client_connected(c, &net);
    if (c->id) {
        client_barrier(c); // until then the receiver waits in vain
        client_fill(data, 1, BLOCK);
        wait(c, net.ep, client_isend(c, net.ep, data, BLOCK, net.to[0], MATCH, NULL), &zeros);
    } else {
        request = client_irecv(c, net.ep, data, BLOCK, MATCH, EXACT, NULL);
        for (; zeros < 3; zeros++) {
            OK(mx_wait(net.ep, &request, 10, &s, &result));
            EXPECT_EQ(result, 0, "the end of a wait is a success with result 0, as often as it takes");
        }
        client_barrier(c);
        wait(c, net.ep, request, &zeros);
        EXPECT_EQ(client_verify(data, 1, BLOCK), BLOCK, "data arrives as it was sent");
    }
    client_stop(c, &net);
}

/// Its connect: until the receiver has been started.
static void connect_until_there(struct client *c, mx_endpoint_t ep, uint64_t nic, uint32_t eid,
                                mx_endpoint_addr_t *to)
{
    double end = client_deadline(c);
    mx_return_t code;

    do {
        code = mx_connect(ep, nic, eid, KEY, 1000, to);
        EXPECT(client_now_ms(c) < end, "the loop ends when the receiver has started");
    } while (code != MX_SUCCESS);
}

CLIENT(ligo_sender_outlives_its_receiver, 2, ANYWHERE)
{
    struct client_net net;
    uint8_t *data = client_memory(c, BLOCK);
    mx_status_t s;
    uint32_t life, zeros = 0;

    start(c, &net);
    client_barrier(c);
    for (life = 0; life < 2; life++) {
        if (c->id) {
            connect_until_there(c, net.ep, net.nic[0], net.eid[0], &net.to[0]);
            client_fill(data, life, BLOCK);
            EXPECT_EQ(
                wait(c, net.ep, client_isend(c, net.ep, data, BLOCK, net.to[0], MATCH, NULL), &zeros).code,
                MX_STATUS_SUCCESS, "after a new connect, blocks go to the restarted receiver");
            client_barrier(c);
            if (life)
                break;
            s = wait(c, net.ep, client_isend(c, net.ep, data, BLOCK, net.to[0], MATCH, NULL), &zeros);
            EXPECT(s.code != MX_STATUS_SUCCESS, "a block for a receiver that ended fails, and does not hang");
            OK(mx_disconnect(net.ep, net.to[0]));
            client_barrier(c);
        } else {
            wait(c, net.ep, client_irecv(c, net.ep, data, BLOCK, MATCH, EXACT, NULL), &zeros);
            EXPECT_EQ(client_verify(data, life, BLOCK), BLOCK, "data arrives as it was sent");
            if (life == 0)
                OK(mx_close_endpoint(net.ep));
            client_barrier(c);
            if (life)
                break;
            client_barrier(c);
            OK(mx_open_endpoint(0, net.eid[0], KEY, NULL, 0, &net.ep));
        }
    }
    client_stop(c, &net);
}

/// A receiver's thread: one endpoint, BLOCKS blocks.
struct receiver {
    pthread_t thread;
    mx_endpoint_t ep;
    uint32_t number;
    uint32_t good; ///< blocks
    uint8_t data[BLOCK];
};

enum { BLOCKS = 4 };

static uint64_t block_number(uint32_t endpoint, uint32_t block) { return endpoint * 100 + block; }

static void *receive(void *argument)
{
    struct receiver *r = argument;
    mx_segment_t segment = {r->data, BLOCK};
    mx_request_t request = NULL;
    mx_status_t s;
    uint32_t i, result, tries;

    for (i = 0; i < BLOCKS; i++) {
        if (mx_irecv(r->ep, &segment, 1, MATCH, EXACT, NULL, &request) != MX_SUCCESS)
            break;
        for (result = tries = 0; !result && tries < 400; tries++)
            if (mx_wait(r->ep, &request, 50, &s, &result) != MX_SUCCESS)
                return NULL;
        if (!result || s.code != MX_STATUS_SUCCESS)
            break;
        r->good += client_verify(r->data, block_number(r->number, i), BLOCK) == BLOCK;
    }
    return NULL;
}

/// Opens all endpoints of all boards, and gives each a thread. How many there are.
static uint32_t start_receivers(struct client *c, struct receiver *all, uint64_t *where)
{
    uint32_t boards = 0, per_board = 0, n = 0, i;
    mx_endpoint_addr_t own;
    uint64_t nic;
    uint32_t eid;

    OK(mx_get_info(NULL, MX_NIC_COUNT, NULL, 0, &boards, sizeof boards));
    OK(mx_get_info(NULL, MX_MAX_NATIVE_ENDPOINTS, NULL, 0, &per_board, sizeof per_board));
    if (!client_alone_on_host(c))
        per_board--; // the sender's
    for (i = 0; i < boards * per_board; i++) {
        struct receiver *r = &all[n];

        OK(mx_open_endpoint(i % boards, MX_ANY_ENDPOINT, KEY, NULL, 0, &r->ep));
        OK(mx_get_endpoint_addr(r->ep, &own));
        OK(mx_decompose_endpoint_addr(own, &nic, &eid));
        r->number = n;
        where[n++] = nic << 8 | eid;
    }
    for (i = 0; i < n; i++)
        EXPECT_EQ(pthread_create(&all[i].thread, NULL, receive, &all[i]), 0, "there are threads");
    return n;
}

static void end_receivers(struct client *c, struct receiver *all, uint32_t n)
{
    uint32_t i;

    for (i = 0; i < n; i++)
        pthread_join(all[i].thread, NULL);
    for (i = 0; i < n; i++) {
        EXPECT_EQ(all[i].good, BLOCKS, "all endpoints of all boards work at once, with a thread for each");
        OK(mx_close_endpoint(all[i].ep));
    }
}

/// A sender for all endpoints of the other host.
static void send_to_all(struct client *c, const uint64_t *where, uint32_t n, uint8_t *data)
{
    mx_endpoint_addr_t *to = client_memory(c, n * sizeof *to);
    mx_endpoint_t ep = NULL;
    uint32_t i, block, zeros = 0;

    OK(mx_open_endpoint(0, MX_ANY_ENDPOINT, KEY, NULL, 0, &ep));
    for (i = 0; i < n; i++)
        connect_until_there(c, ep, where[i] >> 8, where[i] & 0xff, &to[i]);
    for (block = 0; block < BLOCKS; block++)
        for (i = 0; i < n; i++) {
            client_fill(data, block_number(i, block), BLOCK);
            EXPECT_EQ(wait(c, ep, client_isend(c, ep, data, BLOCK, to[i], MATCH, NULL), &zeros).code,
                      MX_STATUS_SUCCESS, "the request succeeds");
        }
    client_barrier(c);
    OK(mx_close_endpoint(ep));
}

static void thread_per_endpoint(struct client *c)
{
    enum { MAX = BOARDS_MAX * ENDPOINTS_MAX };
    uint64_t *where = client_memory(c, MAX * sizeof *where), values[clients_max];
    struct receiver *all = client_memory(c, MAX * sizeof *all);
    uint32_t i, n = 0;

    begin(c);
    if (c->id == 0)
        n = start_receivers(c, all, where);
    client_exchange(c, n, values);
    n = (uint32_t)values[0];
    for (i = 0; i < n; i++) {
        client_exchange(c, where[i], values);
        where[i] = values[0];
    }
    if (c->id) {
        send_to_all(c, where, n, client_memory(c, BLOCK));
    } else {
        end_receivers(c, all, n);
        client_barrier(c);
    }
    OK(mx_finalize());
}

CLIENT(ligo_thread_per_endpoint, 2, THREADS) { thread_per_endpoint(c); }

CLIENT(ligo_thread_per_endpoint_of_every_board, 2, THREADS | TWO_BOARDS | APART) { thread_per_endpoint(c); }
