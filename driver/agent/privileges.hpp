// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The agent gives up rights once it listens: root, most capabilities, and most system calls
// (docs/decisions/0014).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace emx {

/// The user that root's agent becomes, as the system's lists of users name it.
struct ServiceUser {
    std::string name;
    uid_t uid = 0;
    gid_t gid = 0;
};

/// Nothing when there is no such user.
std::optional<ServiceUser> find_service_user(const std::string &name);

/// Empty when this process can become that user, else the reason: it is not root, lacks the capabilities for
/// it, or its user namespace does not have that user, as one of one uid.
std::string obstacle_to(const ServiceUser &user);

/// Becomes that user for good, without supplementary groups, and keeps of its capabilities CAP_NET_RAW and,
/// if administers is true, CAP_NET_ADMIN. False with errno set, when the process shall not go on. For a
/// process of one thread.
bool become(const ServiceUser &user, bool administers);

/// The capabilities that this process can use, "CAP_NET_RAW and CAP_NET_ADMIN" or the like of these two.
std::string network_capabilities();

/// Rights of a confined process beside serving.
enum class Confinement {
    service, ///< nothing
    path, ///< take its path away from root's folder when it ends, and open it to a group
};

/// From now on each system call that the agent does not need fails with EPERM: it executes nothing, maps no
/// code, makes no file, no process and no socket of another family than AF_UNIX and AF_PACKET, and listens no
/// more. False with errno set where the kernel cannot do that, ENOSYS where this build has no libseccomp. For
/// good.
/// udp: and of AF_INET and AF_INET6, for UDP boards.
bool confine(Confinement confinement, bool udp);

} // namespace emx
