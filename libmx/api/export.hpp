// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Marks a C function that the shared library exports without a public header declaring it. What a
// public header declares is exported by the header's own visibility pragma.
#pragma once

#define EMX_EXPORT extern "C" __attribute__((visibility("default")))
