// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// One node of a job: everything that GAMMA knows. The protocol stands in label.hpp.
#pragma once

#include "barrier.hpp"
#include "broadcast.hpp"
#include "gamma.h"
#include "label.hpp"
#include "multicast.hpp"
#include "semaphore.hpp"
#include "turn.hpp"

#include <compat/cast/patience.hpp>
#include <compat/job/fifo.hpp>
#include <compat/job/party.hpp>

#include <myriexpress.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <string>
#include <utility>
#include <vector>

namespace emx_gamma {

struct Port;

/// Kinds of objects that the context of an MX request points to.
enum class What : uint8_t { control, buffer, send, mark, ping, packet };
struct Event {
    explicit Event(What w) : what(w) {}
    What what;
};

struct Peer : job::Member {
    /// A request that MX completes when it has little of this node's best effort under way to the peer.
    struct Mark : Event {
        explicit Mark(Peer &p) : Event(What::mark), peer(p) {}
        Peer &peer;
    };
    Event ping{What::ping};
    Mark mark{*this};
    uint32_t since_mark = 0, marks_out = 0;
};

/// Receives for control messages. Further ones wait in MX: each data message is compared with all of these.
inline constexpr uint32_t controls_posted = 4;

/// Room for a control message.
struct Control : Event {
    Control() : Event(What::control) {}
    Hello data{};
};

/// Messages to one port of one node, whatever ports of ours send them.
struct Flow {
    explicit Flow(Peer &p) : peer(&p) {}
    Peer *peer;
    uint16_t sent = 0, freed = 0; ///< units
    uint32_t pass = 0; ///< of serve_queues(), in which somebody waits already
    uint32_t queues = 0; ///< of ports, with messages for it

    bool alive() const { return !peer->dead && !peer->left; }
    uint32_t out() const { return static_cast<uint16_t>(sent - freed); }
    bool has_room(uint32_t units) const { return out() + units <= window_units; }
    /// Takes in the low bits of the count that the peer has freed. News that was overtaken says less than is
    /// known. True: somebody may wait for that.
    bool take_freed(uint32_t count, uint32_t bits)
    {
        const uint32_t more = (count - freed) & bits;
        if (more == 0 || more > out())
            return false;
        freed = static_cast<uint16_t>(freed + more);
        return queues != 0;
    }
};

/// Data of a user to be sent, in one or two pieces.
struct Message {
    mx_segment_t segments[2];
    uint32_t length = 0;
    bool flow = false;
    bool blocking = false;
};

/// A send that is not done at once.
struct Send : Event {
    Send() : Event(What::send) {}
    Port *port = nullptr;
    Message message;
    uint32_t units = 0;
    uint32_t out = 0; ///< requests of MX
    int error = 0;
    bool done = false;
    Send *next = nullptr;
};

/// A posted buffer, then the message in it.
struct Buffer : Event {
    Buffer() : Event(What::buffer) {}
    Port *port = nullptr;
    std::array<mx_segment_t, 2> segments{};
    mx_request_t request = nullptr;
    uint32_t length = 0; ///< bytes that came in
    bool cut = false, done = false;
    bool late = false; ///< the message was here before it
    Header header{}; ///< of a broadcast
    Buffer *next = nullptr;
};

struct Port {
    uint32_t number = 0;
    // Sending.
    uint32_t dest_port = 0;
    bool to_all = false;
    std::vector<Flow *> targets;
    job::Fifo<Send> queue; ///< for room
    uint32_t sends = 0; ///< not blocking, and not done
    int failed = 0; ///< first error of those that ended since it was asked for
    // Receiving.
    bool active = false;
    void (*handler)() = nullptr;
    uint16_t semaphore = GAMMA_NO_SEMAPHORE;
    uint32_t lost = 0;
    job::Fifo<Buffer> buffers;
    uint32_t posted = 0; ///< of them
    uint32_t waiting = 0; ///< messages without a buffer, which MX has
    struct From {
        uint16_t freed = 0, told = 0; ///< units
        uint16_t kept = 0; ///< messages of best effort

        uint32_t tell() { return told = freed; }
    };
    std::vector<From> from; ///< by node
};

struct Options : job::Options {
    uint32_t par_pid = 0;
    void (*aborted)(Node &node) = nullptr; ///< the job is to end
    uint64_t (*now_ns)() = nullptr; ///< time for the simulator, whose is virtual; nullptr: the system's
};

/// The layer in words for its users.
extern const job::Terms terms_of_gamma;

using Lock = std::unique_lock<Turn>;

class Node final : job::Party {
public:
    explicit Node(const Options &options);
    ~Node();
    Node(const Node &) = delete;
    Node &operator=(const Node &) = delete;

