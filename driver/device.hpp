// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The firmware as the library sees it: boards, and ports (open endpoints) on them.
//
// Three devices implement it: the engine (driver/engine, raw sockets), the kernel module, and the
// simulator (tests/sim). The library asks it for the time too, so that a simulator can own time.
#pragma once

#include <emx/abi.h>
#include <emx/wire.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace emx {

/// A piece of user memory. Messages are lists of them.
struct Segment {
    std::byte *data = nullptr;
    uint32_t length = 0;
};

/// Error of a device call: an mx_return_t value and one sentence that names the remedy.
struct DeviceError {
    int code = 0;
    std::string text;
};

struct BoardInfo {
    uint32_t number = 0;
    uint64_t nic_id = 0;
    std::string interface;
    std::string host_name; ///< "node:0"
    std::string driver; ///< of the network interface
    uint32_t mtu = 0; ///< of the interface
    uint32_t numa_node = 0xffffffff;
    char dialect = 'W';
    uint32_t dialect_mtu = 0; ///< N: configured size, W: 0
    uint32_t frag = 0; ///< full MEDIUM fragment, bytes
    uint32_t medium_max = 0; ///< longest eager message, bytes
    uint32_t reply = 0; ///< full PULL REPLY, bytes
    uint32_t x_frame = 0; ///< longest frame of X DATA, bytes; 0: the device has no X PULL
    uint32_t endpoint_max = 0;
    bool up = false;
};

struct PeerInfo {
    uint32_t index = 0;
    uint64_t nic_id = 0;
    std::string name; ///< empty while unknown
    uint16_t speaks = 0; ///< see Port::peer_speaks
};

/// Bytes that must be writable in front of the payload given to Port::send.
inline constexpr std::size_t send_headroom = EMX_HEADER_MAX;

/// Outcomes of a Port::busy_poll().
enum class BusyPoll {
    none, ///< took no time: impossible, or of no use here, or a single look
    nothing, ///< took all the time
    found, ///< the next peek() may find something
};

/// An open endpoint. Calls are serialised by the library (one lock per endpoint), except wake()
/// and wait(), which any thread may call; wait() is called without the lock, by one thread at a time
/// plus, possibly, the helper thread.
class Port {
public:
    virtual ~Port() = default;

    virtual uint32_t number() const = 0; ///< endpoint number

    /// Polls the receive side; the next event, or nullptr. The event and its payload stay valid until
    /// consume(). Frames that are the firmware's business (pulls) are served inside.
    virtual const emx_msg *peek() = 0;
    virtual void consume() = 0;
    /// After peek() found nothing: looks up to `looks` times whether the next peek() may find something.
    /// Cheaper than peek(), so what arrives is seen sooner. False: nothing, or a device where time stands
    /// still meanwhile.
    virtual bool spin(unsigned /*looks*/) { return false; }
    /// After spin() found nothing, for a program that does nothing but wait: fetches frames from where they
    /// arrive, for that many microseconds at most, rather than wait until they are brought.
    virtual BusyPoll busy_poll(unsigned /*us*/) { return BusyPoll::none; }

    /// Sends one library packet. msg.data_len payload bytes at `payload`, with send_headroom writable
    /// bytes in front of them. False: the frame did not leave (the caller's resend timer repeats it).
    virtual bool send(const emx_msg &msg, std::byte *payload) = 0;
    /// Ends a batch of sends, which the fragments of a message are; a device may have kept them back until
    /// now, and reads their payloads no longer.
    virtual void flush() {}

    /// Exposes a message for pulls by (peer, remote_ep). The memory stays valid until close_window.
    virtual void open_window(uint8_t id, uint8_t tag, uint32_t peer, uint8_t remote_ep,
                             std::span<const Segment> memory, uint64_t length) = 0;
    virtual void close_window(uint8_t id, uint8_t tag) = 0;

