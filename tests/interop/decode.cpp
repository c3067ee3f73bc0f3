// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Every frame of the captures of a real MXoE peer passes fw_check, and what fw_encode makes of the
// decoded packet equals the frame in all bytes that have a meaning.
#include <driver/core/fw.h>
#include <tests/support/pcap.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>

namespace {

/// Body bytes that the specification calls reserved, unset or garbage: [first, last] by type.
struct Span {
    unsigned type, first, last;
};
const Span meaningless_w[] = {
    {EMX_RAW, 1, 15},         {EMX_RAW, 28, 47},      {EMX_HOST_QUERY, 1, 1},   {EMX_HOST_QUERY, 4, 7},
    {EMX_HOST_QUERY, 12, 15}, {EMX_HOST_REPLY, 4, 7}, {EMX_HOST_REPLY, 12, 15}, {EMX_TRUC, 3, 3},
    {EMX_TRUC, 5, 7},         {EMX_TRUC, 13, 13},     {EMX_TRUC, 24, 27},       {EMX_CONNECT, 3, 3},
    {EMX_CONNECT, 5, 7},      {EMX_CONNECT, 12, 15},  {EMX_CONNECT, 29, 31},    {EMX_TINY, 3, 3},
    {EMX_TINY, 6, 7},         {EMX_SMALL, 3, 3},      {EMX_SMALL, 6, 7},        {EMX_MEDIUM, 3, 3},
    {EMX_MEDIUM, 6, 7},       {EMX_MEDIUM, 28, 31},   {EMX_RNDV, 3, 3},         {EMX_RNDV, 6, 7},
    {EMX_PULL, 3, 3},         {EMX_NOTIFY, 3, 3},     {EMX_NOTIFY, 14, 17},     {EMX_NOTIFY, 22, 23},
    {EMX_NACK_LIB, 2, 2},     {EMX_NACK_LIB, 4, 8},   {EMX_NACK_LIB, 14, 15},   {EMX_NACK_MCP, 2, 2},
    {EMX_NACK_MCP, 4, 7},
};

bool has_meaning(const fw_sizes &s, const fw_pkt &pkt, unsigned at)
{
    unsigned type = pkt.msg.type, b = at - EMX_OUTER_LEN;
    if (at < EMX_OUTER_LEN)
        return true;
    if (s.dialect == FW_DIALECT_N && type == EMX_MEDIUM && (b == 6 || b == 7))
        return true; // low half of the length
    if (s.dialect == FW_DIALECT_N && type == EMX_MEDIUM && b == 27)
        return false; // the exponent of W
    if (s.dialect == FW_DIALECT_N && type == EMX_PULL && b >= 17 && b <= 19)
        return false;
    if (type == EMX_CONNECT && !pkt.msg.u.connect.is_reply && b == 28)
        return false; // the status of a reply
    return std::none_of(std::begin(meaningless_w), std::end(meaningless_w),
                        [&](const Span &m) { return m.type == type && b >= m.first && b <= m.last; });
}

/// Decodes and encodes all MXoE frames of a file; counts them by type.
std::map<unsigned, unsigned> replay(const std::string &path, const fw_sizes &s)
{
    std::map<unsigned, unsigned> types;
    for (auto &f : emx::test::read_pcap(path)) {
        fw_pkt pkt;
        int why = fw_check(&s, 0, f.bytes.data(), static_cast<uint32_t>(f.bytes.size()), &pkt);
        CAPTURE(path, f.time_us, why ? fw_counter_label(static_cast<unsigned>(why)) : "ok");
        REQUIRE(why == 0);
        uint8_t header[EMX_HEADER_MAX + EMX_NAME_MAX];
        uint32_t length = fw_encode(&s, &pkt, header);
        REQUIRE(length <= f.bytes.size());
        for (unsigned at = 0; at < length; at++) {
            if (!has_meaning(s, pkt, at) || header[at] == f.bytes[at])
                continue;
            CAPTURE(fw_type_name(pkt.msg.type), at, int(header[at]), int(f.bytes[at]));
            FAIL("encoded otherwise");
        }
        types[pkt.msg.type]++;
    }
    REQUIRE(!types.empty());
    return types;
}

} // namespace

TEST_CASE("decode__captures_of_dialect_w")
{
    fw_sizes w;
    fw_sizes_w(&w);
    std::map<unsigned, unsigned> types;
    unsigned files = 0;
    for (auto &entry : std::filesystem::directory_iterator(EMX_PCAP_FOLDER))
        if (entry.path().extension() == ".pcap") {
            for (auto [type, n] : replay(entry.path().string(), w))
                types[type] += n;
            files++;
        }
    REQUIRE(files >= 30);
    for (unsigned type = 0; type < 46; type++)
        if (fw_type_name(type)) {
            CAPTURE(fw_type_name(type));
            CHECK(types[type] > 0);
        }
}

TEST_CASE("decode__capture_of_dialect_n")
{
    fw_sizes n;
    REQUIRE(fw_sizes_n(&n, 9000) == 0);
    auto types = replay(EMX_PCAP_FOLDER "/native/n1-tiny16-small100-medium20000-large1MiB.pcap", n);
    for (unsigned type : {EMX_TINY, EMX_SMALL, EMX_MEDIUM, EMX_RNDV, EMX_PULL, EMX_PULL_REPLY, EMX_NOTIFY})
        REQUIRE(types[type] > 0);
}

TEST_CASE("decode__the_wrong_dialect_is_seen")
{
    fw_sizes w;
    fw_sizes_w(&w);
    std::set<int> reasons;
    for (auto &f :
         emx::test::read_pcap(EMX_PCAP_FOLDER "/native/n1-tiny16-small100-medium20000-large1MiB.pcap")) {
        fw_pkt pkt;
        reasons.insert(fw_check(&w, 0, f.bytes.data(), static_cast<uint32_t>(f.bytes.size()), &pkt));
    }
    REQUIRE(reasons.count(EMX_CNT_DROP_DIALECT_MEDIUM) == 1);
    REQUIRE(reasons.count(EMX_CNT_DROP_DIALECT_PULL) == 1);
}