    // Each returns as the C function does.
    /// Opens the endpoint if need be and meets all others. Empty, or what went wrong and what to do.
    std::string open();
    int close();
    void abort();

    /// As gamma_set_active_port; a passive one has no handler.
    struct Binding {
        uint32_t dest_node, dest_par_pid, dest_port;
        bool active;
        void (*handler)();
        uint16_t semaphore;
        uint32_t kind;
        void *buffer;
        unsigned long size;
    };
    int bind(uint32_t port, const Binding &binding);
    int post_recv(uint32_t port, void *buffer, unsigned long size);
    int lost(uint32_t port);
    int send(uint32_t port, const Message &message);
    int wait_sends(uint32_t port);
    int test_sends(uint32_t port);
    int signal(uint32_t semaphore);
    int wait(uint32_t semaphore, unsigned long n);
    int test(uint32_t semaphore);
    int signal_error(uint32_t semaphore, int code);
    int atomic(void (*function)());
    int sync();
    int broadcast(uint32_t root, void *buffer, unsigned long length);

    uint32_t number() const { return options_.node; }
    uint32_t count() const { return count_; }
    uint32_t par_pid() const { return options_.par_pid; }

    gamma_thread state{}; ///< in place of the thread's, in tests with several nodes

private:
    friend class Barrier;
    friend class Broadcast;
    friend class Multicast;
    using Page = std::array<Port *, 256>;

    // node.cpp: the endpoint, events, waiting
    bool pump();
    bool pump_inline();
    void progress(Lock &lock, const Semaphores::One *awaited);
    void take(Event *event, const mx_status_t &status);
    [[gnu::noinline]] void take_other(Event *event, const mx_status_t &status);
    void take_control(Control *control, const mx_status_t &status);
    void obey(Peer &peer, uint64_t label, const Hello &hello);
    void post_control(Control *control);
    void tell(Peer &peer, Kind kind, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0);
    bool step_aside();
    void rest(uint32_t &idle, Peer *awaited);
    template <class Done>
    void wait_until(Lock &lock, Peer *awaited, Done done);
    bool inside() const { return exclusive_ && holder_ == emx::Lock::this_thread(); }
    /// 0, or what forbids a call.
    int check(bool may_wait) const
    {
        if (!ready_for_use_) [[unlikely]]
            return GAMMA_E_INIT;
        return may_wait && inside() ? GAMMA_E_IN_HANDLER : 0;
    }
    int fail(int code);

    // meet.cpp: start, end, and death of nodes
    const job::Terms &terms() const override { return terms_of_gamma; }
    const job::Options &job() const override { return options_; }
    job::Member &member(uint32_t node) override { return peers_[node]; }
    bool take_one(uint32_t timeout_ms) override;
    void greet(job::Member &member) override;
    void drop_waiting();
    bool mourn(job::Member &member) override;
    void take_hello(Peer &peer, const Hello &hello);

    // port.cpp: receiving
    Port *find(uint32_t port) const
    {
        const Page *page = pages_[port >> 8].get();
        return page ? (*page)[port & 255] : nullptr;
    }
    /// The port that a call is about, and 0 in code; or nullptr and what forbids the call.
    Port *port_of_call(uint32_t number, bool may_wait, int &code) const
    {
        code = check(may_wait);
        Port *port = code ? nullptr : find(number);
        if (!port && !code) [[unlikely]]
            code = GAMMA_E_PORT;
        return port;
    }
    Port &new_port(uint32_t number);
    int check_binding(uint32_t port, const Binding &binding) const;
    void aim(Port &port, uint32_t dest_node, uint32_t dest_port);
    Buffer *new_buffer(Port &port);
    int post(Buffer *buffer);
    int post_user(Port &port, void *memory, unsigned long size);
    void take_buffer(Buffer *buffer, const mx_status_t &status);
    [[gnu::cold]] void take_failed(Buffer *buffer);
    void put_last(Buffer *buffer);
    /// Messages that are complete are ready for their handlers in the order of their matching, which is that
    /// of posting.
    void hand_on(Port &port)
    {
        while (port.buffers.head && port.buffers.head->done) {
            ready_.push(port.buffers.pop());
            --port.posted;
        }
    }
    void free_units(Port &port, uint64_t label);
    bool take_freed(const Port *port, uint64_t label);
    bool deliver(Lock &lock);
    void hand_over(Lock &lock, Buffer *buffer);
    void run_handler(Lock &lock, void (*handler)());
    static mx_unexp_handler_action_t met_no_buffer(void *node, mx_endpoint_addr_t source, uint64_t label,
                                                   uint32_t length, void *data);
    bool keeps(uint64_t label);
    [[gnu::noinline]] void serve_notes();
    void raise(Port &port, int code);

