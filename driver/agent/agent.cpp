// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Start of the board agent: its name, its boards, its peers.
#include "driver/agent/agent.hpp"
#include "driver/agent/udp_board.hpp"

#include "driver/base/clock.hpp"
#include "driver/config/config_file.hpp"
#include "driver/kernel_client/driver_file.hpp"
#include "driver/mx_codes.hpp"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <functional>

namespace emx {
namespace {

constexpr uint32_t default_endpoint_max = 32;
constexpr const char *default_group = "ethermx";
constexpr const char *default_user = "ethermx";

std::string own_host_name()
{
    char name[HOST_NAME_MAX + 1] = {};
    if (::gethostname(name, HOST_NAME_MAX) != 0 || name[0] == '\0')
        return "localhost";
    std::string told = name; // peers drop a name with control characters
    std::replace_if(told.begin(), told.end(), std::not_fn(in_board_name), '_');
    return told;
}

std::string board_name(uint32_t number)
{
    std::string suffix = ":";
    suffix += std::to_string(number);
    return own_host_name().substr(0, EMX_NAME_MAX - 1 - suffix.size()) + suffix;
}

// A claim costs six descriptors here for a moment, and two as long as it lives. The limit from now on.
uint64_t raise_descriptor_limit()
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
    return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

bool fail(StartError &error, int code, std::string text)
{
    error.code = code;
    error.text = std::move(text);
    return false;
}

bool fail_errno(StartError &error, const std::string &what, const std::string &group = default_group)
{
    if (errno == EPERM || errno == EACCES)
        return fail(error, mx_no_perm,
                    "no CAP_NET_RAW: run as root; or start omxd as root (sudo omxd) and join the group " +
                        group + "; or try in a network of its own (unshare -Urn)");
    return fail(error, mx_no_resources, what + ": " + std::strerror(errno));
}

Fd watch_signals()
{
    sigset_t set;
    sigemptyset(&set);
    for (int signal : {SIGTERM, SIGINT, SIGHUP})
        sigaddset(&set, signal);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    return Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

} // namespace

bool Agent::start(StartError &error)
{
    descriptors_ = raise_descriptor_limit();
    spare_ = Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!links_.open())
        return fail_errno(error, "watching the interfaces");
    if (!take_name(error) || !read_config(error) || !read_peers(error) || !plan_boards(error))
        return false;
    look_for_orphans();
    const auto boards = static_cast<uint32_t>(plans_.size());
    const auto listed = static_cast<uint32_t>(peers_.size()) + boards;
    file_ = BoardFile::create(boards, options_.endpoint_max,
                              std::min(std::max(options_.table, listed), FW_PEERS_MAX));
    if (!file_)
        return fail_errno(error, "creating the board file");
    if (!open_boards(*file_, boards_, error))
        return false;
    look_for_udp_orphans();
    if (are_udp(specs_) && !links_.watch_addresses())
        return fail_errno(error, "watching the addresses of the interfaces");
    if (!load_peers(error))
        return false;
    signals_ = watch_signals();
    if (!signals_)
        return fail_errno(error, "taking signals");
    // Look again at what may have changed meanwhile.
    link_changed(-1, {}, EMX_LINK_UP);
    return true;
}

bool Agent::settle(StartError &error)
{
    file_->header().agent_pid = static_cast<uint32_t>(::getpid());
    alone_since_ = monotonic_ns();
    listen_again();
    if (user_ && !give_up_root(error))
        return false;
    if (!stays_.empty())
        log_.line("stays root: " + stays_);
    if (!confine(by_path_ && !user_ ? Confinement::path : Confinement::service, are_udp(specs_)))
        log_.line(std::string("without a filter of system calls: ") + std::strerror(errno));
    std::string text = "serving";
    for (const auto &board : boards_) {
        text += " ";
        text += describe_board(place_of(board->record()), board->record().sizes);
    }
    log_.line(text);
    return true;
}

/// Programs go on to believe it root's, as the kernel names to them who listened. The board file becomes that
/// user's, whose next agent alone goes on with it.
bool Agent::give_up_root(StartError &error)
{
    if (::fchown(file_->fd(), user_->uid, user_->gid) != 0 ||
        !become(*user_, AgentBoard::buffers_need_force()))
        return fail(error, mx_no_resources, "becoming user " + user_->name + ": " + std::strerror(errno));
    log_.line("runs as user " + user_->name + " with " + network_capabilities());
    return true;
}

/// Options win over the file.
bool Agent::read_config(StartError &error)
{
    if (options_.config.empty())
        options_.config = default_config_path;
    ConfigFile config;
    std::string why;
    if (!read_config_file(options_.config, config, why) || !parse_board_spec(options_.boards, specs_, why))
        return fail(error, mx_no_dev, why);
    if (specs_.empty())
        specs_ = config.boards;
    options_.peers = choose_peers_path(options_.peers.empty() ? config.peers : options_.peers);
    if (options_.endpoint_max == 0)
        options_.endpoint_max = config.endpoints ? config.endpoints : default_endpoint_max;
    if (options_.table == 0)
        options_.table = config.table ? config.table : default_table;
    const bool user_by_option = !options_.user.empty();
    if (!user_by_option)
        options_.user = config.run_as;
    if (!look_up_user(user_by_option, error))
        return false;
    const bool named = !options_.group.empty() || !config.group.empty();
    if (options_.group.empty())
        options_.group = named ? config.group : default_group;
    if (!look_up_group(monotonic_ns()) && named)
        return fail(error, mx_no_perm,
                    "group " + options_.group + " does not exist: make it (groupadd --system " +
                        options_.group + ") or name another by EMX_GROUP, --group or in " + options_.config);
    return true;
}

/// Finds the user that root's agent becomes, and why it stays root if it does.
bool Agent::look_up_user(bool named_by_option, StartError &error)
{
    const bool named = !options_.user.empty();
    const std::string name = named ? options_.user : default_user;
    const auto user = find_service_user(name);
    const bool root = starter_ == 0;
    if (!user && named && (root || named_by_option))
        return fail(error, mx_no_perm,
                    "user " + name + " does not exist: make it (useradd --system --user-group " + name +
                        ") or name another by --user or by run-as in " + options_.config);
    if (user && named_by_option && user->uid != starter_)
        if (const std::string obstacle = obstacle_to(*user); !obstacle.empty())
            return fail(error, mx_no_perm,
                        "--user " + name + ": " + obstacle + ": start omxd so, or leave the option out");
    if (!root || (user && user->uid == 0))
        return true;
    stays_ = user ? "it cannot become user " + name + ": " + obstacle_to(*user)
                  : "there is no user " + name + " (useradd --system --user-group " + name + " makes it)";
    if (user && obstacle_to(*user).empty()) {
        user_ = user;
        stays_.clear();
    }
    return true;
}

/// A group that is missing may be made while the agent runs.
bool Agent::look_up_group(uint64_t now)
{
    constexpr uint64_t again_ns = 1000000000;
    if (group_ || (group_sought_ && now - group_sought_ < again_ns))
        return group_.has_value();
    group_sought_ = now;
    if (const group *found = ::getgrnam(options_.group.c_str())) {
        group_ = found->gr_gid;
        open_path_to_group();
    }
    return group_.has_value();
}

bool Agent::plan_boards(StartError &error)
{
    if (specs_.empty())
        return fail(error, mx_no_dev,
                    "no board configured: set EMX_BOARDS=INTERFACE or name interfaces in " + options_.config);
    if (specs_.size() > boards_max)
        return fail(error, mx_no_dev, "at most " + std::to_string(boards_max) + " boards can be configured");
    for (const BoardSpec &spec : specs_) {
        BoardPlan plan;
        if (!plan_board(spec, plan, error))
            return false;
        plans_.push_back(plan);
    }
    return true;
}

bool Agent::plan_board(const BoardSpec &spec, BoardPlan &plan, StartError &error) const
{
    std::string why;
    plan.spec = spec;
    if (spec.is_udp())
        return plan_udp_board(spec, plan, why) || fail(error, mx_no_dev, why);
    if (!query_interface(links_.fd(), spec.interface, plan.facts))
        return fail(error, mx_no_dev,
                    "interface " + spec.interface +
                        " does not exist here: correct EMX_BOARDS or the "
                        "configuration file (ip link lists the interfaces)");
    if (!plan.facts.ethernet || plan.facts.mac == 0)
        return fail(error, mx_no_dev,
                    "interface " + spec.interface + " is not an Ethernet interface: choose another one");
    for (const BoardPlan &other : plans_)
        if (other.spec.interface != spec.interface && other.facts.mac == plan.facts.mac)
            return fail(error, mx_no_dev,
                        "interfaces " + other.spec.interface + " and " + spec.interface +
                            " have the same address: configure one of them");
    if (!choose_sizes(spec, plan.facts.mtu, plan.sizes, why) || module_has(spec.interface, why))
        return fail(error, mx_no_dev, why);
    plan.x_frame = fw_x_frame_max(&plan.sizes, plan.facts.mtu);
    return true;
}

std::unique_ptr<AgentBoard> Agent::make_board(BoardFile &file, uint32_t number) const
{
    char known[EMX_NAME_MAX]; // by the agent before
    const bool named = fw_peer_name_get(file.peers(number), number, known) == 0;
    const std::string name = named ? known : board_name(number);
    if (plans_[number].spec.is_udp())
        return std::make_unique<UdpAgentBoard>(file, number, plans_[number], name, log_);
    return std::make_unique<AgentBoard>(file, number, plans_[number], name);
}

bool Agent::open_board(AgentBoard &board, StartError &error) const
{
    const std::string &interface = plans_[board.number()].spec.interface;
    if (recovering())
        board.refuse_nobody();
    if (!board.open_sockets())
        return board.trouble().empty()
                   ? fail_errno(error, "opening a raw socket on " + interface, options_.group)
                   : fail(error, mx_no_dev, board.trouble());
    // The module looks for such sockets before it takes an interface: now that they are there, one of us
    // sees the other.
    if (std::string why; !board.is_udp() && module_has(interface, why))
        return fail(error, mx_no_dev, why);
    return true;
}

bool Agent::open_boards(BoardFile &file, std::vector<std::unique_ptr<AgentBoard>> &boards, StartError &error)
{
    for (uint32_t i = 0; i < plans_.size(); i++) {
        boards.push_back(make_board(file, i));
        if (i < boards_.size())
            boards.back()->inherit(*boards_[i]);
        if (!open_board(*boards.back(), error))
            return false;
    }
    // This host's boards come first in every table, so that an index tells whether a peer is local.
    for (uint32_t table = 0; table < plans_.size(); table++) {
        for (uint32_t i = 0; i < plans_.size(); i++) {
            const int index = fw_peer_add(file.peers(table), plans_[i].facts.mac);
            if (index != static_cast<int>(i))
                return fail(error, mx_no_dev,
                            "the address of interface " + plans_[i].spec.interface + " is not a unicast one");
            fw_peer_name(file.peers(table), i, boards[i]->name().c_str());
            boards[table]->place_own(i, *boards[i]);
        }
    }
    return true;
}

bool Agent::read_peers(StartError &error)
{
    std::string why;
    if (!options_.peers.empty() && !read_peers_file(options_.peers, peers_, why,
                                                    are_udp(specs_) ? PeerPlaces::hosts : PeerPlaces::boards))
        return fail(error, mx_no_dev, why);
    return true;
}

bool Agent::load_peers(StartError &error)
{
    const std::string &path = options_.peers;
    if (path.empty())
        return true;
    AgentReply reply;
    for (const NamedPeer &peer : peers_) {
        if (peer.host.empty())
            append_peer(peer.mac, peer.name, reply);
        else
            list_host(peer.host, peer.name, reply);
        if (reply.code == 0 && peer.speaks != FW_SPEAKS_BOARD)
            pin_peer(peer.mac, peer.speaks, reply);
        if (reply.code != 0)
            return fail(error, reply.code,
                        "peers file " + path + ", line " + std::to_string(peer.line) + ": " + reply.text);
    }
    AgentRequest complete;
    complete.op = AgentOp::peers_complete;
    change_peers(complete, reply);
    log_.line("peers of " + path + ": " + std::to_string(peers_.size()) + "; others are refused");
    return true;
}

} // namespace emx
