// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Fuzzes the programming interface: two simulated processes call mx_* and omx_* functions in any order,
// with live, stale and invented handles, from handlers too, over a network that loses and repeats frames.
// Input: network and hosts, then steps of an opcode byte and operands, taken by whichever process runs.
#include "input.hpp"

#include <tests/sim/process.hpp>

#include <mx_extensions.h>
#include <myriexpress.h>
#include <open-mx.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using emx::fuzz::Input;
using emx::fuzz::must;
namespace sim = emx::sim;

constexpr uint64_t time_limit = 5000 * sim::sec;
constexpr uint32_t longest = 150000; // bytes of a message
constexpr uint32_t settle_rounds = 400; // about 800 s of waiting, more than the repeats of a send

class Player;
Player *current_player(void *context) { return static_cast<Player *>(context); }

/// One simulated program.
class Player {
public:
    Player(Input &input, sim::Network &network, uint32_t number)
        : in_(input), network_(network), number_(number)
    {
        endpoints_.fill(nullptr);
        requests_.fill(nullptr);
    }

    void run(sim::Process &process)
    {
        process_ = &process;
        mx_set_error_handler(MX_ERRORS_RETURN);
        if (in_.byte() % 8) { // mostly, what most programs do first
            mx_init();
            open();
            connect();
        }
        while (!in_.empty())
            step();
        settle();
        close_all();
        mx_finalize();
    }

    /// Opcode of the step under way, for whoever asks why a run does not end.
    uint32_t last() const { return last_; }

private:
    /// A handler of unexpected messages, which may do nearly anything.
    static mx_unexp_handler_action_t on_unexpected(void *context, mx_endpoint_addr_t source, uint64_t match,
                                                   uint32_t length, void *data)
    {
        Player &p = *current_player(context);
        p.addresses_[p.number_ % 2] = source;
        if (data && length) // readable as a whole
            p.sink_ = p.sink_ + static_cast<uint8_t *>(data)[0] + static_cast<uint8_t *>(data)[length - 1];
        p.sink_ = p.sink_ + static_cast<uint8_t>(match);
        p.depth_++;
        for (uint32_t n = p.depth_ > 2 ? 0 : p.in_.byte() % 4; n > 0; n--)
            p.step();
        p.depth_--;
        return p.in_.byte() % 2 ? MX_RECV_FINISHED : MX_RECV_CONTINUE;
    }
    static omx_unexp_handler_action_t on_unexpected_omx(void *context, omx_endpoint_addr_t source,
                                                        uint64_t match, uint32_t length, void *data)
    {
        mx_endpoint_addr_t from;
        std::memcpy(&from, &source, sizeof from);
        return on_unexpected(context, from, match, length, data) == MX_RECV_FINISHED
                   ? OMX_UNEXP_HANDLER_RECV_FINISHED
                   : OMX_UNEXP_HANDLER_RECV_CONTINUE;
    }
    static omx_return_t on_error_omx(const char *text, omx_return_t code)
    {
        must(text && *text);
        return code;
    }
    static void on_matching(void *context, uint64_t, int) { current_player(context)->progress(); }

    mx_endpoint_t endpoint()
    {
        uint32_t how = in_.byte();
        if (how == 255)
            return nullptr;
        if (how == 254)
            return reinterpret_cast<mx_endpoint_t>(static_cast<uintptr_t>(in_.take(4)));
        return endpoints_[how % endpoints_.size()];
    }
    mx_request_t &request()
    {
        mx_request_t &r = requests_[in_.byte() % requests_.size()];
        if (in_.byte() >= 252)
            r = reinterpret_cast<mx_request_t>(static_cast<uintptr_t>(in_.take(4)));
        return r;
    }
    mx_endpoint_addr_t address()
    {
        mx_endpoint_addr_t a = addresses_[in_.byte() % addresses_.size()];
        if (in_.byte() >= 254)
            a.stuff[in_.byte() % (MX_SIZEOF_ADDR / 8)] ^= in_.take(4);
        return a;
    }
    uint64_t mask()
    {
        return std::array<uint64_t, 4>{0ull, ~0ull, 0xffull, 0xf0f0f0f000000000ull}[in_.byte() % 4];
    }
    uint64_t bits()
    {
        uint64_t b = in_.take(1) % 8;
        return in_.byte() > 250 ? b << 32 | in_.take(4) : b;
    }
    uint32_t timeout() { return 1u + in_.byte() % 64; } // 0 is MX_INFINITE
    uint64_t nic() { return 0x020000000001 | uint64_t{in_.take(1) % 3 + 1} << 8; }
    void *context() { return this; }

