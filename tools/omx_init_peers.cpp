// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// omx_init_peers: tells the boards of this host their peers, from a file or one at a time.
#include "board_view.hpp"
#include "cli.hpp"

#include "driver/base/printable.hpp"
#include "driver/config/board_spec.hpp"
#include "driver/config/peers_file.hpp"

#include <cstdio>
#include <sstream>

namespace emx {
namespace {

NamedPeer read_peer(const std::vector<std::string> &words)
{
    NamedPeer peer;
    std::istringstream rest(words[1] + (words.size() > 2 ? " " + words[2] : std::string()));
    peer.mac = cli::parse_mac(words[0]);
    if (peer.mac == 0 || !parse_peer(rest, peer))
        throw cli::Failure(
            "command line: wanted an address and a name, such as 00:60:dd:47:c0:22 node1:0, and perhaps "
            "a dialect, W or N=SIZE");
    return peer;
}

std::vector<NamedPeer> hosts_of(const std::vector<std::string> &arguments)
{
    std::vector<NamedPeer> peers;
    std::string error;
    if (arguments.size() == 2) {
        peers.emplace_back();
        peers[0].host = arguments[0];
        peers[0].name = arguments[1];
    } else if (arguments.size() > 2) {
        throw cli::Failure("the boards here are UDP boards: wanted a file, or a host and a name");
    } else if (arguments.size() == 1 && !read_peers_file(arguments[0], peers, error, PeerPlaces::hosts)) {
        throw cli::Failure(error);
    }
    return peers;
}

std::vector<NamedPeer> peers_of(const std::vector<std::string> &arguments)
{
    std::vector<NamedPeer> peers;
    std::string error;
    if (arguments.size() > 3)
        throw cli::Failure("wanted a file, or an address, a name and perhaps a dialect");
    if (arguments.size() > 1)
        peers.push_back(read_peer(arguments));
    else if (arguments.size() == 1 && !read_peers_file(arguments[0], peers, error))
        throw cli::Failure(error);
    return peers;
}

/// Refuses what no boards take, before any are looked at.
void check_arguments(const std::vector<std::string> &arguments)
{
    std::vector<NamedPeer> none;
    std::string error, of_hosts;
    if (arguments.size() > 2)
        peers_of(arguments);
    if (arguments.size() == 1 && !read_peers_file(arguments[0], none, error) &&
        !read_peers_file(arguments[0], none, of_hosts, PeerPlaces::hosts))
        throw cli::Failure(error);
}

/// The line of the file that a refusal is about.
std::string place_of(const NamedPeer &peer, const std::string &file)
{
    return peer.line ? file + ", line " + std::to_string(peer.line) + ": " : std::string();
}

void add(BoardView &view, const NamedPeer &peer, const std::string &file)
{
    try {
        check_name(peer.name);
        if (!peer.host.empty())
            return view.append_host(peer.host, peer.name);
        view.append_peer(peer.mac, peer.name);
        if (peer.speaks != FW_SPEAKS_BOARD)
            view.pin_peer(peer.mac, peer.speaks);
    } catch (const cli::Failure &failure) {
        throw cli::Failure(place_of(peer, file) + failure.what());
    }
}

int body(int argc, char **argv)
{
    bool clear = false, append = false, done = false, verbose = false;
    cli::Parser parser(
        "[options] [FILE | ADDRESS NAME [DIALECT]]",
        "Adds peers to the tables of all boards. FILE has one \"address name\" a line, and behind it "
        "the dialect, W or N=SIZE, of one that does not speak the boards'.");
    parser.flag('c', "clear", "forget all names and dialects first, and open the tables again", clear);
    parser.flag('a', "append", "add to what is there (default)", append);
    parser.flag('d', "done", "the tables are complete: unknown boards are refused from now on", done);
    parser.flag('v', "verbose", "tell more", verbose);
    const auto arguments = parser.parse(argc, argv);
    if (clear && append)
        throw cli::Failure("-a and -c exclude each other");
    if (arguments.empty() && !clear && !done)
        throw cli::Failure("nothing to do: name a file, or an address and a name; -h shows the options");
    check_arguments(arguments);
    const auto view = BoardView::open();
    const auto peers = view->has_hosts() ? hosts_of(arguments) : peers_of(arguments);
    if (clear)
        view->clear_peers();
    for (const NamedPeer &peer : peers) {
        add(*view, peer, arguments.front());
        if (verbose)
            std::printf("%s %s%s%s\n",
                        peer.host.empty() ? cli::mac_text(peer.mac).c_str() : printable(peer.host).c_str(),
                        printable(peer.name).c_str(), peer.speaks ? " " : "",
                        peer.speaks ? describe_spoken(peer.speaks).c_str() : "");
    }
    if (done)
        view->complete_peers();
    warn_if_short_lived(*view);
    return 0;
}

} // namespace
} // namespace emx

int main(int argc, char **argv) { return emx::cli::run(argc, argv, emx::body); }
