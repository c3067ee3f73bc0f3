// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// omx_info and mx_info: boards of this host, their peers, and the tunables in force.
#include "board_view.hpp"
#include "cli.hpp"
#include "json.hpp"

#include "driver/base/environment.hpp"
#include "driver/base/printable.hpp"
#include "driver/config/board_spec.hpp"
#include "libmx/conf/conf.hpp"
#include <myriexpress.h>

#include <algorithm>
#include <cstdio>
#include <string>

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
    bool json = false;
};

std::string host_name()
{
    char host[256] = "?";
    gethostname(host, sizeof host - 1);
    return host;
}

void print_version()
{
    std::printf("EtherMX %s, MX interface %#x, library and firmware interface %u\n", cli::version(), MX_API,
                EMX_ABI_VERSION);
    std::printf(" built with %s; host %s\n", EMX_COMPILER, printable(host_name()).c_str());
}

void print_mtu_warning(const BoardFacts &board)
{
    if (board.mtu < board.sizes.payload_min)
        std::printf("   WARNING: its largest frames need an MTU of %u; raise it (ip link set %s mtu %u), or "
                    "configure dialect N with a smaller size\n",
                    board.sizes.payload_min, board.interface.c_str(), board.sizes.payload_min);
}

/// A machine of one node, and a virtual interface, have none.
std::string numa_text(const BoardFacts &board)
{
    const auto node = static_cast<int>(board.numa_node);
    return node < 0 ? "unknown" : std::to_string(node);
}

void print_board(const BoardFacts &board, const Options &options)
{
    const fw_sizes &s = board.sizes;
    std::printf(" %s (board #%u name %s addr %s)\n", board.name.c_str(), board.number,
                board.interface.c_str(), cli::mac_text(board.mac).c_str());
    std::printf(
        "   driver %s, MTU %u, link %s; dialect %s: fragments of %u bytes, pull replies of %u bytes\n",
        board.driver.c_str(), board.mtu, link_text(board), board.dialect().c_str(), s.frag, s.reply);
    if (options.verbose)
        std::printf(
            "   eager messages up to %u bytes, %u frames per pull request, NUMA node %s, link changes %u\n",
            s.medium_max, s.block, numa_text(board).c_str(), board.link_changes);
    print_mtu_warning(board);
}

std::string name_text(const PeerView &peer) { return peer.name.empty() ? "<unknown>" : peer.name; }

void print_peers(BoardView &view, const BoardFacts &board)
{
    const auto peers = view.peers(board.number);
    std::printf("\nPeer table of board #%u: %zu of %u, %s\n", board.number, peers.size(), board.peers_max,
                !board.peers_open ? "complete (unknown boards are refused)" : "open to new boards");
    std::printf("=============================================\n");
    for (const PeerView &peer : peers)
        std::printf("%3u) %s %s%s\n", peer.index, cli::mac_text(peer.mac).c_str(), name_text(peer).c_str(),
                    peer.speaks ? (" (dialect " + describe_spoken(peer.speaks) + ")").c_str() : "");
}

bool wanted(const BoardFacts &board, const Options &options)
{
    return options.board == every_board || options.board == board.number;
}

/// The host's limit: all its boards have the same.
uint32_t endpoint_max(const std::vector<BoardFacts> &boards)
{
    return boards.empty() ? 0 : boards.front().endpoint_max;
}

/// The host-wide part and its boards, as Open-MX users know it.
void print_open_mx(BoardView &view, const std::vector<BoardFacts> &boards, const Options &options)
{
    print_version();
    std::printf("\nFound %zu board%s (%u max) supporting %u endpoints each:\n", boards.size(),
                boards.size() == 1 ? "" : "s", views_boards_max, endpoint_max(boards));
    if (options.verbose)
        std::printf(" %s\n", view.firmware().c_str());
    for (const BoardFacts &board : boards) {
        if (wanted(board, options))
            print_board(board, options);
    }
    for (const BoardFacts &board : boards) {
        if (!options.quiet && wanted(board, options))
            print_peers(view, board);
    }
}

void print_native_board(BoardView &view, const BoardFacts &board, const Options &options)
{
    const auto peers = view.peers(board.number);
    std::printf("Instance #%u:  Ethernet, %s\n", board.number, board.interface.c_str());
    std::printf("\tStatus:\t\tRunning, P0: Link %s\n", link_text(board));
    std::printf("\tNetwork:\tEthernet, dialect %s\n", board.dialect().c_str());
    std::printf("\n\tMAC Address:\t%s\n", cli::mac_text(board.mac).c_str());
    std::printf("\tProduct code:\tEtherMX (%s)\n", board.driver.c_str());
    std::printf("\tPart number:\tnot available\n\tSerial number:\tnot available\n");
    // No mapper exists; the peer table is ready as soon as the board is.
    std::printf("\tMapper:\t\t%s, version = 0x%08x, configured\n", cli::mac_text(0).c_str(), 1u);
    std::printf("\tMapped hosts:\t%zu\n\n", peers.size());
    if (options.quiet)
        return;
    std::printf("INDEX    MAC ADDRESS     HOST NAME\n-----    -----------     ---------\n");
    for (const PeerView &peer : peers)
        std::printf("%4u) %s %s\n", peer.index, cli::mac_text(peer.mac).c_str(), name_text(peer).c_str());
}

