// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The node: events of MX, control messages, waiting, semaphores. The protocol stands in label.hpp.
#include "api.hpp"

#include <mx_extensions.h>

#include <sched.h>

namespace emx_gamma {

namespace {

constexpr uint32_t looks_between = 1024; ///< at members, while nothing comes
constexpr uint32_t looks_awake =
    200; ///< then a waiting thread sleeps, before which MX looks for a while, too
constexpr uint32_t looks_for_frames = 1000; ///< the same for frames, which come in bursts

} // namespace

Node::Node(const Options &options)
    : options_(options), count_(static_cast<uint32_t>(options.places.size())), peers_(count_),
      multicast_(*this)
{
    for (uint32_t i = 0; i < count(); i++) {
        peers_[i].node = i;
        peers_[i].place = options.places[i];
        peers_[i].ping_context = &peers_[i].ping;
    }
}

Node::~Node() = default;

int Node::fail(int code) { return set_error(this, code); }

// ---- events

/// Takes in one thing that MX has finished, and what it met on the way. Runs no handler. False: nothing came,
/// or only a sign of life.
[[gnu::always_inline]] inline bool Node::pump_inline()
{
    mx_status_t status;
    uint32_t found = 0;
    mx_test_any(endpoint_, 0, 0, &status, &found);
    bool news = false;
    if (found) {
        auto *event = static_cast<Event *>(status.context);
        news = event->what != What::ping;
        take(event, status);
    }
    if (!notes_.empty()) [[unlikely]]
        serve_notes();
    if (room_came_) [[unlikely]]
        serve_queues();
    return news;
}

bool Node::pump() { return pump_inline(); }

inline void Node::take(Event *event, const mx_status_t &status)
{
    if (event->what == What::buffer) [[likely]]
        return take_buffer(static_cast<Buffer *>(event), status);
    take_other(event, status);
}

void Node::take_other(Event *event, const mx_status_t &status)
{
    switch (event->what) {
    case What::control: return take_control(static_cast<Control *>(event), status);
    case What::buffer: return take_buffer(static_cast<Buffer *>(event), status);
    case What::send: {
        auto *send = static_cast<Send *>(event);
        if (status.code != MX_STATUS_SUCCESS && status.code != MX_STATUS_TRUNCATED)
            send->error = GAMMA_E_PEER;
        if (--send->out == 0)
            finish(send);
        return;
    }
    case What::packet: return multicast_.take_message(event, status);
    case What::mark: --static_cast<Peer::Mark *>(event)->peer.marks_out; return;
    case What::ping:
        // The only member of a peer that MX knows without it.
        for (Peer &peer : peers_)
            if (&peer.ping == event)
                take_pong(peer, status);
    }
}

void Node::post_control(Control *control)
{
    mx_segment_t segment{&control->data, sizeof control->data};
    mx_request_t request; // found again by its context
    mx_irecv(endpoint_, &segment, 1, control_bit, control_bit, static_cast<Event *>(control), &request);
}

void Node::take_control(Control *control, const mx_status_t &status)
{
    const uint64_t label = status.match_info;
    const Hello hello = status.xfer_length == sizeof(Hello) ? control->data : Hello{};
    post_control(control);
    if (status.code == MX_STATUS_SUCCESS && node_of(label) < count())
        obey(peers_[node_of(label)], label, hello);
}

void Node::obey(Peer &peer, uint64_t label, const Hello &hello)
{
    switch (kind_of(label)) {
    case Kind::credit: {
        const auto flow = flows_.find({peer.node, a_of(label)});
        if (flow != flows_.end())
            room_came_ |= flow->second->take_freed(b_of(label), 0xffff);
        return;
    }
    case Kind::refused:
        if (Port *port = a_of(label) < user_ports ? find(a_of(label)) : nullptr) {
            const auto flow = flows_.find({peer.node, port->dest_port});
            if (flow != flows_.end())
                flow->second->sent = static_cast<uint16_t>(flow->second->sent - c_of(label));
            room_came_ = true;
            raise(*port, static_cast<int>(b_of(label)));
        }
        return;
    case Kind::arrived: return barrier_.take_arrival(peer.node, b_of(label), c_of(label) != 0);
    case Kind::release: return barrier_.take_release();
    case Kind::fail:
        if (!sync_error_)
            sync_error_ = static_cast<int>(a_of(label));
        return;
    case Kind::hello:
        return a_of(label) == hello_joined ? multicast_.take_joined(peer, b_of(label))
                                           : take_hello(peer, hello);
    case Kind::bye:
        peer.left = true;
        multicast_.leave(peer, a_of(label) | b_of(label) << 16);
        room_came_ = true; // for nobody: what waits for it has failed
        return barrier_.look_for_missing();
    case Kind::abort: aborting_ = true; return;
    default: return;
    }
}

/// A control message. It needs no room: each kind has few under way.
void Node::tell(Peer &peer, Kind kind, uint32_t a, uint32_t b, uint32_t c)
{
    if (peer.dead || peer.left)
        return;
    mx_segment_t segment{nullptr, 0};
    const mx_return_t code =
        mx_isend(endpoint_, &segment, 1, peer.address, label(kind, options_.node, a, b, c), nullptr, nullptr);
    if (code != MX_SUCCESS)
        bury(peer, mx_strerror(code));
}

// ---- waiting

/// Takes in what is here, and runs handlers unless one runs. Ends early when the awaited semaphore has been
/// signalled: what is left comes with the next call, in its order.
void Node::progress(Lock &lock, const Semaphores::One *awaited)
{
    bool any = false;
    while (pump_inline()) {
        any = true;
        if (!awaited)
            continue;
        deliver(lock);
        if (awaited->count > 0)
            return;
    }
    if (deliver(lock) || any)
        return;
    if (++idle_ % looks_between == 0 || in_trouble())
        look_after(nullptr);
}

/// Others may want this processor, as the sender of frames. True: so much that it is time to sleep.
bool Node::step_aside()
{
    if (options_.now_ns) // a simulated process takes no time
        return false;
    if (streaming_ || patience_.is_crowded())
        sched_yield();
    return patience_.may_sleep();
}

/// For a waiting thread with nothing to do: others have the lock for a while, or all sleep until something
/// comes.
void Node::rest(uint32_t &idle, Peer *awaited)
{
    if (awaited && awaited->node == options_.node)
        awaited = nullptr; // what it waits for may come from any
    if (idle++ == 0)
        patience_.was_busy();
    if (in_trouble())
        look_after(awaited);
    const bool steps_aside = step_aside();
    if (steps_aside || idle >= (streaming_ ? looks_for_frames : looks_awake)) {
        const auto wake = [](void *node) { mx_wakeup(static_cast<Node *>(node)->endpoint_); };
        if (turn_.begin_sleep(wake, this)) {
            // A frame that is late is asked for, sooner than a node is looked after.
            const uint32_t ms = streaming_ ? 1 : job::look_ms;
            if (!take_one(ms) && (ms == job::look_ms || ++short_sleeps_ % job::look_ms == 0))
                look_after(awaited);
        }
        turn_.end_sleep();
    }
    turn_.pass();
}

int Node::signal(uint32_t semaphore)
{
    const Lock lock(turn_);
    if (int code = semaphore == GAMMA_NO_SEMAPHORE ? GAMMA_E_ARGUMENT : check(false))
        return fail(code);
    ++semaphores_[semaphore].count;
    return 0;
}

int Node::signal_error(uint32_t semaphore, int code)
{
    const Lock lock(turn_);
    if (int wrong = semaphore == GAMMA_NO_SEMAPHORE || code < 1 ? GAMMA_E_ARGUMENT : check(false))
        return fail(wrong);
    semaphores_.raise(semaphore, code);
    return 0;
}

int Node::wait(uint32_t semaphore, unsigned long n)
{
    Lock lock(turn_);
    if (int code = semaphore == GAMMA_NO_SEMAPHORE ? GAMMA_E_ARGUMENT : check(true))
        return fail(code);
    Semaphores::One &one = semaphores_[semaphore];
    if (const int code = one.take_pending())
        return fail(code);
    const uint32_t before = one.alarms;
    ++one.waiting;
    bool got = false;
    wait_until(lock, nullptr, [&] { return one.alarms != before || (got = one.take(n)); });
    --one.waiting;
    return got ? 0 : fail(one.alarm);
}

int Node::test(uint32_t semaphore)
{
    Lock lock(turn_);
    if (int code = semaphore == GAMMA_NO_SEMAPHORE ? GAMMA_E_ARGUMENT : check(false))
        return fail(code);
    Semaphores::One &one = semaphores_[semaphore];
    progress(lock, &one);
    if (const int code = one.take_pending())
        return fail(code);
    return one.take(1) ? 1 : 0;
}

int Node::atomic(void (*function)())
{
    Lock lock(turn_);
    if (int code = function ? check(false) : GAMMA_E_ARGUMENT)
        return fail(code);
    const bool nested = inside();
    while (exclusive_ && !nested)
        turn_.pass();
    run_handler(lock, function);
    if (!nested)
        deliver(lock);
    return 0;
}

} // namespace emx_gamma
