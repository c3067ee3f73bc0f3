// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// omx_attach: gives interfaces to the kernel module, or takes them back.
#include "cli.hpp"
#include "driver_boards.hpp"

#include <cstdio>

namespace emx {
namespace {

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
        if (remove) {
            detach_board(file, spec.interface);
            continue;
        }
        const emx_dev_board board = attach_board(file, spec, endpoints, peers);
        std::printf("%s is board #%u of the kernel module\n", describe_board(board).c_str(), board.number);
    }
    return 0;
}

} // namespace
} // namespace emx

int main(int argc, char **argv) { return emx::cli::run(argc, argv, emx::body); }