    /// Fresh memory, which lives to the end, in up to a few pieces.
    std::vector<mx_segment_t> segments()
    {
        static constexpr uint32_t lengths[] = {0,    1,    32,    33,    128,   129,
                                               4096, 4097, 32768, 32769, 40000, longest};
        uint32_t length = in_.byte() % 2 ? lengths[in_.byte() % 12] : in_.take(2);
        uint32_t pieces = in_.byte();
        pieces = pieces < 160    ? 1
                 : pieces < 250  ? pieces % 8
                 : pieces == 250 ? 255
                 : pieces == 251 ? 256
                                 : 257;
        std::vector<mx_segment_t> list;
        if (used_ > 8000000)
            length = 16;
        used_ += length;
        for (uint32_t i = 0; i < pieces; i++) {
            uint32_t n = i + 1 == pieces ? length : length / 2;
            length -= n;
            memory_.emplace_back(new uint8_t[n]());
            list.push_back({n ? memory_.back().get() : nullptr, n});
        }
        return list;
    }

    void step();
    void open()
    {
        mx_param_t params[2] = {};
        params[0].key = MX_PARAM_ERROR_HANDLER;
        params[0].val.error_handler = MX_ERRORS_RETURN;
        params[1].key =
            in_.byte() < 200 ? MX_PARAM_UNEXP_QUEUE_MAX : static_cast<mx_param_key_t>(in_.byte() % 4);
        params[1].val.context_id = {static_cast<uint8_t>(in_.byte() % 20),
                                    static_cast<uint8_t>(in_.byte() % 70)};
        if (params[1].key == MX_PARAM_ERROR_HANDLER)
            params[1].val.error_handler = MX_ERRORS_RETURN;
        uint32_t number = in_.byte() % 4, count = 1 + in_.byte() % 2;
        mx_endpoint_t &slot = endpoints_[in_.byte() % endpoints_.size()];
        mx_endpoint_t fresh = nullptr;
        mx_open_endpoint(in_.byte() % 32 ? 0 : in_.take(4), in_.byte() % 16 ? number : in_.take(4), 7, params,
                         count, &fresh);
        if (!fresh)
            return;
        if (slot)
            spare_.push_back(slot);
        slot = fresh;
    }
    void open_omx()
    {
        omx_endpoint_t fresh = nullptr;
        omx_open_endpoint(in_.byte() % 2 ? OMX_ANY_NIC : 0, in_.byte() % 2 ? OMX_ANY_ENDPOINT : in_.byte(), 7,
                          nullptr, 0, &fresh);
        if (fresh)
            spare_.push_back(reinterpret_cast<mx_endpoint_t>(fresh));
    }
    void close_one()
    {
        mx_endpoint_t ep = endpoint();
        mx_close_endpoint(ep);
    }
    void close_all()
    {
        for (mx_endpoint_t ep : endpoints_)
            mx_close_endpoint(ep);
        for (mx_endpoint_t ep : spare_)
            mx_close_endpoint(ep);
        if (!process_->context())
            return;
        auto c = process_->context()->census();
        must(!c.endpoints && !c.requests && !c.incoming && !c.tx_messages && !c.windows);
    }
    void note(const mx_request_t *handle)
    {
        if (handle && *handle)
            posted_.push_back(*handle);
    }
    /// Lets everything come to its end, as a program may that waits for its requests: nothing is left then.
    void settle();
    void settle(mx_endpoint_t ep);
    std::string left_over();
    void connect()
    {
        mx_endpoint_t ep = endpoint();
        uint64_t to = nic();
        uint32_t number = in_.byte() % 5, key = in_.byte() % 16 ? 7 : 8;
        mx_connect(ep, to, number, key, timeout(), &addresses_[in_.byte() % addresses_.size()]);
    }
    void send(bool synchronous)
    {
        auto list = segments();
        mx_request_t *r = in_.byte() % 8 ? &request() : nullptr;
        auto count = static_cast<uint32_t>(list.size());
        mx_endpoint_t ep = endpoint();
        mx_endpoint_addr_t to = address();
        uint64_t match = bits();
        (synchronous ? mx_issend : mx_isend)(ep, list.data(), count, to, match, context(), r);
        note(r);
    }
    void send_omx()
    {
        auto list = segments();
        void *buffer = list.empty() ? nullptr : list[0].segment_ptr;
        size_t length = list.empty() ? 0 : list[0].segment_length;
        mx_endpoint_addr_t to = address();
        omx_endpoint_addr_t dest;
        std::memcpy(&dest, &to, sizeof dest);
        auto ep = reinterpret_cast<omx_endpoint_t>(endpoint());
        auto *r = reinterpret_cast<omx_request_t *>(&request());
        (in_.byte() % 2 ? omx_issend : omx_isend)(ep, buffer, length, dest, bits(), context(), r);
    }
    void receive()
    {
        auto list = segments();
        mx_request_t *r = in_.byte() % 16 ? &request() : nullptr;
        mx_endpoint_t ep = endpoint();
        uint64_t m = mask(), b = bits();
        if (in_.byte() % 16)
            b &= m;
        mx_irecv(ep, list.data(), static_cast<uint32_t>(list.size()), b, m, context(), r);
        expected_.push_back(b & m);
        note(r);
    }
    void receive_omx()
    {
        auto list = segments();
        void *buffer = list.empty() ? nullptr : list[0].segment_ptr;
        size_t length = list.empty() ? 0 : list[0].segment_length;
        uint64_t m = mask();
        uint64_t b = bits() & m;
        mx_request_t &r = request();
        omx_irecv(omx_endpoint(), buffer, length, b, m, context(), reinterpret_cast<omx_request_t *>(&r));
        expected_.push_back(b);
        note(&r);
    }
    omx_endpoint_t omx_endpoint() { return reinterpret_cast<omx_endpoint_t>(endpoint()); }
    omx_request_t &omx_request() { return reinterpret_cast<omx_request_t &>(request()); }
    void progress() { mx_progress(endpoint()); }
    void complete();
    void complete_omx();
    void request_call();
    void addresses_and_names();
    void information();
    void handlers();

