// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Interfaces that go down, vanish, return, or change their address while boards stand on them.
#include "driver/agent/agent.hpp"

#include <cerrno>
#include <cstring>

namespace emx {

/// A board follows its interface to another name. One that vanished comes back by the name of the
/// configuration.
void Agent::follow_name(AgentBoard &board)
{
    const bool gone = read_link(board.record()).state == EMX_LINK_GONE;
    const std::string name =
        gone ? board.configured_name() : interface_name(links_.fd(), board.interface_index());
    if (name.empty() || name == board.interface())
        return;
    if (!gone)
        log_.line("interface " + board.interface() + " is called " + name + " now");
    board.rename(name);
    plans_[board.number()].spec.interface = name;
}

/// Sockets of a UDP board outlive its interface, which may come back.
void Agent::look_at_udp(AgentBoard &board)
{
    InterfaceFacts facts;
    const bool exists = query_interface(links_.fd(), board.interface(), facts);
    board.set_link(exists && facts.up ? EMX_LINK_UP : EMX_LINK_DOWN);
    if (exists)
        board.record().mtu = facts.mtu;
    board.follow_address();
}

/// Compares a board with the interface that has its name now.
void Agent::look_at(AgentBoard &board)
{
    if (board.is_udp())
        return look_at_udp(board);
    follow_name(board);
    InterfaceFacts facts;
    const bool exists = query_interface(links_.fd(), board.interface(), facts);
    if (!exists || facts.index != board.interface_index())
        board.set_link(EMX_LINK_GONE);
    if (!exists)
        return;
    const bool gone = read_link(board.record()).state == EMX_LINK_GONE;
    if (gone || facts.mac != board.record().mac)
        return come_back(board);
    board.set_link(facts.up ? EMX_LINK_UP : EMX_LINK_DOWN);
    if (facts.mtu == board.record().mtu)
        return;
    board.record().mtu = facts.mtu;
    fw_sizes ignored;
    std::string why;
    if (!choose_sizes(plans_[board.number()].spec, facts.mtu, ignored, why))
        log_.line(why);
}

/// The interface of a board is another one by now, or has another address: the board goes on with that,
/// and endpoints of before are done with.
void Agent::come_back(AgentBoard &board)
{
    BoardPlan plan;
    StartError error;
    if (plan_board(plans_[board.number()].spec, plan, error)) {
        if (!readdress(board, plan.facts.mac))
            error.text =
                "interface " + board.interface() +
                " came back with the address of another host, or too often with a new one: restart omxd";
        else if (release_all(board); !board.revive(plan))
            error.text = "opening a raw socket on " + board.interface() + ": " + std::strerror(errno);
        else
            plans_[board.number()] = plan;
    }
    if (!error.text.empty()) {
        board.set_link(EMX_LINK_GONE);
        if (error.text != board.trouble())
            log_.line(error.text);
    }
    board.set_trouble(error.text);
}

/// The sockets of open endpoints are dead: peers are refused, and others may have the numbers.
void Agent::release_all(AgentBoard &board)
{
    for (Client &client : clients_) {
        if (client.board != static_cast<int>(board.number()))
            continue;
        log_.line("endpoint " + std::to_string(client.endpoint) + " of board " +
                  std::to_string(client.board) + " ended with the interface; process " +
                  std::to_string(client.pid));
        board.release(client.endpoint);
        client.board = -1;
    }
}

bool Agent::readdress(const AgentBoard &board, uint64_t mac)
{
    for (const auto &each : boards_)
        if (fw_peer_readdress(file_->peers(each->number()), board.number(), mac) != 0)
            return false;
    return true;
}

} // namespace emx
