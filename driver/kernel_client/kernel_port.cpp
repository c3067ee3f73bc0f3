// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// An endpoint of the kernel module. See kernel_port.hpp.
#include "driver/kernel_client/kernel_port.hpp"

#include "driver/base/clock.hpp"
#include "driver/base/relax.hpp"
#include "driver/base/system_calls.hpp"
#include "driver/mx_codes.hpp"
#include "driver/system_error.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace emx {

DriverMemory::~DriverMemory()
{
    if (data_)
        ::munmap(data_, bytes_);
}

bool DriverMemory::map(int fd, uint64_t offset, uint64_t bytes)
{
    void *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
    if (memory == MAP_FAILED)
        return false;
    data_ = static_cast<std::byte *>(memory);
    bytes_ = bytes;
    return true;
}

bool KernelPort::map(const emx_dev_claim &claim, DeviceError &error)
{
    const int fd = file_.fd();
    if (ring_.map(fd, EMX_DEV_MAP_RING, claim.ring_bytes) &&
        slots_.map(fd, EMX_DEV_MAP_SLOTS, claim.slots_bytes) &&
        counters_.map(fd, EMX_DEV_MAP_COUNTERS, claim.counters_bytes)) {
        driver_sleeps_ = file_.ask(EMX_IOC_WAKE, nullptr);
        if (driver_sleeps_ || wake_.open())
            return true;
    }
    error = system_error("mapping the endpoint of " EMX_DEV_PATH);
    return false;
}

std::unique_ptr<KernelPort> KernelPort::make(DriverFile file, const emx_dev_claim &claim, CommandWay way,
                                             DeviceError &error)
{
    std::unique_ptr<KernelPort> port(new KernelPort(std::move(file), way, claim));
    if (!port->map(claim, error))
        return nullptr;
    return port;
}

// ---- events

bool KernelPort::ready() const
{
    return current_ || !queue_.empty() || fw_ring_peek(ring(), tail_) != nullptr;
}

const emx_msg *KernelPort::peek()
{
    if (current_) [[unlikely]]
        return current_;
    if (!queue_.empty()) [[unlikely]]
        return current_ = &queue_.front();
    const emx_msg *entry = fw_ring_peek(ring(), tail_);
    if (!entry)
        return nullptr;
    event_ = *entry;
    if (event_.data_len > 0)
        event_.data += reinterpret_cast<uint64_t>(slots_.data());
    return current_ = &event_;
}

void KernelPort::consume()
{
    if (current_ == &event_)
        fw_ring_take(ring(), &tail_);
    else
        queue_.pop_front();
    current_ = nullptr;
}

bool KernelPort::spin(unsigned looks)
{
    for (; looks > 0; looks--) {
        if (in_ring())
            return true;
        relax();
    }
    return !queue_.empty();
}

/// Where others bring the frames (another process that polls the same card, or a thread of the kernel) it
/// costs and does not help: then it is left out, and tried again now and then.
BusyPoll KernelPort::busy_poll(unsigned us)
{
    constexpr int useless = -32;
    constexpr unsigned pause = 4096;
    if (poll_skip_ > 0) {
        --poll_skip_;
        return BusyPoll::none;
    }
    emx_dev_poll request{};
    request.microseconds = us;
    if (!file_.ask(EMX_IOC_POLL, &request)) {
        // No card known yet, or another thread polls; or a driver that does not know how to, or must not.
        poll_skip_ = errno == ENODATA || errno == EBUSY ? pause / 16 : ~0u;
        return BusyPoll::none;
    }
    const bool found = in_ring();
    if (request.frames > 0)
        poll_worth_ = 0;
    else if (found && --poll_worth_ <= useless) {
        poll_skip_ = pause;
        poll_worth_ = useless / 2;
    }
    if (found)
        return BusyPoll::found;
    return us > 0 ? BusyPoll::nothing : BusyPoll::none;
}

bool KernelPort::wait(uint64_t deadline)
{
    const Wake::Seat seat(wake_);
    return driver_sleeps_ ? sleep_in_driver(seat.number(), deadline) : sleep_on_descriptors(seat, deadline);
}

