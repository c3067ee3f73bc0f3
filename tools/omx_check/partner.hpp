// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Both ends of what omx_check does with plain MX: telling each other how the boards are set, and messages to
// and fro.
#pragma once

#include "tools/board_view.hpp"

#include <myriexpress.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace emx::check {

inline constexpr uint32_t server_endpoint = 30;

/// Settings of a board, as one side tells the other.
struct Settings {
    char dialect = 0; ///< 'W' or 'N'
    uint32_t size = 0; ///< of dialect N; 0: unknown
    uint32_t mtu = 0; ///< of the interface

    /// "N=1500" or "W"; "N" when the size is unknown.
    std::string text() const;
};

Settings settings_of(const BoardFacts &board);

enum class Contact { served, refused, nothing };

/// An endpoint, and the server that it is connected to.
class Partner {
public:
    Partner(uint32_t board, uint32_t endpoint);
    ~Partner();
    Partner(const Partner &) = delete;
    Partner &operator=(const Partner &) = delete;

    uint8_t number() const;
    /// NIC id of a host name or MAC address, asked for until patience is over.
    static uint64_t resolve(const std::string &host, uint32_t patience_ms);
    /// Failure when the peer table is closed to that board.
    Contact connect(uint64_t nic_id, uint32_t endpoint, uint32_t patience_ms);

    /// The calls below give nothing when the answer does not come, and for some seconds nothing of it:
    /// however slow the hosts are, data that moves is waited for, a minute at most.
    std::optional<Settings> exchange_settings(const Settings &own);
    /// Half of the median round trip of empty messages, in ns.
    std::optional<double> latency();
    /// MB/s of long messages to the server.
    std::optional<double> send_rate();
    /// MB/s of long messages from the server.
    std::optional<double> receive_rate();

    /// Serves clients until the process ends.
    [[noreturn]] void serve(const Settings &own);

private:
    mx_request_t post_receive(void *data, uint32_t length, uint64_t match, uint64_t mask);
    mx_request_t post_send(mx_endpoint_addr_t to, void *data, uint32_t length, uint64_t match);
    uint64_t data_seen() const;
    bool finish(mx_request_t &request);
    std::optional<double> rate(bool to_server);
    void answer(const mx_status_t &request, const Settings &own);

    const uint32_t board_;
    mx_endpoint_t endpoint_ = nullptr;
    mx_endpoint_addr_t server_{};
    std::vector<uint8_t> memory_;
};

} // namespace emx::check
