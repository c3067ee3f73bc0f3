// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The device file of the kernel module. See driver_file.hpp.
#include "driver/kernel_client/driver_file.hpp"

#include "driver/base/system_calls.hpp"
#include "driver/mx_codes.hpp"
#include "driver/system_error.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>

namespace emx {

std::optional<DriverFile> DriverFile::open(DeviceError &error)
{
    error = {};
    Fd fd(sys::open(EMX_DEV_PATH, O_RDWR | O_CLOEXEC));
    if (fd)
        return DriverFile(std::move(fd));
    if (errno == EACCES || errno == EPERM)
        error = {mx_no_perm,
                 std::string("no access to " EMX_DEV_PATH ": have the administrator allow it to you "
                             "(chmod 666 " EMX_DEV_PATH "), or set EMX_DEVICE=engine")};
    else if (errno != ENOENT && errno != ENXIO && errno != ENODEV)
        error = system_error("opening " EMX_DEV_PATH, mx_no_driver);
    return std::nullopt;
}

bool DriverFile::ask(unsigned long request, void *argument) const
{
    int status;
    do {
        status = ::ioctl(fd_.get(), request, argument);
    } while (status < 0 && errno == EINTR);
    return status >= 0;
}

int DriverFile::ask_number(unsigned long request, const void *argument) const
{
    return ::ioctl(fd_.get(), request, argument);
}

bool DriverFile::fits(DeviceError &error) const
{
    emx_dev_version version{};
    if (!ask(EMX_IOC_VERSION, &version)) {
        error = {mx_no_driver,
                 EMX_DEV_PATH " is not of EtherMX's kernel module: load ethermx, or set EMX_DEVICE=engine"};
        return false;
    }
    if (version.oldest <= EMX_DEV_VERSION && EMX_DEV_VERSION <= version.version &&
        version.abi == EMX_ABI_VERSION)
        return true;
    error = {mx_no_driver, "the kernel module ethermx speaks versions " + std::to_string(version.oldest) +
                               " to " + std::to_string(version.version) + " of its interface, the library " +
                               std::to_string(EMX_DEV_VERSION) +
                               " (messages: " + std::to_string(version.abi) + ", library " +
                               std::to_string(EMX_ABI_VERSION) + "): install both from one release"};
    return false;
}

bool DriverFile::has(uint32_t feature) const
{
    emx_dev_version version{};
    return ask(EMX_IOC_VERSION, &version) && (version.features & feature) == feature;
}

std::vector<emx_dev_board> DriverFile::boards() const
{
    std::vector<emx_dev_board> all;
    emx_dev_board board{};
    while (ask(EMX_IOC_BOARD, &board)) {
        all.push_back(board);
        const uint32_t next = board.number + 1;
        board = {};
        board.number = next;
    }
    return all;
}

std::optional<emx_dev_peer> DriverFile::peer(emx_dev_peer request) const
{
    if (!ask(EMX_IOC_PEER, &request))
        return std::nullopt;
    return request;
}

std::vector<emx_dev_peer> DriverFile::peers(uint32_t board) const
{
    constexpr std::size_t batch = 256;
    std::vector<emx_dev_peer> all;
    emx_dev_peers list{};
    list.board = board;
    do {
        all.resize(list.first + batch);
        list.address = reinterpret_cast<uint64_t>(&all[list.first]);
        list.count = batch;
        if (!ask(EMX_IOC_PEERS, &list))
            return peers_singly(board);
        list.first += list.count;
    } while (list.count == batch);
    all.resize(list.first);
    return all;
}

/// From a driver that does not know how to tell many.
std::vector<emx_dev_peer> DriverFile::peers_singly(uint32_t board) const
{
    std::vector<emx_dev_peer> all;
    emx_dev_peer request{};
    request.board = board;
    request.by = EMX_DEV_PEER_INDEX;
    for (; const auto entry = peer(request); request.index++)
        all.push_back(*entry);
    return all;
}

std::string driver_text(const char *chars, std::size_t size)
{
    return std::string(chars, ::strnlen(chars, size));
}

fw_sizes sizes_of(const emx_dev_board &board)
{
    fw_sizes sizes{};
    if (board.dialect_mtu == 0)
        fw_sizes_w(&sizes);
    else
        fw_sizes_n(&sizes, board.dialect_mtu);
    return sizes;
}

bool module_has(const std::string &interface, std::string &text)
{
    DeviceError ignored;
    const auto file = DriverFile::open(ignored);
    if (!file)
        return false;
    for (const emx_dev_board &board : file->boards()) {
        if (driver_text(board.interface, sizeof(board.interface)) != interface)
            continue;
        text = "the kernel module ethermx has interface " + interface +
               ": unset EMX_DEVICE to use it through the module, or let the module go of it (omx_attach -d " +
               interface + ")";
        return true;
    }
    return false;
}

} // namespace emx
