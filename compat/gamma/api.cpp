// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The C functions of gamma.h.
#include "api.hpp"

#include <compat/job/launch.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sys/mman.h>

namespace emx_gamma {

Node *(*current_node)() = nullptr;

namespace {

thread_local gamma_thread own_state{};

constexpr uint32_t key_of_jobs = 0x47414d00; ///< and the number of the program

Node *own_node = nullptr; ///< the process's; never destroyed: other threads may still hold it

/// Other state of the process: memory that it has locked.
struct Process {
    bool initialised_mx = false;
    std::mutex mutex;
    std::vector<std::pair<void *, unsigned long>> locked;
};

Process &process()
{
    static Process one;
    return one;
}

Node *node()
{
    if (current_node) [[unlikely]]
        return current_node();
    return own_node;
}

/// Calls a member of the node, if there is one.
template <class... Parameters, class... Arguments>
int on_node(int (Node::*function)(Parameters...), Arguments... arguments)
{
    Node *one = node();
    return one ? (one->*function)(arguments...) : set_error(one, GAMMA_E_INIT);
}

int told(int code, const std::string &wrong)
{
    std::fprintf(stderr, "gamma_init: %s\n", wrong.c_str());
    return set_error(node(), code);
}

/// Empty, or what is wrong.
std::string read_par_pid(uint32_t &par_pid)
{
    const char *text = std::getenv("GAMMA_PAR_PID");
    if (!text)
        return {};
    char *end = nullptr;
    errno = 0;
    const unsigned long value = std::strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || value > 255)
        return std::string("GAMMA_PAR_PID=") + text + " is no number from 0 to 255";
    par_pid = static_cast<uint32_t>(value);
    return {};
}

void end_job(Node &)
{
    std::fprintf(stderr, "gamma: another node of the job has called gamma_abort\n");
    std::_Exit(1);
}

/// Joins. 0, or an error and its text.
int join(unsigned num_nodes, std::string &wrong)
{
    Options options;
    options.aborted = end_job;
    wrong = read_par_pid(options.par_pid);
    options.key = key_of_jobs | options.par_pid;
    if (wrong.empty())
        wrong = job::find(terms_of_gamma, options);
    if (wrong.empty() && num_nodes && options.places.size() != num_nodes) {
        wrong = "the job has " + std::to_string(options.places.size()) + " nodes, and the program wants " +
                std::to_string(num_nodes) + "; start as many";
        if (options.endpoint) // of a launcher's job; mx_finalize is its program's, where that began MX
            mx_close_endpoint(options.endpoint);
        return GAMMA_E_GROUP;
    }
    if (wrong.empty()) {
        own_node = new Node(options);
        wrong = own_node->open();
    }
    return wrong.empty() ? 0 : GAMMA_E_JOB;
}

/// One or two pieces.
int send(unsigned short port, const void *b1, unsigned long l1, const void *b2, unsigned long l2, bool flow,
         bool blocking)
{
    Node *one = node();
    if (!one) [[unlikely]]
        return set_error(one, GAMMA_E_INIT);
    if (l1 > GAMMA_LENGTH_MAX || l2 > GAMMA_LENGTH_MAX - l1) [[unlikely]]
        return set_error(one, GAMMA_E_LENGTH);
    if ((l1 && !b1) || (l2 && !b2)) [[unlikely]]
        return set_error(one, GAMMA_E_ARGUMENT);
    Message message;
    message.segments[0] = {const_cast<void *>(b1), static_cast<uint32_t>(l1)};
    message.segments[1] = {const_cast<void *>(b2), static_cast<uint32_t>(l2)};
    message.length = static_cast<uint32_t>(l1 + l2);
    message.flow = flow;
    message.blocking = blocking;
    return one->send(port, message);
}

} // namespace

gamma_thread &thread_state(Node *node) { return current_node && node ? node->state : own_state; }

} // namespace emx_gamma

using namespace emx_gamma;

gamma_thread *gamma_thread_state(void) { return &thread_state(node()); }

