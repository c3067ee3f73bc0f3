// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Our library and firmware core on a simulated host, against the model peer.
//
//   model_sim [--seed N] [--seeds COUNT] [--full-seeds COUNT] [--jobs COUNT] [--verbose] [--trace]
#include "players.hpp"

#include <tests/sim/seeds.hpp>

#include <algorithm>
#include <cstdio>

namespace emx::model {
namespace {

/// The model's host on the simulated switch, and when its applications are inside their library.
class ModelStation final : public sim::Station {
public:
    ModelStation(sim::World &world, sim::Network &network, Cast &cast)
        : world_(world), network_(network), cast_(cast), rng_(world.rng.fork()),
          host_(cast.plan.dialect, cast.their_mac, "model:0", cast.plan.quirks, world.rng.fork(),
                {[&world] { return world.now(); }, [this](const Bytes &f) { send(f); },
                 [this] { schedule(world_.now() + us); }})
    {
        network.attach(*this);
        host_.may_be_refused = cast.plan.restarts() || cast.plan.partings;
    }

    Host &host() { return host_; }
    uint64_t station_mac() const override { return cast_.their_mac; }
    uint32_t host_number() const override { return 1; }
    const std::string &name() const override { return name_; }
    void arrive(sim::Frame frame) override
    {
        guarded([&] { host_.arrive(frame); });
        schedule(host_.deadline());
    }

    void start(uint32_t id)
    {
        players_.push_back(std::make_unique<Theirs>(cast_, host_, id, rng_.fork()));
        schedule(world_.now() + us);
    }
    void restart(uint32_t id, uint64_t delay)
    {
        uint8_t number = cast_.entries[id].number;
        cast_.leave(id);
        std::erase_if(players_, [&](auto &p) { return p->id() == id; });
        host_.close(number);
        world_.after(delay, [this, number] {
            start(cast_.enter(false, number));
            cast_.restarts_left--;
        });
    }
    void give_up() { players_.front()->give_up(); }
    void guarded(const std::function<void()> &work)
    {
        try {
            work();
        } catch (const Violation &v) {
            cast_.book.complain(v.what());
        }
    }

private:
    void send(const Bytes &frame)
    {
        // The news in it is good for our side to use.
        Packet told;
        auto at = [&](size_t i, unsigned n) {
            uint64_t v = 0;
            for (; n; n--)
                v = v << 8 | (i < frame.size() ? frame[i] : 0), i++;
            return v;
        };
        told.dst = at(0, 6);
        told.src = at(6, 6);
        told.type = frame[16];
        told.index = static_cast<uint16_t>(at(told.type == connect ? 26 : 18, 2));
        told.from = frame[18];
        told.own_session = static_cast<uint32_t>(at(at(42, 1) ? 36 : 32, 4));
        network_.watcher.told(told);
        network_.send_foreign(*this, frame);
    }
    void schedule(uint64_t when)
    {
        when = std::max(when, world_.now());
        if (when >= next_)
            return;
        next_ = when;
        world_.at(when, [this, when] {
            if (when == next_)
                wake();
        });
    }
    void wake()
    {
        next_ = never;
        uint64_t now = world_.now(), deadline = never;
        guarded([&] {
            host_.tick();
            if (now < away_) {
                deadline = away_;
                return;
            }
            for (auto &p : players_) {
                p->step();
                deadline = std::min(deadline, host_.endpoint(cast_.entries[p->id()].number)->deadline());
                deadline = std::min(deadline, now + (p->has_work() ? 200 * us : 5 * ms));
            }
            if (rng_.chance(cast_.plan.away_permille) && !cast_.over())
                deadline = away_ = now + rng_.below(cast_.plan.away_max);
        });
        schedule(std::max(now + us, std::min(deadline, host_.deadline())));
    }

    sim::World &world_;
    sim::Network &network_;
    Cast &cast_;
    test::Rng rng_;
    std::string name_ = "model";
    Host host_;
    std::vector<std::unique_ptr<Theirs>> players_;
    uint64_t next_ = never;
    uint64_t away_ = 0;
};

/// Our host with its programs.
class Stage {
public:
    Stage(uint64_t seed, const sim::SeedOptions &o) : cast_(seed), world_(seed), network_(world_)
    {
        if (o.verbose)
            std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed),
                        cast_.plan.describe().c_str());
        network_.trace = o.trace;
        network_.faults = cast_.plan.faults;
        host_ = std::make_unique<sim::Host>(world_, network_, 0, cast_.plan.host);
        sim::Board &board = *host_->boards[0];
        cast_.our_mac = board.fw().mac;
        cast_.their_mac = 0x02000000ff01;
        if (world_.rng.coin())
            board.add_peer(cast_.our_mac, board.name());
        board.add_peer(cast_.their_mac, "model:0");
        if (cast_.plan.pinned)
            board.pin(cast_.their_mac, cast_.plan.letter, cast_.plan.size);
        model_ = std::make_unique<ModelStation>(world_, network_, cast_);
        for (uint32_t i = 0; i < cast_.plan.ours; i++)
            start_ours(cast_.enter(true, static_cast<uint8_t>(i)));
        for (uint32_t i = 0; i < cast_.plan.theirs; i++)
            model_->start(cast_.enter(false, static_cast<uint8_t>(3 + i)));
        model_->host().add_peer(cast_.our_mac, cast_.plan.index, cast_.plan.named ? board.name() : "");
        schedule_failures();
    }

