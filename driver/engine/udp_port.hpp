// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// An endpoint of a UDP board: the firmware core between one UDP socket and the library (docs/decisions/0029).
// It needs no rights. Each datagram is a frame; its source must be the address that the agent knows of the
// peer. Large messages come by TCP where the network lets it through.
#pragma once

#include "driver/engine/engine.hpp"
#include "driver/engine/tcp_port.hpp"
#include "driver/engine/udp_receiver.hpp"
#include "driver/engine/udp_sender.hpp"

#include <atomic>
#include <memory>
#include <string>

namespace emx {

struct UdpPortParts : PortParts {
    Fd socket; ///< bound
    uint32_t buffer_bytes = 0; ///< of receive buffer that it was granted
    BulkWay bulk_way = BulkWay::frames;
};

class UdpPort final : public TcpPort {
public:
    /// Null with error filled when memory or wake descriptors cannot be had.
    static std::unique_ptr<UdpPort> make(UdpPortParts parts, DeviceError &error);
    ~UdpPort() override;

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
    uint64_t deadline_ns() const override;
    bool wait(uint64_t deadline_ns) override;

private:
    explicit UdpPort(UdpPortParts &parts);
    bool attach(UdpPortParts &parts, DeviceError &error);

    // Frames in (udp_port_receive.cpp)
    const emx_msg *take();
    const emx_msg *drop(int reason);
    bool comes_from(uint32_t peer, const UdpAddress &source);
    int judge(const std::byte *frame, uint32_t bytes);
    void introduce();
    void execute(const fw_fx &fx, const std::byte *frame);
    void drain(const std::byte *frame);
    void copy(const fw_fx &fx, const std::byte *payload);
    void take_effect(const fw_fx &fx, const std::byte *payload) override;
    void take_replies(const fw_replies &run);
    const emx_msg *idle();
    void check_time();

    // Frames out (udp_port_send.cpp)
    void transmit_effect(const fw_fx &fx) override;
    const ReplyQueue &windows() const override { return sender_.windows(); }
    void send_replies();

    void publish() override
    {
        poll_output_.store(sender_.pending(), std::memory_order_relaxed);
        publish_tcp();
    }
    bool ask_agent(AgentOp op, uint64_t mac, const std::string &where, AgentReply &reply, int patience_ms,
                   DeviceError &error);

    bool held_ = false; ///< `current_` points into the receiver's frame
    UdpReceiver receiver_;
    UdpSender sender_;
    uint64_t introduced_ns_ = 0; ///< when the agent was last told of a stranger
    std::atomic<bool> poll_output_{false}; ///< for wait(), which runs without the lock
};

} // namespace emx
