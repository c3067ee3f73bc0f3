// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Pages of counters, at both ends.
#include "driver/engine/counter_page.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cassert>

namespace emx {
namespace {

constexpr std::size_t page_bytes = 4096;
static_assert(sizeof(emx_counters) <= page_bytes);

/// Without it the owner could take the memory away under a reader, who would die.
constexpr int seals_needed = F_SEAL_SHRINK;

/// Memory of huge pages can run out at a read, which kills the reader; it has no files of this type.
bool of_plain_pages(int fd)
{
    struct statfs where {};
    return ::fstatfs(fd, &where) == 0 && where.f_type == TMPFS_MAGIC;
}

} // namespace

std::unique_ptr<CounterPage> CounterPage::make()
{
    Fd fd(::memfd_create("ethermx-counters", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd || ::fchmod(fd.get(), S_IRUSR | S_IWUSR) != 0 || ::ftruncate(fd.get(), page_bytes) != 0 ||
        ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return nullptr;
    void *base = ::mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (base == MAP_FAILED)
        return nullptr;
    return std::unique_ptr<CounterPage>(new CounterPage(std::move(fd), base));
}

std::unique_ptr<CounterPage> CounterPage::map(const Fd &file)
{
    struct stat status {};
    const int seals = file ? ::fcntl(file.get(), F_GET_SEALS) : -1;
    if (seals < 0 || (seals & seals_needed) != seals_needed || !of_plain_pages(file.get()) ||
        ::fstat(file.get(), &status) != 0 || status.st_size < static_cast<off_t>(page_bytes))
        return nullptr;
    void *base = ::mmap(nullptr, page_bytes, PROT_READ, MAP_SHARED, file.get(), 0);
    return base == MAP_FAILED ? nullptr : std::unique_ptr<CounterPage>(new CounterPage({}, base));
}

CounterPage::~CounterPage() { ::munmap(base_, page_bytes); }

uint64_t CounterPage::read(std::size_t counter) const
{
    assert(counter < EMX_CNT_COUNT);
    return __atomic_load_n(&static_cast<const emx_counters *>(base_)->v[counter], __ATOMIC_RELAXED);
}

} // namespace emx
