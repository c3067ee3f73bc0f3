// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Playing a capture against our host. See replay.hpp.
#include "replay.hpp"

#include <emx/wire.h>

#include <algorithm>
#include <sstream>

namespace emx::interop {

namespace {

constexpr uint64_t mac_a = 0x525400000061, mac_b = 0x525400000062;
constexpr uint64_t reaction = 20 * sim::us;
constexpr uint64_t time_limit = 60 * sim::sec;

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
};

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
    load(path);
    host_ = std::make_unique<sim::Host>(world_, network_, 0, sim::HostOptions{});
    sim::Board &board = *host_->boards[0];
    board.fw().mac = role == Role::receiver ? mac_a : mac_b;
    board.rename(role == Role::receiver ? "a:0" : "b:0");
    // The captured hosts had each other in slot 1, behind themselves.
    board.add_peer(board.fw().mac, board.name());
    board.add_peer(other_mac(), role == Role::receiver ? "b:0" : "a:0");
    fw_peer(board.fw().peers, 1)->tag = 1; // told in the host reply, before the capture began
    network_.tap = [this](const Frame &f) { on_sent(f); };
}

Replay::~Replay() = default;

uint64_t Replay::other_mac() const { return role_ == Role::receiver ? mac_b : mac_a; }

void Replay::load(const std::string &path)
{
    uint64_t first = 0;
    std::set<std::string> seen;
    for (auto &f : test::read_pcap(path)) {
        if (f.bytes.at(EMX_OUTER_LEN) == EMX_RAW)
            continue;
        if (!first)
            first = f.time_us;
        bool ours = sim::board_mac(f.bytes.data() + 6) != other_mac();
        if (ours && f.bytes[EMX_OUTER_LEN] == EMX_HOST_QUERY)
            continue;
        if (ours && !seen.insert(identity(f.bytes)).second)
            continue; // a repeat: ours come when our timer says
        entries_.push_back({f.bytes, (f.time_us - first) * sim::us, ours, false});
        note_message(entries_.back());
    }
}

void Replay::note_message(const Entry &entry)
{
    const Frame &f = entry.frame;
    uint8_t type = f[EMX_OUTER_LEN];
    if (type == EMX_CONNECT && !get(f, "is reply")) {
        if (entries_.size() == 1) {
            key_ = static_cast<uint32_t>(get(f, "key or session"));
            target_ = static_cast<uint32_t>(get(f, "destination endpoint"));
        }
        if (!entry.ours)
            peer_session_ = static_cast<uint32_t>(get(f, "requester's session"));
    }
    if (type < EMX_TINY || type > EMX_RNDV)
        return;
    if (!messages_.empty() && messages_.back().match == get(f, "match information"))
        return; // a further fragment
    uint64_t length = get(f, type == EMX_RNDV ? "message length" : "length");
    messages_.push_back({entry.time, static_cast<uint32_t>(length), get(f, "match information")});
}

void Replay::run(const std::function<void(Replay &, sim::Process &)> &application)
{
    process_ = std::make_unique<sim::Process>(*host_, "our host", [&](sim::Process &p) {
        start_ = world_.now();
        if (role_ == Role::receiver) // the application comes first
            start_ += 10 * sim::ms;
        world_.at(start_, [this] { advance(); });
        application(*this, p);
    });
    world_.run([&] { return process_->done(); }, world_.now() + time_limit);
    if (!process_->done())
        complain("has not come to its end");
    finish();
}

uint64_t Replay::elapsed() const { return world_.now() - std::min(start_, world_.now()); }

void Replay::sleep_until(sim::Process &process, uint64_t time) const
{
    if (elapsed() < time)
        process.sleep(start_ + time - world_.now());
}

bool Replay::finished() const
{
    return std::all_of(entries_.begin(), entries_.end(), [&](const Entry &e) { return satisfied(e); });
}

