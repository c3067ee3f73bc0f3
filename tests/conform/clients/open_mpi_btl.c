// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Client: Open MPI 1.2 to 1.8, pml ob1 with the MX BTL.
//
// It matches itself: MX only carries fragments into 16 wild receives, or to an unexpected handler. Nodes
// form a network when they see the same mapper and the same line speed.
#include "client.h"

#include <mx_internals/mx__driver_interface.h>
#include <mx_internals/mx__fops.h>
#include <mx_io.h>

#include <string.h>

#define USER "Open MPI's BTL"

enum { KEY = (int)0xdeadbeef, RECEIVES = 16, EAGER = 4096, LONG = 200000 };
enum { TAG_INFO = 0x01, TAG_MASK = 0xff, TAG_SHIFT = 8 };
#define EXACT (~0ull)

int mx__regcache_clean(void *addr, size_t length); // no header declares it

static void start(struct client *c, struct client_net *net)
{
    client_env(c, "MX_PIPELINE_LOG", "0");
    client_env(c, "MX_DISABLE_SHMEM", "1"); // its parameters shared_mem and self are off
    client_env(c, "MX_DISABLE_SELF", "1");
    client_env(c, "MX_BONDING", "2");
    mx_set_error_handler(client_errors_return);
    OK(mx_init());
    memset(net, 0, sizeof *net);
    net->key = (uint32_t)KEY;
    OK(mx_open_endpoint(0, MX_ANY_ENDPOINT, net->key, NULL, 0, &net->ep));
    client_meet(c, net);
}

static void start_connected(struct client *c, struct client_net *net)
{
    start(c, net);
    client_connected(c, net);
}

CLIENT(btl_counts_boards_without_an_endpoint, 1, ANYWHERE)
{
    uint32_t count = 0, board = 99, i;
    char name[MX_MAX_HOSTNAME_LEN];
    uint64_t nic;

    mx_set_error_handler(client_errors_return);
    OK(mx_init());
    OK(mx_get_info(NULL, MX_NIC_COUNT, NULL, 0, &count, sizeof count));
    EXPECT(count >= 1, "MX_NIC_COUNT is answered for a NULL endpoint, and counts the boards");
    for (i = 0; i < count; i++) {
        OK(mx_board_number_to_nic_id(i, &nic));
        OK(mx_nic_id_to_board_number(nic, &board));
        EXPECT_EQ(board, i, "board numbers and identifiers translate both ways");
        OK(mx_nic_id_to_hostname(nic, name));
        EXPECT(*name && memchr(name, 0, sizeof name), "a board has a name, for its messages");
    }
    OK(mx_finalize());
}

/// The network number that it derives from line speed and mapper.
static uint32_t network_of_board_0(struct client *c)
{
    mx_endpt_handle_t handle = MX__INVALID_HANDLE;
    mx_mapper_state_t state;
    uint32_t board = 0, speed = 77;
    const uint32_t marks[] = {0x0a000000, 0x1e000000, 0x2d000000}; // ours, one for each speed

    OK(mx_get_info(NULL, MX_LINE_SPEED, &board, sizeof board, &speed, sizeof speed));
    EXPECT(speed == MX_SPEED_2G || speed == MX_SPEED_10G || speed == MX_SPEED_OPEN_MX,
           "the line speed is one of the three it knows: any other is an error");
    OK(mx_open_board(0, &handle));
    memset(&state, 0xee, sizeof state);
    state.board_number = 0;
    state.iport = 0;
    OK(mx__get_mapper_state(handle, &state));
    return marks[speed] |
           (uint32_t)(state.mapper_mac[3] << 16 | state.mapper_mac[4] << 8 | state.mapper_mac[5]);
}

CLIENT(btl_network_is_the_same_on_all_nodes, 2, ANYWHERE)
{
    struct client_net net;
    uint64_t networks[2];

    start(c, &net);
    client_exchange(c, network_of_board_0(c), networks);
    EXPECT_EQ(networks[1 - c->id], networks[c->id],
              "all nodes report one line speed and one mapper: it talks to no other network");
    client_stop(c, &net);
}

/// A fragment buffer with its receive, which is posted again and again.
struct fragment {
    mx_request_t request;
    uint32_t words[EAGER / 4];
};

static void post(struct client *c, mx_endpoint_t ep, struct fragment *f)
{
    f->request = client_irecv(c, ep, f->words, EAGER, TAG_INFO, TAG_MASK, f);
}

enum { FRAGMENTS = 600 };

static uint32_t fragment_words(uint32_t i) { return 1 + i * 37 % (EAGER / 4); }

static void send_fragments(struct client *c, struct client_net *net, uint32_t *words)
{
    mx_segment_t segment = {words, 0};
    mx_request_t request;
    uint32_t i;

    for (i = 0; i < FRAGMENTS; i++) {
        client_fill(words, i, EAGER); // the first word is the number
        words[0] = i;
        segment.segment_length = fragment_words(i) * 4;
        OK(mx_isend(net->ep, &segment, 1, net->to[0], TAG_INFO | (uint64_t)(i % 200) << TAG_SHIFT, NULL,
                    &request));
        client_test_ok(c, net->ep, request);
    }
}

