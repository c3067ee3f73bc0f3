// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Output of omx_trace. See output.hpp.
#include "tools/omx_trace/output.hpp"

#include "driver/base/printable.hpp"
#include "tools/cli.hpp"
#include "tools/csv.hpp"
#include "tools/json.hpp"

#include <emx/abi.h>
#include <emx/wire.h>

extern "C" {
#include "driver/core/fw.h"
}

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <limits>

namespace emx::trace {
namespace {

constexpr const char *kind_names[] = {"none",    "sent",    "received", "matched", "queued", "early",
                                      "dropped", "counted", "pulling",  "pulled",  "link",   "abandoned"};
constexpr const char *pull_names[] = {"complete",
                                      "refused: no such endpoint",
                                      "refused: endpoint closed",
                                      "refused: older session",
                                      "refused: no such window",
                                      "given up: no answer",
                                      "aborted"};
constexpr const char *link_names[] = {"up", "down", "gone"};

template <std::size_t size>
const char *one_of(const char *const (&names)[size], uint64_t index)
{
    return index < size ? names[index] : "?";
}

const char *type_name(uint8_t type)
{
    const char *name = fw_type_name(type);
    return name ? name : "";
}

const char *counter_name(uint16_t counter)
{
    const char *label = fw_counter_label(counter);
    return label ? label : "?";
}

bool has_message(const Entry &e) { return e.type >= EMX_TINY && e.type <= EMX_RNDV; }
bool has_number(const Entry &e) { return has_message(e) || e.type == EMX_NOTIFY; }
bool has_counter(const Entry &e)
{
    const auto kind = static_cast<Kind>(e.kind);
    return kind == Kind::dropped || kind == Kind::counted;
}

double us(int64_t ns) { return static_cast<double>(ns) / 1000; }

std::string number_text(const char *format, uint64_t value)
{
    char text[64];
    std::snprintf(text, sizeof(text), format, value);
    return text;
}

const char *fate_name(Fate fate)
{
    return fate == Fate::arrived ? "arrived" : fate == Fate::missing ? "never arrived" : "";
}

} // namespace

const char *event_name(const Entry &entry)
{
    if (static_cast<Kind>(entry.kind) == Kind::sent && (entry.flags & flag_resent))
        return "resent";
    return one_of(kind_names, entry.kind);
}

Output::Output(Form form, const std::vector<Trace> &traces) : form_(form), traces_(traces)
{
    start_ns_ = std::numeric_limits<int64_t>::max();
    for (const Trace &trace : traces) {
        names_[trace.header.mac] =
            trace.header.board_name[0] ? printable(trace.header.board_name) : cli::mac_text(trace.header.mac);
        if (!trace.entries.empty())
            start_ns_ = std::min(start_ns_, static_cast<int64_t>(trace.entries.front().time_ns) +
                                                trace.header.realtime_ns);
    }
    if (start_ns_ == std::numeric_limits<int64_t>::max())
        start_ns_ = 0;
}

std::string Output::end_name(uint64_t mac, uint32_t endpoint) const
{
    const auto name = names_.find(mac);
    return (name == names_.end() ? cli::mac_text(mac) : name->second) + "/" + std::to_string(endpoint);
}

void Output::begin() const
{
    if (form_ == Form::csv)
        std::printf("time_ns,host,pid,board,endpoint,event,type,peer,peer_endpoint,seq,ack,match,"
                    "message_bytes,frame_bytes,value,counter,memory,fate,under_way_us\n");
}

void Output::event(const Event &event) const
{
    if (form_ == Form::csv)
        csv_event(event);
    else
        text_event(event);
}

/// Text behind the name of an event.
std::string Output::details(const Event &event) const
{
    const Entry &e = event.entry;
    const auto kind = static_cast<Kind>(e.kind);
    if (kind == Kind::counted)
        return number_text("%" PRIu64 " times: ", e.value) + counter_name(e.counter);
    if (kind == Kind::link)
        return std::string("interface ") + one_of(link_names, e.value);
    std::string text = std::string(type_name(e.type)) + (kind == Kind::sent ? " to " : " from ") +
                       end_name(e.peer, e.remote_ep);
    if (has_number(e))
        text += " #" + std::to_string(e.seq & 0x3fff);
    if ((e.type == EMX_MEDIUM || e.type == EMX_X_MEDIUM) && (kind == Kind::sent || kind == Kind::received))
        text += " fragment " + std::to_string(e.value);
    if (has_message(e) || e.type == EMX_NOTIFY)
        text += ", " + std::to_string(e.msg_len) + " bytes";
    if (has_message(e))
        text += number_text(", match %#" PRIx64, e.match);
    if (kind == Kind::pulled)
        text += std::string(", ") + one_of(pull_names, e.value);
    if (kind == Kind::dropped)
        text += std::string("; ") + counter_name(e.counter);
    if (e.flags & flag_memory)
        text += ", by shared memory";
    if (e.flags & flag_refused)
        text += "; not sent, the interface refused it";
    if (kind == Kind::sent && event.fate == Fate::arrived)
        text += number_text("; under way for %" PRIu64 " ns",
                            static_cast<uint64_t>(std::max<int64_t>(event.under_way_ns, 0)));
    if (kind == Kind::sent && event.fate == Fate::missing)
        text += "; never arrived";
    return text;
}

void Output::text_event(const Event &event) const
{
    const Header &h = traces_[event.trace].header;
    std::printf("%14.3f %-14s %-9s %s\n", us(event.time_ns - start_ns_), end_name(h.mac, h.endpoint).c_str(),
                event_name(event.entry), details(event).c_str());
}

void Output::csv_event(const Event &event) const
{
    const Header &h = traces_[event.trace].header;
    const Entry &e = event.entry;
    const bool packet = e.type != 0 && e.type < EMX_EV_PULL_DONE;
    std::printf("%" PRId64 ",%s,%u,%u,%u,%s,%s,%s,%s,%s,%s,%s,%u,%u,%u,%s,%d,%s,", event.time_ns,
                csv_text(printable(h.host)).c_str(), h.pid, h.board, h.endpoint, event_name(e),
                packet ? type_name(e.type) : "", packet ? cli::mac_text(e.peer).c_str() : "",
                packet ? std::to_string(e.remote_ep).c_str() : "",
                has_number(e) ? std::to_string(e.seq & 0x3fff).c_str() : "",
                has_number(e) ? std::to_string(e.ack & 0x3fff).c_str() : "",
                has_message(e) ? number_text("%#" PRIx64, e.match).c_str() : "", e.msg_len, e.data_len,
                e.value, has_counter(e) ? counter_name(e.counter) : "", (e.flags & flag_memory) != 0,
                (e.flags & flag_refused) ? "refused" : fate_name(event.fate));
    if (event.fate == Fate::arrived)
        std::printf("%.3f", us(event.under_way_ns));
    std::printf("\n");
}

void Output::summary(const Merged &merged) const
{
    for (const Trace &trace : traces_) {
        const Header &h = trace.header;
        std::map<std::string, uint64_t> counts;
        for (const Entry &e : trace.entries) {
            if (static_cast<Kind>(e.kind) == Kind::counted)
                counts[counter_name(e.counter)] += e.value;
            else if (has_counter(e))
                counts[counter_name(e.counter)]++;
            else if (has_message(e) && static_cast<Kind>(e.kind) != Kind::sent)
                counts[event_name(e)]++;
        }
        std::printf("\n%s (%s, process %u, %s): %zu events, %" PRIu64 " older ones lost%s\n",
                    end_name(h.mac, h.endpoint).c_str(), printable(h.host).c_str(), h.pid,
                    printable(h.command).c_str(), trace.entries.size(), trace.lost,
                    trace.closed_ns ? "" : "; still open, or its process died");
        for (const auto &[what, count] : counts)
            std::printf("  %10" PRIu64 " %s\n", count, what.c_str());
    }
    for (const Flow &flow : merged.flows) {
        std::printf("\n%s to %s: %" PRIu64 " packets sent, %" PRIu64 " of them again, %" PRIu64
                    " seen to arrive, %" PRIu64 " never arrived",
                    end_name(flow.from, flow.from_ep).c_str(), end_name(flow.to, flow.to_ep).c_str(),
                    flow.sent, flow.resent, flow.arrived, flow.missing);
        if (flow.refused)
            std::printf(", %" PRIu64 " refused by the interface", flow.refused);
        if (const auto &t = flow.under_way_ns; !t.empty())
            std::printf("; under way for %.3f us at best, %.3f us in the middle", us(t.front()),
                        us(t[t.size() / 2]));
        std::printf("\n");
    }
    for (const HostClock &clock : merged.clocks) {
        if (&clock == &merged.clocks.front())
            continue;
        if (clock.measured)
            std::printf("\nThe clock of %s is %.3f us ahead of that of %s, give or take %.3f us.\n",
                        printable(clock.host).c_str(), us(clock.ahead_ns),
                        printable(merged.clocks[0].host).c_str(), us(clock.doubt_ns));
        else
            std::printf("\nThe clock of %s is taken for right: no packets went both ways.\n",
                        printable(clock.host).c_str());
    }
}

void Output::json_event(JsonWriter &json, const Event &event)
{
    const Entry &e = event.entry;
    json.begin_object();
    json.key("time_ns").number(event.time_ns);
    json.member("trace", event.trace);
    json.member("event", event_name(e));
    if (e.type != 0 && e.type < EMX_EV_PULL_DONE) {
        json.member("type", type_name(e.type));
        json.member("peer", cli::mac_text(e.peer));
        json.member("peer_endpoint", e.remote_ep);
        json.member("message_bytes", e.msg_len);
        json.member("frame_bytes", e.data_len);
    }
    if (has_number(e)) {
        json.member("seq", uint64_t{e.seq & 0x3fffu});
        json.member("ack", uint64_t{e.ack & 0x3fffu});
    }
    if (has_message(e))
        json.member("match", number_text("%#" PRIx64, e.match));
    if (has_counter(e))
        json.member("counter", counter_name(e.counter));
    json.member("value", e.value);
    if (e.flags & flag_memory)
        json.flag("memory", true);
    if ((e.flags & flag_refused) || event.fate != Fate::unknown)
        json.member("fate", (e.flags & flag_refused) ? "refused" : fate_name(event.fate));
    if (event.fate == Fate::arrived)
        json.key("under_way_us").decimal(us(event.under_way_ns), 3);
    json.end();
}

namespace {

void json_clock(JsonWriter &json, const HostClock &clock)
{
    json.begin_object();
    json.member("host", clock.host);
    json.key("ahead_us").decimal(us(clock.ahead_ns), 3);
    json.key("doubt_us").decimal(us(clock.doubt_ns), 3);
    json.flag("measured", clock.measured);
    json.end();
}

void json_trace(JsonWriter &json, const Trace &trace)
{
    const Header &h = trace.header;
    json.begin_object();
    json.member("file", trace.path);
    json.member("host", h.host);
    json.member("pid", h.pid);
    json.member("command", h.command);
    json.member("board", h.board);
    json.member("address", cli::mac_text(h.mac));
    json.member("name", h.board_name);
    json.member("endpoint", h.endpoint);
    json.member("events", trace.entries.size());
    json.member("lost", trace.lost);
    json.flag("closed", trace.closed_ns != 0);
    json.key("tai_s").number(int64_t{h.tai_ns / 1000000000});
    json.end();
}

void json_flow(JsonWriter &json, const Flow &flow)
{
    json.begin_object();
    json.member("from", cli::mac_text(flow.from));
    json.member("from_endpoint", flow.from_ep);
    json.member("to", cli::mac_text(flow.to));
    json.member("to_endpoint", flow.to_ep);
    json.member("sent", flow.sent);
    json.member("resent", flow.resent);
    json.member("refused", flow.refused);
    json.member("arrived", flow.arrived);
    json.member("never_arrived", flow.missing);
    if (const auto &t = flow.under_way_ns; !t.empty()) {
        json.key("under_way_min_us").decimal(us(t.front()), 3);
        json.key("under_way_median_us").decimal(us(t[t.size() / 2]), 3);
    }
    json.end();
}

template <typename Each, typename Print>
void json_list(JsonWriter &json, const char *name, const Each &all, Print print)
{
    json.key(name).begin_array(JsonLayout::lines);
    for (const auto &each : all) {
        print(json, each);
        json.flush(stdout);
    }
    json.end();
}

} // namespace

void Output::json(const Merged &merged, bool with_events) const
{
    static const std::vector<Event> no_events;
    JsonWriter json;
    begin_document(json, "omx_trace");
    json_list(json, "clocks", merged.clocks, json_clock);
    json_list(json, "traces", traces_, json_trace);
    json_list(json, "flows", merged.flows, json_flow);
    json_list(json, "events", with_events ? merged.events : no_events, json_event);
    end_document(json);
}

} // namespace emx::trace
