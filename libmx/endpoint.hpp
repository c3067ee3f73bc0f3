// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// An open endpoint: requests, partners, matching, and the two stages of receiving.
//
// Accept (reliab/receive.cpp) takes packets in order and acknowledges them; it may run on the helper
// thread. Match (match/match.cpp) gives messages to receives and calls the unexpected handler; it runs
// only inside a call of the application. Each .cpp file of match/, proto/, reliab/ and progress/
// implements one concern of this class. All members need the slot's lock unless said otherwise.
#pragma once

#include "libmx/context.hpp"
#include "libmx/match/indexed_fifo.hpp"
#include "libmx/match/posted_queue.hpp"
#include "libmx/match/unexp_handler.hpp"
#include "libmx/partner_table.hpp"
#include "libmx/reliab/tx_pool.hpp"
#include "libmx/request.hpp"

#include "mx_extensions.h"

#include <deque>
#include <functional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace emx {

/// The caller of a progress pass: a call that waits for something, one that sleeps rather than look again, a
/// request just posted (which leaves the clock alone), or the helper thread.
enum class Driver : uint8_t { application, sleeper, posting, helper };

class Endpoint {
public:
    Endpoint(Context &context, EndpointSlot &slot, uint32_t slot_index, const BoardInfo &board, uint32_t key,
             uint32_t session);
    ~Endpoint();
    Endpoint(const Endpoint &) = delete;
    Endpoint &operator=(const Endpoint &) = delete;
    void attach(std::unique_ptr<Port> port);

    // --- what the API posts and asks (api/, proto/)
    [[gnu::hot]] Request *post_send(const Segment *segments, uint32_t count, uint64_t length, Partner *to,
                                    uint64_t match, void *context, bool synchronous);
    [[gnu::hot]] Request *post_receive(const Segment *segments, uint32_t count, uint64_t room, uint64_t match,
                                       uint64_t mask, void *context);
    /// nullptr with error filled (MX_NIC_NOT_FOUND, MX_NO_RESOURCES, MX_NO_DEV; MX_TIMEOUT, when a process
    /// that is asked for the board takes longer than patience_ms) when it cannot start. `hidden`: only who
    /// knows the request finds it when it is complete.
    Request *post_connect(uint64_t nic_id, uint32_t remote_ep, uint32_t key, uint64_t match, void *context,
                          bool hidden, int patience_ms, DeviceError &error);
    /// 1 cancelled (and freed unless notify), 0 too late.
    bool cancel(Request *request, bool notify);
    void forget(Request *request);
    void disconnect(Partner *partner);
    void set_timeout(Request *request, uint32_t ms);
    Incoming *probe(uint64_t info, uint64_t mask) { return unexpected_.find(info, mask); }
    Request *finished(uint64_t info, uint64_t mask) { return done_.find(info, mask); }
    Request *oldest_finished() { return done_.front(); }
    /// Hands a finished request's status out and frees it.
    [[gnu::hot]] void reap(Request *request, mx_status_t &status);
    [[gnu::hot]] void fill_status(const Request *request, mx_status_t &status);

    // --- addresses
    mx_endpoint_addr_t address_of(const Partner *partner) const { return partner->address; }
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
    /// Takes what arrived, serves timers; never blocks. Does nothing while gated.
    [[gnu::hot]] bool progress(Driver driver);
    /// Grows with every frame of a pull that the firmware took or sent without an event for us.
    uint64_t frames_served() const;
    /// Grows with every question to a partner that was silent; its answer comes soon.
    uint64_t questions() const { return questions_; }
    /// Now and then a pass for a program that posts much and asks little: a pass each time would be late for
    /// what comes behind. The weights of what was posted since add up to weight_per_pass.
    static constexpr unsigned weight_per_pass = 16;
    [[gnu::hot]] void posted(unsigned weight);
    /// True while events must wait: progression disabled, or the handler runs.
    bool gated() const { return progression_disabled_ || in_handler_; }
    bool inside_handler() const
    {
        if (!in_handler_) [[likely]]
            return false;
        return handler_thread_ == std::this_thread::get_id();
    }
    /// Runs progress until done() or the deadline (device time), mx_wakeup or close; true iff done().
    bool wait(std::unique_lock<Lock> &lock, uint64_t deadline_ns, Condition done);
    void wakeup();
    /// Grows with each wakeup().
    uint32_t wake_epoch() const { return wake_epoch_; }
    /// To be called when a thread leaves the endpoint to others: what it took off the device or did itself
    /// may be what a thread sleeps for, whom the device then does not wake.
    void tell_sleepers()
    {
        if (sleeper_wants_) [[unlikely]]
            tell_sleeper();
    }
    void disable_progression(std::unique_lock<Lock> &lock);
    void enable_progression();
    /// After a non-blocking call that found nothing: offers the core when that keeps happening.
    void found_nothing(std::unique_lock<Lock> &lock);
    void found_something()
    {
        empty_calls_ = 0;
        just_found_ = true;
    }
    /// Calls the error handler for failures nobody will ask about; unlocks meanwhile.
    void report_lost(std::unique_lock<Lock> &lock)
    {
        if (!lost_.empty()) [[unlikely]]
            tell_lost(lock);
    }
    void begin_close() { closing_ = true; }
    void linger(std::unique_lock<Lock> &lock);

