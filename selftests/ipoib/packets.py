#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# packets.py LLADDR KIND: sends by a packet socket what the stack would not; KIND
# is a function below. LLADDR is a neighbour's. Prints how many there were.

import errno
import socket
import struct
import sys

ETH_P_IP, ETH_P_ARP = 0x0800, 0x0806
SOL_PACKET, PACKET_VNET_HDR = 263, 15
NEEDS_CSUM, TCPV4 = 1, 1
ENCAP = struct.pack(">HH", ETH_P_IP, 0)
IP, TCP, PSEUDO = 20, 20, 20

lladdr = bytes.fromhex(sys.argv[1].replace(":", ""))
packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
packets.bind(("ib0", ETH_P_IP))


def ip(length, protocol):
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, length, 1, 0, 64, protocol, 0,
                       bytes((10, 77, 0, 1)), bytes((10, 77, 0, 2)))


def send(address, size=64):
    packets.send(address + ENCAP + ip(size, socket.IPPROTO_UDP) +
                 bytes(size - IP))
    return 1


def refused(number, function, *args):
    try:
        function(*args)
        sys.exit("%s%s went well" % (function.__name__, args))
    except OSError as err:
        if err.errno != number:
            raise


def short():
    """Less than link-layer address and encapsulation header: the socket itself
    refuses them, but not what is to leave by lo, where it is told to go to ib0."""
    lengths = 14, 19, 20, 23
    for n in (1, *lengths):
        refused(errno.EINVAL, packets.send, (lladdr + ENCAP)[:n])
    packets.bind(("lo", ETH_P_IP))
    return sum(bool(packets.send((lladdr + ENCAP)[:n])) for n in lengths)


def nobody():
    """Queue pairs that no neighbour can have"""
    return sum(send(bytes((flags,)) + qpn + lladdr[4:])
               for qpn in (bytes(3), b"\xff" * 3) for flags in (0, 0x80, 0xff))


def nowhere():
    """A GID that no port has"""
    return send(lladdr[:4] + bytes(16))


GROUP = b"\x40\x1b\xff\xff" + bytes(6) + b"\x0d\x0d\x0d\x0d"


def groups():
    """All scopes, and another partition's"""
    gids = [bytes((0xff, 0x10 | scope)) + GROUP for scope in range(16)]
    gids += [b"\xff\x12\x40\x1b\0\0" + GROUP[4:]]
    return sum(send(lladdr[:4] + gid) for gid in gids)


def foreign():
    """Lasting groups, flags, and groups of other protocols; and ARP to a group of IP's,
    as to a neighbour who says that this is its address"""
    gids = [bytes((0xff, n)) + GROUP for n in (0x02, 0xf2, 0xff)]
    gids += [b"\xff\x12\xde\xad" + GROUP[2:], b"\xff\x12" + bytes(14), b"\xff" * 16]
    packets.send(lladdr[:4] + b"\xff\x12" + GROUP + struct.pack(">HH", ETH_P_ARP, 0) +
                 bytes(56))
    return sum(send(lladdr[:4] + gid) for gid in gids) + 1


def toolong():
    """Of the socket's own length check, and of the driver's: TCP that is to be cut
    into pieces longer than the MTU"""
    with open("/sys/class/net/ib0/mtu", encoding="ascii") as f:
        mtu = int(f.read())
    refused(errno.EMSGSIZE, send, lladdr, mtu + 1)
    start = PSEUDO + len(ENCAP) + IP
    vnet = struct.pack("=BBHHHH", NEEDS_CSUM, TCPV4, start + TCP, 2 * mtu, start,
                       16)
    tcp = struct.pack(">HHIIBBHHH", 9, 9, 1, 1, TCP // 4 << 4, 0x10, 1000, 0, 0)
    data = bytes(5 * mtu)
    packets.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    packets.send(vnet + lladdr + ENCAP + ip(IP + TCP + len(data), 6) + tcp + data)
    return 1


print(globals()[sys.argv[2]]())
