// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A partner: one life (session) of a remote endpoint as one local endpoint sees it, with the
// reliability state of both directions (wire specification, sections 7 and 8).
//
// A new session of the same endpoint is a new Partner; of the old one a tombstone stays if a program may
// hold its address (partner_table.hpp; API specification, 1.9).
#pragma once

#include "driver/device.hpp"
#include "libmx/match/indexed_fifo.hpp"
#include "libmx/reliab/flight.hpp"
#include "libmx/reliab/round_trip.hpp"

#include "driver/core/fw.h"
#include "myriexpress.h"

#include <array>
#include <cstdint>
#include <memory>

namespace emx {

struct Request;
struct Partner;

/// A fragment of an eager message, of the dialect or the extension; the latter may be short messages, too.
inline bool is_medium(uint8_t type) { return type == EMX_MEDIUM || type == EMX_X_MEDIUM; }

/// A sequenced message we send: kept until acknowledged (RNDV: until the NOTIFY).
struct TxMessage {
    TxMessage *next = nullptr; ///< in the unacknowledged or the waiting queue
    TxMessage *rndv_prev = nullptr, *rndv_next = nullptr; ///< partner's list of announced messages
    Partner *partner = nullptr;
    Request *request = nullptr; ///< to complete; nullptr when that is done
    std::byte *buffer = nullptr; ///< eager: frames, each behind send_headroom bytes
    uint32_t capacity = 0; ///< of buffer
    uint32_t size_class = 0; ///< of capacity, in the pool
    emx_msg header{};
    uint32_t frame_data = 0; ///< payload bytes of a full frame
    uint16_t frames = 1;
    uint16_t resends = 0;
    bool acked = false;
    bool notified = false; ///< RNDV: NOTIFY seen
    bool has_window = false;
    bool zombie = false; ///< completed before its ack, counted by the endpoint
    uint8_t hurried = 0; ///< repeats because a report showed that it was lost
    uint64_t sent_ns = 0; ///< last transmission
    uint64_t first_ns = 0;
};

/// A message from its first packet until a receive has it all.
struct Incoming {
    FifoHook<Incoming> hook; ///< unexpected queue
    Incoming *next = nullptr; ///< accepted queue, pulls waiting
    uint64_t match = 0;
    Partner *partner = nullptr;
    Request *recv = nullptr; ///< bound receive
    Request *self_send = nullptr; ///< a send to ourselves that completes when matched
    emx_msg msg{}; ///< header of its first packet
    const std::byte *view = nullptr; ///< whole message while still in the frame
    std::unique_ptr<std::byte[]> storage;
    uint64_t waiting_ns = 0; ///< partial: when the timers first saw it without a new fragment; 0: not yet
    fw_reasm reasm{};
    uint32_t held = 0; ///< bytes of it that count as unexpected; 0 where these are not bounded
    uint16_t seq = 0;
    bool rendezvous = false;
    bool complete = false; ///< all bytes of an eager message are here
    bool partial = false; ///< the partner's, a MEDIUM that lacks fragments
    bool discard = false; ///< nobody wants the data
    bool pulling = false;
    uint64_t pull = 0; ///< its cookie, while pulling
    bool pull_waits = false; ///< in the endpoint's list of pulls without a slot
    bool busy = false; ///< the unexpected handler is looking at it
    bool orphan = false; ///< its partner went away meanwhile
};

/// A packet that came before its turn.
struct EarlyPacket {
    EarlyPacket *next = nullptr;
    emx_msg msg{};
    std::unique_ptr<std::byte[]> data;
};

inline constexpr unsigned early_window = 255;

struct EarlyPackets {
    std::array<EarlyPacket *, 256> slot{};
    unsigned count = 0;
};

struct PendingConnect {
    PendingConnect *next = nullptr;
    Request *request = nullptr; ///< nullptr: our own (connect back, probe, inquiry)
    uint32_t key = 0;
    uint8_t number = 0;
    uint16_t resends = 0;
    uint64_t sent_ns = 0;
    uint64_t first_ns = 0;
    /// A frame that anyone may have sent says that this life of the partner is over: the answer decides.
    bool inquiry = false;
    uint16_t nonce = 0; ///< number that a refusal of its newest copy names; 0: none is believed
    int code = 0; ///< of what fails if that life is over
    emx_msg asked{}; ///< request, still unanswered, of what may be the next life; type 0: none
};

enum class PartnerState : uint8_t {
    connecting,
    half_open, ///< its request was taken; nothing proves yet that it hears us, or comes from where it says
    connected,
    dead,
};

struct Partner {
    uint32_t index = 0; ///< in the endpoint's table; part of addresses
    uint32_t peer = 0;
    uint64_t nic_id = 0;
    mx_endpoint_addr_t address{}; ///< of this life, see Endpoint::set_session
    uint32_t session = EMX_SESSION_NONE;
    uint8_t remote_ep = 0;
    PartnerState state = PartnerState::connecting;
    uint32_t eager_max = 0; ///< bytes; longer sends to it go by rendezvous
    bool self = false; ///< our own address, reached without the device
    bool detour = false; ///< self or summed: messages to it do not go the usual way
    bool summed = false; ///< eager messages to it are X MEDIUM with checksums, of whatever length
    bool answered = false; ///< a connect request of ours was answered: data may flow (7.5)
    bool sent_any = false; ///< a sequenced packet went to this session
    bool active = false; ///< in the endpoint's list of partners with timers
    bool ack_owed = false;
    bool ack_now = false;
    bool answer_owed = false; ///< it asked for a report
    bool ack_listed = false; ///< ack_seen is to be acted upon
    bool stamp_listed = false; ///< in the endpoint's list of acks without a time
    uint8_t heard = 0; ///< heard_frame since the last probe timer, heard_message for ever
    bool kept = false; ///< its index is ours to use, see Endpoint::keep_peer
    bool local = false; ///< on this host
    bool named = false; ///< the program may have its address in other ways than from a message
    bool first_life = false; ///< nothing of that endpoint was known before
    bool retired = false, needed = false; ///< Endpoint::sweep_partners
    bool dialect_known = false; ///< it speaks as we do to it, or not: see other_dialect
    char other_dialect = 0; ///< 'W' or 'N', of a stranger that is spoken to in the other one
    uint64_t dialect_asked_ns = 0;
    uint64_t dialect_question = 0; ///< emx_question(), asked and not answered yet
    /// When it was given up it waited for the end of a message of its own, or for the rest of one of ours.
    bool cut_short = false;
    int dead_code = 0; ///< status of sends to a dead partner
    /// State of the old life, while it is not known whether the peer has taken all of it: its session, else
    /// EMX_SESSION_NONE, and the number behind its last.
    uint32_t doubt_session = EMX_SESSION_NONE;
    uint16_t doubt_next = 0;
    /// Session of a stranger that was told to count with other session bits, else EMX_SESSION_NONE. Until it
    /// gives up, too, it drops all that bears them.
    uint32_t deaf_session = EMX_SESSION_NONE;
    uint16_t tx_first = 1; ///< of the numbers that this life has used

