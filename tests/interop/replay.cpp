// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Playing a capture against our host. See replay.hpp.
#include "replay.hpp"

#include <driver/core/fw.h>

#include <emx/wire.h>

#include <algorithm>
#include <sstream>

namespace emx::interop {

namespace {

constexpr uint64_t mac_a = 0x525400000061, mac_b = 0x525400000062;
constexpr uint64_t reaction = 20 * us;
constexpr uint64_t time_limit = 60 * sec;

struct DesignRow {
    Design design;
    const char *what;
    const char *reason;
};

/// Every difference from the captured peer that we keep, and why.
constexpr DesignRow design_table[] = {
    {Design::connect_back, "a CONNECT request of ours to whoever connects",
     "a one-sided Open-MX partner acknowledges with an invalid session (wire specification, 7.5)"},
    {Design::repeats, "repeats at other times, and not as many",
     "the first repeat comes after 50 ms and backs off to 0.5 s (8.4)"},
    {Design::acks, "explicit acks at other times, or where a frame of the peer carried it",
     "an ack is cumulative; when it goes out is the receiver's business (8.2)"},
    {Design::counter_start, "the first ack counter", "a clock, so that it never falls after a reopen (7.6)"},
    {Design::own_values, "sessions, connect numbers, windows, pull handles and magics of our own",
     "opaque to the peer, which echoes them (4, 10.4)"},
    {Design::tag, "the true tag in PULL REPLY, HOST QUERY and HOST REPLY",
     "the captured peer leaves it unset (2.2)"},
    {Design::no_renumbering, "counting goes on when the peer's CONNECT comes after its first data",
     "the captured peer starts again at 1 and takes a message twice (7.3, 7.5)"},
    {Design::reply_length, "HOST REPLY is padded to 60 bytes only",
     "the captured peer sends 60 bytes and the name's length; the receiver needs 32 and the name (4.2)"},
    {Design::closed_known, "no further message to an endpoint that has refused one as closed",
     "the send fails at once with the same status; the application has to connect anew (11.2)"},
    {Design::inquiry,
     "a CONNECT request of ours to whoever refuses a message, with a number that its refusal copies",
     "anyone may forge a refusal, which has no session (docs/protocol.md)"},
    {Design::beacons, "beacons at other times, with a serial of our own",
     "they begin with our agent, and after a random part of a second (6.4)"},
    {Design::strangers, "a HOST QUERY of a board that we do not know is answered",
     "an open table takes in whoever asks; the captured peer drops the query and is asked again after 5 s "
     "(6.1, 6.3)"},
    {Design::offer, "an offer of the EtherMX extension behind our CONNECT requests",
     "16 bytes behind the stated length, which receivers skip (2.3); an answer to a host that makes none has "
     "none (docs/protocol.md)"},
    {Design::question, "a PULL for endpoint 255, which asks for the peer's dialect",
     "sent once something depends on it; every host refuses it (docs/protocol.md)"},
};

uint64_t mac_at(const Frame &f, size_t at)
{
    uint64_t mac = 0;
    for (size_t i = at; i < at + 6; i++)
        mac = mac << 8 | f.at(i);
    return mac;
}

bool is_truc(const Frame &f) { return f[EMX_OUTER_LEN] == EMX_TRUC; }

std::string text(const Frame &f) { return identity(f); }

} // namespace

std::string design_text(Design d)
{
    for (const DesignRow &row : design_table)
        if (row.design == d)
            return std::string(row.what) + ": " + row.reason;
    return "not in the table";
}

Replay::Replay(const std::string &path, Role role) : role_(role)
{
    const bool first = role == Role::receiver;
    link_ = make_link({first ? mac_a : mac_b, other_mac(), first ? "a:0" : "b:0", other_name()});
    load(path);
    link_->on_frame = [this](const Frame &f) { on_sent(f); };
}

Replay::~Replay() = default;

uint64_t Replay::other_mac() const { return role_ == Role::receiver ? mac_b : mac_a; }
std::string Replay::other_name() const { return role_ == Role::receiver ? "b:0" : "a:0"; }

void Replay::load(const std::string &path)
{
    uint64_t first = 0, last = 0, time = 0;
    std::set<std::string> seen;
    for (auto &f : test::read_pcap(path)) {
        bool ours = mac_at(f.bytes, 6) != other_mac();
        if (skips(f.bytes, ours))
            continue;
        if (!first)
            first = last = f.time_us;
        time += std::min((f.time_us - last) * us, link_->longest_pause());
        last = f.time_us;
        if (ours && !seen.insert(identity(f.bytes)).second)
            continue; // a repeat: ours come when our timer says
        times_[(f.time_us - first) * us] = time;
        entries_.push_back({f.bytes, time, ours, false});
        note_message(entries_.back(), (f.time_us - first) * us);
    }
}

/// Frames between board agents where there are none, and our beacons, which have times of their own.
bool Replay::skips(const Frame &frame, bool ours)
{
    uint8_t type = frame.at(EMX_OUTER_LEN);
    if (type != EMX_RAW && type != EMX_HOST_QUERY)
        return false;
    introduced_ = false;
    if (!link_->has_agent())
        return ours || type == EMX_RAW;
    if (ours && type == EMX_RAW)
        beacon_ = frame;
    return ours && type == EMX_RAW;
}

void Replay::note_message(const Entry &entry, uint64_t captured_time)
{
    const Frame &f = entry.frame;
    uint8_t type = f[EMX_OUTER_LEN];
    if (type == EMX_CONNECT && !get(f, "is_reply")) {
        if (entries_.size() == 1) {
            key_ = static_cast<uint32_t>(get(f, "key"));
            target_ = static_cast<uint32_t>(get(f, "dst_ep"));
        }
        if (!entry.ours)
            peer_session_ = static_cast<uint32_t>(get(f, "requester"));
    }
    if (!is_eager(type))
        return;
    if (!messages_.empty() && messages_.back().match == get(f, "match"))
        return; // a further fragment
    messages_.push_back({captured_time, static_cast<uint32_t>(get(f, "length")), get(f, "match")});
}

void Replay::run(const std::function<void(Replay &)> &application)
{
    if (!link_->run([&] { application(*this); }, time_limit))
        complain("has not come to its end");
    finish();
}

void Replay::begin()
{
    if (introduced_)
        link_->introduce();
    const std::lock_guard lock(link_->mutex);
    start_ = link_->now();
    advance();
}

void Replay::pass_until(uint64_t captured_time)
{
    auto after = times_.lower_bound(captured_time);
    uint64_t when = start_;
    if (after != times_.end() && after->first == captured_time) {
        when += after->second;
    } else if (after != times_.begin()) {
        auto before = std::prev(after);
        when += before->second + std::min(captured_time - before->first, link_->longest_pause() / 2);
    }
    if (link_->now() < when)
        link_->pass_time(when - link_->now());
}

void Replay::complain(const std::string &what)
{
    const std::lock_guard lock(link_->mutex);
    differences_.push_back("application: " + what);
}

bool Replay::finished()
{
    const std::lock_guard lock(link_->mutex);
    return all_satisfied();
}

bool Replay::all_satisfied() const
{
    return std::all_of(entries_.begin(), entries_.end(), [&](const Entry &e) { return satisfied(e); });
}

bool Replay::satisfied(const Entry &entry) const
{
    if (entry.done)
        return true;
    if (!entry.ours)
        return false;
    return is_truc(entry.frame) ? last_ack_ >= *ack_of(entry.frame) : !refusal_.empty();
}

bool Replay::may_inject(size_t i) const
{
    for (size_t k = 0; k < i; k++)
        if (!satisfied(entries_[k]))
            return false;
    return true;
}

/// Plays the peer's next frame as soon as its time has come and we did what went before it.
void Replay::advance()
{
    if (advancing_)
        return;
    size_t i = 0;
    while (i < entries_.size() && (entries_[i].ours || entries_[i].done))
        i++;
    if (i == entries_.size() || !may_inject(i))
        return;
    advancing_ = true;
    uint64_t when = std::max(link_->now() + reaction, start_ + entries_[i].time);
    link_->at(when, [this, i] {
        advancing_ = false;
        inject(i);
        advance();
    });
}

void Replay::inject(size_t i)
{
    Entry &e = entries_[i];
    e.done = true;
    uint8_t type = e.frame[EMX_OUTER_LEN];
    if (type == EMX_NOTIFY || is_eager(type))
        their_numbers_.insert(get(e.frame, "seq"));
    const Frame live = translation_.to_live(e.frame);
    if (type == EMX_NACK_LIB)
        refusal_ = live;
    link_->inject(live);
}

void Replay::compare_beacon(Frame live)
{
    if (beacon_.empty())
        return;
    constexpr size_t serial = EMX_OUTER_LEN + offsetof(emx_w_beacon, serial);
    live.resize(beacon_.size());
    std::copy_n(beacon_.begin() + serial, sizeof(emx_w_beacon::serial), live.begin() + serial);
    designs_.insert(Design::beacons);
    if (live != beacon_)
        differences_.push_back("beacon: differs from the real one in more than its serial");
}

void Replay::on_sent(const Frame &frame)
{
    if (frame[EMX_OUTER_LEN] == EMX_RAW)
        return compare_beacon(frame);
    if (frame[EMX_OUTER_LEN] == EMX_PULL && frame[EMX_OUTER_LEN + 1] == EMX_QUESTION_ENDPOINT) {
        designs_.insert(Design::question); // the captured peer says nothing to it
        return;
    }
    if (auto ack = ack_of(frame))
        last_ack_ = std::max<uint64_t>(last_ack_, *ack);
    size_t limit = entries_.size();
    if (frame[EMX_OUTER_LEN] == EMX_CONNECT) // the connect back may be a later one's likeness
        for (limit = 0; limit < entries_.size() && (entries_[limit].ours || entries_[limit].done);)
            limit++;
    std::string id = identity(frame);
    size_t i = 0;
    while (i < limit && !(entries_[i].ours && !entries_[i].done && identity(entries_[i].frame) == id))
        i++;
    if (i == limit)
        on_extra(frame);
    else
        compare(i, frame);
    sent_.emplace(id, frame);
    link_->at(link_->now(), [this] { advance(); });
}

/// A frame that the captured host did not send at this point.
void Replay::on_extra(const Frame &frame)
{
    uint8_t type = frame[EMX_OUTER_LEN];
    const auto first = sent_.find(identity(frame));
    if (type == EMX_CONNECT && get(frame, "seq") && !refusal_.empty()) {
        designs_.insert(Design::inquiry);
        for (const Field &f : fields_of(refusal_))
            if (f.use == USE_LAST)
                put(refusal_, f, get(frame, "seq"));
        link_->at(link_->now() + reaction, [this, refusal = refusal_] { link_->inject(refusal); });
    } else if (type == EMX_CONNECT && !get(frame, "is_reply") &&
               (first == sent_.end() || get(first->second, "number") != get(frame, "number"))) {
        designs_.insert(Design::connect_back);
        answer_connect(frame);
    } else if (type == EMX_TRUC) {
        designs_.insert(Design::acks);
        const uint64_t ack = get(frame, "ack"), all = 1 + their_numbers_.size();
        // A real host's ack may come before what we sent last, but never behind an earlier one.
        if (link_->has_agent() ? ack > all || ack < last_ack_ : ack != all)
            differences_.push_back(text(frame) + ": not what the peer has sent so far");
        if (get(frame, "session") != peer_session_ || get(frame, "session_copy") != peer_session_)
            differences_.push_back(text(frame) + ": not the peer's session");
    } else if (first != sent_.end()) {
        designs_.insert(Design::repeats);
        compare_repeat(frame, first->second);
    } else {
        differences_.push_back(text(frame) + ": the real peer sent no such frame here");
    }
}

/// A repeat is the same frame, but for a fresh ack, and the tag when it was told meanwhile.
void Replay::compare_repeat(Frame frame, Frame first)
{
    for (const Field &f : fields_of(frame))
        if (std::string(f.name) == "ack" || (f.use == USE_TAG && get(first, f) == EMX_TAG_NONE)) {
            put(frame, f, 0);
            put(first, f, 0);
        }
    if (frame != first)
        differences_.push_back(text(frame) + ": its repeat is not the same frame");
}

/// Says what the captured peer would say to a request that it never got.
void Replay::answer_connect(const Frame &request)
{
    Frame reply = request;
    std::copy_n(request.begin() + 6, 6, reply.begin());
    std::copy_n(request.begin(), 6, reply.begin() + 6);
    for (const Field &f : fields_of(request)) {
        std::string name = f.name;
        if (name == "dst_ep")
            put(reply, f, get(request, "src_ep"));
        else if (name == "src_ep")
            put(reply, f, get(request, "dst_ep"));
        else if (name == "key") // where a reply has the session
            put(reply, f, peer_session_);
        else if (name == "is_reply" || name == "start")
            put(reply, f, 1);
    }
    link_->at(link_->now() + reaction, [this, reply] { link_->inject(reply); });
}

void Replay::compare(size_t i, const Frame &live)
{
    Entry &e = entries_[i];
    e.done = true;
    compared_++;
    std::string where = "frame " + std::to_string(i) + " of the exchange (" + text(e.frame) + ")";
    const bool answers = link_->has_agent() && e.frame[EMX_OUTER_LEN] == EMX_HOST_REPLY;
    for (size_t k = 0; k < i; k++) {
        const bool query = entries_[k].frame[EMX_OUTER_LEN] == EMX_HOST_QUERY;
        if (entries_[k].ours && !satisfied(entries_[k]) && !(answers && query))
            differences_.push_back(where + ": sent before " + text(entries_[k].frame));
        else if (link_->has_agent() && !entries_[k].done && query)
            designs_.insert(Design::strangers); // not to this query, but to an earlier one, before it asked
    }
    for (const Field &f : fields_of(e.frame))
        compare_field(where, f, e.frame, live);
    compare_rest(where, e.frame, live);
}

bool Replay::designed(const Field &field, const Frame &captured, const Frame &live)
{
    uint8_t type = captured[EMX_OUTER_LEN];
    std::string name = field.name;
    uint64_t value = get(live, field);
    if (field.use == USE_TAG &&
        (type == EMX_PULL_REPLY || type == EMX_HOST_QUERY || type == EMX_HOST_REPLY)) {
        designs_.insert(Design::tag);
        return value == 1 || (type == EMX_HOST_QUERY && value == EMX_TAG_NONE); // not told yet
    }
    if (field.use == USE_COUNTER) {
        bool rises = value > counter_;
        counter_ = value;
        designs_.insert(Design::counter_start);
        return rises;
    }
    bool counts = name == "ack" || name == "ack_copy" || name == "start";
    if (counts && role_ == Role::sender && value == 1 + their_numbers_.size() &&
        value > get(captured, field)) {
        designs_.insert(Design::no_renumbering);
        return true;
    }
    return false;
}

void Replay::compare_field(const std::string &where, const Field &field, const Frame &captured,
                           const Frame &live)
{
    uint64_t value = get(live, field);
    auto wanted = translation_.expect(field, captured, value);
    if (wanted && *wanted != get(captured, field))
        designs_.insert(Design::own_values);
    if (!wanted) {
        designs_.insert(Design::own_values);
        return;
    }
    if (*wanted == value && field.use != USE_COUNTER)
        return;
    if (designed(field, captured, live))
        return;
    std::ostringstream s;
    s << where << ": " << field.name << " is 0x" << std::hex << value << ", the real peer's 0x" << *wanted;
    differences_.push_back(s.str());
}

namespace {

/// A CONNECT request of ours with an offer, right in every byte.
bool is_offering(const Frame &live)
{
    constexpr size_t at = EMX_OUTER_LEN + sizeof(emx_w_connect);
    if (live[EMX_OUTER_LEN] != EMX_CONNECT || live.size() != at + sizeof(emx_w_offer) || live[42])
        return false;
    emx_be64 check;
    std::copy_n(&live[at + offsetof(emx_w_offer, check)], sizeof check, check.b);
    return live[at] == EMX_X_VERSION && emx_get64(check) == fw_offer_check(live.data());
}

} // namespace

/// Length, payload, and zeros everywhere else.
void Replay::compare_rest(const std::string &where, const Frame &captured, const Frame &live)
{
    const bool offering = is_offering(live);
    if (offering)
        designs_.insert(Design::offer);
    else if (live.size() != captured.size()) {
        bool reply = captured[EMX_OUTER_LEN] == EMX_HOST_REPLY && live.size() == EMX_FRAME_MIN;
        if (reply)
            designs_.insert(Design::reply_length);
        else
            differences_.push_back(where + ": " + std::to_string(live.size()) +
                                   " bytes long, the real peer's " + std::to_string(captured.size()));
    }
    auto [at, length] = payload_of(captured);
    std::vector<bool> known(live.size());
    for (const Field &f : fields_of(live))
        std::fill_n(known.begin() + f.at, f.size, true);
    for (size_t k = at; k < at + length && k < live.size(); k++) {
        known[k] = true;
        if (live[k] != captured[k]) {
            differences_.push_back(where + ": payload differs from byte " + std::to_string(k - at) + " on");
            break;
        }
    }
    for (size_t k = at; k < at + length && k < live.size(); k++)
        known[k] = true;
    for (size_t k = 0; k < live.size(); k++)
        if (!known[k] && live[k]) {
            differences_.push_back(where + ": reserved byte " + std::to_string(k) + " is not zero");
            break;
        }
}

void Replay::finish()
{
    for (const Entry &e : entries_)
        if (!satisfied(e))
            differences_.push_back((e.ours ? "never sent: " : "never came to play: ") + text(e.frame));
        else if (!e.done)
            designs_.insert(is_truc(e.frame) ? Design::acks : Design::closed_known);
    if (!link_->violation().empty())
        differences_.push_back("forbidden frame: " + link_->violation());
}

} // namespace emx::interop
