// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The C functions of fm.h.
#include "api.hpp"

#include <compat/job/launch.hpp>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

ULONG FM_nodeid = 0;
ULONG FM_numnodes = 0;

namespace fm {

Node *(*current_node)() = nullptr;

namespace {

thread_local int thread_error = 0;

/// Settings from before the process had a node.
struct Process {
    Options options;
    bool errors_return = false;
    bool initialised_mx = false;
    std::vector<std::pair<FM_handler *, FM_handler_1 *>> handlers; ///< by id
};
Node *own_node = nullptr; ///< the process's; never destroyed: handlers may wait on stacks of it

Process &process()
{
    static Process one;
    return one;
}

/// nullptr with FM_errno set before FM_initialize.
Node *node()
{
    if (current_node) [[unlikely]]
        return current_node();
    if (!own_node) [[unlikely]]
        thread_error = FM_E_INIT;
    return own_node;
}

int to_job(std::string &wrong)
{
    const job::ErrorsReturn here;
    Process &p = process();
    const mx_return_t code = mx_init();
    emx::Lock::allow_owners();
    p.initialised_mx = code == MX_SUCCESS;
    if (code != MX_SUCCESS && code != MX_ALREADY_INITIALIZED)
        wrong = std::string("MX does not start: ") + mx_strerror(code) + "; omx_check tells why";
    if (wrong.empty())
        wrong = job::find(terms_of_fm, p.options);
    if (wrong.empty()) {
        own_node = new Node(p.options);
        wrong = own_node->open();
    }
    if (wrong.empty())
        return FM_E_NONE;
    delete own_node;
    own_node = nullptr;
    if (p.initialised_mx)
        mx_finalize();
    return FM_E_JOB;
}

/// Before FM_initialize: kept for the node.
ULONG keep_handler(ULONG id, FM_handler *streams, FM_handler_1 *whole)
{
    auto &handlers = process().handlers;
    handlers.resize(process().options.handlers_max);
    if (id == FM_ANY_ID)
        for (id = 1; id < handlers.size() && (handlers[id].first || handlers[id].second);)
            ++id;
    if (id >= handlers.size()) {
        thread_error = FM_E_HANDLER;
        return FM_ANY_ID;
    }
    handlers[id] = {streams, whole};
    return id;
}

ULONG bind(ULONG id, FM_handler *streams, FM_handler_1 *whole)
{
    if (!current_node && !own_node)
        return keep_handler(id, streams, whole);
    return node()->register_handler(id, streams, whole);
}

bool set(Options &o, int what, ULONG value)
{
    switch (what) {
    case FM_QUIET: o.quiet = value != 0; return true;
    case FM_MAX_HANDLERS: o.handlers_max = value; return value >= 1 && value <= handlers_limit;
    case FM_JOB_KEY: o.key = value; return true;
    case FM_MEMORY: o.memory = value; return value > 0;
    case FM_STACK: o.stack = value; return value >= 16384;
    case FM_START_TIMEOUT: o.start_timeout = value; return value > 0 && value < 1000000;
    case FM_ERRORS_RETURN: process().errors_return = value != 0; return true;
    default: return false;
    }
}

} // namespace

void set_error(Node *node, int code) { (current_node ? node->error : thread_error) = code; }

} // namespace fm

using namespace fm;

int *FM_errno_location(void) { return current_node ? &current_node()->error : &thread_error; }

void FM_set_parameter(int what, ...)
{
    va_list list;
    va_start(list, what);
    const ULONG value = va_arg(list, ULONG);
    va_end(list);
    Options options = process().options;
    if (own_node || !set(options, what, value))
        thread_error = FM_E_PARAMETER;
    else
        process().options = options;
}

