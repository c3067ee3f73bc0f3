// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Barrier and broadcast as calls: checks that all nodes make the same ones, and are there.
#include "api.hpp"

namespace emx_gamma {

namespace {

constexpr uint32_t sync_call = 1, broadcast_call = 2;

} // namespace

/// Adds a call to the sum. Sums are comparable as long as one thread of each process makes all calls.
void Node::note_call(uint32_t what, uint32_t root, uint32_t length)
{
    if (!called_)
        caller_ = pthread_self();
    else if (!pthread_equal(caller_, pthread_self()))
        several_callers_ = true;
    called_ = true;
    for (const uint32_t word : {what, root, length})
        calls_sum_ = (calls_sum_ ^ word) * 0x9e3779b1U + (calls_sum_ >> 15);
}

/// Ends all barriers, with that error, everywhere.
void Node::give_up(int code)
{
    if (sync_error_)
        return;
    sync_error_ = code;
    broadcast_.tell(Kind::fail, static_cast<uint32_t>(code));
}

int Node::sync()
{
    Lock lock(turn_);
    if (int code = check(true))
        return fail(code);
    note_call(sync_call, 0, 0);
    if (sync_error_)
        return fail(sync_error_);
    Peer &judge = peers_[0];
    const uint32_t number = barrier_.arrive(calls_sum_, !several_callers_);
    wait_until(lock, &judge,
               [&] { return barrier_.released(number) || sync_error_ || judge.dead || judge.left; });
    if (barrier_.released(number))
        return 0;
    return fail(sync_error_ ? sync_error_ : GAMMA_E_PEER);
}

int Node::broadcast(uint32_t root, void *buffer, unsigned long length)
{
    Lock lock(turn_);
    int code = check(true);
    if (!code && root >= count())
        code = GAMMA_E_NODE;
    if (!code && length > GAMMA_LENGTH_MAX - sizeof(Header))
        code = GAMMA_E_LENGTH;
    if (!code && length && !buffer)
        code = GAMMA_E_ARGUMENT;
    if (!code && sync_error_ == GAMMA_E_GROUP)
        code = GAMMA_E_GROUP;
    if (!code) {
        const auto bytes = static_cast<uint32_t>(length);
        note_call(broadcast_call, root, bytes);
        code = root == options_.node ? broadcast_own(lock, buffer, bytes)
                                     : broadcast_of(lock, root, buffer, bytes);
    }
    return code ? fail(code) : 0;
}

int Node::broadcast_own(Lock &lock, void *buffer, uint32_t length)
{
    Header header{length, calls_sum_, !several_callers_};
    Message message;
    message.segments[0] = {&header, sizeof header};
    message.segments[1] = {buffer, length};
    message.length = static_cast<uint32_t>(sizeof header) + length;
    message.flow = message.blocking = true;
    bool missed = false;
    for (const Peer &peer : peers_)
        missed |= peer.left;
    lock.unlock();
    const int code = -send(user_ports + options_.node, message);
    lock.lock();
    if (code)
        return code;
    return missed || dead_ ? GAMMA_E_PEER : 0; // one that leaves now has got it
}

int Node::broadcast_of(Lock &lock, uint32_t root, void *memory, uint32_t length)
{
    Peer &peer = peers_[root];
    Buffer *buffer = broadcast_.expect(root, memory, length);
    if (!buffer)
        return GAMMA_E_MX;
    wait_until(lock, &peer,
               [&] { return buffer->done || peer.dead || peer.left || sync_error_ == GAMMA_E_GROUP; });
    if (!buffer->done && broadcast_.withdraw(buffer)) {
        broadcast_.release(buffer);
        return sync_error_ == GAMMA_E_GROUP ? GAMMA_E_GROUP : GAMMA_E_PEER;
    }
    wait_until(lock, &peer, [&] { return buffer->done; }); // MX ends what it has begun
    const Header header = buffer->header;
    const bool whole = buffer->length == sizeof header + length && !buffer->cut;
    const bool broken = buffer->length == 0;
    broadcast_.release(buffer);
    if (broken)
        return GAMMA_E_PEER;
    if (whole && header.length == length &&
        (several_callers_ || !header.one_thread || header.sum == calls_sum_))
        return 0;
    give_up(GAMMA_E_GROUP);
    return GAMMA_E_GROUP;
}

} // namespace emx_gamma
