// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Between two looks at memory that another processor writes.
#pragma once

namespace emx {

/// Gives the other side a moment. A loop that loads the same word as fast as it can takes the cache line away
/// while it is being written, keeps a sibling thread of the core from working, and makes the processor throw
/// away the loads it did ahead when the word changes at last.
inline void relax()
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("isb" ::: "memory");
#endif
}

} // namespace emx
