// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Writing and reading the ring of records.
#include "libmx/shm/ring.hpp"

#include <array>
#include <cstring>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace emx::shm {
namespace {

std::atomic<bool> barriers_allowed{false};

bool membarrier(int command) { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }

/// Reads words so that each is read once, whatever the compiler likes.
template <class Head>
Head copy_head(std::byte *from)
{
    constexpr std::size_t count = sizeof(Head) / sizeof(uint64_t);
    std::array<uint64_t, count> words;
    auto *source = reinterpret_cast<uint64_t *>(from);
    for (std::size_t i = 1; i < count; ++i)
        words[i] = std::atomic_ref(source[i]).load(std::memory_order_relaxed);
    words[0] = 0;
    return std::bit_cast<Head>(words);
}

} // namespace

void allow_barriers()
{
#ifndef __SANITIZE_THREAD__ // which knows nothing of membarrier
    if (membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED))
        barriers_allowed.store(true, std::memory_order_relaxed);
#endif
}

bool put_barrier() { return membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED); }

bool RingWriter::write(const emx_msg &msg, const std::byte *payload, RecordKind kind)
{
    if (msg.data_len > record_data_max)
        return false;
    const auto bytes = static_cast<uint32_t>(sizeof(PacketRecord)) + msg.data_len;
    std::byte *record = begin(bytes);
    if (!record)
        return false;
    std::memcpy(record + offsetof(PacketRecord, msg), &msg, sizeof(msg));
    if (msg.data_len != 0)
        std::memcpy(record + sizeof(PacketRecord), payload, msg.data_len);
    publish({bytes, kind, 0, 0});
    return true;
}

/// The word behind the record has to be free, too.
bool RingWriter::make_room(uint32_t need)
{
    const uint32_t used = head_ - memory_.tail.load(std::memory_order_acquire);
    if (used > ring_bytes - record_align)
        return false;
    uint32_t free = ring_bytes - record_align - used;
    uint32_t to_end = ring_bytes - (head_ & mask);
    if (need > to_end) {
        if (free < to_end + need)
            return false;
        publish({to_end, filler_record, 0, 0});
        free -= to_end;
        to_end = ring_bytes;
    }
    room_ = std::min(free, to_end);
    return need <= room_;
}

bool RingWriter::must_wake()
{
    // Either the receiver sees the record before it sleeps, or we see that it sleeps. Where the receiver has
    // the kernel do that, the order of the instructions is enough.
    if (memory_.barriers.load(std::memory_order_relaxed) != 0 &&
        barriers_allowed.load(std::memory_order_relaxed)) [[likely]]
        std::atomic_signal_fence(std::memory_order_seq_cst);
    else
        std::atomic_thread_fence(std::memory_order_seq_cst);
    return memory_.sleeping.load(std::memory_order_relaxed) != 0 &&
           memory_.sleeping.exchange(0, std::memory_order_relaxed) != 0;
}

bool RingWriter::starve()
{
    memory_.starving.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return head_ - memory_.tail.load(std::memory_order_acquire) <= ring_bytes / 2;
}

bool RingReader::must_feed()
{
    std::atomic_thread_fence(std::memory_order_seq_cst); // as in starve()
    return memory_.starving.load(std::memory_order_relaxed) != 0 &&
           memory_.starving.exchange(0, std::memory_order_relaxed) != 0;
}

void RingReader::identify(uint32_t peer, uint8_t remote_ep, uint8_t local_ep, uint32_t session)
{
    eager_.peer = peer;
    eager_.remote_ep = remote_ep;
    eager_.local_ep = local_ep;
    eager_.session = session;
}

emx_msg *RingReader::open(uint64_t first)
{
    while (!broken_) {
        const auto word = std::bit_cast<RecordWord>(first);
        std::byte *at = memory_.data + (tail_ & (ring_bytes - 1));
        const auto to_end = static_cast<uint32_t>(memory_.data + ring_bytes - at);
        if (word.bytes < record_align || word.bytes % record_align != 0 || word.bytes > to_end) [[unlikely]]
            break;
        kind_ = word.kind;
        if (kind_ == sure_eager ? open_eager(word, at) : open_packet(word, at)) [[likely]] {
            length_ = word.bytes;
            return &msg_;
        }
        if (kind_ != filler_record || word.bytes != to_end)
            break;
        length_ = word.bytes;
        release();
        first = first_word();
        if (first == 0)
            return nullptr;
    }
    broken_ = true;
    return nullptr;
}

bool RingReader::open_eager(RecordWord word, std::byte *at)
{
    const auto head = copy_head<EagerRecord>(at);
    if (head.length > word.bytes - sizeof(EagerRecord)) [[unlikely]]
        return false;
    msg_ = eager_;
    msg_.type = word.type;
    msg_.seq = word.seq;
    msg_.ack = head.ack;
    msg_.match = head.match;
    msg_.msg_len = msg_.data_len = head.length;
    msg_.data = reinterpret_cast<uint64_t>(at + sizeof(EagerRecord));
    return true;
}

bool RingReader::open_packet(RecordWord word, std::byte *at)
{
    if ((kind_ != packet_record && kind_ != sure_packet) || word.bytes < sizeof(PacketRecord))
        return false;
    msg_ = copy_head<PacketRecord>(at).msg;
    msg_.data = reinterpret_cast<uint64_t>(at + sizeof(PacketRecord));
    return msg_.data_len <= word.bytes - sizeof(PacketRecord);
}

bool holds_something(RingMemory &memory)
{
    const uint32_t at = memory.tail.load(std::memory_order_relaxed) & (ring_bytes - 1);
    if (at % record_align != 0)
        return true;
    return std::atomic_ref(*reinterpret_cast<uint64_t *>(memory.data + at)).load(std::memory_order_relaxed) !=
           0;
}

} // namespace emx::shm
