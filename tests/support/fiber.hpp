// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Stackful fibers on one OS thread: the simulated processes of tests/sim.
//
// A switch costs about 20 ns on x86-64 (six registers); elsewhere ucontext is used. Address
// sanitizer is told of every switch, and the C++ run time's list of exceptions in flight is kept
// per fiber, so that a fiber may be switched out inside a catch block.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace emx::test {

/// One fiber. Create it, resume() it from the owner's stack; inside, suspend() gives control back.
/// A fiber that is destroyed before done() does not unwind its stack: let bodies end.
class Fiber {
public:
    /// body runs on its own stack of `stack_bytes` (0: a default that suits sanitizers) with a
    /// guard page. It must not let exceptions out.
    explicit Fiber(std::function<void()> body, std::size_t stack_bytes = 0);
    ~Fiber();
    Fiber(const Fiber &) = delete;
    Fiber &operator=(const Fiber &) = delete;

    void resume(); ///< Runs the fiber until it suspends or ends. Not from inside a fiber.
    static void suspend(); ///< Back to the caller of resume(). Only from inside a fiber.
    static Fiber *current(); ///< The running fiber, or nullptr on the owner's stack.
    bool done() const;

    struct Impl;

private:
    std::unique_ptr<Impl> impl_;
};

} // namespace emx::test
