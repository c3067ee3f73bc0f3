// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The books of connecting: see connector.hpp.
#include "libmx/partner/connector.hpp"

#include "libmx/reliab/sequence.hpp"

#include "myriexpress.h"

#include <utility>

namespace emx {

bool Doubt::remains(uint32_t session, uint16_t start) const
{
    return state_ == State::unknown && session_ == session && seq::same_session(start, next_) &&
           start != next_;
}

bool Doubt::is_deaf(uint32_t session) const
{
    return state_ == State::deaf && session_ != EMX_SESSION_NONE &&
           (session == EMX_SESSION_NONE || session == session_);
}

Connector::~Connector()
{
    while (first_)
        drop(first_);
}

PendingConnect *Connector::add(uint32_t key, Request *request, uint64_t time_ns)
{
    auto *connect = new PendingConnect;
    connect->request = request;
    connect->key = key;
    connect->first_ns = time_ns;
    renumber(connect);
    PendingConnect **end = &first_;
    while (*end)
        end = &(*end)->next;
    *end = connect;
    return connect;
}

PendingConnect *Connector::find(uint8_t number) const
{
    PendingConnect *connect = first_;
    while (connect && connect->number != number)
        connect = connect->next;
    return connect;
}

PendingConnect *Connector::find(const Request *request) const
{
    PendingConnect *connect = first_;
    while (connect && connect->request != request)
        connect = connect->next;
    return connect;
}

PendingConnect *Connector::inquiry() const
{
    PendingConnect *connect = first_;
    while (connect && !connect->inquiry)
        connect = connect->next;
    return connect;
}

int Connector::code_of_end() const
{
    const PendingConnect *asking = inquiry();
    return asking ? asking->code : MX_STATUS_ENDPOINT_UNREACHABLE;
}

void Connector::drop(PendingConnect *connect)
{
    PendingConnect **link = &first_;
    while (*link != connect)
        link = &(*link)->next;
    *link = connect->next;
    delete connect;
}

void Connector::renumber_all()
{
    for (PendingConnect *connect = first_; connect; connect = connect->next)
        renumber(connect);
}

bool Connector::asked_before(uint8_t number) const
{
    constexpr uint8_t remembered = 16;
    return static_cast<uint8_t>(number_ - 1 - number) < remembered;
}

void Connector::take_requests(Connector &before) { first_ = std::exchange(before.first_, nullptr); }

bool Connector::may_inquire(uint64_t time_ns)
{
    constexpr uint32_t inquiries_max = 1000; // a restart needs one
    return fw_bucket_take(&inquiries_, time_ns, inquiries_max);
}

bool Connector::believes_refusals(uint64_t time_ns)
{
    constexpr uint8_t guesses_max = 8;
    constexpr uint64_t ceased_ns = 1000000000;
    if (time_ns - stray_ns_ > ceased_ns)
        strays_ = 0;
    return strays_ < guesses_max;
}

void Connector::note_stray_refusal(uint64_t time_ns)
{
    if (believes_refusals(time_ns))
        ++strays_;
    stray_ns_ = time_ns;
}

} // namespace emx
