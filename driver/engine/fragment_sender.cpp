// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Fragments of X MEDIUM in datagrams: see fragment_sender.hpp.
#include "driver/engine/fragment_sender.hpp"

#include "driver/engine/udp_segments.hpp"

#include <cerrno>
#include <cstring>

namespace emx {

bool FragmentSender::add(std::byte *frame, std::size_t bytes, int counter)
{
    // All but the last are as long as the first.
    const bool fits = count_ == 0 || (bytes <= fragments_[0].iov_len &&
                                      fragments_[count_ - 1].iov_len == fragments_[0].iov_len);
    if (!fits || count_ == fragments_.size() || bytes > target_.bytes)
        return false;
    fragments_[count_++] = {frame, bytes};
    counter_ = counter;
    return true;
}

void FragmentSender::seal()
{
    for (uint32_t i = 0; i < count_; i++) {
        std::memcpy(outers_[i].data(), fragments_[i].iov_base, EMX_OUTER_LEN);
        fw_datagram_seal(fragments_[i].iov_base, target_.secret);
    }
}

void FragmentSender::unseal()
{
    for (uint32_t i = 0; i < count_; i++)
        std::memcpy(fragments_[i].iov_base, outers_[i].data(), EMX_OUTER_LEN);
}

int FragmentSender::send(int socket)
{
    seal();
    if (send_segments(socket, target_, {fragments_.data(), count_},
                      static_cast<uint16_t>(count_ > 1 ? fragments_[0].iov_len : 0)))
        return 0;
    const int why = errno;
    unseal();
    return why;
}

} // namespace emx
