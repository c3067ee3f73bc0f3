// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Option table, usage text and number parsing of the tools.
#include "cli.hpp"

#include "json.hpp"

#include "driver/base/printable.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <getopt.h>

namespace emx::cli {

namespace {

constexpr int first_word_only = 256; // codes of options without a letter
constexpr int asked_help = 1, asked_version = 2; // codes of what every tool has
constexpr std::size_t help_column = 26;

// run() knows no more of a tool than its body, which may fail before it knows its own options.
bool json_wanted = false;

bool read_digits(std::string_view text, uint64_t &value)
{
    const bool hex = text.starts_with("0x");
    if (hex)
        text.remove_prefix(2);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
    return error == std::errc{} && end == text.data() + text.size();
}

[[noreturn]] void bad_number(std::string_view what, std::string_view text, uint64_t max)
{
    throw Failure(std::string(what) + ": \"" + std::string(text) + "\" is not a number from 0 to " +
                  std::to_string(max));
}

int suffix_shift(char c)
{
    switch (c) {
    case 'K':
    case 'k': return 10;
    case 'M': return 20;
    case 'G': return 30;
    default: return 0;
    }
}

} // namespace

const char *version() { return EMX_VERSION; }

uint64_t parse_number(std::string_view what, std::string_view text, uint64_t max)
{
    uint64_t value = 0;
    if (!read_digits(text, value) || value > max)
        bad_number(what, text, max);
    return value;
}

uint64_t parse_size(std::string_view what, std::string_view text, uint64_t max)
{
    const int shift = text.empty() ? 0 : suffix_shift(text.back());
    uint64_t value = 0;
    if (!read_digits(shift ? text.substr(0, text.size() - 1) : text, value) || value > max >> shift)
        bad_number(what, text, max);
    return value << shift;
}

uint64_t parse_mac(std::string_view text)
{
    unsigned octet[6];
    int used = 0;
    const std::string copy(text);
    if (copy.size() != 17 || std::sscanf(copy.c_str(), "%2x:%2x:%2x:%2x:%2x:%2x%n", &octet[0], &octet[1],
                                         &octet[2], &octet[3], &octet[4], &octet[5], &used) != 6)
        return 0;
    uint64_t id = 0;
    for (const unsigned o : octet)
        id = id << 8 | o;
    return used == 17 ? id : 0;
}

uint64_t parse_mac_or_name(std::string_view text)
{
    const uint64_t id = parse_mac(text);
    if (id == 0 && std::count(text.begin(), text.end(), ':') > 1)
        throw Failure("\"" + std::string(text) +
                      "\" is no MAC address: it has six octets, as in 02:45:4d:58:00:01");
    return id;
}

std::string mac_text(uint64_t nic_id)
{
    char text[18];
    std::snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", unsigned(nic_id >> 40 & 255),
                  unsigned(nic_id >> 32 & 255), unsigned(nic_id >> 24 & 255), unsigned(nic_id >> 16 & 255),
                  unsigned(nic_id >> 8 & 255), unsigned(nic_id & 255));
    return text;
}

Parser::Parser(std::string synopsis, std::string purpose)
    : synopsis_(std::move(synopsis)), purpose_(std::move(purpose))
{
}

void Parser::option(char letter, const char *word, const char *value_name, const char *help,
                    std::function<void(std::string_view)> set)
{
    const int code = letter ? letter : first_word_only + static_cast<int>(options_.size());
    options_.push_back({code, word, value_name ? value_name : "", help, std::move(set)});
}

void Parser::flag(char letter, const char *word, const char *help, bool &value)
{
    option(letter, word, nullptr, help, [&value](std::string_view) { value = true; });
}

void Parser::number(char letter, const char *word, const char *help, uint32_t &value, uint32_t max)
{
    option(letter, word, "N", help, [&value, max, name = std::string(word)](std::string_view text) {
        value = static_cast<uint32_t>(parse_number("--" + name, text, max));
    });
}

void Parser::size(char letter, const char *word, const char *help, uint64_t &value, const char *value_name)
{
    option(letter, word, value_name, help, [&value, name = std::string(word)](std::string_view text) {
        value = parse_size("--" + name, text, UINT32_MAX);
    });
}

