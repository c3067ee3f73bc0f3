// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// omx_check: tests the path to a host, and says what is wrong with it.
#include "tools/cli.hpp"
#include "tools/omx_check/partner.hpp"
#include "tools/omx_check/path.hpp"

#include <cstdio>

namespace emx::check {
namespace {

constexpr int exit_wrong = 1;

int serve(const Options &options)
{
    const BoardFacts board = BoardView::open()->board(options.board);
    Partner partner(options.board, options.endpoint);
    std::printf("omx_check: serving %s (%s) at endpoint %u\n", board.name.c_str(),
                cli::mac_text(board.mac).c_str(), options.endpoint);
    std::fflush(stdout);
    partner.serve(settings_of(board));
}

int body(int argc, char **argv)
{
    Options options;
    bool server = false;
    cli::Parser parser("[options] HOST",
                       "Tests the path to a host, and says what is wrong. HOST is a name or a "
                       "MAC address. With -s: serves such tests.");
    parser.flag('s', "serve", "be the partner of tests from other hosts, until interrupted", server);
    parser.number('b', "board", "board (0)", options.board, views_boards_max - 1);
    parser.number('e', "endpoint", "of the partner (30)", options.endpoint, EMX_ENDPOINTS_MAX - 1);
    parser.number('N', "frames", "frames to count losses with (1000)", options.frames, 1000000);
    parser.number('p', "patience", "seconds to wait for a first answer (3)", options.patience_s, 3600);
    parser.json("the results for programs, at the end", options.json);
    const auto arguments = parser.parse(argc, argv);
    if (server && options.json)
        throw cli::Failure("--json is for tests of a path: leave out -s");
    if (arguments.size() != (server ? 0 : 1))
        throw cli::Failure(server ? "-s takes no HOST" : "wanted one HOST, or -s; -h shows the options");
    if (server)
        return serve(options);
    return test_path(options, arguments.front()) ? 0 : exit_wrong;
}

} // namespace
} // namespace emx::check

int main(int argc, char **argv) { return emx::cli::run(argc, argv, emx::check::body); }
