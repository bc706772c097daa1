#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""pieces.py ADDRESS PORT FILE: send packets with the file in it three times, by TCP.

Each time that is another piece for the adapter. The first, second, ... allocation that
the sending takes fails, until none is left that could. Prints how often it is sent.
"""
import os
import socket
import sys

TIMES = 3


def arm(nth):
    """Copying what is written fails, too."""
    while True:
        try:
            os.pwrite(fail, b"%d" % nth, 0)
            return
        except OSError:
            pass


def left():
    """What has not failed yet; if it was this, nothing has."""
    try:
        return int(os.pread(fail, 16, 0).rstrip(b"\0\n"))
    except OSError:
        return 1


def send():
    """One packet, the last step of which may fail"""
    for _ in range(TIMES):
        os.sendfile(sock.fileno(), file, 0, size)
    arm(nth)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
    except OSError:
        pass
    more = left() == 0
    arm(0)
    return more


sock = socket.create_connection((sys.argv[1], int(sys.argv[2])))
file = os.open(sys.argv[3], os.O_RDONLY)
size = os.fstat(file).st_size
fail = os.open("/proc/thread-self/fail-nth", os.O_RDWR)
for nth in range(1, 1000):
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    if not send():
        print(nth * TIMES)
        sys.exit()
sys.exit("there is no end of allocations")
