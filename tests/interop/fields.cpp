// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Fields of MXoE frames (wire specification, section 4, dialect W). See fields.hpp.
#include "fields.hpp"

#include <emx/wire.h>

#include <algorithm>
#include <stdexcept>

namespace emx::interop {

namespace {

constexpr uint8_t B = EMX_OUTER_LEN;

const Field table[] = {
    {0, "destination MAC", 0, 6},
    {0, "source MAC", 6, 6},
    {0, "EtherType", 12, 2},
    {0, "tag", 14, 2, Use::tag},
    {0, "type", B, 1},

    {EMX_HOST_QUERY, "advert", B + 2, 2},
    {EMX_HOST_QUERY, "magic", B + 8, 4, Use::magic},
    {EMX_HOST_REPLY, "name length", B + 1, 1},
    {EMX_HOST_REPLY, "advert", B + 2, 2},
    {EMX_HOST_REPLY, "magic", B + 8, 4, Use::magic},

    {EMX_CONNECT, "destination endpoint", B + 1, 1},
    {EMX_CONNECT, "source endpoint", B + 2, 1},
    {EMX_CONNECT, "data length", B + 4, 1},
    {EMX_CONNECT, "sequence number", B + 8, 2},
    {EMX_CONNECT, "advert", B + 10, 2},
    {EMX_CONNECT, "requester's session", B + 16, 4, Use::session},
    {EMX_CONNECT, "key or session", B + 20, 4, Use::session}, // a request's is a key: see fields_of
    {EMX_CONNECT, "start number", B + 24, 2},
    {EMX_CONNECT, "is reply", B + 26, 1},
    {EMX_CONNECT, "connect number", B + 27, 1, Use::number},
    {EMX_CONNECT, "status", B + 28, 1},

    {EMX_TRUC, "destination endpoint", B + 1, 1},
    {EMX_TRUC, "source endpoint", B + 2, 1},
    {EMX_TRUC, "data length", B + 4, 1},
    {EMX_TRUC, "session", B + 8, 4, Use::session},
    {EMX_TRUC, "kind", B + 12, 1},
    {EMX_TRUC, "ack", B + 14, 2},
    {EMX_TRUC, "copy of the session", B + 16, 4, Use::session},
    {EMX_TRUC, "ack counter", B + 20, 4, Use::counter},
    {EMX_TRUC, "copy of the ack", B + 24, 2},
    {EMX_TRUC, "resends", B + 26, 1},

    {EMX_MEDIUM, "fragment length", B + 24, 2},
    {EMX_MEDIUM, "fragment number", B + 26, 1},
    {EMX_MEDIUM, "size exponent", B + 27, 1},
    {EMX_RNDV, "message length", B + 24, 4},
    {EMX_RNDV, "window", B + 28, 2, Use::window},
    {EMX_RNDV, "window offset", B + 30, 2},

    {EMX_PULL, "destination endpoint", B + 1, 1},
    {EMX_PULL, "source endpoint", B + 2, 1},
    {EMX_PULL, "session", B + 4, 4, Use::session},
    {EMX_PULL, "total length", B + 8, 4},
    {EMX_PULL, "window", B + 12, 2, Use::window},
    {EMX_PULL, "window offset", B + 14, 2},
    {EMX_PULL, "handle and magic", B + 16, 8, Use::handle},
    {EMX_PULL, "skip", B + 24, 2},
    {EMX_PULL, "block length", B + 26, 2},
    {EMX_PULL, "frame index", B + 28, 4},

    {EMX_PULL_REPLY, "frame number", B + 1, 1},
    {EMX_PULL_REPLY, "data length", B + 2, 2},
    {EMX_PULL_REPLY, "position", B + 4, 4},
    {EMX_PULL_REPLY, "handle and magic", B + 8, 8, Use::handle},

    {EMX_NOTIFY, "destination endpoint", B + 1, 1},
    {EMX_NOTIFY, "source endpoint", B + 2, 1},
    {EMX_NOTIFY, "session", B + 4, 4, Use::session},
    {EMX_NOTIFY, "length", B + 8, 4},
    {EMX_NOTIFY, "window", B + 12, 2, Use::window},
    {EMX_NOTIFY, "sequence number", B + 18, 2},
    {EMX_NOTIFY, "ack", B + 20, 2},

    {EMX_NACK_LIB, "source endpoint", B + 1, 1},
    {EMX_NACK_LIB, "reason", B + 3, 1},
    {EMX_NACK_LIB, "destination endpoint", B + 9, 1},
    {EMX_NACK_LIB, "copy of the tag", B + 10, 2},
    {EMX_NACK_LIB, "sequence number", B + 12, 2},

    {EMX_NACK_MCP, "puller's endpoint", B + 1, 1},
    {EMX_NACK_MCP, "reason", B + 3, 1},
    {EMX_NACK_MCP, "handle and magic", B + 8, 8, Use::handle},
};

/// TINY, SMALL, MEDIUM and RNDV begin alike.
const Field eager[] = {
    {0, "destination endpoint", B + 1, 1},
    {0, "source endpoint", B + 2, 1},
    {0, "length", B + 4, 2},
    {0, "sequence number", B + 8, 2},
    {0, "ack", B + 10, 2},
    {0, "match information", B + 12, 8},
    {0, "session", B + 20, 4, Use::session},
};

bool is_eager(uint8_t type) { return type >= EMX_TINY && type <= EMX_RNDV; }

} // namespace

std::vector<Field> fields_of(uint8_t type)
{
    std::vector<Field> fields;
    for (const Field &f : table)
        if (f.type == 0 || f.type == type)
            fields.push_back(f);
    if (is_eager(type))
        fields.insert(fields.end(), std::begin(eager), std::end(eager));
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
    case EMX_MEDIUM: return {B + 32, get(f, "fragment length")};
    case EMX_PULL_REPLY: return {B + 16, get(f, "data length")};
    case EMX_HOST_REPLY: return {B + 16, get(f, "name length")};
    default: return {f.size(), 0};
    }
}

