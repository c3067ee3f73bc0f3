-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
-- Names: packet types, display fields, expert notes. ethermx.lua loads it; by itself it registers nothing.

local names = {}

-- Types that have a name but no layout (reserved by MX) are dropped by every receiver.
names.types = {
    [0] = "none", [1] = "RAW", [2] = "fabric manager reply", [3] = "HOST QUERY", [4] = "HOST REPLY",
    [32] = "Ethernet unicast", [33] = "Ethernet multicast", [34] = "Ethernet native", [35] = "TRUC",
    [36] = "CONNECT", [37] = "TINY", [38] = "SMALL", [39] = "MEDIUM", [40] = "RNDV", [41] = "PULL",
    [42] = "PULL REPLY", [43] = "NOTIFY", [44] = "NACK LIB", [45] = "NACK MCP", [112] = "X MEDIUM",
    [113] = "X REPORT", [114] = "X PULL", [115] = "X DATA", [117] = "X ADDRESS",
    [118] = "X GROUP",
    [119] = "X PACK",
}

names.reasons = {
    [0] = "none", [1] = "no such endpoint number", [2] = "endpoint closed", [3] = "session does not match",
    [4] = "no such window",
}
names.statuses = { [0] = "accepted", [11] = "wrong key" }
names.kinds = { [0x55] = "ack" }

