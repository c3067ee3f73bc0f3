// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// An open endpoint: wires its parts, and does what concerns several of them.
//
// Each part owns its state, and can be built and tested alone: requests and their ends (RequestPool,
// Completions), matching (Matcher), messages on their way in (IncomingPool, IncomingList, EarlyStore, Pulls)
// and out (TxPool, WindowTable), partners (PartnerTable, KeptPeers; Partner with its Sender, Receiver,
// Connector, Way and Life), acks (AckLists), and the pass (Gate, Waiter, Patience, PassClock). No part knows
// the endpoint.
//
// Accept (reliab/receive.cpp) takes packets in order and acknowledges them; it may run on the helper
// thread. Match (match/match.cpp) gives messages to receives and calls the unexpected handler; it runs
// only inside a call of the application. All members need the slot's lock unless said otherwise.
//
// Members that are always inlined are in inlined.hpp and posting.hpp.
#pragma once

#include "driver/drops.hpp"
#include "libmx/endpoint/instance.hpp"
#include "libmx/group/inbox.hpp"
#include "libmx/match/completions.hpp"
#include "libmx/match/incoming.hpp"
#include "libmx/match/matcher.hpp"
#include "libmx/partner/ack_lists.hpp"
#include "libmx/partner/table.hpp"
#include "libmx/progress/gate.hpp"
#include "libmx/progress/pass_clock.hpp"
#include "libmx/progress/patience.hpp"
#include "libmx/progress/waiter.hpp"
#include "libmx/proto/pulls.hpp"
#include "libmx/proto/windows.hpp"
#include "libmx/reliab/early.hpp"
#include "libmx/reliab/tx_pool.hpp"
#include "libmx/request.hpp"

#include "mx_extensions.h"

#include <array>
#include <utility>
#include <vector>

namespace emx {

/// Properties that others see of an endpoint.
struct Identity {
    BoardInfo board;
    uint32_t slot_index = 0; ///< in the process, part of addresses
    uint32_t key = 0; ///< that connects must show
    uint32_t session = 0;
    uint32_t eager_max = 0; ///< bytes
    bool gone = false; ///< the interface vanished: this endpoint reaches nobody any more
};

/// Begins with what each message touches.
class alignas(64) Endpoint {
public:
    Endpoint(Instance &instance, EndpointSlot &slot, uint32_t slot_index, const BoardInfo &board,
             uint32_t key, uint32_t session);
    ~Endpoint();
    Endpoint(const Endpoint &) = delete;
    Endpoint &operator=(const Endpoint &) = delete;
    void attach(std::unique_ptr<Port> port);

    // --- what the API posts and asks (api/, proto/)
    [[gnu::hot]] Request *post_send(const Segment *segments, uint32_t count, uint64_t length, Partner *to,
                                    uint64_t match, void *context, bool synchronous);
    /// The same of one piece of memory, not synchronous.
    [[gnu::always_inline]] Request *post_plain_send(const Segment &memory, Partner *to, uint64_t match,
                                                    void *context);
    /// Posts what that leaves to it: post_send() has more arguments than there are registers for.
    [[gnu::hot, gnu::noinline]] Request *post_other_send(const Segment &memory, Partner *to, uint64_t match,
                                                         void *context);
    [[gnu::always_inline]] Request *post_receive(const Segment *segments, uint32_t count, uint64_t room,
                                                 uint64_t match, uint64_t mask, void *context);
    /// nullptr with error filled (MX_NIC_NOT_FOUND, MX_NO_RESOURCES, MX_NO_DEV; MX_TIMEOUT, when a process
    /// that is asked for the board takes longer than patience_ms) when it cannot start. `hidden`: only who
    /// knows the request finds it when it is complete.
    Request *post_connect(uint64_t nic_id, uint32_t remote_ep, uint32_t key, uint64_t match, void *context,
                          bool hidden, int patience_ms, DeviceError &error);
    /// 1 cancelled (and freed unless notify), 0 too late.
    bool cancel(Request *request, bool notify);
    void disconnect(Partner *partner);
    void set_timeout(Request *request, uint32_t ms);
    /// Hands a finished request's status out and frees it.
    [[gnu::always_inline]] void reap(Request *request, mx_status_t &status);

