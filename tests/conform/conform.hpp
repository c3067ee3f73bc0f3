// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The conformance suite's frame: cases, ranks, checks.
//
// A case is one function that every rank runs; ranks are fibers in the simulator and processes on
// the engine. A case uses the C API and what Rank offers, and nothing else.
#pragma once

#include "clients/reason.h"

#include <mx_extensions.h>
#include <myriexpress.h>

#include <cstdint>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace emx::conform {

/// Where a case can run. A case without tags runs everywhere, on one host and on two.
enum Tag : unsigned {
    any = 0,
    real = 1, ///< needs threads, processes or signals: not in the simulator
    simulated = 2, ///< needs virtual time or control of the switch: simulator only
    apart = 4, ///< needs the ranks on different hosts
    bare = 8, ///< the frame does not call mx_init
    big = 16, ///< takes gigabytes or minutes: only with --big
    two_boards = 32, ///< hosts have two boards
    together = 64, ///< needs the ranks on one host
    foreign_first = 128, ///< rank 0 may be the model peer (tests/model), which has less of the interface
    foreign_second = 256, ///< rank 1 may be
    foreign = foreign_first | foreign_second,
    bulk = 512, ///< of large messages: worth a run by each carrier
};

class Rank;

struct Case {
    const char *name;
    const char *file;
    int ranks;
    unsigned tags;
    std::function<void(Rank &)> body;
};

/// All cases, in order of file and line.
std::vector<Case> &cases();

struct Registration {
    Registration(const char *name, const char *file, int ranks, unsigned tags, void (*body)(Rank &))
    {
        cases().push_back({name, file, ranks, tags, body});
    }
};

/// Thrown by REQUIRE, and by Rank's calls when another rank failed. Never crosses the C API.
struct Abandon {};

/// One process of a case.
class Rank {
public:
    virtual ~Rank() = default;

    int id = 0; ///< 0 .. n-1
    int n = 0;

    /// All ranks of the case meet. Not a library call: the process is away from the library.
    virtual void barrier() = 0;
    /// Everybody gives a value and gets all of them, by rank. Also a barrier.
    virtual std::vector<uint64_t> exchange(uint64_t value) = 0;
    /// Does something else than calling the library for that long.
    virtual void sleep_ms(uint32_t ms) = 0;
    virtual double now_ms() = 0;
    /// Time is the simulator's: it passes only where the case lets it.
    virtual bool virtual_time() const = 0;
    virtual int host_of(int rank) const = 0;
    /// Another rank dies at once, as by kill -9. Its part of the case is over, and barriers from
    /// then on are those of the others.
    virtual void kill(int rank) = 0;
    /// Another rank stops being scheduled, and goes on.
    virtual void freeze(int rank) = 0;
    virtual void thaw(int rank) = 0;
    /// Cuts the connection between the hosts (true), or mends it. Only with Tag apart.
    virtual void cut(bool off) = 0;
    /// Sets an environment variable of this process; before mx_init. nullptr removes it.
    virtual void env(const char *name, const char *value) = 0;
    /// Largest MEDIUM fragment of the network under test, bytes.
    virtual uint32_t fragment() const = 0;

    /// Records a failure of this rank.
    virtual void fail(const char *file, int line, const std::string &what) = 0;
    bool alone_on_host() const
    {
        for (int i = 0; i < n; i++)
            if (i != id && host_of(i) == host_of(id))
                return false;
        return true;
    }
};

template <typename T>
std::string show(const T &v)
{
    std::ostringstream s;
    if constexpr (std::is_enum_v<T>)
        s << static_cast<long long>(v);
    else
        s << v;
    return s.str();
}

template <typename A, typename B>
bool check_eq(Rank &r, const A &a, const B &b, const char *text, const char *file, int line)
{
    using C = std::common_type_t<std::conditional_t<std::is_enum_v<A>, int, A>,
                                 std::conditional_t<std::is_enum_v<B>, int, B>>;
    if (static_cast<C>(a) == static_cast<C>(b))
        return true;
    r.fail(file, line, std::string(text) + ": got " + show(a) + ", want " + show(b));
    return false;
}

/// Records a call that failed, with what the library said of it.
inline bool check_ok(Rank &r, mx_return_t code, const char *call, const char *file, int line)
{
    if (code == MX_SUCCESS)
        return true;
    r.fail(file, line, std::string(call) + ": " + mx_strerror(code) + " (" + client_reason() + ")");
    return false;
}

/// Judges how long something took since `start`, ms. What is too late is judged in virtual time alone: on a
/// real host the machine's other work is part of it, and the limit of the case says that something hangs.
inline void check_took(Rank &r, double start, double least, double below, const char *file, int line)
{
    const double took = r.now_ms() - start;
    if (took < least || (r.virtual_time() && took >= below))
        r.fail(file, line, "took " + show(took) + " ms, want " + show(least) + " to " + show(below));
}

} // namespace emx::conform

#define CONFORM(name, ranks, tags)                                                                           \
    static void name([[maybe_unused]] emx::conform::Rank &r);                                                \
    static const emx::conform::Registration reg_##name(#name, __FILE__, ranks, tags, name);                  \
    static void name([[maybe_unused]] emx::conform::Rank &r)

/// Record and go on. r is the rank.
#define CHECK(cond)                                                                                          \
    do {                                                                                                     \
        if (!(cond))                                                                                         \
            r.fail(__FILE__, __LINE__, #cond);                                                               \
    } while (0)
#define CHECK_TOOK(start, least, below) emx::conform::check_took(r, start, least, below, __FILE__, __LINE__)
#define CHECK_EQ(a, b) emx::conform::check_eq(r, (a), (b), #a, __FILE__, __LINE__)
/// Record and leave the case. Not inside an unexpected handler.
#define REQUIRE(cond)                                                                                        \
    do {                                                                                                     \
        if (!(cond)) {                                                                                       \
            r.fail(__FILE__, __LINE__, #cond);                                                               \
            throw emx::conform::Abandon();                                                                   \
        }                                                                                                    \
    } while (0)
#define REQUIRE_EQ(a, b)                                                                                     \
    do {                                                                                                     \
        if (!emx::conform::check_eq(r, (a), (b), #a, __FILE__, __LINE__))                                    \
            throw emx::conform::Abandon();                                                                   \
    } while (0)
#define REQUIRE_OK(call)                                                                                     \
    do {                                                                                                     \
        if (!emx::conform::check_ok(r, (call), #call, __FILE__, __LINE__))                                   \
            throw emx::conform::Abandon();                                                                   \
    } while (0)
