// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Writing and reading the ring of records.
#include "libmx/shm/ring.hpp"

#include <array>
#include <cstring>

namespace emx::shm {
namespace {

constexpr uint32_t mask = ring_bytes - 1;
static_assert((ring_bytes & mask) == 0);

constexpr uint32_t rounded(uint32_t bytes) { return (bytes + record_align - 1) & ~(record_align - 1); }

/// Reads a record's header so that each word is read once, whatever the compiler likes.
RecordHeader copy_header(std::byte *from)
{
    constexpr std::size_t count = sizeof(RecordHeader) / sizeof(uint64_t);
    std::array<uint64_t, count> words;
    auto *source = reinterpret_cast<uint64_t *>(from);
    for (std::size_t i = 0; i < count; ++i)
        words[i] = std::atomic_ref(source[i]).load(std::memory_order_relaxed);
    RecordHeader header;
    std::memcpy(&header, words.data(), sizeof(header));
    return header;
}

} // namespace

bool RingWriter::write(const emx_msg &msg, const std::byte *payload)
{
    if (msg.data_len > ring_bytes / 4)
        return false;
    const auto need = rounded(static_cast<uint32_t>(sizeof(RecordHeader)) + msg.data_len);
    const uint32_t tail = memory_.tail.load(std::memory_order_acquire);
    const uint32_t used = head_ - tail;
    const uint32_t to_end = ring_bytes - (head_ & mask);
    const uint32_t filler = need > to_end ? to_end : 0;
    if (used > ring_bytes || ring_bytes - used < need + filler)
        return false;
    stalled_writes_ = used != 0 && tail == last_tail_ ? stalled_writes_ + 1 : 0;
    last_tail_ = tail;
    if (filler != 0) {
        const uint32_t words[2] = {filler, filler_record};
        std::memcpy(memory_.data + (head_ & mask), words, sizeof(words));
    }
    std::byte *record = memory_.data + ((head_ + filler) & mask);
    const RecordHeader header{need, packet_record, msg};
    std::memcpy(record, &header, sizeof(header));
    if (msg.data_len != 0)
        std::memcpy(record + sizeof(header), payload, msg.data_len);
    head_ += filler + need;
    memory_.head.store(head_, std::memory_order_release);
    return true;
}

bool RingWriter::must_wake()
{
    // Either the receiver sees the new head before it sleeps, or we see that it sleeps.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return memory_.sleeping.load(std::memory_order_relaxed) != 0 &&
           memory_.sleeping.exchange(0, std::memory_order_relaxed) != 0;
}

const emx_msg *RingReader::front()
{
    if (length_ != 0)
        return &header_.msg;
    while (!broken_) {
        const uint32_t used = memory_.head.load(std::memory_order_acquire) - tail_;
        if (used == 0)
            return nullptr;
        if (!open_record(used)) {
            broken_ = true;
            return nullptr;
        }
        if (header_.kind == packet_record)
            return &header_.msg;
        release();
    }
    return nullptr;
}

bool RingReader::open_record(uint32_t used)
{
    if (used > ring_bytes || used % record_align != 0)
        return false;
    const uint32_t at = tail_ & mask;
    const uint32_t to_end = ring_bytes - at;
    if (used < record_align)
        return false;
    // A filler may be shorter than a header, and then the header's copy would leave the ring.
    auto *start = reinterpret_cast<uint64_t *>(memory_.data + at);
    const uint64_t first = std::atomic_ref(*start).load(std::memory_order_relaxed);
    uint32_t words[2];
    std::memcpy(words, &first, sizeof(words));
    const auto [bytes, kind] = words;
    if (bytes < record_align || bytes % record_align != 0 || bytes > used || bytes > to_end)
        return false;
    if (kind == filler_record) {
        header_.kind = kind;
        length_ = bytes;
        return bytes == to_end;
    }
    if (kind != packet_record || bytes < sizeof(RecordHeader))
        return false;
    header_ = copy_header(memory_.data + at);
    header_.kind = kind;
    if (header_.msg.data_len > bytes - sizeof(RecordHeader))
        return false;
    header_.msg.data = reinterpret_cast<uint64_t>(memory_.data + at + sizeof(RecordHeader));
    length_ = bytes;
    return true;
}

void RingReader::release()
{
    tail_ += length_;
    length_ = 0;
    memory_.tail.store(tail_, std::memory_order_release);
}

} // namespace emx::shm
