// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The C functions act on one node of the process; tests with several nodes in one process say which.
#pragma once

#include "node.hpp"

namespace fm {

/// nullptr: the process's own. Else called by each C function that has no stream, for its node.
extern Node *(*current_node)();

/// Sets FM_errno of the calling thread, or of the node.
void set_error(Node *node, int code);

} // namespace fm
