// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// omx_init: gives this host's interfaces to the kernel module, or to the board agent where there is none, as
// the configuration says, and takes them back.
#include "tools/board_view.hpp"
#include "tools/cli.hpp"
#include "tools/driver_boards.hpp"
#include "tools/json.hpp"
#include "tools/setup/agent.hpp"
#include "tools/setup/module.hpp"
#include "tools/setup/plan.hpp"

#include "driver/base/printable.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace emx {
namespace {

constexpr int not_running = 3; // what init scripts return from "status"
constexpr char not_running_text[] =
    "not running: the kernel module is not loaded, and no board agent serves\n";

struct Options {
    std::string config = default_config_path;
    uint32_t wait_s = 0;
    bool json = false; ///< of status
};

std::string interface_of(const emx_dev_board &board)
{
    return driver_text(board.interface, sizeof(board.interface));
}

const emx_dev_board *find(const std::vector<emx_dev_board> &boards, const std::string &interface)
{
    for (const emx_dev_board &board : boards)
        if (interface_of(board) == interface)
            return &board;
    return nullptr;
}

const char *plural(std::size_t count) { return count == 1 ? "" : "s"; }

// ---- start

/// Undoes a start that fails half way.
class Undo {
public:
    explicit Undo(bool loaded) : unload_(loaded) {}
    Undo(const Undo &) = delete;
    Undo &operator=(const Undo &) = delete;
    ~Undo()
    {
        for (const std::string &interface : attached_)
            back(interface);
        if (unload_)
            unload_module();
    }
    void remember(const std::string &interface) { attached_.push_back(interface); }
    void keep()
    {
        attached_.clear();
        unload_ = false;
    }

private:
    static void back(const std::string &interface) noexcept
    {
        try {
            detach_board(open_driver(), interface);
        } catch (const std::exception &failure) {
            std::fprintf(stderr, "omx_init: %s\n", printable(failure.what()).c_str());
        }
    }

