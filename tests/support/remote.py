#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Commands for other made-up hosts, for an ordinary user, who cannot enter their namespaces: in the place of ssh.

    remote.py serve FOLDER HOST             of each host, as that user; says "serving" and runs until it is ended
    remote.py [-OPTION]... HOST COMMAND...  from any host: FOLDER is in EMX_REMOTE; ends as the command does

The words of the command make one line for a shell. It gets the caller's standard streams, and the environment and
the folder of the server. Open MPI starts its remote parts with this (plm_rsh_agent). Options are ignored.
"""

import array
import os
import signal
import socket
import subprocess
import sys
import threading


def serve_one(connection):
    with connection:
        line, ancillary, _, _ = connection.recvmsg(1 << 16, socket.CMSG_SPACE(12))
        streams = array.array('i')
        for _, _, data in ancillary:
            streams.frombytes(data)
        if len(streams) != 3:
            return
        with subprocess.Popen(['sh', '-c', line.decode()], stdin=streams[0], stdout=streams[1], stderr=streams[2],
                              start_new_session=True) as command:
            for stream in streams:
                os.close(stream)
            status = command.wait()
        connection.sendall(bytes([status if status >= 0 else 128 - status]))


def serve(folder, host):
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.bind(os.path.join(folder, host))
        server.listen()
        print('serving', flush=True)
        while True:
            threading.Thread(target=serve_one, args=(server.accept()[0],), daemon=True).start()


def run(words):
    while words and words[0].startswith('-'):
        words = words[1:]
    folder = os.environ.get('EMX_REMOTE')
    if len(words) < 2 or not folder:
        sys.exit(__doc__)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        try:
            client.connect(os.path.join(folder, words[0]))
        except OSError as why:
            sys.exit(f'remote.py: no host {words[0]} serves here: {why}')
        socket.send_fds(client, [' '.join(words[1:]).encode()], [0, 1, 2])
        status = client.recv(1)
    return status[0] if status else 255


if __name__ == '__main__':
    if sys.argv[1:2] == ['serve'] and len(sys.argv) == 4:
        serve(*sys.argv[2:])
    else:
        sys.exit(run(sys.argv[1:]))
