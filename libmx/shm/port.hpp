// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A port whose packets to endpoints of this host go through shared memory, around the port of a device.
//
// Whenever memory cannot serve (no channel yet, the other end gone, a window not to be read), the packet or
// pull goes as frames through the port inside, which also finds out who is gone. Until all packets of before
// are acknowledged, rings are but another way of packets that have numbers, acks and repeats. Then the ring
// is a sure way (docs/decisions/0031-rings-need-no-acks.md): what is in it when the receiver goes is given
// back.
#pragma once

#include "driver/base/steady_queue.hpp"
#include "driver/forwarding_port.hpp"
#include "libmx/shm/channel.hpp"
#include "libmx/shm/pull.hpp"

#include "driver/core/fw.h"

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace emx::shm {

/// Wraps the port of an endpoint; gives the port itself back when the device does not wait on descriptors
/// or the endpoint cannot be reached by others (no descriptors left).
std::unique_ptr<Port> share(std::unique_ptr<Port> inner, const BoardInfo &board, uint32_t session);

class ShmPort final : public ForwardingPort {
public:
    ShmPort(std::unique_ptr<Port> inner, const BoardInfo &board, uint32_t session);
    ~ShmPort() override;
    /// False: stay with the port inside, which release() gives back.
    bool begin();
    std::unique_ptr<Port> release() { return std::move(inner_); }

    [[gnu::hot]] const emx_msg *peek() override;
    [[gnu::hot]] void consume() override;
    [[gnu::hot]] bool spin(unsigned looks) override;
    BusyPoll busy_poll(unsigned us) override;
    [[gnu::hot]] bool send(const emx_msg &msg, std::byte *payload) override;
    void open_window(uint8_t id, uint8_t tag, uint32_t peer, uint8_t remote_ep,
                     std::span<const Segment> memory, uint64_t length) override;
    void close_window(uint8_t id, uint8_t tag) override;
    bool start_pull(const emx_msg &rndv, uint32_t total, std::span<const Segment> memory,
                    uint64_t cookie) override;
    void cancel_pull(uint64_t cookie) override;
    bool begin_sure(uint32_t peer, uint8_t remote_ep, uint32_t session) override;
    [[gnu::hot]] bool send_sure(const emx_msg &msg, std::span<const Segment> data) override;
    void take_back(uint32_t peer, uint8_t remote_ep,
                   const std::function<void(const emx_msg &)> &each) override;
    bool is_sure_pending() override;
    [[gnu::hot]] const emx_msg *next_sure() override;
    void refuse_sure() override;
    uint64_t deadline_ns() const override;
    bool wait(uint64_t deadline_ns) override;
    bool watch(int) override { return false; } // taken by ourselves

private:
    enum class Source : uint8_t { none, ring, queue, inner };
    struct Window {
        uint64_t key = 0;
        uint64_t length = 0;
        uint8_t tag = 0;
        bool used = false;
        std::vector<Segment> pieces; ///< stays in place while published
    };

    // Out (port_send.cpp, port_sure.cpp)
    static constexpr uint64_t key_of(uint32_t peer, uint8_t endpoint)
    {
        return uint64_t{peer} << 8 | endpoint;
    }
    /// Remembers the last peer that is not of this host: most packets are for it or from it.
    bool is_local(uint32_t peer)
    {
        if (peer == remote_peer_) [[likely]]
            return false;
        return ask_local(peer);
    }
    [[gnu::noinline]] bool ask_local(uint32_t peer);
    [[gnu::noinline]] bool send_local(const emx_msg &msg, std::byte *payload);
    Outgoing *channel_to(uint32_t peer, uint8_t endpoint, uint32_t session);
    Outgoing *look_up(uint64_t key)
    {
        if (key != last_key_) [[unlikely]]
            find_channel(key);
        return last_out_;
    }
    [[gnu::noinline]] void find_channel(uint64_t key);
    Outgoing *connect(uint32_t peer, uint8_t endpoint, uint32_t session);
    void refuse(uint64_t key);
    std::unique_ptr<Outgoing> drop(uint64_t key);
    void publish(Outgoing &to, uint16_t slot);
    [[gnu::noinline]] bool send_sure_packet(Outgoing &to, const emx_msg &msg, std::span<const Segment> data);
    [[gnu::noinline]] bool starve(Outgoing &to);
    void feed();
    void tell(emx_event_kind kind, uint64_t key);

    // Data behind their announcement (port_push.cpp)
    static constexpr uint64_t late_ns = 100000; ///< a piece takes one
    static bool may_push(Outgoing &to, uint32_t length);
    static bool has_room(Outgoing &to);
    static bool write_piece(Outgoing &to, uint32_t position, std::span<const Segment> data, uint32_t bytes);
    static void push(Outgoing &to, uint32_t length, std::span<const Segment> data);
    bool take_piece(Incoming &in);
    void fetch(Incoming &in, uint32_t done);
    void look_for_late();

    // In (port.cpp)
    const emx_msg *handed_out();
    [[gnu::noinline]] const emx_msg *peek_rings();
    const emx_msg *take_turn();
    const emx_msg *from_queue();
    const emx_msg *take(Incoming &in);
    /// The next message of a ring, handed out, if it is the usual one: eager, and without fault. nullptr:
    /// take() has the answer. A program that talks with another on this host gets each message by this.
    [[gnu::always_inline]] const emx_msg *take_eager(Incoming &in)
    {
        emx_msg *msg = in.reader.front_eager();
        if (!msg || why_no_eager(*msg) != 0) [[unlikely]]
            return nullptr;
        msg->type |= EMX_EV_SURE;
        source_ = Source::ring;
        return msg;
    }
    /// 0, or the counter of the reason not to take an eager message.
    static int why_no_eager(const emx_msg &msg)
    {
        if (msg.type != EMX_TINY && msg.type != EMX_SMALL && msg.type != EMX_MEDIUM) [[unlikely]]
            return EMX_CNT_DROP_TYPE;
        return msg.data_len > record_data_max ? int{EMX_CNT_DROP_LENGTH} : 0;
    }
    static void release(Incoming &in)
    {
        if (in.reader.release() && in.reader.must_feed()) [[unlikely]]
            in.link.wake();
    }
    bool judge(Incoming &in, emx_msg &msg);
    bool judge_packet(Incoming &in, emx_msg &msg);
    void end(Incoming &in);
    void remove_ended();
    Incoming *find_incoming(uint32_t peer, uint8_t endpoint);
    [[gnu::noinline]] void look_for_sender(const emx_msg &msg);
    void accept_channels();
    [[gnu::hot]] [[gnu::noinline]] const emx_msg *idle();
    void step_pulls();
    void tell_pulled(const emx_msg &rndv, uint64_t cookie, uint32_t length, emx_pull_status status);

    // Descriptors (port.cpp)
    void wake_up(bool news);
    [[gnu::cold]] uint64_t without_barriers();
    void service();
    void service(uint64_t id);
    bool add_link(const Link &link, uint32_t id);
    void remove_link(const Link &link);

    Identity self_;
    fw_sizes sizes_{};
    fw_pkt pkt_{}; ///< scratch of judge()
    Source source_ = Source::none;
    uint32_t turn_ = 0;
    std::size_t first_ = 0; ///< ring that is looked at first
    uint32_t empty_ = 0;
    uint32_t remote_peer_ = ~uint32_t{0};
    uint64_t serviced_ns_ = 0;
    Incoming *current_ = nullptr; ///< ring that the last event of a ring came from, if it is still read
    emx_counters *counters_; ///< of the port inside
    uint32_t starved_ = 0; ///< channels without room
    uint32_t awaited_ = 0; ///< rings whose next pieces have a receive

    std::vector<std::shared_ptr<Incoming>> in_; ///< changed under waiting_mutex_ too
    std::unordered_map<uint64_t, std::unique_ptr<Outgoing>> out_; ///< by peer and endpoint
    std::unordered_map<uint64_t, uint32_t> refused_; ///< session that takes no channel
    std::unordered_map<uint64_t, std::unique_ptr<Outgoing>>
        ended_; ///< sure ways whose rest is to be given back
    Outgoing *last_out_ = nullptr;
    uint64_t last_key_ = ~uint64_t{0};
    uint32_t next_id_ = 1;
    std::array<Window, FW_WINDOWS> windows_{}; ///< by fw_window_slot
    uint64_t stamps_ = 0;
    std::deque<Pull> pulls_;
    SteadyQueue<emx_msg> queue_; ///< pulls that ended, news of sure ways

    Listener listener_;
    Fd epoll_;
    std::atomic<bool> watching_{false}; ///< the device watches epoll_ in its sleeps
    std::atomic<bool> look_{false}; ///< a wait ended: some descriptor may have news
    std::mutex waiting_mutex_; ///< wait() runs without the endpoint's lock
    uint32_t sleepers_ = 0;
};

} // namespace emx::shm
