// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// omx_attach: gives interfaces to the kernel module, or takes them back.
#include "cli.hpp"

#include "driver/device/driver_file.hpp"
#include "driver/engine/board_spec.hpp"
#include "driver/engine/interface.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace emx {
namespace {

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

BoardSpec parse(const std::string &text)
{
    std::vector<BoardSpec> specs;
    std::string error;
    if (!parse_board_spec(text, specs, error))
        throw cli::Failure(error);
    if (specs.size() != 1)
        throw cli::Failure("\"" + text + "\": one interface at a time, as an argument of its own");
    return specs[0];
}

void set_interface(char (&field)[EMX_DEV_IFNAME], const std::string &interface)
{
    interface.copy(field, sizeof(field) - 1);
}

std::string attach_trouble(const std::string &interface)
{
    switch (errno) {
    case EPERM: return interface + ": run as root";
    case ENODEV: return interface + ": no such interface here";
    case EBUSY:
        return interface + ": attached already, or in use by omxd: close all endpoints and stop omxd; "
                           "dmesg says which";
    default: return interface + ": " + std::strerror(errno) + "; dmesg says more";
    }
}

void attach(const DriverFile &file, const BoardSpec &spec, uint32_t endpoints, uint32_t peers)
{
    InterfaceFacts facts;
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
    std::printf("%s is board #%u of the kernel module\n", describe_board(spec.interface, sizes).c_str(),
                request.number);
}

void detach(const DriverFile &file, const BoardSpec &spec)
{
    emx_dev_detach request{};
    set_interface(request.interface, spec.interface);
    if (file.ask(EMX_IOC_DETACH, &request))
        return;
    if (errno == EBUSY)
        throw cli::Failure(spec.interface + ": endpoints are open on it (omx_endpoint_info shows them): end "
                                            "their programs first");
    throw cli::Failure(spec.interface + (errno == EPERM ? ": run as root" : ": not attached"));
}

int body(int argc, char **argv)
{
    bool remove = false;
    uint32_t endpoints = 0, peers = 0;
    cli::Parser parser(
        "[options] INTERFACE[:W|:N[=SIZE]]...",
        "Makes interfaces boards of the kernel module, in the network namespace it is run in.");
    parser.flag('d', "detach", "take the interfaces from the module instead", remove);
    parser.number('e', "endpoints", "endpoints per board (the module's parameter)", endpoints,
                  EMX_ENDPOINTS_MAX);
    parser.number('p', "peers", "slots in the peer table (the module's parameter)", peers, FW_PEERS_MAX);
    const auto arguments = parser.parse(argc, argv);
    if (arguments.empty())
        throw cli::Failure("name an interface; -h shows the options");
    const DriverFile file = open_driver();
    for (const std::string &argument : arguments) {
        const BoardSpec spec = parse(argument);
        if (remove)
            detach(file, spec);
        else
            attach(file, spec, endpoints, peers);
    }
    return 0;
}

} // namespace
} // namespace emx

int main(int argc, char **argv) { return emx::cli::run(argc, argv, emx::body); }
