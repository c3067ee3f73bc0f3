// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Probes for bpftrace, perf and SystemTap (USDT; docs/tracing.md has them all).
//
// A probe is one instruction that does nothing, and a note beside the code that says where its arguments
// are. So it costs that instruction while nobody looks: arguments are to be what the code around has in
// registers or memory anyway, never what must be computed. Without <sys/sdt.h> there are none.
#pragma once

#ifdef EMX_HAVE_USDT
#ifdef __clang__
#define STAP_SDT_ARG_CONSTRAINT nr // given the choice, it stores each argument in memory first
#endif
#include <sys/sdt.h>

/// EMX_PROBE(n, name, n arguments): numbers and pointers. As STAP_PROBE of sys/sdt.h, but `inline`: else the
/// compiler takes the lines of the note for instructions, and no longer inlines the function around it.
#define EMX_PROBE(n, name, ...)                                                                              \
    do {                                                                                                     \
        asm inline volatile(                                                                                 \
            _SDT_ASM_BODY(ethermx, name, _SDT_ASM_ARGS, (n))::_SDT_ASM_OPERANDS_##n(__VA_ARGS__));           \
        asm inline volatile(_SDT_ASM_BASE);                                                                  \
    } while (false)
#else
#define EMX_PROBE(n, name, ...) static_cast<void>(0)
#endif
