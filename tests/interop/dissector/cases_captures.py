# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Values that were read off by hand: the examples of the wire specification, section 15, and what answers, repeats
and acknowledges what in captures whose README tells the story."""

import os
import pathlib
import struct

from tshark import write_pcap

A, B = '0x11223344', '0xa1b2c3d4'
TO_B = {'dst_ep': '5', 'src_ep': '2'}
TO_A = {'dst_ep': '2', 'src_ep': '5'}
EAGER = {**TO_B, 'tag': '0x0003', 'ack': '1', 'match': '0xbabe0000c0ffee01', 'session': B}
WINDOW = {'window': '7', 'window.tag': '0x2a'}
FETCH = {'pull.handle': '0x00400023', 'pull.magic': '0x21071985'}

# Name in compat/wire, bytes of payload that it leaves out, fields. In the order of the story: A connects to B.
EXAMPLES = [
    ('beacon', 0, {'type': '1', 'tag': '0x0000', 'beacon.board': '02:00:00:00:00:0a', 'beacon.serial': '0x5eed0001'}),
    ('host_query', 0, {'type': '3', 'tag': '0xffff', 'advert': '0x0001', 'host.magic': '0x13052008'}),
    ('host_reply', 0, {'type': '4', 'tag': '0x0001', 'host.name_length': '8', 'advert': '0x0003',
                       'host.magic': '0x13052008', 'host.name': 'nodeb:0', 'request_in': '2'}),
    ('connect_request', 0, {**TO_B, 'type': '36', 'tag': '0xffff', 'data_part': '16', 'seq': '0', 'advert': '0x0001',
                            'connect.requester': A, 'connect.key': '0x12345678', 'connect.start': '1',
                            'connect.is_reply': '0', 'connect.number': '0'}),
    ('connect_reply', 0, {**TO_A, 'type': '36', 'tag': '0x0001', 'advert': '0x0003', 'connect.requester': A,
                          'connect.replier': B, 'connect.start': '1', 'connect.is_reply': '1', 'connect.number': '0',
                          'connect.status': '0', 'request_in': '4'}),
    ('tiny', 0, {**EAGER, 'type': '37', 'length': '5', 'seq': '1', 'data': b'hello'.hex()}),
    ('small', 0, {**EAGER, 'type': '38', 'length': '33', 'seq': '2', 'data': bytes(range(33)).hex()}),
    ('medium_w', 904, {**EAGER, 'type': '39', 'length': '5000', 'seq': '3', 'frag.size': '904', 'frag': '1',
                       'frag.exponent': '12', 'position': '4096', 'dialect': 'W'}),
    ('rndv', 0, {**EAGER, **WINDOW, 'type': '40', 'data_part': '8', 'seq': '4', 'length': '100000',
                 'window.offset': '0'}),
    ('pull_w', 0, {**TO_A, **WINDOW, **FETCH, 'type': '41', 'session': A, 'pull.total': '100000',
                   'window.offset': '0', 'pull.skip': '0', 'pull.block': '32768', 'pull.frame': '8',
                   'message_in': '9', 'dialect': 'W'}),
    ('pull_reply_w', 4096, {**FETCH, 'type': '42', 'tag': '0x0003', 'reply.frame': '9', 'reply.size': '4096',
                            'position': '36864', 'request_in': '10', 'message_in': '9'}),
    ('notify', 0, {**TO_A, **WINDOW, 'type': '43', 'session': A, 'length': '100000', 'seq': '1', 'ack': '5',
                   'acks': '6,7,8,9', 'message_in': '9'}),
    ('truc', 0, {**TO_B, 'type': '35', 'data_part': '16', 'session': B, 'truc.kind': '0x55', 'ack': '2',
                 'truc.session': B, 'truc.counter': '1', 'truc.ack_copy': '2', 'truc.resends': '0', 'acks': '12'}),
]
# Refusals have no place in that story.
REFUSALS = [
    ('nack_lib', 0, {'type': '44', 'src_ep': '5', 'dst_ep': '2', 'nack.reason': '2', 'nack.tag': '0x0001',
                     'seq': '5'}),
    ('nack_mcp', 0, {**FETCH, 'type': '45', 'tag': '0x0003', 'dst_ep': '5', 'nack.reason': '4'}),
]
EXAMPLES_N = [
    ('medium_n9000', 5000, {**EAGER, 'type': '39', 'length': '5000', 'seq': '3', 'frag.size': '5000', 'frag': '0',
                            'position': '0', 'dialect': 'N', 'frag.exponent': None}),
    ('pull_n9000', 0, {**TO_A, **WINDOW, **FETCH, 'type': '41', 'session': A, 'pull.total': '100000',
                       'window.offset': '0', 'pull.skip': '0', 'pull.block': '100000', 'pull.frame': '0',
                       'dialect': 'N'}),
]
# The EtherMX extension.
OFFER = {'offer.newest': '1', 'offer.oldest': '1'}
EXTENSION = [
    ('connect_request_offer', 0, {**TO_B, **OFFER, 'type': '36', 'connect.requester': A, 'offer.features': '0x000e',
                                  'offer.frame': '9014', 'offer.frames': '32', 'padding': None}),
    ('connect_reply_offer', 0, {**TO_A, **OFFER, 'type': '36', 'connect.replier': B, 'offer.features': '0x0005',
                                'offer.frame': '4144', 'offer.frames': '16'}),
    ('x_medium', 0, {**EAGER, 'type': '112', 'length': '9000', 'seq': '3', 'frag.size': '42', 'frag': '1',
                     'position': '8958', 'x.checksum': '0xed30ebe9', 'data': bytes(range(42)).hex()}),
    ('x_medium_short', 0, {**EAGER, 'type': '112', 'length': '2', 'seq': '4', 'frag.size': '2', 'frag': '0',
                           'position': '0', 'x.checksum': '0x90f04f76', 'data': b'hi'.hex(), 'padding': '0000'}),
    ('x_report', 0, {**TO_A, 'type': '113', 'session': A, 'ack': '3', 'x.next': '1', 'x.counter': '7', 'x.echo': '2',
                     'x.room': '30', 'x.report.flags': '0x01', 'x.here': '06' + 14 * '00' + '80',
                     'x.frags': '0x00000005', 'x.other': '4', 'x.other.frags': '0x00000002'}),
    ('x_pull', 0, {**TO_A, **WINDOW, **FETCH, 'type': '114', 'session': A, 'pull.total': '100000',
                   'window.offset': '0', 'x.unit': '8974', 'x.request': '2', 'x.frame': '3',
                   'x.want': '8101' + 14 * '00'}),
    ('x_data', 0, {**TO_B, **FETCH, 'type': '115', 'x.frame': '1', 'x.request': '5', 'x.size': '64',
                   'x.checksum': '0x33ced38a', 'data': bytes(i * 7 & 255 for i in range(64)).hex()}),
    ('x_address', 0, {**TO_B, 'type': '117', 'session': B, 'x.address.flags': '0x01', 'x.session': '0x11223344',
                      'x.address': '10.0.0.10', 'x.secret': '0x5ec7e70001020304', 'x.port': '34529',
                      'x.longest': '1472', 'padding': 16 * '00'}),
    ('x_address_tcp', 0, {**TO_B, 'type': '117', 'session': B, 'x.address.flags': '0x04', 'x.address': '10.0.0.10',
                          'x.secret': '0x5ec7e70001020304', 'x.port': '34529', 'x.longest': '65507'}),
    ('x_pull_tcp', 0, {**TO_A, **WINDOW, **FETCH, 'type': '114', 'session': A, 'pull.total': '1000000',
                       'x.pull.flags': '0x04', 'x.unit': '65467', 'x.frame': '3', 'x.want': '8101' + 14 * '00'}),
    ('x_group', 0, {'type': '118', 'src_ep': '5', 'x.session': '0x11223344', 'x.group.key': '0xc0ffee01',
                    'x.group.number': '2309737967', 'x.group.size': '21', 'x.checksum': '0xc9955a46',
                    'data': bytes(range(21)).hex()}),
    ('x_pack', 0, {**TO_B, 'type': '119', 'session': B, 'seq': '9', 'ack': '1', 'x.pack.size': '68',
                   'x.pack.count': '3', 'x.checksum': '0x1c13132c'}),
]


def chain(*frames):
    """Each repeats the one before it."""
    return {b: [a] for a, b in zip(frames, frames[1:])}


def ones(pairs):
    return {a: [b] for a, b in pairs.items()}


# Answers, repeats and acknowledgements, by the start of the file's name; fields that are not named are not
# looked at, but of those that are each frame that has one stands here.
STORIES = {
    '01': {'request_in': ones({6: 4, 14: 13}), 'retransmission_of': {13: [2]}},
    '03-tiny-16': {'request_in': {2: [1]}, 'acks': {4: [3]}, 'acked_in': {3: [4]}, 'retransmission_of': {}},
    '06-medium-multifrag-4097': {'message_in': {4: [3]}, 'acks': {5: [4]}, 'acked_in': ones({3: 5, 4: 5}),
                                 'complete': {4: [1]}},
    '07-large-32769': {'request_in': {2: [1], **{n: [4] for n in range(5, 13)}, 14: [13]},
                       'message_in': {n: [3] for n in (4, *range(5, 16), 17, 19)}, 'acks': {15: [3]},
                       'retransmission_of': chain(15, 17, 19), 'notify_in': {3: [15]}, 'complete': {14: [1]}},
    '10': {'acks': {23: list(range(3, 23))}, 'retransmission_of': {}},
    '11-nack-lib-connect-endpoint': {'request_in': {2: [1]}, 'response_in': {1: [2]}},
    '13': {'acks': {16: [3], 33: [20], 35: [34, 33]}, 'retransmission_of': {34: [16]},
           'notify_in': ones({3: 16, 20: 33})},
    '14-pingpong-piggyback': {'acks': ones({4: 3, 5: 4, 6: 5, 7: 6, 8: 7}), 'retransmission_of': chain(8, 10, 12)},
    '14-pingpong-medium': {'acks': ones({6: 5, 9: 8, 12: 11, 15: 14, 18: 17}), 'retransmission_of': {
        **chain(18, 22, 26), **chain(19, 23, 27), **chain(20, 24, 28)}},
    '15': {'request_in': ones({2: 1, 6: 5, 8: 7}), 'acks': {4: [3]}},
    '17': {'request_in': {}, 'retransmission_of': chain(1, 2, 3, 4, 5, 6)},
    '18': {'request_in': ones({2: 1, 6: 5, 10: 7, 11: 8, 12: 9, 14: 13}), 'acks': {4: [3]},
           'message_in': {n: [3] for n in range(5, 14)}, 'notify_in': {3: [13]}},
    '19': {'request_in': {**{n + 11: [n] for n in range(1, 12)}, **ones({25: 23, 26: 24})},
           'retransmission_of': {**chain(*range(1, 12)), **chain(*range(12, 23))}},
    '22-loss-every-2nd': {'acks': {8: [3], 12: [9, 4, 10, 5, 11]}, 'retransmission_of': {}},
    'n1': {'acks': ones({13: 10, 19: 16, 27: 24, 155: 154, 160: 159}),
           'complete': {24: [1], 152: [1]}, 'notify_in': {30: [155]}},
}


def golden(folder, name, payload):
    """A frame of compat/wire, with zeros for the payload that it leaves out."""
    text = pathlib.Path(folder, name + '.hex').read_text(encoding='utf-8')
    rows = [line.split()[1:] for line in text.splitlines() if line and not line.startswith('#')]
    return bytes.fromhex(''.join(''.join(r) for r in rows)) + bytes(payload)


def in_udp(frame, payload, port, source=None):
    """A UDP datagram with that payload, in a frame of IPv4 with the addresses of another."""
    udp = struct.pack('>HHHH', source or port - 3, port, 8 + len(payload), 0) + payload
    ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(udp), 0, 0x4000, 64, 17, 0, bytes((10, 0, 0, 10)),
                     bytes((10, 0, 0, 11)))
    return frame[:12] + b'\x08\0' + ip + udp


def in_tcp(frame, at, payload, port=34532, source=40000):
    """A TCP segment with that payload at that place of its stream, in a frame of IPv4."""
    tcp = struct.pack('>HHIIBBHHH', source, port, 1000 + at, 1, 0x50, 0x18, 512, 0, 0) + payload
    ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0, bytes((10, 0, 0, 10)),
                     bytes((10, 0, 0, 11)))
    return frame[:12] + b'\x08\0' + ip + tcp


def in_datagram(frame, secret, port=34532):
    """That frame as a UDP datagram, in a frame of IP."""
    return in_udp(frame, struct.pack('>QI4x', secret, 0x454d5844) + frame[16:], port)


def of_udp_board(frames, port=34783 + 6, v6=False):
    """Those frames as the kernel joins them: one datagram of UDP boards, whose ids no address of Ethernet shows."""
    routers = bytes((2, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2))
    payload = b''.join(frames)
    whole = in_udp(routers, payload, port)
    if v6:
        udp = whole[34:]
        whole = routers + b'\x86\xdd' + struct.pack('>IHBB', 6 << 28, len(udp), 17, 64) + bytes(15) + b'\1' + \
            bytes(15) + b'\2' + udp
    return whole


def check_udp_boards(folder):
    """The examples' story between UDP boards, with the same fields, and answers found."""
    def check(tshark):
        path = os.path.join(tshark.home, 'boards.pcap')
        frames = [golden(folder, name, payload) for name, payload, _ in EXAMPLES]
        names = sorted({'mxoe.' + key for _, _, fields in EXAMPLES for key in fields})
        for options, made in (([], [of_udp_board([frame]) for frame in frames]),
                              ([], [of_udp_board([frame], v6=True) for frame in frames]),
                              (['-d', 'udp.port==40000-40256,mxoeudp'], [of_udp_board([f], 40006) for f in frames])):
            write_pcap(path, made)
            shown = tshark.fields(path, [*names, 'mxoeudp.src', '_ws.expert.severity'], *options)
            for (name, _, fields), whole, frame in zip(EXAMPLES, frames, shown):
                assert frame.one('mxoeudp.src') == whole[6:12].hex(':'), f'{name}: {frame}'
                for key, wanted in fields.items():
                    found = ','.join(frame.get('mxoe.' + key, [])) or None
                    assert found == wanted, f'{name}, {key}: {found}, not {wanted}'
    return check