void KernelPort::wake()
{
    if (driver_sleeps_)
        file_.ask(EMX_IOC_WAKE, nullptr);
    else
        wake_.wake();
}

/// An ioctl is no cancellation point, but the signal of a cancellation ends it, and the driver half a
/// second.
bool KernelPort::sleep_in_driver(unsigned seat, uint64_t deadline)
{
    emx_dev_wait wait{};
    wait.deadline_ns = deadline;
    wait.watched = watched_.load(std::memory_order_relaxed);
    wait.wakes = wakes_[seat].load(std::memory_order_relaxed);
    ::pthread_testcancel();
    const int got = file_.ask_number(EMX_IOC_WAIT, &wait);
    if (got < 0 && errno == EINTR) {
        interrupted_.store(true, std::memory_order_relaxed);
        ::pthread_testcancel();
    } else if (got < 0) {
        sys::sleep_ms(1); // whoever asks again would do so without end
    } else {
        wakes_[seat].store(static_cast<uint32_t>(got) >> EMX_WAIT_SHIFT, std::memory_order_relaxed);
    }
    return got < 0 || (got & EMX_WAIT_WATCHED) != 0;
}

bool KernelPort::sleep_on_descriptors(const Wake::Seat &seat, uint64_t deadline)
{
    pollfd fds[] = {{file_.fd(), POLLIN, 0},
                    {seat.fd(), POLLIN, 0},
                    {watched_.load(std::memory_order_relaxed), POLLIN, 0}};
    const int got = sys::sleep_on(fds, std::size(fds), deadline);
    if (got < 0 && errno == EINTR)
        interrupted_.store(true, std::memory_order_relaxed);
    if (got > 0 && fds[1].revents)
        seat.clear();
    return got > 0 && fds[2].revents;
}

// ---- commands

/// A command that says nothing but this; false with errno.
bool KernelPort::give(emx_dev_op op, uint64_t cookie) const
{
    emx_dev_command command{};
    command.op = op;
    command.cookie = cookie;
    return commands_.give(command);
}

const std::vector<emx_dev_segment> &KernelPort::describe(std::span<const Segment> memory)
{
    segments_.clear();
    for (const Segment &segment : memory)
        segments_.push_back({reinterpret_cast<uint64_t>(segment.data), segment.length});
    return segments_;
}

/// A window that the module refuses is not offered: whoever pulls it hears that there is no such window.
void KernelPort::open_window(uint8_t id, uint8_t tag, uint32_t peer, uint8_t remote_ep,
                             std::span<const Segment> memory, uint64_t length)
{
    const auto &segments = describe(memory);
    emx_dev_command command{};
    command.op = EMX_DEV_WINDOW_OPEN;
    command.msg.peer = peer;
    command.msg.remote_ep = remote_ep;
    command.msg.u.window.id = id;
    command.msg.u.window.tag = tag;
    command.segments = reinterpret_cast<uint64_t>(segments.data());
    command.segment_count = static_cast<uint32_t>(segments.size());
    command.length = length;
    commands_.give(command);
}

void KernelPort::close_window(uint8_t id, uint8_t tag)
{
    emx_dev_command command{};
    command.op = EMX_DEV_WINDOW_CLOSE;
    command.msg.u.window.id = id;
    command.msg.u.window.tag = tag;
    commands_.give(command);
}

bool KernelPort::start_pull(const emx_msg &rndv, uint32_t total, std::span<const Segment> memory,
                            uint64_t cookie)
{
    const auto &segments = describe(memory);
    emx_dev_command command{};
    command.op = EMX_DEV_PULL_START;
    command.msg = rndv;
    command.segments = reinterpret_cast<uint64_t>(segments.data());
    command.segment_count = static_cast<uint32_t>(segments.size());
    command.length = total;
    command.cookie = cookie;
    if (commands_.give(command))
        return true;
    if (errno == EBUSY)
        return false;
    emx_msg failed{};
    failed.type = EMX_EV_PULL_DONE;
    failed.local_ep = static_cast<uint8_t>(number_);
    failed.peer = rndv.peer;
    failed.u.pull.cookie = cookie;
    failed.u.pull.status = EMX_PULL_ABORTED;
    queue_.push_back(failed);
    return true;
}

