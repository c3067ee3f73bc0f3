# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Section 13 of the wire specification as frames: each case is a story whose last frame breaks one rule, or none.

Not here, since no capture shows it: a source that is missing in a peer table, an endpoint that is closed, a partner
that never connected, a flood of beacons.
"""

import itertools

from frames import (BROADCAST, ENDPOINTS, MATCH, MEDIUM, NOTIFY, PULL, RNDV, SESSIONS, SMALL, TINY, TRUC, Network)

NO_SESSION = 0xffffffff
ALL = 'WN'


class Case:
    """A rule: what the last frame does, what is to be said of it (None: nothing), the frames, the dialect."""

    def __init__(self, what, wanted, frames, dialect):
        self.what, self.wanted, self.frames, self.dialect = what, wanted, frames, dialect

    @property
    def malformed(self):
        """True if the frame is wrong by itself, so that the codec refuses it too."""
        return self.wanted is not None and self.wanted.startswith('malformed.')


class Stories:
    """Collects the cases of one dialect; each gets boards of its own, so that one capture can hold all."""

    def __init__(self, dialect):
        self.dialect, self.cases, self.serials = dialect, [], itertools.count(1)

    def add(self, wanted, what, story):
        n = Network(next(self.serials), self.dialect)
        self.cases.append(Case(what, wanted, story(n), self.dialect))

    def after_connect(self, wanted, what, *steps):
        """steps: functions of the network, one frame each."""
        self.add(wanted, what, lambda n: n.met() + [step(n) for step in steps])


def outer(s):
    s.after_connect('malformed.short', '59 bytes', lambda n: n.small('a', 'b', cut=59))
    for what, send in (('tiny', lambda n: n.small('a', 'b', dst=BROADCAST)),
                       ('host query', lambda n: n.query('a', 'b', dst=BROADCAST))):
        s.after_connect('malformed.destination', f'broadcast {what}', send)
    s.after_connect('malformed.source', 'group as source', lambda n: n.small('a', 'b', src=b'\x03\0\0\0\0\x0a'))
    s.after_connect('malformed.source', 'no source', lambda n: n.small('a', 'b', src=bytes(6)))
    s.after_connect('unexpected.own_address', 'connect from the own board',
                    lambda n: n.connect('b', 'b', ends=(2, 5)))
    for kind in (0, 2, 5, 31, 32, 33, 34, 46, 118, 255):
        s.after_connect('malformed.type', f'type {kind}', lambda n, k=kind: n.frame('a', 'b', bytes([k])))
    s.after_connect('unexpected.tag', 'tag that nobody told', lambda n: n.small('a', 'b', tag=9))


def sessions(s):
    steps = {TINY: lambda n, **o: n.small('a', 'b', **o), MEDIUM: lambda n, **o: n.medium('a', 'b', 5000, **o),
             RNDV: lambda n, **o: n.rndv('a', 'b', **o), NOTIFY: lambda n, **o: n.notify('a', 'b', ack=1, **o),
             PULL: lambda n, **o: n.pull('a', 'b', **o), TRUC: lambda n, **o: n.truc('a', 'b', ack=1, **o)}
    for kind, step in steps.items():
        s.after_connect('unexpected.session', f'older session, type {kind}', lambda n, t=step: t(n, session=0x01020304))
        s.after_connect('unexpected.one_sided', f'no session, type {kind}', lambda n, t=step: t(n, session=NO_SESSION))
    for kind in (TINY, MEDIUM, RNDV, NOTIFY):
        s.after_connect('unexpected.session_bits', f'bits of the number, type {kind}',
                        lambda n, t=steps[kind]: t(n, **({'seq': 0x4001})))
    s.after_connect('unexpected.session_bits', 'bits of the ack', lambda n: n.small('a', 'b', ack=0x8001))
    s.after_connect('unexpected.session_bits', 'bits of an explicit ack', lambda n: n.truc('a', 'b', ack=0x4001))
    s.add(None, 'bits as the connect told', lambda n: [
        n.connect('a', 'b', start=0x4001), n.connect('b', 'a', reply=True, start=0xc001),
        n.small('a', 'b', seq=0xc001, ack=0x4001)])


def eager(s):
    s.after_connect('malformed.length', 'tiny of 33', lambda n: n.small('a', 'b', length=33))
    s.after_connect('malformed.length', 'tiny beyond the frame', lambda n: n.small('a', 'b', length=30, data=8))
    s.after_connect('malformed.length', 'small of 129', lambda n: n.small('a', 'b', kind=SMALL, length=129))
    s.after_connect('malformed.length', 'small beyond the frame',
                    lambda n: n.small('a', 'b', kind=SMALL, length=128, data=127))
    s.after_connect(None, 'tiny of 0', lambda n: n.small('a', 'b', length=0))
    s.after_connect(None, 'small of 5', lambda n: n.small('a', 'b', kind=SMALL, length=5))
    s.after_connect('repeated', 'tiny again', lambda n: n.small('a', 'b'), lambda n: n.small('a', 'b', ack=1))
    s.after_connect('malformed.data_part', 'rndv with 7', lambda n: n.rndv('a', 'b', data_part=7))
    s.after_connect('unexpected.ack', 'ack of what was not sent', lambda n: n.small('a', 'b', ack=2))


def same_number(s):
    first = {TINY: lambda n: n.small('a', 'b'), MEDIUM: lambda n: n.medium('a', 'b', 2 * n.frag),
             RNDV: lambda n: n.rndv('a', 'b')}
    other = [
        (MEDIUM, 'match differs', lambda n: n.medium('a', 'b', 2 * n.frag, frag=1, match=MATCH + 1)),
        (MEDIUM, 'length differs', lambda n: n.medium('a', 'b', 2 * n.frag - 1, frag=1)),
        (MEDIUM, 'a tiny', lambda n: n.small('a', 'b')),
        (TINY, 'a medium', lambda n: n.medium('a', 'b', 2 * n.frag)),
        (TINY, 'match differs', lambda n: n.small('a', 'b', match=1)),
        (RNDV, 'length differs', lambda n: n.rndv('a', 'b', length=5)),
        (RNDV, 'match differs', lambda n: n.rndv('a', 'b', match=1)),
        (RNDV, 'window differs', lambda n: n.rndv('a', 'b', window=8)),
    ]
    for kind, what, frame in other:
        s.after_connect('unexpected.content', f'number of type {kind}, {what}', first[kind], frame)
    s.after_connect(None, 'second fragment', first[MEDIUM], lambda n: n.medium('a', 'b', 2 * n.frag, frag=1))


def fragments(s):
    bad = {
        'empty': lambda n: n.medium('a', 'b', 100, size=0),
        'over the limit': lambda n: n.medium('a', 'b', 3 * n.frag, size=n.frag + 1),
        'number too high': lambda n: n.medium('a', 'b', 2 * n.frag, frag=n.frags, size=100),
        'beyond the message': lambda n: n.medium('a', 'b', n.frag + 10, frag=1, size=20),
        'inner, not full': lambda n: n.medium('a', 'b', 3 * n.frag, size=100),
        'of a message too long': lambda n: n.medium('a', 'b', n.frag * n.frags + 1, size=n.frag),
        'whole message in the second': lambda n: n.medium('a', 'b', 10, frag=1, size=10),
    }
    if s.dialect == 'W':
        bad['exponent 16'] = lambda n: n.medium('a', 'b', 8192, frag=1, exponent=16)
        bad['exponent 255'] = lambda n: n.medium('a', 'b', 8192, frag=1, exponent=255)
        bad['exponent 11'] = lambda n: n.medium('a', 'b', 8192, frag=1, exponent=11)
        s.after_connect(None, 'exponent 10', lambda n: n.medium('a', 'b', 3000, frag=2, size=952, exponent=10))
    for what, frame in bad.items():
        s.after_connect('malformed.fragment', 'fragment ' + what, frame)
    s.after_connect('malformed.length', 'fragment beyond the frame', lambda n: n.medium('a', 'b', 5000, data=100))


def pulls(s):
    announce = lambda n: n.rndv('a', 'b', length=100000)
    pull = lambda **o: lambda n: n.pull('b', 'a', **{k: v(n) if callable(v) else v for k, v in o.items()})
    malformed = {
        'skip of a frame': pull(skip=lambda n: n.reply_size, block=10),
        'for nothing': pull(block=0),
        'for more than a block': pull(skip=1, block=lambda n: n.reply_size * n.block),
        'beyond 32 bits': pull(frame=0xffffffff, block=10),
    }
    if s.dialect == 'W':  # its fields are 16 bits wide
        malformed['for more than a block'] = pull(skip=1, block=32768)
    for what, frame in malformed.items():
        s.after_connect('malformed.pull', 'pull ' + what, announce, frame)
    s.after_connect('unexpected.pull', 'pull behind the end', announce, pull(frame=30, block=10))
    s.after_connect('unexpected.pull', 'pull half behind the end', announce, pull(
        frame=lambda n: 100000 // n.reply_size, block=lambda n: n.reply_size))
    s.after_connect('unexpected.pull', 'pull of more than the message', announce, pull(total=100001))
    s.after_connect('unexpected.pull', 'pull with another offset', announce, pull(offset=8, skip=8, block=100))
    s.after_connect('unexpected.window', 'pull of no window', pull())
    s.after_connect('unexpected.window', 'pull of another window', announce, pull(window=8))
    s.after_connect('unexpected.window', 'pull with an old tag', announce, pull(tag=0x29))
    s.after_connect('unexpected.window', 'pull after notify', announce, lambda n: n.notify('b', 'a'), pull())
    s.add('unexpected.window', "pull of another's window", lambda n: n.met() + n.met('a', 'c') + [
        n.rndv('a', 'b'), n.pull('c', 'a')])
    s.after_connect('repeated', 'pull again', announce, pull(), pull())
    s.after_connect(None, 'pull of the last frame', announce, pull(
        frame=lambda n: 100000 // n.reply_size, block=lambda n: 100000 % n.reply_size))


def replies(s):
    start = [lambda n: n.rndv('a', 'b', length=3 * n.reply_size - 50),
             lambda n: n.pull('b', 'a', total=3 * n.reply_size - 50)]
    bad = {
        'unknown handle': lambda n: n.reply('a', 'b', handle=1),
        'another magic': lambda n: n.reply('a', 'b', magic=1),
        'from another board': lambda n: n.reply('c', 'b', src=n.mac['c']),
        'frame number outside': lambda n: n.reply('a', 'b', 200, position=0),
        'frame not asked for': lambda n: n.reply('a', 'b', 3),
        'position of another frame': lambda n: n.reply('a', 'b', 0, position=n.reply_size),
        'position between frames': lambda n: n.reply('a', 'b', 0, position=5),
        'one byte short': lambda n: n.reply('a', 'b', 0, size=n.reply_size - 1),
        'beyond the message': lambda n: n.reply('a', 'b', 2),
    }
    for what, frame in bad.items():
        s.after_connect('unexpected.reply', 'reply: ' + what, *start, frame)
    s.after_connect('malformed.length', 'reply longer than the frame', *start, lambda n: n.reply('a', 'b', data=4000))
    s.after_connect('repeated', 'reply again', *start, lambda n: n.reply('a', 'b'), lambda n: n.reply('a', 'b'))
    s.after_connect(None, 'last reply', *start, lambda n: n.reply('a', 'b', 2, size=n.reply_size - 50))


def notifies(s):
    announce = lambda n: n.rndv('a', 'b')
    s.after_connect('unexpected.notify', 'notify of no window', lambda n: n.notify('b', 'a', ack=1))
    s.after_connect('unexpected.notify', 'notify of another window', announce, lambda n: n.notify('b', 'a', window=8))
    s.after_connect('unexpected.notify', 'notify with an old tag', announce, lambda n: n.notify('b', 'a', tag=0x29))
    s.after_connect('unexpected.notify', 'notify of too much', announce, lambda n: n.notify('b', 'a', length=100001))
    s.after_connect('unexpected.notify', 'second notify', announce, lambda n: n.notify('b', 'a'),
                    lambda n: n.notify('b', 'a', seq=2))
    s.add('unexpected.notify', "notify of another's window", lambda n: n.met() + n.met('a', 'c') + [
        n.rndv('a', 'b'), n.notify('c', 'a', ack=1)])
    s.after_connect(None, 'notify of less', announce, lambda n: n.notify('b', 'a', length=50))


def acks(s):
    tiny = lambda n: n.small('a', 'b')
    s.after_connect('malformed.truc', 'kind', tiny, lambda n: n.truc('b', 'a', kind=0x54))
    s.after_connect('malformed.truc', 'sessions differ', tiny, lambda n: n.truc('b', 'a', copy=1))
    s.after_connect('malformed.data_part', 'ack with 15', tiny, lambda n: n.truc('b', 'a', data=15))
    s.after_connect('unexpected.truc', 'counter as before', tiny, lambda n: n.truc('b', 'a'),
                    lambda n: n.truc('b', 'a'))
    s.after_connect('unexpected.ack', 'ahead', tiny, lambda n: n.truc('b', 'a', ack=3))
    s.after_connect(None, 'good ack', tiny, lambda n: n.truc('b', 'a'))


def connects(s):
    s.after_connect('unexpected.connect', 'reply without request', lambda n: n.connect('b', 'a', reply=True, number=9))
    s.after_connect('unexpected.connect', 'wrong echo', lambda n: n.connect('a', 'b', number=1),
                    lambda n: n.connect('b', 'a', reply=True, number=1, session=1))
    s.after_connect('malformed.connect', 'status 1', lambda n: n.connect('a', 'b', number=1),
                    lambda n: n.connect('b', 'a', reply=True, number=1, status=1))
    s.after_connect('refused', 'status 11', lambda n: n.connect('a', 'b', number=1),
                    lambda n: n.connect('b', 'a', reply=True, number=1, status=11))
    for what, options in (('request', {'session': NO_SESSION}), ('echo', {'reply': True, 'session': NO_SESSION}),
                          ('replier', {'reply': True, 'second': NO_SESSION})):
        s.after_connect('malformed.connect', f'session of ones, {what}', lambda n, o=options: n.connect('b', 'a', **o))
    s.after_connect('malformed.data_part', 'connect with 15', lambda n: n.connect('a', 'b', data=15))
    s.after_connect('repeated', 'request again', lambda n: n.connect('a', 'b', number=1),
                    lambda n: n.connect('a', 'b', number=1))


def nacks(s):
    tiny = lambda n: n.small('a', 'b')
    for reason in (0, 4, 255):
        s.after_connect('malformed.nack', f'nack lib {reason}', tiny,
                        lambda n, r=reason: n.nack_lib('b', 'a', reason=r))
    for reason in (0, 5, 255):
        s.after_connect('malformed.nack', f'nack mcp {reason}', lambda n: n.rndv('b', 'a'), lambda n: n.pull('a', 'b'),
                        lambda n, r=reason: n.nack_mcp('b', 'a', reason=r))
    s.after_connect('unexpected.nack', 'nack lib of nothing', tiny, lambda n: n.nack_lib('b', 'a', seq=2))
    s.after_connect('unexpected.nack', 'nack lib of an acknowledged number', tiny, lambda n: n.truc('b', 'a'),
                    lambda n: n.nack_lib('b', 'a'))
    s.after_connect('unexpected.nack', 'nack mcp of nothing', lambda n: n.nack_mcp('b', 'a'))
    s.after_connect('refused', 'nack lib', tiny, lambda n: n.nack_lib('b', 'a'))
    s.after_connect('refused', 'nack lib of an old session', lambda n: n.small('a', 'b', session=1),
                    lambda n: n.nack_lib('b', 'a', reason=3))
    s.add('refused', 'nack lib of a connect', lambda n: [n.connect('a', 'b'), n.nack_lib('b', 'a', seq=0)])
    s.after_connect('refused', 'nack mcp', lambda n: n.rndv('b', 'a'), lambda n: n.pull('a', 'b'),
                    lambda n: n.nack_mcp('b', 'a'))
    s.after_connect('refused', 'nack mcp of a bad window', lambda n: n.pull('a', 'b'),
                    lambda n: n.nack_mcp('b', 'a', reason=4))


def names(s):
    query = lambda n: n.query('a', 'b')
    bad = {'of 0': {'length': 0}, 'of 81': {'name': b'x' * 80 + b'\0'}, 'beyond the frame': {'length': 70},
           'without end': {'name': b'node:0'}, 'with a control character': {'name': b'no\x1be:0\0'}}
    for what, options in bad.items():
        s.after_connect('malformed.host', 'name ' + what, query, lambda n, o=options: n.host_reply('b', 'a', **o))
    s.after_connect('unexpected.host', 'magic', query, lambda n: n.host_reply('b', 'a', magic=1))
    s.after_connect(None, 'good name', query, lambda n: n.host_reply('b', 'a'))


def beacons(s):
    s.after_connect('malformed.short', 'beacon of 43', lambda n: n.beacon('a', cut=43))
    s.after_connect('malformed.beacon', 'upper bits', lambda n: n.beacon('a', high=1))
    s.after_connect('malformed.beacon', 'address 0', lambda n: n.beacon('a', address=bytes(6)))
    s.after_connect('malformed.beacon', 'group address', lambda n: n.beacon('a', address=b'\x03\0\0\0\0\1'))
    s.after_connect(None, 'good beacon', lambda n: n.beacon('a'))


def extension(s):
    s.after_connect(None, 'offer', lambda n: n.offering(n.connect('a', 'b', number=1)))
    s.after_connect(None, 'offer in a reply', lambda n: n.offering(n.connect('b', 'a', number=1)),
                    lambda n: n.offering(n.connect('a', 'b', reply=True, number=1)))
    good = {'x medium': lambda n: n.x_medium('a', 'b'), 'second x medium': lambda n: n.x_medium('a', 'b', frag=1, size=4000),
            'x report': lambda n: n.x_report('a', 'b'), 'x report without state': lambda n: n.x_report('a', 'b', state=0),
            'longer x report': lambda n: n.x_report('a', 'b', state=60), 'x pack': lambda n: n.x_pack('a', 'b'),
            'x pack of empty messages': lambda n: n.x_pack('a', 'b', lengths=(0, 0))}
    for what, send in good.items():
        s.after_connect(None, what, send)
    wanted = (lambda n: n.rndv('a', 'b', length=100000), lambda n: n.x_pull('b', 'a'))
    for what, before, send, places in (('x medium', (), lambda n: n.x_medium('a', 'b'), (24, 30, 50, 60)),
                                       ('short x medium', (), lambda n: n.x_medium('a', 'b', length=2, size=2), (28, 57)),
                                       ('x pack', (), lambda n: n.x_pack('a', 'b'), (25, 41, 50, 70)),
                                       ('x data', wanted, lambda n: n.x_data('a', 'b'), (38, 103))):
        s.after_connect(None, what + ' with a checksum', *before, lambda n, f=send: n.summed(f(n)))
        for at in places:
            s.after_connect('altered', f'{what} altered at {at}', *before, lambda n, f=send, a=at: n.summed(f(n), a))
    for what, change in (('uneven', {'frag': 1, 'position': 4999, 'size': 10, 'length': 20000}),
                         ('beyond its message', {'size': 9001}), ('empty', {'size': 0}),
                         ('more than 32768 bytes', {'size': 32769, 'length': 40000}), ('33 fragments', {'size': 5000, 'length': 160001}), ('number 32', {'frag': 32, 'length': 262144}),
                         ('not full', {'frag': 1, 'size': 3999}), ('too long', {'length': 262145})):
        s.after_connect('malformed.fragment', f'x medium: {what}', lambda n, c=change: n.x_medium('a', 'b', **c))
    s.after_connect('malformed.length', 'x medium: cut', lambda n: n.x_medium('a', 'b', data=bytes(4999)))
    s.after_connect('malformed.short', 'x pull: cut', lambda n: n.x_pull('b', 'a')[:63])
    s.after_connect('malformed.length', 'x report: cut', lambda n: n.x_report('a', 'b', there=bytes(27)))
    for what, change in (('of nothing', {'total': 0}), ('unit', {'unit': 63}), ('first not wanted', {'want': b'\2'}),
                         ('nothing wanted', {'want': b''}), ('behind the end', {'first': 4}),
                         ('large unit', {'unit': 65496, 'want': b'\1', 'total': 0xffffffff})):
        s.after_connect('malformed.pull', f'x pull: {what}', lambda n, c=change: n.x_pull('b', 'a', **c))
    s.after_connect('malformed.reply', 'x data: none', lambda n: n.x_data('a', 'b', size=0))
    s.after_connect(None, 'x address', lambda n: n.x_address('b', 'a'), lambda n: n.x_address('a', 'b', answer=1))
    s.after_connect(None, 'x address of TCP', lambda n: n.x_address('b', 'a', answer=4, longest=65507))
    s.after_connect(None, 'x address of TCP beside datagrams',
                    lambda n: n.x_address('b', 'a', answer=4, address=0, port=0, longest=65507))
    for what, change in (('of no host', {'address': 0}), ('beside datagrams, not of TCP', {'address': 0, 'port': 0}), ('of a group', {'address': 0xe0000001}),
                         ('of this host', {'address': 0x7f000001}), ('no secret', {'secret': 0}),
                         ('port', {'port': 34527}), ('short datagrams', {'longest': 103}),
                         ('long datagrams', {'longest': 65508})):
        s.after_connect('malformed.address', f'x address: {what}', lambda n, c=change: n.x_address('a', 'b', **c))
    s.after_connect(None, 'x group', lambda n: n.x_group('a'))
    s.after_connect(None, 'x group without data', lambda n: n.x_group('a', size=0))
    s.after_connect(None, 'x group with a checksum', lambda n: n.summed(n.x_group('a')))
    for at in (18, 30, 70):
        s.after_connect('altered', f'x group altered at {at}', lambda n, a=at: n.summed(n.x_group('a'), a))
    for what, change in (('key 0', {'key': 0}), ('of another group', {'to': 5}), ('no session', {'session': NO_SESSION}),
                         ('other address', {'dst': b'\1\0\x5e\0\0\1'})):
        s.after_connect('malformed.group', f'x group: {what}', lambda n, c=change: n.x_group('a', **c))
    s.after_connect('malformed.length', 'x group: cut', lambda n: n.x_group('a', data=bytes(99)))


def x_packs(s):
    for what, change in (('fewer messages', {'count': 1}),
                         ('more messages', {'count': 3}), ('none', {'count': 0, 'lengths': ()}),
                         ('cut message', {'size': 67}), ('behind the frame', {'size': 69}),
                         ('too many', {'lengths': 256 * (1,)})):
        s.after_connect('malformed.length', f'x pack: {what}', lambda n, c=change: n.x_pack('a', 'b', **c))
    pack, one = lambda n: n.x_pack('a', 'b'), lambda n, **o: n.small('a', 'b', length=8, **o)
    s.after_connect(None, 'x pack, then the next number', pack, lambda n: one(n, seq=3))
    s.after_connect(None, 'x pack of long messages', lambda n: n.x_pack('a', 'b', lengths=(129, 8, 700)))
    s.after_connect('repeated', 'x pack again', pack, pack)
    s.after_connect('repeated', 'a message of an x pack by itself', pack, one)
    s.after_connect('repeated', 'a message by itself, then in an x pack', one, pack)
    s.after_connect('unexpected.content', 'x pack: other content', pack, lambda n: one(n, seq=2))
    s.after_connect(None, 'x pack: ack of all', pack, lambda n: n.truc('b', 'a', ack=3))
    s.after_connect('unexpected.ack', 'x pack: ack of what was not sent', pack, lambda n: n.truc('b', 'a', ack=4))
    s.after_connect('unexpected.session', 'x pack of an older session', lambda n: n.x_pack('a', 'b', session=1))
    s.after_connect('unexpected.session_bits', 'x pack: bits', lambda n: n.x_pack('a', 'b', seq=0x4001))


def x_reports(s):
    first = lambda n: n.x_report('a', 'b', counter=7)
    s.after_connect('unexpected.report', 'report: counter as before', first, first)
    s.after_connect('unexpected.report', 'report: older counter', first, lambda n: n.x_report('a', 'b', counter=6))
    s.after_connect(None, 'report: newer counter', first, lambda n: n.x_report('a', 'b', counter=8))
    s.after_connect('unexpected.ack', 'report: ack of what was not sent', lambda n: n.x_report('a', 'b', ack=2))
    s.after_connect('unexpected.session_bits', 'report: bits of the ack', lambda n: n.x_report('a', 'b', ack=0x4001))
    s.after_connect('unexpected.session', 'report: older session', lambda n: n.x_report('a', 'b', session=1))


def x_pulls(s):
    announce = lambda n: n.rndv('a', 'b', length=100000)
    pull = lambda n: n.x_pull('b', 'a')
    s.after_connect(None, 'x pull', announce, pull)
    s.after_connect('unexpected.window', 'x pull of no window', pull)
    s.after_connect('unexpected.window', 'x pull with an old tag', announce,
                    lambda n: n.x_pull('b', 'a', window_tag=0x29))
    s.after_connect('unexpected.window', 'x pull after notify', announce, lambda n: n.notify('b', 'a'), pull)
    s.after_connect('unexpected.pull', 'x pull of more than the message', announce,
                    lambda n: n.x_pull('b', 'a', total=100001))
    s.after_connect('unexpected.session', 'x pull of an older session', announce,
                    lambda n: n.x_pull('b', 'a', session=1))
    s.after_connect('repeated', 'x pull again', announce, pull, lambda n: n.x_pull('b', 'a', request=2))
    s.after_connect(None, 'x pull for some again', announce, pull,
                    lambda n: n.x_pull('b', 'a', request=2, want=b'\3'))
    s.after_connect('refused', 'x pull refused', announce, pull, lambda n: n.nack_mcp('a', 'b'))
    s.after_connect('refused', 'x pull of no window refused', pull, lambda n: n.nack_mcp('a', 'b', reason=4))
    by_tcp = lambda n: n.x_pull('b', 'a', flags=4, unit=65467, first=0, want=b'\3')
    anew = lambda n: n.x_pull('b', 'a', request=2, first=0, want=b'\3')
    s.after_connect('repeated', 'x pull by TCP again', announce, by_tcp, by_tcp)
    s.after_connect(None, 'x pull begun anew by frames', announce, by_tcp, anew)
    s.after_connect(None, 'x data of a pull begun anew', announce, by_tcp, anew,
                    lambda n: n.x_data('a', 'b', frame=0, request=2))
    s.after_connect('unexpected.reply', 'x data for a request of before', announce, by_tcp, anew,
                    lambda n: n.x_data('a', 'b', frame=0, request=1))
    for what, wanted, change in (
            ('first', None, {}), ('last', None, {'frame': 11, 'size': 100000 - 11 * 8974}),
            ('of no request', 'unexpected.reply', {'request': 2}), ('not asked for', 'unexpected.reply', {'frame': 4}),
            ('short', 'unexpected.reply', {'size': 8973}), ('last, too long', 'unexpected.reply', {'frame': 11}),
            ('of another pull', 'unexpected.reply', {'handle': 1})):
        s.after_connect(wanted, f'x data: {what}', announce, pull, lambda n, c=change: n.x_data('a', 'b', **c))
    s.after_connect('unexpected.reply', 'x data that nobody asked for', lambda n: n.x_data('a', 'b'))
    s.after_connect('unexpected.reply', 'x data from another board', announce, pull,
                    lambda n: n.x_data('c', 'b', src=n.mac['c']))
    s.after_connect('unexpected.reply', 'pull reply to an x pull', announce, pull, lambda n: n.reply('a', 'b', 3))
    s.after_connect('repeated', 'x data again', announce, pull, lambda n: n.x_data('a', 'b'),
                    lambda n: n.x_data('a', 'b'))


def cases(dialect):
    """All cases of a dialect."""
    stories = Stories(dialect)
    for part in (outer, sessions, eager, same_number, fragments, pulls, replies, notifies, acks, connects, nacks,
                 names, beacons, extension, x_packs, x_reports, x_pulls):
        part(stories)
    return stories.cases
