// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Questions to hosts, and what their answers tell.
#include "driver/agent/peer_search.hpp"

#include <emx/wire.h>

#include <algorithm>

namespace emx {
namespace {

constexpr uint64_t ms = 1000000;
constexpr uint64_t first_pause = 50 * ms, last_pause = 5000 * ms;
constexpr uint64_t doubt_pause = 200 * ms;
constexpr uint32_t tries_of_suspicion = 4, tries_of_doubt = 5;
constexpr std::size_t questions_max = 256; // beside those of the list
constexpr uint32_t suspicions_per_second = 1000; // as many as frames with made-up sources draw at most

} // namespace

void PeerSearch::list(const UdpAddress &where, const std::string &name, uint64_t now)
{
    for (Question &each : questions_) {
        if (each.listed && each.to == where) {
            each.name = name;
            each.settled = false;
            each.tries = 0;
            each.due = now;
            return;
        }
    }
    Question question;
    question.to = where;
    question.token = random_();
    question.due = now;
    question.listed = true;
    question.name = name;
    questions_.push_back(question);
}

void PeerSearch::clear_list()
{
    questions_.remove_if([](const Question &each) { return each.listed; });
}

bool PeerSearch::is_listed(const UdpAddress &where) const
{
    return std::any_of(questions_.begin(), questions_.end(),
                       [&](const Question &each) { return each.listed && each.to == where; });
}

uint32_t PeerSearch::sought() const
{
    return static_cast<uint32_t>(
        std::count_if(questions_.begin(), questions_.end(),
                      [](const Question &each) { return each.listed && !each.settled; }));
}

void PeerSearch::suspect(uint64_t mac, const UdpAddress &where, uint64_t now)
{
    for (Question &each : questions_) {
        if (each.to != where || each.doubting)
            continue;
        const uint64_t soon = std::max(now, each.asked + first_pause);
        if (each.settled) { // another board is there than before, or it was forgotten here
            each.settled = false;
            each.tries = 0;
            each.due = soon;
        } else if (each.listed) {
            each.due = std::min(each.due, soon);
        }
        return;
    }
    const auto open = std::count_if(questions_.begin(), questions_.end(),
                                    [](const Question &each) { return !each.listed; });
    if (!where.is_host() || static_cast<std::size_t>(open) >= questions_max ||
        !fw_bucket_take(&suspicions_, now, suspicions_per_second))
        return;
    Question question;
    question.to = where;
    question.mac = mac;
    question.token = random_();
    question.due = now;
    questions_.push_back(question);
}

void PeerSearch::doubt(uint64_t mac, const UdpAddress &before, const UdpAddress &where, uint64_t now)
{
    for (const Question &each : questions_)
        if (each.doubting && each.mac == mac)
            return;
    Question question;
    question.to = before;
    question.mac = mac;
    question.token = random_();
    question.due = now;
    question.doubting = true;
    question.other = where;
    questions_.push_back(question);
}

void PeerSearch::hurry(uint64_t now)
{
    for (Question &each : questions_)
        if (each.listed && !each.settled)
            each.tries = 0, each.due = now;
}

bool PeerSearch::is_own(uint32_t token, std::string &name)
{
    const auto found = std::find_if(questions_.begin(), questions_.end(),
                                    [&](const Question &each) { return each.token == token; });
    if (found == questions_.end())
        return false;
    name = found->name;
    found->settled = true;
    if (!found->listed)
        questions_.erase(found);
    return true;
}

Finding PeerSearch::answered(uint32_t token, uint64_t mac, const UdpAddress &from)
{
    const auto found = std::find_if(questions_.begin(), questions_.end(), [&](const Question &each) {
        return each.token == token && each.to == from && (each.mac == 0 || each.mac == mac) && !each.settled;
    });
    if (found == questions_.end())
        return {};
    Finding finding{Finding::Kind::found, mac, from, found->listed, found->name};
    if (found->doubting) {
        finding.kind = Finding::Kind::stayed;
        finding.where = found->other;
    }
    if (found->listed) {
        found->settled = true;
        found->token = random_();
    } else {
        questions_.erase(found);
    }
    return finding;
}

void PeerSearch::send(Question &question, uint64_t now)
{
    ask_(question.to, question.mac ? question.mac : EMX_MAC_BROADCAST, question.token);
    const uint64_t pause = first_pause << std::min(question.tries, 7u);
    question.due = now + (question.doubting ? doubt_pause : std::min(pause, last_pause));
    question.asked = now;
    question.tries++;
}

Finding PeerSearch::tick(uint64_t now)
{
    for (auto each = questions_.begin(); each != questions_.end();) {
        if (each->settled || now < each->due) {
            ++each;
            continue;
        }
        const uint32_t most = each->doubting ? tries_of_doubt : tries_of_suspicion;
        if (each->listed || each->tries < most) {
            send(*each, now);
            ++each;
            continue;
        }
        Finding ended;
        if (each->doubting)
            ended = {Finding::Kind::moved, each->mac, each->other, false, {}};
        each = questions_.erase(each);
        if (ended.kind != Finding::Kind::nothing)
            return ended;
    }
    return {};
}

uint64_t PeerSearch::due() const
{
    uint64_t next = ~uint64_t{0};
    for (const Question &each : questions_)
        if (!each.settled)
            next = std::min(next, each.due);
    return next;
}

} // namespace emx
