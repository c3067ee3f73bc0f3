// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// See stranger.hpp.
#include "tests/netns/stranger.hpp"

#include "tests/support/becomes.hpp"
#include "tests/support/mx_check.hpp"

#include "driver/base/packet_socket.hpp"

#include <mx_extensions.h>

#include <net/if.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace emx::test {

Victim::Victim(const TwoHosts &hosts, const std::string &boards)
{
    hosts.enter(0);
    ::setenv("EMX_BOARDS", boards.c_str(), 1);
    mx_set_error_handler(MX_ERRORS_RETURN);
    check(mx_init(), "mx_init");
    check(mx_open_endpoint(0, MX_ANY_ENDPOINT, Stranger::key, nullptr, 0, &endpoint_), "mx_open_endpoint");
    mx_endpoint_addr_t self;
    check(mx_get_endpoint_addr(endpoint_, &self), "mx_get_endpoint_addr");
    check(mx_decompose_endpoint_addr2(self, &nic_id_, &number_, &session_), "mx_decompose_endpoint_addr2");
}

Victim::~Victim() { mx_finalize(); }

std::vector<uint32_t> Victim::counters() const
{
    std::vector<uint32_t> values(EMX_CNT_COUNT);
    uint32_t board = 0;
    check(mx_get_info(nullptr, MX_COUNTERS_VALUES, &board, sizeof board, values.data(),
                      static_cast<uint32_t>(values.size() * sizeof values[0])),
          "mx_get_info");
    return values;
}

mx_request_t Victim::receive(void *data, uint32_t length, uint64_t match) const
{
    mx_segment_t segment{data, length};
    mx_request_t request = nullptr;
    check(mx_irecv(endpoint_, &segment, 1, match, MX_MATCH_MASK_NONE, nullptr, &request), "mx_irecv");
    return request;
}

bool Victim::progress_until(const std::function<bool()> &done) const
{
    return becomes([&] {
        mx_progress(endpoint_);
        return done();
    });
}

bool Victim::progress_in_vain(const std::function<bool()> &done) const
{
    return stays_away([&] {
        mx_progress(endpoint_);
        return done();
    });
}

bool Victim::complete(mx_request_t &request, mx_status_t &status) const
{
    uint32_t result = 0;
    check(mx_test(endpoint_, &request, &status, &result), "mx_test");
    return result == 1;
}

Stranger::Stranger(const TwoHosts &hosts, const fw_sizes &sizes, uint64_t mac, const Victim &victim)
    : sizes_(sizes), mac_(mac), victim_(victim)
{
    hosts.foreign(1);
    hosts.enter(1);
    socket_ = Fd(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_ ||
        !bind_packet_socket(socket_.get(), static_cast<int>(::if_nametoindex("eth0")), EMX_ETHERTYPE))
        throw std::runtime_error(std::string("raw socket of the stranger: ") + std::strerror(errno));
    hosts.enter(0);
}

fw_pkt Stranger::packet(uint8_t type) const
{
    auto pkt = zeroed<fw_pkt>();
    pkt.msg.type = type;
    pkt.src_mac = mac_;
    pkt.dst_mac = victim_.nic_id();
    pkt.tag = EMX_TAG_NONE;
    pkt.advert = 7;
    pkt.msg.local_ep = victim_.number();
    pkt.msg.remote_ep = number;
    pkt.msg.session = victim_.session();
    pkt.msg.seq = next_;
    pkt.msg.ack = ack_;
    if (sizes_.dialect == FW_DIALECT_W && type == EMX_MEDIUM)
        pkt.exponent = EMX_MEDIUM_EXPONENT_W;
    return pkt;
}

Frame Stranger::frame(const fw_pkt &pkt, const std::vector<uint8_t> &payload,
                      const std::vector<Change> &changes) const
{
    Frame frame = make_frame(sizes_, pkt, payload);
    for (const Change &change : changes)
        std::copy(change.bytes.begin(), change.bytes.end(),
                  frame.begin() + static_cast<std::ptrdiff_t>(change.at));
    return frame;
}

void Stranger::send(const Frame &frame) const
{
    if (::send(socket_.get(), frame.data(), frame.size(), 0) != static_cast<ssize_t>(frame.size()))
        throw std::runtime_error(std::string("sending a frame by hand: ") + std::strerror(errno));
}

bool Stranger::receive(fw_pkt &pkt)
{
    for (;;) {
        frame_.resize(65536);
        const ssize_t got = ::recv(socket_.get(), frame_.data(), frame_.size(), MSG_DONTWAIT);
        if (got < 0)
            return false;
        frame_.resize(static_cast<std::size_t>(got));
        if (fw_check(&sizes_, 0, frame_.data(), static_cast<uint32_t>(got), &pkt) != 0 ||
            pkt.dst_mac != mac_ || pkt.src_mac != victim_.nic_id())
            continue; // our own, or for another stranger
        const auto *data = reinterpret_cast<const uint8_t *>(pkt.msg.data);
        payload_.assign(data, data + (data ? pkt.msg.data_len : 0));
        return true;
    }
}

std::optional<fw_pkt> Stranger::expect(uint8_t type)
{
    fw_pkt pkt{};
    const auto arrived = [&] {
        while (receive(pkt)) // what asks for the dialect is no request for data
            if (pkt.msg.type == type && (type != EMX_PULL || pkt.msg.local_ep != EMX_QUESTION_ENDPOINT))
                return true;
        return false;
    };
    if (victim_.progress_until(arrived))
        return pkt;
    return std::nullopt;
}

void Stranger::forget_all()
{
    fw_pkt pkt{};
    while (receive(pkt)) {
    }
}

bool Stranger::connect()
{
    fw_pkt request = packet(EMX_CONNECT);
    request.msg.u.connect = {session, key, 1, 0, 1, 0};
    send(request);
    // The answer, and a request of the victim's own, in any order.
    bool answered = false, asked = false;
    while (!answered || !asked) {
        const auto connect = expect(EMX_CONNECT);
        if (!connect)
            return false;
        if (connect->msg.u.connect.is_reply) {
            answered = true;
            next_ = connect->msg.u.connect.start;
            continue;
        }
        asked = true;
        fw_pkt reply = packet(EMX_CONNECT);
        reply.msg.u.connect = {session, 0, 1, 1, connect->msg.u.connect.number, EMX_CONNECT_OK};
        send(reply);
    }
    return true;
}

} // namespace emx::test