    // --- small things
    Context &context() { return context_; }
    EndpointSlot &slot() { return slot_; }
    RequestPool &requests() { return requests_; }
    Port &port() { return *port_; }
    const BoardInfo &board() const { return board_; }
    bool gone() const { return gone_; }
    uint32_t number() const { return port_->number(); }
    uint32_t key() const { return key_; }
    uint32_t session() const { return session_; }
    ErrorHandler handler() const;
    /// Installs the endpoint's own handler (none: the global one) and returns the previous own one.
    ErrorHandler exchange_handler(ErrorHandler handler) { return std::exchange(error_handler_, handler); }
    void set_context_ids(unsigned bits, unsigned shift) { context_bits_ = bits, context_shift_ = shift; }
    uint64_t context_mask() const;
    /// From now on messages that nobody waits for are not taken while others of so many bytes are held; 0:
    /// they are. Before anything was received.
    void set_unexp_max(uint64_t bytes) { unexp_max_ = bytes; }
    /// The one handler of unexpected messages, of whichever layer; empty: none.
    void set_unexp_handler(UnexpHandler handler) { unexp_handler_ = std::move(handler); }
    bool closing() const { return closing_; }
    uint32_t eager_max() const { return eager_max_; }
    Context::Census census();

    // --- for its trace (trace/stages.cpp)
    /// How far a message has come: nothing is known of it (its partner died), it waits for packets before it,
    /// for fragments of its own, for a receive; or it found one.
    enum class Stage : uint8_t { none, early, partial, unexpected, matched };
    /// Keys, sorted, of the messages that wait for a receive.
    std::vector<uint64_t> waiting_messages() const;
    Stage stage_of(uint32_t peer, uint8_t remote_ep, uint16_t seq,
                   const std::vector<uint64_t> &waiting) const;
    uint64_t finished_requests() const { return completions_; }

private:
    uint64_t now() { return context_.device().now_ns(); }
    void count(emx_counter counter) { emx_count(&port_->counters(), counter, 1); }

