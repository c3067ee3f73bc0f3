// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Frames to groups: who is in one, what is written, and what is refused.
#include "core_board.hpp"

#include <driver/core/fw_group.h>
#include <tests/support/golden.hpp>

#include <catch2/catch.hpp>

#include <array>
#include <cstring>
#include <vector>

namespace {

constexpr uint32_t key = 0xc0ffee01;

/// A frame to a group from a board, as its endpoint writes it.
std::vector<uint8_t> frame_of(const fw_endpoint &from, uint32_t group, uint32_t number, uint32_t length,
                              bool summed = false)
{
    std::vector<uint8_t> frame(EMX_HEADER_MAX);
    const uint32_t header = fw_group_encode(&from, group, number, length, frame.data());
    frame.resize(header);
    for (uint32_t i = 0; i < length; i++)
        frame.push_back(static_cast<uint8_t>(i));
    if (summed)
        fw_put_checksum(frame.data(), fw_crc32c(0, frame.data() + header, length));
    frame.resize(std::max<std::size_t>(frame.size(), EMX_FRAME_MIN));
    return frame;
}

/// Two boards that know each other, with an endpoint of the first.
struct Pair {
    std::vector<uint64_t> table = std::vector<uint64_t>(fw_peers_bytes(4) / 8 + 1);
    fw_board near{}, far{};
    std::vector<uint8_t> memory = std::vector<uint8_t>(sizeof(fw_endpoint));
    fw_endpoint &sender = *reinterpret_cast<fw_endpoint *>(memory.data());

    Pair()
    {
        auto *peers = reinterpret_cast<fw_peers *>(table.data());
        fw_peers_init(peers, 4, 1, 2);
        near.mac = 0x020000000001;
        far.mac = 0x020000000002;
        near.peers = far.peers = peers;
        fw_sizes_w(&near.sizes);
        fw_sizes_w(&far.sizes);
        fw_peer_add(peers, far.mac);
        fw_peer_add(peers, near.mac);
        fw_endpoint_init(&sender, &near, 5, 0x11223344, 0);
    }
    int check(const std::vector<uint8_t> &frame, emx_msg &msg) const
    {
        return fw_group_check(&far, frame.data(), static_cast<uint32_t>(frame.size()), &msg);
    }
    int check(const std::vector<uint8_t> &frame) const
    {
        emx_msg msg{};
        return check(frame, msg);
    }
};

} // namespace

TEST_CASE("fw_group: an endpoint is in as many groups as it may be, and in each once")
{
    fw_groups groups{};
    CHECK_FALSE(fw_group_has(&groups, 0));
    CHECK(fw_group_join(&groups, 0) == -1);
    for (uint32_t i = 1; i <= FW_GROUPS; i++)
        CHECK(fw_group_join(&groups, i) == 0);
    CHECK(fw_group_join(&groups, 2) == 0);
    CHECK(fw_group_join(&groups, FW_GROUPS + 1) == -1);
    fw_group_leave(&groups, 2);
    CHECK_FALSE(fw_group_has(&groups, 2));
    CHECK(fw_group_has(&groups, 1));
    CHECK(fw_group_join(&groups, FW_GROUPS + 1) == 0);
}

TEST_CASE("fw_group: a frame arrives as it was sent")
{
    const Pair pair;
    for (const uint32_t length : {0u, 1u, 100u, 8000u}) {
        const auto frame = frame_of(pair.sender, key, 0x89abcdef, length);
        emx_msg msg{};
        REQUIRE(pair.check(frame, msg) == 0);
        CHECK(msg.type == EMX_X_GROUP);
        CHECK(msg.remote_ep == 5);
        CHECK(msg.peer == 1);
        CHECK(msg.session == 0x11223344);
        CHECK(fw_group_key(&msg) == key);
        CHECK(static_cast<uint32_t>(msg.match) == 0x89abcdef);
        CHECK(msg.data_len == length);
        CHECK(msg.msg_len == length);
        CHECK(reinterpret_cast<const uint8_t *>(msg.data) == frame.data() + FW_X_GROUP_HEADER);
    }
}

TEST_CASE("fw_group: the golden frame is written and read")
{
    const Pair pair;
    const auto golden = emx::test::golden(EMX_WIRE_FOLDER, "x_group");
    CHECK(frame_of(pair.sender, key, 0x89abcdef, 21, true) == golden);
    CHECK(pair.check(golden) == 0);
}

