# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Gates that need nothing but the text of the files. Each takes a Tree and yields Findings."""

import os
import pathlib
import re
import urllib.parse

from tree import C_SUFFIXES, Finding

LICENCE = 'SPDX-License-Identifier: ' + 'BSD-2-Clause OR GPL-2.0-only'
FILE_LINES_MAX = 800

SOURCE_SUFFIXES = C_SUFFIXES | {'.py', '.sh', '.map', '.lua', '.build', '.yml', '.bpf'}
SOURCE_NAMES = {'Kbuild', 'Makefile', 'meson_options.txt'}

TOP_LEVEL = {'driver', 'libmx', 'include', 'compat', 'tools', 'tests', 'docs', 'meson.build',
             'meson_options.txt', 'LICENSE', 'README.md'}


def is_source(tree, name):
    path = pathlib.Path(name)
    return (path.suffix in SOURCE_SUFFIXES or path.name in SOURCE_NAMES
            or (tree.text(name) or '').startswith('#!'))


def spdx(tree):
    """Every source file names the licence in its first lines."""
    for name in tree.files:
        if is_source(tree, name):
            head = '\n'.join((tree.text(name) or '').splitlines()[:3])
            if LICENCE not in head:
                yield Finding(name, 1, f'add the line "{LICENCE}" at the top')


def core_includes(tree):
    """The firmware core sees its own interface and the two contracts, and no platform."""
    for name in tree.under('driver/core/', suffixes={'.c', '.h'}):
        for number, line in tree.lines(name):
            include = re.match(r'\s*#\s*include\s*([<"].*[>"])', line)
            if include and not re.fullmatch(r'[<"]emx/\w+\.h[>"]|"fw\w*\.h"', include.group(1)):
                yield Finding(name, number, f'driver/core may not include {include.group(1)}')


HOST_MACROS = r'__KERNEL__|__linux__|__unix__|__STDC_HOSTED__|_WIN32|EMX_HOST\w*|MODULE'


def core_platform(tree):
    """The firmware core never asks which platform it is on."""
    for name in tree.under('driver/core/', suffixes={'.c', '.h'}):
        for number, line in tree.lines(name):
            if re.search(rf'^\s*#\s*(el)?if.*\b({HOST_MACROS})\b', line):
                yield Finding(name, number, 'driver/core has no #if on its platform')


def core_built_twice(tree):
    """Kbuild takes every .c of the core by itself; Meson's list must hold the same files."""
    listed = tree.text('driver/core/meson.build') if 'driver/core/meson.build' in tree.files else ''
    for name in tree.under('driver/core/', suffixes={'.c'}):
        if f"'{pathlib.Path(name).name}'" not in listed:
            yield Finding(name, 0, 'not listed in driver/core/meson.build')


def kernel_versions(tree):
    """Kernel version shims live in one file."""
    for name in tree.under('driver/', suffixes={'.c', '.h'}):
        if name == 'driver/linux/compat.h':
            continue
        for number, line in tree.lines(name):
            if 'LINUX_VERSION_CODE' in line:
                yield Finding(name, number, 'version shims belong into driver/linux/compat.h')


def file_length(tree):
    """A file that outgrows the limit is about more than one thing."""
    for name in tree.files:
        if is_source(tree, name):
            count = len((tree.text(name) or '').splitlines())
            if count > FILE_LINES_MAX:
                yield Finding(name, 0, f'{count} lines, at most {FILE_LINES_MAX}: split it')


# (what, folders, suffixes, pattern, remedy)
PACKET_PATHS = ('driver/core/', 'driver/base/', 'driver/board/', 'driver/engine/', 'driver/linux/rx.c', 'driver/linux/tx.c',
                'driver/linux/effects.c', 'driver/linux/event.c',
                'libmx/match/', 'libmx/proto/', 'libmx/reliab/', 'libmx/shm/', 'libmx/progress/', 'libmx/endpoint/')
# Code that runs in programs which we do not know.
IN_PROGRAMS = ('driver/base/', 'driver/config/', 'driver/board/', 'driver/engine/', 'driver/kernel_client/', 'driver/segments',
               'driver/system_error', 'libmx/')
