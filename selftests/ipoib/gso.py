#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# gso.py LLADDR FROM TO: sends large packets by a packet socket that say that they are
# TCP over IPv4, for the adapter to cut, and that none can cut: each is wrong in another
# place, where the stack does not look. Prints how many.

import ipaddress
import socket
import struct
import sys

ETH_P_IP, ETH_P_ARP = 0x0800, 0x0806
SOL_PACKET, PACKET_VNET_HDR = 263, 15
NEEDS_CSUM, TCPV4 = 1, 1
MORE_FRAGMENTS = 0x2000
IP, TCP, DATA, SEGMENT = 20, 20, 4000, 1000
PSEUDO, ENCAP = 20, 4

address = bytes.fromhex(sys.argv[1].replace(":", ""))
source, dest = (ipaddress.ip_address(a).packed for a in sys.argv[2:4])


def packet(proto=ETH_P_IP, version=4, flags=0):
    start = PSEUDO + ENCAP + IP
    vnet = struct.pack("=BBHHHH", NEEDS_CSUM, TCPV4, start + TCP, SEGMENT, start, 16)
    encap = struct.pack(">HH", proto, 0)
    ip = struct.pack(">BBHHHBBH4s4s", version << 4 | IP // 4, 0, IP + TCP + DATA, 1, flags,
                     64, socket.IPPROTO_TCP, 0, source, dest)
    tcp = struct.pack(">HHIIBBHHH", 9, 9, 1, 1, TCP // 4 << 4, 0x10, 1000, 0, 0)
    return vnet + address + encap + ip + tcp + bytes(DATA)


wrong = [packet(proto=ETH_P_ARP), packet(version=6), packet(flags=MORE_FRAGMENTS),
         packet(flags=1)]
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
s.bind(("ib0", ETH_P_IP))
for p in wrong:
    s.send(p)
print(len(wrong))