    Input &in_;
    sim::Network &network_;
    uint32_t number_;
    sim::Process *process_ = nullptr;
    std::array<mx_endpoint_t, 3> endpoints_;
    std::vector<mx_endpoint_t> spare_;
    std::array<mx_request_t, 8> requests_;
    std::array<mx_endpoint_addr_t, 4> addresses_{};
    std::vector<std::unique_ptr<uint8_t[]>> memory_;
    uint64_t used_ = 0;
    uint32_t depth_ = 0;
    uint32_t last_ = ~0u;
    std::vector<uint64_t> expected_; ///< match bits of receives: forgotten ones have no handle to cancel
    std::vector<mx_request_t> posted_; ///< handles of receives and sends, lost ones too
    volatile uint32_t sink_ = 0;
};

void Player::complete()
{
    mx_status_t status;
    uint32_t result = 0;
    mx_request_t peeked = nullptr;
    mx_endpoint_t ep = endpoint();
    uint64_t m = mask(), b = bits() & m;
    switch (in_.byte() % 9) {
    case 0: mx_test(ep, &request(), &status, &result); break;
    case 1: mx_wait(ep, &request(), timeout(), &status, &result); break;
    case 2: mx_test_any(ep, b, m, &status, &result); break;
    case 3: mx_wait_any(ep, timeout(), b, m, &status, &result); break;
    case 4: mx_ipeek(ep, &peeked, &result); break;
    case 5: mx_peek(ep, timeout(), &peeked, &result); break;
    case 6: mx_iprobe(ep, b, m, &status, &result); break;
    case 7: mx_probe(ep, timeout(), b, m, &status, &result); break;
    case 8: mx_ibuffered(ep, &request(), &result); break;
    }
    if (result && peeked)
        requests_[0] = peeked;
}

void Player::complete_omx()
{
    omx_status_t status;
    uint32_t result = 0;
    omx_request_t peeked = nullptr;
    omx_endpoint_t ep = omx_endpoint();
    uint64_t m = mask(), b = bits() & m;
    switch (in_.byte() % 9) {
    case 0: omx_test(ep, &omx_request(), &status, &result); break;
    case 1: omx_wait(ep, &omx_request(), &status, &result, timeout()); break;
    case 2: omx_test_any(ep, b, m, &status, &result); break;
    case 3: omx_wait_any(ep, b, m, &status, &result, timeout()); break;
    case 4: omx_ipeek(ep, &peeked, &result); break;
    case 5: omx_peek(ep, &peeked, &result, timeout()); break;
    case 6: omx_iprobe(ep, b, m, &status, &result); break;
    case 7: omx_probe(ep, b, m, &status, &result, timeout()); break;
    case 8: omx_ibuffered(ep, &omx_request(), &result); break;
    }
}

