// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A hostile member of the group that the board agent serves: it writes into all that a client can write.
//
//   member connect N   N connections, each with a request; says how many are served, and stays
//   member N     N writes of random words into its page of counters and its rings, and among them requests of
//   random
//                bytes with random descriptors; prints each way that should be barred and is not
#include "driver/base/control_socket.hpp"
#include "driver/board/agent_client.hpp"
#include "driver/board/board_file.hpp"
#include "driver/board/endpoint_page.hpp"
#include "driver/mx_codes.hpp"
#include "tests/support/rng.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <span>

using namespace emx;
using namespace emx::test;

namespace {

int failures = 0;

void expect(bool holds, const char *what)
{
    failures += !holds;
    if (!holds)
        std::printf("FAIL %s\n", what);
}

/// One connection to the agent, and what it gave.
struct Session {
    AgentConnection agent;
    Fd boards; ///< the board file; empty when it is given away

    static std::optional<Session> open()
    {
        DeviceError error;
        return open(error);
    }
    static std::optional<Session> open(DeviceError &error)
    {
        auto agent = AgentConnection::connect(error);
        AgentReply reply;
        std::vector<Fd> fds;
        if (!agent || !agent->request({}, reply, fds, error) || fds.size() != 1)
            return std::nullopt;
        return Session{std::move(*agent), std::move(fds[0])};
    }
    int32_t ask(const AgentRequest &request, const std::vector<int> &sent = {})
    {
        AgentReply reply;
        std::vector<Fd> fds;
        DeviceError error;
        agent.request(request, reply, fds, error, sent);
        return error.code;
    }
};

bool mapped(int fd, int protection, int flags)
{
    void *at = ::mmap(nullptr, 4096, protection, flags, fd, 0);
    if (at != MAP_FAILED)
        ::munmap(at, 4096);
    return at != MAP_FAILED;
}

bool made_writable(int fd)
{
    void *at = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
    const bool made = at != MAP_FAILED && ::mprotect(at, 4096, PROT_READ | PROT_WRITE) == 0;
    if (at != MAP_FAILED)
        ::munmap(at, 4096);
    return made;
}

/// Parts that the agent alone writes are nobody else's to write, by no way to a descriptor.
void board_file_is_read_only(int fd)
{
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    expect(mapped(fd, PROT_READ, MAP_SHARED), "the board file can be read");
    expect(!mapped(fd, PROT_READ | PROT_WRITE, MAP_SHARED), "the board file cannot be mapped writable");
    expect(!made_writable(fd), "nor can a mapping of it become so");
    expect(!Fd(::open(path.c_str(), O_RDWR | O_CLOEXEC)), "nor be opened anew for writing");
    expect(::write(fd, "x", 1) < 0, "nor be written");
    expect(::ftruncate(fd, 0) != 0, "nor made shorter");
    expect(::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) != 0, "nor emptied");
    expect(::fchmod(fd, 0666) != 0, "nor given to all");
    expect(::fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) != 0, "nor sealed");
}

/// Each request that changes what all programs see, and those that any client makes.
void administration_is_barred(Session &session)
{
    for (uint32_t op = 0; op < 64; op++) {
        AgentRequest request;
        request.op = static_cast<AgentOp>(op);
        request.mac = 0x020000000099;
        std::memcpy(request.text, "planted:0", 10);
        switch (request.op) {
        case AgentOp::set_name:
        case AgentOp::peers_clear:
        case AgentOp::peers_append:
        case AgentOp::peers_complete:
        case AgentOp::clear_counters:
        case AgentOp::forget_names:
        case AgentOp::pin_peer:
        case AgentOp::list_host:
        case AgentOp::group_socket:
        case AgentOp::steer:
            expect(session.ask(request) == mx_no_perm,
                   ("request " + std::to_string(op) + " is refused").c_str());
            break;
        case AgentOp::claim:
        case AgentOp::reclaim: break; // with descriptors: pages()
        case AgentOp::grow_socket: break; // the same: sockets_grow_for_holders()
        case AgentOp::hello:
        case AgentOp::add_peer:
        case AgentOp::add_heard:
        case AgentOp::sum_counters:
            expect(session.ask(request) == 0, ("request " + std::to_string(op) + " is granted").c_str());
            break;
        default:
            expect(session.ask(request) == mx_no_driver,
                   ("request " + std::to_string(op) + " is unknown").c_str());
        }
    }
}

