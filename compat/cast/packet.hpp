// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Packets of the broadcast among members: frames of data, and what members tell each other. Fields are in the
// byte order of the hosts, which is one in a job.
#pragma once

#include <cstdint>

namespace emx::cast {

enum class Kind : uint8_t {
    data = 1, ///< a piece of a message: .number of the frame in its sender's stream, .length of the message
    poll, ///< the sender's next frame is .number: tell which you have taken
    ack, ///< all frames below .number are taken
    ask, ///< the same, and .here tells which others came: send the rest again
    bye, ///< as ack, and this member takes no more, nor sends more than .length frames
    arrive, ///< at the barrier .number
};

struct Packet {
    uint32_t group = 0; ///< as the members agreed
    uint16_t member = 0; ///< its sender
    Kind kind = Kind::data;
    uint8_t reserved = 0;
    uint32_t number = 0;
    uint32_t length = 0;
    uint32_t offset = 0; ///< data: of the piece in its message
    uint32_t reserved20 = 0;
    uint64_t here = 0; ///< bit i: frame .number + i. Data: the sender's tag of the message
};
static_assert(sizeof(Packet) == 32);

} // namespace emx::cast
