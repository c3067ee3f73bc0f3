// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#pragma once

#include "party.hpp"

namespace job {

/// The job by the environment: places of all nodes and the number of this one, after mx_init. Under PMIx it
/// leaves an open endpoint. Empty, or what is wrong and what to do.
std::string find(const Terms &terms, Options &options);

} // namespace job
