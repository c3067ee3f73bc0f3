// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A place beside the network where the two processes of a test meet: a file that both map. What is
// under test carries only what is under test.
#pragma once

#include "../../tools/cli.hpp"

#include <atomic>
#include <cstdint>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace emx::test {

class Meeting {
public:
    /// `path` is an empty file made for these two processes, `rank` 0 or 1. Throws cli::Failure.
    Meeting(const std::string &path, uint32_t rank) : rank_(rank)
    {
        const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
        if (fd < 0 || ::ftruncate(fd, sizeof(Place)) != 0)
            throw cli::Failure(path + ": cannot be opened; make an empty file for both processes");
        void *memory = ::mmap(nullptr, sizeof(Place), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        ::close(fd);
        if (memory == MAP_FAILED)
            throw cli::Failure(path + ": cannot be mapped");
        place_ = static_cast<Place *>(memory); // a file's new bytes are zero, and so are fresh atomics
    }
    /// The other one stops waiting for a process that failed.
    ~Meeting()
    {
        if (!ended_)
            place_->failed = true;
        ::munmap(place_, sizeof(Place));
    }
    Meeting(const Meeting &) = delete;
    Meeting &operator=(const Meeting &) = delete;

    /// Returns when both have called it as often; meanwhile calls `work` again and again.
    template <typename Work>
    void meet(const Work &work)
    {
        const uint32_t mine = ++place_->stage[rank_];
        while (place_->stage[1 - rank_] < mine) {
            if (place_->failed)
                throw cli::Failure("the other process has failed");
            work();
        }
    }
    /// meet(), and each gets the other's value.
    template <typename Work>
    uint64_t exchange(uint64_t value, const Work &work)
    {
        place_->value[rank_] = value;
        meet(work);
        const uint64_t other = place_->value[1 - rank_];
        meet(work);
        return other;
    }
    /// All went well: the other one need not be told.
    void end() { ended_ = true; }

private:
    struct Place {
        std::atomic<uint32_t> stage[2];
        std::atomic<uint64_t> value[2];
        std::atomic<bool> failed;
    };
    Place *place_;
    uint32_t rank_;
    bool ended_ = false;
};

} // namespace emx::test
