// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// JSON of the tools: every text becomes a string of JSON in ASCII, and commas and lines stand where they
// belong.
#include "tools/csv.hpp"
#include "tools/json.hpp"

#include <catch2/catch.hpp>

#include <limits>

using namespace emx;

TEST_CASE("a text becomes ASCII with escapes")
{
    CHECK(json_text("node1:0") == R"("node1:0")");
    CHECK(json_text("") == R"("")");
    CHECK(json_text("a\"b\\c") == R"("a\"b\\c")");
    CHECK(json_text(std::string_view("\0\n\x1b\x7f", 4)) == R"("\u0000\u000a\u001b\u007f")");
}

TEST_CASE("UTF-8 becomes code units, beyond the first plane two")
{
    CHECK(json_text("caf\xc3\xa9") == R"("caf\u00e9")");
    CHECK(json_text("\xe2\x82\xac") == R"("\u20ac")");
    CHECK(json_text("\xf0\x9f\x8e\x89") == R"("\ud83c\udf89")");
}

TEST_CASE("bytes that are no UTF-8 are told")
{
    CHECK(json_text("a\xff") == R"("a\\xff")");
    CHECK(json_text("\xc3") == R"("\\xc3")"); // cut short
    CHECK(json_text("\xc0\x80") == R"("\\xc0\\x80")"); // longer than need be
    CHECK(json_text("\xe0\x80\x80") == R"("\\xe0\\x80\\x80")");
    CHECK(json_text("\xed\xa0\x80") == R"("\\xed\\xa0\\x80")"); // half a pair
    CHECK(json_text("\xf4\x90\x80\x80") == R"("\\xf4\\x90\\x80\\x80")"); // beyond the last plane
    CHECK(json_text("\xe2\x82x") == R"("\\xe2\\x82x")");
}

TEST_CASE("commas and lines")
{
    JsonWriter json;
    json.begin_object(JsonLayout::lines);
    json.member("a", uint64_t{1});
    json.key("b").begin_array();
    json.number(uint64_t{2});
    json.boolean(false);
    json.null();
    json.begin_object();
    json.end();
    json.end();
    json.key("c").begin_array(JsonLayout::lines);
    json.begin_object();
    json.text_or_null("d", "");
    json.text_or_null("e", "f");
    json.end();
    json.number(int64_t{-1});
    json.end();
    json.key("g").begin_array(JsonLayout::lines);
    json.end();
    json.end();
    CHECK(json.buffered() == R"({
  "a": 1,
  "b": [2, false, null, {}],
  "c": [
    {"d": null, "e": "f"},
    -1
  ],
  "g": []
})");
}

TEST_CASE("a number that is none is null")
{
    JsonWriter json;
    json.begin_array();
    json.decimal(1.25, 1);
    json.decimal(std::numeric_limits<double>::infinity(), 3);
    json.decimal(std::numeric_limits<double>::quiet_NaN(), 3);
    json.number(std::numeric_limits<uint64_t>::max());
    json.end();
    CHECK(json.buffered() == "[1.2, null, null, 18446744073709551615]");
}

TEST_CASE("a text in CSV has quotes where it needs them")
{
    CHECK(csv_text("N=9000") == "N=9000");
    CHECK(csv_text("a,b") == "\"a,b\"");
    CHECK(csv_text("a\"b") == "\"a\"\"b\"");
}