    std::string run(bool verbose)
    {
        bool ended = world_.run(
            [&] {
                return !cast_.book.complaint().empty() || !network_.violation().empty() ||
                       std::all_of(processes_.begin(), processes_.end(), [](auto &p) { return p->done(); });
            },
            4000 * sec);
        if (verbose)
            std::printf("%.3f s of virtual time, %llu frames\n",
                        static_cast<double>(world_.now() - sec) / sec,
                        static_cast<unsigned long long>(network_.frames));
        if (!network_.violation().empty())
            return "forbidden frame: " + network_.violation();
        if (!ended)
            cast_.book.complain("the run does not end");
        if (host_->boards[0]->counters.v[EMX_CNT_EXTENSION_AGREED])
            cast_.book.complain("we agreed on the extension with a stranger");
        if (cast_.book.complaint().empty())
            cast_.book.judge_end();
        std::string why = cast_.book.complaint();
        return why.empty() ? why : why + cast_.book.missing();
    }

private:
    void start_ours(uint32_t id)
    {
        test::Rng rng = world_.rng.fork();
        processes_.push_back(std::make_unique<sim::Process>(
            *host_, "ours " + std::to_string(id),
            [this, id, rng](sim::Process &p) { Ours(cast_, p, id, rng).run(); }));
        processes_.back()->environment = cast_.plan.environment;
        process_of_[id] = processes_.back().get();
    }
    /// The present instance of endpoint i of that side, if it is not down already.
    std::optional<uint32_t> pick(bool ours)
    {
        std::vector<uint32_t> up = cast_.others(!ours);
        if (up.empty())
            return std::nullopt;
        return up[world_.rng.below(up.size())];
    }
    /// An endpoint that goes before the model has its connect leaves messages behind that Open-MX takes for
    /// those of the next life: a late refusal of one fails another. Nothing of ours can help.
    bool one_sided(uint8_t number)
    {
        std::vector<uint32_t> theirs = cast_.others(true);
        return std::any_of(theirs.begin(), theirs.end(), [&](uint32_t id) {
            Endpoint *e = model_->host().endpoint(cast_.entries[id].number);
            return !e || !e->was_asked_by({cast_.our_mac, number});
        });
    }
    void restart(bool ours)
    {
        std::optional<uint32_t> id = pick(ours);
        if (!id || !cast_.entries[*id].open || cast_.entries[*id].settled) {
            cast_.restarts_left--;
            return;
        }
        if (ours && one_sided(cast_.entries[*id].number)) {
            world_.after(20 * ms, [this] { restart(true); });
            return;
        }
        uint64_t delay = world_.rng.range(20, 1500) * ms;
        if (!ours)
            return model_->restart(*id, delay);
        uint8_t number = cast_.entries[*id].number;
        cast_.leave(*id);
        process_of_[*id]->kill();
        world_.after(delay, [this, number] {
            start_ours(cast_.enter(true, number));
            cast_.restarts_left--;
        });
    }
    /// All has arrived, and both know it.
    bool is_quiet()
    {
        std::vector<uint32_t> theirs = cast_.others(true);
        return world_.now() >= cut_until_ && cast_.calm() && cast_.disconnects == 0 &&
               std::all_of(theirs.begin(), theirs.end(), [&](uint32_t id) {
                   return model_->host().endpoint(cast_.entries[id].number)->idle();
               });
    }
    void part(bool in_quiet)
    {
        if (in_quiet && !is_quiet()) {
            world_.after(20 * ms, [this] { part(true); });
            return;
        }
        cast_.quiet = in_quiet;
        const uint64_t kind = world_.rng.below(in_quiet ? 2 : 3);
        if (kind == 0) {
            cast_.disconnects++;
            return;
        }
        cast_.may_part = true;
        if (kind == 1) {
            model_->give_up();
            cast_.restarts_left--;
            return;
        }
        cut_until_ = world_.now() + 15 * sec; // one side's limit is 10 s
        network_.cut(0, 1, cut_until_);
        world_.at(cut_until_, [this] { cast_.restarts_left--; });
    }
    void schedule_failures()
    {
        const Plan &p = cast_.plan;
        cast_.restarts_left = p.restarts_ours + p.restarts_theirs + p.partings;
        for (uint32_t i = 0; i < p.restarts_ours + p.restarts_theirs; i++)
            world_.after(world_.rng.below(300 * ms), [this, ours = i < p.restarts_ours] { restart(ours); });
        for (uint32_t i = 0; i < p.reloads; i++)
            world_.after(world_.rng.below(300 * ms), [this, i] {
                model_->host().reload_peer(cast_.our_mac, static_cast<uint16_t>(100 + i));
            });
        for (uint32_t i = 0; i < p.partings; i++)
            world_.after(world_.rng.below(300 * ms), [this, quiet = world_.rng.coin()] { part(quiet); });
    }

    Cast cast_;
    sim::World world_;
    sim::Network network_;
    std::unique_ptr<sim::Host> host_;
    std::unique_ptr<ModelStation> model_;
    std::vector<std::unique_ptr<sim::Process>> processes_;
    std::map<uint32_t, sim::Process *> process_of_;
    uint64_t cut_until_ = 0;
};

} // namespace
} // namespace emx::model

int main(int argc, char **argv)
{
    using namespace emx;
    sim::SeedOptions o;
    for (int i = 1; i < argc; i++) {
        if (!o.take(argc, argv, i)) {
            std::fprintf(stderr, "usage: %s %s\n", argv[0], sim::seed_usage);
            return 2;
        }
    }
    return sim::run_seeds(o, argv[0], [](uint64_t seed, const sim::SeedOptions &s) {
        return model::Stage(seed, s).run(s.verbose);
    });
}
