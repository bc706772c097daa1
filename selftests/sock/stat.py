# SPDX-License-Identifier: GPL-2.0
#
# Sockets with the ULP "sdp" that do what each line of standard input says.

from socket import *
import sys

TCP_ULP = 31
listeners = []


def connect(family, address, port):
    """A connection's two ends."""
    listener = socket(family, SOCK_STREAM)
    listener.setsockopt(IPPROTO_TCP, TCP_ULP, b"sdp")
    listener.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
    listener.bind((address, port))
    listener.listen()
    listeners.append(listener)
    client = socket(family, SOCK_STREAM)
    client.setsockopt(IPPROTO_TCP, TCP_ULP, b"sdp")
    client.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
    client.connect((address, port))
    return client, listener.accept()[0]


def push(tx, rx, size, times):
    """Messages one way, each read before the next one is sent."""
    for _ in range(times):
        tx.sendall(bytes(size))
        left = size
        while left:
            left -= len(rx.recv(left))


for line in sys.stdin:
    exec(line)
    print("done")
