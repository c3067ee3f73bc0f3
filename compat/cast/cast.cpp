// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The calls of cast.h: nothing thrown leaves them.
#include "cast.h"

#include "endpoint.hpp"

#include <new>
#include <vector>

using emx::cast::Endpoint;
using emx::cast::Group;
using emx::cast::Outcome;
using emx::cast::Place;

namespace {

Endpoint *real(cast_endpoint *endpoint) { return reinterpret_cast<Endpoint *>(endpoint); }
Group *real(cast_group *group) { return reinterpret_cast<Group *>(group); }

Place real(const cast_place &place)
{
    return {place.nic_id, place.endpoint, place.session, place.frame, place.reserved};
}

template <class Call>
cast_outcome begin(Call call)
{
    try {
        call();
        return CAST_BUSY;
    } catch (const std::bad_alloc &) {
        return CAST_NO_MEMORY;
    }
}

} // namespace

cast_endpoint *cast_open(uint32_t board, uint32_t key, cast_place *own)
{
    try {
        std::unique_ptr<Endpoint> endpoint = Endpoint::open(board, key);
        if (!endpoint)
            return nullptr;
        const Place &place = endpoint->place();
        *own = {place.nic_id, place.endpoint, place.session, place.frame, place.reserved};
        return reinterpret_cast<cast_endpoint *>(endpoint.release());
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

void cast_shut(cast_endpoint *endpoint) { delete real(endpoint); }

int cast_poll(cast_endpoint *endpoint)
{
    try {
        return real(endpoint)->poll();
    } catch (const std::bad_alloc &) {
        return 0;
    }
}

int cast_rest(cast_endpoint *endpoint)
{
    try {
        bool found = false;
        return real(endpoint)->rest(found) ? 1 + found : 0;
    } catch (const std::bad_alloc &) {
        return 0; // as in cast_poll
    }
}

int cast_connect(cast_endpoint *endpoint, const cast_place *member, uint32_t timeout_ms)
{
    try {
        return real(endpoint)->connect(real(*member), timeout_ms);
    } catch (const std::bad_alloc &) {
        return 0;
    }
}

cast_group *cast_make(cast_endpoint *endpoint, uint32_t id, uint32_t self, const cast_place *members,
                      uint32_t count)
{
    try {
        std::vector<Place> places;
        for (uint32_t i = 0; i < count; i++)
            places.push_back(real(members[i]));
        return reinterpret_cast<cast_group *>(real(endpoint)->make(id, self, places));
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

void cast_drop(cast_endpoint *endpoint, cast_group *group) { real(endpoint)->close(real(group)); }

cast_outcome cast_begin_send(cast_group *group, const void *data, uint32_t length)
{
    return begin([&] { real(group)->begin_send(data, length); });
}

cast_outcome cast_begin_receive(cast_group *group, uint32_t root, void *data, uint32_t length)
{
    return begin([&] { real(group)->begin_receive(root, data, length); });
}

cast_outcome cast_begin_barrier(cast_group *group)
{
    return begin([&] { real(group)->begin_barrier(); });
}

cast_outcome cast_begin_close(cast_group *group)
{
    return begin([&] { real(group)->begin_close(); });
}

cast_outcome cast_advance(cast_group *group)
{
    try {
        switch (real(group)->advance()) {
        case Outcome::busy: return CAST_BUSY;
        case Outcome::done: return CAST_DONE;
        case Outcome::dead: return CAST_DEAD;
        case Outcome::disagreed: return CAST_DISAGREED;
        }
    } catch (const std::bad_alloc &) {
        return CAST_NO_MEMORY;
    }
    return CAST_DEAD;
}
