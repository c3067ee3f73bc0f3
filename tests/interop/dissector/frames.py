# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Frames from the tables of the wire specification, sections 2 to 4: good ones, and any field made wrong."""

import struct

BROADCAST = b'\xff' * 6
BEACON, QUERY, HOST_REPLY, TRUC, CONNECT, TINY, SMALL, MEDIUM, RNDV, PULL, REPLY, NOTIFY, NACK_LIB, NACK_MCP = \
    1, 3, 4, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45
X_MEDIUM, X_REPORT, X_PULL, X_DATA, X_ADDRESS, X_GROUP, X_PACK = 112, 113, 114, 115, 117, 118, 119
GROUP = 0xc0ffee01
SESSIONS = {'a': 0x11223344, 'b': 0xa1b2c3d4, 'c': 0x55667788}
ENDPOINTS = {'a': 2, 'b': 5, 'c': 7}
HANDLE, MAGIC = 0x00400023, 0x21071985
MATCH = 0xbabe0000c0ffee01


class Network:
    """Boards a, b and c of one story, with addresses that no other story has. Methods return whole frames.

    dialect 'W' or 'N' (size 9000). Every method takes sender and receiver, then what differs from a good packet.
    """

    def __init__(self, serial, dialect):
        self.mac = {name: bytes([2, 0, 0, serial >> 8, serial & 255, last])
                    for name, last in (('a', 10), ('b', 11), ('c', 12))}
        self.dialect = dialect
        self.reply_size = 4096 if dialect == 'W' else 8968
        self.block = 8 if dialect == 'W' else 32
        self.frag = 4096 if dialect == 'W' else 8192
        self.frags = 8 if dialect == 'W' else 32

    def frame(self, s, r, body, tag=1, dst=None, src=None, cut=None):
        whole = (dst or self.mac[r]) + (src or self.mac[s]) + struct.pack('>HH', 0x86df, tag) + body
        return whole.ljust(60, b'\0')[:cut]

    @staticmethod
    def head(s, r, kind, ends=None):
        dst, src = ends or (ENDPOINTS[r], ENDPOINTS[s])
        return struct.pack('>BBBB', kind, dst, src, 0)

    def beacon(self, s, address=None, high=0, serial=0x5eed0001, **outer):
        body = struct.pack('>B15xH', BEACON, high) + (address or self.mac[s]) + struct.pack('>I20x', serial)
        return self.frame(s, None, body, tag=0, **{'dst': BROADCAST, **outer})

    def query(self, s, r, magic=0x13052008, **outer):
        return self.frame(s, r, struct.pack('>BxHxxxxIxxxx', QUERY, 1, magic), **outer)

    def host_reply(self, s, r, name=b'node:0\0', length=None, magic=0x13052008, **outer):
        size = len(name) if length is None else length
        return self.frame(s, r, struct.pack('>BBHxxxxIxxxx', HOST_REPLY, size, 1, magic) + name, **outer)

    def connect(self, s, r, reply=False, number=0, session=None, second=None, start=1, status=0, data=16, seq=0,
                ends=None, **outer):
        mine = SESSIONS[r if reply else s] if session is None else session
        other = (SESSIONS[s] if reply else 0x12345678) if second is None else second
        body = self.head(s, r, CONNECT, ends) + struct.pack(
            '>BxxxHHxxxxIIHBBBxxx', data, seq, 1, mine, other, start, int(reply), number, status)
        return self.frame(s, r, body, **outer)

    def eager(self, s, r, kind, length, seq, ack, match, session, ends=None, wide=False):
        size = struct.pack('>I', length) if wide else struct.pack('>HH', length, 0)
        return self.head(s, r, kind, ends) + size + struct.pack(
            '>HHQI', seq, ack, match, SESSIONS[r] if session is None else session)

    def small(self, s, r, kind=TINY, length=8, seq=1, ack=1, match=MATCH, session=None, data=None, ends=None,
              **outer):
        body = self.eager(s, r, kind, length, seq, ack, match, session, ends)
        return self.frame(s, r, body + bytes(length if data is None else data), **outer)

    def medium(self, s, r, length, frag=0, size=None, seq=1, ack=1, match=MATCH, session=None, exponent=12,
               data=None, **outer):
        size = min(self.frag, length - frag * self.frag) if size is None else size
        body = self.eager(s, r, MEDIUM, length, seq, ack, match, session, wide=self.dialect == 'N')
        body += struct.pack('>HBBxxxx', size, frag, exponent if self.dialect == 'W' else 0)
        return self.frame(s, r, body + bytes(size if data is None else data), **outer)

    def rndv(self, s, r, length=100000, window=7, tag=0x2a, offset=0, seq=1, ack=1, match=MATCH, session=None,
             data_part=8, **outer):
        body = self.eager(s, r, RNDV, data_part, seq, ack, match, session)
        return self.frame(s, r, body + struct.pack('>IBBH', length, window, tag, offset), **outer)

    def pull(self, s, r, total=100000, window=7, tag=0x2a, offset=0, handle=HANDLE, magic=MAGIC, skip=0, block=None,
             frame=0, session=None, ends=None, **outer):
        session = SESSIONS[r] if session is None else session
        block = min(total, self.reply_size * self.block) if block is None else block
        body = self.head(s, r, PULL, ends) + struct.pack('>II', session, total)
        layout = '>BBHIIHHI' if self.dialect == 'W' else '>IBxxxIIIIII'
        body += struct.pack(layout, window, tag, offset, handle, magic, skip, block, frame)
        return self.frame(s, r, body, **{'tag': 1, **outer})

    def reply(self, s, r, number=0, size=None, position=None, handle=HANDLE, magic=MAGIC, data=None, **outer):
        size = self.reply_size if size is None else size
        position = number * self.reply_size if position is None else position
        body = struct.pack('>BBHIII', REPLY, number % 256, size, position, handle, magic)
        return self.frame(s, r, body + bytes(size if data is None else data), **outer)

    def notify(self, s, r, length=100000, window=7, tag=0x2a, seq=1, ack=2, session=None, ends=None, **outer):
        session = SESSIONS[r] if session is None else session
        body = self.head(s, r, NOTIFY, ends) + struct.pack('>IIBBxxxxHHxx', session, length, window, tag, seq, ack)
        return self.frame(s, r, body, **outer)

    def truc(self, s, r, ack=2, counter=1, session=None, copy=None, kind=0x55, data=16, **outer):
        session = SESSIONS[r] if session is None else session
        copy = session if copy is None else copy
        body = self.head(s, r, TRUC) + struct.pack('>BxxxIBxHIIHxx', data, session, kind, ack, copy, counter, ack)
        return self.frame(s, r, body, **outer)

    def nack_lib(self, s, r, reason=2, seq=1, **outer):
        body = struct.pack('>BBxBxxxxxBHHxx', NACK_LIB, ENDPOINTS[s], reason, ENDPOINTS[r], 1, seq)
        return self.frame(s, r, body, **outer)

    def nack_mcp(self, s, r, reason=2, handle=HANDLE, magic=MAGIC, **outer):
        return self.frame(s, r, struct.pack('>BBxBxxxxII', NACK_MCP, ENDPOINTS[r], reason, handle, magic), **outer)

    def offering(self, frame, newest=1, oldest=1, features=0, largest=9014, frames=32):
        """A connect with an offer of the extension behind it."""
        fields = struct.pack('>BBHHH', newest, oldest, features, largest, frames)
        value = 0xcbf29ce484222325
        for byte in frame[:12] + frame[16:19] + frame[32:44] + fields:
            value = (value ^ byte) * 0x100000001b3 % 2 ** 64
        return frame[:48] + fields + struct.pack('>Q', value)

    @staticmethod
    def summed(frame, altered=None):
        """An X MEDIUM, X DATA, X GROUP or X PACK with its checksum; altered: byte that is not what it was then."""
        at, body, size_at = {X_MEDIUM: (48, 56, 44), X_DATA: (36, 40, 34), X_GROUP: (36, 40, 32),
                             X_PACK: (32, 40, 20)}[frame[16]]
        size = struct.unpack('>H', frame[size_at:size_at + 2])[0]
        value = 0xffffffff
        for byte in frame[body:body + size] + frame[16:at] + bytes(4) + frame[at + 4:body]:
            value ^= byte
            for _ in range(8):
                value = value >> 1 ^ (0x82f63b78 if value & 1 else 0)
        frame = bytearray(frame[:at] + struct.pack('>I', value ^ 0xffffffff or 0xffffffff) + frame[at + 4:])
        if altered:
            frame[altered] ^= 0x10
        return bytes(frame)

    def x_medium(self, s, r, length=9000, frag=0, size=5000, position=None, seq=1, ack=1, data=None, **outer):
        position = frag * 5000 if position is None else position
        body = self.eager(s, r, X_MEDIUM, length, seq, ack, MATCH, None, wide=True)
        body += struct.pack('>IHBxIxxxx', position, size, frag, 0)
        return self.frame(s, r, body + bytes(size if data is None else data), **outer)

    def x_report(self, s, r, state=28, there=None, ask=1, ack=1, counter=1, echo=0, session=None, **outer):
        session = SESSIONS[r] if session is None else session
        body = struct.pack('>BBBBIHHIIHH', X_REPORT, ENDPOINTS[r], ENDPOINTS[s], ask, session, ack, 1, counter, echo, 32,
                           state)
        return self.frame(s, r, body + bytes(state if there is None else there), **outer)

    @staticmethod
    def x_state(here=0, frags=0, other=0, other_frags=0):
        """State of a report: bits of the numbers behind the ack, fragments of the ack's number and of another."""
        return here.to_bytes(16, 'little') + struct.pack('>IHxxI', frags, other, other_frags)

    def x_pull(self, s, r, total=100000, unit=8974, first=3, want=b'\x81\1', request=1, tag=1, window_tag=0x2a,
               session=None, flags=0, **outer):
        session = SESSIONS[r] if session is None else session
        body = struct.pack('>BBBBIIBBHIIHHI', X_PULL, ENDPOINTS[r], ENDPOINTS[s], flags, session, total, 7, window_tag, 0,
                           HANDLE, MAGIC, unit, request, first)
        return self.frame(s, r, body + want.ljust(16, b'\0'), tag=tag, **outer)

    def x_data(self, s, r, size=8974, frame=3, request=1, handle=HANDLE, data=None, **outer):
        body = struct.pack('>BBBxIIIHHI', X_DATA, ENDPOINTS[r], ENDPOINTS[s], handle, MAGIC, frame, request, size, 0)
        return self.frame(s, r, body + bytes(size if data is None else data), **outer)

    def x_address(self, s, r, answer=0, address=0x0a00000a, secret=0x5ec7e70001020304, port=None, longest=1472,
                  session=None, **outer):
        session = SESSIONS[r] if session is None else session
        port = 34527 + ENDPOINTS[s] if port is None else port
        body = struct.pack('>BBBBIIIQHH', X_ADDRESS, ENDPOINTS[r], ENDPOINTS[s], answer, session, SESSIONS[s], address,
                           secret, port, longest)
        return self.frame(s, r, body, **outer)

    def x_group(self, s, size=100, key=GROUP, to=None, number=7, session=None, data=None, **outer):
        session = SESSIONS[s] if session is None else session
        body = struct.pack('>BxBxIIIHxxI', X_GROUP, ENDPOINTS[s], session, key, number, size, 0)
        outer = {'dst': b'\3\x45' + struct.pack('>I', key if to is None else to), 'tag': 0xffff, **outer}
        return self.frame(s, None, body + bytes(size if data is None else data), **outer)

    def x_pack(self, s, r, lengths=(8, 40), count=None, size=None, seq=1, ack=1, match=MATCH, session=None, **outer):
        """Messages of those lengths, of match information that counts up."""
        session = SESSIONS[r] if session is None else session
        data = b''.join(struct.pack('>QH', match + i, length) + bytes(length) for i, length in enumerate(lengths))
        body = struct.pack('>BBBxHHHHIIxxxx', X_PACK, ENDPOINTS[r], ENDPOINTS[s], len(data) if size is None else size,
                           len(lengths) if count is None else count, seq, ack, session, 0)
        return self.frame(s, r, body + data, **outer)

    def met(self, s='a', r='b'):
        """Both have connected to each other."""
        return [self.connect(s, r), self.connect(r, s, reply=True), self.connect(r, s),
                self.connect(s, r, reply=True)]