-- Fields by the key under which the readers of ethermx_layout.lua and the notes of ethermx_track.lua know them.
function names.fields()
    local u8, u16, u32 = ProtoField.uint8, ProtoField.uint16, ProtoField.uint32
    local dec, hex = base.DEC, base.HEX
    local f = {
        tag = u16("mxoe.tag", "Tag (sender's index at the receiver)", hex),
        type = u8("mxoe.type", "Type", dec, names.types),
        dst_ep = u8("mxoe.dst_ep", "Destination endpoint", dec),
        src_ep = u8("mxoe.src_ep", "Source endpoint", dec),
        generation = u8("mxoe.generation", "Generation (ignored)", hex),
        session = u32("mxoe.session", "Session of the destination", hex),
        length = u32("mxoe.length", "Message length", dec),
        data_part = u16("mxoe.data_part", "Length of the data part", dec),
        checksum = u16("mxoe.checksum", "Checksum (ignored)", hex),
        seq = u16("mxoe.seq", "Sequence number with session bits", dec),
        seq_bits = u16("mxoe.seq.bits", "Session bits", dec, nil, 0xc000),
        seq_number = u16("mxoe.seq.number", "Number", dec, nil, 0x3fff),
        ack = u16("mxoe.ack", "Ack (next expected) with session bits", dec),
        ack_bits = u16("mxoe.ack.bits", "Session bits", dec, nil, 0xc000),
        ack_number = u16("mxoe.ack.number", "Number", dec, nil, 0x3fff),
        match = ProtoField.uint64("mxoe.match", "Match information", hex),
        frag_size = u16("mxoe.frag.size", "Bytes in this fragment", dec),
        frag = u8("mxoe.frag", "Fragment", dec),
        exponent = u8("mxoe.frag.exponent", "Size exponent", dec),
        position = u32("mxoe.position", "Position in the message", dec),
        window = u32("mxoe.window", "Window", dec),
        window_tag = u8("mxoe.window.tag", "Window tag", hex),
        window_offset = u32("mxoe.window.offset", "Window offset", dec),
        total = u32("mxoe.pull.total", "Bytes of the whole pull", dec),
        handle = u32("mxoe.pull.handle", "Pull handle", hex),
        magic = u32("mxoe.pull.magic", "Pull magic", hex),
        skip = u32("mxoe.pull.skip", "Skip in the first frame", dec),
        block = u32("mxoe.pull.block", "Bytes wanted by this request", dec),
        frame = u32("mxoe.pull.frame", "First frame wanted", dec),
        reply_frame = u8("mxoe.reply.frame", "Frame number modulo 256", dec),
        reply_size = u16("mxoe.reply.size", "Bytes in this frame", dec),
        advert = u16("mxoe.advert", "Index advert (use it as tag)", hex),
        host_magic = u32("mxoe.host.magic", "Magic", hex),
        name_length = u8("mxoe.host.name_length", "Name length with NUL", dec),
        name = ProtoField.string("mxoe.host.name", "Board name"),
        requester = u32("mxoe.connect.requester", "Session of the requester", hex),
        replier = u32("mxoe.connect.replier", "Session of the replier", hex),
        key = u32("mxoe.connect.key", "Key", hex),
        start = u16("mxoe.connect.start", "Number expected next, with session bits", dec),
        is_reply = u8("mxoe.connect.is_reply", "Reply", dec),
        number = u8("mxoe.connect.number", "Connect number", dec),
        status = u8("mxoe.connect.status", "Status", dec, names.statuses),
        kind = u8("mxoe.truc.kind", "Kind", hex, names.kinds),
        session_copy = u32("mxoe.truc.session", "Session of the destination, again", hex),
        counter = u32("mxoe.truc.counter", "Ack counter", dec),
        ack_copy = u16("mxoe.truc.ack_copy", "Ack copy (ignored)", dec),
        resends = u8("mxoe.truc.resends", "Resends (ignored)", dec),
        reason = u8("mxoe.nack.reason", "Reason", dec, names.reasons),
        tag_copy = u16("mxoe.nack.tag", "Copy of the tag", hex),
        board_high = u16("mxoe.beacon.high", "Board address, upper 16 bits", hex),
        board = ProtoField.ether("mxoe.beacon.board", "Board address"),
        serial = u32("mxoe.beacon.serial", "Serial", hex),
        offer_newest = u8("mxoe.offer.newest", "Extension, newest version", dec),
        offer_oldest = u8("mxoe.offer.oldest", "Extension, oldest version", dec),
        offer_features = u16("mxoe.offer.features", "Features (1: wishes checksums; takes 2: reports, 4: fragments, 8: pulls, 16: datagrams, 32: packs, 64: TCP)", hex),
        offer_frame = u16("mxoe.offer.frame", "Longest frame received", dec),
        offer_frames = u16("mxoe.offer.frames", "Eager frames held", dec),
        offer_check = ProtoField.uint64("mxoe.offer.check", "Check value (right)", hex),
        x_checksum = u32("mxoe.x.checksum", "CRC-32C (0: none)", hex),
        x_report_flags = u8("mxoe.x.report.flags", "Flags (1: answer at once)", hex),
        x_next = u16("mxoe.x.next", "Number sent next, with session bits", dec),
        x_counter = u32("mxoe.x.counter", "Report counter", dec),
        x_echo = u32("mxoe.x.echo", "Counter of the newest report taken", dec),
        x_room = u16("mxoe.x.room", "Room for eager frames", dec),
        x_state_size = u16("mxoe.x.state_size", "Bytes of state", dec),
        x_here = ProtoField.bytes("mxoe.x.here", "Numbers here behind the ack, lowest bit first"),
        x_frags = u32("mxoe.x.frags", "Fragments of the acknowledged number here", hex),
        x_other = u16("mxoe.x.other", "Another number that lacks fragments", dec),
        x_other_frags = u32("mxoe.x.other.frags", "Fragments of that number here", hex),
        x_pull_flags = u8("mxoe.x.pull.flags", "Flags (1: with checksums, 2: by datagrams, 4: by TCP)", hex),
        x_unit = u16("mxoe.x.unit", "Bytes in a full frame", dec),
        x_request = u16("mxoe.x.request", "Request", dec),
        x_frame = u32("mxoe.x.frame", "Frame", dec),
        x_want = ProtoField.bytes("mxoe.x.want", "Frames wanted from there, lowest bit first"),
        x_size = u16("mxoe.x.size", "Bytes in this frame", dec),
        x_address_flags = u8("mxoe.x.address.flags", "Flags (1: answer, 2: fragments may come, 4: TCP)", hex),
        x_session = u32("mxoe.x.session", "Session of the sender", hex),
        x_address = ProtoField.ipv4("mxoe.x.address", "It takes data at"),
        x_secret = ProtoField.uint64("mxoe.x.secret", "Secret that comes with the data", hex),
        x_port = u16("mxoe.x.port", "UDP or TCP port", dec),
        x_longest = u16("mxoe.x.longest", "Longest datagram, or packet by TCP and 16", dec),
        x_group_key = u32("mxoe.x.group.key", "Group", hex),
        x_group_number = u32("mxoe.x.group.number", "Number, the sender's own", dec),
        x_group_size = u16("mxoe.x.group.size", "Bytes for the group", dec),
        x_pack_size = u16("mxoe.x.pack.size", "Bytes of all messages in this frame", dec),
        x_pack_count = u16("mxoe.x.pack.count", "Messages in this frame", dec),
        data = ProtoField.bytes("mxoe.data", "Data"),
        padding = ProtoField.bytes("mxoe.padding", "Padding"),
        unknown = ProtoField.bytes("mxoe.unknown", "Body"),
    }
    local frame = function(abbr, text, kind)
        return ProtoField.framenum(abbr, text, base.NONE, frametype and frametype[kind] or nil)
    end
    -- What no byte of the frame says.
    f.dialect = ProtoField.string("mxoe.dialect", "Dialect")
    f.stream = u32("mxoe.stream", "Pair of endpoints", dec)
    f.retransmission = ProtoField.bool("mxoe.retransmission", "Retransmission")
    f.retransmission_of = frame("mxoe.retransmission_of", "Sent before in", "RETRANS_PREV")
    f.retransmission_time = ProtoField.double("mxoe.retransmission_time", "Seconds since it was sent last")
    f.message_in = frame("mxoe.message_in", "Message announced or begun in", "NONE")
    f.complete = ProtoField.bool("mxoe.complete", "Message complete")
    f.request_in = frame("mxoe.request_in", "Answers", "REQUEST")
    f.response_in = frame("mxoe.response_in", "Answered in", "RESPONSE")
    f.response_time = ProtoField.double("mxoe.response_time", "Seconds since the request")
    f.acks = frame("mxoe.acks", "Acknowledges", "ACK")
    f.acked_in = frame("mxoe.acked_in", "Acknowledged in", "ACK")
    f.ack_time = ProtoField.double("mxoe.ack_time", "Seconds since the newest of them was sent")
    f.x_again = u8("mxoe.x.again", "Frames of it that were asked for before", dec)
    f.reports = frame("mxoe.reports", "Says that it has", "ACK")
    f.reported_in = frame("mxoe.reported_in", "Reported as there in", "ACK")
    f.beacon_first = frame("mxoe.beacon.first_in", "First beacon of this serial", "NONE")
    f.beacon_before = frame("mxoe.beacon.before_in", "Last beacon of an earlier serial", "NONE")
    f.beacon_in = frame("mxoe.beacon_in", "Drawn by the beacon", "REQUEST")
    f.notify_in = frame("mxoe.notify_in", "Taken by the receiver in", "RESPONSE")
    return f
