// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The simulator as the library sees it: a device per simulated process, a port per open endpoint.
#pragma once

#include "connections.hpp"
#include "host.hpp"

#include <deque>
#include <map>
#include <set>

namespace emx::sim {

class SimDevice;

class SimPort final : public Port {
public:
    SimPort(SimDevice &device, Board &board, uint32_t number, uint32_t session);
    ~SimPort() override;

    // Called by the library.
    uint32_t number() const override { return ep_->number; }
    const emx_msg *peek() override;
    void consume() override;
    bool send(const emx_msg &msg, std::byte *payload) override;
    void open_window(uint8_t id, uint8_t tag, uint32_t peer, uint8_t remote_ep,
                     std::span<const Segment> memory, uint64_t length) override;
    void close_window(uint8_t id, uint8_t tag) override;
    bool start_pull(const emx_msg &rndv, uint32_t total, std::span<const Segment> memory,
                    uint64_t cookie) override;
    void cancel_pull(uint64_t cookie) override;
    std::optional<uint32_t> find_peer(uint64_t nic_id, int patience_ms, DeviceError &error) override;
    uint64_t peer_nic_id(uint32_t peer) const override;
    bool keep_peer(uint32_t peer, uint64_t nic_id) override;
    void release_peer(uint32_t peer) override;
    bool peer_is_local(uint32_t peer) const override;
    uint16_t peer_speaks(uint32_t peer) const override;
    emx_counters &counters() override { return counters_; }
    uint32_t x_fragment() const override { return ep_->x_frag; }
    bool has_datagrams() const override { return ep_->x_datagram != 0; }
    bool has_tcp() const override { return ep_->x_tcp != 0; }
    uint32_t pack_bytes() const override { return ep_->x_pack; }
    uint32_t group_bytes() const override;
    bool join_group(uint32_t key, DeviceError &error) override;
    void leave_group(uint32_t key) override { fw_group_leave(&groups_, key); }
    bool send_group(uint32_t key, uint32_t number, std::byte *payload, uint32_t length, bool summed) override;
    uint64_t deadline_ns() const override;
    bool wait(uint64_t deadline_ns) override;
    void wake() override;

    // Called by the board.
    fw_endpoint *endpoint() { return ep_.get(); }
    void queue_frame(Frame frame);
    void put_event(const emx_msg &msg, const Frame *frame);
    void copy_in(uint64_t cookie, uint32_t position, const uint8_t *from, uint32_t length);
    bool read_window(uint16_t slot, uint64_t at, uint8_t *to, uint32_t length);
    /// Datagrams of that endpoint, or what comes by TCP, have ceased to come.
    void fall_back(const fw_address &address);
    Connections &connections() { return connections_; }
    uint32_t host_number() const;
    /// Sets the firmware's own timer, where the simulated host and not the process runs the firmware.
    void arm();
    /// The process died: the number is closed and nothing moves any more.
    void detach();

    // Called by connections.
    void queue_packet(std::shared_ptr<Connection> connection, Frame packet);
    void connection_ended(const std::shared_ptr<Connection> &connection);
    /// Pulls by connections that went begin anew.
    void leave_lost_ways();
    void write(const std::shared_ptr<Connection> &connection, Frame packet);
    uint64_t now() const;
    uint64_t random();
    Network &network() const;
    uint32_t ip_address() const;

    /// Counts what is still in use: zero of each when all requests have ended.
    size_t windows_open() const { return windows_.size(); }
    size_t pulls_open() const { return pulls_.size(); }
    const fw_groups &groups() const { return groups_; }
    bool has_input() const { return !rx_.empty() || !packets_.empty() || !late_.empty() || head_ != tail_; }

private:
    using Memory = std::vector<Segment>;
    struct Carrier {
        uint8_t kind; ///< enum fw_carrier
        uint16_t packet; ///< longest packet by it
    };
    Carrier choose_carrier(const emx_msg &rndv);
    uint16_t choose_datagrams(const emx_msg &rndv) const;
    void serve_packet(const Frame &packet);
    bool keeps_account() const;
    bool put_ring(const emx_msg &msg, const Frame *frame);
    void signal();
    void serve_queue();
    std::byte *slot(uint32_t index)
    {
        return slots_.get() + static_cast<size_t>(index & mask_) * slot_bytes_;
    }

    SimDevice &device_;
    Board *board_; ///< nullptr once detached
    std::unique_ptr<fw_endpoint> ep_;
    emx_counters counters_{};
    fw_groups groups_{};
    std::deque<Frame> rx_;
    Connections connections_{*this};
    std::deque<std::pair<std::shared_ptr<Connection>, Frame>> packets_; ///< have come by these
    std::vector<uint64_t> ring_memory_;
    fw_ring *ring_;
    uint32_t mask_;
    uint32_t head_ = 0;
    uint32_t tail_ = 0;
    size_t slot_bytes_;
    std::unique_ptr<std::byte[]> slots_;
    std::deque<emx_msg> late_; ///< local events that found the ring full: those cannot be lost
    std::map<uint16_t, Memory> windows_; ///< by fw_window_slot
    std::map<uint64_t, Memory> pulls_;
    std::map<std::pair<uint32_t, uint8_t>, uint64_t> rests_; ///< endpoints without datagrams, until then
    uint64_t armed_ = never;
    Task *waiter_ = nullptr;
    bool woken_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

/// The device of one simulated process.
class SimDevice final : public Device {
public:
    explicit SimDevice(Host &host) : host_(host), rng_(host.world().rng.fork()) {}

    uint64_t now_ns() override;
    uint64_t random() override { return rng_.next(); }
    std::vector<BoardInfo> boards() override;
    std::unique_ptr<Port> open(uint32_t board, uint32_t number, uint32_t session,
                               DeviceError &error) override;
    std::vector<PeerInfo> peers(uint32_t board) override;
    std::optional<uint64_t> nic_id_of(const std::string &host_name) override;
    std::optional<std::string> name_of(uint64_t nic_id) override;
    bool set_host_name(uint32_t board, const std::string &name, DeviceError &error) override;
    emx_counters counters(uint32_t board) override;
    bool clear_counters(uint32_t board, DeviceError &error) override;
    void yield() override { charge(2 * us); }

    Host &host() { return host_; }
    /// The process died: its endpoints close as the kernel would close them.
    void kill();
    /// Any endpoint with frames or events that the process has not taken.
    bool has_input() const;
    const std::set<SimPort *> &ports() const { return ports_; }

private:
    friend class SimPort;
    void charge(uint64_t ns) { host_.world().charge(ns); }

    Host &host_;
    test::Rng rng_;
    std::set<SimPort *> ports_;
};

} // namespace emx::sim
