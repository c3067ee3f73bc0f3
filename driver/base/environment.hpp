// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The one place that reads the environment (docs/SECURITY.md).
//
// A set-user-ID program acts with rights that its caller lacks, and its caller writes its environment. For
// such a program no variable is set, so that no caller names the files that it reads, writes or runs.
#pragma once

#include <sys/auxv.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace emx {

/// True if this program has rights that its caller lacks: it is set-user-ID, set-group-ID or has capabilities
/// of its file. The kernel decides that when it runs the program (AT_SECURE). Any thread.
inline bool has_rights_of_another() { return ::getauxval(AT_SECURE) != 0; }

/// Value of a variable, which belongs to the environment; nullptr when it is not set, and in a program that
/// has rights of another. Any thread, as getenv.
inline const char *environment_variable(const char *name)
{
    return ::secure_getenv(name); // tidy-allow(environment): this is the one place
}

/// The environment for a program that this one starts: ours, or nothing at all.
inline char *const *environment_of_children()
{
    static char *const nothing[] = {nullptr};
    return has_rights_of_another() ? nothing : environ; // tidy-allow(environment): this is the one place
}

/// Names of all variables that environment_variable() tells.
inline std::vector<std::string> environment_names()
{
    std::vector<std::string> names;
    for (char *const *entry = environment_of_children(); *entry; entry++) {
        const std::string text = *entry;
        names.push_back(text.substr(0, text.find('=')));
    }
    return names;
}

} // namespace emx