void print_native(BoardView &view, const std::vector<BoardFacts> &boards, const Options &options)
{
    std::printf("MX Version: 1.2.16 (EtherMX %s)\nMX Build: EtherMX %s, %s\n", cli::version(), cli::version(),
                EMX_COMPILER);
    std::printf("%zu Ethernet boards installed.\n", boards.size());
    std::printf("The MX driver is configured to support a maximum of:\n"
                "\t%u endpoints per NIC, %u NICs on the network, %u NICs per host\n",
                endpoint_max(boards), boards.empty() ? 0 : boards.front().peers_max, views_boards_max);
    for (const BoardFacts &board : boards) {
        std::printf("===================================================================\n");
        if (wanted(board, options))
            print_native_board(view, board, options);
    }
}

// ---- JSON

void json_sizes(JsonWriter &json, const BoardFacts &board)
{
    json.member("dialect", board.dialect());
    json.member("mtu_needed", board.sizes.payload_min);
    json.member("fragment_bytes", board.sizes.frag);
    json.member("pull_reply_bytes", board.sizes.reply);
    json.member("pull_block_frames", board.sizes.block);
    json.member("eager_max_bytes", board.sizes.medium_max);
}

void json_peers(JsonWriter &json, BoardView &view, const BoardFacts &board)
{
    json.key("peers").begin_array(JsonLayout::lines);
    for (const PeerView &peer : view.peers(board.number)) {
        json.begin_object();
        json.member("index", peer.index);
        json.text_or_null("name", peer.name);
        json.member("address", cli::mac_text(peer.mac));
        json.text_or_null("dialect", peer.speaks ? describe_spoken(peer.speaks) : "");
        json.end();
    }
    json.end();
}

void json_board(JsonWriter &json, BoardView &view, const BoardFacts &board, const Options &options)
{
    json.begin_object(JsonLayout::lines);
    identify_board(json, board);
    json.member("driver", board.driver);
    json.member("mtu", board.mtu);
    json.member("link", link_text(board));
    json.member("link_changes", board.link_changes);
    json.key("numa_node");
    if (static_cast<int>(board.numa_node) < 0)
        json.null();
    else
        json.number(uint64_t{board.numa_node});
    json_sizes(json, board);
    json.member("endpoints_max", board.endpoint_max);
    json.member("peers_max", board.peers_max);
    json.flag("peers_open", board.peers_open);
    if (!options.quiet)
        json_peers(json, view, board);
    json.end();
}

void print_json(BoardView &view, const std::vector<BoardFacts> &boards, const Options &options)
{
    JsonWriter json;
    begin_document(json, "omx_info");
    json.member("host", host_name());
    json.member("compiler", EMX_COMPILER);
    json.member("mx_api", MX_API);
    json.member("abi_version", EMX_ABI_VERSION);
    json.member("device", view.device());
    json.member("firmware", view.firmware());
    json.member("boards_max", views_boards_max);
    json.key("boards").begin_array(JsonLayout::lines);
    for (const BoardFacts &board : boards)
        if (wanted(board, options))
            json_board(json, view, board, options);
    json.end();
    end_document(json);
}

void print_tunables_json()
{
    JsonWriter json;
    begin_document(json, "omx_info");
    json.key("tunables").begin_array(JsonLayout::lines);
    for (const ConfRow &row : conf_rows(environment_variable, environment_names())) {
        json.begin_object();
        json.member("name", row.name);
        json.member("value", row.value);
        json.member("unit", row.unit);
        json.member("source", row.source);
        json.member("help", row.help);
        json.end();
    }
    json.end();
    end_document(json);
}

void print_tunables()
{
    for (const ConfRow &row : conf_rows(environment_variable, environment_names()))
        std::printf("%-26s %-16s %-10s %-12s %s\n", printable(row.name).c_str(), printable(row.value).c_str(),
                    row.unit.c_str(), row.source.c_str(), row.help.c_str());
}

int body(int argc, char **argv)
{
    Options options;
    cli::Parser parser("[options]", "Shows the boards of this host and the peers they know.");
    parser.number('b', "board", "only this board (all)", options.board, views_boards_max - 1);
    parser.flag('q', "quiet", "without the peer tables", options.quiet);
    parser.flag('c', "conf", "the tunables: name, value, unit, where the value comes from, meaning",
                options.tunables);
    parser.flag('v', "verbose", "tell more", options.verbose);
    parser.json("the same for programs, with all details", options.json);
    parser.parse_options(argc, argv);
    if (options.tunables) {
        options.json ? print_tunables_json() : print_tunables();
        return 0;
    }
    const auto view = BoardView::open();
    const auto boards = view->boards();
    if (options.board != every_board)
        view->board(options.board);
    if (options.json)
        print_json(*view, boards, options);
    else if (cli::tool_name(argv[0]).starts_with("mx_"))
        print_native(*view, boards, options);
    else
        print_open_mx(*view, boards, options);
    return 0;
}

} // namespace
} // namespace emx

int main(int argc, char **argv) { return emx::cli::run(argc, argv, emx::body); }
