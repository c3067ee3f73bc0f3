// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The board file: memory that the board agent creates and every process with a board open maps.
//
// It holds what outlives processes: boards, peer tables with names and learned tags, claims on
// endpoints, counters. Writers: the agent writes everything but the counters of an endpoint, which
// its owner writes, and the tags of peers, which any process learns. The file is a memfd that
// cannot change its size; who may open it at all is decided by the agent (docs/man/omxd.8).
#pragma once

#include "driver/engine/fd.hpp"

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
inline constexpr uint32_t board_file_version = 4; ///< raised when any layout below changes
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
    uint64_t peers_offset; ///< struct fw_peers; entries 0 to board_count - 1 are this host's own boards
    uint64_t claims_offset; ///< EMX_ENDPOINTS_MAX ClaimRecord
    uint64_t counters_offset; ///< EMX_ENDPOINTS_MAX + 1 CounterBlock; the last is the agent's
};

/// Who holds an endpoint. pid is 0 while it is free.
struct ClaimRecord {
    uint32_t pid;
    uint32_t uid;
    uint32_t session;
    uint32_t reserved;
    char command[16];
};

/// Counters of one endpoint number; they go on when the endpoint is opened again.
struct alignas(64) CounterBlock {
    emx_counters counters;
};

inline constexpr uint32_t agent_counters = EMX_ENDPOINTS_MAX;

/// One mapping of the board file.
class BoardFile {
public:
    /// Agent: creates the file for that many boards. Null with errno set on failure.
    static std::unique_ptr<BoardFile> create(uint32_t boards, uint32_t endpoint_max, uint32_t peers_capacity);
    /// Process: maps a file received from the agent. Null with a sentence in error on a layout of
    /// another build, and on contents that readers cannot rely on.
    static std::unique_ptr<BoardFile> map(Fd fd, std::string &error);

    ~BoardFile();
    BoardFile(const BoardFile &) = delete;
    BoardFile &operator=(const BoardFile &) = delete;

    int fd() const { return fd_.get(); }
    /// Whether the descriptor is of this very file.
    bool same(int fd) const;
    BoardFileHeader &header() { return *reinterpret_cast<BoardFileHeader *>(base_); }
    uint32_t board_count() const { return board_count_; }
    BoardRecord &board(uint32_t i);
    fw_peers *peers(uint32_t board);
    ClaimRecord &claim(uint32_t board, uint32_t endpoint);
    emx_counters &counters(uint32_t board, uint32_t slot);

    /// Index of the board with that address, or -1.
    int board_of(uint64_t mac);
    /// Sum over all endpoints and the agent.
    emx_counters sum_counters(uint32_t board);
    void clear_counters(uint32_t board);

private:
    BoardFile(Fd fd, std::byte *base, uint64_t bytes, uint32_t boards)
        : fd_(std::move(fd)), base_(base), bytes_(bytes), board_count_(boards)
    {
    }

    Fd fd_;
    std::byte *base_;
    uint64_t bytes_;
    uint32_t board_count_;
};

/// State of a board's interface as the agent last saw it, and the count of changes.
struct LinkState {
    uint32_t serial;
    uint32_t state;
    uint32_t life;
};
LinkState read_link(BoardRecord &board);
void write_link(BoardRecord &board, uint32_t state);

} // namespace emx
