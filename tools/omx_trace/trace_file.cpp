// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Reading of trace files. See trace_file.hpp.
#include "tools/omx_trace/trace_file.hpp"

#include "driver/base/fd.hpp"
#include "tools/cli.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

namespace emx::trace {
namespace {

/// Empty, or why these are no entries of ours.
std::string judge(const Header &h, std::size_t bytes)
{
    if (h.magic != file_magic)
        return "is no trace file of EtherMX (EMX_TRACE=FILE makes them, one for each endpoint)";
    if (h.version != file_version || h.entry_bytes != sizeof(Entry))
        return "was written by another version of EtherMX: use its omx_trace";
    if (!std::has_single_bit(h.entries) || bytes < header_bytes + std::size_t{h.entries} * sizeof(Entry))
        return "is cut short: copy it whole";
    return {};
}

} // namespace

TraceFile::TraceFile(const std::string &path) : path_(path)
{
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0)
        throw cli::Failure(path + ": " + std::strerror(errno));
    if (!S_ISREG(status.st_mode) || static_cast<std::size_t>(status.st_size) < header_bytes)
        throw cli::Failure(path + " is no trace file of EtherMX (EMX_TRACE=FILE makes them, one for each "
                                  "endpoint)");
    bytes_ = static_cast<std::size_t>(status.st_size);
    void *const memory = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, fd.get(), 0);
    if (memory == MAP_FAILED)
        throw cli::Failure(path + ": " + std::strerror(errno));
    base_ = static_cast<std::byte *>(memory);
    std::memcpy(&header_, base_, sizeof(header_));
    header_.host[sizeof(header_.host) - 1] = header_.command[sizeof(header_.command) - 1] = '\0';
    header_.board_name[sizeof(header_.board_name) - 1] = '\0';
    if (const std::string why = judge(header_, bytes_); !why.empty()) {
        ::munmap(base_, bytes_);
        throw cli::Failure(path + " " + why);
    }
}

TraceFile::~TraceFile()
{
    if (base_)
        ::munmap(base_, bytes_);
}

TraceFile::TraceFile(TraceFile &&other) noexcept
    : path_(std::move(other.path_)), base_(std::exchange(other.base_, nullptr)), bytes_(other.bytes_),
      header_(other.header_), next_(other.next_), lost_(other.lost_)
{
}

void TraceFile::read(std::vector<Entry> &entries)
{
    auto &header = *reinterpret_cast<Header *>(base_);
    const uint64_t head = std::atomic_ref(header.head).load(std::memory_order_acquire);
    if (head < next_)
        return; // it makes no sense
    if (head - next_ > header_.entries) {
        lost_ += head - header_.entries - next_;
        next_ = head - header_.entries;
    }
    for (; next_ < head; next_++) {
        auto &from = reinterpret_cast<Entry *>(base_ + header_bytes)[next_ & (header_.entries - 1)];
        const uint64_t before = std::atomic_ref(from.serial).load(std::memory_order_acquire);
        Entry entry;
        std::memcpy(&entry, &from, sizeof(entry));
        std::atomic_thread_fence(std::memory_order_acquire);
        if (before != next_ + 1 || std::atomic_ref(from.serial).load(std::memory_order_relaxed) != before)
            lost_++; // the writer was faster
        else
            entries.push_back(entry);
    }
}

uint64_t TraceFile::closed_ns() const
{
    return std::atomic_ref(reinterpret_cast<Header *>(base_)->closed_ns).load(std::memory_order_acquire);
}

} // namespace emx::trace
