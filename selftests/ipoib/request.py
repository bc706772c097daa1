#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# request.py DEVICE GID LID QPN COUNT GID LID QPN [TIMEOUT]: asks the first of these for
# COUNT connections of IPoIB, in the name of the second; sent by DEVICE's port 1. That
# takes 4.096 us * 2^TIMEOUT to answer, it says.

import fcntl
import glob
import os
import socket
import struct
import sys

REGISTER, ENABLE_PKEY = 0xc01c1b01, 0x1b03      # <rdma/ib_user_mad.h>
HEADER = 64
CM_CLASS, CM_VERSION, SEND, REQ = 7, 2, 3, 0x10
GSI_QKEY = 0x80010000
SERVICE_ID = 0x1000000000000000
MTU_2048, LIFE = 4, 14


def read(path):
    with open(path, encoding="ascii") as f:
        return f.read().strip()


def agent(device, qpn, management, version):
    """One that asks and does not answer; returns its number, too."""
    for path in glob.glob("/sys/class/infiniband_mad/umad*"):
        if read(path + "/ibdev") == device:
            fd = os.open("/dev/infiniband/" + os.path.basename(path), os.O_RDWR)
            fcntl.ioctl(fd, ENABLE_PKEY)
            number = bytearray(struct.pack("=I16s7Bx", 0, bytes(16), qpn,
                                           management, version, 0, 0, 0, 0))
            fcntl.ioctl(fd, REGISTER, number)
            return fd, struct.unpack("=I", number[-4:])[0]
    sys.exit("no such device: " + device)


def end(gid, lid, qpn):
    return socket.inet_pton(socket.AF_INET6, gid), int(lid, 0), int(qpn, 0)


def request(n, to, name, timeout):
    """IBA 12.6.5, without an alternate path"""
    own = os.getpid() << 8 | n
    mad = struct.pack(">II Q Q I I", own, 0, SERVICE_ID | to[2], own, 0, 0)
    # Queue pair, and how much it answers to and asks for
    mad += struct.pack(">III", 0x777 << 8, 0, LIFE << 3 | 0)
    mad += struct.pack(">I", n << 8 | timeout << 3 | 7)
    mad += struct.pack(">HBB", 0xffff, MTU_2048 << 4 | 6, 1 << 4)
    mad += struct.pack(">HH", name[1], to[1]) + name[0] + to[0]
    # Flow label and rate, class, hop limit; SL and "in this subnet", timeout
    mad += struct.pack(">IBBBB", 3, 0, 1, 1 << 3, LIFE << 3)
    mad += bytes(44) + struct.pack(">II", name[2], 65524)
    return mad + bytes(232 - len(mad))


def main():
    device, to, count, name = sys.argv[1], sys.argv[2:5], sys.argv[5], sys.argv[6:9]
    to, name = end(*to), end(*name)
    timeout = int(sys.argv[9]) if len(sys.argv) > 9 else LIFE
    fd, number = agent(device, 1, CM_CLASS, CM_VERSION)
    for n in range(1, int(count) + 1):
        header = struct.pack("=5I", number, 0, 0, 0, 256)
        header += struct.pack(">IIHBB", 1, GSI_QKEY, to[1], 0, 0)
        mad = struct.pack(">BBBBHHQHHI", 1, CM_CLASS, CM_VERSION, SEND, 0, 0, n,
                          REQ, 0, 0)
        mad += request(n, to, name, timeout)
        os.write(fd, header + bytes(HEADER - len(header)) + mad)


if __name__ == "__main__":
    main()