    // --- addresses
    /// The partner an address names; nullptr when it is not one of ours.
    Partner *resolve(mx_endpoint_addr_t address)
    {
        const auto index = static_cast<uint32_t>(address.stuff[1]) & 0x3fffff;
        Partner *partner = partners_.at(index - 1);
        if (!partner) [[unlikely]]
            return partners_.raise(address, index - 1);
        const mx_endpoint_addr_t &own = partner->address;
        if (own.stuff[0] != address.stuff[0] || own.stuff[1] != address.stuff[1]) [[unlikely]]
            return nullptr;
        return partner->self ? resolve_self(partner) : partner;
    }
    Partner *self() { return partners_.at(0); }

    // --- progress (progress/)
    /// Takes what arrived, serves timers; never blocks. Does nothing while the gate is closed.
    [[gnu::hot]] bool progress(Driver driver);
    /// Grows with every frame of a pull that the firmware took or sent without an event for us.
    uint64_t frames_served() const;
    /// Grows with every question to a partner that was silent; its answer comes soon.
    uint64_t questions() const { return questions_; }
    /// Now and then a pass for a program that posts much and asks little.
    [[gnu::hot]] void posted(unsigned weight);
    bool inside_handler() const { return gate_.inside_handler(); }
    /// Runs progress until done() or the deadline (device time), mx_wakeup or close; true iff done().
    bool wait(std::unique_lock<Lock> &lock, uint64_t deadline_ns, Condition done);
    void wakeup();
    /// To be called when a thread leaves the endpoint to others.
    void tell_sleepers()
    {
        if (waiter_.is_taken()) [[unlikely]]
            tell_sleeper();
    }
    /// The same, at the end of a call: after any but a send nothing is held back any longer.
    void leave(bool is_send)
    {
        // One branch: each call comes by.
        if (static_cast<int>(waiter_.is_taken()) | (static_cast<int>(holds_) & static_cast<int>(!is_send)))
            [[unlikely]]
            leave_to_others(is_send);
    }
    /// Sends the messages that wait for others to share a frame with.
    [[gnu::noinline]] void flush_held();
    void enable_progression();
    /// After a non-blocking call that found nothing: offers the core when that keeps happening.
    void found_nothing(std::unique_lock<Lock> &lock)
    {
        if (asked_in_vain()) [[unlikely]]
            offer_core(lock);
    }
    /// Its parts, for calls that hold no such lock: true if the core is to be offered.
    bool asked_in_vain() { return patience_.asked_in_vain(yield_after()); }
    [[gnu::cold, gnu::noinline]] void offer_core(std::unique_lock<Lock> &lock);
    void found_something() { patience_.found(); }
    /// Calls the error handler for failures nobody will ask about; unlocks meanwhile.
    void report_lost(std::unique_lock<Lock> &lock)
    {
        if (completions_.any_lost()) [[unlikely]]
            tell_lost(lock);
    }
    void linger(std::unique_lock<Lock> &lock);

    // --- its parts, and small things
    Instance &instance() { return instance_; }
    EndpointSlot &slot() { return slot_; }
    RequestPool &requests() { return requests_; }
    Completions &completions() { return completions_; }
    Matcher &matcher() { return matcher_; }
    Gate &gate() { return gate_; }
    const Waiter &waiter() const { return waiter_; }
    /// Frames of its groups; made when first asked for.
    GroupInbox &groups();
    Port &port() { return *port_; }
    const Identity &identity() const { return identity_; }
    uint32_t number() const { return port_->number(); }
    ErrorHandler handler() const { return error_handler_ ? error_handler_ : instance_.error_handler(); }
    /// Installs the endpoint's own handler (none: the global one) and returns the previous own one.
    ErrorHandler exchange_handler(ErrorHandler handler) { return std::exchange(error_handler_, handler); }
    void set_messages_per_ack(int messages) { acks_.set_messages_per_ack(messages); }
    void set_context_ids(unsigned bits, unsigned shift)
    {
        context_mask_ = bits ? ((uint64_t{1} << bits) - 1) << shift : 0;
    }
    uint64_t context_mask() const { return context_mask_; }
    Census census();

