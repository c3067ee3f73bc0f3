// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// omx_hostname: the name that other hosts know a board by.
#include "board_view.hpp"
#include "cli.hpp"

#include <cstdio>

namespace emx {
namespace {

int body(int argc, char **argv)
{
    uint32_t board = 0;
    std::string name;
    bool clear = false, verbose = false;
    cli::Parser parser("[options]", "Shows or sets the name of a board.");
    parser.number('b', "board", "board (0)", board, boards_max - 1);
    parser.text('n', "name", "give the board this name", name);
    parser.flag('c', "clear", "forget the names of other hosts' boards; they are asked for again", clear);
    parser.flag('v', "verbose", "tell more", verbose);
    parser.parse_options(argc, argv);
    BoardView view;
    view.check_board(board);
    AgentRequest request;
    request.board = board;
    if (clear) {
        request.op = AgentOp::forget_names;
        view.tell(request);
    }
    if (!name.empty()) {
        request.op = AgentOp::set_name;
        set_text(request, name);
        view.tell(request);
        warn_if_short_lived(view);
    }
    if (verbose)
        std::printf("board #%u (%s) is called %s\n", board,
                    cli::mac_text(view.file().board(board).mac).c_str(), view.board_name(board).c_str());
    else if (!clear && name.empty())
        std::printf("%s\n", view.board_name(board).c_str());
    return 0;
}

} // namespace
} // namespace emx

int main(int argc, char **argv) { return emx::cli::run(argc, argv, emx::body); }
