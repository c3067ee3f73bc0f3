// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Packets in, pulls, waiting, and what the channels' descriptors tell.
#include "libmx/shm/port.hpp"

#include "driver/base/clock.hpp"
#include "driver/base/system_calls.hpp"
#include "driver/drops.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/epoll.h>
#include <utility>

namespace emx::shm {
namespace {

constexpr uint32_t inner_share = 8; // in a stream from the rings, one look of so many goes to frames first
constexpr uint32_t pieces_each = 64; // of a large message, before others have their turn
constexpr uint32_t polls_per_clock = 16; // empty ones
constexpr uint64_t service_period_ns = 1000000;
constexpr std::size_t channels_max = 1024;

} // namespace

std::unique_ptr<Port> share(std::unique_ptr<Port> inner, const BoardInfo &board, uint32_t session)
{
    auto port = std::make_unique<ShmPort>(std::move(inner), board, session);
    if (!port->begin())
        return port->release();
    return port;
}

ShmPort::ShmPort(std::unique_ptr<Port> inner, const BoardInfo &board, uint32_t session)
    : ForwardingPort(std::move(inner)), self_{board.nic_id, session, static_cast<uint8_t>(inner_->number())},
      counters_(&inner_->counters())
{
    if (board.dialect != 'N' || fw_sizes_n(&sizes_, board.dialect_mtu) != 0)
        fw_sizes_w(&sizes_);
}

bool ShmPort::begin()
{
    if (!inner_->watch(-1))
        return false;
    epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{EPOLLIN, {}};
    event.data.u64 = 0;
    return epoll_ && listener_.open(self_) &&
           ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener_.fd(), &event) == 0;
}

ShmPort::~ShmPort()
{
    if (!inner_)
        return;
    inner_->watch(-1);
    for (const auto &in : in_)
        end(*in);
}

bool ShmPort::add_link(const Link &link, uint32_t id)
{
    epoll_event event{EPOLLIN | EPOLLRDHUP, {}};
    event.data.u64 = id;
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, link.socket(), &event) == 0 &&
           ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, link.process(), &event) == 0;
}

// Closing does not suffice: a forked child may hold the descriptors too, and then they would go on telling.
void ShmPort::remove_link(const Link &link)
{
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, link.socket(), nullptr);
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, link.process(), nullptr);
}

bool ShmPort::ask_local(uint32_t peer)
{
    if (!inner_->peer_is_local(peer)) {
        remote_peer_ = peer;
        return false;
    }
    // A channel comes after frames only, and each sleep would pay for the descriptors.
    if (!watching_.load(std::memory_order_relaxed)) {
        watching_.store(true, std::memory_order_relaxed);
        inner_->watch(epoll_.get());
        inner_->wake(); // of who sleeps without them
    }
    return true;
}

// ---- events

const emx_msg *ShmPort::handed_out()
{
    if (source_ == Source::inner)
        return inner_->peek();
    return source_ == Source::ring ? &current_->reader.message() : &queue_.front();
}

const emx_msg *ShmPort::peek()
{
    if (source_ != Source::none) [[unlikely]]
        return handed_out();
    if (look_.load(std::memory_order_relaxed)) [[unlikely]]
        service();
    const bool frames_first = in_.empty() || ++turn_ % inner_share == 0;
    if (!frames_first) {
        if (current_ && !current_->ended) [[likely]]
            if (const emx_msg *event = take_eager(*current_)) [[likely]]
                return event;
        if (const emx_msg *event = peek_rings())
            return event;
    }
    if (const emx_msg *event = inner_->peek()) [[likely]] {
        source_ = Source::inner;
        if (event->type < EMX_EV_PULL_DONE && is_local(event->peer)) [[unlikely]]
            look_for_sender(*event);
        return event;
    }
    if (frames_first)
        if (const emx_msg *event = take_turn())
            return event;
    return idle();
}

/// Each ring comes first in its turn, however fast another one fills. What is in the queue comes behind them
/// all: it tells of the end of those whose last messages are in a ring.
inline const emx_msg *ShmPort::take_turn()
{
    if (++first_ >= in_.size())
        first_ = 0;
    return peek_rings();
}

void ShmPort::consume()
{
    const Source source = std::exchange(source_, Source::none);
    if (source == Source::inner) [[likely]]
        return inner_->consume();
    if (source == Source::ring) {
        release(*current_);
    } else if (source == Source::queue) {
        queue_.pop_front();
    }
}

