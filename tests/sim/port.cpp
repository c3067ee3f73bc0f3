// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A simulated endpoint: event ring, payload slots, windows, pulls, sleeping. See port.hpp.
#include "port.hpp"

#include "driver/core/fw_pack.h"
#include "driver/mx_codes.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace emx::sim {

namespace {

constexpr uint64_t peek_cost = 100; // ns of polling that finds nothing
constexpr uint64_t wake_cost = 5 * us; // from an interrupt to a running process

/// Byte-wise copy between a flat piece and a segment list, from offset `at` of the list.
template <typename Move>
bool over_segments(const std::vector<Segment> &memory, uint64_t at, uint32_t length, Move move)
{
    uint32_t done = 0;
    for (const Segment &s : memory) {
        if (at >= s.length) {
            at -= s.length;
            continue;
        }
        uint32_t n = static_cast<uint32_t>(std::min<uint64_t>(s.length - at, length - done));
        move(s.data + at, done, n);
        done += n;
        at = 0;
        if (done == length)
            return true;
    }
    return done == length;
}

} // namespace

SimPort::SimPort(SimDevice &device, Board &board, uint32_t number, uint32_t session)
    : device_(device), board_(&board), ep_(std::make_unique<fw_endpoint>())
{
    const HostOptions &o = board.host().options();
    std::memset(ep_.get(), 0, sizeof *ep_);
    fw_endpoint_init(ep_.get(), &board.fw(), static_cast<uint8_t>(number), session,
                     static_cast<uint32_t>(device.random()));
    ep_->counters = &counters_;
    if (o.polled) // replies wait in front of the process
        ep_->pull_window =
            static_cast<uint16_t>(std::min<uint32_t>(ep_->pull_window, std::max(1u, o.rx_slots / 2)));
    ep_->x_frame = board.x_frame();
    ep_->x_frag = board.x_fragment();
    ep_->x_pack = o.x_packs ? static_cast<uint16_t>(fw_x_pack_max(board.x_frame())) : uint16_t{0};
    ep_->x_window = static_cast<uint16_t>(
        o.polled ? std::min<uint32_t>(o.x_window, std::max(1u, o.rx_slots / 2)) : o.x_window);
    ep_->x_datagram = o.datagram;
    ep_->x_datagrams = o.datagram_window;
    ep_->x_tcp = o.tcp != 0 ? o.tcp_window : uint16_t{0};
    mask_ = o.ring_entries - 1;
    ring_memory_.resize((sizeof(fw_ring) + o.ring_entries * sizeof(emx_msg)) / 8 + 1);
    ring_ = reinterpret_cast<fw_ring *>(ring_memory_.data());
    ring_->mask = mask_;
    fw_sizes room = board.fw().sizes;
    fw_peers_widen(board.fw().peers, &room);
    slot_bytes_ = std::max<size_t>({room.frag_accept, EMX_SMALL_MAX, ep_->x_frag, ep_->x_pack,
                                    fw_group_bytes(ep_->x_frame)}) +
                  64;
    slots_.reset(new std::byte[slot_bytes_ * o.ring_entries]);
    board.fw().ep[number] = ep_.get();
    board.fw().ep_state[number] = FW_EP_OPEN;
    board.ports_[number] = this;
    device_.ports_.insert(this);
}

SimPort::~SimPort()
{
    detach();
    device_.ports_.erase(this);
    *alive_ = false;
}

void SimPort::detach()
{
    if (!board_)
        return;
    connections_.close();
    packets_.clear();
    board_->fw().ep_state[ep_->number] = FW_EP_CLOSED;
    board_->fw().ep[ep_->number] = nullptr;
    board_->ports_[ep_->number] = nullptr;
    std::erase_if(board_->kept_, [this](const auto &k) { return k.first == ep_->number; });
    for (int i = 0; i < EMX_CNT_COUNT; i++)
        board_->counters.v[i] += counters_.v[i];
    board_ = nullptr;
    rx_.clear();
    signal();
}

void SimPort::queue_frame(Frame frame)
{
    if (rx_.size() >= board_->host().options().rx_slots) {
        board_->host().network().unqueued++;
        return;
    }
    rx_.push_back(std::move(frame));
    signal();
}

