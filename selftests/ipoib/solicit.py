#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# solicit.py ADDRESS: asks on ib0 who has that, by a neighbour solicitation of its
# own (RFC 4861 4.3), every second until there is an answer, and prints the link-layer
# address that the answer tells. A question that comes before the group is there again,
# or the way to it, is lost.

import socket
import struct
import sys

TRIES = 20
SOLICITATION, ADVERTISEMENT = 135, 136
SOURCE, TARGET = 1, 2
# RFC 4391 9.3: type, length in 8 bytes, two that are zero, the address
OPTION = struct.Struct("BB2x20s")
TARGET_ADDRESS, OPTIONS = slice(8, 24), slice(24, None)

index = socket.if_nametoindex("ib0")
with open("/sys/class/net/ib0/address", encoding="ascii") as f:
    own = bytes.fromhex(f.read().strip().replace(":", ""))
target = socket.inet_pton(socket.AF_INET6, sys.argv[1])
group = b"\xff\x02" + bytes(9) + b"\1\xff" + target[13:]

s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
s.settimeout(1)
question = struct.pack(">BBHI", SOLICITATION, 0, 0, 0) + target + \
    OPTION.pack(SOURCE, OPTION.size // 8, own)


def ask():
    """Returns the options of the answer, if there is one."""
    s.sendto(question, (socket.inet_ntop(socket.AF_INET6, group), 0, 0, index))
    try:
        while True:
            answer = s.recv(1000)
            if answer[0] == ADVERTISEMENT and answer[TARGET_ADDRESS] == target:
                return answer[OPTIONS]
    except socket.timeout:
        return None


options = next(filter(None, (ask() for _ in range(TRIES))), None)
if not options:
    sys.exit("no answer")
kind, length, address = OPTION.unpack(options)
if (kind, length) != (TARGET, OPTION.size // 8):
    sys.exit("option %d of %d times 8 bytes" % (kind, length))
print(address.hex(":"))