TEST_CASE("fw_group: a frame whose checksum is wrong is dropped, whichever byte is")
{
    const Pair pair;
    for (const uint32_t length : {0u, 1u, 21u, 3000u}) {
        const auto good = frame_of(pair.sender, key, 7, length, true);
        CHECK(pair.check(good) == 0);
        for (std::size_t at = EMX_OUTER_LEN + 1; at<FW_X_GROUP_HEADER + length; at += length> 100 ? 97 : 1) {
            auto frame = good;
            frame[at] ^= 0x10;
            const int why = pair.check(frame);
            CAPTURE(length, at, why);
            CHECK((why == EMX_CNT_DROP_CHECKSUM || (why == EMX_CNT_DROP_GROUP && at >= 24 && at < 28) ||
                   (why == EMX_CNT_DROP_LENGTH && at >= 32 && at < 34)));
        }
        auto none = good;
        std::memset(none.data() + 36, 0, 4);
        CHECK(pair.check(none) == 0);
    }
}

TEST_CASE("fw_group: the address is a locally administered group's")
{
    const uint64_t mac = fw_group_mac(key);
    CHECK((mac >> 40 & 3) == 3);
    CHECK(fw_is_group_mac(mac));
    CHECK_FALSE(fw_is_group_mac(EMX_MAC_BROADCAST));
}

TEST_CASE("fw_group: what is wrong is dropped for its reason")
{
    const Pair pair;
    const auto good = frame_of(pair.sender, key, 1, 100);
    const auto with = [&](std::size_t at, uint8_t value) {
        auto frame = good;
        frame[at] = value;
        return pair.check(frame);
    };
    CHECK(with(12, 8) == EMX_CNT_DROP_ETHERTYPE);
    CHECK(with(0, 2) == EMX_CNT_DROP_NOT_OURS);
    CHECK(with(5, 0x77) == EMX_CNT_DROP_GROUP); // another group's address
    CHECK(with(27, 0x77) == EMX_CNT_DROP_GROUP); // another group's key
    CHECK(with(11, 0x77) == EMX_CNT_DROP_UNKNOWN_PEER);
    CHECK(with(11, 2) == EMX_CNT_DROP_BAD_SOURCE); // our own
    CHECK(with(6, 3) == EMX_CNT_DROP_BAD_SOURCE); // a group's
    CHECK(with(16, EMX_TINY) == EMX_CNT_DROP_TYPE);
    CHECK(with(33, 101) == EMX_CNT_DROP_LENGTH);
    CHECK(with(33, 99) == 0); // padding
    auto none = good;
    std::memset(none.data() + 20, 0xff, 4);
    CHECK(pair.check(none) == EMX_CNT_DROP_GROUP); // no session
    auto zero = good;
    std::memset(zero.data() + 2, 0, 4);
    std::memset(zero.data() + 24, 0, 4);
    CHECK(pair.check(zero) == EMX_CNT_DROP_GROUP); // no key
    for (uint32_t length = 0; length < EMX_FRAME_MIN; length++)
        CHECK(pair.check({good.begin(), good.begin() + length}) == EMX_CNT_DROP_SHORT);
}

TEST_CASE("fw_group: no frame is made that none would take")
{
    const Pair pair;
    std::array<uint8_t, EMX_HEADER_MAX> header{};
    CHECK(fw_group_encode(&pair.sender, 0, 1, 10, header.data()) == 0);
    CHECK(fw_group_encode(&pair.sender, key, 1, 65535, header.data()) == 0);
    CHECK(fw_group_bytes(0) == 0);
    CHECK(fw_group_bytes(1514) == 1474);
}

TEST_CASE("fw_group: other packets to a group address, and this one to a board, go nowhere")
{
    const Pair pair;
    auto frame = frame_of(pair.sender, key, 1, 100);
    fw_pkt pkt;
    const auto length = static_cast<uint32_t>(frame.size());
    CHECK(fw_check(&pair.far.sizes, pair.far.mac, frame.data(), length, &pkt) == EMX_CNT_DROP_NOT_OURS);
    for (int i = 0; i < 6; i++)
        frame[static_cast<std::size_t>(i)] = static_cast<uint8_t>(pair.far.mac >> (8 * (5 - i)));
    CHECK(fw_check(&pair.far.sizes, pair.far.mac, frame.data(), length, &pkt) == EMX_CNT_DROP_TYPE);
}
