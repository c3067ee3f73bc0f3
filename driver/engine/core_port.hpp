// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Common part of the engine's ports: the endpoint in the firmware's core, its peers, its timer, the link and
// the agent. Sockets, and so the way of frames in and out, are the derived port's, which calls down here and
// is never called: no function of this class is virtual for the sake of a frame.
#pragma once

#include "driver/base/steady_queue.hpp"
#include "driver/base/wake.hpp"
#include "driver/board/board_file.hpp"
#include "driver/device.hpp"
#include "driver/engine/claim_keeper.hpp"
#include "driver/engine/learned_tags.hpp"
#include "driver/segments.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>

namespace emx {

/// The parts of any port that a claim on the agent brings; consumed by the port.
struct PortParts {
    std::shared_ptr<BoardFile> file;
    std::unique_ptr<Claim> claim;
    uint32_t board = 0;
    uint8_t endpoint = 0;
    uint32_t session = 0;
    uint32_t secret = 0; ///< upper bits of the pull magic
    uint32_t life = 0; ///< of the interface
    std::shared_ptr<EndpointPage> page;
};

class CorePort : public Port {
public:
    CorePort(const CorePort &) = delete;
    CorePort &operator=(const CorePort &) = delete;

    uint32_t number() const final { return endpoint_.number; }
    uint64_t peer_nic_id(uint32_t peer) const final;
    bool keep_peer(uint32_t peer, uint64_t nic_id) final;
    void release_peer(uint32_t peer) final { page_->release(peer); }
    bool peer_is_local(uint32_t peer) const final { return peer < local_peers_; }
    uint16_t peer_speaks(uint32_t peer) const final;
    emx_counters &counters() final { return counters_; }
    uint32_t x_fragment() const final { return endpoint_.x_frag; }
    uint32_t pack_bytes() const final { return endpoint_.x_pack; }
    bool interrupted() final { return interrupted_.exchange(false, std::memory_order_relaxed); }
    bool watch(int fd) final
    {
        watched_.store(fd, std::memory_order_relaxed);
        return true;
    }
    void wake() final { wake_.wake(); }

protected:
    explicit CorePort(PortParts &parts);
    ~CorePort() override = default;

    /// A frame of the core's own, padded.
    struct CoreFrame {
        explicit CoreFrame(const fw_fx &fx);
        std::array<std::byte, std::max<std::size_t>(sizeof(fw_fx::u.tx.header), EMX_FRAME_MIN)> bytes{};
        std::size_t length;
    };

    // Set-up. block: frames per PULL of dialect N, at most.
    void set_windows(uint16_t pull_window, uint16_t block);
    void read_first_link();

    // Frames in
    bool give(fw_pkt &pkt, fw_fx &fx, int &more);
    /// True if the core's answer to a stranger may leave; else it is counted as dropped.
    bool may_answer();
    void post(const emx_msg &event) { queue_.push_back(event); }
    const emx_msg *next_queued();
    /// Ends the event of next_queued().
    void pop_queued()
    {
        queue_.pop_front();
        queued_current_ = false;
    }

    // Pulls, and their timer
    /// After fw_pull_start: effects wait in the core.
    void keep_pull(int slot, uint32_t total, std::span<const Segment> memory, uint64_t cookie);
    /// The effect by which a puller hears, now and whenever it asks again, that there is no such window, and
    /// tells our library so: the memory of that answer cannot be read.
    void refuse(const fw_replies &run, fw_fx &fx);
    /// True if the timer of pulls ran out; reads the clock.
    bool ran_out();
    /// Serves it: effects wait in the core. False: it waits for another round, since frames may wait that it
    /// waits for, as they usually do after a pause; `behind` says whether any are seen. A flood stops no
    /// timer for good.
    bool serve_timer(bool behind);

    // Peers, and the agent
    AgentRequest request_for(AgentOp op, uint64_t mac = 0) const;
    /// The index of a peer in whose table entry frames may be sent from now on.
    uint32_t introduced(int index);

    // Link state
    void set_link(uint32_t state);
    void check_link();

    /// Sleeps in wait(): poll(2) until then, as sys::sleep_on.
    int sleep(pollfd *fds, nfds_t count, uint64_t deadline);

    struct Pull {
        uint64_t cookie = 0;
        PieceList memory;
    };

    // The members that a poll touches when it finds nothing come first, in one line with the table of
    // virtual functions.
    const emx_msg *current_ = nullptr; ///< handed out, not consumed
    uint64_t now_ = 0; ///< last reading of the clock
    int more_ = 0; ///< effects of that frame still wait in the core
    uint32_t empty_polls_ = 0;
    uint32_t busy_polls_ = 0; ///< frames taken since the last round of the other duties
    uint32_t rounds_behind_ = 0; ///< for which a timer that ran out has waited
    bool queued_current_ = false; ///< `current_` is the front of queue_
    bool tcp_active_ = false; ///< connections are to be looked at (tcp_port.hpp)
    const uint32_t local_peers_; ///< peers below it are this host's boards

    std::shared_ptr<BoardFile> file_;
    const std::shared_ptr<EndpointPage> page_;
    BoardRecord &record_;
    emx_counters &counters_;
    fw_peers *peers_;
    LearnedTags tags_;
    fw_board board_{};
    fw_endpoint endpoint_{};
    fw_pkt pkt_{};
    fw_fx fx_{};
    SteadyQueue<emx_msg> queue_; ///< events that belong to no frame in a buffer
    std::array<Pull, FW_PULLS> pulls_;

    uint32_t link_serial_ = 0;
    const uint32_t life_; ///< of the interface; its sockets are dead in the next
    uint32_t link_state_ = EMX_LINK_UP;
    std::atomic<bool> interrupted_{false}; ///< a signal ended a wait()
    std::atomic<int> watched_{-1}; ///< the library's, in wait()
    Wake wake_;
    const uint32_t board_number_;
    std::unique_ptr<Claim> claim_;
};

/// Gives a checked frame to the core; false when it found no endpoint: fx says why.
inline bool CorePort::give(fw_pkt &pkt, fw_fx &fx, int &more)
{
    more = 0;
    fw_endpoint *ep = fw_demux(&board_, &pkt, &fx);
    if (!ep) [[unlikely]]
        return false;
    more = fw_rx(ep, &pkt, now_, &fx);
    return true;
}

inline const emx_msg *CorePort::next_queued()
{
    if (queue_.empty()) [[likely]]
        return nullptr;
    queued_current_ = true;
    return current_ = &queue_.front();
}

} // namespace emx
