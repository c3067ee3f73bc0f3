// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Sends a frame that nobody may send between the two hosts of TwoHosts; tests/watch/check.sh wants this
// program to fail.
//
//   plant             a refusal with an unknown reason, of host 0
//   plant foreign     the same, where host 0 is said not to be ours
#include "tests/netns/two_hosts.hpp"

#include <emx/wire.h>

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <vector>

namespace {

void send_forbidden()
{
    std::vector<uint8_t> frame(EMX_FRAME_MIN);
    emx::test::put_mac(&frame[0], 0x02000000000b);
    emx::test::put_mac(&frame[6], 0x02000000000a);
    frame[12] = EMX_ETHERTYPE >> 8;
    frame[13] = EMX_ETHERTYPE & 0xff;
    frame[16] = EMX_NACK_LIB;
    frame[19] = 4;
    const emx::Fd wire(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
    sockaddr_ll to{};
    to.sll_family = AF_PACKET;
    to.sll_ifindex = static_cast<int>(::if_nametoindex("eth0"));
    if (!wire || ::sendto(wire.get(), frame.data(), frame.size(), 0, reinterpret_cast<const sockaddr *>(&to),
                          sizeof to) != static_cast<ssize_t>(frame.size()))
        throw std::runtime_error(std::string("cannot send: ") + std::strerror(errno));
}

} // namespace

int main(int argc, char **argv)
{
    try {
        const emx::test::TwoHosts hosts(1500);
        if (argc > 1 && std::strcmp(argv[1], "foreign") == 0)
            hosts.foreign(0);
        hosts.enter(0);
        send_forbidden();
    } catch (const std::exception &error) {
        std::fprintf(stderr, "plant: %s\n", error.what());
        return 2;
    }
    return 0;
}
