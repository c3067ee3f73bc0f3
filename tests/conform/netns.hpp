// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Two hosts made of network namespaces, joined by a bridge in a third one.
#pragma once

#include <cstdint>
#include <string>
#include <unistd.h>

namespace emx::conform {

/// Needs root. Names carry the process id, so runs do not meet; the destructor removes all of it
/// and ends the processes that were left in the namespaces (board agents).
class Lab {
public:
    /// Makes the namespaces with eth0 (and eth1, for two boards) of that MTU in each. False with a
    /// sentence in error.
    bool make(uint32_t mtu, int boards, std::string &error);
    /// Gives eth0 of both hosts IPv4 addresses in one network. False with a sentence in error.
    bool give_addresses(std::string &error) const;
    void remove();
    ~Lab() { remove(); }
    /// Path of host 0's or 1's namespace, for setns.
    std::string path(int host) const;
    /// Takes the cable out between switch and host 0, or puts it in; the link stays up, as behind
    /// a switch.
    bool cut(bool off);

private:
    std::string name(const char *part) const;
    int owner_ = getpid(); ///< children use the names, too
    bool made_ = false;
    unsigned serial_ = 0;
};

} // namespace emx::conform