int gamma_init(unsigned char num_nodes, int, char **)
{
    Process &p = process();
    if (own_node) // once is enough
        return 0;
    const job::ErrorsReturn here;
    setenv("EMX_SPIN_US", "0", 0); // a node looks often enough by itself before it sleeps
    const mx_return_t begun = mx_init();
    emx::Lock::allow_owners();
    p.initialised_mx = begun == MX_SUCCESS;
    if (begun != MX_SUCCESS && begun != MX_ALREADY_INITIALIZED)
        return told(GAMMA_E_JOB,
                    std::string("MX does not start: ") + mx_strerror(begun) + "; omx_check tells why");
    std::string wrong;
    const int code = join(num_nodes, wrong);
    if (!code)
        return 0;
    delete own_node;
    own_node = nullptr;
    if (p.initialised_mx)
        mx_finalize();
    return told(code, wrong);
}

int gamma_exit(void)
{
    const int result = on_node(&Node::close);
    if (result < 0 || current_node)
        return result;
    Process &p = process();
    gamma_munlockall();
    own_node = nullptr; // not deleted: see there
    if (p.initialised_mx)
        mx_finalize();
    return 0;
}

int gamma_abort(void)
{
    Node *one = node();
    if (!one)
        return set_error(one, GAMMA_E_INIT);
    one->abort();
    if (!current_node)
        std::_Exit(1);
    return 0;
}

int gamma_my_node(void)
{
    return node() ? static_cast<int>(node()->number()) : set_error(node(), GAMMA_E_INIT);
}

int gamma_my_par_pid(void)
{
    return node() ? static_cast<int>(node()->par_pid()) : set_error(node(), GAMMA_E_INIT);
}

int gamma_how_many_nodes(void)
{
    return node() ? static_cast<int>(node()->count()) : set_error(node(), GAMMA_E_INIT);
}

int gamma_set_active_port(unsigned short port, unsigned short dest_node, unsigned char dest_par_pid,
                          unsigned short dest_port, void (*handler)(void), unsigned short semaphore,
                          unsigned char kind, void *buf, unsigned long size)
{
    const Node::Binding binding{dest_node, dest_par_pid, dest_port, true, handler,
                                semaphore, kind,         buf,       size};
    return on_node(&Node::bind, port, binding);
}

int gamma_set_passive_port(unsigned short port, unsigned short dest_node, unsigned char dest_par_pid,
                           unsigned short dest_port, unsigned short semaphore, unsigned char kind, void *buf,
                           unsigned long size)
{
    const Node::Binding binding{dest_node, dest_par_pid, dest_port, false, nullptr,
                                semaphore, kind,         buf,       size};
    return on_node(&Node::bind, port, binding);
}

int gamma_post_recv(unsigned short port, void *buf, unsigned long size)
{
    return on_node(&Node::post_recv, port, buf, size);
}

int gamma_send(unsigned short port, const void *buf, unsigned long len)
{
    return send(port, buf, len, nullptr, 0, false, true);
}

int gamma_send_2p(unsigned short port, const void *b1, unsigned long l1, const void *b2, unsigned long l2)
{
    return send(port, b1, l1, b2, l2, false, true);
}

int gamma_send_flowctl(unsigned short port, const void *buf, unsigned long len)
{
    return send(port, buf, len, nullptr, 0, true, true);
}

int gamma_send_2p_flowctl(unsigned short port, const void *b1, unsigned long l1, const void *b2,
                          unsigned long l2)
{
    return send(port, b1, l1, b2, l2, true, true);
}

int gamma_isend(unsigned short port, const void *buf, unsigned long len)
{
    return send(port, buf, len, nullptr, 0, false, false);
}

int gamma_isend_2p(unsigned short port, const void *b1, unsigned long l1, const void *b2, unsigned long l2)
{
    return send(port, b1, l1, b2, l2, false, false);
}

int gamma_isend_flowctl(unsigned short port, const void *buf, unsigned long len)
{
    return send(port, buf, len, nullptr, 0, true, false);
}

int gamma_isend_2p_flowctl(unsigned short port, const void *b1, unsigned long l1, const void *b2,
                           unsigned long l2)
{
    return send(port, b1, l1, b2, l2, true, false);
}

