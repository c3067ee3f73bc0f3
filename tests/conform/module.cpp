// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Boards of the kernel module for the conformance runs. See module.hpp.
#include "module.hpp"

#include <emx/dev.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <sstream>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace emx::conform {
namespace {

bool enter(const std::string &path, const std::string &host_name)
{
    const int ns = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    return ns >= 0 && ::setns(ns, CLONE_NEWNET) == 0 && ::unshare(CLONE_NEWUTS) == 0 &&
           ::sethostname(host_name.data(), host_name.size()) == 0;
}

bool attach(int device, const std::string &board)
{
    emx_dev_attach request{};
    const auto colon = board.find(':');
    board.copy(request.interface, std::min(colon, sizeof(request.interface) - 1));
    if (board.compare(colon, 3, ":N=") == 0)
        request.frame_size = static_cast<uint32_t>(std::atoi(board.c_str() + colon + 3));
    return ::ioctl(device, EMX_IOC_ATTACH, &request) == 0;
}

/// Exit status: 0, or an errno.
int attach_all(const std::string &path, const std::string &host_name, const std::string &boards)
{
    const int device = ::open(EMX_DEV_PATH, O_RDWR | O_CLOEXEC);
    if (device < 0 || !enter(path, host_name))
        return errno;
    std::istringstream list(boards);
    for (std::string board; std::getline(list, board, ',');)
        if (!attach(device, board))
            return errno;
    return 0;
}

} // namespace

bool attach_boards(const std::string &path, const std::string &host_name, const std::string &boards,
                   std::string &error)
{
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(attach_all(path, host_name, boards));
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    error = "cannot attach " + boards + " to the kernel module: " + std::strerror(WEXITSTATUS(status)) +
            "; is it loaded? dmesg says more";
    return false;
}

} // namespace emx::conform
