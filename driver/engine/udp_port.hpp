// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// An endpoint of a UDP board: the firmware core between one UDP socket and the library (docs/decisions/0029).
// It needs no rights. Each datagram is a frame; its source must be the address that the agent knows of the
// peer.
#pragma once

#include "driver/base/steady_queue.hpp"
#include "driver/base/wake.hpp"
#include "driver/board/board_file.hpp"
#include "driver/device.hpp"
#include "driver/engine/claim_keeper.hpp"
#include "driver/engine/learned_tags.hpp"
#include "driver/engine/udp_receiver.hpp"
#include "driver/engine/udp_sender.hpp"

#include <array>
#include <atomic>
#include <memory>

namespace emx {

/// The parts that a claim on the agent brings; consumed by the port.
struct UdpPortParts {
    std::shared_ptr<BoardFile> file;
    std::unique_ptr<Claim> claim;
    uint32_t board = 0;
    uint8_t endpoint = 0;
    uint32_t session = 0;
    uint32_t secret = 0; ///< upper bits of the pull magic
    Fd socket; ///< bound
    std::shared_ptr<EndpointPage> page;
};

class UdpPort final : public Port {
public:
    /// Null with error filled when memory or wake descriptors cannot be had.
    static std::unique_ptr<UdpPort> make(UdpPortParts parts, DeviceError &error);
    ~UdpPort() override;
    UdpPort(const UdpPort &) = delete;
    UdpPort &operator=(const UdpPort &) = delete;

    uint32_t number() const override { return endpoint_.number; }
    const emx_msg *peek() override;
    void consume() override;
    bool spin(unsigned looks) override;
    bool send(const emx_msg &msg, std::byte *payload) override;
    void flush() override { sender_.flush(); }
    void open_window(uint8_t id, uint8_t tag, uint32_t peer, uint8_t remote_ep,
                     std::span<const Segment> memory, uint64_t length) override;
    void close_window(uint8_t id, uint8_t tag) override;
    bool start_pull(const emx_msg &rndv, uint32_t total, std::span<const Segment> memory,
                    uint64_t cookie) override;
    void cancel_pull(uint64_t cookie) override;
    std::optional<uint32_t> find_peer(uint64_t nic_id, int patience_ms, DeviceError &error) override;
    uint64_t peer_nic_id(uint32_t peer) const override;
    bool keep_peer(uint32_t peer, uint64_t nic_id) override;
    void release_peer(uint32_t peer) override { page_->release(peer); }
    bool peer_is_local(uint32_t peer) const override { return peer < local_peers_; }
    uint16_t peer_speaks(uint32_t peer) const override;
    emx_counters &counters() override { return counters_; }
    uint32_t x_fragment() const override { return endpoint_.x_frag; }
    uint64_t deadline_ns() const override;
    bool wait(uint64_t deadline_ns) override;
    bool interrupted() override { return interrupted_.exchange(false, std::memory_order_relaxed); }
    bool watch(int fd) override
    {
        watched_.store(fd, std::memory_order_relaxed);
        return true;
    }
    void wake() override { wake_.wake(); }

private:
    explicit UdpPort(UdpPortParts &parts);
    bool attach(UdpPortParts &parts, DeviceError &error);

    // Frames in (udp_port_receive.cpp)
    const emx_msg *take();
    const emx_msg *drop(int reason);
    bool comes_from(uint32_t peer, const UdpAddress &source) const;
    int judge(const std::byte *frame, uint32_t bytes);
    void introduce();
    bool give(fw_pkt &pkt, fw_fx &fx, int &more);
    void execute(const fw_fx &fx, const std::byte *frame);
    void drain(const std::byte *frame);
    void copy(const fw_fx &fx, const std::byte *frame);
    const emx_msg *idle();
    void check_time();

    // Frames out (udp_port_send.cpp)
    void transmit_effect(const fw_fx &fx);
    void send_replies();

    void set_link(uint32_t state);
    void check_link();
    void post(const emx_msg &event) { queue_.push_back(event); }
    void publish() { poll_output_.store(sender_.pending(), std::memory_order_relaxed); }
    bool ask_agent(AgentOp op, uint64_t mac, const std::string &where, AgentReply &reply, int patience_ms,
                   DeviceError &error);

    struct Pull {
        uint64_t cookie = 0;
        PieceList memory;
    };

    const emx_msg *current_ = nullptr; ///< handed out, not consumed
    bool held_ = false; ///< `current_` points into the receiver's frame
    bool queued_current_ = false; ///< `current_` is the front of queue_
    int more_ = 0; ///< effects of that frame still wait in the core
    uint32_t empty_polls_ = 0;
    uint32_t busy_polls_ = 0;
    uint32_t rounds_behind_ = 0; ///< for which a timer that ran out has waited
    uint64_t now_ = 0; ///< last reading of the clock
    UdpReceiver receiver_;

    std::shared_ptr<BoardFile> file_;
    const std::shared_ptr<EndpointPage> page_;
    BoardRecord &record_;
    emx_counters &counters_;
    fw_peers *peers_;
    LearnedTags tags_;
    const uint32_t local_peers_; ///< peers below it are this host's boards
    fw_board board_{};
    fw_endpoint endpoint_{};
    fw_pkt pkt_{};
    fw_fx fx_{};
    SteadyQueue<emx_msg> queue_; ///< events that belong to no frame
    std::array<Pull, FW_PULLS> pulls_;
    UdpSender sender_;

    uint64_t introduced_ns_ = 0; ///< when the agent was last told of a stranger
    uint32_t link_serial_ = 0;
    uint32_t link_state_ = EMX_LINK_UP;
    std::atomic<bool> poll_output_{false}; ///< for wait(), which runs without the lock
    std::atomic<bool> interrupted_{false}; ///< a signal ended a wait()
    std::atomic<int> watched_{-1}; ///< the library's, in wait()
    Wake wake_;
    const uint32_t board_number_;
    std::unique_ptr<Claim> claim_;
};

} // namespace emx
