// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Fields of MXoE frames (wire specification, section 4, dialect W). See fields.hpp.
#include "fields.hpp"

#include <emx/wire.h>

#include <stdexcept>

namespace emx::interop {

namespace {

constexpr uint8_t B = EMX_OUTER_LEN;

/// Two fields that name one thing.
bool belong_together(const Field &first, const Field &second)
{
    const int pair = first.use << 8 | second.use;
    return first.at + first.size == second.at &&
           (pair == (USE_OWN_WINDOW << 8 | USE_OWN_WINDOW_TAG) ||
            pair == (USE_WINDOW << 8 | USE_WINDOW_TAG) || pair == (USE_OWN_HANDLE << 8 | USE_OWN_MAGIC) ||
            pair == (USE_HANDLE << 8 | USE_MAGIC));
}

} // namespace

bool is_eager(uint8_t type) { return type >= EMX_TINY && type <= EMX_RNDV; }

std::vector<Field> fields_of(const Frame &frame)
{
    std::vector<Field> fields;
    for (const Field &f : wire_fields) {
        if (!wire_has(&f, frame.data(), frame.size(), 'W') || f.use == USE_IGNORED)
            continue;
        if (!fields.empty() && belong_together(fields.back(), f))
            fields.back().size = static_cast<uint8_t>(fields.back().size + f.size);
        else
            fields.push_back(f);
    }
    return fields;
}

std::string type_name(uint8_t type)
{
    static const std::map<uint8_t, std::string> names = {
        {EMX_RAW, "RAW"},           {EMX_HOST_QUERY, "HOST QUERY"}, {EMX_HOST_REPLY, "HOST REPLY"},
        {EMX_TRUC, "TRUC"},         {EMX_CONNECT, "CONNECT"},       {EMX_TINY, "TINY"},
        {EMX_SMALL, "SMALL"},       {EMX_MEDIUM, "MEDIUM"},         {EMX_RNDV, "RNDV"},
        {EMX_PULL, "PULL"},         {EMX_PULL_REPLY, "PULL REPLY"}, {EMX_NOTIFY, "NOTIFY"},
        {EMX_NACK_LIB, "NACK LIB"}, {EMX_NACK_MCP, "NACK MCP"}};
    auto it = names.find(type);
    return it == names.end() ? "type " + std::to_string(type) : it->second;
}

std::pair<size_t, size_t> payload_of(const Frame &f)
{
    switch (f[B]) {
    case EMX_TINY:
    case EMX_SMALL: return {B + 24, get(f, "length")};
    case EMX_MEDIUM: return {B + 32, get(f, "frag_size")};
    case EMX_PULL_REPLY: return {B + 16, get(f, "reply_size")};
    case EMX_HOST_REPLY: return {B + 16, get(f, "name_length")};
    default: return {f.size(), 0};
    }
}

uint64_t get(const Frame &frame, const Field &field)
{
    (void)frame.at(field.at + field.size - 1u);
    return wire_get(&field, frame.data());
}

void put(Frame &frame, const Field &field, uint64_t value)
{
    (void)frame.at(field.at + field.size - 1u);
    wire_put(&field, frame.data(), value);
}

uint64_t get(const Frame &frame, const std::string &name)
{
    for (const Field &f : fields_of(frame))
        if (f.name == name)
            return get(frame, f);
    throw std::logic_error(type_name(frame.at(B)) + " has no field " + name);
}

std::string identity(const Frame &f)
{
    std::string id = type_name(f.at(B));
    auto add = [&](const char *name) { id += std::string(" ") + name + " " + std::to_string(get(f, name)); };
    switch (f[B]) {
    case EMX_CONNECT: id += get(f, "is_reply") ? " reply" : " request"; break;
    case EMX_TRUC: add("ack"); break;
    case EMX_MEDIUM: add("frag"); [[fallthrough]];
    case EMX_TINY:
    case EMX_SMALL:
    case EMX_RNDV:
    case EMX_NOTIFY:
    case EMX_NACK_LIB: add("seq"); break;
    case EMX_PULL: add("window"), add("frame"); break;
    case EMX_PULL_REPLY: add("handle"), add("reply_frame"); break;
    }
    return id;
}

std::optional<uint16_t> ack_of(const Frame &f)
{
    if (is_eager(f[B]) || f[B] == EMX_NOTIFY || f[B] == EMX_TRUC)
        return static_cast<uint16_t>(get(f, "ack"));
    return std::nullopt;
}

wire_use chosen_as(const Field &field)
{
    switch (field.use) {
    case USE_SESSION:
    case USE_REQUESTER:
    case USE_REPLIER: return USE_SESSION;
    case USE_OWN_WINDOW:
    case USE_WINDOW: return USE_WINDOW;
    case USE_OWN_HANDLE:
    case USE_HANDLE: return USE_HANDLE;
    case USE_OWN_HOST_MAGIC:
    case USE_HOST_MAGIC: return USE_HOST_MAGIC;
    case USE_CONNECT_NUMBER: return USE_CONNECT_NUMBER;
    default: return USE_ANY;
    }
}

Translation::Key Translation::key(const Field &field, const Frame &frame, bool ours)
{
    const uint64_t value = get(frame, field);
    const wire_use use = chosen_as(field);
    if (use == USE_CONNECT_NUMBER || use == USE_HOST_MAGIC) { // each side has its own in its requests
        bool own_request =
            ours != (frame[B] == EMX_CONNECT ? get(frame, "is_reply") != 0 : frame[B] == EMX_HOST_REPLY);
        return {use, value << 1 | own_request};
    }
    return {use, value};
}

Frame Translation::to_live(const Frame &captured)
{
    Frame live = captured;
    for (const Field &f : fields_of(captured)) {
        if (chosen_as(f) == USE_ANY)
            continue;
        auto it = ours_.find(key(f, captured, false));
        if (it != ours_.end())
            put(live, f, it->second);
        else
            theirs_.insert(key(f, captured, false));
    }
    return live;
}

std::optional<uint64_t> Translation::expect(const Field &field, const Frame &captured, uint64_t live)
{
    uint64_t value = get(captured, field);
    if (chosen_as(field) == USE_ANY)
        return value;
    Key k = key(field, captured, true);
    if (theirs_.count(k))
        return value;
    auto [it, fresh] = ours_.emplace(k, live);
    if (fresh)
        return std::nullopt;
    return it->second;
}

} // namespace emx::interop