void Parser::text(char letter, const char *word, const char *help, std::string &value)
{
    option(letter, word, "TEXT", help, [&value, name = std::string(word)](std::string_view text) {
        if (text.empty())
            throw Failure("--" + name + ": the text is empty");
        value = text;
    });
}

void Parser::json(const char *help, bool &value)
{
    option(0, "json", nullptr, help, [&value](std::string_view) { value = json_wanted = true; });
}

std::string Parser::usage(std::string_view tool) const
{
    std::string out = "usage: " + std::string(tool) + " " + synopsis_ + "\n" + purpose_ + "\n\noptions:\n";
    for (const Option &o : options_) {
        std::string left = o.code < first_word_only ? std::string("  -") + char(o.code) + ", --" : "      --";
        left += o.word + (o.value_name.empty() ? "" : " " + o.value_name);
        left.resize(std::max(left.size() + 1, help_column), ' ');
        out += left + o.help + "\n";
    }
    return out + "  -h, --help              this text; --help on standard output, with status 0\n"
                 "      --version           the version of EtherMX\n";
}

std::vector<std::string> Parser::parse(int argc, char **argv) const
{
    std::string letters;
    std::vector<::option> words;
    for (const Option &o : options_) {
        const bool takes = !o.value_name.empty();
        words.push_back({o.word.c_str(), takes ? required_argument : no_argument, nullptr, o.code});
        if (o.code < first_word_only)
            letters += std::string(1, char(o.code)) + (takes ? ":" : "");
    }
    words.push_back({"help", no_argument, nullptr, asked_help});
    words.push_back({"version", no_argument, nullptr, asked_version});
    words.push_back({nullptr, 0, nullptr, 0});
    letters += "h";
    const std::string tool = tool_name(argv[0]);
    optind = 1;
    for (int code; (code = getopt_long(argc, argv, letters.c_str(), words.data(), nullptr)) != -1;) {
        if (code == 'h')
            throw Failure(usage(tool));
        if (code == asked_help)
            throw Answer(usage(tool));
        if (code == asked_version)
            throw Answer(tool + " (EtherMX) " + version() + "\n");
        bool known = false;
        for (const Option &o : options_) {
            if (o.code == code) {
                o.set(optarg ? optarg : "");
                known = true;
            }
        }
        if (!known) // getopt_long has named the option already
            throw Failure("see " + tool + " -h for the options");
    }
    return {argv + optind, argv + argc};
}

void Parser::parse_options(int argc, char **argv) const
{
    const auto rest = parse(argc, argv);
    if (!rest.empty())
        throw Failure("\"" + rest.front() + "\" is no option; see " + tool_name(argv[0]) + " -h");
}

std::string tool_name(const char *path)
{
    const char *slash = std::strrchr(path, '/');
    return slash ? slash + 1 : path;
}

namespace {

/// Output that nobody could take, as on a full disk, is no success.
int after_output(const std::string &name, int status)
{
    if ((std::fflush(stdout) == 0 && !std::ferror(stdout)) || errno == EBADF) // nobody wanted it
        return status;
    std::fprintf(stderr, "%s: standard output: %s\n", name.c_str(), std::strerror(errno));
    return exit_failure;
}

void tell_failure(const std::string &name, const std::string &text)
{
    std::fprintf(stderr, "%s: %s\n", name.c_str(), printable(text).c_str());
    if (!json_wanted)
        return;
    JsonWriter json;
    begin_document(json, document_name(name));
    json.member("error", text);
    end_document(json);
}

} // namespace

std::string document_name(const std::string &tool) { return tool.starts_with("mx_") ? "o" + tool : tool; }

int run(int argc, char **argv, int (*body)(int, char **))
{
    const std::string name = tool_name(argv[0]);
    try {
        return after_output(name, body(argc, argv));
    } catch (const Answer &answer) {
        std::fputs(answer.what(), stdout);
        return after_output(name, 0);
    } catch (const Failure &failure) {
        const std::string text = failure.what();
        if (text.starts_with("usage: "))
            std::fputs(text.c_str(), stderr);
        else
            tell_failure(name, text);
        return failure.status();
    } catch (const std::exception &error) {
        tell_failure(name, error.what());
        return exit_failure;
    }
}

} // namespace emx::cli