    // partners (proto/connect.cpp, reliab/failure.cpp)
    Partner *find_partner(uint32_t peer, uint8_t remote_ep)
    {
        if (!last_partner_ || last_partner_->peer != peer || last_partner_->remote_ep != remote_ep)
            [[unlikely]]
            return look_up_partner(peer, remote_ep);
        return last_partner_;
    }
    Partner *look_up_partner(uint32_t peer, uint8_t remote_ep);
    Partner *resolve_self(Partner *self);
    void set_session(Partner *partner, uint32_t session);
    Partner *add_partner(uint32_t peer, uint64_t nic_id, uint8_t remote_ep);
    /// nullptr, and counted: there are as many partners as there may be.
    Partner *partner_of(uint32_t peer, uint64_t nic_id, uint8_t remote_ep);
    Partner *living_partner(uint32_t peer, uint64_t nic_id, uint8_t remote_ep);
    Partner *partner_to_ask(uint64_t nic_id, uint8_t remote_ep, int patience_ms, DeviceError &error);
    bool keep_peer(Partner *partner);
    void release_peer(Partner *partner);
    void note_half_open(const Partner *partner);
    bool drop_half_open();
    [[gnu::cold, gnu::noinline]] bool opens(Partner *partner, const emx_msg &msg);
    void sweep_partners();
    /// From now on its timers are served.
    void activate(Partner *partner)
    {
        if (!partner->active) [[unlikely]]
            link_active(partner);
    }
    [[gnu::noinline]] void link_active(Partner *partner);
    void unlink_active(Partner *partner);
    void fail_partner(Partner *partner, int code, bool drop_messages);
    void tell_death(const Partner *partner) const;
    void fail_sends(Partner *partner, int code);
    bool fail_incoming(Partner *partner, int code, bool drop_messages);
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
    void on_report(const emx_msg &msg);
    void send_report(Partner *partner, bool ask);
    bool describe_early(const Partner *partner, emx_w_x_state &state) const;
    void repeat_missing(Partner *partner, uint16_t ack, const emx_w_x_state &state, uint64_t asked_ns);
    void repeat_lost(TxMessage *tx, uint32_t here);
    uint64_t own_offer() const;
    void agree(Partner *partner, uint64_t offer);
    void take_session(Partner *partner, uint32_t session, uint16_t start, bool is_reply);
    void complete_connect(Partner *partner, PendingConnect *connect, int code);
    void drop_connect(Partner *partner, PendingConnect *connect);
    void abandon_connect(Partner *partner, PendingConnect *connect);
    Partner *renew_partner(Partner *old);
    Partner *replace_partner(Partner *old, int code);

    // sending (proto/eager.cpp, proto/rendezvous.cpp, proto/self.cpp, reliab/send.cpp)
    [[gnu::hot]] void send_eager(Request *request, std::span<const Segment> segments, uint64_t length,
                                 Partner *to);
    void send_copy(Request *request, TxMessage *tx, uint32_t bytes, Partner *to);
    [[gnu::noinline]] TxMessage *make_medium(std::span<const Segment> segments, uint32_t bytes,
                                             const Partner *to);
    [[gnu::noinline]] void send_detour(Request *request, std::span<const Segment> segments, uint64_t length,
                                       Partner *to, bool synchronous);
    static bool fragments_pay(const Partner *to, uint32_t fragment);
    void choose_fragments(Partner *partner);
    void convert(TxMessage *tx);
    void send_rendezvous(Request *request, Partner *to);
    void ask_dialect(Partner *partner, uint8_t for_type);
    void on_answer(const emx_msg &msg);
    void take_other_dialect(Partner *partner, char theirs);
    void warn_of_dialect(const Partner *partner) const;
    void send_by_extension(Partner *partner);
    void refuse_pulls(const Partner *partner);
    char dialect_to(const Partner *partner) const;
    Partner *way_to_self();
    void send_self(Request *request, uint64_t length, bool synchronous);
    void send_notify(Partner *to, const emx_msg &rndv, uint32_t length);
    [[gnu::hot]] void enqueue(TxMessage *tx);
    void pump(Partner *partner);
    [[gnu::hot]] bool may_send(const Partner *partner, const TxMessage *tx) const;
    /// False: all windows are taken. Only a RNDV needs one.
    bool give_window(TxMessage *tx) { return tx->header.type != EMX_RNDV || take_window(tx); }
    bool take_window(TxMessage *tx);
    void free_window(TxMessage *tx);
    [[gnu::hot]] void number_and_send(TxMessage *tx);
    [[gnu::hot]] void transmit(TxMessage *tx);
    [[gnu::noinline]] void transmit_other(TxMessage *tx);
    void transmit_fragments(TxMessage *tx, uint32_t here = 0);
    [[gnu::hot]] void on_ack(Partner *partner, uint16_t ack);
    [[gnu::hot]] void note_ack(Partner *partner, uint16_t ack);
    [[gnu::hot]] void take_acks();
    void finish_acked(TxMessage *tx);
    void drop_tx(TxMessage *tx);
    void complete_send(TxMessage *tx, int code, uint32_t xfer_length);
    void end_rendezvous(TxMessage *tx, int code, uint32_t xfer_length);
    void unlink_rendezvous(TxMessage *tx);
    void zombie_gone(TxMessage *tx);
    void on_notify(Partner *partner, const emx_msg &msg);
    void on_nack(const emx_msg &msg);
    bool believes_refusals(Partner *partner);
    void stray_nack(Partner *partner);
    void serve_resends(Partner *partner, uint64_t time);
    void serve_connects(Partner *partner, uint64_t time);
    void serve_probe(Partner *partner, uint64_t time);
    uint64_t resend_due(const TxMessage *tx) const;
    // asking (reliab/question.cpp)
    void ask_when_silent(Partner *partner, uint64_t time);
    [[gnu::noinline]] void ask_for_room(Partner *partner);
    void ask(Partner *partner, uint64_t time);
    uint64_t question_due(const Partner *partner) const;
    void owe_answer(Partner *partner);
    uint64_t answered_question(Partner *partner, const emx_msg &report);
    void check_budgets(uint64_t time);
    void give_up(Partner *partner);

