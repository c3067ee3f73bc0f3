// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// The model peer's large messages below the library: section 10. See host.hpp.
#include "endpoint.hpp"

#include <algorithm>

namespace emx::model {

namespace {

constexpr uint32_t blocks_outstanding = 4;
constexpr uint64_t silence = sec;
constexpr uint64_t pull_limit = 500 * sec;

/// Message bytes of frame k when the window offset leaves o in a frame.
std::pair<uint64_t, uint64_t> bytes_of(uint64_t k, uint64_t o, uint64_t L, uint64_t total)
{
    return {k ? k * L - o : 0, std::min(total, (k + 1) * L - o)};
}

} // namespace

void Host::on_pull(const Packet &p, const Bytes &frame)
{
    Endpoint *e = endpoint(p.to);
    if (!e)
        return refuse(p, 2);
    if (p.session != e->session())
        return refuse(p, 3);
    const Window &w = e->window(p.window);
    // The request may have overtaken nothing but been overtaken by the NOTIFY: then it is a leftover.
    if (!w.used || (w.tag != p.window_tag && !quirks_.windows_unchecked))
        return refuse(p, 4);
    uint64_t L = dialect_.reply;
    uint64_t begin = p.frame_index * L - p.window_offset % L + p.skip;
    bool inside = p.window_offset == w.offset && p.length <= w.message->size() &&
                  begin + p.block_length <= w.message->size();
    if (!inside && w.tag == p.window_tag)
        violate("10.1: a PULL beyond the message, or for another window offset", frame);
    if (!inside)
        return;
    uint64_t done = 0;
    for (uint32_t i = 0; done < p.block_length; i++) {
        uint64_t n = std::min<uint64_t>(p.block_length - done, i == 0 ? L - p.skip : L);
        Packet r;
        r.type = pull_reply;
        r.dst = p.src;
        r.frame_number = static_cast<uint8_t>(p.frame_index + i);
        r.position = static_cast<uint32_t>(begin + done);
        r.handle = p.handle;
        r.magic = p.magic;
        auto from = w.message->begin() + static_cast<long>(begin + done);
        r.data.assign(from, from + static_cast<long>(n));
        transmit(r);
        done += n;
    }
}

uint32_t Host::start_pull(Endpoint &owner, const Packet &announced, uint32_t session, uint32_t total)
{
    uint32_t handle = handles_++;
    Pull &pull = pulls_[handle];
    pull.owner = &owner;
    Packet &r = pull.request;
    r.type = model::pull;
    r.dst = announced.src;
    r.to = announced.from;
    r.from = owner.number();
    r.session = session;
    r.length = total;
    r.window = announced.window;
    r.window_tag = announced.window_tag;
    r.window_offset = announced.window_offset;
    r.handle = handle;
    r.magic = owner.number() ^ 0x21071980u;
    uint64_t o = r.window_offset % dialect_.reply;
    pull.data.resize(total);
    pull.got.resize((o + total + dialect_.reply - 1) / dialect_.reply);
    pull.started = pull.last = now();
    pull.fails = rng_.chance(quirks_.failing_pulls);
    advance(handle, pull);
    return handle;
}

void Host::request_block(const Pull &pull, uint32_t block)
{
    Packet r = pull.request;
    uint64_t L = dialect_.reply, o = r.window_offset % L;
    uint64_t first = uint64_t{block} * dialect_.block;
    uint64_t last = std::min<uint64_t>(first + dialect_.block, pull.got.size()) - 1;
    r.frame_index = static_cast<uint32_t>(first);
    r.skip = static_cast<uint32_t>(block ? 0 : o);
    r.block_length =
        static_cast<uint32_t>(bytes_of(last, o, L, r.length).second - bytes_of(first, o, L, r.length).first);
    transmit(r);
}

bool Host::block_complete(const Pull &pull, uint32_t block) const
{
    size_t first = size_t{block} * dialect_.block;
    size_t end = std::min<size_t>(first + dialect_.block, pull.got.size());
    return std::all_of(pull.got.begin() + static_cast<long>(first), pull.got.begin() + static_cast<long>(end),
                       [](bool got) { return got; });
}

/// Retires what is complete and requests as many new blocks; ends the pull behind the last.
void Host::advance(uint32_t handle, Pull &pull)
{
    uint32_t blocks = static_cast<uint32_t>((pull.got.size() + dialect_.block - 1) / dialect_.block);
    while (pull.base < blocks && pull.base < pull.asked && block_complete(pull, pull.base)) {
        pull.base++;
        pull.again.clear();
    }
    if (pull.base == blocks)
        return end_pull(handle, true);
    while (pull.asked < std::min(blocks, pull.base + blocks_outstanding))
        request_block(pull, pull.asked++);
}

void Host::on_pull_reply(const Packet &p, const Bytes &frame)
{
    auto it = pulls_.find(p.handle);
    if (it == pulls_.end() || p.magic != it->second.request.magic)
        return;
    Pull &pull = it->second;
    uint64_t L = dialect_.reply, o = pull.request.window_offset % L;
    if (((p.position + L - 1) / L & 0xff) != p.frame_number)
        violate("10.2: frame number and position disagree", frame);
    uint32_t first = pull.base * dialect_.block;
    uint32_t k = first + static_cast<uint8_t>(p.frame_number - first);
    if (k >= std::min<size_t>(size_t{pull.asked} * dialect_.block, pull.got.size()) ||
        (p.position + L - 1) / L != k)
        return; // of a block that is complete: a duplicate
    auto [begin, end] = bytes_of(k, o, L, pull.request.length);
    if (p.position != begin || p.data.size() != end - begin)
        violate("10.2: position or size of a reply is not that of its frame", frame);
    if (pull.got[k])
        return;
    std::copy(p.data.begin(), p.data.end(), pull.data.begin() + static_cast<long>(begin));
    pull.got[k] = true;
    pull.last = now();
    if (pull.fails)
        return end_pull(p.handle, false);
    uint32_t block = k / dialect_.block;
    if (block > pull.base && block_complete(pull, block)) {
        for (uint32_t b = pull.base; b < block; b++)
            if (!block_complete(pull, b) && pull.again.insert(b).second)
                request_block(pull, b);
    }
    advance(p.handle, pull);
}

void Host::on_nack_mcp(const Packet &p, const Bytes &frame)
{
    auto it = pulls_.find(p.handle);
    if (it == pulls_.end() || p.magic != it->second.request.magic)
        return;
    if (!may_be_refused)
        violate("11.2: a live pull is refused, which kills the application", frame);
    end_pull(p.handle, false);
}

void Host::end_pull(uint32_t handle, bool good)
{
    auto node = pulls_.extract(handle);
    Pull &pull = node.mapped();
    pull.owner->pull_ended(handle, good, std::move(pull.data));
    ground_.stirred();
}

void Host::tick_pulls()
{
    std::vector<uint32_t> late;
    for (auto &[handle, pull] : pulls_) {
        if (now() < pull.last + silence)
            continue;
        pull.last = now();
        if (now() > pull.started + pull_limit) {
            late.push_back(handle);
            continue;
        }
        pull.again.clear();
        for (uint32_t b = pull.base; b < pull.asked; b++)
            if (!block_complete(pull, b))
                request_block(pull, b);
    }
    for (uint32_t handle : late)
        end_pull(handle, false);
}

uint64_t Host::deadline() const
{
    uint64_t first = next_query_;
    for (auto &[handle, pull] : pulls_)
        first = std::min(first, pull.last + silence);
    return first;
}

} // namespace emx::model
