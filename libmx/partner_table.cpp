// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "libmx/partner_table.hpp"

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
    if (before)
        retire(before);
}

void PartnerTable::retire(Partner *partner)
{
    if (std::exchange(partner->retired, true))
        return;
    retired_.push_back(partner);
}

void PartnerTable::sweep()
{
    std::vector<Partner *> kept;
    for (Partner *partner : retired_) {
        if (partner->needed) {
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
    tomb.dead_code = partner->dead_code;
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
    partner->state = PartnerState::dead;
    partner->dead_code = tomb->second.dead_code;
    partner->user_context = tomb->second.user_context;
    partner->named = true;
    slots_[index] = std::move(partner);
    retire(slots_[index].get());
    return slots_[index].get();
}

} // namespace emx
