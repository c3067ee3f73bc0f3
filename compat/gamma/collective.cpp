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
        caller_ = emx::Lock::this_thread();
    else if (caller_ != emx::Lock::this_thread())
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
        code = broadcast_in_turn(lock, root, buffer, bytes);
    }
    return code ? fail(code) : 0;
}

/// Broadcasts of one root go one after the other, in the order of their calls.
int Node::broadcast_in_turn(Lock &lock, uint32_t root, void *memory, uint32_t length)
{
    const Header header{length, calls_sum_, !several_callers_};
    multicast_.join();
    Broadcast::Line &line = broadcast_.line(root);
    const uint32_t place = line.last++;
    wait_until(lock, &peers_[root], [&] { return line.served == place; });
    const int code = root == options_.node ? broadcast_own(lock, header, memory)
                                           : broadcast_of(lock, root, header, memory);
    ++line.served;
    return code;
}

int Node::broadcast_own(Lock &lock, const Header &header, void *memory)
{
    Broadcast::Line &line = broadcast_.line(options_.node);
    bool missed = false;
    for (const Peer &peer : peers_)
        missed |= peer.left;
    int code = 0;
    if (!line.by_frames && multicast_.is_ready()) {
        const Header last{length_goes_on_by_frames, header.sum, header.one_thread};
        code = send_to_all(lock, last, nullptr, 0);
        line.by_frames = true;
    }
    if (line.by_frames && !code) {
        emx::cast::Group &stream = multicast_.stream(options_.node);
        stream.begin_send(memory, static_cast<uint32_t>(header.length), header.tag());
        if (go_on(lock, stream, nullptr) == emx::cast::Outcome::busy)
            code = sync_error_;
    } else if (!code) {
        code = send_to_all(lock, header, memory, static_cast<uint32_t>(header.length));
    }
    if (code)
        return code;
    return missed || dead_ ? GAMMA_E_PEER : 0; // one that leaves now has got it
}

/// A message to each.
int Node::send_to_all(Lock &lock, const Header &header, void *memory, uint32_t length)
{
    Message message;
    message.segments[0] = {const_cast<Header *>(&header), sizeof header};
    message.segments[1] = {memory, length};
    message.length = static_cast<uint32_t>(sizeof header) + length;
    message.flow = message.blocking = true;
    lock.unlock();
    const int code = -send(user_ports + options_.node, message);
    lock.lock();
    return code;
}

int Node::broadcast_of(Lock &lock, uint32_t root, const Header &header, void *memory)
{
    Broadcast::Line &line = broadcast_.line(root);
    if (line.by_frames)
        return receive_frames(lock, root, header, memory);
    Peer &peer = peers_[root];
    Buffer *buffer = broadcast_.expect(root, memory, static_cast<uint32_t>(header.length));
    if (!buffer)
        return GAMMA_E_MX;
    wait_until(lock, &peer,
               [&] { return buffer->done || peer.dead || peer.left || sync_error_ == GAMMA_E_GROUP; });
    if (!buffer->done && broadcast_.withdraw(buffer)) {
        broadcast_.release(buffer);
        return sync_error_ == GAMMA_E_GROUP ? GAMMA_E_GROUP : GAMMA_E_PEER;
    }
    wait_until(lock, &peer, [&] { return buffer->done; }); // MX ends what it has begun
    line.by_frames = buffer->length == sizeof(Header) && buffer->header.length == length_goes_on_by_frames;
    const int code = line.by_frames ? 0 : judge_message(header, buffer);
    broadcast_.release(buffer);
    return line.by_frames ? receive_frames(lock, root, header, memory) : code;
}

/// 0 if the message is of the call that the header describes.
int Node::judge_message(const Header &header, const Buffer *buffer)
{
    const Header &other = buffer->header;
    if (buffer->length == 0)
        return GAMMA_E_PEER;
    if (buffer->length == sizeof header + header.length && !buffer->cut && other.length == header.length &&
        agrees(header, other.tag()))
        return 0;
    give_up(GAMMA_E_GROUP);
    return GAMMA_E_GROUP;
}

int Node::receive_frames(Lock &lock, uint32_t root, const Header &header, void *memory)
{
    emx::cast::Group &stream = multicast_.stream(root);
    stream.begin_receive(root, memory, static_cast<uint32_t>(header.length));
    switch (go_on(lock, stream, &peers_[root])) {
    case emx::cast::Outcome::dead: return GAMMA_E_PEER;
    case emx::cast::Outcome::busy: return GAMMA_E_GROUP;
    case emx::cast::Outcome::done:
        if (agrees(header, stream.tag()))
            return 0;
        break;
    case emx::cast::Outcome::disagreed: break;
    }
    give_up(GAMMA_E_GROUP);
    return GAMMA_E_GROUP;
}

/// Brings an operation on a stream to its end, and runs handlers meanwhile. It stays busy only where nodes do
/// not agree.
emx::cast::Outcome Node::go_on(Lock &lock, emx::cast::Group &stream, Peer *awaited)
{
    emx::cast::Outcome outcome;
    uint32_t idle = 0;
    ++streaming_;
    while ((outcome = stream.advance()) == emx::cast::Outcome::busy && sync_error_ != GAMMA_E_GROUP) {
        bool news = pump();
        news |= multicast_.poll(); // last, as a sleep ends by frames that come in it
        if (!deliver(lock) && !news)
            rest(idle, awaited);
        else
            idle = 0;
    }
    --streaming_;
    return outcome;
}

/// True if the root's calls so far are ours, as far as they can be compared.
bool Node::agrees(const Header &header, uint64_t tag) const
{
    return several_callers_ || !(tag >> 32) || static_cast<uint32_t>(tag) == header.sum;
}

} // namespace emx_gamma