def check_joined(folder):
    """Frames that the kernel joined are shown one by one; others' datagrams, and cut ones, do no harm."""
    def check(tshark):
        path = os.path.join(tshark.home, 'joined.pcap')
        data = golden(folder, 'x_data', 0)
        last = data[:34] + struct.pack('>H', 20) + bytes(4) + data[40:60]
        query = b'\xff' * 6 + golden(folder, 'host_query', 0)[6:]
        write_pcap(path, [of_udp_board([data, data, last]), of_udp_board([query]), of_udp_board([data], 35043),
                          of_udp_board([b'x' * 100]), of_udp_board([data[:17]]), of_udp_board([data[:5]]),
                          of_udp_board([data, b'x' * 30])])
        shown = tshark.fields(path, ['mxoe.x.size', 'mxoe.type', 'mxoe.malformed.destination', 'mxoe.malformed.short',
                                     'mxoeudp.dst', 'mxoe.altered', '_ws.col.Info'])
        assert shown[0].get('mxoe.x.size') == ['64', '64', '20'], shown[0]
        assert 'and 2 more' in shown[0].one('_ws.col.Info') and 'mxoe.altered' not in shown[0], shown[0]
        assert shown[1].get('mxoe.type') == ['3'] and 'mxoe.malformed.destination' not in shown[1], shown[1]
        for n, why in ((2, 'port'), (3, 'other data'), (5, 'no header')):
            assert 'mxoe.type' not in shown[n], f'{why}: {shown[n]}'
        assert 'mxoe.malformed.short' in shown[4], shown[4]
        assert shown[6].get('mxoe.type') == ['115'], shown[6]
    return check