static void check_fragment(struct client *c, const struct fragment *f, const mx_status_t *s, char *seen)
{
    uint32_t want[EAGER / 4], i = f->words[0];

    EXPECT_EQ(s->code, MX_STATUS_SUCCESS, "the request succeeds");
    EXPECT(i < FRAGMENTS && !seen[i], "every fragment is received once");
    EXPECT_EQ(s->xfer_length, fragment_words(i) * 4, "the status tells the fragment's length");
    EXPECT_EQ(s->match_info >> TAG_SHIFT & 0xff, i % 200, "the tag is read from the message's own bits");
    client_fill(want, i, EAGER);
    want[0] = i;
    EXPECT(!memcmp(want, f->words, s->xfer_length), "data arrives as it was sent");
    seen[i] = 1;
}

static void receive_fragments(struct client *c, struct client_net *net, struct fragment *all)
{
    double end = client_deadline(c);
    char *seen = client_memory(c, FRAGMENTS);
    struct fragment *f;
    mx_request_t request;
    mx_status_t s;
    uint32_t result, n = 0;

    while (n < FRAGMENTS) {
        EXPECT(client_now_ms(c) < end, "16 wild receives posted again and again take every fragment");
        OK(mx_ipeek(net->ep, &request, &result));
        if (!result)
            continue;
        OK(mx_test(net->ep, &request, &s, &result));
        EXPECT_EQ(result, 1, "mx_test of what mx_ipeek named is complete");
        f = s.context;
        EXPECT(f >= all && f < all + RECEIVES, "the status has the request's context");
        check_fragment(c, f, &s, seen);
        n++;
        post(c, net->ep, f);
    }
}

CLIENT(btl_sixteen_preposted_wild_receives, 2, ANYWHERE)
{
    struct client_net net;
    struct fragment *all = client_memory(c, RECEIVES * sizeof *all);
    int i;

    start(c, &net);
    for (i = 0; c->id == 0 && i < RECEIVES; i++)
        post(c, net.ep, &all[i]);
    client_connected(c, &net);
    if (c->id)
        send_fragments(c, &net, all->words);
    else
        receive_fragments(c, &net, all);
    for (i = 0; c->id == 0 && i < RECEIVES; i++)
        OK(mx_forget(net.ep, &all[i].request)); // and it closes
    client_stop(c, &net);
}

/// Deliveries of the unexpected handler.
struct delivery {
    struct client *c;
    uint32_t calls;
};

enum { HANDLED_MAX = 1024 };
static const uint32_t handled_lengths[] = {1, 8, 32, 33, 128, 129, 1000, HANDLED_MAX, 0};
enum { HANDLED = sizeof handled_lengths / sizeof *handled_lengths };

static mx_unexp_handler_action_t deliver(void *context, mx_endpoint_addr_t source, uint64_t match,
                                         uint32_t length, void *data)
{
    struct delivery *d = context;
    struct client *c = d->c;
    uint32_t i = d->calls++;

    (void)source;
    NOTE(i < HANDLED && length == handled_lengths[i],
         "the handler is called once per message, in their order");
    NOTE((match & TAG_MASK) == TAG_INFO, "the handler gets the message's bits");
    NOTE(data != NULL, "the data of an eager message of up to 1 KiB is there, in one piece");
    if (data)
        NOTE(client_verify(data, length, length) == length, "and it is the message's");
    return MX_RECV_FINISHED;
}

CLIENT(btl_handler_gets_data_up_to_one_kilobyte, 2, ANYWHERE)
{
    struct client_net net;
    struct delivery d = {c, 0};
    uint8_t data[HANDLED_MAX];
    double end;
    int i;

    start_connected(c, &net);
    if (c->id == 0) {
        OK(mx_register_unexp_handler(net.ep, deliver, &d));
        client_barrier(c);
        for (end = client_deadline(c); d.calls < HANDLED;) {
            mx_request_t request;
            uint32_t result;

            OK(mx_ipeek(net.ep, &request, &result));
            EXPECT_EQ(result, 0, "a message that the handler has finished completes no request");
            EXPECT(client_now_ms(c) < end, "mx_ipeek alone makes the handler see every message");
        }
    } else {
        client_barrier(c);
        for (i = 0; i < HANDLED; i++) {
            client_fill(data, handled_lengths[i], handled_lengths[i]);
            client_test_ok(c, net.ep,
                           client_isend(c, net.ep, data, handled_lengths[i], net.to[0], TAG_INFO, NULL));
        }
    }
    client_stop(c, &net);
}

