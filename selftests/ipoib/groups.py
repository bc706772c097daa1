#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# groups.py join COUNT FILE: joins so many groups on ib0, every other one of
# IPv6, and stays in them until it is ended. Each datagram's text that arrives is
# a line of FILE.
# groups.py send COUNT STEP: sends a datagram to every STEPth of them, of which
# the text is its number.

import select
import socket
import struct
import sys

PORT = 7000
index = socket.if_nametoindex("ib0")
count = int(sys.argv[2])


def group(i):
    """The family and the address of group i."""
    if i % 2:
        return socket.AF_INET6, "ff05::8:%x" % i
    return socket.AF_INET, "239.8.%d.%d" % (i >> 8, i & 255)


def sender(family):
    s = socket.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET6:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
    else:
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF,
                     struct.pack("=4s4si", bytes(4), bytes(4), index))
    return s


def listener(family):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # What other sockets have joined is not for this one.
    if family == socket.AF_INET6:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        s.setsockopt(socket.IPPROTO_IPV6, 29, 0)    # IPV6_MULTICAST_ALL
    else:
        s.setsockopt(socket.IPPROTO_IP, 49, 0)      # IP_MULTICAST_ALL
    s.bind(("", PORT))
    return s


def join(s, family, address):
    if family == socket.AF_INET6:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP,
                     socket.inet_pton(family, address) +
                     struct.pack("=i", index))
    else:
        s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                     struct.pack("=4s4si", socket.inet_aton(address),
                                 bytes(4), index))


if sys.argv[1] == "send":
    senders = {f: sender(f) for f in (socket.AF_INET, socket.AF_INET6)}
    for i in range(0, count, int(sys.argv[3])):
        family, address = group(i)
        senders[family].sendto(b"%d\n" % i, (address, PORT))
    sys.exit()

# A socket has room for 20 groups (net.ipv4.igmp_max_memberships).
sockets = []
for i in range(count):
    if i % 40 == 0:
        sockets += [listener(socket.AF_INET), listener(socket.AF_INET6)]
    join(sockets[-2 + i % 2], *group(i))
print("joined", flush=True)
with open(sys.argv[3], "wb", buffering=0) as out:
    while True:
        for s in select.select(sockets, [], [])[0]:
            out.write(s.recv(100))
