// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// omx_counters and mx_counters: what a board has sent, received and dropped, in all processes together.
#include "board_view.hpp"
#include "cli.hpp"
#include "counters_export.hpp"
#include "diagnosis.hpp"

#include <cstdio>
#include <string_view>

namespace emx {
namespace {

// Each counter has a label and an explanation, of a line each.
#define EMX_EXPLAINED(id, label, help)                                                                       \
    static_assert(sizeof(label) > 1 && sizeof(label) <= 64, "label of " #id);                                \
    static_assert(sizeof(help) > 1 && sizeof(help) <= 100, "explanation of " #id);
EMX_COUNTERS(EMX_EXPLAINED)
#undef EMX_EXPLAINED

struct Options {
    uint32_t board = 0;
    bool board_given = false;
    bool shared = false;
    bool clear = false;
    bool all = false;
    bool quiet = false;
    bool verbose = false;
    bool native = false;
    bool json = false;
    bool openmetrics = false;

    bool exports() const { return json || openmetrics; }
};

bool is_drop(unsigned number) { return std::string_view(fw_counter_label(number)).starts_with("drop: "); }

/// Lines with numbers are what scripts read: the explanation of a drop stands on a line of its own.
void print_counter(unsigned number, uint64_t value, const Options &options)
{
    const auto v = static_cast<unsigned long long>(value);
    if (options.native)
        std::printf("%34s: %llu (%#llx)\n", fw_counter_label(number), v, v);
    else if (options.verbose)
        std::printf("%03u: %8llu %s: %s\n", number, v, fw_counter_label(number), fw_counter_help(number));
    else
        std::printf("%03u: %8llu %s\n", number, v, fw_counter_label(number));
    if (is_drop(number) && value > 0 && !options.native && !options.verbose && !options.quiet)
        std::printf("%14s(%s)\n", "", fw_counter_help(number));
}

bool wanted(unsigned number, uint64_t value, const Options &options)
{
    if (options.shared && number != EMX_CNT_SHM_MESSAGE)
        return false;
    return value > 0 || (!options.quiet && (options.all || options.native || options.shared));
}

void print_diagnosis(const emx_counters &counters, const BoardFacts &board)
{
    for (const std::string &sentence : diagnose(counters, board))
        std::printf("\ndiagnosis: %s.\n", sentence.c_str());
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
    if (!options.quiet && !options.native && !options.shared)
        print_diagnosis(counters, view.board(options.board));
}

/// All boards, unless one is named.
void print_export(BoardView &view, const Options &options)
{
    const auto boards = options.board_given ? std::vector{view.board(options.board)} : view.boards();
    if (options.json)
        print_counters_json(view, boards);
    else
        print_openmetrics(view, boards);
}

void check_options(const Options &options)
{
    if (options.json && options.openmetrics)
        throw cli::Failure("--json and --openmetrics exclude each other");
    if (options.exports() &&
        (options.clear || options.shared || options.all || options.quiet || options.verbose))
        throw cli::Failure("--json and --openmetrics tell all: of the other options only -b goes with them");
}

int body(int argc, char **argv)
{
    Options options;
    options.native = cli::tool_name(argv[0]).starts_with("mx_");
    cli::Parser parser("[options]", "Shows the counters of a board; without -a those that are not zero.");
    parser.option(
        'b', "board", "N", "board (0; of --json and --openmetrics all)", [&options](std::string_view text) {
            options.board = static_cast<uint32_t>(cli::parse_number("--board", text, views_boards_max - 1));
            options.board_given = true;
        });
    parser.flag('s', "shared", "counters of messages through shared memory", options.shared);
    parser.flag('c', "clear", "set them all to zero", options.clear);
    parser.flag('a', "all", "all, those at zero too", options.all);
    parser.flag('q', "quiet", "nothing but counters that are not zero: no explanation, no diagnosis",
                options.quiet);
    parser.flag('v', "verbose", "with an explanation of each", options.verbose);
    parser.json("all counters for programs, as JSON", options.json);
    parser.flag(0, "openmetrics", "all counters for Prometheus, in the text form of OpenMetrics",
                options.openmetrics);
    parser.parse_options(argc, argv);
    check_options(options);
    const auto view = BoardView::open();
    if (options.exports()) {
        print_export(*view, options);
        return 0;
    }
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
