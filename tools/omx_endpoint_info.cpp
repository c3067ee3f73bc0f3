// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// omx_endpoint_info and mx_endpoint_info: who has which endpoint open.
#include "board_view.hpp"
#include "cli.hpp"
#include "json.hpp"

#include <cstdio>

namespace emx {
namespace {

std::size_t print_board(BoardView &view, const BoardFacts &board, bool verbose)
{
    const auto holders = view.holders(board.number);
    std::printf("%s (board #%u):\n", board.name.c_str(), board.number);
    for (const HolderView &holder : holders) {
        std::printf("%3u   open by pid %u (%s)", holder.number, holder.pid, holder.command.c_str());
        if (verbose)
            std::printf(", user %u, session %#010x", holder.uid, holder.session);
        std::printf("\n");
    }
    std::printf("%zu of %u endpoints open\n", holders.size(), board.endpoint_max);
    return holders.size();
}

void print_json(BoardView &view, const std::vector<BoardFacts> &boards)
{
    JsonWriter json;
    begin_document(json, "omx_endpoint_info");
    json.key("boards").begin_array(JsonLayout::lines);
    for (const BoardFacts &board : boards) {
        json.begin_object(JsonLayout::lines);
        identify_board(json, board);
        json.member("endpoints_max", board.endpoint_max);
        json.key("endpoints").begin_array(JsonLayout::lines);
        for (const HolderView &holder : view.holders(board.number)) {
            json.begin_object();
            json.member("number", holder.number);
            json.member("pid", holder.pid);
            json.member("uid", holder.uid);
            json.member("session", holder.session);
            json.member("command", holder.command);
            json.end();
        }
        json.end();
        json.end();
    }
    json.end();
    end_document(json);
}

int body(int argc, char **argv)
{
    uint32_t board = 0;
    bool all = false, verbose = false, json = false;
    cli::Parser parser("[options]", "Shows the open endpoints of a board and the processes that hold them.");
    parser.number('b', "board", "board (0)", board, views_boards_max - 1);
    parser.flag('a', "all", "all boards", all);
    parser.flag('v', "verbose", "with users and session numbers", verbose);
    parser.json("the same for programs, with all details", json);
    parser.parse_options(argc, argv);
    const auto view = BoardView::open();
    const BoardFacts only = view->board(board);
    if (json) {
        print_json(*view, all ? view->boards() : std::vector{only});
        return 0;
    }
    if (!all) {
        print_board(*view, only, verbose);
        return 0;
    }
    const auto boards = view->boards();
    std::size_t open = 0;
    for (const BoardFacts &each : boards)
        open += print_board(*view, each, verbose);
    std::printf("%zu endpoint%s open on %zu board%s\n", open, open == 1 ? "" : "s", boards.size(),
                boards.size() == 1 ? "" : "s");
    return 0;
}

} // namespace
} // namespace emx

int main(int argc, char **argv) { return emx::cli::run(argc, argv, emx::body); }