uint64_t get(const Frame &frame, const Field &field)
{
    uint64_t v = 0;
    for (size_t i = 0; i < field.size; i++)
        v = v << 8 | frame.at(field.at + i);
    return v;
}

void put(Frame &frame, const Field &field, uint64_t value)
{
    for (size_t i = field.size; i-- > 0; value >>= 8)
        frame.at(field.at + i) = static_cast<uint8_t>(value);
}

uint64_t get(const Frame &frame, const std::string &name)
{
    for (const Field &f : fields_of(frame.at(B)))
        if (f.name == name)
            return get(frame, f);
    throw std::logic_error(type_name(frame[B]) + " has no field " + name);
}

std::string identity(const Frame &f)
{
    std::string id = type_name(f.at(B));
    auto add = [&](const char *name) { id += std::string(" ") + name + " " + std::to_string(get(f, name)); };
    switch (f[B]) {
    case EMX_CONNECT: id += get(f, "is reply") ? " reply" : " request"; break;
    case EMX_TRUC: add("ack"); break;
    case EMX_MEDIUM: add("fragment number"); [[fallthrough]];
    case EMX_TINY:
    case EMX_SMALL:
    case EMX_RNDV:
    case EMX_NOTIFY:
    case EMX_NACK_LIB: add("sequence number"); break;
    case EMX_PULL: add("window"), add("frame index"); break;
    case EMX_PULL_REPLY: add("handle and magic"), add("frame number"); break;
    }
    return id;
}

std::optional<uint16_t> ack_of(const Frame &f)
{
    if (is_eager(f[B]) || f[B] == EMX_NOTIFY || f[B] == EMX_TRUC)
        return static_cast<uint16_t>(get(f, "ack"));
    return std::nullopt;
}

Translation::Key Translation::key(const Field &field, const Frame &frame, bool ours)
{
    uint64_t value = get(frame, field);
    if (field.use == Use::number || field.use == Use::magic) { // each side has its own in its requests
        bool own_request =
            ours != (frame[B] == EMX_CONNECT ? get(frame, "is reply") != 0 : frame[B] == EMX_HOST_REPLY);
        return {field.use, value << 1 | own_request};
    }
    return {field.use, value};
}

namespace {

/// A request carries a key where a reply carries a session.
bool is_key(const Field &field, const Frame &frame)
{
    return field.use == Use::session && std::string(field.name) == "key or session" &&
           !get(frame, "is reply");
}

bool is_chosen(Use use) { return use != Use::same && use != Use::counter && use != Use::tag; }

} // namespace

Frame Translation::to_live(const Frame &captured)
{
    Frame live = captured;
    for (const Field &f : fields_of(captured.at(B))) {
        if (!is_chosen(f.use) || is_key(f, captured))
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
    if (!is_chosen(field.use) || is_key(field, captured))
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
