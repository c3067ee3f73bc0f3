// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Fuzzes a working endpoint of the library: golden frames, those of the extension among them, fitted to the
// live exchange and then altered field by field, while receives, sends and pulls are under way. Input: steps
// of an opcode byte and its operands.
#include "input.hpp"

#include <tests/interop/fields.hpp>
#include <tests/sim/process.hpp>

#include <mx_extensions.h>
#include <myriexpress.h>

#include <emx/wire.h>

#include <driver/core/fw.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace emx::interop;
using emx::fuzz::Input;
using emx::fuzz::must;
namespace sim = emx::sim;

constexpr uint64_t peer_mac = 0x02000000000a;
constexpr uint32_t peer_session = 0x11223344, key = 7;
constexpr uint32_t large = 100000; // bytes

/// Golden frames of dialect W, padded, with room for the data they state.
const std::vector<Frame> &golden()
{
    static const std::vector<Frame> frames = [] {
        std::vector<Frame> all;
        std::vector<std::filesystem::path> paths;
        for (auto &e : std::filesystem::directory_iterator(EMX_WIRE_FOLDER))
            if (e.path().extension() == ".hex" && e.path().stem().string().find("n9000") == std::string::npos)
                paths.push_back(e.path());
        std::sort(paths.begin(), paths.end());
        for (auto &path : paths) {
            std::ifstream in(path);
            Frame f;
            for (std::string line, byte; std::getline(in, line);) {
                std::istringstream words(line);
                if (line.empty() || line[0] == '#' || !(words >> byte))
                    continue;
                while (words >> byte)
                    f.push_back(static_cast<uint8_t>(std::stoul(byte, nullptr, 16)));
            }
            if (f.at(EMX_OUTER_LEN) == EMX_MEDIUM || f[EMX_OUTER_LEN] == EMX_PULL_REPLY)
                f.resize(4144);
            all.push_back(f);
        }
        must(all.size() >= 12);
        return all;
    }();
    return frames;
}

constexpr uint8_t B = EMX_OUTER_LEN;

/// What fields_of leaves out, because no capture has it: the EtherMX extension (docs/protocol.md).
const Field extension[] = {
    {EMX_CONNECT, "versions", B + 32, 2},
    {EMX_CONNECT, "features", B + 34, 2},
    {EMX_CONNECT, "longest frame", B + 36, 2},
    {EMX_CONNECT, "frames held", B + 38, 2},
    {EMX_CONNECT, "check value", B + 40, 8},

    {EMX_X_MEDIUM, "length", B + 4, 4},
    {EMX_X_MEDIUM, "sequence number", B + 8, 2},
    {EMX_X_MEDIUM, "ack", B + 10, 2},
    {EMX_X_MEDIUM, "session", B + 20, 4, Use::session},
    {EMX_X_MEDIUM, "position", B + 24, 4},
    {EMX_X_MEDIUM, "fragment length", B + 28, 2},
    {EMX_X_MEDIUM, "fragment number", B + 30, 1},
    {EMX_X_MEDIUM, "checksum", B + 32, 4},

    {EMX_X_REPORT, "flags", B + 3, 1},
    {EMX_X_REPORT, "session", B + 4, 4, Use::session},
    {EMX_X_REPORT, "ack", B + 8, 2},
    {EMX_X_REPORT, "next number", B + 10, 2},
    {EMX_X_REPORT, "counter", B + 12, 4, Use::counter},
    {EMX_X_REPORT, "echo", B + 16, 4},
    {EMX_X_REPORT, "room", B + 20, 2},
    {EMX_X_REPORT, "state length", B + 22, 2},
    {EMX_X_REPORT, "numbers here", B + 24, 8},
    {EMX_X_REPORT, "fragments here", B + 40, 4},

    {EMX_X_PULL, "flags", B + 3, 1},
    {EMX_X_PULL, "session", B + 4, 4, Use::session},
    {EMX_X_PULL, "total length", B + 8, 4},
    {EMX_X_PULL, "window", B + 12, 2, Use::window},
    {EMX_X_PULL, "window offset", B + 14, 2},
    {EMX_X_PULL, "handle and magic", B + 16, 8},
    {EMX_X_PULL, "unit", B + 24, 2},
    {EMX_X_PULL, "request", B + 26, 2},
    {EMX_X_PULL, "first", B + 28, 4},
    {EMX_X_PULL, "wanted", B + 32, 8},

    {EMX_X_DATA, "handle and magic", B + 4, 8, Use::handle},
    {EMX_X_DATA, "frame", B + 12, 4},
    {EMX_X_DATA, "request", B + 16, 2},
    {EMX_X_DATA, "data length", B + 18, 2},
    {EMX_X_DATA, "checksum", B + 20, 4},
};

