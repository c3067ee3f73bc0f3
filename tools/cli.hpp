// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Command line of the tools: a table of options that makes the usage text, and failures that
// name the remedy. Exit statuses are those of mx-api section 11: 0, and 255 for errors and usage.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace emx::cli {

inline constexpr int exit_failure = 255;

/// Ends the tool: run() prints the text after the tool's name, and exits with the status.
class Failure : public std::runtime_error {
public:
    explicit Failure(const std::string &text, int status = exit_failure)
        : std::runtime_error(text), status_(status)
    {
    }
    int status() const { return status_; }

private:
    int status_;
};

/// The version of EtherMX, "0.1.0".
const char *version();

/// Ends the tool with what was asked for: run() prints the text on standard output, and exits with 0.
class Answer : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Number in decimal, or hexadecimal after 0x, whole text; Failure names `what` when it is none or above max.
uint64_t parse_number(std::string_view what, std::string_view text, uint64_t max = ~uint64_t{0});
/// The same with an optional suffix K, M or G (powers of 1024).
uint64_t parse_size(std::string_view what, std::string_view text, uint64_t max = ~uint64_t{0});
/// MAC address of six octets as a NIC id; 0 when the text has another shape.
uint64_t parse_mac(std::string_view text);
/// The same of a text that may be a board's name instead, for which it is 0. Failure for what is meant as an
/// address and is none: a name has one colon at most.
uint64_t parse_mac_or_name(std::string_view text);
/// NIC id as six octets.
std::string mac_text(uint64_t nic_id);

/// Options of one tool. References given to the adding functions must outlive parse().
class Parser {
public:
    /// `synopsis` follows the tool's name in the usage line, `purpose` is one sentence below it.
    Parser(std::string synopsis, std::string purpose);

    /// `word` is the long name without dashes; letter 0 = none. `help` ends with the default in brackets.
    void flag(char letter, const char *word, const char *help, bool &value);
    void number(char letter, const char *word, const char *help, uint32_t &value, uint32_t max = UINT32_MAX);
    void size(char letter, const char *word, const char *help, uint64_t &value,
              const char *value_name = "BYTES");
    void text(char letter, const char *word, const char *help, std::string &value);
    /// Anything else: `set` gets the argument, or an empty text when value_name is nullptr.
    void option(char letter, const char *word, const char *value_name, const char *help,
                std::function<void(std::string_view)> set);

    /// --json: the tool prints its document (tools/json.hpp). Once it is given, run() prints one with the
    /// text of a Failure, so that standard output always holds a document.
    void json(const char *help, bool &value);

    /// Reads the command line; the other arguments in order. --help and --version end in Answer; -h, which
    /// scripts of MX expect on standard error, and errors of usage end in Failure.
    std::vector<std::string> parse(int argc, char **argv) const;
    /// For tools that take nothing but options.
    void parse_options(int argc, char **argv) const;
    std::string usage(std::string_view tool) const;

private:
    struct Option {
        int code;
        std::string word;
        std::string value_name;
        std::string help;
        std::function<void(std::string_view)> set;
    };
    std::vector<Option> options_;
    std::string synopsis_;
    std::string purpose_;
};

/// Calls body, turns exceptions into a message and an exit status. Every main() is one call of it.
int run(int argc, char **argv, int (*body)(int, char **));
/// Last part of argv[0]: tools behave by the name they were called with (omx_ or mx_).
std::string tool_name(const char *path);
/// The tool as its documents name it: "omx_info" for mx_info.
std::string document_name(const std::string &tool);

} // namespace emx::cli