PRODUCT = (*IN_PROGRAMS, 'driver/agent/', 'compat/openmpi/', 'driver/core/', 'include/', 'tools/')
# There a sleep only moves the simulator's clock.
VIRTUAL_TIME = re.compile(r'^tests/(sim|model)/|^tests/fm/(delivery|flow|job)\.|^tests/cast/|^tests/gamma/(delivery|group|loss|frames|job)\.|/run_sim\.cpp$|^tests/interop/sim_link|^tests/fuzz/fuzz_(api|endpoint)\.cpp$')
BANNED = (
    ('unbounded', ('',), C_SUFFIXES, r'\b(strcpy|strcat|sprintf|vsprintf|gets)\s*\(',
     'writes without a bound: use snprintf or memcpy with a length'),
    ('print', PACKET_PATHS, C_SUFFIXES,
     r'\b(f?printf|puts|fputs|perror|printk|pr_\w+|netdev_(err|warn|info|dbg)|syslog)\s*\('
     r'|std::(cout|cerr|clog)\b',
     'nothing is printed on a packet path: count it, or let the caller word the error'),
    ('sleep', ('tests/',), C_SUFFIXES | {'.sh', '.py', ''},
     r'\b(sleep|usleep|nanosleep|clock_nanosleep|sleep_for|sleep_until)\s*\('
     r'|^\s*(u?sleep)\s+["$0-9]|[;&|]\s*(u?sleep)\s+["$0-9]|\b(do|then|else)\s+sleep\b',
     'a sleep in a test hides a race: wait for the event itself'),
    ('time', ('tests/',), C_SUFFIXES,
     r'\b(clock_gettime|gettimeofday|getrusage|monotonic_ns|(steady|system|high_resolution)_clock)\b',
     'time is judged in the simulator; on real hosts a limit only says that something hangs'),
    ('environment', PRODUCT, C_SUFFIXES,
     r'\b(\w*getenv|environ|temp_directory_path|tempnam|exec[lv]pe?|posix_spawnp|popen|system)\b(?=\s*[\[(;,*)])',
     'takes what the caller of a set-user-ID program says: driver/base/environment.hpp reads the environment, '
     'and programs are run by their absolute paths'),
    ('system-call', IN_PROGRAMS, C_SUFFIXES,
     r'(?<![\w>])::(accept4?|close|connect|epoll_p?wait|getrandom|nanosleep|open(at)?|p?poll|read|recv\w*|send\w*|'
     r'sleep|usleep|wait\w*|write)\(|\bsleep_(for|until)\(',
     'a signal of the program would end it, and a cancelled thread end there: system_calls.hpp has it'),
    ('thread', IN_PROGRAMS, C_SUFFIXES, r'\bstd::j?thread\(|(\.|->)join\(\)',
     'takes signals of the program, and throws where none can be had: start_thread(), join_thread() of thread.hpp'),
    ('file-size', (*IN_PROGRAMS, 'driver/agent/', 'tools/omxd/'), C_SUFFIXES,
     r'\b(ftruncate|(posix_)?fallocate)\(', 'is a signal where files are limited: set_file_size() of fd.hpp'),
    ('stream', (*IN_PROGRAMS, 'driver/agent/', 'tools/omxd/', 'tools/setup/'), C_SUFFIXES,
     r'\bstd::[io]?fstream\b|\bfopen\(', 'may become a standard stream of the program: read_text_file(), or Fd'),
)


def allowed(tree, name, number, what):
    """An exception stands on the line or the one before: tidy-allow(WHAT): REASON."""
    lines = (tree.text(name) or '').splitlines()
    return any(re.search(rf'tidy-allow\({what}\): \S+', line)
               for line in lines[max(0, number - 2):number])


def without_comments(text):
    """Blanks out C comments and string contents, keeping every line break."""
    def blank(match):
        piece = match.group(0)
        if piece[0] in '"\'':
            return piece[0] + ' ' * (len(piece) - 2) + piece[-1]
        return re.sub(r'[^\n]', ' ', piece)
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', blank, text,
                  flags=re.S)


def code_lines(tree, name):
    if pathlib.Path(name).suffix in C_SUFFIXES:
        return enumerate(without_comments(tree.text(name) or '').splitlines(), 1)
    return ((n, line.split(' #', 1)[0] if not line.startswith('#') else '')
            for n, line in tree.lines(name))


def banned_calls(tree):
    """Calls that are unsafe, or wrong where they stand."""
    for what, folders, suffixes, pattern, remedy in BANNED:
        for name in tree.under(*folders, suffixes=suffixes):
            if name.startswith('tests/tidy/'):
                continue
            if what in ('sleep', 'time') and VIRTUAL_TIME.search(name):
                continue
            if what == 'time' and name.startswith('tests/bench/'):
                continue
            for number, line in code_lines(tree, name):
                call = re.search(pattern, line)
                if call and not allowed(tree, name, number, what):
                    yield Finding(name, number, f'{call.group(0).strip()}: {remedy}')


