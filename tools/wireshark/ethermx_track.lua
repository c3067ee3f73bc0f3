-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
--[[
What one frame alone does not say: which reply answers which request, which message an ack or a frame of data belongs
to, what is sent again, and what contradicts the frames before it. ethermx.lua feeds it every frame once, in order; by
itself it does nothing.

A capture may begin in the middle. So a frame is called unexpected only where the capture shows enough: numbers, windows
and pulls of two endpoints are judged from their connect on.
]]

local NONE = 0xffffffff -- no session
local SPAN = 16384 -- sequence numbers

-- What must be equal when a number comes again; the ack is fresh each time.
local SAME = {
    [37] = { "length", "match" }, [38] = { "length", "match" }, [39] = { "length", "match" },
    [40] = { "length", "match", "window", "window_tag", "window_offset" },
    [43] = { "length", "window", "window_tag" }, [112] = { "length", "match" },
}
local TAGGED = { [35] = true, [37] = true, [38] = true, [39] = true, [40] = true, [41] = true, [43] = true,
                 [44] = true, [45] = true }

local Track = {}
Track.__index = Track

--[[
note(frame, key, value) attaches a field to a frame, also to an earlier one; warn(frame, key, text) an expert note;
learn_reply(sizes, bytes) takes the size of a full pull reply.
]]
local function new(note, warn, learn_reply)
    return setmetatable({ note = note, warn = warn, learn_reply = learn_reply, sessions = {}, ways = {}, streams = {}, stream_count = 0,
                          asked = {}, queries = {}, windows = {}, pulls = {}, doubtful = {}, adverts = {}, met = {},
                          beacons = {} },
                        Track)
end

local function bits_of(number) return math.floor(number / SPAN) end
local function name_of(mac, ep) return mac .. "/" .. ep end
local function after(a, b) return (a - b) % SPAN end

-- ---- endpoints and ways ----

--[[
A way is all that goes from one endpoint to another, as long as both keep their sessions: numbers sent, and numbers
acknowledged by what goes the other way.
]]
function Track:way(from, to)
    local key = from .. ">" .. to
    local way = self.ways[key]
    local s, d = self.sessions[from], self.sessions[to]
    if not way or (way.from_session and s and way.from_session ~= s.value)
        or (way.to_session and d and way.to_session ~= d.value) then
        way = { sent = {}, strays = way and way.strays or {}, last = way and way.sent }
        self.ways[key] = way
    end
    way.from_session, way.to_session = s and s.value, d and d.value
    return way
end

function Track:stream(a, b)
    local key = a < b and a .. b or b .. a
    if not self.streams[key] then
        self.streams[key] = self.stream_count
        self.stream_count = self.stream_count + 1
    end
    return self.streams[key]
end

-- An endpoint says its session.
function Track:tell_session(endpoint, value, at)
    local known = self.sessions[endpoint]
    if not known or known.value ~= value then self.sessions[endpoint] = { value = value, at = at, told = true } end
    self.sessions[endpoint].told = true
end

-- Whether the receiver would take p's session; learns it from data when no connect was seen.
function Track:right_session(p)
    local known = self.sessions[p.to]
    if p.session == NONE then
        self.warn(p.at, "unexpected.one_sided")
    elseif known and known.told and known.value ~= p.session then
        self.warn(p.at, "unexpected.session", string.format("it told 0x%08x in frame %d", known.value, known.at))
    else
        if not known or not known.told then self.sessions[p.to] = { value = p.session, at = p.at } end
        return true
    end
    return false
end

-- ---- repeats and answers ----

function Track:again(p, at, when)
    self.note(p.at, "retransmission", true)
    self.note(p.at, "retransmission_of", at)
    self.note(p.at, "retransmission_time", p.when - when)
    self.warn(p.at, "repeated")
end

function Track:answer(p, request)
    self.note(p.at, "request_in", request.at)
    self.note(p.at, "response_time", p.when - request.when)
    self.note(request.at, "response_in", p.at)
end

-- ---- numbers and acks ----

local function differs(p, message)
    if p.type ~= message.type and not p.packed_in and not message.packed_in then return "another type" end
    for _, key in ipairs(SAME[p.type]) do
        if p[key] ~= message[key] then return "another " .. key:gsub("_", " ") end
    end
end

local function begin(p, way, number)
    local message = { type = p.type, packed_in = p.packed_in, at = p.at, number = number, copies = {}, frames = {}, bytes = 0 }
    for _, key in ipairs(SAME[p.type]) do message[key] = p[key] end
    way.sent[number] = message
    if not way.newest or after(number, way.newest) < SPAN / 2 then
        -- The other half of the circle is old by now: a number there will be a new message's.
        for n = (way.newest or number) + 1, (way.newest or number) + after(number, way.newest or number) do
            way.sent[(n + SPAN / 2) % SPAN] = nil
        end
        way.newest = number
    end
    way.oldest = way.oldest or number
    return message
