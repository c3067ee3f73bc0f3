// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The books of pulls: see pulls.hpp.
#include "libmx/proto/pulls.hpp"

#include "libmx/partner/partner.hpp"

#include <utility>

namespace emx {

bool Pulls::has_turn(const Partner *partner) const
{
    return by_cookie_.size() < pulls_max || partner->pulls == 0;
}

void Pulls::begin(Incoming *in)
{
    ++in->partner->pulls;
    in->pull = next_;
    if (spare_.empty()) {
        by_cookie_[next_++] = in;
    } else {
        Map::node_type node = std::move(spare_.back());
        spare_.pop_back();
        node.key() = next_++;
        node.mapped() = in;
        by_cookie_.insert(std::move(node));
    }
    in->pulling = true;
    in->pull_waits = false;
}

void Pulls::end(Incoming *in)
{
    Map::node_type node = by_cookie_.extract(in->pull);
    if (node && spare_.size() < pulls_max)
        spare_.push_back(std::move(node));
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