    // --- for its trace (trace/stages.cpp)
    /// How far a message has come: nothing is known of it (its partner died), it waits for packets before it,
    /// for fragments of its own, for a receive; or it found one.
    enum class Stage : uint8_t { none, early, partial, unexpected, matched };
    /// Keys, sorted, of the messages that wait for a receive.
    std::vector<uint64_t> waiting_messages() const;
    Stage stage_of(uint32_t peer, uint8_t remote_ep, uint16_t seq,
                   const std::vector<uint64_t> &waiting) const;

private:
    uint64_t now() { return instance_.device().now_ns(); }
    uint32_t yield_after() const { return static_cast<uint32_t>(instance_.conf().yield_after); }
    void count(emx_counter counter) { emx_count(&port_->counters(), counter, 1); }
    void drop(emx_counter reason) { count_drop(port_->counters(), reason); }

    // partners (proto/connect.cpp, reliab/failure.cpp)
    Partner *resolve_self(Partner *self);
    void set_session(Partner *partner, uint32_t session);
    Partner *add_partner(uint32_t peer, uint64_t nic_id, uint8_t remote_ep);
    /// nullptr, and counted: there are as many partners as there may be.
    Partner *partner_of(uint32_t peer, uint64_t nic_id, uint8_t remote_ep);
    Partner *living_partner(uint32_t peer, uint64_t nic_id, uint8_t remote_ep);
    Partner *partner_to_ask(uint64_t nic_id, uint8_t remote_ep, int patience_ms, DeviceError &error);
    bool keep_peer(Partner *partner);
    void release_peer(Partner *partner);
    bool drop_half_open();
    [[gnu::cold, gnu::noinline]] bool opens(Partner *partner, const emx_msg &msg);
    void sweep_partners();
    void fail_partner(Partner *partner, int code, bool drop_messages);
    void tell_death(const Partner *partner) const;
    void fail_sends(Partner *partner, int code);
    bool fail_incoming(Partner *partner, int code, bool drop_messages);
    bool fail_receives(Partner *partner, int code);
    bool drop_unfinished(Partner *partner, bool drop_messages);
    void fail_connects(Partner *partner, int code);

    // connecting (proto/connect.cpp)
    PendingConnect *add_connect(Partner *partner, uint32_t key, Request *request);
    void start_connect(Partner *partner, uint32_t key, Request *request);
    /// nullptr, and counted: it is asked too often.
    PendingConnect *inquire(Partner *partner, int code);
    void send_connect(Partner *partner, PendingConnect &connect);
    void connect_back(Partner *partner);
    void on_connect_request(const emx_msg &msg);
    void answer_request(Partner *partner, const emx_msg &msg);
    void answer_asked(Partner *partner, const emx_msg &asked, const emx_msg &reply);
    void on_connect_reply(const emx_msg &msg);
    void tell_other_bits(Partner *partner, PendingConnect &connect, uint32_t session);
    uint64_t own_offer() const;
    void agree(Partner *partner, uint64_t offer);
    void take_session(Partner *partner, uint32_t session, uint16_t start, bool is_reply);
    void complete_connect(Partner *partner, PendingConnect *connect, int code);
    void abandon_connect(Partner *partner, PendingConnect *connect);
    Partner *renew_partner(Partner *old);
    Partner *replace_partner(Partner *old, int code);

