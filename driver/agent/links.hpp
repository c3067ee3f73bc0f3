// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Watches the interfaces of this network namespace through a routing socket.
#pragma once

#include "driver/base/fd.hpp"

#include <emx/abi.h>

#include <cstdint>
#include <functional>
#include <string>

namespace emx {

class LinkWatch {
public:
    bool open(); ///< false with errno set
    /// From now on changes of IP addresses are reported, too, as of an interface that is up. False with errno
    /// set.
    bool watch_addresses();
    int fd() const { return socket_.get(); }

    /// Reports each change that waits: interface index, its name if told, and enum emx_link_state. When
    /// changes were lost, index -1: look at every interface.
    using Report = std::function<void(int index, const std::string &name, uint32_t state)>;
    void read(const Report &report);

private:
    Fd socket_;
};

} // namespace emx
