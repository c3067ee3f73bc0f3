// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Writing and reading the ring of records.
#include "libmx/shm/ring.hpp"

#include <cstring>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace emx::shm {
namespace {

bool membarrier(int command) { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }

} // namespace

void allow_barriers()
{
#ifndef __SANITIZE_THREAD__ // which knows nothing of membarrier
    if (membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED))
        barriers_allowed.store(true, std::memory_order_relaxed);
#endif
}

bool put_barrier() { return membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED); }

bool RingWriter::write(const emx_msg &msg, const std::byte *payload, RecordKind kind, uint8_t type)
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
    publish(record, {bytes, kind, type, 0});
    return true;
}

/// The word behind the record has to be free, too.
bool RingWriter::make_room(uint32_t need)
{
    const uint32_t used = this->used();
    if (used > ring_bytes - record_align)
        return false; // a receiver that writes what it likes into its memory
    if (head_ - filler_at_ > used)
        filler_bytes_ = 0; // taken; without another one its place comes round again
    uint32_t free = ring_bytes - record_align - used;
    const uint32_t at = head_ & mask;
    uint32_t to_end = at < extent_ ? extent_ - at : 0;
    if (need > to_end) {
        const uint32_t filler = ring_bytes - at;
        if (free < filler + need)
            return false;
        filler_at_ = head_;
        filler_bytes_ = filler;
        publish(memory_.data + at, {filler, filler_record, 0, 0});
        free -= filler;
        to_end = extent_;
    }
    room_ = std::min(free, to_end);
    return need <= room_;
}

bool RingWriter::starve()
{
    memory_.starving.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return held() <= half();
}

bool RingReader::must_feed()
{
    std::atomic_thread_fence(std::memory_order_seq_cst); // as in starve()
    return memory_.starving.load(std::memory_order_relaxed) != 0 &&
           memory_.starving.exchange(0, std::memory_order_relaxed) != 0;
}

void RingReader::identify(uint32_t peer, uint8_t remote_ep, uint8_t local_ep, uint32_t session)
{
    is_eager_ = false;
    eager_.peer = peer;
    eager_.remote_ep = remote_ep;
    eager_.local_ep = local_ep;
    eager_.session = session;
}

emx_msg *RingReader::open(uint64_t first)
{
    while (!broken_) {
        const auto word = std::bit_cast<RecordWord>(first);
        const uint32_t offset = tail_ & (ring_bytes - 1);
        std::byte *at = memory_.data + offset;
        if (!fits(word, offset)) [[unlikely]]
            break;
        kind_ = word.kind;
        if (kind_ == sure_eager   ? open_eager(word, at)
            : kind_ == data_piece ? open_piece(word, at)
                                  : open_packet(word, at)) [[likely]] {
            length_ = word.bytes;
            return &msg_;
        }
        if (kind_ != filler_record || word.bytes != ring_bytes - offset)
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

bool RingReader::open_packet(RecordWord word, std::byte *at)
{
    if ((kind_ != packet_record && kind_ != sure_packet) || word.bytes < sizeof(PacketRecord))
        return false;
    is_eager_ = false;
    follow_ = kind_ == sure_packet && word.type != 0;
    msg_ = copy_head<PacketRecord>(at).msg;
    msg_.data = reinterpret_cast<uint64_t>(at + sizeof(PacketRecord));
    return msg_.data_len <= word.bytes - sizeof(PacketRecord);
}

bool RingReader::open_piece(RecordWord word, std::byte *at)
{
    const auto head = copy_head<PieceRecord>(at);
    if (head.length > word.bytes - piece_head)
        return false;
    is_eager_ = false;
    msg_.u.medium.position = head.position;
    msg_.data_len = head.length;
    msg_.data = reinterpret_cast<uint64_t>(at + piece_head);
    return true;
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