bool ShmPort::spin(unsigned looks)
{
    if (!pulls_.empty() || !queue_.empty()) [[unlikely]]
        return true;
    if (in_.empty()) [[likely]]
        return inner_->spin(looks);
    constexpr int ring_looks = 8; // a message of this host takes a fraction of what the device's look does
    while (looks-- > 0) {
        for (int i = 0; i < ring_looks; ++i)
            for (const auto &in : in_)
                if (in->reader.waiting())
                    return true;
        if (inner_->spin(1))
            return true;
    }
    return false;
}

/// Other processes of this host must not be kept waiting: then one look has to do.
BusyPoll ShmPort::busy_poll(unsigned us) { return inner_->busy_poll(in_.empty() ? us : 0); }

const emx_msg *ShmPort::peek_rings()
{
    bool stale = false;
    const std::size_t count = in_.size();
    std::size_t i = first_ < count ? first_ : 0;
    for (std::size_t n = 0; n < count; ++n) {
        Incoming *in = in_[i].get();
        if (const emx_msg *event = take(*in)) {
            current_ = in;
            source_ = Source::ring;
            return event;
        }
        stale = stale || in->ended;
        i = i + 1 == count ? 0 : i + 1;
    }
    if (stale)
        remove_ended();
    return from_queue();
}

const emx_msg *ShmPort::from_queue()
{
    if (queue_.empty()) [[likely]]
        return nullptr;
    source_ = Source::queue;
    return &queue_.front();
}

const emx_msg *ShmPort::take(Incoming &in)
{
    if (in.refused) [[unlikely]]
        return nullptr;
    for (uint32_t pieces = 0; emx_msg *msg = in.reader.front();) {
        if (in.reader.kind() == data_piece) [[unlikely]] {
            const bool complete = take_piece(in);
            release(in);
            if (complete || ++pieces == pieces_each)
                return nullptr;
            continue;
        }
        if (judge(in, *msg)) [[likely]]
            return msg;
        in.reader.release();
    }
    if (in.reader.broken() && !in.ended) [[unlikely]] {
        count_drop(*counters_, EMX_CNT_DROP_LENGTH);
        end(in);
    }
    return nullptr;
}

/// Applies the core's checks of a frame to a record; its sender is known and not believed.
bool ShmPort::judge(Incoming &in, emx_msg &msg)
{
    if (in.reader.kind() != sure_eager) [[unlikely]]
        return judge_packet(in, msg);
    const int why = why_no_eager(msg);
    if (why != 0) [[unlikely]]
        count_drop(*counters_, why);
    msg.type |= EMX_EV_SURE;
    return why == 0;
}

bool ShmPort::judge_packet(Incoming &in, emx_msg &msg)
{
    msg.peer = in.peer;
    msg.remote_ep = in.from.endpoint;
    msg.local_ep = self_.endpoint;
    const bool sure = in.reader.kind() == sure_packet;
    const bool eager = msg.type == EMX_TINY || msg.type == EMX_SMALL || msg.type == EMX_MEDIUM;
    const bool bare = msg.type == EMX_RNDV || msg.type == EMX_NOTIFY || msg.type == EMX_TRUC;
    const bool report = msg.type == EMX_X_REPORT; // behind what it speaks of, and so by the same way
    pkt_.msg = msg;
    pkt_.exponent = EMX_MEDIUM_EXPONENT_W;
    int why = 0;
    if (sure ? msg.type != EMX_RNDV && msg.type != EMX_NOTIFY : !eager && !bare && !report)
        why = EMX_CNT_DROP_TYPE;
    else if (!eager && msg.data_len > (report ? EMX_X_STATE_LEN : 0))
        why = EMX_CNT_DROP_DATA_PART;
    else if (msg.session != self_.session)
        why = EMX_CNT_DROP_SESSION;
    else
        why = fw_check_fields(&sizes_, &pkt_);
    if (why != 0)
        count_drop(*counters_, why);
    if (sure) {
        msg.type |= EMX_EV_SURE;
        msg.session = in.from.session;
    }
    if (why == 0 && in.reader.data_follow()) {
        if (in.arrival.is_wanted()) [[unlikely]]
            fetch(in, 0); // it will not come to its end
        in.arrival.expect(msg);
    }
    return why == 0;
}

