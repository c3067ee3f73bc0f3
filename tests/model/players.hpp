// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The programs of a run: an MX program on our stack, and the application of a model endpoint. Both send
// what the plan says, receive everything, and note it in the book.
#pragma once

#include "endpoint.hpp"
#include "plan.hpp"

#include <tests/sim/process.hpp>

#include <list>
#include <mx_extensions.h>

namespace emx::model {

/// State of an endpoint's contact with another one.
struct Contact {
    bool connecting = false, connected = false;
    uint32_t sent = 0;
    mx_endpoint_addr_t address{};
};

/// An MX program.
class Ours {
public:
    Ours(Cast &cast, sim::Process &process, uint32_t id, test::Rng rng);
    void run();

private:
    enum class Kind { send, receive, connect };
    struct Op {
        Kind kind;
        mx_request_t request = nullptr;
        std::unique_ptr<std::byte[]> memory;
        uint32_t length = 0, to = 0;
        sim::Name name;
        uint64_t order = 0, info = 0, mask = 0;
    };
    void step();
    void disconnect();
    void start_sends();
    void start_send(uint32_t to, Contact &contact);
    void start_connect(uint32_t to, Contact &contact);
    void post_receive();
    void completed(Op &op, const mx_status_t &status);
    void send_completed(const Op &op, const mx_status_t &status);
    void receive_completed(const Op &op, const mx_status_t &status);
    void settle();
    size_t count(Kind kind) const;
    void expect(mx_return_t code, const char *what);
    void complain(const std::string &what);

    Cast &cast_;
    sim::Process &process_;
    uint32_t id_;
    test::Rng rng_;
    mx_endpoint_t ep_ = nullptr;
    std::list<Op> ops_;
    std::map<uint32_t, Contact> contacts_;
    uint64_t order_ = 0;
};

/// The application of one model endpoint.
class Theirs {
public:
    Theirs(Cast &cast, Host &host, uint32_t id, test::Rng rng);
    /// One stay in the library.
    void step();
    /// On the only endpoint of ours.
    void give_up();
    uint32_t id() const { return id_; }
    bool has_work() const { return !cast_.entries[id_].sent; }

private:
    void notice_parting();
    void start_sends();
    void start_send(uint32_t to);
    void post_receive();
    void received(const Received &received, uint64_t order, uint64_t info, uint64_t mask);

    Cast &cast_;
    Host &host_;
    uint32_t id_;
    test::Rng rng_;
    std::map<uint32_t, Contact> contacts_;
    uint32_t sending_ = 0, receiving_ = 0, wild_ = 0, given_up_ = 0;
    uint64_t order_ = 0;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace emx::model
