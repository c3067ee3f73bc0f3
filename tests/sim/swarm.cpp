// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The draws of a seed. See swarm.hpp.
#include "swarm.hpp"

namespace emx::sim {

namespace {

void draw_faults(Faults &f, test::Rng &rng)
{
    f.latency = rng.range(1, 50) * us;
    if (rng.coin())
        f.loss = static_cast<uint32_t>(rng.pick({2u, 20u, 100u, 250u}));
    if (rng.coin())
        f.duplicate = static_cast<uint32_t>(rng.pick({5u, 50u, 200u}));
    if (rng.coin())
        f.reorder = static_cast<uint32_t>(rng.pick({10u, 100u, 500u}));
    if (rng.coin())
        f.jitter = rng.range(1, 100) * us;
    if (rng.chance(250))
        f.refuse = static_cast<uint32_t>(rng.pick({5u, 100u}));
    f.reorder_delay = rng.pick({50 * us, 500 * us, 5 * ms, 600 * ms});
}

HostOptions draw_host(test::Rng &rng, char dialect, uint32_t mtu)
{
    HostOptions o;
    o.dialect = dialect;
    o.dialect_mtu = mtu;
    o.boards = rng.chance(200) ? 2 : 1;
    o.polled = rng.coin();
    o.ring_entries = rng.pick({8u, 64u, 256u, 256u});
    o.rx_slots = rng.pick({16u, 256u, 512u});
    return o;
}

std::map<std::string, std::string> draw_environment(test::Rng &rng)
{
    std::map<std::string, std::string> env;
    env["EMX_SPIN_US"] = rng.coin() ? "0" : "5";
    if (rng.chance(300))
        env["OMX_ZOMBIE_SEND"] = rng.pick({"0", "1", "5"});
    if (rng.chance(300))
        env["OMX_RNDV_THRESHOLD"] = rng.pick({"128", "1000", "4096", "8192"});
    if (rng.coin())
        env["MX_DISABLE_SELF"] = "1";
    if (rng.coin())
        env["MX_DISABLE_SHMEM"] = "1";
    if (rng.chance(200))
        env["OMX_NOTACKED_MAX"] = rng.pick({"1", "30"});
    return env;
}

} // namespace

Swarm::Swarm(uint64_t seed, Mode mode)
{
    test::Rng rng(seed * 2 + (mode == Mode::hostile));
    static const struct {
        char dialect;
        uint32_t mtu;
    } dialects[] = {{'W', 0}, {'N', 1500}, {'N', 9000}, {'N', 576}};
    auto &d = dialects[rng.below(rng.chance(100) ? 4 : 3)];
    dialect = d.dialect;
    dialect_mtu = d.mtu;
    for (uint64_t n = rng.range(1, 3); n > 0; n--)
        hosts.push_back(draw_host(rng, dialect, dialect_mtu));
    draw_faults(faults, rng);
    actors = static_cast<uint32_t>(rng.range(2, 5));
    messages = static_cast<uint32_t>(rng.pick({3u, 15u, 40u}));
    length_max = rng.chance(30) ? 1u << 20 : rng.pick({200u, 10000u, 70000u, 150000u});
    receives = static_cast<uint32_t>(rng.range(1, 12));
    away_permille = rng.coin() ? static_cast<uint32_t>(rng.pick({5u, 50u})) : 0;
    cancel_permille = rng.coin() ? 50 : 0;
    forget_permille = rng.coin() ? 50 : 0;
    disconnect_permille = rng.chance(150) ? 20 : 0;
    handler = rng.chance(300);
    environment = draw_environment(rng);
    cuts = rng.chance(250) ? static_cast<uint32_t>(rng.range(1, 3)) : 0;
    kills = rng.chance(250) ? static_cast<uint32_t>(rng.range(1, 2)) : 0;
    host_crash = hosts.size() > 1 && rng.chance(60);
    if (host_crash || disconnect_permille) // nobody answers, and the limit is 500 s
        environment["MX_MAX_RETRIES"] = "30";
    if (mode == Mode::hostile) {
        faults.alter = rng.pick({2u, 20u, 100u, 300u});
        environment["MX_MAX_RETRIES"] = "30";
    }
    mixed = rng.chance(300);
    for (HostOptions &o : hosts) {
        o.x_frame = rng.pick({uint16_t{0}, uint16_t{1}, uint16_t{1}, uint16_t{9014}, uint16_t{256}});
        o.x_window = rng.pick({uint16_t{8}, uint16_t{64}, uint16_t{256}});
    }
    for (HostOptions &o : hosts)
        o.x_fragments = !rng.chance(200);
    checksum = rng.chance(300) ? static_cast<uint32_t>(rng.range(1, 2)) : 0;
    for (HostOptions &o : hosts)
        o.x_packs = !rng.chance(200);
    environment["EMX_PACK_AFTER"] = rng.pick({"4", "4", "1", "0"});
    environment["EMX_PACK_LONGEST"] = rng.pick({"2048", "2048", "16384", "128"});
    const bool datagrams = rng.coin(), tcp = rng.chance(700);
    for (HostOptions &o : hosts) {
        if (datagrams && !rng.chance(100))
            o.datagram = rng.pick({uint16_t{1472}, uint16_t{8972}});
        if (tcp && !rng.chance(100))
            o.tcp = static_cast<uint16_t>(FW_X_DATA_HEADER + rng.pick({1000u, 4096u, 32768u}));
    }
    faults.tcp_end = rng.pick({0u, 5u, 100u});
    faults.no_datagrams = rng.chance(100);
    faults.no_tcp = rng.chance(100);
}

std::string Swarm::describe() const
{
    auto n = [](uint64_t v) { return std::to_string(v); };
    std::string s =
        std::string("dialect ") + dialect + (dialect_mtu ? "/" + n(dialect_mtu) : "") + ", " +
        n(hosts.size()) + " hosts, " + n(actors) + " actors, " + n(messages) + " messages up to " +
        n(length_max) + "; loss " + n(faults.loss) + " dup " + n(faults.duplicate) + " reorder " +
        n(faults.reorder) + " (" + n(faults.reorder_delay / us) + " us) refuse " + n(faults.refuse) +
        " alter " + n(faults.alter) + " cuts " + n(cuts) + " kills " + n(kills) +
        (host_crash ? " host crash" : "") + (mixed ? " mixed" : "") + "; away " + n(away_permille) +
        " cancel " + n(cancel_permille) + " forget " + n(forget_permille) + " disconnect " +
        n(disconnect_permille) + (handler ? " handler" : "") + " tcp ends " + n(faults.tcp_end) +
        (faults.no_tcp ? " no tcp" : "") + (faults.no_datagrams ? " no datagrams" : "") + ";";
    for (auto &[k, v] : environment)
        s += " " + k + "=" + v;
    for (auto &h : hosts)
        s += h.polled ? " polled" : " host-driven",
            s += "/ring " + n(h.ring_entries) + "/rx " + n(h.rx_slots) + "/x " + n(h.x_frame) + "," +
                 n(h.x_window) + (h.x_fragments ? "" : ",whole") + (h.x_packs ? "" : ",single") + ",udp " +
                 n(h.datagram) + ",tcp " + n(h.tcp);
    if (checksum != 0)
        s += checksum == 1 ? " checksums" : " checksums of every other";
    return s;
}

} // namespace emx::sim
