# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""tshark with our dissector and nothing else, and pcap files for it."""

import os
import pathlib
import shutil
import struct
import subprocess
import tempfile

DISSECTOR = pathlib.Path(__file__).resolve().parents[3] / 'tools/wireshark/ethermx.lua'
SEPARATOR = '\x1f'
COMMA = '\x1e'


# Fields that the codec reads, those that follow from several frames, and texts about them.
FIELDS = tuple('mxoe.' + name for name in """
    type tag dst_ep src_ep session seq ack match length data position frag frag.size window window.tag window.offset
    pull.total pull.handle pull.magic pull.skip pull.block pull.frame reply.frame reply.size advert host.magic host.name
    connect.requester connect.replier connect.key connect.start connect.number connect.is_reply connect.status
    truc.counter nack.reason beacon.board beacon.serial
    offer.newest offer.oldest offer.features offer.frame offer.frames x.checksum x.next x.counter x.echo x.room x.unit
    x.request x.frame x.size
    request_in response_in message_in complete notify_in acks acked_in retransmission retransmission_of
    """.split()) + ('_ws.expert.severity', '_ws.lua.error')


class Frame(dict):
    """Fields of one frame by name: a list of texts each. Absent fields are absent."""

    def one(self, name):
        """The only value of a field as text; None when the frame has none."""
        values = self.get(name, [])
        assert len(values) <= 1, f'{name}: {values}'
        return values[0] if values else None

    def number(self, name):
        """The same as an integer."""
        value = self.one(name)
        return None if value is None else int(value, 0)

    def frames(self, name):
        """Values of a field that names frames, or is true, in order."""
        return [1 if v == 'True' else int(v) for v in self.get(name, [])]


class Tshark:
    """Runs tshark in a home of its own, so that nobody's preferences and plugins matter."""

    def __init__(self):
        self.home = tempfile.mkdtemp(prefix='emx-tshark-')
        self.captures = {}

    def close(self):
        shutil.rmtree(self.home)

    @staticmethod
    def there():
        return shutil.which('tshark') is not None

    def run(self, path, *options, plugin=False):
        """Output of tshark on a capture; raises when it fails or says anything about Lua."""
        env = {k: v for k, v in os.environ.items() if not k.startswith(('WIRESHARK_', 'XDG_'))}
        script = [] if plugin else ['-X', f'lua_script:{DISSECTOR}']
        done = subprocess.run(['tshark', '-2', '-n', *script, '-r', path, *options], capture_output=True, text=True,
                              env=dict(env, HOME=self.home, LC_ALL='C.UTF-8'), check=False, timeout=100)
        spoken = [line for line in done.stderr.splitlines() if 'Running as user' not in line]
        if done.returncode or spoken:
            raise RuntimeError(f'tshark {path}: status {done.returncode}\n' + '\n'.join(spoken))
        return done.stdout

    def fields(self, path, names, *options, plugin=False):
        """One Frame per frame of the capture, with those of the fields that it has."""
        wanted = [word for name in names for word in ('-e', name)]
        text = self.run(path, '-T', 'fields', '-E', f'separator={SEPARATOR}', '-E', f'aggregator={COMMA}', *wanted,
                        *options, plugin=plugin)
        frames = []
        for line in text.split('\n')[:-1]:
            values = line.split(SEPARATOR)
            frames.append(Frame({n: v.split(COMMA) for n, v in zip(names, values) if v}))
        return frames

    def capture(self, path):
        """All of FIELDS; each file is read once, since starting tshark is what takes time."""
        if path not in self.captures:
            self.captures[path] = self.fields(path, FIELDS)
        return self.captures[path]

    def install(self):
        """Puts the folder of the dissector where Wireshark looks for plugins of a user."""
        folder = pathlib.Path(self.home) / '.local/lib/wireshark/plugins'
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copytree(DISSECTOR.parent, folder / 'ethermx')

    def uninstall(self):
        shutil.rmtree(pathlib.Path(self.home) / '.local')


def read_pcap(path):
    """Frames of a little-endian pcap file."""
    data = pathlib.Path(path).read_bytes()
    frames, at = [], 24
    while at < len(data):
        size = struct.unpack_from('<I', data, at + 8)[0]
        frames.append(data[at + 16:at + 16 + size])
        at += 16 + size
    return frames


ETHERNET, COOKED = 1, 113


def write_pcap(path, frames, cut=None, link=ETHERNET):
    """Frames a millisecond apart; cut: how many bytes of each are kept."""
    with open(path, 'wb') as out:
        out.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 262144, link))
        for i, frame in enumerate(frames):
            kept = frame[:cut]
            out.write(struct.pack('<IIII', i // 1000, i % 1000 * 1000, len(kept), len(frame)) + kept)