    // receiving: accept (reliab/receive.cpp, reliab/acks.cpp)
    [[gnu::hot]] void accept(const emx_msg &msg);
    [[gnu::noinline]] void accept_other(const emx_msg &msg);
    [[gnu::hot]] void on_sequenced(const emx_msg &msg);
    [[gnu::noinline]] void out_of_turn(Partner *partner, const emx_msg &msg, unsigned ahead);
    void on_truc(const emx_msg &msg);
    void on_link(const emx_msg &msg);
    [[gnu::hot]] void deliver(Partner *partner, const emx_msg &msg);
    [[gnu::noinline]] void hold(Partner *partner, const emx_msg &msg);
    void drain_early(Partner *partner);
    void store_early(Partner *partner, const emx_msg &msg);
    void drop_early(Partner *partner);
    [[gnu::hot]] void update_done(Partner *partner);
    [[gnu::hot]] void owe_ack(Partner *partner);
    void send_ack(Partner *partner);
    static void acknowledged(Partner *partner);
    [[gnu::noinline]] void send_due_acks();
    [[gnu::noinline]] void ack_soon(Partner *partner);
    [[gnu::noinline]] void hurry_acks();
    [[gnu::noinline]] void stamp_acks(uint64_t time);
    bool bind_first(Incoming *in);
    Incoming *new_incoming(Partner *partner, const emx_msg &msg);
    void add_fragment(Incoming *in, const emx_msg &msg);
    bool is_unwelcome(const emx_msg &msg);
    void no_longer_held(Incoming *in);
    void fragment_for(Partner *partner, const emx_msg &msg);
    void unlink_partial(Incoming *in);
    void free_incoming(Incoming *in);
    [[gnu::hot]] bool fast_receive(Partner *partner, const emx_msg &msg);

    // receiving: match (match/match.cpp)
    void stage(Incoming *in);
    [[gnu::noinline]] void match_accepted();
    void match(Incoming *in);
    static const std::byte *shown(const Incoming *in);
    bool ask_handler(Incoming *in);
    void bind(Incoming *in, Request *recv);
    void consume(Incoming *in);
    void own_data(Incoming *in);
    void finish_receive(Incoming *in, int code);
    [[gnu::hot]] void complete_receive(Request *recv, const emx_msg &msg, Partner *partner,
                                       uint32_t xfer_length, int code);
    void discard(Incoming *in);
    void start_pull(Incoming *in);
    void cancel_pull(Incoming *in);
    void retry_pulls();
    void on_pull_done(const emx_msg &msg);
    void finish_self(Incoming *in);

    // completion
    [[gnu::hot]] void complete(Request *request, int code);
    [[gnu::cold, gnu::noinline]] void complete_forgotten(Request *request, int code);
    void lost(int code);
    void tell_lost(std::unique_lock<Lock> &lock);
    void give_core_away(std::unique_lock<Lock> &lock);

    // progress
    [[gnu::noinline]] bool busy_poll();
    [[gnu::cold, gnu::noinline]] bool is_behind(bool found);
    [[gnu::hot]] bool poll_device(unsigned spins);
    [[gnu::noinline]] void serve_timers(uint64_t time);
    uint64_t next_deadline(uint64_t time);
    bool sleep_once(std::unique_lock<Lock> &lock, uint64_t time, uint64_t deadline_ns, Condition done);
    [[gnu::cold, gnu::noinline]] void tell_sleeper();

