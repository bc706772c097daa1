#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# stream.py send ADDRESS PORT SUM PAUSE: sends blocks by TCP, with so many seconds
# in between, until /run/enough is there.
# stream.py receive PORT SUM: accepts that one connection, and receives all of it.
# At the end each writes the SHA-256 of what it has sent or received to the file
# SUM; until then the receiver has the number of bytes in SUM.bytes.

import hashlib
import os
import socket
import sys
import time

BLOCK = 100000
PATIENCE = 500


def finish(name, digest):
    with open(name + ".new", "w") as f:
        f.write(digest.hexdigest() + "\n")
    os.rename(name + ".new", name)


def send(address, port, name, pause):
    digest = hashlib.sha256()
    block = os.urandom(BLOCK)
    with socket.create_connection((address, int(port)), PATIENCE) as s:
        while not os.path.exists("/run/enough"):
            s.sendall(block)
            digest.update(block)
            time.sleep(float(pause))
    finish(name, digest)


def receive(port, name):
    digest = hashlib.sha256()
    count = 0
    with socket.create_server(("", int(port))) as server:
        s, _ = server.accept()
    s.settimeout(PATIENCE)
    with s, open(name + ".bytes", "w") as f:
        while data := s.recv(1 << 20):
            digest.update(data)
            count += len(data)
            os.pwrite(f.fileno(), b"%020d\n" % count, 0)
    finish(name, digest)


{"send": send, "receive": receive}[sys.argv[1]](*sys.argv[2:])