def top_level(tree):
    """The top of the tree holds what the layout says and nothing else."""
    for entry in sorted({pathlib.Path(n).parts[0] for n in tree.files}):
        if entry not in TOP_LEVEL and not entry.startswith('.'):
            yield Finding(entry, 0, 'does not belong to the top level')


def machine_patterns(root):
    """Patterns that would tie a file to the machine that wrote it: its directories, its package mirrors."""
    patterns = [r'(?<![\w.$}])/(home|Users)/\w', r'(?<![\w.$}])/root/\w']
    system = {'usr', 'tmp', 'var', 'opt', 'srv', 'etc', 'home', 'root', 'dev', 'proc', 'sys', 'run',
              'mnt', 'media', 'bin', 'lib', 'sbin', 'boot'}
    if root.parts[1] not in system:
        patterns.append(rf'(?<![\w.$}}])/{re.escape(root.parts[1])}/\w')
    hosts = set()
    for value in [os.environ.get(v, '') for v in ('PIP_INDEX_URL', 'GOPROXY', 'http_proxy')] + \
            [line for path in pathlib.Path('/etc/apt').glob('sources.list*/**/*')
             if path.is_file() for line in path.read_text(errors='replace').splitlines()]:
        for url in re.findall(r'https?://[^\s,\]]+', value):
            hosts.add(urllib.parse.urlparse(url).hostname or '')
    for host in hosts:
        if host and not host.endswith('.debian.org'):
            patterns.append(re.escape(host))
    return patterns


def machine_paths(tree, patterns=None):
    """No file knows the directories or mirrors of the machine it was written on."""
    pattern = re.compile('|'.join(patterns or machine_patterns(tree.root)))
    for name in tree.files:
        for number, line in tree.lines(name):
            if pattern.search(line) and not name.startswith('tests/tidy/'):
                yield Finding(name, number, 'names a directory or host of a build machine')


def doc_paths(tree):
    """Files and folders that the documentation names exist; `queue.cpp` may stand for `libmx/queue.cpp`."""
    places = set(tree.files)
    for name in tree.files:
        places.update(str(parent) for parent in pathlib.PurePath(name).parents)
    for name in tree.files:
        if not re.fullmatch(r'README\.md|docs/.*\.md', name):
            continue
        for number, line in tree.lines(name):
            for word in re.findall(r'`(?:\./)?(\w[\w./-]*)[^`]*`', line):
                path = word.rstrip('/')
                if not ('/' in word or re.search(r'\.(cpp|hpp|[ch]|py|sh|md|conf|txt)$', word)):
                    continue
                if path.startswith('build') or any(p == path or p.endswith('/' + path) for p in places):
                    continue
                yield Finding(name, number, f'there is no {word}')
            for link in re.findall(r'\]\((?!https?:)([^)#]+)', line):
                target = pathlib.PurePath(name).parent / link.rstrip('/')
                if os.path.normpath(target) not in places:
                    yield Finding(name, number, f'links to {link}, which is not there')


def whitespace(tree):
    """No trailing blanks; the last line ends."""
    for name in tree.files:
        text = tree.text(name)
        if not text or pathlib.Path(name).suffix in {'.patch', '.diff'}:
            continue
        for number, line in enumerate(text.split('\n'), 1):
            if line != line.rstrip(' \t\r'):
                yield Finding(name, number, 'trailing blanks')
        if not text.endswith('\n'):
            yield Finding(name, 0, 'the last line does not end')


HEADLESS = r'(?:What|Whether|Who|Whose|Whom|Of|Which|How)\b'
# Openings: of a C comment, of one behind code, of its text on the next line, of a script's comment or docstring.
OPENINGS = re.compile(rf'(?:/\*\*?|//[/!]?<?|^\s*#+|^\s*""")\s+{HEADLESS}|^\s*"""{HEADLESS}')
SECOND_LINE = re.compile(rf'^\s*\*\s+{HEADLESS}')
GOES_ON = re.compile(r'^\s*(//|#)')
PRONOUN = re.compile(r'\b(he|his|him|himself)\b', re.I)


def is_text_of_ours(tree, name):
    return is_source(tree, name) or pathlib.Path(name).suffix in {'.md', '.conf'}


