-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
-- Bytes of one frame: layouts of all packet types, sizes of the dialects, and what is wrong whatever came before.
-- Offsets are those of the body, as in include/emx/wire.h. ethermx.lua loads it; by itself it does nothing.

local layout = {}

local NONE = 0xffffffff -- no session
local EXPONENT_MAX = 15
local MTU_MIN, MTU_MAX = 256, 65535 -- of dialect N
local X_EAGER_MAX, X_UNIT_MIN, X_UNIT_MAX = 262144, 64, 65495 -- of the EtherMX extension
local X_PORT, X_DATAGRAM_MIN, X_DATAGRAM_MAX = 34527, 104, 65507

-- ---- sizes (what both ends must share) ----

-- reply and frag are nil while nothing has told them.
function layout.sizes_w()
    return { dialect = "W", frags = 8, accept = 4096, longest = 32768, reply = 4096, run = 8 }
end

local function power_of_two(n)
    local p = 1
    while p < n do p = p * 2 end
    return p
end

-- A full fragment of that size, or a full pull reply, was seen; one that no host can be configured for teaches nothing.
function layout.learn_frag(s, frag)
    if frag < MTU_MIN - 48 then return end
    s.frag, s.accept, s.longest = frag, power_of_two(frag), frag * 32
end

function layout.learn_reply(s, size)
    if size >= MTU_MIN - 32 and size <= MTU_MAX - 32 then s.reply = size end
end

-- mtu 0, or one that no host takes: to be learned from what is seen.
function layout.sizes_n(mtu)
    local s = { dialect = "N", frags = 32, accept = 8192, longest = 8192 * 32, run = 32 }
    if mtu >= MTU_MIN and mtu <= MTU_MAX then
        s.reply = mtu - 32
        layout.learn_frag(s, (mtu - 48 <= 4096 and mtu - 48) or (mtu >= 8240 and 8192) or 4096)
    end
    return s
end

-- ---- judges: key of an expert note and its text, or nil ----

local function check_small(p, limit)
    if p.length > limit then
        return "malformed.length", string.format("%d bytes, at most %d", p.length, limit)
    end
end

-- Bytes of a full fragment, nil while unknown.
local function unit_of(p, s)
    if s.dialect == "N" then return s.frag end
    if p.exponent <= EXPONENT_MAX then return 2 ^ p.exponent end
end

local function fragment_problem(p, s)
    local unit = unit_of(p, s)
    if s.dialect == "W" and not unit then return "size exponent above 15" end
    if p.length > s.longest then return string.format("message longer than %d", s.longest) end
    if p.frag_size > s.accept then return string.format("fragment longer than %d", s.accept) end
    if p.frag >= s.frags then return string.format("fragment number, at most %d", s.frags - 1) end
    if p.frag_size > p.length then return "fragment longer than its message" end
    if p.position and p.position + p.frag_size > p.length then return "fragment ends behind its message" end
    if p.frag_size == p.length then
        return p.frag > 0 and "fragment other than the first holds the whole message" or nil
    end
    if p.frag_size == 0 then return "empty fragment" end
    if not unit then return nil end
    if p.frag_size > unit then return string.format("fragment longer than its unit of %d", unit) end
    if p.position + p.frag_size < p.length and p.frag_size ~= unit then
        return string.format("%d bytes; every fragment but the last has %d", p.frag_size, unit)
    end
end

local function check_medium(p, s)
    local problem = fragment_problem(p, s)
    if problem then return "malformed.fragment", problem end
end

local function pull_problem(p, s)
    if p.block == 0 then return "asks for nothing" end
    local unit = s.reply
    if not unit then return nil end
    if p.skip >= unit then return string.format("skip of a frame (%d) or more", unit) end
    if p.frame * unit + p.skip >= 2 ^ 32 then return "begins beyond 32 bits" end
    if p.skip + p.block > unit * s.run then return string.format("more than %d frames", s.run) end
end

local function check_pull(p, s)
    local problem = pull_problem(p, s)
    if problem then return "malformed.pull", problem end
end