bool Replay::satisfied(const Entry &entry) const
{
    if (entry.done)
        return true;
    if (!entry.ours)
        return false;
    return is_truc(entry.frame) ? last_ack_ >= *ack_of(entry.frame) : refused_;
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
    uint64_t when = std::max(world_.now() + reaction, start_ + entries_[i].time);
    world_.at(when, [this, i] {
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
    if (type == EMX_NOTIFY || (type >= EMX_TINY && type <= EMX_RNDV))
        their_numbers_.insert(get(e.frame, "sequence number"));
    if (type == EMX_NACK_LIB)
        refused_ = true;
    host_->boards[0]->arrive(translation_.to_live(e.frame));
}

void Replay::on_sent(const Frame &frame)
{
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
    world_.after(0, [this] { advance(); });
}

/// A frame that the captured host did not send at this point.
void Replay::on_extra(const Frame &frame)
{
    uint8_t type = frame[EMX_OUTER_LEN];
    if (type == EMX_CONNECT && !get(frame, "is reply")) {
        designs_.insert(Design::connect_back);
        answer_connect(frame);
    } else if (type == EMX_TRUC) {
        designs_.insert(Design::acks);
        if (get(frame, "ack") != 1 + their_numbers_.size())
            differences_.push_back(text(frame) + ": not what the peer has sent so far");
        if (get(frame, "session") != peer_session_ || get(frame, "copy of the session") != peer_session_)
            differences_.push_back(text(frame) + ": not the peer's session");
    } else if (sent_.count(identity(frame))) {
        designs_.insert(Design::repeats);
        compare_repeat(frame, sent_.at(identity(frame)));
    } else {
        differences_.push_back(text(frame) + ": the real peer sent no such frame here");
    }
}

/// A repeat is the same frame, but for a fresh ack.
void Replay::compare_repeat(Frame frame, Frame first)
{
    for (const Field &f : fields_of(frame[EMX_OUTER_LEN]))
        if (std::string(f.name) == "ack") {
            put(frame, f, 0);
            put(first, f, 0);
        }
    if (frame != first)
        differences_.push_back(text(frame) + ": its repeat is not the same frame");
}

/// What the captured peer would say to a request that it never got.
void Replay::answer_connect(const Frame &request)
{
    Frame reply = request;
    std::copy_n(request.begin() + 6, 6, reply.begin());
    std::copy_n(request.begin(), 6, reply.begin() + 6);
    for (const Field &f : fields_of(EMX_CONNECT)) {
        std::string name = f.name;
        if (name == "destination endpoint")
            put(reply, f, get(request, "source endpoint"));
        else if (name == "source endpoint")
            put(reply, f, get(request, "destination endpoint"));
        else if (name == "key or session")
            put(reply, f, peer_session_);
        else if (name == "is reply" || name == "start number")
            put(reply, f, 1);
    }
    world_.after(reaction, [this, reply] { host_->boards[0]->arrive(reply); });
}

void Replay::compare(size_t i, const Frame &live)
{
    Entry &e = entries_[i];
    e.done = true;
    compared_++;
    std::string where = "frame " + std::to_string(i) + " of the exchange (" + text(e.frame) + ")";
    for (size_t k = 0; k < i; k++)
        if (entries_[k].ours && !satisfied(entries_[k]))
            differences_.push_back(where + ": sent before " + text(entries_[k].frame));
    for (const Field &f : fields_of(e.frame[EMX_OUTER_LEN]))
        compare_field(where, f, e.frame, live);
    compare_rest(where, e.frame, live);
}

bool Replay::designed(const Field &field, const Frame &captured, const Frame &live)
{
    uint8_t type = captured[EMX_OUTER_LEN];
    std::string name = field.name;
    uint64_t value = get(live, field);
    if (field.use == Use::tag &&
        (type == EMX_PULL_REPLY || type == EMX_HOST_QUERY || type == EMX_HOST_REPLY)) {
        designs_.insert(Design::tag);
        return value == 1;
    }
    if (field.use == Use::counter) {
        bool rises = value > counter_;
        counter_ = value;
        designs_.insert(Design::counter_start);
        return rises;
    }
    bool counts = name == "ack" || name == "copy of the ack" || name == "start number";
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
    if (*wanted == value && field.use != Use::counter)
        return;
    if (designed(field, captured, live))
        return;
    std::ostringstream s;
    s << where << ": " << field.name << " is 0x" << std::hex << value << ", the real peer's 0x" << *wanted;
    differences_.push_back(s.str());
}

/// Length, payload, and zeros everywhere else.
void Replay::compare_rest(const std::string &where, const Frame &captured, const Frame &live)
{
    if (live.size() != captured.size()) {
        bool reply = captured[EMX_OUTER_LEN] == EMX_HOST_REPLY && live.size() == EMX_FRAME_MIN;
        if (reply)
            designs_.insert(Design::reply_length);
        else
            differences_.push_back(where + ": " + std::to_string(live.size()) +
                                   " bytes long, the real peer's " + std::to_string(captured.size()));
    }
    auto [at, length] = payload_of(captured);
    std::vector<bool> known(live.size());
    for (const Field &f : fields_of(live[EMX_OUTER_LEN]))
        std::fill_n(known.begin() + f.at, f.size, true);
    for (size_t k = at; k < at + length && k < live.size(); k++) {
        known[k] = true;
        if (live[k] != captured[k]) {
            differences_.push_back(where + ": payload differs from byte " + std::to_string(k - at) + " on");
            break;
        }
    }
    for (size_t k = 0; k < at + length && k < live.size(); k++)
        if (k >= at)
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
    if (!network_.checker.violation().empty())
        differences_.push_back("forbidden frame: " + network_.checker.violation());
}

} // namespace emx::interop
