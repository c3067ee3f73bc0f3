// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A port whose packets to endpoints of this host go through shared memory, around the port of a device.
//
// It changes the way only: numbers, acks, repeats and refusals stay the library's and the firmware's.
// Whenever memory cannot serve (no channel yet, ring full, the other end gone, a window not to be read),
// the packet or pull goes as frames through the port inside, which also finds out who is gone.
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

    // Out (port_send.cpp)
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
    Outgoing *connect(uint32_t peer, uint8_t endpoint, uint32_t session);
    void drop(uint64_t key);
    void publish(Outgoing &to, uint16_t slot);

    // In (port.cpp)
    const emx_msg *handed_out();
    [[gnu::noinline]] const emx_msg *peek_rings();
    const emx_msg *take(Incoming &in);
    bool judge(Incoming &in, const emx_msg &msg);
    void end(Incoming &in);
    void remove_ended();
    Incoming *find_incoming(uint32_t peer, uint8_t endpoint);
    [[gnu::noinline]] void look_for_sender(const emx_msg &msg);
    void accept_channels();
    [[gnu::hot]] [[gnu::noinline]] const emx_msg *idle();
    void step_pulls();

    // Descriptors (port.cpp)
    void wake_up(bool news);
    void service();
    void service(uint64_t id);
    bool add_link(const Link &link, uint32_t id);
    void remove_link(const Link &link);

    Identity self_;
    fw_sizes sizes_{};
    fw_pkt pkt_{}; ///< scratch of judge()
    Source source_ = Source::none;
    uint32_t turn_ = 0;
    uint32_t empty_ = 0;
    uint32_t remote_peer_ = ~uint32_t{0};
    uint64_t serviced_ns_ = 0;
    emx_msg event_{}; ///< of a ring, as handed out
    std::shared_ptr<Incoming> current_; ///< ring that event_ came from

    std::vector<std::shared_ptr<Incoming>> in_; ///< changed under waiting_mutex_ too
    std::unordered_map<uint64_t, std::unique_ptr<Outgoing>> out_; ///< by peer and endpoint
    std::unordered_map<uint64_t, uint32_t> refused_; ///< session that takes no channel
    Outgoing *last_out_ = nullptr;
    uint64_t last_key_ = ~uint64_t{0};
    uint32_t next_id_ = 1;
    std::array<Window, FW_WINDOWS> windows_{}; ///< by fw_window_slot
    uint64_t stamps_ = 0;
    std::deque<Pull> pulls_;
    SteadyQueue<emx_msg> queue_; ///< pulls that ended

    Listener listener_;
    Fd epoll_;
    std::atomic<bool> watching_{false}; ///< the device watches epoll_ in its sleeps
    std::atomic<bool> look_{false}; ///< a wait ended: some descriptor may have news
    std::mutex waiting_mutex_; ///< wait() runs without the endpoint's lock
    uint32_t sleepers_ = 0;
};

} // namespace emx::shm