std::vector<Field> all_fields_of(uint8_t type)
{
    std::vector<Field> all = fields_of(type);
    if (type >= EMX_X_MEDIUM) {
        all.push_back({0, "destination endpoint", B + 1, 1});
        all.push_back({0, "source endpoint", B + 2, 1});
    }
    for (const Field &f : extension)
        if (f.type == type)
            all.push_back(f);
    return all;
}

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
    }

    /// Remembers what a peer would have to echo.
    void note(const Frame &f)
    {
        for (const Field &field : all_fields_of(f.at(EMX_OUTER_LEN)))
            if (field.use != Use::same)
                told_[field.use] = get(f, field);
        if (f[EMX_OUTER_LEN] == EMX_CONNECT)
            session_ =
                static_cast<uint32_t>(get(f, get(f, "is reply") ? "key or session" : "requester's session"));
    }

    /// A golden frame of that type as the peer could send it now.
    Frame fitted(uint8_t type, bool is_reply)
    {
        Frame f;
        for (const Frame &g : golden())
            if (g[EMX_OUTER_LEN] == type && (type != EMX_CONNECT || (get(g, "is reply") != 0) == is_reply))
                f = g;
        must(!f.empty());
        for (const Field &field : all_fields_of(type)) {
            std::string name = field.name;
            if (name == "destination MAC")
                put(f, field, board().fw().mac);
            else if (name == "source MAC")
                put(f, field, peer_mac);
            else if (name == "tag" || name == "advert" || name == "start number" || name == "ack")
                put(f, field, 1);
            else if (name == "destination endpoint")
                put(f, field, 5);
            else if (name == "source endpoint")
                put(f, field, 2);
            else if (name == "checksum")
                put(f, field, 0); // none
            else if (name == "key or session")
                put(f, field, is_reply ? peer_session : key);
            else if (name == "requester's session")
                put(f, field, is_reply ? session_ : peer_session);
            else if (field.use != Use::same && field.use != Use::tag)
                put(f, field,
                    field.use == Use::session   ? session_
                    : field.use == Use::counter ? ++counter_
                                                : told_[field.use]);
            else if (name == "sequence number" && type != EMX_CONNECT)
                put(f, field, type == EMX_NACK_LIB ? 1 : next_);
        }
        if (type == EMX_CONNECT)
            offer(f);
        return f;
    }
    /// A good one, of a peer that has some features of the extension or all.
    void offer(Frame &f)
    {
        f.resize(EMX_OUTER_LEN + sizeof(emx_w_connect) + sizeof(emx_w_offer));
        for (const Field &field : extension) {
            const std::string name = field.name;
            if (name == "versions")
                put(f, field, EMX_X_VERSION << 8 | EMX_X_VERSION);
            else if (name == "features")
                put(f, field, in_.take(1) % 16);
            else if (name == "longest frame")
                put(f, field, 4200);
            else if (name == "frames held")
                put(f, field, 32);
            else if (name == "check value")
                put(f, field, fw_offer_check(f.data()));
        }
    }
    void connect_reply() { inject(fitted(EMX_CONNECT, true)); }

    void frame()
    {
        uint8_t type = golden()[in_.take(1) % golden().size()][EMX_OUTER_LEN];
        Frame f = fitted(type, false);
        auto fields = all_fields_of(type);
        for (uint32_t n = in_.take(1) % 5; n > 0; n--)
            alter(f, fields[in_.take(1) % fields.size()]);
        uint32_t how = in_.take(1);
        if (how == 255)
            f.resize(1 + in_.take(2) % 4200);
        if (how < 200 && ((type >= EMX_TINY && type <= EMX_RNDV) || type == EMX_X_MEDIUM))
            next_ = (next_ & 0xc000) | ((next_ + 1) & 0x3fff);
        inject(f);
    }
    void alter(Frame &f, const Field &field)
    {
        uint64_t v = field.at + field.size <= f.size() ? get(f, field) : 0;
        switch (in_.take(1) % 5) {
        case 0: v = in_.take(1); break;
        case 1: v = uint64_t{in_.take(4)} << 32 | in_.take(4); break;
        case 2: v += in_.take(1) % 16; break;
        case 3: v -= in_.take(1) % 16; break;
        case 4: v ^= 1ull << in_.take(1) % 64; break;
        }
        if ((field.at >= 6 || in_.take(1) % 8 == 0) && field.at + field.size <= f.size()) // mostly for us
            put(f, field, v);
    }
    void inject(Frame f)
    {
        emx::fuzz::count_frame();
        board().arrive(std::move(f));
    }

    Input &in_;
    sim::World world_;
    sim::Network network_;
    sim::Host host_;
    mx_endpoint_t ep_ = nullptr;
    mx_endpoint_addr_t peer_{};
    uint32_t session_ = 0, counter_ = 0;
    uint64_t next_ = 1;
    std::map<Use, uint64_t> told_;
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