def check_datagrams(folder):
    def check(tshark):
        path = os.path.join(tshark.home, 'datagrams.pcap')
        names = ('x_data', 'x_address')
        sent = [golden(folder, name, 0) for name in names]
        altered = sent[0][:-1] + bytes([sent[0][-1] ^ 1])
        short = sent[0][:40]
        last = sent[0][:34] + struct.pack('>H', 5) + bytes(4) + sent[0][40:45]
        write_pcap(path, [*(in_datagram(f, 0x1122334455667788) for f in (*sent, altered)),
                          in_datagram(sent[0], 1, port=4000), in_datagram(short, 1), in_datagram(last, 1)])
        wanted = {name: fields for name, _, fields in EXTENSION if name in names}
        keys = sorted({'mxoe.' + key for fields in wanted.values() for key in fields} | {
            'mxoed.secret', 'mxoe.altered', 'mxoe.malformed.length', '_ws.expert.severity'})
        frames = tshark.fields(path, keys)
        for name, frame in zip(names, frames):
            assert frame.one('mxoed.secret') == '0x1122334455667788', frame
            for key, value in wanted[name].items():
                shown = frame.one('mxoe.' + key)
                assert shown == value or key == 'tag', f'{name}, {key}: {shown}, not {value}'
        assert not frames[0].get('mxoe.altered') and frames[2].get('mxoe.altered'), frames[2]
        assert not frames[3].get('mxoed.secret'), 'another port'
        assert frames[4].get('mxoe.malformed.length'), frames[4]
        assert frames[5].get('mxoe.x.size') == ['5'] and '_ws.expert.severity' not in frames[5], frames[5]
    return check