local function check_connect(p)
    if p.requester == NONE or p.replier == NONE then return "malformed.connect", "session ffffffff" end
    if p.is_reply ~= 0 and p.status ~= 0 and p.status ~= 11 then
        return "malformed.connect", "status other than 0 and 11"
    end
end

local function check_truc(p)
    if p.kind ~= 0x55 then return "malformed.truc", "data kind other than 0x55" end
    if p.session ~= p.session_copy then return "malformed.truc", "the two sessions differ" end
end

local function check_reason(p, last)
    if p.reason == 0 or p.reason > last then
        return "malformed.nack", string.format("reason %d, may be 1 to %d", p.reason, last)
    end
end

local function check_name(p, _, body)
    if p.name_length == 0 or p.name_length > 80 then return "malformed.host", "name length not in 1 to 80" end
    if 32 + p.name_length > p.bytes then return "malformed.host", "name longer than the frame" end
    if body:captured_len() < 18 + p.name_length then return nil end
    local name = body(18, p.name_length):raw()
    if name:sub(-1) ~= "\0" then return "malformed.host", "name does not end" end
    if name:sub(1, -2):find("[\0-\31\127]") then return "malformed.host", "control character in the name" end
end

local function check_beacon(p)
    if p.board_high ~= 0 then return "malformed.beacon", "upper 16 bits of the address set" end
    if p.board == "000000000000" then return "malformed.beacon", "address 0" end
    if tonumber(p.board:sub(1, 2), 16) % 2 == 1 then return "malformed.beacon", "group address" end
end

-- ---- of the EtherMX extension (docs/protocol.md) ----

local function x_fragment_problem(p)
    local last = p.position + p.frag_size
    local unit = p.frag > 0 and math.floor(p.position / p.frag) or p.frag_size
    if p.length > X_EAGER_MAX then return string.format("message longer than %d", X_EAGER_MAX) end
    if p.frag > 31 then return "fragment number, at most 31" end
    if last > p.length then return "fragment ends behind its message" end
    if p.position ~= p.frag * unit then return "position is no multiple of its fragment number" end
    if p.frag_size > unit then return string.format("fragment longer than its unit of %d", unit) end
    if p.length == 0 then return p.frag > 0 and "second fragment of an empty message" or nil end
    if p.frag_size == 0 then return "empty fragment" end
    if unit * 32 < p.length then return "more than 32 fragments" end
    if last < p.length and p.frag_size ~= unit then
        return string.format("%d bytes; every fragment but the last has %d", p.frag_size, unit)
    end
end

local function check_x_medium(p)
    if p.frag_size > 32768 then return "malformed.fragment", "more than 32768 bytes" end
    local problem = x_fragment_problem(p)
    if problem then return "malformed.fragment", problem end
end

