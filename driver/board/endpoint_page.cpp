// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Pages of endpoints, at both ends.
#include "driver/board/endpoint_page.hpp"

extern "C" {
#include "driver/core/fw.h"
}

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <atomic>
#include <cassert>

namespace emx {
namespace {

// Counters, then a bit for each index.
constexpr std::size_t kept_at = 4096;
constexpr std::size_t page_bytes = kept_at + (FW_PEERS_MAX + 1) / 8;
static_assert(sizeof(emx_counters) <= kept_at);

/// Without it the owner could take the memory away under a reader, who would die.
constexpr int seals_needed = F_SEAL_SHRINK;

/// Memory of huge pages can run out at a read, which kills the reader; it has no files of this type.
bool of_plain_pages(int fd)
{
    struct statfs where {};
    return ::fstatfs(fd, &where) == 0 && where.f_type == TMPFS_MAGIC;
}

} // namespace

std::unique_ptr<EndpointPage> EndpointPage::make()
{
    Fd fd(::memfd_create("ethermx-endpoint", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd || ::fchmod(fd.get(), S_IRUSR | S_IWUSR) != 0 || !set_file_size(fd.get(), page_bytes, false) ||
        ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return nullptr;
    void *base = ::mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (base == MAP_FAILED)
        return nullptr;
    return std::unique_ptr<EndpointPage>(new EndpointPage(std::move(fd), base));
}

std::unique_ptr<EndpointPage> EndpointPage::map(const Fd &file)
{
    struct stat status {};
    const int seals = file ? ::fcntl(file.get(), F_GET_SEALS) : -1;
    if (seals < 0 || (seals & seals_needed) != seals_needed || !of_plain_pages(file.get()) ||
        ::fstat(file.get(), &status) != 0 || status.st_size < static_cast<off_t>(page_bytes))
        return nullptr;
    void *base = ::mmap(nullptr, page_bytes, PROT_READ, MAP_SHARED, file.get(), 0);
    return base == MAP_FAILED ? nullptr : std::unique_ptr<EndpointPage>(new EndpointPage({}, base));
}

EndpointPage::~EndpointPage() { ::munmap(base_, page_bytes); }

uint64_t EndpointPage::read(std::size_t counter) const
{
    assert(counter < EMX_CNT_COUNT);
    return __atomic_load_n(&static_cast<const emx_counters *>(base_)->v[counter], __ATOMIC_RELAXED);
}

uint32_t &EndpointPage::word_of(uint32_t peer) const
{
    assert(peer < FW_PEERS_MAX);
    return reinterpret_cast<uint32_t *>(static_cast<std::byte *>(base_) + kept_at)[peer / 32];
}

void EndpointPage::keep(uint32_t peer)
{
    std::atomic_ref(word_of(peer)).fetch_or(1u << peer % 32, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst); // the other half: fw_peer_vacate
}

void EndpointPage::release(uint32_t peer)
{
    std::atomic_ref(word_of(peer)).fetch_and(~(1u << peer % 32), std::memory_order_release);
}

bool EndpointPage::keeps(uint32_t peer) const
{
    return std::atomic_ref(word_of(peer)).load(std::memory_order_acquire) >> peer % 32 & 1;
}

} // namespace emx
