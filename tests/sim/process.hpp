// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A simulated process: a task with a library of its own, and the helper that works for it while it
// is away.
#pragma once

#include "port.hpp"

#include <libmx/api/process.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace emx::sim {

class Process {
public:
    /// Starts body on that host at the present time. The C functions (mx_*) called in it act on
    /// this process. The process must outlive the world's run.
    Process(Host &host, std::string name, std::function<void(Process &)> body);
    ~Process();
    Process(const Process &) = delete;
    Process &operator=(const Process &) = delete;

    Host &host() { return host_; }
    World &world() { return host_.world(); }
    /// Came to its end, or was killed.
    bool done() const { return ended_ || killed_; }
    bool killed() const { return killed_; }

    /// Does something else than calling the library.
    void sleep(uint64_t ns);
    /// Away until ready() or the deadline.
    void block(uint64_t deadline) { world().block(deadline); }
    void ready() { task_->ready_at(world().now()); }
    /// Dies where it is: nothing of it runs again, its host closes its endpoints. Also from inside.
    void kill();
    /// Stops being scheduled, with its helper, until thaw().
    void freeze() { frozen_ = true; }
    void thaw();

    /// Environment as the library sees it.
    std::map<std::string, std::string> environment;
    /// The library's context, while initialised; nullptr else.
    Context *context() const { return api_.context.get(); }
    /// The device of that context.
    SimDevice *device() const { return device_; }

private:
    void run();
    void schedule_helper(uint64_t delay);
    bool watch();
    void schedule_watch();
    /// Time between two looks of the helper in ns, 0 for none: what EMX_HELPER_MS says, 20 ms without.
    uint64_t helper_delay() const;

    Host &host_;
    std::function<void(Process &)> body_;
    api::Process api_;
    Task *task_ = nullptr;
    SimDevice *device_ = nullptr; ///< owned by the context
    bool ended_ = false;
    bool killed_ = false;
    bool frozen_ = false;
    bool watching_ = false; ///< the helper looks for messages that are held back
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace emx::sim
