// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Start and end of a job, and nodes that die.
#include "party.hpp"

#include <mx_extensions.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace job {

std::atomic<uint32_t> troubles{0};

namespace {

std::string place_text(const Place &place)
{
    char text[64];
    std::snprintf(text, sizeof text, "endpoint %u of board %012llx", place.endpoint,
                  static_cast<unsigned long long>(place.nic_id));
    return text;
}

} // namespace

mx_return_t note_trouble(char *, mx_return_t code)
{
    troubles.fetch_add(1, std::memory_order_relaxed);
    return code;
}

Party::Party() : trouble_seen_(troubles.load(std::memory_order_relaxed)) {}

void Party::warn(const std::string &text) const
{
    if (!job().quiet)
        std::fprintf(stderr, "%s: node %u: %s\n", terms().program, job().node, text.c_str());
}

std::string Party::open_endpoint()
{
    endpoint_ = job().endpoint;
    if (endpoint_)
        return {};
    mx_param_t parameter{};
    parameter.key = MX_PARAM_ERROR_HANDLER;
    parameter.val.error_handler = note_trouble;
    const uint32_t number = job().places[job().node].endpoint;
    const mx_return_t code = mx_open_endpoint(job().board, number, job().key, &parameter, 1, &endpoint_);
    if (code == MX_SUCCESS)
        return {};
    return "endpoint " + std::to_string(number) + " cannot be opened: " + mx_strerror(code) +
           (code == MX_BUSY
                ? std::string("; name another in ") + terms().hosts + ", or end the program that has it"
                : "");
}

std::string Party::connect(Member &member)
{
    mx_return_t code = MX_SUCCESS;
    if (member.node == job().node) {
        mx_get_endpoint_addr(endpoint_, &member.address);
        member.greeted = true;
        return {};
    }
    for (uint32_t looks = job().start_timeout * 1000 / look_ms; looks; looks--) {
        code = mx_connect(endpoint_, member.place.nic_id, member.place.endpoint, job().key, look_ms * 100,
                          &member.address);
        if (code == MX_SUCCESS) {
            mx_decompose_endpoint_addr2(member.address, nullptr, nullptr, &member.session);
            return {};
        }
        if (code != MX_CONNECTION_FAILED && code != MX_TIMEOUT && code != MX_NIC_NOT_FOUND)
            break;
        if (code == MX_TIMEOUT) {
            looks -= std::min<uint32_t>(looks - 1, 99);
            continue;
        }
        take_one(look_ms);
    }
    return "node " + std::to_string(member.node) + ", " + place_text(member.place) +
           ", is not there: " + mx_strerror(code) +
           "; start it, and check that all nodes have the same list and key";
}

std::string Party::missing()
{
    std::string list;
    for (uint32_t i = 0; i < node_count(); i++)
        if (!member(i).greeted)
            list += (list.empty() ? "" : ", ") + std::to_string(i);
    return list;
}

/// Nobody leaves before all have come.
std::string Party::greet_all()
{
    for (uint32_t i = 0; i < node_count(); i++)
        if (i != job().node)
            greet(member(i));
    uint32_t looks = job().start_timeout * 1000 / look_ms;
    while (!missing().empty()) {
        if (!take_one(look_ms) && --looks == 0)
            return "of node " + missing() + " no greeting came; all nodes must have the same list";
        for (uint32_t i = 0; i < node_count(); i++)
            if (member(i).dead)
                return "node " + std::to_string(i) +
                       " has gone or belongs to another job; all nodes must have the same list and version";
    }
    return {};
}

std::string Party::meet()
{
    std::string wrong;
    for (uint32_t i = 0; i < node_count() && wrong.empty(); i++)
        wrong = connect(member(i));
    return wrong.empty() ? greet_all() : wrong;
}

void Party::wait_for_leavers()
{
    for (uint32_t i = 0; i < node_count(); i++)
        while (!member(i).left && !member(i).dead)
            if (!take_one(look_ms))
                look_after(&member(i));
}

void Party::ping(Member &member)
{
    if (member.pinging || member.dead || member.left || member.node == job().node)
        return;
    mx_request_t request; // found again by its context
    const mx_return_t code = mx_iconnect(endpoint_, member.place.nic_id, member.place.endpoint, job().key, 0,
                                         member.ping_context, &request);
    if (code != MX_SUCCESS)
        return bury(member, mx_strerror(code));
    member.pinging = true;
}

void Party::take_pong(Member &member, const mx_status_t &status)
{
    member.pinging = false;
    if (member.left)
        return;
    if (status.code != MX_STATUS_SUCCESS)
        return bury(member, mx_strstatus(status.code));
    uint32_t session = 0;
    mx_decompose_endpoint_addr2(status.source, nullptr, nullptr, &session);
    // With another address of the same session the connection broke down meanwhile, and packets are lost.
    if (session != member.session || std::memcmp(&status.source, &member.address, sizeof member.address) != 0)
        bury(member, "it has begun anew");
}

void Party::bury(Member &member, const char *why)
{
    if (member.dead)
        return;
    member.dead = true;
    if (mourn(member))
        warn("node " + std::to_string(member.node) + ", " + place_text(member.place) + ", is gone: " + why +
             "; " + terms().after_death);
}

void Party::look_after(Member *awaited)
{
    if (in_trouble()) {
        trouble_seen_ = troubles.load(std::memory_order_relaxed);
        for (uint32_t i = 0; i < node_count(); i++)
            ping(member(i));
    } else if (awaited)
        return ping(*awaited);
    next_pinged_ = (next_pinged_ + 1) % node_count();
    ping(member(next_pinged_));
}

} // namespace job