/// A packet that came as a frame from this host: its sender may have a channel that we have not taken yet.
void ShmPort::look_for_sender(const emx_msg &msg)
{
    if (!find_incoming(msg.peer, msg.remote_ep))
        accept_channels();
}

const emx_msg *ShmPort::idle()
{
    if (awaited_ != 0) [[unlikely]]
        look_for_late();
    if (!pulls_.empty()) [[unlikely]]
        step_pulls();
    if (starved_ != 0) [[unlikely]]
        feed();
    if (const emx_msg *event = from_queue()) [[unlikely]]
        return event;
    if (++empty_ >= polls_per_clock) [[unlikely]] {
        empty_ = 0;
        const uint64_t now = monotonic_ns();
        if (now - serviced_ns_ >= service_period_ns)
            service();
    }
    return nullptr;
}

// ---- pulls

bool ShmPort::start_pull(const emx_msg &rndv, uint32_t total, std::span<const Segment> memory,
                         uint64_t cookie)
{
    const auto found = std::find_if(in_.begin(), in_.end(), [&](const std::shared_ptr<Incoming> &in) {
        return in->peer == rndv.peer && in->from.endpoint == rndv.remote_ep;
    });
    if (found != in_.end() && !(*found)->ended && (*found)->from.session == rndv.session) {
        if ((*found)->arrival.begin(rndv, total, memory, cookie)) {
            ++awaited_;
            return true;
        }
        Pull pull;
        if ((*found)->readable && pull.begin(*found, rndv, total, memory, cookie)) {
            pulls_.push_back(std::move(pull));
            return true;
        }
    }
    return inner_->start_pull(rndv, total, memory, cookie);
}

void ShmPort::step_pulls()
{
    Pull &pull = pulls_.front();
    const Pull::State state = pull.by_frames ? Pull::State::failed : pull.step();
    if (state == Pull::State::running)
        return;
    if (state == Pull::State::failed) {
        // By frames from the start: they get the data, or the reason why there is none.
        pull.by_frames = true;
        if (!inner_->start_pull(pull.rndv(), pull.total(), pull.memory(), pull.cookie()))
            return;
    } else {
        const bool done = state == Pull::State::done;
        tell_pulled(pull.rndv(), pull.cookie(), done ? pull.total() : 0,
                    done ? EMX_PULL_OK : EMX_PULL_ABORTED);
    }
    pulls_.pop_front();
}

void ShmPort::tell_pulled(const emx_msg &rndv, uint64_t cookie, uint32_t length, emx_pull_status status)
{
    emx_msg event{};
    event.type = EMX_EV_PULL_DONE;
    event.local_ep = self_.endpoint;
    event.remote_ep = rndv.remote_ep;
    event.peer = rndv.peer;
    event.u.pull.cookie = cookie;
    event.u.pull.length = length;
    event.u.pull.status = status;
    queue_.push_back(event);
}

void ShmPort::cancel_pull(uint64_t cookie)
{
    for (const auto &in : in_)
        if (in->arrival.is_wanted() && in->arrival.cookie() == cookie) {
            --awaited_;
            return in->arrival.cancel();
        }
    const auto found =
        std::find_if(pulls_.begin(), pulls_.end(), [&](const Pull &p) { return p.cookie() == cookie; });
    if (found != pulls_.end())
        pulls_.erase(found);
    else
        inner_->cancel_pull(cookie);
}

// ---- channels in

Incoming *ShmPort::find_incoming(uint32_t peer, uint8_t endpoint)
{
    for (const auto &in : in_)
        if (in->peer == peer && in->from.endpoint == endpoint && !in->ended)
            return in.get();
    return nullptr;
}

