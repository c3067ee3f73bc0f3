// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Posted receives: see posted_queue.hpp.
#include "libmx/match/posted_queue.hpp"

#include <algorithm>

namespace emx {

void PostedQueue::ungroup()
{
    grouped_ = false;
    groups_.clear();
}

Request *PostedQueue::walk(uint64_t bits)
{
    std::size_t steps = 0;
    Request *recv = head_;
    while (recv && (bits & recv->mask) != recv->match && steps++ < walk_max)
        recv = recv->post_next;
    if (steps <= walk_max)
        return recv;
    group_all();
    return find_grouped(bits);
}

Request *PostedQueue::find_grouped(uint64_t bits) const
{
    Request *best = nullptr;
    for (const Group &group : groups_) {
        auto it = group.chains.find(bits & group.mask);
        if (it != group.chains.end() && (!best || it->second.head->post_serial < best->post_serial))
            best = it->second.head;
    }
    return best;
}

std::vector<PostedQueue::Group>::iterator PostedQueue::group_of(uint64_t mask)
{
    return std::find_if(groups_.begin(), groups_.end(), [&](const Group &g) { return g.mask == mask; });
}

void PostedQueue::group_all()
{
    grouped_ = true;
    for (Request *recv = head_; recv; recv = recv->post_next)
        group_add(recv);
}

void PostedQueue::group_add(Request *recv)
{
    auto group = group_of(recv->mask);
    if (group == groups_.end())
        group = groups_.insert(groups_.end(), Group{recv->mask, {}});
    recv->post_serial = ++serial_;
    Chain &chain = group->chains[recv->match];
    recv->chain_prev = chain.tail;
    recv->chain_next = nullptr;
    (chain.tail ? chain.tail->chain_next : chain.head) = recv;
    chain.tail = recv;
}

void PostedQueue::group_remove(Request *recv)
{
    auto group = group_of(recv->mask);
    auto it = group->chains.find(recv->match);
    Chain &chain = it->second;
    (recv->chain_prev ? recv->chain_prev->chain_next : chain.head) = recv->chain_next;
    (recv->chain_next ? recv->chain_next->chain_prev : chain.tail) = recv->chain_prev;
    if (chain.head)
        return;
    group->chains.erase(it);
    if (group->chains.empty())
        groups_.erase(group);
}

} // namespace emx
