// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Interface, address, id and sizes of a UDP board.
#include "driver/agent/nic_id.hpp"
#include "driver/agent/udp_board.hpp"
#include "driver/base/ip_interface.hpp"
#include "driver/config/udp_spec.hpp"

namespace emx {
namespace {

/// Its interface, and an address of that.
bool find_place(BoardPlan &plan, UdpAddress &address, std::string &why)
{
    BoardSpec &spec = plan.spec;
    if (!spec.address.empty()) {
        address = *parse_ip(spec.address, spec.udp_port);
        spec.interface = interface_with(address);
        if (!spec.interface.empty())
            return true;
        why = "no interface here has the address " + spec.address +
              ": correct EMX_BOARDS or the configuration file (ip addr lists the addresses)";
        return false;
    }
    const auto found = first_address(spec.interface);
    if (InterfaceFacts facts; !found && !query_interface(spec.interface, facts)) {
        why = "interface " + spec.interface +
              " does not exist here: correct EMX_BOARDS or the configuration file (ip link lists the "
              "interfaces)";
        return false;
    }
    if (!found) {
        why = "interface " + spec.interface +
              " has no IP address, which a UDP board needs: give it one (ip addr add ADDRESS/LENGTH dev " +
              spec.interface + "), bring it up, or choose another interface";
        return false;
    }
    address = found->with_port(spec.udp_port);
    return true;
}

} // namespace

bool plan_udp_board(const BoardSpec &spec, BoardPlan &plan, std::string &why)
{
    UdpAddress address;
    plan.spec = spec;
    if (!find_place(plan, address, why))
        return false;
    const bool v4 = address.is_v4();
    if (!query_interface(plan.spec.interface, plan.facts)) {
        why = "interface " + plan.spec.interface + " just vanished: try again";
        return false;
    }
    plan.own = spec.address.empty() ? any_address(v4, spec.udp_port) : address;
    plan.id_file = nic_id_file(address);
    plan.facts.mac = read_nic_id(plan.id_file, plan.note, why);
    return plan.facts.mac != 0 && choose_udp_sizes(spec, plan.facts.mtu, v4, plan.sizes, plan.x_frame, why);
}

} // namespace emx
