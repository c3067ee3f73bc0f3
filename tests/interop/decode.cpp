// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Every frame of the captures of a real MXoE peer passes fw_check, and what fw_encode makes of the
// decoded packet equals the frame in all bytes that have a meaning.
#include <driver/core/fw.h>
#include <tests/support/pcap.hpp>
#include <tests/support/wire_fields.h>

#include <catch2/catch.hpp>

#include <filesystem>
#include <map>
#include <set>
#include <string>

namespace {

/// Decodes and encodes all MXoE frames of a file; counts them by type.
std::map<unsigned, unsigned> replay(const std::string &path, const fw_sizes &s)
{
    const char dialect = s.dialect == FW_DIALECT_W ? 'W' : 'N';
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
            if (header[at] == f.bytes[at] || !wire_matters(at, f.bytes.data(), f.bytes.size(), dialect))
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
    bool pull = false;
    for (auto &f :
         emx::test::read_pcap(EMX_PCAP_FOLDER "/native/n1-tiny16-small100-medium20000-large1MiB.pcap")) {
        fw_pkt pkt;
        reasons.insert(fw_check(&w, 0, f.bytes.data(), static_cast<uint32_t>(f.bytes.size()), &pkt));
        pull = pull || pkt.foreign;
    }
    REQUIRE(reasons.count(EMX_CNT_DROP_DIALECT_MEDIUM) == 1);
    REQUIRE(pull);
}
