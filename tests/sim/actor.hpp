// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A random MX program: sends and receives of all kinds, driven by a seed, noted in the book.
#pragma once

#include "book.hpp"
#include "process.hpp"
#include "swarm.hpp"

#include <mx_extensions.h>
#include <myriexpress.h>

#include <list>
#include <memory>
#include <vector>

namespace emx::sim {

/// Knowledge of actors about each other, out of band, and the state of the whole run.
struct Troupe {
    const Swarm &swarm;
    Book book;
    struct Entry {
        bool open = false; ///< has an endpoint
        bool gone = false; ///< was killed
        bool script_done = false; ///< will send nothing more
        bool settled = false; ///< nothing of its own is under way
        bool wants_exit = false;
        uint64_t nic = 0;
        uint32_t eid = 0;
    };
    std::vector<Entry> entries;
    bool faults_over = false;

    bool everyone(bool Entry::*what) const
    {
        for (const Entry &e : entries)
            if (!e.gone && !(e.*what))
                return false;
        return true;
    }
};

class Actor {
public:
    Actor(Troupe &troupe, Process &process, uint32_t id, test::Rng rng);
    /// The program, from mx_init to mx_finalize.
    void run();

private:
    enum class Kind { send, receive, connect };
    struct Op {
        Kind kind;
        mx_request_t request = nullptr;
        std::vector<std::byte> memory;
        Name name; ///< send
        uint32_t length = 0; ///< send: of the message; receive: room
        uint32_t to = 0; ///< connect
        uint64_t info = 0, mask = 0; ///< receive
        uint64_t order = 0; ///< receive: of posting
        bool forgotten = false;
    };
    using Ops = std::list<std::unique_ptr<Op>>;

    static mx_unexp_handler_action_t on_unexpected(void *actor, mx_endpoint_addr_t source, uint64_t match,
                                                   uint32_t length, void *data);
    mx_unexp_handler_action_t handle(uint64_t match, uint32_t length, void *data);

    void open();
    void step();
    void start_send();
    void start_connect(uint32_t to);
    void post_receive(bool wild);
    std::vector<mx_segment_t> cut(Op &op, bool with_holes);
    uint32_t draw_length();
    void reap_some();
    bool reap_one(Op &op);
    void completed(Op *op, const mx_status_t &status);
    void send_completed(Op &op, const mx_status_t &status);
    void receive_completed(Op &op, const mx_status_t &status);
    void connect_completed(Op &op, const mx_status_t &status);
    void try_cancel();
    void try_forget();
    void try_disconnect();
    void look_around();
    void rest();
    bool own_work_left() const;
    void drain();
    void settle();
    void leave();
    void expect(mx_return_t code, const char *what);
    void complain(const std::string &what);
    Op *pick(Kind kind);
    size_t count(Kind kind) const;

    Troupe &troupe_;
    Process &process_;
    uint32_t id_;
    test::Rng rng_;
    mx_endpoint_t ep_ = nullptr;
    Ops ops_;
    Ops retired_; ///< forgotten: their memory stays in use
    struct Peer {
        bool connected = false;
        bool connecting = false;
        mx_endpoint_addr_t address{};
    };
    std::vector<Peer> peers_;
    uint32_t to_send_ = 0;
    uint64_t post_order_ = 0;
};

} // namespace emx::sim
