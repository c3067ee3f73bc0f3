// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The books of pulls: see pulls.hpp.
#include "libmx/proto/pulls.hpp"

#include "libmx/partner/partner.hpp"

namespace emx {

bool Pulls::has_turn(const Partner *partner) const
{
    return by_cookie_.size() < pulls_max || partner->pulls == 0;
}

void Pulls::begin(Incoming *in)
{
    ++in->partner->pulls;
    in->pull = next_;
    by_cookie_[next_++] = in;
    in->pulling = true;
    in->pull_waits = false;
}

void Pulls::end(Incoming *in)
{
    by_cookie_.erase(in->pull);
    --in->partner->pulls;
    in->pulling = false;
}

Incoming *Pulls::find(uint64_t cookie) const
{
    const auto found = by_cookie_.find(cookie);
    return found == by_cookie_.end() ? nullptr : found->second;
}

std::vector<Incoming *> Pulls::of(const Partner *partner) const
{
    std::vector<Incoming *> all;
    for (const auto &[cookie, in] : by_cookie_)
        if (in->partner == partner)
            all.push_back(in);
    return all;
}

void Pulls::wait(Incoming *in)
{
    in->pull_waits = true;
    waiting_.push_back(in);
}

} // namespace emx
