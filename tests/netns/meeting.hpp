// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// A place beside the network where the processes of a test meet: a file that all map. What is under
// test carries only what is under test.
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
    static constexpr uint32_t ranks_max = 16;

    /// `path` is an empty file made for these processes, `rank` 0 to ranks - 1. Throws cli::Failure.
    Meeting(const std::string &path, uint32_t rank, uint32_t ranks = 2) : rank_(rank), ranks_(ranks)
    {
        const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
        if (fd < 0 || ::ftruncate(fd, sizeof(Place)) != 0)
            throw cli::Failure(path + ": cannot be opened; make an empty file for all processes");
        void *memory = ::mmap(nullptr, sizeof(Place), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        ::close(fd);
        if (memory == MAP_FAILED)
            throw cli::Failure(path + ": cannot be mapped");
        place_ = static_cast<Place *>(memory); // a file's new bytes are zero, and so are fresh atomics
    }
    /// The others stop waiting for a process that failed.
    ~Meeting()
    {
        if (!ended_)
            place_->failed = true;
        ::munmap(place_, sizeof(Place));
    }
    Meeting(const Meeting &) = delete;
    Meeting &operator=(const Meeting &) = delete;

    /// Returns when all have called it as often; meanwhile calls `work` again and again.
    template <typename Work>
    void meet(const Work &work)
    {
        const uint32_t mine = ++place_->stage[rank_];
        for (uint32_t rank = 0; rank < ranks_; rank++)
            while (place_->stage[rank] < mine) {
                if (place_->failed)
                    throw cli::Failure("another process has failed");
                work();
            }
    }
    /// meet(), and each of two gets the other's value.
    template <typename Work>
    uint64_t exchange(uint64_t value, const Work &work)
    {
        place_->value[rank_] = value;
        meet(work);
        const uint64_t other = place_->value[1 - rank_];
        meet(work);
        return other;
    }
    /// All went well: the others need not be told.
    void end() { ended_ = true; }

private:
    struct Place {
        std::atomic<uint32_t> stage[ranks_max];
        std::atomic<uint64_t> value[2];
        std::atomic<bool> failed;
    };
    Place *place_;
    uint32_t rank_, ranks_;
    bool ended_ = false;
};

} // namespace emx::test