void Player::request_call()
{
    uint32_t result = 0;
    void *c = nullptr;
    mx_endpoint_t ep = endpoint();
    switch (in_.byte() % 9) {
    case 0: mx_cancel(ep, &request(), &result); break;
    case 1: mx_forget(ep, &request()); break;
    case 2: mx_set_request_timeout(ep, in_.byte() % 4 ? request() : nullptr, in_.take(2)); break;
    case 3: mx_context(&request(), &c); break;
    case 4: mx_buffered(ep, &request(), timeout(), &result); break;
    case 5: omx_cancel(reinterpret_cast<omx_endpoint_t>(ep), &omx_request(), &result); break;
    case 6: omx_cancel_notest(reinterpret_cast<omx_endpoint_t>(ep), &omx_request(), &result); break;
    case 7: omx_forget(reinterpret_cast<omx_endpoint_t>(ep), &omx_request()); break;
    case 8: omx_context(&omx_request(), &c); break;
    }
}

void Player::addresses_and_names()
{
    mx_endpoint_addr_t a = address();
    uint64_t id = nic();
    uint32_t n = 0, session = 0;
    void *c = nullptr;
    char name[MX_MAX_HOSTNAME_LEN] = "h1:0";
    switch (in_.byte() % 11) {
    case 0: mx_disconnect(endpoint(), a); break;
    case 1: mx_iconnect(endpoint(), id, in_.byte() % 5, 7, bits(), context(), &request()); break;
    case 2: mx_get_endpoint_addr(endpoint(), &addresses_[0]); break;
    case 3:
        mx_decompose_endpoint_addr(a, in_.byte() % 2 ? &id : nullptr, in_.byte() % 2 ? &n : nullptr);
        break;
    case 4: mx_decompose_endpoint_addr2(a, &id, &n, &session); break;
    case 5: mx_set_endpoint_addr_context(a, context()); break;
    case 6: mx_get_endpoint_addr_context(a, &c); break;
    case 7:
        name[in_.byte() % 5] = static_cast<char>(in_.byte());
        mx_hostname_to_nic_id(name, &id);
        break;
    case 8: mx_nic_id_to_hostname(id, name); break;
    case 9: mx_board_number_to_nic_id(in_.byte(), &id); break;
    case 10: mx_nic_id_to_board_number(id, &n); break;
    }
}

void Player::information()
{
    uint32_t board = in_.byte() % 3, in_length = in_.byte() % 4 ? 4 : in_.byte() % 9,
             out_length = in_.take(2) % 8192;
    uint32_t padded[3] = {board, 0, 0};
    std::unique_ptr<uint8_t[]> out(new uint8_t[out_length]);
    mx_get_info(endpoint(), static_cast<mx_get_info_key_t>(in_.byte() % 20),
                in_.byte() % 4 ? padded : nullptr, in_length, out.get(), out_length);
    must(mx_strerror(static_cast<mx_return_t>(in_.byte())) &&
         mx_strstatus(static_cast<mx_status_code_t>(in_.byte())));
    must(omx_strerror(static_cast<omx_return_t>(in_.byte())) != nullptr);
}

void Player::handlers()
{
    mx_endpoint_t ep = endpoint();
    switch (in_.byte() % 10) {
    case 0:
    case 1:
    case 2: mx_register_unexp_handler(ep, on_unexpected, this); break;
    case 3: mx_register_unexp_handler(ep, nullptr, nullptr); break;
    case 4: mx_register_unexp_callback(ep, on_matching, this); break;
    case 5: mx_disable_progression(ep); break;
    case 6: mx_reenable_progression(ep); break;
    case 7: omx_register_unexp_handler(reinterpret_cast<omx_endpoint_t>(ep), on_unexpected_omx, this); break;
    case 8: omx_set_error_handler(reinterpret_cast<omx_endpoint_t>(ep), on_error_omx); break;
    case 9: omx_set_error_handler(nullptr, in_.byte() % 2 ? on_error_omx : OMX_ERRORS_RETURN); break;
    }
}

/// Gives up what waits for somebody else's deed: receives without a message, messages without a receive.
void Player::settle(mx_endpoint_t ep)
{
    mx_status_t status;
    uint32_t result = 0;
    mx_register_unexp_handler(ep, nullptr, nullptr);
    mx_reenable_progression(ep);
    for (mx_request_t copy : posted_)
        mx_cancel(ep, &copy, &result);
    mx_endpoint_addr_t own;
    if (mx_get_endpoint_addr(ep, &own) == MX_SUCCESS)
        for (uint64_t match : expected_)
            mx_isend(ep, nullptr, 0, own, match, nullptr, nullptr);
    while (mx_iprobe(ep, 0, 0, &status, &result) == MX_SUCCESS && result) {
        mx_request_t taken = nullptr;
        if (mx_irecv(ep, nullptr, 0, status.match_info, ~0ull, nullptr, &taken) != MX_SUCCESS)
            break;
    }
    while (mx_test_any(ep, 0, 0, &status, &result) == MX_SUCCESS && result) {
    }
}

