// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The frame of the clients: C programs that stand for the MX users of the field. Each makes the calls of
// one of them and relies on what that one relies on (API section 12); they are cases of the suite.
//
// A case is one function that every process of a job runs. It initialises the library itself, as its
// user does. EXPECT and OK leave the case when the library breaks the expectation, and say whose it was.
#ifndef EMX_TESTS_CONFORM_CLIENT_H
#define EMX_TESTS_CONFORM_CLIENT_H

#include "reason.h"

#include <mx_extensions.h>
#include <myriexpress.h>

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { clients_max = 8 };

/// Where a case can run: values of emx::conform::Tag.
enum client_tag {
    ANYWHERE = 0,
    THREADS = 1, ///< starts threads: not in the simulator
    SIMULATED = 2, ///< asks how long something takes: simulator only
    APART = 4, ///< needs the processes on different hosts
    TWO_BOARDS = 32,
};

/// One process of a job.
struct client {
    int id, n; ///< 0 .. n-1
    const char *user; ///< in whose place it is
    void *rank; ///< the frame's own
    jmp_buf *leave;
};

typedef void (*client_body)(struct client *c);
void client_register(const char *name, const char *file, const char *user, int ranks, unsigned tags,
                     client_body body);
/// Runs body; 1 when it left early.
int client_run(struct client *c, client_body body);

/// A case: the file defines USER, and the body has `c`.
#define CLIENT(name, ranks, tags)                                                                            \
    static void name(struct client *c);                                                                      \
    __attribute__((constructor)) static void register_##name(void)                                           \
    {                                                                                                        \
        client_register(#name, __FILE__, USER, ranks, tags, name);                                           \
    }                                                                                                        \
    static void name(struct client *c)

// Services beside the library; as Rank in conform.hpp. Not for other threads.
void client_barrier(struct client *c);
/// Everybody gives a value and gets all of them, by id. Also a barrier.
void client_exchange(struct client *c, uint64_t value, uint64_t *all);
void client_sleep_ms(struct client *c, uint32_t ms);
double client_now_ms(struct client *c);
/// Judges how long something took since `begin`, ms; what is too late, in virtual time alone.
void client_took(struct client *c, double begin, double least, double below, const char *file, int line,
                 const char *why);
void client_env(struct client *c, const char *name, const char *value);
void client_freeze(struct client *c, int id);
void client_thaw(struct client *c, int id);
int client_alone_on_host(struct client *c);
/// When a poll that began now has hung, ms.
double client_deadline(struct client *c);
/// Memory until the case ends, zeroed.
void *client_memory(struct client *c, size_t length);
/// Bytes that depend on their position and on a number; position of the first wrong one, or length.
void client_fill(void *data, uint64_t number, size_t length);
size_t client_verify(const void *data, uint64_t number, size_t length);

// Failures. The first two record one and leave the case; client_note goes on.
__attribute__((noreturn)) void client_leave(struct client *c, const char *file, int line, const char *what,
                                            const char *why);
void client_equal(struct client *c, const char *file, int line, const char *what, uint64_t got, uint64_t want,
                  const char *why);
void client_ok(struct client *c, const char *file, int line, const char *call, mx_return_t code);
void client_note(struct client *c, const char *file, int line, const char *what, const char *why);
/// Leaves without a record: another process failed.
__attribute__((noreturn)) void client_abandon(struct client *c);

/// `why` names the expectation: it follows "USER relies on this: ".
#define EXPECT(cond, why) ((cond) ? (void)0 : client_leave(c, __FILE__, __LINE__, #cond, why))
#define EXPECT_EQ(got, want, why)                                                                            \
    client_equal(c, __FILE__, __LINE__, #got, (uint64_t)(got), (uint64_t)(want), why)
#define OK(call) client_ok(c, __FILE__, __LINE__, #call, call)
#define TOOK(begin, least, below, why) client_took(c, begin, least, below, __FILE__, __LINE__, why)
/// For unexpected handlers: records and goes on, since the library is on the stack.
#define NOTE(cond, why) ((cond) ? (void)0 : client_note(c, __FILE__, __LINE__, #cond, why))

// Calls that most clients make in the same way.
mx_request_t client_isend(struct client *c, mx_endpoint_t ep, const void *data, uint32_t length,
                          mx_endpoint_addr_t to, uint64_t match, void *context);
mx_request_t client_irecv(struct client *c, mx_endpoint_t ep, void *data, uint32_t length, uint64_t match,
                          uint64_t mask, void *context);
/// Polls mx_test until the request is complete, and gives its status.
mx_status_t client_test(struct client *c, mx_endpoint_t ep, mx_request_t request);
/// The same, and the request must have succeeded.
mx_status_t client_test_ok(struct client *c, mx_endpoint_t ep, mx_request_t request);

/// The endpoints of a job: where they are, and addresses of those that were connected to.
struct client_net {
    mx_endpoint_t ep;
    uint32_t key;
    uint64_t nic[clients_max];
    uint32_t eid[clients_max];
    mx_endpoint_addr_t to[clients_max];
};
/// Tells everybody where this process's endpoint is. All call it.
void client_meet(struct client *c, struct client_net *net);
/// Connects with everybody, itself included, as MPI does at start-up: time-outs are tried again, nothing
/// else is.
void client_connect_all(struct client *c, struct client_net *net);
/// The same, and all have done so at its end.
void client_connected(struct client *c, struct client_net *net);
/// Closes the endpoint and finalizes, when all have come as far.
void client_stop(struct client *c, struct client_net *net);

#ifdef __cplusplus
}
#endif

#endif