-- Numbers of the bits that are set in the n bytes from body byte `from` on.
local function bits(tvb, from, n)
    local list = {}
    for i = 0, n - 1 do
        local byte = tvb(2 + from + i, 1):uint()
        for bit = 0, 7 do
            if math.floor(byte / 2 ^ bit) % 2 == 1 then list[#list + 1] = i * 8 + bit end
        end
    end
    return list
end

local function x_pull_problem(p, wanted)
    if p.total == 0 then return "asks for nothing" end
    if p.x_unit < X_UNIT_MIN or p.x_unit > X_UNIT_MAX then
        return string.format("unit not in %d to %d", X_UNIT_MIN, X_UNIT_MAX)
    end
    if wanted[1] ~= 0 then return "first frame is not wanted" end
    if (p.x_frame + wanted[#wanted]) * p.x_unit >= p.total then return "frame behind the end" end
end

local function check_x_pull(p, _, tvb)
    local wanted = bits(tvb, 32, 16)
    p.x_count = #wanted
    local problem = x_pull_problem(p, wanted)
    if problem then return "malformed.pull", problem end
end

local function check_x_data(p)
    if p.x_size == 0 then return "malformed.reply", "no data" end
end

-- Of TCP, address 0 and port 0: where the endpoint takes its datagrams, which are its frames.
local function is_beside_datagrams(p)
    return math.floor(p.x_address_flags / 4) % 2 == 1 and p.x_address == 0 and p.x_port == 0
end

local function check_x_address(p)
    local beside = is_beside_datagrams(p)
    local first = math.floor(p.x_address / 2 ^ 24)
    if not beside and (first == 0 or first == 127 or first >= 224) then return "malformed.address", "no address of a host" end
    if p.x_secret:find("^0+$") then return "malformed.address", "no secret" end
    if not beside and p.x_port ~= X_PORT + p.src_ep then return "malformed.address", "port of another endpoint" end
    if p.x_longest < X_DATAGRAM_MIN or p.x_longest > X_DATAGRAM_MAX then
        return "malformed.address", string.format("longest not in %d to %d", X_DATAGRAM_MIN, X_DATAGRAM_MAX)
    end
end

local function check_x_group(p)
    if p.x_group_key == 0 then return "malformed.group", "key 0" end
    if p.x_session == NONE then return "malformed.group", "session ffffffff" end
end

--[[
Takes the messages of an X PACK into p.packed, a list of { match, length }. Shows them, if there is a visit(key, range).
Nil when they are sound, or the capture holds too few of their bytes to say.
]]
local function read_pack(p, tvb, visit)
    local at, last = 26, 26 + p.x_pack_size
    p.packed = {}
    for _ = 1, p.x_pack_count do
        if at + 10 > last then return "messages do not fit" end
        if at + 10 > tvb:captured_len() then return nil end
        local size = tvb(at + 8, 2):uint()
        if visit then
            visit("match", tvb(at, 8))
            visit("length", tvb(at + 8, 2))
        end
        p.packed[#p.packed + 1] = { match = tostring(tvb(at, 8):uint64():tohex()), length = size }
        at = at + 10 + size
    end
    if at ~= last then return string.format("messages of %d bytes in all", at - 26) end
end

local function check_x_pack(p, _, tvb)
    if p.x_pack_count < 1 or p.x_pack_count > 255 then return "malformed.length", "1 to 255 messages" end
    local problem = read_pack(p, tvb)
    if problem then return "malformed.length", problem end
end

local function hash(sum, text)
    local prime = UInt64(0x1b3, 0x100)
    for i = 1, #text do sum = sum:bxor(UInt64(text:byte(i))) * prime end
    return sum
end

--[[
Whether an offer of the extension stands behind the CONNECT: impossible fields, or another check value than that of
this very frame, and the bytes are what lay there. p.macs: destination and source, 24 hexadecimal digits; nil or
something else when nobody knows.
]]
local function has_offer(p, tvb)
    if p.bytes < 64 or tvb:captured_len() < 50 or not p.macs or not p.macs:find("^%x+$") or #p.macs ~= 24 then
        return false
    end
    local newest, oldest = tvb(34, 1):uint(), tvb(35, 1):uint()
    if oldest == 0 or oldest > newest or tvb(38, 2):uint() < 256 or tvb(40, 2):uint() == 0 then return false end
    local macs = p.macs:gsub("%x%x", function(two) return string.char(tonumber(two, 16)) end)
    local sum = hash(UInt64(0x84222325, 0xcbf29ce4), macs)
    for _, part in ipairs({ { 0, 3 }, { 16, 12 }, { 32, 8 } }) do sum = hash(sum, tvb(2 + part[1], part[2]):raw()) end
    return sum == tvb(42, 8):uint64()
end

local xor = (bit32 or bit or {}).bxor
local crc_table

local function make_crc_table()
    crc_table = {}
    for i = 0, 255 do
        local sum = i
        for _ = 1, 8 do sum = sum % 2 == 1 and xor(math.floor(sum / 2), 0x82f63b78) % 2 ^ 32 or math.floor(sum / 2) end
        crc_table[i] = sum
    end
end

-- CRC-32C of more text behind what gave `sum`, all ones before the first; ones are not taken off at the end.
local function crc(sum, text)
    for i = 1, #text do
        sum = xor(math.floor(sum / 256), crc_table[xor(sum % 256, text:byte(i))]) % 2 ^ 32
    end
    return sum
end

--[[
Whether the checksum of an X MEDIUM, X DATA, X GROUP or X PACK is wrong: of the data, then of the body with the checksum, at `at`, as 0.
It takes about a millisecond, so only who shows the frame asks.
]]
local function is_altered(tvb, at, body, data)
    if not xor or tvb:captured_len() < 2 + body + data then return false end
    if not crc_table then make_crc_table() end
    local header = tvb(2, at):raw() .. "\0\0\0\0" .. tvb(2 + at + 4, body - at - 4):raw()
    local text = data > 0 and tvb(2 + body, data):raw() or ""
    local sum = 0xffffffff - crc(crc(0xffffffff, text), header)
    return tvb(2 + at, 4):uint() ~= (sum == 0 and 0xffffffff or sum)
end

-- ---- packet types ----

--[[
A row per type: body (bytes of the fixed part), and where it applies payload (key of the length of what
follows), sum (place of the checksum), data_part (least value of that field), check(p, sizes, tvb), sequenced (takes numbers, carries an ack).
A type that is not here is undissected and warned of. Its fields are in ethermx_rows.lua. What its frames mean to each
other is for a handler in ethermx_track.lua, and of the EtherMX extension in ethermx_track_x.lua.
]]
local types = {
    [1] = { body = 28, check = check_beacon },
    [3] = { body = 16 },
    [4] = { body = 16, check = check_name },
    [35] = { body = 28, data_part = 16, check = check_truc },
    [36] = { body = 32, data_part = 16, check = check_connect },
    [37] = { body = 24, payload = "length", sequenced = true, check = function(p) return check_small(p, 32) end },
    [38] = { body = 24, payload = "length", sequenced = true, check = function(p) return check_small(p, 128) end },
    [39] = { body = 32, payload = "frag_size", sequenced = true, check = check_medium },
    [40] = { body = 32, data_part = 8, sequenced = true },
    [41] = { body = 32, check = check_pull },
    [42] = { body = 16, payload = "reply_size" },
    [43] = { body = 24, sequenced = true },
    [44] = { body = 16, check = function(p) return check_reason(p, 3) end },
    [45] = { body = 16, check = function(p) return check_reason(p, 4) end },
    [112] = { body = 40, payload = "frag_size", sum = 32, check = check_x_medium },
    [113] = { body = 24, payload = "x_state_size" },
    [114] = { body = 48, check = check_x_pull },
    [115] = { body = 24, payload = "x_size", sum = 20, check = check_x_data },
    [117] = { body = 28, check = check_x_address },
    [118] = { body = 24, payload = "x_group_size", sum = 20, check = check_x_group },
    [119] = { body = 24, payload = "x_pack_size", sum = 16, check = check_x_pack },
}

-- By packet and dialect, and by the name of a part that not every frame has.
local rows, parts = { W = {}, N = {} }, {}

-- Takes the list of ethermx_rows.lua.
function layout.load(list)
    for _, row in ipairs(list) do
        local key, into = row[1], rows[row[2]] and { rows[row[2]] } or { rows.W, rows.N }
        if row[2] ~= "all" and not rows[row[2]] then key, into = row[2], { parts } end
        for _, place in ipairs(into) do
            place[key] = place[key] or {}
            table.insert(place[key], { row[3], row[4], row[5] })
        end
    end
end

local function rows_of(type, dialect) return rows[dialect][type] end

local function body_of(type, dialect)
    return type == 41 and dialect == "N" and 44 or types[type].body
end

-- ---- reading ----

-- The value of a row; offset 0 of the body is byte 2 of the buffer, which begins with the tag.
local function value(range, size)
    if size == 6 or size == 16 then return range:bytes():tohex() end
    if size == 8 then return tostring(range:uint64():tohex()) end
    return range:uint()
end

-- visit(key, range) is called for every field; nil to read only.
local function read_rows(p, tvb, rows, visit)
    for _, row in ipairs(rows) do
        local range = tvb(2 + row[1], row[2])
        p[row[3]] = value(range, row[2])
        if visit then visit(row[3], range) end
    end
end

local function place(p, s)
    if p.type ~= 39 then return end
    local unit = unit_of(p, s)
    p.position = p.frag == 0 and 0 or unit and p.frag * unit or nil
end

local function read_payload(p, tvb, kind, from, visit)
    local left = p.bytes - 16 - from -- of the frame, behind the fixed body
    local size = kind.payload and p[kind.payload] or p.name_length or 0
    local held = math.max(0, math.min(size, left, tvb:captured_len() - 2 - from))
    if visit and held > 0 then visit(p.name_length and "name" or "data", tvb(2 + from, held)) end
    local padding = tvb:captured_len() - 2 - from - held
    if visit and padding > 0 and left > size then visit("padding", tvb(2 + from + held, padding)) end
    if kind.payload and size > left then
        return "malformed.length", string.format("%d bytes stated, %d there", size, left)
    end
end

--[[
Reads the fields of p.type into p. p.bytes is the length of the frame; s the sizes. Returns a list of {expert, text},
or nil when the capture holds too little.
]]
function layout.read(p, tvb, s, visit)
    local kind, problems = types[p.type], {}
    local function problem(key, text)
        if key then problems[#problems + 1] = { key, text } end
    end
    local body = body_of(p.type, s.dialect)
    if tvb:captured_len() < 2 + body then
        if p.bytes >= 16 + body then return nil end
        if p.bytes >= 60 then -- else the first rule says so
            problem("malformed.short", string.format("%d bytes, at least %d", p.bytes, 16 + body))
        end
        return problems
    end
    read_rows(p, tvb, rows_of(p.type, s.dialect), visit)
    if p.type == 36 then read_rows(p, tvb, parts[p.is_reply == 0 and "request" or "reply"], visit) end
    if p.type == 36 and has_offer(p, tvb) then
        read_rows(p, tvb, parts.offer, visit)
        body = body + 16
    end
    place(p, s)
    problem(read_payload(p, tvb, kind, body, visit))
    if p.type == 113 and p.x_state_size >= 28 and tvb:captured_len() >= 54 then read_rows(p, tvb, parts.state, visit) end
    if p.type == 119 and visit then read_pack(p, tvb, visit) end
    if kind.data_part and p.data_part < kind.data_part then
        problem("malformed.data_part", string.format("%d, at least %d", p.data_part, kind.data_part))
    end
    if kind.check then problem(kind.check(p, s, tvb)) end
    if visit and kind.sum and p.x_checksum ~= 0 and #problems == 0
        and is_altered(tvb, kind.sum, kind.body, p[kind.payload]) then
        problem("altered")
    end
    p.sequenced = kind.sequenced
    p.complete_body = true
    return problems
end

function layout.known(type) return types[type] ~= nil end

-- ---- which dialect ----

local function sound(p, tvb, s, judge)
    local probe = { type = p.type, bytes = p.bytes }
    read_rows(probe, tvb, rows_of(p.type, s.dialect))
    place(probe, s)
    return judge(probe, s)
end

local function fits_pull(probe, s)
    local first = probe.frame * (s.reply or 1) + probe.skip
    return not pull_problem(probe, s) and probe.window < 256 and first < probe.total + probe.skip + 65536
        and probe.block <= probe.total
end

--[[
The dialect that a MEDIUM or PULL is of, or nil. No frame says it: a MEDIUM of less than 64 KiB has its length in the
first two bytes of the field in W, in the last two in N; else it is the one in which the numbers make sense.
]]
function layout.guess(p, tvb)
    if (p.type ~= 39 and p.type ~= 41) or tvb:captured_len() < 2 + body_of(p.type, "N") then return nil end
    local w, n = layout.sizes_w(), layout.sizes_n(0)
    if p.type == 39 and tvb(6, 2):uint() == 0 then return tvb(8, 2):uint() > 0 and "N" or nil end
    local judge = p.type == 41 and fits_pull or function(probe, s) return not fragment_problem(probe, s) end
    local as_w, as_n = sound(p, tvb, w, judge), sound(p, tvb, n, judge)
    if as_w == as_n then return as_w and p.type == 39 and "W" or nil end
    return as_w and "W" or "N"
end

return layout
