// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Search for the boards behind addresses, by the agent of a UDP board (docs/protocol.md, UDP boards).
//
// Nothing that a datagram claims is believed. A question with a random token goes to the address that a list,
// a beacon or a frame names, and only its answer counts. A board that is known moves to another address only
// when the one before answers no more.
#pragma once

#include "driver/base/udp_address.hpp"

#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <vector>

extern "C" {
#include "driver/core/fw.h"
}

namespace emx {

/// News from an answer, or from the lack of one.
struct Finding {
    enum class Kind {
        nothing, ///< nobody asked that
        found, ///< `mac` is at `where`
        stayed, ///< it is still where it was, though somebody at `where` says the same of itself
        moved, ///< it is no more where it was, and at `where`
    };
    Kind kind = Kind::nothing;
    uint64_t mac = 0;
    UdpAddress where;
    bool listed = false;
    std::string name; ///< that the list gives
};

class PeerSearch {
public:
    /// Sends a question; mac: of the board that is asked, or that of all.
    using Ask = std::function<void(const UdpAddress &to, uint64_t mac, uint32_t token)>;
    using Random = std::function<uint32_t()>;

    PeerSearch(Ask ask, Random random) : ask_(std::move(ask)), random_(std::move(random)) {}

    /// The administrator's list. What stands there already gets the new name.
    void list(const UdpAddress &where, const std::string &name, uint64_t now);
    void clear_list();
    bool is_listed(const UdpAddress &where) const;
    /// Hosts of the list that have not answered yet.
    uint32_t sought() const;

    /// Somebody who says that it is that board is heard from there: asks it. Bounded.
    void suspect(uint64_t mac, const UdpAddress &where, uint64_t now);
    /// The same board was found at another place: asks at the one where it was.
    void doubt(uint64_t mac, const UdpAddress &before, const UdpAddress &where, uint64_t now);
    /// Asks those of the list that have not answered again, at once.
    void hurry(uint64_t now);

    /// True if a question is our own, which came back to ourselves: that host of the list is this one, and
    /// gets no more of them. name: that the list gives.
    bool is_own(uint32_t token, std::string &name);
    Finding answered(uint32_t token, uint64_t mac, const UdpAddress &from);

    /// Questions that are due; returns one that ended unanswered with something to tell, or nothing.
    Finding tick(uint64_t now);
    uint64_t due() const; ///< when to call it; ~0: never

private:
    struct Question {
        UdpAddress to;
        uint64_t mac = 0; ///< 0: whoever is there
        uint32_t token = 0;
        uint32_t tries = 0;
        uint64_t due = 0;
        uint64_t asked = 0; ///< the last time
        bool listed = false;
        bool settled = false; ///< of the list: answered
        bool doubting = false;
        UdpAddress other; ///< doubting: where else it was found
        std::string name;
    };

    void send(Question &question, uint64_t now);

    Ask ask_;
    Random random_;
    std::list<Question> questions_;
    fw_bucket suspicions_{};
};

} // namespace emx
