// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The JSON of all tools: one writer, one way to escape, one head. The schemas are in tools/schemas.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace emx {

/// Places of the members of an object, or of the elements of an array: on one line, or on a line each.
enum class JsonLayout { line, lines };

/// Text as a JSON string with its quotes, in ASCII: what is no ASCII, and control characters, become \uNNNN.
/// A byte that is no UTF-8 becomes the four characters \xNN, as printable() shows it. Any thread; allocates.
std::string json_text(std::string_view text);

/// Makes one JSON value, piece by piece. The caller begins and ends in pairs, and gives a key before each
/// value in an object. Nothing is printed before flush(). One thread at a time.
class JsonWriter {
public:
    void begin_object(JsonLayout layout = JsonLayout::line) { begin('{', '}', layout); }
    void begin_array(JsonLayout layout = JsonLayout::line) { begin('[', ']', layout); }
    /// Ends what was begun last.
    void end();

    JsonWriter &key(std::string_view name);
    void text(std::string_view value) { raw(json_text(value)); }
    void number(uint64_t value) { raw(std::to_string(value)); }
    void number(int64_t value) { raw(std::to_string(value)); }
    /// With so many decimals; null when it is no finite number.
    void decimal(double value, int digits);
    void boolean(bool value) { raw(value ? "true" : "false"); }
    void null() { raw("null"); }

    /// A key and its value.
    void member(std::string_view name, std::string_view value) { key(name).text(value); }
    void member(std::string_view name, uint64_t value) { key(name).number(value); }
    void flag(std::string_view name, bool value) { key(name).boolean(value); }
    /// null for an empty text.
    void text_or_null(std::string_view name, std::string_view value);
    /// An array of texts, a line each.
    void texts(std::string_view name, const std::vector<std::string> &values);

    /// The text since the last flush(), and what has been flushed is not in it.
    const std::string &buffered() const { return out_; }
    /// Writes that to the stream, and forgets it.
    void flush(std::FILE *stream);

private:
    struct Level {
        char close;
        JsonLayout layout;
        bool empty;
    };

    void begin(char open, char close, JsonLayout layout);
    void raw(std::string_view text);
    void separate();
    void new_line();

    std::string out_;
    std::vector<Level> levels_;
    bool keyed_ = false; ///< a key waits for its value
};

/// Begins the document of a tool: an object with its name, the version of EtherMX, and that of the schema.
/// Members may be added to a schema at any time; its version changes when one goes or means something else.
void begin_document(JsonWriter &json, std::string_view tool);
/// Ends it, and prints it on standard output.
void end_document(JsonWriter &json);

} // namespace emx
