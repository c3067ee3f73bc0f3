// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Fibers: stack allocation and the context switch. See fiber.hpp.
#include "fiber.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define EMX_TEST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EMX_TEST_ASAN 1
#endif
#endif
#ifdef EMX_TEST_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
constexpr std::size_t default_stack = 1 << 20;
#else
constexpr std::size_t default_stack = 256 << 10;
#endif

namespace emx::test {

/// Copy of the C++ run time's per-thread exception state (two words by the Itanium ABI).
struct EhGlobals {
    void *caught = nullptr;
    unsigned int uncaught = 0;
};

namespace {

EhGlobals *eh_globals() { return reinterpret_cast<EhGlobals *>(abi::__cxa_get_globals()); }

Fiber::Impl *running = nullptr;

#ifdef __x86_64__
extern "C" void emx_fiber_swap(void **save_sp, void *load_sp);
asm(R"(
    .text
    .globl emx_fiber_swap
    .hidden emx_fiber_swap
    .type emx_fiber_swap, @function
emx_fiber_swap:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size emx_fiber_swap, .-emx_fiber_swap
)");
#endif

[[noreturn]] void fiber_entry();

} // namespace

struct Fiber::Impl {
    std::function<void()> body;
    std::byte *map = nullptr; ///< guard page, then the stack
    std::size_t map_bytes = 0;
    bool done = false;
    EhGlobals eh;
#ifdef __x86_64__
    void *sp = nullptr;
    void *owner_sp = nullptr;
#else
    ucontext_t context{};
    ucontext_t owner{};
#endif
#ifdef EMX_TEST_ASAN
    void *fake = nullptr;
    void *owner_fake = nullptr;
    const void *owner_bottom = nullptr;
    std::size_t owner_size = 0;
    // The body may itself run on stacks of others when it leaves.
    const void *left_bottom = nullptr;
    std::size_t left_size = 0;
#endif

    std::byte *stack() const { return map + page(); }
    std::size_t stack_bytes() const { return map_bytes - page(); }
    static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

    void prepare();
    void enter();
    void leave();
};

namespace {

/// Stacks are kept for the next fiber: a run of many seeds makes thousands of short ones.
std::vector<std::pair<std::byte *, std::size_t>> spare_stacks;

std::byte *get_stack(std::size_t bytes)
{
    for (auto it = spare_stacks.begin(); it != spare_stacks.end(); ++it) {
        if (it->second == bytes) {
            std::byte *map = it->first;
            spare_stacks.erase(it);
            return map;
        }
    }
    void *map =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED || mprotect(map, Fiber::Impl::page(), PROT_NONE)) {
        perror("fiber stack");
        abort();
    }
    return static_cast<std::byte *>(map);
}

} // namespace

void Fiber::Impl::prepare()
{
#ifdef __x86_64__
    // The stack as emx_fiber_swap expects it: six registers, the entry, and a slot that keeps
    // the stack aligned as after a call.
    auto *top = reinterpret_cast<void **>(stack() + stack_bytes());
    *--top = nullptr;
    *--top = reinterpret_cast<void *>(fiber_entry);
    for (int i = 0; i < 6; i++)
        *--top = nullptr;
    sp = top;
#else
    getcontext(&context);
    context.uc_stack.ss_sp = stack();
    context.uc_stack.ss_size = stack_bytes();
    context.uc_link = nullptr;
    makecontext(&context, reinterpret_cast<void (*)()>(fiber_entry), 0);
#endif
}

void Fiber::Impl::enter()
{
    EhGlobals saved = *eh_globals();
    *eh_globals() = eh;
#ifdef EMX_TEST_ASAN
    __sanitizer_start_switch_fiber(&owner_fake, left_bottom ? left_bottom : stack(),
                                   left_bottom ? left_size : stack_bytes());
#endif
#ifdef __x86_64__
    emx_fiber_swap(&owner_sp, sp);
#else
    swapcontext(&owner, &context);
#endif
#ifdef EMX_TEST_ASAN
    __sanitizer_finish_switch_fiber(owner_fake, &left_bottom, &left_size);
#endif
    eh = *eh_globals();
    *eh_globals() = saved;
}

void Fiber::Impl::leave()
{
#ifdef EMX_TEST_ASAN
    __sanitizer_start_switch_fiber(done ? nullptr : &fake, owner_bottom, owner_size);
#endif
#ifdef __x86_64__
    emx_fiber_swap(&sp, owner_sp);
#else
    swapcontext(&context, &owner);
#endif
#ifdef EMX_TEST_ASAN
    __sanitizer_finish_switch_fiber(fake, &owner_bottom, &owner_size);
#endif
}

namespace {

void fiber_entry()
{
#ifdef EMX_TEST_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &running->owner_bottom, &running->owner_size);
#endif
    running->body();
    running->body = nullptr;
    running->done = true;
    running->leave();
    abort(); // a finished fiber is never resumed
}

Fiber *current_fiber = nullptr;

} // namespace

Fiber::Fiber(std::function<void()> body, std::size_t stack_bytes) : impl_(std::make_unique<Impl>())
{
    impl_->body = std::move(body);
    impl_->map_bytes = (stack_bytes ? stack_bytes : default_stack) + Impl::page();
    impl_->map = get_stack(impl_->map_bytes);
    impl_->prepare();
}

Fiber::~Fiber()
{
#ifdef EMX_TEST_ASAN
    if (!impl_->done) { // what only the dead fiber knows of is not a leak
        __lsan_register_root_region(impl_->stack(), impl_->stack_bytes());
        return;
    }
    __asan_unpoison_memory_region(impl_->stack(), impl_->stack_bytes());
#endif
    spare_stacks.emplace_back(impl_->map, impl_->map_bytes);
}

void Fiber::resume()
{
    if (impl_->done || running)
        abort();
    running = impl_.get();
    current_fiber = this;
    impl_->enter();
    running = nullptr;
    current_fiber = nullptr;
}

void Fiber::suspend() { running->leave(); }

Fiber *Fiber::current() { return current_fiber; }

bool Fiber::done() const { return impl_->done; }

} // namespace emx::test
