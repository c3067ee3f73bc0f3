// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The document of omx_check.
#include "tools/omx_check/results.hpp"

#include "tools/cli.hpp"
#include "tools/json.hpp"

namespace emx::check {

namespace {

void maybe(JsonWriter &json, const char *name, const std::optional<uint32_t> &value)
{
    json.key(name);
    if (value)
        json.number(uint64_t{*value});
    else
        json.null();
}

void maybe(JsonWriter &json, const char *name, const std::optional<double> &value)
{
    json.key(name);
    if (value)
        json.decimal(*value, 3);
    else
        json.null();
}

void from_here(JsonWriter &json, const BoardFacts &board, const Settings &own)
{
    json.key("from").begin_object(JsonLayout::lines);
    identify_board(json, board);
    json.member("dialect", own.text());
    json.member("mtu", board.mtu);
    json.member("link", link_text(board));
    json.end();
}

void to_there(JsonWriter &json, const std::string &host, uint64_t peer, const Results &results)
{
    json.key("to").begin_object(JsonLayout::lines);
    json.member("host", host);
    json.member("address", cli::mac_text(peer));
    json.flag("answers", results.answers);
    json.flag("served", results.served);
    json.text_or_null("dialect", results.theirs ? results.theirs->text() : "");
    const bool knows_mtu = results.theirs && results.theirs->mtu;
    maybe(json, "mtu", knows_mtu ? std::optional{results.theirs->mtu} : std::nullopt);
    json.end();
}

} // namespace

void print_json(const BoardFacts &board, const Settings &own, const std::string &host, uint64_t peer,
                const Results &results)
{
    JsonWriter json;
    begin_document(json, "omx_check");
    from_here(json, board, own);
    to_there(json, host, peer, results);
    json.flag("ok", results.wrong.empty());
    json.flag("complete", results.untested.empty());
    json.flag("same_dialect", results.same_dialect);
    maybe(json, "frame_max_bytes", results.frame_max);
    json.flag("longer_frames_vanish", results.frames_vanish);
    maybe(json, "frames", results.frames);
    maybe(json, "lost", results.lost);
    maybe(json, "reordered", results.reordered);
    maybe(json, "round_trip_min_us", results.round_trip_min_us);
    maybe(json, "round_trip_median_us", results.round_trip_median_us);
    maybe(json, "latency_us", results.latency_us);
    maybe(json, "there_MB_s", results.there_mb_s);
    maybe(json, "back_MB_s", results.back_mb_s);
    json.text_or_null("carrier", results.carrier ? results.carrier->name : "");
    json.text_or_null("carrier_why", results.carrier ? results.carrier->why : "");
    json.texts("wrong", results.wrong);
    json.texts("untested", results.untested);
    end_document(json);
}

} // namespace emx::check
