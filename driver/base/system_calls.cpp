// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Randomness for sessions and secrets. See system_calls.hpp.
#include "driver/base/system_calls.hpp"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <ctime>

namespace emx::sys {
namespace {

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): each bit of the result depends on each of the argument.
uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

/// A system that gives no random numbers has given some to the process when it started.
uint64_t bits_without_getrandom()
{
    static std::atomic<uint64_t> calls{0};
    uint64_t seed[2] = {};
    if (const auto *given = reinterpret_cast<const void *>(::getauxval(AT_RANDOM)))
        std::memcpy(seed, given, sizeof(seed));
    timespec wall{};
    ::clock_gettime(CLOCK_REALTIME, &wall);
    uint64_t bits = seed[0];
    for (const uint64_t part :
         {seed[1], uint64_t{calls.fetch_add(1)}, static_cast<uint64_t>(::getpid()), monotonic_ns(),
          static_cast<uint64_t>(wall.tv_nsec), static_cast<uint64_t>(wall.tv_sec)})
        bits = mix(bits ^ part);
    return bits;
}

/// Copies a byte of each page elsewhere or, to write it, over itself: an error instead of a signal.
bool is_there(const void *data, std::size_t bytes, bool write)
{
    constexpr std::size_t pages_each = 256;
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::array<std::byte, pages_each> taken;
    std::array<iovec, pages_each> from;
    const iovec elsewhere{taken.data(), taken.size()};
    const auto *at = static_cast<const std::byte *>(data), *const end = at + bytes;
    while (at < end) {
        std::size_t count = 0;
        for (; count < pages_each && at < end; ++count) {
            from[count] = {const_cast<std::byte *>(at), 1};
            at += page - reinterpret_cast<uintptr_t>(at) % page;
        }
        const ssize_t got = ::process_vm_readv(::getpid(), write ? from.data() : &elsewhere,
                                               write ? count : 1, from.data(), count, 0);
        if (got < 0 && errno != EFAULT)
            return true;
        if (got != static_cast<ssize_t>(count))
            return false;
    }
    return true;
}

} // namespace

int sleep_on(pollfd *fds, nfds_t count, uint64_t deadline_ns)
{
    constexpr uint64_t longest_ns = 500000000;
    const uint64_t now = monotonic_ns();
    const uint64_t ns = std::min(deadline_ns > now ? deadline_ns - now : 0, longest_ns);
    const timespec left{0, static_cast<long>(ns)};
    // tidy-allow(system-call): the one place where a thread may be cancelled
    const int ready = ::ppoll(fds, count, &left, nullptr);
    if (ready < 0 && errno != EINTR && ns > 0)
        sleep_ms(1); // whoever asks again would do so without end
    return ready;
}

bool can_read(const void *data, std::size_t bytes) { return is_there(data, bytes, false); }

bool can_write(void *data, std::size_t bytes) { return is_there(data, bytes, true); }

bool is_resident(void *data, std::size_t bytes, bool write)
{
    constexpr std::size_t pages_each = 1024;
    if (bytes == 0)
        return true;
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    auto *const first = static_cast<std::byte *>(data), *const last = first + bytes - 1;
    std::array<unsigned char, pages_each> there;
    for (std::byte *at = first - reinterpret_cast<uintptr_t>(first) % page; at <= last;
         at += page * pages_each) {
        const auto left = static_cast<std::size_t>(last - at) / page + 1;
        const std::size_t count = std::min(left, pages_each);
        if (::mincore(at, count * page, there.data()) != 0 ||
            !std::all_of(there.begin(), there.begin() + static_cast<std::ptrdiff_t>(count),
                         [](unsigned char one) { return (one & 1) != 0; }))
            return false;
    }
    std::array<std::byte, 2> taken;
    const iovec elsewhere{taken.data(), taken.size()};
    const std::array<iovec, 2> ends{{{first, 1}, {last, 1}}};
    const ssize_t got = ::process_vm_readv(::getpid(), write ? ends.data() : &elsewhere,
                                           write ? ends.size() : 1, ends.data(), ends.size(), 0);
    return got == static_cast<ssize_t>(ends.size()) || (got < 0 && errno != EFAULT);
}

uint64_t random_bits()
{
    uint64_t bits = 0;
    if (again(SYS_getrandom, &bits, sizeof(bits), 0) == static_cast<long>(sizeof(bits)))
        return bits;
    return bits_without_getrandom();
}

} // namespace emx::sys
