#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# gso.py LLADDR FROM TO: sends a large TCP segment by a packet socket, for the
# adapter to cut, that none can cut: its IPv4 header says that it is a fragment.

import ipaddress
import socket
import struct
import sys

ETH_P_IP = 0x0800
SOL_PACKET, PACKET_VNET_HDR = 263, 15
NEEDS_CSUM, TCPV4 = 1, 1
MORE_FRAGMENTS = 0x2000
IP, TCP, DATA, SEGMENT = 20, 20, 4000, 1000
PSEUDO, ENCAP = 20, 4

address = bytes.fromhex(sys.argv[1].replace(":", ""))
source, dest = (ipaddress.ip_address(a).packed for a in sys.argv[2:4])

start = PSEUDO + ENCAP + IP
vnet = struct.pack("=BBHHHH", NEEDS_CSUM, TCPV4, start + TCP, SEGMENT, start, 16)
encap = struct.pack(">HH", ETH_P_IP, 0)
ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, IP + TCP + DATA, 1, MORE_FRAGMENTS,
                 64, socket.IPPROTO_TCP, 0, source, dest)
tcp = struct.pack(">HHIIBBHHH", 9, 9, 1, 1, TCP // 4 << 4, 0x10, 1000, 0, 0)

s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
s.bind(("ib0", ETH_P_IP))
s.send(vnet + address + encap + ip + tcp + bytes(DATA))
