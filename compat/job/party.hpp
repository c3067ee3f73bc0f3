// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The processes of a parallel job over MX, as a layer's node sees them: their meeting, and their deaths.
#pragma once

#include <myriexpress.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace job {

inline constexpr uint32_t look_ms = 10; ///< of each sleep while a node waits for others

/// Where a node is found.
struct Place {
    uint64_t nic_id = 0;
    uint32_t endpoint = 0;
};

/// Words of the layer for its users.
struct Terms {
    const char *program; ///< opens each warning
    const char *hosts; ///< environment: the list of nodes
    const char *number; ///< environment: this node
    const char *place_key; ///< under which a launcher's service knows a node's address
    const char *manual;
    const char *after_death; ///< what happens to messages of the dead
    uint32_t nodes_most; ///< of a job
};

/// The job as a node is told of it.
struct Options {
    uint32_t node = 0;
    std::vector<Place> places; ///< of all nodes
    uint32_t board = MX_ANY_NIC;
    mx_endpoint_t endpoint = nullptr; ///< open already, and the node's from then on; or nullptr
    uint32_t key = 0;
    uint32_t start_timeout = 60; ///< seconds
    bool quiet = false;
};

/// Another node, or this one.
struct Member {
    uint32_t node = 0;
    mx_endpoint_addr_t address{};
    Place place;
    uint32_t session = 0;
    void *ping_context = nullptr; ///< of the request that asks for a sign of life
    bool greeted = false, left = false, dead = false, pinging = false;
};

/// Counts what MX told its error handlers: a hint alone, as MX names no endpoint there.
extern std::atomic<uint32_t> troubles;

/// The endpoint's error handler of all nodes: notes that something failed, which makes them look after peers.
mx_return_t note_trouble(char *text, mx_return_t code);

/// MX's own handler would end the process before the layer can say what to do.
class ErrorsReturn {
public:
    ErrorsReturn() = default;
    ~ErrorsReturn() { mx_set_error_handler(before_); }
    ErrorsReturn(const ErrorsReturn &) = delete;
    ErrorsReturn &operator=(const ErrorsReturn &) = delete;

private:
    mx_error_handler_t before_ = mx_set_error_handler(MX_ERRORS_RETURN);
};

/// Base of a layer's node. The layer calls it with its own lock held.
class Party {
protected:
    Party();
    ~Party() = default;
    Party(const Party &) = delete;
    Party &operator=(const Party &) = delete;

    virtual const Terms &terms() const = 0;
    virtual const Options &job() const = 0;
    virtual Member &member(uint32_t node) = 0;
    /// Takes what MX has finished, and sleeps so long for it. False: nothing.
    virtual bool take_one(uint32_t timeout_ms) = 0;
    /// Sends the greeting of the layer.
    virtual void greet(Member &member) = 0;
    /// The member has just died. True: that is news, and is told.
    virtual bool mourn(Member &member) = 0;

    std::string open_endpoint();
    /// Connects to all, greets them, and waits for their greetings. Empty, or what is wrong and what to do.
    std::string meet();
    /// Waits until all nodes that live have left, too.
    void wait_for_leavers();

    /// Asks for a sign of life, by mx_iconnect, which its library answers or its host refuses.
    void ping(Member &member);
    void take_pong(Member &member, const mx_status_t &status);
    void bury(Member &member, const char *why);
    /// Looks, from time to time while nothing comes, after the awaited node, or after each in turn.
    void look_after(Member *awaited);
    bool in_trouble() const { return trouble_seen_ != troubles.load(std::memory_order_relaxed); }
    void warn(const std::string &text) const;
    uint32_t node_count() const { return static_cast<uint32_t>(job().places.size()); }

    mx_endpoint_t endpoint_ = nullptr;

private:
    std::string connect(Member &member);
    std::string missing();
    std::string greet_all();

    uint32_t next_pinged_ = 0;
    uint32_t trouble_seen_ = 0;
};

} // namespace job
