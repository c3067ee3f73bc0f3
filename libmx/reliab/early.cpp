// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Packets that came before their turn: see early.hpp.
#include "libmx/reliab/early.hpp"

#include "libmx/reliab/tx_message.hpp"

#include <cstring>
#include <utility>

namespace emx {

namespace {

std::size_t size_of(const EarlyPacket &packet) { return sizeof packet + packet.msg.data_len; }

} // namespace

EarlyStore::Stored EarlyStore::store(std::unique_ptr<EarlyPackets> &packets, const emx_msg &msg)
{
    if (bytes_ >= bytes_max || (packets && packets->count >= packets_max))
        return Stored::no_room;
    if (!packets)
        packets = std::make_unique<EarlyPackets>();
    EarlyPacket **link = &packets->slot[msg.seq & 0xff];
    for (; *link; link = &(*link)->next) {
        const emx_msg &kept = (*link)->msg;
        const bool fragments = is_medium(kept.type) && is_medium(msg.type);
        if (!fragments || kept.u.medium.frag == msg.u.medium.frag)
            return Stored::known;
    }
    auto packet = std::make_unique<EarlyPacket>();
    packet->msg = msg;
    if (msg.data_len && msg.type != EMX_RNDV && msg.type != EMX_NOTIFY) {
        packet->data = std::make_unique<std::byte[]>(msg.data_len);
        std::memcpy(packet->data.get(), reinterpret_cast<const void *>(msg.data), msg.data_len);
        packet->msg.data = reinterpret_cast<uint64_t>(packet->data.get());
    }
    bytes_ += size_of(*packet);
    ++packets->count;
    *link = packet.release();
    return Stored::kept;
}

EarlyPacket *EarlyStore::take(EarlyPackets &packets, uint16_t number)
{
    return std::exchange(packets.slot[number & 0xff], nullptr);
}

std::unique_ptr<EarlyPacket> EarlyStore::pop(EarlyPacket *&list, EarlyPackets *packets)
{
    std::unique_ptr<EarlyPacket> packet(list);
    list = packet->next;
    bytes_ -= size_of(*packet);
    if (packets)
        --packets->count;
    return packet;
}

void EarlyStore::drop(std::unique_ptr<EarlyPackets> &packets)
{
    if (!packets)
        return;
    for (EarlyPacket *list : packets->slot)
        while (list)
            pop(list, packets.get());
    packets.reset();
}

} // namespace emx