GREETING = bytes.fromhex('1122334455667788' '454d5854' '00000000')
PAD = bytes(8)  # before each packet


def check_connections(folder):
    """Packets are found in the bytes of a connection, however these come in segments."""
    def check(tshark):
        path = os.path.join(tshark.home, 'connections.pcap')
        frame = golden(folder, 'x_data', 0)
        data = PAD + frame[16:]
        altered = data[:-1] + bytes([data[-1] ^ 1])
        last = data[:26] + struct.pack('>H', 5) + bytes(4) + data[32:37]
        segments, at = [], 0
        for payload in (GREETING, data, data[:10], data[10:50], data[50:] + data + altered + last[:7], last[7:], data + GREETING):
            segments.append(in_tcp(frame, at, payload))
            at += len(payload)
        alone = [in_tcp(frame, 0, GREETING + data + data, source=40001), in_tcp(frame, 0, data, source=40002),
                 in_tcp(frame, 0, GREETING + data, port=4000), in_tcp(frame, 0, GREETING[::-1] + data, source=40003),
                 in_tcp(frame, 0, GREETING + data, port=40004, source=34532), in_tcp(frame, 0, GREETING + PAD + frame, source=40005),
                 in_tcp(frame, 0, data, port=34533, source=40006), in_tcp(frame, 0, GREETING + last, source=40007)]
        write_pcap(path, segments + alone)
        example = {name: fields for name, _, fields in EXTENSION}['x_data']
        shown = tshark.fields(path, ['mxoet.secret', *('mxoe.' + key for key in example), 'mxoe.altered',
                                     'mxoe.unexpected.stream', '_ws.col.Info', '_ws.expert.severity'])
        for key, value in example.items():
            assert shown[1].one('mxoe.' + key) == value, f'{key}: {shown[1]}'
        sizes = [frame.get('mxoe.x.size') for frame in shown]
        one = ['64']
        assert sizes == [None, one, None, None, 3 * one, ['5'], one,
                         2 * one, one, None, None, None, None, None, ['5']], sizes
        assert [n for n, frame in enumerate(shown) if 'mxoet.secret' in frame] == [0, 7, 12, 14], shown
        assert shown[0].one('mxoet.secret') == '0x1122334455667788', shown[0]
        assert [n for n, frame in enumerate(shown) if 'mxoe.altered' in frame] == [4], shown
        assert [n for n, frame in enumerate(shown) if 'mxoe.unexpected.stream' in frame] == [6, 12], shown
        lines = [frame.one('_ws.col.Info') for frame in shown]
        assert lines[4] == 2 * 'X DATA 2 > 5 Request=5 Frame=1 (64 bytes), ' + 'and 1 more', lines
        assert lines[14] == 'Connection for X DATA, and 1 more', lines
        assert '_ws.expert.severity' not in shown[5], shown[5]
    return check


