// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Two open ports that know each other.
#include "tests/netns/engine_fixture.hpp"

#include "driver/board/agent_client.hpp"

#include "driver/board/board_file.hpp"
#include "tests/support/becomes.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>

namespace emx::test {
namespace {

/// Cuts memory into pieces of nearly equal size.
std::vector<Segment> cut(std::byte *memory, uint32_t bytes, unsigned pieces)
{
    std::vector<Segment> segments;
    uint32_t done = 0;
    for (unsigned i = 0; i < pieces; i++) {
        const auto end = static_cast<uint32_t>(uint64_t{bytes} * (i + 1) / pieces);
        segments.push_back({memory + done, end - done});
        done = end;
    }
    return segments;
}

} // namespace

std::vector<std::byte> pattern(uint32_t bytes, uint32_t seed)
{
    std::vector<std::byte> data(bytes);
    uint32_t state = seed * 2654435761u + 1;
    for (std::byte &b : data) {
        state = state * 1664525u + 1013904223u;
        b = static_cast<std::byte>(state >> 24);
    }
    return data;
}

std::string agent_program()
{
    const char *program = std::getenv("EMX_OMXD");
    return program ? program : "";
}

std::unique_ptr<Device> open_device(const TwoHosts &hosts, int host, const std::string &spec)
{
    hosts.enter(host);
    EngineConfig config;
    config.boards = spec;
    config.agent_program = agent_program();
    DeviceError error;
    auto device = make_engine(config, error);
    INFO(error.text);
    REQUIRE(device);
    return device;
}

std::optional<uint32_t> peer_of(Port &port, uint64_t nic_id)
{
    DeviceError error;
    return port.find_peer(nic_id, AgentConnection::usual_patience_ms, error);
}

Pair::Pair(const TwoHosts &hosts, const std::string &spec, int first_host, int second_host)
{
    hosts.distrust(); // there are messages, but no connects
    const int at[2] = {first_host, second_host};
    for (int side : {0, 1}) {
        devices_[side] = open_device(hosts, at[side], spec);
        DeviceError error;
        ports_[side] = devices_[side]->open(0, side == 0 ? 3 : 5, sessions_[side], error);
        INFO(error.text);
        REQUIRE(ports_[side]);
    }
    for (int side : {0, 1}) {
        const auto peer = peer_of(*ports_[side], info(1 - side).nic_id);
        REQUIRE(peer);
        peers_[side] = *peer;
    }
}

emx_msg Pair::message(int side, uint8_t type, uint32_t bytes)
{
    emx_msg msg{};
    msg.type = type;
    msg.remote_ep = static_cast<uint8_t>(ports_[1 - side]->number());
    msg.peer = peers_[side];
    msg.session = sessions_[1 - side];
    msg.seq = seq_++;
    msg.ack = 1;
    msg.match = 0x0123456789abcdef + seq_;
    msg.msg_len = bytes;
    msg.data_len = bytes;
    return msg;
}

bool Pair::poll(int side)
{
    if (ports_[side]->peek())
        return true;
    if (ports_[1 - side])
        ports_[1 - side]->peek(); // serves pulls; its events stay
    return false;
}

bool Pair::quiet(int side)
{
    return stays_away([&] { return poll(side); });
}

/// The counters of a side, for the report of a failure.
std::string Pair::describe(int side)
{
    std::string text;
    for (unsigned c = 0; c < EMX_CNT_COUNT; c++)
        if (const uint64_t value = ports_[side]->counters().v[c])
            text += std::string("; ") + fw_counter_label(c) + " " + std::to_string(value);
    return text;
}

const emx_msg *Pair::expect(int side, uint8_t type)
{
    const emx_msg *event = becomes([&] { return poll(side); }) ? ports_[side]->peek() : nullptr;
    INFO("side " << side << ", event " << int(type) << ", counters:" << describe(0) << " /" << describe(1));
    REQUIRE(event);
    REQUIRE(int(event->type) == int(type));
    return event;
}

void Pair::begin(const std::vector<std::byte> &source, std::vector<std::byte> &target, uint8_t window,
                 uint64_t cookie, unsigned pieces)
{
    const auto bytes = static_cast<uint32_t>(source.size());
    auto *memory = const_cast<std::byte *>(source.data());
    ports_[0]->open_window(window, 42, peers_[0], static_cast<uint8_t>(ports_[1]->number()),
                           cut(memory, bytes, pieces), bytes);
    emx_msg rndv{};
    rndv.type = EMX_RNDV;
    rndv.peer = peers_[1];
    rndv.remote_ep = static_cast<uint8_t>(ports_[0]->number());
    rndv.session = sessions_[0];
    rndv.u.window.id = window;
    rndv.u.window.tag = 42;
    rndv.data = x_pulls ? emx_offer(1, 1, EMX_X_PULLS | (x_sums ? EMX_X_SUMS : 0),
                                    static_cast<uint16_t>(info(0).x_frame), 32)
                        : 0;
    REQUIRE(ports_[1]->start_pull(rndv, bytes, cut(target.data(), bytes, pieces), cookie));
}

void Pair::finish()
{
    // News of a link that went and came may be late: the agent of each host tells its own programs.
    const auto done = [&] {
        if (!poll(1) || ports_[1]->peek()->type != EMX_EV_LINK)
            return poll(1);
        ports_[1]->consume();
        return false;
    };
    becomes(done);
    const emx_msg *event = expect(1, EMX_EV_PULL_DONE);
    CHECK(event->u.pull.status == EMX_PULL_OK);
    ports_[1]->consume();
}

void Pair::transfer(const std::vector<std::byte> &source, std::vector<std::byte> &target, unsigned pieces)
{
    begin(source, target, 17, 99, pieces);
    finish();
    ports_[0]->close_window(17, 42);
}

} // namespace emx::test
