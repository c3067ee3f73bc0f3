// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Fuzzes a working endpoint of the library: golden frames, those of the extension among them, fitted to the
// live exchange and then altered field by field, while receives, sends and pulls are under way. Input: steps
// of an opcode byte and its operands.
#include "input.hpp"

#include <tests/interop/fields.hpp>
#include <tests/sim/process.hpp>
#include <tests/support/golden.hpp>
#include <tests/support/mutate.h>

#include <mx_extensions.h>
#include <myriexpress.h>

#include <emx/wire.h>

#include <driver/core/fw.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace emx::interop;
using emx::fuzz::Input;
using emx::fuzz::must;
namespace sim = emx::sim;

constexpr uint64_t peer_mac = 0x02000000000a;
constexpr uint32_t peer_session = 0x11223344, key = 7;
constexpr uint32_t group = 0xc0ffee01; ///< that of the golden frame
constexpr uint32_t large = 100000, longest = 4200; // bytes

/// Golden frames of dialect W, padded, with room for the data they state.
const std::vector<Frame> &golden()
{
    static const std::vector<Frame> frames = [] {
        std::vector<Frame> all;
        std::vector<std::string> names;
        for (auto &e : std::filesystem::directory_iterator(EMX_WIRE_FOLDER))
            if (e.path().extension() == ".hex" && e.path().stem().string().find("n9000") == std::string::npos)
                names.push_back(e.path().stem());
        std::sort(names.begin(), names.end());
        for (auto &name : names) {
            all.push_back(emx::test::golden(EMX_WIRE_FOLDER, name));
            if (all.back().at(EMX_OUTER_LEN) == EMX_MEDIUM || all.back()[EMX_OUTER_LEN] == EMX_PULL_REPLY)
                all.back().resize(4144);
        }
        must(all.size() >= 12);
        return all;
    }();
    return frames;
}

/// The input makes the choices of the mutator.
struct Choices : dice {
    explicit Choices(Input &input) : dice{roll, 0}, in(input) {}
    static uint32_t roll(dice *d, uint32_t n) { return static_cast<Choices *>(d)->in.below(n); }

    Input &in;
};

class Bench {
public:
    explicit Bench(Input &input)
        : in_(input), world_(1), network_(world_), host_(world_, network_, 0, options(input))
    {
        board().add_peer(board().fw().mac, "h0:0");
        board().add_peer(peer_mac, "peer:0");
        network_.watcher.distrust(); // it does not see what the peer tells
        network_.tap = [this](const Frame &f) { note(f); };
        process_ = std::make_unique<sim::Process>(host_, "endpoint", [this](sim::Process &p) { program(p); });
    }

    void run()
    {
        bool ended = world_.run([&] { return process_->done(); }, world_.now() + 5000 * sim::sec);
        if (!network_.violation().empty())
            std::fprintf(stderr, "forbidden frame: %s\n", network_.violation().c_str());
        must(network_.violation().empty() && ended);
    }

private:
    static sim::HostOptions options(Input &in)
    {
        sim::HostOptions o;
        o.polled = in.take(1) % 2;
        return o;
    }
    sim::Board &board() { return *host_.boards[0]; }

    /// The program under test: it holds all kinds of operations open and takes what comes.
    void program(sim::Process &process)
    {
        mx_set_error_handler(MX_ERRORS_RETURN);
        must(!mx_init() && !mx_open_endpoint(0, 5, key, nullptr, 0, &ep_));
        must(!mx_group_join(ep_, group));
        inject(fitted(EMX_CONNECT, false));
        mx_connect(ep_, peer_mac, 2, key, 5, &peer_);
        while (!in_.empty()) {
            step(process);
            mx_progress(ep_);
        }
        mx_close_endpoint(ep_);
        auto c = process.context()->census();
        must(!c.endpoints && !c.requests && !c.incoming && !c.tx_messages && !c.windows);
    }

    void step(sim::Process &process)
    {
        switch (in_.take(1) % 8) {
        case 0: return post();
        case 1: return send();
        case 2: return take();
        case 3: return process.sleep(uint64_t{in_.take(1)} * in_.take(1) * sim::ms / 16);
        case 4: return connect_reply();
        default: return frame();
        }
    }

