// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// omx_info and mx_info: boards of this host, their peers, and the tunables in force.
#include "board_view.hpp"
#include "cli.hpp"

#include "libmx/conf/conf.hpp"
#include <myriexpress.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

#ifdef __clang__
#define EMX_COMPILER "clang " __clang_version__
#else
#define EMX_COMPILER "GCC " __VERSION__
#endif

namespace emx {
namespace {

constexpr uint32_t every_board = UINT32_MAX;

struct Options {
    uint32_t board = every_board;
    bool quiet = false;
    bool verbose = false;
    bool tunables = false;
};

const char *link_text(BoardRecord &board)
{
    const uint32_t state = read_link(board).state;
    return state == EMX_LINK_UP ? "Up" : state == EMX_LINK_DOWN ? "Down" : "Gone";
}

std::string fixed_text(const char *text, std::size_t size) { return {text, strnlen(text, size)}; }

void print_version()
{
    std::printf("EtherMX %s, MX interface %#x, library and firmware interface %u\n", EMX_VERSION, MX_API,
                EMX_ABI_VERSION);
    char host[256] = "?";
    gethostname(host, sizeof host - 1);
    std::printf(" built with %s; host %s\n", EMX_COMPILER, host);
}

void print_mtu_warning(const BoardRecord &board)
{
    if (board.mtu < board.sizes.payload_min)
        std::printf("   WARNING: its largest frames need an MTU of %u; raise it (ip link set %s mtu %u), or "
                    "configure dialect N with a smaller size\n",
                    board.sizes.payload_min, fixed_text(board.interface, sizeof board.interface).c_str(),
                    board.sizes.payload_min);
}

void print_board(BoardView &view, uint32_t index, const Options &options)
{
    BoardRecord &board = view.file().board(index);
    const fw_sizes &s = board.sizes;
    const std::string interface = fixed_text(board.interface, sizeof board.interface);
    std::printf(" %s (board #%u name %s addr %s)\n", view.board_name(index).c_str(), index, interface.c_str(),
                cli::mac_text(board.mac).c_str());
    std::printf(
        "   driver %s, MTU %u, link %s; dialect %s: fragments of %u bytes, pull replies of %u bytes\n",
        fixed_text(board.driver, sizeof board.driver).c_str(), board.mtu, link_text(board),
        view.dialect(index).c_str(), s.frag, s.reply);
    if (options.verbose)
        std::printf(
            "   eager messages up to %u bytes, %u frames per pull request, NUMA node %d, link changes %u\n",
            s.medium_max, s.block, static_cast<int>(board.numa_node), read_link(board).serial);
    print_mtu_warning(board);
}

void print_peers(BoardView &view, uint32_t board)
{
    const auto peers = view.peers(board);
    std::printf("\nPeer table of board #%u: %zu of %u, %s\n", board, peers.size(),
                view.file().header().peers_capacity,
                !view.file().peers(board)->open ? "complete (unknown boards are refused)"
                                                : "open to new boards");
    std::printf("=============================================\n");
    for (const PeerView &peer : peers)
        std::printf("%3u) %s %s\n", peer.index, cli::mac_text(peer.mac).c_str(),
                    peer.name.empty() ? "<unknown>" : peer.name.c_str());
}

/// The host-wide part and its boards, as Open-MX users know it.
void print_open_mx(BoardView &view, const Options &options)
{
    const BoardFileHeader &header = view.file().header();
    print_version();
    std::printf("\nFound %u boards (%u max) supporting %u endpoints each:\n", view.file().board_count(),
                boards_max, header.endpoint_max);
    if (options.verbose)
        std::printf(" board agent: process %u\n", header.agent_pid);
    for (uint32_t i = 0; i < view.file().board_count(); i++) {
        if (options.board == every_board || options.board == i)
            print_board(view, i, options);
    }
    for (uint32_t i = 0; !options.quiet && i < view.file().board_count(); i++) {
        if (options.board == every_board || options.board == i)
            print_peers(view, i);
    }
}

void print_native_board(BoardView &view, uint32_t index, const Options &options)
{
    BoardRecord &board = view.file().board(index);
    const auto peers = view.peers(index);
    std::printf("Instance #%u:  Ethernet, %s\n", index,
                fixed_text(board.interface, sizeof board.interface).c_str());
    std::printf("\tStatus:\t\tRunning, P0: Link %s\n", link_text(board));
    std::printf("\tNetwork:\tEthernet, dialect %s\n", view.dialect(index).c_str());
    std::printf("\n\tMAC Address:\t%s\n", cli::mac_text(board.mac).c_str());
    std::printf("\tProduct code:\tEtherMX (%s)\n", fixed_text(board.driver, sizeof board.driver).c_str());
    std::printf("\tPart number:\tnot available\n\tSerial number:\tnot available\n");
    // No mapper exists; the peer table is ready as soon as the board is.
    std::printf("\tMapper:\t\t%s, version = 0x%08x, configured\n", cli::mac_text(0).c_str(), 1u);
    std::printf("\tMapped hosts:\t%zu\n\n", peers.size());
    if (options.quiet)
        return;
    std::printf("INDEX    MAC ADDRESS     HOST NAME\n-----    -----------     ---------\n");
    for (const PeerView &peer : peers)
        std::printf("%4u) %s %s\n", peer.index, cli::mac_text(peer.mac).c_str(),
                    peer.name.empty() ? "<unknown>" : peer.name.c_str());
}

void print_native(BoardView &view, const Options &options)
{
    const BoardFileHeader &header = view.file().header();
    std::printf("MX Version: 1.2.16 (EtherMX %s)\nMX Build: EtherMX %s, %s\n", EMX_VERSION, EMX_VERSION,
                EMX_COMPILER);
    std::printf("%u Ethernet boards installed.\n", view.file().board_count());
    std::printf("The MX driver is configured to support a maximum of:\n"
                "\t%u endpoints per NIC, %u NICs on the network, %u NICs per host\n",
                header.endpoint_max, header.peers_capacity, boards_max);
    for (uint32_t i = 0; i < view.file().board_count(); i++) {
        std::printf("===================================================================\n");
        if (options.board == every_board || options.board == i)
            print_native_board(view, i, options);
    }
}

void print_tunables()
{
    std::vector<std::string> names;
    for (char **entry = environ; *entry; entry++)
        names.emplace_back(*entry, strcspn(*entry, "="));
    for (const ConfRow &row : conf_rows([](const char *name) { return std::getenv(name); }, names))
        std::printf("%-26s %-16s %-10s %-12s %s\n", row.name.c_str(), row.value.c_str(), row.unit.c_str(),
                    row.source.c_str(), row.help.c_str());
}

int body(int argc, char **argv)
{
    Options options;
    cli::Parser parser("[options]", "Shows the boards of this host and the peers they know.");
    parser.number('b', "board", "only this board (all)", options.board, boards_max - 1);
    parser.flag('q', "quiet", "without the peer tables", options.quiet);
    parser.flag('c', "conf", "the tunables: name, value, unit, where the value comes from, meaning",
                options.tunables);
    parser.flag('v', "verbose", "tell more", options.verbose);
    parser.parse_options(argc, argv);
    if (options.tunables) {
        print_tunables();
        return 0;
    }
    BoardView view;
    if (options.board != every_board)
        view.check_board(options.board);
    if (cli::tool_name(argv[0]).starts_with("mx_"))
        print_native(view, options);
    else
        print_open_mx(view, options);
    return 0;
}

} // namespace
} // namespace emx

int main(int argc, char **argv) { return emx::cli::run(argc, argv, emx::body); }
