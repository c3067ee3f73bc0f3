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
    parser.number('b', "board", "board (0)", board, views_boards_max - 1);
    parser.text('n', "name", "give the board this name", name);
    parser.flag('c', "clear", "forget the names of other hosts' boards; they are asked for again", clear);
    parser.flag('v', "verbose", "tell more", verbose);
    parser.parse_options(argc, argv);
    const auto view = BoardView::open();
    view->board(board);
    if (clear)
        view->forget_names();
    if (!name.empty()) {
        check_name(name);
        view->set_name(board, name);
        warn_if_short_lived(*view);
    }
    const BoardFacts facts = view->board(board);
    if (verbose)
        std::printf("board #%u (%s) is called %s\n", board, cli::mac_text(facts.mac).c_str(),
                    facts.name.c_str());
    else if (!clear && name.empty())
        std::printf("%s\n", facts.name.c_str());
    return 0;
}

} // namespace
} // namespace emx

int main(int argc, char **argv) { return emx::cli::run(argc, argv, emx::body); }
