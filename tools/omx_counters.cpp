// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// omx_counters and mx_counters: what a board has sent, received and dropped, in all processes together.
#include "board_view.hpp"
#include "cli.hpp"

#include <cstdio>

namespace emx {
namespace {

struct Options {
    uint32_t board = 0;
    bool shared = false;
    bool clear = false;
    bool all = false;
    bool quiet = false;
    bool verbose = false;
    bool native = false;
};

void print_counter(unsigned number, uint64_t value, const Options &options)
{
    const auto v = static_cast<unsigned long long>(value);
    if (options.native)
        std::printf("%34s: %llu (%#llx)\n", fw_counter_label(number), v, v);
    else if (options.verbose)
        std::printf("%03u: %8llu %s: %s\n", number, v, fw_counter_label(number), fw_counter_help(number));
    else
        std::printf("%03u: %8llu %s\n", number, v, fw_counter_label(number));
}

bool wanted(unsigned number, uint64_t value, const Options &options)
{
    if (options.shared && number != EMX_CNT_SHM_MESSAGE)
        return false;
    return value > 0 || (!options.quiet && (options.all || options.native || options.shared));
}

void print_all(BoardView &view, const Options &options)
{
    const emx_counters counters = view.counters(options.board);
    unsigned printed = 0;
    for (unsigned i = 0; i < EMX_CNT_COUNT; i++) {
        if (wanted(i, counters.v[i], options)) {
            print_counter(i, counters.v[i], options);
            printed++;
        }
    }
    if (printed == 0 && !options.quiet)
        std::printf("every counter of board #%u is zero (-a shows them)\n", options.board);
}

int body(int argc, char **argv)
{
    Options options;
    options.native = cli::tool_name(argv[0]).starts_with("mx_");
    cli::Parser parser("[options]", "Shows the counters of a board; without -a those that are not zero.");
    parser.number('b', "board", "board (0)", options.board, views_boards_max - 1);
    parser.flag('s', "shared", "counters of messages through shared memory", options.shared);
    parser.flag('c', "clear", "set them all to zero", options.clear);
    parser.flag('a', "all", "all, those at zero too", options.all);
    parser.flag('q', "quiet", "nothing but counters that are not zero", options.quiet);
    parser.flag('v', "verbose", "with an explanation", options.verbose);
    parser.parse_options(argc, argv);
    const auto view = BoardView::open();
    view->board(options.board);
    if (options.clear)
        view->clear_counters(options.board);
    else
        print_all(*view, options);
    return 0;
}

} // namespace
} // namespace emx

int main(int argc, char **argv) { return emx::cli::run(argc, argv, emx::body); }
