#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# frames.py DEVICE: sends frames that no IPoIB driver would, by a UD queue pair of
# DEVICE. Reads lines KIND LLADDR LID, where KIND is a function below and LLADDR the
# link-layer address at that LID, and prints how many frames it has sent for each.

import random
import struct
import sys

import pyverbs.enums as e
from pyverbs.addr import AHAttr, AH, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SendWR, SGE

QKEY = 0xb1b                    # the default of opensm
IP, ARP, IPV6 = 0x0800, 0x0806, 0x86dd
MTU = 2044
NOISE = 1000
FROM, TO = bytes((10, 77, 0, 2)), bytes((10, 77, 0, 1))


class Sender:
    """A UD queue pair that sends one packet at a time."""

    def __init__(self, device, qkey):
        self.context = Context(name=device)
        self.pd = PD(self.context)
        self.cq = CQ(self.context, 16)
        self.mr = MR(self.pd, 4096, e.IBV_ACCESS_LOCAL_WRITE)
        attr = QPAttr(port_num=1)
        attr.qkey = self.qkey = qkey
        self.qp = QP(self.pd, QPInitAttr(qp_type=e.IBV_QPT_UD, scq=self.cq,
                                         rcq=self.cq, cap=QPCap()), attr)

    def address(self, lid, gid):
        """With a GRH if it is a group's."""
        attr = AHAttr(port_num=1, dlid=lid)
        if gid[0] == 0xff:
            text = ":".join(gid[i:i + 2].hex() for i in range(0, 16, 2))
            attr = AHAttr(port_num=1, dlid=lid, is_global=1,
                          gr=GlobalRoute(dgid=GID(text), sgid_index=0))
        return AH(self.pd, attr=attr)

    def send(self, address, qpn, payload):
        self.mr.write(payload, len(payload))
        wr = SendWR(num_sge=1, send_flags=e.IBV_SEND_SIGNALED,
                    sg=[SGE(self.mr.buf, len(payload), self.mr.lkey)])
        wr.set_wr_ud(address, qpn, self.qkey)
        self.qp.post_send(wr)
        done = []
        while not done:
            done = self.cq.poll()[1]
        if done[0].status != e.IBV_WC_SUCCESS:
            sys.exit("not sent: %d" % done[0].status)


def encap(proto, packet=b"", reserved=0):
    return struct.pack(">HH", proto, reserved) + packet


def checksum(data):
    n = sum(struct.unpack(">%dH" % (len(data) // 2), data))
    n = (n & 0xffff) + (n >> 16)
    return ~(n + (n >> 16)) & 0xffff


def ipv4(first, length, payload):
    start = struct.pack(">BBHHHBB", first, 0, length, 1, 0, 64, 1)
    n = checksum(start + FROM + TO)
    return start + struct.pack(">H", n) + FROM + TO + payload


def ipv6(length, following, payload):
    return (struct.pack(">IHBB", 6 << 28, length, following, 64) +
            b"\xfd\x77" + bytes(13) + b"\2" + b"\xfd\x77" + bytes(13) + b"\1" +
            payload)


def arp(hardware, length, rest):
    return struct.pack(">HHBBH", hardware, IP, length, 4, 1) + rest


def echo(size, reserved):
    """A ping that is right but for what is reserved."""
    icmp = struct.pack(">BBHHH", 8, 0, 0, 77, 1) + bytes(size - 28)
    icmp = icmp[:2] + struct.pack(">H", checksum(icmp)) + icmp[4:]
    return encap(IP, ipv4(0x45, size, icmp), reserved)


def short():
    return [b"\x08\x00\x00"[:n] for n in range(4)]


def nonsense():
    return [
        *(encap(p) for p in (IP, ARP, IPV6)),
        *(encap(p, bytes(64)) for p in (0, 1, 0x5ff, 0x1234, 0x8035, 0xffff)),
        # More than there is, less than a header, and no header
        *(encap(IP, ipv4(0x45, n, bytes(64))) for n in (0, 19, 85, 0xffff)),
        *(encap(IP, ipv4(n, 84, bytes(64))) for n in (0, 0x40, 0x4f, 0x75)),
        *(encap(IP, ipv4(0x4f, 40, bytes(20))[:n]) for n in (1, 19, 20, 39)),
        *(encap(IPV6, ipv6(n, 58, bytes(64))) for n in (0, 65, 0xffff)),
        *(encap(IPV6, ipv6(64, 17, bytes(64))[:n]) for n in (1, 8, 39, 40)),
        # Headers behind headers, the last one longer than the packet
        encap(IPV6, ipv6(64, 0, bytes(56) + b"\0\xff" + bytes(6))),
        *(encap(ARP, arp(32, 20, bytes(48))[:n]) for n in (1, 7, 8, 28, 55)),
        *(encap(ARP, arp(32, n, bytes(48))) for n in (0, 6, 19, 21, 255)),
        *(encap(ARP, arp(n, 20, bytes(48))) for n in (0, 1, 0xffff)),
    ]


def pings():
    """What is reserved is not looked at, and the last one is as long as can be."""
    return [echo(84, n) for n in (1, 0x8000, 0xffff)] + [echo(MTU, 0)]


def noise():
    """Every other frame has an Ethertype that somebody cares for."""
    chance = random.Random(1)
    frames = []
    for i in range(NOISE):
        frame = chance.randbytes(chance.randrange(MTU + 5))
        if i % 2:
            frame = encap(chance.choice((IP, ARP, IPV6)), frame[4:])
        frames.append(frame)
    return frames


def main():
    sender = Sender(sys.argv[1], QKEY)
    made = {}
    for line in sys.stdin:
        kind, text, lid = line.split()
        lladdr = bytes.fromhex(text.replace(":", ""))
        to = sender.address(int(lid, 0), lladdr[4:])
        if kind not in made:
            made[kind] = globals()[kind]()
        for frame in made[kind]:
            sender.send(to, int.from_bytes(lladdr[1:4], "big"), frame)
        print(len(made[kind]), flush=True)


if __name__ == "__main__":
    main()
