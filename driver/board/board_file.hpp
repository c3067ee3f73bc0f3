// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The board file: memory that the board agent creates and every process with a board open maps.
//
// It holds what outlives processes: boards, peer tables with names and tags, claims on endpoints,
// counters. The agent alone writes it. The file is a memfd of the agent's user that cannot change its
// size, and what the agent hands out are descriptors that only read: without the right to open it
// anew, nobody maps it writable. Its successor has that right (docs/decisions/0003); who gets a
// descriptor at all is decided by the agent (docs/man/omxd.8).
#pragma once

#include "driver/base/fd.hpp"
#include "driver/board/peer_address.hpp"
#include "driver/device.hpp"

#include <emx/abi.h>
#include <emx/wire.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

extern "C" {
#include "driver/core/fw.h"
}

namespace emx {

inline constexpr uint64_t board_file_magic = 0x6d78426f61726431; // "mxBoard1"
inline constexpr uint32_t board_file_version = 7; ///< raised when any layout below changes
inline constexpr uint32_t boards_max = 32;

struct BoardFileHeader {
    uint64_t magic;
    uint32_t version;
    uint32_t counter_count; ///< EMX_CNT_COUNT of the agent's build
    uint64_t bytes;
    uint32_t board_count;
    uint32_t endpoint_max;
    uint32_t peers_capacity;
    uint32_t agent_pid;
};

struct BoardRecord {
    uint64_t mac;
    uint32_t ifindex;
    uint32_t mtu; ///< of the interface, bytes of payload
    uint32_t numa_node;
    uint32_t link_state; ///< enum emx_link_state; written before link_serial moves
    uint32_t link_serial; ///< counts changes of link_state
    uint32_t lives; ///< counts returns of a vanished interface: sockets of an earlier life are dead
    uint32_t claims; ///< endpoints that are claimed
    uint32_t x_frame; ///< longest X DATA; 0: an agent that does not steer them to bulk sockets
    char interface[16];
    char driver[32];
    fw_sizes sizes;
    uint32_t udp_port; ///< first port of a UDP board; 0: a board of raw frames
    uint32_t udp_v4; ///< its addresses are IPv4, else IPv6
    uint32_t sought; ///< hosts of the peers file that have not answered yet
    char place[72]; ///< as the board was configured, without its dialect: describe_place
};

/// The holder of an endpoint; all zero while it is free.
struct ClaimRecord {
    uint32_t pid; ///< 0: of a pid namespace that the agent does not see
    uint32_t uid;
    uint32_t session;
    uint32_t held;
    char command[16];
};

/// Counters of a board. Those of open endpoints are pages of their processes (endpoint_page.hpp).
struct alignas(64) CounterBlocks {
    emx_counters past; ///< of the agent, and of endpoints that were closed
    emx_counters told; ///< of all, when the agent was last asked
};

/// Where the parts of a file are: a header, the records, and for each board a struct fw_peers (entries 0 to
/// boards - 1 are this host's own boards), EMX_ENDPOINTS_MAX ClaimRecord, CounterBlocks, a PeerAddress for
/// each peer.
class BoardLayout {
public:
    BoardLayout(uint32_t boards, uint32_t peers_capacity);

    uint64_t record(uint32_t i) const;
    uint64_t peers(uint32_t i) const { return first_board_ + i * stride_; }
    uint64_t claims(uint32_t i) const { return peers(i) + claims_; }
    uint64_t counters(uint32_t i) const { return peers(i) + counters_; }
    uint64_t addresses(uint32_t i) const { return peers(i) + addresses_; }
    uint64_t bytes() const { return peers(boards_); }
    uint32_t boards() const { return boards_; }

private:
    uint32_t boards_;
    uint64_t first_board_, claims_, counters_, addresses_, stride_;
};

/// One mapping of the board file.
class BoardFile {
public:
    /// Agent: creates the file for that many boards. Null with errno set on failure.
    static std::unique_ptr<BoardFile> create(uint32_t boards, uint32_t endpoint_max, uint32_t peers_capacity);
    /// Process: maps a file received from the agent, to read. Null with a sentence in error on a layout of
    /// another build, on contents that readers cannot rely on, and where memory is short.
    static std::unique_ptr<BoardFile> map(Fd fd, DeviceError &error);
    /// True if our user alone can have written the file.
    static bool is_own(int fd);
    /// Agent: maps the file of the agent before, received from a process, to go on with it. Null with a
    /// sentence in error unless it is_own(), and as map() says.
    static std::unique_ptr<BoardFile> adopt(Fd fd, std::string &why);

    ~BoardFile();
    BoardFile(const BoardFile &) = delete;
    BoardFile &operator=(const BoardFile &) = delete;

    /// A descriptor that only reads.
    int fd() const { return fd_.get(); }
    /// True if the descriptor is of this very file.
    bool same(int fd) const;
    BoardFileHeader &header() { return *reinterpret_cast<BoardFileHeader *>(base_); }
    uint32_t board_count() const { return layout_.boards(); }
    BoardRecord &board(uint32_t i);
    fw_peers *peers(uint32_t board);
    ClaimRecord &claim(uint32_t board, uint32_t endpoint);
    CounterBlocks &counters(uint32_t board);
    /// Returns the place for a peer's address on a UDP board; peer: below the capacity of the table.
    PeerAddress &address(uint32_t board, uint32_t peer);

    /// Index of the board with that address, or -1.
    int board_of(uint64_t mac);
    /// The counters of a board when the agent was last asked for them (AgentOp::sum_counters).
    emx_counters told_counters(uint32_t board);

private:
    BoardFile(Fd fd, std::byte *base, const BoardLayout &layout)
        : fd_(std::move(fd)), base_(base), layout_(layout)
    {
    }
    template <typename T>
    T &at(uint64_t offset)
    {
        return *reinterpret_cast<T *>(base_ + offset);
    }
    static std::unique_ptr<BoardFile> map(Fd fd, int protection, DeviceError &error);

    Fd fd_;
    std::byte *base_;
    const BoardLayout layout_; ///< our own: nothing in the file leads us out of it
};

/// The place of a board, as describe_board takes it.
std::string place_of(const BoardRecord &board);

/// State of a board's interface as the agent last saw it, and the count of changes.
struct LinkState {
    uint32_t serial;
    uint32_t state;
    uint32_t life;
};
LinkState read_link(BoardRecord &board);
void write_link(BoardRecord &board, uint32_t state);

} // namespace emx