    /// Fetches `total` > 0 bytes of the message that `rndv` announced into `memory`; ends with an
    /// EMX_EV_PULL_DONE event that carries `cookie` (nonzero). rndv.data: the offer by which its sender
    /// agreed to the extension, 0 without. False: all pull slots are busy.
    virtual bool start_pull(const emx_msg &rndv, uint32_t total, std::span<const Segment> memory,
                            uint64_t cookie) = 0;
    virtual void cancel_pull(uint64_t cookie) = 0;

    /// Looks a MAC up in the peer table of this board, adding it when the table is open, for which another
    /// process may be asked: then it takes patience_ms at most. None with error filled.
    virtual std::optional<uint32_t> find_peer(uint64_t nic_id, int patience_ms, DeviceError &error) = 0;
    virtual uint64_t peer_nic_id(uint32_t peer) const = 0;
    /// From now on that index is the board's, until release_peer(): strangers' places in a full table are
    /// taken again. False: it is another's by now, or just becomes so.
    virtual bool keep_peer(uint32_t peer, uint64_t nic_id) = 0;
    virtual void release_peer(uint32_t peer) = 0;
    /// True when the peer is a board of this host.
    virtual bool peer_is_local(uint32_t peer) const = 0;
    /// The dialect in which a peer alone is spoken to, as in struct fw_peer; 0: the board's. It stays while
    /// the endpoint is open.
    virtual uint16_t peer_speaks(uint32_t /*peer*/) const { return 0; }

    virtual emx_counters &counters() = 0;
    /// Bytes of data that it sends and receives in one X MEDIUM, at most: what fits the longest frame. 0: it
    /// has no X MEDIUM, and no checksums.
    virtual uint32_t x_fragment() const { return 0; }
    /// Bytes behind the header of an X PACK that it sends and receives, at most. 0: it has none.
    virtual uint32_t pack_bytes() const { return 0; }
    /// True if it takes X ADDRESS, and sends X DATA in datagrams to who asks for them.
    virtual bool has_datagrams() const { return false; }
    /// True if it takes large messages by TCP from endpoints that offer the same (docs/protocol.md, TCP).
    virtual bool has_tcp() const { return false; }

    /// Bytes of data in an X MEDIUM that also fits a datagram to a host whose longest frame has that many
    /// bytes. 0: fragments never travel in datagrams.
    virtual uint32_t datagram_fragment(uint32_t /*frame*/) const { return 0; }
    /// The fragments of one message follow, for the first time, up to flush(): those behind the first may
    /// leave in datagrams, together, if that endpoint takes them so.
    virtual void begin_fragments(uint32_t /*peer*/, uint8_t /*remote_ep*/) {}
    /// A message of such fragments is repeated: they may be lost because they went in datagrams.
    virtual void repeat_fragments(uint32_t /*peer*/, uint8_t /*remote_ep*/) {}
    /// A message of several fragments has begun, of an endpoint, in that session of it, which may send them
    /// in datagrams. True: until fragments_ended(), peek() looks for them there, too.
    virtual bool expect_fragments(uint32_t /*peer*/, uint8_t /*remote_ep*/, uint32_t /*session*/)
    {
        return false;
    }
    virtual void fragments_ended() {}

    // Groups: one frame for all members on other hosts (docs/protocol.md, Groups). Frames to a group come as
    // EMX_X_GROUP events, and may be lost; no port hears its own, nor those of other ports of its host.
    /// Bytes of data in such a frame, at most. 0: there are no groups here, for a reason with its remedy.
    virtual uint32_t group_bytes() const { return 0; }
    virtual const char *why_no_groups() const { return "this device has no groups: send messages"; }
    /// Joins the group of that key, not 0, if the port is not in it. False with error filled.
    virtual bool join_group(uint32_t /*key*/, DeviceError & /*error*/) { return false; }
    virtual void leave_group(uint32_t /*key*/) {}
    /// Sends a frame with that payload, as send() does, to a group, whose member the port need not be;
    /// summed: with a checksum.
    virtual bool send_group(uint32_t /*key*/, uint32_t /*number*/, std::byte * /*payload*/,
                            uint32_t /*length*/, bool /*summed*/)
    {
        return false;
    }