void FM_initialize(void)
{
    Process &p = process();
    std::string wrong;
    if (own_node) // once is enough
        return;
    Options given = p.options;
    const int code = to_job(wrong);
    if (code || !own_node) {
        p.options = given;
        if (!p.options.quiet || !p.errors_return)
            std::fprintf(stderr, "FM_initialize: %s\n", wrong.c_str());
        if (!p.errors_return)
            std::exit(1);
        thread_error = code;
        return;
    }
    for (ULONG id = 0; id < p.handlers.size() && id < p.options.handlers_max; id++)
        if (p.handlers[id].first || p.handlers[id].second)
            own_node->register_handler(id, p.handlers[id].first, p.handlers[id].second);
    FM_nodeid = own_node->number();
    FM_numnodes = own_node->count();
}

void FM_finalize(void)
{
    Node *one = node();
    if (!one || !one->close() || current_node)
        return;
    Process &p = process();
    own_node = nullptr; // not deleted: a handler may wait on a stack of it
    p.options.endpoint = nullptr;
    p.options.places.clear();
    if (p.initialised_mx)
        mx_finalize();
    FM_numnodes = 0;
}

ULONG FM_register_handler(ULONG id, FM_handler *handler) { return bind(id, handler, nullptr); }

ULONG FM_register_handler_1(ULONG id, FM_handler_1 *handler) { return bind(id, nullptr, handler); }

FM_stream *FM_begin_message(ULONG dest, ULONG length, ULONG handler)
{
    Node *one = node();
    return one ? one->begin(dest, length, handler) : nullptr;
}

void FM_send_piece(FM_stream *stream, const void *buffer, ULONG length)
{
    if (Node *one = stream ? &stream->node : node())
        one->piece(stream, buffer, length);
}

void FM_end_message(FM_stream *stream)
{
    if (Node *one = stream ? &stream->node : node())
        one->end(stream);
}

ULONG FM_receive(void *buffer, FM_stream *stream, ULONG length)
{
    Node *one = stream ? &stream->node : node();
    return one ? one->receive(stream, buffer, length) : 0;
}

ULONG(FM_extract)(ULONG maxbytes)
{
    Node *one = node();
    return one ? one->extract(maxbytes) : 0;
}

int FM_send_4(ULONG dest, ULONG handler, ULONG i0, ULONG i1, ULONG i2, ULONG i3)
{
    const ULONG words[] = {i0, i1, i2, i3};
    return FM_send(dest, handler, words, sizeof words);
}

int FM_send(ULONG dest, ULONG handler, const void *buffer, ULONG size)
{
    Node *one = node();
    return one ? one->send(dest, handler, buffer, size) : -FM_E_INIT;
}

void FM_reallocate_credit(void) {}

const char *FM_strerror(int error)
{
    switch (error) {
    case FM_E_NONE: return "no error";
    case FM_E_INIT: return "not in a job; call FM_initialize first";
    case FM_E_JOB: return "the job cannot be joined; standard error tells why";
    case FM_E_NODE: return "no such node; nodes are numbered from 0 to FM_numnodes - 1";
    case FM_E_HANDLER: return "no such handler; register it on all nodes, with an id below FM_MAX_HANDLERS";
    case FM_E_FULL: return "no room at the receiver; call FM_extract, outside of handlers, and try again";
    case FM_E_TOO_LONG:
        return "too long for a handler, or for a node to itself; send it outside of handlers to another "
               "node, or in parts";
    case FM_E_BUSY: return "another message is open, of another thread or too many of them; end it first";
    case FM_E_LENGTH: return "more bytes than FM_begin_message announced; announce the most there can be";
    case FM_E_STREAM: return "not an open stream of this kind; one ends with FM_end_message or its handler";
    case FM_E_END: return "FM_receive of more bytes than the message has";
    case FM_E_PEER: return "the other node is gone";
    case FM_E_IN_HANDLER: return "not from inside a handler; call it when the handler has returned";
    case FM_E_PARAMETER: return "unknown parameter or bad value; set it before FM_initialize";
    case FM_E_MX: return "MX refused; memory is exhausted, or the interface is gone";
    default: return "unknown error";
    }
}
