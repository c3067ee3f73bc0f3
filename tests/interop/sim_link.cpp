// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A replay on a simulated host, in virtual time. It has no board agent.
#include "link.hpp"

#include <tests/sim/process.hpp>

namespace emx::interop {
namespace {

class SimLink final : public Link {
public:
    explicit SimLink(const Names &names)
    {
        board().fw().mac = names.mac;
        board().rename(names.name);
        // The captured hosts had each other in slot 1, behind themselves.
        board().add_peer(names.mac, names.name);
        board().add_peer(names.peer_mac, names.peer_name);
        board().fw().tags->tag[1] = 1; // told in the host reply, before the capture began
        network_.watcher.distrust(); // it does not see what the peer tells
        network_.tap = [this](const Frame &f) { on_frame(f); };
    }

    uint64_t now() const override { return world_.now(); }
    void at(uint64_t when, std::function<void()> fn) override { world_.at(when, std::move(fn)); }
    void inject(const Frame &frame) override { board().arrive(frame); }
    bool run(const std::function<void()> &application, uint64_t limit) override
    {
        process_ = std::make_unique<sim::Process>(host_, "our host", [&](sim::Process &) { application(); });
        world_.run([&] { return process_->done(); }, now() + limit);
        return process_->done();
    }
    void pass_time(uint64_t ns) override { process_->sleep(ns); }
    void introduce() override {}
    bool has_agent() const override { return false; }
    uint64_t longest_pause() const override { return sim::never; }
    uint64_t linger() const override { return sec; }
    std::string violation() const override { return network_.violation(); }

private:
    sim::Board &board() { return *host_.boards[0]; }

    sim::World world_{1};
    sim::Network network_{world_};
    sim::Host host_{world_, network_, 0, sim::HostOptions{}};
    std::unique_ptr<sim::Process> process_;
};

} // namespace

std::unique_ptr<Link> make_link(const Names &names) { return std::make_unique<SimLink>(names); }

} // namespace emx::interop
