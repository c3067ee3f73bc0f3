// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A board agent of our own user that answers with garbage: programs refuse it, or use it, and live on.
#include "driver/base/control_socket.hpp"
#include "driver/base/packet_socket.hpp"
#include "driver/board/agent_protocol.hpp"
#include "driver/board/board_file.hpp"
#include "tests/netns/engine_fixture.hpp"
#include "tests/support/rng.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <thread>

using namespace emx;
using namespace emx::test;

namespace {

/// Answers as an agent with one board does, but for what a seed has changed. Its thread ends with it.
class Impostor {
public:
    explicit Impostor(uint64_t seed) : rng_(seed), file_(BoardFile::create(1, 32, 64))
    {
        BoardRecord &board = file_->board(0);
        board.mac = 0x020000000001;
        board.mtu = 1500;
        REQUIRE(fw_sizes_n(&board.sizes, 1500) == 0);
        std::memcpy(board.interface, "eth0", 5);
        fw_peer_add(file_->peers(0), board.mac);
        fw_peer_name(file_->peers(0), 0, "impostor:0");
        if (rng_.chance(700))
            scribble(reinterpret_cast<std::byte *>(&file_->header()), whole());
        sockaddr_un address;
        const socklen_t length = abstract_address(agent_socket_name, address);
        sockets_.emplace_back(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
        REQUIRE(::bind(sockets_[0].get(), reinterpret_cast<sockaddr *>(&address), length) == 0);
        REQUIRE(::listen(sockets_[0].get(), 64) == 0);
        listener_ = sockets_[0].get();
        thread_ = std::thread([this] { run(); });
    }
    ~Impostor()
    {
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
    }
    Impostor(const Impostor &) = delete;
    Impostor &operator=(const Impostor &) = delete;

private:
    /// The header, the record, and the table of peers: what programs rely on most.
    std::size_t whole()
    {
        return reinterpret_cast<std::byte *>(file_->peers(0)) -
               reinterpret_cast<std::byte *>(&file_->header()) + fw_peers_bytes(64);
    }

    void scribble(std::byte *memory, std::size_t bytes)
    {
        for (auto times = rng_.range(1, 3); times > 0; times--) {
            // The first words decide most: every second hit goes there.
            const std::size_t most = rng_.coin() ? bytes : std::min<std::size_t>(bytes, 512);
            const std::size_t at = rng_.below(most / 4) * 4;
            const uint32_t values[] = {0, 1, 0xffffffff, 0x7fffffff, static_cast<uint32_t>(rng_.next())};
            const uint32_t value = rng_.pick(values);
            std::memcpy(memory + at, &value, sizeof(value));
        }
    }

    Fd something(const RingShape *shape)
    {
        if (rng_.chance(150))
            return Fd(::memfd_create("garbage", MFD_CLOEXEC));
        return make_packet_socket(closed_filter(), shape);
    }

    void answer(int connection, const AgentRequest &request)
    {
        AgentReply reply;
        std::vector<Fd> made;
        std::vector<int> fds;
        if (request.op == AgentOp::hello) {
            fds.push_back(file_->fd());
        } else if (request.op == AgentOp::claim) {
            const RingShape ring = shape_ring(2000, 16);
            reply.ring_slot = reply.lo_slot = ring.slot;
            reply.ring_block = reply.lo_block = ring.block;
            reply.ring_blocks = reply.lo_blocks = ring.blocks;
            made.push_back(something(&ring));
            made.push_back(something(nullptr));
            made.push_back(something(&ring));
        }
        if (rng_.chance(100))
            made.push_back(something(nullptr));
        for (const Fd &fd : made)
            fds.push_back(fd.get());
        if (!fds.empty() && rng_.chance(50))
            fds.pop_back();
        if (rng_.chance(200))
            scribble(reinterpret_cast<std::byte *>(&reply), sizeof(reply));
        const std::size_t bytes = rng_.chance(50) ? rng_.range(1, sizeof(reply)) : sizeof(reply);
        send_datagram(connection, &reply, bytes, fds, MSG_DONTWAIT);
    }

    /// False when it is over with that socket.
    bool serve(std::size_t i)
    {
        if (i == 0) {
            Fd connection(::accept4(sockets_[0].get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (!connection)
                return false;
            sockets_.push_back(std::move(connection));
            return true;
        }
        AgentRequest request;
        std::vector<Fd> fds;
        if (receive_datagram(sockets_[i].get(), &request, sizeof(request), fds) != sizeof(request) ||
            rng_.chance(20))
            return false;
        answer(sockets_[i].get(), request);
        return true;
    }

    void run()
    {
        for (;;) {
            std::vector<pollfd> fds;
            for (const Fd &socket : sockets_)
                fds.push_back({socket.get(), POLLIN, 0});
            if (::poll(fds.data(), fds.size(), -1) < 0)
                return;
            for (std::size_t i = fds.size(); i-- > 0;) {
                if (!fds[i].revents || serve(i))
                    continue;
                if (i == 0)
                    return;
                sockets_.erase(sockets_.begin() + static_cast<std::ptrdiff_t>(i));
            }
        }
    }

    Rng rng_;
    std::unique_ptr<BoardFile> file_;
    std::vector<Fd> sockets_; ///< the listener first; the thread's while it runs
    int listener_ = -1; ///< its descriptor
    std::thread thread_;
};

void use(Device &device)
{
    DeviceError error;
    for (const BoardInfo &board : device.boards()) {
        device.peers(board.number);
        device.counters(board.number);
        device.name_of(board.nic_id);
        device.set_host_name(board.number, "other:0", error);
    }
    device.nic_id_of("impostor:0");
    if (const auto port = device.open(0, 3, 1, error)) {
        peer_of(*port, 0x020000000002);
        port->peek();
    }
}

} // namespace

TEST_CASE("engine__only_a_file_of_ones_own_user_is_adopted", "[netns][engine]")
{
    const auto made = [](void (*change)(BoardFile &)) {
        const auto file = BoardFile::create(1, 32, 64);
        REQUIRE(fw_sizes_n(&file->board(0).sizes, 1500) == 0);
        fw_peer_add(file->peers(0), 0x020000000001);
        change(*file);
        return Fd(::fcntl(file->fd(), F_DUPFD_CLOEXEC, 0));
    };
    static const auto word = [](BoardFile &file, uint32_t i) -> uint32_t & { // of the hash
        const auto *slots = reinterpret_cast<const struct fw_peer *>(file.peers(0) + 1);
        return reinterpret_cast<uint32_t *>(const_cast<struct fw_peer *>(slots + 64))[i];
    };
    std::string why;
    const auto good = BoardFile::adopt(made([](BoardFile &) {}), why);
    CHECK(why == "");
    REQUIRE(good);
    CHECK(fw_peer_add(good->peers(0), 0x020000000002) == 1); // it can be written
    CHECK(::fcntl(good->fd(), F_GETFL) % 4 == O_RDONLY);

    const std::pair<const char *, void (*)(BoardFile &)> bad[] = {
        {"others may write", [](BoardFile &file) { REQUIRE(::fchmod(file.fd(), 0666) == 0); }},
        {"of the group", [](BoardFile &file) { REQUIRE(::fchmod(file.fd(), 0620) == 0); }},
        {"of another user", [](BoardFile &file) { REQUIRE(::fchown(file.fd(), 65534, 65534) == 0); }},
        {"more peers than places", [](BoardFile &file) { file.peers(0)->count = 65; }},
        {"a larger table", [](BoardFile &file) { file.peers(0)->capacity = 65; }},
        {"a longer hash", [](BoardFile &file) { file.peers(0)->hash_mask = 1023; }},
        {"a hash that leads astray", [](BoardFile &file) { word(file, 3) = 2; }},
        {"a hash in which searches never end",
         [](BoardFile &file) {
             for (uint32_t i = 0; i < 128; i++)
                 word(file, i) = 1;
         }},
    };
    for (const auto &[what, change] : bad) {
        CAPTURE(what);
        why.clear();
        CHECK_FALSE(BoardFile::adopt(made(change), why));
        CHECK(why != "");
    }
}

TEST_CASE("engine__garbage_of_an_agent_kills_no_program", "[netns][engine]")
{
    const TwoHosts hosts(1500);
    hosts.enter(0);
    unsigned refused = 0, used = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        CAPTURE(seed);
        const Impostor impostor(seed);
        EngineConfig config;
        config.agent_program = "/nonexistent";
        DeviceError error;
        const auto device = make_engine(config, error);
        if (device) {
            used++;
            use(*device);
            continue;
        }
        refused++;
        REQUIRE(error.code != 0);
        REQUIRE(std::all_of(error.text.begin(), error.text.end(), [](unsigned char c) { return c >= ' '; }));
    }
    CHECK(refused > 20);
    CHECK(used > 20);
}