def comments(tree):
    """A comment opens with its subject or its verb, never with a bare clause; programs and users are no "he"."""
    for name in tree.files:
        if not is_text_of_ours(tree, name) or name.startswith('tests/tidy/'):
            continue
        before = ''
        for number, line in tree.lines(name):
            if PRONOUN.search(line):
                yield Finding(name, number, 'name the subject: a process, a peer or a user is no "he"')
            continues = GOES_ON.match(line) and GOES_ON.match(before) and 'SPDX' not in before
            opens = not name.endswith('.md') and not continues and OPENINGS.search(line)
            if opens or (before.strip() in ('/*', '/**') and SECOND_LINE.match(line)):
                yield Finding(name, number, 'open the comment with its subject or its verb: "True if ...", "Returns ..."')
            before = line


DOCUMENT_LINE_MAX = 100


def wrapped(tree):
    """Lines of documents end at 100 characters, but for tables, code, headings and what has no blank to break at."""
    for name in tree.under('', suffixes={'.md'}):
        fenced = False
        for number, line in tree.lines(name):
            if line.lstrip().startswith('```'):
                fenced = not fenced
            elif not fenced and not line.startswith(('|', '#', '    ', '<', '![')) and len(line) > DOCUMENT_LINE_MAX:
                if ' ' in line[:DOCUMENT_LINE_MAX].strip().lstrip('-*0123456789. '):
                    yield Finding(name, number, f'wrap it at {DOCUMENT_LINE_MAX} characters')


# Layers of the product, the lowest first: folder (the longest that fits), and what it may include besides its own.
DEVICE = {'include/emx', 'driver', 'driver/base', 'driver/core'}
LIBRARY = {*DEVICE, 'include', 'libmx', 'libmx/conf'}
# What an endpoint is made of, and the whole of it.
PARTS = {'libmx/match', 'libmx/reliab', 'libmx/partner', 'libmx/proto', 'libmx/progress'}
ENDPOINT = {*LIBRARY, *PARTS, 'libmx/endpoint'}
LAYERS = {
    'include': set(),
    'include/emx': set(),
    'driver/core': {'include/emx'},
    'driver/base': set(),
    'driver': {'include/emx', 'driver/base', 'driver/core'},
    'driver/config': DEVICE,
    'driver/board': {*DEVICE, 'driver/config'},
    'driver/engine': {*DEVICE, 'driver/config', 'driver/board'},
    'driver/kernel_client': {*DEVICE, 'driver/config'},
    'driver/agent': {*DEVICE, 'driver/config', 'driver/board', 'driver/kernel_client'},
    'driver/linux': {'include/emx', 'driver/core'},
    'libmx': DEVICE | {'include'},
    'libmx/conf': DEVICE,
    'libmx/match': LIBRARY,
    'libmx/reliab': LIBRARY,
    'libmx/progress': LIBRARY,
    'libmx/partner': LIBRARY | {'libmx/reliab'},
    'libmx/proto': LIBRARY | {'libmx/match', 'libmx/reliab', 'libmx/partner'},
    'libmx/endpoint': LIBRARY | PARTS,
    'libmx/shm': LIBRARY,
    'libmx/trace': ENDPOINT,
    'libmx/context': ENDPOINT | {'libmx/shm', 'libmx/trace'},
    'libmx/api': ENDPOINT | {'libmx/context'},
    'compat': {'include', 'include/emx', 'driver/base'},
    'tools': LIBRARY | {'libmx/trace', 'driver/config', 'driver/board', 'driver/engine', 'driver/kernel_client'},
    'tools/omxd': {*DEVICE, 'driver/config', 'driver/agent'},
}
# The one place where the library chooses a device.
ACROSS = {('libmx/api/process.cpp', 'driver/engine'), ('libmx/api/process.cpp', 'driver/kernel_client')}


def layer_of(name):
    """The longest folder of LAYERS that holds a file, or None."""
    folders = [str(f) for f in pathlib.PurePath(name).parents]
    return next((f for f in folders if f in LAYERS), None)


def included(tree, name, text):
    """The file of the tree that an include names, or None."""
    places = (pathlib.PurePath(name).parent / text, pathlib.PurePath(text), pathlib.PurePath('include') / text,
              pathlib.PurePath('driver/core') / text)
    return next((p for p in (os.path.normpath(p) for p in places) if p in tree.files), None)


def layers(tree):
    """Includes between the folders of the product point down."""
    for name in tree.under('driver/', 'include/', 'libmx/', 'tools/', 'compat/', suffixes=C_SUFFIXES):
        own = layer_of(name)
        for number, line in tree.lines(name):
            include = re.match(r'\s*#\s*include\s*[<"](.*)[>"]', line)
            target = included(tree, name, include.group(1)) if include else None
            to = layer_of(target) if target else None
            if to and to != own and to not in LAYERS[own] and (name, to) not in ACROSS:
                yield Finding(name, number, f'{own} may not include {target}: see LAYERS')