    Context &context_;
    EndpointSlot &slot_;
    uint32_t slot_index_;
    BoardInfo board_;
    bool gone_ = false; ///< the interface vanished: this endpoint reaches nobody any more
    uint32_t key_;
    uint32_t session_;
    uint32_t eager_max_;
    std::unique_ptr<Port> port_;
    ErrorHandler error_handler_;
    unsigned context_bits_ = 0, context_shift_ = 0;

    RequestPool requests_;
    TxPool tx_pool_;
    PostedQueue posted_;
    IndexedFifo<Incoming, &Incoming::hook, &Incoming::match> unexpected_;
    IndexedFifo<Request, &Request::done_hook, &Request::match> done_;
    Incoming *accepted_ = nullptr, *accepted_tail_ = nullptr;
    Incoming *pulls_waiting_ = nullptr, *pulls_waiting_tail_ = nullptr;

    PartnerTable partners_;
    std::deque<uint32_t> half_open_; ///< indexes of partners that were, the oldest first
    std::unordered_map<uint32_t, uint32_t> kept_; ///< peers whose indices are ours, and partners of them
    Partner *last_partner_ = nullptr;
    Partner *active_ = nullptr;

    std::unordered_map<uint64_t, Incoming *> pulls_; ///< under way, by cookie
    uint64_t next_pull_ = 1;
    std::array<TxMessage *, FW_WINDOWS> window_{}; ///< by fw_window_slot
    std::array<uint8_t, 256> window_tag_{}; ///< the last one of an id
    std::array<uint8_t, 256> windows_of_{}; ///< open ones of an id
    uint32_t windows_used_ = 0;
    uint32_t next_window_ = 0;

    UnexpHandler unexp_handler_;
    bool in_handler_ = false;
    std::thread::id handler_thread_;
    bool progression_disabled_ = false;
    bool staging_ = false; ///< the helper drives: no matching now
    bool closing_ = false;
    bool lingering_ = false;
    const Condition *sleeper_wants_ = nullptr; ///< of the thread that waits on the device
    bool sleeper_told_ = false; ///< it was woken, and is not back yet
    uint64_t told_ = 0; ///< completions_ + arrivals_ when the other waiting threads were woken last
    uint64_t arrivals_ = 0; ///< messages that nobody had posted a receive for
    uint32_t wake_epoch_ = 0;
    static constexpr uint32_t waiting_calls = 3; ///< empty ones in a row, of a program that waits by asking
    uint32_t empty_calls_ = 0;
    bool just_found_ = false; ///< the last call gave the program something
    uint64_t frames_seen_ = 0; ///< frames_served() when a yield was considered last
    uint32_t posts_ = 0;
    uint32_t passes_ = 0; ///< weighted, since the clock was read
    uint32_t passes_behind_ = 0; ///< for which a timer that ran out has waited
    uint32_t zombies_ = 0;
    uint32_t incoming_alive_ = 0;
    uint64_t unexp_max_ = 0, unexp_bytes_ = 0; ///< of unexpected messages; 0: no bound, nor are they counted
    std::array<fw_bucket, 2> answers_{}; ///< to connects of strangers: with a wrong key, with ours
    std::size_t early_bytes_ = 0; ///< in packets that came before their turn
    uint32_t timed_requests_ = 0; ///< requests with a deadline of their own
    uint64_t default_budget_ns_ = 0; ///< of requests posted from now on; 0 = the partner limit
    uint64_t completions_ = 0;
    uint64_t timer_ns_ = ~uint64_t{0}; ///< earliest deadline known
    uint64_t questions_ = 0;
    Partner *acked_ = nullptr; ///< whose ack_seen is to be acted upon
    std::vector<Partner *> due_acks_; ///< to be acknowledged at the end of the pass
    Partner *unstamped_ = nullptr; ///< owe an ack since a time not read yet
    std::vector<int> lost_; ///< status codes for the error handler
};

inline bool Context::enter(EndpointSlot &slot, mx_endpoint_t handle)
{
    const auto generation = static_cast<uint32_t>(reinterpret_cast<uint64_t>(handle) >> handle_slot_bits);
    if (!slot.endpoint || slot.generation != generation || slot.endpoint->closing()) [[unlikely]]
        return false;
    slot.activity.store(slot.activity.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return true;
}

/// The mx_return_t (or Open-MX code) that an error handler gets for a request's status.
mx_return_t handler_code(int status);

} // namespace emx