Fd memory(unsigned flags, off_t bytes, int seals)
{
    Fd fd(::memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags));
    if (fd && (::ftruncate(fd.get(), bytes) != 0 || ::fcntl(fd.get(), F_ADD_SEALS, seals) != 0))
        fd.reset();
    return fd;
}

AgentRequest claim_of(uint32_t endpoint)
{
    AgentRequest request;
    request.op = AgentOp::claim;
    request.endpoint = endpoint;
    request.session = 7;
    return request;
}

AgentRequest grow_of()
{
    AgentRequest request;
    request.op = AgentOp::grow_socket;
    return request;
}

/// Boards that nobody has are asked for, until there is no more room for us.
void peers_have_a_quota(Session &session)
{
    AgentRequest request;
    request.op = AgentOp::add_peer;
    uint64_t added = 0;
    for (request.mac = 0x02de00000000; added < 1024 && session.ask(request) == 0; request.mac++)
        added++;
    expect(added > 0 && added <= 1024 / 8, "a user asks for a part of the table of peers");
    request.mac = 0x02de00000000;
    expect(session.ask(request) == 0, "what is there costs nothing");
}

/// Files that could kill an agent which reads them as counters.
void bad_pages_are_refused()
{
    const Fd bad[] = {
        memory(0, 4096, F_SEAL_GROW),
        memory(0, 64, F_SEAL_SHRINK),
        memory(0, 0, F_SEAL_SHRINK),
        memory(MFD_HUGETLB, 2 << 20, F_SEAL_SHRINK),
        Fd(::open("/dev/zero", O_RDWR | O_CLOEXEC)),
        Fd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)),
        Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
    };
    for (const Fd &fd : bad) {
        if (!fd)
            continue; // no huge pages here
        auto session = Session::open();
        expect(session && session->ask(claim_of(4), {fd.get()}) == mx_no_driver, "a bad page is refused");
    }
}

/// An endpoint, and all its memory that somebody else may look at.
class Holder {
public:
    static std::unique_ptr<Holder> make(uint32_t endpoint)
    {
        auto session = Session::open();
        auto page = EndpointPage::make();
        AgentReply reply;
        std::vector<Fd> fds;
        DeviceError error;
        if (!session || !page ||
            !session->agent.request(claim_of(endpoint), reply, fds, error, {page->fd()}) || fds.size() != 3)
            return nullptr;
        std::unique_ptr<Holder> holder(new Holder(std::move(*session), std::move(page), std::move(fds)));
        holder->map(0, std::size_t{reply.ring_block} * reply.ring_blocks);
        holder->map(2, std::size_t{reply.lo_block} * reply.lo_blocks);
        return holder;
    }
    Holder(const Holder &) = delete;
    Holder &operator=(const Holder &) = delete;
    ~Holder()
    {
        for (const auto &ring : rings_)
            ::munmap(ring.data(), ring.size_bytes());
    }

    int32_t grow(int socket) { return session_.ask(grow_of(), {socket}); }
    void scribble(Rng &rng)
    {
        const uint64_t values[] = {0, ~uint64_t{0}, 1, rng.next()};
        const uint64_t value = rng.pick(values);
        if (rings_.empty() || rng.coin()) {
            auto &counters = page_->counters();
            __atomic_store_n(&counters.v[rng.below(EMX_CNT_COUNT)], value, __ATOMIC_RELAXED);
        } else {
            const auto &ring = rings_[rng.below(rings_.size())];
            __atomic_store_n(&ring[rng.below(ring.size())], value, __ATOMIC_RELAXED);
        }
    }
    /// False when the agent has hung up on us.
    bool babble(Rng &rng)
    {
        AgentRequest request;
        request.op = static_cast<AgentOp>(rng.below(18));
        request.endpoint = static_cast<uint32_t>(rng.below(40));
        request.mac = 0x020000000000 + rng.below(64);
        for (auto changes = rng.below(4); changes > 0; changes--) {
            const uint32_t word = static_cast<uint32_t>(rng.next());
            std::memcpy(reinterpret_cast<char *>(&request) + rng.below(sizeof(request) / 4) * 4, &word, 4);
        }
        // At these the agent hangs up, and a new endpoint takes its time.
        const std::size_t bytes = rng.chance(30) ? rng.below(sizeof(request)) : sizeof(request);
        std::vector<int> sent;
        if (rng.chance(request.op == AgentOp::claim || request.op == AgentOp::reclaim ? 900 : 30))
            for (auto count = rng.range(1, 2); count > 0; count--)
                sent.push_back(rng.coin() ? page_->fd() : session_.boards.get());
        if (!send_datagram(session_.agent.fd(), &request, bytes, sent))
            return false;
        AgentReply reply;
        std::vector<Fd> fds;
        return receive_datagram(session_.agent.fd(), &reply, sizeof(reply), fds) > 0;
    }

private:
    Holder(Session session, std::unique_ptr<EndpointPage> page, std::vector<Fd> fds)
        : session_(std::move(session)), page_(std::move(page)), fds_(std::move(fds))
    {
    }
    void map(std::size_t socket, std::size_t bytes)
    {
        void *at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fds_[socket].get(), 0);
        if (at != MAP_FAILED)
            rings_.emplace_back(static_cast<uint64_t *>(at), bytes / sizeof(uint64_t));
    }

    Session session_;
    std::unique_ptr<EndpointPage> page_;
    std::vector<Fd> fds_;
    std::vector<std::span<uint64_t>> rings_;
};

