#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# behind.py LLADDR: by a packet socket of node2, two segments of TCP to node1, which has that
# address and runs this. GRO keeps the first one (gro_flush_timeout), and nothing that is kept
# when the second one arrives. Prints where the payloads of what goes up begin, in order.

import ctypes
import os
import select
import socket
import struct
import sys

ETH_P_IP, ACK, PSH = 0x0800, 0x10, 0x08
TRIES, SIZE, PORT = 50, 100, 7009
TIMEOUT = "/sys/class/net/ib0/gro_flush_timeout"
FROM, TO = bytes((10, 77, 0, 2)), bytes((10, 77, 0, 1))


def enter(namespace):
    fd = os.open(namespace, os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(fd, 0x40000000):
        sys.exit("setns: " + os.strerror(ctypes.get_errno()))
    os.close(fd)


def packets(kind):
    s = socket.socket(socket.AF_PACKET, kind, 0)
    s.bind(("ib0", ETH_P_IP))
    return s


def checksum(data):
    n = sum(struct.unpack(">%dH" % (len(data) // 2), data))
    n = (n & 0xffff) + (n >> 16)
    return ~(n + (n >> 16)) & 0xffff


def segment(port, number, flags):
    start = struct.pack(">HHIIBBH", port, PORT, number, 1, 5 << 4, flags, 1000)
    length = len(start) + 4 + SIZE
    n = checksum(FROM + TO + struct.pack(">HH", 6, length) + start + bytes(4 + SIZE))
    tcp = start + struct.pack(">HH", n, 0) + bytes(SIZE)
    ip = struct.pack(">BBHHHBB", 0x45, 0, 20 + length, number, 0x4000, 64, 6)
    return ip + struct.pack(">H", checksum(ip + FROM + TO)) + FROM + TO + tcp


def keep(nanoseconds):
    with open(TIMEOUT, "w", encoding="ascii") as f:
        f.write(str(nanoseconds))


def arrived(receiver, port, seconds):
    """Number and length of the next segment from that port, or None"""
    while select.select([receiver], [], [], seconds)[0]:
        data = receiver.recv(65536)
        if data[9] == 6 and struct.unpack(">HH", data[20:24]) == (port, PORT):
            return struct.unpack(">I", data[24:28])[0], len(data) - 40
    return None


def attempt(sender, receiver, head, port):
    """None if GRO did not keep the first one: it does not when the clock ticks in between."""
    keep(60 * 10**9)
    sender.send(head + segment(port, 1, ACK))
    early = arrived(receiver, port, 0.2)
    keep(0)
    sender.send(head + segment(port, 1 + SIZE, ACK | PSH))
    if early:
        return None
    found, count = [], 0
    while count < 2 * SIZE:
        got = arrived(receiver, port, 10)
        if not got:
            sys.exit("lost: %s" % found)
        found.append(got[0])
        count += got[1]
    return found


def main():
    head = bytes.fromhex(sys.argv[1].replace(":", "")) + struct.pack(">HH", ETH_P_IP, 0)
    receiver = packets(socket.SOCK_DGRAM)
    here = os.open("/proc/self/ns/net", os.O_RDONLY)
    enter("/run/netns/node2")
    sender = packets(socket.SOCK_RAW)
    enter("/proc/self/fd/%d" % here)
    for port in range(20000, 20000 + TRIES):
        found = attempt(sender, receiver, head, port)
        if found:
            print(*found)
            return
    sys.exit("GRO keeps nothing")


main()