    std::vector<std::string> attached_;
    bool unload_;
};

/// A table for the listed boards, and this host's own.
uint32_t peers_wanted(const Plan &plan)
{
    const std::size_t count = plan.peers.size() + plan.config.boards.size();
    if (count > FW_PEERS_MAX)
        throw cli::Failure(plan.peers_path + ": " + std::to_string(plan.peers.size()) + " peers, at most " +
                           std::to_string(FW_PEERS_MAX) + " with this host's: remove some");
    const uint32_t wanted = std::max<uint32_t>(static_cast<uint32_t>(count), plan.config.table);
    return plan.config.table || count > default_table ? wanted : 0;
}

void attach_all(const Plan &plan, Undo &undo)
{
    const DriverFile file = open_driver();
    const auto before = file.boards();
    for (const BoardSpec &spec : plan.config.boards) {
        const emx_dev_board *const there = find(before, spec.interface);
        if (there && !spec_matches(spec, spec.interface, sizes_of(*there)))
            throw cli::Failure(plan.boards_place() + ": the kernel module has " + describe_board(*there) +
                               " already, which is something else: omx_init restart");
        if (there) {
            std::printf("%s is board #%u already\n", describe_board(*there).c_str(), there->number);
            continue;
        }
        try {
            const emx_dev_board board = attach_board(file, spec, plan.config.endpoints, peers_wanted(plan));
            undo.remember(spec.interface);
            std::printf("%s is board #%u\n", describe_board(board).c_str(), board.number);
        } catch (const cli::Failure &failure) {
            throw cli::Failure(plan.boards_place() + ": " + failure.what());
        }
    }
}

void set_peers(const Plan &plan)
{
    if (plan.peers_path.empty())
        return;
    const auto view = open_driver_view("", true);
    view->clear_peers();
    for (const NamedPeer &peer : plan.peers) {
        try {
            view->append_peer(peer.mac, peer.name);
            if (peer.speaks != FW_SPEAKS_BOARD)
                view->pin_peer(peer.mac, peer.speaks);
        } catch (const cli::Failure &failure) {
            throw cli::Failure("peers file " + plan.peers_path + ", line " + std::to_string(peer.line) +
                               ": " + failure.what());
        }
    }
    view->complete_peers();
    std::printf("%zu peer%s from %s; others are refused\n", plan.peers.size(), plural(plan.peers.size()),
                plan.peers_path.c_str());
}

void start_module(const Plan &plan)
{
    const bool load = !module_loaded();
    if (load) {
        load_module();
        std::printf("kernel module ethermx loaded\n");
    }
    Undo undo(load);
    attach_all(plan, undo);
    set_peers(plan);
    undo.keep();
}

/// With the module where it is there, else with the agent. One that serves already stays, unless the module
/// is loaded.
void start(const Plan &plan, const Options &options)
{
    check_interfaces(plan, options.wait_s);
    if (module_loaded())
        start_module(plan);
    else if (const auto view = open_running_agent_view())
        keep_agent(*view, plan);
    else if (module_installed())
        start_module(plan);
    else
        start_agent_for(plan);
}

// ---- stop

/// Nothing is taken away while something is in use.
void refuse_while_open(BoardView &view)
{
    for (const BoardFacts &board : view.boards())
        for (const HolderView &holder : view.holders(board.number))
            throw cli::Failure(board.interface + ": endpoint " + std::to_string(holder.number) +
                               " is open by process " + std::to_string(holder.pid) + " (" + holder.command +
                               "): end it first; omx_endpoint_info -a shows all. Nothing was changed");
}

void detach_all()
{
    const DriverFile file = open_driver();
    const auto boards = file.boards();
    if (!boards.empty())
        refuse_while_open(*open_driver_view("", true));
    for (const emx_dev_board &board : boards) {
        detach_board(file, interface_of(board));
        std::printf("%s is no board any more\n", printable(interface_of(board)).c_str());
    }
    forget_vanished(file);
}

void stop_module()
{
    detach_all();
    const auto left = boards_everywhere();
    if (!left || *left > 0)
        std::printf("the kernel module stays: other network namespaces %s boards\n",
                    left ? "have" : "may have");
    else if (unload_module())
        std::printf("kernel module ethermx unloaded\n");
    else
        std::printf("the kernel module stays: some program has " EMX_DEV_PATH " open\n");
}

void stop()
{
    if (::geteuid() != 0)
        throw cli::Failure("only root can stop the kernel module or root's agent: run as root");
    const auto view = open_running_agent_view();
    if (view)
        refuse_while_open(*view);
    const bool loaded = module_loaded();
    if (loaded)
        stop_module();
    if (view)
        end_agent(*view);
    else if (!loaded)
        std::printf(not_running_text);
}

// ---- status

void print_board(BoardView &view, const BoardFacts &board)
{
    const std::size_t open = view.holders(board.number).size(), peers = view.peers(board.number).size();
    std::printf("board #%u: %s:%s, address %s, link %s, %zu of %u endpoints open, %zu peer%s, %s\n",
                board.number, board.interface.c_str(), board.dialect().c_str(),
                cli::mac_text(board.mac).c_str(), board.link == EMX_LINK_UP ? "Up" : "Down", open,
                board.endpoint_max, peers, plural(peers),
                board.peers_open ? "others are added" : "others are refused");
}

/// Sentences on the boards that are not those of the configuration.
std::vector<std::string> compare(const Plan &plan, const ServedBoards &boards)
{
    std::vector<std::string> differences;
    for (const BoardSpec &spec : plan.config.boards) {
        const auto there = boards.find(spec.interface);
        const bool known = there != boards.end();
        if (known && spec_matches(spec, spec.interface, there->second))
            continue;
        differences.push_back(printable(plan.boards_place()) + ": " + printable(spec.interface) + " is " +
                              (known ? "a board with another dialect" : "no board") + ": omx_init " +
                              (known || !module_loaded() ? "restart" : "start"));
    }
    return differences;
}

void status_board(JsonWriter &json, BoardView &view, const BoardFacts &board)
{
    json.begin_object(JsonLayout::lines);
    identify_board(json, board);
    json.member("dialect", board.dialect());
    json.member("link", link_text(board));
    json.member("endpoints_open", view.holders(board.number).size());
    json.member("endpoints_max", board.endpoint_max);
    json.member("peers", view.peers(board.number).size());
    json.flag("peers_open", board.peers_open);
    json.end();
}

/// The one that serves the boards of this network namespace.
struct Serving {
    std::string firmware; ///< empty: nothing does
    std::unique_ptr<BoardView> view; ///< null: it has no boards
    ServedBoards served;
};

Serving look_who_serves()
{
    Serving found;
    const auto boards = module_loaded() ? open_driver().boards() : std::vector<emx_dev_board>();
    if (boards.empty() && (found.view = open_running_agent_view())) {
        found.firmware = found.view->firmware();
        found.served = served_by(*found.view);
        return found;
    }
    if (!module_loaded())
        return found;
    found.firmware = "kernel module ethermx";
    if (!boards.empty())
        found.view = open_driver_view("", true);
    for (const emx_dev_board &board : boards)
        found.served[interface_of(board)] = sizes_of(board);
    return found;
}

void status_json(const Options &options, const Serving &found, const std::vector<std::string> &differences)
{
    JsonWriter json;
    begin_document(json, "omx_init");
    json.member("configuration", options.config);
    json.flag("module_loaded", module_loaded());
    json.member("served_by", found.firmware);
    json.flag("running", !found.firmware.empty() && differences.empty());
    json.key("boards").begin_array(JsonLayout::lines);
    if (found.view)
        for (const BoardFacts &board : found.view->boards())
            status_board(json, *found.view, board);
    json.end();
    json.texts("differences", differences);
    end_document(json);
}

void print_status(const Serving &found)
{
    const auto boards = found.view ? found.view->boards() : std::vector<BoardFacts>();
    std::printf("%s, %zu board%s in this network namespace\n", found.firmware.c_str(), boards.size(),
                plural(boards.size()));
    for (const BoardFacts &board : boards)
        print_board(*found.view, board);
}

int status(const Options &options)
{
    const Serving found = look_who_serves();
    const bool serves = !found.firmware.empty();
    if (!options.json && serves)
        print_status(found); // also where the configuration cannot be read
    else if (!options.json)
        std::printf(not_running_text);
    const auto differences =
        serves ? compare(read_plan(options.config), found.served) : std::vector<std::string>();
    if (options.json)
        status_json(options, found, differences);
    else
        for (const std::string &difference : differences)
            std::printf("%s\n", difference.c_str());
    return serves && differences.empty() ? 0 : not_running;
}

// ---- check

/// Tells what start would do, without a privilege and without the module.
void check(const Options &options)
{
    const Plan plan = read_plan(options.config);
    for (const std::string &board : check_interfaces(plan, options.wait_s))
        std::printf("board %s\n", printable(board).c_str());
    if (plan.config.endpoints)
        std::printf("%u endpoints per board\n", plan.config.endpoints);
    if (plan.peers_path.empty())
        std::printf("no list of peers: boards that make contact are added\n");
    else
        std::printf("%zu peer%s in %s; others are refused\n", plan.peers.size(), plural(plan.peers.size()),
                    plan.peers_path.c_str());
}

int act(const std::string &command, const Options &options)
{
    if (command == "status")
        return status(options);
    if (command == "check") {
        check(options);
    } else if (command == "stop") {
        stop();
    } else if (command == "start") {
        start(read_plan(options.config), options);
    } else if (command == "restart") {
        const Plan plan = read_plan(options.config); // a mistake in it ends nothing that runs
        check_interfaces(plan, options.wait_s);
        stop();
        start(plan, options);
    } else {
        throw cli::Failure("\"" + command + "\": give start, stop, restart, status or check");
    }
    return 0;
}

int body(int argc, char **argv)
{
    Options options;
    cli::Parser parser(
        "[options] start|stop|restart|status|check",
        "Gives this host's interfaces to the kernel module, or to the board agent omxd where there "
        "is none, as the configuration file says.");
    parser.text('c', "config", "configuration file (/etc/ethermx/ethermx.conf)", options.config);
    parser.number('w', "wait", "wait so many seconds for the interfaces to be there (0)", options.wait_s,
                  3600);
    parser.json("of status: the same for programs", options.json);
    const auto arguments = parser.parse(argc, argv);
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ); // what modprobe says comes where it belongs
    if (arguments.size() != 1)
        throw cli::Failure("give one of start, stop, restart, status, check; -h shows the options");
    if (options.json && arguments[0] != "status")
        throw cli::Failure("--json is for status: leave it out");
    return act(arguments[0], options);
}

} // namespace
} // namespace emx

int main(int argc, char **argv) { return emx::cli::run(argc, argv, emx::body); }
