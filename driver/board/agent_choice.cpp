// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Choice of the agent that serves the boards which are asked for.
#include "driver/board/agent_choice.hpp"

#include "driver/board/agent_client.hpp"
#include "driver/config/config_file.hpp"
#include "driver/mx_codes.hpp"

#include <unistd.h>

namespace emx {

std::string own_agent_name(const std::vector<BoardSpec> &boards, uid_t user)
{
    if (user == 0 || !are_udp(boards))
        return {};
    return std::string(agent_socket_name) + "-" + std::to_string(user) + "-" + describe_place(boards.front());
}

std::vector<BoardSpec> wanted_boards(const std::string &boards, const std::string &config)
{
    std::vector<BoardSpec> specs;
    std::string ignored; // whoever goes on to use them words it
    if (!parse_board_spec(boards, specs, ignored))
        return {};
    ConfigFile file;
    if (specs.empty() && read_config_file(config.empty() ? default_config_path : config, file, ignored))
        specs = file.boards;
    return specs;
}

/// The running agent may serve other boards than the user now asks for: say so instead of using them.
bool serves(BoardFile &file, const std::string &wanted, DeviceError &error)
{
    std::vector<BoardSpec> specs;
    std::string text;
    if (!parse_board_spec(wanted, specs, text)) {
        error = {mx_no_dev, "EMX_BOARDS: " + text};
        return false;
    }
    std::string running;
    bool same = specs.empty() || specs.size() == file.board_count();
    for (uint32_t i = 0; i < file.board_count(); i++) {
        const BoardRecord &record = file.board(i);
        running += i ? "," : "";
        running += describe_board(place_of(record), record.sizes);
        same = same && (specs.empty() || spec_matches(specs[i], place_of(record), record.sizes));
    }
    if (!same)
        error = {mx_no_dev,
                 "EMX_BOARDS asks for " + wanted + ", but the running omxd serves " + running +
                     ": unset EMX_BOARDS to use that, or close all endpoints and stop omxd (kill " +
                     std::to_string(file.header().agent_pid) + "), so that the next open starts it anew"};
    return same;
}

std::string choose_agent(const std::string &boards, const std::string &config)
{
    std::string own = own_agent_name(wanted_boards(boards, config), ::geteuid());
    if (own.empty())
        return own;
    DeviceError ignored;
    auto connection = AgentConnection::connect(ignored);
    AgentReply reply;
    std::vector<Fd> fds;
    if (!connection || !connection->request(AgentRequest{}, reply, fds, ignored) || fds.size() != 1)
        return own;
    const auto file = BoardFile::map(std::move(fds[0]), ignored);
    return file && file->board(0).udp_port != 0 && serves(*file, boards, ignored) ? std::string{} : own;
}

} // namespace emx