/// True where root of the agent has rights over all sockets.
bool is_initial_user_namespace()
{
    std::ifstream map("/proc/self/uid_map");
    uint64_t inside = 0, outside = 0, count = 0;
    map >> inside >> outside >> count;
    return count == 0xffffffff;
}

int receive_buffer(int socket)
{
    int bytes = 0;
    socklen_t size = sizeof(bytes);
    ::getsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, &size);
    return bytes;
}

/// Buffers beyond a user's own limit are for UDP sockets, and for a few of each endpoint.
void sockets_grow_for_holders(Session &stranger)
{
    constexpr int granted = 2 << 20; // the kernel counts twice what is asked for
    const auto udp = [] { return Fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)); };
    const Fd first = udp(), other(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)), page = memory(0, 4096, 0);
    auto holder = Holder::make(4);
    expect(holder != nullptr, "an endpoint is given");
    if (!holder)
        return;
    expect(stranger.ask(grow_of(), {first.get()}) == mx_no_perm, "who holds no endpoint has no socket grown");
    expect(holder->grow(other.get()) == mx_no_perm, "a socket that is not UDP is not grown");
    expect(holder->grow(page.get()) == mx_no_perm, "a file is not grown");
    expect(holder->grow(first.get()) == 0, "a UDP socket is grown");
    if (is_initial_user_namespace())
        expect(receive_buffer(first.get()) >= granted, "it is grown beyond the system's limit");
    int32_t last = 0;
    for (int n = 0; n < 64 && last == 0; n++)
        last = holder->grow(udp().get());
    expect(last == mx_no_perm, "sockets without number are not grown");
}

void scribble(uint64_t writes)
{
    constexpr uint64_t per_request = 200;
    Rng rng(26);
    std::unique_ptr<Holder> holder;
    uint64_t held = 0;
    for (uint64_t i = 0; i < writes; i++) {
        if (!holder) {
            holder = Holder::make(4 + static_cast<uint32_t>(rng.below(8)));
            held += holder != nullptr;
            expect(holder != nullptr, "an endpoint is given");
            if (!holder)
                return;
        }
        holder->scribble(rng);
        if (i % per_request == 0 && !holder->babble(rng))
            holder.reset();
    }
    std::printf("%llu writes, %llu endpoints\n", static_cast<unsigned long long>(writes),
                static_cast<unsigned long long>(held));
}

int connect(uint64_t count)
{
    std::vector<Session> sessions;
    DeviceError error;
    for (uint64_t i = 0; i < count; i++)
        if (auto session = Session::open(error))
            sessions.push_back(std::move(*session));
    std::printf("served %zu, refused %zu: %s\n", sessions.size(), count - sessions.size(),
                error.text.c_str());
    std::fflush(stdout);
    return ::pause();
}

} // namespace

int main(int argc, char **argv)
{
    if (argc == 3 && std::strcmp(argv[1], "connect") == 0)
        return connect(std::strtoull(argv[2], nullptr, 10));
    if (argc != 2) {
        std::fputs("usage: member WRITES, or member connect NUMBER\n", stderr);
        return 2;
    }
    auto session = Session::open();
    if (!session) {
        std::fputs("member: omxd does not serve me\n", stderr);
        return 1;
    }
    board_file_is_read_only(session->boards.get());
    administration_is_barred(*session);
    peers_have_a_quota(*session);
    bad_pages_are_refused();
    sockets_grow_for_holders(*session);
    scribble(std::strtoull(argv[1], nullptr, 10));
    return failures ? 1 : 0;
}
