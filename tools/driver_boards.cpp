// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Giving interfaces to the kernel module, and taking them back.
#include "driver_boards.hpp"

#include "cli.hpp"

#include "driver/base/interface.hpp"
#include "driver/base/printable.hpp"

#include <cerrno>
#include <cstring>

namespace emx {
namespace {

void set_interface(char (&field)[EMX_DEV_IFNAME], const std::string &interface)
{
    interface.copy(field, sizeof(field) - 1);
}

std::string attach_trouble(const std::string &interface)
{
    switch (errno) {
    case EPERM: return interface + ": run as root";
    case EDQUOT:
        return interface + ": you have as many boards in user namespaces as one user may (user_boards of the "
                           "module): detach some";
    case ENODEV: return interface + ": no such interface here";
    case EBUSY:
        return interface + ": attached already, or in use by omxd: close all endpoints and stop omxd; "
                           "dmesg says which";
    default: return interface + ": " + std::strerror(errno) + "; dmesg says more";
    }
}

} // namespace

DriverFile open_driver()
{
    DeviceError error;
    auto file = DriverFile::open(error);
    if (!file)
        throw cli::Failure(error.code ? error.text : "the kernel module is not loaded: modprobe ethermx");
    if (!file->fits(error))
        throw cli::Failure(error.text);
    return std::move(*file);
}

emx_dev_board attach_board(const DriverFile &file, const BoardSpec &spec, uint32_t endpoints, uint32_t peers)
{
    InterfaceFacts facts;
    if (spec.is_udp())
        throw cli::Failure(
            describe_place(spec) +
            ": a UDP board is the engine's, and needs no module: omxd --boards, or EMX_BOARDS");
    if (!query_interface(spec.interface, facts))
        throw cli::Failure(spec.interface + ": no such interface here");
    fw_sizes sizes{};
    std::string error;
    if (!choose_sizes(spec, facts.mtu, sizes, error))
        throw cli::Failure(error);
    emx_dev_attach request{};
    set_interface(request.interface, spec.interface);
    request.frame_size = sizes.mtu;
    request.endpoints = endpoints;
    request.peers = peers;
    if (!file.ask(EMX_IOC_ATTACH, &request))
        throw cli::Failure(attach_trouble(spec.interface));
    emx_dev_board board{};
    board.number = request.number;
    if (!file.ask(EMX_IOC_BOARD, &board))
        throw cli::Failure(spec.interface + ": attached, and gone again");
    return board;
}

void detach_board(const DriverFile &file, const std::string &interface)
{
    emx_dev_detach request{};
    set_interface(request.interface, interface);
    if (file.ask(EMX_IOC_DETACH, &request))
        return;
    if (errno == EBUSY)
        throw cli::Failure(interface + ": endpoints are open on it (omx_endpoint_info shows them): end "
                                       "their programs first");
    throw cli::Failure(interface + (errno == EPERM ? ": run as root" : ": not attached"));
}

void forget_vanished(const DriverFile &file)
{
    emx_dev_detach all{};
    file.ask(EMX_IOC_DETACH, &all); // fails when there is none
}

std::string describe_board(const emx_dev_board &board)
{
    return describe_board(printable(driver_text(board.interface, sizeof(board.interface))), sizes_of(board));
}

} // namespace emx
