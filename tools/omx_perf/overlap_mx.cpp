// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Overlap over MX, both sides.
#include "overlap_mx.hpp"

#include "../cli.hpp"

namespace emx::perf {

void OverlapClient::prepare(uint64_t length, uint32_t iterations)
{
    buffer_.emplace(static_cast<uint32_t>(length), 1, aligned_);
    number_ = 0;
    ask_for_step(session_, server_, length, iterations, plan_);
}

void OverlapClient::start()
{
    request_ = session_.receive(buffer_->at(0), buffer_->length(), match_of(Word::data));
    tell(session_, server_, Word::go, Nothing{});
    take<Nothing>(session_, Word::under_way);
}

bool OverlapClient::look()
{
    if (session_.complete(request_))
        request_ = nullptr;
    return request_ == nullptr;
}

void OverlapClient::finish()
{
    if (request_)
        session_.wait(request_);
    request_ = nullptr;
    if (plan_.verify && find_damage(buffer_->at(0), buffer_->length(), number_))
        altered_++;
    number_++;
}

uint32_t OverlapClient::end()
{
    tell(session_, server_, Word::step, StepMessage{});
    take<DoneMessage>(session_, Word::bye);
    return altered_;
}

void serve_overlap(Session &session, mx_endpoint_addr_t client, const Traffic::Shape &shape)
{
    Buffer buffer(shape.length, 1, shape.aligned);
    tell(session, client, Word::ready, DoneMessage{});
    for (uint32_t i = 0; i < shape.iterations; i++) {
        if (shape.verify)
            fill(buffer.at(0), shape.length, i);
        take<Nothing>(session, Word::go);
        mx_request_t request =
            session.send(client, buffer.at(0), shape.length, match_of(Word::data), shape.synchronous);
        tell(session, client, Word::under_way, Nothing{});
        session.wait(request);
    }
}

} // namespace emx::perf