    // sending (proto/eager.cpp, proto/rendezvous.cpp, proto/self.cpp, reliab/send.cpp)
    [[gnu::always_inline]] void start_send(Request *request, std::span<const Segment> segments,
                                           uint64_t length, Partner *to, bool synchronous);
    [[gnu::always_inline]] Request *begin_send(RequestKind kind, uint64_t length, Partner *to, uint64_t match,
                                               void *context);
    [[gnu::always_inline]] void send_eager(Request *request, std::span<const Segment> segments,
                                           uint64_t length, Partner *to);
    void send_copy(Request *request, TxMessage *tx, uint32_t bytes, Partner *to);
    [[gnu::noinline]] void send_detour(Request *request, std::span<const Segment> segments, uint64_t length,
                                       Partner *to, bool synchronous);
    // within the host (endpoint/sure.cpp, sure_end.cpp)
    bool goes_sure(Partner *to)
    {
        if (to->way.sure) [[likely]]
            return true;
        return begin_sure(to);
    }
    [[gnu::noinline]] bool begin_sure(Partner *to);
    bool may_become_sure(const Partner *to);
    [[gnu::noinline]] bool waits_for_sure(Partner *partner);
    [[gnu::always_inline]] void send_sure(Request *request, std::span<const Segment> segments, uint32_t bytes,
                                          Partner *to);
    [[gnu::cold, gnu::noinline]] void queue_sure(Request *request, std::span<const Segment> segments,
                                                 uint32_t bytes, Partner *to);
    TxMessage *copy_eager(std::span<const Segment> segments, uint32_t bytes, Partner *to, uint64_t match);
    bool write_sure(TxMessage *tx, bool posted);
    void pump_sure(Partner *partner, const TxMessage *posted = nullptr);
    void number_sure(TxMessage *tx);
    void enqueue_sure(TxMessage *tx);
    void notify_sure(TxMessage *tx);
    [[gnu::hot, gnu::noinline]] void take_sure(const emx_msg *msg);
    [[gnu::hot]] void on_sure(const emx_msg &msg);
    [[gnu::noinline]] void hold_sure(Partner *partner, const emx_msg &msg);
    void on_sure_room(const emx_msg &msg);
    void on_sure_end(const emx_msg &msg);
    TxMessage *restore_sure(Partner *partner, const emx_msg &msg);
    bool take_back_sure(Partner *partner);
    void choose_fragments(Partner *partner);
    void send_rendezvous(Request *request, Partner *to);
    void ask_dialect(Partner *partner, uint8_t for_type);
    void on_answer(const emx_msg &msg);
    void take_other_dialect(Partner *partner, bool is_news);
    void warn_of_dialect(const Partner *partner) const;
    void warn_of_silence(Partner *partner, uint64_t since_ns, uint64_t time);
    void send_by_extension(Partner *partner);
    void refuse_pulls(const Partner *partner);
    char dialect_to(const Partner *partner) const;
    Partner *way_to_self();
    void send_self(Request *request, uint64_t length, bool synchronous);
    void send_notify(Partner *to, const emx_msg &rndv, uint32_t length);
    [[gnu::hot]] void enqueue(TxMessage *tx);
    [[gnu::noinline]] void line_up(TxMessage *tx);
    void pump(Partner *partner);
    // several short messages in one frame (endpoint/pack.cpp)
    void choose_packs(Partner *partner);
    bool hold(Partner *partner, const TxMessage *tx);
    void send_pack(Partner *partner);
    /// False: all windows are taken. Only a RNDV needs one.
    bool give_window(TxMessage *tx) { return tx->header.type != EMX_RNDV || take_window(tx); }
    bool take_window(TxMessage *tx);
    void free_window(TxMessage *tx);
    [[gnu::hot]] void number_and_send(TxMessage *tx);
    [[gnu::hot]] void transmit(TxMessage *tx);
    [[gnu::noinline]] void transmit_other(TxMessage *tx);
    void transmit_fragments(TxMessage *tx, uint32_t here = 0);
    [[gnu::noinline]] void choose_datagrams(const TxMessage *tx);
    [[gnu::hot]] void on_ack(Partner *partner, uint16_t ack);
    [[gnu::hot]] void take_acks();
    void finish_acked(TxMessage *tx);
    void complete_send(TxMessage *tx, int code, uint32_t xfer_length);
    void end_rendezvous(TxMessage *tx, int code, uint32_t xfer_length);
    void on_notify(Partner *partner, const emx_msg &msg);
    void on_nack(const emx_msg &msg);
    void stray_nack(Partner *partner);
    void serve_resends(Partner *partner, uint64_t time);
    void repeat(TxMessage *tx);
    void serve_connects(Partner *partner, uint64_t time);
    void serve_probe(Partner *partner, uint64_t time);
    void serve_ack(Partner *partner, uint64_t time);
    void check_budgets(uint64_t time);
    void time_out(Request *request);
    void give_up(Partner *partner);

    // reports and questions (reliab/report.cpp, reliab/question.cpp)
    void on_report(const emx_msg &msg);
    void send_report(Partner *partner, bool ask);
    void repeat_missing(Partner *partner, uint16_t ack, const emx_w_x_state &state, uint64_t asked_ns);
    void repeat_lost(TxMessage *tx, uint32_t here);
    void ask_when_silent(Partner *partner, uint64_t time);
    [[gnu::noinline]] void ask_for_room(Partner *partner);
    void ask(Partner *partner, uint64_t time);
    void owe_answer(Partner *partner);

