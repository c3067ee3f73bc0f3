// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The MX side of omx_check: its client and its server.
#include "tools/omx_check/partner.hpp"

#include "driver/base/clock.hpp"
#include "tools/cli.hpp"

#include <emx/wire.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace emx::check {

namespace {

constexpr uint32_t key = 0x0c4ec;
constexpr uint32_t long_message = 1 << 20;
constexpr unsigned long_messages = 64;
constexpr unsigned long_in_flight = 4;
constexpr unsigned pings = 500;
constexpr uint32_t patience_ms = 4000;
constexpr unsigned patience_most = 15; // times that, while data moves
// Frames in that time: of data that does not arrive a puller asks for a few again, ever more seldom.
constexpr uint64_t frames_of_progress = 64;
constexpr uint32_t retry_us = 20000;

// Match information of requests and of their answers.
constexpr uint64_t word_settings = 1;
constexpr uint64_t word_ping = 2;
constexpr uint64_t word_data = 3; // a long message, answered by an empty one
constexpr uint64_t word_want = 4; // answered by a long message
constexpr uint64_t answered = uint64_t{1} << 32;

struct SettingsMessage {
    emx_be32 version;
    emx_be32 dialect;
    emx_be32 size;
    emx_be32 mtu;
};
constexpr uint32_t version = 1;

std::string last_error;

mx_return_t remember_error(char *text, mx_return_t code)
{
    last_error = text ? text : mx_strerror(code);
    return code;
}

[[noreturn]] void fail(mx_return_t code, const std::string &what)
{
    throw cli::Failure(what + ": " + (last_error.empty() ? mx_strerror(code) : last_error));
}

void check(mx_return_t code, const char *what)
{
    if (code != MX_SUCCESS)
        fail(code, what);
}

SettingsMessage encode(const Settings &s)
{
    return {emx_put32(version), emx_put32(static_cast<uint32_t>(s.dialect)), emx_put32(s.size),
            emx_put32(s.mtu)};
}

} // namespace

std::string Settings::text() const
{
    return std::string(1, dialect) + (size ? "=" + std::to_string(size) : "");
}

Settings settings_of(const BoardFacts &board)
{
    return {board.sizes.dialect == FW_DIALECT_W ? 'W' : 'N', board.sizes.mtu, board.mtu};
}

Partner::Partner(uint32_t board, uint32_t endpoint)
    : board_(board), memory_(long_in_flight * std::size_t{long_message})
{
    mx_set_error_handler(remember_error);
    check(mx_init(), "cannot use MX");
    const mx_return_t code = mx_open_endpoint(board, endpoint, key, nullptr, 0, &endpoint_);
    if (code != MX_SUCCESS)
        mx_finalize();
    check(code, "cannot open an endpoint");
}

Partner::~Partner()
{
    mx_close_endpoint(endpoint_);
    mx_finalize();
}

uint8_t Partner::number() const
{
    mx_endpoint_addr_t address;
    uint32_t number = 0;
    check(mx_get_endpoint_addr(endpoint_, &address), "cannot tell the endpoint");
    check(mx_decompose_endpoint_addr(address, nullptr, &number), "cannot tell the endpoint");
    return static_cast<uint8_t>(number);
}

uint64_t Partner::resolve(const std::string &host, uint32_t patience)
{
    uint64_t id = cli::parse_mac_or_name(host);
    std::string name = host;
    const uint64_t deadline = monotonic_ns() + uint64_t{patience} * 1'000'000;
    while (id == 0 && mx_hostname_to_nic_id(name.data(), &id) != MX_SUCCESS) {
        if (monotonic_ns() > deadline)
            throw cli::Failure("no board is called \"" + host +
                               "\": omx_info shows the known ones; give the MAC address, or tell the name by "
                               "omx_init_peers");
        usleep(retry_us);
    }
    return id;
}

Contact Partner::connect(uint64_t nic_id, uint32_t endpoint, uint32_t patience)
{
    const mx_return_t code = mx_connect(endpoint_, nic_id, endpoint, key, patience, &server_);
    switch (code) {
    case MX_SUCCESS: return Contact::served;
    case MX_CONNECTION_FAILED:
    case MX_BAD_ENDPOINT_ID:
    case MX_BAD_CONNECTION_KEY: return Contact::refused;
    case MX_TIMEOUT: return Contact::nothing;
    case MX_NIC_NOT_FOUND:
        throw cli::Failure("the peer table of this host is complete, and that board is not in it: add it "
                           "with omx_init_peers " +
                           cli::mac_text(nic_id) + " NAME");
    default: fail(code, "cannot connect");
    }
}

mx_request_t Partner::post_receive(void *data, uint32_t length, uint64_t match, uint64_t mask)
{
    mx_segment_t segment{data, length};
    mx_request_t request = nullptr;
    check(mx_irecv(endpoint_, &segment, 1, match, mask, data, &request), "cannot receive");
    return request;
}

