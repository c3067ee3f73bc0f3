// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Form of messages to a partner: lengths, the dialect it speaks, and the features agreed on of the EtherMX
// extension (docs/protocol.md).
#pragma once

#include <emx/abi.h>
#include <emx/wire.h>

#include <cstdint>

namespace emx {

/// The longest eager message in bytes: OMX_RNDV_THRESHOLD is no higher.
inline constexpr uint32_t eager_most = 32768;

/// Frames of a message, of which each bears so many bytes at most.
constexpr uint32_t frames_of(uint32_t bytes, uint32_t frame)
{
    return bytes > frame ? (bytes + frame - 1) / frame : 1;
}

struct Way {
    /// The peer's dialect as its answer to our question shows it. A stranger of another dialect than it is
    /// spoken to in takes short messages alone.
    enum class Dialect : uint8_t { unknown, shared, other_w, other_n };

    uint32_t eager_max = 0; ///< bytes; longer sends to it go by rendezvous
    bool local = false; ///< on this host
    /// Ourselves, of this host, summed, or of another dialect: messages to it do not go the usual way.
    bool detour = false;
    bool sure = false; ///< what has a number goes to it by Port::send_sure()
    bool summed = false; ///< eager messages to it are X MEDIUM with checksums, of whatever length
    Dialect dialect = Dialect::unknown;
    uint32_t medium_bytes = 0; ///< in a full MEDIUM to it
    uint32_t x_medium_bytes = 0; ///< in an X MEDIUM to it, at most; 0: none is sent
    uint32_t x_datagram_bytes = 0; ///< in an X MEDIUM that may leave in a datagram; 0: none may
    uint32_t pack_bytes = 0; ///< behind the header of an X PACK to it, at most; 0: none is sent
    uint32_t packed_max = 0; ///< bytes of a message in it
    /// The peer's offer of the extension, by which this session agreed to ours; 0: no agreement. With the
    /// wish for checksums if it is either's.
    uint64_t offer = 0;
    uint64_t question = 0; ///< emx_question() about its dialect, asked and not answered yet
    uint64_t asked_ns = 0; ///< when it was

    /// It takes reports of what arrived here.
    bool takes_reports() const { return emx_offer_features(offer) & EMX_X_REPORTS; }
    bool is_of_other_dialect() const { return dialect >= Dialect::other_w; }
    /// 'W' or 'N', of a partner of another dialect.
    char their_dialect() const { return dialect == Dialect::other_w ? 'W' : 'N'; }
    /// Notes that the question was answered.
    void learn_dialect(char theirs, char ours)
    {
        question = 0;
        dialect = theirs == ours ? Dialect::shared : theirs == 'W' ? Dialect::other_w : Dialect::other_n;
    }
    /// True if a message that is no TINY or SMALL goes as X MEDIUM: when that saves frames or lets
    /// them leave in datagrams, for its checksum, or between dialects.
    bool goes_by_extension(uint32_t bytes) const
    {
        return summed || goes_by_datagrams(bytes) || (is_of_other_dialect() && x_medium_bytes) ||
               (x_medium_bytes != 0 && bytes > medium_bytes);
    }
    /// Bytes in a full frame of such a message.
    uint32_t frame_bytes(uint32_t bytes) const
    {
        if (goes_by_datagrams(bytes))
            return x_datagram_bytes;
        return goes_by_extension(bytes) ? x_medium_bytes : medium_bytes;
    }
    /// True if the frames of such a message are so many that datagrams are quicker; `frame`: bytes in one.
    static bool pays_datagrams(uint32_t bytes, uint32_t frame)
    {
        constexpr uint32_t fewest = 5; // of an MTU of 1500; 4 frames take 0.5 to 0.7 of the time
        return bytes > (fewest - 1) * frame;
    }
    /// True if an X MEDIUM message of so many bytes may leave in datagrams.
    bool goes_by_datagrams(uint32_t bytes) const
    {
        return x_datagram_bytes != 0 && pays_datagrams(bytes, x_datagram_bytes);
    }
    /// X MEDIUM may leave in datagrams, of so many bytes at most; 0: they may not.
    void take_datagrams(uint32_t bytes)
    {
        if (bytes * EMX_FRAGS_MAX >= eager_max)
            x_datagram_bytes = bytes;
    }
    /// A session agreed, and takes X MEDIUM of up to so many bytes, all with checksums or none. False: the
    /// dialect's are as good.
    bool take_x_medium(uint32_t bytes, bool sums);

private:
    bool pays(uint32_t x_bytes) const;
};

} // namespace emx
