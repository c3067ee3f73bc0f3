// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The users whose board agent a process believes.
#include "driver/config/believed_agent.hpp"

#include "driver/config/config_file.hpp"

namespace emx {
namespace {

std::optional<uid_t> configured_user()
{
    ConfigFile config;
    std::string ignored; // omxd and omx_init tell what is wrong with the file
    return read_config_file(default_config_path, config, ignored) ? config.user : std::nullopt;
}

} // namespace

bool may_be_agent(const PeerUser &user)
{
    const bool usual = is_user(user, 0) || is_own_user(user);
    return usual || configured_user() == user.uid;
}

} // namespace emx