mx_request_t Partner::post_send(mx_endpoint_addr_t to, void *data, uint32_t length, uint64_t match)
{
    mx_segment_t segment{data, length};
    mx_request_t request = nullptr;
    check(mx_isend(endpoint_, &segment, 1, to, match, nullptr, &request), "cannot send");
    return request;
}

/// Frames of long messages that the board has sent or received; a packet by TCP counts as many.
uint64_t Partner::data_seen() const
{
    const emx_counters seen = BoardView::open()->counters(board_);
    return seen.v[EMX_CNT_RX_X_DATA] + seen.v[EMX_CNT_TX_X_DATA] + seen.v[EMX_CNT_RX_PULL_REPLY] +
           seen.v[EMX_CNT_TX_PULL_REPLY] +
           frames_of_progress * (seen.v[EMX_CNT_RX_TCP] + seen.v[EMX_CNT_TX_TCP]);
}

bool Partner::finish(mx_request_t &request)
{
    mx_status_t status;
    uint32_t result = 0;
    uint64_t seen = 0; // of what the board did before nothing is known: the first wait is rarely the last
    for (unsigned waits = 0; waits < patience_most; waits++) {
        if (mx_wait(endpoint_, &request, patience_ms, &status, &result) != MX_SUCCESS)
            return false;
        if (result == 1)
            return status.code == MX_STATUS_SUCCESS;
        const uint64_t now = data_seen();
        if (now < seen + frames_of_progress)
            return false;
        seen = now;
    }
    return false;
}

std::optional<Settings> Partner::exchange_settings(const Settings &own)
{
    SettingsMessage ours = encode(own), theirs{};
    mx_request_t answer = post_receive(&theirs, sizeof(theirs), word_settings | answered, MX_MATCH_MASK_NONE);
    mx_request_t request = post_send(server_, &ours, sizeof(ours), word_settings);
    if (!finish(request) || !finish(answer) || emx_get32(theirs.version) != version)
        return {};
    return Settings{static_cast<char>(emx_get32(theirs.dialect)), emx_get32(theirs.size),
                    emx_get32(theirs.mtu)};
}

std::optional<double> Partner::latency()
{
    std::vector<uint64_t> halves;
    for (unsigned i = 0; i < pings; i++) {
        const uint64_t began = monotonic_ns();
        mx_request_t answer = post_receive(nullptr, 0, word_ping | answered, MX_MATCH_MASK_NONE);
        mx_request_t request = post_send(server_, nullptr, 0, word_ping);
        if (!finish(answer) || !finish(request))
            return {};
        halves.push_back((monotonic_ns() - began) / 2);
    }
    std::nth_element(halves.begin(), halves.begin() + pings / 2, halves.end());
    return static_cast<double>(halves[pings / 2]);
}

std::optional<double> Partner::rate(bool to_server)
{
    const uint64_t word = to_server ? word_data : word_want;
    mx_request_t answers[long_in_flight], requests[long_in_flight];
    const auto start = [&](unsigned slot) {
        uint8_t *memory = memory_.data() + slot * std::size_t{long_message};
        answers[slot] =
            post_receive(memory, to_server ? 0 : long_message, word | answered, MX_MATCH_MASK_NONE);
        requests[slot] = post_send(server_, memory, to_server ? long_message : 0, word);
    };
    const uint64_t began = monotonic_ns();
    for (unsigned i = 0; i < long_in_flight; i++)
        start(i);
    for (unsigned i = 0; i < long_messages; i++) {
        if (!finish(requests[i % long_in_flight]) || !finish(answers[i % long_in_flight]))
            return {};
        if (i + long_in_flight < long_messages)
            start(i % long_in_flight);
    }
    const auto ns = static_cast<double>(monotonic_ns() - began);
    return double{long_messages} * long_message * 1000 / ns;
}

std::optional<double> Partner::send_rate() { return rate(true); }
std::optional<double> Partner::receive_rate() { return rate(false); }

/// Waits for nothing: a client that is gone must not hold up the next one.
void Partner::answer(const mx_status_t &request, const Settings &own)
{
    static SettingsMessage settings;
    settings = encode(own);
    void *data = request.match_info == word_settings ? static_cast<void *>(&settings) : memory_.data();
    const uint32_t length = request.match_info == word_settings ? sizeof(settings)
                            : request.match_info == word_want   ? long_message
                                                                : 0;
    post_send(request.source, data, length, request.match_info | answered);
}

void Partner::serve(const Settings &own)
{
    // One part of the memory is what clients get, the others take what they send.
    for (unsigned i = 1; i < long_in_flight; i++)
        post_receive(memory_.data() + i * std::size_t{long_message}, long_message, 0, 0);
    for (;;) {
        mx_status_t status;
        uint32_t result = 0;
        check(mx_wait_any(endpoint_, MX_INFINITE, 0, 0, &status, &result), "mx_wait_any");
        if (!result || !status.context) // a send: however it ended, its client knows
            continue;
        if (status.code == MX_STATUS_SUCCESS)
            answer(status, own);
        post_receive(status.context, long_message, 0, 0);
    }
}

} // namespace emx::check
