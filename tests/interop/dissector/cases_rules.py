# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Every rule of section 13: the note it draws, and that our codec thinks the same of what is malformed."""

import os
import random
import struct
import subprocess

import rules
from frames import Network
from tshark import COOKED, read_pcap, write_pcap

PREFERENCES = {'W': ('-o', 'mxoe.dialect:W'), 'N': ('-o', 'mxoe.dialect:N', '-o', 'mxoe.size:9000')}
CODEC_SIZE = {'W': 'W', 'N': '9000'}

# Note of the dissector by counter of the codec.
SAME = {
    'drop: frame too short': 'malformed.short', 'drop: bad source MAC': 'malformed.source',
    'drop: unknown packet type': 'malformed.type', 'drop: stated length wrong': 'malformed.length',
    'drop: data part too short': 'malformed.data_part', 'drop: bad medium fragment': 'malformed.fragment',
    'drop: bad pull request': 'malformed.pull', 'drop: bad connect': 'malformed.connect',
    'drop: bad ack packet': 'malformed.truc', 'drop: bad nack': 'malformed.nack',
    'drop: medium of the other dialect': 'malformed.fragment', 'drop: pull of the other dialect': 'malformed.pull',
    'drop: pull reply misplaced': 'malformed.reply',
    'drop: bad host query or reply': 'malformed.host', 'drop: bad beacon': 'malformed.beacon',
    'drop: bad x address': 'malformed.address', 'drop: bad x group': 'malformed.group',
}
KEYS = [*sorted(set(SAME.values())), 'malformed.destination', 'unexpected.own_address', 'unexpected.session',
        'unexpected.one_sided', 'unexpected.session_bits', 'unexpected.content', 'unexpected.ack', 'unexpected.truc',
        'unexpected.report', 'unexpected.window', 'unexpected.pull', 'unexpected.reply', 'unexpected.notify', 'unexpected.connect',
        'unexpected.nack', 'unexpected.host', 'unexpected.dialect', 'unexpected.tag', 'repeated', 'refused',
        'altered']


def notes_of(tshark, path, *options):
    """The notes of each frame, as a set of keys; raises when the dissector stumbles."""
    frames = tshark.fields(path, ['_ws.lua.error', *('mxoe.' + k for k in KEYS)], *options)
    for number, frame in enumerate(frames, 1):
        if '_ws.lua.error' in frame:
            text = tshark.run(path, '-Y', f'frame.number == {number}', '-V')
            raise RuntimeError(f'{path}, frame {number}: ' + text[text.find('Lua Error'):][:300])
    return [{k for k in KEYS if 'mxoe.' + k in f} for f in frames]


def verdicts_of(codec, size, path):
    """The codec's verdict on each frame: a counter, or None for a good one."""
    done = subprocess.run([codec, size, path], capture_output=True, text=True, check=True)
    return [None if line.startswith('ok') else line for line in done.stdout.splitlines()]


def scratch(tshark, name):
    return os.path.join(tshark.home, name)


def check_rules(dialect, codec):
    """All cases of a dialect in one capture."""
    def check(tshark):
        cases = rules.cases(dialect)
        path = scratch(tshark, f'rules-{dialect}.pcap')
        write_pcap(path, [f for c in cases for f in c.frames])
        notes = notes_of(tshark, path, *PREFERENCES[dialect])
        verdicts = verdicts_of(codec, CODEC_SIZE[dialect], path)
        wrong, at = [], 0
        for case in cases:
            at += len(case.frames)
            wanted = {case.wanted} if case.wanted else set()
            if notes[at - 1] != wanted:
                wrong.append(f'{case.what} (frame {at}): {sorted(notes[at - 1])}, not {sorted(wanted)}')
            refused = verdicts[at - 1] is not None
            if refused != (case.malformed and case.wanted != 'malformed.destination'):
                wrong.append(f'{case.what}: the codec says {verdicts[at - 1]}')
            wrong += [f'{case.what}: a good frame before it: {sorted(n)}'
                      for n in notes[at - len(case.frames):at - 1] if any(k.startswith('malformed') for k in n)]
        assert not wrong, '\n  '.join(['', *wrong])
        assert {c.wanted for c in cases} >= set(KEYS) - {'unexpected.dialect'}, 'a note has no case'
    return check


