// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Ping-pong and streams.
#include "traffic.hpp"

#include "../cli.hpp"
#include "dialogue.hpp"

#include <algorithm>

namespace emx::perf {

Traffic::Traffic(Session &session, mx_endpoint_addr_t peer, const Shape &shape)
    : session_(session), peer_(peer), shape_(shape),
      out_(shape.one_buffer() ? 0 : shape.length, shape.verify ? shape.window : 1, shape.aligned),
      in_(shape.length, shape.window, shape.aligned), sends_(shape.window), receives_(shape.window)
{
    if (shape.window == 0)
        throw cli::Failure("no message may be in flight");
}

uint64_t Traffic::seed(uint32_t number, bool from_client) const
{
    return uint64_t{number} << 1 | (from_client ? 1 : 0);
}

void Traffic::post(uint32_t number)
{
    receives_[slot(number)] = session_.receive(in_.at(number), shape_.length, match_of(Word::data));
}

void Traffic::start_send(uint32_t number)
{
    if (shape_.verify)
        fill(out_.at(number), shape_.length, seed(number, shape_.client));
    sends_[slot(number)] =
        session_.send(peer_, source(number), shape_.length, match_of(Word::data), shape_.synchronous);
}

void Traffic::end_send(uint32_t number) { session_.wait(sends_[slot(number)]); }

void Traffic::end_receive(uint32_t number)
{
    const mx_status_t status = session_.wait(receives_[slot(number)]);
    if (status.msg_length != shape_.length)
        throw cli::Failure("a message of " + std::to_string(status.msg_length) + " bytes came instead of " +
                           std::to_string(shape_.length));
    if (shape_.verify && find_damage(in_.at(number), shape_.length, seed(number, !shape_.client)))
        altered_++;
}

void Traffic::ping(uint32_t number)
{
    start_send(number);
    post(number);
    end_send(number); // while the answer is under way
    end_receive(number);
}

void Traffic::post_first() { post(0); }

void Traffic::pong_all()
{
    for (uint32_t i = 0; i < shape_.iterations; i++) {
        end_receive(i);
        start_send(i);
        if (i + 1 < shape_.iterations)
            post(i + 1);
        end_send(i);
    }
}

void Traffic::post_window()
{
    for (uint32_t i = 0; i < std::min(shape_.window, shape_.iterations); i++)
        post(i);
}

void Traffic::send_all()
{
    const uint32_t n = shape_.iterations, w = shape_.window;
    for (uint32_t i = 0; i < n + w; i++) {
        if (i >= w && i - w < n)
            end_send(i - w);
        if (i < n)
            start_send(i);
    }
}

void Traffic::receive_all()
{
    for (uint32_t i = 0; i < shape_.iterations; i++) {
        end_receive(i);
        if (i + shape_.window < shape_.iterations)
            post(i + shape_.window);
    }
}

void Traffic::send_and_receive_all()
{
    const uint32_t n = shape_.iterations, w = shape_.window;
    for (uint32_t i = 0; i < n + w; i++) {
        if (i >= w && i - w < n) {
            end_send(i - w);
            end_receive(i - w);
            if (i < n)
                post(i);
        }
        if (i < n)
            start_send(i);
    }
}

} // namespace emx::perf