std::string Player::left_over()
{
    if (!process_->context())
        return {};
    const auto c = process_->context()->census();
    const std::pair<const char *, uint32_t> counts[] = {{"requests", c.requests},
                                                        {"incoming messages", c.incoming},
                                                        {"queued sends", c.tx_messages},
                                                        {"windows", c.windows},
                                                        {"busy partners", c.busy_partners}};
    std::string text;
    for (const auto &[what, count] : counts)
        if (count)
            text += " " + std::to_string(count) + " " + what;
    return text;
}

void Player::settle()
{
    network_.faults = {};
    std::vector<mx_endpoint_t> all(spare_);
    all.insert(all.end(), endpoints_.begin(), endpoints_.end());
    mx_status_t status;
    uint32_t result = 0;
    std::string left;
    for (uint32_t round = 0; round < settle_rounds; round++) {
        for (mx_endpoint_t ep : all)
            settle(ep);
        left = left_over();
        if (left.empty())
            return;
        posted_.clear();
        expected_.clear();
        for (mx_endpoint_t ep : all)
            mx_wait_any(ep, 50 + 10 * round, 0, 0, &status, &result);
    }
    std::fprintf(stderr, "player %u keeps:%s\n", number_, left.c_str());
    must(left.empty());
}

void Player::step()
{
    last_ = in_.take(1) % 24;
    switch (last_) {
    case 0: return depth_ ? progress() : open();
    case 1: return close_one();
    case 2: return connect();
    case 3:
    case 4: return send(false);
    case 5: return send(true);
    case 6: return send_omx();
    case 7:
    case 8: return receive();
    case 9: return receive_omx();
    case 10:
    case 11: return complete();
    case 12: return complete_omx();
    case 13: return request_call();
    case 14: return addresses_and_names();
    case 15: return information();
    case 16: return handlers();
    case 17: return progress();
    case 18: mx_wakeup(endpoint()); return;
    case 19:
        if (!depth_)
            process_->sleep(uint64_t{in_.byte()} * sim::ms);
        return;
    case 20:
        network_.faults.loss = in_.byte() * 2;
        network_.faults.duplicate = in_.byte();
        return;
    case 21:
        network_.faults.reorder = in_.byte() * 2;
        network_.faults.refuse = in_.byte();
        return;
    case 22:
        if (!depth_ && in_.byte() % 4 == 0)
            mx_finalize();
        return;
    case 23:
        if (!depth_)
            in_.byte() % 2 ? static_cast<void>(mx_init()) : static_cast<void>(omx_init());
        else
            open_omx();
        return;
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input in(data, size);
    sim::HostOptions options;
    uint32_t setup = in.byte();
    options.dialect = setup & 1 ? 'N' : 'W';
    options.dialect_mtu = setup & 2 ? 9000 : 1500;
    options.polled = (setup & 4) != 0;
    options.ring_entries = setup & 16 ? 16 : 256;
    sim::World world(in.byte());
    sim::Network network(world);
    std::vector<std::unique_ptr<sim::Host>> hosts;
    uint32_t count = setup & 8 ? 1 : 2;
    for (uint32_t h = 0; h < count; h++)
        hosts.push_back(std::make_unique<sim::Host>(world, network, h, options));
    sim::introduce(hosts, world.rng);
    std::vector<std::unique_ptr<Player>> players;
    std::vector<std::unique_ptr<sim::Process>> processes;
    for (uint32_t i = 0; i < 2; i++) {
        players.push_back(std::make_unique<Player>(in, network, i));
        processes.push_back(std::make_unique<sim::Process>(
            *hosts[i % count], "player", [p = players.back().get()](sim::Process &q) { p->run(q); }));
    }
    bool ended =
        world.run([&] { return processes[0]->done() && processes[1]->done(); }, world.now() + time_limit);
    if (!network.violation().empty())
        std::fprintf(stderr, "forbidden frame: %s\n", network.violation().c_str());
    must(network.violation().empty());
    for (uint32_t i = 0; i < 2 && !ended; i++)
        std::fprintf(stderr, "player %u %s, last step %u\n", i, processes[i]->done() ? "ended" : "hangs",
                     players[i]->last());
    if (!ended)
        std::fprintf(stderr, "time %llu ms, %llu steps\n",
                     static_cast<unsigned long long>(world.now() / sim::ms),
                     static_cast<unsigned long long>(world.steps()));
    must(ended);
    return 0;
}