void ShmPort::accept_channels()
{
    constexpr int patience_ms = 50; // all boards of a host stand in the table
    DeviceError ignored;
    while (std::shared_ptr<Incoming> in = listener_.accept(self_)) {
        const std::optional<uint32_t> peer = inner_->find_peer(in->from.mac, patience_ms, ignored);
        if (!peer || !inner_->peer_is_local(*peer) || in_.size() >= channels_max)
            continue;
        in->peer = *peer;
        in->id = next_id_++;
        in->reader.identify(*peer, in->from.endpoint, self_.endpoint, in->from.session);
        in->memory().barriers.store(put_barrier(), std::memory_order_relaxed);
        if (!add_link(in->link, in->id)) {
            remove_link(in->link);
            continue;
        }
        if (Incoming *old = find_incoming(*peer, in->from.endpoint))
            end(*old);
        const std::lock_guard lock(waiting_mutex_);
        in->memory().sleeping.store(sleepers_ > 0, std::memory_order_relaxed);
        in->memory().attached.store(1, std::memory_order_release);
        in_.push_back(std::move(in));
    }
}

void ShmPort::end(Incoming &in)
{
    if (in.ended)
        return;
    in.ended = true;
    in.reader.tell(); // before its sender looks what is left
    in.memory().closed.store(1, std::memory_order_release);
    remove_link(in.link);
}

void ShmPort::remove_ended()
{
    const std::lock_guard lock(waiting_mutex_);
    current_ = nullptr; // it may be one of them
    std::erase_if(in_, [this](const std::shared_ptr<Incoming> &in) {
        const bool over = in->ended && (in->refused || !in->reader.front());
        if (over && in->arrival.is_wanted())
            fetch(*in, 0);
        return over;
    });
}

// ---- waiting

uint64_t ShmPort::deadline_ns() const
{
    if (source_ != Source::none || !queue_.empty() || !pulls_.empty())
        return 0;
    if (awaited_ != 0)
        return std::min(inner_->deadline_ns(), monotonic_ns() + late_ns);
    return inner_->deadline_ns();
}

bool ShmPort::wait(uint64_t deadline)
{
    if (!watching_.load(std::memory_order_relaxed)) [[likely]]
        return inner_->wait(deadline);
    struct Sleeper { // its thread may be cancelled meanwhile
        ShmPort &port;
        bool news = true;
        ~Sleeper() { port.wake_up(news); }
    } sleeper{*this};
    {
        const std::lock_guard lock(waiting_mutex_);
        sleepers_++;
        for (const auto &in : in_)
            in->memory().sleeping.store(1, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst); // as in RingWriter::must_wake
        if (!in_.empty() && !put_barrier()) [[unlikely]]
            deadline = std::min(deadline, without_barriers());
        for (const auto &in : in_)
            if (!in->refused && holds_something(in->memory()))
                deadline = 0;
    }
    sleeper.news = deadline != 0 && inner_->wait(deadline);
    return sleeper.news;
}

/// The kernel no longer helps (a filter of system calls came): senders put their own barriers from now on,
/// and what they had written before is seen at that time.
uint64_t ShmPort::without_barriers()
{
    constexpr uint64_t stores_seen_ns = 10000000;
    bool changed = false;
    for (const auto &in : in_)
        changed |= in->memory().barriers.exchange(0, std::memory_order_seq_cst) != 0;
    return changed ? monotonic_ns() + stores_seen_ns : ~uint64_t{0};
}

void ShmPort::wake_up(bool news)
{
    if (news)
        look_.store(true, std::memory_order_relaxed);
    const std::lock_guard lock(waiting_mutex_);
    if (--sleepers_ > 0)
        return;
    for (const auto &in : in_)
        in->memory().sleeping.store(0, std::memory_order_relaxed);
}

/// Asks the descriptors for news: channels to take, wake-ups to clear, other ends that went away.
void ShmPort::service()
{
    look_.store(false, std::memory_order_relaxed);
    serviced_ns_ = monotonic_ns();
    std::array<epoll_event, 16> events;
    const int count = sys::epoll_now(epoll_.get(), events.data(), static_cast<int>(events.size()));
    for (int i = 0; i < count; ++i)
        service(events[static_cast<std::size_t>(i)].data.u64);
    if (count <= 0)
        return;
    // The byte that was just cleared was meant for a sleeper, which nobody wakes twice: pass it on.
    const std::lock_guard lock(waiting_mutex_);
    if (sleepers_ > 0)
        inner_->wake();
}

void ShmPort::service(uint64_t id)
{
    if (id == 0)
        return accept_channels();
    for (const auto &in : in_)
        if (in->id == id && !in->ended && !in->link.drain())
            return end(*in);
    for (const auto &[key, to] : out_)
        if (to->id == id && !to->link.drain())
            return refuse(key);
}

} // namespace emx::shm
