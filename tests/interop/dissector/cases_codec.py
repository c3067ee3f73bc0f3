# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Every field of every captured frame is what our codec reads, and what follows from the frames before it."""

import os
import subprocess

from tshark import FIELDS, read_pcap

CONNECT, PULL, PULL_REPLY, TRUC = 36, 41, 42, 35
SEQUENCED = (37, 38, 39, 40, 43)
REPLY_SIZE = {'W': 4096, '9000': 8968}
WARNING = 0x600000


def codec_lines(codec, size, path):
    """A dictionary per frame: what codec_fields prints."""
    done = subprocess.run([codec, size, path], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert all(line.startswith('ok ') for line in lines), f'{path}: the codec refuses a frame'
    return [dict(word.split('=', 1) for word in line.split()[1:]) for line in lines]


def same(name, shown, read):
    if name == 'mxoe.data':
        return shown == read
    if name == 'mxoe.host.name':
        return shown == bytes.fromhex(read).decode()
    if name == 'mxoe.beacon.board':
        return int(shown.replace(':', ''), 16) == int(read)
    if name == 'mxoe.x.address':
        return int.from_bytes(map(int, shown.split('.')), 'big') == int(read)
    if name == 'mxoe.connect.is_reply':
        return bool(int(shown)) == bool(int(read))
    return int(shown, 0) == int(read)


def compare(frames, lines):
    """The first difference between the dissector's and the codec's fields."""
    assert len(frames) == len(lines), f'{len(frames)} frames, {len(lines)} by the codec'
    for number, (frame, line) in enumerate(zip(frames, lines), 1):
        for name, read in line.items():
            shown = frame.one(name)
            assert shown is not None and same(name, shown, read), f'frame {number}, {name}: {shown}, not {read}'


def key_of(line, frame_bytes):
    """The key that a repeat shares with what it repeats; None for what is not repeated."""
    kind = int(line['mxoe.type'])
    ends = frame_bytes[:12], line.get('mxoe.dst_ep'), line.get('mxoe.src_ep')
    names = {CONNECT: ('connect.requester', 'connect.number', 'connect.is_reply'),
             PULL: ('session', 'pull.handle', 'pull.magic', 'pull.frame'),
             PULL_REPLY: ('pull.handle', 'pull.magic', 'position')}
    names.update({t: ('session', 'seq', 'frag') for t in SEQUENCED})
    return (kind, ends, *(line.get('mxoe.' + n) for n in names[kind])) if kind in names else None


def repeats(lines, raw):
    """Numbers of frames that say again what one before said."""
    seen, again = set(), set()
    for number, (line, frame_bytes) in enumerate(zip(lines, raw), 1):
        key = key_of(line, frame_bytes)
        if key in seen:
            again.add(number)
        if key:
            seen.add(key)
    return again


def pull_links(lines, reply_size):
    """{frame: (its PULL, its RNDV)} of pull replies; with the windows that RNDVs announced."""
    windows, requests, links = {}, {}, {}
    for number, line in enumerate(lines, 1):
        kind = int(line['mxoe.type'])
        value = lambda name: int(line['mxoe.' + name])  # pylint: disable=cell-var-from-loop
        if kind == 40:
            windows.setdefault((value('window'), value('window.tag')), number)
            if (value('session'), value('seq')) != windows.get('last'):
                windows[value('window'), value('window.tag')] = number
            windows['last'] = value('session'), value('seq')
        if kind == PULL:
            rndv = windows[value('window'), value('window.tag')]
            count = -(-(value('pull.skip') + value('pull.block')) // reply_size)
            for frame in range(value('pull.frame'), value('pull.frame') + count):
                requests[value('pull.handle'), value('pull.magic'), frame] = number, rndv
        if kind == PULL_REPLY:
            links[number] = requests[value('pull.handle'), value('pull.magic'), value('position') // reply_size]
    return links


def check_fields(path, codec, size):
    def check(tshark):
        compare(tshark.capture(path), codec_lines(codec, size, path))
    return check


def check_given(path, codec, size, *options):
    """The dialect by preference."""
    def check(tshark):
        compare(tshark.fields(path, FIELDS, *options), codec_lines(codec, size, path))
    return check


def check_links(path, codec, size):
    def check(tshark):
        lines = codec_lines(codec, size, path)
        frames = tshark.capture(path)
        assert not [n for n, f in enumerate(frames, 1) if '_ws.lua.error' in f]
        relevant = {n for n, line in enumerate(lines, 1) if int(line['mxoe.type']) not in (1, 3, 4)}
        shown = {n for n in relevant if 'mxoe.retransmission' in frames[n - 1]}
        wanted = repeats(lines, read_pcap(path))
        assert shown == wanted, f'retransmissions {sorted(shown)}, not {sorted(wanted)}'
        for number, (pull, rndv) in pull_links(lines, REPLY_SIZE[size]).items():
            frame = frames[number - 1]
            links = frame.frames('mxoe.request_in'), frame.frames('mxoe.message_in')
            assert links == ([pull], [rndv]), f'frame {number}: {links}, not {pull}, {rndv}'
        one_sided = {n for n, line in enumerate(lines, 1)
                     if line['mxoe.type'] == str(TRUC) and int(line['mxoe.session']) == 0xffffffff}
        warned = {n for n, f in enumerate(frames, 1)
                  if any(int(s) >= WARNING for s in f.get('_ws.expert.severity', []))}
        assert warned == one_sided, f'warnings {sorted(warned)}, not {sorted(one_sided)}'
    return check


def checks(codec, pcap_folder, _wire_folder):
    """Per capture: fields and links, the dialect guessed; where it matters, also given."""
    for folder, size, given in ((pcap_folder, 'W', ['-o', 'mxoe.dialect:W']),
                                (os.path.join(pcap_folder, 'native'), '9000', ['-o', 'mxoe.dialect:N'])):
        for name in sorted(n for n in os.listdir(folder) if n.endswith('.pcap')):
            path = os.path.join(folder, name)
            yield f'fields of {name}', check_fields(path, codec, size)
            yield f'links of {name}', check_links(path, codec, size)
            if name.startswith(('06', '07', 'n')):
                yield f'fields of {name}, dialect given', check_given(path, codec, size, *given)
