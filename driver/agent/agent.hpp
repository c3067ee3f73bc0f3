// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The board agent: one event loop over clients, boards and interface changes.
#pragma once

#include "driver/agent/board.hpp"
#include "driver/agent/links.hpp"
#include "driver/agent/log.hpp"
#include "driver/agent/privileges.hpp"
#include "driver/base/fd.hpp"
#include "driver/board/agent_protocol.hpp"
#include "driver/board/board_file.hpp"
#include "driver/config/peers_file.hpp"

#include <poll.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace emx {

struct AgentOptions {
    std::string boards; ///< specification; empty: from config
    std::string config; ///< empty: the default path
    std::string peers; ///< empty: the default paths, where one exists
    std::string group; ///< empty: from config, or else ethermx
    std::string user; ///< that root's agent becomes; empty: from config, or else ethermx
    std::string log; ///< file; empty: standard error in the foreground, else none
    uint32_t endpoint_max = 0; ///< 0: from config, or else 32
    uint32_t table = 0; ///< slots for peers; 0: from config, or else 1024; a longer peers file wins
    int64_t linger_s = -1; ///< seconds after the last client; below 0: for ever
    int report_fd = -1; ///< started by a process: tells it the outcome
    bool foreground = false;
};

/// Why the agent cannot start, as the starter's DeviceError.
struct StartError {
    int code = 0;
    std::string text;
    bool running = false; ///< another agent serves this network namespace
};

class Agent {
public:
    Agent(const AgentOptions &options, Log &log) : options_(options), log_(log) {}
    ~Agent() { leave_path(); }
    Agent(const Agent &) = delete;
    Agent &operator=(const Agent &) = delete;

    /// Takes the name, looks at the boards, opens everything. False with error filled.
    bool start(StartError &error);
    /// Call after the last fork: records the process id, listens for the last time, and gives up what serving
    /// does not need. False with error filled when that fails.
    bool settle(StartError &error);
    /// Serves until a signal, or until nobody needs it; returns the exit status.
    int run();

private:
    struct Client {
        Fd connection;
        Fd process; ///< pidfd; empty when the process is of another pid namespace
        uint32_t pid = 0;
        uint32_t uid = 0;
        bool trusted = false; ///< could do by itself all that the agent does: the administrator
        bool asked = false; ///< anything: other agents only look whether somebody listens (name.cpp)
        int board = -1; ///< of its claim
        uint32_t endpoint = 0;
        unsigned group_sockets = 0; ///< that it was given
        unsigned grown_sockets = 0;
        std::optional<AgentRequest> deferred; ///< asked during the recovery; nothing more is read until then
        std::vector<Fd> deferred_fds;
    };

    // Names (name.cpp)
    bool take_name(StartError &error);
    bool take_path();
    bool take_abstract_name(StartError &error);
    void listen_again();
    void open_path_to_group() const;
    void leave_path();

    // Start (agent.cpp)
    bool read_config(StartError &error);
    bool look_up_group(uint64_t now);
    bool look_up_user(bool named_by_option, StartError &error);
    bool give_up_root(StartError &error);
    bool plan_boards(StartError &error);
    bool plan_board(const BoardSpec &spec, BoardPlan &plan, StartError &error) const;
    bool open_boards(BoardFile &file, std::vector<std::unique_ptr<AgentBoard>> &boards, StartError &error);
    bool open_board(AgentBoard &board, StartError &error) const;
    std::unique_ptr<AgentBoard> make_board(BoardFile &file, uint32_t number) const;
    bool read_peers(StartError &error);
    bool load_peers(StartError &error);

    // Interfaces that change (interfaces.cpp)
    void follow_name(AgentBoard &board);
    void look_at(AgentBoard &board);
    void look_at_udp(AgentBoard &board);
    void come_back(AgentBoard &board);
    void release_all(AgentBoard &board);
    bool readdress(const AgentBoard &board, uint64_t mac);