    // receiving: accept (reliab/receive.cpp, reliab/acks.cpp)
    [[gnu::hot]] void accept(const emx_msg &msg);
    [[gnu::noinline]] void accept_other(const emx_msg &msg);
    [[gnu::hot]] void on_sequenced(const emx_msg &msg);
    Partner *sequenced_from(const emx_msg &msg);
    void take_numbered(Partner *partner, const emx_msg &msg);
    [[gnu::noinline]] void on_pack(const emx_msg &msg);
    [[gnu::noinline]] void out_of_turn(Partner *partner, const emx_msg &msg, unsigned ahead);
    void on_truc(const emx_msg &msg);
    void on_link(const emx_msg &msg);
    void on_group(const emx_msg &msg);
    [[gnu::hot, gnu::noinline]] void deliver(Partner *partner, const emx_msg &msg);
    [[gnu::noinline]] void hold(Partner *partner, const emx_msg &msg);
    void drain_early(Partner *partner);
    void store_early(Partner *partner, const emx_msg &msg);
    [[gnu::hot]] void update_done(Partner *partner);
    [[gnu::hot]] void owe_ack(Partner *partner);
    void send_ack(Partner *partner);
    [[gnu::noinline]] void send_due_acks();
    [[gnu::noinline]] void hurry_ack(Partner *partner);
    [[gnu::noinline]] void stamp_acks(uint64_t time);
    bool bind_first(Incoming *in);
    void add_fragment(Incoming *in, const emx_msg &msg);
    bool is_unwelcome(const emx_msg &msg);
    void fragment_for(Partner *partner, const emx_msg &msg);
    void unlink_partial(Incoming *in);
    void free_incoming(Incoming *in);
    [[gnu::hot]] bool fast_receive(Partner *partner, const emx_msg &msg);

    // receiving: match (match/match.cpp)
    void stage(Incoming *in);
    [[gnu::noinline]] void match_accepted();
    void match(Incoming *in);
    bool ask_handler(Incoming *in);
    void bind(Incoming *in, Request *recv);
    void consume(Incoming *in);
    void finish_receive(Incoming *in, int code);
    [[gnu::hot]] void complete_receive(Request *recv, const emx_msg &msg, Partner *partner,
                                       uint32_t xfer_length, int code);
    void discard(Incoming *in);
    void start_pull(Incoming *in);
    void cancel_pull(Incoming *in);
    /// Messages whose pulls had to wait may have their turn now.
    void retry_pulls();
    void on_pull_done(const emx_msg &msg);
    void finish_self(Incoming *in);

    // progress
    void tell_lost(std::unique_lock<Lock> &lock);
    void give_core_away(std::unique_lock<Lock> &lock);
    [[gnu::noinline]] bool busy_poll();
    [[gnu::hot]] bool poll_device(unsigned spins);
    [[gnu::noinline]] void serve_timers(uint64_t time);
    uint64_t next_deadline(uint64_t time);
    bool sleep_once(std::unique_lock<Lock> &lock, uint64_t time, uint64_t deadline_ns, Condition done);
    [[gnu::cold, gnu::noinline]] void tell_sleeper();
    [[gnu::noinline]] void leave_to_others(bool is_send);
    [[gnu::noinline]] void end_pass(Driver driver);
    /// Without a branch: each pass comes by.
    bool is_anything_due() const { return static_cast<int>(acks_.any_due()) | static_cast<int>(holds_); }

    Instance &instance_;
    std::unique_ptr<Port> port_;
    Gate gate_;
    PassClock clock_;
    AckLists acks_;
    Patience patience_;
    IncomingList accepted_; ///< for the match stage
    bool holds_ = false; ///< some partner's messages wait for others to share a frame with
    Waiter waiter_;
    RequestPool requests_;
    Completions completions_;
    TxPool tx_pool_;
    PartnerTable partners_;
    Matcher matcher_;
    // Here ends what each message touches.
    uint64_t context_mask_ = 0;
    Identity identity_;
    EndpointSlot &slot_;
    ErrorHandler error_handler_;
    KeptPeers kept_;
    WindowTable windows_;
    Pulls pulls_;
    IncomingPool incoming_;
    EarlyStore early_;
    std::array<fw_bucket, 2> answers_{}; ///< to connects of strangers: with a wrong key, with ours
    uint64_t questions_ = 0;
    bool unpacking_ = false; ///< the messages of an X PACK are taken
    std::vector<Partner *> held_; ///< whose messages wait so
    std::vector<std::byte> pack_; ///< X PACK that is being made, behind the room for its header
    std::unique_ptr<GroupInbox> groups_;
};

/// The mx_return_t (or Open-MX code) that an error handler gets for a request's status.
mx_return_t handler_code(int status);

} // namespace emx