def check_mixed_dialects(tshark):
    """Two boards that speak different dialects, none configured."""
    w, n = Network(1, 'W'), Network(1, 'N')
    path = scratch(tshark, 'mixed.pcap')
    write_pcap(path, [*w.met(), w.medium('a', 'b', 10000), n.medium('b', 'a', 10000), w.pull('a', 'b', window=1),
                      n.pull('b', 'a', window=1)])
    notes = notes_of(tshark, path)
    assert all('unexpected.dialect' in k for k in notes[5:]), notes
    assert 'unexpected.dialect' not in notes[4], notes


def check_learned_sizes(tshark):
    """Dialect N without a configured size: the traffic shows it, also to pulls that began before."""
    n = Network(1, 'N')
    n.reply_size, n.frag = 1468, 1452
    good = [*n.met(), n.rndv('a', 'b', window=1), n.rndv('a', 'b', window=2, seq=2),
            n.pull('b', 'a', window=1, handle=1), n.pull('b', 'a', window=2, handle=2), n.reply('a', 'b', 0, handle=1), n.reply('a', 'b', 1, handle=1),
            n.reply('a', 'b', 2, handle=2), n.medium('a', 'b', 4000, seq=3), n.medium('a', 'b', 4000, seq=3, frag=2)]
    bad = [n.reply('a', 'b', 1, handle=2, size=1467), n.reply('a', 'b', 3, handle=1, position=1),
           n.medium('a', 'b', 4000, seq=3, frag=1, size=1451)]
    path = scratch(tshark, 'learned.pcap')
    write_pcap(path, good + bad)
    notes = notes_of(tshark, path)
    assert not any(notes[:len(good)]), notes
    assert notes[len(good):] == [{'unexpected.reply'}, {'unexpected.reply'}, {'malformed.fragment'}], notes
    frames = tshark.fields(path, ['mxoe.position', 'mxoe.request_in'])
    assert [frames[i].one('mxoe.position') for i in (11, 12)] == ['0', '2904'], frames[11:13]
    assert [f.frames('mxoe.request_in') for f in frames[8:11]] == [[7], [7], [8]], frames[8:11]