    mx_segment_t memory(uint32_t length)
    {
        memory_.emplace_back(new uint8_t[length]());
        return {memory_.back().get(), length};
    }
    void post()
    {
        if (memory_.size() > 60)
            return;
        mx_segment_t s = memory(in_.take(1) % 2 ? large : in_.take(2));
        mx_request_t r;
        mx_irecv(ep_, &s, 1, 0, 0, nullptr, &r);
    }
    void send()
    {
        if (memory_.size() > 60)
            return;
        mx_segment_t s = memory(in_.take(1) % 2 ? large : in_.take(2) % 9000);
        mx_request_t r;
        (in_.take(1) % 4 ? mx_isend : mx_issend)(ep_, &s, 1, peer_, in_.take(1), nullptr, &r);
    }
    void take()
    {
        mx_status_t status;
        uint32_t result;
        mx_test_any(ep_, 0, 0, &status, &result);
        uint8_t memory[64];
        mx_group_status_t came;
        must(!mx_group_receive(ep_, group, memory, sizeof memory, &came, &result));
        must(!result || (came.nic_id == peer_mac && came.length <= longest));
    }

    /// Remembers what a peer would have to echo.
    void note(const Frame &f)
    {
        for (const Field &field : fields_of(f))
            if (chosen_as(field) != USE_ANY)
                told_[chosen_as(field)] = get(f, field);
        if (f.at(EMX_OUTER_LEN) == EMX_CONNECT)
            session_ = static_cast<uint32_t>(get(f, get(f, "is_reply") ? "replier" : "requester"));
    }

    /// The value that a peer puts into that field now; `value` where that does not matter.
    uint64_t value_of(const Field &field, bool is_reply, uint64_t value)
    {
        const std::string name = field.name;
        switch (field.use) {
        case USE_TAG:
        case USE_ADVERT:
        case USE_SEEN:
        case USE_UNREAD: return 1;
        case USE_TO: return 5;
        case USE_FROM: return 2;
        case USE_KEY: return key;
        case USE_REPLIER: return peer_session;
        case USE_REQUESTER: return is_reply ? session_ : peer_session;
        case USE_SESSION: return session_;
        case USE_COUNTER: return ++counter_;
        case USE_NUMBER: return next_;
        case USE_LAST: return 1;
        default: break;
        }
        if (name == "dst")
            return fw_is_group_mac(value) ? value : board().fw().mac;
        if (name == "src")
            return peer_mac;
        if (name == "x_checksum")
            return 0; // none
        return chosen_as(field) != USE_ANY ? told_[chosen_as(field)] : value;
    }

    /// A golden frame of that type as the peer could send it now.
    Frame fitted(uint8_t type, bool is_reply)
    {
        std::vector<const Frame *> of_type;
        for (const Frame &g : golden())
            if (g[EMX_OUTER_LEN] == type && (type != EMX_CONNECT || (get(g, "is_reply") != 0) == is_reply))
                of_type.push_back(&g);
        must(!of_type.empty());
        Frame f = *of_type[of_type.size() == 1 ? 0 : in_.take(1) % of_type.size()];
        for (const Field &field : fields_of(f))
            put(f, field, value_of(field, is_reply, get(f, field)));
        if (type == EMX_CONNECT)
            offer(f);
        return f;
    }
    /// A good one, of a peer that has some features of the extension or all.
    void offer(Frame &f)
    {
        f.resize(EMX_OUTER_LEN + sizeof(wire_offering));
        emx_w_offer w{
            EMX_X_VERSION,   EMX_X_VERSION, emx_put16(static_cast<uint16_t>(in_.take(1) % (2 * EMX_X_TCP))),
            emx_put16(4200), emx_put16(32), {}};
        std::memcpy(&f[f.size() - sizeof w], &w, sizeof w);
        w.check = emx_put64(fw_offer_check(f.data()));
        std::memcpy(&f[f.size() - sizeof w], &w, sizeof w);
    }
    void connect_reply() { inject(fitted(EMX_CONNECT, true)); }

    void frame()
    {
        uint8_t type = golden()[in_.take(1) % golden().size()][EMX_OUTER_LEN];
        Frame f = fitted(type, false);
        size_t length = f.size();
        f.resize(longest);
        mutate(f.data(), &length, f.size(), 'W', &choices_);
        f.resize(length);
        if (in_.take(1) < 200 && (is_eager(type) || type == EMX_X_MEDIUM))
            next_ = (next_ & 0xc000) | ((next_ + 1) & 0x3fff);
        inject(f);
    }
    void inject(Frame f)
    {
        emx::fuzz::count_frame();
        board().arrive(std::move(f));
    }

    Input &in_;
    Choices choices_{in_};
    sim::World world_;
    sim::Network network_;
    sim::Host host_;
    mx_endpoint_t ep_ = nullptr;
    mx_endpoint_addr_t peer_{};
    uint32_t session_ = 0, counter_ = 0;
    uint64_t next_ = 1;
    std::map<wire_use, uint64_t> told_;
    std::vector<std::unique_ptr<uint8_t[]>> memory_;
    std::unique_ptr<sim::Process> process_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input in(data, size);
    Bench bench(in);
    bench.run();
    return 0;
}
