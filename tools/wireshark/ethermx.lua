-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
--[[
Wireshark dissector of MXoE (EtherType 0x86DF), the protocol of EtherMX, Open-MX and Myricom's MX over Ethernet, in
both wire dialects. Use: tshark -X lua_script:ethermx.lua, or this folder in Wireshark's folder of plugins;
docs/wireshark.md tells of fields and preferences.
]]

local folder = __DIR__ or debug.getinfo(1, "S").source:match("@?(.*)[/\\]") or "."
if not folder:find("[/\\]$") then folder = folder .. "/" end
local names = dofile(folder .. "ethermx_fields.lua")
local layout = dofile(folder .. "ethermx_layout.lua")
layout.load(dofile(folder .. "ethermx_rows.lua"))
local new_track, Track, handlers = dofile(folder .. "ethermx_track.lua")
dofile(folder .. "ethermx_track_x.lua")(Track, handlers)

local mxoe = Proto("mxoe", "Myrinet Express over Ethernet")
local fields, experts = names.fields(), names.experts()
local function values(t)
    local list = {}
    for _, v in pairs(t) do list[#list + 1] = v end
    return list
end
mxoe.fields = values(fields)
mxoe.experts = values(experts)

local GUESS, W, N = 0, 1, 2
mxoe.prefs.dialect = Pref.enum("Dialect", GUESS,
    "W: native MX, and Open-MX built for it. N: Open-MX by default. No frame tells it: hosts are configured for one",
    { { 1, "guess", GUESS }, { 2, "W", W }, { 3, "N", N } }, true)
mxoe.prefs.size = Pref.uint("Frame size of dialect N", 0,
    "As in EMX_BOARDS=eth1:N=9000 or in the MTU of Open-MX; 0: as seen in the traffic")

local FRAME_MIN = 60
local X_GROUP = 118
local NO_ADDRESS = "NONE"
local eth_src, eth_dst = Field.new("eth.src"), Field.new("eth.dst")

-- ---- state of a capture ----

local track, boards, pairs_of_boards, notes, warnings, called

local function remember(list)
    return function(at, key, value)
        list[at] = list[at] or {}
        table.insert(list[at], { key, value })
    end
end

function mxoe.init()
    boards, pairs_of_boards, notes, warnings, called = {}, {}, {}, {}, {}
    track = new_track(remember(notes), remember(warnings), layout.learn_reply)
end

-- Sizes that two boards share; one table for both directions, since replies teach what the requests left open.
local function sizes_of(p, dialect)
    local key = (p.src < p.dst and p.src .. p.dst or p.dst .. p.src) .. dialect
    if not pairs_of_boards[key] then
        pairs_of_boards[key] = dialect == "W" and layout.sizes_w() or layout.sizes_n(mxoe.prefs.size)
    end
    return pairs_of_boards[key]
end

local function dialect_of(p, tvb)
    if mxoe.prefs.dialect == W then return "W" end
    if mxoe.prefs.dialect == N then return "N" end
    if not boards[p.src] then boards[p.src] = layout.guess(p, tvb) end
    return boards[p.src] or boards[p.dst]
end

-- ---- one frame ----

local function add_warning(tree, key, text)
    tree:add_proto_expert_info(experts[key], names.text[key] .. (text and ": " .. text or ""))
end

local function add_field(tree, key, range)
    local item = tree:add(fields[key], range)
    if key == "seq" or key == "ack" then
        item:add(fields[key .. "_bits"], range)
        item:add(fields[key .. "_number"], range)
    end
end

--[[
Addresses are known by what Wireshark calls them, perhaps by a name: a first pass without tree has no fields, and Lua
has no other way to the bytes. What they were called first is kept, since names may be switched on and off.
]]
local function digits(field, shown)
    local all = { field() }
    return #all > 0 and all[#all].range:bytes():tohex() or shown:gsub(":", "")
end

local function add_addresses(p, pinfo)
    if not called[pinfo.number] then called[pinfo.number] = { tostring(pinfo.dl_src), tostring(pinfo.dl_dst) } end
    p.src, p.dst = table.unpack(called[pinfo.number])
    p.src_digits, p.dst_digits = digits(eth_src, p.src), digits(eth_dst, p.dst)
end

local function is_address(mac) -- no name, and no capture that lacks it
    return #mac == 12 and not mac:find("%X")
end

local function is_group(mac) -- a name is not judged
    return is_address(mac) and tonumber(mac:sub(1, 2), 16) % 2 == 1
end

-- An X GROUP to a board is of a type that receivers do not know.
local function has_meaning(type, dst)
    return layout.known(type) and (type ~= X_GROUP or is_group(dst) or not is_address(dst))
end

-- What the outer header alone shows: appends to a list of { expert note, text }.
local function judge_outer(p, problems)
    local function problem(wrong, key, text)
        if wrong then problems[#problems + 1] = { key, text } end
    end
    problem(p.bytes < FRAME_MIN, "malformed.short", string.format("%d bytes, at least %d", p.bytes, FRAME_MIN))
    local src, dst = p.src_digits, p.dst_digits
    problem(src == "000000000000" or is_group(src), "malformed.source")
    problem(p.type ~= 1 and p.type ~= X_GROUP and not (p.is_udp and p.type == 3) and is_group(dst), "malformed.destination")
    problem(not has_meaning(p.type, dst), "malformed.type")
    problem(p.x_group_key and is_address(dst) and dst:lower() ~= string.format("0345%08x", p.x_group_key),
            "malformed.group", "address of another group")
end

local function learn_frag(p, s)
    if p.type == 39 and s.dialect == "N" and not s.frag and p.frag == 0 and p.frag_size < p.length
        and p.frag_size > 0 then
        layout.learn_frag(s, p.frag_size)
    end
end

-- Fields into the tree, and what is wrong with the frame alone. True when all of it could be read.
local function read(p, tvb, s, tree)
    local problems = {}
    local function visit(key, range)
        if key ~= "name" then return add_field(tree, key, range) end
        p.name = range:string():gsub("\0.*", "")
        tree:add(fields.name, range, p.name)
    end
    if has_meaning(p.type, p.dst_digits) then
        if p.type == 36 then p.macs = p.dst_digits .. p.src_digits end
        problems = layout.read(p, tvb, s, visit)
        if p.type == 39 and p.position then tree:add(fields.position, p.position):set_generated() end
        if not problems then
            add_warning(tree, "cut")
            problems = {}
        end
    elseif tvb:captured_len() > 3 then
        tree:add(fields.unknown, tvb(3))
    end
    if not p.by_ip then judge_outer(p, problems) end
    for _, problem in ipairs(problems) do add_warning(tree, problem[1], problem[2]) end
    return p.complete_body and #problems == 0
end

local function follow(p, s)
    if p.dst == NO_ADDRESS then return end -- a capture of all interfaces ("any") does not say who received it
    local mine, other = boards[p.src], boards[p.dst]
    if (p.type == 39 or p.type == 41) and mine and other and other ~= mine then
        remember(warnings)(p.at, "unexpected.dialect", string.format("this board %s, the other %s", mine, other))
    end
    learn_frag(p, s)
    track:frame(p, s)
end

local function show_notes(p, tree)
    for _, note in ipairs(notes[p.at] or {}) do
        tree:add(fields[note[1]], note[2]):set_generated()
        p.repeated = p.repeated or note[1] == "retransmission"
    end
    for _, warning in ipairs(warnings[p.at] or {}) do
        add_warning(tree, warning[1], warning[2])
    end
end

-- ---- the line in the list of packets ----

-- Of an X ADDRESS.
local function purpose(flags)
    if flags % 2 == 1 then return "answer" end
    if math.floor(flags / 4) % 2 == 1 then return "TCP" end
    return flags >= 2 and "fragments" or "request"
end

local function summary(p)
    local words = { names.types[p.type] or string.format("type %d", p.type) }
    local function word(format, first, ...)
        if first ~= nil then words[#words + 1] = string.format(format, first, ...) end
    end
    if p.is_reply then word("%s", p.is_reply == 0 and "request" or "reply") end
    if p.src_ep and p.dst_ep then word("%d > %d", p.src_ep, p.dst_ep) end
    if p.seq and p.type ~= 36 then word("Seq=%d", p.seq % 16384) end
    if p.ack then word("Ack=%d", p.ack % 16384) end
    word("Len=%d", p.length)
    if p.frag then word("Frag=%d (%d bytes)", p.frag, p.frag_size) end
    word("Win=%d/%d", p.window, p.window_tag)
    if p.block then word("Frame=%d Block=%d of %d", p.frame, p.block, p.total) end
    if p.reply_size then word("Frame=%d Pos=%d (%d bytes)", p.reply_frame, p.position, p.reply_size) end
    if p.x_unit then word("Request=%d Frame=%d (%d of %d bytes)", p.x_request, p.x_frame, p.x_count or 0, p.x_unit) end
    if p.x_size then word("Request=%d Frame=%d (%d bytes)", p.x_request, p.x_frame, p.x_size) end
    if p.x_port then word(p.x_port == 0 and "%s beside datagrams" or "%s port %d", purpose(p.x_address_flags), p.x_port) end
    if p.x_group_key then word("%d > group %08x Number=%d (%d bytes)", p.src_ep, p.x_group_key, p.x_group_number, p.x_group_size) end
    if p.x_counter then word("Next=%d Report=%d Echo=%d", p.x_next % 16384, p.x_counter, p.x_echo) end
    word("%d messages", p.x_pack_count)
    if p.offer_newest then word("Extension=%d", p.offer_newest) end
    if p.reason then word("%s", names.reasons[p.reason] or "reason " .. p.reason) end
    if p.status then word("%s", names.statuses[p.status] or "status " .. p.status) end
    word("%s", p.board)
    word("%s", p.name)
    return (p.repeated and "[Retransmission] " or "") .. table.concat(words, " ")
end

-- A frame from its tag on. p: what is known of it, its addresses above all. Returns its line.
local function dissect(tvb, pinfo, root, p)
    local tree = root:add(mxoe, tvb())
    if tvb:captured_len() < 3 then
        add_warning(tree, tvb:reported_len() < 3 and "malformed.short" or "cut")
        return ""
    end
    p.at, p.when, p.bytes = pinfo.number, pinfo.rel_ts, tvb:reported_len() + 14
    p.tag, p.type = tvb(0, 2):uint(), tvb(2, 1):uint()
    tree:add(fields.tag, tvb(0, 2))
    tree:add(fields.type, tvb(2, 1))
    local dialect = dialect_of(p, tvb)
    if dialect then tree:add(fields.dialect, dialect):set_generated() end
    local s = sizes_of(p, dialect or "W")
    local good = read(p, tvb, s, tree)
    if good and not pinfo.visited then follow(p, s) end
    if not p.is_joined then show_notes(p, tree) end
    local line = summary(p)
    tree:append_text(", " .. line)
    return line
end

function mxoe.dissector(tvb, pinfo, root)
    pinfo.cols.protocol = "MXoE"
    local p = {}
    add_addresses(p, pinfo)
    pinfo.cols.info = dissect(tvb, pinfo, root, p)
    return tvb:captured_len()
end

DissectorTable.get("ethertype"):add(0x86df, mxoe)

-- ---- X DATA and X MEDIUM in UDP datagrams (docs/protocol.md, Datagrams) ----

local MARK, PORT_FIRST, PORT_LAST = 0x454d5844, 34527, 34527 + 255
local datagram = Proto("mxoed", "EtherMX datagram")
datagram.fields = { ProtoField.uint64("mxoed.secret", "Secret of the receiver", base.HEX) }

-- Its packet is shown as that of a frame, which is as long; what it answers is for who has its request in view.
function datagram.dissector(tvb, pinfo, root)
    if tvb:captured_len() < 17 or tvb(8, 4):uint() ~= MARK then return 0 end
    pinfo.cols.protocol = "MXoE"
    root:add(datagram, tvb(0, 16)):add(datagram.fields[1], tvb(0, 8))
    local tree = root:add(mxoe, tvb(16))
    local p = { at = pinfo.number, type = tvb(16, 1):uint(), bytes = tvb:reported_len(), by_ip = true }
    add_addresses(p, pinfo)
    tree:add(fields.type, tvb(16, 1))
    if p.type == 112 or p.type == 115 or p.type == 117 then read(p, tvb(14):tvb(), sizes_of(p, "W"), tree) end
    local line = summary(p)
    pinfo.cols.info = line
    tree:append_text(", " .. line)
    return tvb:captured_len()
end

for port = PORT_FIRST, PORT_LAST do DissectorTable.get("udp.port"):add(port, datagram) end

-- ---- X DATA by TCP (docs/protocol.md, TCP) ----

local BOARD_FIRST, BOARD_LAST = 34783, 34783 + 256 -- of UDP boards: the agent's, and those of endpoints
local TCP_MARK, GREETING, PAD, HEADER_OF_DATA, X_DATA = 0x454d5854, 16, 8, 24, 115
local connection = Proto("mxoet", "EtherMX connection")
connection.fields = { ProtoField.uint64("mxoet.secret", "Secret of the receiver", base.HEX) }

-- Number of the frame that showed that a stream is one of ours: the system gives these ports to others, too.
local streams

function connection.init() streams = {} end

-- The packet in tvb as the layout reads it: behind a tag, which a connection does not carry.
local function behind_tag(tvb)
    return setmetatable({ captured_len = function() return tvb:captured_len() + 2 end },
        { __call = function(_, at, size) return tvb(at - 2, size) end })
end

local function is_greeting(rest) return rest:len() >= GREETING and rest(8, 4):uint() == TCP_MARK end

-- The endpoint that takes connections at that port; nil if none is known to.
local function endpoint_of(port)
    if port >= PORT_FIRST and port <= PORT_LAST then return port - PORT_FIRST end
    if port > BOARD_FIRST and port <= BOARD_LAST then return port - BOARD_FIRST - 1 end
end

-- True if X DATA for the endpoint of that port may begin so; of a port that somebody names, for any.
local function is_data(rest, port)
    local wanted = { [0] = 0, [PAD - 1] = 0, [PAD] = X_DATA, [PAD + 1] = endpoint_of(port), [PAD + 3] = 0 }
    for at, value in pairs(wanted) do
        if at < rest:len() and rest(at, 1):uint() ~= value then return false end
    end
    return rest:len() < PAD + HEADER_OF_DATA or rest(PAD + 18, 2):uint() > 0
end

local function read_greeting(range, root)
    root:add(connection, range(0, GREETING)):add(connection.fields[1], range(0, 8))
    return "Connection for X DATA"
end

local function read_data(range, pinfo, root)
    local tree = root:add(mxoe, range)
    local p = { at = pinfo.number, type = X_DATA, by_ip = true, bytes = 16 + HEADER_OF_DATA + range(18, 2):uint() }
    tree:add(fields.type, range(0, 1))
    read(p, behind_tag(range:tvb()), layout.sizes_w(), tree)
    local line = summary(p)
    tree:append_text(", " .. line)
    return line
end

-- Reads the X DATA at `at`. Returns its line and its end; nil and the bytes that it lacks, nil if nobody knows.
local function read_next(tvb, at, pinfo, root)
    local rest = tvb(at)
    if rest:len() < PAD + HEADER_OF_DATA then return nil end
    local lacks = PAD + HEADER_OF_DATA + rest(PAD + 18, 2):uint() - rest:len()
    if lacks > 0 and pinfo.can_desegment > 0 then return nil, lacks end
    local held = rest:len() + math.min(lacks, 0)
    return read_data(rest(PAD, held - PAD), pinfo, root), at + held
end

-- Fields of TCP would not do: a first pass without tree has none.
local function is_ours(tvb, pinfo)
    if endpoint_of(pinfo.src_port) and not endpoint_of(pinfo.dst_port) then return false end
    local key = string.format("%s %d %s %d", pinfo.src, pinfo.src_port, pinfo.dst, pinfo.dst_port)
    if streams[key] and streams[key] <= pinfo.number then return true end
    local whole = tvb()
    if not is_greeting(whole) and (whole:len() < PAD + HEADER_OF_DATA or not is_data(whole, pinfo.dst_port)) then return false end
    streams[key] = pinfo.number
    return true
end

local function show_lines(pinfo, lines)
    if #lines == 0 then return end
    local line = #lines == 1 and lines[1] or string.format("%s, and %d more", lines[1], #lines - 1)
    local is_next = tostring(pinfo.cols.info):find("X DATA", 1, true) -- what ended in this segment stays in front of it
    pinfo.cols.protocol = "MXoE"
    pinfo.cols.info = (is_next and ", " or "") .. line
end

-- Each packet is shown in the frame that ends it; what it answers is for who has its request in view.
function connection.dissector(tvb, pinfo, root)
    if tvb:captured_len() == 0 or not is_ours(tvb, pinfo) then return 0 end
    local at, lines = 0, {}
    if is_greeting(tvb()) then at, lines = GREETING, { read_greeting(tvb(), root) } end
    while at < tvb:captured_len() do
        if not is_data(tvb(at), pinfo.dst_port) then
            add_warning(root:add(connection, tvb(at)), "unexpected.stream")
            break
        end
        local line, next = read_next(tvb, at, pinfo, root)
        if not line then
            pinfo.desegment_offset, pinfo.desegment_len = at, next or DESEGMENT_ONE_MORE_SEGMENT
            break
        end
        lines[#lines + 1], at = line, next
    end
    show_lines(pinfo, lines)
    return tvb:captured_len()
end

for port = PORT_FIRST, PORT_LAST do DissectorTable.get("tcp.port"):add(port, connection) end

-- ---- UDP boards: whole frames in UDP datagrams (docs/protocol.md, UDP boards) ----

local HEADER = 14
for port = BOARD_FIRST + 1, BOARD_LAST do DissectorTable.get("tcp.port"):add(port, connection) end
local board = Proto("mxoeudp", "EtherMX UDP board")
local board_dst = ProtoField.ether("mxoeudp.dst", "Board that it is for")
local board_src = ProtoField.ether("mxoeudp.src", "Board that it is from")
board.fields = { board_dst, board_src }

-- Length of each frame but the last: a host's own capture shows what the kernel cuts or joins (UDP_SEGMENT, UDP_GRO).
local function length_of_each(tvb)
    local again = tvb:raw():find(tvb:raw(0, HEADER), FRAME_MIN + 1, true)
    return again and again - 1 or tvb:captured_len()
end

local function read_board_frame(tvb, pinfo, root, is_joined)
    local p = { is_udp = true, is_joined = is_joined }
    p.dst, p.src = tostring(tvb(0, 6):ether()), tostring(tvb(6, 6):ether())
    p.dst_digits, p.src_digits = tvb(0, 6):bytes():tohex(), tvb(6, 6):bytes():tohex()
    local ids = root:add(board, tvb(0, HEADER))
    ids:add(board_dst, tvb(0, 6))
    ids:add(board_src, tvb(6, 6))
    return dissect(tvb(HEADER):tvb(), pinfo, root, p)
end

function board.dissector(tvb, pinfo, root)
    local total = tvb:captured_len()
    if total <= HEADER or tvb(12, 2):uint() ~= 0x86df then return 0 end
    pinfo.cols.protocol = "MXoE"
    local each = length_of_each(tvb)
    local line = read_board_frame(each < total and tvb(0, each):tvb() or tvb, pinfo, root, false)
    local frames = 1
    for at = each, total - 1, each do
        if total - at <= HEADER or tvb:raw(at, HEADER) ~= tvb:raw(0, HEADER) then break end
        read_board_frame(tvb(at, math.min(each, total - at)):tvb(), pinfo, root, true)
        frames = frames + 1
    end
    pinfo.cols.info = frames == 1 and line or string.format("%s, and %d more", line, frames - 1)
    return total
end

for port = BOARD_FIRST, BOARD_LAST do DissectorTable.get("udp.port"):add(port, board) end