    // Sure ways: what is sent to some endpoints of this host is taken in its turn, or given back. So nobody
    // acknowledges it, or keeps a copy. It comes as an event of its type + EMX_EV_SURE.
    /// True if there is a sure way to that session of an endpoint: from now on all that has a number goes by
    /// send_sure(), until EMX_EV_SURE_END or take_back(). All before must be acknowledged.
    virtual bool begin_sure(uint32_t /*peer*/, uint8_t /*remote_ep*/, uint32_t /*session*/) { return false; }
    /// Sends a RNDV, a NOTIFY, or a whole eager message, whose data are copied. The data of a RNDV may be
    /// copied, too, where they are given: then a pull of it may find them. False: it has no room now, which
    /// EMX_EV_SURE_ROOM tells the end of, or it has ended.
    virtual bool send_sure(const emx_msg & /*msg*/, std::span<const Segment> /*data*/) { return false; }
    /// Calls `each` with what was not taken, in its order and with .data, and ends the way.
    virtual void take_back(uint32_t /*peer*/, uint8_t /*remote_ep*/,
                           const std::function<void(const emx_msg &)> & /*each*/)
    {
    }
    /// True while something that was sent so is not taken.
    virtual bool is_sure_pending() { return false; }
    /// Consumes such an event; returns the next one of the same way if that is here already, of whatever
    /// type. nullptr: there is none, and what consume() would do is done.
    virtual const emx_msg *next_sure()
    {
        consume();
        return nullptr;
    }
    /// Such an event, as peek() gave it, is not taken, nor is what follows it: its sender has that back. The
    /// next consume() does nothing.
    virtual void refuse_sure() {}

    /// Time of the firmware's next own timer (pull repeats), ~0 when none. peek() serves it.
    virtual uint64_t deadline_ns() const = 0;
    /// Sleeps until a frame arrives, wake() is called, or the absolute time comes; earlier, perhaps. True:
    /// the descriptor of watch() is readable, or perhaps so.
    virtual bool wait(uint64_t deadline_ns) = 0;
    /// True once after a wait() that a signal handler ended. False always: a device that cannot tell.
    virtual bool interrupted() { return false; }
    /// From now on wait() also ends while that descriptor is readable (-1: no longer). It must stay open
    /// as long. False: a device that does not wait on descriptors, such as one with a time of its own.
    virtual bool watch(int) { return false; }
    /// Ends a wait(), now or the next one to begin.
    virtual void wake() = 0;
};

/// The firmware as one process sees it.
class Device {
public:
    virtual ~Device() = default;

    virtual uint64_t now_ns() = 0; ///< monotonic
    virtual uint64_t random() = 0;

    virtual std::vector<BoardInfo> boards() = 0;
    /// Opens endpoint `number` on board `board` with that session id. Errors: MX_BUSY (taken),
    /// MX_BOARD_UNKNOWN, MX_BAD_ENDPOINT (number out of range), MX_NO_PERM, MX_NO_RESOURCES.
    virtual std::unique_ptr<Port> open(uint32_t board, uint32_t number, uint32_t session,
                                       DeviceError &error) = 0;

    virtual std::vector<PeerInfo> peers(uint32_t board) = 0;
    virtual std::optional<uint64_t> nic_id_of(const std::string &host_name) = 0;
    /// For who misses a name: waits a moment and says true while this host has only just begun to hear of
    /// others.
    virtual bool wait_for_names() { return false; }
    virtual std::optional<std::string> name_of(uint64_t nic_id) = 0;
    virtual bool set_host_name(uint32_t board, const std::string &name, DeviceError &error) = 0;

    /// Counters of a board, host-wide: all processes and the agent.
    virtual emx_counters counters(uint32_t board) = 0;
    virtual bool clear_counters(uint32_t board, DeviceError &error) = 0;

    /// Gives the core away for a moment when polling found nothing for long.
    virtual void yield() = 0;
};

} // namespace emx
