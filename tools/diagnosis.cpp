// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// From counters to sentences: one rule per misconfiguration.
#include "diagnosis.hpp"

namespace emx {
namespace {

// A program that is killed and started again leaves a few strays behind; a second board with our address
// leaves them all the time.
constexpr uint64_t echoes_of_restarts = 3;
constexpr uint64_t repeats_in_vain = 3;
constexpr uint64_t repeats_worth_a_word = 10;

struct Evidence {
    const emx_counters &counters;
    const BoardFacts &board;

    uint64_t operator[](emx_counter counter) const { return counters.v[counter]; }
    /// "EMX_BOARDS=eth0:N=1500, or boards = eth0:N=1500 in /etc/ethermx/ethermx.conf".
    std::string setting(const std::string &dialect) const
    {
        const std::string text = board.interface + ":" + dialect;
        return "EMX_BOARDS=" + text + ", or boards = " + text + " in /etc/ethermx/ethermx.conf";
    }
};

/// "1 frame", "2 frames".
std::string count_of(uint64_t n, const std::string &what)
{
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

std::string dialect_mismatch(const Evidence &e)
{
    const uint64_t frames = e[EMX_CNT_DROP_DIALECT_MEDIUM] + e[EMX_CNT_DROP_DIALECT_PULL];
    if (frames == 0)
        return {};
    const std::string other = e.board.sizes.dialect == FW_DIALECT_W ? "N" : "W";
    return "dialect mismatch: " + count_of(frames, "frame") + " of dialect " + other +
           " came here, where this board speaks " + e.board.dialect() +
           "; messages above 128 bytes cannot pass. Give both hosts the same dialect (here: " +
           e.setting(e.board.dialect()) +
           "), or give the other's dialect to this one (omx_init_peers ADDRESS NAME " +
           (other == "N" ? "N=SIZE" : "W") + ")";
}

std::string size_mismatch(const Evidence &e)
{
    uint64_t frames = 0;
    for (const emx_counter reason : {EMX_CNT_DROP_FRAGMENT, EMX_CNT_DROP_PULL_SHAPE, EMX_CNT_DROP_REPLY_SHAPE,
                                     EMX_CNT_DROP_LENGTH, EMX_CNT_DROP_OVERSIZE})
        frames += e[reason];
    if (frames == 0)
        return {};
    return "MTU mismatch: " + count_of(frames, "frame") +
           " cut otherwise than here came from a peer whose N=SIZE is not this board's " + e.board.dialect() +
           "; its longer messages cannot pass. Give both hosts the same size (here: " +
           e.setting(e.board.dialect()) + ")";
}

std::string small_interface(const Evidence &e)
{
    if (e.board.mtu >= e.board.sizes.payload_min)
        return {};
    return "MTU mismatch: the largest frames of dialect " + e.board.dialect() + " need an MTU of " +
           std::to_string(e.board.sizes.payload_min) + ", but " + e.board.interface + " has " +
           std::to_string(e.board.mtu) + ". Raise it (ip link set " + e.board.interface + " mtu " +
           std::to_string(e.board.sizes.payload_min) + "), or give all hosts a smaller N=SIZE";
}

std::string small_path(const Evidence &e)
{
    const bool nothing_came =
        e[EMX_CNT_RX_PULL_REPLY] == 0 && e[EMX_CNT_RX_X_DATA] == 0 && e[EMX_CNT_RX_NACK_MCP] == 0;
    if (e[EMX_CNT_RESEND_PULL] < repeats_in_vain || !nothing_came)
        return {};
    return "large messages do not arrive: " + count_of(e[EMX_CNT_RESEND_PULL], "pull request") +
           " had to be repeated, and not one reply came. Either omx_counters of the sender shows a dialect "
           "or MTU "
           "mismatch; or frames of " +
           std::to_string(e.board.sizes.payload_min) +
           " bytes do not get through: raise the MTU of every switch, bridge and interface on the way, or "
           "give "
           "all hosts a smaller N=SIZE (\"omx_check HOST\" finds the size that passes)";
}

std::string unknown_peers(const Evidence &e)
{
    const uint64_t frames = e[EMX_CNT_DROP_UNKNOWN_PEER];
    if (frames == 0)
        return {};
    const std::string start = "peer table disagreement: " + count_of(frames, "frame") +
                              " came from boards that are not in the peer table of this host";
    if (e.board.peers_open)
        return start + ", which was made anew since they met it. Start the programs there again";
    return start +
           ", which is complete (omx_init_peers -d). Add them with omx_init_peers ADDRESS NAME, or open "
           "it with omx_init_peers -c";
}

std::string full_table(const Evidence &e)
{
    if (e[EMX_CNT_DROP_TABLE_FULL] == 0)
        return {};
    return "peer table disagreement: the peer table is full with " + std::to_string(e.board.peers_max) +
           " boards, and " + count_of(e[EMX_CNT_DROP_TABLE_FULL], "frame") +
           " of others were dropped. Make it larger, or list the peers with omx_init_peers -c FILE and close "
           "it "
           "(-d)";
}

std::string unanswered_connects(const Evidence &e)
{
    const bool answered = e[EMX_CNT_RX_CONNECT] + e[EMX_CNT_RX_NACK_LIB] > 0;
    if (e[EMX_CNT_RESEND_CONNECT] < repeats_in_vain || answered)
        return {};
    return "no answer: " + count_of(e[EMX_CNT_RESEND_CONNECT], "connect request") +
           " had to be repeated, and nothing came back. Either the other host is down or runs no EtherMX, or "
           "its peer table is complete and lacks this board: there, omx_counters shows unknown peers, and "
           "omx_init_peers adds " +
           e.board.name;
}

std::string duplicate_mac(const Evidence &e)
{
    const uint64_t echoes = e[EMX_CNT_DROP_ECHO];
    if (e[EMX_CNT_DROP_BAD_SOURCE] == 0 && echoes < echoes_of_restarts)
        return {};
    const std::string evidence =
        e[EMX_CNT_DROP_BAD_SOURCE] > 0
            ? count_of(e[EMX_CNT_DROP_BAD_SOURCE], "frame") + " came from this board's own address"
            : count_of(echoes, "answer") + " came to questions that this host never asked";
    return "duplicate MAC: " + evidence + ": another board on this network has the address of " +
           e.board.interface +
           ", or frames run in a loop. Give one of them an address of its own (ip link set " +
           e.board.interface + " address ADDRESS), and restart EtherMX there";
}

std::string unacknowledged(const Evidence &e)
{
    if (e[EMX_CNT_RESEND_MESSAGE] < repeats_worth_a_word)
        return {};
    return "no acknowledgement: " + count_of(e[EMX_CNT_RESEND_MESSAGE], "message") +
           " had to be repeated. Either the receiver drops them (omx_counters there names the reason), or it "
           "is "
           "stopped or computes without calling MX, or frames are lost on the way (\"omx_check HOST\" tells)";
}

} // namespace

std::vector<std::string> diagnose(const emx_counters &counters, const BoardFacts &board)
{
    const Evidence evidence{counters, board};
    std::vector<std::string> found;
    for (const auto rule : {dialect_mismatch, size_mismatch, small_interface, small_path, unknown_peers,
                            full_table, unanswered_connects, duplicate_mac, unacknowledged})
        if (std::string sentence = rule(evidence); !sentence.empty())
            found.push_back(std::move(sentence));
    return found;
}

} // namespace emx