def check_extension(tshark):
    """A large message by two X PULLs with a loss, an eager one whose loss a report shows, questions and answers."""
    n = Network(1, 'W')
    unit, total = 1000, 4500
    pull = lambda **o: n.x_pull('b', 'a', total=total, unit=unit, **o)
    data = lambda frame, request, size=unit: n.x_data('a', 'b', size=size, frame=frame, request=request)
    frames = [*n.met(),  # 1 to 4
              n.rndv('a', 'b', length=total),
              pull(first=0, want=b'\7'),  # 6: frames 0 to 2; frame 1 gets lost
              data(0, 1), data(2, 1),
              pull(first=1, want=b'\x0d', request=2),  # 9: frame 1 again, and 3 and 4
              data(1, 2), data(3, 2), data(4, 2, 500), data(4, 2, 500),
              pull(first=1, want=b'\1', request=3),  # 14: asks once more for what is there
              n.notify('b', 'a', length=total, ack=2),
              n.x_medium('a', 'b', seq=2, ack=2),  # 16: its second fragment gets lost
              n.small('a', 'b', seq=3, ack=2), n.small('a', 'b', seq=4, ack=2),
              n.x_report('b', 'a', ack=2, ask=0, there=n.x_state(here=3, frags=1)),  # 19
              n.x_medium('a', 'b', frag=1, size=4000, seq=2, ack=2),  # 20: sent again as far as the report knows
              n.x_report('a', 'b', ack=2, counter=5, echo=1, state=0),  # 21: asks
              n.x_report('b', 'a', ack=5, ask=0, counter=2, echo=5, state=0),  # 22: answers, and acknowledges all
              n.small('a', 'b', seq=4, ack=2)]
    path = scratch(tshark, 'extension.pcap')
    write_pcap(path, frames)
    wanted = {
        'message_in': {6: [5], 7: [5], 8: [5], 9: [5], 10: [5], 11: [5], 12: [5], 13: [5], 14: [5], 15: [5], 20: [16]},
        'request_in': {2: [1], 4: [3], 7: [6], 8: [6], 10: [9], 11: [9], 12: [9], 13: [9], 22: [21]},
        'position': {7: [0], 8: [2000], 10: [1000], 11: [3000], 12: [4000], 13: [4000], 16: [0], 20: [5000]},
        'complete': {12: [1], 20: [1]},
        'x.again': {9: [1], 14: [1]},
        'retransmission_of': {13: [12], 14: [9], 23: [18]},
        'acks': {15: [5], 16: [15], 22: [20, 17, 18]},
        'reports': {19: [17, 18, 16]}, 'reported_in': {16: [19], 17: [19], 18: [19]},
    }
    shown = tshark.fields(path, ['_ws.lua.error', *('mxoe.' + key for key in wanted)])
    assert not [n for n, f in enumerate(shown, 1) if '_ws.lua.error' in f]
    for key, values in wanted.items():
        found = {n: f.frames('mxoe.' + key) for n, f in enumerate(shown, 1) if 'mxoe.' + key in f}
        assert found == values, f'{key}: {found}, not {values}'


def check_beacons(tshark):
    """Tells repeats of beacons, those that show a restart, and the question that each draws."""
    n = Network(1, 'W')
    path = scratch(tshark, 'beacons.pcap')
    write_pcap(path, [n.beacon('a'), n.query('b', 'a'), n.host_reply('a', 'b'), n.beacon('b'), n.beacon('a'),
                      n.query('c', 'a'), n.query('b', 'a', magic=5), n.beacon('a', serial=7), n.query('b', 'a', magic=6)])
    wanted = {'beacon.first_in': {5: [1]}, 'beacon.before_in': {8: [5]}, 'beacon_in': {2: [1], 6: [1], 9: [8]},
              'request_in': {3: [2]}}
    shown = tshark.fields(path, ['mxoe.' + key for key in wanted])
    for key, values in wanted.items():
        found = {n: f.frames('mxoe.' + key) for n, f in enumerate(shown, 1) if 'mxoe.' + key in f}
        assert found == values, f'{key}: {found}, not {values}'


def mutated(frames, dice, count):
    """Frames with a few bytes changed or cut, so that headers are hit: never the EtherType."""
    for _ in range(count):
        frame = bytearray(dice.choice(frames))
        for _ in range(dice.choice((1, 1, 2, 4))):
            at = dice.choice((*range(6, 12), *range(14, min(len(frame), 64))))
            frame[at] = dice.choice((0, 1, 0xff, frame[at] ^ (1 << dice.randrange(8)), dice.randrange(256)))
        if dice.random() < 0.1:
            frame = frame[:dice.randrange(17, len(frame))]
        yield bytes(frame)