def check_board_connections(folder):
    """Those of UDP boards go to the numbers of their UDP ports, by default or as tshark is told."""
    def check(tshark):
        path = os.path.join(tshark.home, 'board_connections.pcap')
        frame = golden(folder, 'x_data', 0)
        stream = GREETING + PAD + frame[16:]
        write_pcap(path, [in_tcp(frame, 0, stream, port=34783 + 6), in_tcp(frame, 0, stream, port=34783 + 7),
                          in_tcp(frame, 0, stream, port=40006, source=50000),
                          in_tcp(frame, 0, stream, port=50000, source=34783 + 6)])
        for options, wanted in (([], [True, False, False, False]),
                                (['-d', 'tcp.port==40001-40256,mxoet'], [True, False, True, False])):
            shown = tshark.fields(path, ['mxoe.x.size', 'mxoe.unexpected.stream'], *options)
            found = ['mxoe.x.size' in frame and 'mxoe.unexpected.stream' not in frame for frame in shown]
            assert found == wanted, f'{options}: {shown}'
    return check


def check_cut_connection(folder):
    """Shows of a packet as much as the capture keeps."""
    def check(tshark):
        path = os.path.join(tshark.home, 'cut.pcap')
        frame = golden(folder, 'x_data', 0)
        segment = in_tcp(frame, 0, GREETING + PAD + frame[16:])
        for cut, size in ((len(segment) - 20, ['64']), (54 + 16 + 32, ['64']), (54 + 16 + 28, None), (54 + 16, None)):
            write_pcap(path, [segment], cut=cut)
            shown = tshark.fields(path, ['mxoe.x.size', 'mxoet.secret', 'mxoe.altered'])[0]
            assert shown.get('mxoe.x.size') == size and 'mxoet.secret' in shown, f'{cut}: {shown}'
            assert 'mxoe.altered' not in shown, f'{cut}: {shown}'
    return check