end

-- A sequenced packet that its receiver would take: a new message, a further fragment, or a repeat.
function Track:number(p, way)
    local number = p.seq % SPAN
    local message = way.sent[number]
    if way.bits and way.bits ~= bits_of(p.seq) then -- the sender gave up once: all its numbers are new
        way.sent, way.newest, way.oldest, message = {}, nil, nil, nil
    end
    way.bits = bits_of(p.seq)
    local difference = message and differs(p, message)
    if difference then
        self.warn(p.at, "unexpected.content",
                  string.format("%s than in frame %d", difference, message.at))
        return nil
    end
    message = message or begin(p, way, number)
    self:copy(p, message)
    return message
end

function Track:copy(p, message)
    local part = p.frag or 0
    local before = message.copies[part]
    message.frames[#message.frames + 1] = p.at
    message.copies[part] = { at = p.at, when = p.when }
    message.last_at, message.last_when = p.at, p.when
    if before then return self:again(p, before.at, before.when) end
    if p.at ~= message.at then self.note(p.at, "message_in", message.at) end
    message.bytes = message.bytes + (p.frag_size or 0)
    if p.frag and message.bytes == p.length then self.note(p.at, "complete", true) end
end

function Track:right_bits(p, value, way, what)
    local told = way.start
    if told and bits_of(told) ~= bits_of(value) then
        self.warn(p.at, "unexpected.session_bits",
                  string.format("%s has %d, the connect in frame %d told %d", what, bits_of(value), way.start_at,
                                bits_of(told)))
        return false
    end
    return true
end

-- p acknowledges what went the way back, up to the number before p.ack.
function Track:take_ack(p, back)
    local next_number, oldest = p.ack % SPAN, back.oldest or (back.start and back.start % SPAN)
    if not oldest then return end
    local newest = back.newest and (back.newest + 1) % SPAN or oldest
    local count = after(next_number, oldest)
    if count > after(newest, oldest) then
        -- Behind the oldest it is an old ack; ahead of the newest nobody can have sent it.
        if count < SPAN / 2 and back.start then
            self.warn(p.at, "unexpected.ack", string.format("%d is not sent yet", (next_number - 1) % SPAN))
        end
        return
    end
    local newest_message
    local noted, noted_in = {}, {} -- several messages of a frame: once
    local function once(list, at, note, ...)
        if not list[at] then self.note(note, ...) end
        list[at] = true
    end
    for i = 0, count - 1 do
        local message = back.sent[(oldest + i) % SPAN]
        if message then
            newest_message = message
            message.acked = p.at
            once(noted, message.last_at, p.at, "acks", message.last_at)
            for _, at in ipairs(message.frames) do once(noted_in, at, at, "acked_in", p.at) end
        end
    end
    if newest_message then self.note(p.at, "ack_time", p.when - newest_message.last_when) end
    back.oldest = next_number
end

-- Session, session bits and ack of anything that carries them. Nil when the receiver would drop it.
function Track:partner(p)
    local way, back = self:way(p.from, p.to), self:way(p.to, p.from)
    if not self:right_session(p) then
        if p.seq then way.strays[p.seq] = { at = p.at, when = p.when } end
        return nil
    end
    if p.seq and not self:right_bits(p, p.seq, way, "the number") then return nil end
    if p.ack and not self:right_bits(p, p.ack, back, "the ack") then return nil end
    return way, back
end

function Track:sequenced(p)
    local way, back = self:partner(p)
    if not way then return nil end
    self:take_ack(p, back)
    return self:number(p, way)
end

function Track:truc(p)
    local way, back = self:partner(p)
    if not way then return end
    if way.counter and p.counter <= way.counter then
        return self.warn(p.at, "unexpected.truc", string.format("%d after %d", p.counter, way.counter))
    end
    way.counter = p.counter
    self:take_ack(p, back)
end

-- ---- connects ----

function Track:advert(p) self.adverts[p.src .. ">" .. p.dst] = { value = p.advert, at = p.at } end

function Track:check_tag(p)
    local told = self.adverts[p.dst .. ">" .. p.src]
    if TAGGED[p.type] and told and told.value ~= p.tag and not (p.type >= 44 and p.tag == 0xffff) then
        self.warn(p.at, "unexpected.tag", string.format("frame %d told 0x%04x", told.at, told.value))
    end
end

-- The sender of p says which number it expects from the other.
function Track:start(p)
    local back = self:way(p.to, p.from)
    back.start, back.start_at = p.start, p.at
    self:way(p.from, p.to)
end

function Track:request(p)
    self:tell_session(p.from, p.requester, p.at)
    self:start(p)
    local key = p.from .. ">" .. p.to
    local list = self.asked[key] or {}
    self.asked[key] = list
    local known = list[p.number]
    if known and known.session == p.requester and list.last == known then
        self:again(p, known.again or known.at, known.again_when or known.when)
        known.again, known.again_when = p.at, p.when
        known.copies[#known.copies + 1] = { at = p.at, when = p.when }
        return
    end
    known = { at = p.at, when = p.when, session = p.requester }
    known.copies = { { at = p.at, when = p.when } }
    list[p.number], list.last = known, known
end

-- Each copy of a request is answered once: the n-th answer belongs to the n-th copy.
function Track:reply(p)
    local list = self.asked[p.to .. ">" .. p.from] or {}
    local request = list[p.number]
    if not request then return self.warn(p.at, "unexpected.connect", "no request with this number") end
    if request.session ~= p.requester then
        return self.warn(p.at, "unexpected.connect",
                         string.format("echo is not the session 0x%08x of frame %d", request.session, request.at))
    end
    self:answer(p, table.remove(request.copies, 1) or { at = request.again or request.at, when = request.when })
    if request.reply then self:again(p, request.reply.at, request.reply.when) end
    request.reply = { at = p.at, when = p.when }
    if p.status ~= 0 then return self.warn(p.at, "refused", "wrong key") end
    self:tell_session(p.from, p.replier, p.at)
    self:start(p)
end

function Track:connect(p)
    self.met[p.src .. p.dst], self.met[p.dst .. p.src] = true, true
    self:advert(p)
    if p.is_reply == 0 then self:request(p) else self:reply(p) end
end

-- ---- beacons and host names ----

-- A board repeats its beacon; another serial is another life of its daemon.
function Track:beacon(p)
    local known = self.beacons[p.src]
    if known and known.serial == p.serial then
        self.note(p.at, "beacon_first", known.at)
    else
        if known then self.note(p.at, "beacon_before", known.last) end
        known = { at = p.at, serial = p.serial, askers = {} }
        self.beacons[p.src] = known
    end
    known.last = p.at
end

-- Who hears of a board asks it for its name.
function Track:drawn_by_beacon(p)
    local beacon = self.beacons[p.dst]
    if not beacon or beacon.askers[p.src] then return end
    beacon.askers[p.src] = true
    self.note(p.at, "beacon_in", beacon.at)
end

function Track:query(p)
    self:advert(p)
    self:drawn_by_beacon(p)
    local key = p.src .. ">" .. p.dst .. p.host_magic
    local known = self.queries[key]
    if known and not known.answered then self:again(p, known.at, known.when) end
    self.queries[key] = { at = p.at, when = p.when }
end

function Track:host_reply(p)
    local query = self.queries[p.dst .. ">" .. p.src .. p.host_magic]
    if not query then return self.warn(p.at, "unexpected.host", "no query with this magic") end
    self:advert(p)
    query.answered = true
    self:answer(p, query)
end

-- ---- large messages ----

function Track:announce(p, message)
    local mine = self.windows[p.from] or {}
    self.windows[p.from] = mine
    mine[p.window] = mine[p.window] or {}
    mine[p.window][p.window_tag] = {
        at = p.at, from = p.from, to = p.to, length = p.length, offset = p.window_offset, message = message,
    }
end

local function window_problem(p, window, with_id, shown)
    if window and window.to ~= p.from then
        return string.format("frame %d announced it to another endpoint", window.at)
    end
    if window then return nil end
    if with_id then return "the window was announced with another tag" end
    return shown and "no such window was announced" or nil
end

-- The window of p's receiver that p names, if the capture shows it; and a problem when it shows that there is none.
function Track:window(p)
    local with_id = (self.windows[p.to] or {})[p.window]
    local window = with_id and with_id[p.window_tag]
    local shown = self:way(p.to, p.from).start and self:way(p.from, p.to).start
    local problem = window_problem(p, window, with_id, shown)
    if problem or not window then return nil, problem end
    self.note(p.at, "message_in", window.at)
    return window
end

function Track:notify(p)
    local message = self:sequenced(p)
    if not message then return end
    if #message.frames > 1 then
        if message.rndv then self.note(p.at, "message_in", message.rndv) end
        return
    end
    local window, problem = self:window(p)
    if problem then self.warn(p.at, "unexpected.notify", problem) end
    if not window then return end
    message.rndv = window.at
    if window.notify then
        return self.warn(p.at, "unexpected.notify", string.format("frame %d said so already", window.notify))
    end
    if p.length > window.length then
        return self.warn(p.at, "unexpected.notify",
                         string.format("%d bytes of %d announced", p.length, window.length))
    end
    window.notify = p.at
    self.note(window.at, "notify_in", p.at)
end

-- Why the announced message does not hold what p asks for.
local function outside(p, window, unit)
    if p.total > window.length then return string.format("pulls %d bytes of %d", p.total, window.length) end
    if p.window_offset ~= window.offset then return "window offset is not the announced one" end
    if not unit then return nil end
    local first = p.frame * unit - p.window_offset % unit + p.skip
    if first < 0 or first + p.block > p.total then return "not within the bytes to be pulled" end
end

-- The fetch that p belongs to; a handle that is used again begins another.
function Track:fetch(p, window)
    local key = p.src .. p.handle .. "." .. p.magic
    local fetch = self.pulls[key]
    if not fetch or fetch.replier ~= p.dst or fetch.window ~= p.window or fetch.tag ~= p.window_tag
        or fetch.session ~= p.session or fetch.ended then
        fetch = { replier = p.dst, window = p.window, tag = p.window_tag, session = p.session, at = p.at, asked = {},
                  got = {}, waiting = {}, uncounted = {}, bytes = 0, total = p.total, offset = p.window_offset,
                  from = p.to, to = p.from }
        self.pulls[key] = fetch
    end
    fetch.message_in = window and window.at
    return fetch
end

-- Whether the replier should serve it, as far as the capture shows; and its window, if that is shown.
function Track:servable(p, s)
    if not self:partner(p) then return false end
    local window, problem = self:window(p)
    if window and window.notify then problem = string.format("frame %d gave it back", window.notify) end
    if problem then
        self.warn(p.at, "unexpected.window", problem)
        return false
    end
    problem = window and outside(p, window, s.reply)
    if problem then self.warn(p.at, "unexpected.pull", problem) end
    return not problem, window
end

-- Which frames the requests ask for, once the size of frames is known.
local function count_frames(fetch, s)
    for _, request in ipairs(fetch.uncounted) do
        local count = math.ceil((request.skip + request.block) / s.reply)
        for k = request.frame, request.frame + math.min(count, s.run) - 1 do fetch.asked[k] = request end
    end
    fetch.uncounted = {}
end

function Track:pull(p, s)
    local good, window = self:servable(p, s)
    if not good then -- it may be refused, but draws no data
        self.doubtful[p.src .. p.handle .. "." .. p.magic] = { at = p.at, when = p.when, replier = p.dst }
        return
    end
    local fetch = self:fetch(p, window)
    local request = { at = p.at, when = p.when, frame = p.frame, skip = p.skip, block = p.block }
    fetch.waiting[#fetch.waiting + 1] = request
    fetch.newest = request
    local known = fetch.asked[p.frame]
    if known then self:again(p, known.at, known.when) end
    fetch.asked[p.frame] = request
    fetch.uncounted[#fetch.uncounted + 1] = request
    if s.reply then count_frames(fetch, s) end
end

-- Dialect N without a configured size: a reply that does not end its request shows how long frames are.
function Track:learn(p, s, fetch)
    for _, request in ipairs(fetch.waiting) do
        if request.frame % 256 == p.reply_frame and request.block > p.reply_size then
            self.learn_reply(s, request.skip + p.reply_size)
        end
    end
end

-- Index of the frame of the message, and why p is not that frame.
local function frame_of(p, s, fetch)
    if not s.reply then return p.position == 0 and 0 or nil end
    local cut = fetch.offset % s.reply
    local k = math.floor((p.position + cut) / s.reply)
    if p.position >= fetch.total then return k, "position behind the end" end
    if k % 256 ~= p.reply_frame then return k, "position is not that of the frame number" end
    if not fetch.asked[k] then return k, string.format("frame %d was not asked for", k) end
    local first = math.max(0, k * s.reply - cut)
    local last = math.min(fetch.total, (k + 1) * s.reply - cut)
    if p.position ~= first then return k, string.format("position %d, must be %d", p.position, first) end
    if p.reply_size ~= last - first then
        return k, string.format("%d bytes, must be %d", p.reply_size, last - first)
    end
    return k
end

function Track:pull_reply(p, s)
    local fetch = self.pulls[p.dst .. p.handle .. "." .. p.magic]
    if not fetch then
        if self.met[p.src .. p.dst] then self.warn(p.at, "unexpected.reply", "no pull has this handle and magic") end
        return
    end
    p.from, p.to = fetch.from, fetch.to
    if fetch.requests then return self.warn(p.at, "unexpected.reply", "it was asked for by X PULL") end
    if fetch.replier ~= p.src then
        return self.warn(p.at, "unexpected.reply", "another board was asked: " .. fetch.replier)
    end
    if not s.reply then self:learn(p, s, fetch) end
    if s.reply then count_frames(fetch, s) end
    local k, problem = frame_of(p, s, fetch)
    if problem then return self.warn(p.at, "unexpected.reply", problem) end
    local request = fetch.asked[k] or fetch.newest
    if fetch.message_in then self.note(p.at, "message_in", fetch.message_in) end
    self:answer(p, request)
    request.answered = true
    local before = fetch.got[p.position]
    if before then return self:again(p, before.at, before.when) end
    fetch.got[p.position] = { at = p.at, when = p.when }
    fetch.bytes = fetch.bytes + p.reply_size
    if fetch.bytes == fetch.total then self.note(p.at, "complete", true) end
end

-- ---- refusals ----

-- What p.seq of the refuser's partner is: a message, or something that went to an older session, or a connect.
function Track:refused_frame(p)
    local way = self:way(p.to, p.from)
    local number = p.seq % SPAN
    local message = way.sent[number] or way.strays[p.seq] or (way.last and way.last[number])
    if message then
        -- One refusal for each copy and fragment.
        message.refusals = (message.refusals or 0) + 1
        local at = message.frames and message.frames[message.refusals] or message.last_at or message.at
        local acked = message.acked and message.acked > message.last_at and message.acked or nil
        return { at = at, when = message.last_when or message.when, acked = acked }
    end
    local connect = (self.asked[p.to .. ">" .. p.from] or {}).last
    if connect and not connect.reply then return table.remove(connect.copies, 1) or connect end
    return nil, way.start
end

function Track:nack_lib(p)
    local frame, judge = self:refused_frame(p)
    if frame then
        self:answer(p, frame)
        if not frame.acked then return self.warn(p.at, "refused") end
        return self.warn(p.at, "unexpected.nack", string.format("frame %d acknowledged it", frame.acked))
    end
    if judge then self.warn(p.at, "unexpected.nack", string.format("number %d was not sent", p.seq % SPAN)) end
end

-- One refusal for each request: it means the first that got nothing yet.
local function first_open(fetch)
    for _, request in ipairs(fetch.waiting) do
        if not request.answered then
            request.answered = true
            return request
        end
    end
    return fetch.newest
end

function Track:nack_mcp(p)
    local key = p.dst .. p.handle .. "." .. p.magic
    local doubtful, fetch = self.doubtful[key], self.pulls[key]
    if doubtful and doubtful.replier == p.src then
        self.doubtful[key] = nil
        self:answer(p, doubtful)
        return self.warn(p.at, "refused")
    end
    if not fetch or fetch.replier ~= p.src then
        if self.met[p.src .. p.dst] then self.warn(p.at, "unexpected.nack", "no pull has this handle and magic") end
        return
    end
    p.from, p.to = fetch.from, fetch.to
    if fetch.message_in then self.note(p.at, "message_in", fetch.message_in) end
    self:answer(p, first_open(fetch))
    self.warn(p.at, "refused")
end

-- ---- frames ----

local handlers = {
    [1] = Track.beacon, [3] = Track.query, [4] = Track.host_reply, [35] = Track.truc, [36] = Track.connect, [37] = Track.sequenced,
    [38] = Track.sequenced, [39] = Track.sequenced, [41] = Track.pull, [42] = Track.pull_reply, [43] = Track.notify,
    [44] = Track.nack_lib, [45] = Track.nack_mcp,
    [40] = function(self, p)
        local message = self:sequenced(p)
        if message and #message.frames == 1 then self:announce(p, message) end
    end,
}

-- A well-formed frame, with p.at its number and p.when its time; s are the sizes that its boards share.
function Track:frame(p, s)
    if p.dst_ep and p.type ~= 45 then p.from, p.to = name_of(p.src, p.src_ep), name_of(p.dst, p.dst_ep) end
    if p.src == p.dst then self.warn(p.at, "unexpected.own_address") end
    if self.adverts[p.dst .. ">" .. p.src] then self:check_tag(p) end
    local handler = handlers[p.type]
    if handler then handler(self, p, s) end
    if p.from then self.note(p.at, "stream", self:stream(p.from, p.to)) end
end

return new, Track, handlers
