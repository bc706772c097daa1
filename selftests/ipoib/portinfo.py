#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# portinfo.py DEVICE FIELD VALUE: sets, as the subnet manager does, one thing in the
# PortInfo (IBA 14.2.5.6) of DEVICE's port 1, and nothing else: its sm_lid, or
# reregister to 1, by which who uses the port believes that the subnet administrator
# has forgotten all.

import os
import struct
import sys

from request import agent, HEADER

DIRECTED_CLASS, VERSION = 0x81, 1
GET, SET, PORT_INFO = 1, 2, 0x15
PERMISSIVE = 0xffff
MAD, DATA = 256, 64
# In PortInfo: PortState and PortPhysicalState, 0 for no change; and what it is about
STATE, PHYSICAL, REREGISTER = 32, 33, 51
FIELDS = {"sm_lid": (18, ">H", 0), "reregister": (REREGISTER, "B", 7)}


def ask(fd, number, n, method, attribute, data):
    """Asks the port itself, that is without a hop; returns the attribute"""
    header = struct.pack("=5I", number, 0, 3000, 0, MAD)
    header += struct.pack(">IIHBB", 0, 0, PERMISSIVE, 0, 0)
    mad = struct.pack(">BBBBHBBQHHIQHH", 1, DIRECTED_CLASS, VERSION, method, 0, 0, 0,
                      n, attribute, 0, 0, 0, PERMISSIVE, PERMISSIVE)
    mad += bytes(DATA - len(mad)) + data
    os.write(fd, header + bytes(HEADER - len(header)) + mad + bytes(MAD - len(mad)))
    message = os.read(fd, HEADER + MAD)
    status = struct.unpack_from(">H", message, HEADER + 4)[0] & 0x7fff
    if len(message) < HEADER + MAD or status:
        sys.exit("attribute %#x: status %#x" % (attribute, status))
    return bytearray(message[HEADER + DATA:HEADER + 2 * DATA])


def main():
    fd, number = agent(sys.argv[1], 0, DIRECTED_CLASS, VERSION)
    info = ask(fd, number, 1, GET, PORT_INFO, bytes(DATA))
    info[STATE] &= 0xf0
    info[PHYSICAL] &= 0x0f
    where, kind, shift = FIELDS[sys.argv[2]]
    old = struct.unpack_from(kind, info, where)[0] & ((1 << shift) - 1)
    struct.pack_into(kind, info, where, int(sys.argv[3], 0) << shift | old)
    ask(fd, number, 2, SET, PORT_INFO, bytes(info))


if __name__ == "__main__":
    main()