def check_examples(folder, examples, *options):
    def check(tshark):
        path = os.path.join(tshark.home, 'examples.pcap')
        write_pcap(path, [golden(folder, name, payload) for name, payload, _ in examples])
        names = sorted({'mxoe.' + key for _, _, fields in examples for key in fields})
        frames = tshark.fields(path, names, *options)
        assert len(frames) == len(examples)
        for (name, _, fields), frame in zip(examples, frames):
            for key, wanted in fields.items():
                shown = ','.join(frame.get('mxoe.' + key, [])) or None
                assert shown == wanted, f'{name}, {key}: {shown}, not {wanted}'
    return check


def check_story(path, story):
    def check(tshark):
        frames = tshark.capture(path)
        for key, wanted in story.items():
            shown = {n: f.frames('mxoe.' + key) for n, f in enumerate(frames, 1) if 'mxoe.' + key in f}
            assert shown == wanted, f'{key}: {shown}, not {wanted}'
    return check


def check_plugin(path):
    """The folder, copied to where Wireshark looks for plugins, does the same as the script by name."""
    def check(tshark):
        names = ['mxoe.type', 'mxoe.seq', 'mxoe.acks']
        by_script = tshark.fields(path, names)
        tshark.install()
        try:
            assert tshark.fields(path, names, plugin=True) == by_script
        finally:
            tshark.uninstall()
        assert any('mxoe.acks' in f for f in by_script)
    return check


def checks(_codec, pcap_folder, wire_folder):
    """Examples of the specification, stories of captures, and the way in as a plugin."""
    yield 'examples', check_examples(wire_folder, EXAMPLES)
    yield 'examples of refusals', check_examples(wire_folder, REFUSALS)
    yield 'examples of the extension', check_examples(wire_folder, EXTENSION)
    yield 'datagrams', check_datagrams(wire_folder)
    yield 'connections', check_connections(wire_folder)
    yield 'connections of UDP boards', check_board_connections(wire_folder)
    yield 'connections, cut by the capture', check_cut_connection(wire_folder)
    yield 'UDP boards', check_udp_boards(wire_folder)
    yield 'frames of UDP boards, joined', check_joined(wire_folder)
    yield 'examples of dialect N', check_examples(wire_folder, EXAMPLES_N)
    yield 'examples of dialect N, given', check_examples(wire_folder, EXAMPLES_N, '-o', 'mxoe.dialect:N',
                                                         '-o', 'mxoe.size:9000')
    files = [*pathlib.Path(pcap_folder).glob('*.pcap'), *pathlib.Path(pcap_folder, 'native').glob('*.pcap')]
    for start, story in STORIES.items():
        found = [str(f) for f in files if f.name.startswith(start)]
        assert len(found) == 1, f'{start}: {found}'
        yield f'story of {start}', check_story(found[0], story)
    yield 'plugin', check_plugin(found[0])
