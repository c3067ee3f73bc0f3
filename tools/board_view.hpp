// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The administration tools' view of a host: its boards, through the board agent or the kernel module,
// as programs here would use them.
#pragma once

#include <emx/abi.h>

extern "C" {
#include "driver/core/fw.h"
}

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace emx {

class JsonWriter;

inline constexpr uint32_t views_boards_max = 32;

/// A peer. Names of strangers are as they are shown: printable().
struct PeerView {
    uint32_t index;
    uint64_t mac;
    std::string name; ///< empty while unknown
    uint16_t speaks = 0; ///< the dialect that it alone is spoken to in, as in struct fw_peer; 0: the board's
};

/// The process that has an endpoint open.
struct HolderView {
    uint32_t number;
    uint32_t pid;
    uint32_t uid;
    uint32_t session;
    std::string command;
};

struct BoardFacts {
    uint32_t number;
    std::string device; ///< the interface as the kernel calls it
    std::string interface; ///< the same, to be shown
    std::string driver; ///< of the interface
    std::string name; ///< "node1:0"; "?" when nobody has named the board
    uint64_t mac;
    uint32_t mtu;
    uint32_t numa_node;
    uint32_t link; ///< enum emx_link_state
    uint32_t link_changes; ///< 0 from the kernel module, which does not count them
    uint32_t endpoint_max;
    uint32_t peers_max;
    bool peers_open; ///< unknown boards may enter the peer table
    fw_sizes sizes;

    /// "N=1500" or "W".
    std::string dialect() const;
};

/// The firmware of this network namespace. Every failure is a cli::Failure, in the firmware's own words.
class BoardView {
public:
    /// The kernel module where it has boards, else the board agent, which is started when none runs, as
    /// opening an endpoint would; EMX_DEVICE decides otherwise.
    static std::unique_ptr<BoardView> open();
    virtual ~BoardView() = default;

    /// "engine" or "kernel", as EMX_DEVICE has them.
    virtual const char *device() const = 0;
    /// "board agent: process 123" or "kernel module ethermx".
    virtual std::string firmware() = 0;
    /// True when this object had to start the agent: what it is told goes with it when it ends.
    virtual bool started_agent() const { return false; }
    /// The connection to the board agent, which stays the view's; -1 without one.
    virtual int agent_socket() const { return -1; }

    virtual std::vector<BoardFacts> boards() = 0;
    virtual std::vector<PeerView> peers(uint32_t board) = 0;
    virtual std::vector<HolderView> holders(uint32_t board) = 0;
    virtual emx_counters counters(uint32_t board) = 0;
    virtual void clear_counters(uint32_t board) = 0;
    virtual void set_name(uint32_t board, const std::string &name) = 0;
    virtual void forget_names() = 0;
    /// Forgets all names and dialects, and opens the peer tables again.
    virtual void clear_peers() = 0;
    /// True if the boards are UDP boards, whose peers are hosts.
    virtual bool has_hosts() const { return false; }
    /// Lists a host, by its name or address; of UDP boards.
    virtual void append_host(const std::string & /*host*/, const std::string & /*name*/) {}
    virtual void append_peer(uint64_t mac, const std::string &name) = 0;
    /// Pins a listed peer to a dialect of its own.
    virtual void pin_peer(uint64_t mac, uint16_t speaks) = 0;
    /// Unknown boards are refused from now on.
    virtual void complete_peers() = 0;

    /// Failure unless there is such a board.
    BoardFacts board(uint32_t number);
};

/// The two kinds; the kernel module's is null when programs here would not use it.
std::unique_ptr<BoardView> open_agent_view();
/// The agent's, unless none runs; then null.
std::unique_ptr<BoardView> open_running_agent_view();
std::unique_ptr<BoardView> open_driver_view(const std::string &boards, bool required);

/// "Up", "Down" or "Gone".
const char *link_text(const BoardFacts &board);
/// The members of a JSON object that tell which board it is about.
void identify_board(JsonWriter &json, const BoardFacts &board);

/// Failure unless it can be a board's name.
void check_name(const std::string &name);
/// A sentence on stderr when settings will not outlive the agent that this tool started.
void warn_if_short_lived(const BoardView &view);

} // namespace emx
