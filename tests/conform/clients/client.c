// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Shared by the clients in C: leaving a case, and the calls that most of them make. See client.h.
#include "client.h"

#include <inttypes.h>
#include <stdio.h>

int client_run(struct client *c, client_body body)
{
    jmp_buf leave;

    c->leave = &leave;
    if (setjmp(leave))
        return 1;
    body(c);
    return 0;
}

void client_abandon(struct client *c) { longjmp(*c->leave, 1); }

void client_leave(struct client *c, const char *file, int line, const char *what, const char *why)
{
    client_note(c, file, line, what, why);
    client_abandon(c);
}

void client_equal(struct client *c, const char *file, int line, const char *what, uint64_t got, uint64_t want,
                  const char *why)
{
    char text[400];

    if (got == want)
        return;
    snprintf(text, sizeof text, "%s: got %" PRIu64 ", want %" PRIu64, what, got, want);
    client_leave(c, file, line, text, why);
}

static _Thread_local char reason[400];

mx_return_t client_errors_return(char *text, mx_return_t code)
{
    snprintf(reason, sizeof reason, "%s", text);
    return code;
}

const char *client_reason(void) { return reason; }

void client_ok(struct client *c, const char *file, int line, const char *call, mx_return_t code)
{
    char text[800];

    if (code == MX_SUCCESS)
        return;
    snprintf(text, sizeof text, "%s: %d, %s (%s)", call, (int)code, mx_strerror(code), reason);
    client_leave(c, file, line, text, "the call succeeds, or the program ends");
}

mx_request_t client_isend(struct client *c, mx_endpoint_t ep, const void *data, uint32_t length,
                          mx_endpoint_addr_t to, uint64_t match, void *context)
{
    mx_segment_t segment = {(void *)(uintptr_t)data, length};
    mx_request_t request = NULL;

    OK(mx_isend(ep, &segment, 1, to, match, context, &request));
    EXPECT(request != NULL, "a posted request has a handle that is not NULL");
    return request;
}

mx_request_t client_irecv(struct client *c, mx_endpoint_t ep, void *data, uint32_t length, uint64_t match,
                          uint64_t mask, void *context)
{
    mx_segment_t segment = {data, length};
    mx_request_t request = NULL;

    OK(mx_irecv(ep, &segment, 1, match, mask, context, &request));
    EXPECT(request != NULL, "a posted request has a handle that is not NULL");
    return request;
}

mx_status_t client_test(struct client *c, mx_endpoint_t ep, mx_request_t request)
{
    double end = client_deadline(c);
    mx_status_t status;
    uint32_t result = 0;

    while (!result) {
        OK(mx_test(ep, &request, &status, &result));
        EXPECT(result <= 1, "a result is 0 or 1");
        EXPECT(client_now_ms(c) < end, "a matched request completes while mx_test is called");
    }
    return status;
}

mx_status_t client_test_ok(struct client *c, mx_endpoint_t ep, mx_request_t request)
{
    mx_status_t status = client_test(c, ep, request);

    if (status.code != MX_STATUS_SUCCESS)
        client_leave(c, __FILE__, __LINE__, mx_strstatus(status.code), "the request succeeds");
    return status;
}

void client_meet(struct client *c, struct client_net *net)
{
    mx_endpoint_addr_t own;
    uint64_t nic = 0, eids[clients_max];
    uint32_t eid = 0;
    int i;

    OK(mx_get_endpoint_addr(net->ep, &own));
    OK(mx_decompose_endpoint_addr(own, &nic, &eid));
    client_exchange(c, nic, net->nic);
    client_exchange(c, eid, eids);
    for (i = 0; i < c->n; i++)
        net->eid[i] = (uint32_t)eids[i];
}

void client_connect_all(struct client *c, struct client_net *net)
{
    int i, tries;
    mx_return_t code;

    for (i = 0; i < c->n; i++) {
        code = MX_TIMEOUT;
        for (tries = 0; code == MX_TIMEOUT && tries < 20; tries++)
            code = mx_connect(net->ep, net->nic[i], net->eid[i], net->key, MX_INFINITE, &net->to[i]);
        EXPECT_EQ(code, MX_SUCCESS, "all processes can connect to all at once, themselves included");
    }
}

void client_connected(struct client *c, struct client_net *net)
{
    client_connect_all(c, net);
    client_barrier(c);
}

void client_stop(struct client *c, struct client_net *net)
{
    client_barrier(c);
    OK(mx_close_endpoint(net->ep));
    OK(mx_finalize());
}
