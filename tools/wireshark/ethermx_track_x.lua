-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
--[[
What several frames of the EtherMX extension say together: which X DATA answers which X PULL and belongs to which
message, what a report tells of earlier frames, and which question it answers. ethermx.lua adds it to what
ethermx_track.lua keeps; by itself it does nothing.
]]

local SPAN = 16384 -- sequence numbers

-- Numbers of the bits that are set in bytes, given as hexadecimal digits; the lowest bit of a byte comes first.
local function set_bits(digits)
    local list = {}
    for i = 1, #digits - 1, 2 do
        local byte = tonumber(digits:sub(i, i + 1), 16)
        for bit = 0, 7 do
            if math.floor(byte / 2 ^ bit) % 2 == 1 then list[#list + 1] = (i - 1) * 4 + bit end
        end
    end
    return list
end

local function key_of(board, p) return board .. p.handle .. "." .. p.magic end

local function add(Track, handlers)
    -- ---- pulls ----

    -- Notes which frames a request asks for, and how many of them an earlier one had asked for.
    local function want(fetch, p, request)
        local count, before = 0, nil
        for _, bit in ipairs(set_bits(p.x_want)) do
            local k = p.x_frame + bit
            if fetch.asked[k] then
                count = count + 1
                before = before or fetch.asked[k]
            end
            fetch.asked[k], request.wanted[k] = request, true
        end
        return count, before
    end

    function Track:x_pull(p)
        local good, window = self:servable(p, {}) -- the offset of a window moves no borders of frames
        if not good then
            self.doubtful[key_of(p.src, p)] = { at = p.at, when = p.when, replier = p.dst }
            return
        end
        local fetch = self:fetch(p, window)
        local request = { at = p.at, when = p.when, wanted = {} }
        if fetch.unit and fetch.unit ~= p.x_unit then -- it begins anew: its connection has ended
            fetch.asked, fetch.got, fetch.bytes, fetch.requests = {}, {}, 0, nil
        end
        fetch.unit, fetch.requests = p.x_unit, fetch.requests or {}
        fetch.requests[p.x_request] = request
        fetch.waiting[#fetch.waiting + 1] = request
        fetch.newest = request
        local count, before = want(fetch, p, request)
        if count > 0 then self.note(p.at, "x_again", count) end
        if count == p.x_count then self:again(p, before.at, before.when) end
    end

    -- Why p is not what the pull asks for.
    local function misfit(p, fetch)
        local request = fetch.requests[p.x_request]
        if fetch.replier ~= p.src then return "another board was asked: " .. fetch.replier end
        if not request then return string.format("no request %d", p.x_request) end
        if not request.wanted[p.x_frame] then
            return string.format("frame %d is none of request %d, in frame %d", p.x_frame, p.x_request, request.at)
        end
        local size = math.min(fetch.unit, fetch.total - p.x_frame * fetch.unit)
        if p.x_size ~= size then return string.format("%d bytes, must be %d", p.x_size, size) end
    end

    function Track:x_data(p)
        local fetch = self.pulls[key_of(p.dst, p)]
        if not fetch or not fetch.requests then
            if self.met[p.src .. p.dst] then
                self.warn(p.at, "unexpected.reply", "no pull has this handle and magic")
            end
            return
        end
        local problem = misfit(p, fetch)
        if problem then return self.warn(p.at, "unexpected.reply", problem) end
        local request, before = fetch.requests[p.x_request], fetch.got[p.x_frame]
        self.note(p.at, "position", p.x_frame * fetch.unit)
        if fetch.message_in then self.note(p.at, "message_in", fetch.message_in) end
        self:answer(p, request)
        request.answered = true
        if before then return self:again(p, before.at, before.when) end
        fetch.got[p.x_frame] = { at = p.at, when = p.when }
        fetch.bytes = fetch.bytes + p.x_size
        if fetch.bytes == fetch.total then self.note(p.at, "complete", true) end
    end

    -- ---- packs ----

    -- Each message counts as if it had come alone, but for the ack, which the frame has once.
    function Track:pack(p)
        local way, back = self:partner(p)
        if not way then return end
        self:take_ack(p, back)
        local bits = p.seq - p.seq % SPAN
        for i, message in ipairs(p.packed or {}) do
            self:number({ type = message.length <= 32 and 37 or 38, packed_in = p.at, at = p.at, when = p.when,
                          seq = bits + (p.seq + i - 1) % SPAN, match = message.match, length = message.length }, way)
        end
    end

    -- ---- reports ----

    -- The report p is the first to say that this copy of a message or fragment is there.
    function Track:seen(p, copy)
        if not copy or copy.reported then return end
        copy.reported = p.at
        self.note(copy.at, "reported_in", p.at)
        self.note(p.at, "reports", copy.at)
    end

    function Track:seen_fragments(p, message, bits)
        for part = 0, 31 do
            if message and math.floor(bits / 2 ^ part) % 2 == 1 then self:seen(p, message.copies[part]) end
        end
    end

    local ALL = 0xffffffff -- fragments; of a message that has none, the first

    -- What arrived before its turn.
    function Track:state(p, back)
        local next_number = p.ack % SPAN
        if not p.x_here then return end -- a report without all of its state
        for _, bit in ipairs(set_bits(p.x_here)) do
            self:seen_fragments(p, back.sent[(next_number + 1 + bit) % SPAN], ALL)
        end
        self:seen_fragments(p, back.sent[next_number], p.x_frags)
        self:seen_fragments(p, back.sent[p.x_other % SPAN], p.x_other_frags)
    end

    -- The echo names the newest report that its sender had taken: a question up to that one is answered.
    function Track:echo(p, back)
        local question = back.question
        if not question or question.counter > p.x_echo then return end
        back.question = nil
        self:answer(p, question)
    end

    function Track:report(p)
        local way, back = self:partner(p)
        if not way then return end
        if way.report and p.x_counter <= way.report then
            return self.warn(p.at, "unexpected.report", string.format("%d after %d", p.x_counter, way.report))
        end
        way.report = p.x_counter
        self:take_ack(p, back)
        self:state(p, back)
        self:echo(p, back)
        if p.x_report_flags % 2 == 1 then
            way.question = way.question or { at = p.at, when = p.when, counter = p.x_counter }
        end
    end

    handlers[112], handlers[113], handlers[114], handlers[115] =
        Track.sequenced, Track.report, Track.x_pull, Track.x_data
    handlers[119] = Track.pack
end

return add
