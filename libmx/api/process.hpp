// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The one place with process-wide state: what the C functions act on.
//
// A real process has one Process, made at load without touching anything. The simulator makes one per
// simulated process and swaps it at each switch of fibers.
#pragma once

#include "libmx/conf/conf.hpp"
#include "libmx/context/context.hpp"

#include "myriexpress.h"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace emx::api {

/// Makes the device at mx_init; nullptr with `error`.
using DeviceFactory = std::function<std::unique_ptr<Device>(const Conf &, DeviceError &error)>;

struct Process {
    DeviceFactory factory; ///< empty: the engine
    Environment environment; ///< empty: environment_variable
    bool helper_thread = true; ///< the simulator calls Context::helper_pass instead
    Instance::Watcher watcher; ///< the simulator's, which calls Context::flush_late
    std::atomic<ErrorHandler> handler; ///< set by the application; none: default
    std::unique_ptr<Context> context; ///< between mx_init and mx_finalize
    bool inherited = false; ///< in a child after fork: the parent's context was dropped
    std::mutex mutex; ///< init and finalize
};

extern Process *current_process;
/// The process in force.
inline Process &process() { return *current_process; }
/// Replaces it; nullptr: the real one again. Not thread-safe: for simulators on one thread.
void set_process(Process *process);

/// Handler of errors that belong to no endpoint.
ErrorHandler global_handler();

} // namespace emx::api
