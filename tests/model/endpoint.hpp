// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The model peer's library: connections, numbers, acks, repeats, matching. It works only while the
// application is inside it: in progress(). Sections 7 to 9, 11 and 12 of the wire specification.
#pragma once

#include "host.hpp"

#include <optional>

namespace emx::model {

/// Outcomes of a send, a receive or a connect.
enum class End {
    good,
    refused, ///< nobody has that endpoint open
    impossible, ///< nor could have
    stale, ///< it is not the one that was connected
    reset,
    bad_key,
    failed
};

/// A remote endpoint.
struct Address {
    uint64_t mac = 0;
    uint8_t endpoint = 0;
    auto operator<=>(const Address &) const = default;
};

/// A message that a receive took.
struct Received {
    Address from;
    uint64_t match = 0;
    uint32_t length = 0; ///< of the message
    Bytes data; ///< cut to the receive's length
    bool good = true;
};

/// A receive that waits.
struct Receive {
    uint64_t match, mask;
    uint32_t length;
    std::function<void(const Received &)> done;
    const void *token = nullptr; ///< the application's, to take it back
};

/// A message that nothing was posted for.
struct Unexpected {
    Address from;
    uint64_t match;
    uint32_t length;
};

class Endpoint {
public:
    Endpoint(Host &host, uint8_t number, uint32_t session, uint32_t key);

    // The application.
    void connect(Address to, uint32_t key, std::function<void(End)> done);
    /// A message can be sent: some connect told the session.
    bool knows(Address to) const;
    /// It asked to be connected: acks and the rest may go to it.
    bool was_asked_by(Address from) const;
    /// Done: also how many bytes a large message's receiver took.
    void send(Address to, uint64_t match, Bytes data, bool synchronous,
              std::function<void(End, uint32_t taken)> done);
    void post(Receive receive);
    /// Takes back a receive that waits for a message; false: it has one.
    bool withdraw(const void *token);
    /// The first message that such a receive would get.
    std::optional<Unexpected> look(uint64_t match, uint64_t mask) const;
    /// The partner's session, as messages to it carry it; no_session before a connect.
    uint32_t session_of(Address whom) const;
    /// Large messages that are sent and not done.
    size_t large_under_way() const { return large_.size(); }
    /// Section 8.6, as after the last repeat.
    void give_up(Address whom) { give_up(whom, partners_[whom]); }
    uint32_t times_given_up() const { return times_given_up_; }
    /// One stay inside the library.
    void progress();
    /// When the next one would have something to do.
    uint64_t deadline() const;
    /// Nothing is sent or received partly.
    bool idle() const;

    // The host.
    uint8_t number() const { return number_; }
    uint32_t session() const { return session_; }
    const Window &window(uint32_t id) const { return windows_[id]; }
    void take(const Packet &packet) { queue_.push_back(packet); }
    size_t waiting() const { return queue_.size(); }
    void pull_ended(uint32_t handle, bool good, Bytes data);
    void flush_acks();

private:
    /// A message on its way out; also a NOTIFY.
    struct Sending {
        Packet packet; ///< without data
        std::shared_ptr<const Bytes> data;
        std::function<void(End, uint32_t)> done;
        uint64_t last = 0;
        uint32_t times = 0;
        uint8_t exponent = 12; ///< of the fragments, dialect W
    };
    /// A large message between the ack of its announce and its NOTIFY, or the other way round.
    struct Large {
        Address to;
        std::function<void(End, uint32_t)> done;
        bool acked = false, notified = false;
        uint32_t taken = 0;
    };
    struct Connecting {
        uint8_t number;
        uint32_t key;
        uint64_t last = 0;
        uint32_t times = 0;
        std::function<void(End)> done;
    };
    /// A message on its way in, or waiting for a receive.
    struct Incoming {
        Packet first; ///< the packet that opened it
        Address from;
        Bytes data;
        std::set<uint8_t> fragments;
        size_t have = 0;
        bool complete = false, good = true, pulling = false;
        std::optional<Receive> receive;
    };
    using IncomingPtr = std::shared_ptr<Incoming>;
    struct Partner {
        uint32_t message_session = no_session, ack_session = no_session;
        uint16_t tx_next = 0, tx_oldest = 0;
        uint16_t rx_match = 1, rx_done = 1, rx_acked = 1;
        uint8_t connect_number = 0;
        uint32_t counter_tx = 0, counter_rx = 0;
        std::deque<Sending> unacked;
        std::deque<Sending> throttled;
        std::deque<Connecting> connects;
        std::map<uint16_t, std::vector<Packet>> early;
        std::map<uint16_t, IncomingPtr> partial;
        std::map<uint16_t, Packet> seen; ///< what came under the last numbers, to hold repeats against
        uint64_t ack_due = never;
        bool ack_now = false;
    };

    void handle(const Packet &packet);
    void on_connect_request(const Packet &packet, Partner &partner);
    void on_connect_reply(const Packet &packet, Partner &partner);
    void on_truc(const Packet &packet, Partner &partner);
    void on_nack(const Packet &packet, Partner &partner);
    void on_sequenced(const Packet &packet, Partner &partner);
    void hold_against_repeat(const Packet &packet, Partner &partner);
    void take_ack(Partner &partner, uint16_t ack);
    void deliver(const Packet &packet, Partner &partner);
    void add_fragment(const Packet &packet, Incoming &message);
    void on_notify(const Packet &packet);
    void settle_rx(Partner &partner);

    void match(const IncomingPtr &message);
    void matched(const IncomingPtr &message);
    void finish_if_complete(Incoming &message);
    void announce_end(const Incoming &message, uint32_t taken);

    void transmit(Address to, Partner &partner, Sending &sending);
    void enqueue(Address to, Partner &partner, Sending sending);
    void release(Address to, Partner &partner);
    void request(Address to, Partner &partner, Connecting &connecting);
    void send_ack(Address to, Partner &partner);
    void acked(Sending &sending);
    void try_finish_large(uint8_t window);
    void reset(Address whom, Partner &partner, End why);
    void give_up(Address whom, Partner &partner);
    void tick(Address to, Partner &partner);

    Host &host_;
    uint8_t number_;
    uint32_t session_;
    uint32_t key_;
    std::deque<Packet> queue_;
    std::map<Address, Partner> partners_;
    std::array<Window, 256> windows_;
    std::map<uint8_t, Large> large_; ///< by window id
    uint8_t next_window_ = 0;
    uint32_t windows_opened_ = 0;
    uint32_t times_given_up_ = 0;
    std::deque<Receive> receives_;
    std::deque<IncomingPtr> unexpected_;
    std::map<uint32_t, IncomingPtr> pulls_; ///< by handle
    std::vector<std::function<void()>> callbacks_; ///< run at the end of progress()
    struct PullEnd {
        uint32_t handle;
        bool good;
        Bytes data;
    };
    std::deque<PullEnd> pull_ends_;
};

} // namespace emx::model