    // send.cpp
    bool transmit(Flow &flow, uint64_t label, const Message &message, Event *context);
    int send_at_once(Port &port, const Message &message, uint32_t units);
    bool has_way(Peer &peer);
    int send_later(Lock &lock, Port &port, const Message &message, uint32_t units);
    static bool may_go(const Port &port, uint32_t units)
    {
        for (const Flow *flow : port.targets)
            if (flow->alive() && !flow->has_room(units))
                return false;
        return true;
    }
    void launch(Send *send);
    void finish(Send *send);
    Send *new_send();
    void enqueue(Send *send, Port &port, const Message &message, uint32_t units);
    [[gnu::noinline]] void serve_queues();

    // collective.cpp
    void note_call(uint32_t what, uint32_t root, uint32_t length);
    void give_up(int code);
    int broadcast_in_turn(Lock &lock, uint32_t root, void *memory, uint32_t length);
    int broadcast_own(Lock &lock, const Header &header, void *memory);
    int send_to_all(Lock &lock, const Header &header, void *memory, uint32_t length);
    int broadcast_of(Lock &lock, uint32_t root, const Header &header, void *memory);
    int judge_message(const Header &header, const Buffer *buffer);
    int receive_frames(Lock &lock, uint32_t root, const Header &header, void *memory);
    emx::cast::Outcome go_on(Lock &lock, emx::cast::Group &stream, Peer *awaited);
    bool agrees(const Header &header, uint64_t tag) const;

    Options options_;
    uint32_t count_; ///< nodes
    Turn turn_;
    std::vector<Peer> peers_;
    std::array<std::unique_ptr<Page>, ports_all / 256 + 1> pages_;
    uint32_t copied_most_ = 0; ///< longer messages are read by MX after its call
    bool ready_for_use_ = false, closing_ = false, aborting_ = false;
    // Handlers: one at a time.
    job::Fifo<Buffer> ready_;
    bool exclusive_ = false;
    uintptr_t holder_ = 0;
    Semaphores semaphores_;
    // Sending.
    std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<Flow>> flows_; ///< by node and port
    std::vector<Port *> queued_; ///< ports with messages that wait for room
    uint32_t pass_ = 0, idle_ = 0;
    bool room_came_ = false;
    // Messages that the unexpected handler dropped: much is forbidden there, so the rest is done later.
    struct Note {
        uint64_t label;
        int code;
    };
    std::vector<Note> notes_;
    // Collectives.
    Broadcast broadcast_{*this};
    Multicast multicast_;
    uint32_t streaming_ = 0; ///< threads that wait for frames
    uint32_t short_sleeps_ = 0; ///< in vain
    emx::cast::Patience patience_;
    Barrier barrier_{*this};
    uintptr_t caller_ = 0; ///< of all collectives so far
    bool called_ = false, several_callers_ = false;
    uint32_t calls_sum_ = 0;
    int sync_error_ = 0; ///< that stays
    uint32_t dead_ = 0; ///< nodes

    std::unique_ptr<Control[]> controls_;
    std::vector<std::unique_ptr<Port>> ports_;
    std::vector<std::unique_ptr<Buffer>> buffers_;
    job::Fifo<Buffer> spare_buffers_;
    std::vector<std::unique_ptr<Send>> sends_;
    job::Fifo<Send> spare_sends_;
};

/// Waits, runs handlers meanwhile. Not inside a handler.
template <class Done>
void Node::wait_until(Lock &lock, Peer *awaited, Done done)
{
    uint32_t idle = 0;
    while (!done()) {
        const bool pumped = pump();
        if (!deliver(lock) && !pumped)
            rest(idle, awaited);
        else
            idle = 0;
    }
}

} // namespace emx_gamma
