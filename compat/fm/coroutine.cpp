// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Coroutines on stacks of their own, by Boost.Context. See coroutine.hpp.
#include "coroutine.hpp"

#include <boost/context/fiber.hpp>

#include <cxxabi.h>
#include <new>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define FM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FM_ASAN 1
#endif
#endif
#ifdef FM_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace fm {

namespace context = boost::context;

/// The C++ run time's exceptions in flight, of each thread (two words by the Itanium ABI): a handler may wait
/// inside a catch block.
struct Exceptions {
    void *caught = nullptr;
    unsigned int uncaught = 0;
};

namespace {

Exceptions &exceptions() { return *reinterpret_cast<Exceptions *>(abi::__cxa_get_globals()); }

/// The memory is the coroutine's own.
struct Borrowed {
    void deallocate(context::stack_context &) noexcept {}
};

std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

} // namespace

struct Coroutine::Impl {
    Body body = nullptr;
    void *argument = nullptr;
    std::byte *map = nullptr; ///< guard page, then the stack
    std::size_t map_bytes = 0;
    Exceptions inside;
    // In unions: their destructors would unwind a handler that waits, through frames of C.
    union {
        context::fiber self;
    };
    union {
        context::fiber caller;
    };
#ifdef FM_ASAN
    void *fake = nullptr;
    void *caller_fake = nullptr;
    const void *caller_bottom = nullptr;
    std::size_t caller_size = 0;
#endif

    Impl() {} // NOLINT: the members of the unions are made by Coroutine
    ~Impl() {} // NOLINT
    std::byte *stack() const { return map + page(); }
    std::size_t stack_bytes() const { return map_bytes - page(); }

    void arrived()
    {
#ifdef FM_ASAN
        __sanitizer_finish_switch_fiber(fake, &caller_bottom, &caller_size);
#endif
    }
    void leave()
    {
#ifdef FM_ASAN
        __sanitizer_start_switch_fiber(&fake, caller_bottom, caller_size);
#endif
        caller = std::move(caller).resume();
        arrived();
    }
    context::fiber run(context::fiber &&from)
    {
        new (&caller) context::fiber(std::move(from));
        arrived();
        for (;;) {
            body(argument);
            leave();
        }
    }
};

Coroutine::Coroutine(std::size_t stack_bytes, Body body) : impl_(std::make_unique<Impl>())
{
    Impl &i = *impl_;
    i.body = body;
    i.map_bytes = (stack_bytes + page() - 1) / page() * page() + page();
    void *map = mmap(nullptr, i.map_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) // NOLINT: the C library's macro
        throw std::bad_alloc();
    mprotect(map, page(), PROT_NONE);
    i.map = static_cast<std::byte *>(map);
    context::stack_context stack;
    stack.size = i.stack_bytes();
    stack.sp = i.stack() + stack.size;
    new (&i.self) context::fiber(std::allocator_arg, context::preallocated(stack.sp, stack.size, stack),
                                 Borrowed(), [&i](context::fiber &&from) { return i.run(std::move(from)); });
}

Coroutine::~Coroutine()
{
#ifdef FM_ASAN
    __asan_unpoison_memory_region(impl_->stack(), impl_->stack_bytes());
#endif
    munmap(impl_->map, impl_->map_bytes);
}

void Coroutine::enter(void *argument)
{
    Impl &i = *impl_;
    i.argument = argument;
    const Exceptions outside = std::exchange(exceptions(), i.inside);
#ifdef FM_ASAN
    __sanitizer_start_switch_fiber(&i.caller_fake, i.stack(), i.stack_bytes());
#endif
    i.self = std::move(i.self).resume();
#ifdef FM_ASAN
    __sanitizer_finish_switch_fiber(i.caller_fake, nullptr, nullptr);
#endif
    i.inside = std::exchange(exceptions(), outside);
}

void Coroutine::leave() { impl_->leave(); }

} // namespace fm
