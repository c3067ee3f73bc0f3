// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// omx_endpoint_info and mx_endpoint_info: who has which endpoint open.
#include "board_view.hpp"
#include "cli.hpp"

#include <cstdio>
#include <cstring>

namespace emx {
namespace {

uint32_t print_board(BoardView &view, uint32_t board, bool verbose)
{
    const uint32_t count = view.file().header().endpoint_max;
    uint32_t open = 0;
    std::printf("%s (board #%u):\n", view.board_name(board).c_str(), board);
    for (uint32_t i = 0; i < count; i++) {
        const ClaimRecord &claim = view.file().claim(board, i);
        if (claim.pid == 0)
            continue;
        open++;
        std::printf("%3u   open by pid %u (%.*s)", i, claim.pid,
                    static_cast<int>(strnlen(claim.command, sizeof claim.command)), claim.command);
        if (verbose)
            std::printf(", user %u, session %#010x", claim.uid, claim.session);
        std::printf("\n");
    }
    std::printf("%u of %u endpoints open\n", open, count);
    return open;
}

int body(int argc, char **argv)
{
    uint32_t board = 0;
    bool all = false, verbose = false;
    cli::Parser parser("[options]", "Shows the open endpoints of a board and the processes that hold them.");
    parser.number('b', "board", "board (0)", board, boards_max - 1);
    parser.flag('a', "all", "all boards", all);
    parser.flag('v', "verbose", "with users and session numbers", verbose);
    parser.parse_options(argc, argv);
    BoardView view;
    view.check_board(board);
    if (!all) {
        print_board(view, board, verbose);
        return 0;
    }
    uint32_t open = 0;
    for (uint32_t i = 0; i < view.file().board_count(); i++)
        open += print_board(view, i, verbose);
    std::printf("%u endpoints open on %u boards\n", open, view.file().board_count());
    return 0;
}

} // namespace
} // namespace emx

int main(int argc, char **argv) { return emx::cli::run(argc, argv, emx::body); }
