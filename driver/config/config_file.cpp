// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Reading of the configuration file.
#include "driver/config/config_file.hpp"

#include "driver/base/text_file.hpp"

#include <emx/wire.h>

extern "C" {
#include "driver/core/fw.h"
}

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>

namespace emx {
namespace {

constexpr const char *known_lines = "boards = INTERFACE[:W|:N[=SIZE]][,...], group = NAME, peers = FILE, "
                                    "user = NAME, run-as = NAME, endpoints = NUMBER or table = NUMBER";

bool parse_number(const std::string &text, uint32_t most, uint32_t &number)
{
    const char *const end = text.data() + text.size();
    const auto [rest, failed] = std::from_chars(text.data(), end, number);
    return failed == std::errc{} && rest == end && number >= 1 && number <= most;
}

bool read_uid(const std::string &text, uid_t &uid)
{
    const char *const end = text.data() + text.size();
    const auto [rest, failed] = std::from_chars(text.data(), end, uid);
    return failed == std::errc{} && rest == end;
}

/// By number, or by name: from the file itself, since a static program has no other way.
std::optional<uid_t> user_of(const std::string &text)
{
    uid_t uid = 0;
    if (read_uid(text, uid))
        return uid;
    std::istringstream file = read_text_file("/etc/passwd");
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields(line);
        std::string name, password, number;
        if (std::getline(fields, name, ':') && name == text && std::getline(fields, password, ':') &&
            std::getline(fields, number, ':') && read_uid(number, uid))
            return uid;
    }
    return std::nullopt;
}

/// Empty, or what is wrong with the line.
std::string take(const std::string &key, const std::string &value, int line, ConfigFile &config)
{
    std::string error;
    if (key == "boards") {
        config.boards_line = line;
        parse_board_spec(value, config.boards, error);
    } else if (key == "group") {
        config.group = value;
    } else if (key == "run-as") {
        config.run_as = value;
    } else if (key == "user") {
        config.user = user_of(value);
        if (!config.user)
            error = "user = " + value + ": no such user in /etc/passwd: name another one, or give a number";
    } else if (key == "peers") {
        config.peers = value;
        if (value.empty() || value[0] != '/')
            error = "\"" + value + "\": give the path of the peers file from the root, as in peers = " +
                    default_peers_paths[0];
    } else {
        const uint32_t most = key == "table" ? FW_PEERS_MAX : EMX_ENDPOINTS_MAX;
        if (!parse_number(value, most, key == "table" ? config.table : config.endpoints))
            error = key + " = " + value + ": give a number from 1 to " + std::to_string(most);
    }
    return error;
}

bool is_key(const std::string &text)
{
    return text == "boards" || text == "group" || text == "peers" || text == "user" || text == "run-as" ||
           text == "endpoints" || text == "table";
}

} // namespace

bool read_config_file(const std::string &path, ConfigFile &config, std::string &error)
{
    config = {};
    errno = 0;
    std::istringstream file = read_text_file(path);
    if (!file) {
        if (errno == ENOENT)
            return true;
        error = path + ": " + std::strerror(errno);
        return false;
    }
    std::map<std::string, int> seen;
    int number = 0;
    for (std::string line; std::getline(file, line);) {
        number++;
        line = trim(line.substr(0, line.find('#')));
        if (line.empty())
            continue;
        const auto equals = line.find('=');
        const std::string key = trim(line.substr(0, equals));
        if (equals == std::string::npos || !is_key(key))
            error = "\"" + line + "\" is not understood; write " + known_lines;
        else if (const auto [first, fresh] = seen.emplace(key, number); !fresh)
            error = key + " was given in line " + std::to_string(first->second) +
                    " already: put all into one line, separated by commas, or remove one";
        else
            error = take(key, trim(line.substr(equals + 1)), number, config);
        if (error.empty())
            continue;
        error = path + ", line " + std::to_string(number) + ": " + error;
        return false;
    }
    return true;
}

std::string choose_peers_path(const std::string &named)
{
    if (!named.empty())
        return named;
    for (const char *candidate : default_peers_paths)
        if (::access(candidate, F_OK) == 0)
            return candidate;
    return {};
}

} // namespace emx
