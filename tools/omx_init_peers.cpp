// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// omx_init_peers: tells the boards of this host their peers, from a file or one at a time.
#include "board_view.hpp"
#include "cli.hpp"

#include <cstdio>
#include <fstream>
#include <sstream>

namespace emx {
namespace {

struct NamedPeer {
    uint64_t mac;
    std::string name;
};

NamedPeer read_peer(const std::string &mac, const std::string &name, const std::string &where)
{
    const NamedPeer peer{cli::parse_mac(mac), name};
    if (peer.mac == 0 || name.empty())
        throw cli::Failure(where + ": wanted an address and a name, such as 00:60:dd:47:c0:22 node1:0");
    return peer;
}

std::vector<NamedPeer> read_file(const std::string &path)
{
    std::ifstream file(path);
    if (!file)
        throw cli::Failure("cannot read " + path);
    std::vector<NamedPeer> peers;
    std::string line;
    for (unsigned number = 1; std::getline(file, line); number++) {
        std::istringstream words(line.substr(0, line.find('#')));
        std::string mac, name, more;
        if (!(words >> mac))
            continue;
        words >> name;
        if (words >> more)
            name.clear(); // a third word: not what the line should be
        peers.push_back(read_peer(mac, name, path + ", line " + std::to_string(number)));
    }
    return peers;
}

std::vector<NamedPeer> peers_of(const std::vector<std::string> &arguments)
{
    if (arguments.size() == 1)
        return read_file(arguments[0]);
    if (arguments.size() == 2)
        return {read_peer(arguments[0], arguments[1], "command line")};
    if (arguments.empty())
        return {};
    throw cli::Failure("wanted a file, or an address and a name");
}

int body(int argc, char **argv)
{
    bool clear = false, append = false, done = false, verbose = false;
    cli::Parser parser("[options] [FILE | ADDRESS NAME]",
                       "Adds peers to the tables of all boards. FILE has one \"address name\" a line.");
    parser.flag('c', "clear", "forget all names first, and open the tables again", clear);
    parser.flag('a', "append", "add to what is there (default)", append);
    parser.flag('d', "done", "the tables are complete: unknown boards are refused from now on", done);
    parser.flag('v', "verbose", "tell more", verbose);
    const auto arguments = parser.parse(argc, argv);
    if (clear && append)
        throw cli::Failure("-a and -c exclude each other");
    const auto peers = peers_of(arguments);
    if (peers.empty() && !clear && !done)
        throw cli::Failure("nothing to do: name a file, or an address and a name; -h shows the options");
    const auto view = BoardView::open();
    if (clear)
        view->clear_peers();
    for (const NamedPeer &peer : peers) {
        check_name(peer.name);
        view->append_peer(peer.mac, peer.name);
        if (verbose)
            std::printf("%s %s\n", cli::mac_text(peer.mac).c_str(), peer.name.c_str());
    }
    if (done)
        view->complete_peers();
    warn_if_short_lived(*view);
    return 0;
}

} // namespace
} // namespace emx

int main(int argc, char **argv) { return emx::cli::run(argc, argv, emx::body); }
