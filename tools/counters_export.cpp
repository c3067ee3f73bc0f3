// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Names of counters and metrics, and their values.
#include "counters_export.hpp"

#include "cli.hpp"
#include "diagnosis.hpp"
#include "json.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace emx {

namespace {

constexpr std::string_view ids[] = {
#define EMX_ID(id, label, help) #id,
    EMX_COUNTERS(EMX_ID)
#undef EMX_ID
};

/// "rx_tiny" of EMX_CNT_RX_TINY.
std::string lower(std::string_view id)
{
    std::string text(id);
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return text;
}

/// A board and all that is told of it.
struct Sample {
    BoardFacts board;
    emx_counters counters;
    std::vector<std::string> diagnosis;
    std::size_t open;
    std::size_t peers;
};

std::vector<Sample> take_samples(BoardView &view, const std::vector<BoardFacts> &boards)
{
    std::vector<Sample> samples;
    for (const BoardFacts &board : boards) {
        const emx_counters counters = view.counters(board.number);
        samples.push_back({board, counters, diagnose(counters, board), view.holders(board.number).size(),
                           view.peers(board.number).size()});
    }
    return samples;
}

// ---- OpenMetrics

using Labels = std::vector<std::pair<std::string, std::string>>;

/// "Text" in quotes; there are three escapes.
std::string label_text(const std::string &text)
{
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        out += c == '\n' ? std::string("\\n") : std::string(1, c);
    }
    return out + '"';
}

void begin_family(const std::string &name, const char *type, const std::string &help, const char *unit = "")
{
    std::printf("# HELP %s %s\n# TYPE %s %s\n", name.c_str(), help.c_str(), name.c_str(), type);
    if (*unit)
        std::printf("# UNIT %s %s\n", name.c_str(), unit);
}

void print_sample(const std::string &name, const Labels &labels, uint64_t value)
{
    std::string text;
    for (const auto &[label, its] : labels)
        text += (text.empty() ? "" : ",") + label + "=" + label_text(its);
    std::printf("%s{%s} %llu\n", name.c_str(), text.c_str(), static_cast<unsigned long long>(value));
}

Labels labels_of(const Sample &sample)
{
    return {{"board", std::to_string(sample.board.number)}, {"interface", sample.board.interface}};
}

struct Gauge {
    const char *name;
    const char *help;
    uint64_t (*value)(const Sample &sample);
    const char *unit = "";
};

constexpr Gauge gauges[] = {
    {"ethermx_board_link_up", "1 while the board's link is up.",
     [](const Sample &s) -> uint64_t { return s.board.link == EMX_LINK_UP; }},
    {"ethermx_board_mtu_bytes", "MTU of the board's interface.",
     [](const Sample &s) -> uint64_t { return s.board.mtu; }, "bytes"},
    {"ethermx_board_endpoints_open", "Endpoints that processes have open.",
     [](const Sample &s) -> uint64_t { return s.open; }},
    {"ethermx_board_endpoints_max", "Endpoints that can be open.",
     [](const Sample &s) -> uint64_t { return s.board.endpoint_max; }},
    {"ethermx_board_peers", "Boards in the peer table, this one among them.",
     [](const Sample &s) -> uint64_t { return s.peers; }},
    {"ethermx_board_peers_max", "Slots of the peer table.",
     [](const Sample &s) -> uint64_t { return s.board.peers_max; }},
    {"ethermx_board_misconfigurations",
     "Misconfigurations that the counters point to; omx_counters tells them.",
     [](const Sample &s) -> uint64_t { return s.diagnosis.size(); }},
};

void print_gauges(const std::vector<Sample> &samples)
{
    for (const Gauge &gauge : gauges) {
        begin_family(gauge.name, "gauge", gauge.help, gauge.unit);
        for (const Sample &sample : samples)
            print_sample(gauge.name, labels_of(sample), gauge.value(sample));
    }
}

