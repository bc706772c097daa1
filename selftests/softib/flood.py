#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Sends datagrams to an address, thousands in a second, until there is no way to it."""
import errno
import socket
import sys
import time

BUSY = (errno.EAGAIN, errno.ENOBUFS, errno.ECONNREFUSED)

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.connect((sys.argv[1], 9))
    while True:
        try:
            for _ in range(10):
                s.send(b"x" * 100)
        except OSError as e:
            if e.errno not in BUSY:
                break
        # Others need the processor, too.
        time.sleep(0.005)