/// Sends from a buffer on the stack that is gone on return; 0 when the library wants it longer.
static uint32_t send_from_the_stack(struct client *c, struct client_net *net, uint32_t length, uint64_t match)
{
    uint8_t data[HANDLED_MAX];
    mx_segment_t segment = {data, length};
    mx_request_t request = NULL;
    uint32_t buffered = 7;

    client_fill(data, match, length);
    OK(mx_isend(net->ep, &segment, 1, net->to[0], match, NULL, &request));
    OK(mx_ibuffered(net->ep, &request, &buffered));
    EXPECT(buffered <= 1, "a result is 0 or 1");
    if (buffered)
        OK(mx_forget(net->ep, &request));
    else
        client_test_ok(c, net->ep, request);
    memset(data, 0xdd, sizeof data);
    return buffered;
}

CLIENT(btl_ibuffered_means_that_the_buffer_is_free, 2, ANYWHERE)
{
    enum { COUNT = 300 };
    struct client_net net;
    uint8_t *data = client_memory(c, LONG);
    uint32_t i, length, buffered = 0;
    double end;

    start_connected(c, &net);
    for (i = 0; i < COUNT; i++) {
        length = i * 7 % (HANDLED_MAX + 1);
        if (c->id) {
            buffered += send_from_the_stack(c, &net, length, i);
        } else {
            client_test_ok(c, net.ep, client_irecv(c, net.ep, data, HANDLED_MAX, i, EXACT, NULL));
            EXPECT_EQ(client_verify(data, i, length), length,
                      "what mx_ibuffered calls buffered is sent as it was");
        }
    }
    if (c->id) {
        mx_request_t request;

        EXPECT(buffered > 0, "small messages are buffered at once");
        client_fill(data, COUNT, LONG);
        request = client_isend(c, net.ep, data, LONG, net.to[0], COUNT, NULL);
        OK(mx_ibuffered(net.ep, &request, &buffered));
        EXPECT_EQ(buffered, 0, "a message of 200000 bytes is not buffered before somebody receives it");
        client_barrier(c);
        for (end = client_deadline(c); !buffered;
             EXPECT(client_now_ms(c) < end, "a sent message counts as buffered"))
            OK(mx_ibuffered(net.ep, &request, &buffered));
        memset(data, 0xdd, LONG);
        client_test_ok(c, net.ep, request);
    } else {
        client_barrier(c);
        client_test_ok(c, net.ep, client_irecv(c, net.ep, data, LONG, COUNT, EXACT, NULL));
        EXPECT_EQ(client_verify(data, COUNT, LONG), LONG,
                  "what mx_ibuffered calls buffered is sent as it was");
    }
    client_stop(c, &net);
}

enum { KEYS = 2, FIN = 3 };

/// A put: the target forgets its receive and learns of the end by another message.
static void put_target(struct client *c, struct client_net *net, uint8_t *data, uint32_t length)
{
    uint64_t key = (uint64_t)(uintptr_t)data;
    mx_request_t request, fin;
    uint32_t result, nothing;

    fin = client_irecv(c, net->ep, &nothing, sizeof nothing, FIN, EXACT, NULL);
    request = client_irecv(c, net->ep, data, length, key, EXACT, NULL);
    OK(mx_forget(net->ep, &request));
    EXPECT(request == NULL, "mx_forget takes the handle of a receive that is only posted");
    client_test_ok(c, net->ep, client_isend(c, net->ep, &key, sizeof key, net->to[1], KEYS, NULL));
    client_test_ok(c, net->ep, fin);
    EXPECT_EQ(client_verify(data, length, length), length,
              "a forgotten receive has its data when a message sent after it has come");
    OK(mx_ipeek(net->ep, &request, &result));
    EXPECT_EQ(result, 0, "a forgotten receive never shows in mx_ipeek");
}

static void put_origin(struct client *c, struct client_net *net, uint8_t *data, uint32_t length)
{
    uint64_t key = 0;

    client_fill(data, length, length);
    client_test_ok(c, net->ep, client_irecv(c, net->ep, &key, sizeof key, KEYS, EXACT, NULL));
    client_test_ok(c, net->ep, client_isend(c, net->ep, data, length, net->to[0], key, NULL));
    client_test_ok(c, net->ep, client_isend(c, net->ep, &length, sizeof length, net->to[0], FIN, NULL));
}

CLIENT(btl_put_into_a_forgotten_receive, 2, ANYWHERE)
{
    const uint32_t lengths[] = {5000, 32768, 32769, LONG};
    struct client_net net;
    uint8_t *data = client_memory(c, LONG);
    int i;

    start_connected(c, &net);
    for (i = 0; i < 4; i++) {
        if (c->id)
            put_origin(c, &net, data, lengths[i]);
        else
            put_target(c, &net, data, lengths[i]);
        client_barrier(c);
        memset(data, 0, LONG);
        mx__regcache_clean(data, LONG); // as when the program frees its buffer
    }
    client_stop(c, &net);
}
