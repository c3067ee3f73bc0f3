// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A stranger on the wire who sends frames in the name of others, and two programs that are connected.
#pragma once

#include "bench.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace emx::sim {

inline constexpr uint32_t nobody = ~0u; ///< host of foreign_mac, which answers nothing
/// Hosts from this number on have addresses that nobody knows yet.
inline constexpr uint32_t made_up = 1000;

/// Sends frames in the name of others.
class Forger final : public Station {
public:
    explicit Forger(Bench &bench) : bench_(bench) { bench.network.watcher.distrust(); }
    uint64_t station_mac() const override { return 0x02000000ee01; }
    uint32_t host_number() const override { return 9; }
    const std::string &name() const override { return name_; }
    void arrive(Frame /*frame*/) override {}

    /// A request in the name of endpoint `from` of that host to endpoint `to` of the other of two.
    void connect(uint32_t host, uint8_t from, uint8_t to, uint32_t session, uint32_t with_key, uint16_t start)
    {
        fw_pkt p = packet(EMX_CONNECT, host, from, to);
        p.msg.u.connect.session = session;
        p.msg.u.connect.key = with_key;
        p.msg.u.connect.start = start;
        p.msg.u.connect.number = number_++;
        send(p);
    }
    /// A message, or a piece of one, that carries that much data. `of`: session of endpoint `to`.
    void message(uint32_t host, uint8_t from, uint8_t to, uint32_t of, const emx_msg &msg)
    {
        fw_pkt p = packet(msg.type, host, from, to);
        const uint8_t from_ep = p.msg.remote_ep, to_ep = p.msg.local_ep;
        p.msg = msg;
        p.msg.remote_ep = from_ep;
        p.msg.local_ep = to_ep;
        p.msg.session = of;
        p.exponent = EMX_MEDIUM_EXPONENT_W;
        send(p, msg.data_len);
    }
    /// An empty message of that number.
    void speak(uint32_t host, uint8_t from, uint8_t to, uint32_t of, uint16_t number)
    {
        emx_msg msg{};
        msg.type = EMX_TINY;
        msg.seq = number;
        msg.ack = 1;
        message(host, from, to, of, msg);
    }
    void refuse(uint32_t host, uint8_t from, uint8_t to, uint8_t reason, uint16_t number)
    {
        fw_pkt p = packet(EMX_NACK_LIB, host, from, to);
        p.msg.u.nack.reason = reason;
        p.msg.seq = number;
        send(p);
    }
    /// A request for the first byte of a window that session `of` may have.
    void pull(uint32_t host, uint8_t from, uint8_t to, uint32_t of)
    {
        fw_pkt p = packet(EMX_PULL, host, from, to);
        p.msg.session = of;
        p.total = p.length = 1;
        send(p);
    }
    void ask_name(uint32_t host) { send(packet(EMX_HOST_QUERY, host, 0, 0)); }

    uint64_t mac_of(uint32_t host) const
    {
        if (host == nobody)
            return foreign_mac;
        return host >= made_up ? 0x0200bb000000 + host : bench_.mac(host);
    }

private:
    fw_pkt packet(uint8_t type, uint32_t host, uint8_t from, uint8_t to) const
    {
        fw_pkt p{};
        p.msg.type = type;
        p.src_mac = mac_of(host);
        p.dst_mac = bench_.mac(host == 0 ? 1 : 0);
        p.advert = static_cast<uint16_t>(
            fw_peer_find(bench_.hosts[host >= made_up ? 1 : host]->boards[0]->fw().peers, p.dst_mac, 0));
        p.msg.local_ep = to;
        p.msg.remote_ep = from;
        return p;
    }
    void send(const fw_pkt &p, uint32_t data = 0)
    {
        Frame frame(EMX_HEADER_MAX);
        const uint32_t header = fw_encode(&bench_.hosts[0]->boards[0]->fw().sizes, &p, frame.data());
        frame.resize(std::max<uint32_t>(EMX_FRAME_MIN, header + data));
        bench_.network.send_foreign(*this, frame);
    }

    Bench &bench_;
    uint8_t number_ = 0;
    std::string name_ = "forger";
};

/// Endpoint 1 of host 0 and endpoint 2 of host 1, connected both ways.
struct Partners {
    explicit Partners(const char *extension, const std::map<std::string, std::string> &environment = {},
                      const std::vector<mx_param_t> &params = {}, uint64_t seed = 1)
        : bench(seed), one(bench.start(0, 1, extension)), two(bench.start(1, 2, extension)), forger(bench)
    {
        for (Player *player : {&one, &two}) {
            player->process->environment.emplace("EMX_HELPER_MS", "0");
            player->process->environment.insert(environment.begin(), environment.end());
        }
        one.params = params;
        bench.pass(ms);
        to_two = bench.connect(one, bench.mac(1), 2);
        to_one = bench.connect(two, bench.mac(0), 1);
    }
    /// Posts a send without a receive for it.
    void post(Player &from, mx_endpoint_addr_t to, mx_request_t &request, bool synchronous = false)
    {
        bench.tell(from, [&] {
            mx_segment_t nothing{};
            (synchronous ? mx_issend : mx_isend)(from.ep, &nothing, 1, to, 1, nullptr, &request);
        });
    }
    mx_status_code_t end_of(Player &player, mx_request_t &request)
    {
        mx_status_t status{};
        uint32_t done = 0;
        bench.tell(player, [&] { mx_wait(player.ep, &request, MX_INFINITE, &status, &done); });
        return status.code;
    }
    void close(Player &player)
    {
        player.leave = true;
        bench.until([&] { return player.process->done(); });
    }

    Bench bench;
    Player &one, &two;
    Forger forger;
    mx_endpoint_addr_t to_two{}, to_one{};
};

} // namespace emx::sim
