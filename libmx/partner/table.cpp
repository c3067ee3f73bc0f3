// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "libmx/partner/table.hpp"

#include <algorithm>
#include <utility>

namespace emx {

Partner *PartnerTable::add(std::unique_ptr<Partner> partner)
{
    if (free_.empty()) {
        free_.push_back(static_cast<uint32_t>(slots_.size()));
        slots_.emplace_back();
    }
    partner->index = free_.back();
    free_.pop_back();
    return (slots_[partner->index] = std::move(partner)).get();
}

void PartnerTable::set_latest(Partner *partner)
{
    Line &line = lines_[key(partner->peer, partner->remote_ep)];
    Partner *before = std::exchange(line.latest, partner);
    partner->first_life = !before;
    last_ = partner; // and not another board's, that had the index
    if (before)
        retire(before);
}

Partner *PartnerTable::look_up(uint32_t peer, uint8_t remote_ep)
{
    Partner *partner = latest(peer, remote_ep);
    if (partner)
        last_ = partner;
    return partner;
}

void PartnerTable::retire(Partner *partner)
{
    if (partner->life.retire())
        retired_.push_back(partner);
}

void PartnerTable::begin_sweep()
{
    for (Partner *partner : retired_) {
        partner->life.begin_sweep();
        if (partner->lists.active)
            deactivate(partner);
    }
}

void PartnerTable::sweep()
{
    last_ = nullptr;
    std::vector<Partner *> kept;
    for (Partner *partner : retired_) {
        if (partner->life.is_needed()) {
            kept.push_back(partner);
            continue;
        }
        const auto line = lines_.find(key(partner->peer, partner->remote_ep));
        const uint32_t index = partner->index;
        if (line != lines_.end() && line->second.latest == partner)
            lines_.erase(line); // blank, and so without a life before
        if (partner->is_known())
            bury(partner);
        slots_[index].reset();
        if (!tombs_.count(index))
            free_.push_back(index);
    }
    retired_ = std::move(kept);
    sweep_at_ = std::max(sweep_least, 2 * retired_.size());
}

void PartnerTable::bury(Partner *partner)
{
    const auto [place, fresh] = tombs_.try_emplace(partner->index);
    Tombstone &tomb = place->second;
    tomb.user_context = partner->user_context;
    if (!fresh)
        return; // it was raised
    tomb.address = partner->address;
    tomb.peer = partner->peer;
    tomb.dead_code = partner->life.dead_code();
    Line &line = lines_.at(key(partner->peer, partner->remote_ep));
    if (line.tombs++ == 0)
        line.oldest = partner->index;
    else
        tombs_.at(line.newest).newer = partner->index;
    line.newest = partner->index;
    if (tombs_.size() > tombs_max && line.tombs > tombs_each)
        forget_oldest(line);
}

void PartnerTable::forget_oldest(Line &line)
{
    const auto oldest = tombs_.find(line.oldest);
    const uint32_t index = std::exchange(line.oldest, oldest->second.newer);
    --line.tombs;
    tombs_.erase(oldest);
    if (!slots_[index])
        free_.push_back(index);
}

Partner *PartnerTable::raise(mx_endpoint_addr_t address, uint32_t index)
{
    const auto tomb = tombs_.find(index);
    if (tomb == tombs_.end() || slots_[index] || tomb->second.address.stuff[0] != address.stuff[0] ||
        tomb->second.address.stuff[1] != address.stuff[1])
        return nullptr;
    auto partner = std::make_unique<Partner>();
    partner->index = index;
    partner->peer = tomb->second.peer;
    partner->nic_id = address.stuff[0] >> 16;
    partner->remote_ep = static_cast<uint8_t>(address.stuff[0] >> 8);
    partner->address = address;
    partner->session = static_cast<uint32_t>(address.stuff[1] >> 32);
    partner->life.die(tomb->second.dead_code);
    partner->user_context = tomb->second.user_context;
    partner->named = true;
    slots_[index] = std::move(partner);
    retire(slots_[index].get());
    return slots_[index].get();
}

void PartnerTable::link_active(Partner *partner)
{
    PartnerLinks &links = partner->lists;
    links.active = true;
    links.active_prev = nullptr;
    links.active_next = active_;
    if (active_)
        active_->lists.active_prev = partner;
    active_ = partner;
}

void PartnerTable::deactivate(Partner *partner)
{
    PartnerLinks &links = partner->lists;
    (links.active_prev ? links.active_prev->lists.active_next : active_) = links.active_next;
    if (links.active_next)
        links.active_next->lists.active_prev = links.active_prev;
    links.active_prev = links.active_next = nullptr;
    links.active = false;
}

void PartnerTable::note_half_open(const Partner *partner)
{
    constexpr std::size_t spare = 64;
    half_open_.push_back(partner->index);
    if (half_open_.size() <= 2 * size() + spare)
        return;
    std::erase_if(half_open_, [this](uint32_t index) {
        const Partner *other = at(index);
        return !other || !other->life.is_half_open();
    });
}

Partner *PartnerTable::take_half_open()
{
    while (!half_open_.empty()) {
        Partner *partner = at(half_open_.front());
        half_open_.pop_front();
        if (partner && partner->life.is_half_open())
            return partner;
    }
    return nullptr;
}

} // namespace emx
