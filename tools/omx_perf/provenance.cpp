// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Asking the firmware for what the MX interface does not tell.
#include "provenance.hpp"

#include "../board_view.hpp"
#include "../cli.hpp"

#include <ctime>

namespace emx::perf {

namespace {

std::string now_text()
{
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    char text[32];
    gmtime_r(&now, &utc);
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text;
}

} // namespace

Provenance provenance_of(uint32_t board)
{
    std::string device, interface, dialect, mtu;
    try {
        const auto view = BoardView::open();
        const BoardFacts facts = view->board(board);
        device = view->device();
        interface = facts.interface;
        dialect = facts.dialect();
        mtu = std::to_string(facts.mtu);
    } catch (const cli::Failure &) { // a measurement counts without them
    }
    return {{"version", cli::version()}, {"date", now_text()}, {"device", device},
            {"interface", interface},    {"dialect", dialect}, {"mtu", mtu}};
}

} // namespace emx::perf
