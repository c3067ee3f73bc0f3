// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Shared by the tools, for every kind of firmware.
#include "board_view.hpp"

#include "cli.hpp"
#include "json.hpp"

#include "driver/base/environment.hpp"
#include "driver/config/board_spec.hpp"
#include "libmx/conf/conf.hpp"

#include <cstdio>

namespace emx {

std::string BoardFacts::dialect() const { return describe_dialect(sizes); }

std::unique_ptr<BoardView> BoardView::open()
{
    Conf conf;
    std::string error;
    if (!load_conf(conf, environment_variable, error))
        throw cli::Failure(error);
    if (conf.device != "engine")
        if (auto view = open_driver_view(conf.boards, conf.device == "kernel"))
            return view;
    return open_agent_view();
}

BoardFacts BoardView::board(uint32_t number)
{
    const auto all = boards();
    for (const BoardFacts &facts : all)
        if (facts.number == number)
            return facts;
    throw cli::Failure("no board #" + std::to_string(number) + ": this host has " +
                       std::to_string(all.size()) + (all.size() == 1 ? " board, #0" : " boards, from #0"));
}

const char *link_text(const BoardFacts &board)
{
    return board.link == EMX_LINK_UP ? "Up" : board.link == EMX_LINK_DOWN ? "Down" : "Gone";
}

void identify_board(JsonWriter &json, const BoardFacts &board)
{
    json.member("number", board.number);
    json.text_or_null("name", board.name == "?" ? "" : board.name);
    json.member("interface", board.interface);
    json.member("address", cli::mac_text(board.mac));
}

void check_name(const std::string &name)
{
    if (name.empty() || name.size() >= EMX_NAME_MAX)
        throw cli::Failure("\"" + name + "\": a board's name has 1 to " + std::to_string(EMX_NAME_MAX - 1) +
                           " characters");
}

void warn_if_short_lived(const BoardView &view)
{
    if (view.started_agent())
        std::fprintf(stderr,
                     "note: the board agent was not running; it was started for this, and forgets it a few "
                     "seconds after its last user. Start omxd first to keep it.\n");
}

} // namespace emx