end

names.text = {} -- of the expert notes

-- malformed: wrong whatever came before. unexpected: wrong after the frames before it.
function names.experts()
    local e = {}
    local add = function(group, severity, list)
        for key, text in pairs(list) do
            names.text[key] = text
            e[key] = ProtoExpert.new("mxoe." .. key, text, group, severity)
        end
    end
    add(expert.group.MALFORMED, expert.severity.WARN, {
        ["malformed.short"] = "Frame too short",
        ["malformed.destination"] = "Only beacons may be broadcast, and X GROUP goes to its group's address",
        ["malformed.source"] = "Impossible source address",
        ["malformed.type"] = "Type without meaning: receivers drop it",
        ["malformed.length"] = "Stated length is wrong",
        ["malformed.data_part"] = "Data part too short",
        ["malformed.fragment"] = "Impossible fragment",
        ["malformed.pull"] = "Impossible range of a pull",
        ["malformed.reply"] = "Impossible data of a pull",
        ["malformed.connect"] = "Impossible connect",
        ["malformed.truc"] = "Not an ack, or its sessions differ",
        ["malformed.nack"] = "Impossible reason",
        ["malformed.host"] = "Impossible board name",
        ["malformed.address"] = "Impossible address for data",
        ["malformed.group"] = "Impossible frame to a group",
        ["malformed.beacon"] = "Impossible board address",
    })
    add(expert.group.SEQUENCE, expert.severity.WARN, {
        ["unexpected.own_address"] = "Source is the destination: right only on a loopback",
        ["unexpected.session"] = "Not the session of the destination",
        ["unexpected.one_sided"] = "Sender never heard our connect: receiver drops or refuses it",
        ["unexpected.session_bits"] = "Session bits are not those of the partner",
        ["unexpected.content"] = "Same number as an earlier frame, other contents",
        ["unexpected.ack"] = "Acknowledges what was not sent",
        ["unexpected.truc"] = "Ack counter did not rise",
        ["unexpected.report"] = "Report counter did not rise",
        ["unexpected.window"] = "No such window",
        ["unexpected.pull"] = "Range outside the message",
        ["unexpected.reply"] = "Not what was asked for",
        ["unexpected.notify"] = "Notify of nothing",
        ["unexpected.connect"] = "Reply that nobody waits for",
        ["unexpected.nack"] = "Refusal of nothing",
        ["unexpected.host"] = "Reply that nobody waits for",
        ["unexpected.dialect"] = "The two boards speak different dialects",
        ["unexpected.stream"] = "No X DATA begins here: receivers close the connection, or the capture lacks a part",
    })
    add(expert.group.SEQUENCE, expert.severity.NOTE, {
        ["repeated"] = "Retransmission",
        ["refused"] = "Refused",
        ["unexpected.tag"] = "Tag is not the index that the receiver told: Open-MX drops it",
    })
    add(expert.group.CHECKSUM, expert.severity.WARN, { ["altered"] = "Wrong checksum: receivers drop it" })
    add(expert.group.UNDECODED, expert.severity.NOTE, { ["cut"] = "Header cut off by the capture" })
    return e
end

return names
