// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A node of a real job (run.sh): each sends checked streams and whole messages to each, by two threads that
// extract; then says so. With an argument:
//   wait  waits for messages until a node dies, and says so
//   die   dies when all have sent a message
#include <fm.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr ULONG stream_id = 1, whole_id = 2, rounds = 150;
std::atomic<unsigned> streams{0}, wholes{0}, wrong{0};

char fill(unsigned sender, ULONG round, ULONG at)
{
    return static_cast<char>(sender * 101 + round * 31 + at * 7);
}

std::vector<char> text_of(unsigned sender, ULONG round, ULONG length)
{
    std::vector<char> text(length);
    for (ULONG i = 0; i < length; i++)
        text[i] = fill(sender, round, i);
    return text;
}

ULONG length_of(ULONG round) { return round * round * 5; }

int take_stream(FM_stream *stream, unsigned sender)
{
    ULONG round = 0;
    FM_receive(&round, stream, sizeof round);
    std::vector<char> text(length_of(round));
    for (ULONG at = 0; at < text.size();) {
        const ULONG part = std::min<ULONG>(static_cast<ULONG>(text.size()) - at, 1 + round * 40);
        at += FM_receive(&text[at], stream, part) == part ? part : FM_ALL - at;
    }
    wrong += text != text_of(sender, round, length_of(round));
    streams++;
    return FM_CONTINUE;
}

int take_whole(void *buffer, unsigned size, unsigned sender)
{
    const std::vector<char> expected = text_of(sender, size, size);
    wrong += size && std::memcmp(buffer, expected.data(), size) != 0;
    wholes++;
    return FM_CONTINUE;
}

/// Extracts as long as there is no room.
void room(const char *what)
{
    if (FM_errno == FM_E_FULL || FM_errno == FM_E_BUSY) {
        FM_extract(FM_ALL);
        return;
    }
    std::fprintf(stderr, "%s: %s\n", what, FM_strerror(FM_errno));
    std::exit(1);
}

void send_to(ULONG to, ULONG round)
{
    const std::vector<char> text = text_of(FM_nodeid, round, length_of(round));
    FM_stream *stream;
    while (!(stream = FM_begin_message(to, sizeof round + static_cast<ULONG>(text.size()), stream_id)))
        room("begin");
    FM_send_piece(stream, &round, sizeof round);
    for (ULONG at = 0; at < text.size(); at += 3000)
        FM_send_piece(stream, &text[at], std::min<ULONG>(3000, static_cast<ULONG>(text.size()) - at));
    FM_end_message(stream);
    while (FM_send(to, whole_id, text_of(FM_nodeid, round, round).data(), round) < 0)
        room("send");
}

int exchange()
{
    const unsigned all = rounds * FM_numnodes;
    std::atomic<bool> done{false};
    std::thread other([&] {
        while (!done)
            FM_extract(2000);
    });
    for (ULONG round = 0; round < rounds; round++)
        for (ULONG to = 0; to < FM_numnodes; to++)
            send_to(to, round);
    while (streams < all || wholes < all)
        FM_extract(FM_ALL);
    done = true;
    other.join();
    std::printf("node %u of %u: %u streams, %u whole, %u wrong\n", unsigned{FM_nodeid}, unsigned{FM_numnodes},
                streams.load(), wholes.load(), wrong.load());
    return wrong ? 1 : 0;
}

int wait_for_death()
{
    FM_send_4(FM_numnodes - 1, whole_id, 1, 2, 3, 4); // it may die now
    FM_errno = 0;
    while (FM_errno != FM_E_PEER)
        FM_extract(FM_ALL);
    const int code = FM_send_4(FM_numnodes - 1, whole_id, 1, 2, 3, 4);
    std::printf("told: %s\n", FM_strerror(-code));
    return code == -FM_E_PEER ? 0 : 1;
}

} // namespace

int main(int argc, char **argv)
{
    const std::string mode = argc > 1 ? argv[1] : "";
    FM_register_handler(stream_id, take_stream);
    FM_register_handler_1(whole_id, take_whole);
    FM_initialize();
    int status = 0;
    if (mode == "wait")
        status = wait_for_death();
    else if (mode == "die") {
        while (wholes < FM_numnodes - 1)
            FM_extract(FM_ALL);
        std::raise(SIGKILL);
    } else
        status = exchange();
    FM_finalize();
    return status;
}