bool SimPort::put_ring(const emx_msg &msg, const Frame *frame)
{
    emx_msg m = msg;
    uint32_t index = head_;
    if (frame && m.data_len) {
        const uint64_t at = m.data - reinterpret_cast<uintptr_t>(frame->data());
        if (at > frame->size() || m.data_len > frame->size() - at || m.data_len > slot_bytes_)
            abort(); // the core lets a payload through that is not in the frame
        if (head_ - ring_->tail > mask_)
            return false;
        std::memcpy(slot(index), frame->data() + at, m.data_len);
        m.data = reinterpret_cast<uintptr_t>(slot(index));
    }
    return fw_ring_put(ring_, mask_, &head_, &m) == 0;
}

/// Without pulls nothing is under way.
bool SimPort::keeps_account() const
{
    const fw_pace &pace = ep_->pace;
    return ep_->pulls_active != 0 ||
           (ep_->outstanding == 0 && pace.pulls == 0 && pace.granted == 0 &&
            std::all_of(std::begin(pace.by), std::end(pace.by), [](uint16_t n) { return n == 0; }));
}

void SimPort::put_event(const emx_msg &msg, const Frame *frame)
{
    if (msg.type == EMX_EV_PULL_DONE) {
        pulls_.erase(msg.u.pull.cookie);
        if (!keeps_account())
            abort(); // the core believes that frames are under way of pulls that have ended
    }
    bool local = msg.type >= EMX_EV_PULL_DONE;
    if (!late_.empty() || !put_ring(msg, local ? nullptr : frame)) {
        if (local)
            late_.push_back(msg);
        else
            counters_.v[EMX_CNT_DROP_EVENT_FULL]++;
    }
    signal();
}

void SimPort::copy_in(uint64_t cookie, uint32_t position, const uint8_t *from, uint32_t length)
{
    auto it = pulls_.find(cookie);
    if (it == pulls_.end() ||
        !over_segments(it->second, position, length,
                       [&](std::byte *to, uint32_t off, uint32_t n) { std::memcpy(to, from + off, n); }))
        abort(); // the core placed data outside a live pull
}

bool SimPort::read_window(uint16_t slot, uint64_t at, uint8_t *to, uint32_t length)
{
    auto it = windows_.find(slot);
    return it != windows_.end() &&
           over_segments(it->second, at, length,
                         [&](std::byte *from, uint32_t off, uint32_t n) { std::memcpy(to + off, from, n); });
}

void SimPort::serve_queue()
{
    while (board_ && !rx_.empty() && head_ == tail_) {
        Frame f = std::move(rx_.front());
        rx_.pop_front();
        board_->serve(f);
    }
    while (board_ && rx_.empty() && !packets_.empty() && head_ == tail_) {
        const auto [connection, packet] = std::move(packets_.front());
        packets_.pop_front();
        if (connection->open)
            serve_packet(packet);
    }
    // Timers come after frames: who was away finds answers before it misses them.
    if (board_ && board_->host().options().polled && rx_.empty() && packets_.empty())
        board_->tick(*this);
}

const emx_msg *SimPort::peek()
{
    serve_queue();
    while (!late_.empty() && put_ring(late_.front(), nullptr))
        late_.pop_front();
    const emx_msg *m = fw_ring_peek(ring_, tail_);
    if (!m)
        device_.charge(peek_cost);
    return m;
}

void SimPort::consume()
{
    const emx_msg *m = fw_ring_peek(ring_, tail_);
    if (!m)
        abort();
    if (m->type < EMX_EV_PULL_DONE && m->data_len) // whoever reads it later must notice
        std::memset(slot(tail_), 0xdb, std::min<size_t>(m->data_len, slot_bytes_));
    fw_ring_take(ring_, &tail_);
}

bool SimPort::send(const emx_msg &msg, std::byte *payload)
{
    device_.charge(300);
    if (!board_)
        return true;
    uint8_t header[EMX_HEADER_MAX];
    int counter = 0;
    uint32_t length = fw_send(ep_.get(), &msg, header, &counter);
    if (!length)
        return false;
    Frame frame;
    if (msg.data_len) { // the header goes in front of the payload, as a device with one buffer does it
        std::memcpy(payload - length, header, length);
        frame.assign(reinterpret_cast<uint8_t *>(payload) - length,
                     reinterpret_cast<uint8_t *>(payload) + msg.data_len);
    } else {
        frame.assign(header, header + length);
    }
    bool sent = board_->transmit(std::move(frame));
    counters_.v[sent ? counter : EMX_CNT_TX_FAILED]++;
    return sent;
}

