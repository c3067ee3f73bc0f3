// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The clients' side of the suite: C functions around Rank. See client.h.
//
// Leaving a case is a longjmp, so that no exception crosses C; nothing with a destructor may then be
// alive in the functions below.
#include "client.h"

#include "../kit.hpp"

namespace emx::conform {
namespace {

static_assert(int(THREADS) == int(real) && int(SIMULATED) == int(simulated) && int(APART) == int(apart) &&
              int(TWO_BOARDS) == int(two_boards));

/// State that a client's rank keeps for it.
struct Holder {
    Rank &rank;
    std::vector<std::unique_ptr<uint8_t[]>> memory;
};

Holder &holder(client *c) { return *static_cast<Holder *>(c->rank); }
Rank &rank(client *c) { return holder(c).rank; }

void run(Rank &r, const char *user, client_body body)
{
    Holder h{r, {}};
    client c{r.id, r.n, user, &h, nullptr};
    if (client_run(&c, body))
        throw Abandon();
}

/// Calls fn; false when it was abandoned.
template <typename Fn>
bool completed(Fn fn)
{
    try {
        fn();
        return true;
    } catch (const Abandon &) {
        return false;
    }
}

} // namespace
} // namespace emx::conform

using namespace emx::conform;

void client_register(const char *name, const char *file, const char *user, int ranks, unsigned tags,
                     client_body body)
{
    cases().push_back({name, file, ranks, tags | bare, [=](Rank &r) { run(r, user, body); }});
}

void client_barrier(client *c)
{
    if (!completed([c] { rank(c).barrier(); }))
        client_abandon(c);
}

void client_exchange(client *c, uint64_t value, uint64_t *all)
{
    auto take = [=] {
        std::vector<uint64_t> values = rank(c).exchange(value);
        std::copy(values.begin(), values.end(), all);
    };
    if (!completed(take))
        client_abandon(c);
}

void client_sleep_ms(client *c, uint32_t ms) { rank(c).sleep_ms(ms); }
double client_now_ms(client *c) { return rank(c).now_ms(); }
void client_took(client *c, double begin, double least, double below, const char *file, int line,
                 const char *why)
{
    const double took = rank(c).now_ms() - begin;
    if (took < least || (rank(c).virtual_time() && took >= below))
        client_note(c, file, line, (show(took) + " ms").c_str(), why);
}

void client_env(client *c, const char *name, const char *value) { rank(c).env(name, value); }
void client_freeze(client *c, int id) { rank(c).freeze(id); }
void client_thaw(client *c, int id) { rank(c).thaw(id); }
int client_alone_on_host(client *c) { return rank(c).alone_on_host(); }
double client_deadline(client *c) { return rank(c).now_ms() + patience; }

void *client_memory(client *c, size_t length)
{
    auto &memory = holder(c).memory;
    memory.push_back(std::make_unique<uint8_t[]>(length));
    return memory.back().get();
}

void client_fill(void *data, uint64_t number, size_t length)
{
    std::vector<uint8_t> bytes = pattern(number, length);
    std::copy(bytes.begin(), bytes.end(), static_cast<uint8_t *>(data));
}

size_t client_verify(const void *data, uint64_t number, size_t length)
{
    return verify(static_cast<const uint8_t *>(data), number, length);
}

void client_note(client *c, const char *file, int line, const char *what, const char *why)
{
    rank(c).fail(file, line, std::string(c->user) + " relies on this: " + why + " -- " + what);
}