def check_mutations(dialect, codec, sources):
    """The dissector calls malformed what the codec refuses, for the same reason, and nothing else."""
    def check(tshark):
        frames = sorted({f[:700] for path in sources for f in read_pcap(path)})
        frames += [f for c in rules.cases(dialect) if c.wanted is None for f in c.frames]
        path = scratch(tshark, f'mutated-{dialect}.pcap')
        write_pcap(path, mutated(frames, random.Random(42), 6000))
        notes = notes_of(tshark, path, *PREFERENCES[dialect])
        verdicts = verdicts_of(codec, CODEC_SIZE[dialect], path)
        assert len(notes) == len(verdicts)
        wrong = []
        for number, (keys, verdict) in enumerate(zip(notes, verdicts), 1):
            said = {k for k in keys if k.startswith('malformed.') and k != 'malformed.destination'}
            if bool(said) != (verdict is not None) or verdict and SAME[verdict] not in said:
                wrong.append(f'frame {number}: {sorted(said)}, the codec says {verdict}')
        assert not wrong, '\n  '.join([f'{len(wrong)} frames in {path}', *wrong[:10]])
        rare = {'malformed.source', 'malformed.reply', 'malformed.group'}
        assert {SAME[v] for v in verdicts if v} >= set(SAME.values()) - rare, 'a reason never came up'
    return check


def check_guessing(sources):
    """Nonsense with nothing configured: what is learned from it must not lead the dissector astray."""
    def check(tshark):
        frames = sorted({f[:700] for path in sources for f in read_pcap(path)})
        frames += [f for d in 'NW' for c in rules.cases(d) for f in c.frames]
        path = scratch(tshark, 'guessing.pcap')
        n = Network(1, 'N')
        nothing = [*n.met(), n.rndv('a', 'b'), n.pull('b', 'a'), n.reply('a', 'b', size=0), n.reply('a', 'b', size=1)]
        write_pcap(path, [*nothing, *mutated(frames, random.Random(44), 6000)])
        assert len(notes_of(tshark, path)) == 6000 + len(nothing)
        notes_of(tshark, path, '-o', 'mxoe.dialect:N', '-o', 'mxoe.size:32')
    return check


def check_cut(tshark):
    """A capture that keeps only the start of each frame: no complaint about what is not there."""
    frames = [f for c in rules.cases('W') if c.wanted is None for f in c.frames]
    for kept in (14, 15, 17, 47):
        path = scratch(tshark, f'cut-{kept}.pcap')
        write_pcap(path, frames, cut=kept)
        for keys in notes_of(tshark, path, *PREFERENCES['W']):
            assert not any(k.startswith('malformed') for k in keys), (kept, keys)


def check_any(tshark):
    """A capture of all interfaces lacks the receivers' addresses, one behind a trunk has a tag more."""
    frames = [f for c in rules.cases('W') if c.wanted is None for f in c.frames]
    path = scratch(tshark, 'any.pcap')
    cooked = [struct.pack('>HHH', 4, 1, 6) + f[6:12] + bytes(2) + f[12:] for f in frames]
    write_pcap(path, cooked, link=COOKED)
    assert not any(notes_of(tshark, path)), 'any'
    kinds = tshark.fields(path, ['mxoe.type'])
    assert [f.number('mxoe.type') for f in kinds] == [f[16] for f in frames]
    write_pcap(path, [f[:12] + b'\x81\0\0\x05' + f[12:] for f in frames])
    assert not any(notes_of(tshark, path)), 'tagged'
    assert tshark.fields(path, ['mxoe.type']) == kinds


def checks(codec, pcap_folder, _wire_folder):
    captures = {'W': [os.path.join(pcap_folder, f) for f in sorted(os.listdir(pcap_folder)) if f.endswith('.pcap')],
                'N': [os.path.join(pcap_folder, 'native', f) for f in sorted(os.listdir(pcap_folder + '/native'))]}
    for dialect in 'WN':
        yield f'rules of section 13, {dialect}', check_rules(dialect, codec)
        yield f'mutated frames, {dialect}', check_mutations(dialect, codec, captures[dialect])
    yield 'links of the extension', check_extension
    yield 'links of beacons', check_beacons
    yield 'mixed dialects', check_mixed_dialects
    yield 'learned sizes', check_learned_sizes
    yield 'mutated frames, nothing configured', check_guessing(captures['N'] + captures['W'])
    yield 'frames cut off', check_cut
    yield 'all interfaces, and a tagged network', check_any
