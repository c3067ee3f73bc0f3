// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The writer of a trace file. See recorder.hpp.
#include "libmx/trace/recorder.hpp"

#include "driver/base/fd.hpp"
#include "driver/base/reason.hpp"
#include "driver/base/system_calls.hpp"
#include "driver/base/text_file.hpp"

#include <myriexpress.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

namespace emx::trace {
namespace {

constexpr unsigned files_of_a_number = 10000; // endpoints that one process opens under one number

int64_t clock_ns(clockid_t clock)
{
    timespec t{};
    ::clock_gettime(clock, &t);
    return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

std::string host_name()
{
    char name[64] = {};
    return ::gethostname(name, sizeof(name) - 1) == 0 && name[0] ? name : "host";
}

std::string command_name()
{
    std::istringstream file = read_text_file("/proc/self/comm");
    std::string name;
    std::getline(file, name, '\0'); // it can have newlines of its own
    if (name.ends_with('\n'))
        name.pop_back();
    return name;
}

template <std::size_t size>
void copy_to(char (&field)[size], const std::string &text)
{
    text.copy(field, size - 1);
}

/// A new file at `path`, or beside it with a number, which the path then has; empty with errno set. A file of
/// that name is never written to.
Fd create(std::string &path)
{
    const std::string base = path;
    for (unsigned i = 1; i < files_of_a_number; i++) {
        path = i == 1 ? base : base + "." + std::to_string(i);
        Fd fd(sys::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
        if (fd || errno != EEXIST)
            return fd;
    }
    return {};
}

/// Clocks can only be read in turn, and between two a process may lose its processor: the closest readings
/// of some.
int64_t realtime_ahead(Device &device)
{
    uint64_t closest = ~uint64_t{0};
    int64_t ahead = 0;
    for (int i = 0; i < 8; i++) {
        const uint64_t before = device.now_ns();
        const int64_t realtime = clock_ns(CLOCK_REALTIME);
        const uint64_t took = device.now_ns() - before;
        if (took < closest) {
            closest = took;
            ahead = realtime - static_cast<int64_t>(before + took / 2);
        }
    }
    return ahead;
}

} // namespace

std::unique_ptr<Recorder> Recorder::make(const std::string &prefix, uint32_t entries, const BoardInfo &board,
                                         uint32_t endpoint, uint32_t session, Device &device,
                                         DeviceError &error)
{
    const std::string base = prefix + "." + host_name() + "." + std::to_string(::getpid()) + "." +
                             std::to_string(board.number) + "." + std::to_string(endpoint);
    entries = std::bit_ceil(entries);
    const std::size_t bytes = header_bytes + std::size_t{entries} * sizeof(Entry);
    std::string path = base;
    const Fd fd = create(path);
    // Written to its end at once: a disk that is full later would end the program by a signal.
    void *const memory = fd && set_file_size(fd.get(), bytes, true)
                             ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0)
                             : MAP_FAILED;
    if (memory == MAP_FAILED) {
        error = {MX_NO_RESOURCES,
                 "EMX_TRACE: cannot make the trace file " + base + ": " + system_reason(errno) +
                     "; name a place that can be written to and has " + std::to_string(bytes >> 10) +
                     " KiB, or give a lower EMX_TRACE_ENTRIES"};
        if (fd)
            ::unlink(path.c_str());
        return nullptr;
    }
    std::unique_ptr<Recorder> recorder(new Recorder(static_cast<std::byte *>(memory), bytes));
    recorder->mask_ = entries - 1;
    Header &h = recorder->header();
    h.version = file_version;
    h.entry_bytes = sizeof(Entry);
    h.entries = entries;
    h.board = board.number;
    h.endpoint = endpoint;
    h.session = session;
    h.pid = static_cast<uint32_t>(::getpid());
    h.mac = board.nic_id;
    h.realtime_ns = realtime_ahead(device);
    h.tai_ns = clock_ns(CLOCK_TAI) - clock_ns(CLOCK_REALTIME);
    h.tai_ns =
        (h.tai_ns + 500000000) / 1000000000 * 1000000000; // whole seconds; the clocks were read in turn
    copy_to(h.host, host_name());
    copy_to(h.command, command_name());
    copy_to(h.board_name, board.host_name);
    std::atomic_ref(h.magic).store(file_magic, std::memory_order_release);
    return recorder;
}

Recorder::~Recorder() { ::munmap(base_, bytes_); }

void Recorder::put(const Entry &entry)
{
    Entry &to = reinterpret_cast<Entry *>(base_ + header_bytes)[head_ & mask_];
    std::atomic_ref(to.serial).store(0, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    std::memcpy(&to.time_ns, &entry.time_ns, sizeof(Entry) - offsetof(Entry, time_ns));
    std::atomic_ref(to.serial).store(++head_, std::memory_order_release);
    std::atomic_ref(header().head).store(head_, std::memory_order_release);
}

void Recorder::close(uint64_t now)
{
    std::atomic_ref(header().closed_ns).store(now, std::memory_order_release);
}

} // namespace emx::trace
