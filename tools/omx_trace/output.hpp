// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Output of omx_trace: events and a summary as text, or all of it as CSV or JSON.
#pragma once

#include "tools/omx_trace/merge.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace emx {
class JsonWriter;
}

namespace emx::trace {

enum class Form { text, csv, json };

class Output {
public:
    Output(Form form, const std::vector<Trace> &traces);

    /// Before the first event.
    void begin() const;
    void event(const Event &event) const;
    /// As text only.
    void summary(const Merged &merged) const;
    /// The whole as one JSON value.
    void json(const Merged &merged, bool with_events) const;

private:
    std::string end_name(uint64_t mac, uint32_t endpoint) const;
    std::string details(const Event &event) const;
    void text_event(const Event &event) const;
    void csv_event(const Event &event) const;
    static void json_event(JsonWriter &json, const Event &event);

    const Form form_;
    const std::vector<Trace> &traces_;
    std::map<uint64_t, std::string> names_; ///< of boards that are traced, by MAC
    int64_t start_ns_ = 0; ///< of text
};

/// "sent", "resent", "matched" and so on.
const char *event_name(const Entry &entry);

} // namespace emx::trace
