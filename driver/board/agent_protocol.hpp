// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Messages between a process and the board agent, over a SOCK_SEQPACKET Unix socket.
//
// The agent of a user's own UDP boards has a name of its own (agent_choice.hpp). Of others the following
// holds. The socket has an abstract name, which is one per network namespace, and which any user can take.
// Root's agent has a path beside it, in a folder of root's, which is tried first: its last part is the cookie
// of the network namespace, since network namespaces share /run (docs/decisions/0012).
//
// Every request is one AgentRequest and draws one AgentReply; descriptors ride on some replies. A
// connection holds at most one claim, and the claim lives as long as the connection and the
// process that made it. After the death of an agent the process takes its claim to the next one,
// with the board file on the request (docs/decisions/0003).
#pragma once

#include <emx/wire.h>

#include <cstdint>

namespace emx {

inline constexpr char agent_socket_name[] = "ethermx-omxd"; ///< after the leading NUL
inline constexpr char agent_folder[] = "/run/ethermx";
inline constexpr uint32_t agent_protocol_magic = 0x6f6d7864; // "omxd"
inline constexpr uint32_t agent_protocol_version = 6;

enum class AgentOp : uint32_t {
    hello = 1, ///< -> board file (1 descriptor)
    /// board, endpoint, session, page (1 descriptor) -> ring, bulk and loopback sockets, bound and
    /// filtered; UDP board: one socket, bound
    claim = 2,
    /// board, mac -> value: index; only into an open table. UDP board -> value: milliseconds for which
    /// waiting may help, while the agent looks for it
    add_peer = 3,
    set_name = 4, ///< board, text: name of our own board
    peers_clear = 5, ///< all boards: forgets names, opens the table again
    peers_append = 6, ///< mac, text: a named peer, on every board
    peers_complete = 7, ///< closes the tables: unknown boards are refused from now on
    clear_counters = 8, ///< board
    forget_names = 9, ///< names of other hosts' boards are asked for again
    /// board, endpoint, session, life, board file and page (2 descriptors): a claim on an agent that
    /// ended
    reclaim = 10,
    steer = 11, ///< board, group: pull replies for that fan-out group go to its second member
    pin_peer = 12, ///< mac, group: the dialect that this peer alone is spoken to in, on every board that can
    sum_counters = 13, ///< board: tells its counters in the board file
    add_heard = 14, ///< as add_peer, of a board that a frame came from; UDP board: from there, in text
    list_host = 15, ///< text, where: the name and the UDP address of a peer, on every UDP board
    /// board, of the connection's claim -> a bound socket for frames to groups, its ring as ring_*
    group_socket = 16,
    /// board, of the connection's claim, a UDP socket (1 descriptor) -> bulk_bytes: its buffers become as
    /// large as the agent may make them
    grow_socket = 17,
};

struct AgentRequest {
    uint32_t magic = agent_protocol_magic;
    uint32_t version = agent_protocol_version;
    AgentOp op = AgentOp::hello;
    uint32_t board = 0;
    uint32_t endpoint = 0;
    uint32_t session = 0;
    uint32_t life = 0; ///< of the board's interface
    uint32_t group = 0; ///< pin_peer: the dialect, as in struct fw_peer
    uint64_t mac = 0;
    char text[EMX_NAME_MAX] = {};
    char where[72] = {};
};

struct AgentReply {
    uint32_t magic = agent_protocol_magic;
    uint32_t version = agent_protocol_version;
    int32_t code = 0; ///< mx_return_t; 0 is success
    uint32_t value = 0;
    uint32_t ring_slot = 0; ///< claim: bytes of a slot of the interface's ring
    uint32_t ring_block = 0; ///< bytes of a block
    uint32_t ring_blocks = 0;
    uint32_t lo_slot = 0; ///< the same for the loopback ring
    uint32_t lo_block = 0;
    uint32_t lo_blocks = 0;
    uint32_t life = 0; ///< of the interface that the sockets are bound to
    uint32_t bulk_bytes = 0; ///< granted receive buffer of the bulk socket, or that to grow
    char text[256] = {}; ///< the error, with its remedy
};

inline constexpr unsigned agent_fds_max = 3;

} // namespace emx
