// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Commands by io_uring. See command_ring.hpp.
#include "driver/kernel_client/command_ring.hpp"

#include "driver/base/fd.hpp"

#ifdef EMX_HAVE_LIBURING
#include <liburing.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#endif

namespace emx {

#ifdef EMX_HAVE_LIBURING

namespace {

constexpr unsigned ring_entries = 32; // the fragments of a message in one go, but for the smallest frames

void put_command(io_uring_sqe *sqe, int fd, const emx_dev_command *command, uint64_t index)
{
    const emx_dev_uring given{reinterpret_cast<uint64_t>(command), 0};
    io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, nullptr, 0, 0);
    sqe->cmd_op = EMX_IOC_COMMAND;
    sqe->user_data = index;
    std::memcpy(sqe->cmd, &given, sizeof(given));
}

} // namespace

struct CommandRing::Queue {
    io_uring ring{};
    bool opened = false;

    Queue() = default;
    ~Queue()
    {
        if (opened)
            io_uring_queue_exit(&ring);
    }
    Queue(const Queue &) = delete;
    Queue &operator=(const Queue &) = delete;

    bool open()
    {
        io_uring_params params{};
        params.flags = IORING_SETUP_SUBMIT_ALL;
        opened = io_uring_queue_init_params(ring_entries, &ring, &params) == 0;
        if (opened) {
            ring.ring_fd = above_standard_streams(ring.ring_fd);
            ring.enter_ring_fd = ring.ring_fd;
        }
        return opened && ring.ring_fd >= 0 && io_uring_ring_dontfork(&ring) == 0;
    }

    /// True if the module takes commands so: then it looks for one at an address where there is none.
    bool serves(int fd)
    {
        put_command(io_uring_get_sqe(&ring), fd, nullptr, 0);
        io_uring_cqe *cqe = nullptr;
        if (io_uring_submit(&ring) != 1 || io_uring_wait_cqe(&ring, &cqe) != 0)
            return false;
        const int result = cqe->res;
        io_uring_cqe_seen(&ring, cqe);
        return result == -EFAULT;
    }
};

CommandRing::CommandRing(std::unique_ptr<Queue> queue, int fd) : queue_(std::move(queue)), fd_(fd) {}

std::unique_ptr<CommandRing> CommandRing::open(int fd)
{
    auto queue = std::make_unique<Queue>();
    if (!queue->open() || !queue->serves(fd))
        return nullptr;
    return std::unique_ptr<CommandRing>(new CommandRing(std::move(queue), fd));
}

bool CommandRing::execute(std::span<emx_dev_command> commands)
{
    while (!commands.empty()) {
        const std::size_t count = std::min<std::size_t>(commands.size(), ring_entries);
        if (!execute_some(commands.first(count)))
            return false;
        commands = commands.subspan(count);
    }
    return true;
}

bool CommandRing::execute_some(std::span<emx_dev_command> commands)
{
    for (std::size_t i = 0; i < commands.size(); ++i)
        put_command(io_uring_get_sqe(&queue_->ring), fd_, &commands[i], i);
    const int submitted = io_uring_submit(&queue_->ring);
    if (submitted < 0)
        return false;
    return collect(commands, static_cast<unsigned>(submitted)) &&
           static_cast<std::size_t>(submitted) == commands.size();
}

/// The kernel may read a command until its answer is there.
bool CommandRing::collect(std::span<emx_dev_command> commands, unsigned expected)
{
    for (io_uring_cqe *cqe = nullptr; expected > 0; --expected) {
        int status;
        do {
            status = io_uring_wait_cqe(&queue_->ring, &cqe);
        } while (status == -EINTR);
        if (status != 0)
            return false;
        commands[cqe->user_data].result = cqe->res;
        io_uring_cqe_seen(&queue_->ring, cqe);
    }
    return true;
}

#else

struct CommandRing::Queue {};

std::unique_ptr<CommandRing> CommandRing::open(int) { return nullptr; }

bool CommandRing::execute(std::span<emx_dev_command>) { return false; }

#endif

CommandRing::~CommandRing() = default;

} // namespace emx