    uint16_t tx_next = 1, tx_oldest = 1;
    uint16_t ack_seen = 1; ///< latest ack a message carried; tx_oldest follows it, Endpoint::take_acks
    uint16_t rx_match = 1, rx_done = 1, rx_acked = 1;
    uint8_t connect_number = 0;
    Flight flight;
    uint32_t frames_out = 0; ///< unacknowledged eager frames
    uint32_t frames_in = 0; ///< eager frames taken since the last ack

    uint64_t ack_since_ns = 0; ///< 0: not stamped yet
    uint64_t patience_ns = 0; ///< after a message that is not acknowledged, until its timers are served

    TxMessage *unacked = nullptr, *unacked_tail = nullptr;
    TxMessage *waiting = nullptr, *waiting_tail = nullptr;
    TxMessage *rndv = nullptr;
    Incoming *partial = nullptr; ///< the MEDIUM that lacks fragments; what follows it waits in early
    std::unique_ptr<EarlyPackets> early;
    PendingConnect *connects = nullptr;
    uint8_t strays = 0; ///< refusals of nothing that we sent, until they have ceased for a while
    uint64_t stray_ns = 0; ///< the latest
    fw_bucket inquiries{}; ///< of which any forged frame may want one

    static constexpr uint8_t heard_frame = 1, heard_message = 2;
    /// Its address may be in the hands of the program.
    bool is_known() const { return named || heard & heard_message; }
    /// Nothing of it is worth remembering: it never spoke, nor did we but to ask.
    bool is_blank() const { return first_life && !answered && !sent_any && !is_known(); }
    /// It takes reports of what arrived here.
    bool takes_reports() const { return emx_offer_features(offer) & EMX_X_REPORTS; }
    /// Something is owed to it or expected from it: its timers are served.
    bool busy() const { return connects || unacked || waiting || rndv || partial || ack_owed; }
    Partner *active_prev = nullptr, *active_next = nullptr;
    Partner *acked_next = nullptr; ///< while ack_listed
    Partner *unstamped_next = nullptr; ///< while stamp_listed
    void *user_context = nullptr;
    uint32_t ack_counter_tx = 0, ack_counter_rx = 0;
    uint32_t pulls = 0; ///< under way from it
    uint32_t frag = 0; ///< bytes in a full MEDIUM fragment
    uint32_t fragment = 0; ///< bytes of data in an X MEDIUM to it, at most; 0: none is sent
    uint64_t probe_ns = 0;
    RoundTrip round_trip;
    Question question;
    uint32_t report_tx = 0, report_rx = 0; ///< counters of the newest report sent and taken
    /// The peer's offer of the extension, by which this session agreed to ours; 0: no agreement. With the
    /// wish for checksums if it is either's.
    uint64_t offer = 0;
};
static_assert(sizeof(Partner) < 512, "a partner costs less than 1 KiB, its place in the tables included");

} // namespace emx
