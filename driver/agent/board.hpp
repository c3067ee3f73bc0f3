// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A board as the agent drives it: the firmware for everything that belongs to no open endpoint.
#pragma once

#include "driver/base/interface.hpp"
#include "driver/base/udp_address.hpp"
#include "driver/board/agent_protocol.hpp"
#include "driver/board/board_file.hpp"
#include "driver/board/endpoint_page.hpp"
#include "driver/board/frame_sizes.hpp"
#include "driver/config/board_spec.hpp"

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace emx {

/// The parts that a board is made from; checked before any of it is set up.
struct BoardPlan {
    BoardSpec spec;
    InterfaceFacts facts;
    fw_sizes sizes{};
    uint32_t x_frame = 0; ///< longest X DATA
    UdpAddress own; ///< UDP board: the address that its sockets are bound to, the port the agent's
    std::string id_file; ///< UDP board: where its id is kept
    std::string note; ///< for the log
};

/// Sockets of one endpoint and what the process must know about them.
struct EndpointSockets {
    Fd ring, bulk, lo;
    AgentReply shape;
};

class AgentBoard {
public:
    AgentBoard(BoardFile &file, uint32_t number, const BoardPlan &plan, std::string name);
    virtual ~AgentBoard() = default;
    AgentBoard(const AgentBoard &) = delete;
    AgentBoard &operator=(const AgentBoard &) = delete;

    /// True if the system lets buffers of sockets grow to what endpoints need only by CAP_NET_ADMIN.
    static bool buffers_need_force();

    /// Opens the agent's own sockets; false with errno set.
    virtual bool open_sockets();
    /// Takes over sockets of the same board that only one can have, before open_sockets().
    virtual void inherit(AgentBoard & /*before*/) {}
    /// Sockets of endpoints that other processes have and nobody has claimed.
    virtual uint32_t orphans() const { return 0; }

    uint32_t number() const { return number_; }
    const std::string &interface() const { return plan_.spec.interface; }
    const std::string &configured_name() const { return configured_name_; }
    /// The interface has another name by now.
    void rename(const std::string &interface);
    int interface_index() const { return plan_.facts.index; }
    int interface_socket() const { return interface_.get(); }
    int lo_socket() const { return lo_.get(); }
    const std::string &name() const { return name_; }
    BoardRecord &record() { return file_.board(number_); }

    /// Serves what waits on one of the agent's sockets, a bounded number of frames.
    virtual void receive(int socket);
    /// Does what is due by then beside questions and beacons; and when that will be.
    virtual void tick(uint64_t /*now*/) {}
    virtual uint64_t due() const { return ~uint64_t{0}; }
    /// Asks boards without a name for it, and those whose name may have changed: some of them, by turns.
    void ask_names(uint64_t now);
    /// When to call it; ~0 while the link is down.
    uint64_t questions_due();
    /// Begins its beacons anew, as a board that was not here before: others ask for its name.
    void announce();
    /// Sends the beacon that is due by then, if one is.
    void beacon(uint64_t now);
    /// When to call it; ~0 while the link is down.
    uint64_t beacon_due();
    /// Adds a board to the table and asks for its name; index, or -1 (no room or table closed, bad address).
    int add_peer(uint64_t mac);
    /// UDP board: a host that is to be asked which board it has; it is a peer once it has answered.
    virtual void list_host(const UdpAddress & /*where*/, const std::string & /*name*/) {}
    virtual void forget_hosts() {}
    /// UDP board: a frame of that board came from there.
    virtual void heard_at(uint64_t /*mac*/, const UdpAddress & /*where*/) {}
    /// UDP board: the host's addresses may have changed; peers hear of it.
    virtual void follow_address() {}
    /// UDP board: a program looks for a board that is not known. For how many ms it should wait; 0: in vain.
    virtual uint32_t look_for_more() { return 0; }
    /// UDP board: the name that the list gives to this very board, once.
    virtual std::string take_own_name() { return {}; }
    /// UDP board: where the boards of this host reach each other.
    virtual void place_own(uint32_t /*peer*/, const AgentBoard & /*other*/) {}
    /// The same for a user, who has a part of the table for boards that never told their names; and for one
    /// who says that a frame came from there. These are the first to make room.
    int add_peer_for(uint32_t uid, uint64_t mac);
    int add_heard_for_user(uint64_t mac);
    /// The administrator's, into a closed table, too; it stays.
    int list_peer(uint64_t mac);
    void set_name(const std::string &name);
    void forget_names();
    /// Pins a peer to that dialect of that size; no endpoint is open here.
    void pin(uint32_t peer, uint16_t speaks, const fw_sizes &sizes);
    /// All peers are spoken to in the board's dialect again.
    void unpin();

    /// Marks an endpoint as someone's: from now on its frames are dropped here, not refused.
    void claim(uint32_t endpoint, const ClaimRecord &owner, std::unique_ptr<EndpointPage> counters);
    void release(uint32_t endpoint);
    bool claimed(uint32_t endpoint) const { return claimed_[endpoint]; }
    bool in_use() const { return claimed_.any(); }
    /// Sockets for a claimed endpoint; false with errno set. Who is trusted may take filters off.
    virtual bool make_sockets(uint32_t endpoint, bool trusted, EndpointSockets &sockets);

    /// A socket for frames to groups, with a ring of that shape. Empty with errno set.
    Fd make_group_socket(RingShape &shape) const;

    /// Drops packets for all endpoints that nobody claimed, instead of refusing them.
    void refuse_nobody();
    /// Refuses them from now on.
    void refuse_unclaimed();

    /// Lets pull replies for a fan-out group of the interface go to its second member, to come; false with
    /// errno set. From then on this agent sees frames before that group.
    bool steer_replies(uint16_t group);

    /// Tells the counters of all its endpoints, and the agent's, in the board file.
    void tell_counters();
    void clear_counters();

    void set_link(uint32_t state);
    /// Goes on with another interface of the same name, or another address; false with errno set.
    bool revive(const BoardPlan &plan);
    /// Why the board cannot go on with the interface that came back; empty when there is none.
    const std::string &trouble() const { return trouble_; }
    void set_trouble(const std::string &text) { trouble_ = text; }
    bool is_udp() const { return plan_.spec.is_udp(); }
    const BoardPlan &plan() const { return plan_; }

protected:
    void fill_record();
    FilterProgram own_filter(bool loopback) const;
    Fd open_interface() const;
    virtual void update_filters();
    /// The number is free again.
    virtual void take_back(uint32_t /*endpoint*/) {}
    void count_claims();
    uint64_t live(std::size_t counter) const;
    bool link_up();
    void hear(const fw_fx &fx);
    void handle(int socket, const uint8_t *frame, uint32_t bytes);
    void execute(int socket, const fw_fx &fx);
    virtual void transmit(int socket, const void *frame, uint32_t bytes, int counter);
    void query(uint32_t peer);
    bool is_kept(uint32_t peer) const;
    int place(uint64_t mac);

    BoardFile &file_;
    const uint32_t number_;
    BoardPlan plan_;
    const std::string configured_name_; ///< of the interface, which may be renamed
    fw_sizes room_{}; ///< what sockets must hold: frames of the board's dialect, and of its peers'
    std::string name_;
    std::string trouble_;
    emx_counters &counters_;
    fw_peers *peers_;
    fw_board board_{};
    fw_beacons beacons_{};
    fw_questions questions_{};
    struct Asked {
        uint32_t uid, life; ///< of the user, and of the place
    };
    std::map<uint32_t, Asked> asked_by_; ///< users that are not trusted, by peers that they asked for
    bool recovering_ = false; ///< which peers endpoints keep is not known yet
    std::bitset<EMX_ENDPOINTS_MAX> claimed_;
    std::array<std::unique_ptr<EndpointPage>, EMX_ENDPOINTS_MAX> pages_; ///< of the claimed ones
    Fd interface_, lo_;
    int lo_index_ = 0;
};

} // namespace emx
