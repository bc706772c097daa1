#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# A subnet manager of a few packets, on softib0, whose port 1 joins port 1 of a switch:
# traps.py COMMAND, where COMMAND brings up the link of port 2. The link comes between
# what the manager reads and what it sets. The program prints a line for each result:
# 0 or 1, and a name.

import ctypes
import struct
import subprocess
import sys

GET, SET, TRAP, REPRESS = 1, 2, 5, 7
NOTICE, SWITCH_INFO, PORT_INFO, LFT = 2, 0x12, 0x15, 0x19
DIRECTED, BY_LID = 0x81, 0x01
LIFETIME, STATE_CHANGE = 11, 4
MANAGER, SWITCH = 1, 2
SIZE = 256

umad = ctypes.CDLL("libibumad.so.3")
port = umad.umad_open_port(b"softib0", 1)
asker = umad.umad_register(port, DIRECTED, 1, 0, None)
methods = (ctypes.c_ulong * 2)(1 << TRAP)
hearer = umad.umad_register(port, BY_LID, 1, 0, methods)
head = umad.umad_size()
tid = 0


def result(ok, name):
    print(0 if ok else 1, name, flush=True)


def receive(ms):
    """The next MAD, or nothing"""
    buffer, length = ctypes.create_string_buffer(head + SIZE), ctypes.c_int(SIZE)
    if umad.umad_recv(port, buffer, ctypes.byref(length), ms) < 0:
        return None
    if umad.umad_status(buffer):
        sys.exit("a MAD was not answered")
    return buffer.raw[head:]


def send(agent, mad, lid, ms):
    buffer = ctypes.create_string_buffer(bytes(head) + mad, head + SIZE)
    umad.umad_set_addr(buffer, lid, 0, 0, 0)
    if umad.umad_send(port, agent, buffer, SIZE, ms, 3):
        sys.exit("a MAD cannot be sent")


def ask(path, method, attribute, modifier=0, data=b""):
    """The answer's data, of the node that a directed route leads to"""
    global tid
    tid += 1
    mad = struct.pack(">BBBBHBBQHHIQHH28x", 1, DIRECTED, 1, method, 0, 0, len(path),
                      tid, attribute, 0, modifier, 0, 0xffff, 0xffff)
    mad += data.ljust(64, b"\0") + bytes([0, *path]).ljust(64, b"\0")
    send(asker, mad.ljust(SIZE, b"\0"), 0xffff, 1000)
    while True:
        mad = receive(20000)
        if not mad:
            sys.exit("no answer")
        if mad[1] == DIRECTED:
            return mad[64:128]


def set_lid(path, lid):
    info = bytearray(ask(path, GET, PORT_INFO))
    struct.pack_into(">HH", info, 16, lid, MANAGER)
    # No change of states.
    info[32] &= 0xf0
    info[33] &= 0x0f
    ask(path, SET, PORT_INFO, 0, bytes(info))


def trap(ms=20000):
    """Number and MAD of the next trap"""
    while True:
        mad = receive(ms)
        if not mad:
            return None, None
        if mad[3] == TRAP:
            return struct.unpack_from(">H", mad, 64 + 4)[0], mad


def repress(mad):
    send(hearer, mad[:3] + bytes([REPRESS]) + mad[4:], SWITCH, 0)


switch = bytearray(ask([1], GET, SWITCH_INFO))
before = ask([1], GET, PORT_INFO, 2)[32] & 0xf
# What the manager does not see any more
subprocess.run(sys.argv[1:], check=True)
after = ask([1], GET, PORT_INFO, 2)[32] & 0xf
result(switch[LIFETIME] & STATE_CHANGE and before == 1 and after == 2,
       "a link comes up behind a manager's look")
struct.pack_into(">H", switch, 6, MANAGER)
ask([1], SET, SWITCH_INFO, 0, bytes(switch))
result(not ask([1], GET, SWITCH_INFO)[LIFETIME] & STATE_CHANGE,
       "the manager clears PortStateChange")
table = bytearray(b"\xff" * 64)
table[MANAGER], table[SWITCH] = 1, 0
ask([1], SET, LFT, 0, bytes(table))
set_lid([], MANAGER)
set_lid([1], SWITCH)
number, first = trap()
result(number == 128, "the switch tells it of the link when it has a LID")
number, again = trap()
result(first and number == 128 and again[8:16] == first[8:16], "and again")
if again:
    repress(again)
# What was on its way.
number, mad = trap(3000)
result(not number or not trap(3000)[0], "until the manager has heard")
