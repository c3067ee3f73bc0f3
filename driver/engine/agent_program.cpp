// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Where the program of the board agent is. Whoever can write to a place that is looked at has programs run by
// others: hence no place is looked at that a stranger could have made.
#include "driver/engine/agent_program.hpp"

#include "driver/base/environment.hpp"
#include "driver/base/text_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <iterator>

namespace emx {
namespace {

constexpr int folders_above = 4; // of a program or library in the build tree, below its top

/// The file that this code was loaded from, as the kernel knows it: neither argv[0] nor a relative path of a
/// library would do.
std::string own_file()
{
    const auto here = reinterpret_cast<uintptr_t>(&runnable);
    std::istringstream maps = read_text_file("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        unsigned long from = 0, to = 0;
        int path = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx %*s %*s %*s %*s %n", &from, &to, &path) == 2 && path > 0 &&
            from <= here && here < to)
            return line.substr(static_cast<std::size_t>(path));
    }
    return {};
}

std::string directory_of(const std::string &path)
{
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? std::string{} : path.substr(0, slash);
}

/// True if only those can write there who can write to our own file, too, and thus have their code run here
/// anyway.
bool guarded(const std::string &path, mode_t type, const struct stat &own)
{
    struct stat facts {};
    if (::lstat(path.c_str(), &facts) != 0 || (facts.st_mode & S_IFMT) != type ||
        (facts.st_uid != 0 && facts.st_uid != own.st_uid))
        return false;
    const bool same_group = (own.st_mode & S_IWGRP) && own.st_gid == facts.st_gid;
    return !(facts.st_mode & S_IWOTH) && (same_group || !(facts.st_mode & S_IWGRP));
}

bool is_build_tree(const std::string &top, const struct stat &own)
{
    const std::string folder = top + "/tools/omxd", stamp = folder + "/build-stamp";
    if (!guarded(top, S_IFDIR, own) || !guarded(top + "/tools", S_IFDIR, own) ||
        !guarded(folder, S_IFDIR, own) || !guarded(folder + "/omxd", S_IFREG, own) ||
        !guarded(stamp, S_IFREG, own))
        return false;
    std::istringstream file = read_text_file(stamp);
    return std::string(std::istreambuf_iterator<char>(file), {}) == EMX_BUILD_STAMP;
}

std::string in_build_tree()
{
    const std::string path = own_file();
    struct stat own {};
    if (path.empty() || ::stat(path.c_str(), &own) != 0)
        return {};
    std::string folder = directory_of(path);
    for (int up = 0; up < folders_above && !folder.empty(); up++, folder = directory_of(folder))
        if (is_build_tree(folder, own))
            return folder + "/tools/omxd/omxd";
    return {};
}

std::string in_path()
{
    const char *path = environment_variable("PATH");
    std::string rest = path ? path : "";
    while (!rest.empty()) {
        const auto colon = rest.find(':');
        const std::string candidate = rest.substr(0, colon) + "/omxd";
        if (candidate[0] == '/' && runnable(candidate))
            return candidate;
        rest = colon == std::string::npos ? std::string{} : rest.substr(colon + 1);
    }
    return {};
}

} // namespace

bool runnable(const std::string &path) { return !path.empty() && ::access(path.c_str(), X_OK) == 0; }

std::string find_agent_program()
{
    if (const std::string built = has_rights_of_another() ? std::string{} : in_build_tree(); runnable(built))
        return built;
    return runnable(EMX_OMXD_INSTALLED) ? EMX_OMXD_INSTALLED : in_path();
}

} // namespace emx