int gamma_wsend(unsigned short port) { return on_node(&Node::wait_sends, port); }

int gamma_tsend(unsigned short port) { return on_node(&Node::test_sends, port); }

int gamma_lost(unsigned short port) { return on_node(&Node::lost, port); }

int gamma_signal(unsigned short semaphore) { return on_node(&Node::signal, semaphore); }

int gamma_wait(unsigned short semaphore, unsigned long n) { return on_node(&Node::wait, semaphore, n); }

int gamma_test(unsigned short semaphore) { return on_node(&Node::test, semaphore); }

int gamma_sigerr(unsigned short semaphore, int code) { return on_node(&Node::signal_error, semaphore, code); }

int gamma_atomic(void (*f)(void)) { return on_node(&Node::atomic, f); }

int gamma_sync(void) { return on_node(&Node::sync); }

int gamma_broadcast(unsigned short root, void *buf, unsigned long len)
{
    return on_node(&Node::broadcast, root, buf, len);
}

void gamma_time(gamma_time_t *now)
{
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    *now = static_cast<gamma_time_t>(t.tv_sec) * 1000000000 + static_cast<gamma_time_t>(t.tv_nsec);
}

double gamma_time_diff(gamma_time_t from, gamma_time_t to)
{
    return static_cast<double>(static_cast<int64_t>(to - from)) / 1000;
}

int gamma_mlock(void *buf, unsigned long size)
{
    if (!buf)
        return set_error(node(), GAMMA_E_ARGUMENT);
    Process &p = process();
    const std::lock_guard lock(p.mutex);
    if (mlock(buf, size) == 0)
        p.locked.emplace_back(buf, size);
    return 0;
}

int gamma_munlock(void *buf, unsigned long size)
{
    if (!buf)
        return set_error(node(), GAMMA_E_ARGUMENT);
    Process &p = process();
    const std::lock_guard lock(p.mutex);
    const auto at = std::find(p.locked.begin(), p.locked.end(), std::pair(buf, size));
    if (at != p.locked.end()) {
        munlock(buf, size);
        p.locked.erase(at);
    }
    return 0;
}

int gamma_munlockall(void)
{
    Process &p = process();
    const std::lock_guard lock(p.mutex);
    for (const auto &[buf, size] : p.locked)
        munlock(buf, size);
    p.locked.clear();
    return 0;
}

const char *gamma_strerror(int error)
{
    switch (error < 0 ? -error : error) {
    case GAMMA_E_NONE: return "no error";
    case GAMMA_E_INIT: return "not in a job; call gamma_init first";
    case GAMMA_E_JOB: return "the job cannot be joined; standard error tells why";
    case GAMMA_E_NODE: return "no such node; nodes are numbered from 0 to gamma_how_many_nodes() - 1";
    case GAMMA_E_PAR_PID:
        return "no such parallel program; gamma_my_par_pid() is the only one that ports reach";
    case GAMMA_E_PORT: return "the port is not bound here; bind it by gamma_set_active_port or _passive_port";
    case GAMMA_E_BOUND: return "the port is bound already; bind each once, or take another number";
    case GAMMA_E_ARGUMENT: return "bad argument; gamma.h says what each call takes";
    case GAMMA_E_LENGTH: return "a message is too long; post a longer buffer, or send it in parts";
    case GAMMA_E_NO_PORT:
        return "the destination has not bound its port; bind it there, and gamma_sync before sending";
    case GAMMA_E_LOST:
        return "best effort lost messages; post buffers earlier, or send by the _flowctl calls";
    case GAMMA_E_BUSY: return "too many pending sends or buffers; call gamma_wsend, or receive first";
    case GAMMA_E_FULL: return "no room at the receiver; inside a handler send by gamma_isend_flowctl";
    case GAMMA_E_IN_HANDLER: return "nothing waits inside a handler or gamma_atomic; call it outside";
    case GAMMA_E_PEER: return "the other node is gone";
    case GAMMA_E_GROUP:
        return "the nodes do not agree; all make the same calls, with one root and one length";
    case GAMMA_E_MX: return "MX refused; memory is exhausted, or the interface is gone";
    default: return "unknown error";
    }
}