void KernelPort::cancel_pull(uint64_t cookie) { give(EMX_DEV_PULL_CANCEL, cookie); }

// ---- groups

bool KernelPort::knows_groups() const
{
    constexpr uint64_t no_key = 0;
    return give(EMX_DEV_GROUP_LEAVE, no_key) || errno != EOPNOTSUPP;
}

uint32_t KernelPort::ask_group_bytes() const
{
    emx_dev_board board{};
    board.number = board_;
    if (!knows_groups() || !file_.ask(EMX_IOC_BOARD, &board) || board.number != board_)
        return 0;
    return std::min(fw_group_bytes(board.x_frame), std::max(slot_bytes_, x_fragment_));
}

/// Asks the module once: for what a frame of the interface takes then, and the endpoint has a place for. If
/// the interface takes less later, frames are lost, and senders send messages instead.
uint32_t KernelPort::group_bytes() const
{
    if (!group_bytes_)
        group_bytes_ = ask_group_bytes();
    return *group_bytes_;
}

bool KernelPort::join_group(uint32_t key, DeviceError &error)
{
    if (give(EMX_DEV_GROUP_JOIN, key))
        return true;
    if (errno == ENOSPC)
        error = {mx_no_resources,
                 "an endpoint is in " + std::to_string(EMX_GROUPS_MAX) + " groups at most: leave one"};
    else
        error = system_error("joining a group by the kernel module");
    return false;
}

void KernelPort::leave_group(uint32_t key) { give(EMX_DEV_GROUP_LEAVE, key); }

bool KernelPort::send_group(uint32_t key, uint32_t number, std::byte *payload, uint32_t length, bool summed)
{
    emx_dev_command command{};
    command.op = EMX_DEV_GROUP_SEND;
    command.msg.match = uint64_t{key} << 32 | number;
    command.msg.data = reinterpret_cast<uint64_t>(payload);
    command.msg.data_len = length;
    command.length = summed;
    return commands_.give(command);
}

// ---- peers

std::optional<uint32_t> KernelPort::find_peer(uint64_t nic_id, int /*patience_ms*/, DeviceError &error)
{
    emx_dev_peer request{};
    request.by = EMX_DEV_PEER_ADD;
    request.mac = nic_id;
    const auto peer = file_.peer(request);
    if (!peer) {
        error = {mx_nic_not_found, {}};
        return std::nullopt;
    }
    return peer->index;
}

uint64_t KernelPort::peer_nic_id(uint32_t peer) const
{
    emx_dev_peer request{};
    request.by = EMX_DEV_PEER_INDEX;
    request.index = peer;
    const auto entry = file_.peer(request);
    return entry ? entry->mac : 0;
}

bool KernelPort::keep_peer(uint32_t peer, uint64_t nic_id)
{
    emx_dev_peer request{};
    request.by = EMX_DEV_PEER_KEEP;
    request.index = peer;
    request.mac = nic_id;
    if (peer < local_.size())
        local_[peer] = 0; // perhaps of who had the index before
    return file_.peer(request) || errno == EINVAL; // a driver where no place is taken again
}

void KernelPort::release_peer(uint32_t peer)
{
    emx_dev_peer request{};
    request.by = EMX_DEV_PEER_RELEASE;
    request.index = peer;
    file_.peer(request);
}

uint16_t KernelPort::peer_speaks(uint32_t peer) const
{
    emx_dev_peer request{};
    request.by = EMX_DEV_PEER_INDEX;
    request.index = peer;
    const auto entry = file_.peer(request);
    return entry ? entry->speaks : uint16_t{FW_SPEAKS_BOARD};
}

bool KernelPort::peer_is_local(uint32_t peer) const
{
    enum : uint8_t { unknown, elsewhere, here };
    if (peer < local_.size() && local_[peer] != unknown) [[likely]]
        return local_[peer] == here;
    emx_dev_peer request{};
    request.by = EMX_DEV_PEER_INDEX;
    request.index = peer;
    const auto entry = file_.peer(request);
    if (!entry)
        return false;
    if (peer >= local_.size())
        local_.resize(peer + 1);
    local_[peer] = entry->local ? here : elsewhere;
    return entry->local;
}

} // namespace emx