/// Counters of one family differ by a label: the rest of their id.
struct Family {
    const char *name;
    const char *help;
    std::string_view prefix;
    const char *label;
};

constexpr Family families[] = {
    {"ethermx_packets_received", "Packets received, by type.", "RX_", "type"},
    {"ethermx_packets_sent", "Packets sent, by type; repeats included.", "TX_", "type"},
    {"ethermx_packets_dropped", "Packets dropped, by reason; omx_counters -v explains each.", "DROP_",
     "reason"},
};

/// Null for a counter that is a family by itself: packets in datagrams and by TCP are counted by type, too.
const Family *family_of(unsigned counter)
{
    for (const unsigned single :
         {EMX_CNT_RX_DATAGRAM, EMX_CNT_TX_DATAGRAM, EMX_CNT_RX_TCP, EMX_CNT_TX_TCP, EMX_CNT_TX_FAILED})
        if (counter == single)
            return nullptr;
    for (const Family &family : families)
        if (ids[counter].starts_with(family.prefix))
            return &family;
    return nullptr;
}

void print_family(const Family &family, const std::vector<Sample> &samples)
{
    begin_family(family.name, "counter", family.help);
    for (const Sample &sample : samples) {
        for (unsigned i = 0; i < EMX_CNT_COUNT; i++) {
            if (family_of(i) != &family)
                continue;
            Labels labels = labels_of(sample);
            labels.emplace_back(family.label, lower(ids[i].substr(family.prefix.size())));
            print_sample(std::string(family.name) + "_total", labels, sample.counters.v[i]);
        }
    }
}

void print_single(unsigned counter, const std::vector<Sample> &samples)
{
    const std::string name = "ethermx_" + lower(ids[counter]);
    begin_family(name, "counter", fw_counter_label(counter) + std::string(": ") + fw_counter_help(counter));
    for (const Sample &sample : samples)
        print_sample(name + "_total", labels_of(sample), sample.counters.v[counter]);
}

} // namespace

void print_openmetrics(BoardView &view, const std::vector<BoardFacts> &boards)
{
    const auto samples = take_samples(view, boards);
    begin_family("ethermx_build_info", "gauge", "The version of EtherMX; always 1.");
    print_sample("ethermx_build_info", {{"version", cli::version()}, {"device", view.device()}}, 1);
    begin_family("ethermx_board_info", "gauge", "Facts about a board; always 1.");
    for (const Sample &sample : samples) {
        Labels labels = labels_of(sample);
        labels.insert(labels.end(), {{"name", sample.board.name},
                                     {"address", cli::mac_text(sample.board.mac)},
                                     {"driver", sample.board.driver},
                                     {"dialect", sample.board.dialect()}});
        print_sample("ethermx_board_info", labels, 1);
    }
    print_gauges(samples);
    for (const Family &family : families)
        print_family(family, samples);
    for (unsigned i = 0; i < EMX_CNT_COUNT; i++)
        if (!family_of(i))
            print_single(i, samples);
    std::printf("# EOF\n");
}

void print_counters_json(BoardView &view, const std::vector<BoardFacts> &boards)
{
    JsonWriter json;
    begin_document(json, "omx_counters");
    json.key("boards").begin_array(JsonLayout::lines);
    for (const Sample &sample : take_samples(view, boards)) {
        json.begin_object(JsonLayout::lines);
        identify_board(json, sample.board);
        json.key("counters").begin_array(JsonLayout::lines);
        for (unsigned i = 0; i < EMX_CNT_COUNT; i++) {
            json.begin_object();
            json.member("name", lower(ids[i]));
            json.member("value", sample.counters.v[i]);
            json.member("label", fw_counter_label(i));
            json.member("help", fw_counter_help(i));
            json.end();
        }
        json.end();
        json.texts("diagnosis", sample.diagnosis);
        json.end();
    }
    json.end();
    end_document(json);
}

} // namespace emx
