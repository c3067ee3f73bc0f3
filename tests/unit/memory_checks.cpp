// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Memory that is looked at before it is touched: all there, gone, cut off, protected.
#include "driver/base/fd.hpp"
#include "driver/base/system_calls.hpp"

#include <catch2/catch.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

using namespace emx;

namespace {

constexpr std::size_t pages = 3000; // more than are asked for at once

/// Shared memory of a file, each page of it written.
class Memory {
public:
    Memory() : bytes_(pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)))
    {
        REQUIRE(::ftruncate(file.get(), static_cast<off_t>(bytes_)) == 0);
        void *const at = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
        REQUIRE(at != MAP_FAILED);
        data = static_cast<std::byte *>(at);
        std::memset(at, 7, bytes_);
    }
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;
    ~Memory() { ::munmap(data, bytes_); }

    std::size_t page() const { return bytes_ / pages; }
    /// Without the ends of its first and last page.
    bool is_resident(bool write) const { return sys::is_resident(data + 5, bytes_ - 10, write); }
    bool can_read() const { return sys::can_read(data + 5, bytes_ - 10); }
    bool can_write() const { return sys::can_write(data + 5, bytes_ - 10); }

    Fd file{::memfd_create("memory", MFD_CLOEXEC)};
    std::byte *data = nullptr;

private:
    const std::size_t bytes_;
};

} // namespace

TEST_CASE("memory__that_is_there_is_found_and_stays_as_it_is")
{
    const Memory memory;
    CHECK(memory.can_read());
    CHECK(memory.can_write());
    CHECK(memory.is_resident(false));
    CHECK(memory.is_resident(true));
    CHECK(sys::is_resident(memory.data, 0, true));
    CHECK(sys::is_resident(memory.data, 1, true));
    for (std::size_t i = 0; i < pages * memory.page(); i++)
        if (memory.data[i] != std::byte{7})
            FAIL("changed at " << i);
}

TEST_CASE("memory__that_is_not_whole_is_told")
{
    const Memory memory;
    const std::size_t at = GENERATE(0u, 1500u, pages - 1) * memory.page();
    SECTION("unmapped")
    {
        REQUIRE(::munmap(memory.data + at, memory.page()) == 0);
        CHECK_FALSE(memory.can_read());
        CHECK_FALSE(memory.can_write());
        CHECK_FALSE(memory.is_resident(false));
        CHECK_FALSE(memory.is_resident(true));
    }
    SECTION("its file is cut")
    {
        REQUIRE(::ftruncate(memory.file.get(), static_cast<off_t>(at)) == 0);
        CHECK_FALSE(memory.can_read());
        CHECK_FALSE(memory.is_resident(false));
        CHECK_FALSE(memory.is_resident(true));
    }
    SECTION("protected")
    {
        REQUIRE(::mprotect(memory.data + at, memory.page(), PROT_NONE) == 0);
        CHECK_FALSE(memory.can_read());
        if (at != 1500 * memory.page()) // a quick look sees the ends
            CHECK_FALSE(memory.is_resident(false));
    }
    SECTION("not to be written")
    {
        REQUIRE(::mprotect(memory.data + at, memory.page(), PROT_READ) == 0);
        CHECK(memory.can_read());
        CHECK_FALSE(memory.can_write());
        CHECK(memory.is_resident(false));
        if (at != 1500 * memory.page())
            CHECK_FALSE(memory.is_resident(true));
    }
}
