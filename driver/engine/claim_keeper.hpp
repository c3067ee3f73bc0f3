// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Keeps the claims of a process's endpoints while board agents come and go.
//
// A claim is a connection to the agent. A thread sleeps until one of them ends; then it looks for a
// new agent and takes the claim there, with the board file of before (docs/decisions/0003). Nothing
// of this is on the path of packets.
#pragma once

#include "driver/base/fd.hpp"
#include "driver/board/agent_client.hpp"
#include "driver/board/board_file.hpp"
#include "driver/board/endpoint_page.hpp"

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

struct pollfd;

namespace emx {

/// A claim; a new agent is told the same.
struct ClaimOf {
    uint32_t board = 0;
    uint32_t endpoint = 0;
    uint32_t session = 0;
    uint32_t life = 0; ///< of the board's interface
    std::shared_ptr<EndpointPage> page;
};

class ClaimKeeper;

/// An endpoint's hold on its number; gives it up when destroyed.
class Claim {
public:
    ~Claim();
    Claim(const Claim &) = delete;
    Claim &operator=(const Claim &) = delete;

    /// Asks the agent on the connection of the claim; false with error filled, also while there is none.
    bool request(const AgentRequest &request, AgentReply &reply, DeviceError &error, int patience_ms);
    /// The same, with the descriptors that come with the reply, and those that go with the request.
    bool request(const AgentRequest &request, AgentReply &reply, std::vector<Fd> &fds, DeviceError &error,
                 int patience_ms, const std::vector<int> &sent = {});
    /// True if a new agent refused the claim: the number may be another process's by now. Any thread.
    bool refused() const { return refused_.load(std::memory_order_relaxed); }

private:
    friend class ClaimKeeper;
    Claim(AgentConnection agent, std::shared_ptr<BoardFile> file, const ClaimOf &what);

    AgentConnection agent_;
    const std::shared_ptr<BoardFile> file_;
    const std::shared_ptr<EndpointPage> page_;
    AgentRequest again_;
    std::atomic<bool> refused_{false};
    // The rest belongs to the keeper, under its lock.
    std::shared_ptr<ClaimKeeper> keeper_;
    uint64_t id_ = 0;
    bool lost_ = false; ///< the connection ended
    std::optional<AgentConnection> asked_; ///< a new agent has the request; its answer is to come
};

/// All claims of one engine. Any thread. It looks for agents of the network namespace in which the first
/// claim was made.
class ClaimKeeper : public std::enable_shared_from_this<ClaimKeeper> {
public:
    /// agent: the name of this user's own agent; empty: the claims are of the network namespace's.
    explicit ClaimKeeper(std::string agent);
    ~ClaimKeeper();
    ClaimKeeper(const ClaimKeeper &) = delete;
    ClaimKeeper &operator=(const ClaimKeeper &) = delete;

    /// Takes over a connection on which `what` was claimed. Null with error filled when the thread cannot
    /// be started.
    std::unique_ptr<Claim> hold(AgentConnection agent, std::shared_ptr<BoardFile> file, const ClaimOf &what,
                                DeviceError &error);

private:
    friend class Claim;

    struct Watched {
        uint64_t id = 0; ///< of a claim
        bool answer = false; ///< an answer is waited for, not the end
    };

    bool start(DeviceError &error);
    void run();
    bool is_stopped();
    int collect(std::vector<pollfd> &fds, std::vector<Watched> &watched);
    void serve(const std::vector<pollfd> &fds, const std::vector<Watched> &watched);
    void take_answer(Claim &claim);
    void ask_again(Claim &claim);
    void drop(Claim &claim);
    void nudge() const;

    const std::string agent_;
    const pid_t owner_; ///< a forked child has the object and not the thread
    Fd wake_;
    std::mutex mutex_;
    std::map<uint64_t, Claim *> claims_;
    uint64_t next_id_ = 1;
    int retry_ms_ = 0; ///< until new agents are looked for again
    bool stop_ = false;
    std::unique_ptr<std::thread> thread_;
};

} // namespace emx
