// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The stack of a handler that waits in FM_receive (docs/decisions/0020).
#pragma once

#include <cstddef>
#include <memory>

namespace fm {

/// Runs its body again and again, each time from enter() to the next leave() inside. Kept for the next
/// message. Any thread may enter one that has left. Destroyed while inside the body, it does not unwind its
/// stack.
class Coroutine {
public:
    using Body = void (*)(void *argument);
    /// Throws std::bad_alloc without memory for the stack.
    Coroutine(std::size_t stack_bytes, Body body);
    ~Coroutine();
    Coroutine(const Coroutine &) = delete;
    Coroutine &operator=(const Coroutine &) = delete;

    void enter(void *argument); ///< goes on after leave(), or calls the body with the argument
    void leave(); ///< back to whoever called enter()
    Coroutine *next = nullptr; ///< for its owner

    struct Impl;

private:
    std::unique_ptr<Impl> impl_;
};

} // namespace fm
