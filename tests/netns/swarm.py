#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Many boards on one interface, as far as others can see: each sends beacons, and says its name to all that ask.

usage: swarm.py INTERFACE FIRST-ADDRESS COUNT NAME SERIAL SECONDS

Board I has the address FIRST-ADDRESS + I and is called NAMEI:0. Ends when it is terminated, or after SECONDS; prints how
many were asked, and how often. Until then boards that were asked send a beacon every fourth second: their answer may be
lost.
"""

import select
import signal
import socket
import struct
import sys
import time

ETHERTYPE = 0x86df
BEACON, HOST_QUERY, HOST_REPLY = 1, 3, 4
SO_RCVBUFFORCE = 33
BUFFER = 1 << 26
BEACON_INTERVAL = 1.0


class Swarm:
    """The boards and what they were asked."""

    def __init__(self, interface, first, count, name, serial):
        self.first, self.count, self.name, self.serial = first, count, name, serial
        self.asked = set()
        self.questions = 0
        self.ended = False
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
        self.socket.bind((interface, ETHERTYPE))
        self.socket.setblocking(False)

    def address(self, board):
        return (self.first + board).to_bytes(6, 'big')

    def beacon(self, board):
        outer = b'\xff' * 6 + self.address(board) + struct.pack('>HH', ETHERTYPE, 0)
        self.send(outer + struct.pack('>B15xH', BEACON, 0) + self.address(board) + struct.pack('>I20x', self.serial))

    def send(self, frame):
        try:
            self.socket.send(frame)
        except BlockingIOError:  # the interface is busy: as good as lost on the way
            pass

    def answer(self, frame):
        board = int.from_bytes(frame[:6], 'big') - self.first
        if frame[16] != HOST_QUERY or not 0 <= board < self.count:
            return
        self.asked.add(board)
        self.questions += 1
        name = f'{self.name}{board}:0'.encode() + b'\0'
        body = struct.pack('>BBHxxxx', HOST_REPLY, len(name), 1) + frame[24:28] + bytes(4) + name
        self.send((frame[6:12] + frame[:6] + struct.pack('>H', ETHERTYPE) + frame[18:20] + body).ljust(60, b'\0'))

    def serve(self, until):
        """Answers until that time."""
        while not self.ended and (left := until - time.monotonic()) > 0:
            if select.select([self.socket], [], [], left)[0]:
                self.answer(self.socket.recv(2048))

    def run(self, seconds):
        """True when all were asked in that time."""
        end = time.monotonic() + seconds
        rounds = 0
        while not self.ended and time.monotonic() < end:
            rounds += 1
            for board in range(self.count):
                if board not in self.asked or rounds % 4 == 0:
                    self.beacon(board)
                if board % 16 == 0:
                    self.serve(time.monotonic() + 1e-6)
            self.serve(min(end, time.monotonic() + BEACON_INTERVAL))
        return len(self.asked) == self.count

    def end(self, *_):
        """Ends run()."""
        self.ended = True


def main():
    interface, first, count, name, serial, seconds = sys.argv[1:]
    swarm = Swarm(interface, int(first.replace(':', ''), 16), int(count), name, int(serial))
    signal.signal(signal.SIGTERM, swarm.end)
    good = swarm.run(float(seconds))
    print(f'{len(swarm.asked)} of {count} asked, {swarm.questions} questions')
    sys.exit(0 if good else 1)


if __name__ == '__main__':
    main()
