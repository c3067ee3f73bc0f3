# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Does what any user of a host can do to the TCP ports of large messages: connects, and says what is wrong, or nothing.

usage: tcp_forger.py wrong ROUNDS HOST:PORT... [--from ADDRESS]    each wrong beginning so many times, to each; ends
       tcp_forger.py silent NUMBER HOST:PORT... [--from ADDRESS]   holds as many connections as it gets, and takes new
                                                                   ones for those that are closed, until it is killed

"wrong" prints how many connections there were; "silent" prints "held" once some of them are there.
"""
import argparse
import itertools
import os
import resource
import select
import socket
import struct
import time

AT_ONCE, PAUSE_MS, SOME = 20, 5, 10 # new connections between two pauses
PATIENCE = 0.05 # s; a full queue of the listener answers nothing
MARK = 0x454D5854
X_DATA = 115


def beginnings():
    """Secrets are random: none of these is one."""
    data = struct.pack(">4BIIIHHI", X_DATA, 0, 0, 0, 1, 2, 0, 1, 1000, 0) + bytes(1000)
    yield b""
    yield b"\0"
    yield b"GET / HTTP/1.1\r\nHost: there\r\n\r\n"
    for secret in (0, 1, 0x0102030405060708, 0xFFFFFFFFFFFFFFFF):
        for mark in (MARK, 0, 0x454D5844):
            hello = struct.pack(">QI4x", secret, mark)
            yield hello
            yield hello + data * 70
            yield hello[:12]
    yield bytes([X_DATA]) * 100000


def addresses(names):
    for name in names:
        host, port = name.rsplit(":", 1)
        yield host, int(port)


def wrong(rounds, targets, source):
    """Says each of these to each target, as often, whether or not anybody listens."""
    connected = 0
    for _, target, said in itertools.product(range(rounds), targets, list(beginnings())):
        with socket.socket() as one:
            one.settimeout(PATIENCE)
            try:
                if source:
                    one.bind((source, 0))
                one.connect(target)
                connected += 1
                one.sendall(said)
            except OSError:
                pass # nobody listens there, or takes it, or it was closed under our hands
    print(connected, "connections")


def silent(number, targets, source):
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    poll = select.poll()
    held, came, told = {}, 0, False
    turn = itertools.cycle(targets)
    while True:
        for _ in range(min(number - len(held), AT_ONCE)):
            one = socket.socket()
            one.setblocking(False)
            if source:
                one.bind((source, 0))
            one.connect_ex(next(turn))
            held[one.fileno()] = one
            poll.register(one, select.POLLRDHUP | select.POLLOUT)
        for fd, events in poll.poll(PAUSE_MS):
            if events & (select.POLLHUP | select.POLLERR | select.POLLRDHUP):
                poll.unregister(fd)
                held.pop(fd).close()
            else:
                came += 1
                poll.modify(fd, select.POLLRDHUP)
        time.sleep(PAUSE_MS / 1000) # tidy-allow(sleep): a nuisance that leaves the processors to the others
        if not told and came >= min(number, SOME):
            told = True
            print("held", flush=True)


def become_nobody():
    try:
        os.setgroups([])
        os.setuid(65534)
    except OSError:
        pass # root of a user namespace is an ordinary user anyway


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["wrong", "silent"])
    parser.add_argument("number", type=int)
    parser.add_argument("targets", nargs="+")
    parser.add_argument("--from", dest="source")
    options = parser.parse_args()
    targets = list(addresses(options.targets))
    become_nobody() # only now: it may not read Python's own files
    if options.what == "wrong":
        wrong(options.number, targets, options.source)
    else:
        silent(options.number, targets, options.source)


main()
