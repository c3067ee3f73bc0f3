// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The C functions act on one node of the process; tests with several nodes in one process choose it.
#pragma once

#include "node.hpp"

namespace emx_gamma {

/// Gives each C function its node; nullptr: they act on the process's own.
extern Node *(*current_node)();

/// State of the calling thread, or of the node in tests with several nodes.
gamma_thread &thread_state(Node *node);

/// Sets gamma_errno, and returns minus the code.
inline int set_error(Node *node, int code)
{
    thread_state(node).error = code;
    return -code;
}

} // namespace emx_gamma