    // Loop (loop.cpp)
    void collect(std::vector<pollfd> &fds) const;
    int timeout_ms(uint64_t now) const;
    bool serve(const std::vector<pollfd> &fds);
    void serve_clients(const std::vector<pollfd> &fds, std::size_t first, std::size_t known);
    void accept_clients(int listener);
    bool shed(int listener);
    bool admit(Client &client);
    bool may_have_more(const Client &client) const;
    bool serve_client(Client &client);
    void drop(Client &client);
    void link_changed(int index, const std::string &name, uint32_t state);

    // Requests (requests.cpp)
    bool answer(Client &client, const AgentRequest &request, const std::vector<Fd> &fds);
    void refuse(AgentReply &reply, int code, const std::string &text) const;
    void claim(Client &client, const AgentRequest &request, const Fd &counters, AgentReply &reply,
               EndpointSockets &sockets);
    bool take_number(Client &client, const AgentRequest &request, const Fd &counters, AgentReply &reply);
    void turn_away(const Client &client, int code, const std::string &text) const;
    std::string stranger_text() const;
    std::string out_of_descriptors() const;
    bool check_board(const AgentRequest &request, AgentReply &reply);
    void perform(const Client &client, const AgentRequest &request, AgentReply &reply);
    void give_group_socket(Client &client, const AgentRequest &request, AgentReply &reply,
                           EndpointSockets &sockets);
    void grow_socket(Client &client, const AgentRequest &request, const Fd &socket, AgentReply &reply);
    void steer(const Client &client, const AgentRequest &request, AgentReply &reply);
    void change_peers(const AgentRequest &request, AgentReply &reply);
    void append_peer(uint64_t mac, const std::string &name, AgentReply &reply);
    void list_host(const std::string &where, const std::string &name, AgentReply &reply);
    void add_peer(const Client &client, const AgentRequest &request, AgentReply &reply);
    void pin_peer(uint64_t mac, uint16_t speaks, AgentReply &reply);
    bool dialects_may_change(const AgentBoard &board, AgentReply &reply) const;
    bool is_own_dialect(uint32_t board, const fw_sizes &sizes, AgentReply &reply);
    void rename(uint32_t board, const std::string &name);

    // The claims of the agent before (recovery.cpp)
    bool recovering() const { return recovery_until_ != 0; }
    void look_for_orphans();
    void look_for_udp_orphans();
    unsigned orphans() const;
    void check_recovery(uint64_t now);
    bool adopt(Fd fd, std::string &why);
    bool was_holder(const Client &client, const AgentRequest &request) const;
    void forget_holders();
    void reclaim(Client &client, const AgentRequest &request, const Fd &file, const Fd &counters,
                 AgentReply &reply);

    AgentOptions options_;
    Log &log_;
    Fd listener_; ///< the abstract name; empty while a stranger holds it
    Fd by_path_; ///< root's path; empty where there is none
    std::string path_;
    std::string own_name_; ///< abstract, of the agent of a user's own UDP boards; empty: the usual one
    Fd spare_; ///< given up to take, and turn away, a connection when there are no descriptors
    uint64_t accept_after_ = 0; ///< no connections are taken before that time
    uint64_t descriptors_ = 0; ///< the limit
    const uid_t starter_ = ::geteuid(); ///< who started it
    std::optional<ServiceUser> user_; ///< that it becomes
    std::string stays_; ///< why it stays root
    std::optional<gid_t> group_; ///< options_.group, once it is there
    uint64_t group_sought_ = 0; ///< when it was last looked up in vain
    Fd signals_;
    LinkWatch links_;
    std::vector<BoardSpec> specs_;
    std::vector<BoardPlan> plans_;
    std::vector<NamedPeer> peers_; ///< of the peers file
    std::unique_ptr<BoardFile> file_;
    std::vector<std::unique_ptr<AgentBoard>> boards_;
    std::vector<Client> clients_;
    uint64_t alone_since_ = 0;
    uint64_t recovery_until_ = 0; ///< 0: over
    unsigned turned_down_ = 0; ///< claims that could not be taken over
    bool adopted_ = false; ///< file_ is that of the agent before
};

} // namespace emx
