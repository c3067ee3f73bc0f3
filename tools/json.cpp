// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// JSON: escaping, commas and lines.
#include "json.hpp"

#include "cli.hpp"

#include "driver/base/printable.hpp"

#include <cmath>

namespace emx {

namespace {

constexpr uint64_t schema_version = 1;
constexpr std::size_t indent = 2;

/// A character of UTF-8: its code and its bytes; 0 bytes when the text does not begin with one.
struct Character {
    uint32_t code;
    std::size_t bytes;
};

constexpr Character no_character{0, 0};

std::size_t length_by(unsigned char lead)
{
    return lead < 0x80                   ? 1
           : lead >= 0xc2 && lead < 0xe0 ? 2
           : lead >= 0xe0 && lead < 0xf0 ? 3
           : lead >= 0xf0 && lead < 0xf5 ? 4
                                         : 0;
}

Character first_of(std::string_view text)
{
    constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const auto lead = static_cast<unsigned char>(text.front());
    const std::size_t bytes = length_by(lead);
    if (bytes == 0 || bytes > text.size())
        return no_character;
    uint32_t code = bytes == 1 ? lead : lead & (0x7fu >> bytes);
    for (const char c : text.substr(1, bytes - 1)) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte & 0xc0) != 0x80)
            return no_character;
        code = code << 6 | (byte & 0x3f);
    }
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    return code < least[bytes] || code > 0x10ffff || surrogate ? no_character : Character{code, bytes};
}

void append_unit(std::string &out, uint32_t unit)
{
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\u%04x", unit & 0xffff);
    out += escaped;
}

void append_character(std::string &out, uint32_t code)
{
    if (code == '"' || code == '\\') {
        out += '\\';
        out += static_cast<char>(code);
    } else if (code >= ' ' && code < 127) {
        out += static_cast<char>(code);
    } else if (code < 0x10000) {
        append_unit(out, code);
    } else {
        append_unit(out, 0xd800 + ((code - 0x10000) >> 10));
        append_unit(out, 0xdc00 + ((code - 0x10000) & 0x3ff));
    }
}

} // namespace

std::string json_text(std::string_view text)
{
    std::string out = "\"";
    while (!text.empty()) {
        const Character c = first_of(text);
        if (c.bytes == 0)
            out += '\\' + printable(text.substr(0, 1)); // its backslash is a character of the text
        else
            append_character(out, c.code);
        text.remove_prefix(c.bytes ? c.bytes : 1);
    }
    return out + '"';
}

void JsonWriter::new_line()
{
    out_ += '\n';
    out_.append(levels_.size() * indent, ' ');
}

void JsonWriter::separate()
{
    if (levels_.empty())
        return;
    Level &level = levels_.back();
    if (!level.empty)
        out_ += ',';
    if (level.layout == JsonLayout::lines)
        new_line();
    else if (!level.empty)
        out_ += ' ';
    level.empty = false;
}

void JsonWriter::begin(char open, char close, JsonLayout layout)
{
    raw({&open, 1});
    levels_.push_back({close, layout, true});
}

void JsonWriter::end()
{
    const Level level = levels_.back();
    levels_.pop_back();
    if (level.layout == JsonLayout::lines && !level.empty)
        new_line();
    out_ += level.close;
}

JsonWriter &JsonWriter::key(std::string_view name)
{
    separate();
    out_ += json_text(name) + ": ";
    keyed_ = true;
    return *this;
}

void JsonWriter::raw(std::string_view text)
{
    if (!keyed_)
        separate();
    keyed_ = false;
    out_ += text;
}

void JsonWriter::decimal(double value, int digits)
{
    if (!std::isfinite(value))
        return null();
    char text[400]; // holds the largest double
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    raw(text);
}

void JsonWriter::text_or_null(std::string_view name, std::string_view value)
{
    key(name);
    if (value.empty())
        null();
    else
        text(value);
}

void JsonWriter::texts(std::string_view name, const std::vector<std::string> &values)
{
    key(name).begin_array(JsonLayout::lines);
    for (const std::string &value : values)
        text(value);
    end();
}

void JsonWriter::flush(std::FILE *stream)
{
    std::fwrite(out_.data(), 1, out_.size(), stream);
    out_.clear();
}

void begin_document(JsonWriter &json, std::string_view tool)
{
    json.begin_object(JsonLayout::lines);
    json.member("tool", tool);
    json.member("version", cli::version());
    json.member("schema_version", schema_version);
}

void end_document(JsonWriter &json)
{
    json.end();
    json.flush(stdout);
    std::fputc('\n', stdout);
    std::fflush(stdout);
}

} // namespace emx
