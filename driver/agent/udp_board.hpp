// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A UDP board as the agent drives it: a socket for each endpoint number and one of its own, and the search
// for peers (docs/decisions/0029).
#pragma once

#include "driver/agent/board.hpp"
#include "driver/agent/log.hpp"
#include "driver/agent/peer_search.hpp"
#include "driver/base/udp_socket.hpp"

namespace emx {

/// Plans a UDP board: its interface, its address, its id, its sizes. False with a sentence in why.
bool plan_udp_board(const BoardSpec &spec, BoardPlan &plan, std::string &why);

class UdpAgentBoard final : public AgentBoard {
public:
    UdpAgentBoard(BoardFile &file, uint32_t number, const BoardPlan &plan, std::string name, Log &log);

    bool open_sockets() override;
    void inherit(AgentBoard &before) override;
    uint32_t orphans() const override;
    bool make_sockets(uint32_t endpoint, bool trusted, EndpointSockets &sockets) override;
    void receive(int socket) override;
    void tick(uint64_t now) override;
    uint64_t due() const override;
    void list_host(const UdpAddress &where, const std::string &name) override;
    void forget_hosts() override;
    void heard_at(uint64_t mac, const UdpAddress &where) override;
    void follow_address() override;
    uint32_t look_for_more() override;
    void place_own(uint32_t peer, const AgentBoard &other) override;

    /// The name that the list gives to this very board since the last call; empty: none.
    std::string take_own_name() override { return std::exchange(own_name_, {}); }

private:
    struct Datagram {
        uint8_t *frame;
        uint32_t bytes;
        UdpAddress source;
    };

    void update_filters() override {}
    void take_back(uint32_t endpoint) override;
    void transmit(int socket, const void *frame, uint32_t bytes, int counter) override;

    bool watch(int socket);
    bool open_endpoint(uint32_t endpoint);
    void try_again(uint64_t now);
    bool receive_one(int socket);
    void handle(const Datagram &datagram);
    bool is_about_ourselves(const Datagram &datagram, const fw_pkt &pkt);
    bool comes_from(const fw_pkt &pkt, const UdpAddress &source);
    void take_question(const fw_pkt &pkt, const UdpAddress &source);
    void answer_question(const fw_pkt &pkt, const UdpAddress &source);
    void take_answer(const fw_pkt &pkt, const UdpAddress &source);
    void take(const Finding &finding);
    void move_to(uint32_t peer, const UdpAddress &where);
    UdpAddress address_of(uint32_t peer);
    void send_to(const UdpAddress &to, const void *frame, uint32_t bytes, int counter);
    void ask(const UdpAddress &to, uint64_t mac, uint32_t token);
    void tell_sought();
    bool admits(uint64_t mac, const UdpAddress &where) const
    {
        return peers_->open || fw_peer_find(peers_, mac, 0) >= 0 || search_.is_listed(where);
    }

    Log &log_;
    Fd epoll_;
    Fd agent_;
    std::array<Fd, EMX_ENDPOINTS_MAX> endpoints_; ///< of numbers that nobody claims
    std::bitset<EMX_ENDPOINTS_MAX> taken_; ///< their ports were another process's when last tried
    uint64_t again_ = ~uint64_t{0}; ///< when those are tried again
    PeerSearch search_;
    std::string own_name_;
    UdpAddress address_; ///< first of the interface, without a port
};

} // namespace emx
