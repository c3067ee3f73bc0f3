// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Ids of UDP boards, and their files.
#include "driver/agent/nic_id.hpp"

#include "driver/base/environment.hpp"
#include "driver/base/fd.hpp"
#include "driver/base/system_calls.hpp"
#include "driver/base/text_file.hpp"
#include "driver/config/peers_file.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace emx {
namespace {

constexpr const char *root_folder = "/var/lib/ethermx";

std::string state_folder()
{
    const char *state = environment_variable("XDG_STATE_HOME"), *home = environment_variable("HOME");
    if (state && state[0] == '/')
        return std::string(state) + "/ethermx";
    if (::geteuid() == 0)
        return root_folder;
    const passwd *user = home && home[0] == '/' ? nullptr : ::getpwuid(::geteuid());
    if (user)
        home = user->pw_dir;
    return home && home[0] == '/' ? std::string(home) + "/.local/state/ethermx" : std::string{};
}

uint64_t random_nic_id()
{
    constexpr uint64_t bits = 0xffffffffffff, group = 0x010000000000, local = 0x020000000000;
    return ((sys::random_bits() & bits) & ~group) | local;
}

std::string text_of(uint64_t id)
{
    std::string text;
    for (int shift = 40; shift >= 0; shift -= 8) {
        char byte[4];
        std::snprintf(byte, sizeof(byte), "%02x%c", static_cast<unsigned>(id >> shift & 0xff),
                      shift ? ':' : '\n');
        text += byte;
    }
    return text;
}

/// False with errno set, EEXIST where there is one already.
bool keep(const std::string &file, uint64_t id)
{
    std::error_code failed;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path(), failed);
    // Whole from the beginning: another agent may read it at once.
    const std::string fresh = file + "." + std::to_string(::getpid());
    const Fd fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    const std::string text = text_of(id);
    if (!fd || sys::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        return false;
    const bool kept = ::link(fresh.c_str(), file.c_str()) == 0;
    const int why = errno;
    ::unlink(fresh.c_str());
    errno = why;
    return kept;
}

} // namespace

std::string nic_id_file(const UdpAddress &board)
{
    const std::string folder = state_folder();
    std::string host = describe_host(board);
    std::replace(host.begin(), host.end(), '/', '_');
    return folder.empty() ? folder : folder + "/board-" + host + "-" + std::to_string(board.port);
}

uint64_t read_nic_id(const std::string &file, std::string &note, std::string &why)
{
    const uint64_t fresh = random_nic_id();
    if (file.empty() || (!keep(file, fresh) && errno != EEXIST)) {
        note =
            "the id of the board is not kept" + (file.empty() ? std::string(", as the user has no home")
                                                              : " in " + file + ": " + std::strerror(errno));
        return fresh;
    }
    std::istringstream text = read_text_file(file);
    std::string line;
    uint64_t id = 0;
    if (text >> line && parse_mac(line, id))
        return id;
    why = "the file " + file + " has no id of a board, as in 02:11:22:33:44:55: remove it";
    return 0;
}

} // namespace emx
