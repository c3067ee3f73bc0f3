// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The model peer on a network interface, in real time: its own raw socket, and a thread that does what a
// driver does whether the application calls or not.
#pragma once

#include "endpoint.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace emx::model {

/// Behaviour of the model on an interface. Words in one line, with commas between them:
///   garbage unpadded trailing windows offsets odd failing   peculiarities, as in Quirks
///   refusals   it may be refused: endpoints come and go in this test
///   helper     the library works while the application is away, too
///   index=N    of the first board in its peer table; offset=N, queue=N, spare=N, threshold=N: as in Quirks
struct Manner {
    Quirks quirks;
    bool may_be_refused = false, helper = false;
    uint16_t index = 1;
};
/// Throws std::runtime_error with a sentence.
Manner read_manner(const std::string &words);

/// Where a board is, and what it speaks: "eth0:W", "eth0:N=1500".
struct Place {
    std::string interface;
    Dialect dialect;
};
/// Throws std::runtime_error with a sentence.
Place read_place(const std::string &board);

/// One host. A frame that no careful peer sends ends the process with status violation_status and the rule
/// on stderr, whoever came to see it.
class Station {
public:
    static constexpr int violation_status = 90;

    /// Throws std::runtime_error with a sentence.
    Station(const Place &place, const Manner &manner);
    ~Station();
    Station(const Station &) = delete;
    Station &operator=(const Station &) = delete;

    using Lock = std::unique_lock<std::mutex>;
    /// All below needs the lock.
    Lock lock() { return Lock(mutex_); }
    Host &host() { return *host_; }
    /// Time, nanoseconds.
    static uint64_t now();
    /// Takes in the frames that are here, and does what is due.
    void pump();
    /// pump(), and a stay of that endpoint's application in its library.
    void progress(Endpoint &endpoint);
    /// Sleeps until something happens, or until that time.
    void rest(Lock &lock, uint64_t until);
    /// Makes a board known, if it is not.
    void meet(uint64_t mac);

private:
    void run();
    void take(const Bytes &frame);
    void send(const Bytes &frame) const;
    void help();

    const Manner manner_;
    uint64_t mac_ = 0;
    int socket_ = -1;
    std::mutex mutex_;
    std::condition_variable stirred_;
    std::unique_ptr<Host> host_;
    uint16_t next_index_;
    Bytes frame_;
    std::atomic<bool> over_ = false;
    std::thread driver_;
};

} // namespace emx::model
