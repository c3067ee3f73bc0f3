// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Frames that come to the groups of an endpoint: the library keeps them for the program.
#include "libmx/endpoint/endpoint.hpp"

namespace emx {

void Endpoint::on_group(const emx_msg &msg)
{
    if (gate_.is_ending() || !groups_ || !groups_->put(msg, port_->peer_nic_id(msg.peer)))
        return count(EMX_CNT_DROP_GROUP_FULL);
    // No request completes, so blocking calls end for the program to look.
    const bool another_sleeps = waiter_.is_taken();
    waiter_.wakeup();
    if (another_sleeps)
        port_->wake();
}

GroupInbox &Endpoint::groups()
{
    if (!groups_)
        groups_ = std::make_unique<GroupInbox>();
    return *groups_;
}

} // namespace emx