void SimPort::open_window(uint8_t id, uint8_t tag, uint32_t peer, uint8_t remote_ep,
                          std::span<const Segment> memory, uint64_t length)
{
    windows_[fw_window_slot(id, tag)].assign(memory.begin(), memory.end());
    fw_window_open(ep_.get(), id, tag, peer, remote_ep, length);
}

void SimPort::close_window(uint8_t id, uint8_t tag)
{
    fw_window_close(ep_.get(), id, tag);
    windows_.erase(fw_window_slot(id, tag));
}

bool SimPort::start_pull(const emx_msg &rndv, uint32_t total, std::span<const Segment> memory,
                         uint64_t cookie)
{
    if (!board_)
        return false;
    if (!cookie || pulls_.count(cookie))
        abort();
    const auto [carrier, packet] = choose_carrier(rndv);
    if (fw_pull_start_by(ep_.get(), &rndv, total, cookie, carrier, packet, now()) < 0)
        return false;
    pulls_[cookie].assign(memory.begin(), memory.end());
    board_->drain(*this);
    return true;
}

/// The longest datagram by which a message is pulled; 0: by frames.
uint16_t SimPort::choose_datagrams(const emx_msg &rndv) const
{
    const auto rest = rests_.find({rndv.peer, rndv.remote_ep});
    if (!(emx_offer_features(rndv.data) & EMX_X_DATAGRAMS) ||
        (rest != rests_.end() && device_.host().world().now() < rest->second))
        return 0;
    return ep_->x_datagram;
}

void SimPort::fall_back(const fw_address &address)
{
    if (address.tcp)
        return connections_.fell_back(address.peer, address.remote_ep);
    rests_[{address.peer, address.remote_ep}] =
        device_.host().world().now() + board_->host().options().datagram_rest;
}

void SimPort::cancel_pull(uint64_t cookie)
{
    fw_pull_cancel(ep_.get(), cookie);
    pulls_.erase(cookie);
}

std::optional<uint32_t> SimPort::find_peer(uint64_t nic_id, int /*patience_ms*/, DeviceError &error)
{
    fw_peers *peers = ep_->board->peers;
    int i = fw_peer_find(peers, nic_id, 0);
    if (i < 0) {
        error = {mx_nic_not_found, {}};
        return std::nullopt;
    }
    return static_cast<uint32_t>(i);
}

uint64_t SimPort::peer_nic_id(uint32_t peer) const
{
    const struct fw_peer *p = fw_peer(ep_->board->peers, peer);
    return p ? p->mac : 0;
}

bool SimPort::keep_peer(uint32_t peer, uint64_t nic_id)
{
    if (peer_nic_id(peer) != nic_id)
        return false;
    board_->kept_.emplace(ep_->number, peer);
    return true;
}

void SimPort::release_peer(uint32_t peer)
{
    if (board_)
        board_->kept_.erase({ep_->number, peer});
}

uint16_t SimPort::peer_speaks(uint32_t peer) const
{
    const struct fw_peer *p = fw_peer(ep_->board->peers, peer);
    return p ? p->speaks : uint16_t{FW_SPEAKS_BOARD};
}

bool SimPort::peer_is_local(uint32_t peer) const
{
    uint64_t mac = peer_nic_id(peer);
    for (auto &b : device_.host().boards)
        if (b->fw().mac == mac)
            return true;
    return false;
}

uint64_t SimPort::deadline_ns() const
{
    return board_ && board_->host().options().polled ? fw_deadline(ep_.get()) : never;
}

void SimPort::arm()
{
    if (!board_ || board_->host().options().polled)
        return;
    uint64_t due = fw_deadline(ep_.get());
    if (due >= armed_)
        return;
    armed_ = due;
    board_->host().world().at(due, [this, alive = alive_] {
        if (!*alive || !board_)
            return;
        armed_ = never;
        board_->tick(*this);
        arm();
    });
}

void SimPort::signal()
{
    if (waiter_)
        waiter_->ready_at(device_.host().world().now() + wake_cost);
}

void SimPort::wake()
{
    woken_ = true;
    signal();
}

bool SimPort::wait(uint64_t deadline_ns)
{
    World &world = device_.host().world();
    Task *task = world.current();
    if (!task)
        abort(); // the scheduler itself must not sleep
    if (!woken_ && !has_input() && deadline_ns > device_.now_ns()) {
        waiter_ = task;
        world.block(deadline_ns);
        waiter_ = nullptr;
    }
    woken_ = false;
    return false;
}

} // namespace emx::sim
